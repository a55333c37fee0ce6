//! Many hosts write in bulk to one, all at once: what is dropped, how much of the receiver's line is used, and who gets how much
//! of it (CL-4).

mod datagrams;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result, bail, ensure};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use tributary_host_driver::{
    Access, BulkCounter, CompletionQueue, CongestionCounter, Context, Device, Exposed, Options,
    ProtectionDomain, QueuePair, TransferRequest, WorkCompletionStatus,
};
use tributary_protocol::card::model::{BulkConfig, BulkMutations, ModelConfig};
use tributary_protocol::red::Counter;
use tributary_protocol::red::address::NODES;
use tributary_protocol::roce::{BODY_OFFSET, F_ETHERTYPE, F_OPCODE, F_PSN, F_SRC_IP, ICRC_LEN};
use tributary_protocol::rw::{MessageType, opcode, wire};

use super::{CLOCK_NS, Cluster, SLOT_NS, SimDevice};
use crate::fabric::timing::WORD_BYTES;
use crate::fabric::{Fabric, Place, Simulator, Treatment};

pub use datagrams::incast_datagrams;

/// Rate of the lines of a fabric whose clock is a card's, Mb/s.
pub const LINE_MBPS: u32 = (WORD_BYTES * 8 * 1_000 / CLOCK_NS) as u32;
const Q_KEY: u32 = 0xCA57;
/// Steps of time after which it is given up.
const PATIENCE: u64 = 100_000_000;
/// Packets over which [`IncastReport::recovery`] looks at a rate.
const STRETCH: usize = 64;

/// What is done.
#[derive(Clone, Debug)]
pub struct Incast {
    /// Bytes of each sender, by endpoint; those with 0 do not send. The receiver is endpoint 0, whose number is ignored.
    pub bytes: Vec<usize>,
    /// Largest payload of a packet.
    pub mtu: u16,
    /// Words above which every switch marks; 0: none does.
    pub ecn_words: u16,
    /// Whether cards look at marks.
    pub congestion: bool,
    /// Ticks at least between two cuts; `None`: what the card has after a reset.
    pub interval: Option<u16>,
    /// What every random choice comes from.
    pub seed: u64,
    /// Deliberate errors of the cards.
    pub mutations: BulkMutations,
}

impl Incast {
    /// So many bytes of every endpoint of a fabric but the first, in packets of 512 bytes; with or without marks at so many words.
    #[must_use]
    pub fn of_all(fabric: &Fabric, bytes: usize, ecn_words: u16) -> Self {
        Self {
            bytes: vec![bytes; fabric.endpoints.len()],
            mtu: 512,
            ecn_words,
            congestion: ecn_words > 0,
            interval: None,
            seed: 1,
            mutations: BulkMutations::default(),
        }
    }
}

/// A packet of DATA that began to cross the receiver's cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    /// Clock of its first word.
    pub clock: u64,
    /// Node that sent it.
    pub from: u32,
    /// Its number, which a packet of another sender may have, too.
    pub number: u32,
    /// Bytes of its payload.
    pub payload: usize,
    /// Clocks that it occupies the cable.
    pub clocks: u64,
}

/// How it went.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IncastReport {
    /// Frames sent into switches.
    pub frames: u64,
    /// Those of them that found a queue full.
    pub dropped: u64,
    /// Those that were marked.
    pub marked: u64,
    /// DATA packets that senders sent for the first time, and again.
    pub sent: u64,
    /// Again.
    pub resent: u64,
    /// Messages of receivers about marks, and how often a transfer slowed down.
    pub told: u64,
    /// How often a transfer slowed down.
    pub slowed: u64,
    /// Transfers that ended ok.
    pub ok: usize,
    /// Transfers whose bytes are right at the receiver.
    pub right: usize,
    /// Clocks from the first word of DATA on the receiver's cable to the last.
    pub clocks: u64,
    /// Clocks of them in which the cable was occupied.
    pub busy: u64,
    /// Those of them in which it was by DATA that came for the first time.
    pub useful: u64,
    /// DATA that came for the first time on the receiver's cable, in order.
    pub passed: Vec<Passed>,
}

impl IncastReport {
    /// What the switches have counted, and what was seen.
    fn look(&mut self, cluster: &Cluster, seen: &Mutex<Seen>) -> Result<()> {
        let counted =
            cluster.with(|sim| [Counter::QueueFull, Counter::EcnMarked].map(|c| sim.counted(c)));
        [self.dropped, self.marked] = counted.context("the fabric is gone")?;
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        self.frames = seen.frames;
        self.passed = std::mem::take(&mut seen.passed);
        let first = self.passed.first().map_or(0, |passed| passed.clock);
        let last = self.passed.last();
        let last = last.map_or(0, |passed| passed.clock + passed.clocks);
        self.clocks = last - first;
        let within = seen
            .busy
            .iter()
            .filter(|(at, _)| (first..last).contains(at));
        let mut known = BTreeSet::new();
        self.passed
            .retain(|passed| known.insert((passed.from, passed.number)));
        self.useful = self.passed.iter().map(|passed| passed.clocks).sum();
        self.busy = within.map(|(_, clocks)| clocks).sum();
        Ok(())
    }

