//! What may be done of a one-sided request.

use crate::prelude::*;
use tributary_protocol::xud::onesided::{ANSWER, HEADER_LEN, OPERANDS_LEN, Operation};
use tributary_protocol::xud::{Nak, Reply};

/// Syndrome of a negative acknowledgement.
const fn syndrome(nak: Nak) -> usize {
    Reply::Nak(nak).syndrome() as usize
}

/// Code of an answer.
const fn answer(operation: Operation) -> usize {
    ANSWER as usize | operation as usize
}

hdl_module! {
    /// Checks a one-sided request (XUD-13), in this order, the first that fails decides: queue pair
    /// there and in ReadyToReceive or ReadyToSend (NAK), Q_Key (dropped in silence), 16 bytes up to
    /// the MTU (NAK), operation (NAK), its fields (NAK), window and epoch (NAK), number (behind:
    /// dropped, or, if it is the last one and the same operation, repeated; ahead: NAK). All that
    /// before anything is read or written: region and DMA come behind it.
    /// Latency: 3 clocks; it follows its inputs.
    /// Stages: 1 fields compared, differences; 2 what they mean; 3 verdict.
    #[module("card_onesided_check_q{}", 1usize << LQ)]
    pub struct CardOneSidedCheck<const LQ: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Largest payload, bytes.
        pub cfg_mtu: Signal<In, Bits<13>>,
        /// From this node.
        pub node: Signal<In, Bits<20>>,
        /// To this queue pair.
        pub qpn: Signal<In, Bits<24>>,
        /// Q_Key.
        pub q_key: Signal<In, Bits<32>>,
        /// From this queue pair.
        pub src: Signal<In, Bits<24>>,
        /// Window.
        pub win_id: Signal<In, Bits<16>>,
        /// Epoch.
        pub epoch: Signal<In, Bits<16>>,
        /// Number in the window.
        pub msn: Signal<In, Bits<32>>,
        /// Bytes of payload.
        pub len: Signal<In, Bits<13>>,
        /// Operation.
        pub operation: Signal<In, Bits<8>>,
        /// Bytes to read.
        pub to_read: Signal<In, Bits<24>>,
        /// Lowest bits of the address.
        pub address: Signal<In, Bits<3>>,
        /// The queue pair receives.
        pub receives: Signal<In, Bit>,
        /// Its Q_Key.
        pub own_key: Signal<In, Bits<32>>,
        /// Oldest epoch that it accepts.
        pub oldest: Signal<In, Bits<16>>,
        /// Newest.
        pub newest: Signal<In, Bits<16>>,
        /// The window, as card_onesided_tables has it.
        pub opened: Signal<In, Bits<85>>,
        /// Number that it expects.
        pub expected: Signal<In, Bits<32>>,
        /// Its last operation.
        pub last: Signal<In, Bits<3>>,
        /// It is the answer of a request: nothing else here counts.
        pub answer: Signal<Out, Bit>,
        /// WRITE.
        pub write: Signal<Out, Bit>,
        /// READ.
        pub read: Signal<Out, Bit>,
        /// FETCH_ADD or COMPARE_SWAP.
        pub atomic: Signal<Out, Bit>,
        /// Refused or dropped: queue pair 0, Q_Key 1, length 2, operation 3, epoch 4, number behind 5, ahead 6.
        pub verdict: Signal<Out, Bits<7>>,
        /// What its acknowledgement says; 0: there is none.
        pub syndrome: Signal<Out, Bits<8>>,
        /// It is the last one again.
        pub again: Signal<Out, Bit>,

        /// Stage 1.
        no_qp: DFF<Bit>,
        no_key: DFF<Bit>,
        short: DFF<Bit>,
        over: DFF<Bit>,
        is_write: DFF<Bit>,
        is_read: DFF<Bit>,
        is_atomic: DFF<Bit>,
        is_answer: DFF<Bit>,
        reads_some: DFF<Bit>,
        reads_over: DFF<Bit>,
        bare: DFF<Bit>,
        whole: DFF<Bit>,
        aligned: DFF<Bit>,
        no_window: DFF<Bit>,
        other_node: DFF<Bit>,
        other_peer: DFF<Bit>,
        other_epoch: DFF<Bit>,
        other_qpn: DFF<Bit>,
        age: DFF<Bits<16>>,
        span: DFF<Bits<16>>,
        ahead: DFF<Bits<32>>,
        same: DFF<Bit>,
        most: DFF<Bits<13>>,
        /// Stage 2.
        bad_qp: DFF<Bit>,
        bad_key: DFF<Bit>,
        bad_length: DFF<Bit>,
        bad_operation: DFF<Bit>,
        bad_field: DFF<Bit>,
        stale: DFF<Bit>,
        is_next: DFF<Bit>,
        is_last: DFF<Bit>,
        is_behind: DFF<Bit>,
        answer_2: DFF<Bit>,
        write_2: DFF<Bit>,
        read_2: DFF<Bit>,
        atomic_2: DFF<Bit>,
        /// Stage 3.
        answer_3: DFF<Bit>,
        write_3: DFF<Bit>,
        read_3: DFF<Bit>,
        atomic_3: DFF<Bit>,
        why: DFF<Bits<7>>,
        says: DFF<Bits<8>>,
        repeats: DFF<Bit>,
        lq: Param<LQ, 5>,
        /// Bytes of the header.
        header: Param<HEADER_LEN, 13>,
        /// With the operands of an atomic.
        atomic_len: Param<{ HEADER_LEN + OPERANDS_LEN }, 13>,
        /// Operations.
        op_write: Param<{ Operation::Write as usize }, 8>,
        op_read: Param<{ Operation::Read as usize }, 8>,
        op_add: Param<{ Operation::FetchAdd as usize }, 8>,
        op_swap: Param<{ Operation::CompareSwap as usize }, 8>,
        /// Answers.
        re_read: Param<{ answer(Operation::Read) }, 8>,
        re_add: Param<{ answer(Operation::FetchAdd) }, 8>,
        re_swap: Param<{ answer(Operation::CompareSwap) }, 8>,
        /// What acknowledgements say.
        qp_code: Param<{ syndrome(Nak::BadQp) }, 8>,
        length_code: Param<{ syndrome(Nak::Length) }, 8>,
        opcode_code: Param<{ syndrome(Nak::Opcode) }, 8>,
        epoch_code: Param<{ syndrome(Nak::Epoch) }, 8>,
        number_code: Param<{ syndrome(Nak::Number) }, 8>,
    }
}

