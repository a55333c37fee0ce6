//! Receive requests: read ahead, taken by messages, completed.

use super::{CardModel, HostMemory, regions::Right, send::unreadable};
use crate::card::descriptor::{Completion, Of, RECEIVE_LEN, ReceiveRequest};
use crate::card::regs::Counter;
use crate::xud::{self, Outcome};

/// Receive requests of a queue pair that the card holds.
pub(super) const READ_AHEAD: usize = 16;

impl CardModel {
    /// Reads receive requests of all queue pairs as far as there is room for them.
    pub(super) fn read_ahead(&mut self, memory: &mut dyn HostMemory) {
        let wanting = self.queues.iter().filter(|(_, queue)| queue.reads_ahead());
        let wanting: Vec<u32> = wanting.map(|(qpn, _)| *qpn).collect();
        for qpn in wanting {
            while self.read_one(qpn, memory) {}
        }
    }

    fn read_one(&mut self, qpn: u32, memory: &mut dyn HostMemory) -> bool {
        let queue = self.queues.get_mut(&qpn);
        let Some(queue) = queue.filter(|queue| queue.reads_ahead()) else {
            return false;
        };
        let number = queue.receive.consumer;
        let mut entry = [0; RECEIVE_LEN];
        if memory
            .read(queue.receive.entry(number, RECEIVE_LEN), &mut entry)
            .is_err()
        {
            if self.engine.reserve_slot(qpn) {
                self.fatal(qpn, unreadable(Of::Receive, 0, 0), memory);
            } else {
                self.count(Counter::ReadFailed);
                self.fatal_silently(qpn);
            }
            return false;
        }
        queue.receive.consumer = number.wrapping_add(1);
        let request = ReceiveRequest::decode(&entry);
        queue.ahead.push_back((number, request));
        let memory = xud::ReceiveRequest {
            id: number.into(),
            length: request.length,
        };
        // The engine was told to hold as many as are read ahead.
        let posted = self.engine.post_receive(qpn, memory);
        debug_assert_eq!(posted, Ok(()));
        true
    }

    /// A frame: a message takes the oldest receive request, whose region is looked at then.
    pub(super) fn accept(&mut self, frame: &[u8], now: u64) {
        let Self {
            engine,
            queues,
            regions,
            ..
        } = self;
        engine.receive_frame_if(frame, now, &mut |qpn, _, bytes| {
            let Some(queue) = queues.get_mut(&qpn) else {
                return false;
            };
            let Some((number, request)) = queue.ahead.pop_front() else {
                return false;
            };
            queue.taken.push_back((number, request));
            let bytes = bytes as u64;
            regions.allow(
                request.lkey,
                queue.domain,
                request.address,
                bytes,
                Right::LocalWrite,
            )
        });
    }

    /// Accepted messages go to memory, then their completions, then the acknowledgements may leave (XUD-4).
    pub(super) fn land(&mut self, memory: &mut dyn HostMemory) {
        while let Some(landing) = self.engine.next_landing() {
            let qpn = landing.qpn;
            let Some(queue) = self.queues.get_mut(&qpn).filter(|queue| !queue.fatal) else {
                continue;
            };
            let Some((number, request)) = queue.taken.pop_front() else {
                continue;
            };
            let q_key = queue.q_key;
            let (from, version, flags, window, payload) = match &landing.completion {
                xud::Completion::Received {
                    from,
                    version,
                    flags,
                    window,
                    payload,
                    ..
                } => (*from, *version, *flags, *window, Some(payload)),
                xud::Completion::Refused {
                    from,
                    version,
                    flags,
                    window,
                    ..
                } => (*from, *version, *flags, *window, None),
                xud::Completion::Sent { .. } => continue,
            };
            let status = if let Some(payload) = payload {
                if !payload.is_empty() {
                    // A posted write: nobody tells the card whether it arrived.
                    let _ = memory.write(request.address, payload);
                }
                Outcome::Ok
            } else {
                self.count(Counter::LocalError);
                Outcome::LocalProtection
            };
            let completion = Completion {
                wr_id: request.wr_id,
                status,
                of: Of::Receive,
                version_flags: version << 4 | flags,
                length: payload.map_or(0, |payload| payload.len() as u32),
                peer: from,
                window,
                q_key,
                psn: landing.psn(),
                request: number,
                number: 0,
                marked: false,
            };
            self.complete(qpn, completion, memory);
            self.engine.landed(landing);
        }
    }
}
