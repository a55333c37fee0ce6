//! A proof by Yosys that two texts of a module are the same machine.
//!
//! By induction over clocks: in both, all registers begin with the same values; if they are the same in one clock, all outputs
//! are, and all registers in the next clock. The modules below are boxes whose inputs count as outputs. Registers correspond
//! by name. Where one register became several, whose names begin with its own, they are its parts in their order, the first
//! in the lowest bits; a register of which only the beginning of the name is new is the same one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::mutate::below::Below;
use crate::process::run_quietly;
use crate::workspace;

/// Seconds for one module.
const SECONDS: usize = 300;

/// A register: name and bits.
type Register = (String, usize);

/// The registers of a module, in the order in which they are declared.
fn registers(text: &str) -> Vec<Register> {
    let initial = text
        .lines()
        .filter_map(|line| line.trim().split_once(" = "));
    let initial: BTreeSet<&str> = initial.map(|(name, _)| name).collect();
    let declared = text.lines().filter_map(|line| {
        let (declaration, _) = line.trim().strip_prefix("reg ")?.split_once(';')?;
        let (range, name) = match declaration.trim().split_once(']') {
            Some((range, name)) => (Some(range), name.trim()),
            None => (None, declaration.trim()),
        };
        let top = range.and_then(|range| range.strip_prefix('[')?.split_once(':'));
        let bits = top.map_or(Some(1), |(top, _)| top.parse::<usize>().ok().map(|n| n + 1));
        initial.contains(name).then_some((name.to_owned(), bits?))
    });
    declared.collect()
}

/// The registers that are the parts of an old one.
fn parts_of<'a>((name, bits): &Register, left: &[&'a Register]) -> Option<Vec<&'a Register>> {
    let stem = format!("{}_", name.strip_suffix("_reg").unwrap_or(name));
    let mut parts = vec![];
    let mut sum = 0;
    for register in left.iter().filter(|(part, _)| part.starts_with(&stem)) {
        if sum < *bits {
            parts.push(*register);
            sum += register.1;
        }
    }
    (sum == *bits).then_some(parts)
}

/// The register that has another beginning of its name than an old one, if it is one only.
fn renamed<'a>((name, bits): &Register, left: &[&'a Register]) -> Option<Vec<&'a Register>> {
    let end = format!("_{name}");
    let found = left
        .iter()
        .filter(|(new, b)| b == bits && new.ends_with(&end));
    let found: Vec<_> = found.copied().collect();
    (found.len() == 1).then_some(found)
}

/// Wires of the old text that carry the registers of the new one; and the registers that correspond, by their new names.
fn correspondence(old: &str, new: &str) -> (String, Vec<String>) {
    let (before, after) = (registers(old), registers(new));
    let mut same: Vec<String> = vec![];
    let mut wires = String::new();
    let mut left: Vec<&Register> = after.iter().filter(|r| !before.contains(r)).collect();
    same.extend(
        after
            .iter()
            .filter(|r| before.contains(r))
            .map(|(name, _)| name.clone()),
    );
    let mut gone: Vec<&Register> = before.iter().filter(|r| !after.contains(r)).collect();
    for found in [parts_of, renamed] {
        gone.retain(|old| {
            let Some(parts) = found(old, &left) else {
                return true;
            };
            let mut at = 0;
            for (part, width) in &parts {
                let slice = match old.1 {
                    1 => String::new(),
                    _ => format!("[{}:{at}]", at + width - 1),
                };
                wires += &format!("wire [{}:0] {part} = {}{slice};\n", width - 1, old.0);
                at += width;
                same.push(part.clone());
            }
            left.retain(|register| !parts.contains(register));
            false
        });
    }
    (wires, same)
}

