//! What becomes of a message, stage by stage.

use super::*;

impl Bench<'_> {
    /// All is as the last stage of the current message wants it; the next stage, unless it is over.
    pub(super) fn step(
        &mut self,
        m: &Message,
        stage: Stage,
        events: &mut [u64; 7],
    ) -> Result<Option<Stage>> {
        Ok(match stage {
            Stage::Head => {
                self.waited += 1;
                if !self.is("s_ready") {
                    return Ok(Some(stage));
                }
                let bad = m.bad_head();
                if self.is("s_unwanted") != bad {
                    return Err(format!("unwanted {}: {m:?}", !bad));
                }
                self.waited = 0;
                self.offered = None;
                self.next_offer = self.now + self.rng.random_range(0..20u64).pow(2) / 8;
                if bad {
                    events[0] = 1;
                    self.seen.unwanted += 1;
                    return Ok(None);
                }
                let words: Vec<_> = m.body[8..].chunks_exact(8).collect();
                let last = words.len() - 1;
                let word = |(at, word): (usize, &&[u8])| {
                    let bytes: [u8; 8] = (*word).try_into().unwrap_or_default();
                    (u64::from_le_bytes(bytes), at == last)
                };
                self.words = words.iter().enumerate().map(word).collect();
                Some(Stage::Words)
            }
            Stage::Words => {
                if !self.is("s_pl_valid") {
                    return Ok(Some(stage));
                }
                self.waited += 1;
                if !self.is("s_pl_ready") {
                    return Ok(Some(stage));
                }
                self.words.pop_front();
                self.waited = 0;
                self.just_over = false;
                let more = !self.words.is_empty();
                Some(if more { Stage::Words } else { Stage::Verdict })
            }
            Stage::Verdict => {
                self.waited += 1;
                return self.verdict(m, events);
            }
            Stage::Ask(of) => self.ask(of, events)?,
            Stage::Start(of, pd) => self.start(of, pd, events)?,
            Stage::Say(of) => {
                let wanted = [
                    of.node.into(),
                    of.qpn.into(),
                    of.token,
                    of.reason.code().into(),
                    of.retry.into(),
                ];
                self.check("m_say", REFUSAL, wanted)?;
                let ready = self.take("m_say", 2);
                (!ready).then_some(stage)
            }
            Stage::Tell(of) => {
                let wanted = [
                    of.node.into(),
                    of.qpn.into(),
                    of.token,
                    of.reason.code().into(),
                    of.retry.into(),
                ];
                self.check("m_refused", REFUSAL, wanted)?;
                let stray = self.one_in(3);
                self.set("m_refused_stray", stray.into());
                let ready = self.take("m_refused", 3);
                if ready {
                    events[1] = stray.into();
                    self.seen.told += 1;
                    self.seen.told_stray += u64::from(stray);
                }
                (!ready).then_some(stage)
            }
        })
    }

    /// Whether what is offered is taken.
    pub(super) fn take(&mut self, name: &str, port: usize) -> bool {
        let ready = self.stalls.ready(port);
        self.set(&format!("{name}_ready"), ready.into());
        ready
    }

    /// The whole message is there: what comes of it.
    pub(super) fn verdict(&mut self, m: &Message, events: &mut [u64; 7]) -> Result<Option<Stage>> {
        let waits = Ok(Some(Stage::Verdict));
        let message = ReadMessage::decode(&m.bth, &m.body);
        let Ok(message) = message else {
            events[0] = self.get("ev_bad_message");
            return if events[0] == 0 { waits } else { Ok(None) };
        };
        let Some(message) = message.sent_by(m.node as u32) else {
            events[1] = self.get("ev_stray");
            self.seen.strange += events[1];
            return if events[1] == 0 { waits } else { Ok(None) };
        };
        match message {
            ReadMessage::Refused(of) if self.is("m_refused_valid") => {
                self.waited = 0;
                self.step(m, Stage::Tell(of), events)
            }
            ReadMessage::Request(of) => {
                let name = (u64::from(of.node), of.token);
                let served = self
                    .slots
                    .iter()
                    .flatten()
                    .any(|(who, _)| *who == Some(name));
                if self.is("m_idle") && (served || self.just_over) {
                    self.seen.duplicates += 1;
                    return Ok(None);
                }
                if !self.is("m_access_valid") {
                    return waits;
                }
                if served {
                    return Err(format!("{of:?} is served twice"));
                }
                self.waited = 0;
                self.step(m, Stage::Ask(of), events)
            }
            _ => waits,
        }
    }

    pub(super) fn ask(&mut self, of: ReadRequest, events: &mut [u64; 7]) -> Result<Option<Stage>> {
        let count = packets(of.length, of.mtu);
        let end = u128::from(of.to_address) + u128::from(of.length);
        let too_long = count > PACKETS_MAX || end > 1 << 64;
        let wanted = [
            of.qpn.into(),
            of.q_key.into(),
            of.rkey.into(),
            of.address,
            of.length.into(),
            too_long.into(),
        ];
        self.check("m_access", ACCESS, wanted)?;
        let verdict = match self.rng.random_range(0..10) {
            0 => ConnectStatus::BadQp.code().into(),
            1 => SILENT,
            _ if too_long => ConnectStatus::Refused.code().into(),
            2 => ConnectStatus::Access.code().into(),
            _ => 0,
        };
        let pd = self.rng.random_range(0..1 << 16);
        self.set("m_access_verdict", verdict);
        self.set("m_access_pd", pd);
        if !self.take("m_access", 0) {
            return Ok(Some(Stage::Ask(of)));
        }
        self.seen.at_limit[0] += u64::from(count == PACKETS_MAX || end == 1 << 64);
        self.seen.at_limit[1] += u64::from(count == PACKETS_MAX + 1 || end == (1 << 64) + 1);
        self.seen.no_bytes += u64::from(of.length == 0);
        let refused = |reason| Some(Stage::Say(refusal(&of, reason, 0)));
        Ok(match verdict {
            0 => Some(Stage::Start(of, pd)),
            SILENT => {
                events[3] = 1;
                None
            }
            2 => {
                events[4] = 1;
                refused(Refusal::Length)
            }
            3 => {
                events[5] = 1;
                refused(Refusal::Access)
            }
            _ => {
                events[2] = 1;
                refused(Refusal::BadQp)
            }
        })
    }

    pub(super) fn start(
        &mut self,
        of: ReadRequest,
        pd: u64,
        events: &mut [u64; 7],
    ) -> Result<Option<Stage>> {
        let wanted = [
            of.node.into(),
            of.source.into(),
            of.qpn.into(),
            of.q_key.into(),
            pd,
            of.address,
            of.rkey.into(),
            of.to_address,
            of.to_key.into(),
            of.length.into(),
            of.mtu.into(),
            of.token,
        ];
        self.check("m_start", START, wanted)?;
        let is_free = |slot: &usize| self.slots[*slot].is_none() && self.over_slot != Some(*slot);
        let free: Vec<usize> = (0..S).filter(is_free).collect();
        let busy = free.is_empty() || self.one_in(6);
        let slot = free.get(
            self.rng
                .random_range(0..S)
                .min(free.len().saturating_sub(1)),
        );
        let slot = slot.copied().unwrap_or_default();
        self.set("m_start_busy", busy.into());
        self.set("m_start_slot", slot as u64);
        if !self.take("m_start", 1) {
            return Ok(Some(Stage::Start(of, pd)));
        }
        if busy {
            events[6] = 1;
            let refused = refusal(&of, Refusal::Busy, self.hint as u16);
            return Ok(Some(Stage::Say(refused)));
        }
        let name = (u64::from(of.node), of.token);
        self.slots[slot] = Some((Some(name), self.now + self.rng.random_range(1..500)));
        self.seen.served += 1;
        self.seen.served_again += u64::from(self.over.contains(&name));
        Ok(None)
    }

    pub(super) fn fields<const N: usize>(&self, prefix: &str, names: [&str; N]) -> [u64; N] {
        names.map(|name| self.get(&format!("{prefix}_{name}")))
    }

    pub(super) fn check<const N: usize>(
        &self,
        prefix: &str,
        names: [&str; N],
        wanted: [u64; N],
    ) -> Result<()> {
        let is = self.fields(prefix, names);
        if is == wanted {
            return Ok(());
        }
        Err(format!("{prefix}: {names:?} is {is:x?}, not {wanted:x?}"))
    }
}

fn refusal(of: &ReadRequest, reason: Refusal, retry: u16) -> ReadRefused {
    ReadRefused {
        qpn: of.source,
        node: of.node,
        token: of.token,
        reason,
        retry,
    }
}
