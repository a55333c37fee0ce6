//! NamedTables as the `[[tree]]` sections of a fabric file.

use std::fmt;

use super::{NamedTables, SwitchEntry, TreeTable};

impl fmt::Display for NamedTables {
    /// TOML.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, tree) in self.tree.iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            tree.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for TreeTable {
    /// TOML.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "[[tree]]\nid = {}\nroot = {}",
            self.id,
            Quoted(&self.root)
        )?;
        write!(f, "members = [")?;
        for (i, name) in self.members.iter().enumerate() {
            let comma = if i > 0 { ", " } else { "" };
            write!(f, "{comma}{}", Quoted(name))?;
        }
        writeln!(f, "]")?;
        self.switch.iter().try_for_each(|entry| entry.fmt(f))
    }
}

impl fmt::Display for SwitchEntry {
    /// TOML.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n[[tree.switch]]\nname = {}", Quoted(&self.name))?;
        writeln!(f, "parent = {}", self.parent)?;
        writeln!(f, "children = {:?}", self.children)?;
        writeln!(f, "wait = {}", self.wait)
    }
}

/// A basic string of TOML.
#[derive(Clone, Copy, Debug)]
pub struct Quoted<'a>(pub &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        let plain = |b: u8| matches!(b, b' '..=b'~') && b != b'"' && b != b'\\';
        if self.0.bytes().all(plain) {
            f.write_str(self.0)?;
            return f.write_str("\"");
        }
        for c in self.0.chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}")?,
                c if c.is_control() => write!(f, "\\u{:04X}", u32::from(c))?,
                c => write!(f, "{c}")?,
            }
        }
        f.write_str("\"")
    }
}
