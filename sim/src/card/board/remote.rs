//! A board at the other end of a cable, as a card.

use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, bail};
use tributary_protocol::card::model::HostMemory;

use super::host_end::HostEnd;
use crate::cable::Cable;
use crate::card::Node;
use crate::pcie::Config;

/// Frames that are taken or sent before something else is done.
const FRAMES: usize = 64;
/// Time-outs of the link until there must be a session, and until a board that answers no read is given up.
const PATIENCE: u32 = 500;

/// A board that is reached over a cable. Once it is given up every read gives ones. Its network is its own: frames neither come
/// from here nor leave here.
pub struct RemoteBoard {
    end: HostEnd,
    cable: Cable,
    start: Instant,
    patience: Duration,
    broken: Option<String>,
}

impl RemoteBoard {
    /// The board at a cable, with a session; `timeout` is after what time the link sends again. Real time, whatever the time of
    /// the network is.
    ///
    /// # Errors
    /// No board answers.
    pub fn new(cable: Cable, timeout: Duration) -> Result<Self> {
        let root = Config {
            large: true,
            ordered: true,
            latency: 0..=0,
            ..Config::default()
        };
        // Milliseconds: no earlier life has the number, and it wraps after 49 days.
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
        let life = (now.as_millis() as u32).max(1);
        let mut board = Self {
            end: HostEnd::new(timeout.as_micros() as u64, root, life),
            cable,
            start: Instant::now(),
            patience: timeout * PATIENCE,
            broken: None,
        };
        let start = Instant::now();
        while board.end.session().is_none() {
            board.turn(None)?;
            if start.elapsed() > board.patience {
                bail!(
                    "no board answers within {} ms: is it at the cable, with a bitstream of a network card?",
                    board.patience.as_millis()
                );
            }
        }
        Ok(board)
    }

    fn turn(&mut self, memory: Option<&mut dyn HostMemory>) -> Result<()> {
        let now = self.start.elapsed().as_micros() as u64;
        for _ in 0..FRAMES {
            let Some(frame) = self.cable.receive().context("the cable to the board")? else {
                break;
            };
            self.end.receive(&frame, now);
        }
        self.end.work(memory)?;
        for _ in 0..FRAMES {
            let Some(frame) = self.end.poll(now) else {
                break;
            };
            self.cable.send(&frame).context("the cable to the board")?;
        }
        Ok(())
    }

    /// A turn, if the board is still there.
    fn try_turn(&mut self, memory: Option<&mut dyn HostMemory>) {
        if self.broken.is_none()
            && let Err(error) = self.turn(memory)
        {
            self.broken = Some(format!("{error:#}"));
        }
    }
}

impl Node for RemoteBoard {
    fn read32(&mut self, offset: u32) -> u32 {
        let session = self.end.session();
        if session.is_none() || self.broken.is_some() {
            return u32::MAX;
        }
        let ticket = self.end.root.bar_read(offset.into(), 4);
        let start = Instant::now();
        while self.broken.is_none() {
            self.try_turn(None);
            if let Some(answer) = self.end.root.answer(ticket) {
                return answer
                    .bytes
                    .first_chunk()
                    .map_or(u32::MAX, |word| u32::from_le_bytes(*word));
            }
            if self.end.session() != session {
                break;
            }
            if start.elapsed() > self.patience {
                let waited = self.patience.as_millis();
                self.broken = Some(format!(
                    "register {offset:#x} was read, and nothing came within {waited} ms"
                ));
            }
            std::thread::yield_now();
        }
        u32::MAX
    }

    fn write32(&mut self, offset: u32, value: u32) {
        self.end.root.bar_write(offset.into(), &value.to_le_bytes());
        self.try_turn(None);
    }

    fn step(&mut self, memory: &mut dyn HostMemory, _: u64) {
        self.try_turn(Some(memory));
    }

    fn receive_frame(&mut self, _: &[u8], _: u64) {}

    fn next_frame(&mut self, _: u64) -> Option<Vec<u8>> {
        None
    }

    fn check(&self) -> Result<()> {
        if let Some(broken) = &self.broken {
            bail!("{broken}");
        }
        self.end.root.check()
    }
}
