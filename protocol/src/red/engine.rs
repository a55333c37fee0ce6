//! The engine of a port, one method per operation of `docs/red-switch.md`.
//!
//! Time is in clocks and never goes backwards. A timeout of T units runs out between T and T + 1 units of 1,024 clocks after
//! arming, because hardware counts the boundaries of a common prescaler.

use thiserror::Error;

use super::{
    address::{Address, Key},
    counters::{Counter, Counters},
    ops::{Mode, Op, Rc},
    partial::Partial,
    seqno_newer,
    wire::{COUNT_MAX, Fabric, Frame, Reduction, Restricted},
};

/// Clocks of a unit of the timeouts (RED-12).
pub const TIMEOUT_UNIT: u64 = 1024;
/// Most descriptors of an engine.
pub const DESCRIPTORS_MAX: u32 = 1024;
/// Largest timeout, in units.
pub const TIMEOUT_MAX: u32 = (1 << 24) - 1;

/// Settings of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineConfig {
    /// Descriptors: reductions that can be under way at once.
    pub descriptors: usize,
    /// Wait counts from which on the next timeout counts; 20 bits each.
    pub thresholds: [u32; 3],
    /// Timeouts in units of 1,024 clocks, 24 bits: the one whose index is the number of thresholds ≤ wait count (RED-12).
    pub timeouts: [u32; 4],
    /// What MINNUM and MAXNUM do with signalling NaNs (RED-4).
    pub mode: Mode,
    /// Source address of results.
    pub address: Address,
}

impl Default for EngineConfig {
    /// Eight descriptors; 100 to 400 µs at 250 MHz.
    fn default() -> Self {
        Self {
            descriptors: 8,
            thresholds: [8, 64, 512],
            timeouts: [25, 50, 75, 100],
            mode: Mode::default(),
            address: Address::default(),
        }
    }
}

/// A setting that the registers cannot hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{field} is {value}, the most is {max}")]
pub struct EngineConfigError {
    /// Which.
    pub field: &'static str,
    /// Its value.
    pub value: u32,
    /// Largest value.
    pub max: u32,
}

/// An armed descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// Tree and reduction id.
    pub key: Key,
    /// Job.
    pub vni: u16,
    /// Group.
    pub cookie: u32,
    /// Round.
    pub seqno: u16,
    /// Contributions expected.
    pub wait: u32,
    /// Timeout in units (RED-12).
    pub timeout: u32,
    /// Clock at which it was armed.
    pub armed_at: u64,
    /// What has come; nothing yet at first.
    pub partial: Option<Partial>,
}

impl Descriptor {
    /// First clock at which the timeout is over.
    #[must_use]
    pub fn deadline(&self) -> u64 {
        let unit = self.armed_at / TIMEOUT_UNIT + u64::from(self.timeout) + 1;
        unit.saturating_mul(TIMEOUT_UNIT)
    }
}

/// What a frame on its way down did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Down {
    /// A descriptor is armed and empty; the index is its own.
    Armed(usize),
    /// A descriptor is free.
    Released(usize),
    /// Nothing, and this was counted: no descriptor, VNI, or sequence number.
    Ignored(Counter),
    /// Nothing: the frame was not for any descriptor.
    Nothing,
}

/// What becomes of a frame on its way up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Up {
    /// It goes on unchanged.
    Pass,
    /// It is dropped, and this was counted.
    Drop(Counter),
    /// It is in a descriptor.
    Absorbed,
    /// It was the last one; this goes on instead.
    Result(Frame),
}

/// What several contributions did that were taken together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Together {
    /// As of one contribution: [`Up::Absorbed`] or [`Up::Result`].
    pub up: Up,
    /// There was nothing in the descriptor before.
    pub was_empty: bool,
}

/// The reduction engine of one port.
#[derive(Clone, Debug)]
pub struct Engine {
    config: EngineConfig,
    descriptors: Vec<Option<Descriptor>>,
    /// What happened.
    pub counters: Counters,
}

impl Engine {
    /// # Errors
    /// A setting that does not fit its register.
    pub fn new(config: EngineConfig) -> Result<Self, EngineConfigError> {
        let descriptors = u32::try_from(config.descriptors).unwrap_or(u32::MAX);
        check("descriptors", &[descriptors], DESCRIPTORS_MAX)?;
        let mut engine = Self {
            config,
            descriptors: vec![None; config.descriptors],
            counters: Counters::default(),
        };
        engine.configure(config)?;
        Ok(engine)
    }