    /// Frames that were dropped, of one.
    #[must_use]
    pub fn loss(&self) -> f64 {
        self.dropped as f64 / self.frames.max(1) as f64
    }

    /// Use of the receiver's line, of one, for packets of data that had not come before.
    #[must_use]
    pub fn goodput(&self) -> f64 {
        self.useful as f64 / self.clocks.max(1) as f64
    }

    /// Use of the receiver's line, of one, whatever for.
    #[must_use]
    pub fn line_use(&self) -> f64 {
        self.busy as f64 / self.clocks.max(1) as f64
    }

    /// Smallest share of a sender over the largest, of the bytes that came until the first of them had sent all.
    #[must_use]
    pub fn fairness(&self) -> f64 {
        let mut last = BTreeMap::new();
        for passed in &self.passed {
            last.insert(passed.from, passed.clock);
        }
        let first_end = last.values().min().copied().unwrap_or(0);
        let mut shares: BTreeMap<u32, usize> = last.keys().map(|from| (*from, 0)).collect();
        for passed in self.passed.iter().filter(|p| p.clock <= first_end) {
            *shares.entry(passed.from).or_default() += passed.payload;
        }
        let least = shares.values().min().copied().unwrap_or(0);
        let most = shares.values().max().copied().unwrap_or(0);
        least as f64 / most.max(1) as f64
    }

    /// Clock at which the last packet of all senders but one began to cross the cable.
    #[must_use]
    pub fn others_end(&self, alone: u32) -> Option<u64> {
        let others = self.passed.iter().filter(|passed| passed.from != alone);
        others.map(|passed| passed.clock).max()
    }

    /// Clocks from when all others had ended until one sender had at least `part` of the line, over a stretch of 64
    /// packets; `None` if it never did.
    #[must_use]
    pub fn recovery(&self, alone: u32, part: f64) -> Option<u64> {
        let begun = self.others_end(alone)?;
        let own: Vec<Passed> = self
            .passed
            .iter()
            .filter(|passed| passed.from == alone && passed.clock > begun)
            .copied()
            .collect();
        let stretch = own.windows(STRETCH).find(|stretch| {
            let busy: u64 = stretch[..STRETCH - 1].iter().map(|p| p.clocks).sum();
            let time = stretch[STRETCH - 1].clock - stretch[0].clock;
            busy as f64 >= part * time as f64
        })?;
        Some(stretch[0].clock - begun)
    }
}

/// What is seen on the cables.
#[derive(Default)]
struct Seen {
    frames: u64,
    /// Clocks that frames of any kind occupied the receiver's cable, with the clock of each.
    busy: Vec<(u64, u64)>,
    passed: Vec<Passed>,
}

