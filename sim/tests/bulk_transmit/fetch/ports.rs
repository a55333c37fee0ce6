//! Ports of the block, clock by clock.

use super::*;

impl Bench {
    pub(super) fn drive(&mut self) {
        let now = self.now;
        self.set("hold", self.hold.into());
        self.set("s_valid", self.offered.is_some().into());
        if let Some(p) = self.offered {
            for (name, value) in [
                ("type", p.kind.into()),
                ("dst", p.dst.into()),
                ("slot", p.slot.into()),
                ("xid", p.xid.into()),
                ("wptr", p.wptr.into()),
                ("gen", p.incarnation.into()),
                ("pidx", p.pidx.into()),
                ("tail", p.tail.into()),
                ("again", u64::from(p.pidx & 1)),
                ("offset", p.offset.into()),
                ("length", p.length.into()),
                ("seq", p.seq.into()),
                ("reason", p.reason as u64),
                ("addr", p.addr),
                ("rkey", p.rkey.into()),
                ("mtu", p.mtu.into()),
            ] {
                self.set(&format!("s_{name}"), value);
            }
        }
        // What the slot was that was asked for two clocks ago.
        let slot = self.slots[usize::from(self.asked[0])];
        for (name, value) in [
            ("live", slot.live.into()),
            ("xid", slot.xid.into()),
            ("address", slot.address),
            ("key", slot.key.into()),
            ("pd", slot.domain.into()),
            ("peer", slot.peer.into()),
            ("qpn", slot.qpn.into()),
            ("q_key", slot.q_key.into()),
            ("notify", slot.notify.into()),
            ("immediate", slot.immediate.into()),
            ("response", slot.response.into()),
            ("token", slot.token),
        ] {
            self.set(&format!("m_source_{name}"), value);
        }
        let look = self.looks.front().copied().filter(|(due, _)| *due <= now);
        self.set("s_look_valid", look.is_some().into());
        self.set("s_look_ok", look.is_some_and(|(_, ok)| ok).into());
        if look.is_some() {
            self.looks.pop_front();
        }
        self.words();
        for (at, name) in ["m_rd_ready", "m_ready", "m_pl_ready", "m_unread_ready"]
            .into_iter()
            .enumerate()
        {
            let ready = self.stalls.ready(at) && (at != 1 || self.line <= now);
            self.set(name, ready.into());
        }
    }

    /// The next word of the oldest read, if host memory has it.
    pub(super) fn words(&mut self) {
        let now = self.now;
        let read = self.reads.front().copied().filter(|(due, ..)| *due <= now);
        let gap = self.plan.only.is_none() && self.rng.random_range(0..8) == 0;
        let Some((_, address, bytes, fails)) = read.filter(|_| !gap) else {
            return self.set("s_rd_valid", 0);
        };
        let here = bytes.min(8);
        let mut word = [0xA5; 8];
        for (at, place) in word.iter_mut().enumerate().take(here) {
            *place = byte(address.wrapping_add(at as u64)) ^ if fails { 0x55 } else { 0 };
        }
        self.set("s_rd_valid", 1);
        self.set("s_rd_data", u64::from_le_bytes(word));
        self.set("s_rd_bytes", here as u64 - 1);
        self.set("s_rd_last", (bytes <= 8).into());
        self.set("s_rd_error", (bytes <= 8 && fails).into());
        match bytes <= 8 {
            true => {
                // Words of a read that has failed leave at once, if nothing is before them.
                self.reads.pop_front();
                let words = self.sizes.pop_front().unwrap_or(0);
                self.words_here -= if fails { words } else { 0 };
            }
            false => {
                if let Some(read) = self.reads.front_mut() {
                    (read.1, read.2) = (address.wrapping_add(8), bytes - 8);
                }
            }
        }
    }

