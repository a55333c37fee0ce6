//! `tributary sim --demo bulk`: a WRITE and a READ of any size through two whole cards, over a bad network.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde::Serialize;
use tributary_host_driver::{
    self as driver, Access, BulkCounter, BulkTuning, CompletionQueue, Context, Device,
    TransferRequest, WorkCompletion, WorkCompletionOpcode, WorkCompletionStatus,
};
use tributary_protocol::card::model::{BulkConfig, ModelConfig};
use tributary_protocol::rw::packets;
use tributary_sim::card::{CLOCK_NS, CardSizes, NetworkConfig, SimDevice, network};
use tributary_sim::link::LinkConfig;
use tributary_sim::pcap::Capture;

use super::{Engine, Link, Transfer, engine_name};
use crate::Verdict;
use crate::cards::{Network, cards, line_gbps, packet_ns, within_ns};
use crate::files::NewFile;
use crate::progress::Progress;

/// Key of both ends.
const Q_KEY: u32 = 0x1EE7;
/// What the other side is told.
const IMMEDIATE: u32 = 0xB01D_FACE;
/// Looks at the cards after which a run is given up.
const PATIENCE: u64 = 200_000_000;

/// Counters of a card that are printed, where they are not 0.
const SENDING: [BulkCounter; 4] = [
    BulkCounter::WaitLine,
    BulkCounter::WaitCredit,
    BulkCounter::WaitPeer,
    BulkCounter::WaitRead,
];
const DROPS: [BulkCounter; 10] = [
    BulkCounter::DataDuplicate,
    BulkCounter::DataStale,
    BulkCounter::DataWrong,
    BulkCounter::DataOverflow,
    BulkCounter::Access,
    BulkCounter::BadQp,
    BulkCounter::NoRead,
    BulkCounter::OldConnect,
    BulkCounter::Stray,
    BulkCounter::ControlOverflow,
];