/// Whether the module `name` among these texts is proven to be the same as among those.
pub fn is_same(
    name: &str,
    old: &BTreeMap<String, String>,
    new: &BTreeMap<String, String>,
    folder: &Path,
) -> Result<bool> {
    std::fs::create_dir_all(folder)?;
    let (before, after) = (Below::of(name, old), Below::of(name, new));
    if !before.children.keys().eq(after.children.keys()) {
        return Ok(false);
    }
    let mut boxes = String::new();
    for (module, text) in &after.children {
        write(folder, &format!("{module}.v"), text)?;
        boxes += &format!("read_verilog -lib {module}.v\n");
    }
    let (wires, same) = correspondence(&before.text, &after.text);
    let before = before
        .text
        .replacen("\nendmodule", &format!("\n{wires}\nendmodule"), 1);
    write(folder, "old.v", &before)?;
    write(folder, "new.v", &after.text)?;
    let mut script = String::new();
    for side in ["old", "new"] {
        script += &format!("{boxes}read_verilog {side}.v\nhierarchy -top {name}\nproc\nmemory\n");
        script += &format!("expose -evert {name}/c:*\n");
        for register in &same {
            script += &format!("expose {name}/w:{register}\n");
        }
        script += &format!("opt_clean\nrename {name} {side}\ndesign -stash {side}\n");
    }
    script += "design -copy-from old old\ndesign -copy-from new new\n\
               miter -equiv -flatten old new both\nhierarchy -top both\nopt_clean\n";
    script += &format!(
        "tee -q -o proof.txt sat -tempinduct -maxsteps 2 -timeout {SECONDS} -prove trigger 0 both\n"
    );
    write(folder, "prove.ys", &script)?;
    let yosys = workspace::tools_dir().join("bin").join("yosys");
    run_quietly(
        Command::new(yosys)
            .current_dir(folder)
            .args(["-q", "-p", "script prove.ys"]),
    )?;
    let said = std::fs::read_to_string(folder.join("proof.txt"))?;
    Ok(said.contains("Induction step proven: SUCCESS!"))
}

fn write(folder: &Path, file: &str, text: &str) -> Result<()> {
    let path = folder.join(file);
    std::fs::write(&path, text).with_context(|| format!("cannot write {}", workspace::shown(&path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "\
module pair (
    input  wire       clk,
    input  wire [2:0] a,
    output wire [2:0] y
);
    reg  [2:0] both_reg; // Both.
    reg        odd_reg;
    assign y = both_reg;
    initial begin
        both_reg = 3'd5;
        odd_reg = 1'b0;
    end
    always @(posedge clk) begin
        both_reg <= a ^ {3{odd_reg}};
        odd_reg <= a[0];
    end
endmodule
";
    const NEW: &str = "\
module pair (
    input  wire       clk,
    input  wire [2:0] a,
    output wire [2:0] y
);
    reg        both_low_reg;
    reg  [1:0] both_high_reg;
    reg        was_odd_reg;
    assign y = {both_high_reg, both_low_reg};
    initial begin
        both_low_reg = 1'b1;
        both_high_reg = 2'd2;
        was_odd_reg = 1'b0;
    end
    always @(posedge clk) begin
        both_low_reg <= a[0] ^ was_odd_reg;
        both_high_reg <= a[2:1] ^ {2{was_odd_reg}};
        was_odd_reg <= a[0];
    end
endmodule
";

    fn proven(new: &str, place: &str) -> bool {
        let texts = |text: &str| BTreeMap::from([("pair".to_owned(), text.to_owned())]);
        let folder = workspace::root().join("target/same").join(place);
        is_same("pair", &texts(OLD), &texts(new), &folder).unwrap()
    }

    #[test]
    fn a_register_in_parts_is_the_same_and_another_value_or_function_is_not() {
        if !workspace::tools_dir().join("bin/yosys").is_file() {
            eprintln!("skipped: no pinned yosys; `cargo xtask tools` installs it");
            return;
        }
        assert!(proven(NEW, "parts"));
        for (place, old, new) in [
            ("value", "both_high_reg = 2'd2", "both_high_reg = 2'd3"),
            (
                "function",
                "a[2:1] ^ {2{was_odd_reg}}",
                "a[2:1] | {2{was_odd_reg}}",
            ),
            (
                "output",
                "{both_high_reg, both_low_reg}",
                "{both_low_reg, both_high_reg}",
            ),
        ] {
            assert_eq!(NEW.matches(old).count(), 1, "{old}");
            assert!(!proven(&NEW.replace(old, new), place), "{old}");
        }
    }
}
