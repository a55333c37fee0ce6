//! What stands at the inputs of the block, clock by clock.

use super::*;

impl Bench<'_> {
    /// A READ: of few queue pairs and regions, so that each ends with some.
    pub(super) fn draw(&mut self) -> Reading {
        let rng = &mut self.rng;
        let key = (0xabc0 + rng.random_range(0..3u32)) << 8 | rng.random_range(0..256);
        let request = ReadRequest {
            qpn: rng.random_range(0..1 << 24),
            node: self.config.node as u32,
            source: rng.random_range(5..8),
            q_key: rng.random(),
            token: 0,
            mtu: rng.random_range(8..=12),
            length: rng.random(),
            address: rng.random(),
            rkey: rng.random(),
            to_address: rng.random(),
            to_key: key,
        };
        Reading {
            request,
            target: rng.random_range(0..1 << 20),
            wr_id: rng.random(),
            psn: rng.random_range(0..1 << 24),
            msn: rng.random_range(0..1 << 32),
            ring: rng.random_range(0..1 << 16),
            next_at: 0,
            interval: self.config.poll,
            tries: 0,
            busy: 0,
            heard: false,
            state: State::Asks,
            gone: false,
            far: false,
            fate: Fate::draw(rng),
            reply: None,
            late: 0,
            alone: 0,
        }
    }

    /// Offers a READ, now and then.
    pub(super) fn offer_work(&mut self) {
        if self.work.is_none() && !self.hold() && !self.far() && self.one_in(30) {
            let work = self.draw();
            let m = work.request;
            for (name, value) in [
                ("mtu", m.mtu.into()),
                ("there", m.address),
                ("rkey", m.rkey.into()),
                ("length", m.length.into()),
                ("wr_id", work.wr_id),
                ("address", m.to_address),
                ("lkey", m.to_key.into()),
                ("node", work.target),
                ("peer", m.qpn.into()),
                ("msn", work.msn),
                ("psn", work.psn),
                ("request", work.ring),
                ("qpn", m.source.into()),
                ("q_key", m.q_key.into()),
            ] {
                self.set(&format!("s_{name}"), value);
            }
            for (name, bits) in [("opcode", 8), ("flags", 8), ("win_id", 16), ("pd", 16)] {
                let value = self.rng.random_range(0..1 << bits);
                self.set(&format!("s_{name}"), value);
            }
            self.work = Some(work);
        }
        self.set("s_valid", self.work.is_some().into());
    }

    /// A target has said that a READ is to wait for long, and it does.
    pub(super) fn far(&self) -> bool {
        let far = |r: &Reading| r.far && r.state == State::Asks && r.next_at > self.tick() + NEAR;
        self.places.iter().flatten().any(far)
    }

    /// Time goes on: fast while every READ waits, and one of them for long.
    pub(super) fn pass(&mut self) {
        let waits = |r: &Reading| match r.state {
            State::Asks => r.next_at.saturating_sub(self.tick()),
            _ => 0,
        };
        let least = self.places.iter().flatten().map(waits).min();
        let least = least.unwrap_or_default();
        let fast = self.far() && least > NEAR && matches!(self.phase, Phase::Free);
        let was = self.tick();
        self.time += if fast { least / 16 * TICK } else { 1 };
        self.ticks.pop_back();
        self.ticks.push_front(self.time / TICK);
        self.seen.wraps += u64::from(was >> 16 != self.tick() >> 16);
    }

    /// What targets say.
    pub(super) fn replies(&mut self) {
        if self.quiet() {
            return;
        }
        let due = |r: &Option<Reading>| {
            r.as_ref()
                .is_some_and(|r| r.reply.is_some_and(|at| at <= self.now))
        };
        if let Some(place) = self.places.iter().position(due) {
            self.reply(place);
        }
        if self.one_in(150) {
            // Anything that was once right, or nearly.
            let place = self.rng.random_range(0..R);
            let of = self.places[place].as_ref().map(Reading::answer);
            let of = of.filter(|_| self.rng.random()).or_else(|| {
                let at = self.rng.random_range(0..self.past.len().max(1));
                self.past.get(at).copied()
            });
            let Some(mut answer) = of else { return };
            if self.rng.random() && matches!(self.connect, Connect::None) {
                if self.rng.random() {
                    flip(&mut self.rng, &mut answer, ANSWER_WIDTHS);
                }
                self.connect = Connect::Offered(answer);
            } else if self.refusal.is_none() {
                let mut named = [answer[0], answer[1], answer[3]];
                if self.rng.random() {
                    flip(&mut self.rng, &mut named, REFUSAL_WIDTHS);
                }
                let reason = Refusal::ALL[self.rng.random_range(0..4)];
                self.refusal = Some((named, reason, self.rng.random_range(0..60)));
            }
        }
    }

    /// The target of a READ says what it is to say.
    pub(super) fn reply(&mut self, place: usize) {
        let Some(read) = self.places[place].as_mut() else {
            return;
        };
        let answer = read.answer();
        let [token, node, _, qpn, ..] = answer;
        match read.fate {
            Fate::Answers if matches!(self.connect, Connect::None) => {
                let mut answer = answer;
                if self.rng.random_range(0..3) == 0 {
                    // Another one, nearly the same, comes first.
                    flip(&mut self.rng, &mut answer, ANSWER_WIDTHS);
                    read.reply = Some(self.now + 1);
                    self.connect = Connect::Offered(answer);
                    return;
                }
                self.connect = Connect::Offered(answer);
            }
            Fate::Busy if self.refusal.is_none() => {
                if self.rng.random_range(0..4) == 0 {
                    read.fate = Fate::draw(&mut self.rng);
                }
                let far = self.rng.random_range(0..12) == 0;
                let retry = if far {
                    [0x7fff, 0x8000, 0xffff, 0xc000, 0x7000][self.rng.random_range(0..5)]
                } else {
                    self.rng.random_range(0..60)
                };
                self.refusal = Some(([token, node, qpn], Refusal::Busy, retry));
            }
            Fate::Refuses(reason) if self.refusal.is_none() => {
                let retry = self.rng.random_range(0..1 << 16);
                let mut named = [token, node, qpn];
                // A window is closed at about the time.
                if let Some(window) = self.windows.iter_mut().flatten().next() {
                    let at = self.now + self.rng.random_range(1..8);
                    window.closes_at = window.closes_at.min(at);
                }
                if self.rng.random_range(0..3) == 0 {
                    flip(&mut self.rng, &mut named, REFUSAL_WIDTHS);
                    read.reply = Some(self.now + 1);
                    self.refusal = Some((named, reason, retry));
                    return;
                }
                self.refusal = Some((named, reason, retry));
            }
            _ => return,
        }
        read.reply = None;
    }

    /// CONNECTs and refusals on their way, and those of others.
    pub(super) fn offer_answers(&mut self) {
        self.replies();
        self.set("s_answer_valid", 0);
        self.set("s_answered_done", 0);
        self.set("s_answered_opened", 0);
        let any = self.rng.random_range(0..1 << A);
        self.set("s_answered_wptr", any);
        let free = self.windows.iter().position(Option::is_none);
        let free = free.filter(|_| self.now > self.closed_at + 5);
        match self.connect {
            Connect::None => {
                if let Some(wptr) = free
                    && !self.quiet()
                    && self.one_in(100)
                {
                    self.open(wptr, None);
                }
            }
            Connect::Offered(answer) => {
                self.set("s_answer_valid", 1);
                for (name, value) in ANSWER.iter().zip(answer) {
                    self.set(&format!("s_answer_{name}"), value);
                }
            }
            Connect::Pending(place, at) => {
                if at <= self.now {
                    self.set("s_answered_done", 1);
                    let opens = self.rng.random_range(0..4) > 0;
                    if let Some(wptr) = free.filter(|_| opens) {
                        self.open(wptr, Some(place));
                    }
                }
            }
        }
        self.set("s_refused_valid", self.refusal.is_some().into());
        if let Some((named, reason, retry)) = self.refusal {
            for (name, value) in REFUSAL.iter().zip(named) {
                self.set(&format!("s_refused_{name}"), value);
            }
            self.set("s_refused_reason", reason.code().into());
            self.set("s_refused_retry", retry);
        }
        if self.say.is_none() && !self.quiet() && self.one_in(150) {
            self.say = Some(ReadRefused {
                qpn: self.rng.random_range(0..1 << 24),
                node: self.config.node as u32,
                token: self.rng.random(),
                reason: Refusal::ALL[self.rng.random_range(0..4)],
                retry: self.rng.random(),
            });
            self.say_to = self.rng.random_range(0..1 << 20);
        }
        self.set("s_say_valid", self.say.is_some().into());
        if let Some(say) = self.say {
            self.set("s_say_node", self.say_to);
            self.set("s_say_qpn", say.qpn.into());
            self.set("s_say_token", say.token);
            self.set("s_say_reason", say.reason.code().into());
            self.set("s_say_retry", say.retry.into());
        }
    }

    pub(super) fn open(&mut self, wptr: usize, place: Option<usize>) {
        self.opened = true;
        self.set("s_answered_opened", 1);
        self.set("s_answered_wptr", wptr as u64);
        let of = place.and_then(|place| self.places[place].as_ref());
        self.seen.others += u64::from(of.is_none());
        self.windows[wptr] = Some(Window {
            of: of.map(|read| read.wr_id),
            closes_at: self.now + self.rng.random_range(2..600),
        });
    }

    /// A window is closed, of any of them that is due.
    pub(super) fn close(&mut self) {
        self.set("s_closed_valid", 0);
        for (name, bits) in [("wptr", A), ("status", 2), ("reason", 3)] {
            let any = self.rng.random_range(0..1 << bits);
            self.set(&format!("s_closed_{name}"), any);
        }
        let due = |w: &Option<Window>| w.is_some_and(|w| w.closes_at <= self.now);
        let Some(wptr) = self.windows.iter().position(due) else {
            return;
        };
        let closed = [Status::Ok, Status::Aborted, Status::NotReady];
        let mut closed = closed[[0, 0, 0, 1, 1, 2][self.rng.random_range(0..6)]];
        let reason = self.rng.random_range(0..6);
        let window = self.windows[wptr].take();
        let of = window.and_then(|window| window.of);
        let read = self
            .places
            .iter_mut()
            .flatten()
            .find(|r| Some(r.wr_id) == of);
        if let Some(read) = read {
            if read.gone {
                closed = Status::Aborted;
                self.seen.gone_open += 1;
            }
            let mut statuses = vec![as_window(closed, reason)];
            if let Phase::Ends(End { pair: false, index }) = self.phase
                && u64::from(read.request.to_key >> 8) == index
            {
                // It has ended before its region, or with it.
                statuses.push(status(Outcome::LocalProtection));
            } else if read.gone {
                statuses = vec![status(Outcome::LocalProtection)];
            }
            read.end(statuses);
        }
        self.closed_at = self.now;
        self.set("s_closed_valid", 1);
        self.set("s_closed_wptr", wptr as u64);
        self.set("s_closed_status", closed.code().into());
        self.set("s_closed_reason", reason);
    }

    /// Hold, and what ends under it.
    pub(super) fn phases(&mut self) {
        let hold = self.hold();
        if matches!(self.phase, Phase::Free) && self.now >= self.next_phase {
            self.phase = Phase::Hold;
            self.next_phase = self.now + self.rng.random_range(1..150);
            self.held_at = self.now;
            (self.rested, self.busy_held) = (false, 0);
        } else if matches!(self.phase, Phase::Hold) && self.now >= self.next_phase {
            self.phase = Phase::Free;
            // A READ that is offered has a place before anything ends.
            let begins = self.work.is_none() || self.places.iter().any(Option::is_none);
            if begins && self.rng.random_range(0..3) > 0 {
                let pair = self.rng.random();
                let read = self.places[self.rng.random_range(0..R)].as_ref();
                let index = match (read, pair) {
                    (Some(read), true) => read.request.source,
                    (Some(read), false) => read.request.to_key >> 8,
                    _ => self.rng.random_range(0..9),
                };
                let index = index.into();
                self.phase = Phase::Rest(End { pair, index });
            }
        }
        if hold && !self.hold() {
            self.next_phase = self.now + self.rng.random_range(50..800);
        }
        self.set("hold", self.hold().into());
        let end = match self.phase {
            Phase::Ends(end) => Some(end),
            _ => None,
        };
        self.set("s_end_valid", end.is_some().into());
        if let Some(end) = end {
            self.set("s_end_pair", end.pair.into());
            self.set("s_end_index", end.index);
        }
    }

    /// A queue pair or region has ended.
    pub(super) fn ended(&mut self, end: End) {
        for place in 0..R {
            let Some(read) = &mut self.places[place] else {
                continue;
            };
            let (open, wr_id) = (read.state == State::Open, read.wr_id);
            let given_up = read.may_be_given_up(&self.config, self.ticks[0]);
            let protection = status(Outcome::LocalProtection);
            if end.pair && end.index == u64::from(read.request.source) {
                self.seen.silent += 1;
                self.seen.silent_open += u64::from(open);
                self.places[place] = None;
            } else if !end.pair && end.index == u64::from(read.request.to_key >> 8) {
                if open {
                    read.gone = true;
                } else if given_up {
                    let status = read.given_up();
                    read.end(vec![status, protection]);
                } else if read.state == State::Asks {
                    self.seen.gone += 1;
                    read.end(vec![protection]);
                }
                if !open {
                    continue;
                }
            } else {
                continue;
            }
            for window in self.windows.iter_mut().flatten() {
                if window.of == Some(wr_id) {
                    window.closes_at = self.now + self.rng.random_range(1..20);
                }
            }
        }
        self.phase = Phase::Closes;
        self.next_phase = self.now + self.rng.random_range(26..60);
    }

    /// The CONNECT that is pending is done in this clock.
    pub(super) fn done(&mut self, place: usize, opened: bool) {
        self.connect = Connect::None;
        let wait = self.rng.random_range(1..200);
        if let Some(read) = &mut self.places[place] {
            (read.late, read.alone) = (0, 0);
            read.state = if opened { State::Open } else { State::Asks };
            read.reply = (!opened).then_some(self.now + wait);
        }
        *(if opened {
            &mut self.seen.answered
        } else {
            &mut self.seen.not_opened
        }) += 1;
    }

    /// What follows of this clock for what ends.
    pub(super) fn go_on(&mut self) {
        match self.phase {
            Phase::Rest(end) => {
                let none = self.work.is_none()
                    && self.refusal.is_none()
                    && self.say.is_none()
                    && matches!(self.connect, Connect::None);
                if none && self.is("m_idle") {
                    self.phase = Phase::Ends(end);
                }
            }
            Phase::Ends(end) if self.is("s_end_ready") => self.ended(end),
            Phase::Closes if self.now >= self.next_phase => {
                self.phase = Phase::Free;
                self.next_phase = self.now + self.rng.random_range(50..800);
            }
            _ => {}
        }
    }
}
