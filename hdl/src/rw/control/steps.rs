//! The state machine of the control engine.

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
    /// One step of the operation under way, or the choice of the next one.
    #[hdl_part]
    pub(super) fn advance(&mut self) {
        // The state machine.
        self.done.next = false;
        self.raise_gen.next = self.state.q.val() == State::Hold;
        if self.raise_gen.val() | (self.state.q.val() == State::Window) {
            self.generation.d.next =
                self.gens.rd.data.val() + bit_cast::<16, 1>(self.raise_gen.val().into());
        }
        self.fin_ready.next = self.fin_served.q.val();
        self.crd_ready.next = self.crd_served.q.val();
        self.rev_ready.next = self.rev_served.q.val();
        self.ctl_ready.next = self.served.q.val();
        self.drop_valid.next = self.dropped.q.val();
        self.drop_reason.next = self.drop_why.q.val();
        self.fin_served.d.next = false;
        self.crd_served.d.next = false;
        self.dropped.d.next = false;
        self.decided.d.next = false;
        self.full.d.next = false;
        self.look.next = false;
        self.look_again.next =
            (self.op.q.val() == Op::Poll) & !self.good_poll.q.val() & !self.looked.q.val();
        self.is_message.next = (self.op.q.val() == Op::Connect)
            | (self.op.q.val() == Op::Poll)
            | (self.op.q.val() == Op::Abort);
        self.timer.d.next = self.timer.q.val() + 1;
        self.whole.d.next = false;
        match self.state.q.val() {
            State::Clear => {
                self.clear_count.d.next = self.clear_count.q.val() + 1;
                self.wptr.d.next = bit_cast::<A, 10>(self.clear_count.q.val() + 1);
                if self.clear_count.q.val().all() & self.free.ready.val() & self.peers.ready.val() {
                    self.state.d.next = State::Idle;
                }
            }
            State::Idle => {
                self.timer.d.next = 0.into();
                self.then_alloc.d.next = false;
                self.then_message.d.next = false;
                self.sweep_next.d.next = true;
                self.looked.d.next = false;
                if !self.sweep_next.q.val() & self.fin_valid.val() {
                    self.fin_served.d.next = true;
                    self.op.d.next = Op::Finish;
                    self.wptr.d.next = self.fin_wptr.val();
                    self.event_gen.d.next = self.fin_gen.val();
                    self.state.d.next = State::Window;
                } else if !self.sweep_next.q.val()
                    & self.crd_valid.val()
                    & (self.credit_next.q.val() | !self.ctl_valid.val())
                {
                    self.crd_served.d.next = true;
                    self.credit_next.d.next = false;
                    self.op.d.next = Op::Credit;
                    self.wptr.d.next = self.crd_wptr.val();
                    self.state.d.next = State::Window;
                } else if !self.sweep_next.q.val() & self.rev_valid.val() {
                    self.op.d.next = Op::Revoke;
                    self.wptr.d.next = self.rev_wptr.val();
                    self.event_gen.d.next = self.rev_gen.val();
                    self.state.d.next = State::Window;
                } else if !self.sweep_next.q.val() & self.ctl_valid.val() {
                    self.credit_next.d.next = true;
                    self.op.d.next = Op::Abort;
                    self.look.next = true;
                    self.looked.d.next = true;
                    if self.ctl_type.val() == self.connect.val() {
                        self.op.d.next = Op::Connect;
                    }
                    if self.ctl_type.val() == self.poll_status.val() {
                        self.op.d.next = Op::Poll;
                        self.look.next = false;
                        self.looked.d.next = false;
                    }
                    self.event_gen.d.next = self.ctl_gen.val();
                    self.state.d.next = State::Peer;
                } else {
                    self.sweep_next.d.next = false;
                    self.op.d.next = Op::Sweep;
                    self.wptr.d.next = self.sweep_wptr.q.val();
                    self.sweep_wptr.d.next = self.sweep_wptr.q.val() + 1;
                    self.state.d.next = State::Window;
                }
            }
            State::Peer => {
                self.wptr.d.next = self.peers.m_wptr.val();
                if self.op.q.val() == Op::Poll {
                    self.wptr.d.next = bit_cast::<A, 16>(self.ctl_wptr.val());
                }
                // An entry has been read when the search is done, which begins a clock late.
                if self.timer.q.val().any() & self.peers.done.val() {
                    self.timer.d.next = 0.into();
                    self.state.d.next = State::Window;
                }
            }
            // What the tables say, the last time when it is that of this window.
            State::Window => {
                self.is_open.d.next = self.opens.rd.data.val().get_bit(0);
                self.n.d.next = self.win.val().n;
                self.wbase.d.next = self.q_wbase.val();
                self.reach.d.next = self.q_highest.val() - bit_cast::<12, 22>(self.q_wbase.val());
                self.tail.d.next = self.q_tail.val();
                self.last_rx.d.next = self.q_last_rx.val();
                self.heard_last.d.next = self.heard.q.val();
                self.start.d.next = self.now.val();
                self.msg.d.next.dst = self.win.val().src;
                self.msg.d.next.slot = bit_cast::<16, 8>(self.win.val().slot);
                self.msg.d.next.xid = self.win.val().xid;
                if self.is_message.val() {
                    self.msg.d.next.dst = self.ctl_src.val();
                    self.msg.d.next.slot = self.ctl_slot.val();
                    self.msg.d.next.xid = self.ctl_xid.val();
                }
                if self.timer.q.val() == 2 {
                    self.state.d.next = State::Settle;
                }
            }
            State::Settle => {
                if self.timer.q.val() == 5 {
                    self.state.d.next = State::Act;
                }
            }
            State::Act => {
                self.act();
            }
            State::Close => {
                self.timer.d.next = 0.into();
                self.state.d.next = State::Drain;
            }
            State::Drain => {
                if self.followed.q.val() {
                    self.state.d.next = State::Completion;
                }
            }
            State::Completion => {
                if self.m_cpl.ready.val() {
                    if self.then_alloc.q.val() {
                        self.state.d.next = State::Alloc;
                    } else if self.then_message.q.val() {
                        self.state.d.next = State::Message;
                    } else {
                        self.done.next = true;
                    }
                }
            }
            State::Alloc => {
                self.timer.d.next = 0.into();
                self.wptr.d.next = self.free.m.data.val();
                self.wbase.d.next = 0.into();
                self.n.d.next = self.new.q.val().n;
                self.upto.d.next = 0.into();
                self.word.d.next = 0.into();
                self.msg.d.next.kind = self.connect_resp.val();
                if self.free.m.valid.val() {
                    self.state.d.next = State::AllocWait;
                } else {
                    self.how.d.next = 3.into();
                    self.decided.d.next = true;
                    self.msg.d.next.status = self.busy.val();
                    self.state.d.next = State::Message;
                }
            }
            State::AllocWait => {
                if self.timer.q.val() == 2 {
                    self.timer.d.next = 0.into();
                    self.state.d.next = State::Hold;
                }
            }
            State::Hold => {
                if self.timer.q.val() == 2 {
                    self.state.d.next = State::Init;
                }
            }
            State::Init => {
                self.timer.d.next = 0.into();
                self.word.d.next = self.word.q.val() + 1;
                if self.word.q.val() == (self.words.val() - 1) {
                    self.state.d.next = State::InitDrain;
                }
            }
            State::InitDrain => {
                self.start.d.next = self.now.val();
                if self.timer.q.val() == 10 {
                    self.state.d.next = State::Open;
                }
            }
            State::Open => {
                self.how.d.next = 1.into();
                self.decided.d.next = true;
                self.state.d.next = State::Message;
            }
            State::Message => {
                self.timer.d.next = 0.into();
                self.word.d.next = 1.into();
                if self.m_msg.ready.val() {
                    // After a STATUS its bitmap, after a request the next hole.
                    if self.msg.q.val().kind == self.poll_status.val() {
                        self.state.d.next = State::Bitmap;
                    } else if !self.again.q.val() {
                        if self.msg.q.val().kind == self.retx_one.val() {
                            self.state.d.next = State::Holes;
                        } else {
                            self.done.next = true;
                        }
                    }
                }
            }
            State::Fetch => {
                if self.fetching.q.val() {
                    self.state.d.next = State::View;
                }
            }
            State::View => {
                self.state.d.next = State::Relate;
                if self.op.q.val() == Op::Sweep {
                    self.state.d.next = State::Raise;
                }
                if self.last_word.q.val() {
                    self.state.d.next = State::Message;
                }
            }
            State::Raise => {
                if self.compared.q.val() {
                    self.state.d.next = State::Relate;
                }
            }
            State::Relate => self.state.d.next = State::Prepare,
            State::Prepare => {
                self.state.d.next = State::Holes;
                if self.op.q.val() != Op::Sweep {
                    // The next word is read behind the bytes of this one.
                    self.abs.d.next = self.abs.q.val() + 1;
                    self.state.d.next = State::Bytes;
                }
            }
            State::Bytes => {
                self.skip.d.next = self.skip.q.val() - 1;
                self.skipped.d.next = self.skipped.q.val() | (self.skip.q.val() == 1);
                if self.bytes.count.val() == self.in_word.val() {
                    self.state.d.next = State::View;
                }
                if self.push.val() {
                    self.filled.d.next = self.filled.q.val() + 1;
                    if (self.filled.q.val() | !self.last_byte.val()).all() {
                        self.word.d.next = self.word.q.val() + 1;
                        self.whole.d.next = true;
                    }
                }
                // What follows the last word is read for nothing, and not kept.
                if self.last_word.q.val() {
                    self.state.d.next = State::Message;
                }
            }
            State::Bitmap => {
                if self.word_left.val() {
                    self.timer.d.next = 0.into();
                    self.word.d.next = self.word.q.val() + 1;
                    if self.last_word.q.val() {
                        self.done.next = !self.again.q.val();
                        self.state.d.next = State::Message;
                    }
                }
            }
            State::Limits => {
                self.msg.d.next.kind = self.retx_one.val();
                self.state.d.next = State::Pass;
                if self.give_up.q.val() {
                    self.msg.d.next.kind = self.abort_unknown.val();
                    self.msg.d.next.status = self.idle_reason.val();
                    self.cpl_reason.d.next = self.idle_reason.val();
                    self.then_message.d.next = true;
                    self.state.d.next = State::Close;
                }
            }
            State::Pass => {
                self.first_pass.d.next = self.restart.q.val();
                self.pos.d.next = self.asked.rd.data.val();
                if self.restart.q.val() {
                    self.pos.d.next = 0.into();
                }
                self.end.d.next = self.limit.q.val();
                if self.end_by_mark.q.val() {
                    self.end.d.next = self.mark.q.val();
                }
                self.state.d.next = State::Lift;
            }
            State::Lift => self.state.d.next = State::Start,
            State::Start => {
                if !self.bytes.higher.val() {
                    self.pos.d.next = self.wbase.q.val();
                }
                self.fresh.d.next = true;
                self.state.d.next = State::Aim;
            }
            State::Aim => self.state.d.next = State::Range,
            State::Range => {
                self.abs.d.next = bit_cast::<AW, 22>(self.pos.q.val() >> self.lb.val());
                self.state.d.next = State::Fetch;
                self.fresh.d.next = false;
                if self.fresh.q.val() {
                    self.upto.d.next = self.end.q.val();
                    if self.searched.q.val() {
                        self.upto.d.next = self.pos.q.val();
                    }
                }
                if self.searched.q.val() {
                    self.state.d.next = State::SweepEnd;
                    if self.first_pass.q.val() {
                        self.first_pass.d.next = false;
                        self.pos.d.next = self.asked.rd.data.val();
                        self.end.d.next = self.limit.q.val();
                        self.state.d.next = State::Lift;
                    }
                }
            }
            State::Holes => {
                self.msg.d.next.pidx = (bit_cast::<22, AW>(self.abs.q.val()) << self.lb.val())
                    | (bit_cast::<22, 3>(bit_cast::<3, 4>(self.bytes.count.val() - 2)) << 3)
                    | bit_cast::<22, 3>(self.bytes.hole.val());
                if self.next_hole.val() {
                    self.state.d.next = State::Message;
                } else if self.spent.q.val() {
                    self.pos.d.next = bit_cast::<22, AW>(self.abs.q.val() + 1) << self.lb.val();
                    self.state.d.next = State::Aim;
                }
            }
            State::SweepEnd => {
                self.msg.d.next.kind = self.retx_range.val();
                self.msg.d.next.pidx = self.highest.q.val();
                if self.tail_lost.q.val() {
                    self.state.d.next = State::Message;
                } else {
                    self.done.next = true;
                }
            }
        }
        self.looks.d.next = self.look.val();
        self.peers.look.next = self.looks.q.val();
        self.mon_act.next = (self.state.q.val() == State::Act) & !self.look_again.val();
        self.served.d.next = self.done.val() & self.is_message.val();
        self.rev_served.d.next = self.done.val() & (self.op.q.val() == Op::Revoke);
        if self.done.val() {
            self.state.d.next = State::Idle;
        }
        if self.rst.val() {
            self.state.d.next = State::Clear;
        }
    }
}