impl<const LQ: usize> Logic for CardOneSidedCheck<LQ> {
    #[hdl_gen]
    fn update(&mut self) {
        // Stage 1.
        self.no_qp.d.next = (self.qpn.val() >> self.lq.val()).any() | !self.receives.val();
        self.no_key.d.next = self.q_key.val() != self.own_key.val();
        self.short.d.next = self.len.val() < self.header.val();
        self.over.d.next = self.len.val() > self.cfg_mtu.val();
        self.is_write.d.next = self.operation.val() == self.op_write.val();
        self.is_read.d.next = self.operation.val() == self.op_read.val();
        self.is_atomic.d.next = (self.operation.val() == self.op_add.val())
            | (self.operation.val() == self.op_swap.val());
        self.is_answer.d.next = (self.operation.val() == self.re_read.val())
            | (self.operation.val() == self.re_add.val())
            | (self.operation.val() == self.re_swap.val());
        self.most.d.next = self.cfg_mtu.val() - self.header.val();
        self.reads_some.d.next = self.to_read.val().any();
        self.reads_over.d.next = self.to_read.val() > bit_cast::<24, 13>(self.most.q.val());
        self.bare.d.next = self.len.val() == self.header.val();
        self.whole.d.next = self.len.val() == self.atomic_len.val();
        self.aligned.d.next = !self.address.val().any();
        self.no_window.d.next =
            self.win_id.val().get_bits::<8>(8).any() | !self.opened.val().get_bit(84);
        self.other_node.d.next = self.opened.val().get_bits::<20>(0) != self.node.val();
        self.other_peer.d.next = self.opened.val().get_bits::<24>(20) != self.src.val();
        self.other_epoch.d.next = self.opened.val().get_bits::<16>(44) != self.epoch.val();
        self.other_qpn.d.next = self.opened.val().get_bits::<24>(60) != self.qpn.val();
        self.age.d.next = self.epoch.val() - self.oldest.val();
        self.span.d.next = self.newest.val() - self.oldest.val();
        self.ahead.d.next = self.msn.val() - self.expected.val();
        self.same.d.next = self.operation.val() == bit_cast::<8, 3>(self.last.val());

        // Stage 2.
        self.bad_qp.d.next = self.no_qp.q.val();
        self.bad_key.d.next = self.no_key.q.val();
        self.bad_length.d.next = self.short.q.val() | self.over.q.val();
        self.bad_operation.d.next =
            !self.is_write.q.val() & !self.is_read.q.val() & !self.is_atomic.q.val();
        self.bad_field.d.next = (!self.is_read.q.val() & self.reads_some.q.val())
            | (self.is_read.q.val()
                & (!self.bare.q.val() | !self.reads_some.q.val() | self.reads_over.q.val()))
            | (self.is_atomic.q.val() & (!self.whole.q.val() | !self.aligned.q.val()));
        self.stale.d.next = self.no_window.q.val()
            | self.other_node.q.val()
            | self.other_peer.q.val()
            | self.other_epoch.q.val()
            | self.other_qpn.q.val()
            | (self.age.q.val() > self.span.q.val());
        self.is_next.d.next = !self.ahead.q.val().any();
        self.is_last.d.next = self.ahead.q.val().all() & self.same.q.val();
        self.is_behind.d.next = self.ahead.q.val().get_bit(31);
        self.answer_2.d.next = self.is_answer.q.val() & !self.short.q.val();
        self.write_2.d.next = self.is_write.q.val();
        self.read_2.d.next = self.is_read.q.val();
        self.atomic_2.d.next = self.is_atomic.q.val();

        // Stage 3.
        self.answer_3.d.next = self.answer_2.q.val();
        self.write_3.d.next = self.write_2.q.val();
        self.read_3.d.next = self.read_2.q.val();
        self.atomic_3.d.next = self.atomic_2.q.val();
        self.why.d.next = 0.into();
        self.says.d.next = 0.into();
        self.repeats.d.next = false;
        if self.bad_qp.q.val() {
            self.why.d.next = 1.into();
            self.says.d.next = self.qp_code.val();
        } else if self.bad_key.q.val() {
            self.why.d.next = 2.into();
        } else if self.bad_length.q.val() {
            self.why.d.next = 4.into();
            self.says.d.next = self.length_code.val();
        } else if self.bad_operation.q.val() {
            self.why.d.next = 8.into();
            self.says.d.next = self.opcode_code.val();
        } else if self.bad_field.q.val() {
            self.why.d.next = 4.into();
            self.says.d.next = self.length_code.val();
        } else if self.stale.q.val() {
            self.why.d.next = 16.into();
            self.says.d.next = self.epoch_code.val();
        } else if !self.is_next.q.val() {
            if self.is_last.q.val() {
                self.repeats.d.next = true;
            } else if self.is_behind.q.val() {
                self.why.d.next = 32.into();
            } else {
                self.why.d.next = 64.into();
                self.says.d.next = self.number_code.val();
            }
        }
        self.answer.next = self.answer_3.q.val();
        self.write.next = self.write_3.q.val();
        self.read.next = self.read_3.q.val();
        self.atomic.next = self.atomic_3.q.val();
        self.verdict.next = self.why.q.val();
        self.syndrome.next = self.says.q.val();
        self.again.next = self.repeats.q.val();
    }
}
