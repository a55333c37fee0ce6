//! Bulk transfers: WRITE and READ of any size.

use std::collections::HashMap;

use anyhow::{Context as _, Result, bail};
use tributary_host_driver::{
    Access, AddressHandle, CompletionQueue, Exposed, MemoryRegion, ProtectionDomain, QueuePair,
    Remote, TransferRequest, WorkCompletion, WorkCompletionOpcode, WorkCompletionStatus,
};

use super::Budget;
use super::figures::Sample;
use super::station::Station;

/// Longest transfer that is measured, bytes.
pub const LONGEST: usize = 1 << 30;
/// Buffers of all transfers under way have no more bytes than this, but those of one.
const BUFFERS: usize = 256 << 20;
/// Bytes that are sent in a measurement unless told how many messages.
const TOTAL: usize = 64 << 20;
/// Receive requests that are kept posted, for notifications.
const RECEIVES: u16 = 64;
/// Key of both ends.
const Q_KEY: u32 = 0x1EE7;

/// Transfers of so many bytes under way.
pub fn depth(bytes: usize, wanted: usize) -> usize {
    wanted.min((BUFFERS / bytes.max(1)).max(1))
}

/// Transfers of so many bytes, of at most `wanted`.
pub fn iterations(bytes: usize, wanted: u64) -> u64 {
    wanted.min((TOTAL / bytes.max(1)).max(4) as u64)
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From here to there.
    Write,
    /// From there to here.
    Read,
}

/// A queue pair and its memory.
struct End {
    queue: CompletionQueue,
    pair: QueuePair,
    /// Buffers of its own transfers.
    local: MemoryRegion,
    /// Where those of the other go, or come from.
    shared: Exposed,
    inbox: MemoryRegion,
    done: Vec<WorkCompletion>,
}

impl End {
    fn new(domain: &ProtectionDomain, bytes: usize, depth: usize) -> Result<Self> {
        let queue = domain.context().create_cq(0)?;
        let pair = domain
            .create_qp(&queue)
            .q_key(Q_KEY)
            .max_send_wr(depth as u16)
            .max_recv_wr(RECEIVES)
            .build()?;
        pair.activate()?;
        let room = bytes.next_multiple_of(64);
        let local = domain.reg_mr(room * depth, Access::LOCAL_WRITE)?;
        let shared = domain.reg_mr(room, Access::REMOTE_WRITE | Access::REMOTE_READ)?;
        let shared = shared
            .expose(bytes)
            .context("no room for the transfers of the other side")?;
        let inbox = domain.reg_mr(64 * usize::from(RECEIVES), Access::LOCAL_WRITE)?;
        let mut end = Self {
            queue,
            pair,
            local,
            shared,
            inbox,
            done: Vec::new(),
        };
        end.post_receives(RECEIVES.into())?;
        Ok(end)
    }

    fn post_receives(&mut self, count: usize) -> Result<()> {
        let mut batch = self.pair.batch();
        for _ in 0..count {
            let place = self.inbox.alloc(1).context("no room to receive")?;
            batch.recv(0, place)?;
        }
        batch.ring()?;
        Ok(())
    }

    fn there(&self) -> (AddressHandle, Remote) {
        (self.pair.address(), self.shared.remote())
    }

    /// A transfer of so many bytes, if there is a buffer for it.
    fn request(
        &self,
        name: u64,
        (to, remote): (AddressHandle, Remote),
        bytes: usize,
    ) -> Option<TransferRequest> {
        let buffer = self.local.alloc(bytes)?;
        Some(TransferRequest::new(name, to, buffer, remote))
    }

    /// Writes that tells the other side.
    fn tell(&self, to: (AddressHandle, Remote), bytes: usize) -> Result<()> {
        let request = self
            .request(0, to, bytes)
            .context("no room for a transfer")?;
        self.pair.post_write(request.notify(1))?;
        Ok(())
    }

