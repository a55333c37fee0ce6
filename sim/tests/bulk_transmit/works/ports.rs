//! Ports of the block, clock by clock.

use super::*;

impl Bench {
    pub(super) fn drive(&mut self) {
        let now = self.now;
        self.set("hold", self.hold.into());
        self.set("s_valid", self.offered.is_some().into());
        if let Some(work) = self.offered.clone() {
            for (name, value) in work.fields {
                self.set(&format!("s_{name}"), value);
            }
        }
        let look = self.looks.front().copied().filter(|(due, _)| *due == now);
        self.set("s_look_valid", look.is_some().into());
        self.set("s_look_ok", look.is_some_and(|(_, ok)| ok).into());
        if look.is_some() {
            self.looks.pop_front();
        }
        let started = self.starting.filter(|(_, _, from, _)| *from <= now);
        self.set("s_started_valid", started.is_some().into());
        if let Some((slot, xid, ..)) = started {
            self.set("s_started_slot", slot.into());
            self.set("s_started_xid", xid.into());
        }
        self.set("s_ended_valid", self.ended.is_some().into());
        if let Some((slot, xid, outcome)) = self.ended {
            self.set("s_ended_slot", slot.into());
            self.set("s_ended_xid", xid.into());
            self.set("s_ended_outcome", outcome);
        }
        self.set("s_unread_valid", self.unread.is_some().into());
        if let Some((slot, xid, memory)) = self.unread {
            self.set("s_unread_slot", slot.into());
            self.set("s_unread_xid", xid.into());
            self.set("s_unread_memory", memory.into());
        }
        self.set("s_end_valid", self.ending.is_some().into());
        self.set("s_end_index", self.ending.unwrap_or(0));
        // bulk_send starts a transfer while a slot is free; one that has ended is, before its end is taken.
        let free = self.running.len() < SLOTS || self.ended.is_some();
        let ready = self.starting.is_none() && free && self.stalls.ready(0);
        self.set("m_start_ready", ready.into());
        let ready = self.stalls.ready(1);
        self.set("m_cancel_ready", ready.into());
        let ready = self.stalls.ready(2);
        self.set("m_cpl_ready", ready.into());
        self.drive_reads();
        let slots = (
            self.rng.random_range(0..SLOTS as u64),
            self.rng.random_range(0..SLOTS as u64),
        );
        self.set("s_source_slot", slots.0);
        self.set("s_slot", slots.1);
        self.asked.push_back(slots);
    }

