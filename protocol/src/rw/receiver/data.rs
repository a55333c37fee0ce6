//! DATA, write acknowledgements, and the end of a transfer.

use super::*;

impl Receiver {
    /// A DATA packet (RW-1 to RW-7, RW-19).
    ///
    /// # Errors
    /// Why it was dropped: the first check that fails, in the order of the contract. A drop changes a counter and, once the
    /// packet's window, number, tail and length are right, `last_rx`.
    pub fn data(&mut self, d: &Data, now: Tick) -> Result<Accepted, DropReason> {
        self.decide(d, now, None)
    }

    /// As [`Receiver::data`], by the window as it was when its first number was `seen`: a slide since then does not count yet.
    ///
    /// # Errors
    /// As [`Receiver::data`]. A packet that was in that window and has been slid over is a duplicate.
    pub fn data_seeing(&mut self, d: &Data, now: Tick, seen: u32) -> Result<Accepted, DropReason> {
        self.decide(d, now, Some(seen))
    }

    /// DATA has come in, whatever becomes of it: while some does, ranges are asked for later. [`Receiver::data`] says it by itself;
    /// who tells the packets of different windows in another order than they came says when the last one did.
    pub fn hear(&mut self, now: Tick) {
        self.heard = now;
    }

    fn decide(&mut self, d: &Data, now: Tick, seen: Option<u32>) -> Result<Accepted, DropReason> {
        self.hear(now);
        let result = self.accept(d, now, seen);
        match result {
            Ok(_) => self.stats.accepted += 1,
            Err(reason) => self.stats.count(reason),
        }
        result
    }

    fn accept(&mut self, d: &Data, now: Tick, seen: Option<u32>) -> Result<Accepted, DropReason> {
        let config = &self.config;
        let window = self
            .windows
            .get_mut(usize::from(d.wptr))
            .ok_or(DropReason::Closed)?;
        let t = window.open.as_mut().ok_or(DropReason::Closed)?;
        if window.r#gen != d.r#gen && !config.mutations.no_gen {
            return Err(DropReason::StaleGen);
        }
        if t.src != d.src {
            return Err(DropReason::BadSource);
        }
        d.shape(t)?;
        t.last_rx = now;
        let credit_due = match config.mode {
            Mode::Rw | Mode::RwTimer => t.take_in_window(d, config, now, seen)?,
            Mode::GoBackN => t.take_in_order(d, config)?,
            Mode::Counter => t.take_any(d)?,
        };
        Ok(Accepted {
            write: WriteCmd {
                wptr: d.wptr,
                r#gen: window.r#gen,
                pidx: d.pidx,
                // CONNECT checked that the last byte has an address.
                addr: t.addr.wrapping_add(u64::from(d.pidx) << t.mtu),
                rkey: t.rkey,
                len: d.len,
            },
            credit_due,
        })
    }

    /// Moves wbase up to `to` (RW-3). True if a credit update is due. `None`, and no effect, if the window is closed, or if `to`
    /// is below wbase or above the first number that has not arrived.
    pub fn slide(&mut self, wptr: u16, to: u32) -> Option<bool> {
        let w = self.config.w;
        let t = self.windows.get_mut(usize::from(wptr))?.open.as_mut()?;
        let before = t.wbase;
        if to > t.first_hole() {
            return None;
        }
        t.slide_by(to.checked_sub(before)? as usize, w);
        Some(t.credit_due(before, w))
    }

    /// A write is visible in host memory (RW-16). True when [`Receiver::finish`] is due.
    pub fn write_done(&mut self, wptr: u16, r#gen: u32) -> bool {
        let (mode, mutations) = (self.config.mode, self.config.mutations);
        let open = self
            .windows
            .get_mut(usize::from(wptr))
            .filter(|w| w.r#gen == r#gen || mutations.no_gen)
            .and_then(|w| w.open.as_mut());
        let Some(t) = open else {
            self.stats.count(DropReason::StaleWrite);
            return false;
        };
        t.acked = t.acked.wrapping_add(1);
        t.finish_due(mode) || (mutations.complete_on_tail && t.w_tail)
    }

    /// Ends a transfer of which every byte is visible in host memory (RW-4, RW-16, RW-17): the peer entry becomes DONE(OK), the
    /// window is free at once, one completion record, one COMPLETE. `None`, and no effect, if that is not so.
    pub fn finish(&mut self, wptr: u16) -> Option<FinishOut> {
        let t = self.transfer(wptr)?;
        let complete = t.finish_due(self.config.mode) && t.all_received(self.config.mode);
        let complete = complete || (self.config.mutations.complete_on_tail && t.w_tail);
        if !complete {
            return None;
        }
        let completion = self.close(wptr, Status::Ok, Reason::GaveUp)?;
        let complete_msg = Complete {
            slot: completion.slot,
            xid: completion.xid,
            status: Status::Ok,
        };
        Some(FinishOut {
            completion,
            complete_msg,
        })
    }
}

