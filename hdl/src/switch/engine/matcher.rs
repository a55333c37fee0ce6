//! The descriptors of a reduction engine: which one a frame belongs to, and what becomes of it.

mod change;
mod decide;
mod timers;

use crate::blocks::{AsyncRam, GatherBits, OneHotIndex};
use crate::prelude::*;
use crate::switch::ByteSwap;
use tributary_protocol::red::wire::COUNT_MAX;

hdl_module! {
    /// Descriptors of a reduction engine (8): finds the one a frame belongs to and decides what
    /// becomes of the frame and of the descriptor. One frame every 11 clocks; the words of a frame
    /// come one a clock.
    /// Clocks, counted from the first word (0):
    ///   0 compare with all descriptors   1 index   2 tables read, m_index   3 sequence and
    ///   operation compared, counts added   4 decision   5 descriptor written, c_*, j_*
    ///   9 wait count comes   10, 11 timeout chosen   12 timer set.
    /// A tick starts a visit to all timers, one every two clocks. A descriptor that has expired
    /// closes the engine to new frames (room low) until the pipeline is empty, 40 clocks at most,
    /// and is then given up.
    /// A contribution with others beside it that are combined together changes nothing by itself: its decision is the take, and all of
    /// them have a pass of their own, whose clocks are those of a frame from 1 on; key, descriptor and header are still there.
    /// Nothing stalls here. A descriptor whose result waits to be sent (sending) is no frame's, has no timer and does not
    /// change until done_*, however long that takes: q_* shows it.
    #[module("red_match_d8")]
    pub struct RedMatch {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: frees all descriptors.
        pub rst: Signal<In, Bit>,
        /// First word of a frame.
        pub s_first: Signal<In, Bit>,
        /// It goes down a tree, otherwise up; with the first word.
        pub s_down: Signal<In, Bit>,
        /// Word of the frame: 0 key 15:0, VNI 31:16, cookie; 1 reduction header; 9 wait count 19:0.
        pub s_data: Signal<In, Bits<64>>,
        /// The engine takes part; otherwise frames up pass and frames down have no effect.
        pub cfg_enable: Signal<In, Bit>,
        /// Wait count from which timeout 1 is chosen.
        pub cfg_threshold_1: Signal<In, Bits<20>>,
        /// Wait count from which timeout 2 is chosen.
        pub cfg_threshold_2: Signal<In, Bits<20>>,
        /// Wait count from which timeout 3 is chosen.
        pub cfg_threshold_3: Signal<In, Bits<20>>,
        /// Timeout of small wait counts, ticks.
        pub cfg_timeout_0: Signal<In, Bits<24>>,
        /// Timeout from threshold 1 on, ticks.
        pub cfg_timeout_1: Signal<In, Bits<24>>,
        /// Timeout from threshold 2 on, ticks.
        pub cfg_timeout_2: Signal<In, Bits<24>>,
        /// Timeout from threshold 3 on, ticks.
        pub cfg_timeout_3: Signal<In, Bits<24>>,
        /// 1,024 clocks have passed; never within 40 clocks of the one before.
        pub tick: Signal<In, Bit>,
        /// Clock 1: descriptor of the frame, meaningless if it has none; the same, one-hot, zero if it has none.
        pub m_soon: Signal<Out, Bits<3>>,
        /// One-hot.
        pub m_hit: Signal<Out, Bits<8>>,
        /// Clock 2: descriptor of the frame, meaningless if it has none.
        pub m_index: Signal<Out, Bits<3>>,
        /// Clock 2: it has no contribution yet.
        pub m_empty: Signal<Out, Bit>,
        /// Clock 2: the frame's values replace what it has.
        pub m_load: Signal<Out, Bit>,
        /// Clock 2: its operations disagree.
        pub m_mismatched: Signal<Out, Bit>,
        /// Clock 2: reduction header, most significant byte first.
        pub m_header: Signal<Out, Bits<64>>,
        /// Clock 5: a decision.
        pub c_valid: Signal<Out, Bit>,
        /// The frame is combined.
        pub c_combine: Signal<Out, Bit>,
        /// Upwards, the frame goes on unchanged; only with c_valid.
        pub c_pass: Signal<Out, Bit>,
        /// It is the first contribution.
        pub c_first: Signal<Out, Bit>,
        /// Its operation differs from the first one's.
        pub c_differs: Signal<Out, Bit>,
        /// More have contributed than the wait count says.
        pub c_over: Signal<Out, Bit>,
        /// Its descriptor.
        pub c_index: Signal<Out, Bits<3>>,
        /// One-hot.
        pub c_onehot: Signal<Out, Bits<8>>,
        /// Clock 5, or when a descriptor has expired: its result is to be sent.
        pub j_valid: Signal<Out, Bit>,
        /// The descriptor.
        pub j_index: Signal<Out, Bits<3>>,
        /// Clock 4 of a contribution: others wait that are to be combined with it.
        pub others: Signal<In, Bit>,
        /// Clock 5: they are. The descriptor stands still until the pass of all of them.
        pub take: Signal<Out, Bit>,
        /// The pass begins: clock 0 of a frame with the key and the header of the one before.
        pub again: Signal<In, Bit>,
        /// One clock later: the count that it has.
        pub again_1: Signal<In, Bit>,
        /// That count.
        pub again_count: Signal<In, Bits<20>>,
        /// From the take until the pass is decided: no descriptor is given up.
        pub busy: Signal<In, Bit>,
        /// One of the others has been combined, with the event of the first.
        pub counted: Signal<In, Bit>,
        /// A result has been sent: its descriptor is free.
        pub done_valid: Signal<In, Bit>,
        /// The descriptor.
        pub done_index: Signal<In, Bits<3>>,
        /// Descriptor whose header is wanted for sending.
        pub q_index: Signal<In, Bits<3>>,
        /// Key 15:0, VNI 31:16, cookie 63:32 as it stands in the frame.
        pub q_key: Signal<Out, Bits<64>>,
        /// Sequence number.
        pub q_seqno: Signal<Out, Bits<10>>,
        /// Contributions.
        pub q_count: Signal<Out, Bits<20>>,
        /// Operation.
        pub q_op: Signal<Out, Bits<6>>,
        /// No descriptor has expired: frames may come.
        pub room: Signal<Out, Bit>,
        /// Something happened.
        pub ev_valid: Signal<Out, Bit>,
        /// 0 armed, 1 armed again, 2 released, 3 no free descriptor, 4 foreign VNI, 5 old sequence number,
        /// 6 arm frame upwards, 7 passed, 8 combined, 9 result, 10 partial result, 11 expired empty, 12 operations differ,
        /// 13 too many contributions, 14 nothing to do.
        pub ev_code: Signal<Out, Bits<4>>,
        /// The descriptor.
        pub ev_index: Signal<Out, Bits<3>>,
        /// Descriptors in use, those included whose result waits to be sent.
        pub used: Signal<Out, Bits<8>>,

        /// Keys, VNIs and cookies.
        keys: Bank<DFF<Bits<64>>, 8>,
        /// In use; result waits to be sent; no contribution yet; operations disagree; timer runs; expired.
        #[reset] valid: DFF<Bits<8>>,
        #[reset] sending: DFF<Bits<8>>,
        empty: DFF<Bits<8>>,
        mismatched: DFF<Bits<8>>,
        #[reset] timed: DFF<Bits<8>>,
        #[reset] expired: DFF<Bits<8>>,
        seqnos: AsyncRam<10, 3>,
        seqnos_q: AsyncRam<10, 3>,
        /// Contributions 19:0, operation 25:20.
        tallies: AsyncRam<26, 3>,
        tallies_q: AsyncRam<26, 3>,
        waits: AsyncRam<20, 3>,
        keys_q: AsyncRam<64, 3>,
        timers: AsyncRam<24, 3>,
        swap: ByteSwap,
        /// Descriptors whose key, VNI, cookie equals the frame's.
        hits: GatherBits<8>,
        vnis: GatherBits<8>,
        cookies: GatherBits<8>,

        /// Clock k after the first word.
        #[reset] t1: DFF<Bit>,
        #[reset] t2: DFF<Bit>,
        #[reset] t3: DFF<Bit>,
        #[reset] t4: DFF<Bit>,
        #[reset] t5: DFF<Bit>,
        #[reset] t6: DFF<Bit>,
        #[reset] t7: DFF<Bit>,
        #[reset] t8: DFF<Bit>,
        #[reset] t9: DFF<Bit>,
        #[reset] t10: DFF<Bit>,
        #[reset] t11: DFF<Bit>,
        /// The frame: it goes down a tree; its first word, its header.
        goes_down: DFF<Bit>,
        key: DFF<Bits<64>>,
        header: DFF<Bits<64>>,
        /// Clock 1: descriptors with its key, with its VNI, with its cookie.
        t1_hit: DFF<Bits<8>>,
        t1_vni: DFF<Bits<8>>,
        t1_cookie: DFF<Bits<8>>,
        live: Signal<Local, Bits<8>>,
        hit_at: OneHotIndex<8, 3>,
        /// Clock 2.
        t2_any: DFF<Bit>,
        t2_vni: DFF<Bit>,
        t2_cookie: DFF<Bit>,
        t2_empty: DFF<Bit>,
        t2_load: DFF<Bit>,
        /// Descriptors whose values the frame would replace.
        replaced: Signal<Local, Bits<8>>,
        t2_mismatched: DFF<Bit>,
        index: DFF<Bits<3>>,
        /// A free descriptor.
        free_any: DFF<Bit>,
        free_index: DFF<Bits<3>>,
        free_at: OneHotIndex<8, 3>,
        free: Signal<Local, Bits<8>>,
        free_first: DFF<Bits<8>>,
        /// Clock 3.
        t3_seqno: DFF<Bits<10>>,
        t3_tally: DFF<Bits<26>>,
        /// Contributions still missing; two's complement.
        t3_missing: DFF<Bits<22>>,
        t3_match: DFF<Bit>,
        behind: Signal<Local, Bits<10>>,
        /// Clock 4.
        t4_same: DFF<Bit>,
        t4_older: DFF<Bit>,
        t4_differs: DFF<Bit>,
        t4_sum: DFF<Bits<21>>,
        /// With this frame there are as many as the wait count says; there are more.
        t4_reached: DFF<Bit>,
        t4_over: DFF<Bit>,
        contribution: Signal<Local, Bits<22>>,
        left: Signal<Local, Bits<22>>,
        excess: Signal<Local, Bits<22>>,
        t4_op: DFF<Bits<6>>,
        /// Seen from the sequence number: the frame would be combined, arms again, frees; of any, it passes, arms a free one, arms again
        /// (another cookie); its event otherwise.
        #[reset] t4_up: DFF<Bit>,
        #[reset] t4_arms: DFF<Bit>,
        #[reset] t4_frees: DFF<Bit>,
        #[reset] t4_pass: DFF<Bit>,
        #[reset] t4_new: DFF<Bit>,
        #[reset] t4_again: DFF<Bit>,
        t4_event: DFF<Bits<4>>,
        enabled: Signal<Local, Bit>,
        up: Signal<Local, Bit>,
        down: Signal<Local, Bit>,
        arms: Signal<Local, Bit>,
        /// It has the descriptor's key and VNI, not its cookie.
        stray: Signal<Local, Bit>,
        /// Decision. It is ahead of the descriptor, or behind.
        combine: Signal<Local, Bit>,
        takes: Signal<Local, Bit>,
        ahead: Signal<Local, Bit>,
        late: Signal<Local, Bit>,
        arm_again: Signal<Local, Bit>,
        release: Signal<Local, Bit>,
        decided: Signal<Local, Bits<4>>,
        /// Clock 5. t5_marked: the result is op_mismatch from now on.
        #[reset] t5_take: DFF<Bit>,
        #[reset] t5_combine: DFF<Bit>,
        #[reset] t5_pass: DFF<Bit>,
        t5_first: DFF<Bit>,
        t5_differs: DFF<Bit>,
        #[reset] t5_arm: DFF<Bit>,
        #[reset] t5_release: DFF<Bit>,
        t5_event: DFF<Bits<4>>,
        t5_index: DFF<Bits<3>>,
        t5_onehot: DFF<Bits<8>>,
        t5_count: DFF<Bits<20>>,
        t5_op: DFF<Bits<6>>,
        #[reset] t5_reached: DFF<Bit>,
        t5_over: DFF<Bit>,
        t5_marked: DFF<Bit>,
        chosen: Signal<Local, Bits<3>>,
        /// What clock 5 does to the descriptors.
        set_arm: Signal<Local, Bits<8>>,
        set_release: Signal<Local, Bits<8>>,
        set_combine: Signal<Local, Bits<8>>,
        set_marked: Signal<Local, Bits<8>>,
        set_reached: Signal<Local, Bits<8>>,
        tally: Signal<Local, Bits<26>>,
        set_done: Signal<Local, Bits<8>>,
        /// Clock 6 to 8: what else there is to count.
        t6_reached: DFF<Bit>,
        t6_differs: DFF<Bit>,
        t6_over: DFF<Bit>,
        /// Clocks 10 to 12: arming.
        t6_arm: DFF<Bit>,
        t10_wait: DFF<Bits<20>>,
        t11_above: DFF<Bits<3>>,
        t12_timeout: DFF<Bits<24>>,
        set_timer: Signal<Local, Bits<8>>,
        #[reset] arm_timer: DFF<Bit>,
        above: Signal<Local, Bits<2>>,
        /// Visit to the timers: place, under way, timer read, its value.
        #[reset] visit: DFF<Bits<3>>,
        #[reset] visiting: DFF<Bit>,
        #[reset] visit_read: DFF<Bit>,
        timer: DFF<Bits<24>>,
        /// Which quarters of it are not zero.
        timer_any: DFF<Bits<4>>,
        /// The place, one-hot.
        visit_at: DFF<Bits<8>>,
        /// Timers set since the visit began.
        fresh: DFF<Bits<8>>,
        spared: DFF<Bit>,
        visit_step: Signal<Local, Bit>,
        run_out: Signal<Local, Bits<8>>,
        /// A timer has run out in the clock before.
        gone: DFF<Bits<8>>,
        /// Room was low one clock ago.
        #[reset] closed: DFF<Bit>,
        /// Clocks since the last frame began, while a descriptor has expired.
        #[reset] gap: DFF<Bits<5>>,
        /// A descriptor had expired one clock ago, and no frame begins or is combined with others.
        still: Signal<Local, Bit>,
        /// They are 31.
        #[reset] long_ago: DFF<Bit>,
        /// The first expired descriptor, one clock ago.
        expire_first: DFF<Bits<8>>,
        expire_at: OneHotIndex<8, 3>,
        give_up: Signal<Local, Bit>,
        /// One was given up in the clock before.
        #[reset] gave_up: DFF<Bit>,
        given_up: Signal<Local, Bits<8>>,
        #[reset] x_valid: DFF<Bit>,
        x_full: DFF<Bit>,
        x_index: DFF<Bits<3>>,
        /// All of a header but its count.
        but_count: Param<{ !(0xf_ffff << 17) }, 64>,
        /// Largest count.
        count_max: Param<{ COUNT_MAX as usize }, 20>,
    }
}

