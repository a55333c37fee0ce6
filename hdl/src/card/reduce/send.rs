//! Work requests of queue pairs in reduction groups, and their frames.

use crate::blocks::{AsyncRam, FifoAhead};
use crate::bus::{
    AxisOut, CompletionOut, Ended, RamWriteOut, ReduceAnswersIn, ReduceLeaveOut, ReduceRowsIn,
    ReduceWorksIn,
};
use crate::prelude::*;
use crate::record::ReduceEntry;
use crate::switch::{ByteSwap, ops};
use tributary_protocol::card::descriptor::{KIND_MAX, OPCODE_REDUCE, flags};
use tributary_protocol::red::{address, wire};
use tributary_protocol::xud::Outcome;

/// Half words of the fabric header that are the same in all frames: version, length, time to live and protocol.
const FIXED_SUM: usize = ((wire::VERSION as usize) << 8)
    + wire::LENGTH as usize
    + ((wire::TTL as usize) << 8)
    + wire::PROTOCOL as usize;

hdl_record! {
    /// What a work request says, but for its header and data.
    struct ReduceWork {
        /// The user's name for it.
        wr_id: Bits<64>,
        /// How many its queue pair fetched before it, modulo 2^16.
        request: Bits<16>,
        /// Node that it goes to, if it goes to one.
        node: Bits<20>,
        /// It goes to a node.
        to_node: Bit,
        /// Reduction id.
        reduction: Bits<3>,
        /// Kind of message between hosts.
        kind: Bits<4>,
        /// Its sequence number.
        seqno: Bits<10>,
        /// Its round.
        round: Bits<56>,
        /// It arms.
        arm: Bit,
        /// It has a completion.
        signal: Bit,
        /// It has no meaning.
        bad: Bit,
    }
}

hdl_record! {
    /// What is to be known of a row.
    struct ReduceGroup {
        /// Its number.
        row: Bits<4>,
        /// The root is here.
        root: Bit,
        /// VNI.
        vni: Bits<16>,
        /// Tree.
        tree: Bits<13>,
        /// Cookie, in units of 8.
        cookie: Bits<29>,
    }
}

