//! The host's end of a link with a board: its root complex, and settings at the beginning of each session.

use std::collections::VecDeque;

use anyhow::{Result, bail};
use tributary_protocol::card::model::HostMemory;
use tributary_protocol::tlp_link::unit::is_completion;
use tributary_protocol::tlp_link::wire::{BOARD_ADDRESS, Frame};
use tributary_protocol::tlp_link::{Config as LinkConfig, Content, Link, Settings};

use crate::pcie::{Config, RawTlp, RootComplex};

/// MAC address of the host.
pub(super) const HOST: u64 = 0x0200_0000_0002;
/// Room of the host's end, and of the board's in words and units, as `board_card` has it; all but the time-out.
const ROOM: LinkConfig = LinkConfig {
    buffer: 4096,
    replay: 1024,
    units: 64,
    timeout: 0,
};
/// Completions that are made at a time.
const PASSES: usize = 16;

/// The end. Time is of any unit, the same for all calls.
pub(super) struct HostEnd {
    pub root: RootComplex,
    config: LinkConfig,
    link: Link,
    life: u32,
    session: Option<(u32, u32)>,
    /// TLPs for the board that its link has no room for yet; those that came and wait for memory.
    leaving: VecDeque<RawTlp>,
    came: VecDeque<RawTlp>,
    /// Units that came in the session, and the first of them that still waits for memory: neither it nor what came behind it
    /// may be acknowledged, since the board takes what is acknowledged for done.
    taken: u16,
    held: Option<u16>,
    /// Sessions that were lost, and units that were malformed.
    pub sessions_lost: u64,
    pub malformed: u64,
}

impl HostEnd {
    /// An end in a life of this number, which sends again after `timeout`.
    pub fn new(timeout: u64, root: Config, life: u32) -> Self {
        let config = LinkConfig { timeout, ..ROOM };
        Self {
            root: RootComplex::alone(root),
            config,
            link: Link::new(config, life),
            life,
            session: None,
            leaving: VecDeque::new(),
            came: VecDeque::new(),
            taken: 0,
            held: None,
            sessions_lost: 0,
            malformed: 0,
        }
    }

    /// A new life: the board resets its function.
    ///
    /// # Errors
    /// Settings are not taken.
    pub fn restart(&mut self) -> Result<()> {
        // A life counts on by itself whenever it loses its session.
        self.life += 1 << 16;
        self.link = Link::new(self.config, self.life);
        self.look()
    }

    /// The session: this life and the board's.
    pub fn session(&self) -> Option<(u32, u32)> {
        self.session
    }

    /// A frame has come; what is none of the link's is passed over.
    pub fn receive(&mut self, frame: &[u8], now: u64) {
        if let Ok(frame) = Frame::parse(frame) {
            self.link.receive(&frame, now);
        }
    }

    /// The next frame for the board.
    pub fn poll(&mut self, now: u64) -> Option<Vec<u8>> {
        let mut frame = self.link.poll(now)?;
        frame.ack = self.held.unwrap_or(frame.ack);
        Some(frame.emit(BOARD_ADDRESS, HOST))
    }

    /// TLPs between the root complex and the link. Without memory no read of the board is answered and none of its writes
    /// is done or acknowledged.
    ///
    /// # Errors
    /// The board has sent a unit that is malformed.
    pub fn work(&mut self, memory: Option<&mut dyn HostMemory>) -> Result<()> {
        self.look()?;
        while let Some(unit) = self.link.take() {
            match Content::parse(&unit) {
                Ok(Content::Tlp { header, data }) => {
                    if !is_completion(&header) {
                        self.held.get_or_insert(self.taken);
                    }
                    self.taken = self.taken.wrapping_add(1);
                    self.came.push_back(RawTlp {
                        header,
                        data,
                        beside: 0,
                    });
                }
                other => {
                    self.malformed += 1;
                    bail!("a unit of the board: {other:?}");
                }
            }
        }
        match memory {
            Some(memory) => {
                while let Some(tlp) = self.came.pop_front() {
                    self.root.receive_tlp(&tlp, memory);
                }
                self.held = None;
                for _ in 0..PASSES {
                    self.root.pass(memory);
                    if !self.fetch() {
                        break;
                    }
                }
            }
            // Who reads a register has no memory at hand: the answer may pass writes then.
            None => self.root.receive_completions(&mut self.came),
        }
        self.fetch();
        self.offer()
    }

