//! What is to be written: folders of files, checked as far as that goes without a tool.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::thread;

use anyhow::{Context, Result, anyhow, bail};
use serde::Serialize;
use tributary_hdl::catalog::{Choice, Preset};
use tributary_hdl::emit::Module;

/// The list of a folder's files in the order in which tools want them: children first.
pub const LIST: &str = "files.f";

/// A folder of generated files.
#[derive(Serialize)]
pub struct Folder {
    /// Name of the folder: the preset's, or the top module's.
    pub name: String,
    /// What it is for.
    pub purpose: String,
    /// The modules that nothing in the folder instantiates.
    pub tops: Vec<String>,
    /// Lines of all files.
    pub lines: usize,
    /// The files, children first.
    pub files: Vec<GeneratedFile>,
}

/// A file: one module, or registers.
#[derive(Serialize)]
pub struct GeneratedFile {
    /// `<module>.v`, or its name.
    pub file: String,
    /// First sentence of what it does.
    pub about: String,
    /// Lines of text.
    pub lines: usize,
    /// The text.
    #[serde(skip)]
    pub text: String,
}

/// A folder for each preset. They are independent of each other, and made side by side.
pub fn presets(presets: &[&Preset]) -> Result<Vec<Folder>> {
    thread::scope(|scope| {
        let work: Vec<_> = presets
            .iter()
            .map(|preset| {
                scope.spawn(|| {
                    let choices = preset.choices()?;
                    folder(Some(preset.name), preset.purpose, &choices)
                        .with_context(|| format!("cannot generate preset `{}`", preset.name))
                })
            })
            .collect();
        work.into_iter()
            .map(|work| work.join().map_err(|_| anyhow!("the writer broke down"))?)
            .collect()
    })
}

/// A folder for one block.
pub fn block(choice: &Choice) -> Result<Folder> {
    folder(None, &choice.to_string(), std::slice::from_ref(choice))
        .with_context(|| format!("cannot generate {choice}"))
}

fn folder(name: Option<&str>, purpose: &str, choices: &[Choice]) -> Result<Folder> {
    let mut modules: Vec<Module> = Vec::new();
    let mut tops = Vec::new();
    for choice in choices {
        let design = choice.emit()?;
        for module in design.modules {
            match modules
                .iter()
                .find(|other| other.name.eq_ignore_ascii_case(&module.name))
            {
                None => modules.push(module),
                Some(same) if *same == module => {}
                Some(_) => bail!("two different modules would both be {}", module.file_name()),
            }
        }
        tops.push(design.top);
    }
    instances_have_modules(&modules)?;
    let files: Vec<GeneratedFile> = modules.into_iter().map(GeneratedFile::new).collect();
    Ok(Folder {
        name: name
            .or(tops.first().map(String::as_str))
            .unwrap_or_default()
            .to_owned(),
        purpose: purpose.to_owned(),
        tops,
        lines: files.iter().map(|file| file.lines).sum(),
        files,
    })
}

impl GeneratedFile {
    fn new(module: Module) -> Self {
        Self {
            file: module.file_name(),
            about: first_sentence(&module.doc),
            lines: module.text.lines().count(),
            text: module.text,
        }
    }
}

impl Folder {
    /// Every file by name, the list of Verilog included.
    pub fn contents(&self) -> BTreeMap<String, String> {
        let list = self
            .files
            .iter()
            .map(|file| format!("{}\n", file.file))
            .collect();
        let list = self.has_verilog().then(|| (LIST.to_owned(), list));
        let files = self
            .files
            .iter()
            .map(|file| (file.file.clone(), file.text.clone()));
        files.chain(list).collect()
    }

    fn has_verilog(&self) -> bool {
        !self.tops.is_empty()
    }

    /// The folder for people: what it is, and a line for each file.
    pub fn tell(&self, out: &Path) -> String {
        let width = self
            .files
            .iter()
            .map(|file| file.file.len())
            .max()
            .unwrap_or(0)
            .max(LIST.len());
        let mut text = format!("{}: {}", out.join(&self.name).display(), self.purpose);
        if self.has_verilog() {
            text += &format!("; top {}", self.tops.join(", "));
        }
        text.push('\n');
        // The top is what one looks for, so it comes first.
        for file in self.files.iter().rev() {
            text += &format!("  {:width$}  {}\n", file.file, shortened(&file.about));
        }
        if self.has_verilog() {
            text += &format!("  {LIST:width$}  The files in the order in which tools want them.\n");
        }
        text + "\n"
    }
}

