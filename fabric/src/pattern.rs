//! Groups by formula.
//!
//! | text | groups |
//! |---|---|
//! | `AxB`, `AxBxC`, ... | processes in a grid, last dimension fastest: one group per line in every dimension |
//! | `AxBr`, `AxBxCr`, ... | the same, first dimension fastest |
//! | `rndN_S_SEED` | N random groups of S endnodes |
//!
//! Process r is on endnode r div (processes per endnode). The lines of the first dimension come first; those of one dimension
//! in the order of their first process. An endnode that has several processes of a line is in its group once.
//! Random groups are those that Python's `random.Random(SEED).sample(range(endnodes), S)` gives, N times: the way in which the
//! groups were drawn that published measurements and the test data use.
//!
//! ```
//! use tributary_fabric::{pattern::Pattern, topology::Topology};
//!
//! let network = "leaf-spine:2,1,3".parse::<Topology>()?.build()?;
//! let groups = "2x3".parse::<Pattern>()?.groups(&network, 1)?;
//! assert_eq!(groups.len(), 3 + 2);
//! assert_eq!(groups[0].endnodes(), [0, 3]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod random;

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::group::{Group, GroupError};
use crate::network::{EndnodeId, Network};
use random::Random;

/// Most members of all groups together, and most groups.
const MEMBERS_MAX: u64 = 1 << 27;
const GROUPS_MAX: u64 = 1 << 24;
const DIMENSIONS_MAX: usize = 8;

/// Text that is no pattern, or a pattern that does not fit a network.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PatternError {
    /// A form that there is not.
    #[error(
        "`{0}` is no pattern; there are grids as 16x8 or 64x64x40 (with an r at the end: first dimension fastest) and random groups, rndN_S_SEED: N groups of S"
    )]
    Unknown(String),
    /// A part that is not a number in range.
    #[error("in `{text}`: {what} is `{part}`, not a number from {least} to {most}")]
    Number {
        /// The pattern.
        text: String,
        /// Meaning of the number.
        what: &'static str,
        /// The part.
        part: String,
        /// Least it can be.
        least: u64,
        /// Most it can be.
        most: u64,
    },
    /// More groups, members or dimensions than there can be.
    #[error("`{text}` has more than {max} {what}")]
    TooLarge {
        /// The pattern.
        text: String,
        /// Too many of what.
        what: &'static str,
        /// Most there can be.
        max: u64,
    },
    /// Processes without an endnode.
    #[error(
        "`{text}` has {processes} processes; {name} has room for {room}: {endnodes} endnodes, {ppn} processes on each"
    )]
    NoRoom {
        /// The pattern.
        text: String,
        /// Its processes; of random groups, the members of one.
        processes: u64,
        /// Name of the network.
        name: String,
        /// Processes that fit.
        room: u64,
        /// Endnodes of the network.
        endnodes: u64,
        /// Processes on each of them.
        ppn: u32,
    },
    /// A group that cannot be. None of the forms makes one.
    #[error(transparent)]
    Group(#[from] GroupError),
}

/// Groups by formula; see the module's text for the forms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    text: String,
    form: Form,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Form {
    /// Sizes, and steps from process to process in each dimension.
    Grid(Vec<(u64, u64)>),
    Random {
        groups: u32,
        size: u32,
        seed: u64,
    },
}

