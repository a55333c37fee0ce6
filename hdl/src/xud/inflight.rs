//! Requests in flight: from the reservation of a place to the one completion.

mod deadlines;
mod end;
mod keep;
mod record;

pub use deadlines::XudDeadlines;
pub use end::XudEnd;
pub use keep::XudKeep;

use crate::blocks::{FifoAhead, RamReg};
use crate::bus::{AckOrClaimIn, CompletionOut, Ended, FlushIn};
use crate::prelude::*;
use record::{End, FilledPlace, Identity, InFlight, Source, Tag};

hdl_module! {
    /// Place of a request in a table of 2^LF: packet number plus the queue pair's number with its
    /// bits reversed, as a fraction of the table, so that the queue pairs begin far apart.
    /// Combinational.
    #[module("xud_place_d{}", 1usize << LF)]
    pub struct XudPlace<const LF: usize> {
        /// Queue pair.
        pub qpn: Signal<In, Bits<24>>,
        /// Packet number.
        pub psn: Signal<In, Bits<24>>,
        /// Place.
        pub m: Signal<Out, Bits<LF>>,
    }
}

impl<const LF: usize> Logic for XudPlace<LF> {
    fn update(&mut self) {
        let qpn = self.qpn.val().to_u64() as u32;
        let base = u64::from(qpn.reverse_bits()) << LF >> 32;
        let place = (self.psn.val().to_u64() + base) & ((1 << LF) - 1);
        self.m.next = place.into();
    }

    fn connect(&mut self) {
        self.m.connect();
    }

    fn hdl(&self) -> Verilog {
        let reversed: Vec<String> = (0..LF).map(|bit| format!("qpn[{bit}]")).collect();
        Verilog::Custom(format!(
            "wire [{top}:0] base = {{{}}};\nassign m = psn[{top}:0] + base;\n\
             wire _unused = &{{1'b0, qpn[23:{LF}], psn[23:{LF}]}};",
            reversed.join(", "),
            top = LF - 1,
        ))
    }

    fn timing(&self) -> Vec<TimingInfo> {
        Self::module_info().into_timing()
    }
}

