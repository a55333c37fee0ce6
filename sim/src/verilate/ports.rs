//! The ports of a model, read from the class that Verilator declares for it.

use std::fmt;

use super::error::VerilateError;

/// Which way a port goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Into the model.
    Input,
    /// Out of the model.
    Output,
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Input => "input",
            Self::Output => "output",
        })
    }
}

/// A port of one library's models, resolved once and cheap to copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Port {
    pub(super) library: u32,
    pub(super) index: u32,
    pub(super) width: u32,
    pub(super) direction: Direction,
}

impl Port {
    /// Width in bits.
    pub fn width(self) -> u32 {
        self.width
    }

    /// Input or output.
    pub fn direction(self) -> Direction {
        self.direction
    }

    /// How many 64-bit words hold a value.
    pub fn words(self) -> usize {
        self.width.div_ceil(64) as usize
    }
}

/// A port as Verilator declares it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Declaration {
    /// Name in the Verilog.
    pub name: String,
    /// Name in the C++.
    pub member: String,
    /// Width in bits.
    pub width: u32,
    /// Input or output.
    pub direction: Direction,
}

/// Finds the declarations in the text of the model's header:
/// `VL_IN8(&en,0,0);`, `VL_OUTW(&data,511,0,16);` and so on.
pub(super) fn parse(header: &str, top: &str) -> Result<Vec<Declaration>, VerilateError> {
    let mut ports = Vec::new();
    for line in header.lines() {
        let line = line.trim();
        let (direction, rest) = if let Some(rest) = line.strip_prefix("VL_IN") {
            (Direction::Input, rest)
        } else if let Some(rest) = line.strip_prefix("VL_OUT") {
            (Direction::Output, rest)
        } else {
            continue;
        };
        let declaration = parse_one(direction, rest).ok_or_else(|| VerilateError::Ports {
            top: top.to_owned(),
            line: line.to_owned(),
        })?;
        ports.push(declaration);
    }
    Ok(ports)
}

fn parse_one(direction: Direction, rest: &str) -> Option<Declaration> {
    let (_, arguments) = rest.split_once("(&")?;
    let mut arguments = arguments.strip_suffix(");")?.split(',');
    let member = arguments.next()?.to_owned();
    let msb: u32 = arguments.next()?.parse().ok()?;
    let lsb: u32 = arguments.next()?.parse().ok()?;
    Some(Declaration {
        name: decode(&member),
        member,
        width: msb.checked_sub(lsb)?.checked_add(1)?,
        direction,
    })
}

/// Undoes Verilator's spelling of characters that C++ has no place for: `__0` and two
/// hexadecimal digits.
fn decode(member: &str) -> String {
    let mut name = String::with_capacity(member.len());
    let mut rest = member;
    while let Some(first) = rest.chars().next() {
        let code = rest
            .strip_prefix("__0")
            .and_then(|tail| tail.get(..2))
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        if let Some(code) = code {
            name.push(char::from(code));
            rest = &rest[5..];
        } else {
            name.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_declaration_is_read() {
        let header = "class Vt {\n    // PORTS\n    VL_IN8(&clk,0,0);\n    VL_IN8(&a___05Fb,6,0);\n\
                      VL_OUT8(&x__024y,7,0);\n VL_IN16(&s,15,0);\n VL_IN(&i,31,0);\n\
                      VL_OUTW(&q,299,0,10);\n    VL_OUT64(&q33,32,0);\n";
        let found: Vec<_> = parse(header, "t")
            .unwrap()
            .into_iter()
            .map(|port| (port.name, port.width, port.direction))
            .collect();
        let expected = [
            ("clk", 1, Direction::Input),
            ("a__b", 7, Direction::Input),
            ("x$y", 8, Direction::Output),
            ("s", 16, Direction::Input),
            ("i", 32, Direction::Input),
            ("q", 300, Direction::Output),
            ("q33", 33, Direction::Output),
        ]
        .map(|(name, width, direction)| (name.to_owned(), width, direction));
        assert_eq!(found, expected);
    }

    #[test]
    fn an_odd_declaration_is_an_error_that_shows_it() {
        let error = parse("VL_IN8(&clk,zero);", "t").unwrap_err().to_string();
        assert!(error.contains("VL_IN8(&clk,zero);"), "{error}");
    }
}
