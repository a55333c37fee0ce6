//! The two ends of a measurement.

use std::io::Write;
use std::sync::Arc;

use anyhow::{Context as _, Error, Result, anyhow};
use serde::Serialize;
use tributary_host_driver::{
    Context, Device, DeviceError, EndpointConfig, Error as DriverError, Options, PostError,
    ProtectionDomain, ReliableEndpoint,
};
use tributary_sim::card::{CardSizes, SLOT_NS, SimDevice};

use crate::cards::{Network, cards, line_gbps};
use crate::sim::{Engine, engine_name};

/// Steps in which simulated time goes on, ns: the least difference of two times.
const STEP_NS: u64 = 8;
/// Bytes of a frame around the payload of a packet.
const OVERHEAD_BYTES: f64 = 98.0;
/// Packets of a card that may wait for the line while their deadlines run.
const WAITING: f64 = 16.0;
/// Windows of a connection, and packets under way.
const WINDOWS: u32 = 256;
const SENDS: u16 = 1_024;
/// Room for copies of messages of this size starts at a multiple of this.
const ALIGN: usize = 64;

/// Two ends; of one card that sends to itself, both are there.
pub struct Station {
    pub domains: [ProtectionDomain; 2],
    /// Whose time counts.
    clock: Arc<dyn Device>,
    /// Timeout exponent.
    pub timeout: u8,
    /// Sendings of a message, and of the question that opens a connection.
    attempts: u8,
    simulated: Vec<SimDevice>,
    facts: Facts,
}

/// What was measured on.
#[derive(Clone, Serialize)]
#[serde(tag = "cards", rename_all = "lowercase")]
pub enum Facts {
    /// Cards of this process; times are of the simulation.
    Simulated {
        engine: &'static str,
        clock: &'static str,
        line_gbps: f64,
        link_delay_us: f64,
        reorder_us: f64,
        loss: f64,
        duplication: f64,
        seed: u64,
    },
    /// Cards of another; times are of the clock on the wall.
    Connected {
        clock: &'static str,
        sockets: Vec<String>,
    },
}

impl Facts {
    pub fn print(&self, out: &mut dyn Write) -> std::io::Result<()> {
        match self {
            Self::Simulated {
                engine,
                line_gbps,
                link_delay_us,
                reorder_us,
                loss,
                duplication,
                seed,
                ..
            } => writeln!(
                out,
                "cards  2, {engine}, ports of {line_gbps} Gb/s; times are simulated\nlink   {link_delay_us} us each way, loss {loss}, duplication {duplication}, reorder span {reorder_us} us, seed {seed}"
            ),
            Self::Connected { sockets, .. } => writeln!(
                out,
                "cards  {}; times are of the clock on the wall, the server's speed included",
                sockets.join(", ")
            ),
        }
    }
}

impl Station {
    /// Two cards in this process, of these sizes if they are RTL.
    pub fn simulate(engine: Engine, sizes: CardSizes, network: &Network, mtu: u16) -> Result<Self> {
        let simulated = cards(engine, sizes, 2, [SLOT_NS, STEP_NS], network)?;
        let open = |node: usize| {
            let options = Options {
                node: node as u32,
                mtu,
            };
            let context = Context::open(Arc::new(simulated[node].clone()), options)?;
            if context.sizes().transfers > 0 {
                context.tune_bulk(&network.tuning(mtu, engine))?;
            }
            context.alloc_pd()
        };
        let gbps = line_gbps(engine);
        let waiting_ns = WAITING * (f64::from(mtu) + OVERHEAD_BYTES) * 8.0 / gbps;
        let wait_ns = network.longest_ns() + waiting_ns as u64;
        Ok(Self {
            domains: [open(0)?, open(1)?],
            clock: Arc::new(simulated[0].clone()),
            timeout: (0..31).find(|t| 4_096 << t >= wait_ns).unwrap_or(31),
            attempts: 16,
            facts: Facts::Simulated {
                engine: engine_name(engine),
                clock: "simulated",
                line_gbps: gbps,
                link_delay_us: network.delay_ns() as f64 / 1e3,
                reorder_us: (network.longest_ns() / 2 - network.delay_ns()) as f64 / 1e3,
                loss: network.loss,
                duplication: network.dup,
                seed: network.seed,
            },
            simulated,
        })
    }

