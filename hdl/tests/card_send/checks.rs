//! What the block says in a clock, against the model.

use super::bench::{Bench, Check, Fault, Fetched, Turn};
use super::rtl::{Inputs, Look, Outputs, Read, Record, Set, Work};
use super::world::{all, allowed, has_fence, judge, kind, of_bulk};
use tributary_protocol::card::command::State;
use tributary_protocol::card::descriptor::WorkRequest;
use tributary_protocol::xud::Outcome;

impl Bench {
    /// Turns: asked for together, for a queue pair that has work, with the right PSN, and nobody waits too long.
    pub fn turns(&mut self, inputs: &Inputs, outputs: &Outputs) -> Check {
        if let Some((qpn, psn)) = outputs.place {
            self.expect(self.turn.is_none(), "a turn within a turn")?;
            self.expect(
                outputs.rsv == Some(qpn),
                "a place without asking for a slot",
            )?;
            let alone = self.places.ask(qpn, psn, self.now);
            self.expect(alone, "two places at once")?;
            let qp = &self.qps[qpn as usize];
            let want = (u64::from(qp.shape.first) + qp.fetched) as u32 & 0xFF_FFFF;
            self.expect(
                psn == want,
                &format!("PSN {psn} instead of {want} of {qpn}"),
            )?;
            let recent = qp.error.is_some_and(|since| self.now - since < 8);
            let sends = qp.state == State::ReadyToSend || recent;
            self.expect(sends, "a turn of a queue pair that does not send")?;
            let lately = qp.taken_back.filter(|(since, _)| self.now - since < 20);
            let posted = lately.map_or(0, |(_, posted)| posted).max(qp.posted);
            self.expect(posted > qp.fetched, "a turn of a queue pair without work")?;
            let late = self.held.is_some_and(|since| self.now - since > 4);
            self.expect(!late, "a turn on hold")?;
            self.fair(qpn)?;
            self.seen.turns.push(qpn);
            self.turn = Some(Turn {
                qpn,
                psn,
                ..Turn::default()
            });
        }
        self.asks = outputs.rsv.filter(|_| inputs.rsv.is_none());
        let Some(turn) = &mut self.turn else {
            return self.expect(
                inputs.rsv.is_none() && outputs.rsv.is_none(),
                "a stray slot",
            );
        };
        turn.slot = turn.slot.or(inputs.rsv);
        turn.place = turn.place.or(inputs.place);
        let (Some(slot), Some(place)) = (turn.slot, turn.place) else {
            return Ok(());
        };
        let (qpn, psn) = (turn.qpn, turn.psn);
        self.turn = None;
        let qp = &mut self.qps[qpn as usize];
        if slot && place {
            qp.unread.push_back((qp.fetched, false));
            qp.later = false;
            qp.fetched += 1;
            qp.taken_back = qp.taken_back.filter(|(_, posted)| *posted > qp.fetched);
            self.progress = self.now;
        } else {
            self.expect(self.undo.is_none(), "a slot or place was not given back")?;
            self.seen.stall_credit += u64::from(!slot);
            self.seen.stall_place += u64::from(slot);
            self.owed[usize::from(slot)] += 1;
            if slot || place {
                self.undo = Some((qpn, psn, slot));
            }
        }
        Ok(())
    }

    /// Between two turns of a queue pair that has work throughout, each other one has at most two.
    fn fair(&mut self, turn: u32) -> Check {
        for qpn in all() {
            let qp = &mut self.qps[qpn as usize];
            let waits = qp.posted > qp.fetched && qp.state == State::ReadyToSend && !qp.later;
            if qpn == turn || !waits {
                qp.passed.clear();
                continue;
            }
            let turns = qp.passed.entry(turn).or_default();
            *turns += 1;
            if *turns > 2 {
                return self.expect(false, &format!("{qpn} waits while {turn} has three turns"));
            }
        }
        Ok(())
    }

