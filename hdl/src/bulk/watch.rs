//! Which senders of open windows are told of marks, and of how many share the line.

use crate::blocks::{FifoReg, PriorityEncoder, RamReg};
use crate::bus::{TellingsOut, TransferEndIn, WindowsOpenedIn};
use crate::prelude::*;
use tributary_protocol::bulk::watch::LOAD_MOST;

// Times of that age are looked at by their highest two bits.
const _: () = assert!(LOAD_MOST == 1 << 14);

hdl_record! {
    /// What is kept of an open window; times in ticks.
    pub struct WatchOf {
        /// It was opened less than 2^14 ticks ago.
        young: Bit,
        /// When.
        since: Bits<16>,
        /// Number of windows that its sender was told last.
        share: Bits<16>,
        /// Its sender was told of marks less than 2^14 ticks ago.
        told: Bit,
        /// When.
        told_at: Bits<16>,
        /// Its load began 2^14 ticks ago or more.
        stale: Bit,
        /// When.
        load_since: Bits<16>,
        /// Packets since, each as many as there are windows, 32,767 at most.
        load: Bits<15>,
    }
}

hdl_record! {
    /// Whose a window is.
    pub struct WatchWho {
        /// Node of its sender.
        src: Bits<20>,
        /// Slot there.
        slot: Bits<16>,
        /// Transfer.
        xid: Bits<32>,
    }
}

/// What the block is doing.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum State {
    Idle,
    Read,
    Work,
    Store,
}

/// To a window.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum Deed {
    Open,
    Close,
    Data,
    Visit,
}

/// What becomes of those that are to be told.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum Say {
    Look,
    Read,
    Offer,
}