hdl_module! {
    /// Makes reduction frames of work requests (CL-5), in their order: one in 12 clocks, 94 bytes each.
    /// The eight words of each work request that card_send fetches are kept as they land, in one of four places; if it turns
    /// out to be of a group it stays there until its frame has left. Its group is looked for in the rows that go round.
    /// A good one gives its completion slot back, unless its flag signal wants a completion; a bad one, without a meaning,
    /// always has one, LOCAL_OPCODE. Both are told two clocks after the frame has begun.
    /// Of a group whose root is here, it is asked first whether the frame may leave (CL-6); one that may not ends as a good one,
    /// OVERTAKEN. Results that the card answers leave between them, first of all, and are nobody's work request.
    /// Latency: 16 clocks from s_valid to the first word of its frame, 9 of them at most in the table; of a root's 5 more at
    /// least; 5 of an answer.
    /// Stages: 1 a word lands; 2 it is stored, its fields are kept; 3 a work request waits; 4 its group, up to 9 clocks, two
    /// rows compared in one and taken in the next; 5, 6 its address and the halves of its checksum, or 5 to 11 whether it may
    /// leave; 7 it begins, and two words of its frame are in front of the checksum; 8 its words, moved by the two bytes of the
    /// Ethernet header; 9 m_axis.
    /// Stages 4, 5 to 7, and 8 each have a work request of their own. While m_axis is held its word stays; the work request
    /// behind it is settled, the one behind that is looked up meanwhile, and more land.
    #[module("card_reduce_send_q{}", 1usize << LQ)]
    pub struct CardReduceSend<const LQ: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: nothing waits; a frame that is leaving is cut.
        pub rst: Signal<In, Bit>,
        /// Who this card is.
        pub cfg_node: Signal<In, Bits<20>>,
        /// Work requests.
        pub s: ReduceWorksIn<LQ>,
        /// The groups of even rows.
        pub s_even: ReduceRowsIn,
        /// Those of odd rows.
        pub s_odd: ReduceRowsIn,
        /// Whether a frame of a root may leave.
        pub m_leave: ReduceLeaveOut,
        /// Results that the card answers.
        pub s_answers: ReduceAnswersIn,
        /// Frames.
        pub m_axis: AxisOut<64, 8>,
        /// Completions.
        pub m_cpl: CompletionOut<LQ>,
        /// A completion slot is given back.
        pub m_cancel_valid: Signal<Out, Bit>,
        /// That is done.
        pub m_cancel_ready: Signal<In, Bit>,
        /// Of this queue pair.
        pub m_cancel_qpn: Signal<Out, Bits<LQ>>,
        /// Work requests that were fetched so far, by row of the group.
        pub m_fetched: RamWriteOut<16, 4>,
        /// A frame has left.
        pub ev_sent: Signal<Out, Bit>,
        /// A work request was bad.
        pub ev_local_error: Signal<Out, Bit>,
        /// An answer has overtaken one: nothing left.
        pub ev_overtaken: Signal<Out, Bit>,
        /// No work request waits and no frame leaves.
        pub m_idle: Signal<Out, Bit>,

        words: AsyncRam<64, 5>,
        /// A word that lands, and what it says if it is of that field; its number.
        #[reset] in_valid: DFF<Bit>,
        in_first: DFF<Bit>,
        in_data: DFF<Bits<64>>,
        number: DFF<Bits<3>>,
        number_now: Signal<Local, Bits<3>>,
        entry: Signal<Local, ReduceEntry>,
        /// Fields of the work request that lands.
        head: DFF<ReduceWork>,
        op_bad: DFF<Bit>,
        taken: Signal<Local, ReduceWork>,
        /// Place that words go to; work requests that have places.
        #[reset] place: DFF<Bits<2>>,
        #[reset] held: DFF<Bits<2>>,
        #[reset] room: DFF<Bit>,
        frees: Signal<Local, Bit>,
        /// A work request is of a group, a clock late.
        #[reset] take: DFF<Bit>,
        take_qpn: DFF<Bits<LQ>>,
        take_request: DFF<Bits<16>>,
        works: FifoAhead<{ ReduceWork::BITS }, 2>,
        work: Signal<Local, ReduceWork>,

        /// Stage 4: one is looked for, of this queue pair.
        qpns: FifoAhead<LQ, 2>,
        #[reset] looks: DFF<Bit>,
        look_qpn: DFF<Bits<LQ>>,
        /// The rows of the clock before: they were compared with who is looked for, and one is of that one.
        #[reset] compared: DFF<Bit>,
        same_even: DFF<Bit>,
        same_odd: DFF<Bit>,
        even: DFF<ReduceGroup>,
        odd: DFF<ReduceGroup>,
        group: Signal<Local, ReduceGroup>,
        hit: Signal<Local, Bit>,
        moves: Signal<Local, Bit>,
        next: Signal<Local, Bit>,

        /// Stages 5 to 7: the group of the oldest one is known. It is an answer, which brings its own.
        #[reset] found: DFF<Bit>,
        #[reset] answers: DFF<Bit>,
        brings: Signal<Local, Bit>,
        qpn: DFF<Bits<LQ>>,
        reduction: Signal<Local, Bits<3>>,
        to_node: Signal<Local, Bit>,
        kind: Signal<Local, Bits<4>>,
        bad: Signal<Local, Bit>,
        /// Its root is here: whether it may leave is asked; it is known, and it may not.
        #[reset] asks: DFF<Bit>,
        #[reset] known: DFF<Bit>,
        late: DFF<Bit>,
        row: DFF<Bits<4>>,
        vni: DFF<Bits<16>>,
        tree: DFF<Bits<13>>,
        cookie: DFF<Bits<29>>,
        /// Clocks since, by bits: its address, the halves of its checksum.
        #[reset] summed: DFF<Bits<2>>,
        dfa: DFF<Bits<32>>,
        own_sum: DFF<Bits<18>>,
        left_sum: DFF<Bits<18>>,
        right_sum: DFF<Bits<17>>,
        /// It is settled; it begins to leave or to end.
        settled: Signal<Local, Bit>,
        begins: Signal<Local, Bit>,
        /// One began in the clock before; then its completion, its slot are under way.
        #[reset] began: DFF<Bit>,
        #[reset] completes: DFF<Bit>,
        #[reset] cancels: DFF<Bit>,
        end_qpn: DFF<Bits<LQ>>,
        end_wr_id: DFF<Bits<64>>,
        end_request: DFF<Bits<16>>,
        end_signal: DFF<Bit>,
        end_bad: DFF<Bit>,
        end_late: DFF<Bit>,
        #[reset] error: DFF<Bit>,
        #[reset] overtaken: DFF<Bit>,

        /// The frame that leaves: word that comes next, 1 to 12; that is 12, and the next frame may follow.
        #[reset] busy: DFF<Bit>,
        at_last: DFF<Bit>,
        last: Signal<Local, Bit>,
        loads: Signal<Local, Bit>,
        step: DFF<Bits<4>>,
        #[reset] read_place: DFF<Bits<2>>,
        /// The word of it that is read.
        read: DFF<Bits<3>>,
        f_vni: DFF<Bits<16>>,
        f_dfa: DFF<Bits<32>>,
        f_cookie: DFF<Bits<32>>,
        f_kind: DFF<Bits<4>>,
        f_answer: DFF<Bit>,
        all_sum: DFF<Bits<19>>,
        folded: DFF<Bits<17>>,
        f_sum: DFF<Bits<16>>,
        sfa: Signal<Local, Bits<32>>,
        /// The word of the work request, or of the answer, for this step.
        stored: DFF<Bits<64>>,
        round: Signal<Local, ReduceEntry>,
        /// The word, first byte on top, moved by two bytes; what is left of the one before.
        moved: Signal<Local, Bits<64>>,
        carry: DFF<Bits<48>>,
        swap: ByteSwap,
        advance: Signal<Local, Bit>,
        #[reset] out_valid: DFF<Bit>,
        out_data: DFF<Bits<64>>,
        out_last: DFF<Bit>,
        #[reset] sent: DFF<Bit>,

        opcode: Param<{ OPCODE_REDUCE as usize }, 8>,
        signal: Param<{ flags::SIGNAL.mask() as usize }, 8>,
        kind_max: Param<{ KIND_MAX as usize }, 4>,
        ops: Param<{ ops() }, 64>,
        fixed: Param<FIXED_SUM, 18>,
        multicast: Param<{ address::MULTICAST as usize }, 32>,
        mac: Param<{ address::MAC as usize }, 16>,
        mac_group: Param<{ address::MAC_GROUP as usize }, 16>,
        ethertype: Param<{ wire::DEFAULT_ETHERTYPE as usize }, 16>,
        version: Param<{ (wire::VERSION as usize) << 24 | wire::LENGTH as usize }, 32>,
        life: Param<{ (wire::TTL as usize) << 8 | wire::PROTOCOL as usize }, 16>,
        /// A request, and its type.
        request: Param<{ 8 | wire::TYPE as usize }, 4>,
        request_len: Param<{ wire::REQUEST_LEN as usize }, 12>,
        local_opcode: Param<{ Outcome::LocalOpcode as usize }, 8>,
        overtaken_status: Param<{ Outcome::Overtaken as usize }, 8>,
    }
}