    /// A work request of a bulk transfer leaves: the oldest one, as it was read; its place is given back with it.
    pub fn bulks(&mut self, outputs: &Outputs) -> Check {
        let Some(work) = outputs.bulk else {
            return Ok(());
        };
        self.bulk_at = self.now;
        let (inputs, before) = &self.before;
        if before.bulk.is_some() && !inputs.bulk_ready {
            return self.expect(before.bulk == Some(work), "m_bulk changed");
        }
        // The one before may still wait to be set.
        let mut oldest = self.fetched.iter().take(2);
        let place = oldest.position(|f| (f.qpn, f.psn) == (work.qpn, work.psn));
        let Some((place, fetched)) = place.and_then(|at| Some((at, self.fetched.remove(at)?)))
        else {
            return self.expect(false, "another bulk transfer than the next");
        };
        self.expect(self.looked > place, "a bulk transfer before it was there")?;
        self.looked -= 1;
        let request = WorkRequest::decode(&fetched.entry);
        let qp = &mut self.qps[fetched.qpn as usize];
        let want = Work {
            request,
            psn: fetched.psn,
            number: fetched.number as u16,
            qpn: fetched.qpn,
            pd: qp.shape.pd,
            q_key: qp.shape.q_key,
        };
        let free = !has_fence(&request) || qp.ended == fetched.number;
        qp.bulks += 1;
        let lives = !qp.gone && !fetched.error && !fetched.stale;
        self.bulk_place = Some((fetched.qpn, fetched.psn));
        self.seen.bulks += 1;
        self.progress = self.now;
        self.expect(self.bulk && of_bulk(&request), "a datagram at m_bulk")?;
        let group = self.in_group(work.qpn);
        self.expect(!group, "a work request of a group at m_bulk")?;
        self.expect(lives, "a bulk transfer that must not begin")?;
        self.expect(free, "a bulk transfer begins behind its fence")?;
        self.expect(work == want, &format!("{work:?} instead of {want:?}"))
    }

    /// Whether what a queue pair has fetched is of a reduction group.
    fn in_group(&self, qpn: u32) -> bool {
        self.reduce && self.qps[qpn as usize].shape.member
    }

    /// A work request of a group leaves: the oldest one, once, as its words were seen; its place is given back with it.
    pub fn reduces(&mut self, inputs: &Inputs, outputs: &Outputs) -> Check {
        if let Some((word, first)) = outputs.lands {
            let Some((want, number)) = self.landing.pop_front() else {
                return self.expect(false, "a word lands that has not come");
            };
            self.expect(word == want, "another word lands")?;
            self.expect(first == (number % 8 == 0), "a word is first, or is not")?;
            if first {
                self.landed.clear();
            }
            self.landed.push(word);
        }
        if let Some((word, ..)) = inputs.wq {
            self.landing.push_back((word, self.words_in));
            self.words_in += 1;
        }
        let Some((qpn, number)) = outputs.reduce else {
            let first = self.fetched.front().filter(|_| self.looked > 0);
            let waits = first.is_some_and(|first| self.in_group(first.qpn));
            self.seen.no_room += u64::from(waits && !inputs.reduce_room);
            return Ok(());
        };
        self.expect(inputs.reduce_room, "a work request of a group has no room")?;
        self.expect(outputs.lands.is_none(), "it leaves while words land")?;
        // The one before may still wait to be set.
        let mut oldest = self.fetched.iter().take(2);
        let place = oldest.position(|f| f.qpn == qpn && f.number as u16 == number);
        let Some((place, fetched)) = place.and_then(|at| Some((at, self.fetched.remove(at)?)))
        else {
            return self.expect(false, "another work request of a group than the next");
        };
        self.expect(self.looked > place, "it leaves before it was there")?;
        self.looked -= 1;
        let group = self.in_group(qpn);
        let words = fetched.entry.chunks_exact(8);
        let same = words.eq(self.landed.iter().map(|word| word.to_le_bytes()));
        let request = WorkRequest::decode(&fetched.entry);
        let qp = &mut self.qps[qpn as usize];
        let late = qp.error.is_some_and(|since| self.now - since > 8);
        let lives = !qp.gone && !late && !fetched.error && !fetched.stale;
        qp.bulks += 1;
        qp.reduces += 1;
        self.seen.reduces += 1;
        self.seen.reduces_fenced += u64::from(has_fence(&request));
        self.seen.reduces_bulk += u64::from(of_bulk(&request));
        self.progress = self.now;
        let due = self.now + 2 + self.dice.below(self.manner.flight + 1);
        self.flights.push((due, qpn, fetched.psn));
        let alone = self.reduce_place.replace((qpn, fetched.psn)).is_none();
        self.expect(alone, "a place is kept for ever")?;
        self.expect(group, "a work request of no group at m_reduce")?;
        self.expect(lives, "a work request of a group that must not begin")?;
        self.expect(same, "its words are not those that were seen")
    }

