//! The modules below a block, as Yosys sees them: one for each size, where the generated one has parameters.

use std::collections::BTreeMap;

/// A block's text with a name for each size of each module below it, and the texts of those.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Below {
    pub text: String,
    pub children: BTreeMap<String, String>,
    /// Names made for sizes, and what stands in the generated text instead.
    sized: Vec<(String, String)>,
}

impl Below {
    /// Of the module `name` among `texts`.
    pub fn of(name: &str, texts: &BTreeMap<String, String>) -> Self {
        let mut below = Self::default();
        for line in texts[name].lines() {
            let line = below.line(line, name, texts);
            below.text += &line;
            below.text.push('\n');
        }
        below
    }

    /// One line; if an instance begins there, its module is noted.
    fn line(&mut self, line: &str, own: &str, texts: &BTreeMap<String, String>) -> String {
        let head = line.trim().strip_suffix(" (");
        let Some((module, instance)) = head.and_then(|head| head.split_once(' ')) else {
            return line.to_owned();
        };
        let Some(text) = texts.get(module).filter(|_| module != own) else {
            return line.to_owned();
        };
        let Some((values, instance)) = instance
            .strip_prefix("#(")
            .and_then(|i| i.split_once(")) "))
        else {
            self.children.insert(module.to_owned(), text.clone());
            return line.to_owned();
        };
        let mut name = module.to_owned();
        let mut sized = text.clone();
        // `.W(64), .A(9`
        for value in values.split(", ") {
            let value = value.trim_start_matches('.').trim_end_matches(')');
            if let Some((parameter, value)) = value.split_once('(') {
                name += &format!("_{}{value}", parameter.to_lowercase());
                let any = format!("parameter {parameter} = 1");
                sized = sized.replace(&any, &format!("parameter {parameter} = {value}"));
            }
        }
        let sized = sized.replace(&format!("module {module} "), &format!("module {name} "));
        self.children.insert(name.clone(), sized);
        let generated = format!("{module} #({values}))");
        if !self.sized.iter().any(|(known, _)| *known == name) {
            self.sized.push((name.clone(), generated));
        }
        format!("    {name} {instance} (")
    }

    /// The text with the names of the generated modules.
    pub fn restored(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, generated) in &self.sized {
            text = text.replace(&format!("  {name} "), &format!("  {generated} "));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_become_names_and_come_back() {
        let ram =
            "module ram #(\n    parameter W = 1,  // bits\n    parameter A = 1   // bits\n) (\n";
        let top = "module top (\n    ram #(.W(64), .A(9)) words (\n    leaf one (\n    top x (\n";
        let texts = [("ram", ram), ("leaf", "module leaf (\n"), ("top", top)];
        let texts = texts.map(|(name, text)| (name.to_owned(), text.to_owned()));
        let below = Below::of("top", &texts.into());
        assert!(
            below.text.contains("\n    ram_w64_a9 words (\n"),
            "{below:?}"
        );
        let names: Vec<&String> = below.children.keys().collect();
        assert_eq!(names, ["leaf", "ram_w64_a9"]);
        let sized = &below.children["ram_w64_a9"];
        assert!(sized.starts_with("module ram_w64_a9 #("), "{sized}");
        assert!(
            sized.contains("W = 64,") && sized.contains("A = 9 "),
            "{sized}"
        );
        assert_eq!(below.restored(&below.text), top);
    }
}
