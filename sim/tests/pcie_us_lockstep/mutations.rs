//! Deliberate errors in the Verilog, each of which the runs must notice.

use tributary_sim::verilate::Verilated;

use super::bench::{WRONG, build};
use super::random::run;

/// Name, module, what stands before an expression, the expression and a wrong one. All are in one model: `wrong` chooses one.
const MUTATIONS: &[(&str, &str, &str, &str, &str)] = &[];

fn with_errors() -> Verilated {
    build(|file, mut text| {
        let module = file.trim_end_matches(".v");
        let inside = MUTATIONS.iter().any(|mutation| mutation.1 == module);
        if !inside && module != "pcie_us_shim" {
            return text;
        }
        for (number, (name, of, before, right, wrong)) in (1..).zip(MUTATIONS) {
            if *of != module {
                continue;
            }
            let place = format!("{before}{right}");
            assert_eq!(text.matches(&place).count(), 1, "{name}: {place}");
            let either = format!("{before}((wrong == 5'd{number}) ? ({wrong}) : ({right}))");
            text = text.replace(&place, &either);
        }
        let clock = text
            .lines()
            .find(|line| line.contains("input") && line.contains("clk"));
        let clock = clock.unwrap().to_owned();
        let both = format!("{}\n{clock}", clock.replace("clk", "[4:0] wrong"));
        let mut text = text.replacen(&clock, &both, 1);
        for (of, instance) in [
            ("cq", "cq"),
            ("cc", "cc"),
            ("rq", "rq"),
            ("rc", "rc"),
            ("seq", "seq"),
        ] {
            let module = format!("pcie_us_{of}");
            if MUTATIONS.iter().any(|mutation| mutation.1 == module) {
                let head = format!(" {instance} (\n");
                text = text.replace(&head, &format!("{head}        .wrong (wrong),\n"));
            }
        }
        text
    })
}

/// What notices an error first.
fn noticed(library: &Verilated) -> Option<String> {
    (0..6).find_map(|seed| {
        run(library, seed, 6_000)
            .err()
            .map(|error| format!("seed {seed}: {error}"))
    })
}

#[test]
fn wrong_translations_are_noticed() {
    let library = with_errors();
    let mut unseen = Vec::new();
    for (number, (name, ..)) in (1..).zip(MUTATIONS) {
        WRONG.set(number);
        match noticed(&library) {
            Some(error) => println!("{name}: {}", error.chars().take(160).collect::<String>()),
            None => unseen.push(name),
        }
    }
    WRONG.set(0);
    assert_eq!(noticed(&library), None);
    assert!(unseen.is_empty(), "{unseen:?}");
}
