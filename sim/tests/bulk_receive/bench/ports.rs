//! Ports of the block, clock by clock: what it is offered, what it says, and what it writes.

use super::*;

impl Bench {
    pub(super) fn drive(&mut self) {
        let now = self.now;
        self.set("now", self.tick() & 0xFFFF);
        self.set("hold", self.end.is_some().into());
        let ending = match self.end {
            Some(End::Ending { pair, index }) => Some((pair, index)),
            _ => None,
        };
        self.set("s_end_valid", ending.is_some().into());
        if let Some((pair, index)) = ending {
            self.set("s_end_pair", pair.into());
            self.set("s_end_index", index.into());
        }
        let context = self.contexts.pop_front();
        self.set("cfg_valid", context.is_some().into());
        if let Some((qpn, word, data)) = context {
            self.set("cfg_qpn", qpn.into());
            self.set("cfg_word", word.into());
            self.set("cfg_data", data);
        }
        let offered = self.inbox.front().cloned();
        self.set("s_valid", offered.is_some().into());
        if let Some(frame) = offered {
            self.set("s_node", frame.from.into());
            self.set("s_opcode", (frame.bth.opcode & 15).into());
            self.set("s_dest", frame.bth.dest_qp.into());
            self.set("s_psn", frame.bth.psn.into());
            self.set("s_head", u64::from_be_bytes(head(&frame.body)));
            self.set("s_short", (frame.body.len() < 8).into());
            self.set("s_len", frame.body.len().saturating_sub(8) as u64);
        }
        let word = self.payload.front().filter(|(from, ..)| *from <= now);
        let word = word.copied();
        self.set("s_pl_valid", word.is_some().into());
        if let Some((_, data, last)) = word {
            self.set("s_pl_data", data);
            self.set("s_pl_last", last.into());
        }
        let look = self.looks.front().filter(|(due, _)| *due == now).copied();
        self.set("s_look_valid", look.is_some().into());
        self.set("s_look_ok", look.is_some_and(|(_, ok)| ok).into());
        if look.is_some() {
            self.looks.pop_front();
        }
        let done = self.done.front().is_some_and(|due| *due <= now);
        self.set("s_done", done.into());
        if done {
            self.done.pop_front();
        }
        for (at, name) in [
            "m_ready",
            "m_pl_ready",
            "m_wr_ready",
            "m_wd_ready",
            "m_own_ready",
            "m_own_pl_ready",
            "m_read_ready",
            "m_read_pl_ready",
        ]
        .into_iter()
        .enumerate()
        {
            let ready = self.stalls.ready(at);
            self.set(name, ready.into());
        }
        self.answer_notices();
        self.drive_reads();
        for name in ["m_own_unwanted", "m_read_unwanted"] {
            let unwanted = self.rng.random::<bool>();
            self.set(name, unwanted.into());
        }
    }

    pub(super) fn sample(&mut self) -> Result<()> {
        let now = self.now;
        for (at, valid, last) in [
            (0, "m_valid", None),
            (1, "m_pl_valid", Some("m_pl_last")),
            (2, "m_wr_valid", None),
            (3, "m_wd_valid", None),
            (4, "m_own_valid", None),
            (5, "m_own_pl_valid", Some("m_own_pl_last")),
            (6, "m_read_valid", None),
            (7, "m_read_pl_valid", Some("m_read_pl_last")),
        ] {
            let last = last.is_none_or(|name| self.is(name));
            self.stalls.observe(at, self.is(valid), last);
        }
        let events = self.get("events");
        for (bit, count) in self.coverage.events.iter_mut().enumerate() {
            *count += events >> bit & 1;
        }
        if self.is("m_look_valid") {
            let need = self.looks_for()?;
            let (key, domain) = (self.get("m_look_key") as u32, self.get("m_look_pd") as u16);
            let (addr, len) = (self.get("m_look_addr"), self.get("m_look_len"));
            let held = |region: &Region| region.holds(key, domain, addr, len, need);
            let ok = len == 0 || self.regions.iter().any(held);
            self.looks.push_back((now + LOOKUP, ok));
        }
        if let Some(frame) = self.passes("m_own", Class::Own)? {
            self.own.push_back(frame);
        }
        if let Some(frame) = self.passes("m_read", Class::Read)? {
            self.read_frames.push_back(frame);
        }
        if self.is("s_valid") && self.is("s_ready") {
            let frame = self.inbox.pop_front().ok_or("no frame")?;
            *self.coverage.classes.entry(frame.class()).or_default() += 1;
            if !self.is("s_unwanted") {
                self.payload.extend(words(&frame.body, now + 6));
            }
        }
        if self.is("s_pl_valid") && self.is("s_pl_ready") {
            self.payload.pop_front();
        }
        for (port, frames, left) in [
            ("m_own_pl", &mut self.own, &mut self.own_words),
            ("m_read_pl", &mut self.read_frames, &mut self.read_words),
        ] {
            let get = |name: &str| self.model.get(self.ports[&format!("{port}_{name}")]);
            if get("valid") == 0 || get("ready") == 0 {
                continue;
            }
            if left.is_empty() {
                let frame = frames.pop_front().ok_or("words of no frame")?;
                *left = words(&frame.body, 0);
            }
            let want = left.pop_front().map(|(_, data, last)| (data, last));
            let is = (get("data"), get("last") == 1);
            if want != Some(is) {
                return Err(format!("word {is:x?} at {port}, wanted {want:x?}"));
            }
        }
        self.memory()?;
        self.windows()?;
        self.judged()?;
        self.departures()?;
        if let Some(End::Ending { .. }) = self.end
            && self.is("s_end_ready")
        {
            self.end = None;
            self.coverage.ends += 1;
        }
        Ok(())
    }

