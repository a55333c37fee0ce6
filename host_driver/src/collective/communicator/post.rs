//! Posting operations, and waiting for them.

use super::{
    Communicator, Finished, Input, Keep, Operation as Posted, Outcome, Read, Ticket,
    Work as Progress,
};
use crate::AddressHandle;
use crate::collective::data::{self, Prepared, Shape, placed};
use crate::collective::long::{Blocks, Flow, Own};
use crate::collective::rule::Rule;
use crate::collective::{CollectiveError, Data, Operation};

/// Bytes that a block of a broadcast is a multiple of.
const LINE: usize = 64;

impl Communicator {
    pub(super) fn enqueue(
        &mut self,
        input: Input,
        keep: Keep,
        by_messages: bool,
    ) -> Result<Ticket, CollectiveError> {
        self.enqueue_work(input, keep, by_messages, Progress::Waiting)
    }

    pub(super) fn enqueue_work(
        &mut self,
        input: Input,
        keep: Keep,
        by_messages: bool,
        work: Progress,
    ) -> Result<Ticket, CollectiveError> {
        if let Some(failure) = self.failure() {
            return Err(failure);
        }
        let number = self.next;
        self.next += 1;
        self.operations.push_back(Posted {
            number,
            input,
            keep,
            by_messages,
            work,
            begun: None,
        });
        Ok(Ticket(number))
    }

    fn prepare(&self, operation: Operation, data: &Data) -> Result<Prepared, CollectiveError> {
        data::check_summands(data, self.size())?;
        data::prepare(operation, data)
    }

    fn check_rank(&self, rank: usize) -> Result<(), CollectiveError> {
        let size = self.size();
        if rank < size {
            Ok(())
        } else {
            Err(CollectiveError::NoRank { rank, size })
        }
    }

    /// Combines everyone's elements, for everyone. All members give as many, of the same type.
    ///
    /// # Errors
    /// An operation that is not for this type, or a communicator that has failed.
    pub fn post_all_reduce(
        &mut self,
        operation: Operation,
        data: &Data,
    ) -> Result<Ticket, CollectiveError> {
        let prepared = self.prepare(operation, data)?;
        if self.is_for_blocks(&prepared) {
            return self.post_values(Flow::AllReduce, &prepared);
        }
        self.enqueue(Input::Values(prepared), Keep::All, false)
    }

    /// The same for one rank; the others' outcome is empty.
    ///
    /// # Errors
    /// As [`Self::post_all_reduce`], or there is no such rank.
    pub fn post_reduce(
        &mut self,
        root: usize,
        operation: Operation,
        data: &Data,
    ) -> Result<Ticket, CollectiveError> {
        self.check_rank(root)?;
        let keep = if root == self.rank() {
            Keep::All
        } else {
            Keep::Nothing
        };
        let prepared = self.prepare(operation, data)?;
        if self.is_for_blocks(&prepared) {
            return self.post_values(Flow::Reduce(root), &prepared);
        }
        self.enqueue(Input::Values(prepared), keep, false)
    }

    /// Combines everyone's elements; each rank gets its share of the result, in the order of ranks.
    ///
    /// # Errors
    /// As [`Self::post_all_reduce`], or a length that does not divide among the members.
    pub fn post_reduce_scatter(
        &mut self,
        operation: Operation,
        data: &Data,
    ) -> Result<Ticket, CollectiveError> {
        let (length, size) = (data.len(), self.size());
        if !length.is_multiple_of(size) {
            return Err(CollectiveError::Uneven { length, size });
        }
        let share = length / size;
        let part = Keep::Part(share * self.rank()..share * (self.rank() + 1));
        let prepared = self.prepare(operation, data)?;
        if self.is_for_blocks(&prepared) {
            let share = |rank| data.part(share * rank..share * (rank + 1));
            let shares = (0..size).map(|rank| data::prepare(operation, &share(rank)));
            let shares = shares.collect::<Result<Vec<_>, _>>()?;
            return self.post_blocks(Flow::ReduceScatter, prepared.rule, &prepared, shares);
        }
        self.enqueue(Input::Values(prepared), part, false)
    }

