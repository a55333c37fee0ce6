//! Networks and groups from files.
//!
//! Two forms of networks are read; which one a file has is told by its content:
//!
//! - what `ibnetdiscover` prints and the ibsim simulator reads ([`write_ibnet`] writes it). Every cable is in the file twice, from
//!   both of its ends, and both must agree. Names are the quoted ones (`S-0002c90200412345`); a second or later wired port
//!   of a channel adapter is an endnode of its own, `NAME/PORT`. Routers are endnodes. Descriptions after `#` are left alone.
//! - `.topo` ([`write_topo`] writes it): a line `topo NAME switches S endnodes H`, then `sw I PORTS TIER` for each switch (the
//!   tier is left alone when read), `l I PI J PJ` for a cable from port PI of switch I to port PJ of switch J, `h K I P` for endnode K
//!   on port P of switch I. Switches and endnodes are numbered from 0 in the order of their lines. Nodes are named S0, S1, ... and H0, H1, ...
//!
//! Table order of a `.topo` file is the order of its switches. With GUIDs it is OpenSM's, by the bytes of the GUIDs from the last to the
//! first, so that trees are those of OpenSM; GUIDs that ibsim gives come out in the order of the file. Endnodes are in the order of the
//! file. A network is loaded whole or not at all. A cable from a switch back to itself is kept apart, and nothing uses it
//! ([`Network::loopbacks`]).

mod groups;
mod ibnet;
mod text;
mod topo;
mod write;

pub use groups::groups;
pub use write::{write_ibnet, write_topo};

use std::io::Read as _;
use std::path::Path;

use thiserror::Error;

use crate::group::Group;
use crate::network::Network;
use text::Lines;

/// Most bytes of a file; a device has no end.
const SIZE_MAX: u64 = 1 << 30;
/// Most bytes of a file of groups: eight million groups of four.
const GROUPS_SIZE_MAX: u64 = 1 << 28;

/// What is wrong with a file, and where.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ReadError {
    /// The file as a whole.
    #[error("{file}: {reason}")]
    File {
        /// Name of the file.
        file: String,
        /// Why it cannot be read.
        reason: String,
    },
    /// One of its lines.
    #[error("{file}:{line}: {reason}")]
    Line {
        /// Name of the file.
        file: String,
        /// Line, from 1.
        line: usize,
        /// What is wrong, and what would be right.
        reason: String,
    },
}

/// Reads a network.
///
/// # Errors
/// The file cannot be read, is not text, or is not a network that is connected and consistent.
pub fn network(path: &Path) -> Result<Network, ReadError> {
    let file = path.display().to_string();
    let name = path.file_stem().map(|stem| stem.to_string_lossy());
    let bytes = content(path, &file, SIZE_MAX)?;
    parse(&bytes, &file, name.as_deref().unwrap_or("network"))
}

/// Reads groups as [`groups`] does.
///
/// # Errors
/// The file cannot be read, is larger than 256 MB or is not text, or [`groups`] refuses it.
pub fn groups_file(path: &Path, network: &Network) -> Result<Vec<Group>, ReadError> {
    let file = path.display().to_string();
    let bytes = content(path, &file, GROUPS_SIZE_MAX)?;
    groups(text::utf8(&bytes, &file)?, &file, network)
}

/// What is in a file of at most `most` bytes; `file` is its name in errors.
fn content(path: &Path, file: &str, most: u64) -> Result<Vec<u8>, ReadError> {
    let wrong = |reason: String| ReadError::File {
        file: file.to_owned(),
        reason,
    };
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|opened| opened.take(most + 1).read_to_end(&mut bytes))
        .map_err(|error| wrong(error.to_string()))?;
    if bytes.len() as u64 > most {
        return Err(wrong(format!("is larger than {} MB", most >> 20)));
    }
    Ok(bytes)
}

/// Reads a network from the content of a file; `file` is its name in errors, `name` the name of a network that has none in its file.
///
/// # Errors
/// As [`network`].
pub fn parse(bytes: &[u8], file: &str, name: &str) -> Result<Network, ReadError> {
    let text = text::utf8(bytes, file)?;
    let mut lines = Lines::new(text);
    match lines.clone().next() {
        Some(line) if line.text.split_whitespace().next() == Some("topo") => topo::read(&mut lines),
        Some(_) => ibnet::read(&mut lines, name),
        None => Err((
            0,
            "there is nothing in it; a network begins with `topo NAME switches S endnodes H`, or is what ibnetdiscover prints".into(),
        )),
    }
    .map_err(|(line, reason)| text::error(file, line, reason))
}