    /// A frame leaves for others, as it came; with what follows, if that is wanted.
    fn passes(&self, port: &str, class: Class) -> Result<Option<Frame>> {
        let get = |name: &str| self.get(&format!("{port}_{name}"));
        if get("valid") == 0 || get("ready") == 0 {
            return Ok(None);
        }
        let frame = self.inbox.front().ok_or("a frame that is not there")?;
        let told = ["node", "opcode", "dest", "psn", "head", "short", "len"].map(get);
        let length = frame.body.len();
        let wanted = [
            frame.from.into(),
            (frame.bth.opcode & 15).into(),
            frame.bth.dest_qp.into(),
            frame.bth.psn.into(),
            u64::from_be_bytes(head(&frame.body)),
            (length < 8).into(),
            length.saturating_sub(8) as u64,
        ];
        if frame.class() != class || told != wanted {
            return Err(format!("{frame:?} leaves at {port} as {told:x?}"));
        }
        Ok((get("unwanted") == 0 && length > 8).then(|| frame.clone()))
    }

    /// Writes of host memory: inside what a transfer may write to, and what its sender has sent for that place.
    pub(super) fn memory(&mut self) -> Result<()> {
        let now = self.now;
        if self.is("m_wr_valid") && self.is("m_wr_ready") {
            let (addr, len) = (self.get("m_wr_addr"), self.get("m_wr_len") as usize);
            if len == 0 || len > 4_096 {
                return Err(format!("a write of {len} bytes"));
            }
            self.writes.push_back(Write {
                addr,
                len,
                bytes: vec![],
            });
        }
        if self.is("m_wd_valid") && self.is("m_wd_ready") {
            let data = self.get("m_wd_data").to_le_bytes();
            let write = self.writes.front_mut().ok_or("a word of no write")?;
            write.bytes.extend_from_slice(&data);
            if write.bytes.len() >= write.len {
                let write = self.writes.pop_front().ok_or("no write")?;
                self.land(&write)?;
                let wait = self.rng.random_range(1..120);
                let due = self.done.back().copied().unwrap_or(0).max(now + wait);
                self.done.push_back(due);
            }
        }
        Ok(())
    }

    pub(super) fn land(&mut self, write: &Write) -> Result<()> {
        let upto = write.len as u64;
        let flow = self.flows.iter().find(|flow| {
            let offset = write.addr.wrapping_sub(flow.request.addr);
            flow.area.is_some()
                && !flow.closed
                && flow.ended.is_none_or(|(outcome, when)| {
                    outcome != Outcome::Ok && self.now < when + self.rest()
                })
                && offset < u64::from(flow.request.length)
                && offset + upto <= u64::from(flow.request.length)
        });
        let Some(flow) = flow else {
            let (addr, len) = (write.addr, write.len);
            let like = |flow: &&Flow| {
                addr.wrapping_sub(flow.request.addr) < u64::from(flow.request.length)
            };
            let like: Vec<&Flow> = self.flows.iter().filter(like).collect();
            return Err(format!(
                "{len} bytes at {addr:#x} are written for no transfer: {like:?}"
            ));
        };
        let from = (write.addr - flow.request.addr) as u32;
        for (at, is) in write.bytes[..write.len].iter().enumerate() {
            if *is != byte(flow.tag, from + at as u32) {
                return Err(format!("byte {at} behind {from} of {flow:?} is {is:#x}"));
            }
        }
        let (region, _) = flow.area.ok_or("no area")?;
        let region = &mut self.regions[region];
        let at = (write.addr - region.base) as usize;
        region.bytes[at..at + write.len].copy_from_slice(&write.bytes[..write.len]);
        Ok(())
    }

    /// Answers become frames and fly to their senders.
    pub(super) fn departures(&mut self) -> Result<()> {
        if self.is("m_valid") && self.is("m_ready") {
            let bth = Bth {
                opcode: 0xC0 | self.get("m_opcode") as u8,
                dest_qp: self.get("m_dest") as u32,
                psn: self.get("m_psn") as u32,
            };
            let body = self.get("m_head").to_be_bytes().to_vec();
            let len = self.get("m_len") as usize + 8;
            self.leaving
                .push_back((self.get("m_node") as u32, bth, len, body));
        }
        if self.is("m_pl_valid") && self.is("m_pl_ready") {
            let data = self.get("m_pl_data").to_le_bytes();
            let last = self.is("m_pl_last");
            let (_, _, len, body) = self
                .leaving
                .iter_mut()
                .find(|(_, _, len, body)| body.len() < *len)
                .ok_or("a word of no frame")?;
            body.extend_from_slice(&data);
            if (body.len() >= *len) != last {
                return Err(format!("the last of {len} bytes at {}", body.len()));
            }
        }
        while let Some((node, bth, len, body)) = self.leaving.front()
            && body.len() >= *len
        {
            let decoded = wire::decode(bth, body);
            let (message, _) = decoded.map_err(|e| format!("to {node}: {e}: {body:x?}"))?;
            if message.to_receiver() {
                return Err(format!("{message} to {node}"));
            }
            if let Message::ConnectResp(m) = &message
                && m.status != ConnectStatus::Ok
                && ((m.wptr, m.r#gen, m.w, m.credit) != (0, 0, 0, 0)
                    || (m.retry != 0) != (m.status == ConnectStatus::Busy))
            {
                return Err(format!("{m:?} says more than it may"));
            }
            let (node, message) = (*node, message);
            self.granted(node, &message)?;
            let faults = self.plan.faults;
            let item = (node, message);
            self.to_peers.send(&mut self.rng, faults, self.now, item);
            self.leaving.pop_front();
        }
        Ok(())
    }
}
