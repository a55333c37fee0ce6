//! One line of such a file.

use crate::network::Port;
use crate::read::text::{number, shown};

pub(super) enum Parsed<'a> {
    /// A line that says nothing about the cabling.
    Nothing,
    /// GUID of the node that comes next.
    Guid(u64),
    Node {
        is_switch: bool,
        ports: Port,
        name: &'a str,
    },
    /// A port of the node before, and what it is wired to.
    Plug {
        port: Port,
        /// The port's own GUID, which adapters have.
        guid: Option<u64>,
        peer: &'a str,
        peer_port: Port,
    },
}

/// Most is read as `ibnetdiscover` prints it:
///
/// ```text
/// switchguid=0x8f10400410015(8f10400410015)
/// Switch  8 "S-0008f10400410015"    # description and LIDs: left alone
/// [6]     "H-0008f10403960984"[2](8f10403960986)
/// caguid=0x8f10403960984
/// Ca      2 "H-0008f10403960984"
/// [2](8f10403960986)      "S-0008f10400410015"[6]
/// ```
pub(super) fn parse(text: &str) -> Result<Parsed<'_>, String> {
    let mut rest = Rest(text);
    if text.starts_with('[') {
        let port = rest.port()?;
        let guid = rest.own_guid()?;
        let peer = rest.quoted()?;
        let peer_port = rest.port()?;
        rest.own_guid()?;
        rest.end()?;
        return Ok(Parsed::Plug {
            port,
            guid,
            peer,
            peer_port,
        });
    }
    if let Some((key, value)) = text.split_once('=')
        && key.bytes().all(|b| b.is_ascii_alphanumeric())
    {
        return match key {
            "switchguid" | "caguid" | "hcaguid" | "rtguid" => guid(value).map(Parsed::Guid),
            _ => Ok(Parsed::Nothing),
        };
    }
    let word = rest.word();
    let is_switch = match word {
        "Switch" => true,
        "Ca" | "Hca" | "Rt" => false,
        // Headings of `ibnetdiscover -g`.
        _ if word == "Chassis" || text.ends_with(" Nodes") => return Ok(Parsed::Nothing),
        _ => {
            return Err(format!(
                "`{}` is none of `Switch 36 \"NAME\"`, `Ca 1 \"NAME\"`, `[PORT] \"NAME\"[PORT]` and `caguid=0x...`",
                shown(text)
            ));
        }
    };
    let ports = number("the number of ports", rest.word())?;
    let name = rest.quoted()?;
    rest.end()?;
    Ok(Parsed::Node {
        is_switch,
        ports,
        name,
    })
}

/// `0x...`, or with the port's GUID in parentheses behind it.
fn guid(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let own = text.split_once('(').map_or(text, |(own, _)| own);
    hex(own.strip_prefix("0x").unwrap_or(own))
}

fn hex(text: &str) -> Result<u64, String> {
    let digits = text.bytes().all(|b| b.is_ascii_hexdigit());
    let number = u64::from_str_radix(text, 16).ok().filter(|_| digits);
    number.ok_or_else(|| format!("`{}` is no GUID: 1 to 16 hexadecimal digits", shown(text)))
}

/// What is left of a line.
struct Rest<'a>(&'a str);

impl<'a> Rest<'a> {
    fn word(&mut self) -> &'a str {
        let text = self.0.trim_start();
        let end = text.find(char::is_whitespace).unwrap_or(text.len());
        let (word, rest) = text.split_at(end);
        self.0 = rest;
        word
    }

    /// The text between these, if it is next.
    fn between(&mut self, open: char, close: char) -> Option<&'a str> {
        let text = self.0.trim_start().strip_prefix(open)?;
        let (inner, rest) = text.split_once(close)?;
        self.0 = rest;
        Some(inner)
    }

    /// `[PORT]`, and the port's number on the outside of a chassis, which is left alone.
    fn port(&mut self) -> Result<Port, String> {
        let Some(port) = self.between('[', ']') else {
            return Err(format!(
                "a port as [1] should be where `{}` is",
                shown(self.0.trim_start())
            ));
        };
        if self.0.starts_with("[ext") {
            self.between('[', ']');
        }
        number("port", port.trim())
    }

    fn own_guid(&mut self) -> Result<Option<u64>, String> {
        self.between('(', ')').map(hex).transpose()
    }

    fn quoted(&mut self) -> Result<&'a str, String> {
        let name = self.between('"', '"').filter(|name| !name.is_empty());
        name.ok_or_else(|| {
            format!(
                "a name in quotes should be where `{}` is",
                shown(self.0.trim_start())
            )
        })
    }

    fn end(&self) -> Result<(), String> {
        match self.0.trim_start() {
            "" => Ok(()),
            more => Err(format!("`{}` is too much", shown(more))),
        }
    }
}
