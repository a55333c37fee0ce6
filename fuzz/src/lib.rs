//! Only tests: `tests/parsers.rs`. A package of its own, since a fuzzer instruments and links everything in it.
