//! The state machine of commands.

use super::{CardRegsCommand, State, Then};
use crate::prelude::*;

impl<const LQ: usize, const LR: usize, const LF: usize> CardRegsCommand<LQ, LR, LF> {
    /// One step of the command, or of a ring that cannot be read.
    #[hdl_part]
    pub(super) fn advance(&mut self) {
        self.cfg_out.d.next = false;
        self.set_out.d.next = false;
        self.flush_out.d.next = false;
        self.win_out.d.next = false;
        self.fetching.d.next = false;
        if self.fetching.q.val() & (self.step.q.val() != self.last.q.val()) {
            self.arg0.d.next = self.args.rd.data.val();
            self.arg1.d.next = self.arg0.q.val();
            self.arg2.d.next = self.arg1.q.val();
            self.arg3.d.next = self.arg2.q.val();
        }
        // The outcome, one clock after it is known; the command ends no sooner.
        self.said.d.next = 0.into();
        self.says.d.next = false;
        self.said0.d.next = 0.into();
        self.said1.d.next = 0.into();
        if self.said.q.val().any() {
            self.result.d.next = self.said.q.val();
        }
        if self.says.q.val() {
            self.value0.d.next = self.said0.q.val();
            self.value1.d.next = self.said1.q.val();
        }
        match self.state.q.val() {
            State::Clear => {
                self.contexts.rd.addr.next = self.sweep.q.val().get_bits::<LQ>(0);
                self.contexts.wr.addr.next = self.sweep.q.val().get_bits::<LQ>(0);
                self.contexts.wr.data.next =
                    bit_cast::<80, 16>(self.contexts.rd.data.val().get_bits::<16>(64)) << 64;
                if self.forget.val() {
                    self.contexts.wr.data.next = 0.into();
                }
                self.sweep_step.d.next = self.sweep_step.q.val() + 1;
                if self.sweep_step.q.val().all() {
                    self.sweep.d.next = self.sweep.q.val() + 1;
                    self.contexts.wr.en.next = true;
                }
                if (self.sweep.q.val() >> self.lq.val()).any()
                    & (self.sweep.q.val() >> self.lr.val()).any()
                    & (self.sweep.q.val() >> self.lf.val()).any()
                {
                    self.state.d.next = State::Idle;
                }
            }
            State::Idle => {
                if self.fatal_a.m.valid.val() | self.fatal_b.m.valid.val() {
                    self.serving.d.next = true;
                    self.state.d.next = State::Read1;
                } else if self.running.q.val() {
                    self.state.d.next = State::Check;
                }
            }
            State::Check => {
                self.check();
            }
            State::Read1 => {
                self.state.d.next = State::Read2;
            }
            State::Read2 => {
                self.state.d.next = State::Read3;
            }
            State::Read3 => {
                self.read_context();
            }
            State::Fetch => {
                self.fetch();
            }
            State::Weigh => {
                self.next_epoch.d.next = self.newest.q.val() + 1;
                self.no_bytes.d.next = !(self.arg0.q.val() | self.arg1.q.val()).any();
                if self.is_modify.q.val() & (self.to.val() > self.error.val()) {
                    self.bad.d.next = true;
                }
                self.step.d.next = 0.into();
                self.state.d.next = State::Decide;
                if self.is_open.q.val() {
                    self.who.d.next = self.first.q.val().get_bits::<LQ>(0);
                    self.state.d.next = State::Read1;
                }
            }
            State::Decide => {
                self.decide();
            }
            State::Gather => {
                self.arg0.d.next = self.args.rd.data.val();
                self.arg1.d.next = self.arg0.q.val();
                self.step.d.next = self.step.q.val() + 1;
                if self.step.q.val().get_bit(0) {
                    self.state.d.next = State::Ring;
                }
            }
            State::Ring => {
                self.cfg_out.d.next = true;
                self.cfg_out_word.d.next = self.step.q.val().get_bits::<3>(1);
                self.cfg_out_data.d.next = bit_cast::<64, 32>(self.arg1.q.val())
                    | (bit_cast::<64, 32>(self.arg0.q.val()) << 32);
                self.then.d.next = Then::Gather;
                if self.step.q.val().get_bit(3) {
                    self.then.d.next = Then::Epochs;
                }
                self.state.d.next = State::Pause;
            }
            State::Epochs => {
                self.cfg_out.d.next = true;
                self.cfg_out_word.d.next = 5.into();
                self.cfg_out_data.d.next = bit_cast::<64, 16>(self.oldest.q.val())
                    | (bit_cast::<64, 16>(self.newest.q.val()) << 16);
                self.contexts.wr.en.next = true;
                self.then.d.next = Then::Finish;
                if self.is_create.q.val() {
                    // It is not there before its last word.
                    self.contexts.wr.en.next = false;
                    self.then.d.next = Then::Indices;
                }
                self.state.d.next = State::Pause;
            }
            State::Indices => {
                self.cfg_out.d.next = true;
                self.cfg_out_word.d.next = 6.into();
                self.cfg_out_data.d.next = 0.into();
                self.then.d.next = Then::Shape;
                self.state.d.next = State::Pause;
            }
            State::Shape => {
                self.cfg_out.d.next = true;
                self.cfg_out_word.d.next = 0.into();
                self.cfg_out_data.d.next = bit_cast::<64, 48>(self.word0.q.val());
                self.contexts.wr.en.next = true;
                self.then.d.next = Then::Finish;
                self.state.d.next = State::Pause;
            }
            State::Pause => {
                self.pause.d.next = self.pause.q.val() + 1;
                if self.pause.q.val().all() {
                    match self.then.q.val() {
                        Then::Gather => {
                            self.state.d.next = State::Gather;
                        }
                        Then::Epochs => {
                            self.state.d.next = State::Epochs;
                        }
                        Then::Indices => {
                            self.state.d.next = State::Indices;
                        }
                        Then::Shape => {
                            self.state.d.next = State::Shape;
                        }
                        Then::Finish => {
                            self.state.d.next = State::Finish;
                            if self.serving.q.val() {
                                self.serving.d.next = false;
                                self.state.d.next = State::Idle;
                                if self.held.q.val() {
                                    self.state.d.next = State::Hold;
                                }
                            }
                        }
                        _ => {
                            self.state.d.next = State::Finish;
                        }
                    }
                }
            }
            State::Region => {
                self.set_out.d.next = true;
                self.set_there.d.next = self.is_set.q.val();
                self.state.d.next = State::Finish;
            }
            State::Window => {
                self.win_out.d.next = true;
                self.state.d.next = State::Windowing;
            }
            State::Windowing => {
                if self.win.done.val() {
                    if !self.is_open.q.val() {
                        self.says.d.next = true;
                        self.said0.d.next = self.win.expected.val();
                        self.said1.d.next = bit_cast::<16, 1>(self.win.was.val().into());
                    }
                    self.state.d.next = State::Finish;
                }
            }
            State::Join => {
                if self.m_join.done.val() {
                    self.state.d.next = State::Finish;
                    self.said.d.next = self.bad_state.val();
                    if self.m_join.ok.val() {
                        self.state.d.next = State::Shape;
                        self.said.d.next = 0.into();
                        self.word0.d.next = self.word0.q.val() | self.member_bit.val();
                    }
                }
            }
            State::Hold => {
                self.held.d.next = true;
                self.waited.d.next = self.waited.q.val() + 1;
                self.quiet.d.next = self.quiet.q.val() + 1;
                if !self.idle.val() | !self.held.q.val() {
                    self.quiet.d.next = 0.into();
                }
                if self.fatal_a.m.valid.val() | self.fatal_b.m.valid.val() {
                    self.quiet.d.next = 0.into();
                    self.serving.d.next = true;
                    self.state.d.next = State::Read1;
                } else if self.quiet.q.val().get_bit(4) {
                    self.quiet.d.next = 0.into();
                    self.who.d.next = self.index.q.val().get_bits::<LQ>(0);
                    if self.of_region.q.val() {
                        self.state.d.next = State::Region;
                        if self.cfg_bulk.val() {
                            self.state.d.next = State::End;
                        }
                    } else if self.of_window.q.val() {
                        self.state.d.next = State::Window;
                    } else if self.flushed.q.val() {
                        self.state.d.next = State::Read1;
                    } else {
                        self.state.d.next = State::Flush;
                    }
                } else if self.waited.q.val().get_bit(23) {
                    self.quiet.d.next = 0.into();
                    self.said.d.next = self.not_idle.val();
                    self.state.d.next = State::Finish;
                }
            }
            State::Flush => {
                self.flush_out.d.next = true;
                self.flushed.d.next = true;
                self.state.d.next = State::Flushing;
            }
            State::Flushing => {
                if self.flush.done.val() {
                    self.state.d.next = State::Hold;
                    if self.cfg_bulk.val() {
                        self.state.d.next = State::End;
                    }
                }
            }
            State::End => {
                if self.end.done.val() {
                    self.state.d.next = State::Hold;
                    if self.of_region.q.val() {
                        self.state.d.next = State::Region;
                    }
                }
            }
            State::Finish => {
                self.running.d.next = false;
                self.held.d.next = false;
                self.flushed.d.next = false;
                self.state.d.next = State::Idle;
            }
            _ => {
                self.state.d.next = State::Clear;
            }
        }
        if self.take_fatal.val() {
            if self.fatal_a.m.valid.val() {
                self.who.d.next = self.fatal_a.m.data.val();
            } else if self.fatal_b.m.valid.val() {
                self.who.d.next = self.fatal_b.m.data.val();
            }
        }
    }
}
