//! Mutants of a module, and which of them cannot be told from it: both by Yosys.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::below::Below;
use crate::process::run_quietly;
use crate::workspace;

/// Clocks over which a mutant is compared with the original.
pub const CLOCKS: usize = 8;

/// Seconds for one comparison; one that takes longer counts as a difference.
const CHECK_SECONDS: usize = 60;

/// The environment variable that says which mutant of `module` runs; none of them without it.
pub fn selector(module: &str) -> String {
    format!("TRIBUTARY_MUTANT_{module}")
}

/// A module and what it needs of others, by module name.
pub struct Module<'a> {
    pub name: &'a str,
    pub texts: &'a BTreeMap<String, String>,
    /// Folder of Yosys' files.
    pub dir: PathBuf,
}

/// One mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutant {
    /// From 1.
    pub number: usize,
    /// Kind, cell and port.
    pub what: String,
    /// `file:line.column-line.column`, if Yosys knows it.
    pub place: String,
}

impl Module<'_> {
    /// Chooses mutants and writes `NAME.v`, in which [`selector`] switches each on.
    pub fn mutants(&self, count: usize, seed: u64) -> Result<Vec<Mutant>> {
        let name = self.name;
        let below = self.below()?;
        let own = [(name.to_owned(), below.text.clone())];
        for (module, text) in below.children.clone().into_iter().chain(own) {
            write(&self.dir.join(format!("{module}.in.v")), &text)?;
        }
        // Yosys names places after the file that it reads: that is the generated one.
        let read = self.read()?;
        self.run(
            "list",
            &format!(
                "{read}tee -q -o registers.txt select -list {name}/t:$*dff* %co1:+[Q] {name}/w:* %i\n\
                 mutate -list {count} -seed {seed} -ctrl mutsel 16 1 -o list.txt\n\
                 script list.txt\nopt_clean\nwrite_verilog -noattr mutated.v\n"
            ),
        )?;
        let path = self.dir.join("mutated.v");
        let text = selectable(name, &below.restored(&read_file(&path)?))?;
        write(&self.mutated(), &text)?;
        write(&self.original(), &self.texts[name])?;
        self.listed()
    }

    /// The file of the mutated module.
    pub fn mutated(&self) -> PathBuf {
        self.dir.join(format!("{}.v", self.name))
    }

    /// The file of the module as it was generated.
    pub fn original(&self) -> PathBuf {
        self.dir.join(format!("{}.v.original", self.name))
    }

    /// The mutants chosen before.
    pub fn listed(&self) -> Result<Vec<Mutant>> {
        read_file(&self.dir.join("list.txt"))?
            .lines()
            .map(|line| parse(line).with_context(|| format!("not a mutation: {line}")))
            .collect()
    }

    /// Of the mutants given, those that no input tells from the original, whatever common state they begin in and whatever
    /// the modules below answer: by induction from state to state, or else within [`CLOCKS`] clocks.
    pub fn equivalent(&self, mutants: &[usize]) -> Result<BTreeSet<usize>> {
        let list = read_file(&self.dir.join("list.txt"))?;
        let lines: Vec<(usize, &str)> = list
            .lines()
            .filter_map(|line| Some((parse(line)?, line)))
            // Yosys compares clock by clock, so it knows nothing of another edge.
            .filter(|(mutant, _)| !mutant.what.contains(" CLK["))
            .map(|(mutant, line)| (mutant.number, line))
            .filter(|(number, _)| mutants.contains(number))
            .collect();
        let mut equivalent = self.proven(&lines)?;
        let numbers = lines.iter().map(|(number, _)| *number);
        let open: Vec<usize> = numbers.filter(|n| !equivalent.contains(n)).collect();
        equivalent.extend(self.alike(&open)?);
        Ok(equivalent)
    }

    /// Those of which each output, each input of a module below and each register is the same in the next clock if all
    /// registers are the same in this one: cone by cone, so it takes seconds where the search in [`Self::alike`] takes minutes.
    fn proven(&self, lines: &[(usize, &str)]) -> Result<BTreeSet<usize>> {
        let mut proven = BTreeSet::new();
        if lines.is_empty() {
            return Ok(proven);
        }
        let name = self.name;
        let mut script = format!("{}memory\ndesign -save read\n", self.read()?);
        for (number, line) in lines {
            let always = line.replace(&format!(" -ctrl mutsel 16 {number} "), " ");
            script.push_str(&format!(
                "design -load read\ncopy {name} gold\n{always}\nsetattr -unset init w:*\n\
                 rename {name} gate\nexpose -evert gold/c:* gate/c:*\nopt_expr\nopt_clean\n\
                 equiv_make gold gate both\nhierarchy -top both\nopt_clean\n\
                 equiv_simple -seq 2\nequiv_induct -seq 2\ntee -q -o proof{number}.txt equiv_status\n"
            ));
        }
        self.run("proof", &script)?;
        for (number, _) in lines {
            let text = read_file(&self.dir.join(format!("proof{number}.txt")))?;
            if text.contains("Equivalence successfully proven") {
                proven.insert(*number);
            }
        }
        Ok(proven)
    }

    /// Those that differ in nothing within [`CLOCKS`] clocks.
    fn alike(&self, mutants: &[usize]) -> Result<BTreeSet<usize>> {
        if mutants.is_empty() {
            return Ok(BTreeSet::new());
        }
        let name = self.name;
        let registers = read_file(&self.dir.join("registers.txt"))?;
        let same: String = registers
            .lines()
            .filter_map(|line| line.trim().split_once('/'))
            .map(|(_, register)| format!(" -set-at 1 gold.{register} gate.{register}"))
            .collect();
        let mut script = format!(
            "{}memory\ncopy {name} gold\nadd -input mutsel 16 gold\n",
            self.read()?
        );
        let list = read_file(&self.dir.join("list.txt"))?;
        for line in list.lines() {
            if parse(line).is_some_and(|mutant| mutants.contains(&mutant.number)) {
                script.push_str(line);
                script.push('\n');
            }
        }
        script.push_str(&format!(
            "setattr -unset init w:*\nrename {name} gate\nexpose -evert gold/c:* gate/c:*\n\
             miter -equiv -flatten gold gate miter\nhierarchy -top miter\nopt_clean\n"
        ));
        for mutant in mutants {
            script.push_str(&format!(
                "tee -q -o check{mutant}.txt sat -seq {CLOCKS} -timeout {CHECK_SECONDS} \
                 -set in_mutsel {mutant}{same} -prove trigger 0 miter\n"
            ));
        }
        self.run("check", &script)?;
        let mut equivalent = BTreeSet::new();
        for mutant in mutants {
            let text = read_file(&self.dir.join(format!("check{mutant}.txt")))?;
            if text.contains("no model found: SUCCESS") {
                equivalent.insert(*mutant);
            } else if !text.contains("model found: FAIL") && !text.contains("TIMEOUT") {
                bail!("no answer about mutant {mutant} of {name}:\n{text}");
            }
        }
        Ok(equivalent)
    }

    /// Reads the module; those below it are boxes.
    fn read(&self) -> Result<String> {
        let name = self.name;
        let mut script = String::new();
        for child in self.below()?.children.keys() {
            script.push_str(&format!("read_verilog -lib {child}.in.v\n"));
        }
        script.push_str(&format!(
            "read_verilog {name}.in.v\nhierarchy -top {name}\nproc\nopt_clean\n"
        ));
        Ok(script)
    }

    fn below(&self) -> Result<Below> {
        self.texts.get(self.name).context("no such module")?;
        Ok(Below::of(self.name, self.texts))
    }

    fn run(&self, stem: &str, script: &str) -> Result<()> {
        let file = format!("{stem}.ys");
        write(&self.dir.join(&file), script)?;
        run_quietly(Command::new(yosys()).current_dir(&self.dir).args([
            "-q",
            "-p",
            &format!("script {file}"),
        ]))
        .map(drop)
    }
}

