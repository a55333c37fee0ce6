//! The project's own blocks: no message from any tool, FPGA flows take them, and on
//! random inputs the emitted text runs as rust-hdl's simulation.
#![allow(missing_docs)]

mod emit_support;

use emit_support::cosim::assert_same_quickly;
use emit_support::tools::{self, Family};
use emit_support::word;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use tributary_hdl::blocks::*;
use tributary_hdl::board::{FrameStore, Mdio, Repeater};
use tributary_hdl::emit::{Design, emit_block};
use tributary_hdl::link::{TlpLink, TlpUnits};
use tributary_hdl::mac::{
    MacGmii, MacGuard, MacReceive, MacTransmit, MacXgmii, XgmiiFaults, XgmiiReceive, XgmiiTransmit,
};
use tributary_hdl::pcie::PcieUsShim;
use tributary_hdl::prelude::{Bits, Block};

/// One test per block: its inputs get random values, `rare` ones seldom a one; and one for all of them: both FPGA flows take them.
macro_rules! same {
    ($($test:ident, $block:ty, $steps:literal, clk: [$($clk:ident)?], words: [$($($word:ident).+),*], bits: [$($($bit:ident).+),*], rare: [$($rare:ident),*];)*) => {
        $(#[test]
        fn $test() {
            assert_same_quickly(
                stringify!($test),
                <$block>::default(),
                $steps,
                |b, rng| {
                    $(b.$($word).+.next = word(rng);)*
                    $(b.$($bit).+.next = rng.random();)*
                    $(b.$rare.next = rng.random_range(0..200) == 0;)*
                },
                |_b, _level| { $(_b.$clk.next = _level.into();)? },
            );
        })*

        #[test]
        fn all_of_them_synthesise() {
            let designs = [$(emit_block(&mut <$block>::default()).unwrap()),*];
            tools::assert_synthesise(&designs, &[Family::Ecp5, Family::Xilinx], &tools::scratch("all_of_them_synth"));
        }
    };
}

same! {
    sdp_ram_runs_as_in_rust, SdpRam<32, 6>, 1000, clk: [clk], words: [rd.addr, wr.addr, wr.data], bits: [wr.en], rare: [];
    async_ram_runs_as_in_rust, AsyncRam<9, 4>, 1000, clk: [clk], words: [rd.addr, wr.addr, wr.data], bits: [wr.en], rare: [];
    forwarding_ram_runs_as_in_rust, RamForward<16, 3>, 1000, clk: [clk], words: [rd.addr, wr.addr, wr.data], bits: [wr.en], rare: [];
    registered_ram_runs_as_in_rust, RamReg<16, 3>, 1000, clk: [clk], words: [rd.addr, wr.addr, wr.data], bits: [wr.en], rare: [];
    stepped_ram_runs_as_in_rust, RamRegSteps<16, 3>, 1000, clk: [clk], words: [rd_addr, wr.addr, wr.data], bits: [wr.en, array_en, rd_en], rare: [];
    block_ram_fifo_runs_as_in_rust, FifoBram<8, 3>, 2000, clk: [clk], words: [s.data, almost_at], bits: [s.valid, m.ready], rare: [rst];
    register_fifo_runs_as_in_rust, FifoReg<8, 2>, 2000, clk: [clk], words: [s.data], bits: [s.valid, m.ready], rare: [rst];
    free_list_runs_as_in_rust, FreeList<4>, 2000, clk: [clk], words: [last, s.data], bits: [s.valid, m.ready], rare: [rst];
    skid_buffer_runs_as_in_rust, SkidBuffer<8>, 1000, clk: [clk], words: [s.data], bits: [s.valid, m.ready], rare: [rst];
    two_slots_run_as_in_rust, TwoSlots<8>, 1000, clk: [clk], words: [s.data], bits: [s.valid, m.ready], rare: [rst];
    half_slice_runs_as_in_rust, HalfSlice<8>, 1000, clk: [clk], words: [s.data], bits: [s.valid, m.ready], rare: [rst];
    arbiter_runs_as_in_rust, RoundRobinArbiter<5, 3>, 1000, clk: [clk], words: [req], bits: [m_ready], rare: [rst];
    stat_counters_run_as_in_rust, StatCounters<3>, 2000, clk: [clk], words: [s.data, rd.addr], bits: [s.valid], rare: [rst];
    timer_sweep_runs_as_in_rust, TimerSweep<3>, 2000, clk: [clk], words: [], bits: [m_ready], rare: [rst];
    leading_ones_run_as_in_rust, LeadingOnes<70, 7>, 1000, clk: [], words: [vector], bits: [], rare: [];
    leading_ones_pipe_runs_as_in_rust, LeadingOnesPipe<64, 7>, 500, clk: [clk], words: [vector], bits: [], rare: [];
    priority_encoder_runs_as_in_rust, PriorityEncoder<70, 7>, 1000, clk: [], words: [req], bits: [], rare: [];
    priority_encoder_pipe_runs_as_in_rust, PriorityEncoderPipe<64, 6>, 500, clk: [clk], words: [req], bits: [], rare: [];
    sync_bits_run_as_in_rust, SyncBits<5>, 1000, clk: [clk], words: [d], bits: [], rare: [];
    mac_guard_runs_as_in_rust, MacGuard, 2000, clk: [clk], words: [s.data], bits: [s.valid, m.ready], rare: [rst];
    mac_transmit_runs_as_in_rust, MacTransmit<4>, 2000, clk: [clk], words: [s.data, level], bits: [s.valid, whole], rare: [rst];
    xgmii_transmit_runs_as_in_rust, XgmiiTransmit<4>, 2000, clk: [clk], words: [s.data, level], bits: [s.valid, whole], rare: [rst, local_fault, remote_fault];
}

