//! Ports of the block, clock by clock.

use super::*;

impl Bench {
    pub(super) fn drive(&mut self) {
        let now = self.now;
        self.set("now", self.tick() & 0xFFFF);
        self.set("hold", (self.end.is_some() || self.quiet).into());
        let ending = match self.end {
            Some(End::Ending { pair, index }) => Some((pair, index)),
            _ => None,
        };
        self.set("s_end_valid", ending.is_some().into());
        if let Some((pair, index)) = ending {
            self.set("s_end_pair", pair.into());
            self.set("s_end_index", index.into());
        }
        self.set("s_valid", self.offered.is_some().into());
        if let Some(id) = self.offered {
            for (name, value) in self.flows[&id].fields.clone() {
                self.set(&format!("s_{name}"), value);
            }
        }
        let look = self.looks.front().copied().filter(|(due, _)| *due == now);
        self.set("s_look_valid", look.is_some().into());
        self.set("s_look_ok", look.is_some_and(|(_, ok)| ok).into());
        if look.is_some() {
            self.looks.pop_front();
        }
        self.frames(0, "s_own");
        self.frames(1, "s_read");
        self.drive_answers();
        self.drive_access();
        self.words();
        for (at, name) in ["m_ready", "m_pl_ready", "m_rd_ready", "m_cpl_ready"]
            .into_iter()
            .enumerate()
        {
            let ready = self.stalls.ready(at) && (at != 0 || self.line <= now);
            self.set(name, ready.into());
        }
    }

    /// The next frame, and the next word of those that were taken.
    fn frames(&mut self, of: usize, port: &str) {
        let frame = self.inbox[of].front().cloned();
        self.set(&format!("{port}_valid"), frame.is_some().into());
        if let Some((node, bth, body)) = frame {
            let mut head = body.clone();
            head.resize(8, 0);
            let head = u64::from_be_bytes(head[..8].try_into().unwrap());
            for (name, value) in [
                ("node", u64::from(node)),
                ("opcode", u64::from(bth.opcode & 15)),
                ("dest", bth.dest_qp.into()),
                ("psn", bth.psn.into()),
                ("head", head),
                ("short", (body.len() < 8).into()),
                ("len", body.len().saturating_sub(8) as u64),
            ] {
                self.set(&format!("{port}_{name}"), value);
            }
        }
        let word = self.payload[of].front().copied();
        let word = word.filter(|(from, ..)| *from <= self.now);
        self.set(&format!("{port}_pl_valid"), word.is_some().into());
        if let Some((_, data, last)) = word {
            self.set(&format!("{port}_pl_data"), data);
            self.set(&format!("{port}_pl_last"), last.into());
        }
    }

    /// Frames and words that are taken.
    fn frames_taken(&mut self, of: usize, port: &str) -> Result<()> {
        if self.moves(port) {
            let (_, _, body) = self.inbox[of].pop_front().ok_or("no message")?;
            if !self.is(&format!("{port}_unwanted")) {
                let rest: Vec<&[u8]> = body[8..].chunks(8).collect();
                for (at, chunk) in rest.iter().enumerate() {
                    let mut word = [0; 8];
                    word[..chunk.len()].copy_from_slice(chunk);
                    let (word, last) = (u64::from_le_bytes(word), at + 1 == rest.len());
                    self.payload[of].push_back((self.now + 6, word, last));
                }
            }
        }
        if self.moves(&format!("{port}_pl")) {
            self.payload[of].pop_front();
        }
        Ok(())
    }

