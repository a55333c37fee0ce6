//! READ requests of peers (BW-11): they are judged as the receiving side does it, and answered by transfers, or refused.

use super::*;
use tributary_protocol::rw::packets;

/// Ticks before a request is made again.
const AGAIN: u64 = 250;
/// Requests with a wrong Q_Key, which nobody ever answers.
const TRIES: u32 = 3;

/// Requests of peers that wait, at most: a slow line has time for no more.
const ASKED: usize = 8;

/// A READ request of a peer.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub token: u64,
    pub mtu: u8,
    next_at: u64,
    tries: u32,
    /// The transfer that answers: slot and number.
    answer: Option<(u16, u32)>,
    /// Queue pair and key as the request says them.
    qpn: u32,
    q_key: u32,
}

/// What must be said of requests that were judged, in their order.
#[derive(Debug, Default)]
pub(super) struct Judge {
    /// When the request that is offered is judged.
    due: Option<u64>,
    /// Node and refusal; busy is said of those that were allowed, or nothing.
    say: VecDeque<(u32, ReadRefused)>,
}

impl Flow {
    fn asked(&mut self) -> Option<&mut Asked> {
        match &mut self.kind {
            Kind::Response(asked) => Some(asked),
            _ => None,
        }
    }

    /// Whether a CONNECT is the first one that answers, or that one again; always so of a WRITE.
    pub(super) fn first_answer(&mut self, slot: u16, xid: u32) -> bool {
        match self.asked() {
            Some(asked) => asked.answer.is_none_or(|one| one == (slot, xid)),
            None => true,
        }
    }

    /// The peer does not take what it has asked for, and asks no more.
    pub(super) fn is_refused(&mut self) {
        if self.asked().is_some() {
            self.ended = Some(self.wanted);
        }
    }

    pub(super) fn is_answered(&mut self, slot: u16, xid: u32) {
        if let Some(asked) = self.asked() {
            asked.answer = Some((slot, xid));
        }
    }
}

impl Bench {
    /// Peers ask, and ask again.
    pub(super) fn ask(&mut self) {
        let (every, tick) = (self.plan.asks, self.tick());
        let waits = |flow: &&Flow| matches!(flow.kind, Kind::Response(_)) && !flow.over();
        if self.starting
            && every > 0
            && self.rng.random_range(0..every) == 0
            && self.flows.values().filter(waits).count() < ASKED
        {
            self.begin_asking();
        }
        if !self.now.is_multiple_of(TICK) {
            return;
        }
        let mut messages = vec![];
        for flow in self.flows.values_mut() {
            let over = flow.over();
            let (node, peer, wanted) = (flow.node, flow.peer, flow.wanted);
            let (key, address, length) = (flow.key, flow.address, flow.length);
            let (there, rkey) = (flow.there, flow.rkey);
            let Some(asked) = flow.asked() else {
                continue;
            };
            let silent = wanted == Outcome::Unreachable && asked.tries < TRIES;
            if (over && !silent) || asked.answer.is_some() || asked.next_at > tick {
                continue;
            }
            asked.tries += 1;
            asked.next_at = tick + AGAIN;
            let request = ReadRequest {
                qpn: asked.qpn,
                node,
                source: peer,
                q_key: asked.q_key,
                token: asked.token,
                mtu: asked.mtu,
                length,
                address,
                rkey: key,
                to_address: there,
                to_key: rkey,
            };
            messages.push((node, ReadMessage::Request(request)));
        }
        for (node, message) in messages {
            self.tell(node, &message);
        }
    }

