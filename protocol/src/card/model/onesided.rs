//! One-sided operations on the card: the engine's way to regions and host memory, and the commands of windows.

use std::collections::BTreeMap;

use super::regions::{Regions, Right};
use super::{CardModel, HostMemory, queue::Queue};
use crate::card::command::Status;
use crate::card::command::argument::{close_window, open_window};
use crate::card::regs::Counter;
use crate::xud::onesided::{Operation, Request};
use crate::xud::{Grant, Peer, Reach};

/// What the engine reaches.
struct View<'a> {
    queues: &'a BTreeMap<u32, Queue>,
    regions: &'a Regions,
    memory: &'a mut dyn HostMemory,
    /// Reads that failed.
    failed: u64,
}

impl Reach for View<'_> {
    fn allows(&self, qpn: u32, request: &Request<'_>) -> bool {
        let right = match request.asked.operation() {
            Operation::Write => Right::RemoteWrite,
            Operation::Read => Right::RemoteRead,
            Operation::FetchAdd | Operation::CompareSwap => Right::RemoteAtomic,
        };
        let (key, address) = (request.rkey, request.address);
        self.queues.get(&qpn).is_some_and(|queue| {
            let bytes = request.asked.bytes();
            self.regions.allow(key, queue.domain, address, bytes, right)
        })
    }

    fn read(&mut self, address: u64, into: &mut [u8]) -> bool {
        let read = self.memory.read(address, into).is_ok();
        self.failed += u64::from(!read);
        read
    }

    fn write(&mut self, address: u64, bytes: &[u8]) {
        // A posted write: nobody tells the card whether it arrived.
        let _ = self.memory.write(address, bytes);
    }

    fn place(&self, qpn: u32, id: u64, bytes: usize) -> Option<u64> {
        let queue = self.queues.get(&qpn)?;
        let flying = queue.flying.get(&(id as u32))?;
        let (address, key) = (flying.address, flying.lkey);
        let right = Right::LocalWrite;
        self.regions
            .allow(key, queue.domain, address, bytes as u64, right)
            .then_some(address)
    }
}

impl CardModel {
    /// One-sided requests and answers that have arrived, one after the other.
    pub(super) fn serve(&mut self, memory: &mut dyn HostMemory) {
        let mut view = View {
            queues: &self.queues,
            regions: &self.regions,
            memory,
            failed: 0,
        };
        while self.engine.serve(&mut view) {}
        let failed = view.failed;
        self.counters[usize::from(Counter::ReadFailed.code())] += failed;
    }

    pub(super) fn open_window(&mut self, window: u16) -> Result<(), Status> {
        let value = |argument| self.argument(argument);
        let grant = Grant {
            qpn: value(&open_window::QPN) as u32,
            peer: Peer {
                node: value(&open_window::NODE) as u32,
                qpn: value(&open_window::PEER) as u32,
            },
            epoch: value(&open_window::EPOCH) as u16,
        };
        if self.engine.open_window(window, grant) {
            Ok(())
        } else {
            Err(Status::BadState)
        }
    }

    pub(super) fn close_window(&mut self, window: u16) {
        if let Some(expected) = self.engine.close_window(window) {
            let results = &mut self.registers.results;
            close_window::EXPECTED.put(results, expected);
            close_window::WAS_OPEN.put(results, true);
        }
    }
}
