//! What comes from the line, good and bad, and commands that end regions and queue pairs.

use super::*;

impl Bench {
    /// Frames come, those of others among them.
    pub(super) fn arrivals(&mut self) {
        for frame in self.to_card.come(self.now) {
            if self.inbox.len() < 64 {
                self.inbox.push_back(frame);
            }
        }
        let forge = self.plan.forge;
        if self.starting && self.inbox.len() < 32 && self.chance(forge) {
            let frame = self.forged();
            self.inbox.push_back(frame);
        }
    }

    /// A frame that must change nothing but a counter: anything with a bit turned, or of a stranger.
    pub(super) fn forged(&mut self) -> Frame {
        loop {
            let like = match self.flows.len() {
                0 => None,
                count => Some(self.flows[self.rng.random_range(0..count)].clone()),
            };
            let mut frame = self.any_frame(like.as_ref());
            // A packet of now with other bytes, of an incarnation that its window will never have.
            if self.chance(200) && !self.recent.is_empty() {
                let at = self.rng.random_range(0..self.recent.len());
                frame = self.recent[at].clone();
                if frame.class() == Class::Data {
                    frame.body[8..].fill(0xEE);
                    frame.body[5] ^= 1 << self.rng.random_range(0..8);
                    return frame;
                }
            }
            let stranger = self.chance(300);
            if stranger {
                frame.from = 0x4321;
            }
            for _ in 0..self.rng.random_range(1..4) {
                match self.rng.random_range(0..8) {
                    0 => frame.bth.opcode ^= 1 << self.rng.random_range(0..4),
                    1 => frame.bth.dest_qp ^= 1 << self.rng.random_range(0..24),
                    2 => frame.bth.psn ^= 1 << self.rng.random_range(0..24),
                    3 => {
                        let len = self.rng.random_range(0..70);
                        frame.body.resize(len, 0);
                    }
                    4 => frame.from ^= 1 << self.rng.random_range(0..20),
                    _ if frame.body.is_empty() => {}
                    _ => {
                        let at = self.rng.random_range(0..frame.body.len().min(64));
                        frame.body[at] ^= 1 << self.rng.random_range(0..8);
                    }
                }
            }
            let class = frame.class();
            // What a stranger says with his own name may be taken for a message; it is of no transfer of others.
            let own_name = head(&frame.body)[2..4] == (frame.from as u16).to_be_bytes();
            let harmless = matches!(class, Class::Poll | Class::Abort | Class::Data)
                && own_name
                && !self.peers.iter().any(|peer| peer.node == frame.from);
            if matches!(
                class,
                Class::Own | Class::Read | Class::Bad | Class::Stray | Class::Stale
            ) || harmless
            {
                return frame;
            }
        }
    }

    pub(super) fn any_frame(&mut self, like: Option<&Flow>) -> Frame {
        use tributary_protocol::rw::{Abort, Complete, Poll, Reason};
        if self.chance(150) {
            return self.read_frame();
        }
        let (node, slot, xid) = like.map_or((5, 0, 1), |flow| (flow.node, flow.slot, flow.xid));
        let (wptr, r#gen) = (self.rng.random_range(0..16), self.rng.random_range(0..8));
        let (src, length) = (node, self.rng.random_range(0..5_000));
        let message = match self.rng.random_range(0..6) {
            0 | 1 => Message::Data(Data {
                src,
                wptr,
                r#gen,
                pidx: self.rng.random_range(0..20),
                tail: self.rng.random(),
                round: 0,
                len: 256,
            }),
            2 => Message::Connect(Connect {
                src,
                slot,
                xid,
                incarnation: 0,
                length,
                addr: self.rng.random(),
                rkey: self.rng.random(),
                mtu: 8,
            }),
            3 => Message::Poll(Poll {
                src,
                wptr,
                r#gen,
                slot,
                xid,
                seq: 3,
            }),
            4 => Message::Abort(Abort {
                src,
                slot,
                xid,
                reason: Reason::GaveUp,
            }),
            _ => Message::Complete(Complete {
                slot,
                xid,
                status: Status::Ok,
            }),
        };
        let payload = match message {
            Message::Data(_) => vec![0xEE; 256],
            Message::Connect(_) if self.rng.random() => vec![],
            Message::Connect(_) => Transfer {
                qpn: 3,
                source: 1,
                q_key: self.pairs[0].q_key,
                purpose: Purpose::Write,
            }
            .encode()
            .to_vec(),
            _ => vec![],
        };
        Frame::of(node, &message, &payload)
    }

    /// A queue pair or a region ends: everything comes to rest, its windows are closed, and it is there anew.
    pub(super) fn command(&mut self) {
        match self.end {
            None if self.plan.end_every > 0
                && self.starting
                && self.now % self.plan.end_every == self.plan.end_every - 1 =>
            {
                self.end = Some(End::Holding);
            }
            Some(End::Holding)
                if self.is("m_idle") && self.writes.is_empty() && self.access.is_none() =>
            {
                assert!(
                    matches!(self.telling, notices::Telling::Nothing),
                    "idle, but a notification has begun"
                );
                let pair = self.rng.random();
                let index = if pair {
                    let at = self.rng.random_range(0..3);
                    self.pairs[at].q_key = self.pairs[at].q_key.rotate_left(3) ^ 0x55;
                    self.tell_pair(at);
                    self.pairs[at].qpn
                } else {
                    let at = [0, 1, 3, 4][self.rng.random_range(0..4)];
                    self.regions[at].variant = self.regions[at].variant.wrapping_add(1);
                    self.regions[at].index
                };
                // Nothing of before is written any more.
                for flow in &mut self.flows {
                    let uses = match pair {
                        true => flow.header.qpn == index,
                        false => flow.request.rkey >> 8 == index,
                    };
                    flow.may_end |= uses;
                    // Of one without bytes no region is looked up: it may still begin.
                    let peer = self.peers.iter().find(|peer| peer.node == flow.node);
                    let begun = peer.is_some_and(|peer| peer.sender.connected(flow.slot));
                    flow.closed |= uses && (pair || flow.request.length > 0 || begun);
                }
                self.end = Some(End::Ending { pair, index });
            }
            _ => {}
        }
    }
}