    fn begin_asking(&mut self) {
        let wrong = self.rng.random_range(0..1_000) < self.plan.wrong;
        let tick = self.tick();
        let rng = &mut self.rng;
        let open = self.regions.iter().copied();
        let open: Vec<Region> = open
            .filter(|region| region.rights & REMOTE_READ != 0)
            .collect();
        let mut region = open[rng.random_range(0..open.len())];
        let most = self.plan.most;
        let mut length = match rng.random_range(0..6) {
            0 => rng.random_range(0..20),
            1 => most >> rng.random_range(0..12),
            _ => rng.random_range(0..most),
        };
        let id = self.next_id;
        self.next_id += 1;
        let mut there = id << 33 | rng.random_range(0..1 << 32);
        let mut rkey = rng.random::<u32>() & !1;
        let mut mtu = rng.random_range(8..=12);
        let mut outcome = Outcome::Ok;
        let closed = self.regions.iter().copied();
        let closed: Vec<Region> = closed.filter(|one| one.rights & REMOTE_READ == 0).collect();
        let kind = if wrong { rng.random_range(0..8) } else { 8 };
        match kind {
            0 => outcome = Outcome::BadQp,
            1 => outcome = Outcome::Unreachable,
            2 if length > 0 => {
                (outcome, region) = (Outcome::RemoteAccess, closed[rng.random_range(0..2)]);
            }
            // More packets than a transfer has, and memory there that wraps.
            3 => (outcome, length, mtu) = (Outcome::RemoteLength, (1 << 29) + 1, 8),
            4 if length > 2 => {
                (outcome, there) = (Outcome::RemoteLength, u64::MAX - u64::from(length) + 2);
            }
            // The peer does not want it any more.
            5 => (outcome, rkey) = (Outcome::Aborted, rkey | 1),
            _ => {}
        }
        let room = match kind {
            3 => region.length - 1,
            _ => region.length - u64::from(length),
        };
        let mut address = region.base + rng.random_range(0..=room);
        if kind == 6 && length > 0 {
            (outcome, address) = (Outcome::RemoteAccess, (region.base + room).wrapping_add(1));
        }
        let mut key = region.key;
        if kind == 7 && length > 0 {
            (outcome, key) = (Outcome::RemoteAccess, key ^ 0x80);
        }
        let pairs = self.pairs.iter();
        let pairs: Vec<_> = pairs.filter(|pair| pair.1 == region.domain).collect();
        let (qpn, _, q_key) = *pairs[rng.random_range(0..pairs.len())];
        let asked = Asked {
            token: id << 48 | rng.random_range(0..1 << 48),
            mtu,
            next_at: tick,
            tries: 0,
            answer: None,
            qpn: if kind == 0 { qpn ^ 0x80_0000 } else { qpn },
            q_key: if kind == 1 { q_key ^ 0x10_0000 } else { q_key },
        };
        let bytes = if outcome == Outcome::Ok { length } else { 0 };
        let flow = Flow {
            kind: Kind::Response(asked),
            node: PEERS[rng.random_range(0..PEERS.len())],
            length,
            address,
            there,
            rkey,
            key,
            qpn,
            peer: rng.random_range(0..1 << 24),
            q_key,
            fields: BTreeMap::new(),
            notifies: false,
            wanted: outcome,
            may: BTreeSet::new(),
            flushed: false,
            begun: true,
            ended: None,
            bytes: vec![None; bytes as usize],
        };
        self.by_address.insert(there, id);
        self.flows.insert(id, flow);
    }

    /// The request that is offered, as it was asked, and what becomes of it.
    fn judge(&self) -> Result<(u32, u32, u64, Option<Refusal>, u64, u16)> {
        let names = ["qpn", "q_key", "key", "addr", "length", "too_long"];
        let told = names.map(|name| self.get(&format!("m_access_{name}")));
        for flow in self.flows.values() {
            let Kind::Response(asked) = &flow.kind else {
                continue;
            };
            let wraps = u128::from(flow.there) + u128::from(flow.length) > 1 << 64;
            let too_long = packets(flow.length, asked.mtu) > 1 << 21 || wraps;
            let wanted = [
                asked.qpn.into(),
                asked.q_key.into(),
                flow.key.into(),
                flow.address,
                flow.length.into(),
                too_long.into(),
            ];
            if told != wanted {
                continue;
            }
            let pair = self.pairs.iter().find(|pair| pair.0 == asked.qpn);
            let length = u64::from(flow.length);
            let held = |domain| {
                let holds = |region: &Region| {
                    region.rights & REMOTE_READ != 0
                        && region.holds(flow.key, domain, flow.address, length)
                };
                length == 0 || self.regions.iter().any(holds)
            };
            let (reason, verdict) = match pair {
                None => (Some(Refusal::BadQp), ConnectStatus::BadQp as u64),
                Some(pair) if pair.2 != asked.q_key => (None, 7),
                Some(_) if too_long => (Some(Refusal::Length), ConnectStatus::Refused as u64),
                Some(pair) if held(pair.1) => (Some(Refusal::Busy), 0),
                Some(_) => (Some(Refusal::Access), ConnectStatus::Access as u64),
            };
            let domain = pair.map_or(0, |pair| pair.1);
            return Ok((flow.node, flow.peer, asked.token, reason, verdict, domain));
        }
        Err(format!("{told:x?} is to be judged, which nobody has asked"))
    }

    pub(super) fn drive_access(&mut self) {
        let due = self.asked.due.is_some_and(|due| due <= self.now);
        self.set("m_access_ready", due.into());
        if due && let Ok((_, _, _, _, verdict, domain)) = self.judge() {
            self.set("m_access_verdict", verdict);
            self.set("m_access_pd", domain.into());
        }
    }

    pub(super) fn access_taken(&mut self) -> Result<()> {
        if !self.is("m_access_valid") {
            return Ok(());
        }
        if self.asked.due.is_none() {
            self.asked.due = Some(self.now + self.rng.random_range(1..60));
        }
        if !self.is("m_access_ready") {
            return Ok(());
        }
        self.asked.due = None;
        let (node, qpn, token, reason, verdict, _) = self.judge()?;
        self.coverage.judged[verdict as usize] += 1;
        if let Some(reason) = reason {
            let retry = if reason == Refusal::Busy {
                BUSY_HINT
            } else {
                0
            };
            let refused = ReadRefused {
                qpn,
                node: NODE,
                token,
                reason,
                retry,
            };
            self.asked.say.push_back((node, refused));
        }
        Ok(())
    }

