//! The tables of the control engine: what they are asked, say and are given.

use super::record::{Identity, Mark, Window};
use super::{RwControl, State};
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
    /// Addresses of the tables, and the fields of what they deliver.
    #[hdl_part]
    pub(super) fn read_tables(&mut self) {
        // Tables: addresses, and the fields of what they deliver.
        self.peers.s_src.next = self.ctl_src.val();
        self.peers.s_slot.next = bit_cast::<8, 16>(self.ctl_slot.val());
        self.opens.rd.addr.next = self.wptr.q.val();
        self.windows.rd.addr.next = self.wptr.q.val();
        self.gens.rd.addr.next = self.wptr.q.val();
        self.asked.rd.addr.next = self.wptr.q.val();
        self.marks.rd.addr.next = self.wptr.q.val();
        self.ranges.rd.addr.next = self.wptr.q.val();
        self.q_wptr.next = self.wptr.q.val();
        self.q_word.next = bit_cast::<LNW, AW>(self.abs.q.val());
        self.peer_id.d.next = self.peers.m_id.val().into();
        self.win.next = self.windows.rd.data.val().into();
        self.win_hold.d.next = self.win.val().hold;
        self.req.next = self.marks.rd.data.val().into();
        self.req_range_tick.next = self.ranges.rd.data.val();
    }

    /// Writes to the tables: reset, the end of a transfer, and its start.
    #[hdl_part]
    pub(super) fn write_tables(&mut self) {
        // Writes to the tables: reset, the end of a transfer, and its start.
        self.closing.next = self.state.q.val() == State::Close;
        self.opening.next = self.state.q.val() == State::Open;
        self.closed.d.next = self.closing.val();
        self.opened.d.next = self.opening.val();
        self.cleared.d.next = self.state.q.val() == State::Clear;
        self.swept.d.next = self.state.q.val() == State::SweepEnd;
        self.write_window.next =
            (self.state.q.val() == State::Clear) | self.closing.val() | self.opening.val();
        self.window_changed.next = self.cleared.q.val() | self.closed.q.val() | self.opened.q.val();
        self.cw_en.next = self.write_window.val();
        self.cw_wptr.next = self.wptr.q.val();
        self.cw_open.next = self.opening.val();
        self.cw_gen.next = self.generation.q.val();
        self.cw_src.next = self.ctl_src.val();
        self.cw_last.next = bit_cast::<22, 24>(self.new.q.val().last);
        self.cw_mtu.next = self.mtu.val();
        self.cw_last_len.next = self.new.q.val().last_len;
        self.cw_addr.next = self.ctl_addr.val();
        self.cw_rkey.next = self.ctl_rkey.val();
        self.opens.wr.en.next = self.window_changed.val();
        self.opens.wr.addr.next = self.wptr.q.val();
        self.opens.wr.data.next = bit_cast::<1, 1>(self.opened.q.val().into());
        self.windows.wr.en.next = self.opened.q.val();
        self.windows.wr.addr.next = self.wptr.q.val();
        self.win_in.next = Window {
            src: self.ctl_src.val(),
            slot: bit_cast::<8, 16>(self.ctl_slot.val()),
            xid: self.ctl_xid.val(),
            length: self.ctl_length.val(),
            n: self.new.q.val().n,
            hold: self.ctl_hold.val(),
            entry: bit_cast::<10, LE>(self.peers.m_entry.val()),
        };
        self.windows.wr.data.next = self.win_in.val().to_bits();
        self.gens.wr.en.next = self.opened.q.val();
        self.gens.wr.addr.next = self.wptr.q.val();
        self.gens.wr.data.next = self.generation.q.val();
        self.peers.open.next = self.opened.q.val();
        self.peers.open_wptr.next = self.wptr.q.val();
        self.open_id.next = Identity {
            incarnation: self.ctl_incarnation.val(),
            xid: self.ctl_xid.val(),
        };
        self.peers.open_id.next = self.open_id.val().to_bits();
        self.peers.close.next = self.closed.q.val();
        self.peers.close_entry.next = bit_cast::<LE, 10>(self.win.val().entry);
        self.peers.close_wptr.next = self.wptr.q.val();
        self.peers.close_status.next = bit_cast::<2, 4>(self.cpl_status.q.val());
        self.asked.wr.en.next = self.opened.q.val() | self.swept.q.val();
        self.asked.wr.addr.next = self.wptr.q.val();
        self.asked.wr.data.next = self.upto.q.val();
        self.marks.wr.en.next = self.opened.q.val() | (self.swept.q.val() & self.restart.q.val());
        self.marks.wr.addr.next = self.wptr.q.val();
        self.req_in.next = Mark {
            below: self.upto.q.val(),
            tick: self.start.q.val(),
        };
        self.marks.wr.data.next = self.req_in.val().to_bits();
        self.ranges.wr.en.next =
            self.opened.q.val() | (self.swept.q.val() & self.tail_lost.q.val());
        self.ranges.wr.addr.next = self.wptr.q.val();
        self.ranges.wr.data.next = self.start.q.val();
        self.free.last.next = !bits::<A>(0);
        self.free.s.valid.next = self.closed.q.val();
        self.free.s.data.next = self.wptr.q.val();
        self.free.m.ready.next = self.state.q.val() == State::Alloc;
    }
}
