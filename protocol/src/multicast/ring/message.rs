//! A message that a ring works on.

use super::{Counts, Generator, Job, Programme};
use crate::multicast::Receive;

/// One message: posted by the host, then carried out.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Message {
    pub number: u32,
    pub job: Job,
    /// Known from the beginning at the root, else with the first block.
    pub length: Option<u64>,
    /// The grant of the first block is out.
    pub first_granted: bool,
    /// Receives that were not granted yet.
    receives: Option<Generator>,
    pub missing: u32,
    /// Sends that were not put at the head of the ring yet.
    pub sends: Option<Programme>,
    /// Blocks from each rank of all messages before this one.
    pub before: Counts,
    /// Sends that were started and have not ended.
    pub under_way: u32,
}

impl Message {
    pub fn new(number: u32, job: Job) -> Self {
        Self {
            number,
            job,
            length: None,
            first_granted: false,
            receives: None,
            missing: 0,
            sends: None,
            before: Counts::default(),
            under_way: 0,
        }
    }

    /// Its length is known: the schedule can be carried out.
    pub fn begins(&mut self, length: u64, members: u32, generator: Generator, is_root: bool) {
        self.length = Some(length);
        self.missing = match is_root {
            true => 0,
            false => generator.blocks(),
        };
        let mut receives = generator.clone();
        // The first block is granted without being known.
        if !is_root {
            receives.by_ref().find(|step| step.receive.is_some());
        }
        self.receives = Some(receives);
        self.sends = Some(Programme::new(generator, members, self.before.clone()));
    }

    /// The next block to grant; `None` if all were.
    pub fn next_receive(&mut self) -> Option<Receive> {
        self.receives.as_mut()?.find_map(|step| step.receive)
    }

    /// Everything came, and everything was passed on.
    pub fn is_done(&self) -> bool {
        self.length.is_some() && self.missing == 0 && self.sends.is_none() && self.under_way == 0
    }
}