hdl_module! {
    /// The receiver's part of congestion control (CL-4), as `protocol/src/bulk/watch.rs` has it, for 2^A windows. The sender of a
    /// window is told of marks: of its own, and of those of others while it has more than its part of the line, once in an
    /// interval. And it is told how many windows are open when its own is opened, and again while that is young when there are
    /// twice as many.
    /// What happens waits in two queues, of windows that open and close, which go first, and of DATA; more DATA than 4 packets
    /// is not noticed, and bulk_sort has 15 clocks and more between two. In between all windows are looked at in turns, so that
    /// times that are long ago do not seem near; behind an opening that look tells the young ones.
    /// A window that is to be told of both is told once, of the marks. What is said names the number of windows at that moment.
    /// Clocks: 9 for DATA and for an open window that is looked at, 4 to the message; a clock for a closed one.
    /// Stages of a deed: 1 and 2 the memory, 3 its register, 4 ages and load, 5 compared, 6 load, 7 verdict, 8 stored.
    /// While m is not taken those to be told wait, each once. Without cfg_enable nobody is told. R windows are R registers.
    #[module("bulk_watch_r{R}")]
    pub struct BulkWatch<const R: usize, const A: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: no window is open.
        pub rst: Signal<In, Bit>,
        /// Senders are told.
        pub cfg_enable: Signal<In, Bit>,
        /// Ticks at least between two messages about the marks of a window, 1 to 4,096.
        pub cfg_interval: Signal<In, Bits<13>>,
        /// Coarse time, a free-running count of ticks.
        pub now: Signal<In, Bits<16>>,
        /// Windows that are opened.
        pub s_opened: WindowsOpenedIn,
        /// Transfers that have ended; always taken.
        pub s_cpl: TransferEndIn,
        /// DATA of a window came, the first time or again; pulse.
        pub s_data_valid: Signal<In, Bit>,
        /// Window.
        pub s_data_wptr: Signal<In, Bits<16>>,
        /// It came marked.
        pub s_data_marked: Signal<In, Bit>,
        /// Who is told what.
        pub m: TellingsOut,
        /// DATA came marked, and that counts; pulse.
        pub ev_marked: Signal<Out, Bit>,
        /// Somebody is told; pulse.
        pub ev_told: Signal<Out, Bit>,
        /// A deed is done; pulse.
        pub mon_act: Signal<Out, Bit>,
        /// Which: 0 opened, 1 closed, 2 DATA, 3 looked at.
        pub mon_deed: Signal<Out, Bits<2>>,
        /// Window.
        pub mon_wptr: Signal<Out, Bits<A>>,
        /// DATA: it came marked.
        pub mon_marked: Signal<Out, Bit>,
        /// Tick it went by.
        pub mon_tick: Signal<Out, Bits<16>>,
        /// Its sender is to be told.
        pub mon_due: Signal<Out, Bit>,
        /// Windows are looked at behind an opening.
        pub mon_sweeps: Signal<Out, Bit>,

        /// Openings 1 and closings 0, with window and tick; DATA, marked or not, with the same.
        doors: FifoReg<33, 2>,
        comes: FifoReg<33, 2>,
        watches: RamReg<{ WatchOf::BITS }, A>,
        names: RamReg<{ WatchWho::BITS }, A>,
        who: Signal<Local, WatchWho>,
        /// Whose the window is that is told, which may be another's by then.
        name: DFF<WatchWho>,
        state: DFF<State>,
        deed: DFF<Deed>,
        timer: DFF<Bits<2>>,
        #[reset] turn: DFF<Bits<A>>,
        /// Windows still to be looked at behind the last opening, and its tick.
        #[reset] sweep: DFF<Bits<16>>,
        sweep_tick: DFF<Bits<16>>,
        /// Windows that are open, and how many.
        #[reset] open: DFF<Bits<R>>,
        #[reset] windows: DFF<Bits<16>>,
        /// Those whose senders are to be told, and of marks.
        #[reset] due: DFF<Bits<R>>,
        #[reset] due_marked: DFF<Bits<R>>,
        turn_open: Signal<Local, Bit>,
        at_open: Signal<Local, Bit>,
        at_mask: Signal<Local, Bits<R>>,
        sets: Signal<Local, Bits<R>>,
        sets_marked: Signal<Local, Bits<R>>,
        clears: Signal<Local, Bits<R>>,
        opens: Signal<Local, Bits<R>>,
        closes: Signal<Local, Bits<R>>,
        /// DATA came marked less than 2^14 ticks ago, and when.
        #[reset] mark: DFF<Bit>,
        mark_at: DFF<Bits<16>>,
        mark_since: DFF<Bits<16>>,

        at: DFF<Bits<A>>,
        tick: DFF<Bits<16>>,
        marked: DFF<Bit>,
        watch: DFF<WatchOf>,
        after: Signal<Local, WatchOf>,
        // Stage 4.
        age: DFF<Bits<16>>,
        told_age: DFF<Bits<16>>,
        mark_age: DFF<Bits<16>>,
        elapsed: DFF<Bits<16>>,
        sum: DFF<Bits<17>>,
        /// Of an opening that is looked back at.
        sweep_age: DFF<Bits<16>>,
        // Stages 5 to 7.
        load: DFF<Bits<15>>,
        limit: DFF<Bits<17>>,
        period: DFF<Bit>,
        in_time: DFF<Bit>,
        told_recent: DFF<Bit>,
        mark_recent: DFF<Bit>,
        over: DFF<Bit>,
        due_data: DFF<Bit>,
        begun: DFF<Bit>,
        due_share: DFF<Bit>,
        more: Signal<Local, Bits<16>>,
        shares: Signal<Local, Bit>,

        lowest: PriorityEncoder<R, A>,
        say: DFF<Say>,
        say_timer: DFF<Bits<2>>,
        say_at: DFF<Bits<A>>,
        say_mask: Signal<Local, Bits<R>>,
        say_marked: DFF<Bit>,
        all: Param<R, 16>,
        load_most: Param<32767, 15>,
    }
}

