//! Commands.

use std::collections::{BTreeMap, VecDeque};

use super::regions::Region;
use super::{CardModel, Queue, queue::Ring};
use crate::card::command::argument::{create_qp, modify_qp, next_epoch, query_qp, set_region};
use crate::card::command::{Argument, Built, Command, PATIENCE_LOG, State, Status};
use crate::card::regs::{COMMAND_CODE, COMMAND_INDEX};
use crate::xud::Shape;

impl CardModel {
    /// Runs the command that was written, if there is one. What came before has ended, as nothing is under way between steps,
    /// unless the card may not reach host memory: then what ends a queue pair, a region or a window waits.
    pub(super) fn run_command(&mut self, now: u64) {
        let Some(word) = self.registers.command else {
            return;
        };
        let mut done = Err(Status::NotIdle);
        if self.must_wait(word) {
            let since = *self.registers.waits_since.get_or_insert(now);
            if now - since <= self.config.clock_ns << PATIENCE_LOG {
                return;
            }
            self.registers.results = [0, 0];
        } else {
            done = self.execute(word);
        }
        self.registers.command = None;
        self.registers.waits_since = None;
        self.registers.status = done.err().unwrap_or(Status::Ok);
    }

    /// Whether a command needs a card at rest, the card is not, and the command would not be refused anyway.
    fn must_wait(&self, word: u32) -> bool {
        let command = Command::from_code(COMMAND_CODE.get(word) as u8);
        command.is_some_and(|command| command.call().waits)
            && !self.is_at_rest()
            && (self.registers.waits_since.is_some() || self.clone().execute(word).is_ok())
    }

    /// Nothing waits for host memory: without bus mastering work that was posted and is to be fetched does, too.
    fn is_at_rest(&self) -> bool {
        let fetches = |queue: &Queue| {
            let sends = self.registers.enabled() && queue.state == State::ReadyToSend;
            sends && queue.send.held() > 0 || queue.reads_ahead()
        };
        let bulk = self.bulk.as_ref().is_none_or(|bulk| bulk.is_at_rest());
        self.pci.bus_master
            || bulk
                && self.reductions.as_ref().is_none_or(|r| r.is_at_rest())
                && self.engine.is_at_rest()
                && !self.queues.values().any(fetches)
    }

    fn execute(&mut self, word: u32) -> Result<(), Status> {
        let (code, index) = (COMMAND_CODE.get(word), COMMAND_INDEX.get(word));
        self.registers.results = [0, 0];
        match Command::from_code(code as u8) {
            None => Err(Status::BadCommand),
            Some(Command::JoinGroup) if self.reductions.is_none() => Err(Status::BadCommand),
            Some(command) => self.run(command, index),
        }
    }

    fn run(&mut self, command: Command, index: u32) -> Result<(), Status> {
        let built = Built {
            queue_pairs: 1 << self.config.qps_log,
            regions: 1 << self.config.regions_log,
            vectors: 1 << self.config.vectors_log,
        };
        command.call().check(index, &self.registers.args, &built)?;
        match command {
            Command::CreateQp => self.create_qp(index),
            Command::ModifyQp => self.modify_qp(index),
            Command::DestroyQp => self.destroy_qp(index),
            Command::QueryQp => {
                let state = self.queues.get(&index).map_or(State::Reset, |q| q.state);
                let epoch = self.engine.epoch(index).unwrap_or(0);
                let results = &mut self.registers.results;
                query_qp::STATE.put(results, state.code());
                query_qp::EPOCH.put(results, epoch);
                Ok(())
            }
            Command::NextEpoch => {
                let epoch = self.engine.next_epoch(index).ok_or(Status::BadState)?;
                next_epoch::EPOCH.put(&mut self.registers.results, epoch);
                Ok(())
            }
            Command::SetRegion => self.set_region(index),
            Command::ClearRegion => self.clear_region(index),
            Command::OpenWindow => self.open_window(index as u16),
            Command::JoinGroup => self.join_group(index),
            Command::CloseWindow => {
                self.close_window(index as u16);
                Ok(())
            }
        }
    }

