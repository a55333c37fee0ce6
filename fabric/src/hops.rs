//! Distances between switches, in cables.
//!
//! Switches with the same neighbours ("twins": the leaf switches of a pod, the top switches of a plane) are equally far
//! from every third switch, so the table has a row and a column for each class of twins only: a byte per pair of classes.
//! Fat trees shrink to a half or less of their switches that way; on a torus every switch is its own class.

mod classes;
mod search;

use classes::Classes;
use thiserror::Error;

use crate::network::{CableId, Network, SwitchId};

/// Distance of switches without a path between them.
pub const UNREACHABLE: u8 = u8::MAX;

/// Up to so many searches are done one by one, more of them at once.
const FEW: usize = 48;

/// Room for classes that failures split off, before the table is made anew.
const SPARE: usize = 64;

/// Most bytes of a table: 65,472 switches without twins.
const BYTES_MAX: usize = 1 << 32;

/// A network whose distances do not fit the table.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HopError {
    /// Of two switches.
    #[error("switches {from} and {to} are more than 254 cables apart")]
    TooFar {
        /// Name of a switch.
        from: String,
        /// Name of a switch far from it.
        to: String,
    },
    /// There are too many switches with different neighbours.
    #[error(
        "the distances of {classes} switches with different neighbours take {bytes} bytes; at most {BYTES_MAX} are built"
    )]
    TooLarge {
        /// Classes of switches with the same neighbours.
        classes: usize,
        /// Bytes that the table would take.
        bytes: usize,
    },
}

/// Cables on a shortest path between any two switches.
#[derive(Clone, Debug)]
pub struct HopTable {
    classes: Classes,
    /// Length of a row.
    stride: usize,
    /// Row by row; on the diagonal the distance of two switches of the class, 0 where it has only one.
    hops: Vec<u8>,
}

/// The distances of all switches from one.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    from: SwitchId,
    of: &'a [u32],
    hops: &'a [u8],
}

impl<'a> Row<'a> {
    /// Other distances from a switch, by class; `of` names the class of each switch.
    pub(crate) const fn new(from: SwitchId, of: &'a [u32], hops: &'a [u8]) -> Self {
        Self { from, of, hops }
    }

    /// Cables to a switch; [`UNREACHABLE`] if there is no path.
    #[must_use]
    #[inline]
    pub fn to(&self, switch: SwitchId) -> u8 {
        if switch == self.from {
            0
        } else {
            self.hops[self.of[switch as usize] as usize]
        }
    }
}

impl HopTable {
    /// Of a network as it is now, computed on one core.
    ///
    /// # Errors
    /// Two switches are more than 254 cables apart, or the table would take more than 4 GiB.
    pub fn new(network: &Network) -> Result<Self, HopError> {
        Self::with_threads(network, 1)
    }

    /// The same on up to `threads` cores.
    ///
    /// # Errors
    /// Two switches are more than 254 cables apart, or the table would take more than 4 GiB.
    pub fn with_threads(network: &Network, threads: usize) -> Result<Self, HopError> {
        let classes = Classes::new(network);
        let stride = classes.len() + SPARE;
        let bytes = stride.saturating_mul(stride);
        if bytes > BYTES_MAX {
            return Err(HopError::TooLarge {
                classes: classes.len(),
                bytes,
            });
        }
        let mut hops = vec![0; bytes];
        let far = search::all(&classes, &mut hops, stride, threads.max(1));
        if let Some((from, to)) = far {
            return Err(too_far(network, &classes, from, to));
        }
        for class in 0..classes.len() {
            hops[class * stride + class] = classes.inner(class);
        }
        Ok(Self {
            classes,
            stride,
            hops,
        })
    }

    /// Cables between two switches; [`UNREACHABLE`] if there is no path.
    #[must_use]
    #[inline]
    pub fn hops(&self, a: SwitchId, b: SwitchId) -> u8 {
        self.row(a).to(b)
    }

