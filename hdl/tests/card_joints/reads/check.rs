//! What the block may do, and what follows of what it does.

use super::*;

impl Bench<'_> {
    /// The READ with a token.
    pub(super) fn named(&self, token: u64) -> Option<usize> {
        let place = (token & 0xffff) as usize;
        let read = self.places.get(place)?.as_ref()?;
        (read.request.token == token).then_some(place)
    }

    /// Whether what names this READ, or none, may be taken for it: `Err` if either is right.
    pub(super) fn waits(&self, place: Option<usize>, fits: bool) -> std::result::Result<bool, ()> {
        let Some(read) = place.and_then(|place| self.places[place].as_ref()) else {
            return Ok(false);
        };
        if !fits || read.state != State::Asks {
            return Ok(false);
        }
        if read.may_be_given_up(&self.config, self.tick()) {
            return Err(());
        }
        Ok(true)
    }

    /// Whether the CONNECT answers a READ.
    pub(super) fn judged(&mut self) -> Result<()> {
        let Connect::Offered(answer) = self.connect else {
            return Err("nothing was to be judged".into());
        };
        let is = self.is("s_answer_ok");
        let named = self.named(answer[0]);
        let of = named.and_then(|place| self.places[place].as_ref());
        let right = of.map(Reading::answer);
        let fits = right == Some(answer);
        let wanted = self.waits(named, fits);
        if wanted == Ok(!is) {
            return Err(format!("{answer:x?} answers {of:x?}: {is}"));
        }
        self.connect = Connect::None;
        if is {
            let place = named.ok_or("no READ")?;
            self.connect = Connect::Pending(place, self.now + self.rng.random_range(1..80));
            if let Some(read) = &mut self.places[place] {
                read.state = State::Judged;
            }
        } else {
            let late = fits || self.past.contains(&answer);
            self.seen.late_answers += u64::from(late);
            let near = right.into_iter().chain(self.past.iter().copied());
            let differs = |right: [u64; 7]| (0..7).filter(|i| right[*i] != answer[*i]).collect();
            let asks = of.is_some_and(|read| read.state == State::Asks);
            let fields: Option<Vec<usize>> = near.map(differs).find(|d: &Vec<_>| d.len() == 1);
            if let Some(fields) = fields
                && (asks || fields[0] == 0)
            {
                self.seen.wrong_answers[fields[0]] += 1;
            }
            self.gave_up(named, fits);
        }
        Ok(())
    }

    /// What fits a READ is not for it: it was given up.
    pub(super) fn gave_up(&mut self, place: Option<usize>, fits: bool) {
        let read = place.and_then(|place| self.places[place].as_mut());
        if let Some(read) = read.filter(|read| fits && read.state == State::Asks) {
            let status = read.given_up();
            read.end(vec![status]);
            self.ended_at = self.now;
        }
    }

    /// A refusal is taken.
    pub(super) fn refused(&mut self) -> Result<()> {
        let (named, reason, retry) = self.refusal.take().ok_or("no refusal")?;
        let is = !self.is("s_refused_stray");
        let place = self.named(named[0]);
        let of = place.and_then(|place| self.places[place].as_ref());
        let right = of.map(|read| {
            let [token, node, _, qpn, ..] = read.answer();
            [token, node, qpn]
        });
        let fits = right == Some(named);
        let wanted = self.waits(place, fits);
        if wanted == Ok(!is) {
            return Err(format!("{named:x?} refuses {of:x?}: {is}"));
        }
        if !is {
            self.seen.late_refusals += u64::from(fits);
            if let Some(right) = right.filter(|_| !fits) {
                let at = (0..3)
                    .find(|at| right[*at] != named[*at])
                    .unwrap_or_default();
                self.seen.wrong_refusals[at] += 1;
            } else if right.is_none() {
                self.seen.wrong_refusals[0] += 1;
            }
            self.gave_up(place, fits);
            return Ok(());
        }
        let tick = self.tick();
        let read = place.and_then(|place| self.places[place].as_mut());
        let read = read.ok_or("no READ")?;
        read.refused(reason, retry, tick);
        self.seen.far += u64::from(reason == Refusal::Busy && retry > 0x7fff);
        match reason {
            Refusal::Busy => self.seen.busy += 1,
            other => {
                self.ended_at = self.now;
                self.seen.refused[usize::from(other.code()) - 2] += 1;
            }
        }
        Ok(())
    }

    /// A READ begins, in the lowest place that is free.
    pub(super) fn begins(&mut self) -> Result<()> {
        let mut read = self.work.take().ok_or("nothing was offered")?;
        let place = self.places.iter().position(Option::is_none);
        let place = place.ok_or("no place is free")?;
        self.asked += 1;
        read.request.token = self.config.incarnation << 48 | self.asked << 16 | place as u64;
        if !self.tokens.insert(read.request.token) {
            return Err(format!("{read:?} has an old token"));
        }
        read.next_at = self.tick();
        self.past.push(read.answer());
        if self.past.len() > 40 {
            self.past.remove(0);
        }
        self.places[place] = Some(read);
        self.seen.begun += 1;
        self.seen.begun_held += u64::from(self.hold());
        Ok(())
    }

    /// What leaves to the line.
    pub(super) fn departure(&mut self) -> Result<()> {
        if self.is("m_valid") && self.is("m_ready") {
            let bth = Bth {
                opcode: 0xC0 | self.get("m_opcode") as u8,
                dest_qp: self.get("m_dest") as u32,
                psn: self.get("m_psn") as u32,
            };
            self.frames.push_back(Frame {
                node: self.get("m_node"),
                bth,
                body: self.get("m_head").to_be_bytes().to_vec(),
                len: 8 + self.get("m_len") as usize,
                ticks: self.rise_ticks,
            });
        }
        if self.is("m_pl_valid") && self.is("m_pl_ready") {
            let (word, last) = (self.get("m_pl_data"), self.is("m_pl_last"));
            let frame = self.frames.back_mut().ok_or("a word of no frame")?;
            frame.body.extend(word.to_le_bytes());
            if (frame.body.len() == frame.len) != last {
                return Err(format!("the last word of {frame:x?}"));
            }
        }
        let whole = |frame: &mut Frame| frame.body.len() == frame.len;
        match self.frames.pop_front_if(whole) {
            Some(frame) => self.left(&frame),
            None => Ok(()),
        }
    }

    /// A whole frame has left.
    pub(super) fn left(&mut self, frame: &Frame) -> Result<()> {
        let message = ReadMessage::decode(&frame.bth, &frame.body);
        let message = message.map_err(|what| format!("{what}: {frame:x?}"))?;
        let own = message.sent_by(self.config.node as u32);
        let message = own.ok_or_else(|| format!("of another node: {frame:x?}"))?;
        let request = match message {
            ReadMessage::Refused(is) => {
                let wanted = self.said.pop_front();
                self.seen.said += 1;
                if wanted == Some((frame.node, is)) {
                    return Ok(());
                }
                return Err(format!("{is:x?} to {:x}, not {wanted:x?}", frame.node));
            }
            ReadMessage::Request(is) => is,
        };
        let place = self.named(request.token);
        let read = place.and_then(|place| self.places[place].as_mut());
        let read = read.ok_or_else(|| format!("{request:x?} of no READ"))?;
        if (frame.node, request) != (read.target, read.request) {
            return Err(format!("{request:x?} to {:x} of {read:x?}", frame.node));
        }
        if read.state != State::Asks || read.over(&self.config) {
            return Err(format!("{read:?} is asked"));
        }
        if frame.ticks[1] < read.next_at {
            return Err(format!("{read:?} is asked in tick {}", frame.ticks[1]));
        }
        self.seen.requests += 1;
        self.seen.again += u64::from(read.tries > 0);
        self.seen.at_most += u64::from(read.interval == self.config.poll_max);
        read.asked(&self.config, frame.ticks[0]);
        if read.fate != Fate::Silent && read.reply.is_none() {
            let wait: u64 = self.rng.random_range(0..22);
            read.reply = Some(self.now + 1 + wait * wait);
        }
        Ok(())
    }

    /// What is completed, and what is counted.
    pub(super) fn completion(&mut self) -> Result<()> {
        let moves = self.is("m_cpl_valid") && self.is("m_cpl_ready");
        let (id, is) = (self.get("m_cpl_wr_id"), self.get("m_cpl_status"));
        let ended = ["ev_completed", "ev_failed"].map(|name| self.is(name));
        if ended != [moves && is == 0, moves && is != 0] {
            return Err(format!("{ended:?} is counted at status {is}"));
        }
        if !self.is("m_cpl_valid") {
            return Ok(());
        }
        let of = |read: &Option<Reading>| read.as_ref().is_some_and(|read| read.wr_id == id);
        let place = self.places.iter().position(of);
        let place = place.ok_or_else(|| format!("{id:x} ends, which is no READ"))?;
        let Some(read) = self.places[place].as_mut() else {
            return Ok(());
        };
        let m = &read.request;
        let qpns = [m.source, m.qpn].map(u64::from);
        let fields = COMPLETION.map(|name| self.library.port(&format!("m_cpl_{name}")).unwrap());
        let fields = fields.map(|port| self.model.get(port));
        let (node, msn, psn) = (read.target, read.msn, read.psn);
        let wanted = [
            qpns[0], 0x18, 0, node, qpns[1], 0, 0, msn, 0, psn, read.ring, 0, 0,
        ];
        if fields != wanted {
            return Err(format!("{COMPLETION:?} is {fields:x?}, not {wanted:x?}"));
        }
        if read.may_be_given_up(&self.config, self.ticks[8]) {
            let status = read.given_up();
            read.end(vec![status]);
            self.ended_at = self.now;
        }
        match &read.state {
            State::Ended(may) if may.contains(&is) => {}
            _ => return Err(format!("status {is} of {read:?}")),
        }
        (read.late, read.alone) = (0, 0);
        if moves {
            self.seen.statuses[is as usize] += 1;
            self.places[place] = None;
        }
        Ok(())
    }

    /// What is always so.
    pub(super) fn rules(&mut self) -> Result<()> {
        let waits = |r: &&Reading| r.state == State::Asks;
        let tick = self.tick();
        let all = || self.places.iter().flatten();
        let sure = |r: &Reading| waits(&r) && !r.may_be_given_up(&self.config, tick);
        let (must, may) = (all().any(sure), all().any(|r| waits(&r)));
        let ends = matches!(self.phase, Phase::Ends(_) | Phase::Closes);
        let asks = self.is("m_asks");
        if !ends && (must && !asks || asks && !may && self.now > self.ended_at + 8) {
            return Err(format!("asks {asks}: {:?}", self.places));
        }
        let free = self.places.iter().any(Option::is_none);
        if !ends && self.is("free") != free {
            return Err(format!("free {}: {:?}", !free, self.places));
        }
        self.seen.full += u64::from(!free && self.work.is_some());
        // Nothing is under way while it is idle, and only with hold.
        let offers = ["m_valid", "m_pl_valid", "m_cpl_valid"].map(|name| self.is(name));
        let idle = self.is("m_idle");
        let any = offers.contains(&true) || !self.frames.is_empty() || !self.said.is_empty();
        if idle && (!self.hold() || any) {
            return Err("it is idle".into());
        }
        self.rested |= idle;
        self.seen.held += u64::from(idle);
        let request = self.get("m_opcode") == 8;
        let begins = [offers[0] && request, offers[2]];
        let late = self.hold() && (self.rested || self.now > self.held_at + 5);
        for (at, offered) in [offers[0], offers[2]].into_iter().enumerate() {
            if offered && !self.stood[at] {
                if at == 0 {
                    self.rise_ticks = [self.ticks[1], self.ticks[2]];
                }
                if late && begins[at] {
                    return Err("it begins with hold".into());
                }
            }
            let ready = self.is(["m_ready", "m_cpl_ready"][at]);
            self.stood[at] = offered && !ready;
        }
        Ok(())
    }

    /// Nobody waits for long for the block.
    pub(super) fn lateness(&mut self) -> Result<()> {
        let ports = ["m", "m_pl", "m_cpl"];
        let blocked =
            |name: &&str| self.is(&format!("{name}_valid")) && !self.is(&format!("{name}_ready"));
        let blocked = ports.iter().any(blocked);
        let other = matches!(self.connect, Connect::Offered(_))
            || self.refusal.is_some()
            || self.say.is_some();
        let free = self.places.iter().any(Option::is_none);
        if other || blocked || self.hold() || self.work.is_some() && free {
            self.other_at = self.now;
        }
        if self.hold() && !blocked {
            self.busy_held += 1;
            if self.is("m_idle") {
                self.busy_held = 0;
            } else if self.busy_held > 60 {
                return Err("it is not idle".into());
            }
        }
        let alone = self.now > self.other_at + 14;
        let (tick, hold) = (self.tick(), self.hold());
        for read in self.places.iter_mut().flatten() {
            let due = match read.state {
                State::Asks => read.next_at <= tick,
                State::Ended(_) => true,
                _ => false,
            };
            if due && !blocked && !hold {
                read.late += 1;
                read.alone += u64::from(alone);
            }
            self.seen.late = self.seen.late.max(read.late);
            self.seen.alone = self.seen.alone.max(read.alone);
            if read.late > LATE || read.alone > ALONE {
                return Err(format!("nothing becomes of {read:?}"));
            }
        }
        Ok(())
    }
}
