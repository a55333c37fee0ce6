//! The driver on Verilated cards whose hosts are at the other end of a link of TLPs in frames. `XUD_SEED=n` replays a run.

use std::sync::OnceLock;

use tributary_host_driver::EndpointConfig;
use tributary_protocol::card::regs::MTU;
use tributary_sim::card::{
    BoardKind, BoardNode, CardSizes, Exchange, LineFaults, NetworkConfig, Node, build_board,
    exchange_over, network_of,
};
use tributary_sim::pcie::Config;
use tributary_sim::verilate::Verilated;

/// The board, built once of each kind.
fn library(kind: BoardKind) -> &'static Verilated {
    static STREAMS: OnceLock<Verilated> = OnceLock::new();
    static PADS: OnceLock<Verilated> = OnceLock::new();
    let library = match kind {
        BoardKind::Streams => &STREAMS,
        BoardKind::Pads => &PADS,
    };
    library.get_or_init(|| build_board(kind, CardSizes::default()).unwrap())
}

fn seed() -> u64 {
    let seed = tributary_sim::testbench::number("XUD_SEED").unwrap_or(5);
    println!("seed {seed}");
    seed
}

/// Messages both ways between two hosts, each with a board, compared to the byte.
fn messages(kind: BoardKind, faults: LineFaults, messages: u64) {
    let seed = seed();
    let network = NetworkConfig {
        nodes: 2,
        seed,
        slot_ns: 104,
        ..NetworkConfig::default()
    };
    let nodes = (0..2).map(|node| {
        let root = Config {
            seed: seed + node,
            ..Config::default()
        };
        let board = BoardNode::new(kind, library(kind), root, faults).unwrap();
        Box::new(board) as Box<dyn Node>
    });
    let devices = network_of(&network, nodes.collect()).unwrap();
    let plan = Exchange {
        network,
        endpoint: EndpointConfig {
            timeout: 8,
            attempts: 16,
            ..EndpointConfig::default()
        },
        mtu: 1_024,
        messages,
        largest: 700,
        longer: Some((7, 5_000)),
    };
    let report = exchange_over(&plan, (0..).zip(devices.clone()).collect(), &mut |_| {}).unwrap();
    println!("{kind:?}, {faults:?}: {report:?}");
    assert!(report.good(messages), "{report:?}");
    for device in devices {
        device.check().unwrap();
    }
}

#[test]
fn messages_cross_between_boards_over_a_good_link() {
    messages(BoardKind::Streams, LineFaults::default(), 200);
}

#[test]
fn lost_doubled_and_damaged_frames_of_the_link_cost_time_only() {
    let faults = LineFaults {
        loss: 10,
        double: 10,
        damage: 10,
    };
    messages(BoardKind::Streams, faults, 200);
}

#[test]
fn messages_cross_between_boards_from_pad_to_pad() {
    messages(BoardKind::Pads, LineFaults::default(), 60);
}

#[test]
fn lost_doubled_and_damaged_frames_at_pads_cost_time_only() {
    let faults = LineFaults {
        loss: 10,
        double: 10,
        damage: 10,
    };
    messages(BoardKind::Pads, faults, 60);
}

/// What a new life of the host's end does: a function-level reset, then a session that works.
fn begins_anew(kind: BoardKind) {
    let faults = LineFaults {
        loss: 50,
        double: 50,
        damage: 50,
    };
    let config = Config {
        seed: seed(),
        ..Config::default()
    };
    let mut board = BoardNode::new(kind, library(kind), config, faults).unwrap();
    for turn in 1..=8u32 {
        assert_eq!(board.read32(MTU.offset.into()), MTU.reset);
        board.write32(MTU.offset.into(), 256 * turn);
        assert_eq!(board.read32(MTU.offset.into()), 256 * turn);
        // What is under way is lost with the session.
        board.write32(MTU.offset.into(), 1_024);
        board.restart_host().unwrap();
        board.check().unwrap();
    }
    let stats = board.stats();
    println!("{stats:?}");
    assert_eq!((stats.sessions_lost, stats.wrong), (8, 0));
    assert!(stats.lost > 0 && stats.doubled > 0, "{stats:?}");
}

#[test]
fn a_host_that_begins_anew_finds_the_card_as_after_a_reset() {
    begins_anew(BoardKind::Streams);
}

#[test]
fn a_host_that_begins_anew_at_pads_finds_the_card_as_after_a_reset() {
    begins_anew(BoardKind::Pads);
}