impl FromStr for Pattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        let text = text.trim();
        let form = match text.strip_prefix("rnd") {
            Some(rest) => random_form(text, rest)?,
            None => grid_form(text)?,
        };
        Ok(Self {
            text: text.into(),
            form,
        })
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Pattern {
    /// The groups on this network with `ppn` processes on each endnode. Groups of one endnode are among them where a line has
    /// no other.
    ///
    /// # Errors
    /// The network has too few endnodes, or `ppn` is 0.
    pub fn groups(&self, network: &Network, ppn: u32) -> Result<Vec<Group>, PatternError> {
        let endnodes = network.endnodes().len() as u64;
        let (processes, ppn) = match &self.form {
            Form::Grid(lines) => (lines.iter().map(|&(size, _)| size).product(), ppn),
            Form::Random { size, .. } => (u64::from(*size), 1),
        };
        let room = endnodes * u64::from(ppn);
        if processes > room {
            return Err(PatternError::NoRoom {
                text: self.text.clone(),
                processes,
                name: network.name().into(),
                room,
                endnodes,
                ppn,
            });
        }
        match &self.form {
            Form::Grid(lines) => grid(network, lines, processes, ppn.into()),
            &Form::Random { groups, size, seed } => {
                let mut random = Random::new(seed);
                let drawn = |_| Group::new(network, random.sample(endnodes as u32, size));
                Ok((0..groups).map(drawn).collect::<Result<_, _>>()?)
            }
        }
    }
}

fn grid(
    network: &Network,
    lines: &[(u64, u64)],
    processes: u64,
    ppn: u64,
) -> Result<Vec<Group>, PatternError> {
    let mut groups = Vec::new();
    let mut members: Vec<EndnodeId> = Vec::new();
    for &(size, step) in lines {
        for first in (0..processes).filter(|first| first / step % size == 0) {
            members.clear();
            members.extend((0..size).map(|i| ((first + i * step) / ppn) as EndnodeId));
            members.dedup();
            groups.push(Group::new(network, members.as_slice())?);
        }
    }
    Ok(groups)
}

fn grid_form(text: &str) -> Result<Form, PatternError> {
    let (grid, first_fastest) = match text.strip_suffix('r') {
        Some(grid) => (grid, true),
        None => (text, false),
    };
    if !grid.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(PatternError::Unknown(text.into()));
    }
    let parts: Vec<&str> = grid.split('x').collect();
    let too_large = |what, max| PatternError::TooLarge {
        text: text.into(),
        what,
        max,
    };
    if parts.len() > DIMENSIONS_MAX {
        return Err(too_large("dimensions", DIMENSIONS_MAX as u64));
    }
    let mut lines = Vec::with_capacity(parts.len());
    for part in &parts {
        lines.push((number(text, "a size", part, 1, MEMBERS_MAX)?, 0));
    }
    let mut processes = 1u64;
    let mut steps = |(size, step): &mut (u64, u64)| {
        *step = processes;
        processes = processes.saturating_mul(*size);
    };
    if first_fastest {
        lines.iter_mut().for_each(&mut steps);
    } else {
        lines.iter_mut().rev().for_each(&mut steps);
    }
    if processes.saturating_mul(lines.len() as u64) > MEMBERS_MAX {
        return Err(too_large("members of groups", MEMBERS_MAX));
    }
    let groups: u64 = lines.iter().map(|&(size, _)| processes / size).sum();
    if groups > GROUPS_MAX {
        return Err(too_large("groups", GROUPS_MAX));
    }
    Ok(Form::Grid(lines))
}

fn random_form(text: &str, rest: &str) -> Result<Form, PatternError> {
    let parts: Vec<&str> = rest.split('_').collect();
    let [groups, size, seed] = parts[..] else {
        return Err(PatternError::Unknown(text.into()));
    };
    let groups = number(text, "the number of groups", groups, 0, GROUPS_MAX)?;
    let size = number(text, "the size of a group", size, 1, 1 << 24)?;
    let seed = number(text, "the seed", seed, 0, u64::MAX)?;
    if groups * size > MEMBERS_MAX {
        return Err(PatternError::TooLarge {
            text: text.into(),
            what: "members of groups",
            max: MEMBERS_MAX,
        });
    }
    Ok(Form::Random {
        groups: groups as u32,
        size: size as u32,
        seed,
    })
}

fn number(
    text: &str,
    what: &'static str,
    part: &str,
    least: u64,
    most: u64,
) -> Result<u64, PatternError> {
    let digits = !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let number = part.parse().ok();
    number
        .filter(|n| digits && (least..=most).contains(n))
        .ok_or_else(|| PatternError::Number {
            text: text.into(),
            what,
            part: part.into(),
            least,
            most,
        })
}
