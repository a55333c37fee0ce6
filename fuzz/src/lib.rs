//! Tests of parsers and of the card that are fuzz targets too. A package of its own, since a fuzzer instruments and links all of it.

#[cfg(test)]
mod card;
#[cfg(test)]
mod parsers;