    /// Changes settings; armed descriptors keep their timeouts, and the number of descriptors stays.
    ///
    /// # Errors
    /// A setting that does not fit its register; nothing is changed then.
    pub fn configure(&mut self, config: EngineConfig) -> Result<(), EngineConfigError> {
        check("threshold", &config.thresholds, COUNT_MAX)?;
        check("timeout", &config.timeouts, TIMEOUT_MAX)?;
        self.config = EngineConfig {
            descriptors: self.descriptors.len(),
            ..config
        };
        Ok(())
    }

    /// Settings in force.
    #[must_use]
    pub const fn config(&self) -> &EngineConfig {
        &self.config
    }

    /// Every descriptor; `None` is free.
    #[must_use]
    pub fn descriptors(&self) -> &[Option<Descriptor>] {
        &self.descriptors
    }

    /// Descriptors in use.
    #[must_use]
    pub fn in_use(&self) -> usize {
        self.descriptors.iter().flatten().count()
    }

    /// A frame that entered this port downwards, on a tree with this wait count (RED-13, RED-14). A wait count of 0 does nothing (RED-17).
    pub fn down(&mut self, frame: &Frame, wait: u32, now: u64) -> Down {
        let Some(key) = frame.fabric.dfa.multicast().filter(|_| wait != 0) else {
            return Down::Nothing;
        };
        let arm = frame.red.arm;
        let Some((index, found)) = self.find(key) else {
            if !arm {
                return Down::Nothing;
            }
            return match self.descriptors.iter().position(Option::is_none) {
                Some(free) => self.arm(free, key, frame, wait, now),
                None => self.ignored(Counter::NoDescriptor),
            };
        };
        if found.vni != frame.fabric.vni {
            return self.ignored(Counter::ForeignVni);
        }
        if found.cookie != frame.red.cookie {
            return if arm {
                self.arm(index, key, frame, wait, now)
            } else {
                Down::Nothing
            };
        }
        let seqno = frame.red.seqno;
        if seqno != found.seqno && !seqno_newer(seqno, found.seqno) {
            return self.ignored(Counter::OldSeqno);
        }
        if arm {
            return self.arm(index, key, frame, wait, now);
        }
        self.descriptors[index] = None;
        self.counters.count(Counter::Released);
        Down::Released(index)
    }

    /// A frame that is to leave by this port upwards (RED-9 to RED-11).
    pub fn up(&mut self, frame: &Frame) -> Up {
        match self.descriptor_of(frame) {
            Ok((index, found)) => self.combine(index, found, &Partial::first(frame)),
            Err(Counter::Passed) => self.passed(),
            Err(why) => self.dropped(why),
        }
    }

    /// Contributions that wait at once, taken as one ([`Partial::together`]): three or more that go with the first
    /// ([`Frame::goes_with`]), for a live descriptor whose operation is theirs and that has no mismatch. Otherwise it does
    /// nothing, and the frames come one after another at [`Engine::up`].
    pub fn up_together(&mut self, frames: &[Frame]) -> Option<Together> {
        let (first, others) = frames.split_first()?;
        if others.len() < 2 || !others.iter().all(|other| other.goes_with(first)) {
            return None;
        }
        let (index, found) = self.descriptor_of(first).ok()?;
        let suits = |p: Partial| p.op == first.red.op && p.value.rc < Rc::OP_MISMATCH;
        if !found.partial.is_none_or(suits) {
            return None;
        }
        let sum = Partial::together(frames, self.config.mode)?;
        for _ in others {
            self.counters.count(Counter::Combined);
        }
        Some(Together {
            up: self.combine(index, found, &sum),
            was_empty: found.partial.is_none(),
        })
    }

    /// The descriptor that a contribution is combined into; otherwise what is counted of it: it passes, or is dropped.
    fn descriptor_of(&self, frame: &Frame) -> Result<(usize, Descriptor), Counter> {
        if frame.red.arm {
            return Err(Counter::ArmUpwards);
        }
        let found = frame.fabric.dfa.multicast().and_then(|key| self.find(key));
        let (index, found) = found.ok_or(Counter::Passed)?;
        if found.vni != frame.fabric.vni {
            return Err(Counter::ForeignVni);
        }
        if found.cookie != frame.red.cookie || seqno_newer(frame.red.seqno, found.seqno) {
            return Err(Counter::Passed);
        }
        if frame.red.seqno != found.seqno {
            return Err(Counter::OldSeqno);
        }
        Ok((index, found))
    }

