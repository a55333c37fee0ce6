//! Groups, one a line.

use std::collections::HashMap;

use super::ReadError;
use super::text::{Lines, Wrong, error, shown};
use crate::group::{Group, GroupError};
use crate::network::{EndnodeId, Network};

/// Reads groups: one a line, names or indexes of endnodes between blanks; `#` begins a comment. A name goes before an index.
/// `file` is the file's name in errors.
///
/// # Errors
/// A line names an endnode that the network does not have, or the same one twice.
pub fn groups(text: &str, file: &str, network: &Network) -> Result<Vec<Group>, ReadError> {
    let names = || {
        (0..)
            .zip(network.endnodes())
            .map(|(id, e)| (e.name.as_str(), id))
    };
    let names: HashMap<&str, EndnodeId> = names().collect();
    let group = |line: super::text::Line<'_>| -> Result<Group, Wrong> {
        let members = line.text.split_whitespace().map(|word| {
            let by_name = names.get(word).copied();
            by_name.map_or_else(|| index(word, network), Ok)
        });
        let members: Result<Vec<EndnodeId>, String> = members.collect();
        let made = members.and_then(|members| {
            Group::new(network, members).map_err(|error| match error {
                GroupError::Duplicate(id) => {
                    let name = &network.endnodes()[id as usize].name;
                    format!("endnode {id} ({name}) is in the group twice")
                }
                other => other.to_string(),
            })
        });
        made.map_err(|reason| (line.number, reason))
    };
    let groups: Result<_, Wrong> = Lines::new(text).map(group).collect();
    groups.map_err(|(line, reason)| error(file, line, reason))
}

fn index(word: &str, network: &Network) -> Result<EndnodeId, String> {
    let endnodes = network.endnodes().len();
    let has = match network.endnodes() {
        [] => format!("{} has none", network.name()),
        [first, ..] => format!(
            "{} has endnodes 0 to {}, the first of them named {}",
            network.name(),
            endnodes - 1,
            first.name
        ),
    };
    let digits = word.bytes().all(|b| b.is_ascii_digit());
    let id = word
        .parse()
        .ok()
        .filter(|&id| digits && (id as usize) < endnodes);
    id.ok_or_else(|| format!("there is no endnode {}: {has}", shown(word)))
}