    /// It is taken, and ends some time later.
    pub fn bulk_taken(&mut self, inputs: &Inputs, outputs: &Outputs) {
        if let Some(work) = outputs
            .bulk
            .filter(|_| inputs.bulk_ready && !self.bulk_ends)
        {
            let due = self.now + 2 + self.dice.below(self.manner.flight + 1);
            self.flights.push((due, work.qpn, work.psn));
        }
    }

    /// What is given back: of a turn that failed, or of a work request that is dropped.
    pub fn undone(&mut self, outputs: &Outputs) -> Check {
        match (outputs.cancel, outputs.drop) {
            (None, None) => Ok(()),
            (Some(qpn), Some((other, psn))) => {
                // The one before may still wait to be set.
                let first = self.fetched.front().map(|first| (first.qpn, first.error));
                let place = self
                    .fetched
                    .iter()
                    .take(2)
                    .position(|f| (f.qpn, f.psn) == (qpn, psn));
                let Some(place) = place.filter(|_| qpn == other) else {
                    return self.expect(false, "another one is dropped than the next");
                };
                let Some(dropped) = self.fetched.remove(place) else {
                    return self.expect(false, "nothing is dropped");
                };
                self.expect(self.looked > place, "dropped before it was there")?;
                self.looked -= 1;
                let request = WorkRequest::decode(&dropped.entry);
                let full = of_bulk(&request) && self.now - self.bulk_at < 100;
                let failing = place == 1 && first == Some((qpn, true));
                let group = self.in_group(qpn);
                let qp = &mut self.qps[qpn as usize];
                let fenced = has_fence(&request)
                    && (qp.ended != dropped.number || self.now - qp.ended_at < 100);
                let later = self.bulk && !group && !dropped.error && (full || fenced);
                let ends = qp.gone || qp.error.is_some() || failing;
                if later && !dropped.stale && !qp.gone && !failing {
                    // It comes back, and what was fetched behind it is fetched again. Of one that ends nobody can tell.
                    qp.fetched = dropped.number;
                    qp.later = true;
                    qp.unread.iter_mut().for_each(|(_, stale)| *stale = true);
                    for behind in self.fetched.range_mut(place..).filter(|f| f.qpn == qpn) {
                        behind.stale = true;
                    }
                    self.seen.came_back += u64::from(of_bulk(&request));
                    self.seen.fenced += u64::from(fenced);
                } else if dropped.stale && !ends {
                    self.seen.stale += 1;
                } else {
                    qp.gone |= place == 0;
                    self.expect(ends, "dropped although its queue pair lives")?;
                    self.seen.dropped += 1;
                    self.seen.reduces_dropped += u64::from(group);
                }
                self.progress = self.now;
                self.give_back(qpn, psn)
            }
            (None, Some(of)) if self.bulk_place == Some(of) => {
                self.bulk_place = None;
                let had = self.places.kept.remove(&of) == Some(false);
                self.expect(had, "a place that nobody had")
            }
            (None, Some(of)) if self.reduce_place == Some(of) => {
                self.reduce_place = None;
                let had = self.places.kept.remove(&of) == Some(false);
                self.expect(had, "a place that nobody had")
            }
            (slot, place) => {
                let Some((qpn, psn, of_slot)) = self.undo.take() else {
                    return self.expect(false, "given back out of turn");
                };
                if of_slot {
                    self.expect(
                        slot == Some(qpn) && place.is_none(),
                        "wrong slot given back",
                    )?;
                    let had = self.slots.free(qpn);
                    self.expect(had, "a slot that nobody had")
                } else {
                    self.expect(place == Some((qpn, psn)), "wrong place given back")?;
                    let had = self.places.kept.remove(&(qpn, psn)) == Some(false);
                    self.expect(had, "a place that nobody had")
                }
            }
        }
    }