    /// Names of own transfers that ended, and notifications. One that ended otherwise than OK ends the measurement.
    fn drain(&mut self) -> Result<(Vec<u64>, usize)> {
        let (mut ended, mut told) = (Vec::new(), 0);
        self.queue.poll(&mut self.done, 64)?;
        for done in self.done.drain(..) {
            if done.status != WorkCompletionStatus::Ok {
                bail!("a transfer ended as {}", done.status);
            }
            match done.opcode {
                WorkCompletionOpcode::Send => ended.push(done.wr_id),
                _ => told += 1,
            }
        }
        if told > 0 {
            self.post_receives(told)?;
        }
        Ok((ended, told))
    }
}

fn ends(station: &Station, bytes: usize, depth: usize) -> Result<[End; 2]> {
    let [a, b] = &station.domains;
    if a.context().sizes().transfers == 0 {
        bail!(
            "this card has no bulk transfers (bit bulk of its register features is 0): use --engine model, or a card that has them"
        );
    }
    Ok([End::new(a, bytes, depth)?, End::new(b, bytes, depth)?])
}

/// Writes there and back, each of which tells the other side; or reads. One at a time.
pub fn latency(station: &Station, budget: &mut Budget<'_>, direction: Direction) -> Result<Sample> {
    let bytes = budget.bytes;
    let mut ends = ends(station, bytes, 2)?;
    let to = ends.each_ref().map(End::there);
    let mut sample = Sample::default();
    while budget.more(sample.times.len() as u64) {
        let begun = station.now_ns();
        match direction {
            Direction::Write => {
                ends[0].tell(to[1], bytes)?;
                // Own transfers end behind their notifications.
                let (mut told, mut own) = ([0; 2], [0; 2]);
                let mut ended = begun;
                while told[0] == 0 || own != [1; 2] {
                    for at in [1, 0] {
                        let (ends_of, news) = ends[at].drain()?;
                        own[at] += ends_of.len();
                        told[at] += news;
                        if news > 0 && at == 1 {
                            ends[1].tell(to[0], bytes)?;
                        } else if news > 0 {
                            ended = station.now_ns();
                        }
                    }
                    budget.idle()?;
                }
                sample.times.push((begun, ended));
            }
            Direction::Read => {
                let request = ends[0]
                    .request(0, to[1], bytes)
                    .context("no room for a transfer")?;
                ends[0].pair.post_read(request)?;
                while ends[0].drain()?.0.is_empty() {
                    budget.idle()?;
                }
                sample.times.push((begun, station.now_ns()));
            }
        }
        budget.ended();
    }
    Ok(sample)
}

/// As many transfers as may be, in one direction.
pub fn rate(station: &Station, budget: &mut Budget<'_>, direction: Direction) -> Result<Sample> {
    let depth = depth(budget.bytes, budget.depth);
    let mut ends = ends(station, budget.bytes, depth)?;
    let to = ends[1].there();
    let mut sample = Sample::default();
    let mut under_way = HashMap::new();
    loop {
        let mut batch = ends[0].pair.batch();
        while under_way.len() < depth && budget.more(sample.times.len() as u64) {
            let name = sample.times.len();
            let Some(request) = ends[0].request(name as u64, to, budget.bytes) else {
                break;
            };
            match direction {
                Direction::Write => batch.write(request)?,
                Direction::Read => batch.read(request)?,
            }
            let begun = station.now_ns();
            sample.times.push((begun, begun));
            under_way.insert(name as u64, name);
        }
        batch.ring()?;
        if under_way.is_empty() {
            return Ok(sample);
        }
        let (ended, _) = ends[0].drain()?;
        let now = station.now_ns();
        for at in ended.iter().filter_map(|name| under_way.remove(name)) {
            sample.times[at].1 = now;
            budget.ended();
        }
        // A card of another process may be all the cards there are.
        ends[1].drain()?;
        budget.idle()?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_transfers_are_few_and_short_ones_as_many_as_asked_for() {
        assert_eq!(
            (depth(65_536, 128), iterations(65_536, 1_000)),
            (128, 1_000)
        );
        assert_eq!((depth(1 << 23, 128), iterations(1 << 23, 1_000)), (32, 8));
        assert_eq!((depth(LONGEST, 128), iterations(LONGEST, 1_000)), (1, 4));
        assert_eq!((depth(2, 1), iterations(2, 7)), (1, 7));
    }
}
