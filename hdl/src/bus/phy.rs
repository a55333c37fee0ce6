//! A PHY at its pads.

use crate::prelude::*;

hdl_bus! {
    /// The pads of a PHY with RGMII, what it says at them and what it hears, and its registers.
    pub struct Phy {
        /// Clock of what comes, from the PHY.
        rgmii_rxc: Clock,
        /// Pad: valid, and valid differing from error.
        rgmii_rx_ctl: Bit,
        /// Pads: lower and upper half of a byte.
        rgmii_rxd: Bits<4>,
        /// Pad: clock of what is sent.
        #[back] rgmii_txc: Bit,
        /// Pad, as rgmii_rx_ctl.
        #[back] rgmii_tx_ctl: Bit,
        /// Pads, as rgmii_rxd.
        #[back] rgmii_txd: Bits<4>,
        /// Pad: reset, active low.
        #[back] phy_rst_n: Bit,
        /// Pad: clock of the registers.
        #[back] mdc: Bit,
        /// Said at the pad of MDIO while mdio_oe is high.
        #[back] mdio_o: Bit,
        /// Something is said.
        #[back] mdio_oe: Bit,
        /// Heard at that pad.
        mdio_i: Bit,
    }
}