    fn give_back(&mut self, qpn: u32, psn: u32) -> Check {
        let had = self.slots.free(qpn);
        self.expect(had, "a slot that nobody had")?;
        let had = self.places.kept.remove(&(qpn, psn)) == Some(false);
        self.expect(had, "a place that nobody had")
    }

    /// The payload of the oldest work request, if that is sent: it may be read while it is set.
    fn payload_ahead(&self) -> Option<Read> {
        if self.ahead.is_some() {
            return None;
        }
        if let Some((record, addr)) = &self.record {
            return Some(Read::payload(*addr, record.len));
        }
        let fetched = self.fetched.front().filter(|_| self.looked > 0)?;
        let request = WorkRequest::decode(&fetched.entry);
        let bulk = self.bulk && of_bulk(&request);
        let gone = self.qps[fetched.qpn as usize].gone;
        let ended = self.qps[fetched.qpn as usize].ended;
        let waits = self.bulk && has_fence(&request) && ended < fetched.number;
        let group = self.in_group(fetched.qpn);
        let dropped = fetched.error || fetched.stale || gone || waits || group;
        let sent = !dropped && !bulk && judge(&request, self.mtu).is_none();
        sent.then(|| Read::payload(request.address, request.length as u16))
    }

    /// Reads: payload of the latest record, or the next work request of a queue pair.
    pub fn reads(&mut self, inputs: &Inputs, outputs: &Outputs) -> Check {
        let Some(read) = outputs.rd else {
            return Ok(());
        };
        if self.before.1.rd.is_none() {
            self.seen.read_at = self.now;
        }
        if !inputs.rd_ready {
            return Ok(());
        }
        let due = self.now + self.manner.latency.max(1);
        if read.ctx >> 14 == 1 {
            let payload = self.payload.pop_front().or_else(|| {
                self.ahead = self.payload_ahead();
                self.ahead
            });
            self.expect(
                payload == Some(read),
                &format!("{payload:?}, read {read:?}"),
            )?;
            self.reader.payload(read.len, due);
            self.seen.payloads += 1;
            return Ok(());
        }
        self.expect(
            read.ctx == 0 && read.len == 64,
            "a fetch of another client or size",
        )?;
        let owner = all().find(|&qpn| {
            let qp = &self.qps[qpn as usize];
            let number = qp
                .unread
                .front()
                .map(|(number, _)| number % (1 << qp.shape.log));
            number.is_some_and(|index| read.addr == qp.shape.base + 64 * index)
        });
        let Some(qpn) = owner else {
            return self.expect(false, &format!("no work request is at {:#x}", read.addr));
        };
        let qp = &mut self.qps[qpn as usize];
        let (number, stale) = qp.unread.pop_front().expect("it has one");
        qp.read += 1;
        let entry = qp.ring[(number % (1 << qp.shape.log)) as usize];
        let psn = (u64::from(qp.shape.first) + number) as u32 & 0xFF_FFFF;
        let error = self.dice.chance(self.manner.fail);
        let mut shown = entry;
        if error {
            shown = std::array::from_fn(|_| self.dice.word() as u8);
        }
        let reported = error && self.fault != Some(Fault::HideError);
        self.reader.fetch(&shown, reported, due);
        self.fetched.push_back(Fetched {
            qpn,
            number,
            psn,
            entry: shown,
            error,
            stale,
        });
        let last = self.fetched.len() - 1;
        if self.fault == Some(Fault::SwapFetches) && last > self.looked + 1 {
            self.fetched.swap(last, last - 1);
        }
        self.expect(
            self.fetched.len() <= 17,
            "more fetches than there is room for",
        )
    }

