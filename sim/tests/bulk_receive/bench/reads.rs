//! READ (BW-11): READs of the host, which transfers answer, and READ requests of others, which are judged.

use std::collections::BTreeSet;

use tributary_protocol::bulk::{ReadMessage, ReadRefused, ReadRequest, Refusal};

use super::*;

/// Clocks in which everything that is asked is judged: 16 CONNECTs go first, and the answer of each may wait twice for a line that
/// stalls.
const JUDGED: u64 = 200_000;

/// A READ of the host.
#[derive(Clone, Debug, Default)]
pub(super) struct Read {
    /// The window that one answers in.
    window: Option<u16>,
    /// How that was closed: status and reason.
    closed: Option<(u64, u64)>,
}

/// What is known of the windows since the last reset.
#[derive(Debug, Default)]
pub(super) struct Windows {
    /// Those that are open, and the READs that they are for.
    open: BTreeMap<u16, Option<u64>>,
    /// How often each was opened, and the incarnations of each that senders were told.
    opened: BTreeMap<u16, usize>,
    told: BTreeMap<u16, BTreeSet<u32>>,
    /// Closed well, closed otherwise.
    closed: [u64; 2],
}

/// A READ request of others, by the names of the ports, and what must come of it.
#[derive(Clone, Debug)]
pub(super) struct Access {
    fields: [(&'static str, u64); 6],
    verdict: u64,
    domain: Option<u16>,
}

impl Access {
    fn is(&self, name: &str) -> u64 {
        let field = self.fields.iter().find(|(one, _)| *one == name);
        field.map_or(0, |(_, value)| *value)
    }
}

impl Bench {
    /// The host asks for what a transfer brings.
    pub(super) fn asks(&mut self, header: &Transfer) {
        if let Purpose::Response(token) = header.purpose {
            self.reads.insert(token, Read::default());
        }
    }

    pub(super) fn forget_reads(&mut self) {
        for name in ["s_access_valid", "m_answer_ready"] {
            self.set(name, 0);
        }
        (self.reads, self.windows) = (BTreeMap::new(), Windows::default());
        (self.asking, self.answering, self.access) = (None, None, None);
        (self.read_frames, self.read_words) = (VecDeque::new(), Words::new());
    }

    /// A message of READ: none of them is looked at here.
    pub(super) fn read_frame(&mut self) -> Frame {
        let rng = &mut self.rng;
        let (node, qpn) = (rng.random_range(0..1 << 20), rng.random_range(0..1 << 24));
        let message = match rng.random() {
            true => ReadMessage::Request(ReadRequest {
                qpn,
                node,
                source: rng.random_range(0..1 << 24),
                q_key: rng.random(),
                token: rng.random(),
                mtu: rng.random_range(8..=12),
                length: rng.random(),
                address: rng.random(),
                rkey: rng.random(),
                to_address: rng.random(),
                to_key: rng.random(),
            }),
            false => ReadMessage::Refused(ReadRefused {
                qpn,
                node,
                token: rng.random(),
                reason: Refusal::ALL[rng.random_range(0..4)],
                retry: rng.random(),
            }),
        };
        let (bth, body) = message.encode();
        Frame {
            from: node,
            bth,
            body,
        }
    }

    /// A READ request of others: mostly of what a region holds, to its very ends and beyond them.
    fn others_read(&mut self) -> Access {
        let rng = &mut self.rng;
        let region = &self.regions[rng.random_range(0..self.regions.len())];
        let pairs = self.pairs.iter().filter(|pair| {
            (pair.receives() && pair.domain == region.domain) || rng.random_range(0..20) == 0
        });
        let pairs: Vec<&Pair> = pairs.collect();
        let pair = pairs[rng.random_range(0..pairs.len())];
        let size = region.bytes.len() as u64;
        let mut length = match rng.random_range(0..6) {
            0 => 0,
            1 => size,
            _ => rng.random_range(1..=size),
        };
        let mut addr = region
            .base
            .wrapping_add(rng.random_range(0..=size - length));
        let (mut qpn, mut q_key, mut key) = (pair.qpn, pair.q_key, region.key());
        let mut too_long = rng.random_range(0..20) == 0;
        match rng.random_range(0..30) {
            0 => qpn ^= 1 << rng.random_range(0..24),
            1 => q_key ^= 1 << rng.random_range(0..32),
            2 => key ^= 1 << rng.random_range(0..32),
            3 => addr ^= 1 << rng.random_range(0..64),
            4 => addr = region.base.wrapping_sub(1),
            5 => addr = region.base.wrapping_add(size - length + 1),
            6 => (length, addr) = (u32::MAX.into(), u64::MAX - rng.random_range(0..1 << 20)),
            // The first byte there, the last one there, and nothing of the rest.
            7 => length = u32::MAX.into(),
            8 => too_long = true,
            _ => {}
        }
        let pair = self.pairs.iter().find(|pair| pair.qpn == qpn);
        let pair = pair.filter(|pair| pair.receives());
        let held = |domain| {
            let ends = u128::from(addr) + u128::from(length) <= 1 << 64;
            let holds = |region: &Region| region.holds(key, domain, addr, length, REMOTE_READ);
            length == 0 || (ends && self.regions.iter().any(holds))
        };
        let verdict = match pair {
            None => ConnectStatus::BadQp as u64,
            Some(pair) if pair.q_key != q_key => 7,
            Some(_) if too_long => ConnectStatus::Refused as u64,
            Some(pair) if held(pair.domain) => 0,
            Some(_) => ConnectStatus::Access as u64,
        };
        Access {
            fields: [
                ("qpn", qpn.into()),
                ("q_key", q_key.into()),
                ("key", key.into()),
                ("addr", addr),
                ("length", length),
                ("too_long", too_long.into()),
            ],
            verdict,
            domain: pair.map(|pair| pair.domain),
        }
    }

    pub(super) fn drive_reads(&mut self) {
        let now = self.now;
        // Also while a command waits; but none while something ends, as nothing is under way then.
        let may = self.starting
            && self.contexts.is_empty()
            && !matches!(self.end, Some(End::Ending { .. }));
        if self.access.is_none() && may && self.rng.random_range(0..150) == 0 {
            self.access = Some((self.others_read(), now));
        }
        self.set("s_access_valid", self.access.is_some().into());
        if let Some((access, _)) = self.access.clone() {
            for (name, value) in access.fields {
                self.set(&format!("s_access_{name}"), value);
            }
        }
        let due = self.asking.is_some_and(|due| due <= now);
        self.set("m_answer_ready", due.into());
        // What the port says does not change until it is taken.
        let read = self.reads.get(&self.get("m_answer_token"));
        let waits = read.is_some_and(|read| read.window.is_none());
        self.set("m_answer_ok", (due && waits).into());
    }

    /// The right that a look is for: as the transfer or the READ request needs it that is looked at.
    pub(super) fn looks_for(&self) -> Result<u8> {
        let need = self.get("m_look_need") as u8;
        let (key, addr) = (self.get("m_look_key"), self.get("m_look_addr"));
        let ends = |of: u64, first: u64, length: u64| {
            let last = first.wrapping_add(length).wrapping_sub(1);
            key == of && (addr == first || addr == last)
        };
        let of_flow = |flow: &Flow| {
            let request = &flow.request;
            right(flow.header.purpose) == need
                && ends(request.rkey.into(), request.addr, request.length.into())
        };
        let fits = match need {
            REMOTE_READ => self.access.as_ref().is_some_and(|(access, _)| {
                ends(access.is("key"), access.is("addr"), access.is("length"))
            }),
            LOCAL_WRITE => {
                let answers = |flow: &&Flow| {
                    matches!((flow.header.purpose, self.answering),
                        (Purpose::Response(token), Some(one)) if token == one)
                };
                self.flows.iter().filter(answers).any(of_flow)
            }
            _ => self.flows.iter().any(of_flow),
        };
        match fits {
            true => Ok(need),
            false => Err(format!(
                "a look for right {need} of {key:#x} at {addr:#x}, {:?}, {:?}",
                self.answering, self.access
            )),
        }
    }

    /// Windows that are closed and opened, and CONNECTs that say that they answer a READ.
    pub(super) fn windows(&mut self) -> Result<()> {
        if self.is("m_closed_valid") {
            self.window_closed()?;
        }
        let (done, opened) = (self.is("m_answered_done"), self.is("m_answered_opened"));
        let wptr = self.get("m_answered_wptr") as u16;
        if done != (self.answering.is_some() && (done || opened)) {
            return Err(format!(
                "done: {done}, opened: {opened}, of {:?}",
                self.answering
            ));
        }
        let answering = self.answering;
        if done {
            self.answering = None;
            self.coverage.windowless += u64::from(!opened);
        }
        if opened {
            // Who keeps what windows are for looks it up when they are closed.
            if self.is("m_closed_valid") && self.get("m_closed_wptr") == u64::from(wptr) {
                return Err(format!("window {wptr} is closed and opened at once"));
            }
            if self.windows.open.insert(wptr, answering).is_some() {
                return Err(format!("window {wptr} is opened twice"));
            }
            *self.windows.opened.entry(wptr).or_default() += 1;
            if let Some(read) = answering.and_then(|token| self.reads.get_mut(&token)) {
                read.window = Some(wptr);
                self.coverage.answered += 1;
            }
        }
        if !self.is("m_answer_valid") {
            return Ok(());
        }
        if self.answering.is_some() {
            return Err("two CONNECTs answer at once".into());
        }
        if self.asking.is_none() {
            self.asking = Some(self.now + self.rng.random_range(1..60));
        }
        if !self.is("m_answer_ready") {
            return Ok(());
        }
        self.asking = None;
        let token = self.get("m_answer_token");
        let flow = self
            .flows
            .iter()
            .find(|flow| flow.header.purpose == Purpose::Response(token))
            .ok_or_else(|| format!("{token:#x} answers, of no transfer"))?;
        let told = ["src", "source", "qpn", "length", "addr", "rkey"]
            .map(|name| self.get(&format!("m_answer_{name}")));
        let wanted = [
            flow.node.into(),
            flow.header.source.into(),
            flow.header.qpn.into(),
            flow.request.length.into(),
            flow.request.addr,
            flow.request.rkey.into(),
        ];
        if told != wanted {
            return Err(format!("{flow:?} answers as {told:x?}"));
        }
        match self.is("m_answer_ok") {
            true => self.answering = Some(token),
            false => self.coverage.unasked += 1,
        }
        Ok(())
    }

    /// A READ ends well when every byte is in memory, and not before.
    fn window_closed(&mut self) -> Result<()> {
        let wptr = self.get("m_closed_wptr") as u16;
        let (status, reason) = (self.get("m_closed_status"), self.get("m_closed_reason"));
        let window = self.windows.open.remove(&wptr);
        let Some(of) = window else {
            return Err(format!("window {wptr} is closed, and was not open"));
        };
        self.windows.closed[usize::from(status > 0)] += 1;
        let Some(token) = of else {
            return Ok(());
        };
        let read = self.reads.get_mut(&token).ok_or("a window of no READ")?;
        if let Some(before) = read.closed.replace((status, reason)) {
            return Err(format!("READ {token:#x} ends twice, {before:?}"));
        }
        let of_read = |flow: &&Flow| flow.header.purpose == Purpose::Response(token);
        let flow = self.flows.iter().find(of_read).ok_or("no transfer")?;
        match status {
            0 => self.all_there(flow)?,
            1 if flow.may_end => {}
            _ => return Err(format!("{flow:?} is closed with {status}, {reason}")),
        }
        self.coverage.read += u64::from(status == 0);
        Ok(())
    }

    /// A sender hears of its window.
    pub(super) fn granted(&mut self, node: u32, message: &Message) -> Result<()> {
        let Message::ConnectResp(m) = message else {
            return Ok(());
        };
        if m.status != ConnectStatus::Ok {
            return Ok(());
        }
        self.windows.told.entry(m.wptr).or_default().insert(m.r#gen);
        let key = (node, m.slot, m.xid);
        let mut flows = self.flows.iter();
        let flow = flows.find(|flow| (flow.node, flow.slot, flow.xid) == key);
        if let Some(Purpose::Response(token)) = flow.map(|flow| flow.header.purpose) {
            let window = self.reads.get(&token).and_then(|read| read.window);
            if window != Some(m.wptr) {
                return Err(format!("{m:?} of a READ with window {window:?}"));
            }
        }
        Ok(())
    }

    /// The sender of an answer has heard that all is there: so has the READ.
    pub(super) fn has_ended(&self, token: u64) -> Result<()> {
        match self.reads.get(&token).map(|read| read.closed) {
            // The card was reset meanwhile.
            None if self.coverage.resets > 0 => Ok(()),
            Some(Some((0, _))) => Ok(()),
            read => Err(format!("READ {token:#x} is {read:?}, its answer ended")),
        }
    }

    /// READ requests of others are judged as the model does it.
    pub(super) fn judged(&mut self) -> Result<()> {
        if !self.is("s_access_ready") {
            return match &self.access {
                Some((access, since)) if self.now > since + JUDGED => {
                    Err(format!("{access:?} is not judged"))
                }
                _ => Ok(()),
            };
        }
        let (access, _) = self.access.take().ok_or("nothing is asked")?;
        let verdict = self.get("s_access_verdict");
        let domain = self.get("s_access_pd") as u16;
        if verdict != access.verdict || access.domain.is_some_and(|one| one != domain) {
            return Err(format!("{access:?} is judged {verdict}, {domain:#x}"));
        }
        self.coverage.judged[verdict as usize] += 1;
        self.coverage.held += u64::from(self.is("hold"));
        Ok(())
    }

    /// Of every window somebody was told, and every end is counted.
    pub(super) fn reads_over(&mut self) -> Result<()> {
        let windows = &self.windows;
        for (wptr, opened) in &windows.opened {
            let told = windows.told.get(wptr).map_or(0, BTreeSet::len);
            if told != *opened {
                return Err(format!(
                    "window {wptr} was opened {opened} times, and said {told}"
                ));
            }
        }
        if windows
            .told
            .keys()
            .any(|wptr| !windows.opened.contains_key(wptr))
        {
            return Err("a window was said that was not opened".into());
        }
        let count = |of| self.coverage.events[of as usize - BulkCounter::Completed as usize];
        let counted = [BulkCounter::Received, BulkCounter::ReceivedAborted].map(count);
        if self.coverage.resets == 0 && counted != windows.closed {
            return Err(format!("{counted:?} counted, {:?}", windows.closed));
        }
        // A CONNECT of a transfer that has a window is answered as before, whatever is said of it.
        let refused = self.coverage.outcomes.get(&Outcome::Refused).copied();
        let no_read = count(BulkCounter::NoRead);
        if no_read > self.coverage.unasked
            || (self.coverage.resets == 0 && no_read < refused.unwrap_or(0))
        {
            return Err(format!(
                "{no_read} answers of no READ counted, of {}, {refused:?} refused",
                self.coverage.unasked
            ));
        }
        Ok(())
    }
}
