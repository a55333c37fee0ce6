//! `cargo xtask same`: whether the generated Verilog is that of another revision, but for comments and the order of what has
//! none.
//!
//! Comments and layout are taken away. What stands directly in a module is compared as a set: ports, declarations, `assign`,
//! `always`, instances, and the connections of an instance. Within an `always` the order counts; within an `initial` it does
//! not. So two files that are the same describe the same logic; two that are not may still do: with `--prove`, Yosys is asked.

mod prove;

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::workspace;

/// Characters of a part that are printed.
const SHOWN: usize = 160;

/// Compares `rtl_out` of the working tree with that of a revision; what is not the same by text, by proof if that is wanted.
pub fn run(revision: &str, by_proof: bool) -> Result<()> {
    let before = listed(&["ls-tree", "-r", "--name-only", revision, "rtl_out"])?;
    let now = listed(&["ls-files", "rtl_out"])?;
    let verilog = |name: &&String| name.ends_with(".v");
    let (mut same, mut other) = (0, vec![]);
    for name in now.union(&before).filter(verilog) {
        let old = match before.contains(name) {
            true => git(&["show", &format!("{revision}:{name}")])?,
            false => String::new(),
        };
        let new = std::fs::read_to_string(workspace::root().join(name)).unwrap_or_default();
        match difference(&old, &new) {
            lines if lines.is_empty() => same += 1,
            lines => other.push((name, lines)),
        }
    }
    let texts = other.len();
    if by_proof {
        other = unproven(revision, other)?;
    }
    for (name, lines) in &other {
        println!("{name}");
        for line in lines.iter().take(6) {
            let shown: String = line.chars().take(SHOWN).collect();
            println!("    {shown}");
        }
    }
    println!("{same} files say the same as at {revision}, {texts} do not");
    if by_proof {
        let proven = texts - other.len();
        println!("{proven} of these are proven to be the same machine");
    }
    match (other.is_empty(), by_proof) {
        (true, _) => Ok(()),
        (_, true) => bail!("the generated Verilog is another, or no proof was found"),
        _ => bail!("the generated Verilog is another; by text alone nothing is known of its logic"),
    }
}

/// A file, and the parts in which it differs.
type Different<'a> = (&'a String, Vec<String>);

/// Those of the files for which there is no proof.
fn unproven<'a>(revision: &str, other: Vec<Different<'a>>) -> Result<Vec<Different<'a>>> {
    let folder = |name: &str| name.rsplit_once('/').map(|(folder, _)| folder.to_owned());
    let mut sets: BTreeMap<String, [Texts; 2]> = BTreeMap::new();
    let mut known: BTreeMap<[String; 2], bool> = BTreeMap::new();
    let mut left = vec![];
    for (name, lines) in other {
        let Some(preset) = folder(name) else { continue };
        if !sets.contains_key(&preset) {
            let both = [texts(Some(revision), &preset)?, texts(None, &preset)?];
            sets.insert(preset.clone(), both);
        }
        let [old, new] = &sets[&preset];
        let module = name
            .rsplit('/')
            .next()
            .unwrap_or(name)
            .trim_end_matches(".v");
        let pair = [old, new].map(|texts| texts.get(module).cloned().unwrap_or_default());
        let proven = match known.get(&pair) {
            Some(proven) => *proven,
            None if pair.iter().any(String::is_empty) => false,
            None => {
                let place = workspace::root().join("target/same").join(module);
                let proven = prove::is_same(module, old, new, &place)?;
                println!("{} {name}", if proven { "proven" } else { "NOT PROVEN" });
                known.insert(pair, proven);
                proven
            }
        };
        if !proven {
            left.push((name, lines));
        }
    }
    Ok(left)
}

/// Texts by module.
type Texts = BTreeMap<String, String>;

/// The modules of a folder and those of the library, of a revision or of the working tree.
fn texts(revision: Option<&str>, folder: &str) -> Result<Texts> {
    let mut all = Texts::new();
    for folder in ["rtl_out/lib", folder] {
        let names = match revision {
            Some(revision) => listed(&["ls-tree", "-r", "--name-only", revision, folder])?,
            None => listed(&["ls-files", folder])?,
        };
        for name in names.iter().filter(|name| name.ends_with(".v")) {
            let text = match revision {
                Some(revision) => git(&["show", &format!("{revision}:{name}")])?,
                None => std::fs::read_to_string(workspace::root().join(name)).unwrap_or_default(),
            };
            let module = name
                .rsplit('/')
                .next()
                .unwrap_or(name)
                .trim_end_matches(".v");
            all.insert(module.to_owned(), text);
        }
    }
    Ok(all)
}

fn listed(arguments: &[&str]) -> Result<BTreeSet<String>> {
    Ok(git(arguments)?.lines().map(str::to_owned).collect())
}

fn git(arguments: &[&str]) -> Result<String> {
    let output = Command::new("git")
        .args(arguments)
        .current_dir(workspace::root())
        .output()
        .context("git does not run")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        bail!("git {}: {said}", arguments.join(" "));
    }
    String::from_utf8(output.stdout).context("git's answer is not UTF-8")
}