    /// Cards behind the sockets of `tributary serve`.
    #[cfg(target_os = "linux")]
    pub fn connect(sockets: &[std::path::PathBuf], mtu: u16) -> Result<Self> {
        use crate::cards::usage;
        use tributary_host_driver::VfioUserDevice;

        /// Above any round trip of cards that are served, with the turns of the processes.
        const TIMEOUT: u8 = 8;
        // A Verilated card answers after some 10 ms of the wall clock, by which connections are opened.
        const ATTEMPTS: u8 = 32;
        if sockets.len() > 2 || sockets.len() == 2 && sockets[0] == sockets[1] {
            return Err(usage("--connect: one socket, or two different ones"));
        }
        let mut opened = Vec::new();
        for path in sockets {
            let name = path.file_name().and_then(|name| name.to_str());
            let node = name.and_then(|name| name.parse().ok()).ok_or_else(|| {
                usage(format!(
                    "--connect {}: the name of the socket must be the number of its card, as `tributary serve` gives it",
                    path.display()
                ))
            })?;
            let cannot = || format!("cannot open the card at {}", path.display());
            let device = Arc::new(VfioUserDevice::connect(path).with_context(cannot)?);
            let context = Context::open(
                Arc::clone(&device) as Arc<dyn Device>,
                Options { node, mtu },
            );
            opened.push((device, context.with_context(cannot)?.alloc_pd()?));
        }
        let (Some((clock, first)), Some((_, last))) = (opened.first(), opened.last()) else {
            return Err(usage("--connect: no socket"));
        };
        Ok(Self {
            domains: [first.clone(), last.clone()],
            clock: Arc::clone(clock) as Arc<dyn Device>,
            timeout: TIMEOUT,
            attempts: ATTEMPTS,
            simulated: Vec::new(),
            facts: Facts::Connected {
                clock: "wall",
                sockets: sockets
                    .iter()
                    .map(|path| path.display().to_string())
                    .collect(),
            },
        })
    }

    /// The time, ns.
    pub fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    pub fn facts(&self) -> Facts {
        self.facts.clone()
    }

    /// Whether the cards kept every rule of their buses.
    pub fn check(&self) -> Result<()> {
        for (node, card) in self.simulated.iter().enumerate() {
            card.check().with_context(|| format!("card {node}"))?;
        }
        Ok(())
    }

    /// An endpoint at either end, with room for `depth` messages of `bytes`.
    pub fn endpoints(&self, bytes: usize, depth: usize) -> Result<[ReliableEndpoint; 2]> {
        let config = EndpointConfig {
            windows: WINDOWS,
            receives: SENDS,
            sends: SENDS,
            timeout: self.timeout,
            attempts: self.attempts,
            copy_bytes: bytes.next_multiple_of(ALIGN) * depth,
            ..EndpointConfig::default()
        };
        let [a, b] = &self.domains;
        Ok([
            ReliableEndpoint::new(a, config)?,
            ReliableEndpoint::new(b, config)?,
        ])
    }

    /// Says where a card was if it is gone.
    pub fn explain(&self, error: Error) -> Error {
        let gone = error.chain().any(|cause| {
            let of_driver = matches!(
                cause.downcast_ref(),
                Some(DriverError::Device(DeviceError::Gone))
            );
            let of_post = matches!(
                cause.downcast_ref(),
                Some(PostError::Device(DeviceError::Gone))
            );
            of_driver || of_post || matches!(cause.downcast_ref(), Some(DeviceError::Gone))
        });
        match &self.facts {
            Facts::Connected { sockets, .. } if gone => anyhow!(
                "the card at {} is gone: its server has ended or closed the socket",
                sockets.join(" or ")
            ),
            _ => error,
        }
    }
}
