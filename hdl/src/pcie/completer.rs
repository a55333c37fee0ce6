//! Accesses of the host to BAR0.

use crate::bus::{RegistersOut, TlpRxRequestIn, TlpTxCompletionOut};
use crate::prelude::*;
use tributary_protocol::pcie::{TYPE_COMPLETION, TYPE_MEMORY};

hdl_module! {
    /// Takes the requests of the host, one at a time: reads and writes of BAR0 of one or two
    /// 32-bit words become accesses to registers, each of one 32-bit word, the lower one first.
    /// Reads are answered with a completion. Bits 23:2 of an address are handed on; how many of them count is for who
    /// decodes them: those within BAR0 as built, wherever the host puts it (card_regs).
    /// Anything else is answered Unsupported Request if it wants an answer, else dropped; both
    /// are counted (ev_bad_tlp): other BARs and functions, longer accesses, byte enables that are
    /// not allowed, data that do not match the length, poisoned writes, I/O, configuration,
    /// atomic and locked requests, messages. A read of no byte reads no register and is answered
    /// with a word of 0.
    /// Stages: 0 taken, 1 decoded, 2 decided, 3 and 4 lower and upper word, 5 wait for the
    /// register, 6 completion, 7 the rest of a longer TLP is taken. A write takes 4 clocks, one
    /// more for two words.
    /// While the host takes no completion nothing changes: neither the next request nor an access of a register begins,
    /// and completer_id counts as it was when the request was decided.
    #[module("pcie_completer")]
    pub struct PcieCompleter {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: forgets the request.
        pub rst: Signal<In, Bit>,
        /// Completer ID of this card.
        pub completer_id: Signal<In, Bits<16>>,
        /// Requests from the host.
        pub s_rx_req_tlp: TlpRxRequestIn<64, 2>,
        /// Completions for the host.
        pub m_tx_cpl_tlp: TlpTxCompletionOut<64, 2>,
        /// Accesses of registers: address bits 23:2, at least one byte of a write.
        pub reg: RegistersOut,
        /// A TLP was refused or dropped.
        pub ev_bad_tlp: Signal<Out, Bit>,

        /// Stage.
        #[reset] step: DFF<Bits<3>>,
        /// The TLP: header, first word, where to; there was more than one word.
        hdr: DFF<Bits<128>>,
        data: DFF<Bits<64>>,
        strb: DFF<Bits<2>>,
        here: DFF<Bit>,
        long: DFF<Bit>,
        kind: Signal<Local, Bits<5>>,
        length: Signal<Local, Bits<10>>,
        first_be: Signal<Local, Bits<4>>,
        last_be: Signal<Local, Bits<4>>,
        end_be: Signal<Local, Bits<4>>,
        /// Decoded: reads or writes memory, wants an answer, two words, length and byte enables are fine, so are the data.
        reads: DFF<Bit>,
        writes: DFF<Bit>,
        answers: DFF<Bit>,
        two: DFF<Bit>,
        fits: DFF<Bit>,
        whole: DFF<Bit>,
        addr: DFF<Bits<22>>,
        /// Bytes in front of the first that is enabled, behind the last.
        lead: DFF<Bits<2>>,
        trail: DFF<Bits<2>>,
        /// No byte is enabled.
        nothing: DFF<Bit>,
        /// A register that is read: upper word; the one being read is.
        upper: DFF<Bit>,
        reads_upper: DFF<Bit>,
        /// The answer. The ID is that of the clock in which the request was decided, however long the answer is held.
        id: DFF<Bits<16>>,
        count: DFF<Bits<12>>,
        refused: DFF<Bit>,
        low: DFF<Bits<32>>,
        high: DFF<Bits<32>>,
        #[reset] valid: DFF<Bit>,
        #[reset] wr_valid: DFF<Bit>,
        wr_addr: DFF<Bits<22>>,
        wr_data: DFF<Bits<32>>,
        wr_strb: DFF<Bits<4>>,
        #[reset] rd_valid: DFF<Bit>,
        #[reset] bad: DFF<Bit>,
        dw_0: Signal<Local, Bits<32>>,
        dw_1: Signal<Local, Bits<32>>,
        dw_2: Signal<Local, Bits<32>>,
        lower: Signal<Local, Bits<7>>,
        one: Param<1, 22>,
        /// Types.
        memory: Param<{ TYPE_MEMORY as usize }, 5>,
        completion: Param<{ TYPE_COMPLETION as usize }, 5>,
    }
}