impl<const LQ: usize> Logic for CardReduceSend<LQ> {
    #[hdl_gen]
    fn update(&mut self) {
        // Words land.
        self.in_valid.d.next = self.s.lands.val();
        self.in_first.d.next = self.s.first.val();
        self.in_data.d.next = self.s.data.val();
        self.number_now.next = self.number.q.val();
        if self.in_first.q.val() {
            self.number_now.next = 0.into();
        }
        self.entry.next = self.in_data.q.val().into();
        self.words.wr.en.next = self.in_valid.q.val();
        self.words.wr.addr.next =
            (bit_cast::<5, 2>(self.place.q.val()) << 3) | bit_cast::<5, 3>(self.number_now.val());
        self.words.wr.data.next = self.in_data.q.val();
        if self.in_valid.q.val() {
            self.number.d.next = self.number_now.val() + 1;
            if self.number_now.val() == 0 {
                self.head.d.next.node = self.entry.val().node;
                self.head.d.next.to_node = self.entry.val().to_node;
                self.head.d.next.reduction = self.entry.val().reduction;
                self.head.d.next.kind = self.entry.val().kind;
                self.head.d.next.signal = (self.entry.val().flags & self.signal.val()).any();
                self.head.d.next.bad = (self.entry.val().opcode != self.opcode.val())
                    | (self.entry.val().kind > self.kind_max.val());
            }
            if self.number_now.val() == 1 {
                self.head.d.next.wr_id = self.entry.val().wr_id;
            }
            if self.number_now.val() == 2 {
                self.op_bad.d.next =
                    !(self.ops.val() >> self.entry.val().header.get_bits::<6>(11)).get_bit(0);
                self.head.d.next.seqno = self.entry.val().header.get_bits::<10>(0);
                self.head.d.next.arm = self.entry.val().header.get_bit(10);
            }
            if self.number_now.val() == 3 {
                self.head.d.next.round = self.entry.val().round;
            }
        }

        // One is of a group.
        self.s.room.next = self.room.q.val();
        self.take.d.next = self.s.valid.val();
        self.take_qpn.d.next = self.s.qpn.val();
        self.take_request.d.next = self.s.request.val();
        self.taken.next = ReduceWork {
            request: self.take_request.q.val(),
            bad: self.head.q.val().bad | self.op_bad.q.val(),
            ..self.head.q.val()
        };
        self.works.s.valid.next = self.take.q.val();
        self.works.s.data.next = self.taken.val().to_bits();
        self.qpns.s.valid.next = self.take.q.val();
        self.qpns.s.data.next = self.take_qpn.q.val();
        self.work.next = self.works.m.data.val().into();
        if self.take.q.val() {
            self.place.d.next = self.place.q.val() + 1;
        }
        if self.take.q.val() & !self.frees.val() {
            self.held.d.next = self.held.q.val() + 1;
        }
        if self.frees.val() & !self.take.q.val() {
            self.held.d.next = self.held.q.val() - 1;
        }
        // Another one lands meanwhile: its place is none of these.
        self.room.d.next = !self.held.q.val().all() & !self.take.q.val() & !self.s.valid.val();

        // Its group. An answer goes first, and brings its own, when the one before has left its place.
        self.brings.next =
            !self.found.q.val() & self.s_answers.valid.val() & !self.f_answer.q.val();
        self.hit.next = self.looks.q.val()
            & self.compared.q.val()
            & (self.same_even.q.val() | self.same_odd.q.val());
        self.moves.next = self.hit.val() & !self.found.q.val() & !self.brings.val();
        self.next.next = !self.looks.q.val() | self.moves.val();
        self.qpns.m.ready.next = self.next.val();
        if self.next.val() {
            self.looks.d.next = self.qpns.m.valid.val();
            self.look_qpn.d.next = self.qpns.m.data.val();
        }
        self.compared.d.next = self.looks.q.val() & !self.moves.val();
        // What is found stays until it moves on.
        if !self.hit.val() | self.moves.val() {
            self.same_even.d.next = self.s_even.of.val().there
                & (self.s_even.of.val().of.qpn == bit_cast::<12, LQ>(self.look_qpn.q.val()));
            self.same_odd.d.next = self.s_odd.of.val().there
                & (self.s_odd.of.val().of.qpn == bit_cast::<12, LQ>(self.look_qpn.q.val()));
            self.even.d.next = ReduceGroup {
                row: self.s_even.of.val().number,
                root: self.s_even.of.val().of.members.any(),
                vni: self.s_even.of.val().of.vni,
                tree: self.s_even.of.val().of.tree,
                cookie: self.s_even.of.val().of.cookie,
            };
            self.odd.d.next = ReduceGroup {
                row: self.s_odd.of.val().number,
                root: self.s_odd.of.val().of.members.any(),
                vni: self.s_odd.of.val().of.vni,
                tree: self.s_odd.of.val().of.tree,
                cookie: self.s_odd.of.val().of.cookie,
            };
        }
        self.group.next = self.even.q.val();
        if self.same_odd.q.val() {
            self.group.next = self.odd.q.val();
        }
        self.summed.d.next =
            (self.summed.q.val() << 1) | bit_cast::<2, 1>(self.found.q.val().into());
        if !self.found.q.val() {
            self.found.d.next = self.brings.val() | self.moves.val();
            self.answers.d.next = self.brings.val();
            self.late.d.next = false;
            self.row.d.next = self.group.val().row;
            self.qpn.d.next = self.look_qpn.q.val();
            self.vni.d.next = self.group.val().vni;
            self.tree.d.next = self.group.val().tree;
            self.cookie.d.next = self.group.val().cookie;
            self.asks.d.next = self.moves.val() & self.group.val().root & !self.work.val().bad;
            self.known.d.next = !self.group.val().root | self.work.val().bad;
            if self.brings.val() {
                self.known.d.next = true;
                self.vni.d.next = self.s_answers.of.val().vni;
                self.tree.d.next = self.s_answers.of.val().tree;
                self.cookie.d.next = self.s_answers.of.val().cookie.get_bits::<29>(3);
            }
        }
        self.reduction.next = self.work.val().reduction;
        self.to_node.next = self.work.val().to_node;
        self.kind.next = self.work.val().kind;
        self.bad.next = self.work.val().bad;
        if self.answers.q.val() {
            self.reduction.next = self.s_answers.of.val().cookie.get_bits::<3>(0);
            self.to_node.next = false;
            self.kind.next = 0.into();
            self.bad.next = false;
        }

        // Whether it may leave.
        self.m_leave.valid.next = self.asks.q.val();
        self.m_leave.place.next =
            (bit_cast::<7, 4>(self.row.q.val()) << 3) | bit_cast::<7, 3>(self.work.val().reduction);
        self.m_leave.to_tree.next = !self.work.val().to_node;
        self.m_leave.plain.next = !self.work.val().kind.any();
        self.m_leave.arm.next = self.work.val().arm;
        self.m_leave.seqno.next = self.work.val().seqno;
        self.m_leave.round.next = self.work.val().round;
        if self.asks.q.val() & self.m_leave.done.val() {
            self.asks.d.next = false;
            self.known.d.next = true;
            self.late.d.next = !self.m_leave.ok.val();
        }

        // Its address, and the halves of the checksum of its header.
        self.sfa.next = bit_cast::<32, 20>(self.cfg_node.val()) << 12;
        self.own_sum.d.next = self.fixed.val()
            + bit_cast::<18, 16>(self.sfa.val().get_bits::<16>(16))
            + bit_cast::<18, 16>(self.sfa.val().get_bits::<16>(0));
        self.dfa.d.next = self.multicast.val()
            | (bit_cast::<32, 3>(self.reduction.val()) << 18)
            | (bit_cast::<32, 13>(self.tree.q.val()) << 3);
        if self.to_node.val() {
            self.dfa.d.next = bit_cast::<32, 20>(self.work.val().node) << 12;
        }
        self.left_sum.d.next = self.own_sum.q.val() + bit_cast::<18, 16>(self.vni.q.val());
        self.right_sum.d.next = bit_cast::<17, 16>(self.dfa.q.val().get_bits::<16>(16))
            + bit_cast::<17, 16>(self.dfa.q.val().get_bits::<16>(0));
        self.settled.next =
            self.found.q.val() & self.known.q.val() & self.summed.q.val().get_bit(1);

        // It leaves, or has no meaning, in its turn.
        self.advance.next =
            self.busy.q.val() & (!self.out_valid.q.val() | self.m_axis.tready.val());
        self.last.next = self.advance.val() & self.at_last.q.val();
        self.loads.next = !self.busy.q.val() | self.last.val();
        self.begins.next = self.settled.val()
            & self.loads.val()
            & !self.began.q.val()
            & !self.completes.q.val()
            & !self.cancels.q.val();
        self.works.m.ready.next = self.begins.val() & !self.answers.q.val();
        self.began.d.next = self.begins.val() & !self.answers.q.val();
        self.error.d.next = self.begins.val() & self.bad.val();
        self.overtaken.d.next = self.begins.val() & self.late.q.val();
        if self.begins.val() {
            self.found.d.next = false;
            self.answers.d.next = false;
            self.summed.d.next = 0.into();
            self.end_qpn.d.next = self.qpn.q.val();
            self.end_wr_id.d.next = self.work.val().wr_id;
            self.end_request.d.next = self.work.val().request;
            self.end_signal.d.next = self.work.val().signal;
            self.end_bad.d.next = self.work.val().bad;
            self.end_late.d.next = self.late.q.val();
        }
        // It counts before its completion is offered; its row is still there.
        self.m_fetched.en.next = self.began.q.val();
        self.m_fetched.addr.next = self.row.q.val();
        self.m_fetched.data.next = self.end_request.q.val() + 1;
        if self.completes.q.val() & self.m_cpl.ready.val() {
            self.completes.d.next = false;
        }
        if self.cancels.q.val() & self.m_cancel_ready.val() {
            self.cancels.d.next = false;
        }
        if self.began.q.val() {
            self.completes.d.next = self.end_bad.q.val() | self.end_signal.q.val();
            self.cancels.d.next = !self.end_bad.q.val() & !self.end_signal.q.val();
        }
        self.m_cpl.valid.next = self.completes.q.val();
        self.m_cpl.qpn.next = self.end_qpn.q.val();
        self.m_cpl.of.next = bits::<{ Ended::BITS }>(0).into();
        self.m_cpl.of.next.wr_id = self.end_wr_id.q.val();
        self.m_cpl.of.next.request = self.end_request.q.val();
        if self.end_bad.q.val() {
            self.m_cpl.of.next.status = self.local_opcode.val();
        }
        if self.end_late.q.val() {
            self.m_cpl.of.next.status = self.overtaken_status.val();
        }
        self.m_cancel_valid.next = self.cancels.q.val();
        self.m_cancel_qpn.next = self.end_qpn.q.val();
        self.ev_local_error.next = self.error.q.val();
        self.ev_overtaken.next = self.overtaken.q.val();

        // The frame: word by word as the header of 80 bytes and its data stand behind two bytes.
        // Read a step before: the round for steps 4 and 5, the header for 7, data from 8 on.
        self.words.rd.addr.next =
            (bit_cast::<5, 2>(self.read_place.q.val()) << 3) | bit_cast::<5, 3>(self.read.q.val());
        self.s_answers.word.next = self.read.q.val();
        self.round.next = self.stored.q.val().into();
        // Words 7 to 11 are those of the work request as they are.
        self.moved.next = self.stored.q.val();
        if self.step.q.val() == 1 {
            self.moved.next = (bit_cast::<64, 16>(self.mac.val()) << 48)
                | (bit_cast::<64, 32>(self.sfa.val()) << 16)
                | bit_cast::<64, 16>(self.ethertype.val());
        }
        if self.step.q.val() == 2 {
            self.moved.next = (bit_cast::<64, 32>(self.version.val()) << 32)
                | (bit_cast::<64, 16>(self.f_vni.q.val()) << 16);
        }
        if self.step.q.val() == 3 {
            self.moved.next = (bit_cast::<64, 16>(self.life.val()) << 48)
                | (bit_cast::<64, 16>(self.f_sum.q.val()) << 32)
                | bit_cast::<64, 32>(self.sfa.val());
        }
        if self.step.q.val() == 4 {
            self.moved.next = (bit_cast::<64, 32>(self.f_dfa.q.val()) << 32)
                | (bit_cast::<64, 4>(self.request.val()) << 28)
                | (bit_cast::<64, 4>(self.f_kind.q.val()) << 24)
                | bit_cast::<64, 16>(self.round.val().round.get_bits::<16>(40));
        }
        if self.step.q.val() == 5 {
            self.moved.next = (bit_cast::<64, 40>(self.round.val().round.get_bits::<40>(0)) << 24)
                | (bit_cast::<64, 12>(self.request_len.val()) << 8);
        }
        if self.step.q.val() == 6 {
            self.moved.next = bit_cast::<64, 32>(self.f_cookie.q.val());
        }
        self.swap.s.next = (bit_cast::<64, 48>(self.carry.q.val()) << 16)
            | bit_cast::<64, 16>(self.moved.val().get_bits::<16>(48));
        self.frees.next = self.error.q.val() | self.overtaken.q.val();
        self.s_answers.done.next = false;
        self.sent.d.next = false;
        if self.m_axis.tready.val() {
            self.out_valid.d.next = false;
            self.sent.d.next = self.out_valid.q.val() & self.out_last.q.val();
        }
        if self.advance.val() {
            self.step.d.next = self.step.q.val() + 1;
            self.at_last.d.next = self.step.q.val() == 11;
            if self.step.q.val() == 4 {
                self.read.d.next = 2.into();
            }
            if self.step.q.val() == 6 {
                self.read.d.next = 4.into();
            }
            if self.step.q.val() >= 7 {
                self.read.d.next = self.read.q.val() + 1;
            }
            self.carry.d.next = self.moved.val().get_bits::<48>(0);
            self.stored.d.next = self.words.rd.data.val();
            if self.f_answer.q.val() {
                self.stored.d.next = self.s_answers.data.val();
            }
            self.out_valid.d.next = true;
            self.out_data.d.next = self.swap.m.val();
            self.out_last.d.next = self.at_last.q.val();
        }
        if self.last.val() {
            self.busy.d.next = false;
            self.frees.next = !self.f_answer.q.val();
            self.s_answers.done.next = self.f_answer.q.val();
        }
        // The next frame's word 1 may follow in the next clock: the six bytes in front of it are its destination.
        if self.loads.val() {
            self.step.d.next = 1.into();
            self.at_last.d.next = false;
            self.read.d.next = 3.into();
            self.f_vni.d.next = self.vni.q.val();
            self.f_dfa.d.next = self.dfa.q.val();
            self.f_cookie.d.next = (bit_cast::<32, 29>(self.cookie.q.val()) << 3)
                | bit_cast::<32, 3>(self.reduction.val());
            self.f_kind.d.next = self.kind.val();
            self.f_answer.d.next = self.answers.q.val();
            self.all_sum.d.next = bit_cast::<19, 18>(self.left_sum.q.val())
                + bit_cast::<19, 17>(self.right_sum.q.val());
            self.carry.d.next = (bit_cast::<48, 16>(self.mac_group.val()) << 32)
                | bit_cast::<48, 32>(self.dfa.q.val());
            if self.to_node.val() {
                self.carry.d.next = (bit_cast::<48, 16>(self.mac.val()) << 32)
                    | bit_cast::<48, 32>(self.dfa.q.val());
            }
        }
        if self.begins.val() & !self.bad.val() & !self.late.q.val() {
            self.busy.d.next = true;
        }
        // The rest of the checksum, which is in word 3.
        self.folded.d.next = bit_cast::<17, 16>(self.all_sum.q.val().get_bits::<16>(0))
            + bit_cast::<17, 3>(self.all_sum.q.val().get_bits::<3>(16));
        self.f_sum.d.next = !(self.folded.q.val().get_bits::<16>(0)
            + bit_cast::<16, 1>(self.folded.q.val().get_bits::<1>(16)));
        if self.frees.val() {
            self.read_place.d.next = self.read_place.q.val() + 1;
        }
        self.m_axis.tvalid.next = self.out_valid.q.val();
        self.m_axis.tdata.next = self.out_data.q.val();
        self.m_axis.tlast.next = self.out_last.q.val();
        self.m_axis.tkeep.next = 0xff.into();
        if self.out_last.q.val() {
            self.m_axis.tkeep.next = 0x3f.into();
        }
        self.ev_sent.next = self.sent.q.val();
        self.m_idle.next = !self.take.q.val()
            & !self.works.m.valid.val()
            & !self.began.q.val()
            & !self.completes.q.val()
            & !self.cancels.q.val()
            & !self.busy.q.val()
            & !self.out_valid.q.val();
    }
}
