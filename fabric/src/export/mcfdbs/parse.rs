//! Reads a dump, OpenSM's or our own.

use thiserror::Error;

use super::{MLID_FIRST, MLID_LAST, McastTables, key};
use crate::network::Port;

/// Last port of the form; a switch of an InfiniBand network has up to 254.
const PORT_LAST: Port = 0xfff;

/// What is wrong with a dump, and where.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{file}:{line}: {reason}")]
pub struct DumpError {
    /// Name of the file.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// What is wrong, and what would be right.
    pub reason: String,
}

impl McastTables {
    /// Reads a dump; `file` is its name in errors. The order of switches, LIDs and ports is free, and so are spaces;
    /// lines that begin with `#` are comments.
    ///
    /// # Errors
    /// The first line that does not belong in a dump, or that says something for the second time.
    pub fn parse(text: &str, file: &str) -> Result<Self, DumpError> {
        let mut tables = Self::default();
        let mut switch = None;
        for (number, line) in text.lines().enumerate() {
            tables
                .line(line.trim(), &mut switch)
                .map_err(|reason| DumpError {
                    file: file.to_owned(),
                    line: number + 1,
                    reason,
                })?;
        }
        Ok(tables)
    }

    fn line(&mut self, line: &str, switch: &mut Option<u64>) -> Result<(), String> {
        if line.is_empty() || line.starts_with("LID") || line.starts_with('#') {
            return Ok(());
        }
        if let Some(rest) = line.strip_prefix("Switch") {
            // OpenSM says nothing more here, other tools the switch's name.
            let text = rest.split_whitespace().next().unwrap_or_default();
            let guid = hex(text).ok_or_else(|| {
                format!("{text:?} is no GUID; a switch is `Switch 0x` and 16 hexadecimal digits")
            })?;
            if self
                .switches
                .insert(key(guid), Default::default())
                .is_some()
            {
                return Err(format!("switch {guid:#018x} is there twice"));
            }
            *switch = Some(guid);
            return Ok(());
        }
        let Some((mlid, ports)) = line.split_once(':') else {
            return Err(format!(
                "{line:?} is neither a switch (`Switch 0x...`) nor an entry (`0xC000 : 0x001`)"
            ));
        };
        let mlid = mlid.trim();
        let range = u64::from(MLID_FIRST)..=u64::from(MLID_LAST);
        let mlid = hex(mlid).filter(|lid| range.contains(lid)).ok_or_else(|| {
            format!("{mlid:?} is no multicast LID (0x{MLID_FIRST:X} to 0x{MLID_LAST:X})")
        })? as u16;
        let table = switch.and_then(|guid| self.switches.get_mut(&key(guid)));
        let table = table.ok_or("an entry before the first switch")?;
        let ports = port_list(ports)?;
        if ports.is_empty() {
            return Err(format!("no ports for LID 0x{mlid:04X}"));
        }
        if !table.insert(mlid, ports.into_iter()) {
            return Err(format!("LID 0x{mlid:04X} is there twice for this switch"));
        }
        Ok(())
    }
}

fn port_list(text: &str) -> Result<Vec<Port>, String> {
    let mut ports = Vec::new();
    for text in text.split_whitespace() {
        let port = hex(text).and_then(|p| Port::try_from(p).ok());
        let port = port.filter(|&p| p <= PORT_LAST).ok_or_else(|| {
            format!("{text:?} is no port (hexadecimal, 0x000 to 0x{PORT_LAST:03X})")
        })?;
        ports.push(port);
    }
    ports.sort_unstable();
    match ports.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(format!("port 0x{:03X} is there twice", pair[0])),
        None => Ok(ports),
    }
}

fn hex(text: &str) -> Option<u64> {
    let digits = text.strip_prefix("0x").or(text.strip_prefix("0X"))?;
    // `from_str_radix` takes a sign.
    let plain = digits.bytes().all(|b| b.is_ascii_hexdigit());
    plain.then(|| u64::from_str_radix(digits, 16).ok())?
}