impl Logic for PcieCompleter {
    #[hdl_gen]
    fn update(&mut self) {
        self.wr_valid.d.next = false;
        self.rd_valid.d.next = false;
        self.bad.d.next = false;

        // Stages 0 and 7: taken.
        self.s_rx_req_tlp.ready.next = (self.step.q.val() == 0) | (self.step.q.val() == 7);
        if (self.step.q.val() == 0) & self.s_rx_req_tlp.valid.val() {
            self.hdr.d.next = self.s_rx_req_tlp.hdr.val();
            self.data.d.next = self.s_rx_req_tlp.data.val();
            self.strb.d.next = self.s_rx_req_tlp.strb.val();
            self.here.d.next =
                !self.s_rx_req_tlp.bar_id.val().any() & !self.s_rx_req_tlp.func_num.val().any();
            self.long.d.next = !self.s_rx_req_tlp.eop.val();
            if self.s_rx_req_tlp.sop.val() {
                self.step.d.next = 1.into();
                if !self.s_rx_req_tlp.eop.val() {
                    self.step.d.next = 7.into();
                }
            } else {
                // A TLP without a beginning.
                self.bad.d.next = self.s_rx_req_tlp.eop.val();
            }
        }
        if (self.step.q.val() == 7) & self.s_rx_req_tlp.valid.val() & self.s_rx_req_tlp.eop.val() {
            self.step.d.next = 1.into();
        }

        // Stage 1: decoded. Format is 127:125, type 124:120.
        self.kind.next = self.hdr.q.val().get_bits::<5>(120);
        self.length.next = self.hdr.q.val().get_bits::<10>(96);
        self.first_be.next = self.hdr.q.val().get_bits::<4>(64);
        self.last_be.next = self.hdr.q.val().get_bits::<4>(68);
        self.end_be.next = self.last_be.val();
        if self.length.val() == 1 {
            self.end_be.next = self.first_be.val();
        }
        if self.step.q.val() == 1 {
            self.reads.d.next = (self.kind.val() == self.memory.val())
                & !self.hdr.q.val().get_bit(127)
                & !self.hdr.q.val().get_bit(126);
            self.writes.d.next = (self.kind.val() == self.memory.val())
                & !self.hdr.q.val().get_bit(127)
                & self.hdr.q.val().get_bit(126);
            // Memory reads, locked too; I/O, configuration, atomic and deferrable requests.
            self.answers.d.next = !self.hdr.q.val().get_bit(127)
                & (((self.kind.val() == self.memory.val()) & !self.hdr.q.val().get_bit(126))
                    | ((self.kind.val() == 1) & !self.hdr.q.val().get_bit(126))
                    | (self.kind.val() == 2)
                    | (self.kind.val() == 4)
                    | (self.kind.val() == 5)
                    | (self.kind.val() == 12)
                    | (self.kind.val() == 13)
                    | (self.kind.val() == 14)
                    | (self.kind.val() == 27));
            self.two.d.next = self.length.val() == 2;
            self.addr.d.next = self.hdr.q.val().get_bits::<22>(34);
            if self.hdr.q.val().get_bit(125) {
                self.addr.d.next = self.hdr.q.val().get_bits::<22>(2);
            }
            self.fits.d.next = self.here.q.val()
                & !self.long.q.val()
                & (((self.length.val() == 1) & !self.last_be.val().any())
                    | ((self.length.val() == 2)
                        & self.first_be.val().any()
                        & self.last_be.val().any()));
            self.whole.d.next = !self.hdr.q.val().get_bit(110)
                & (((self.length.val() == 1) & (self.strb.q.val() == 1))
                    | ((self.length.val() == 2) & (self.strb.q.val() == 3)));
            self.nothing.d.next = (self.length.val() == 1) & !self.first_be.val().any();
            self.lead.d.next = 0.into();
            if !self.first_be.val().get_bit(0) & self.first_be.val().get_bit(1) {
                self.lead.d.next = 1.into();
            }
            if !self.first_be.val().get_bits::<2>(0).any() & self.first_be.val().get_bit(2) {
                self.lead.d.next = 2.into();
            }
            if !self.first_be.val().get_bits::<3>(0).any() & self.first_be.val().get_bit(3) {
                self.lead.d.next = 3.into();
            }
            self.trail.d.next = 0.into();
            if !self.end_be.val().get_bit(3) {
                self.trail.d.next = 1.into();
            }
            if !self.end_be.val().get_bits::<2>(2).any() {
                self.trail.d.next = 2.into();
            }
            if !self.end_be.val().get_bits::<3>(1).any() {
                self.trail.d.next = 3.into();
            }
            self.step.d.next = 2.into();
        }

        // Stage 2: decided. Two words may not cross 4 KiB. Byte Count is 4 but for memory reads.
        if self.step.q.val() == 2 {
            self.id.d.next = self.completer_id.val();
            self.count.d.next = (bit_cast::<12, 10>(self.length.val()) << 2)
                - bit_cast::<12, 2>(self.lead.q.val())
                - bit_cast::<12, 2>(self.trail.q.val());
            if !self.reads.q.val() {
                self.count.d.next = 4.into();
                self.lead.d.next = 0.into();
            }
            self.low.d.next = 0.into();
            self.high.d.next = 0.into();
            self.upper.d.next = false;
            self.refused.d.next = true;
            self.bad.d.next = true;
            self.step.d.next = 0.into();
            if self.answers.q.val() {
                self.step.d.next = 6.into();
                self.valid.d.next = true;
            }
            if self.fits.q.val()
                & (self.reads.q.val() | (self.writes.q.val() & self.whole.q.val()))
                & !(self.two.q.val() & self.addr.q.val().get_bits::<10>(0).all())
            {
                self.refused.d.next = false;
                self.bad.d.next = false;
                self.valid.d.next = false;
                self.step.d.next = 3.into();
            }
        }

        // Stages 3 and 4: a word.
        if (self.step.q.val() == 3) | (self.step.q.val() == 4) {
            self.wr_addr.d.next = self.addr.q.val();
            self.wr_data.d.next = self.data.q.val().get_bits::<32>(0);
            self.wr_strb.d.next = self.first_be.val();
            if self.upper.q.val() {
                self.wr_addr.d.next = self.addr.q.val() + self.one.val();
                self.wr_data.d.next = self.data.q.val().get_bits::<32>(32);
                self.wr_strb.d.next = self.last_be.val();
            }
            self.wr_valid.d.next = self.writes.q.val() & !self.nothing.q.val();
            self.rd_valid.d.next = self.reads.q.val() & !self.nothing.q.val();
            self.reads_upper.d.next = self.upper.q.val();
            self.upper.d.next = true;
            self.step.d.next = 5.into();
            if self.writes.q.val() {
                self.step.d.next = 0.into();
                if self.two.q.val() & !self.upper.q.val() {
                    self.step.d.next = 4.into();
                }
            }
            if self.reads.q.val() & self.nothing.q.val() {
                self.valid.d.next = true;
                self.step.d.next = 6.into();
            }
        }

        // Stage 5: the register answers; low is the first word to come.
        if (self.step.q.val() == 5) & self.reg.rd_done.val() {
            self.low.d.next = self.reg.rd_data.val();
            self.valid.d.next = true;
            self.step.d.next = 6.into();
            if self.reads_upper.q.val() {
                self.low.d.next = self.low.q.val();
                self.high.d.next = self.reg.rd_data.val();
            } else if self.two.q.val() {
                self.valid.d.next = false;
                self.step.d.next = 4.into();
            }
        }

        // Stage 6: completion.
        if (self.step.q.val() == 6) & self.m_tx_cpl_tlp.ready.val() {
            self.valid.d.next = false;
            self.step.d.next = 0.into();
        }
        self.m_tx_cpl_tlp.data.next =
            bit_cast::<64, 32>(self.low.q.val()) | (bit_cast::<64, 32>(self.high.q.val()) << 32);
        self.m_tx_cpl_tlp.strb.next = 0.into();
        // Traffic class, attributes and the upper bits of the tag come back as they were.
        self.dw_0.next = (bit_cast::<32, 5>(self.completion.val()) << 24)
            | (bit_cast::<32, 1>(((self.kind.val() == 1) & self.refused.q.val()).into()) << 24)
            | (bit_cast::<32, 6>(self.hdr.q.val().get_bits::<6>(114)) << 18)
            | (bit_cast::<32, 2>(self.hdr.q.val().get_bits::<2>(108)) << 12);
        self.m_tx_cpl_tlp.hdr.next = 0.into();
        self.lower.next = (bit_cast::<7, 5>(self.addr.q.val().get_bits::<5>(0)) << 2)
            | bit_cast::<7, 2>(self.lead.q.val());
        if !self.reads.q.val() {
            self.lower.next = 0.into();
        }
        self.dw_1.next = (bit_cast::<32, 16>(self.id.q.val()) << 16)
            | (bit_cast::<32, 1>(self.refused.q.val().into()) << 13)
            | bit_cast::<32, 12>(self.count.q.val());
        self.dw_2.next = (bit_cast::<32, 24>(self.hdr.q.val().get_bits::<24>(72)) << 8)
            | bit_cast::<32, 7>(self.lower.val());
        self.m_tx_cpl_tlp.hdr.next = (bit_cast::<128, 32>(self.dw_0.val()) << 96)
            | (bit_cast::<128, 32>(self.dw_1.val()) << 64)
            | (bit_cast::<128, 32>(self.dw_2.val()) << 32);
        if !self.refused.q.val() {
            self.m_tx_cpl_tlp.strb.next =
                bits::<2>(1) | (bit_cast::<2, 1>(self.two.q.val().into()) << 1);
            self.m_tx_cpl_tlp.hdr.next = (bits::<128>(1) << 126)
                | (bit_cast::<128, 10>(self.length.val()) << 96)
                | (bit_cast::<128, 32>(self.dw_0.val()) << 96)
                | (bit_cast::<128, 32>(self.dw_1.val()) << 64)
                | (bit_cast::<128, 32>(self.dw_2.val()) << 32);
        }
        self.m_tx_cpl_tlp.valid.next = self.valid.q.val();
        self.m_tx_cpl_tlp.sop.next = true;
        self.m_tx_cpl_tlp.eop.next = true;

        self.reg.wr_valid.next = self.wr_valid.q.val();
        self.reg.wr_addr.next = self.wr_addr.q.val();
        self.reg.wr_data.next = self.wr_data.q.val();
        self.reg.wr_strb.next = self.wr_strb.q.val();
        self.reg.rd_valid.next = self.rd_valid.q.val();
        self.reg.rd_addr.next = self.wr_addr.q.val();
        self.ev_bad_tlp.next = self.bad.q.val();
    }
}
