//! Receivers of the model behind the network.

use super::*;

impl Bench {
    /// Receivers get frames, and answer.
    pub(super) fn receive(&mut self) -> Result<()> {
        let (now, tick) = (self.now, self.tick());
        for (node, bth, body) in self.to_peers.come(now) {
            self.arrive(node, &bth, &body)?;
        }
        for at in 0..self.peers.len() {
            while self.peers[at]
                .writes
                .front()
                .is_some_and(|(due, ..)| *due <= now)
            {
                let peer = &mut self.peers[at];
                let Some((_, wptr, r#gen)) = peer.writes.pop_front() else {
                    break;
                };
                if peer.receiver.write_done(wptr, r#gen)
                    && let Some(done) = peer.receiver.finish(wptr)
                {
                    let there = peer.windows.remove(&wptr);
                    self.answer(at, Message::Complete(done.complete_msg));
                    self.all_came(there)?;
                }
            }
            if now.is_multiple_of(TICK) {
                let open: Vec<u16> = self.peers[at].windows.keys().copied().collect();
                let swept: Vec<Output> = open
                    .into_iter()
                    .flat_map(|wptr| self.peers[at].receiver.sweep(wptr, tick as u16))
                    .collect();
                for output in swept {
                    match output {
                        Output::Send { msg, .. } => self.answer(at, msg),
                        Output::Completion(done) => {
                            let there = self.peers[at].windows.remove(&done.wptr);
                            self.given_up(there)?;
                        }
                        Output::Write(_) => {}
                    }
                }
            }
        }
        for frame in self.to_card.come(now) {
            let of_read = usize::from(frame.1.opcode >= OPCODE_READ_REQUEST);
            self.inbox[of_read].push_back(frame);
        }
        Ok(())
    }

    pub(super) fn answer(&mut self, at: usize, message: Message) {
        let node = self.peers[at].node;
        // What a receiver of the model says can be said.
        let (bth, body) = wire::encode(&message).unwrap();
        for _ in 0..self.peers[at].receiver.config().frames_per_message() {
            let faults = self.plan.faults;
            self.to_card
                .send(&mut self.rng, faults, self.now, (node, bth, body.clone()));
        }
    }

    /// A frame of the card at its receiver.
    pub(super) fn arrive(&mut self, node: u32, bth: &Bth, body: &[u8]) -> Result<()> {
        let tick = self.tick() as u16;
        if bth.opcode >= OPCODE_READ_REQUEST {
            return self.read_arrives(node, bth, body);
        }
        let decoded = wire::decode(bth, body);
        let (message, payload) = decoded.map_err(|e| format!("to {node}: {e}: {body:x?}"))?;
        let strange = format!("{message:?} to {node} of another node");
        let message = message.sent_by(NODE).ok_or(strange)?;
        let Some(at) = self.peers.iter().position(|peer| peer.node == node) else {
            return Ok(());
        };
        match &message {
            Message::Data(m) => {
                let peer = &mut self.peers[at];
                let Ok(accepted) = peer.receiver.data(m, tick) else {
                    return Ok(());
                };
                let write = accepted.write;
                let there = peer
                    .windows
                    .get(&write.wptr)
                    .ok_or("a write for no window")?;
                let wait = self.rng.random_range(1..100);
                let due = peer
                    .writes
                    .back()
                    .map_or(0, |(due, ..)| *due)
                    .max(self.now + wait);
                peer.writes.push_back((due, write.wptr, write.r#gen));
                let flow = self
                    .by_address
                    .get(there)
                    .and_then(|id| self.flows.get_mut(id))
                    .ok_or("no flow")?;
                let from = (write.addr - flow.there) as usize;
                for (at, is) in payload.iter().enumerate() {
                    let wanted = byte(flow.address.wrapping_add((from + at) as u64));
                    if *is != wanted {
                        return Err(format!(
                            "byte {} is {is:#x}, wanted {wanted:#x}, of {flow:?}",
                            from + at
                        ));
                    }
                    if let Some(place) = flow.bytes.get_mut(from + at) {
                        *place = Some(*is);
                    }
                }
                if accepted.credit_due
                    && let Some(Output::Send { msg, .. }) =
                        self.peers[at].receiver.credit_update(m.wptr)
                {
                    self.answer(at, msg);
                }
            }
            Message::Connect(m) => {
                let header = Transfer::decode(payload).map_err(|e| format!("{m:?}: {e}"))?;
                let flow = self
                    .by_address
                    .get(&m.addr)
                    .and_then(|id| self.flows.get_mut(id));
                let flow = flow.ok_or_else(|| format!("{m:?} of no work request"))?;
                let wanted = Transfer {
                    qpn: flow.peer,
                    source: flow.qpn,
                    q_key: flow.q_key,
                    purpose: match &flow.kind {
                        Kind::Response(asked) => Purpose::Response(asked.token),
                        _ if flow.notifies => Purpose::Notify(flow.fields["msn"] as u32),
                        _ => Purpose::Write,
                    },
                };
                let log = match &flow.kind {
                    Kind::Response(asked) => asked.mtu,
                    _ => self.plan.mtu.ilog2() as u8,
                };
                if header != wanted
                    || (m.src, m.length, m.rkey, m.mtu) != (NODE, flow.length, flow.rkey, log)
                    || flow.node != node
                {
                    return Err(format!("{m:?} {header:?} of {flow:?}"));
                }
                let verdict = match m.rkey & 1 {
                    0 if flow.first_answer(m.slot, m.xid) => Verdict::Open,
                    0 => Verdict::Refuse(ConnectStatus::Refused),
                    _ => {
                        flow.is_refused();
                        Verdict::Refuse(ConnectStatus::Access)
                    }
                };
                let peer = &mut self.peers[at];
                let out = peer.receiver.connect_judged(m, verdict, tick);
                if let Some(aborted) = out.aborted {
                    peer.windows.remove(&aborted.wptr);
                }
                if let Some(Message::ConnectResp(granted)) = &out.reply
                    && granted.status == ConnectStatus::Ok
                {
                    peer.windows.insert(granted.wptr, m.addr);
                    flow.is_answered(m.slot, m.xid);
                }
                if let Some(reply) = out.reply {
                    self.answer(at, reply);
                }
            }
            Message::Poll(m) => {
                let reply = self.peers[at].receiver.poll(m);
                self.answer(at, reply);
            }
            Message::Abort(m) => {
                let peer = &mut self.peers[at];
                if let Some(done) = peer.receiver.abort(m) {
                    let there = peer.windows.remove(&done.wptr);
                    self.given_up(there)?;
                }
            }
            other => return Err(format!("{other} to a receiver")),
        }
        Ok(())
    }
}