    /// Combines into a descriptor, and counts one.
    fn combine(&mut self, index: usize, mut found: Descriptor, sum: &Partial) -> Up {
        let mut partial = *sum;
        if let Some(before) = found.partial {
            partial = before;
            partial.merge(sum, self.config.mode);
        }
        partial.check_count(found.wait);
        self.counters.count(Counter::Combined);
        if partial.count >= found.wait {
            self.descriptors[index] = None;
            self.counters.count(Counter::Results);
            return Up::Result(self.result(&found, &partial));
        }
        found.partial = Some(partial);
        self.descriptors[index] = Some(found);
        Up::Absorbed
    }

    /// Frees every descriptor whose timeout is over; returns the partial results that go up, by descriptor (RED-12, RED-16).
    pub fn expire(&mut self, now: u64) -> Vec<Frame> {
        let due = |d: &Option<Descriptor>| d.is_some_and(|d| d.deadline() <= now);
        let indices: Vec<usize> = (0..self.descriptors.len())
            .filter(|&i| due(&self.descriptors[i]))
            .collect();
        indices
            .into_iter()
            .filter_map(|i| self.expire_descriptor(i))
            .collect()
    }

    /// Times one descriptor out whatever the clock says, as hardware does when it visits it; nothing if it is free.
    pub fn expire_descriptor(&mut self, index: usize) -> Option<Frame> {
        let found = self.descriptors.get_mut(index)?.take()?;
        let Some(partial) = found.partial else {
            self.counters.count(Counter::ExpiredEmpty);
            return None;
        };
        self.counters.count(Counter::Partials);
        Some(self.result(&found, &partial))
    }

    /// Clock of the next timeout.
    #[must_use]
    pub fn next_deadline(&self) -> Option<u64> {
        self.descriptors
            .iter()
            .flatten()
            .map(Descriptor::deadline)
            .min()
    }

    fn find(&self, key: Key) -> Option<(usize, Descriptor)> {
        self.descriptors
            .iter()
            .enumerate()
            .find_map(|(i, d)| d.filter(|d| d.key == key).map(|d| (i, d)))
    }

    fn arm(&mut self, index: usize, key: Key, frame: &Frame, wait: u32, now: u64) -> Down {
        let class = self
            .config
            .thresholds
            .iter()
            .filter(|&&t| t <= wait)
            .count();
        self.descriptors[index] = Some(Descriptor {
            key,
            vni: frame.fabric.vni,
            cookie: frame.red.cookie,
            seqno: frame.red.seqno,
            wait,
            timeout: self.config.timeouts[class],
            armed_at: now,
            partial: None,
        });
        self.counters.count(Counter::Armed);
        Down::Armed(index)
    }

    fn ignored(&mut self, why: Counter) -> Down {
        self.counters.count(why);
        Down::Ignored(why)
    }

    fn dropped(&mut self, why: Counter) -> Up {
        self.counters.count(why);
        Up::Drop(why)
    }

    fn passed(&mut self) -> Up {
        self.counters.count(Counter::Passed);
        Up::Pass
    }

    /// RED-15: resno = seqno.
    fn result(&self, d: &Descriptor, partial: &Partial) -> Frame {
        let value = partial.value;
        let repsum = partial.op == Op::FltRepsum;
        Frame {
            fabric: Fabric::new(self.config.address, d.key.address(), d.vni),
            restricted: Restricted::default(),
            red: Reduction {
                seqno: d.seqno,
                arm: false,
                op: partial.op,
                count: partial.count,
                resno: d.seqno,
                rc: value.rc,
                m: if repsum { value.m } else { 0 },
                oflow: if repsum { value.oflow } else { 0 },
                pad: 0,
                cookie: d.cookie,
            },
            data: value.data,
        }
    }
}

fn check(field: &'static str, values: &[u32], max: u32) -> Result<(), EngineConfigError> {
    match values.iter().find(|&&v| v > max) {
        Some(&value) => Err(EngineConfigError { field, value, max }),
        None => Ok(()),
    }
}