/// Most bytes are those that frames begin with.
#[test]
fn mac_receive_runs_as_in_rust() {
    assert_same_quickly(
        "mac_receive_runs_as_in_rust",
        MacReceive::default(),
        3000,
        |b, rng| {
            b.gmii_rxd.next = match rng.random_range(0..3) {
                0 => 0x55u64.into(),
                1 => 0xD5u64.into(),
                _ => word(rng),
            };
            b.gmii_rx_dv.next = rng.random_range(0..30) > 0;
            b.gmii_rx_er.next = rng.random_range(0..100) == 0;
            b.cfg_longest.next = word(rng);
            b.rst.next = rng.random_range(0..500) == 0;
        },
        |b, level| b.clk.next = level.into(),
    );
}

/// Words of an XGMII: bytes of frames, and where they begin and end, at any lane.
fn lanes(rng: &mut ChaCha8Rng) -> (Bits<64>, Bits<8>) {
    let (mut data, mut control) = (0, 0);
    for lane in 0..8 {
        let (byte, is_control) = match rng.random_range(0..12) {
            0 => (0xFB, true),
            1 => (0xFD, true),
            2 => (0x9C, true),
            3 => (0x07, true),
            4 => (0xD5, false),
            5 => (rng.random_range(0..3), false),
            _ => (rng.random(), false),
        };
        data |= u64::from(byte as u8) << (8 * lane);
        control |= u64::from(is_control) << lane;
    }
    match rng.random_range(0..10) {
        // Whole words of bytes, a whole preamble, ordered sets of faults.
        0..4 => control = 0,
        4 | 5 => (data, control) = (0xD555_5555_5555_55FB, 1),
        6 => (data, control) = (0x0200_009C_0200_009C, 0x11),
        7 => (data, control) = (0x0100_009C_0707_0707, 0x1F),
        _ => {}
    }
    (data.into(), control.into())
}

#[test]
fn xgmii_receive_runs_as_in_rust() {
    assert_same_quickly(
        "xgmii_receive_runs_as_in_rust",
        XgmiiReceive::default(),
        3000,
        |b, rng| {
            (b.xgmii_rxd.next, b.xgmii_rxc.next) = lanes(rng);
            b.cfg_longest.next = word(rng);
            b.rst.next = rng.random_range(0..500) == 0;
        },
        |b, level| b.clk.next = level.into(),
    );
}

#[test]
fn xgmii_faults_run_as_in_rust() {
    assert_same_quickly(
        "xgmii_faults_run_as_in_rust",
        XgmiiFaults::default(),
        3000,
        |b, rng| {
            (b.xgmii_rxd.next, b.xgmii_rxc.next) = lanes(rng);
            b.rst.next = rng.random_range(0..500) == 0;
        },
        |b, level| b.clk.next = level.into(),
    );
}

/// The blocks of each design together: no message of any tool, and the FPGAs for which it is take it.
fn stand(designs: Vec<Design>, families: &[Family], name: &str) {
    let dir = tools::scratch(name);
    for design in &designs {
        tools::assert_no_messages(design, &dir);
    }
    tools::assert_synthesise(&designs, families, &dir);
}

fn emitted<B: Block + Default>() -> Design {
    emit_block(&mut B::default()).unwrap()
}

/// That of GMII for ECP5: in the repeater.
#[test]
fn the_macs_stand() {
    let designs = vec![emitted::<MacGmii>(), emitted::<MacXgmii>()];
    stand(designs, &[Family::Xilinx], "macs");
}

#[test]
fn what_joins_the_pcie_block_of_ultrascale_to_a_card_stands() {
    stand(
        vec![emitted::<PcieUsShim>()],
        &[Family::Xilinx],
        "pcie_us_shim",
    );
}

#[test]
fn the_repeater_stands() {
    stand(
        vec![emitted::<Repeater<0, 0, 8>>()],
        &[Family::Ecp5],
        "repeater",
    );
}

/// An end of the link, and what joins it to a card.
#[test]
fn the_link_stands() {
    let designs = vec![emitted::<TlpLink<6, 6, 2>>(), emitted::<TlpUnits<7, 8>>()];
    stand(designs, &[Family::Ecp5], "tlp_link");
}

/// Frames, good and bad, through a memory of 16 words that fills up.
#[test]
fn frame_store_runs_as_in_rust() {
    assert_same_quickly(
        "frame_store_runs_as_in_rust",
        FrameStore::<4, 5>::default(),
        3000,
        |b, rng| {
            b.s_axis_rx.tvalid.next = rng.random_range(0..4) > 0;
            b.s_axis_rx.tdata.next = word(rng);
            b.s_axis_rx.tkeep.next = word(rng);
            b.s_axis_rx.tlast.next = rng.random_range(0..5) == 0;
            b.s_axis_rx.tuser.next = rng.random_range(0..6) == 0;
            b.m_axis_tx.tready.next = rng.random_range(0..3) > 0;
            b.rst.next = rng.random_range(0..500) == 0;
        },
        |b, level| b.clk.next = level.into(),
    );
}

#[test]
fn mdio_runs_as_in_rust() {
    assert_same_quickly(
        "mdio_runs_as_in_rust",
        Mdio::default(),
        20_000,
        |b, rng| {
            b.s_valid.next = rng.random_range(0..8) > 0;
            b.s_read.next = rng.random();
            b.s_phy.next = word(rng);
            b.s_at.next = word(rng);
            b.s_data.next = word(rng);
            b.mdio_i.next = rng.random();
            b.rst.next = rng.random_range(0..9000) == 0;
        },
        |b, level| b.clk.next = level.into(),
    );
}
