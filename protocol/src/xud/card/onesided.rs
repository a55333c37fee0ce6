//! One-sided operations (XUD-13): windows and what is done through them, and the answers of others to requests of this card.

use super::*;
use crate::xud::{
    codes::Drop,
    onesided::{Answer, Asked, HeaderError, Operation, Order, Request, is_answer},
    table::Wants,
    wire::{self, Echo, ONE_SIDED, Reply, Send},
};

/// What one-sided operations reach: memory of this host, and who may use which part of it.
pub trait Reach {
    /// Whether others may do this through a queue pair: key, protection domain, right, bounds to the byte.
    fn allows(&self, qpn: u32, request: &Request<'_>) -> bool;

    /// Reads bytes; false if memory did not answer.
    fn read(&mut self, address: u64, into: &mut [u8]) -> bool;

    /// Writes bytes.
    fn write(&mut self, address: u64, bytes: &[u8]);

    /// Where so many bytes go that answer request `id` of a queue pair; `None` if they may go nowhere.
    fn place(&self, qpn: u32, id: u64, bytes: usize) -> Option<u64>;
}

/// Who may use a window, and through what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Grant {
    /// Own queue pair.
    pub qpn: u32,
    /// The one that may.
    pub peer: Peer,
    /// Epoch that it must name (XUD-6).
    pub epoch: u16,
}

/// A window and its one replay entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Opened {
    grant: Grant,
    /// Number that comes next.
    expected: u32,
    /// What the number before was.
    last: Option<Operation>,
    /// What the latest atomic found.
    replay: [u8; 8],
}

/// Something that has arrived and needs memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Waiting {
    /// From this node.
    Request(u32, Send),
    /// For the claimed request of this queue pair and number.
    Answer(u32, u32, Vec<u8>),
}

/// What an access gave.
enum Done {
    Written,
    Read(Vec<u8>),
    Old([u8; 8]),
}

impl Card {
    /// Opens a window, or opens it anew: the number expected is 0. False if the queue pair does not exist.
    pub fn open_window(&mut self, window: u16, grant: Grant) -> bool {
        let exists = self.qps.contains_key(&grant.qpn);
        if exists {
            let opened = Opened {
                grant,
                expected: 0,
                last: None,
                replay: [0; 8],
            };
            self.windows.insert(window, opened);
        }
        exists
    }

    /// Closes a window: the number that it expected, if it was open.
    pub fn close_window(&mut self, window: u16) -> Option<u32> {
        self.windows.remove(&window).map(|window| window.expected)
    }

    /// A frame with the flag: what needs memory waits for [`Self::serve`].
    pub(super) fn one_sided(&mut self, from: u32, send: &Send) {
        if is_answer(&send.payload) {
            return self.claim(from, send);
        }
        self.waiting.push_back(Waiting::Request(from, send.clone()));
    }

    /// Does the oldest one-sided request, or takes the oldest answer; false if none waits. One at a time: atomics are atomic
    /// to each other and to reads and writes of others.
    pub fn serve(&mut self, reach: &mut dyn Reach) -> bool {
        match self.waiting.pop_front() {
            None => return false,
            Some(Waiting::Request(from, send)) => match self.perform(from, &send, reach) {
                Ok(answer) => self.answers.push_back((from, answer)),
                Err(drop) => self.refuse(from, &send, drop),
            },
            Some(Waiting::Answer(qpn, psn, payload)) => self.land_answer(qpn, psn, &payload, reach),
        }
        true
    }

    /// All checks in the order of the contract, the access, and only then the number.
    fn perform(&mut self, from: u32, send: &Send, reach: &mut dyn Reach) -> Result<Packet, Drop> {
        self.addressed(send)?;
        let request = Request::decode(&send.payload, self.config.mtu).map_err(reason)?;
        let operation = request.asked.operation();
        let mutations = self.config.mutations;
        let mut window = self.window_of(from, send).ok_or(Drop::StaleEpoch)?;
        let mut early = None;
        if mutations.access_first {
            early = Some(access(send.dest_qp, &request, reach)?);
        }
        // The number is looked at before memory: a copy of what was done touches nothing.
        let mut again = false;
        match Order::of(send.window.msn, window.expected) {
            Order::Next => {}
            _ if mutations.no_number_check => {}
            Order::Last if window.last == Some(operation) => {
                again = true;
                self.stats.drops.count(Drop::OneSidedDuplicate);
            }
            Order::Last | Order::Behind => return Err(Drop::OneSidedDuplicate),
            Order::Ahead => return Err(Drop::OneSidedAhead),
        }
        if again && operation == Operation::Write {
            return Ok(Packet::Ack(super::receive::answer(send, Reply::Ok)));
        }
        if again && operation.is_atomic() && !mutations.no_replay {
            return Ok(reply(send, operation, window.replay, &[]));
        }
        if mutations.early_number {
            window.advance(operation);
            self.windows.insert(send.window.id, window);
        }
        let done = match early {
            Some(done) => done,
            None => access(send.dest_qp, &request, reach)?,
        };
        let answer = match done {
            Done::Written => Packet::Ack(super::receive::answer(send, Reply::Ok)),
            Done::Read(bytes) => reply(send, operation, [0; 8], &bytes),
            Done::Old(old) => {
                window.replay = old;
                reply(send, operation, old, &[])
            }
        };
        if !again {
            self.stats.one_sided += 1;
            if !mutations.early_number {
                window.advance(operation);
            }
            self.windows.insert(send.window.id, window);
        }
        Ok(answer)
    }