    /// Value of an argument.
    pub(super) fn argument(&self, argument: &Argument) -> u64 {
        argument.get(&self.registers.args)
    }

    fn create_qp(&mut self, qpn: u32) -> Result<(), Status> {
        let value = |argument| self.argument(argument);
        let rings = [
            (&create_qp::SEND_BASE, &create_qp::SEND_LOG),
            (&create_qp::RECEIVE_BASE, &create_qp::RECEIVE_LOG),
            (&create_qp::COMPLETE_BASE, &create_qp::COMPLETE_LOG),
        ];
        let [send, receive, complete] =
            rings.map(|(base, log)| Ring::new(value(base), value(log) as u8));
        let (q_key, domain) = (value(&create_qp::Q_KEY), value(&create_qp::DOMAIN));
        let vector = value(&create_qp::VECTOR);
        let engine = Shape {
            q_key: q_key as u32,
            first_psn: value(&create_qp::FIRST_PSN) as u32,
            timeout: value(&create_qp::TIMEOUT) as u8,
            sends: 0,
            receives: super::receive::READ_AHEAD as u16,
            completions: 1 << complete.log,
        };
        self.engine
            .create_qp(qpn, engine)
            .map_err(|_| Status::BadState)?;
        self.engine.set_receiving(qpn, false);
        let queue = Queue {
            state: State::Init,
            fatal: false,
            vector: vector as u8,
            group: None,
            psn: engine.first_psn,
            domain: domain as u16,
            q_key: q_key as u32,
            send,
            receive,
            complete,
            armed: None,
            flying: BTreeMap::new(),
            parked: None,
            ahead: VecDeque::new(),
            taken: VecDeque::new(),
        };
        self.queues.insert(qpn, queue);
        let epoch = self.engine.epoch(qpn).unwrap_or(0);
        create_qp::EPOCH.put(&mut self.registers.results, epoch);
        Ok(())
    }

    fn modify_qp(&mut self, qpn: u32) -> Result<(), Status> {
        let code = self.argument(&modify_qp::STATE) as u8;
        let to = State::from_code(code).ok_or(Status::BadArgument)?;
        let queue = self.queues.get_mut(&qpn).ok_or(Status::BadState)?;
        if !queue.state.leads_to(to) {
            return Err(Status::BadState);
        }
        queue.state = to;
        let receives = queue.receives();
        self.engine.set_receiving(qpn, receives);
        Ok(())
    }

    fn destroy_qp(&mut self, qpn: u32) -> Result<(), Status> {
        self.queues.remove(&qpn).ok_or(Status::BadState)?;
        self.engine.destroy_qp(qpn);
        self.with_bulk(|bulk, _| bulk.end_queue_pair(qpn));
        if let Some(rings) = &mut self.rings {
            rings.end_queue_pair(qpn);
        }
        if let Some(reductions) = &mut self.reductions {
            reductions.end_queue_pair(qpn);
        }
        Ok(())
    }

    fn set_region(&mut self, index: u32) -> Result<(), Status> {
        let value = |argument| self.argument(argument);
        let region = Region {
            variant: value(&set_region::VARIANT) as u8,
            rights: [
                &set_region::LOCAL_WRITE,
                &set_region::REMOTE_WRITE,
                &set_region::REMOTE_READ,
                &set_region::REMOTE_ATOMIC,
            ]
            .map(|right| value(right) != 0),
            domain: value(&set_region::DOMAIN) as u16,
            base: value(&set_region::BASE),
            length: value(&set_region::LENGTH),
        };
        let place = self.regions.place(index).ok_or(Status::BadIndex)?;
        let changed = place.replace(region).is_some_and(|old| old != region);
        if changed {
            self.with_bulk(|bulk, _| bulk.end_region(index));
        }
        Ok(())
    }

    fn clear_region(&mut self, index: u32) -> Result<(), Status> {
        *self.regions.place(index).ok_or(Status::BadIndex)? = None;
        self.with_bulk(|bulk, _| bulk.end_region(index));
        Ok(())
    }
}