    /// The next word of the oldest read.
    pub(super) fn words(&mut self) {
        let read = self
            .reads
            .front()
            .copied()
            .filter(|(due, ..)| *due <= self.now);
        self.set("s_rd_valid", read.is_some().into());
        let Some((_, address, bytes, fails)) = read else {
            return;
        };
        let mut word = [0xA5; 8];
        for (at, place) in word.iter_mut().enumerate().take(bytes.min(8)) {
            *place = byte(address.wrapping_add(at as u64)) ^ if fails { 0x55 } else { 0 };
        }
        self.set("s_rd_data", u64::from_le_bytes(word));
        self.set("s_rd_bytes", bytes.min(8) as u64 - 1);
        self.set("s_rd_last", (bytes <= 8).into());
        self.set("s_rd_error", (bytes <= 8 && fails).into());
        match bytes <= 8 {
            true => drop(self.reads.pop_front()),
            false => {
                if let Some(read) = self.reads.front_mut() {
                    (read.1, read.2) = (address.wrapping_add(8), bytes - 8);
                }
            }
        }
    }

    pub(super) fn sample(&mut self) -> Result<()> {
        let now = self.now;
        let events = self.get("events");
        for (bit, count) in self.coverage.events.iter_mut().enumerate() {
            *count += events >> bit & 1;
        }
        self.coverage.local_errors += self.get("ev_local_error");
        self.coverage.read_failed += self.get("ev_read_failed");
        if self.is("s_rd_valid") && !self.is("s_rd_ready") {
            return Err("a word that was asked for has no room".into());
        }
        if self.is("m_look_valid") {
            let (key, domain) = (self.get("m_look_key") as u32, self.get("m_look_pd") as u16);
            let (addr, len) = (self.get("m_look_addr"), self.get("m_look_len"));
            let need = self.get("m_look_need");
            // Each with the right that it needs.
            let mut flows = self.flows.values();
            if !flows.any(|flow| {
                let within = addr.wrapping_sub(flow.address) <= u64::from(flow.length);
                (flow.key, flow.need()) == (key, need) && within
            }) {
                return Err(format!("a look for right {need} of {key:#x} at {addr:#x}"));
            }
            let held = |region: &Region| {
                region.holds(key, domain, addr, len) && region.rights & need == need
            };
            let ok = self.regions.iter().any(held);
            self.looks.push_back((now + 6, ok));
        }
        if self.moves("m_rd") {
            let (address, bytes) = (self.get("m_rd_addr"), self.get("m_rd_len") as usize);
            let end = u128::from(address) + bytes as u128;
            let held = |region: &&Region| {
                address >= region.base && end <= u128::from(region.base) + u128::from(region.length)
            };
            if bytes == 0 || !self.regions.iter().any(|region| held(&region)) {
                return Err(format!("{bytes} bytes at {address:#x} are read"));
            }
            let fails = self.rng.random_range(0..1_000) < self.plan.unread;
            if fails {
                let hit = |flow: &&mut Flow| {
                    let within = address.wrapping_sub(flow.address) < u64::from(flow.length);
                    within && !matches!(flow.kind, Kind::Read(_))
                };
                for flow in self.flows.values_mut().filter(hit) {
                    flow.may
                        .extend([Outcome::LocalDma as u8, Outcome::Ok as u8]);
                }
            }
            self.reads.push_back((now + 150, address, bytes, fails));
        }
        self.frames_taken(0, "s_own")?;
        self.frames_taken(1, "s_read")?;
        self.answers_taken()?;
        self.access_taken()?;
        self.completion()?;
        self.departure()
    }