hdl_module! {
    /// Table of requests in flight (XUD-1): 2^LF places, requests of 2^LQ queue pairs. A place is
    /// kept, filled, and ends in one completion: by acknowledgement (XUD-3), timeout or failure; or
    /// it is given back without one.
    /// One reservation, one filling and one end a clock, sustained, whatever places they are of.
    /// State of a place is three bits, each with one writer: K (reservation), S (filling), E (end).
    /// Free: all equal. Kept: K differs. Filled: E differs. So nobody waits for another's write.
    /// Latency: rsv_done 4 clocks after rsv_valid. An operation is decided 6 clocks after it was
    /// taken (ev_*), and its completion on offer one clock later if none waits.
    /// A place counts its time in quarters of the unit and is visited every 2^LF clocks: a timeout
    /// is never early, and late by at most a quarter of the unit, 2^LF clocks, and 20, plus 1 for
    /// each other end that comes first and 2^LF for each flush that begins meanwhile.
    /// After reset the places are freed one a clock: 2^LF clocks, in which the ready outputs are
    /// low and rsv_ok is too.
    /// While m_* is not taken the completion stays as it is, though its place may be of another request by then; with
    /// eight completions waiting, nothing that can end a request is taken.
    #[module("xud_inflight_q{}_d{}", 1usize << LQ, 1usize << LF)]
    pub struct XudInFlight<const LQ: usize, const LF: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: frees all places.
        pub rst: Signal<In, Bit>,
        /// Reserve a place. Several may be under way if their places differ.
        pub rsv_valid: Signal<In, Bit>,
        /// Queue pair.
        pub rsv_qpn: Signal<In, Bits<LQ>>,
        /// Packet number.
        pub rsv_psn: Signal<In, Bits<24>>,
        /// Answer, 4 clocks later.
        pub rsv_done: Signal<Out, Bit>,
        /// The place was free and is kept.
        pub rsv_ok: Signal<Out, Bit>,
        /// Give a kept place back; up to 16 at once, then one for each clock without rsv_valid.
        pub drop_valid: Signal<In, Bit>,
        /// Queue pair.
        pub drop_qpn: Signal<In, Bits<LQ>>,
        /// Packet number.
        pub drop_psn: Signal<In, Bits<24>>,
        /// Fill a kept place.
        pub set_valid: Signal<In, Bit>,
        /// It is taken.
        pub set_ready: Signal<Out, Bit>,
        /// Queue pair.
        pub set_qpn: Signal<In, Bits<LQ>>,
        /// Packet number.
        pub set_psn: Signal<In, Bits<24>>,
        /// Destination node.
        pub set_node: Signal<In, Bits<20>>,
        /// Destination queue pair.
        pub set_peer: Signal<In, Bits<24>>,
        /// Version 7:4 and flags 3:0.
        pub set_vf: Signal<In, Bits<8>>,
        /// Window.
        pub set_win_id: Signal<In, Bits<16>>,
        /// Epoch.
        pub set_epoch: Signal<In, Bits<16>>,
        /// Number in the window.
        pub set_msn: Signal<In, Bits<32>>,
        /// User's name for the request.
        pub set_wr_id: Signal<In, Bits<64>>,
        /// Number of the request in its ring.
        pub set_request: Signal<In, Bits<16>>,
        /// Timeout exponent t: unit times 2^t.
        pub set_timeout: Signal<In, Bits<5>>,
        /// 0: the deadline starts. Otherwise the request ends with this outcome.
        pub set_outcome: Signal<In, Bits<8>>,
        /// Its acknowledgement is an answer with a claim of its own; of others only refusals are taken.
        pub set_answered: Signal<In, Bit>,
        /// A request that was filled ends; nothing happens if it has ended.
        pub fail_valid: Signal<In, Bit>,
        /// It is taken.
        pub fail_ready: Signal<Out, Bit>,
        /// Queue pair.
        pub fail_qpn: Signal<In, Bits<LQ>>,
        /// Packet number.
        pub fail_psn: Signal<In, Bits<24>>,
        /// Outcome.
        pub fail_outcome: Signal<In, Bits<8>>,
        /// Acknowledgements.
        pub ack: AckOrClaimIn,
        /// A claim is decided, 6 clocks after it was taken.
        pub claim_done: Signal<Out, Bit>,
        /// It found its request.
        pub claim_ok: Signal<Out, Bit>,
        /// Every place of a queue pair becomes free without a completion; one at a time, while nothing of it is reserved,
        /// filled or claimed.
        pub flush: FlushIn<LQ>,
        /// Requests that have ended.
        pub m: CompletionOut<LQ>,
        /// Clocks in 4.096 us, 4 or more.
        pub cfg_timeout_unit: Signal<In, Bits<16>>,
        /// An acknowledgement of nothing in flight (XUD-10).
        pub ev_ack_unknown: Signal<Out, Bit>,
        /// An acknowledgement from elsewhere than where the request went.
        pub ev_ack_source: Signal<Out, Bit>,
        /// An acknowledgement with another window identity.
        pub ev_ack_echo: Signal<Out, Bit>,
        /// An acknowledgement for a queue pair that the card cannot have.
        pub ev_bad_qp: Signal<Out, Bit>,
        /// A request ended OK.
        pub ev_acknowledged: Signal<Out, Bit>,
        /// A request ended by timeout.
        pub ev_timeout: Signal<Out, Bit>,
        keep: XudKeep<LQ, LF>,
        deadlines: XudDeadlines<LF>,
        end: XudEnd<LQ, LF>,
        /// Requests that end as soon as they are filled.
        ended: FifoAhead<{ End::BITS }, 4>,
        ends_at_once: Signal<Local, End>,
        fails: Signal<Local, End>,
        acknowledged: Signal<Local, End>,
        /// Who acknowledges, and what.
        from: Signal<Local, Source>,
        identity: Signal<Local, Identity>,
        /// What was in flight of the request that has ended.
        fields: Signal<Local, InFlight>,
        /// Places are still being freed; the next one.
        clearing: DFF<Bit>,
        #[reset] clear: DFF<Bits<LF>>,
        /// Filling, stage 1: fields written.
        set_take: Signal<Local, Bit>,
        #[reset] set_open: DFF<Bit>,
        set_place: XudPlace<LF>,
        #[reset] s1_valid: DFF<Bit>,
        s1_place: DFF<Bits<LF>>,
        s1_tag: DFF<Tag>,
        s1_fields: DFF<FilledPlace>,
        s1_timeout: DFF<Bits<5>>,
        s1_outcome: DFF<Bits<8>>,
        /// Stages 2 and 3: K read, S written.
        #[reset] s2_valid: DFF<Bit>,
        s2_place: DFF<Bits<LF>>,
        #[reset] s3_valid: DFF<Bit>,
        s3_place: DFF<Bits<LF>>,
        kept: RamReg<1, LF>,
        /// Writes of K, S, E.
        k_en: Signal<Local, Bit>,
        k_place: Signal<Local, Bits<LF>>,
        k_bit: Signal<Local, Bits<1>>,
        s_en: Signal<Local, Bit>,
        s_place: Signal<Local, Bits<LF>>,
        s_bit: Signal<Local, Bits<1>>,
        e_en: Signal<Local, Bit>,
        e_place: Signal<Local, Bits<LF>>,
        e_bit: Signal<Local, Bits<1>>,
    }
}