impl Transfer {
    fn finish_due(&self, mode: Mode) -> bool {
        match mode {
            Mode::Counter => self.count == self.n && self.acked == self.issued,
            Mode::GoBackN | Mode::RwTimer | Mode::Rw => self.acked == self.n,
        }
    }

    /// Steps 3 and 4 of the contract. True if a credit update is due.
    fn take_in_window(
        &mut self,
        d: &Data,
        config: &ReceiverConfig,
        now: Tick,
        seen: Option<u32>,
    ) -> Result<bool, DropReason> {
        let seen = seen.unwrap_or(self.wbase);
        if d.pidx < seen {
            return Err(DropReason::BelowWindow);
        }
        if d.pidx - seen >= config.w {
            return Err(DropReason::AboveWindow);
        }
        let Some(m) = d.pidx.checked_sub(self.wbase) else {
            return Err(DropReason::Duplicate);
        };
        let m = m as usize;
        let Some(bit) = self.wvec.get_mut(m) else {
            return Err(DropReason::AboveWindow);
        };
        if *bit && !config.mutations.no_duplicate_check {
            return Err(DropReason::Duplicate);
        }
        bit.commit(true);
        self.w_tail |= d.tail;
        self.highest = self.highest.max(d.pidx + 1);
        if m > 0 || config.late_slides {
            return Ok(false);
        }
        // RW-3: the shift is on wvec, by 1 to W places.
        let run = self.wvec.leading_ones();
        let ones = if config.mutations.slide_off_by_one {
            run - 1
        } else {
            run
        };
        let before = self.wbase;
        self.slide_by(ones, config.w);
        if config.mode == Mode::RwTimer {
            self.mark_tick = now;
            return Ok(false);
        }
        Ok(self.credit_due(before, config.w))
    }

    fn slide_by(&mut self, ones: usize, w: u32) {
        self.wbase += ones as u32;
        self.wvec.drain(..ones);
        self.wvec.resize(w as usize, false);
    }

    /// Go-back-n: the expected number, or nothing.
    fn take_in_order(&mut self, d: &Data, config: &ReceiverConfig) -> Result<bool, DropReason> {
        if d.pidx < self.wbase {
            return Err(DropReason::BelowWindow);
        }
        if d.pidx > self.wbase {
            self.gap = true;
            return Err(DropReason::NotExpected);
        }
        let before = self.wbase;
        self.wbase += 1;
        self.highest = self.wbase;
        self.w_tail |= d.tail;
        Ok(self.credit_due(before, config.w))
    }

    /// Counter: any number of this round.
    fn take_any(&mut self, d: &Data) -> Result<bool, DropReason> {
        if d.round != self.round || self.count == self.n {
            return Err(DropReason::NotExpected);
        }
        self.count += 1;
        self.issued = self.issued.wrapping_add(1);
        self.w_tail |= d.tail;
        Ok(false)
    }

    /// wbase crossed a multiple of W/4 and there is more to send.
    fn credit_due(&self, before: u32, w: u32) -> bool {
        let quarter = (w / 4).max(1);
        before / quarter != self.wbase / quarter && self.wbase < self.n
    }
}
