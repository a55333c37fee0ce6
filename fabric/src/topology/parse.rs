//! Topologies from text, their sizes checked before anything is built.

use std::str::FromStr;

use thiserror::Error;

use super::direct::Dragonfly;
use super::trees::{DIRECTOR_PORTS, SPINES_MAX, SUPERNODE_ENDNODES, SUPERNODE_UP, Supernodes};
use super::{Form, Topology};

/// What the builder takes.
const SWITCHES_MAX: u64 = 1 << 17;
const ENDNODES_MAX: u64 = 1 << 24;
const PORTS_MAX: u64 = 1024;
const CABLES_MAX: u64 = 1 << 24;
const DIMENSIONS_MAX: usize = 6;

const FAT_TREE: &str = "ft3:K, K ports a switch, even";
const TORUS: &str = "torus:XxYxZ,E, 1 to 6 dimensions, E endnodes a switch";
const DRAGONFLY: &str =
    "df:A,P,H[,G][,palm], A switches a group, P endnodes and H global cables a switch, G groups";
const SUPERNODES: &str = "supernodes:N,D[,S], N supernodes, D directors, S spine chips a director";
const LEAF_SPINE: &str = "leaf-spine:L,S,E, L leaf and S spine switches, E endnodes a leaf";
const CHAIN: &str = "chain:N,E, N switches, E endnodes each";

/// Text that is no topology.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TopologyError {
    /// A form that there is not.
    #[error(
        "`{0}` is no topology; there are ft3:K, torus:XxYxZ,E, df:A,P,H[,G][,palm], supernodes:N,D[,S], bluelight, taihulight, leaf-spine:L,S,E and chain:N,E"
    )]
    Unknown(String),
    /// Too few or too many numbers.
    #[error("`{text}` has {got} numbers, not {want}: {form}")]
    Count {
        /// The topology.
        text: String,
        /// Numbers in it.
        got: usize,
        /// Numbers it should have.
        want: &'static str,
        /// How to write it.
        form: &'static str,
    },
    /// A part that is not a number in range.
    #[error("in `{text}`: {what} is `{part}`, not a number from {least} to {most}: {form}")]
    Number {
        /// The topology.
        text: String,
        /// Meaning of the number.
        what: &'static str,
        /// The part.
        part: String,
        /// Least it can be.
        least: u32,
        /// Most it can be.
        most: u32,
        /// How to write it.
        form: &'static str,
    },
    /// Numbers that do not fit together.
    #[error("`{text}`: {reason}")]
    Mismatch {
        /// The topology.
        text: String,
        /// What does not fit, and what would.
        reason: String,
    },
    /// A network that is larger than networks can be.
    #[error("`{text}` has {got} {what}, more than {max}")]
    TooLarge {
        /// The topology.
        text: String,
        /// Too many of what.
        what: &'static str,
        /// How many it has.
        got: u64,
        /// Most there can be.
        max: u64,
    },
}

impl FromStr for Topology {
    type Err = TopologyError;

    fn from_str(text: &str) -> Result<Self, TopologyError> {
        let text = text.trim();
        let (name, numbers) = text.split_once(':').unwrap_or((text, ""));
        let reader = |form| Reader { text, form };
        let parts: Vec<&str> = numbers.split(',').map(str::trim).collect();
        let form = match (name, numbers) {
            ("bluelight", "") if name == text => supernodes(34, 8, 16),
            ("taihulight", "") if name == text => supernodes(160, 32, 18),
            ("ft3", _) => reader(FAT_TREE).fat_tree(&parts)?,
            ("torus", _) => reader(TORUS).torus(&parts)?,
            ("df", _) => reader(DRAGONFLY).dragonfly(parts)?,
            ("supernodes", _) => reader(SUPERNODES).supernodes(&parts)?,
            ("leaf-spine", _) => reader(LEAF_SPINE).leaf_spine(&parts)?,
            ("chain", _) => reader(CHAIN).chain(&parts)?,
            _ => return Err(TopologyError::Unknown(text.into())),
        };
        Ok(Self {
            text: text.into(),
            form,
        })
    }
}

const fn supernodes(supernodes: u32, directors: u32, spines: u32) -> Form {
    Form::Supernodes(Supernodes {
        supernodes,
        directors,
        spines,
    })
}

struct Reader<'a> {
    text: &'a str,
    form: &'static str,
}