    /// The window that a request names, if it is open for it.
    fn window_of(&self, from: u32, send: &Send) -> Option<Opened> {
        let window = self.windows.get(&send.window.id)?;
        let grant = Grant {
            qpn: send.dest_qp,
            peer: Peer {
                node: from,
                qpn: send.src_qp,
            },
            epoch: send.window.epoch,
        };
        (window.grant == grant && self.handed_out(send)).then_some(*window)
    }

    /// An answer claims its request: from here on it does not time out, and no other answer is its answer.
    fn claim(&mut self, from: u32, send: &Send) {
        let echo = Echo {
            window: send.window,
            flags: send.flags,
            qpn: send.src_qp,
        };
        match self.matching(from, send.dest_qp, send.psn, Some(echo)) {
            Err(drop) => self.stats.drops.count(drop),
            Ok(_) => {
                self.table.claim(send.dest_qp, send.psn);
                let payload = send.payload.clone();
                let answer = Waiting::Answer(send.dest_qp, send.psn, payload);
                self.waiting.push_back(answer);
            }
        }
    }

    /// What has answered a claimed request goes to memory; then the request ends.
    fn land_answer(&mut self, qpn: u32, psn: u32, payload: &[u8], reach: &mut dyn Reach) {
        let Some(entry) = self.table.take_claimed(qpn, psn) else {
            return;
        };
        // Whoever claims has decoded it.
        let Ok(answer) = Answer::decode(payload) else {
            return;
        };
        let bytes = match (entry.wants, answer.operation) {
            (Wants::Acknowledgement, _) => Err(Outcome::RemoteOpcode),
            (Wants::Bytes(wanted), Operation::Read) if answer.data.len() == wanted as usize => {
                Ok(answer.data)
            }
            (Wants::Old, Operation::FetchAdd | Operation::CompareSwap)
                if answer.data.is_empty() =>
            {
                Ok(answer.old.as_slice())
            }
            _ => Err(Outcome::RemoteLength),
        };
        let outcome = bytes.and_then(|bytes| {
            let place = reach.place(qpn, entry.id, bytes.len());
            reach.write(place.ok_or(Outcome::LocalProtection)?, bytes);
            Ok(Outcome::Ok)
        });
        let outcome = outcome.unwrap_or_else(|outcome| outcome);
        self.ended_in(&entry, outcome, false);
    }
}

impl Opened {
    fn advance(&mut self, operation: Operation) {
        self.expected = self.expected.wrapping_add(1);
        self.last = Some(operation);
    }
}

impl Wants {
    /// What ends a request with this payload.
    pub(super) fn of(version: u8, flags: u8, payload: &[u8]) -> Self {
        let one_sided = version > 0 && flags == ONE_SIDED;
        let request = one_sided.then(|| Request::decode(payload, wire::MAX_PAYLOAD as u16));
        match request {
            Some(Ok(request)) => match request.asked {
                Asked::Write(_) => Self::Acknowledgement,
                Asked::Read(bytes) => Self::Bytes(bytes),
                Asked::FetchAdd(_) | Asked::CompareSwap { .. } => Self::Old,
            },
            _ => Self::Acknowledgement,
        }
    }
}

fn reason(error: HeaderError) -> Drop {
    match error.nak() {
        Nak::Opcode => Drop::BadOpcode,
        _ => Drop::BadLength,
    }
}

/// Region and memory.
fn access(qpn: u32, request: &Request<'_>, reach: &mut dyn Reach) -> Result<Done, Drop> {
    if !reach.allows(qpn, request) {
        return Err(Drop::OneSidedRefused);
    }
    let (address, asked) = (request.address, request.asked);
    let mut read = |bytes: &mut [u8]| {
        if reach.read(address, bytes) {
            Ok(())
        } else {
            Err(Drop::OneSidedFailed)
        }
    };
    match asked {
        Asked::Write(bytes) => {
            if !bytes.is_empty() {
                reach.write(address, bytes);
            }
            Ok(Done::Written)
        }
        Asked::Read(wanted) => {
            let mut bytes = vec![0; wanted as usize];
            read(&mut bytes)?;
            Ok(Done::Read(bytes))
        }
        Asked::FetchAdd(_) | Asked::CompareSwap { .. } => {
            let mut old = [0; 8];
            read(&mut old)?;
            if let Some(new) = asked.apply(u64::from_le_bytes(old)) {
                reach.write(address, &new.to_le_bytes());
            }
            Ok(Done::Old(old))
        }
    }
}

/// The frame that answers a request.
fn reply(send: &Send, operation: Operation, old: [u8; 8], data: &[u8]) -> Packet {
    let answer = Answer {
        operation,
        old,
        data,
    };
    Packet::Send(Send {
        dest_qp: send.src_qp,
        psn: send.psn,
        q_key: send.q_key,
        src_qp: send.dest_qp,
        version: 1,
        flags: ONE_SIDED,
        window: send.window,
        payload: answer.encode(),
        marked: false,
    })
}