    pub(super) fn sample(&mut self) -> Result<()> {
        let now = self.now;
        for (at, name) in ["ev_refused", "ev_completed", "ev_failed", "ev_served"]
            .into_iter()
            .enumerate()
        {
            self.events[at] += self.get(name);
        }
        if self.resting
            && [
                "m_start_valid",
                "m_cpl_valid",
                "m_look_valid",
                "m_read_valid",
            ]
            .into_iter()
            .any(|name| self.is(name))
        {
            return Err("something begins at rest".into());
        }
        self.slots()?;
        if self.is("m_look_valid") {
            // A READ writes there (BW-11).
            let reads = self.offered.as_ref().is_some_and(Work::reads);
            if (self.get("m_look_need"), self.get("m_look_len")) != (reads.into(), 1) {
                return Err("a look for another right".into());
            }
            let (key, domain) = (self.get("m_look_key") as u32, self.get("m_look_pd") as u16);
            let addr = self.get("m_look_addr");
            let ok = self
                .regions
                .iter()
                .any(|region| region.holds(key, domain, addr, 1, reads));
            self.looks.push_back((now + LOOKUP, ok));
        }
        let mut begun = false;
        if self.moves("m_start") {
            let serves = self.starts()?;
            let over = self.ended.map(|(slot, ..)| slot);
            let mut slots = 0..SLOTS as u16;
            let slot = slots.find(|slot| !self.running.contains_key(slot) || Some(*slot) == over);
            let slot = slot.ok_or("no slot is free")?;
            self.xids[usize::from(slot)] += 1;
            let delay = self.rng.random_range(1..40);
            self.starting = Some((slot, self.xids[usize::from(slot)], now + delay, serves));
        }
        if self.moves("s_started") {
            let (slot, xid, _, serves) = self.starting.take().ok_or("nothing starts")?;
            let (work, token) = match serves {
                true => self.served(slot)?,
                false => (self.offered.clone().ok_or("no work request")?, None),
            };
            if !serves && self.judge(&work) != Outcome::Ok {
                return Err(format!("{work:?} starts, wanted {:?}", self.judge(&work)));
            }
            let running = Running {
                work,
                xid,
                token,
                unread: None,
                flushed: false,
                cancelled: false,
                since: now,
            };
            self.running.insert(slot, running);
            self.changed[usize::from(slot)] = now;
            begun = !serves;
            self.idle = 0;
        }
        begun |= self.read_leaves()?;
        self.busy()?;
        if self.moves("m_cancel") {
            let (slot, xid) = (
                self.get("m_cancel_slot") as u16,
                self.get("m_cancel_xid") as u32,
            );
            let reason = self.get("m_cancel_reason");
            *self.met.cancelled.entry(reason).or_default() += 1;
            if let Some(one) = self.running.get_mut(&slot).filter(|one| one.xid == xid) {
                // A queue pair that ends may come behind another reason.
                let wanted = match (one.flushed, one.unread) {
                    (true, Some(reason)) => vec![reason as u64, Reason::Cancelled as u64],
                    (true, None) => vec![Reason::Cancelled as u64],
                    (false, Some(reason)) => vec![reason as u64],
                    (false, None) => vec![],
                };
                if !wanted.contains(&reason) {
                    return Err(format!(
                        "{one:?} is cancelled for {reason}, wanted {wanted:?}"
                    ));
                }
                one.cancelled = true;
            }
            self.idle = 0;
        }
        self.unread_taken();
        let completion = self.moves("m_cpl");
        let ended = self.moves("s_ended");
        if ended {
            self.ended_taken(completion)?;
        } else if self.is("m_over_valid") {
            return Err("a slot is over that is not".into());
        }
        let refused = completion && !ended;
        let dropped = self.moves("s_end") && self.end_taken();
        if refused {
            let work = self.offered.clone().ok_or("a completion of nothing")?;
            self.completes(&work, self.judge(&work), work.is("vf"))?;
        }
        if self.moves("s") != (begun || refused || dropped) {
            return Err(format!(
                "a work request is taken: begun {begun}, refused {refused}, dropped {dropped}"
            ));
        }
        if begun || refused || dropped {
            self.offered = None;
        }
        let asked = self.serving.is_some();
        self.resting |= self.hold && self.is("m_idle") && self.unread.is_none() && !asked;
        Ok(())
    }

    /// What two readers of slots were told, of slots that have not changed for a while.
    pub(super) fn slots(&mut self) -> Result<()> {
        if self.asked.len() < 3 {
            return Ok(());
        }
        let (source, slot) = self.asked.pop_front().ok_or("nothing asked")?;
        // Slots of a queue pair that ends are marked one by one.
        let marking = self.ending.is_some();
        let settled = |slot: u64| !marking && self.changed[slot as usize] + 8 < self.now;
        if settled(source) {
            let one = self.running.get(&(source as u16));
            let live = one.is_some_and(|one| one.unread.is_none() && !one.flushed);
            if self.is("s_source_live") != live {
                return Err(format!("slot {source} is not told right: {one:?}"));
            }
            if let Some(one) = one {
                let told = [
                    "xid", "address", "key", "pd", "peer", "qpn", "q_key", "notify", "response",
                ]
                .map(|name| self.get(&format!("s_source_{name}")));
                // What counts only with notify, or of a response.
                let more = ["immediate", "token"].map(|name| self.get(&format!("s_source_{name}")));
                let work = &one.work;
                let more_fits = match one.token {
                    Some(token) => more[1] == token,
                    None => more[0] == work.is("msn"),
                };
                let wanted = [
                    one.xid.into(),
                    work.is("address"),
                    work.is("lkey"),
                    work.is("pd"),
                    work.is("peer"),
                    work.is("qpn"),
                    work.is("q_key"),
                    work.is("flags") >> 1 & 1,
                    one.token.is_some().into(),
                ];
                if told != wanted || !more_fits {
                    return Err(format!(
                        "slot {source} has {told:x?} {more:x?}, wanted {wanted:x?} of {one:?}"
                    ));
                }
            }
        }
        if settled(slot) {
            let one = self.running.get(&(slot as u16));
            if self.is("m_slot_active") != one.is_some() {
                return Err(format!(
                    "slot {slot} is not told right to messages: {one:?}"
                ));
            }
            if let Some(one) = one
                && (self.get("m_slot_xid"), self.get("m_slot_node"))
                    != (one.xid.into(), one.work.is("node"))
            {
                return Err(format!("slot {slot} is another one to messages: {one:?}"));
            }
        }
        Ok(())
    }

