//! Registers of PHYs (IEEE 802.3, clause 22).

use crate::prelude::*;

hdl_record! {
    /// What stands on the line behind the preamble, highest bit first.
    pub struct MdioFrame {
        /// The register's value.
        data: Bits<16>,
        /// Turnaround: 2 for writes.
        turn: Bits<2>,
        /// Register.
        at: Bits<5>,
        /// PHY.
        phy: Bits<5>,
        /// 1 write, 2 read.
        what: Bits<2>,
        /// 1.
        start: Bits<2>,
    }
}

hdl_module! {
    /// Reads and writes registers of PHYs, one at a time. mdc has a period of 64 clocks (1.6 MHz at 100 MHz) and runs
    /// always; mdio changes at its falling edge, and what a PHY says is read just before the rising one.
    /// Latency: 64 bits, and up to one more in front of them.
    #[module("mdio")]
    pub struct Mdio {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: the line is let go.
        pub rst: Signal<In, Bit>,
        /// A register is to be read or written; held until s_ready.
        pub s_valid: Signal<In, Bit>,
        /// It is taken.
        pub s_ready: Signal<Out, Bit>,
        /// It is to be read.
        pub s_read: Signal<In, Bit>,
        /// PHY.
        pub s_phy: Signal<In, Bits<5>>,
        /// Register.
        pub s_at: Signal<In, Bits<5>>,
        /// Value to write.
        pub s_data: Signal<In, Bits<16>>,
        /// Done; pulse.
        pub m_valid: Signal<Out, Bit>,
        /// With it, the value that was read; all ones if nobody answers.
        pub m_data: Signal<Out, Bits<16>>,
        /// Clock of the line.
        pub mdc: Signal<Out, Bit>,
        /// What is said on the line; where mdio_oe is low nothing is.
        pub mdio_o: Signal<Out, Bit>,
        /// Something is said.
        pub mdio_oe: Signal<Out, Bit>,
        /// The line.
        pub mdio_i: Signal<In, Bit>,

        #[reset] count: DFF<Bits<6>>,
        clock: DFF<Bit>,
        /// A register is on its way, which bit of 64.
        #[reset] busy: DFF<Bit>,
        at_bit: DFF<Bits<6>>,
        read: DFF<Bit>,
        shift: DFF<Bits<32>>,
        #[reset] says: DFF<Bit>,
        bit: DFF<Bit>,
        /// The line, through two registers.
        heard1: DFF<Bit>,
        heard2: DFF<Bit>,
        value: DFF<Bits<16>>,
        #[reset] done: DFF<Bit>,
        frame: Signal<Local, MdioFrame>,
        what: Signal<Local, Bits<2>>,
        turn: Signal<Local, Bit>,
    }
}

impl Logic for Mdio {
    #[hdl_gen]
    fn update(&mut self) {
        self.what.next = 1.into();
        if self.s_read.val() {
            self.what.next = 2.into();
        }
        self.frame.next = MdioFrame {
            data: self.s_data.val(),
            turn: 2.into(),
            at: self.s_at.val(),
            phy: self.s_phy.val(),
            what: self.what.val(),
            start: 1.into(),
        };
        self.count.d.next = self.count.q.val() + 1;
        self.clock.d.next = self.count.q.val().get_bit(5);
        self.heard1.d.next = self.mdio_i.val();
        self.heard2.d.next = self.heard1.q.val();
        self.done.d.next = false;
        // The falling edge of mdc, and the clock before its rising edge.
        self.turn.next = self.count.q.val() == 0;
        if self.turn.val() {
            self.says.d.next = false;
            self.bit.d.next = true;
            if self.busy.q.val() {
                self.says.d.next = true;
                if self.at_bit.q.val().get_bit(5) {
                    self.bit.d.next = self.shift.q.val().get_bit(31);
                    self.shift.d.next = self.shift.q.val() << 1;
                }
                if self.read.q.val() & (self.at_bit.q.val() >= 46) {
                    self.says.d.next = false;
                }
            }
        }
        if self.busy.q.val() & (self.count.q.val() == 31) {
            self.value.d.next =
                (self.value.q.val() << 1) | bit_cast::<16, 1>(self.heard2.q.val().into());
        }
        if self.busy.q.val() & (self.count.q.val() == 63) {
            self.at_bit.d.next = self.at_bit.q.val() + 1;
            if self.at_bit.q.val() == 63 {
                self.busy.d.next = false;
                self.done.d.next = true;
            }
        }
        self.s_ready.next = !self.busy.q.val() & (self.count.q.val() == 63);
        if self.s_valid.val() & self.s_ready.val() {
            self.busy.d.next = true;
            self.at_bit.d.next = 0.into();
            self.read.d.next = self.s_read.val();
            self.shift.d.next = self.frame.val().to_bits();
        }
        self.m_valid.next = self.done.q.val();
        self.m_data.next = self.value.q.val();
        self.mdc.next = self.clock.q.val();
        self.mdio_o.next = self.bit.q.val();
        self.mdio_oe.next = self.says.q.val();
    }
}