    /// Work requests that begin or end.
    pub(super) fn completion(&mut self) -> Result<()> {
        let mut done = None;
        if self.moves("m_cpl") {
            let (id, status) = (self.get("m_cpl_wr_id"), self.get("m_cpl_status") as u8);
            let flow = self
                .flows
                .get_mut(&id)
                .ok_or_else(|| format!("a completion of {id}, which is none"))?;
            if flow.ended.is_some() || flow.flushed {
                return Err(format!("{flow:?} ends again, or after its queue pair"));
            }
            let wanted = flow.wanted as u8;
            let refused = Some(id) == self.offered;
            let ended = Outcome::ALL
                .iter()
                .copied()
                .find(|one| *one as u8 == status);
            flow.ended = ended;
            *self.coverage.statuses.entry(status).or_default() += 1;
            if status != wanted && !flow.may.contains(&status) {
                return Err(format!("{ended:?} of {flow:?}"));
            }
            if let Kind::Read(reading) = &flow.kind {
                *self.coverage.reads.entry(status).or_default() += 1;
                // Not before every byte is here.
                if status == Outcome::Ok as u8 && !reading.closed_well {
                    return Err(format!("{flow:?} ends well"));
                }
            } else if status == Outcome::Ok as u8 {
                for (at, is) in flow.bytes.iter().enumerate() {
                    if *is != Some(byte(flow.address.wrapping_add(at as u64))) {
                        return Err(format!("byte {at} is {is:?} of {flow:?}"));
                    }
                }
                self.coverage.bytes += u64::from(flow.length);
            }
            flow.bytes = vec![];
            let told = ["qpn", "node", "peer", "msn", "psn", "request", "vf", "len"].map(|name| {
                self.model
                    .get(self.model.port(&format!("m_cpl_{name}")).unwrap())
            });
            let names = ["qpn", "node", "peer", "msn", "psn", "request", "vf"];
            if told[..7] != names.map(|name| flow.fields[name]) || told[7] != 0 {
                return Err(format!("{told:x?} is said of {flow:?}"));
            }
            if refused {
                done = Some(id);
            }
        }
        if let Some(End::Ending { pair, index }) = self.end
            && self.is("s_end_ready")
        {
            self.end = Some(End::Closing);
            self.coverage.ends += 1;
            let ends = |flow: &&mut Flow| pair && flow.qpn == index && flow.ended.is_none();
            for flow in self.flows.values_mut().filter(ends) {
                flow.flushed = true;
                self.coverage.silent += u64::from(!matches!(flow.kind, Kind::Response(_)));
            }
            self.close_ended(pair, index);
        }
        if self.moves("s") {
            let id = self.offered.take().ok_or("no work request")?;
            if let Some(flow) = self.flows.get_mut(&id) {
                flow.begun = done.is_none();
            }
        }
        Ok(())
    }

    /// Frames leave for their receivers.
    pub(super) fn departure(&mut self) -> Result<()> {
        if self.moves("m") {
            let bth = Bth {
                opcode: 0xC0 | self.get("m_opcode") as u8,
                dest_qp: self.get("m_dest") as u32,
                psn: self.get("m_psn") as u32,
            };
            let len = 8 + self.get("m_len") as usize;
            if self.plan.line {
                self.line = self.now + (len as u64 - 8 + 90) / 8;
            }
            if bth.opcode == 0xC0 {
                self.coverage.data += 1;
                self.coverage.left.push(self.now);
            }
            self.leaving.push_back((
                self.get("m_node") as u32,
                bth,
                self.get("m_head").to_be_bytes().to_vec(),
                len,
            ));
        }
        if self.moves("m_pl") {
            let (word, last) = (self.get("m_pl_data").to_le_bytes(), self.is("m_pl_last"));
            let bytes = self.get("m_pl_bytes") as usize + 1;
            let of = self.leaving.front_mut();
            let (_, _, body, len) = of.ok_or("a word of no frame")?;
            body.extend_from_slice(&word[..bytes]);
            if (body.len() >= *len) != last || body.len() > *len {
                return Err(format!("the last of {len} bytes at {}", body.len()));
            }
        }
        while let Some((node, bth, body, _)) = self
            .leaving
            .pop_front_if(|(_, _, body, len)| body.len() == *len)
        {
            if bth.opcode == OPCODE_READ_REFUSED {
                self.said(node, &bth, &body)?;
            }
            if let Ok((Message::Data(m), _)) = wire::decode(&bth, &body) {
                self.coverage
                    .packets
                    .insert((node, m.wptr, m.r#gen, m.pidx));
            }
            let faults = self.plan.faults;
            self.to_peers
                .send(&mut self.rng, faults, self.now, (node, bth, body));
        }
        Ok(())
    }
}