fn first_sentence(doc: &[String]) -> String {
    let text = doc
        .iter()
        .map(|line| line.trim())
        .take_while(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join(" ");
    match text.find(". ") {
        Some(end) => text[..=end].to_owned(),
        None => text,
    }
}

/// The text as far as it fits on a line beside a name.
fn shortened(text: &str) -> String {
    const ROOM: usize = 76;
    if text.chars().count() <= ROOM {
        return text.to_owned();
    }
    let mut short = String::new();
    for word in text.split(' ') {
        if short.chars().count() + word.chars().count() >= ROOM {
            break;
        }
        short += word;
        short.push(' ');
    }
    format!("{} …", short.trim_end_matches([' ', ',', ':', ';']))
}

/// Fails if an instance in one of the modules is of a module that is not among them.
fn instances_have_modules(modules: &[Module]) -> Result<()> {
    let known: BTreeSet<&str> = modules.iter().map(|module| module.name.as_str()).collect();
    for module in modules {
        for (of, instance) in instances(&module.text) {
            if !known.contains(of.as_str()) && !PRIMITIVES.contains(&of.as_str()) {
                bail!(
                    "module {} instantiates {of} as {instance}, but there is no module {of}",
                    module.name
                );
            }
        }
    }
    Ok(())
}

/// What FPGA tools bring along.
const PRIMITIVES: [&str; 2] = ["DP16KD", "PDPW16KD"];

/// Module and name of each instance: `thing u_thing (` or `thing #(…) u_thing (`.
fn instances(text: &str) -> Vec<(String, String)> {
    let words = words(text);
    let mut found = Vec::new();
    // A statement starts behind `;`, `end…` and the like; an instance is two names and `(`.
    for start in 0..words.len() {
        let before = |back: usize| start.checked_sub(back).map_or(";", |at| words[at].as_str());
        let labelled = before(2) == ":" && before(3) == "begin";
        let starts = labelled
            || matches!(
                before(1),
                ";" | "end" | "endcase" | "endgenerate" | "endfunction" | "begin"
            );
        if !starts || !is_name(&words[start]) {
            continue;
        }
        let mut at = start + 1;
        if words.get(at).is_some_and(|word| word == "#") {
            at = behind_parentheses(&words, at + 1);
        }
        if let (Some(name), Some(open)) = (words.get(at), words.get(at + 1))
            && is_name(name)
            && (open == "(" || open == "[")
        {
            found.push((words[start].clone(), name.clone()));
        }
    }
    found
}

/// Names and single signs of a text without comments, strings, attributes and directives.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or_default();
        if line.trim_start().starts_with('`') {
            continue;
        }
        let mut rest = line;
        while let Some(sign) = rest.chars().next() {
            let mut length = rest
                .find(|c: char| !c.is_alphanumeric() && c != '_')
                .unwrap_or(rest.len());
            if length == 0 {
                length = match rest {
                    _ if rest.starts_with("(*") && !rest.starts_with("(*)") => {
                        rest.find("*)").map_or(rest.len(), |end| end + 2)
                    }
                    _ if sign == '"' => rest[1..].find('"').map_or(rest.len(), |end| end + 2),
                    _ => {
                        if !sign.is_whitespace() {
                            words.push(sign.to_string());
                        }
                        sign.len_utf8()
                    }
                };
            } else {
                words.push(rest[..length].to_owned());
            }
            rest = &rest[length..];
        }
    }
    words
}

/// Where the parenthesis that opens at `open` has closed.
fn behind_parentheses(words: &[String], open: usize) -> usize {
    let mut depth = 0usize;
    for (at, word) in words.iter().enumerate().skip(open) {
        match word.as_str() {
            "(" => depth += 1,
            ")" if depth <= 1 => return at + 1,
            ")" => depth -= 1,
            _ => {}
        }
    }
    words.len()
}

fn is_name(word: &str) -> bool {
    const KEYWORDS: [&str; 31] = [
        "always",
        "and",
        "assign",
        "begin",
        "buf",
        "case",
        "casex",
        "casez",
        "default",
        "else",
        "end",
        "endcase",
        "endgenerate",
        "endmodule",
        "for",
        "function",
        "generate",
        "genvar",
        "if",
        "initial",
        "input",
        "integer",
        "localparam",
        "module",
        "output",
        "parameter",
        "reg",
        "repeat",
        "task",
        "while",
        "wire",
    ];
    word.starts_with(|c: char| c.is_alphabetic() || c == '_') && !KEYWORDS.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(name: &str, text: &str) -> Module {
        Module {
            name: name.to_owned(),
            text: text.to_owned(),
            doc: Vec::new(),
        }
    }

    #[test]
    fn instances_are_found_and_nothing_else_is_taken_for_one() {
        let text = "`timescale 1ns/1ps\n// gone u_gone (\nmodule top (input wire clk);\nwire a;\n(* keep *) leaf u_leaf (.clk(clk));\n\
                    ram #(.D(2), .X(\"no u_no (\")) u_ram (.clk(clk));\nalways @(posedge clk) begin\n    if (a) b <= c(d);\n    \
                    case (a) 1'd0: e = f; default: g = h; endcase\nend\nlast u_last (.a(a));\n\
                    generate for (i = 0; i < 2; i = i + 1) begin : bank part u_part (); end endgenerate\nassign x = y (z);\nendmodule\n";
        let found: Vec<String> = instances(text)
            .into_iter()
            .map(|(of, name)| format!("{of} {name}"))
            .collect();
        assert_eq!(
            found,
            ["leaf u_leaf", "ram u_ram", "last u_last", "part u_part"]
        );
    }

    #[test]
    fn an_instance_without_module_is_named() {
        let modules = [module("top", "module top;\nleaf u_leaf ();\nendmodule\n")];
        let error = instances_have_modules(&modules).unwrap_err().to_string();
        assert_eq!(
            error,
            "module top instantiates leaf as u_leaf, but there is no module leaf"
        );
        let both = [
            module("leaf", "module leaf;\nendmodule\n"),
            modules[0].clone(),
        ];
        instances_have_modules(&both).unwrap();
    }

    #[test]
    fn the_first_sentence_may_run_over_lines() {
        let doc = |lines: &[&str]| lines.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(
            first_sentence(&doc(&["A block", "of two lines. More."])),
            "A block of two lines."
        );
        assert_eq!(
            first_sentence(&doc(&["No full stop", "", "Another."])),
            "No full stop"
        );
        assert_eq!(first_sentence(&[]), "");
    }
}
