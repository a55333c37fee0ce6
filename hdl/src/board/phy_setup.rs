//! What a PHY is told before its line is used.

use super::Mdio;
use crate::prelude::*;

/// What is done with the PHY.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum Step {
    /// Its reset is held.
    Reset,
    /// It gets time to start.
    Wake,
    /// Its identifier is read at address 0 and 1 in turns, until it is the one.
    Look,
    /// Page 2 is chosen.
    Page2,
    /// Register 21 is read.
    ReadDelays,
    /// Both delays are switched on in it.
    WriteDelays,
    /// Page 0 is chosen.
    Page0,
    /// Register 0 is read.
    ReadControl,
    /// It is written back with the reset that makes the delays work.
    WriteControl,
    /// Nothing more.
    Done,
}

hdl_module! {
    /// Sets a Marvell 88E1512 up: reset for 2^C clocks, as long until it is spoken to, then its identifier is looked
    /// for at addresses 0 and 1; bits 4 and 5 of register 21 on page 2 are set, with which it delays both clocks of the
    /// RGMII by 2 ns, and its software is reset.
    #[module("phy_setup_c{C}")]
    pub struct PhySetup<const C: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: everything from the beginning.
        pub rst: Signal<In, Bit>,
        /// Reset of the PHY, active low.
        pub phy_rst_n: Signal<Out, Bit>,
        /// Its line for registers.
        pub mdc: Signal<Out, Bit>,
        /// What is said on it.
        pub mdio_o: Signal<Out, Bit>,
        /// Something is said.
        pub mdio_oe: Signal<Out, Bit>,
        /// The line.
        pub mdio_i: Signal<In, Bit>,
        /// The PHY is out of reset, and its clock may be relied on.
        pub awake: Signal<Out, Bit>,
        /// It was found, and told everything.
        pub ready: Signal<Out, Bit>,

        mdio: Mdio,
        #[reset] step: DFF<Step>,
        #[reset] count: DFF<Bits<C>>,
        /// Address of the PHY.
        #[reset] odd: DFF<Bit>,
        /// What was read.
        value: DFF<Bits<16>>,
        /// A register is on its way.
        #[reset] waits: DFF<Bit>,
        identifier: Param<0x0141, 16>,
        both: Param<0x0030, 16>,
        reset: Param<0x8000, 16>,
    }
}

impl<const C: usize> Logic for PhySetup<C> {
    #[hdl_gen]
    fn update(&mut self) {
        self.mdio.s_valid.next = (self.step.q.val() != Step::Reset)
            & (self.step.q.val() != Step::Wake)
            & (self.step.q.val() != Step::Done)
            & !self.waits.q.val();
        self.mdio.s_phy.next = bit_cast::<5, 1>(self.odd.q.val().into());
        self.mdio.s_read.next = false;
        self.mdio.s_at.next = 22.into();
        self.mdio.s_data.next = 0.into();
        if self.mdio.s_valid.val() & self.mdio.s_ready.val() {
            self.waits.d.next = true;
        }
        if self.mdio.m_valid.val() {
            self.waits.d.next = false;
            self.value.d.next = self.mdio.m_data.val();
        }
        match self.step.q.val() {
            Step::Reset => {
                self.count.d.next = self.count.q.val() + 1;
                if self.count.q.val().all() {
                    self.step.d.next = Step::Wake;
                }
            }
            Step::Wake => {
                self.count.d.next = self.count.q.val() + 1;
                if self.count.q.val().all() {
                    self.step.d.next = Step::Look;
                }
            }
            Step::Look => {
                self.mdio.s_read.next = true;
                self.mdio.s_at.next = 2.into();
                if self.mdio.m_valid.val() {
                    if self.mdio.m_data.val() == self.identifier.val() {
                        self.step.d.next = Step::Page2;
                    } else {
                        self.odd.d.next = !self.odd.q.val();
                    }
                }
            }
            Step::Page2 => {
                self.mdio.s_data.next = 2.into();
                if self.mdio.m_valid.val() {
                    self.step.d.next = Step::ReadDelays;
                }
            }
            Step::ReadDelays => {
                self.mdio.s_read.next = true;
                self.mdio.s_at.next = 21.into();
                if self.mdio.m_valid.val() {
                    self.step.d.next = Step::WriteDelays;
                }
            }
            Step::WriteDelays => {
                self.mdio.s_at.next = 21.into();
                self.mdio.s_data.next = self.value.q.val() | self.both.val();
                if self.mdio.m_valid.val() {
                    self.step.d.next = Step::Page0;
                }
            }
            Step::Page0 => {
                if self.mdio.m_valid.val() {
                    self.step.d.next = Step::ReadControl;
                }
            }
            Step::ReadControl => {
                self.mdio.s_read.next = true;
                self.mdio.s_at.next = 0.into();
                if self.mdio.m_valid.val() {
                    self.step.d.next = Step::WriteControl;
                }
            }
            Step::WriteControl => {
                self.mdio.s_at.next = 0.into();
                self.mdio.s_data.next = self.value.q.val() | self.reset.val();
                if self.mdio.m_valid.val() {
                    self.step.d.next = Step::Done;
                }
            }
            Step::Done => {}
        }
        self.phy_rst_n.next = self.step.q.val() != Step::Reset;
        self.mdc.next = self.mdio.mdc.val();
        self.mdio_o.next = self.mdio.mdio_o.val();
        self.mdio_oe.next = self.mdio.mdio_oe.val();
        self.mdio.mdio_i.next = self.mdio_i.val();
        self.awake.next = (self.step.q.val() != Step::Reset) & (self.step.q.val() != Step::Wake);
        self.ready.next = self.step.q.val() == Step::Done;
    }
}