/// What one of the two transfers took.
#[derive(Serialize)]
struct Part {
    operation: &'static str,
    status: &'static str,
    every_byte_right: bool,
    time_s: f64,
    /// Payload as a share of what the line carries in that time.
    goodput: f64,
    data_packets_sent: u64,
    data_packets_again: u64,
    packets_per_useful_packet: f64,
    messages_of_sender: u64,
    messages_of_receiver: u64,
    /// Shares of the time in which the sending card waited for this.
    waited: Vec<(&'static str, f64)>,
    /// Packets and messages not acted upon, at both cards.
    dropped: Vec<(&'static str, u64)>,
}

/// Everything that is printed.
#[derive(Serialize)]
struct Summary {
    demo: &'static str,
    engine: &'static str,
    transfer_bytes: u32,
    packet_bytes: u16,
    packets: u32,
    window_packets: u32,
    loss: f64,
    duplication: f64,
    reorder_slots: u32,
    round_trip_slots: u32,
    slot_ns: u64,
    line_gbps: f64,
    seed: u64,
    notified_once: bool,
    parts: Vec<Part>,
    frames_lost: u64,
    frames_doubled: u64,
    frames_overtaken: u64,
    wall_s: f64,
}

/// A host.
struct Host {
    device: SimDevice,
    context: Context,
    queue: CompletionQueue,
}

struct Run {
    hosts: [Host; 2],
    capture: Option<Capture<NewFile>>,
    progress: Progress,
    bytes: u32,
    packet: u8,
    gbps: f64,
}

/// Options of `--demo bulk`.
#[derive(Args)]
pub struct Options {
    #[command(flatten)]
    transfer: Transfer,
    #[command(flatten)]
    link: Link,
    /// What the cards are.
    #[arg(long, default_value = "model")]
    engine: Engine,
    /// Every frame at both ends of the link (pcapng).
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Two cards with windows of so many packets, and the link between them, whose slots have `slot_ns`.
fn devices(engine: Engine, window: u32, slot_ns: u64, link: &Link) -> Result<Vec<SimDevice>> {
    if engine == Engine::Rtl {
        let sizes = CardSizes {
            window: window as usize,
            ..CardSizes::bulk()
        };
        let wanted = Network {
            loss: link.loss,
            dup: link.dup,
            reorder: link.reorder,
            round_trip: link.round_trip,
            seed: link.seed,
        };
        return cards(engine, sizes, 2, [slot_ns, CLOCK_NS], &wanted);
    }
    network(&NetworkConfig {
        card: ModelConfig {
            bulk: Some(BulkConfig {
                packets: window as u16,
                ..BulkConfig::default()
            }),
            ..ModelConfig::default()
        },
        link: LinkConfig {
            delay_slots: link.round_trip.div_ceil(2),
            reorder_slots: link.reorder,
            loss: link.loss,
            duplication: link.dup,
        },
        seed: link.seed,
        slot_ns,
        line_gbps: Some(line_gbps(engine)),
        ..NetworkConfig::default()
    })
}

/// Runs it.
pub fn run(arguments: &Options) -> Result<Verdict> {
    let started = Instant::now();
    let (wanted, link, engine) = (&arguments.transfer, &arguments.link, arguments.engine);
    let packet = 1u16 << link.packet;
    let gbps = line_gbps(engine);
    // A card in RTL goes on clock by clock.
    let slot_ns = (packet_ns(packet, engine).ceil() as u64).next_multiple_of(match engine {
        Engine::Model => 1,
        Engine::Rtl => CLOCK_NS,
    });
    let tuning = BulkTuning {
        round_trip_ns: u64::from(link.round_trip) * slot_ns + within_ns(packet, engine),
        overtaking: link.reorder + 2,
        share_of_256: 128,
    };
    let open = |(node, device): (usize, SimDevice)| {
        let options = driver::Options {
            node: node as u32,
            mtu: packet,
        };
        let context = Context::open(Arc::new(device.clone()), options)?;
        context.tune_bulk(&tuning)?;
        let queue = context.create_cq(0)?;
        Ok(Host {
            device,
            context,
            queue,
        })
    };
    let devices = devices(engine, wanted.window, slot_ns, link)?;
    let hosts = devices.into_iter().enumerate().map(open);
    let hosts: Vec<Host> = hosts.collect::<Result<_>>()?;
    let capture = arguments
        .pcap
        .as_deref()
        .map(|path| Capture::new(NewFile::create(path)?, 1.0))
        .transpose()?;
    let mut run = Run {
        hosts: hosts.try_into().ok().context("two cards were made")?,
        capture,
        progress: Progress::new(2, "transfers"),
        bytes: wanted.bytes,
        packet: link.packet,
        gbps,
    };
    let (parts, notified_once) = run.transfers(link.seed)?;
    let links = [0, 1].map(|at| run.hosts[at].device.link_stats()[1 - at]);
    if let Some(capture) = run.capture.take() {
        capture.into_inner().finish()?;
    }
    let summary = Summary {
        demo: "bulk",
        engine: engine_name(engine),
        transfer_bytes: wanted.bytes,
        packet_bytes: packet,
        packets: packets(wanted.bytes, link.packet),
        window_packets: wanted.window,
        loss: link.loss,
        duplication: link.dup,
        reorder_slots: link.reorder,
        round_trip_slots: link.round_trip,
        slot_ns,
        line_gbps: gbps,
        seed: link.seed,
        notified_once,
        parts,
        frames_lost: links.iter().map(|link| link.lost).sum(),
        frames_doubled: links.iter().map(|link| link.duplicated).sum(),
        frames_overtaken: links.iter().map(|link| link.overtaken).sum(),
        wall_s: started.elapsed().as_secs_f64(),
    };
    let mut out = std::io::stdout().lock();
    if arguments.json {
        serde_json::to_writer(&mut out, &summary).map_err(std::io::Error::from)?;
        writeln!(out)?;
    } else {
        summary.print(&mut out)?;
    }
    Ok(if summary.good() {
        Verdict::Good
    } else {
        Verdict::Bad
    })
}

impl Run {
    /// The WRITE, and the READ of what it wrote.
    fn transfers(&mut self, seed: u64) -> Result<(Vec<Part>, bool)> {
        let length = self.bytes as usize;
        let mut sent = vec![0; length];
        ChaCha8Rng::seed_from_u64(seed).fill_bytes(&mut sent);
        let domains = [
            self.hosts[0].context.alloc_pd()?,
            self.hosts[1].context.alloc_pd()?,
        ];
        let mut pairs = Vec::new();
        for (host, domain) in self.hosts.iter().zip(&domains) {
            let pair = domain.create_qp(&host.queue).q_key(Q_KEY).build()?;
            pair.activate()?;
            pairs.push(pair);
        }
        let to = pairs[1].address();
        let local = domains[0].reg_mr(length.max(1), Access::LOCAL_WRITE)?;
        let shared =
            domains[1].reg_mr(length.max(1), Access::REMOTE_WRITE | Access::REMOTE_READ)?;
        let shared = shared.expose(length).context("no room for the transfer")?;
        let inbox = domains[1].reg_mr(64, Access::LOCAL_WRITE)?;
        pairs[1].post_recv(1, inbox.alloc(1).context("no room to receive")?)?;
        // From here on frames are kept.
        if self.capture.is_some() {
            drop(self.hosts[0].device.captured());
        }

        let mut buffer = local.alloc(length).context("no room for the transfer")?;
        buffer.copy_from_slice(&sent);
        let write = TransferRequest::new(1, to, buffer, shared.remote()).notify(IMMEDIATE);
        let before = Counts::of(&self.hosts)?;
        pairs[0].post_write(write)?;
        let (done, mut told) = self.wait()?;
        let mut arrived = vec![0; length];
        shared.read(0, &mut arrived)?;
        let written = self.part("write", &done, arrived == sent, &before, [0, 1])?;
        drop(done);
        self.progress.at(1);

        let empty = local.alloc(length).context("no room for the transfer")?;
        let before = Counts::of(&self.hosts)?;
        pairs[0].post_read(TransferRequest::new(2, to, empty, shared.remote()))?;
        let (done, more) = self.wait()?;
        let right = done.buffer.as_deref() == Some(sent.as_slice());
        let read = self.part("read", &done, right, &before, [1, 0])?;
        told.extend(more);
        let notified = told.len() == 1
            && told[0].opcode == WorkCompletionOpcode::Notify
            && told[0].immediate() == Some(IMMEDIATE);
        Ok((vec![written, read], notified))
    }

    /// The completion of the own request, and those of the other side.
    fn wait(&mut self) -> Result<(WorkCompletion, Vec<WorkCompletion>)> {
        let (mut own, mut other) = (Vec::new(), Vec::new());
        for _ in 0..PATIENCE {
            self.hosts[1].queue.poll(&mut other, 8)?;
            self.hosts[0].queue.poll(&mut own, 1)?;
            self.write_capture()?;
            if let Some(done) = own.pop() {
                return Ok((done, other));
            }
        }
        anyhow::bail!("the transfer does not end")
    }

    fn write_capture(&mut self) -> Result<()> {
        if let Some(capture) = &mut self.capture {
            let mut frames = self.hosts[0].device.captured();
            frames.sort_by_key(|frame| frame.at_ns);
            for one in frames {
                capture.frame(one.node, one.at_ns, &one.frame)?;
            }
        }
        Ok(())
    }

    /// Figures of a transfer from card `ends[0]` to card `ends[1]`.
    fn part(
        &self,
        operation: &'static str,
        done: &WorkCompletion,
        every_byte_right: bool,
        before: &Counts,
        [from, to]: [usize; 2],
    ) -> Result<Part> {
        let after = Counts::of(&self.hosts)?;
        let count =
            |at: usize, counter: BulkCounter| after.get(at, counter) - before.get(at, counter);
        let time_ns = (after.now_ns - before.now_ns) as f64;
        ensure!(time_ns > 0.0, "a transfer takes time");
        let again = count(from, BulkCounter::DataResent);
        let data = count(from, BulkCounter::DataSent) + again;
        let clock_ns = self.hosts[from].context.clock_ns()?;
        let waited = SENDING.map(|counter| {
            let clocks = count(from, counter) as f64;
            (counter.name(), clocks * clock_ns / time_ns)
        });
        let dropped = DROPS.map(|counter| (counter.name(), count(0, counter) + count(1, counter)));
        let useful = packets(self.bytes, self.packet);
        Ok(Part {
            operation,
            status: done.status.name(),
            every_byte_right,
            time_s: time_ns / 1e9,
            goodput: f64::from(self.bytes) * 8.0 / time_ns / self.gbps,
            data_packets_sent: data,
            data_packets_again: again,
            packets_per_useful_packet: data as f64 / f64::from(useful),
            messages_of_sender: count(from, BulkCounter::ControlSent),
            messages_of_receiver: count(to, BulkCounter::ControlSent),
            waited: waited
                .into_iter()
                .filter(|(_, share)| *share > 0.0)
                .collect(),
            dropped: dropped
                .into_iter()
                .filter(|(_, count)| *count > 0)
                .collect(),
        })
    }
}

/// Counters of both cards at one time.
struct Counts {
    of: [Vec<u64>; 2],
    now_ns: u64,
}

impl Counts {
    fn of(hosts: &[Host; 2]) -> Result<Self> {
        let all = |host: &Host| {
            let counters = BulkCounter::ALL.iter();
            let counts = counters.map(|counter| Ok(host.context.bulk_counter(*counter)?));
            counts.collect::<Result<Vec<u64>>>()
        };
        Ok(Self {
            of: [all(&hosts[0])?, all(&hosts[1])?],
            now_ns: hosts[0].device.now_ns(),
        })
    }

    fn get(&self, host: usize, counter: BulkCounter) -> u64 {
        self.of[host][usize::from(counter.code() - BulkCounter::ALL[0].code())]
    }
}

impl Summary {
    fn good(&self) -> bool {
        let right =
            |part: &Part| part.status == WorkCompletionStatus::Ok.name() && part.every_byte_right;
        self.parts.iter().all(right) && self.notified_once
    }

    fn print(&self, out: &mut dyn Write) -> std::io::Result<()> {
        writeln!(
            out,
            "transfer    {} bytes in {} packets of {}, two {} cards, windows of {} packets",
            self.transfer_bytes, self.packets, self.packet_bytes, self.engine, self.window_packets
        )?;
        writeln!(
            out,
            "link        loss {}, duplication {}, reorder span {} slots, round trip {} slots, seed {}; 1 slot = {} ns at {} Gb/s",
            self.loss,
            self.duplication,
            self.reorder_slots,
            self.round_trip_slots,
            self.seed,
            self.slot_ns,
            self.line_gbps
        )?;
        for part in &self.parts {
            let bytes = if part.every_byte_right {
                "every byte as sent"
            } else {
                "bytes differ"
            };
            writeln!(
                out,
                "{:<11} {}, {bytes}; {:.6} s, goodput {:.3} of the line rate",
                part.operation, part.status, part.time_s, part.goodput
            )?;
            writeln!(
                out,
                "  sent      {} DATA packets, {} of them again: {:.3} per useful packet; {} other messages, {} back",
                part.data_packets_sent,
                part.data_packets_again,
                part.packets_per_useful_packet,
                part.messages_of_sender,
                part.messages_of_receiver
            )?;
            let waited = part
                .waited
                .iter()
                .map(|(what, share)| format!("{what} {share:.3}"));
            writeln!(out, "  waited    {}", waited.collect::<Vec<_>>().join(", "))?;
            let dropped = part
                .dropped
                .iter()
                .map(|(what, count)| format!("{count} {what}"));
            let dropped: Vec<String> = dropped.collect();
            if !dropped.is_empty() {
                writeln!(out, "  dropped   {}", dropped.join(", "))?;
            }
        }
        let notified = if self.notified_once {
            "once, with the immediate data, behind the last byte"
        } else {
            "wrongly"
        };
        writeln!(out, "notified    {notified}")?;
        writeln!(
            out,
            "network     {} frames lost, {} doubled, {} overtaken",
            self.frames_lost, self.frames_doubled, self.frames_overtaken
        )
    }
}
