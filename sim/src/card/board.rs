//! A Verilated card with the board's end of a host link, and the host at the other end.

mod cabled;
mod front;
mod host_end;
mod pads;
mod remote;
mod rgmii;
mod streams;

use std::collections::VecDeque;

use anyhow::{Context, Result};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use tributary_hdl::catalog;
use tributary_protocol::card::model::HostMemory;

pub use self::cabled::CabledBoard;
use self::front::Front;
use self::host_end::HostEnd;
use self::pads::Pads;
pub use self::remote::RemoteBoard;
use self::streams::Streams;
use super::{CardSizes, Node};
use crate::pcie::Config;
use crate::verilate::{BuildOptions, Verilated};

/// Clocks until either end sends again what is not acknowledged.
const TIMEOUT: u64 = 2_000;
/// The same at a line of 1 Gb/s, on which 64 units take longer.
const TIMEOUT_AT_PADS: u64 = 1 << 13;
/// Clocks after which a register read that is not answered is given up; reads as ones, as on a bus.
const READ_CLOCKS: u64 = 500_000;
/// Clocks until a link has a session, at most.
const OPEN_CLOCKS: u64 = 500_000;
/// `board_nic` as it is simulated: no delays at the pads, short reset of the PHYs, 2^13 clocks until the link sends again.
const NIC: [(&str, usize); 4] = [("RX", 0), ("TX", 0), ("C", 8), ("T", 13)];

/// How much of a board is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoardKind {
    /// `board_card`: card and link, without MACs.
    Streams,
    /// `board_nic`: all of it, from the pads of one PHY to those of the other.
    Pads,
}

/// What the line between board and host does to frames, in thousandths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineFaults {
    /// Frames that are lost.
    pub loss: u32,
    /// Frames that arrive twice.
    pub double: u32,
    /// Frames with a wrong FCS.
    pub damage: u32,
}

/// What the link has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BoardStats {
    /// Frames that were lost or damaged on the line, that were doubled.
    pub lost: u64,
    /// Frames that arrived twice.
    pub doubled: u64,
    /// Times that the board sent units again.
    pub again: u64,
    /// Sessions that were lost.
    pub sessions_lost: u64,
    /// Units that were malformed, at either end, or had no room.
    pub wrong: u64,
}

/// Builds a board with Verilator.
///
/// # Errors
/// The size is not on offer, or Verilator or the compiler refuses the sources.
pub fn build_board(kind: BoardKind, sizes: CardSizes) -> Result<Verilated> {
    let sizes = [
        ("Q", sizes.qps),
        ("R", sizes.regions),
        ("F", sizes.in_flight),
    ];
    let choice = match kind {
        BoardKind::Streams => catalog::choose("board_card", &sizes)?,
        BoardKind::Pads => catalog::choose("board_nic", &[&sizes[..], &NIC].concat())?,
    };
    let design = choice.emit()?;
    let options = BuildOptions::new(&design.top, &design.files())
        .with_random_init(true)
        .with_checks();
    Verilated::build(&options).with_context(|| format!("Verilator model of {choice}"))
}

/// A board after reset, and all between its ports and frames.
fn front_of(kind: BoardKind, library: &Verilated, seed: u64) -> Result<Box<dyn Front>> {
    let model = library.model_with_seed(seed)?;
    Ok(match kind {
        BoardKind::Streams => Box::new(Streams::new(model)?),
        BoardKind::Pads => Box::new(Pads::new(model, seed)?),
    })
}

/// A board, clock by clock, whose host is at the other end of a line with faults.
pub struct BoardNode {
    front: Box<dyn Front>,
    end: HostEnd,
    faults: LineFaults,
    rng: ChaCha8Rng,
    frames: VecDeque<Vec<u8>>,
    counts: BoardStats,
    clocks: u64,
    /// Of these, those of `step`, as in `RtlNode`.
    stepped: u64,
    broken: Option<String>,
}

impl BoardNode {
    /// A board after reset, with a session and settings.
    ///
    /// # Errors
    /// The library is no board of that kind, or there is no session.
    pub fn new(
        kind: BoardKind,
        library: &Verilated,
        config: Config,
        faults: LineFaults,
    ) -> Result<Self> {
        let front = front_of(kind, library, config.seed)?;
        let timeout = match kind {
            BoardKind::Streams => TIMEOUT,
            BoardKind::Pads => TIMEOUT_AT_PADS,
        };
        let mut board = Self {
            front,
            faults,
            rng: ChaCha8Rng::seed_from_u64(config.seed ^ 0x11CE),
            end: HostEnd::new(timeout, config, 0x8000_0000),
            frames: VecDeque::new(),
            counts: BoardStats::default(),
            clocks: 0,
            stepped: 0,
            broken: None,
        };
        board.open()?;
        Ok(board)
    }

