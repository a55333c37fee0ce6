//! The tables of codes in docs/arithmetic.md against the declarations.

use std::path::Path;

use tributary_protocol::red::{
    host::repsum::{SUMMANDS_MAX, encode},
    ops::*,
};

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/arithmetic.md");
    std::fs::read_to_string(&path).expect("docs/arithmetic.md")
}

/// The first two cells of each row of the table that follows a heading.
fn table(page: &str, heading: &str) -> Vec<[String; 2]> {
    let at = page.find(&format!("\n### {heading}\n")).expect(heading);
    let rows = page[at..]
        .lines()
        .skip_while(|line| !line.starts_with('|'))
        .take_while(|line| line.starts_with('|'));
    let cells = |line: &str| {
        let mut cells = line.split('|').skip(1).map(|cell| cell.trim().to_owned());
        [cells.next(), cells.next()].map(Option::unwrap_or_default)
    };
    rows.skip(2).map(cells).collect()
}

fn row(code: impl ToString, name: impl ToString) -> [String; 2] {
    [code.to_string(), name.to_string()]
}

#[test]
fn red_01_tables_of_the_arithmetic_page_are_the_declarations() {
    let page = page();
    let operations: Vec<_> = Op::ALL
        .iter()
        .map(|op| row(format!("0x{:02x}", op.code()), op.name()))
        .collect();
    assert_eq!(table(&page, "Operations (rt_op)"), operations);

    let codes: Vec<_> = (0..16)
        .map(Rc::new)
        .filter(|rc| rc.name() != "unknown")
        .map(|rc| row(rc.code(), rc.name()))
        .collect();
    assert_eq!(codes.len(), 9);
    assert_eq!(table(&page, "Result codes (rc)"), codes);

    let roundings: Vec<_> = Rounding::ALL
        .iter()
        .map(|&rounding| {
            let name = match rounding {
                Rounding::NearestEven => "to nearest, ties to even",
                Rounding::Up => "towards plus infinity",
                Rounding::Down => "towards minus infinity",
                Rounding::ToZero => "towards zero",
            };
            row(rounding as u8, name)
        })
        .collect();
    assert_eq!(table(&page, "Roundings"), roundings);
}

/// The windows: those of the smallest and the largest number, and the special ones.
#[test]
fn red_07_red_08_windows_of_the_arithmetic_page_are_the_declarations() {
    let page = page();
    let window = |number: f64| encode(number.to_bits()).m;
    let windows = [
        row(
            format!("{} to {}", window(0.0), window(f64::MAX)),
            "numbers",
        ),
        row(MINUS_INF, "minus infinity"),
        row(PLUS_INF, "plus infinity"),
        row(NAN, "NaN"),
    ];
    assert_eq!(table(&page, "Layout"), windows);
    assert_eq!(window(f64::from_bits(1)), window(0.0));
    assert!(page.contains(&format!("- 2^23 = {SUMMANDS_MAX} numbers can be added")));
}
