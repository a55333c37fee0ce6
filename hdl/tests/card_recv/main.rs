//! The receive side of the queue engine against the rules of `docs/xud.md` and `docs/card.md`.
//!
//! `world` runs the Verilated block in lock step with all its surroundings and accounts for every output; `model` has
//! the rules and asks `protocol::xud::Card` about each verdict; `order` is XUD-4 as a property of a recording.

#[path = "../emit_support/tools.rs"]
#[expect(dead_code, reason = "synthesis is tried elsewhere")]
mod tools;

mod directed;
mod faults;
mod figures;
mod host;
mod model;
mod order;
mod ports;
mod random;
mod rings;
mod world;

use host::Dice;
use model::{Qp, Request};
use tributary_protocol::card::descriptor::ReceiveRequest;
use tributary_protocol::xud::Window;

/// Q_Key of all queue pairs of these tests.
const KEY: u32 = 0xbeef_1234;
/// Node of the sender.
const NODE: u32 = 0x9_0009;

/// A queue pair that sends and receives, with a ring of 2^`log` and any number of slots.
fn ready(log: u8) -> Qp {
    Qp {
        state: 3,
        q_key: KEY,
        pd: 7,
        oldest: 5,
        newest: 5,
        log,
        base: 0x0001_2345_ffff_ffc0,
        slots: u32::MAX,
        ..Qp::default()
    }
}

/// A receive request in the region of an even key.
fn receive(wr_id: u64, length: u32) -> ReceiveRequest {
    ReceiveRequest {
        wr_id,
        address: model::region(2) + 64 * (wr_id % 1024) + 3,
        lkey: 2,
        length,
    }
}

fn receives(first: u64, count: u64, length: u32) -> Vec<ReceiveRequest> {
    (first..first + count)
        .map(|wr_id| receive(wr_id, length))
        .collect()
}

/// A request of version 1 that nothing is wrong with.
fn request(qpn: u32, psn: u32, length: usize) -> Request {
    Request {
        node: NODE,
        qpn,
        psn,
        q_key: KEY,
        src: 0x0a_bcde,
        vf: 0x10,
        window: Window {
            id: 77,
            epoch: 5,
            msn: psn ^ 0x8000_0001,
        },
        unknown: false,
        // As good as random.
        marked: psn.count_ones() % 2 == 1,
        notice: None,
        payload: Dice::new(psn.into()).bytes(length),
    }
}

/// A notification of a transfer of `bytes`.
fn notice(qpn: u32, immediate: u32, bytes: u32) -> Request {
    Request {
        vf: 0x18,
        window: Window {
            msn: immediate,
            ..Window::default()
        },
        notice: Some(bytes),
        ..request(qpn, 0, 0)
    }
}

#[test]
fn verilog_is_accepted_without_a_message() {
    // The large one has the same modules with other widths; elaborating its memories would take minutes.
    let (design, _) = ports::small();
    let dir = tools::scratch(&design.top);
    tools::assert_no_messages(design, &dir);
}