    /// Waits for a session.
    fn open(&mut self) -> Result<()> {
        for _ in 0..OPEN_CLOCKS {
            self.clock(None);
            if self.end.session().is_some() {
                return Ok(());
            }
        }
        anyhow::bail!("no session with the board: {:?}", self.broken)
    }

    /// The host's end of the link is reset: a new life. The board resets its function.
    ///
    /// # Errors
    /// There is no new session.
    pub fn restart_host(&mut self) -> Result<()> {
        self.end.restart()?;
        self.open()
    }

    /// What the link has done.
    #[must_use]
    pub fn stats(&self) -> BoardStats {
        BoardStats {
            sessions_lost: self.end.sessions_lost,
            wrong: self.counts.wrong + self.end.malformed,
            ..self.counts
        }
    }

    /// One clock. Without memory no read of the board is answered and none of its writes is done.
    fn clock(&mut self, memory: Option<&mut dyn HostMemory>) {
        if self.broken.is_some() {
            return;
        }
        if let Err(error) = self.try_clock(memory) {
            self.broken = Some(format!("clock {}: {error:#}", self.clocks));
        }
    }

    fn try_clock(&mut self, memory: Option<&mut dyn HostMemory>) -> Result<()> {
        self.clocks += 1;
        let clocked = self.front.clock()?;
        self.counts.again += clocked.again;
        self.counts.wrong += clocked.wrong;
        self.frames.extend(clocked.to_network);
        for bytes in clocked.to_host {
            for damaged in self.carry() {
                if !damaged {
                    self.end.receive(&bytes, self.clocks);
                }
            }
        }
        self.end.work(memory)?;
        if !self.front.host_waits()
            && let Some(bytes) = self.end.poll(self.clocks)
        {
            for damaged in self.carry() {
                self.front.host_sends(&bytes, damaged);
            }
        }
        Ok(())
    }

    /// The copies of a frame that arrive, and whether they are damaged.
    fn carry(&mut self) -> Vec<bool> {
        let mut chance = |thousandths: u32| self.rng.next_u32() % 1_000 < thousandths;
        if chance(self.faults.loss) {
            self.counts.lost += 1;
            return vec![];
        }
        let copies = 1 + usize::from(chance(self.faults.double));
        self.counts.doubled += copies as u64 - 1;
        let damaged: Vec<bool> = (0..copies).map(|_| chance(self.faults.damage)).collect();
        self.counts.lost += damaged.iter().filter(|damaged| **damaged).count() as u64;
        damaged
    }
}

impl Node for BoardNode {
    fn read32(&mut self, offset: u32) -> u32 {
        if self.broken.is_some() || self.end.session().is_none() {
            return u32::MAX;
        }
        let ticket = self.end.root.bar_read(offset.into(), 4);
        let session = self.end.session();
        for _ in 0..READ_CLOCKS {
            self.clock(None);
            if let Some(answer) = self.end.root.answer(ticket) {
                return answer
                    .bytes
                    .first_chunk()
                    .map_or(u32::MAX, |word| u32::from_le_bytes(*word));
            }
            if self.broken.is_some() || self.end.session() != session {
                break;
            }
        }
        u32::MAX
    }

    fn write32(&mut self, offset: u32, value: u32) {
        self.end.root.bar_write(offset.into(), &value.to_le_bytes());
    }

    fn step(&mut self, memory: &mut dyn HostMemory, now: u64) {
        while self.stepped * self.front.clock_ns() < now && self.broken.is_none() {
            self.clock(Some(&mut *memory));
            self.stepped += 1;
        }
    }

    fn receive_frame(&mut self, frame: &[u8], _: u64) {
        self.front.network_sends(frame);
    }

    fn next_frame(&mut self, _: u64) -> Option<Vec<u8>> {
        self.frames.pop_front()
    }

    fn check(&self) -> Result<()> {
        if let Some(broken) = &self.broken {
            anyhow::bail!("{broken}");
        }
        self.end.root.check()
    }
}
