//! Datagrams without the reliable layer.

use std::collections::HashMap;

use anyhow::{Context as _, Result};
use tributary_host_driver::{
    Access, AddressHandle, Batch, CompletionQueue, MemoryRegion, ProtectionDomain, QueuePair,
    SendRequest, Window, WorkCompletion, WorkCompletionOpcode, WorkCompletionStatus,
};

use super::Budget;
use super::figures::Sample;
use super::station::Station;

/// Receive requests that are kept posted.
const RECEIVES: u16 = 512;
/// Key of both ends.
const Q_KEY: u32 = 0x1EE7;

/// A queue pair and its memory.
struct End {
    queue: CompletionQueue,
    pair: QueuePair,
    out: MemoryRegion,
    done: Vec<WorkCompletion>,
}

/// What has happened at an end.
#[derive(Default)]
struct Seen {
    /// Numbers of datagrams that came.
    received: Vec<u32>,
    /// Names of requests that ended, and whether OK.
    sent: Vec<(u64, bool)>,
}

impl End {
    fn new(domain: &ProtectionDomain, bytes: usize, depth: usize, timeout: u8) -> Result<Self> {
        let queue = domain.context().create_cq(0)?;
        let pair = domain
            .create_qp(&queue)
            .q_key(Q_KEY)
            .timeout(timeout)
            .max_send_wr(depth as u16)
            .max_recv_wr(RECEIVES)
            .build()?;
        pair.activate()?;
        let room = bytes.next_multiple_of(64);
        let out = domain.reg_mr(room * depth, Access::LOCAL_READ)?;
        let places = domain.reg_mr(room * usize::from(RECEIVES), Access::LOCAL_WRITE)?;
        let mut batch = pair.batch();
        for number in 0..u64::from(RECEIVES) {
            let place = places.alloc(bytes).context("no room to receive")?;
            batch.recv(number, place)?;
        }
        batch.ring()?;
        Ok(Self {
            queue,
            pair,
            out,
            done: Vec::new(),
        })
    }

    fn address(&self) -> (AddressHandle, u16) {
        (self.pair.address(), self.pair.epoch())
    }

    /// Posts datagram `number`; false if there is no room for it now.
    fn send(&self, number: u32, to: (AddressHandle, u16), bytes: usize) -> Result<bool> {
        let mut batch = self.pair.batch();
        let room = self.put(&mut batch, number, to, bytes)?;
        batch.ring()?;
        Ok(room)
    }

    /// The same as one of several that a doorbell posts.
    fn put(
        &self,
        batch: &mut Batch<'_>,
        number: u32,
        to: (AddressHandle, u16),
        bytes: usize,
    ) -> Result<bool> {
        let Some(mut payload) = self.out.alloc(bytes) else {
            return Ok(false);
        };
        payload.fill(0x5A);
        let window = Window {
            id: 0,
            epoch: to.1,
            msn: number,
        };
        let request = SendRequest::new(number.into(), to.0).window(window);
        batch.send(request.buffer(payload))?;
        Ok(true)
    }

    /// All that has happened; memory that was received into is posted again.
    fn drain(&mut self) -> Result<Seen> {
        let mut seen = Seen::default();
        self.queue.poll(&mut self.done, 64)?;
        let mut batch = self.pair.batch();
        for done in self.done.drain(..) {
            let good = done.status == WorkCompletionStatus::Ok;
            if done.opcode == WorkCompletionOpcode::Send {
                seen.sent.push((done.wr_id, good));
                continue;
            }
            if good {
                seen.received.push(done.window.msn);
            }
            if let Some(place) = done.buffer {
                batch.recv(done.wr_id, place)?;
            }
        }
        batch.ring()?;
        Ok(seen)
    }
}

fn ends(station: &Station, bytes: usize, depth: usize) -> Result<[End; 2]> {
    let [a, b] = &station.domains;
    Ok([
        End::new(a, bytes, depth, station.timeout)?,
        End::new(b, bytes, depth, station.timeout)?,
    ])
}

/// Datagrams there and back, one at a time. One that is not acknowledged, or whose answer is not, is given up.
pub fn latency(station: &Station, budget: &mut Budget<'_>) -> Result<Sample> {
    let bytes = budget.bytes;
    let mut ends = ends(station, bytes, 64)?;
    let to = ends.each_ref().map(End::address);
    let mut sample = Sample::default();
    let mut number = 0u32;
    while budget.more(sample.times.len() as u64 + sample.failed) {
        number = number.wrapping_add(1);
        let begun = station.now_ns();
        let mut ended = None;
        let (mut asked, mut answered) = (ends[0].send(number, to[1], bytes)?, false);
        while ended.is_none() {
            let there = ends[1].drain()?;
            if !answered && there.received.contains(&number) {
                answered = ends[1].send(number, to[0], bytes)?;
            }
            let here = ends[0].drain()?;
            if !asked {
                asked = ends[0].send(number, to[1], bytes)?;
            }
            let lost = (u64::from(number), false);
            if here.received.contains(&number) {
                ended = Some(true);
            } else if here.sent.contains(&lost) || there.sent.contains(&lost) {
                ended = Some(false);
            }
            budget.idle()?;
        }
        if ended == Some(true) {
            sample.times.push((begun, station.now_ns()));
        } else {
            sample.failed += 1;
        }
        budget.ended();
    }
    Ok(sample)
}

/// As many datagrams as may be, in one direction.
pub fn rate(station: &Station, budget: &mut Budget<'_>) -> Result<Sample> {
    let mut ends = ends(station, budget.bytes, budget.depth)?;
    let to = ends[1].address();
    let (mut all, mut failed) = (Vec::new(), 0);
    let mut under_way = HashMap::new();
    loop {
        // One doorbell for all that can be posted now, as the reliable layer rings it.
        let mut batch = ends[0].pair.batch();
        while budget.more(all.len() as u64) && under_way.len() < budget.depth {
            let begun = station.now_ns();
            let number = all.len() as u32;
            if !ends[0].put(&mut batch, number, to, budget.bytes)? {
                break;
            }
            under_way.insert(u64::from(number), all.len());
            all.push((begun, None));
        }
        batch.ring()?;
        if under_way.is_empty() {
            break;
        }
        let ended = ends[0].drain()?.sent;
        let now = station.now_ns();
        for (id, good) in ended {
            if let Some(at) = under_way.remove(&id) {
                failed += u64::from(!good);
                all[at].1 = good.then_some(now);
                budget.ended();
            }
        }
        ends[1].drain()?;
        budget.idle()?;
    }
    let good = all.into_iter();
    let good = good.filter_map(|(begun, ended)| Some((begun, ended?)));
    Ok(Sample {
        times: good.collect(),
        failed,
    })
}
