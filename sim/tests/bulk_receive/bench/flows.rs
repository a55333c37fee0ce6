//! Transfers: when they begin, and how they end.

use super::notices::{Posted, posted};
use super::*;

impl Bench {
    /// Senders begin transfers, send packets and hear of ends.
    pub(super) fn senders(&mut self) -> Result<()> {
        let tick = self.tick();
        if self.starting && self.rng.random_range(0..600) == 0 {
            self.start();
        }
        for at in 0..self.peers.len() {
            if (self.now + 20 * at as u64).is_multiple_of(self.plan.gap)
                && let Some(out) = self.peers[at].sender.next_packet(tick)
            {
                let node = self.peers[at].node;
                let flow = self
                    .flows
                    .iter()
                    .find(|flow| (flow.node, flow.slot, flow.xid) == (node, out.slot, out.xid));
                let frame = frame_of(node, &out.msg, flow.expect("a transfer"));
                let faults = self.plan.faults;
                self.recent.push_back(frame.clone());
                if self.recent.len() > 16 {
                    self.recent.pop_front();
                }
                self.to_card.send(&mut self.rng, faults, self.now, frame);
            }
        }
        for (node, message) in self.to_peers.come(self.now) {
            match self.peers.iter_mut().find(|peer| peer.node == node) {
                Some(peer) => peer.sender.on_message(&message, tick),
                None => self.heard.push(message),
            }
        }
        // Some give up, at any moment.
        if self.starting
            && self.plan.cancel_every > 0
            && self.rng.random_range(0..self.plan.cancel_every) == 0
        {
            self.cancel();
        }
        for at in 0..self.peers.len() {
            while let Some(done) = self.peers[at].sender.take_completion() {
                let key = (self.peers[at].node, done.slot, done.xid);
                self.ended(key, done.outcome)?;
            }
        }
        Ok(())
    }

    fn cancel(&mut self) {
        let live: Vec<usize> = (0..self.flows.len())
            .filter(|&at| self.flows[at].ended.is_none())
            .collect();
        if live.is_empty() {
            return;
        }
        let at = live[self.rng.random_range(0..live.len())];
        let (node, slot) = (self.flows[at].node, self.flows[at].slot);
        if let Some(peer) = self.peers.iter_mut().find(|peer| peer.node == node) {
            self.flows[at].may_end |= peer.sender.cancel(slot);
        }
    }

    pub(super) fn ended(&mut self, key: (u32, u16, u32), outcome: Outcome) -> Result<()> {
        let now = self.now;
        let flow = self
            .flows
            .iter_mut()
            .find(|flow| (flow.node, flow.slot, flow.xid) == key)
            .ok_or("no such transfer")?;
        if flow.ended.is_some() {
            return Err(format!("{flow:?} ends twice"));
        }
        flow.ended = Some((outcome, now));
        *self.coverage.outcomes.entry(outcome).or_default() += 1;
        // A late receive request may be too late.
        let late =
            matches!(flow.header.purpose, Purpose::Notify(_)) && posted(flow.tag) == Posted::Late;
        // A card that was reset knows no READ of before.
        let responds = matches!(flow.header.purpose, Purpose::Response(_));
        let fine = outcome == flow.wanted
            || (flow.may_end && responds && outcome == Outcome::Refused)
            || (late && (flow.wanted, outcome) == (Outcome::Ok, Outcome::NotReady))
            || (flow.may_end
                && matches!(
                    outcome,
                    Outcome::Ok
                        | Outcome::Aborted
                        | Outcome::Cancelled
                        | Outcome::NotReady
                        | Outcome::Access
                        | Outcome::BadQp
                        | Outcome::Unreachable
                        | Outcome::Unresponsive
                ));
        if !fine {
            let what = format!("{flow:?} ends {outcome:?}");
            return Err(format!("{what}; {}", self.under_way()));
        }
        // Whatever ends well is in memory, byte by byte.
        if outcome == Outcome::Ok {
            let flow = flow.clone();
            let wants = matches!(flow.header.purpose, Purpose::Notify(_));
            if flow.told != u32::from(wants) {
                return Err(format!("{flow:?} ends well"));
            }
            self.all_there(&flow)?;
            if let Purpose::Response(token) = flow.header.purpose {
                self.has_ended(token)?;
            }
            if flow.area.is_some() {
                self.coverage.bytes += u64::from(flow.request.length);
            }
        } else if outcome == Outcome::NotReady && (flow.told > 0 || flow.refused == 0) {
            return Err(format!("{flow:?} is not ready"));
        }
        Ok(())
    }

    /// What waits, and for what.
    pub(super) fn under_way(&self) -> String {
        let offered = [
            "s",
            "s_pl",
            "m",
            "m_pl",
            "m_wr",
            "m_wd",
            "m_own",
            "m_own_pl",
            "m_read",
            "m_read_pl",
            "m_answer",
            "s_access",
        ];
        let offered: Vec<_> = offered
            .into_iter()
            .map(|port| {
                let valid = self.is(&format!("{port}_valid"));
                (port, valid, self.is(&format!("{port}_ready")))
            })
            .filter(|(_, valid, _)| *valid)
            .collect();
        let queues = [
            self.inbox.len(),
            self.payload.len(),
            self.looks.len(),
            self.writes.len(),
            self.done.len(),
            self.leaving.len(),
        ];
        let class = self.inbox.front().map(Frame::class);
        format!(
            "offered {offered:?}, waiting {queues:?} {class:?}, {:?}, {:?}",
            self.end, self.coverage
        )
    }