fn yosys() -> PathBuf {
    workspace::tools_dir().join("bin").join("yosys")
}

/// Takes the selector out of the ports: the environment sets it.
fn selectable(name: &str, text: &str) -> Result<String> {
    let declared = "  input [15:0] mutsel;\n  wire [15:0] mutsel;\n";
    if !text.contains(", mutsel") || !text.contains(declared) {
        bail!("Yosys wrote a module without selector");
    }
    let variable = format!("std::getenv(\\\"{}\\\")", selector(name));
    let set = format!(
        "  reg [15:0] mutsel;\n  \
         initial mutsel = $c16(\"({variable} ? std::atoi({variable}) : 0)\");\n"
    );
    Ok(text.replacen(", mutsel", "", 1).replacen(declared, &set, 1))
}

/// Reads a line of Yosys' list.
fn parse(line: &str) -> Option<Mutant> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let after = |option: &str, steps: usize| {
        let at = words.iter().rposition(|word| *word == option)?;
        words.get(at + steps).copied()
    };
    let number = after("-ctrl", 3)?.parse().ok()?;
    let (mode, cell) = (after("-mode", 1)?, after("-cell", 1)?);
    let (port, bit) = (after("-port", 1)?, after("-portbit", 1)?);
    let bit2 = after("-ctrlbit", 1).map_or(String::new(), |bit| format!(" with bit {bit}"));
    Some(Mutant {
        number,
        what: format!(
            "{mode} {port}[{bit}]{bit2} of {}",
            cell.replace(".in.v:", ".v:")
        ),
        place: after("-src", 1).unwrap_or("-").replace(".in.v:", ".v:"),
    })
}