    /// A refusal leaves: what must be said, and in order.
    pub(super) fn said(&mut self, node: u32, bth: &Bth, body: &[u8]) -> Result<()> {
        let message = ReadMessage::decode(bth, body);
        let message = message.map_err(|e| format!("to {node}: {e}: {body:x?}"))?;
        let own = message.sent_by(NODE);
        let message = own.ok_or_else(|| format!("{message:?} to {node} of another node"))?;
        while let Some((to, refused)) = self.asked.say.pop_front() {
            if (to, ReadMessage::Refused(refused)) == (node, message) {
                self.coverage.busy += u64::from(refused.reason == Refusal::Busy);
                return Ok(());
            }
            // One that was allowed is under way, and nothing is said of it.
            if refused.reason != Refusal::Busy {
                return Err(format!("{message:?} to {node}, wanted {refused:?} to {to}"));
            }
        }
        Err(format!("{message:?} to {node}, of nothing"))
    }

    /// A refusal at the peer that has asked.
    pub(super) fn refusal_arrives(&mut self, node: u32, m: &ReadRefused) -> Result<()> {
        let tick = self.tick();
        let of = |flow: &&mut Flow| {
            flow.node == node
                && matches!(&flow.kind, Kind::Response(asked) if asked.token == m.token)
        };
        let flow = self.flows.values_mut().find(of);
        let flow = flow.ok_or_else(|| format!("{m:?} to {node}, which has not asked"))?;
        let outcome = match m.reason {
            Refusal::Busy => {
                if let Some(asked) = flow.asked() {
                    asked.next_at = tick + u64::from(m.retry);
                }
                return Ok(());
            }
            Refusal::Access => Outcome::RemoteAccess,
            Refusal::BadQp => Outcome::BadQp,
            Refusal::Length => Outcome::RemoteLength,
        };
        if flow.ended.is_none() {
            flow.ended = Some(outcome);
            if outcome != flow.wanted && flow.may.is_empty() {
                return Err(format!("{m:?} of {flow:?}"));
            }
        }
        Ok(())
    }

    /// A receiver has every byte of a transfer.
    pub(super) fn all_came(&mut self, there: Option<u64>) -> Result<()> {
        let id = there.and_then(|there| self.by_address.get(&there));
        let flow = id.and_then(|id| self.flows.get_mut(id));
        let flow = flow.ok_or("a window of no transfer")?;
        if flow.asked().is_none() {
            return Ok(());
        }
        for (at, is) in flow.bytes.iter().enumerate() {
            if *is != Some(byte(flow.address.wrapping_add(at as u64))) {
                return Err(format!("byte {at} is {is:?} of {flow:?}"));
            }
        }
        flow.ended = Some(Outcome::Ok);
        self.coverage.answered += 1;
        self.coverage.bytes += u64::from(flow.length);
        // Whether the card hears of it before its queue pair or region ends is not known.
        let unsure = flow.flushed || !flow.may.is_empty() || self.plan.end_every > 0;
        self.coverage.doubtful += u64::from(unsure);
        flow.bytes = vec![];
        Ok(())
    }

    /// The window of a transfer is closed otherwise.
    pub(super) fn given_up(&mut self, there: Option<u64>) -> Result<()> {
        let id = there.and_then(|there| self.by_address.get(&there));
        let flow = id.and_then(|id| self.flows.get_mut(id));
        let flow = flow.ok_or("a window of no transfer")?;
        match flow.asked().is_some() && !flow.flushed && flow.may.is_empty() {
            true => Err(format!("{flow:?} is given up")),
            false => Ok(()),
        }
    }

    /// Everything that was judged is counted, and said.
    pub(super) fn all_judged(&self) -> Result<()> {
        let left = |(_, refused): &&(u32, ReadRefused)| refused.reason != Refusal::Busy;
        if let Some(left) = self.asked.say.iter().find(left) {
            return Err(format!("{left:?} is never said"));
        }
        let count =
            |of: BulkCounter| self.coverage.events[of as usize - BulkCounter::Completed as usize];
        let judged = &self.coverage.judged;
        for (counter, wanted) in [
            (BulkCounter::BadLength, judged[2]),
            (BulkCounter::Access, judged[3]),
            (BulkCounter::BadQp, judged[4]),
            (BulkCounter::BadKey, judged[7]),
            (BulkCounter::Busy, self.coverage.busy),
        ] {
            if count(counter) != wanted {
                return Err(format!("{counter}: {}, of {wanted}", count(counter)));
            }
        }
        let (served, answered) = (count(BulkCounter::Served), self.coverage.answered);
        if served > answered || served + self.coverage.doubtful < answered {
            return Err(format!("{served} served, {answered} answered"));
        }
        Ok(())
    }
}
