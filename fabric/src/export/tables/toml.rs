//! NamedTables as the `[[tree]]` sections of a fabric file.

use std::fmt;

use super::{NamedTables, TreeTable};

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
        let mut text = String::new();
        let members = self.members.iter().map(String::as_str);
        let (root, contributes) = (&self.root, self.root_contributes);
        push_tree(&mut text, self.id, root, contributes, members);
        for entry in &self.switch {
            let children = entry.children.iter().copied();
            push_entry(&mut text, &entry.name, entry.parent, children, entry.wait);
        }
        f.write_str(&text)
    }
}

/// A tree up to its entries. Here and below without the formatter's cost: a file has a million numbers and names.
pub(super) fn push_tree<'a>(
    text: &mut String,
    id: u16,
    root: &str,
    contributes: bool,
    members: impl Iterator<Item = &'a str>,
) {
    text.push_str("[[tree]]\nid = ");
    text.push_str(itoa::Buffer::new().format(id));
    text.push_str("\nroot = ");
    push_quoted(text, root);
    if contributes {
        text.push_str("\nroot_contributes = true");
    }
    text.push_str("\nmembers = [");
    for (i, name) in members.enumerate() {
        text.push_str(if i > 0 { ", " } else { "" });
        push_quoted(text, name);
    }
    text.push_str("]\n");
}

/// An entry of a switch.
pub(super) fn push_entry(
    text: &mut String,
    name: &str,
    parent: u8,
    children: impl Iterator<Item = u8>,
    wait: u32,
) {
    let mut number = itoa::Buffer::new();
    text.push_str("\n[[tree.switch]]\nname = ");
    push_quoted(text, name);
    text.push_str("\nparent = ");
    text.push_str(number.format(parent));
    text.push_str("\nchildren = [");
    for (i, port) in children.enumerate() {
        text.push_str(if i > 0 { ", " } else { "" });
        text.push_str(number.format(port));
    }
    text.push_str("]\nwait = ");
    text.push_str(number.format(wait));
    text.push('\n');
}

/// A basic string of TOML.
fn push_quoted(text: &mut String, name: &str) {
    let plain = |b: u8| matches!(b, b' '..=b'~') && b != b'"' && b != b'\\';
    text.push('"');
    if name.bytes().all(plain) {
        text.push_str(name);
    } else {
        for c in name.chars() {
            match c {
                '"' | '\\' => text.extend(['\\', c]),
                c if c.is_control() => text.push_str(&format!("\\u{:04X}", u32::from(c))),
                c => text.push(c),
            }
        }
    }
    text.push('"');
}

/// A basic string of TOML.
#[derive(Clone, Copy, Debug)]
pub struct Quoted<'a>(pub &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        push_quoted(&mut text, self.0);
        f.write_str(&text)
    }
}