impl Reader<'_> {
    fn count(
        &self,
        parts: &[&str],
        range: std::ops::RangeInclusive<usize>,
        want: &'static str,
    ) -> Result<(), TopologyError> {
        if range.contains(&parts.len()) {
            return Ok(());
        }
        Err(TopologyError::Count {
            text: self.text.into(),
            got: parts.len(),
            want,
            form: self.form,
        })
    }

    fn number(
        &self,
        what: &'static str,
        part: &str,
        least: u32,
        most: u32,
    ) -> Result<u32, TopologyError> {
        let digits = !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        let number = part.parse().ok();
        number
            .filter(|n| digits && (least..=most).contains(n))
            .ok_or_else(|| TopologyError::Number {
                text: self.text.into(),
                what,
                part: part.into(),
                least,
                most,
                form: self.form,
            })
    }

    fn fits(&self, what: &'static str, got: u64, max: u64) -> Result<(), TopologyError> {
        if got <= max {
            return Ok(());
        }
        Err(TopologyError::TooLarge {
            text: self.text.into(),
            what,
            got,
            max,
        })
    }

    fn mismatch(&self, reason: String) -> TopologyError {
        TopologyError::Mismatch {
            text: self.text.into(),
            reason,
        }
    }

    fn fat_tree(&self, parts: &[&str]) -> Result<Form, TopologyError> {
        self.count(parts, 1..=1, "1")?;
        // 322 ports are 129,605 switches; 324 are more than there can be.
        let ports = self.number("K", parts[0], 2, 322)?;
        if ports % 2 == 1 {
            return Err(self.mismatch(format!(
                "K = {ports} is odd; half of the ports lead up, so {} or {} would do",
                ports - 1,
                ports + 1
            )));
        }
        Ok(Form::FatTree(ports))
    }

    fn torus(&self, parts: &[&str]) -> Result<Form, TopologyError> {
        self.count(parts, 2..=2, "sizes and 1 number")?;
        let sizes: Vec<&str> = parts[0].split('x').collect();
        if sizes.len() > DIMENSIONS_MAX {
            return Err(self.mismatch(format!(
                "{} dimensions, more than {DIMENSIONS_MAX}",
                sizes.len()
            )));
        }
        let sizes = sizes
            .into_iter()
            .map(|size| self.number("a size", size, 1, SWITCHES_MAX as u32))
            .collect::<Result<Vec<_>, _>>()?;
        let ports_max = PORTS_MAX as u32 - 2 * sizes.len() as u32;
        let endnodes = self.number("E", parts[1], 0, ports_max)?;
        let switches = sizes
            .iter()
            .fold(1u64, |product, &s| product.saturating_mul(s.into()));
        self.fits("switches", switches, SWITCHES_MAX)?;
        self.fits("endnodes", switches * u64::from(endnodes), ENDNODES_MAX)?;
        Ok(Form::Torus(sizes, endnodes))
    }

    fn dragonfly(&self, mut parts: Vec<&str>) -> Result<Form, TopologyError> {
        let palm = parts.pop_if(|part| *part == "palm").is_some();
        self.count(&parts, 3..=4, "3 or 4")?;
        let most = PORTS_MAX as u32;
        let switches = self.number("A", parts[0], 1, most)?;
        let endnodes = self.number("P", parts[1], 0, most)?;
        let global = self.number("H", parts[2], 1, most)?;
        let groups_max = switches * global + 1;
        let groups = match parts.get(3) {
            Some(part) => self.number("G", part, 1, groups_max)?,
            None => groups_max,
        };
        let dragonfly = Dragonfly {
            switches,
            endnodes,
            global,
            groups,
            palm,
        };
        let all = u64::from(groups) * u64::from(switches);
        self.fits("ports a switch", dragonfly.ports(), PORTS_MAX)?;
        self.fits("switches", all, SWITCHES_MAX)?;
        self.fits("endnodes", all * u64::from(endnodes), ENDNODES_MAX)?;
        self.fits(
            "cables",
            all * u64::from(switches - 1 + global) / 2,
            CABLES_MAX,
        )?;
        Ok(Form::Dragonfly(dragonfly))
    }

    fn supernodes(&self, parts: &[&str]) -> Result<Form, TopologyError> {
        self.count(parts, 2..=3, "2 or 3")?;
        let all = SWITCHES_MAX as u32 / 32;
        let number = self.number("N", parts[0], 1, all)?;
        let directors = self.number("D", parts[1], 1, SUPERNODE_UP)?;
        let spines = match parts.get(2) {
            Some(part) => self.number("S", part, 1, SPINES_MAX)?,
            None => SPINES_MAX,
        };
        if !SUPERNODE_UP.is_multiple_of(directors) {
            return Err(self.mismatch(format!(
                "the {SUPERNODE_UP} up cables of a supernode do not spread evenly over {directors} directors; 1, 2, 4, 8, 16, 32 and 64 would do"
            )));
        }
        let outer = number * (SUPERNODE_UP / directors);
        if outer > DIRECTOR_PORTS {
            return Err(self.mismatch(format!(
                "{number} supernodes have {outer} cables to each of {directors} directors, which have {DIRECTOR_PORTS} ports; at most {} supernodes fit",
                DIRECTOR_PORTS * directors / SUPERNODE_UP
            )));
        }
        let made = Supernodes {
            supernodes: number,
            directors,
            spines,
        };
        self.fits("switches", made.switches(), SWITCHES_MAX)?;
        let endnodes = u64::from(number) * u64::from(SUPERNODE_ENDNODES);
        self.fits("endnodes", endnodes, ENDNODES_MAX)?;
        Ok(Form::Supernodes(made))
    }

    fn leaf_spine(&self, parts: &[&str]) -> Result<Form, TopologyError> {
        self.count(parts, 3..=3, "3")?;
        let most = PORTS_MAX as u32;
        let leaves = self.number("L", parts[0], 1, most)?;
        let spines = self.number("S", parts[1], 1, most)?;
        let endnodes = self.number("E", parts[2], 0, most)?;
        let ports = u64::from(spines) + u64::from(endnodes);
        self.fits("ports a leaf", ports, PORTS_MAX)?;
        Ok(Form::LeafSpine(leaves, spines, endnodes))
    }

    fn chain(&self, parts: &[&str]) -> Result<Form, TopologyError> {
        self.count(parts, 2..=2, "2")?;
        let switches = self.number("N", parts[0], 1, SWITCHES_MAX as u32)?;
        let endnodes = self.number("E", parts[1], 0, PORTS_MAX as u32 - 2)?;
        let all = u64::from(switches) * u64::from(endnodes);
        self.fits("endnodes", all, ENDNODES_MAX)?;
        Ok(Form::Chain(switches, endnodes))
    }
}
