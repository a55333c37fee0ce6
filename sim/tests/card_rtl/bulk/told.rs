//! Datagrams that come marked (CL-4): what acknowledgements say of it, completions, counters; on Verilated cards and on models.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tributary_hdl::catalog;
use tributary_protocol::card::descriptor::ReceiveRequest;
use tributary_protocol::card::regs::{CONGESTION_CONTROL, CongestionCounter};
use tributary_protocol::roce::{self, F_OPCODE, F_PSN};
use tributary_protocol::xud::{OPCODE_ACK, Window};
use tributary_sim::testbench::wrong::{self, Wrong};

use super::marks::{both, count};
use super::*;
use crate::onesided::one_sided;

/// Messages of a round; a one-sided WRITE is behind them.
const EACH: u64 = 8;
/// Window of the writes, and its epoch: the first one of its queue pair.
const WINDOW: u16 = 5;
const EPOCH: u16 = 1;
const BYTES: u64 = 256;

/// Sends messages and a WRITE to node 1, every so many frames marked; PSNs of those that were acknowledged as marked.
fn round(pair: &mut Pair, queues: &mut [Queue; 2], msn: u32, every: u64) -> Vec<u32> {
    pair.mark_every = every;
    pair.sent = Some(Vec::new());
    let [here, there] = queues;
    let peer = Peer {
        node: NODES[1],
        qpn: here.qpn,
    };
    let receive = |at| ReceiveRequest {
        wr_id: at,
        address: WRITES + at * BYTES,
        lkey: WRITABLE.key(),
        length: BYTES as u32,
    };
    let receives: Vec<_> = (0..EACH).map(receive).collect();
    pair.post_receives(1, there, &receives);
    there.receives += EACH as u16;
    // They are read ahead.
    pair.run(10_000);
    let mut works: Vec<_> = (0..EACH)
        .map(|at| work(peer, READS + at, 20 * at, at))
        .collect();
    let bytes = [0; 100];
    let request = Request {
        address: WRITES + 0x2000,
        rkey: WRITABLE.key(),
        asked: Asked::Write(&bytes),
    };
    let window = Window {
        id: WINDOW,
        epoch: EPOCH,
        msn,
    };
    works.push(one_sided(peer, window, &request, READS, READABLE.key()));
    pair.post_sends(0, here, &works);
    here.posted += works.len() as u16;
    pair.settle(QUIET);
    let frames = pair.sent.take().unwrap();
    let acks = frames
        .iter()
        .map(|sent| &sent.frame)
        .filter(|frame| F_OPCODE.get(frame) == u64::from(OPCODE_ACK));
    let acks: Vec<&Vec<u8>> = acks.collect();
    assert_eq!(acks.len(), works.len());
    let told = acks.into_iter().filter(|frame| roce::tells_mark(frame));
    let mut told: Vec<u32> = told.map(|frame| F_PSN.get(frame) as u32).collect();
    told.sort_unstable();
    let ended = pair.completions(0, here);
    assert_eq!(ended.len(), works.len());
    assert!(ended.iter().all(|ended| ended.status == Outcome::Ok));
    let heard = ended.iter().filter(|ended| ended.marked);
    let mut heard: Vec<u32> = heard.map(|ended| ended.psn).collect();
    heard.sort_unstable();
    assert_eq!(
        heard, told,
        "what completions say is what acknowledgements said"
    );
    let received = pair.completions(1, there);
    assert_eq!(received.len() as u64, EACH);
    assert!(received.iter().all(|received| !received.marked));
    for (at, ended) in [works.len() as u16, EACH as u16].into_iter().enumerate() {
        queues[at].consumed += ended;
        pair.consume(at, &queues[at]);
    }
    told
}

/// Nothing is marked, all is, and some, and then nothing again; before and while the cards look at marks.
fn tell((mut pair, queue): (Pair, Queue)) {
    use CongestionCounter::{Heard, MarkedReceived, Sent as Told};
    let args = [queue.qpn, NODES[0], queue.qpn, EPOCH.into()];
    pair.command(1, Command::OpenWindow, WINDOW.into(), &args);
    let mut queues = [queue.clone(), queue];
    assert!(round(&mut pair, &mut queues, 0, 1).is_empty());
    assert_eq!(pair.markable, 0, "no frame may be marked");
    for at in 0..2 {
        pair.write(at, &CONGESTION_CONTROL, 1);
    }
    let mut all = 0;
    for (msn, every) in [(1, 0), (2, 1), (3, 3), (4, 0), (5, 2), (6, 1)] {
        let told = round(&mut pair, &mut queues, msn, every).len() as u64;
        match every {
            0 => assert_eq!(told, 0),
            1 => assert_eq!(told, EACH + 1),
            _ => assert!((1..=EACH).contains(&told), "{told} of every {every}"),
        }
        all += told;
        let counts = [(1, MarkedReceived), (1, Told), (0, Heard)];
        let counts = counts.map(|(at, counter)| u64::from(count(&mut pair, at, counter)));
        assert_eq!(counts, [all; 3], "marked, told, heard");
    }
    pair.check();
}

#[test]
fn cl_04_acknowledgements_say_which_datagrams_came_marked_and_completions_say_it_too() {
    for cards in both(seed()) {
        tell(cards);
    }
}

/// Chooses an error, as in the test of how the engines of bulk transfers are joined.
const FIRST: u64 = 30_001;
const WRONG: [Wrong; 9] = [
    ("card_core", "ev_marked = ", "1'b0"),
    ("card_core", "ev_mark_told = ", "1'b0"),
    ("card_core", "ev_mark_heard = ", "1'b0"),
    ("card_core", "tx_s_ak_marked = ", "1'b0"),
    ("card_recv_acks", "m_ak_marked = ", "1'b0"),
    ("card_onesided_q", "m_ak_marked = ", "1'b0"),
    ("xud_rx_d", "m_rq_marked = ", "1'b1"),
    ("xud_rx_d", "m_ak_marked = ", "1'b0"),
    ("xud_end", "m_marked = ", "1'b0"),
];

#[test]
fn cl_04_a_card_that_loses_marks_of_datagrams_is_noticed() {
    let sizes = [("Q", 16), ("R", 32), ("F", 64), ("S", 16)];
    let design = catalog::choose("bulk_card", &sizes)
        .unwrap()
        .emit()
        .unwrap();
    let port = ("cfg_read_timeout", 16);
    let library = wrong::library(&design.top, design.files(), port, FIRST, &WRONG);
    let run = |number: u64| {
        let config = Config {
            seed: 1,
            stall: Profile::Independent(32),
            ..Config::default()
        };
        let mut pair = Pair::rtl_of(&library, &config);
        for at in 0..2 {
            pair.rtl_card(at).0.set_read_timeout(number);
        }
        tell(made(pair));
    };
    run(FIRST - 1);
    wrong::every_is_noticed(&WRONG, |number| {
        catch_unwind(AssertUnwindSafe(|| run(FIRST + number)))
            .map_err(|_| "an assertion".to_owned())
    });
}
