//! What the driver and card_regs do: queue pairs made, changed, ended; work posted; all brought to its end.

use super::bench::{Bench, Check, Qp};
use super::world::{Shape, work_request};
use tributary_protocol::card::command::State;
use tributary_protocol::card::descriptor::WORK_LEN;

impl Bench {
    /// Queues the words of a new queue pair, in the state Init.
    pub fn create(&mut self, qpn: u32, shape: Shape) {
        let noise = self.dice.word();
        // It joins a group only then.
        let alone = Shape {
            member: false,
            ..shape
        };
        let words = [
            (
                1,
                u64::from(shape.q_key) | u64::from(shape.first) << 32 | noise << 56,
            ),
            (2, shape.base | noise & 63),
            (3, noise),
            (4, noise),
            (5, noise),
            (6, noise),
            (0, alone.word_0(State::Init.code(), noise)),
        ];
        for (word, data) in words {
            self.contexts.push_back((qpn, word, data));
        }
        if shape.member {
            let word = shape.word_0(State::Init.code(), noise);
            self.contexts.push_back((qpn, 0, word));
        }
        self.qps[qpn as usize] = Qp {
            shape,
            ring: vec![[0; WORK_LEN]; 1 << shape.log],
            ..Qp::none(&mut self.dice, qpn)
        };
    }

    /// What a new queue pair is made with; some are in groups.
    pub fn shape(&mut self, qpn: u32) -> Shape {
        let mut shape = Shape::random(&mut self.dice, qpn);
        let group = self.manner.group;
        shape.member = group > 0 && self.dice.chance(group);
        shape
    }

    /// Queues a new state.
    pub fn set_state(&mut self, qpn: u32, state: State) {
        let noise = self.dice.word();
        let word = self.qps[qpn as usize].shape.word_0(state.code(), noise);
        self.contexts.push_back((qpn, 0, word));
    }

    /// Gives all queued words of contexts.
    pub fn settle(&mut self) -> Check {
        while !self.contexts.is_empty() || !self.doorbells.is_empty() || self.given != (None, None)
        {
            self.clock()?;
        }
        Ok(())
    }

    /// A queue pair that sends.
    pub fn connect(&mut self, qpn: u32, shape: Shape) -> Check {
        self.create(qpn, shape);
        self.set_state(qpn, State::ReadyToReceive);
        self.set_state(qpn, State::ReadyToSend);
        self.settle()
    }

    /// Holds, waits until the block is idle, ends the queue pair, and lets go.
    pub fn destroy(&mut self, qpn: u32) -> Check {
        self.settle()?;
        self.hold = true;
        self.clock()?;
        let limit = self.now + 40_000;
        while !self.idle {
            self.expect(self.now < limit, "does not become idle")?;
            self.clock()?;
        }
        self.fatal.retain(|&(_, other)| other != qpn);
        self.set_state(qpn, State::Reset);
        self.settle()?;
        self.expect(self.idle, "not idle although it was, and nothing may begin")?;
        let mut lost: Vec<u32> = vec![];
        self.places.kept.retain(|&(owner, psn), _| {
            let stays = owner != qpn;
            if !stays {
                lost.push(psn);
            }
            stays
        });
        self.flights.retain(|&(_, owner, _)| owner != qpn);
        self.endings.retain(|&owner| owner != qpn);
        let used = self.slots.used.insert(qpn, 0).unwrap_or(0);
        let held = lost.len() + self.qps[qpn as usize].bulks;
        self.expect(used == held, "slots and places do not match")?;
        self.expect(self.reduce_place.is_none(), "a place is kept for ever")?;
        let waits = self.before.1.bulk.is_some_and(|work| work.qpn == qpn);
        if waits {
            self.bulk_ends = true;
            self.clock()?;
            self.bulk_ends = false;
        }
        self.qps[qpn as usize] = Qp::none(&mut self.dice, qpn);
        self.hold = false;
        Ok(())
    }

    /// Writes work requests into the ring, as many as there is room for, and tells the block.
    pub fn post(&mut self, qpn: u32, most: u64) -> u64 {
        let qp = &mut self.qps[qpn as usize];
        let room = (1u64 << qp.shape.log).saturating_sub(qp.written - qp.ended);
        let count = room.min(most);
        for _ in 0..count {
            let at = (qp.written % (1 << qp.shape.log)) as usize;
            qp.ring[at] = work_request(&mut self.dice, &self.manner, self.mtu);
            qp.written += 1;
        }
        if count > 0 {
            self.doorbells.push_back((qpn, 0, qp.written as u16));
        }
        count
    }

    /// Lets everything end, without refusals, and checks that it has ended exactly once.
    pub fn drain(&mut self) -> Check {
        self.hold = false;
        let manner = self.manner;
        self.manner.refuse = 0;
        self.manner.fail = 0;
        self.settle()?;
        let limit = self.now + 200_000;
        self.clocks(40)?;
        while !(self.idle
            && self.before.1.bulk.is_none()
            && self.flights.is_empty()
            && self.fatal.is_empty()
            && self.caught_up())
        {
            self.expect(self.now < limit, "does not come to its end")?;
            self.clock()?;
        }
        self.clocks(100)?;
        self.expect(self.places.kept.is_empty(), "a place is kept for ever")?;
        let used: usize = self.slots.used.values().sum();
        self.expect(used == 0, "a slot is reserved for ever")?;
        self.expect(self.owed == [0; 3], "stalls or local errors miscounted")?;
        self.manner = manner;
        Ok(())
    }

    fn caught_up(&self) -> bool {
        self.qps
            .iter()
            .all(|qp| qp.state != State::ReadyToSend || qp.gone || qp.fetched >= qp.posted)
    }
}