    pub fn lookups(&mut self, outputs: &Outputs) -> Check {
        let Some(look) = outputs.look else {
            return Ok(());
        };
        let Some(fetched) = self.fetched.get(self.looked) else {
            return self.expect(false, "a region is looked up for nothing");
        };
        let request = WorkRequest::decode(&fetched.entry);
        let want = Look {
            key: request.lkey,
            pd: self.qps[fetched.qpn as usize].shape.pd,
            addr: request.address,
            len: (request.length & 0x1FFF) as u16,
            write: kind(&request) > 0,
        };
        self.expect(look == want, &format!("{look:?} instead of {want:?}"))?;
        self.looked += 1;
        let ok = allowed(request.lkey, request.length);
        self.looks.push_back((self.now + 6, ok));
        Ok(())
    }

    /// The oldest work request is set, as it must.
    pub fn sets(&mut self, inputs: &Inputs, outputs: &Outputs) -> Check {
        if let Some(qpn) = outputs.fatal {
            self.expect(self.fatal_due.is_none(), "fatal twice")?;
            self.fatal_due = Some(qpn);
        }
        let Some(set) = outputs.set else {
            return Ok(());
        };
        if !inputs.set_ready {
            return Ok(());
        }
        self.expect(self.record.is_none(), "set before the one before has left")?;
        let Some(fetched) = self.fetched.pop_front() else {
            return self.expect(false, "a set of nothing");
        };
        self.expect(self.looked > 0, "set before it was there")?;
        self.looked -= 1;
        let (qpn, psn) = (fetched.qpn, fetched.psn);
        let request = WorkRequest::decode(&fetched.entry);
        let qp = &mut self.qps[qpn as usize];
        let lives = !qp.gone;
        let ended = qp.ended;
        let mut want = Set {
            qpn,
            psn,
            node: request.to.node,
            peer: request.to.qpn & 0xFF_FFFF,
            vf: request.version_flags,
            win_id: request.window.id,
            epoch: request.window.epoch,
            msn: request.window.msn,
            wr_id: request.wr_id,
            request: fetched.number as u16,
            timeout: qp.shape.timeout,
            outcome: judge(&request, self.mtu).map_or(0, Outcome::code),
            buffer: None,
        };
        if want.outcome == 0 && kind(&request) > 0 {
            let length = request.length as u16;
            want.buffer = Some((kind(&request), request.address, request.lkey, length));
        }
        if fetched.error {
            qp.gone = true;
            want = Set {
                qpn,
                psn,
                request: want.request,
                timeout: want.timeout,
                outcome: Outcome::LocalQueue.code(),
                node: 0,
                peer: 0,
                vf: 0,
                win_id: 0,
                epoch: 0,
                msn: 0,
                wr_id: 0,
                buffer: None,
            };
            let told = self.fatal_due.take() == Some(qpn);
            self.expect(told, "a ring that cannot be read is not told")?;
            self.seen.fatal += 1;
            let delay = 1 + self.dice.below(60);
            self.fatal.push_back((self.now + delay, qpn));
        }
        self.expect(lives, "set although its queue pair has ended")?;
        self.expect(!fetched.stale, "set although one before it comes back")?;
        let bulk = self.bulk && of_bulk(&request) && !fetched.error;
        self.expect(!bulk, "a bulk transfer is sent as a datagram")?;
        let group = self.in_group(qpn) && !fetched.error;
        self.expect(!group, "a work request of a group is sent as a datagram")?;
        let waits = self.bulk && !fetched.error && has_fence(&request);
        // One behind it, of a bulk transfer, may have ended while this one waited to be set.
        self.expect(
            !waits || ended >= fetched.number,
            "a datagram begins behind its fence",
        )?;
        self.expect(set == want, &format!("{set:?} instead of {want:?}"))?;
        *self.seen.outcomes.entry(set.outcome).or_default() += 1;
        self.owed[2] += i64::from(set.outcome != 0);
        self.progress = self.now;
        let place = self.places.kept.get_mut(&(qpn, psn));
        let filled = place.map(|filled| std::mem::replace(filled, true));
        self.expect(filled == Some(false), "a place that was not kept, or twice")?;
        let mut flight = 2;
        if set.outcome == 0 {
            let shape = &self.qps[qpn as usize].shape;
            let record = Record {
                node: set.node,
                peer: set.peer,
                psn,
                q_key: shape.q_key,
                src: qpn,
                vf: set.vf,
                win_id: set.win_id,
                epoch: set.epoch,
                msn: set.msn,
                head: std::array::from_fn(|at| {
                    let bytes = &request.head[8 * at..8 * at + 8];
                    u64::from_le_bytes(bytes.try_into().expect("8 bytes"))
                }),
                head_len: request.head_len,
                len: if kind(&request) == 1 {
                    0
                } else {
                    request.length as u16
                },
            };
            self.record = Some((record, request.address));
            flight += self.dice.below(self.manner.flight + 1);
        }
        self.flights.push((self.now + flight, qpn, psn));
        Ok(())
    }

