//! Which operations go in blocks, and posting them.

use super::stripes::is_for_stripes;
use super::{Communicator, Input, Keep, Read, Ticket, Work};
use crate::collective::CollectiveError;
use crate::collective::data::Prepared;
use crate::collective::long::{Blocks, Exchange, Flow, Own};
use crate::collective::rule::Rule;

impl Communicator {
    /// Whether something of so many bytes goes in blocks. All members see the same.
    pub(super) fn is_long(&self, bytes: usize) -> bool {
        let from = self.options.bulk_from as usize;
        self.size() > 1 && from > 0 && bytes >= from
    }

    pub(super) fn is_for_blocks(&self, prepared: &Prepared) -> bool {
        let stripes = self.stripes.len();
        let striped = is_for_stripes(prepared, stripes, self.options.lanes);
        !striped && self.is_long(Own::bytes(prepared.rule, prepared.values.len()))
    }

    /// Posts a reduction of which everyone combines as many values.
    pub(super) fn post_values(
        &mut self,
        flow: Flow,
        prepared: &Prepared,
    ) -> Result<Ticket, CollectiveError> {
        let blocks = prepared.cut(self.size());
        self.post_blocks(flow, prepared.rule, prepared, blocks)
    }

    pub(super) fn post_blocks(
        &mut self,
        flow: Flow,
        rule: Rule,
        whole: &Prepared,
        blocks: Vec<Prepared>,
    ) -> Result<Ticket, CollectiveError> {
        let length = match flow {
            Flow::ReduceScatter => blocks[self.rank()].length,
            flow if flow.collects(self.rank()) => whole.length,
            _ => 0,
        };
        let lengths = blocks
            .iter()
            .map(|block| Own::bytes(rule, block.values.len()));
        let cut = Blocks::new(flow, lengths);
        let values = blocks.into_iter().map(|block| block.values).collect();
        let read = Read::Values(whole.shape, length);
        self.post_exchange(cut, Own::Values(rule, values), read)
    }

    pub(super) fn post_exchange(
        &mut self,
        blocks: Blocks,
        own: Own,
        read: Read,
    ) -> Result<Ticket, CollectiveError> {
        let exchange = Exchange::new(self.next, self.rank(), blocks, own);
        let work = Work::InBlocks(Box::new(exchange));
        self.enqueue_work(Input::Blocks(read), Keep::All, false, work)
    }

    /// A member that does something else in place of the oldest operation: it has sent a part of another one, or has begun one in
    /// blocks, which all do or nobody.
    pub(super) fn does_another(&self) -> Option<usize> {
        let op = self.operations.front()?;
        match &op.work {
            Work::InBlocks(exchange) => self.parts.other_than(op.number, exchange.code()),
            work => {
                let begun = self.words.begun(op.number).next();
                let sent = || match work {
                    Work::InSwitches { .. } => self.parts.other_than(op.number, op.input.code()),
                    _ => None,
                };
                begun.map(|(from, _)| from).or_else(sent)
            }
        }
    }
}
