//! How requests in flight end.

use super::XudPlace;
use crate::blocks::{FifoAhead, RamReg};
use crate::bus::{FlushIn, PlaceBitIn};
use crate::prelude::*;
use tributary_protocol::xud::Outcome;

hdl_module! {
    /// Ends of requests in flight: timeouts, requests that end as they are filled, failures,
    /// acknowledgements (in this order, one a clock) and, every other clock while there is one, a
    /// flush. Each reads its place, and if it finds what it is for, inverts E there and leaves a
    /// completion. An end is seen by the four operations behind it, which read their places too
    /// early, so that a request ends once.
    /// A request that is claimed (XUD-13) is out of reach of all but ack_end; one is at most.
    /// Latency: 6 clocks from taking an operation to ev_*; 7 to m_valid.
    /// Stages: 1 operation; 2 place; 3, 4 entry read; 5 compared; 6 E written, completion, ev_*.
    /// While m_* is not taken the completion stays: it is a copy, and its place may be kept and filled anew.
    #[module("xud_end_q{}_d{}", 1usize << LQ, 1usize << LF)]
    pub struct XudEnd<const LQ: usize, const LF: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: forgets what is under way.
        pub rst: Signal<In, Bit>,
        /// The table is not empty yet: nothing is taken.
        pub clearing: Signal<In, Bit>,
        /// The time of a place is over.
        pub x_valid: Signal<In, Bit>,
        /// It is taken.
        pub x_ready: Signal<Out, Bit>,
        /// Place.
        pub x_place: Signal<In, Bits<LF>>,
        /// Its S then.
        pub x_bit: Signal<In, Bits<1>>,
        /// A request ends that was filled with an outcome.
        pub job_valid: Signal<In, Bit>,
        /// It is taken.
        pub job_ready: Signal<Out, Bit>,
        /// Packet number 23:0, queue pair 47:24, outcome.
        pub job: Signal<In, Bits<56>>,
        /// A request failed.
        pub fail_valid: Signal<In, Bit>,
        /// It is taken.
        pub fail_ready: Signal<Out, Bit>,
        /// As job.
        pub fail: Signal<In, Bits<56>>,
        /// An acknowledgement.
        pub ack_valid: Signal<In, Bit>,
        /// It is taken.
        pub ack_ready: Signal<Out, Bit>,
        /// As job.
        pub ack: Signal<In, Bits<56>>,
        /// It says where it comes from and to what.
        pub ack_echo: Signal<In, Bit>,
        /// Node 15:0 and queue pair that it comes from.
        pub ack_from: Signal<In, Bits<40>>,
        /// Flags 3:0, window 19:4, epoch 35:20, number in the window.
        pub ack_identity: Signal<In, Bits<68>>,
        /// It claims its request, which does not end.
        pub ack_claim: Signal<In, Bit>,
        /// It ends the request that is claimed.
        pub ack_end: Signal<In, Bit>,
        /// A claim is decided.
        pub claim_done: Signal<Out, Bit>,
        /// It found its request.
        pub claim_ok: Signal<Out, Bit>,
        /// Free every place of a queue pair.
        pub flush: FlushIn<LQ>,
        /// A flush begins; pulse.
        pub flush_begins: Signal<Out, Bit>,
        /// A place that is kept is to be given back.
        pub f_valid: Signal<Out, Bit>,
        /// Place.
        pub f_place: Signal<Out, Bits<LF>>,
        /// Eight more of these fit.
        pub f_open: Signal<In, Bit>,
        /// None of these waits.
        pub f_empty: Signal<In, Bit>,
        /// E changes.
        pub e_en: Signal<Out, Bit>,
        /// Of this place.
        pub e_place: Signal<Out, Bits<LF>>,
        /// To this.
        pub e_bit: Signal<Out, Bits<1>>,
        /// Write K and tag.
        pub wk_en: Signal<In, Bit>,
        /// Place.
        pub wk_place: Signal<In, Bits<LF>>,
        /// Bit.
        pub wk_bit: Signal<In, Bits<1>>,
        /// Queue pair.
        pub wk_qpn: Signal<In, Bits<LQ>>,
        /// Packet number.
        pub wk_psn: Signal<In, Bits<24>>,
        /// Writes of bit S.
        pub ws: PlaceBitIn<LF>,
        /// Writes of bit E.
        pub we: PlaceBitIn<LF>,
        /// Write the fields of a place.
        pub w_en: Signal<In, Bit>,
        /// Place.
        pub w_place: Signal<In, Bits<LF>>,
        /// Node 15:0, queue pair 39:16, version and flags 47:40, window 63:48, epoch 79:64, number in the window
        /// 111:80, what the user needs 191:112, it waits for an answer 192.
        pub w_fields: Signal<In, Bits<193>>,
        /// A request has ended.
        pub m_valid: Signal<Out, Bit>,
        /// That is taken.
        pub m_ready: Signal<In, Bit>,
        /// Queue pair.
        pub m_qpn: Signal<Out, Bits<LQ>>,
        /// Packet number.
        pub m_psn: Signal<Out, Bits<24>>,
        /// Outcome.
        pub m_status: Signal<Out, Bits<8>>,
        /// Fields.
        pub m_fields: Signal<Out, Bits<192>>,
        /// An acknowledgement of nothing in flight.
        pub ev_ack_unknown: Signal<Out, Bit>,
        /// An acknowledgement from elsewhere.
        pub ev_ack_source: Signal<Out, Bit>,
        /// An acknowledgement with another window identity.
        pub ev_ack_echo: Signal<Out, Bit>,
        /// An acknowledgement for a queue pair that the card cannot have.
        pub ev_bad_qp: Signal<Out, Bit>,
        /// A request ended OK.
        pub ev_acknowledged: Signal<Out, Bit>,
        /// A request ended by timeout.
        pub ev_timeout: Signal<Out, Bit>,
        /// Entries: packet number, queue pair and K; fields; S; E.
        tags: RamReg<49, LF>,
        fields: RamReg<193, LF>,
        s: RamReg<1, LF>,
        e: RamReg<1, LF>,
        place: XudPlace<LF>,
        /// Completions: fields, packet number, queue pair, outcome.
        done: FifoAhead<248, 4>,
        /// An operation may be taken, of a flush only.
        #[reset] open: DFF<Bit>,
        #[reset] turn: DFF<Bit>,
        turn_next: Signal<Local, Bit>,
        /// A flush is under way, it visits places; queue pair, next place, clocks of quiet behind the last.
        #[reset] flushing: DFF<Bit>,
        #[reset] walking: DFF<Bit>,
        flush_of: DFF<Bits<LQ>>,
        walk: DFF<Bits<LF>>,
        #[reset] quiet: DFF<Bits<4>>,
        #[reset] flushed: DFF<Bit>,
        take_x: Signal<Local, Bit>,
        take_job: Signal<Local, Bit>,
        take_fail: Signal<Local, Bit>,
        take_ack: Signal<Local, Bit>,
        /// Operations by stage: timeout 0, failure 1, acknowledgement 2, flush 3.
        #[reset] s1_kind: DFF<Bits<4>>,
        s1_op: DFF<Bits<56>>,
        s1_echo: DFF<Bit>,
        s1_from: DFF<Bits<40>>,
        s1_identity: DFF<Bits<68>>,
        /// It claims 0, it ends what is claimed 1.
        #[reset] s1_claim: DFF<Bits<2>>,
        s1_place: DFF<Bits<LF>>,
        s1_bit: DFF<Bits<1>>,
        #[reset] s2_kind: DFF<Bits<4>>,
        s2_op: DFF<Bits<56>>,
        s2_echo: DFF<Bit>,
        s2_from: DFF<Bits<40>>,
        s2_identity: DFF<Bits<68>>,
        #[reset] s2_claim: DFF<Bits<2>>,
        s2_place: DFF<Bits<LF>>,
        s2_bit: DFF<Bits<1>>,
        #[reset] s3_kind: DFF<Bits<4>>,
        s3_op: DFF<Bits<56>>,
        s3_echo: DFF<Bit>,
        s3_from: DFF<Bits<40>>,
        s3_identity: DFF<Bits<68>>,
        #[reset] s3_claim: DFF<Bits<2>>,
        s3_place: DFF<Bits<LF>>,
        s3_bit: DFF<Bits<1>>,
        #[reset] s4_kind: DFF<Bits<4>>,
        s4_op: DFF<Bits<56>>,
        s4_echo: DFF<Bit>,
        s4_from: DFF<Bits<40>>,
        s4_identity: DFF<Bits<68>>,
        #[reset] s4_claim: DFF<Bits<2>>,
        s4_place: DFF<Bits<LF>>,
        s4_bit: DFF<Bits<1>>,
        /// The operation 1 to 4 ahead is of the same place; K was written while it was read.
        s3_near: DFF<Bits<4>>,
        s4_near: DFF<Bits<4>>,
        s5_near: DFF<Bits<4>>,
        s3_torn: DFF<Bit>,
        s4_torn: DFF<Bit>,
        s5_torn: DFF<Bit>,
        /// Stage 5: the place is filled, is kept; what is equal.
        #[reset] s5_kind: DFF<Bits<4>>,
        s5_outcome: DFF<Bits<8>>,
        s5_place: DFF<Bits<LF>>,
        s5_set: DFF<Bit>,
        s5_kept: DFF<Bit>,
        s5_s: DFF<Bits<1>>,
        s5_same_s: DFF<Bit>,
        s5_same_psn: DFF<Bit>,
        s5_same_qpn: DFF<Bit>,
        s5_flush_qpn: DFF<Bit>,
        s5_no_qpn: DFF<Bit>,
        s5_plain: DFF<Bit>,
        s5_echo: DFF<Bit>,
        s5_same_node: DFF<Bit>,
        s5_same_peer: DFF<Bit>,
        s5_same_window: DFF<Bit>,
        s5_same_msn: DFF<Bit>,
        s5_same_flags: DFF<Bit>,
        #[reset] s5_claim: DFF<Bits<2>>,
        /// The place was claimed a clock ago; a plain OK does not end the request.
        s5_claimed: DFF<Bit>,
        s5_refusals: DFF<Bit>,
        s5_tag: DFF<Bits<48>>,
        s5_fields: DFF<Bits<192>>,
        live: Signal<Local, Bit>,
        found: Signal<Local, Bit>,
        source: Signal<Local, Bit>,
        identity: Signal<Local, Bit>,
        accepted: Signal<Local, Bit>,
        hit: Signal<Local, Bit>,
        claims: Signal<Local, Bit>,
        is_x: Signal<Local, Bit>,
        is_fail: Signal<Local, Bit>,
        is_ack: Signal<Local, Bit>,
        is_flush: Signal<Local, Bit>,
        /// Ends decided 1 to 4 clocks ago.
        #[reset] hits: DFF<Bits<4>>,
        /// A place is claimed, this one; it was one or two clocks ago.
        #[reset] claimed: DFF<Bit>,
        claimed_place: DFF<Bits<LF>>,
        #[reset] just_claimed: DFF<Bits<2>>,
        /// Stage 6.
        #[reset] s6_claim: DFF<Bit>,
        #[reset] s6_claim_ok: DFF<Bit>,
        s6_place: DFF<Bits<LF>>,
        s6_bit: DFF<Bits<1>>,
        #[reset] s6_done: DFF<Bit>,
        #[reset] s6_back: DFF<Bit>,
        s6_record: DFF<Bits<248>>,
        #[reset] s6_unknown: DFF<Bit>,
        #[reset] s6_source: DFF<Bit>,
        #[reset] s6_echo: DFF<Bit>,
        #[reset] s6_no_qp: DFF<Bit>,
        #[reset] s6_ok: DFF<Bit>,
        #[reset] s6_timeout: DFF<Bit>,
        lq: Param<LQ, 5>,
        /// How a request ends whose time is over.
        timeout: Param<{ Outcome::Timeout as usize }, 8>,
    }
}