    pub fn records(&mut self, inputs: &Inputs, outputs: &Outputs) -> Check {
        let Some(record) = outputs.sd else {
            return Ok(());
        };
        if self.before.1.sd.is_none() {
            self.seen.record_at = self.now;
        }
        if !inputs.sd_ready {
            return Ok(());
        }
        let Some((want, addr)) = self.record.take() else {
            return self.expect(false, "a record without a set");
        };
        self.expect(record == want, &format!("{record:?} instead of {want:?}"))?;
        self.seen.records += 1;
        if record.len > 0 {
            self.sending += 1;
            let payload = Read::payload(addr, record.len);
            match self.ahead.take() {
                Some(ahead) => self.expect(ahead == payload, "another payload was read")?,
                None => self.payload.push_back(payload),
            }
        }
        Ok(())
    }

    pub fn events(&mut self, outputs: &Outputs) -> Check {
        let bad = self.bad_at.front() == Some(&self.now);
        self.expect(
            outputs.bad_doorbell == bad,
            if bad {
                "a bad doorbell is not counted"
            } else {
                "a good doorbell is refused"
            },
        )?;
        if bad {
            self.bad_at.pop_front();
            self.seen.bad_doorbells += 1;
        }
        let events = [
            outputs.stall_credit,
            outputs.stall_place,
            outputs.local_error,
        ];
        for (owed, event) in self.owed.iter_mut().zip(events) {
            *owed -= i64::from(event);
        }
        // A local error is told before its set is taken.
        let told = self.owed[..2].iter().all(|&owed| owed >= 0);
        self.expect(told, "a stall that nobody had")
    }

    /// Idle is what the model calls idle, as far as the world can see it.
    pub fn idleness(&mut self, outputs: &Outputs) -> Check {
        self.idle = outputs.idle;
        if outputs.idle {
            let quiet = self.fetched.is_empty()
                && self.turn.is_none()
                && self.undo.is_none()
                && self.record.is_none()
                && self.payload.is_empty()
                && outputs.rd.is_none();
            self.expect(quiet, "idle with something under way")?;
        }
        let waits = self
            .qps
            .iter()
            .any(|qp| qp.state == State::ReadyToSend && !qp.gone && qp.posted > qp.fetched);
        if !waits && self.fetched.is_empty() || self.hold {
            self.progress = self.now;
        }
        Ok(())
    }
}
