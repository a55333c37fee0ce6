//! What stands between the cores and the pads of a board.

mod board_card;
mod board_nic;
mod ddr;
mod event_led;
mod frame_store;
mod line_port;
mod mdio;
mod phy_setup;
mod repeater;
mod rgmii;
mod us_card;

pub use board_card::BoardCard;
pub use board_nic::BoardNic;
pub use ddr::{Ecp5DdrIn, Ecp5DdrOut};
pub use event_led::EventLed;
pub use frame_store::FrameStore;
pub use line_port::LinePort;
pub use mdio::{Mdio, MdioFrame};
pub use phy_setup::PhySetup;
pub use repeater::Repeater;
pub use rgmii::RgmiiEcp5;
pub use us_card::UsCard;