impl<const LQ: usize, const LF: usize> Logic for XudInFlight<LQ, LF> {
    #[hdl_gen]
    fn update(&mut self) {
        // After reset every bit of state becomes 0.
        if self.clearing.q.val() {
            self.clear.d.next = self.clear.q.val() + 1;
            self.clearing.d.next = !self.clear.q.val().all();
        }

        // Filling: fields, then, with K, the bit that makes them count.
        self.set_ready.next = self.set_open.q.val();
        self.set_take.next = self.set_valid.val() & self.set_open.q.val();
        self.set_open.d.next =
            !self.clearing.q.val() & !self.ended.count.val().get_bits::<2>(3).any();
        self.set_place.qpn.next = bit_cast::<24, LQ>(self.set_qpn.val());
        self.set_place.psn.next = self.set_psn.val();
        self.s1_valid.d.next = self.set_take.val();
        self.s1_place.d.next = self.set_place.m.val();
        self.s1_tag.d.next = Tag {
            psn: self.set_psn.val(),
            qpn: bit_cast::<24, LQ>(self.set_qpn.val()),
        };
        self.s1_fields.d.next = FilledPlace {
            fields: InFlight {
                node: self.set_node.val(),
                peer: self.set_peer.val(),
                vf: self.set_vf.val(),
                win_id: self.set_win_id.val(),
                epoch: self.set_epoch.val(),
                msn: self.set_msn.val(),
                wr_id: self.set_wr_id.val(),
                request: self.set_request.val(),
            },
            answered: self.set_answered.val(),
        };
        self.s1_timeout.d.next = self.set_timeout.val();
        // What ends at once never comes to its deadline.
        if self.set_outcome.val().any() {
            self.s1_timeout.d.next = 31.into();
        }
        self.s1_outcome.d.next = self.set_outcome.val();
        self.kept.rd.addr.next = self.s1_place.q.val();
        self.s2_valid.d.next = self.s1_valid.q.val();
        self.s2_place.d.next = self.s1_place.q.val();
        self.s3_valid.d.next = self.s2_valid.q.val();
        self.s3_place.d.next = self.s2_place.q.val();
        self.ended.s.valid.next = self.s1_valid.q.val() & self.s1_outcome.q.val().any();
        self.ends_at_once.next = End {
            tag: self.s1_tag.q.val(),
            outcome: self.s1_outcome.q.val(),
            marked: false,
        };
        self.ended.s.data.next = self.ends_at_once.val().to_bits();

        // The three bits.
        self.k_en.next = self.keep.k_en.val();
        self.k_place.next = self.keep.k_place.val();
        self.k_bit.next = self.keep.k_bit.val();
        self.s_en.next = self.s3_valid.q.val();
        self.s_place.next = self.s3_place.q.val();
        self.s_bit.next = self.kept.rd.data.val();
        self.e_en.next = self.end.e_en.val();
        self.e_place.next = self.end.e_place.val();
        self.e_bit.next = self.end.e_bit.val();
        if self.clearing.q.val() {
            self.k_en.next = true;
            self.k_place.next = self.clear.q.val();
            self.k_bit.next = 0.into();
            self.s_en.next = true;
            self.s_place.next = self.clear.q.val();
            self.s_bit.next = 0.into();
            self.e_en.next = true;
            self.e_place.next = self.clear.q.val();
            self.e_bit.next = 0.into();
        }
        self.kept.wr.en.next = self.k_en.val();
        self.kept.wr.addr.next = self.k_place.val();
        self.kept.wr.data.next = self.k_bit.val();
        self.keep.wk.en.next = self.k_en.val();
        self.keep.wk.place.next = self.k_place.val();
        self.keep.wk.bit.next = self.k_bit.val();
        self.keep.ws.en.next = self.s_en.val();
        self.keep.ws.place.next = self.s_place.val();
        self.keep.ws.bit.next = self.s_bit.val();
        self.keep.we.en.next = self.e_en.val();
        self.keep.we.place.next = self.e_place.val();
        self.keep.we.bit.next = self.e_bit.val();
        self.deadlines.ws.en.next = self.s_en.val();
        self.deadlines.ws.place.next = self.s_place.val();
        self.deadlines.ws.bit.next = self.s_bit.val();
        self.deadlines.we.en.next = self.e_en.val();
        self.deadlines.we.place.next = self.e_place.val();
        self.deadlines.we.bit.next = self.e_bit.val();
        self.end.wk_en.next = self.k_en.val();
        self.end.wk_place.next = self.k_place.val();
        self.end.wk_bit.next = self.k_bit.val();
        self.end.wk_qpn.next = self.keep.k_qpn.val();
        self.end.wk_psn.next = self.keep.k_psn.val();
        self.end.ws.en.next = self.s_en.val();
        self.end.ws.place.next = self.s_place.val();
        self.end.ws.bit.next = self.s_bit.val();
        self.end.we.en.next = self.e_en.val();
        self.end.we.place.next = self.e_place.val();
        self.end.we.bit.next = self.e_bit.val();

        // Reservation.
        self.keep.clearing.next = self.clearing.q.val();
        self.keep.rsv_valid.next = self.rsv_valid.val();
        self.keep.rsv_qpn.next = self.rsv_qpn.val();
        self.keep.rsv_psn.next = self.rsv_psn.val();
        self.rsv_done.next = self.keep.rsv_done.val();
        self.rsv_ok.next = self.keep.rsv_ok.val();
        self.keep.drop_valid.next = self.drop_valid.val();
        self.keep.drop_qpn.next = self.drop_qpn.val();
        self.keep.drop_psn.next = self.drop_psn.val();
        self.keep.f_valid.next = self.end.f_valid.val();
        self.keep.f_place.next = self.end.f_place.val();
        self.end.f_open.next = self.keep.f_open.val();
        self.end.f_empty.next = self.keep.f_empty.val();

        // Deadlines.
        self.deadlines.cfg_timeout_unit.next = self.cfg_timeout_unit.val();
        self.deadlines.clearing.next = self.clearing.q.val();
        self.deadlines.s_valid.next = self.s1_valid.q.val();
        self.deadlines.s_place.next = self.s1_place.q.val();
        self.deadlines.s_timeout.next = self.s1_timeout.q.val();
        self.deadlines.forget.next = self.end.flush_begins.val();
        self.end.x_valid.next = self.deadlines.m_valid.val();
        self.deadlines.m_ready.next = self.end.x_ready.val();
        self.end.x_place.next = self.deadlines.m_place.val();
        self.end.x_bit.next = self.deadlines.m_bit.val();

        // Ends.
        self.end.clearing.next = self.clearing.q.val();
        self.end.w_en.next = self.s1_valid.q.val();
        self.end.w_place.next = self.s1_place.q.val();
        self.end.w_fields.next = self.s1_fields.q.val().to_bits();
        self.end.job_valid.next = self.ended.m.valid.val();
        self.ended.m.ready.next = self.end.job_ready.val();
        self.end.job.next = self.ended.m.data.val();
        self.end.fail_valid.next = self.fail_valid.val();
        self.fail_ready.next = self.end.fail_ready.val();
        self.fails.next = End {
            tag: Tag {
                psn: self.fail_psn.val(),
                qpn: bit_cast::<24, LQ>(self.fail_qpn.val()),
            },
            outcome: self.fail_outcome.val(),
            marked: false,
        };
        self.end.fail.next = self.fails.val().to_bits();
        self.end.ack_valid.next = self.ack.valid.val();
        self.ack.ready.next = self.end.ack_ready.val();
        self.acknowledged.next = End {
            tag: Tag {
                psn: self.ack.of.val().psn,
                qpn: self.ack.of.val().qpn,
            },
            outcome: self.ack.of.val().outcome,
            marked: self.ack.of.val().marked,
        };
        self.end.ack.next = self.acknowledged.val().to_bits();
        self.end.ack_echo.next = self.ack.of.val().echo;
        self.from.next = Source {
            node: self.ack.of.val().node,
            peer: self.ack.of.val().peer,
        };
        self.end.ack_from.next = self.from.val().to_bits();
        self.identity.next = Identity {
            flags: self.ack.of.val().flags,
            win_id: self.ack.of.val().win_id,
            epoch: self.ack.of.val().epoch,
            msn: self.ack.of.val().msn,
        };
        self.end.ack_identity.next = self.identity.val().to_bits();
        self.end.ack_claim.next = self.ack.claim.val();
        self.end.ack_end.next = self.ack.end.val();
        self.claim_done.next = self.end.claim_done.val();
        self.claim_ok.next = self.end.claim_ok.val();
        FlushIn::<LQ>::link(&mut self.flush, &mut self.end.flush);
        self.m.valid.next = self.end.m_valid.val();
        self.end.m_ready.next = self.m.ready.val();
        self.m.qpn.next = self.end.m_qpn.val();
        self.fields.next = self.end.m_fields.val().into();
        self.m.of.next = Ended {
            wr_id: self.fields.val().wr_id,
            status: self.end.m_status.val(),
            vf: self.fields.val().vf,
            len: 0.into(),
            node: self.fields.val().node,
            peer: self.fields.val().peer,
            win_id: self.fields.val().win_id,
            epoch: self.fields.val().epoch,
            msn: self.fields.val().msn,
            q_key: 0.into(),
            psn: self.end.m_psn.val(),
            request: self.fields.val().request,
            notified: false,
            marked: self.end.m_marked.val(),
            arrived: false,
        };
        self.ev_ack_unknown.next = self.end.ev_ack_unknown.val();
        self.ev_ack_source.next = self.end.ev_ack_source.val();
        self.ev_ack_echo.next = self.end.ev_ack_echo.val();
        self.ev_bad_qp.next = self.end.ev_bad_qp.val();
        self.ev_acknowledged.next = self.end.ev_acknowledged.val();
        self.ev_timeout.next = self.end.ev_timeout.val();
        if self.rst.val() {
            self.clearing.d.next = true;
        }
    }
}
