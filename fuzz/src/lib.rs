//! Tests of parsers that are fuzz targets too. A package of its own, since a fuzzer instruments and links all of it.

#[cfg(test)]
mod parsers;