    pub(super) fn sample(&mut self) -> Result<()> {
        let now = self.now;
        if self.is("s_rd_valid") && !self.is("s_rd_ready") {
            return Err("a word that was asked for has no room".into());
        }
        self.asked.pop_front();
        self.asked
            .push_back(self.get("m_source_slot") as u16 % SLOTS);
        let rest = self.wanted.iter().all(|wanted| wanted.fails)
            && self.reads.is_empty()
            && self.leaving.is_empty()
            && self.failed.is_empty();
        if self.is("m_idle") && (!rest || self.looked.is_some_and(|(_, ok)| ok)) {
            return Err("idle with packets under way".into());
        }
        if self.is("m_look_valid") {
            let packet = self.offered.ok_or("a look of no packet")?;
            let (key, domain) = (self.get("m_look_key") as u32, self.get("m_look_pd") as u16);
            let address = self.get("m_look_addr");
            let was = |slot: &&Slot| {
                slot.live
                    && (slot.xid, slot.key, slot.domain) == (packet.xid, key, domain)
                    && slot.address.wrapping_add(packet.offset.into()) == address
            };
            let source = *self.seen.iter().find(was).ok_or_else(|| {
                format!("{packet:?} is looked up at {address:#x}, {:x?}", self.seen)
            })?;
            // What answers a READ of others is read with their right.
            let need = [0, 4][usize::from(source.response)];
            if (self.get("m_look_need"), self.get("m_look_len")) != (need, packet.length.into()) {
                return Err(format!("a look for something else of {packet:?}"));
            }
            let ok = Self::allowed(address, key, domain, source.response);
            self.met.others += u64::from(source.response);
            self.met.no_right += u64::from(!ok && Self::allowed(address, key, domain, false));
            self.looked = Some((source, ok));
            let wait = match self.plan.only {
                Some(_) => 6,
                None => self.rng.random_range(6..20),
            };
            self.looks.push_back((now + wait, ok));
            if !ok {
                self.unread.push_back((packet.slot, packet.xid));
            }
        }
        if self.moves("m_rd") {
            let packet = self.offered.ok_or("a read of no packet")?;
            let (source, ok) = self.looked.ok_or("a read without a look")?;
            let address = source.address.wrapping_add(packet.offset.into());
            if !ok
                || (self.get("m_rd_addr"), self.get("m_rd_len")) != (address, packet.length.into())
            {
                return Err(format!(
                    "read of {:#x}, allowed: {ok}, for {packet:?}",
                    self.get("m_rd_addr")
                ));
            }
            let fails = self.plan.only.is_none() && self.rng.random_range(0..12) == 0;
            let wait = self
                .rng
                .random_range(self.plan.answer.0..=self.plan.answer.1);
            self.reads
                .push_back((now + wait, address, packet.length as usize, fails));
            let words = packet.length.div_ceil(8) as usize;
            self.sizes.push_back(words);
            self.words_here += words;
            self.met.most_words = self.met.most_words.max(self.words_here);
            if self.words_here > WORDS {
                return Err("more is read than there is room for".into());
            }
            self.wanted.push_back(Wanted {
                packet,
                source,
                fails,
            });
            if fails {
                self.failed.push_back((packet.slot, packet.xid));
            }
        }
        if self.moves("s") {
            let packet = self.offered.take().ok_or("no packet")?;
            self.taken(packet)?;
            self.idle = 0;
        }
        if self.moves("m_unread") {
            let name = (
                self.get("m_unread_slot") as u16,
                self.get("m_unread_xid") as u32,
            );
            let memory = self.is("m_unread_memory");
            let queue = if memory {
                &mut self.failed
            } else {
                &mut self.unread
            };
            if queue.pop_front() != Some(name) {
                return Err(format!("{name:x?} cannot be read, memory: {memory}"));
            }
            match memory {
                true => self.met.no_memory += 1,
                false => self.met.no_key += 1,
            }
        }
        self.departures()
    }

    /// A packet was taken: what becomes of it.
    pub(super) fn taken(&mut self, packet: Packet) -> Result<()> {
        let source = self.seen[0];
        let same = |slot: &Slot| slot.live && slot.xid == packet.xid;
        let reads = packet.kind == 0 && packet.length > 0;
        if self.looked.take().is_some() {
            return Ok(());
        }
        let gone = match packet.kind {
            0 | 4 if self.seen.iter().all(same) && reads => {
                return Err(format!("{packet:?} is not looked up"));
            }
            0 if reads => true,
            0 | 4 => !same(&source),
            _ => false,
        };
        match gone {
            true => self.met.gone += 1,
            false => self.wanted.push_back(Wanted {
                packet,
                source,
                fails: false,
            }),
        }
        Ok(())
    }

    pub(super) fn departures(&mut self) -> Result<()> {
        if self.moves("m") {
            let bth = Bth {
                opcode: 0xC0 | self.get("m_opcode") as u8,
                dest_qp: self.get("m_dest") as u32,
                psn: self.get("m_psn") as u32,
            };
            let body = self.get("m_head").to_be_bytes().to_vec();
            let len = 8 + self.get("m_len") as usize;
            // Of those before it whose read has failed nothing is sent.
            while self.wanted.front().is_some_and(|wanted| wanted.fails) {
                self.wanted.pop_front();
            }
            let wanted = self.wanted.pop_front().ok_or("a frame of no packet")?;
            if self.get("m_node") != u64::from(wanted.packet.dst) {
                return Err(format!("to {:#x}: {wanted:?}", self.get("m_node")));
            }
            // Preamble, gap, headers, ICRC and FCS.
            self.line = self.now
                + if self.plan.only.is_some() {
                    (len as u64 - 8 + 90) / 8
                } else {
                    0
                };
            self.leaving.push_back((bth, body, len, wanted));
        }
        if self.moves("m_pl") {
            let (word, last) = (self.get("m_pl_data").to_le_bytes(), self.is("m_pl_last"));
            let bytes = self.get("m_pl_bytes") as usize + 1;
            let error = self.is("m_pl_error");
            let of = self.leaving.front_mut();
            let (bth, body, len, _) = of.ok_or("a word of no frame")?;
            body.extend_from_slice(&word[..bytes]);
            self.words_here -= usize::from(bth.opcode == 0xC0);
            if (body.len() >= *len) != last || (!last && bytes != 8) || body.len() > *len || error {
                return Err(format!(
                    "a word of {bytes} bytes, last: {last}, of {len}: {}",
                    body.len()
                ));
            }
        }
        while let Some((bth, body, _, wanted)) = self
            .leaving
            .pop_front_if(|(_, body, len, _)| body.len() == *len)
        {
            let (message, payload) = wanted.packet.message(&wanted.source, self.plan.incarnation);
            let (want, mut bytes) = wire::encode(&message).map_err(|e| e.to_string())?;
            bytes.extend(payload);
            if wanted.fails || bth != want || body != bytes {
                return Err(format!(
                    "{bth:x?} {body:x?} of {wanted:?}, wanted {want:x?}"
                ));
            }
            self.met.frames[usize::from(wanted.packet.kind)] += 1;
            let response = wanted.packet.kind == 4 && wanted.source.response;
            self.met.responses += u64::from(response);
            if wanted.packet.kind == 0 {
                self.met.bytes += u64::from(wanted.packet.length);
            }
            self.idle = 0;
        }
        Ok(())
    }
}