    /// A region and the place in it of an area that nobody uses.
    pub(super) fn area(&mut self, need: u8) -> Option<(usize, u64)> {
        let mut free: Vec<(usize, u64)> = vec![];
        let regions = self.regions.iter().enumerate();
        for (at, region) in regions.filter(|(_, region)| region.rights & need != 0) {
            let count = region.bytes.len() as u64 / AREA;
            free.extend((0..count).map(|area| (at, area * AREA)));
        }
        let now = self.now;
        let used = self.flows.iter().filter(|flow| match flow.ended {
            None => true,
            Some((Outcome::Ok, _)) => false,
            Some((_, when)) => now < when + self.rest(),
        });
        for area in used.filter_map(|flow| flow.area) {
            free.retain(|other| *other != area);
        }
        (!free.is_empty()).then(|| free[self.rng.random_range(0..free.len())])
    }

    pub(super) fn start(&mut self) {
        let at = self.rng.random_range(0..self.peers.len());
        // Some answer READs of the host (BW-11).
        let responds = self.rng.random_bool(0.3);
        let need = [REMOTE_WRITE, LOCAL_WRITE][usize::from(responds)];
        let Some((region, place)) = self.area(need) else {
            return;
        };
        if !self.peers[at].sender.has_room() {
            return;
        }
        let owner = &self.regions[region];
        let (domain, key, base) = (owner.domain, owner.key(), owner.base);
        let pairs: Vec<Pair> = self
            .pairs
            .iter()
            .copied()
            .filter(|pair| pair.receives() && pair.domain == domain)
            .collect();
        let pair = pairs[self.rng.random_range(0..pairs.len())];
        let mtu = self.rng.random_range(8..=12);
        let length = match self.rng.random_range(0..6) {
            0 => self.rng.random_range(0..20),
            1 => 1 << self.rng.random_range(0..13),
            _ => self.rng.random_range(0..AREA as u32 - 64),
        };
        // To the very end of an area, or from anywhere in it.
        let room = (AREA as u32 - length).min(64);
        let offset = match self.rng.random_range(0..3) {
            0 => AREA - u64::from(length.max(1)),
            _ => self.rng.random_range(0..=room).into(),
        };
        let mut request = Request {
            dst: 1,
            addr: base + place + offset,
            rkey: key,
            length,
            mtu,
            oldest_first: false,
        };
        let mut header = Transfer {
            qpn: pair.qpn,
            source: self.rng.random_range(0..1 << 24),
            q_key: pair.q_key,
            purpose: Purpose::Write,
        };
        // Named after the transfer, so that it is never the same.
        let notify = !responds && self.rng.random_bool(0.4);
        if responds {
            let token = u64::from(self.next_tag).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            header.purpose = Purpose::Response(token);
        } else if notify {
            header.purpose = Purpose::Notify(self.next_tag.wrapping_mul(0x9E37_79B1));
        }
        // A READ of the host waits for it.
        let mut answers = responds;
        let wrong = self.plan.wrong;
        if self.chance(wrong) {
            let bit = |rng: &mut SmallRng, upto: u32| 1u64 << rng.random_range(0..upto);
            let rng = &mut self.rng;
            match rng.random_range(0..9) {
                0 => header.qpn ^= bit(rng, 24) as u32,
                1 => header.qpn = [7, 9][rng.random_range(0..2)],
                2 => header.q_key ^= bit(rng, 32) as u32,
                // Not one that a command makes the right one.
                3 => request.rkey ^= (bit(rng, 27) << 5) as u32,
                4 => request.addr ^= bit(rng, 64),
                5 => {
                    answers = false;
                    if !responds {
                        header.purpose = Purpose::Response(rng.random());
                    }
                }
                6 => request.rkey = self.regions[2].key(),
                // One byte below the region, or above it.
                7 => request.addr = base.wrapping_sub(1),
                _ => request.length = (1 << 16) + 1 - (request.addr - base) as u32,
            }
            if request.addr.checked_add(request.length.into()).is_none() {
                return;
            }
        }
        let mut wanted = wanted(&self.pairs, &self.regions, &request, &header, answers);
        // What may go on must stay in its area; of what is refused nothing may ever be written.
        let inside = request.addr >= base + place
            && request.addr - (base + place) + u64::from(request.length) <= AREA;
        if wanted == Outcome::Ok && request.length > 0 && !inside {
            return;
        }
        let fits = wanted == Outcome::Ok;
        if fits && notify && posted(self.next_tag) == Posted::Never {
            wanted = Outcome::NotReady;
        }
        let tick = self.tick();
        let Ok((slot, xid)) = self.peers[at].sender.start(request, tick) else {
            return;
        };
        let rest = self.rest();
        self.flows.retain(|flow| match flow.ended {
            Some((_, when)) => when + 4 * rest > self.now,
            None => true,
        });
        if answers {
            self.asks(&header);
        }
        self.flows.push(Flow {
            tag: self.next_tag,
            node: self.peers[at].node,
            slot,
            xid,
            request,
            header,
            wanted,
            may_end: false,
            closed: false,
            area: (fits && request.length > 0).then_some((region, place)),
            ended: None,
            told: 0,
            refused: 0,
        });
        self.next_tag += 1;
    }
}