impl<const R: usize, const A: usize> Logic for BulkWatch<R, A> {
    #[hdl_gen]
    fn update(&mut self) {
        // What happens.
        self.s_cpl.ready.next = true;
        self.doors.s.valid.next = self.s_opened.valid.val() | self.s_cpl.valid.val();
        self.doors.s.data.next = bit_cast::<33, 16>(self.now.val())
            | (bit_cast::<33, 16>(self.s_cpl.of.val().wptr) << 16);
        if self.s_opened.valid.val() {
            self.doors.s.data.next = bit_cast::<33, 16>(self.now.val())
                | (bit_cast::<33, 16>(self.s_opened.of.val().wptr) << 16)
                | (bits::<33>(1) << 32);
        }
        self.names.wr.en.next = self.s_opened.valid.val();
        self.names.wr.addr.next = self.s_opened.of.val().wptr.get_bits::<A>(0);
        self.who.next.src = self.s_opened.of.val().src;
        self.who.next.slot = self.s_opened.of.val().slot;
        self.who.next.xid = self.s_opened.of.val().xid;
        self.names.wr.data.next = self.who.val().to_bits();
        self.comes.s.valid.next = self.s_data_valid.val() & self.cfg_enable.val();
        self.comes.s.data.next = bit_cast::<33, 16>(self.now.val())
            | (bit_cast::<33, 16>(self.s_data_wptr.val()) << 16)
            | (bit_cast::<33, 1>(self.s_data_marked.val().into()) << 32);
        self.ev_marked.next =
            self.s_data_valid.val() & self.s_data_marked.val() & self.cfg_enable.val();

        self.watches.rd.addr.next = self.at.q.val();
        self.at_mask.next = bits::<R>(1) << self.at.q.val();
        self.turn_open.next = ((self.open.q.val() >> self.turn.q.val()) & bits::<R>(1)).any();
        self.at_open.next = (self.open.q.val() & self.at_mask.val()).any();
        self.more.next = self.windows.q.val() + 1;
        self.mark_since.d.next = self.now.val() - self.mark_at.q.val();
        if (self.mark_since.q.val() >> 14).any() {
            self.mark.d.next = false;
        }

        // Stage 4: ages and load.
        self.age.d.next = self.tick.q.val() - self.watch.q.val().since;
        self.told_age.d.next = self.tick.q.val() - self.watch.q.val().told_at;
        self.mark_age.d.next = self.tick.q.val() - self.mark_at.q.val();
        self.elapsed.d.next = self.tick.q.val() - self.watch.q.val().load_since;
        self.sweep_age.d.next = self.sweep_tick.q.val() - self.watch.q.val().since;
        self.sum.d.next =
            bit_cast::<17, 15>(self.watch.q.val().load) + bit_cast::<17, 16>(self.windows.q.val());
        // Stage 5.
        self.load.d.next = bit_cast::<15, 17>(self.sum.q.val());
        if (self.sum.q.val() >> 15).any() {
            self.load.d.next = self.load_most.val();
        }
        self.limit.d.next = bit_cast::<17, 16>(self.elapsed.q.val())
            + bit_cast::<17, 16>(self.elapsed.q.val() >> 2);
        self.period.d.next = self.watch.q.val().stale
            | (self.elapsed.q.val() >= bit_cast::<16, 13>(self.cfg_interval.val()));
        self.in_time.d.next = !self.watch.q.val().stale & !(self.elapsed.q.val() >> 14).any();
        self.told_recent.d.next = self.watch.q.val().told
            & (self.told_age.q.val() < bit_cast::<16, 13>(self.cfg_interval.val()));
        self.mark_recent.d.next = self.mark.q.val()
            & (self.mark_age.q.val() < bit_cast::<16, 13>(self.cfg_interval.val()));
        self.begun.d.next = self.watch.q.val().young
            & (self.sweep_age.q.val() < bit_cast::<16, 13>(self.cfg_interval.val()));
        // Stages 6 and 7.
        self.over.d.next = self.period.q.val()
            & self.in_time.q.val()
            & (bit_cast::<17, 15>(self.load.q.val()) > self.limit.q.val());
        self.due_data.d.next = !self.told_recent.q.val()
            & (self.marked.q.val() | (self.over.q.val() & self.mark_recent.q.val()));
        self.shares.next = (self.windows.q.val() >> 1) >= self.watch.q.val().share;
        self.due_share.d.next = self.begun.q.val() & self.shares.val() & self.cfg_enable.val();

        // What is stored.
        self.after.next = self.watch.q.val();
        if (self.age.q.val() >> 14).any() {
            self.after.next.young = false;
        }
        if (self.told_age.q.val() >> 14).any() {
            self.after.next.told = false;
        }
        if (self.elapsed.q.val() >> 14).any() {
            self.after.next.stale = true;
        }
        if self.deed.q.val() == Deed::Data {
            self.after.next.load = self.load.q.val();
            if self.period.q.val() {
                self.after.next.load = 0.into();
                self.after.next.load_since = self.tick.q.val();
                self.after.next.stale = false;
            }
            if self.due_data.q.val() {
                self.after.next.told = true;
                self.after.next.told_at = self.tick.q.val();
                self.after.next.share = self.windows.q.val();
            }
        }
        if (self.deed.q.val() == Deed::Visit) & self.due_share.q.val() & self.sweep.q.val().any() {
            self.after.next.share = self.windows.q.val();
        }
        if self.deed.q.val() == Deed::Open {
            self.after.next.young = true;
            self.after.next.since = self.tick.q.val();
            self.after.next.share = 1.into();
            if self.cfg_enable.val() {
                self.after.next.share = self.more.val();
            }
            self.after.next.told = false;
            self.after.next.stale = false;
            self.after.next.load = 0.into();
            self.after.next.load_since = self.tick.q.val();
        }
        self.watches.wr.en.next = self.state.q.val() == State::Store;
        self.watches.wr.addr.next = self.at.q.val();
        self.watches.wr.data.next = self.after.val().to_bits();

        self.sets.next = 0.into();
        self.sets_marked.next = 0.into();
        self.clears.next = 0.into();
        self.opens.next = 0.into();
        self.closes.next = 0.into();
        self.doors.m.ready.next = false;
        self.comes.m.ready.next = false;
        self.mon_deed.next = 0.into();
        self.mon_due.next = false;
        self.mon_sweeps.next = self.sweep.q.val().any();
        self.timer.d.next = self.timer.q.val() + 1;
        match self.state.q.val() {
            State::Idle => {
                self.timer.d.next = 0.into();
                self.tick.d.next = self.now.val();
                self.marked.d.next = false;
                if self.doors.m.valid.val() {
                    self.at.d.next = self.doors.m.data.val().get_bits::<A>(16);
                    self.tick.d.next = self.doors.m.data.val().get_bits::<16>(0);
                    self.deed.d.next = Deed::Close;
                    if self.doors.m.data.val().get_bit(32) {
                        self.deed.d.next = Deed::Open;
                    }
                    self.doors.m.ready.next = true;
                    self.state.d.next = State::Store;
                } else if self.comes.m.valid.val() {
                    self.at.d.next = self.comes.m.data.val().get_bits::<A>(16);
                    self.tick.d.next = self.comes.m.data.val().get_bits::<16>(0);
                    self.marked.d.next = self.comes.m.data.val().get_bit(32);
                    self.deed.d.next = Deed::Data;
                    self.comes.m.ready.next = true;
                    self.state.d.next = State::Read;
                } else {
                    self.at.d.next = self.turn.q.val();
                    self.turn.d.next = self.turn.q.val() + 1;
                    self.deed.d.next = Deed::Visit;
                    if self.turn_open.val() {
                        self.state.d.next = State::Read;
                    } else if self.sweep.q.val().any() {
                        self.sweep.d.next = self.sweep.q.val() - 1;
                    }
                }
            }
            State::Read => {
                self.watch.d.next = self.watches.rd.data.val().into();
                if self.timer.q.val() == 2 {
                    self.timer.d.next = 0.into();
                    self.state.d.next = State::Work;
                }
            }
            State::Work => {
                if self.timer.q.val() == 3 {
                    self.state.d.next = State::Store;
                }
            }
            State::Store => {
                self.state.d.next = State::Idle;
                match self.deed.q.val() {
                    Deed::Open => {
                        self.opens.next = self.at_mask.val();
                        self.windows.d.next = self.more.val();
                        self.sweep.d.next = self.all.val();
                        self.sweep_tick.d.next = self.tick.q.val();
                        if self.cfg_enable.val() & self.windows.q.val().any() {
                            self.sets.next = self.at_mask.val();
                            self.mon_due.next = true;
                        }
                    }
                    Deed::Close => {
                        self.mon_deed.next = 1.into();
                        if self.at_open.val() {
                            self.windows.d.next = self.windows.q.val() - 1;
                        }
                        self.closes.next = self.at_mask.val();
                    }
                    Deed::Data => {
                        self.mon_deed.next = 2.into();
                        if self.at_open.val() {
                            if self.marked.q.val() {
                                self.mark.d.next = true;
                                self.mark_at.d.next = self.tick.q.val();
                            }
                            if self.due_data.q.val() {
                                self.sets.next = self.at_mask.val();
                                self.sets_marked.next = self.at_mask.val();
                                self.mon_due.next = true;
                            }
                        }
                    }
                    Deed::Visit => {
                        self.mon_deed.next = 3.into();
                        if self.sweep.q.val().any() {
                            self.sweep.d.next = self.sweep.q.val() - 1;
                            if self.due_share.q.val() {
                                self.sets.next = self.at_mask.val();
                                self.mon_due.next = true;
                            }
                        }
                    }
                }
            }
        }
        self.mon_act.next = self.state.q.val() == State::Store;
        self.mon_wptr.next = self.at.q.val();
        self.mon_marked.next = self.marked.q.val();
        self.mon_tick.next = self.tick.q.val();

        // Who is told next.
        self.lowest.req.next = self.due.q.val();
        self.names.rd.addr.next = self.say_at.q.val();
        self.say_mask.next = bits::<R>(1) << self.say_at.q.val();
        self.m.of.next.node = self.name.q.val().src;
        self.m.of.next.slot = self.name.q.val().slot;
        self.m.of.next.xid = self.name.q.val().xid;
        self.m.of.next.marked = self.say_marked.q.val();
        self.m.of.next.share = self.windows.q.val();
        self.m.valid.next = self.say.q.val() == Say::Offer;
        self.ev_told.next = (self.say.q.val() == Say::Offer) & self.m.ready.val();
        self.say_timer.d.next = self.say_timer.q.val() + 1;
        match self.say.q.val() {
            Say::Look => {
                self.say_timer.d.next = 0.into();
                self.say_at.d.next = self.lowest.index.val();
                if !self.lowest.none.val() {
                    self.say.d.next = Say::Read;
                }
            }
            Say::Read => {
                self.name.d.next = self.names.rd.data.val().into();
                self.say_marked.d.next = (self.due_marked.q.val() & self.say_mask.val()).any();
                if self.say_timer.q.val() == 2 {
                    self.clears.next = self.say_mask.val();
                    self.say.d.next = Say::Offer;
                    // Closed meanwhile.
                    if !(self.due.q.val() & self.say_mask.val()).any() {
                        self.say.d.next = Say::Look;
                    }
                }
            }
            Say::Offer => {
                if self.m.ready.val() {
                    self.say.d.next = Say::Look;
                }
            }
        }
        self.open.d.next = (self.open.q.val() | self.opens.val()) & !self.closes.val();
        self.due.d.next =
            ((self.due.q.val() & !self.clears.val()) | self.sets.val()) & !self.closes.val();
        self.due_marked.d.next = ((self.due_marked.q.val() & !self.clears.val())
            | self.sets_marked.val())
            & !self.closes.val();
        if self.rst.val() {
            self.state.d.next = State::Idle;
            self.say.d.next = Say::Look;
        }
    }
}