    /// What the root complex sends; whether there was something.
    fn fetch(&mut self) -> bool {
        let before = self.leaving.len();
        self.leaving
            .extend(std::iter::from_fn(|| self.root.next_tlp()));
        self.leaving.len() > before
    }

    fn offer(&mut self) -> Result<()> {
        while let Some(tlp) = self.leaving.front() {
            let content = Content::Tlp {
                header: tlp.header,
                data: tlp.data.clone(),
            };
            if self.link.offer(content.emit()?).is_err() {
                break;
            }
            self.leaving.pop_front();
        }
        Ok(())
    }

    /// A session that is new begins with settings, and with nothing of the old one.
    fn look(&mut self) -> Result<()> {
        let session = self.link.session();
        if session == self.session {
            return Ok(());
        }
        self.sessions_lost += u64::from(self.session.is_some());
        self.session = session;
        self.root.lost();
        self.leaving.clear();
        self.came.clear();
        (self.taken, self.held) = (0, None);
        if session.is_some()
            && let Err(refused) = self.link.offer(self.settings().emit()?)
        {
            bail!("settings: {refused:?}");
        }
        Ok(())
    }

    fn settings(&self) -> Content {
        let limits = self.root.config.limits;
        Content::Settings(Settings {
            function_id: limits.requester_id,
            bus_master: limits.bus_master,
            msix_enable: true,
            msix_mask: false,
            function_reset: false,
            max_payload: limits.max_payload as u16,
            max_read: limits.max_read as u16,
        })
    }
}

#[cfg(test)]
mod tests {
    use tributary_protocol::card::model::Unanswered;

    use super::*;

    const TIMEOUT: u64 = 10;

    /// Words that were written, with their addresses.
    #[derive(Default)]
    struct Written(Vec<(u64, Vec<u8>)>);

    impl HostMemory for Written {
        fn read(&mut self, _: u64, into: &mut [u8]) -> Result<(), Unanswered> {
            into.fill(0);
            Ok(())
        }

        fn write(&mut self, iova: u64, from: &[u8]) -> Result<(), Unanswered> {
            self.0.push((iova, from.to_vec()));
            Ok(())
        }
    }

    /// Everything that either end has to say until then.
    fn pass(host: &mut HostEnd, board: &mut Link, until: u64) {
        for now in until - 100..until {
            if let Some(frame) = host.poll(now) {
                board.receive(&Frame::parse(&frame).unwrap(), now);
            }
            if let Some(frame) = board.poll(now) {
                host.receive(&frame.emit(HOST, BOARD_ADDRESS), now);
            }
            host.work(None).unwrap();
        }
    }

    #[test]
    fn a_write_is_acknowledged_when_it_is_in_memory_and_not_before() {
        let mut host = HostEnd::new(TIMEOUT, Config::default(), 7);
        let config = LinkConfig {
            timeout: TIMEOUT,
            ..ROOM
        };
        let mut board = Link::new(config, 9);
        pass(&mut host, &mut board, 100);
        assert!(host.session().is_some() && board.session().is_some());
        for data in 1..=3 {
            let write = Content::Tlp {
                header: [0x4000_0001, 0x0300_000F, 0x1000 + 4 * data, 0],
                data: vec![data],
            };
            board.offer(write.emit().unwrap()).unwrap();
        }
        // As while a register is read.
        pass(&mut host, &mut board, 200);
        assert_eq!(board.acked_units(), 0, "nothing is in memory");
        let mut memory = Written::default();
        host.work(Some(&mut memory)).unwrap();
        let written: Vec<u64> = memory.0.iter().map(|(at, _)| *at).collect();
        assert_eq!(written, [0x1004, 0x1008, 0x100C]);
        pass(&mut host, &mut board, 300);
        assert_eq!(board.acked_units(), 3);
        // Once each, however often the board has sent them again.
        host.work(Some(&mut memory)).unwrap();
        assert_eq!(memory.0.len(), 3);
    }
}
