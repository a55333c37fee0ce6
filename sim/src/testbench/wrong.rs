//! Blocks with deliberate errors, all in one library: a number at a port of the top says which error is there.

use crate::verilate::{BuildOptions, Verilated};

/// A deliberate error: module, the signal that is assigned, and what it is instead.
pub type Wrong = (&'static str, &'static str, &'static str);

/// A library of these files, with the checks of every handshake.
///
/// # Panics
/// Verilator or the compiler refuses them.
#[must_use]
pub fn build(top: &str, files: &[(String, String)]) -> Verilated {
    Verilated::build(&BuildOptions::new(top, files).with_checks()).unwrap()
}

/// A library with all of these errors: error `i` is there while `port`, of `bits` bits, has the value `base + i`.
///
/// # Panics
/// There is no such module, or not one such assignment in it.
#[must_use]
pub fn library(
    top: &str,
    mut files: Vec<(String, String)>,
    (port, bits): (&str, u32),
    base: u64,
    wrong: &[Wrong],
) -> Verilated {
    for (number, (module, target, instead)) in wrong.iter().enumerate() {
        let (_, text) = files
            .iter_mut()
            .find(|(name, _)| name.starts_with(module))
            .unwrap_or_else(|| panic!("no module {module}"));
        let places: Vec<_> = text.match_indices(&format!(" {target}")).collect();
        assert_eq!(places.len(), 1, "{module}: {target}");
        let from = places[0].0 + target.len() + 1;
        let upto = from + text[from..].find(';').expect("a statement ends");
        let right = text[from..upto].to_owned();
        let value = base + number as u64;
        text.replace_range(
            from..upto,
            &format!("({top}.{port} == {bits}'d{value}) ? ({instead}) : ({right})"),
        );
    }
    build(top, &files)
}

/// Runs each error, by its number from 0 on. A run that notices it says so with an error, which is printed.
///
/// # Panics
/// Some are not noticed.
pub fn every_is_noticed(wrong: &[Wrong], run: impl Fn(u64) -> Result<(), String>) {
    let mut missed = vec![];
    for (number, wrong) in (0..).zip(wrong) {
        match run(number) {
            Ok(()) => missed.push(wrong),
            Err(what) => println!("{wrong:?}: {}", what.chars().take(200).collect::<String>()),
        }
    }
    assert!(missed.is_empty(), "not noticed: {missed:#?}");
}
