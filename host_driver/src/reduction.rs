//! Queue pairs in reduction groups (CL-5), and those of roots whose card answers results (CL-6).

use tributary_protocol::card::command::argument::join_group;
use tributary_protocol::card::command::{Arguments, Command};
use tributary_protocol::card::descriptor::{Arrival, ReductionRequest};
use tributary_protocol::red::address::{REDUCTIONS, TREES};
use tributary_protocol::red::wire::{Fabric, Restricted};
use tributary_protocol::red::{Address, Frame, Key};

use crate::ring::{Came, Rings, Shape};
use crate::{DeviceError, Error, PostError, ProtectionDomain, QueuePairState};

/// What distinguishes a reduction group from all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReductionGroup {
    /// The job.
    pub vni: u16,
    /// Tree in the switches' tables, below 8,192.
    pub tree: u16,
    /// Names the group among those of the VNI; a multiple of 8, since each reduction id has a cookie of its own.
    pub cookie: u32,
}

/// A queue pair that sends and takes the frames of one reduction group, and nothing else. The protocol of root and leaf
/// (`tributary_protocol::red::host`) runs above it.
///
/// An arriving frame is a completion and takes no memory of the program.
pub struct ReductionPair {
    rings: Rings<()>,
    group: ReductionGroup,
    node: u32,
}

/// A frame that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReductionArrival {
    /// Reduction id.
    pub reduction: u8,
    /// The frame.
    pub frame: Frame,
    /// It is the result of its round, and the card has sent it down to all: what `Root::answered` takes instead of
    /// `Root::receive`.
    pub answered: bool,
}

impl ProtectionDomain {
    /// Makes a queue pair of a reduction group that receives and sends: `frames` of its own may wait for the card, and as many
    /// that have arrived for the program, 1 to 4,096.
    ///
    /// # Errors
    /// The card has no reductions or no queue pair left, the group cannot be, or the card is in it already.
    pub fn join_group(
        &self,
        group: ReductionGroup,
        frames: u16,
        vector: u32,
    ) -> Result<ReductionPair, Error> {
        self.join(group, 0, frames, vector)
    }

    /// The same for the root of a group of so many members, the root among them, 2 to 2^19 - 1: its card answers a result that has
    /// all of them by itself, so that the root too pays one work request and one completion for each reduction. The group's tree
    /// is one whose root contributes through its own port.
    ///
    /// # Errors
    /// As [`Self::join_group`], or a number of members out of range.
    pub fn join_group_as_root(
        &self,
        group: ReductionGroup,
        members: u32,
        frames: u16,
        vector: u32,
    ) -> Result<ReductionPair, Error> {
        let max = (1 << join_group::MEMBERS.width) - 1;
        if members < 2 || u64::from(members) > max {
            return Err(Error::Range {
                what: "members",
                value: members.into(),
                min: 2,
                max,
            });
        }
        self.join(group, members, frames, vector)
    }

    fn join(
        &self,
        group: ReductionGroup,
        members: u32,
        frames: u16,
        vector: u32,
    ) -> Result<ReductionPair, Error> {
        let context = self.context();
        if !context.sizes().reductions {
            return Err(Error::Feature("reductions"));
        }
        let range = |what, value: u64, max: u64| {
            let error = Error::Range {
                what,
                value,
                min: 0,
                max,
            };
            if value > max { Err(error) } else { Ok(()) }
        };
        range("tree", group.tree.into(), u64::from(TREES) - 1)?;
        range("frames", frames.into(), 4_096)?;
        range("cookie modulo 8", u64::from(group.cookie % 8), 0)?;
        let shape = Shape {
            sends: frames,
            receives: frames,
            q_key: 0,
            first_psn: 0,
            timeout: 0,
            vector,
            rung_by_card: false,
        };
        let mut rings = Rings::new(context, self.0.number, &shape)?;
        let mut args = Arguments::default();
        join_group::VNI.put(&mut args, group.vni);
        join_group::TREE.put(&mut args, group.tree);
        join_group::MEMBERS.put(&mut args, members);
        join_group::COOKIE.put(&mut args, group.cookie);
        context.command(Command::JoinGroup, rings.number(), &args)?;
        rings.modify(QueuePairState::ReadyToReceive)?;
        rings.modify(QueuePairState::ReadyToSend)?;
        Ok(ReductionPair {
            rings,
            group,
            node: context.options().node,
        })
    }
}

impl ReductionPair {
    /// Its number.
    #[must_use]
    pub fn qp_num(&self) -> u32 {
        self.rings.number()
    }

    /// Its group.
    #[must_use]
    pub const fn group(&self) -> ReductionGroup {
        self.group
    }

    /// Posts a frame. Of its addresses, the card takes the destination: a node, or the tree; VNI and cookie are those of the group. The
    /// card is told by [`Self::ring`].
    ///
    /// # Errors
    /// No room, or the queue pair is over.
    pub fn post(&mut self, reduction: u8, frame: &Frame) -> Result<(), PostError> {
        self.rings.takes_send()?;
        let node = frame.fabric.dfa.node();
        let by_tree = frame.fabric.dfa.multicast().is_some();
        self.rings.put_reduction(&ReductionRequest {
            flags: 0,
            wr_id: 0,
            reduction: reduction % REDUCTIONS,
            to: (!by_tree).then_some(node),
            kind: frame.restricted.opcode,
            round: frame.restricted.remote_offset,
            red: frame.red,
            data: frame.data,
        });
        Ok(())
    }

    /// Tells the card what was posted.
    ///
    /// # Errors
    /// The card cannot be reached.
    pub fn ring(&mut self) -> Result<(), DeviceError> {
        self.rings.ring()
    }

    /// The next frame that has arrived. Never waits.
    ///
    /// # Errors
    /// The card cannot be reached, or the queue pair is over.
    pub fn poll(&mut self) -> Result<Option<ReductionArrival>, Error> {
        while let Some(came) = self.rings.next_arrival()? {
            self.rings.give_back()?;
            if let Came::Frame(arrival) = came {
                return Ok(Some(ReductionArrival {
                    reduction: arrival.reduction,
                    frame: self.frame(&arrival),
                    answered: arrival.answered,
                }));
            }
            if self.rings.state == QueuePairState::Error {
                return Err(Error::Corrupt {
                    qpn: self.qp_num(),
                    what: "a ring cannot be read".to_owned(),
                });
            }
        }
        Ok(None)
    }

    /// The frame as it was on the line, but for fields that hosts do not use.
    fn frame(&self, arrival: &Arrival) -> Frame {
        let key = Key {
            tree: self.group.tree,
            reduction: arrival.reduction,
        };
        let to = if arrival.by_tree {
            key.address()
        } else {
            Address::unicast(self.node, 0)
        };
        let mut red = arrival.red;
        red.cookie = self.group.cookie + u32::from(arrival.reduction);
        Frame {
            fabric: Fabric::new(arrival.source, to, self.group.vni),
            restricted: Restricted {
                opcode: arrival.kind,
                remote_offset: arrival.round,
                ..Restricted::default()
            },
            red,
            data: arrival.data,
        }
    }
}