    pub(super) fn unread_taken(&mut self) {
        if !self.moves("s_unread") {
            return;
        }
        let Some((slot, xid, memory)) = self.unread.take() else {
            return;
        };
        let now = self.now;
        match self.running.get_mut(&slot).filter(|one| one.xid == xid) {
            Some(one) if one.unread.is_none() && !one.flushed => {
                one.unread = Some(if memory {
                    Reason::Memory
                } else {
                    Reason::Protection
                });
                one.since = now;
                self.changed[usize::from(slot)] = now;
            }
            _ => self.met.stale += 1,
        }
        self.idle = 0;
    }

    pub(super) fn ended_taken(&mut self, completion: bool) -> Result<()> {
        let (slot, _, outcome) = self.ended.take().ok_or("nothing has ended")?;
        let one = self.running.remove(&slot).ok_or("a slot of nothing")?;
        self.changed[usize::from(slot)] = self.now;
        self.idle = 0;
        let served = one.token.is_some() && !one.flushed && outcome == Ending::Ok as u64;
        self.met.served += u64::from(served);
        self.met.forgotten += u64::from(one.token.is_some() && one.flushed);
        if !self.is("m_over_valid") || self.get("m_over_slot") != u64::from(slot) {
            return Err(format!("slot {slot} is over, and nobody is told"));
        }
        if self.is("ev_served") != served {
            return Err(format!("{one:?} ends {outcome}, and is counted wrong"));
        }
        if (one.flushed || one.token.is_some()) == completion {
            return Err(format!("{one:?} ends, completion: {completion}"));
        }
        self.met.silent += u64::from(one.flushed);
        match completion {
            true => self.completes(
                &one.work,
                Self::status(outcome, one.unread),
                ONE_SIDED_FRAME.into(),
            ),
            false => Ok(()),
        }
    }

    /// A queue pair has ended; whether the work request that is offered is dropped.
    pub(super) fn end_taken(&mut self) -> bool {
        let Some(qpn) = self.ending.take() else {
            return false;
        };
        self.met.commands += 1;
        for (slot, one) in &mut self.running {
            if one.work.is("qpn") == qpn {
                one.flushed = true;
                self.changed[usize::from(*slot)] = self.now;
            }
        }
        let dropped = self
            .offered
            .as_ref()
            .is_some_and(|work| work.is("qpn") == qpn);
        self.met.dropped += u64::from(dropped);
        dropped
    }

    pub(super) fn completes(&mut self, work: &Work, status: Outcome, vf: u64) -> Result<()> {
        self.idle = 0;
        *self.met.statuses.entry(status as u64).or_default() += 1;
        for (name, value) in [
            ("qpn", work.is("qpn")),
            ("wr_id", work.is("wr_id")),
            ("status", status as u64),
            ("vf", vf),
            ("len", 0),
            ("node", work.is("node")),
            ("peer", work.is("peer") & 0xFF_FFFF),
            ("win_id", work.is("win_id")),
            ("epoch", work.is("epoch")),
            ("msn", work.is("msn")),
            ("q_key", 0),
            ("psn", work.is("psn")),
            ("request", work.is("request")),
        ] {
            let told = self.get(&format!("m_cpl_{name}"));
            if told != value {
                return Err(format!(
                    "{name} is {told:#x}, wanted {value:#x}, of {work:?}"
                ));
            }
        }
        Ok(())
    }
}