/// The bytes that an endpoint sends.
fn content(seed: u64, endpoint: usize, bytes: usize) -> Vec<u8> {
    let mut content = vec![0; bytes];
    let seed = seed ^ (endpoint as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    ChaCha8Rng::seed_from_u64(seed).fill_bytes(&mut content);
    content
}

/// A sender, and where it writes.
struct Writer {
    endpoint: usize,
    context: Context,
    queue: CompletionQueue,
    domain: ProtectionDomain,
    pair: QueuePair,
    there: Exposed,
}

/// Runs it on model cards. `watch` is told how many transfers have ended.
///
/// # Errors
/// A fabric that cannot be or is too small, an error of the driver, or transfers that do not end.
pub fn incast(fabric: &Fabric, plan: &Incast, watch: &mut dyn FnMut(u64)) -> Result<IncastReport> {
    let card = ModelConfig {
        bulk: Some(BulkConfig {
            line_mbps: LINE_MBPS,
            mutations: plan.mutations,
            ..BulkConfig::default()
        }),
        ..ModelConfig::default()
    };
    let models = |simulator| Cluster::of_models(simulator, card, SLOT_NS);
    incast_on(fabric, plan, models, watch)
}

/// The same on cards of any kind, without the deliberate errors of the plan.
///
/// # Errors
/// As [`incast`], or of `cards`.
pub fn incast_on(
    fabric: &Fabric,
    plan: &Incast,
    cards: impl FnOnce(Simulator) -> Result<Cluster>,
    watch: &mut dyn FnMut(u64),
) -> Result<IncastReport> {
    let cluster = cards(Simulator::new(prepare(fabric, plan)?, plan.seed)?)?;
    let seen = watched(&cluster, data);
    let (receiver, target, writers) = open(&cluster, plan)?;
    let seed = plan.seed;
    for writer in &writers {
        let bytes = plan.bytes[writer.endpoint];
        let local = writer.domain.reg_mr(bytes, Access::LOCAL_WRITE)?;
        let mut buffer = local.alloc(bytes).context("no room for a transfer")?;
        buffer.copy_from_slice(&content(seed, writer.endpoint, bytes));
        let id = writer.endpoint as u64;
        let request = TransferRequest::new(id, target.address(), buffer, writer.there.remote());
        writer.pair.post_write(request)?;
    }
    let mut done = Vec::new();
    for looked in 0.. {
        let before = done.len();
        for writer in &writers {
            writer.queue.poll(&mut done, 1)?;
        }
        if done.len() > before {
            watch(done.len() as u64);
        }
        if done.len() == writers.len() {
            break;
        }
        if looked > PATIENCE {
            bail!("{} of {} writes have ended", done.len(), writers.len());
        }
        receiver.idle()?;
    }
    let mut report = IncastReport {
        ok: done
            .iter()
            .filter(|done| done.status == WorkCompletionStatus::Ok)
            .count(),
        ..IncastReport::default()
    };
    for writer in &writers {
        let mut arrived = vec![0; plan.bytes[writer.endpoint]];
        writer.there.read(0, &mut arrived)?;
        report.right += usize::from(arrived == content(seed, writer.endpoint, arrived.len()));
        let context = &writer.context;
        report.sent += context.bulk_counter(BulkCounter::DataSent)?;
        report.resent += context.bulk_counter(BulkCounter::DataResent)?;
        report.slowed += context.congestion_counter(CongestionCounter::Slowed)?;
        report.told += context.congestion_counter(CongestionCounter::Heard)?;
    }
    report.look(&cluster, &seen)?;
    Ok(report)
}

/// The fabric of a plan: its switches mark as that says.
fn prepare(fabric: &Fabric, plan: &Incast) -> Result<Fabric> {
    let mut fabric = fabric.clone();
    ensure!(
        fabric.endpoints.len() > 1 && plan.bytes.len() == fabric.endpoints.len(),
        "{} numbers of bytes for {} endpoints; there are at least 2",
        plan.bytes.len(),
        fabric.endpoints.len()
    );
    for switch in &mut fabric.switches {
        switch.ecn_words = plan.ecn_words;
    }
    Ok(fabric)
}

/// Keeps what is seen on the cables from now on; `data` says of a frame on the receiver's, a clock and the clocks that it takes
/// what counts of it.
fn watched(cluster: &Cluster, data: fn(&[u8], u64, u64) -> Option<Passed>) -> Arc<Mutex<Seen>> {
    let seen = Arc::new(Mutex::new(Seen::default()));
    let looks = Arc::clone(&seen);
    cluster.with(|sim| {
        let cables = sim.fabric().cables.clone();
        sim.tamper(move |passing| {
            let mut seen = looks.lock().unwrap_or_else(PoisonError::into_inner);
            seen.frames += u64::from(matches!(passing.to, Place::Switch(..)));
            if passing.to == Place::Endpoint(0) {
                let link = cables[passing.cable].link;
                let clocks = link.occupancy(passing.bytes.len());
                seen.busy.push((passing.start, clocks));
                seen.passed
                    .extend(data(passing.bytes, passing.start, clocks));
            }
            Treatment::Pass
        });
    });
    seen
}

/// What of a frame counts, if it is DATA of a bulk transfer.
fn data(frame: &[u8], clock: u64, clocks: u64) -> Option<Passed> {
    let is_data = F_ETHERTYPE.get(frame) == 0x0800
        && F_OPCODE.get(frame) == u64::from(opcode(MessageType::Data));
    let around = BODY_OFFSET + wire::HEADER_LEN + ICRC_LEN;
    is_data.then(|| Passed {
        clock,
        from: F_SRC_IP.get(frame) as u32 & (NODES - 1),
        number: F_PSN.get(frame) as u32,
        payload: frame.len().saturating_sub(around),
        clocks,
    })
}

/// The receiver's device and queue pair, and the senders.
fn open(cluster: &Cluster, plan: &Incast) -> Result<(SimDevice, QueuePair, Vec<Writer>)> {
    let setup = |endpoint: usize| -> Result<_> {
        let options = Options {
            node: cluster.nodes()[endpoint],
            mtu: plan.mtu,
        };
        let device = cluster.devices()[endpoint].clone();
        let context = Context::open(Arc::new(device), options)?;
        context.set_congestion(plan.congestion)?;
        if let Some(ticks) = plan.interval {
            context.set_congestion_interval(ticks)?;
        }
        let queue = context.create_cq(0)?;
        let domain = context.alloc_pd()?;
        let pair = domain.create_qp(&queue).q_key(Q_KEY).build()?;
        pair.activate()?;
        Ok((context, queue, domain, pair))
    };
    let (_, _, domain, target) = setup(0)?;
    let mut writers = Vec::new();
    for (endpoint, &bytes) in plan.bytes.iter().enumerate().skip(1) {
        if bytes == 0 {
            continue;
        }
        let region = domain.reg_mr(bytes, Access::REMOTE_WRITE)?;
        let there = region.expose(bytes).context("no room for a transfer")?;
        let (context, queue, domain, pair) = setup(endpoint)?;
        writers.push(Writer {
            endpoint,
            context,
            queue,
            domain,
            pair,
            there,
        });
    }
    Ok((cluster.devices()[0].clone(), target, writers))
}