    /// The distances of all switches from one.
    #[must_use]
    #[inline]
    pub fn row(&self, from: SwitchId) -> Row<'_> {
        let class = self.classes.of[from as usize] as usize;
        Row {
            from,
            of: &self.classes.of,
            hops: self.class_row(class),
        }
    }

    /// The class of a switch, below [`HopTable::classes`]: switches of one class have the same neighbours.
    #[must_use]
    #[inline]
    pub fn class(&self, switch: SwitchId) -> u32 {
        self.classes.of[switch as usize]
    }

    /// Number of classes.
    #[must_use]
    pub fn classes(&self) -> usize {
        self.classes.len()
    }

    /// Bytes that the table takes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.hops.len() + self.classes.bytes()
    }

    /// Bytes of its rows alone.
    #[must_use]
    pub const fn row_bytes(&self) -> usize {
        self.hops.len()
    }

    fn class_row(&self, class: usize) -> &[u8] {
        &self.hops[class * self.stride..][..self.classes.len()]
    }

    /// Brings the table up to date after [`Network::fail`] took `cable` out of `network`: only rows that change are computed.
    ///
    /// # Errors
    /// Two switches are more than 254 cables apart now; the table is as before then.
    pub fn failed(&mut self, network: &Network, cable: CableId) -> Result<(), HopError> {
        let [(u, _), (v, _)] = network.cables()[cable as usize].ends;
        if network.links(u).iter().any(|link| link.peer == v) {
            return Ok(());
        }
        if self.classes.len() + 2 > self.stride {
            return self.renew(network);
        }
        let (a, b) = (self.alone(u), self.alone(v));
        self.classes.disconnect(a, b);
        let changed: Vec<usize> = (0..self.classes.len())
            .filter(|&row| self.depends(row, a, b) || self.depends(row, b, a))
            .collect();
        let fresh = match self.rows(&changed) {
            Ok(fresh) => fresh,
            Err((from, to)) => {
                self.classes.connect(a, b);
                return Err(too_far(network, &self.classes, from, to));
            }
        };
        for (&row, fresh) in changed.iter().zip(fresh) {
            self.hops[row * self.stride..][..fresh.len()].copy_from_slice(&fresh);
        }
        Ok(())
    }

    /// Rows of these classes as they should be, or two classes that are too far apart.
    fn rows(&self, of: &[usize]) -> Result<Vec<Vec<u8>>, (usize, usize)> {
        let mut rows = vec![vec![UNREACHABLE; self.classes.len()]; of.len()];
        if of.len() < FEW {
            let mut queue = Vec::new();
            for (&class, row) in of.iter().zip(&mut rows) {
                if let Some(to) = search::one(&self.classes, class, row, &mut queue) {
                    return Err((class, to));
                }
            }
        } else {
            let mut block = Vec::new();
            for (sources, rows) in of.chunks(search::LANES).zip(rows.chunks_mut(search::LANES)) {
                if let Some(far) = search::many(&self.classes, sources, &mut block) {
                    return Err(far);
                }
                for (lane, row) in rows.iter_mut().enumerate() {
                    for (hops, distances) in row.iter_mut().zip(&block) {
                        *hops = distances[lane];
                    }
                }
            }
        }
        for (&class, row) in of.iter().zip(&mut rows) {
            row[class] = self.classes.inner(class);
        }
        Ok(rows)
    }

    /// Brings the table up to date after any other change of `network`.
    ///
    /// # Errors
    /// Two switches are more than 254 cables apart now; the table is as before then.
    pub fn renew(&mut self, network: &Network) -> Result<(), HopError> {
        *self = Self::new(network)?;
        Ok(())
    }

    /// Makes a switch a class of its own; returns the class.
    fn alone(&mut self, switch: SwitchId) -> usize {
        let old = self.classes.of[switch as usize] as usize;
        let Some(new) = self.classes.split(switch) else {
            return old;
        };
        let stride = self.stride;
        let twin = self.hops[old * stride + old];
        self.hops
            .copy_within(old * stride..(old + 1) * stride, new * stride);
        for row in 0..new {
            self.hops[row * stride + new] = self.hops[row * stride + old];
        }
        self.hops[new * stride + old] = twin;
        self.hops[old * stride + new] = twin;
        self.hops[new * stride + new] = 0;
        self.hops[old * stride + old] = self.classes.inner(old);
        new
    }

    /// Whether every shortest path from `row` to `far` has used the cable from `near` that is gone now.
    fn depends(&self, row: usize, near: usize, far: usize) -> bool {
        let hops = |to: usize| self.hops[to * self.stride + row];
        let before = if row == near { 0 } else { hops(near) };
        let after = if row == far { 0 } else { hops(far) };
        before != UNREACHABLE
            && before + 1 == after
            && !self.classes.near(far).iter().any(|&w| {
                let w = w as usize;
                (if w == row { 0 } else { hops(w) }) == before
            })
    }

    /// The height of the lowest tree over these switches; `centers` gets the switches that can be its root, in table order.
    /// `None` if no switch reaches them all.
    #[must_use]
    pub fn centers(&self, members: &[SwitchId], centers: &mut Vec<SwitchId>) -> Option<u8> {
        centers.clear();
        if let &[only] = members {
            centers.push(only);
            return Some(0);
        }
        let mut classes: Vec<u32> = members
            .iter()
            .map(|&m| self.classes.of[m as usize])
            .collect();
        classes.sort_unstable();
        classes.dedup();
        let mut height = vec![0u8; self.classes.len()];
        for &class in &classes {
            for (height, &hops) in height.iter_mut().zip(self.class_row(class as usize)) {
                *height = (*height).max(hops);
            }
        }
        let mut least = height.iter().copied().min().unwrap_or(UNREACHABLE);
        // A member is not as far from itself as its twins are: the table's diagonal says too much of it.
        let mut selves = Vec::new();
        if least <= classes::TWINS_APART {
            for &member in members {
                let apart = members.iter().map(|&m| self.hops(m, member)).max();
                selves.push((apart.unwrap_or(0), member));
            }
            least = selves.iter().map(|&(h, _)| h).fold(least, u8::min);
        }
        if least == UNREACHABLE {
            return None;
        }
        for (class, _) in height.iter().enumerate().filter(|&(_, &h)| h == least) {
            centers.extend_from_slice(&self.classes.members[class]);
        }
        centers.extend(selves.iter().filter(|&&(h, _)| h == least).map(|&(_, m)| m));
        centers.sort_unstable();
        centers.dedup();
        Some(least)
    }
}

fn too_far(network: &Network, classes: &Classes, from: usize, to: usize) -> HopError {
    let name = |class: usize| {
        network.switches()[classes.members[class][0] as usize]
            .name
            .clone()
    };
    HopError::TooFar {
        from: name(from),
        to: name(to),
    }
}