/// The parts that one text has and the other lacks, or has more often.
fn difference(old: &str, new: &str) -> Vec<String> {
    let mut count: BTreeMap<String, i32> = BTreeMap::new();
    parts(old)
        .into_iter()
        .for_each(|part| *count.entry(part).or_default() -= 1);
    parts(new)
        .into_iter()
        .for_each(|part| *count.entry(part).or_default() += 1);
    let shown = count.into_iter().filter_map(|(part, count)| match count {
        0 => None,
        1.. => Some(format!("+ {part}")),
        _ => Some(format!("- {part}")),
    });
    shown.collect()
}

/// What stands directly in the modules of a text, each part on one line.
fn parts(text: &str) -> Vec<String> {
    let mut out = vec![];
    let mut part = String::new();
    let mut depth = 0_i32;
    for line in text.lines() {
        let code = line.split("//").next().unwrap_or_default();
        for word in code.split_whitespace() {
            if !part.is_empty() {
                part.push(' ');
            }
            part.push_str(word);
            let bare = word.trim_matches(|c: char| !c.is_ascii_alphabetic());
            depth += match bare {
                "begin" | "case" | "casez" => 1,
                "end" | "endcase" => -1,
                _ => 0,
            };
        }
        let is_directive = part.starts_with('`');
        let ends = part.ends_with(';') || part.ends_with("end") || part == "endmodule";
        if is_directive || (ends && depth == 0 && !code.trim_end().ends_with("begin")) {
            finish(std::mem::take(&mut part), &mut out);
        }
    }
    finish(part, &mut out);
    out
}

/// Adds a part; a list whose order means nothing as its elements.
fn finish(part: String, out: &mut Vec<String>) {
    if part.is_empty() {
        return;
    }
    if let Some(body) = part.strip_prefix("initial begin ") {
        let body = body.strip_suffix("end").unwrap_or(body);
        out.extend(body.split(';').map(|set| format!("initial {}", set.trim())));
        return;
    }
    // `module name (ports);` and `name instance (connections);`.
    let is_list = part.starts_with("module ") || part.contains("( .") || part.contains("(.");
    if let (true, Some((head, list))) = (is_list && !part.starts_with("always"), split_list(&part))
    {
        out.push(head.clone());
        out.extend(elements(list).map(|element| format!("{head}: {element}")));
        return;
    }
    out.push(part);
}

/// What stands before the last list in parentheses, and the list.
fn split_list(part: &str) -> Option<(String, &str)> {
    let list = part.strip_suffix(");")?;
    let mut depth = 1;
    let open = list.char_indices().rev().find_map(|(at, c)| {
        depth += match c {
            ')' => 1,
            '(' => -1,
            _ => 0,
        };
        (depth == 0).then_some(at)
    })?;
    Some((list[..open].trim().to_owned(), &list[open + 1..]))
}

/// The elements of a list, between commas that stand in no parentheses.
fn elements(list: &str) -> impl Iterator<Item = String> {
    let mut depth = 0;
    let between = move |c: char| {
        depth += match c {
            '(' | '{' | '[' => 1,
            ')' | '}' | ']' => -1,
            _ => 0,
        };
        c == ',' && depth == 0
    };
    let elements = list.split(between).map(|e| e.replace(' ', ""));
    elements
        .filter(|e| !e.is_empty())
        .collect::<Vec<_>>()
        .into_iter()
}

#[cfg(test)]
mod tests {
    use super::difference;

    const TEXT: &str = "// Adds.
module adder (
    input  wire       clk,  // Clock.
    input  wire [3:0] a,
    output wire [3:0] y
);
    reg [3:0] sum_reg;
    wire go;

    assign go = (|a);
    half half (
        .clk (clk),
        .a   (a[1:0])
    );

    initial begin
        sum_reg = 4'd0;
        last_reg = 1'b0;
    end

    always @(posedge clk) begin
        if (go) begin
            sum_reg <= a;
            last_reg <= 1'b1;
        end
    end
endmodule
";

    #[test]
    fn comments_layout_and_the_order_of_ports_mean_nothing() {
        let other = TEXT
            .replace("// Adds.", "// Adds two.")
            .replace(
                "    wire go;\n\n    assign go = (|a);\n",
                "    assign go = (|a);\n    wire go;\n",
            )
            .replace(
                "    input  wire [3:0] a,\n    output wire [3:0] y\n",
                "    output wire [3:0] y,\n    input wire [3:0] a\n",
            )
            .replace(
                "        .clk (clk),\n        .a   (a[1:0])\n",
                "        .a(a[1:0]),\n        .clk(clk)\n",
            )
            .replace(
                "        sum_reg = 4'd0;\n        last_reg = 1'b0;\n",
                "        last_reg = 1'b0;\n        sum_reg = 4'd0;\n",
            );
        assert_ne!(TEXT, other);
        assert_eq!(difference(TEXT, &other), Vec::<String>::new());
    }

    #[test]
    fn another_bit_port_connection_value_or_order_is_seen() {
        for (old, new) in [
            ("(|a)", "(&a)"),
            ("[3:0] y", "[4:0] y"),
            (".a   (a[1:0])", ".a   (a[2:1])"),
            ("sum_reg = 4'd0", "sum_reg = 4'd1"),
            (
                "sum_reg <= a;\n            last_reg <= 1'b1;",
                "last_reg <= 1'b1;\n            sum_reg <= a;",
            ),
            ("    wire go;\n", ""),
        ] {
            assert_eq!(TEXT.matches(old).count(), 1, "{old}");
            let other = TEXT.replace(old, new);
            assert_ne!(difference(TEXT, &other), Vec::<String>::new(), "{old}");
        }
    }
}
