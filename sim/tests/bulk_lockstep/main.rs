//! `bulk_send` in Verilator against the executable model of the sender.
//!
//! - `TRIBUTARY_SEED`: run this seed alone, to see a failure again;
//! - `TRIBUTARY_FRAMES`: packets that the test with every profile of stalls, and that of long transfers, compare at least.

mod bench;
mod hear;
mod mutations;
mod pace;
mod window;

use bench::{Bench, Coverage, Plan};
use tributary_protocol::rw::{
    ConnectResp, ConnectStatus, Message, MessageType, Request, RetxRange,
};
use tributary_sim::rw::{rtl, rtl_sender};
use tributary_sim::testbench::{PROFILES, Profile, frames_at_least, profiles, seeds};
use window::Window;

fn plan(seed: u64) -> Plan {
    let kind = seed / PROFILES.len() as u64;
    Plan {
        seed,
        clocks: 120_000,
        slots: 16,
        w: [256, 64, 256, 1024][(kind % 4) as usize],
        r: [64, 8, 4, 64][(kind % 4) as usize],
        stall: Profile::of_seed(seed),
        tick: [32, 8, 64][(kind % 3) as usize],
        loss: [10, 50, 0, 200][(seed % 4) as usize],
        double: [10, 0, 100][(seed % 3) as usize],
        forge: [0, 40, 200][(seed % 3) as usize],
        cancel: [0, 20, 100][(seed / 2 % 3) as usize],
        flight: [400, 2000][(seed / 3 % 2) as usize],
        spread: [200, 1000, 0][(seed / 5 % 3) as usize],
        queue: [0, 6_000, 20_000][(seed / 4 % 3) as usize],
        packets: [300, 40, 1000][(seed / 2 % 3) as usize],
        max_busy: 4,
        echo: seed % 5 != 4,
        oldest_first: [0, 4, 8, 2, 7][(seed % 5) as usize],
        gap: [200, 200, 200, 20_000][(seed % 4) as usize],
        pace: [None, Some((12, 3_000)), Some((48, 400))][(seed / 3 % 3) as usize],
    }
}

#[test]
fn bw_08_bw_04_cl_04_rw_10_rw_14_rw_15_rw_18_rw_19_lock_step_with_every_profile_of_stalls() {
    let library = rtl_sender::build(16).unwrap();
    let mut coverage = Coverage::default();
    profiles("packets of bulk_send", |seed| {
        let mut bench = Bench::new(&library, plan(seed));
        bench.run().unwrap_or_else(|what| panic!("{what}"));
        coverage.merge(&bench.coverage);
        bench.coverage.packets
    });
    println!("{coverage:#?}");
    let [slowed, risen, held] = coverage.paces;
    assert!(slowed > 100 && risen > 100 && held > 100_000 && coverage.idle[2] > 100);
}

#[test]
fn bw_08_bw_04_lock_step_of_other_sizes() {
    for slots in [64, 256] {
        let library = rtl_sender::build(slots.into()).unwrap();
        for seed in seeds(2) {
            let plan = Plan {
                slots,
                r: 512,
                pace: None,
                ..plan(seed)
            };
            let mut bench = Bench::new(&library, plan);
            bench
                .run()
                .unwrap_or_else(|what| panic!("S = {slots}: {what}"));
            assert!(bench.coverage.packets > 500, "{:?}", bench.coverage);
        }
    }
}

/// High bits of packet numbers: in `base`, credit and limit, and against each other.
#[test]
fn rw_14_rw_19_lock_step_of_transfers_of_many_packets() {
    let library = rtl_sender::build(16).unwrap();
    let least = frames_at_least(130_000);
    let (mut packets, mut highest) = (0, 0);
    for seed in seeds(2) {
        let plan = Plan {
            clocks: 64 * least,
            w: [256, 1024][(seed % 2) as usize],
            r: 64,
            stall: Profile::Free,
            loss: 2,
            double: 2,
            forge: 0,
            cancel: 0,
            flight: 400,
            spread: 200,
            queue: 0,
            packets: 1 << 20,
            gap: u32::try_from(21 * least).unwrap(),
            ..plan(seed)
        };
        let mut bench = Bench::new(&library, plan);
        bench.run().unwrap_or_else(|what| panic!("{what}"));
        packets += bench.coverage.packets;
        highest = highest.max(bench.coverage.highest);
    }
    println!("{packets} packets, numbers up to {highest}");
    assert!(packets >= least && u64::from(highest) > least / 2);
}