impl<const LQ: usize, const LF: usize> Logic for XudEnd<LQ, LF> {
    #[hdl_gen]
    fn update(&mut self) {
        self.tags.wr.en.next = self.wk_en.val();
        self.tags.wr.addr.next = self.wk_place.val();
        self.tags.wr.data.next = bit_cast::<49, 24>(self.wk_psn.val())
            | (bit_cast::<49, LQ>(self.wk_qpn.val()) << 24)
            | (bit_cast::<49, 1>(self.wk_bit.val()) << 48);
        self.fields.wr.en.next = self.w_en.val();
        self.fields.wr.addr.next = self.w_place.val();
        self.fields.wr.data.next = self.w_fields.val();
        self.s.wr.en.next = self.ws.en.val();
        self.s.wr.addr.next = self.ws.place.val();
        self.s.wr.data.next = self.ws.bit.val();
        self.e.wr.en.next = self.we.en.val();
        self.e.wr.addr.next = self.we.place.val();
        self.e.wr.data.next = self.we.bit.val();

        // Whose turn it is. What is under way always finds room for its completion: eight operations.
        self.turn_next.next =
            self.walking.q.val() & !self.turn.q.val() & self.f_open.val() & !self.clearing.val();
        self.turn.d.next = self.turn_next.val();
        self.open.d.next = !self.turn_next.val()
            & !self.clearing.val()
            & !self.done.count.val().get_bits::<2>(3).any();
        self.x_ready.next = self.open.q.val();
        self.job_ready.next = self.open.q.val() & !self.x_valid.val();
        self.fail_ready.next = self.open.q.val() & !self.x_valid.val() & !self.job_valid.val();
        self.ack_ready.next = self.open.q.val()
            & !self.x_valid.val()
            & !self.job_valid.val()
            & !self.fail_valid.val();
        self.take_x.next = self.open.q.val() & self.x_valid.val();
        self.take_job.next = self.open.q.val() & !self.x_valid.val() & self.job_valid.val();
        self.take_fail.next =
            self.open.q.val() & !self.x_valid.val() & !self.job_valid.val() & self.fail_valid.val();
        self.take_ack.next = self.open.q.val()
            & !self.x_valid.val()
            & !self.job_valid.val()
            & !self.fail_valid.val()
            & self.ack_valid.val();

        // Stage 1: the operation.
        self.s1_kind.d.next = bit_cast::<4, 1>(self.take_x.val().into())
            | (bit_cast::<4, 1>((self.take_job.val() | self.take_fail.val()).into()) << 1)
            | (bit_cast::<4, 1>(self.take_ack.val().into()) << 2)
            | (bit_cast::<4, 1>(self.turn.q.val().into()) << 3);
        self.s1_op.d.next = self.ack.val();
        if self.fail_valid.val() {
            self.s1_op.d.next = self.fail.val();
        }
        if self.job_valid.val() {
            self.s1_op.d.next = self.job.val();
        }
        self.s1_echo.d.next = self.ack_echo.val();
        self.s1_from.d.next = self.ack_from.val();
        self.s1_identity.d.next = self.ack_identity.val();
        self.s1_claim.d.next =
            bit_cast::<2, 1>((self.take_ack.val() & self.ack_claim.val()).into())
                | (bit_cast::<2, 1>((self.take_ack.val() & self.ack_end.val()).into()) << 1);
        self.s1_place.d.next = self.x_place.val();
        if self.turn.q.val() {
            self.s1_place.d.next = self.walk.q.val();
        }
        self.s1_bit.d.next = self.x_bit.val();

        // Stage 2: the place.
        self.place.psn.next = self.s1_op.q.val().get_bits::<24>(0);
        self.place.qpn.next = self.s1_op.q.val().get_bits::<24>(24);
        self.s2_kind.d.next = self.s1_kind.q.val();
        self.s2_op.d.next = self.s1_op.q.val();
        self.s2_echo.d.next = self.s1_echo.q.val();
        self.s2_from.d.next = self.s1_from.q.val();
        self.s2_identity.d.next = self.s1_identity.q.val();
        self.s2_claim.d.next = self.s1_claim.q.val();
        self.s2_bit.d.next = self.s1_bit.q.val();
        self.s2_place.d.next = self.place.m.val();
        if self.s1_kind.q.val().get_bit(0) | self.s1_kind.q.val().get_bit(3) {
            self.s2_place.d.next = self.s1_place.q.val();
        }
        self.tags.rd.addr.next = self.s2_place.q.val();
        self.fields.rd.addr.next = self.s2_place.q.val();
        self.s.rd.addr.next = self.s2_place.q.val();
        self.e.rd.addr.next = self.s2_place.q.val();

        // Stages 3 and 4: the entry; who else is there.
        self.s3_near.d.next =
            bit_cast::<4, 1>((self.s2_place.q.val() == self.s3_place.q.val()).into())
                | (bit_cast::<4, 1>((self.s2_place.q.val() == self.s4_place.q.val()).into()) << 1)
                | (bit_cast::<4, 1>((self.s2_place.q.val() == self.s5_place.q.val()).into()) << 2)
                | (bit_cast::<4, 1>((self.s2_place.q.val() == self.s6_place.q.val()).into()) << 3);
        self.s3_torn.d.next = self.wk_en.val() & (self.wk_place.val() == self.s2_place.q.val());
        self.s3_kind.d.next = self.s2_kind.q.val();
        self.s3_op.d.next = self.s2_op.q.val();
        self.s3_echo.d.next = self.s2_echo.q.val();
        self.s3_from.d.next = self.s2_from.q.val();
        self.s3_identity.d.next = self.s2_identity.q.val();
        self.s3_claim.d.next = self.s2_claim.q.val();
        self.s3_place.d.next = self.s2_place.q.val();
        self.s3_bit.d.next = self.s2_bit.q.val();
        self.s4_near.d.next = self.s3_near.q.val();
        self.s4_torn.d.next = self.s3_torn.q.val();
        self.s4_kind.d.next = self.s3_kind.q.val();
        self.s4_op.d.next = self.s3_op.q.val();
        self.s4_echo.d.next = self.s3_echo.q.val();
        self.s4_from.d.next = self.s3_from.q.val();
        self.s4_identity.d.next = self.s3_identity.q.val();
        self.s4_claim.d.next = self.s3_claim.q.val();
        self.s4_place.d.next = self.s3_place.q.val();
        self.s4_bit.d.next = self.s3_bit.q.val();

        // Stage 5: compared.
        self.s5_near.d.next = self.s4_near.q.val();
        self.s5_torn.d.next = self.s4_torn.q.val();
        self.s5_kind.d.next = self.s4_kind.q.val();
        self.s5_place.d.next = self.s4_place.q.val();
        self.s5_outcome.d.next = self.s4_op.q.val().get_bits::<8>(48);
        if self.s4_kind.q.val().get_bit(0) {
            self.s5_outcome.d.next = self.timeout.val();
        }
        self.s5_set.d.next = self.s.rd.data.val() != self.e.rd.data.val();
        self.s5_kept.d.next = (self.s.rd.data.val() == self.e.rd.data.val())
            & (self.tags.rd.data.val().get_bits::<1>(48) != self.e.rd.data.val());
        self.s5_s.d.next = self.s.rd.data.val();
        self.s5_same_s.d.next = self.s.rd.data.val() == self.s4_bit.q.val();
        self.s5_same_psn.d.next =
            self.tags.rd.data.val().get_bits::<24>(0) == self.s4_op.q.val().get_bits::<24>(0);
        self.s5_same_qpn.d.next =
            self.tags.rd.data.val().get_bits::<24>(24) == self.s4_op.q.val().get_bits::<24>(24);
        self.s5_flush_qpn.d.next =
            self.tags.rd.data.val().get_bits::<LQ>(24) == self.flush_of.q.val();
        self.s5_no_qpn.d.next = (self.s4_op.q.val().get_bits::<24>(24) >> self.lq.val()).any();
        self.s5_plain.d.next = !self.fields.rd.data.val().get_bits::<4>(44).any();
        self.s5_echo.d.next = self.s4_echo.q.val();
        self.s5_same_node.d.next =
            self.fields.rd.data.val().get_bits::<16>(0) == self.s4_from.q.val().get_bits::<16>(0);
        self.s5_same_peer.d.next =
            self.fields.rd.data.val().get_bits::<24>(16) == self.s4_from.q.val().get_bits::<24>(16);
        self.s5_same_flags.d.next = self.fields.rd.data.val().get_bits::<4>(40)
            == self.s4_identity.q.val().get_bits::<4>(0);
        self.s5_same_window.d.next = self.fields.rd.data.val().get_bits::<32>(48)
            == self.s4_identity.q.val().get_bits::<32>(4);
        self.s5_same_msn.d.next = self.fields.rd.data.val().get_bits::<32>(80)
            == self.s4_identity.q.val().get_bits::<32>(36);
        self.s5_tag.d.next = self.tags.rd.data.val().get_bits::<48>(0);
        self.s5_fields.d.next = self.fields.rd.data.val().get_bits::<192>(0);
        self.s5_claim.d.next = self.s4_claim.q.val();
        self.s5_claimed.d.next =
            self.claimed.q.val() & (self.claimed_place.q.val() == self.s4_place.q.val());
        self.s5_refusals.d.next = self.fields.rd.data.val().get_bit(192)
            & !self.s4_op.q.val().get_bits::<8>(48).any()
            & !self.s4_claim.q.val().any();

        // Stage 6: the decision (XUD-3). The model's order: in flight, echo, source, identity.
        self.is_x.next = self.s5_kind.q.val().get_bit(0);
        self.is_fail.next = self.s5_kind.q.val().get_bit(1);
        self.is_ack.next = self.s5_kind.q.val().get_bit(2);
        self.is_flush.next = self.s5_kind.q.val().get_bit(3);
        self.live.next = self.s5_set.q.val()
            & !(self.s5_near.q.val() & self.hits.q.val()).any()
            & (self.s5_claim.q.val().get_bit(1)
                | !(self.s5_claimed.q.val()
                    | (self.s5_near.q.val().get_bits::<2>(0) & self.just_claimed.q.val()).any()));
        self.found.next = self.live.val() & self.s5_same_psn.q.val() & self.s5_same_qpn.q.val();
        self.source.next = self.s5_same_node.q.val() & self.s5_same_peer.q.val();
        self.identity.next =
            self.s5_same_window.q.val() & self.s5_same_msn.q.val() & self.s5_same_flags.q.val();
        self.accepted.next = self.s5_plain.q.val()
            | (self.s5_echo.q.val()
                & self.source.val()
                & self.identity.val()
                & !self.s5_refusals.q.val());
        self.claims.next = self.is_ack.val()
            & self.s5_claim.q.val().get_bit(0)
            & self.found.val()
            & self.accepted.val();
        self.just_claimed.d.next =
            (self.just_claimed.q.val() << 1) | bit_cast::<2, 1>(self.claims.val().into());
        // A clock later: what is in stage 4 then sees just_claimed.
        if self.s6_claim_ok.q.val() {
            self.claimed.d.next = true;
            self.claimed_place.d.next = self.s6_place.q.val();
        }
        if self.s5_claim.q.val().get_bit(1) {
            self.claimed.d.next = false;
        }
        self.s6_claim.d.next = self.s5_claim.q.val().get_bit(0);
        self.s6_claim_ok.d.next = self.claims.val();
        self.claim_done.next = self.s6_claim.q.val();
        self.claim_ok.next = self.s6_claim_ok.q.val();
        self.hit.next = (self.is_x.val() & self.live.val() & self.s5_same_s.q.val())
            | (self.is_fail.val() & self.found.val())
            | (self.is_ack.val()
                & self.found.val()
                & self.accepted.val()
                & !self.s5_claim.q.val().get_bit(0))
            | (self.is_flush.val() & self.live.val() & self.s5_flush_qpn.q.val());
        self.hits.d.next = (self.hits.q.val() << 1) | bit_cast::<4, 1>(self.hit.val().into());
        self.s6_place.d.next = self.s5_place.q.val();
        self.s6_bit.d.next = self.s5_s.q.val();
        self.s6_done.d.next = self.hit.val() & !self.is_flush.val();
        self.s6_back.d.next = self.is_flush.val()
            & self.s5_kept.q.val()
            & self.s5_flush_qpn.q.val()
            & !self.s5_torn.q.val();
        self.s6_record.d.next = bit_cast::<248, 192>(self.s5_fields.q.val())
            | (bit_cast::<248, 48>(self.s5_tag.q.val()) << 192)
            | (bit_cast::<248, 8>(self.s5_outcome.q.val()) << 240);
        self.s6_unknown.d.next = self.is_ack.val() & !self.found.val() & !self.s5_no_qpn.q.val();
        self.s6_no_qp.d.next = self.is_ack.val() & self.s5_no_qpn.q.val();
        self.s6_source.d.next = self.is_ack.val()
            & self.found.val()
            & !self.s5_plain.q.val()
            & self.s5_echo.q.val()
            & !self.source.val();
        self.s6_echo.d.next = self.is_ack.val()
            & self.found.val()
            & !self.s5_plain.q.val()
            & (!self.s5_echo.q.val()
                | (self.source.val() & (!self.identity.val() | self.s5_refusals.q.val())));
        self.s6_ok.d.next = self.is_ack.val()
            & self.found.val()
            & self.accepted.val()
            & !self.s5_claim.q.val().get_bit(0)
            & !self.s5_outcome.q.val().any();
        self.s6_timeout.d.next = self.is_x.val() & self.live.val() & self.s5_same_s.q.val();
        self.e_en.next = self.hits.q.val().get_bit(0);
        self.e_place.next = self.s6_place.q.val();
        self.e_bit.next = self.s6_bit.q.val();
        self.f_valid.next = self.s6_back.q.val();
        self.f_place.next = self.s6_place.q.val();
        self.ev_ack_unknown.next = self.s6_unknown.q.val();
        self.ev_ack_source.next = self.s6_source.q.val();
        self.ev_ack_echo.next = self.s6_echo.q.val();
        self.ev_bad_qp.next = self.s6_no_qp.q.val();
        self.ev_acknowledged.next = self.s6_ok.q.val();
        self.ev_timeout.next = self.s6_timeout.q.val();
        self.done.s.valid.next = self.s6_done.q.val();
        self.done.s.data.next = self.s6_record.q.val();
        self.done.m.ready.next = self.m_ready.val();
        self.m_valid.next = self.done.m.valid.val();
        self.m_fields.next = self.done.m.data.val().get_bits::<192>(0);
        self.m_psn.next = self.done.m.data.val().get_bits::<24>(192);
        self.m_qpn.next = self.done.m.data.val().get_bits::<LQ>(216);
        self.m_status.next = self.done.m.data.val().get_bits::<8>(240);

        // A flush visits all places, then waits until what it gives back is given back.
        if self.turn.q.val() {
            self.walk.d.next = self.walk.q.val() + 1;
            self.walking.d.next = !self.walk.q.val().all();
        }
        self.quiet.d.next = 0.into();
        if self.flushing.q.val() & !self.walking.q.val() & self.f_empty.val() {
            self.quiet.d.next = self.quiet.q.val() + 1;
        }
        self.flushed.d.next = self.quiet.q.val().all();
        if self.quiet.q.val().all() {
            self.flushing.d.next = false;
            self.quiet.d.next = 0.into();
        }
        self.flush_begins.next = self.flush.valid.val() & !self.flushing.q.val();
        if self.flush_begins.val() {
            self.flushing.d.next = true;
            self.walking.d.next = true;
            self.walk.d.next = 0.into();
            self.flush_of.d.next = self.flush.qpn.val();
        }
        self.flush.done.next = self.flushed.q.val();
    }
}
