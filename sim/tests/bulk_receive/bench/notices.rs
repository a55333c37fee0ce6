//! The host's side of notifications: receive requests that are there, or come late, or never.

use super::*;

/// Refusals after which a receive request is there.
const LATE: u32 = 3;

/// What the host does with the notification that it is offered.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Telling {
    #[default]
    Nothing,
    /// It has begun, and is taken at this clock.
    Begun(u64, u32),
    /// It was taken, and is decided at this clock.
    Taken(u64, u32),
}

/// When a receive request is there for a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Posted {
    Ready,
    Late,
    Never,
}

pub(super) fn posted(tag: u32) -> Posted {
    match tag % 8 {
        0 => Posted::Never,
        1 | 2 => Posted::Late,
        _ => Posted::Ready,
    }
}

impl Bench {
    /// Pulses of this clock.
    pub(super) fn answer_notices(&mut self) {
        self.set("m_notify_begins", 0);
        let (mut ready, mut told) = (false, None);
        match self.telling {
            Telling::Begun(due, tag) if self.now >= due => {
                ready = true;
                // Some completions take long to be written.
                let wait = match self.rng.random_range(0..16) {
                    0 => self.rng.random_range(2_000..8_000),
                    _ => self.rng.random_range(1..100),
                };
                self.telling = Telling::Taken(self.now + wait, tag);
            }
            Telling::Taken(due, tag) if self.now >= due => {
                told = Some(tag);
                self.telling = Telling::Nothing;
            }
            _ => {}
        }
        self.set("m_notify_ready", ready.into());
        self.set("m_notify_told", told.is_some().into());
        let ok = told.is_some_and(|tag| self.takes(tag));
        self.set("m_notify_ok", ok.into());
    }

    /// Whether there is a receive request now; if so the host is told.
    fn takes(&mut self, tag: u32) -> bool {
        let Some(flow) = self.flows.iter_mut().find(|flow| flow.tag == tag) else {
            return false;
        };
        let ready = match posted(tag) {
            Posted::Ready => true,
            Posted::Late => flow.refused >= LATE,
            Posted::Never => false,
        };
        flow.refused += u32::from(!ready);
        flow.told += u32::from(ready);
        self.coverage.told += u64::from(ready);
        ready
    }

    /// A notification that is offered may begin: it says what its transfer was, of which every byte is in memory, once.
    pub(super) fn notices(&mut self) -> Result<()> {
        if !self.is("m_notify_valid") {
            return Ok(());
        }
        let immediate = self.get("m_notify_immediate") as u32;
        let flow = self
            .flows
            .iter()
            .find(|flow| flow.header.purpose == Purpose::Notify(immediate))
            .ok_or_else(|| format!("{immediate:#x} is told, of no transfer"))?;
        let is = ["qpn", "node", "source", "q_key", "length"]
            .map(|name| self.get(&format!("m_notify_{name}")));
        let want: [u64; 5] = [
            flow.header.qpn.into(),
            flow.node.into(),
            flow.header.source.into(),
            flow.header.q_key.into(),
            flow.request.length.into(),
        ];
        if is != want {
            return Err(format!("{flow:?} is told as {is:x?}"));
        }
        if !matches!(self.telling, Telling::Nothing) || self.end.is_some() {
            return Ok(());
        }
        if !self.rng.random_bool(0.2) {
            return Ok(());
        }
        if flow.told > 0 || flow.closed {
            return Err(format!("{flow:?} is told"));
        }
        self.all_there(flow)?;
        let tag = flow.tag;
        self.telling = Telling::Begun(self.now + self.rng.random_range(1..30), tag);
        self.set("m_notify_begins", 1);
        self.model.eval().map_err(|e| e.to_string())
    }

    /// Every byte of a transfer is in memory.
    pub(super) fn all_there(&self, flow: &Flow) -> Result<()> {
        let Some((region, _)) = flow.area else {
            return Ok(());
        };
        let region = &self.regions[region];
        let from = (flow.request.addr - region.base) as usize;
        for at in 0..flow.request.length {
            let is = region.bytes[from + at as usize];
            if is != byte(flow.tag, at) {
                return Err(format!("byte {at} of {flow:?} is {is:#x}"));
            }
        }
        Ok(())
    }
}