#[test]
fn bw_08_p_03_p_04_transfers_between_bulk_send_and_rw_window() {
    let sender = rtl_sender::build(16).unwrap();
    for (w, r) in [(256, 64), (64, 16)] {
        let receiver = rtl::build(w, r, false).unwrap();
        let mut done = 0;
        for seed in seeds(6) {
            let plan = Plan {
                w,
                r,
                loss: [10, 50, 0][(seed % 3) as usize],
                forge: 0,
                packets: 100,
                max_busy: 100,
                ..plan(seed)
            };
            let window = Window::new(&receiver, &bench::receiver(&plan));
            let mut bench = Bench::new(&sender, plan).with_window(window);
            bench.run().unwrap_or_else(|what| panic!("W = {w}: {what}"));
            done += bench.coverage.ends.get("Ok").copied().unwrap_or(0);
        }
        assert!(done > 20, "W = {w}: {done} transfers only");
    }
}

const DATA: u8 = MessageType::Data as u8;
const CONNECT: u8 = MessageType::Connect as u8;

/// A transfer of so many bytes is on offer, and all that leaves is taken.
fn one_transfer(length: u32, mtu: u8) -> rtl_sender::Inputs {
    rtl_sender::Inputs {
        request: Some(Request {
            dst: 1,
            addr: 0,
            rkey: 0,
            length,
            mtu,
            oldest_first: false,
        }),
        pkt_ready: true,
        end_ready: true,
        started_ready: true,
        ..Default::default()
    }
}

/// The answer to a CONNECT.
fn answer(
    packet: &rtl_sender::RawPacket,
    status: ConnectStatus,
    packets: u16,
    retry: u16,
) -> Message {
    Message::ConnectResp(ConnectResp {
        slot: packet.slot,
        xid: packet.xid,
        status,
        wptr: 0,
        r#gen: 0,
        w: packets,
        credit: packets.into(),
        retry,
    })
}

/// A peer that is busy for ever is given up after as many answers as the setting says, every bit of it counted: the transfer
/// ends as busy, and only then (BW-1).
#[test]
fn bw_01_rw_09_a_peer_is_busy_65536_times_before_its_transfer_ends() {
    let library = rtl_sender::build(16).unwrap();
    for max_busy in [0, 255, 256, 299, 0xFFFF] {
        let config = tributary_protocol::rw::SenderConfig {
            max_busy,
            ..bench::config(&plan(0))
        };
        let mut rtl = rtl_sender::RtlSender::new(&library, &config).unwrap();
        let mut inputs = one_transfer(4_096, 12);
        let (mut answers, mut end) = (0u32, None);
        for clock in 0u64..20_000_000 {
            inputs.now = clock as u16;
            let s = rtl.clock(&inputs).unwrap();
            if s.request_taken {
                inputs.request = None;
            }
            if s.message_taken {
                inputs.message = None;
                answers += 1;
            }
            if let Some(packet) = s.packet
                && packet.kind == CONNECT
            {
                inputs.message = Some(answer(&packet, ConnectStatus::Busy, 0, 1));
            }
            end = s.end;
            if end.is_some() {
                break;
            }
        }
        let outcome = end.map(|(_, _, outcome)| outcome);
        assert_eq!((answers, outcome), (max_busy + 1, Some(3)));
    }
}

/// A window of more packets than the sending side keeps times of: when these are used up a range is served, though the receiver
/// has granted more.
#[test]
fn rw_12_rw_14_a_range_is_served_when_no_more_times_can_be_kept() {
    let library = rtl_sender::build(16).unwrap();
    let config = bench::config(&plan(0));
    let mut rtl = rtl_sender::RtlSender::new(&library, &config).unwrap();
    let mut inputs = one_transfer(2_000 << 8, 8);
    let (mut numbers, mut asked) = (Vec::new(), false);
    for clock in 0u64..40_000 {
        inputs.now = (clock / 8) as u16;
        let s = rtl.clock(&inputs).unwrap();
        if s.request_taken {
            inputs.request = None;
        }
        if s.message_taken {
            inputs.message = None;
        }
        let Some(packet) = s.packet else { continue };
        match packet.kind {
            CONNECT => inputs.message = Some(answer(&packet, ConnectStatus::Ok, 1_024, 0)),
            DATA => numbers.push(packet.pidx),
            // It has nothing to send.
            _ if !asked => {
                asked = true;
                inputs.message = Some(Message::RetxRange(RetxRange {
                    slot: packet.slot,
                    xid: packet.xid,
                    round: 0,
                    pidx: 8,
                }));
            }
            _ => {}
        }
        if numbers.len() == 600 {
            break;
        }
    }
    let expected: Vec<u32> = (0..512).chain(8..96).collect();
    assert_eq!(numbers, expected);
}