fn read_file(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", workspace::shown(path)))
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", workspace::shown(path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TINY: &str = "\
module tiny (
    input  wire clk,
    input  wire a,
    input  wire b,
    output wire y,
    output wire late
);
    reg r;
    reg [3:0] n;
    wire twice;
    initial n = 4'd0;
    always @(posedge clk) r <= a ^ b;
    always @(posedge clk) n <= n + 4'd1;
    assign late = &n;
    assign twice = r & a;
    assign y = r | twice;
endmodule
";

    /// `r | (r & a)` is `r`: with `a` at that place one or zero, nothing changes. `late` falls
    /// later after the start than the clocks of a comparison.
    #[test]
    fn a_mutant_without_effect_is_equivalent_and_others_are_not() {
        if !yosys().is_file() {
            eprintln!("skipped: no pinned yosys; `cargo xtask tools` installs it");
            return;
        }
        let dir = workspace::root().join("target/mutate/test-tiny");
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        let texts = BTreeMap::from([("tiny".to_owned(), TINY.to_owned())]);
        let module = Module {
            name: "tiny",
            texts: &texts,
            dir: dir.clone(),
        };
        let mutants = module.mutants(80, 1).unwrap();
        assert!(module.listed().unwrap() == mutants && mutants.len() > 10);
        let numbers: Vec<usize> = mutants.iter().map(|m| m.number).collect();
        let equivalent = module.equivalent(&numbers).unwrap();

        let mut seen = [0, 0];
        for mutant in &mutants {
            let of = |text: &str| mutant.what.contains(text);
            let harmless = of("const") && of(" B[0] of $and");
            let harmful = of("const0 Y[0] of $reduce_and")
                || of("inv Y[0] of $reduce_and")
                || of(" Q[0] of")
                || of(" Y[0] of $or")
                || of(" Y[0] of $xor");
            if harmless {
                assert!(equivalent.contains(&mutant.number), "{mutant:?}");
                seen[0] += 1;
            }
            if harmful {
                assert!(!equivalent.contains(&mutant.number), "{mutant:?}");
                seen[1] += 1;
            }
        }
        assert!(seen[0] > 0 && seen[1] > 0, "{seen:?} of {mutants:?}");
        let text = read_file(&dir.join("tiny.v")).unwrap();
        assert!(text.contains(&selector("tiny")) && !text.contains(", mutsel"));
    }

    #[test]
    fn a_listed_mutation_is_read() {
        let line = "mutate -ctrl mutsel 16 3 -mode cnot1 -module m -cell $or$m.in.v:7$5 -port A \
                    -portbit 3 -ctrlbit 9 -src m.in.v:1.2-1.3 -src m.in.v:7.1-7.9";
        let mutant = parse(line).unwrap();
        assert_eq!(mutant.number, 3);
        assert_eq!(mutant.what, "cnot1 A[3] with bit 9 of $or$m.v:7$5");
        assert_eq!(mutant.place, "m.v:7.1-7.9");
        assert!(parse("mutate -none").is_none());
    }
}
