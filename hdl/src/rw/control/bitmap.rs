//! Bitmaps, byte by byte, and what a transfer that ends waits for.

use super::{Op, RwControl, State};
use crate::prelude::*;

impl<
    const A: usize,
    const W: usize,
    const B: usize,
    const LB: usize,
    const NW: usize,
    const LNW: usize,
    const AW: usize,
    const PW: usize,
    const LE: usize,
    const BE: usize,
> RwControl<A, W, B, LB, NW, LNW, AW, PW, LE, BE>
{
    /// For a STATUS the bytes from wbase on, for a sweep their holes.
    #[hdl_part]
    pub(super) fn read_bitmap(&mut self) {
        // The bitmap, byte by byte: for a STATUS those from wbase on, for a sweep their holes.
        self.in_word.next = bit_cast::<4, 7>(self.octets.val() >> 3);
        self.last_byte.next = bit_cast::<3, 4>(self.in_word.val() - 1);
        self.push.next = (self.state.q.val() == State::Bytes) & self.skipped.q.val();
        self.empty_byte.next = (self.state.q.val() == State::Holes) & self.bytes.none.val();
        self.next_hole.next = (self.state.q.val() == State::Holes) & !self.bytes.none.val();
        self.bytes.load.next = self.state.q.val() == State::View;
        self.bytes.raw.next = self.q_bits.val();
        self.bytes.abs.next = self.abs.q.val();
        self.bytes.wbase.next = self.q_wbase.val();
        self.bytes.sweep.next = self.op.q.val() == Op::Sweep;
        self.bytes.pos.next = self.pos.q.val();
        self.bytes.stop.next = self.end.q.val();
        self.bytes.settle.next =
            (self.state.q.val() == State::Pass) | (self.state.q.val() == State::Range);
        self.fetching.d.next = self.state.q.val() == State::Fetch;
        self.compared.d.next = self.state.q.val() == State::Raise;
        self.bytes.raise.next = self.compared.q.val();
        self.bytes.relate.next = self.state.q.val() == State::Relate;
        self.bytes.prepare.next = self.state.q.val() == State::Prepare;
        self.bytes.shift.next =
            (self.state.q.val() == State::Bytes) | (self.empty_byte.val() & !self.spent.q.val());
        self.bytes.align.next = bit_cast::<3, 22>(self.wbase.q.val());
        self.bytes.push.next = self.push.val();
        self.bytes.drop_hole.next = self.next_hole.val();
        if self.bytes.shift.val() {
            self.spent.d.next = self.bytes.count.val() == self.in_word.val();
        }
        if self.state.q.val() == State::Prepare {
            self.spent.d.next = false;
        }
    }

    /// Decisions that leave before the record of a transfer that is given up.
    #[hdl_part]
    pub(super) fn await_decisions(&mut self) {
        // The record of a transfer that is given up follows the last of its writes: the last DATA
        // record that its window can accept is in the queue of decisions 8 clocks after Act; from
        // 12 clocks after it on, all that wait there are counted down as decisions leave. All
        // writes of a transfer that is complete have left before.
        self.all_decided.d.next = (self.state.q.val() == State::Drain)
            & (self.all_decided.q.val() | (self.timer.q.val() == 10));
        self.left.d.next = self.wr_left.val();
        self.ahead.d.next = self.wr_count.val();
        if self.all_decided.q.val() {
            self.ahead.d.next = self.ahead.q.val() - bit_cast::<5, 1>(self.left.q.val().into());
        }
        self.followed.d.next =
            self.all_decided.q.val() & (!self.ahead.q.val().any() | !self.cpl_status.q.val().any());
    }
}
