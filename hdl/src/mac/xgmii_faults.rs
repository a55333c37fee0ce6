//! Faults that the other end of an XGMII tells.

use crate::prelude::*;

hdl_module! {
    /// Link fault signalling (IEEE 802.3, 46.3.4): a fault is there when four ordered sets of it have come with at most 128
    /// columns of four lanes between them and none of another between them, and is over when 128 columns have come without any.
    /// Latency: 3 clocks. Stages: 1 lanes; 2 which set stands in them; 3 the count. Time is counted in words of two columns.
    #[module("mac_xgmii_faults")]
    pub struct XgmiiFaults {
        /// Clock of the XGMII.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: there is no fault.
        pub rst: Signal<In, Bit>,
        /// Lanes; the first one in bits 7:0.
        pub xgmii_rxd: Signal<In, Bits<64>>,
        /// Which of them are control characters.
        pub xgmii_rxc: Signal<In, Bits<8>>,
        /// The PHY does not hear the other end.
        pub m_local: Signal<Out, Bit>,
        /// The other end does not hear this one.
        pub m_remote: Signal<Out, Bit>,

        data: DFF<Bits<64>>,
        #[reset] control: DFF<Bits<8>>,
        low: Signal<Local, Bit>,
        high: Signal<Local, Bit>,
        /// A set stands in the lower column, in the upper one; it is of a remote fault.
        #[reset] low2: DFF<Bit>,
        #[reset] high2: DFF<Bit>,
        low_remote: DFF<Bit>,
        high_remote: DFF<Bit>,
        /// Sets of one kind in a row, up to 4, and their kind.
        #[reset] count: DFF<Bits<3>>,
        remote: DFF<Bit>,
        after_low: Signal<Local, Bits<3>>,
        low_kind: Signal<Local, Bit>,
        after: Signal<Local, Bits<3>>,
        kind: Signal<Local, Bit>,
        /// Words without a set.
        quiet: DFF<Bits<6>>,
        #[reset] is_local: DFF<Bit>,
        #[reset] is_remote: DFF<Bit>,
    }
}

impl Logic for XgmiiFaults {
    #[hdl_gen]
    fn update(&mut self) {
        self.data.d.next = self.xgmii_rxd.val();
        self.control.d.next = self.xgmii_rxc.val();
        self.low.next = (self.control.q.val().get_bits::<4>(0) == 1)
            & (self.data.q.val().get_bits::<24>(0) == 0x9C);
        self.high.next = (self.control.q.val().get_bits::<4>(4) == 1)
            & (self.data.q.val().get_bits::<24>(32) == 0x9C);
        self.low2.d.next = self.low.val()
            & ((self.data.q.val().get_bits::<8>(24) == 1)
                | (self.data.q.val().get_bits::<8>(24) == 2));
        self.high2.d.next = self.high.val()
            & ((self.data.q.val().get_bits::<8>(56) == 1)
                | (self.data.q.val().get_bits::<8>(56) == 2));
        self.low_remote.d.next = self.data.q.val().get_bit(25);
        self.high_remote.d.next = self.data.q.val().get_bit(57);

        self.after_low.next = self.count.q.val();
        self.low_kind.next = self.remote.q.val();
        if self.low2.q.val() {
            self.low_kind.next = self.low_remote.q.val();
            if self.low_remote.q.val() != self.remote.q.val() {
                self.after_low.next = 1.into();
            } else if !self.count.q.val().get_bit(2) {
                self.after_low.next = self.count.q.val() + 1;
            }
        }
        self.after.next = self.after_low.val();
        self.kind.next = self.low_kind.val();
        if self.high2.q.val() {
            self.kind.next = self.high_remote.q.val();
            if self.high_remote.q.val() != self.low_kind.val() {
                self.after.next = 1.into();
            } else if !self.after_low.val().get_bit(2) {
                self.after.next = self.after_low.val() + 1;
            }
        }
        self.count.d.next = self.after.val();
        self.remote.d.next = self.kind.val();
        if self.after.val().get_bit(2) {
            self.is_local.d.next = !self.kind.val();
            self.is_remote.d.next = self.kind.val();
        }
        self.quiet.d.next = self.quiet.q.val() + 1;
        if self.low2.q.val() | self.high2.q.val() {
            self.quiet.d.next = 0.into();
        } else if self.quiet.q.val().all() {
            self.count.d.next = 0.into();
            self.is_local.d.next = false;
            self.is_remote.d.next = false;
        }
        self.m_local.next = self.is_local.q.val();
        self.m_remote.next = self.is_remote.q.val();
    }
}
