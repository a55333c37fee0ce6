//! How requests in flight end.

use super::XudPlace;
use super::record::{End, EndedRequest, FilledPlace, Identity, InFlight, KeptPlace, Source, Tag};
use crate::blocks::{FifoAhead, RamReg};
use crate::bus::{FlushIn, PlaceBitIn};
use crate::prelude::*;
use tributary_protocol::xud::Outcome;

hdl_record! {
    /// An operation on a place. F bits for a place.
    struct Operation<const F: usize> {
        /// Which request, and how it ends.
        op: End,
        /// An acknowledgement says where it comes from and to what.
        echo: Bit,
        /// Where it comes from.
        from: Source,
        /// What it says of its request.
        identity: Identity,
        /// Place.
        place: Bits<F>,
        /// Its S, when its time was over.
        bit: Bits<1>,
    }
}

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
        /// Which and how: a record End.
        pub job: Signal<In, Bits<57>>,
        /// A request failed.
        pub fail_valid: Signal<In, Bit>,
        /// It is taken.
        pub fail_ready: Signal<Out, Bit>,
        /// As job.
        pub fail: Signal<In, Bits<57>>,
        /// An acknowledgement.
        pub ack_valid: Signal<In, Bit>,
        /// It is taken.
        pub ack_ready: Signal<Out, Bit>,
        /// As job.
        pub ack: Signal<In, Bits<57>>,
        /// It says where it comes from and to what.
        pub ack_echo: Signal<In, Bit>,
        /// A record Source.
        pub ack_from: Signal<In, Bits<44>>,
        /// A record Identity.
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
        /// They: a record FilledPlace.
        pub w_fields: Signal<In, Bits<197>>,
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
        /// Its acknowledgement said that it came marked.
        pub m_marked: Signal<Out, Bit>,
        /// Fields.
        pub m_fields: Signal<Out, Bits<196>>,
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
        /// Entries: tag and K; fields; S; E.
        tags: RamReg<{ KeptPlace::BITS }, LF>,
        fields: RamReg<{ FilledPlace::BITS }, LF>,
        keeps: Signal<Local, KeptPlace>,
        kept: Signal<Local, KeptPlace>,
        filled: Signal<Local, FilledPlace>,
        s: RamReg<1, LF>,
        e: RamReg<1, LF>,
        place: XudPlace<LF>,
        /// Requests that have ended.
        done: FifoAhead<{ EndedRequest::BITS }, 4>,
        ended: Signal<Local, EndedRequest>,
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
        s1: DFF<Operation<LF>>,
        /// It claims 0, it ends what is claimed 1.
        #[reset] s1_claim: DFF<Bits<2>>,
        #[reset] s2_kind: DFF<Bits<4>>,
        s2: DFF<Operation<LF>>,
        #[reset] s2_claim: DFF<Bits<2>>,
        #[reset] s3_kind: DFF<Bits<4>>,
        s3: DFF<Operation<LF>>,
        #[reset] s3_claim: DFF<Bits<2>>,
        #[reset] s4_kind: DFF<Bits<4>>,
        s4: DFF<Operation<LF>>,
        #[reset] s4_claim: DFF<Bits<2>>,
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
        s5_marked: DFF<Bit>,
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
        s5_tag: DFF<Tag>,
        s5_fields: DFF<InFlight>,
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
        s6_record: DFF<EndedRequest>,
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
        self.keeps.next = KeptPlace {
            tag: Tag {
                psn: self.wk_psn.val(),
                qpn: bit_cast::<24, LQ>(self.wk_qpn.val()),
            },
            k: self.wk_bit.val(),
        };
        self.tags.wr.data.next = self.keeps.val().to_bits();
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
        self.s1.d.next.op = self.ack.val().into();
        if self.fail_valid.val() {
            self.s1.d.next.op = self.fail.val().into();
        }
        if self.job_valid.val() {
            self.s1.d.next.op = self.job.val().into();
        }
        self.s1.d.next.echo = self.ack_echo.val();
        self.s1.d.next.from = self.ack_from.val().into();
        self.s1.d.next.identity = self.ack_identity.val().into();
        self.s1_claim.d.next =
            bit_cast::<2, 1>((self.take_ack.val() & self.ack_claim.val()).into())
                | (bit_cast::<2, 1>((self.take_ack.val() & self.ack_end.val()).into()) << 1);
        self.s1.d.next.place = self.x_place.val();
        if self.turn.q.val() {
            self.s1.d.next.place = self.walk.q.val();
        }
        self.s1.d.next.bit = self.x_bit.val();

        // Stage 2: the place.
        self.place.psn.next = self.s1.q.val().op.tag.psn;
        self.place.qpn.next = self.s1.q.val().op.tag.qpn;
        self.s2_kind.d.next = self.s1_kind.q.val();
        self.s2.d.next = self.s1.q.val();
        self.s2_claim.d.next = self.s1_claim.q.val();
        self.s2.d.next.place = self.place.m.val();
        if self.s1_kind.q.val().get_bit(0) | self.s1_kind.q.val().get_bit(3) {
            self.s2.d.next.place = self.s1.q.val().place;
        }
        self.tags.rd.addr.next = self.s2.q.val().place;
        self.fields.rd.addr.next = self.s2.q.val().place;
        self.s.rd.addr.next = self.s2.q.val().place;
        self.e.rd.addr.next = self.s2.q.val().place;

        // Stages 3 and 4: the entry; who else is there.
        self.s3_near.d.next =
            bit_cast::<4, 1>((self.s2.q.val().place == self.s3.q.val().place).into())
                | (bit_cast::<4, 1>((self.s2.q.val().place == self.s4.q.val().place).into()) << 1)
                | (bit_cast::<4, 1>((self.s2.q.val().place == self.s5_place.q.val()).into()) << 2)
                | (bit_cast::<4, 1>((self.s2.q.val().place == self.s6_place.q.val()).into()) << 3);
        self.s3_torn.d.next = self.wk_en.val() & (self.wk_place.val() == self.s2.q.val().place);
        self.s3_kind.d.next = self.s2_kind.q.val();
        self.s3.d.next = self.s2.q.val();
        self.s3_claim.d.next = self.s2_claim.q.val();
        self.s4_near.d.next = self.s3_near.q.val();
        self.s4_torn.d.next = self.s3_torn.q.val();
        self.s4_kind.d.next = self.s3_kind.q.val();
        self.s4.d.next = self.s3.q.val();
        self.s4_claim.d.next = self.s3_claim.q.val();

        // Stage 5: compared.
        self.s5_near.d.next = self.s4_near.q.val();
        self.s5_torn.d.next = self.s4_torn.q.val();
        self.s5_kind.d.next = self.s4_kind.q.val();
        self.s5_place.d.next = self.s4.q.val().place;
        self.s5_outcome.d.next = self.s4.q.val().op.outcome;
        if self.s4_kind.q.val().get_bit(0) {
            self.s5_outcome.d.next = self.timeout.val();
        }
        self.s5_marked.d.next = self.s4.q.val().op.marked & self.s4_kind.q.val().get_bit(2);
        self.kept.next = self.tags.rd.data.val().into();
        self.filled.next = self.fields.rd.data.val().into();
        self.s5_set.d.next = self.s.rd.data.val() != self.e.rd.data.val();
        self.s5_kept.d.next = (self.s.rd.data.val() == self.e.rd.data.val())
            & (self.kept.val().k != self.e.rd.data.val());
        self.s5_s.d.next = self.s.rd.data.val();
        self.s5_same_s.d.next = self.s.rd.data.val() == self.s4.q.val().bit;
        self.s5_same_psn.d.next = self.kept.val().tag.psn == self.s4.q.val().op.tag.psn;
        self.s5_same_qpn.d.next = self.kept.val().tag.qpn == self.s4.q.val().op.tag.qpn;
        self.s5_flush_qpn.d.next =
            bit_cast::<LQ, 24>(self.kept.val().tag.qpn) == self.flush_of.q.val();
        self.s5_no_qpn.d.next = (self.s4.q.val().op.tag.qpn >> self.lq.val()).any();
        self.s5_plain.d.next = !self.filled.val().fields.vf.get_bits::<4>(4).any();
        self.s5_echo.d.next = self.s4.q.val().echo;
        self.s5_same_node.d.next = self.filled.val().fields.node == self.s4.q.val().from.node;
        self.s5_same_peer.d.next = self.filled.val().fields.peer == self.s4.q.val().from.peer;
        self.s5_same_flags.d.next =
            self.filled.val().fields.vf.get_bits::<4>(0) == self.s4.q.val().identity.flags;
        self.s5_same_window.d.next = (self.filled.val().fields.win_id
            == self.s4.q.val().identity.win_id)
            & (self.filled.val().fields.epoch == self.s4.q.val().identity.epoch);
        self.s5_same_msn.d.next = self.filled.val().fields.msn == self.s4.q.val().identity.msn;
        self.s5_tag.d.next = self.kept.val().tag;
        self.s5_fields.d.next = self.filled.val().fields;
        self.s5_claim.d.next = self.s4_claim.q.val();
        self.s5_claimed.d.next =
            self.claimed.q.val() & (self.claimed_place.q.val() == self.s4.q.val().place);
        self.s5_refusals.d.next = self.filled.val().answered
            & !self.s4.q.val().op.outcome.any()
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
        self.s6_record.d.next = EndedRequest {
            fields: self.s5_fields.q.val(),
            end: End {
                tag: self.s5_tag.q.val(),
                outcome: self.s5_outcome.q.val(),
                marked: self.s5_marked.q.val(),
            },
        };
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
        self.done.s.data.next = self.s6_record.q.val().to_bits();
        self.done.m.ready.next = self.m_ready.val();
        self.m_valid.next = self.done.m.valid.val();
        self.ended.next = self.done.m.data.val().into();
        self.m_fields.next = self.ended.val().fields.to_bits();
        self.m_psn.next = self.ended.val().end.tag.psn;
        self.m_qpn.next = bit_cast::<LQ, 24>(self.ended.val().end.tag.qpn);
        self.m_status.next = self.ended.val().end.outcome;
        self.m_marked.next = self.ended.val().end.marked;

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