    /// Gives everyone's elements to everyone, in the order of ranks. All members give as many, of the same type.
    ///
    /// # Errors
    /// Extremes, or a communicator that has failed.
    pub fn post_all_gather(&mut self, data: &Data) -> Result<Ticket, CollectiveError> {
        let own = data.to_bytes();
        if let Some(own) = own.filter(|own| self.is_long(own.len() * self.size())) {
            let lengths = std::iter::repeat_n(own.len(), self.size());
            let blocks = Blocks::new(Flow::AllGather, lengths);
            let read = Read::Bytes(data.part(0..0));
            return self.post_exchange(blocks, Own::Bytes(own), read);
        }
        let placed = placed(data, self.rank(), self.size())?;
        self.enqueue(Input::Values(placed), Keep::All, false)
    }

    /// Ends when all have begun it.
    ///
    /// # Errors
    /// The communicator has failed.
    pub fn post_barrier(&mut self) -> Result<Ticket, CollectiveError> {
        self.enqueue(barrier(), Keep::All, false)
    }

    /// What [`Self::close`] begins with, for a program that does not wait: when it has ended and [`Self::is_drained`], the communicator
    /// may be dropped.
    ///
    /// # Errors
    /// The communicator has failed.
    pub fn post_close(&mut self) -> Result<Ticket, CollectiveError> {
        self.enqueue(barrier(), Keep::All, true)
    }

    /// Gives the bytes of one rank to all. The others give as many, of any value.
    ///
    /// # Errors
    /// There is no such rank, or the communicator has failed.
    pub fn post_broadcast(
        &mut self,
        root: usize,
        bytes: Vec<u8>,
    ) -> Result<Ticket, CollectiveError> {
        self.check_rank(root)?;
        if self.is_long(bytes.len()) {
            // Of whole lines, as many as there are.
            let most = bytes.len().div_ceil(self.size()).next_multiple_of(LINE);
            let length = |rank: usize| bytes.len().saturating_sub(rank * most).min(most);
            let blocks = Blocks::new(Flow::Broadcast(root), (0..self.size()).map(length));
            let own = if root == self.rank() {
                bytes
            } else {
                Vec::new()
            };
            let read = Read::Bytes(Data::Bytes(Vec::new()));
            return self.post_exchange(blocks, Own::Bytes(own), read);
        }
        self.enqueue(Input::Bytes(root, bytes), Keep::All, false)
    }

    /// [`Self::post_all_reduce`], and waits for it.
    ///
    /// # Errors
    /// As there; a member has failed; or the time is over ([`super::Options::patience`]).
    pub fn all_reduce(
        &mut self,
        operation: Operation,
        data: Data,
    ) -> Result<Outcome, CollectiveError> {
        let ticket = self.post_all_reduce(operation, &data)?;
        self.wait_for(ticket)
    }

    /// [`Self::post_reduce`], and waits for it.
    ///
    /// # Errors
    /// As [`Self::all_reduce`].
    pub fn reduce(
        &mut self,
        root: usize,
        operation: Operation,
        data: Data,
    ) -> Result<Outcome, CollectiveError> {
        let ticket = self.post_reduce(root, operation, &data)?;
        self.wait_for(ticket)
    }

    /// [`Self::post_reduce_scatter`], and waits for it.
    ///
    /// # Errors
    /// As [`Self::all_reduce`].
    pub fn reduce_scatter(
        &mut self,
        operation: Operation,
        data: Data,
    ) -> Result<Outcome, CollectiveError> {
        let ticket = self.post_reduce_scatter(operation, &data)?;
        self.wait_for(ticket)
    }

    /// [`Self::post_all_gather`], and waits for it.
    ///
    /// # Errors
    /// As [`Self::all_reduce`].
    pub fn all_gather(&mut self, data: Data) -> Result<Data, CollectiveError> {
        let ticket = self.post_all_gather(&data)?;
        Ok(self.wait_for(ticket)?.data)
    }

