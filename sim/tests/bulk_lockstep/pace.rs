//! The pace of transfers (CL-4): `bulk_pace` in lock step with the model, deed by deed, and who is held when.

use std::collections::VecDeque;

use tributary_protocol::rw::pace::{Congestion, Pace, PaceConfig};
use tributary_sim::rw::rtl_sender::PaceAct;

/// Clocks of a deed, and within which one that waits is done.
const DEED: u64 = 16;

/// Deeds of the RTL that operations must explain, and the other way round.
#[derive(Default)]
struct Both {
    deeds: VecDeque<(u16, u16)>,
    operations: VecDeque<(u16, u16)>,
}

impl Both {
    fn compare(&mut self, what: &str) -> Result<(), String> {
        while let (Some(deed), Some(operation)) = (self.deeds.front(), self.operations.front()) {
            if deed != operation {
                return Err(format!(
                    "{what} {operation:?} in slot and tick, its deed {deed:?}"
                ));
            }
            self.deeds.pop_front();
            self.operations.pop_front();
        }
        Ok(())
    }

    fn is_empty(&self) -> bool {
        self.deeds.is_empty() && self.operations.is_empty()
    }
}

/// The paces, and what the RTL has done to them.
pub struct Paces {
    config: PaceConfig,
    /// Of each transfer under way, and for how many clocks it has been held too long.
    paces: Vec<Option<(Pace, u64)>>,
    begun: Both,
    sent: Both,
    said: VecDeque<(u16, Congestion)>,
    /// The latest deeds.
    latest: VecDeque<PaceAct>,
    /// Who was held since the last operation, each set once.
    seen: Vec<u64>,
    /// Words that made a transfer slower, packets that made one faster, clocks in which one was held.
    pub counts: [u64; 3],
}

impl Paces {
    pub fn new(config: PaceConfig, slots: u16) -> Self {
        Self {
            config,
            paces: vec![None; slots.into()],
            begun: Both::default(),
            sent: Both::default(),
            said: VecDeque::new(),
            latest: VecDeque::new(),
            seen: vec![0],
            counts: [0; 3],
        }
    }

    /// An operation began a transfer.
    pub fn begins(&mut self, slot: u16, tick: u16) {
        self.begun.operations.push_back((slot, tick));
    }

    /// A transfer has ended: until the next one of its slot begins, nothing is known of that.
    pub fn ends(&mut self, slot: u16) {
        self.paces[usize::from(slot)] = None;
    }

    /// One sent a packet.
    pub fn sends(&mut self, slot: u16, tick: u16) {
        self.sent.operations.push_back((slot, tick));
    }

    /// A word of a receiver was taken.
    pub fn hears(&mut self, slot: u16, said: Congestion) {
        self.said.push_back((slot, said));
    }

    /// Sets of held transfers since the last operation.
    pub fn seen(&self) -> &[u64] {
        &self.seen
    }

    /// Who is held now.
    pub fn now(&self) -> u64 {
        self.seen.last().copied().unwrap_or(0)
    }

    /// An operation has ended.
    pub fn operation(&mut self) {
        self.seen = vec![self.now()];
    }

    /// A clock: what was done, and who is held then; whether others are.
    pub fn clock(&mut self, act: Option<PaceAct>, held: u64, tick: u16) -> Result<bool, String> {
        let changed = held != self.now();
        if changed {
            self.seen.push(held);
        }
        self.counts[2] += u64::from(held != 0);
        let most = DEED * (self.paces.len() as u64 + 1);
        for (slot, pace) in self.paces.iter_mut().enumerate() {
            let Some((pace, late)) = pace else { continue };
            let is_held = held >> slot & 1 != 0;
            match (pace.holds(tick), is_held) {
                (true, false) => return Err(format!("slot {slot} is free too soon: {pace:?}")),
                (false, true) => *late += 1,
                _ => *late = 0,
            }
            if *late > most {
                return Err(format!(
                    "slot {slot} is held for {late} clocks more: {pace:?}, {held:#x} are, {:?}",
                    self.latest
                ));
            }
        }
        if let Some(act) = act {
            self.act(act)?;
        }
        self.begun.compare("start")?;
        self.sent.compare("packet")?;
        Ok(changed)
    }

    fn act(&mut self, act: PaceAct) -> Result<(), String> {
        let PaceAct { slot, tick, .. } = act;
        self.latest.push_back(act);
        if self.latest.len() > 24 {
            self.latest.pop_front();
        }
        let place = &mut self.paces[usize::from(slot)];
        let mut slower = false;
        match act.deed {
            0 => {
                self.begun.deeds.push_back((slot, tick));
                *place = Some((Pace::new(tick), 0));
            }
            1 => {
                self.sent.deeds.push_back((slot, tick));
                if let Some((pace, _)) = place {
                    let before = pace.gap();
                    pace.sent(self.config, tick);
                    self.counts[1] += u64::from(pace.gap() < before);
                }
            }
            2 => {
                let (at, said) = self.said.pop_front().ok_or("nobody has said anything")?;
                if at != slot {
                    return Err(format!("{act:?}, said of {at}"));
                }
                if let Some((pace, _)) = place {
                    slower = pace.heard(self.config, said, tick);
                }
                self.counts[0] += u64::from(slower);
            }
            _ => {
                if let Some((pace, _)) = place {
                    pace.advance(tick);
                }
            }
        }
        // Of a slot that is not used the memory says anything.
        let Some((pace, _)) = place else {
            return Ok(());
        };
        if pace.gap() != act.gap || slower != act.slowed {
            return Err(format!("{act:?}, model slower {slower}: {pace:?}"));
        }
        Ok(())
    }

    /// Every deed has its operation, and the other way round.
    pub fn is_done(&self) -> bool {
        self.begun.is_empty() && self.sent.is_empty() && self.said.is_empty()
    }
}
