//! The `.topo` form.

use super::text::{Line, Lines, Wrong, number, shown};
use crate::network::{Jack, Network, NetworkBuilder, NetworkError, SwitchId};
use crate::topology::{endnode_name, switch_name};

const HEADER: &str = "topo NAME switches S endnodes H";
const SWITCH: &str = "sw I PORTS TIER";
const CABLE: &str = "l I PI J PJ";
const ENDNODE: &str = "h K I P";

pub(super) fn read(lines: &mut Lines<'_>) -> Result<Network, Wrong> {
    let Some(header) = lines.next() else {
        return Err((
            0,
            format!("there is nothing in it; it begins with `{HEADER}`"),
        ));
    };
    let (name, switches, endnodes) = head(header.text).map_err(|e| (header.number, e))?;
    let mut reader = Reader {
        builder: NetworkBuilder::new(name),
        lines: Vec::new(),
        endnodes: 0,
    };
    for line in lines {
        reader.line(line).map_err(|reason| (line.number, reason))?;
    }
    for (what, said, got) in [
        ("switches", switches, reader.lines.len() as u64),
        ("endnodes", endnodes, reader.endnodes.into()),
    ] {
        if said != got {
            return Err((
                header.number,
                format!("{said} {what} are announced, {got} are in the file"),
            ));
        }
    }
    let Reader { builder, lines, .. } = reader;
    builder.build().map_err(|error| {
        let line = match &error {
            NetworkError::Split { to, .. } => {
                let id: Option<usize> = to.get(1..).and_then(|id| id.parse().ok());
                id.and_then(|id| lines.get(id).copied())
            }
            _ => None,
        };
        (line.unwrap_or(header.number), error.to_string())
    })
}

fn head(text: &str) -> Result<(&str, u64, u64), String> {
    let [_, name, "switches", switches, "endnodes", endnodes] = fields(text, HEADER)? else {
        return Err(format!("`{}` should be `{HEADER}`", shown(text)));
    };
    Ok((
        name,
        number("the number of switches", switches)?,
        number("the number of endnodes", endnodes)?,
    ))
}

struct Reader {
    builder: NetworkBuilder,
    /// By switch: its line.
    lines: Vec<usize>,
    endnodes: u32,
}

impl Reader {
    fn line(&mut self, line: Line<'_>) -> Result<(), String> {
        let text = line.text;
        match text.split_whitespace().next() {
            Some("sw") => {
                let [_, id, ports, tier] = fields(text, SWITCH)?;
                let switch = self.lines.len() as SwitchId;
                in_order("switch", id, switch)?;
                let ports = number("the number of ports", ports)?;
                tier.parse::<i32>()
                    .map_err(|_| format!("the tier is `{}`, not a number", shown(tier)))?;
                let (name, guid) = switch_name(switch);
                let added = self.builder.switch(name, guid, ports);
                added.map_err(|e| e.to_string())?;
                self.lines.push(line.number);
            }
            Some("l") => {
                let [_, a, port_a, b, port_b] = fields(text, CABLE)?;
                let (a, b) = (jack(a, port_a)?, jack(b, port_b)?);
                let added = if a.0 == b.0 {
                    self.builder.loopback(a, b)
                } else {
                    self.builder.cable(a, b).map(drop)
                };
                added.map_err(|e| e.to_string())?;
            }
            Some("h") => {
                let [_, id, switch, port] = fields(text, ENDNODE)?;
                in_order("endnode", id, self.endnodes)?;
                let (name, guid) = endnode_name(self.endnodes);
                let added = self.builder.endnode(name, guid, jack(switch, port)?);
                added.map_err(|e| e.to_string())?;
                self.endnodes += 1;
            }
            Some("topo") => return Err(format!("a second `{HEADER}`; it comes first and once")),
            _ => {
                return Err(format!(
                    "`{}` is none of `{SWITCH}`, `{CABLE}` and `{ENDNODE}`",
                    shown(text)
                ));
            }
        }
        Ok(())
    }
}

/// A line's fields, as many as there should be.
fn fields<'a, const N: usize>(text: &'a str, form: &str) -> Result<[&'a str; N], String> {
    let mut all = [""; N];
    let mut words = text.split_whitespace();
    for field in &mut all {
        *field = words
            .next()
            .ok_or_else(|| format!("`{}` ends early; it should be `{form}`", shown(text)))?;
    }
    match words.next() {
        None => Ok(all),
        Some(more) => Err(format!("`{}` is too much after `{form}`", shown(more))),
    }
}

fn in_order(what: &str, text: &str, next: u32) -> Result<(), String> {
    let id: u32 = number(what, text)?;
    if id == next {
        return Ok(());
    }
    let why = if id < next {
        "is there already"
    } else {
        "comes too early"
    };
    Err(format!("{what} {id} {why}; {what} {next} is next"))
}

fn jack(switch: &str, port: &str) -> Result<Jack, String> {
    Ok((number("switch", switch)?, number("port", port)?))
}