    /// [`Self::post_barrier`], and waits for it.
    ///
    /// # Errors
    /// As [`Self::all_reduce`].
    pub fn barrier(&mut self) -> Result<(), CollectiveError> {
        let ticket = self.post_barrier()?;
        self.wait_for(ticket).map(drop)
    }

    /// [`Self::post_broadcast`], and waits for it.
    ///
    /// # Errors
    /// As [`Self::all_reduce`].
    pub fn broadcast(&mut self, root: usize, bytes: &mut [u8]) -> Result<(), CollectiveError> {
        let ticket = self.post_broadcast(root, bytes.to_vec())?;
        if let Data::Bytes(all) = self.wait_for(ticket)?.data
            && all.len() == bytes.len()
        {
            bytes.copy_from_slice(&all);
        }
        Ok(())
    }

    /// Begins to part the members by color; the outcome goes to [`Self::take_split`]. Without a color a member is in none of the parts.
    ///
    /// # Errors
    /// The communicator has failed.
    pub fn post_split(&mut self, color: Option<u32>, key: u32) -> Result<Ticket, CollectiveError> {
        let color = color.map_or(0, |color| u64::from(color) + 1);
        let packed = Data::U64(vec![color, key.into()]);
        self.post_all_gather(&packed)
    }

    /// The communicator of the members of this one's color, ordered by key, then by rank here; nothing without a color.
    ///
    /// # Errors
    /// The outcome is none of a split.
    pub fn take_split(&mut self, outcome: &Outcome) -> Result<Option<Self>, CollectiveError> {
        let Data::U64(words) = &outcome.data else {
            return Err(CollectiveError::Members(0));
        };
        let (pairs, _) = words.as_chunks::<2>();
        let Some(&[color, _]) = pairs.get(self.rank()) else {
            return Err(CollectiveError::Members(0));
        };
        self.splits += 1;
        if color == 0 {
            return Ok(None);
        }
        let mut part: Vec<(u64, usize)> = (0..)
            .zip(pairs)
            .filter(|(_, [of, _])| *of == color)
            .map(|(rank, [_, key])| (*key, rank))
            .collect();
        part.sort_unstable();
        let members: Vec<AddressHandle> =
            part.iter().map(|&(_, rank)| self.members[rank]).collect();
        let name = name(&[self.name, self.splits, color]);
        Self::create(&self.host, name, &members, self.trees.clone(), self.options).map(Some)
    }

    /// [`Self::post_split`], and waits for it.
    ///
    /// # Errors
    /// As [`Self::all_reduce`].
    pub fn split(&mut self, color: Option<u32>, key: u32) -> Result<Option<Self>, CollectiveError> {
        let ticket = self.post_split(color, key)?;
        let outcome = self.wait_for(ticket)?;
        self.take_split(&outcome)
    }

    /// Waits for an operation. Those before it stay for [`Self::poll`].
    ///
    /// # Errors
    /// It failed, or the time is over.
    pub fn wait_for(&mut self, ticket: Ticket) -> Result<Outcome, CollectiveError> {
        let begun = self.host.now();
        let patience = u64::try_from(self.options.patience.as_nanos()).unwrap_or(u64::MAX);
        loop {
            if let Some(at) = self.finished.iter().position(|f| f.ticket == ticket)
                && let Some(Finished { result, .. }) = self.finished.remove(at)
            {
                return result;
            }
            let over = self.host.now().saturating_sub(begun) > patience;
            if over || ticket.0 >= self.next {
                return Err(CollectiveError::TimedOut {
                    operation: ticket.0,
                    waiting: self.waiting(),
                });
            }
            self.work()?;
        }
    }
}

fn barrier() -> Input {
    Input::Values(Prepared {
        rule: Rule::Engines(tributary_protocol::red::Op::Barrier),
        values: vec![Default::default()],
        shape: Shape::I64,
        length: 0,
    })
}

/// A name made of words, such as the parent's and what distinguishes its children, so that others have it only by accident: FNV-1a.
#[must_use]
pub fn name(of: &[u64]) -> u64 {
    let bytes = of.iter().flat_map(|word| word.to_le_bytes());
    bytes.fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3)
    })
}