impl Logic for RedMatch {
    #[hdl_gen]
    fn update(&mut self) {
        for i in 0..8 {
            self.keys[i].d.next = self.keys[i].q.val();
        }

        self.t1.d.next = self.s_first.val() | self.again.val();
        self.t2.d.next = self.t1.q.val();
        self.t3.d.next = self.t2.q.val();
        self.t4.d.next = self.t3.q.val();
        self.t5.d.next = self.t4.q.val();
        self.t6.d.next = self.t5.q.val();
        self.t7.d.next = self.t6.q.val();
        self.t8.d.next = self.t7.q.val();
        self.t9.d.next = self.t8.q.val();
        self.t10.d.next = self.t9.q.val();
        self.t11.d.next = self.t10.q.val();

        self.find();
        self.compare();
        self.decide();
        self.change();
        self.tell();
        self.set_timer();
        self.visit_timers();
        // Expired descriptors are given up when no frame is under way.
        self.room.next = !self.expired.q.val().any();
        self.gap.d.next = self.gap.q.val() + 1;
        if self.gap.q.val().all() {
            self.gap.d.next = self.gap.q.val();
        }
        self.still.next = !self.s_first.val() & self.closed.q.val() & !self.busy.val();
        if !self.still.val() {
            self.gap.d.next = 0.into();
        }
        self.long_ago.d.next = self.gap.q.val().get_bits::<4>(1).all() & self.still.val();
        self.expire_first.d.next = self.expired.q.val() & (!self.expired.q.val() + 1);
        self.closed.d.next = !self.room.val();
        self.give_up.next = self.long_ago.q.val() & self.closed.q.val() & !self.gave_up.q.val();
        self.gave_up.d.next = self.give_up.val();
        self.expire_at.s.next = self.expire_first.q.val();
        self.given_up.next = 0.into();
        if self.give_up.val() {
            self.given_up.next = self.expire_first.q.val();
        }
        self.x_valid.d.next = self.give_up.val();
        self.x_full.d.next = !(self.expire_first.q.val() & self.empty.q.val()).any();
        self.x_index.d.next = self.expire_at.m.val();

        self.valid.d.next = (self.valid.q.val() | self.set_arm.val())
            & !(self.set_release.val()
                | self.set_done.val()
                | (self.given_up.val() & self.empty.q.val()));
        self.sending.d.next = (self.sending.q.val()
            | self.set_reached.val()
            | (self.given_up.val() & !self.empty.q.val()))
            & !self.set_done.val();
        self.empty.d.next = (self.empty.q.val() & !self.set_combine.val()) | self.set_arm.val();
        self.mismatched.d.next =
            (self.mismatched.q.val() & !self.set_arm.val()) | self.set_marked.val();
        self.timed.d.next = (self.timed.q.val() & !self.set_arm.val()) | self.set_timer.val();
        self.expired.d.next = (self.expired.q.val()
            | (self.gone.q.val() & self.timed.q.val() & self.live.val()))
            & !(self.set_arm.val()
                | self.set_release.val()
                | self.set_reached.val()
                | self.given_up.val());

        // Sending.
        self.keys_q.rd.addr.next = self.q_index.val();
        self.seqnos_q.rd.addr.next = self.q_index.val();
        self.tallies_q.rd.addr.next = self.q_index.val();
        self.q_key.next = self.keys_q.rd.data.val();
        self.q_seqno.next = self.seqnos_q.rd.data.val();
        self.q_count.next = self.tallies_q.rd.data.val().get_bits::<20>(0);
        self.q_op.next = self.tallies_q.rd.data.val().get_bits::<6>(20);
        self.used.next = self.valid.q.val();
        if self.rst.val() {
            self.visit_at.d.next = 1.into();
        }
    }
}
