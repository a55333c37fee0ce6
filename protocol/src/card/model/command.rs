//! Commands.

use std::collections::{BTreeMap, VecDeque};

use super::regions::Region;
use super::{CardModel, Queue, queue::Ring};
use crate::card::command::{
    Command, REGION_LOCAL_WRITE, REGION_REMOTE_ATOMIC, REGION_REMOTE_READ, REGION_REMOTE_WRITE,
    REGION_VARIANT, SHAPE_COMPLETE, SHAPE_RECEIVE, SHAPE_SEND, SHAPE_TIMEOUT, SHAPE_VECTOR, State,
    Status,
};
use crate::card::regs::{COMMAND_CODE, COMMAND_INDEX};
use crate::xud::Shape;

/// Rings start at a multiple of this.
const RING_ALIGN: u64 = 64;

impl CardModel {
    /// Runs the command that was written, if there is one. What came before has ended: nothing is under way between steps.
    pub(super) fn run_command(&mut self) {
        let Some(word) = self.registers.command.take() else {
            return;
        };
        let (code, index) = (COMMAND_CODE.get(word), COMMAND_INDEX.get(word));
        self.registers.results = [0, 0];
        let done = match Command::from_code(code as u8) {
            None => Err(Status::BadCommand),
            Some(Command::OpenWindow) => self.open_window(index),
            Some(Command::CloseWindow) => self.close_window(index),
            Some(Command::SetRegion) => self.set_region(index),
            Some(Command::ClearRegion) => self.clear_region(index),
            Some(_) if index >= 1 << self.config.qps_log => Err(Status::BadIndex),
            Some(Command::CreateQp) => self.create_qp(index),
            Some(Command::ModifyQp) => self.modify_qp(index),
            Some(Command::DestroyQp) => self.destroy_qp(index),
            Some(Command::QueryQp) => {
                let state = self.queues.get(&index).map_or(State::Reset, |q| q.state);
                let epoch = self.engine.epoch(index).unwrap_or(0);
                self.registers.results = [state.code().into(), epoch.into()];
                Ok(())
            }
            Some(Command::NextEpoch) => match self.engine.next_epoch(index) {
                Some(epoch) => {
                    self.registers.results[0] = epoch.into();
                    Ok(())
                }
                None => Err(Status::BadState),
            },
        };
        self.registers.status = done.err().unwrap_or(Status::Ok);
    }

    fn create_qp(&mut self, qpn: u32) -> Result<(), Status> {
        let args = self.registers.args;
        let pair = |at: usize| u64::from(args[at]) | u64::from(args[at + 1]) << 32;
        let shape = args[0];
        let log = |field: crate::registers::Field| field.get(shape) as u8;
        let rings = [
            (pair(4), log(SHAPE_SEND)),
            (pair(6), log(SHAPE_RECEIVE)),
            (pair(8), log(SHAPE_COMPLETE)),
        ];
        let vector = SHAPE_VECTOR.get(shape);
        let domain = u16::try_from(args[2]).map_err(|_| Status::BadArgument)?;
        if vector >= 1 << self.config.vectors_log
            || args[3] >= 1 << 24
            || rings.iter().any(|(base, _)| base % RING_ALIGN != 0)
        {
            return Err(Status::BadArgument);
        }
        let engine = Shape {
            q_key: args[1],
            first_psn: args[3],
            timeout: SHAPE_TIMEOUT.get(shape) as u8,
            sends: 0,
            receives: super::receive::READ_AHEAD as u16,
            completions: 1 << log(SHAPE_COMPLETE),
        };
        self.engine
            .create_qp(qpn, engine)
            .map_err(|_| Status::BadState)?;
        self.engine.set_receiving(qpn, false);
        let [send, receive, complete] = rings.map(|(base, log)| Ring::new(base, log));
        let queue = Queue {
            state: State::Init,
            fatal: false,
            vector: vector as u8,
            domain,
            q_key: args[1],
            send,
            receive,
            complete,
            armed: None,
            flying: BTreeMap::new(),
            ahead: VecDeque::new(),
            taken: VecDeque::new(),
        };
        self.queues.insert(qpn, queue);
        self.registers.results[0] = self.engine.epoch(qpn).unwrap_or(0).into();
        Ok(())
    }

    fn modify_qp(&mut self, qpn: u32) -> Result<(), Status> {
        let code = u8::try_from(self.registers.args[0]).map_err(|_| Status::BadArgument)?;
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
        Ok(())
    }

    fn set_region(&mut self, index: u32) -> Result<(), Status> {
        let args = self.registers.args;
        let pair = |at: usize| u64::from(args[at]) | u64::from(args[at + 1]) << 32;
        let place = self.regions.place(index).ok_or(Status::BadIndex)?;
        let domain = u16::try_from(args[1]).map_err(|_| Status::BadArgument)?;
        let (base, length) = (pair(2), pair(4));
        if length == 0 || u128::from(base) + u128::from(length) > 1 << 64 {
            return Err(Status::BadArgument);
        }
        *place = Some(Region {
            variant: REGION_VARIANT.get(args[0]) as u8,
            rights: [
                REGION_LOCAL_WRITE,
                REGION_REMOTE_WRITE,
                REGION_REMOTE_READ,
                REGION_REMOTE_ATOMIC,
            ]
            .map(|right| right.get(args[0]) != 0),
            domain,
            base,
            length,
        });
        Ok(())
    }

    fn clear_region(&mut self, index: u32) -> Result<(), Status> {
        *self.regions.place(index).ok_or(Status::BadIndex)? = None;
        Ok(())
    }
}
