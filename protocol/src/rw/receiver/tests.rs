//! Tests of the receiver, one or more for each rule that it holds.

mod control;
mod window;

use super::*;
use crate::rw::{Abort, Connect, ConnectStatus, MTU_RANGE, Poll, Reason};

const P: u32 = 256;

fn receiver(w: u32, r: u32) -> Receiver {
    let timers = ReceiverConfig {
        allowance: 4,
        allowance_ticks: 4,
        retry_ticks: 20,
        tail_ticks: 6,
        idle_ticks: 1000,
        copies: 1,
        ..Default::default()
    };
    Receiver::new(ReceiverConfig { w, r, ..timers }).unwrap()
}

fn request(slot: u16, xid: u32, n: u32) -> Connect {
    Connect {
        src: 7,
        slot,
        xid,
        incarnation: 0,
        length: n * P,
        addr: 0x1_0000,
        rkey: 99,
        mtu: 8,
    }
}

/// Opens a window for a transfer of `n` full packets from (7, slot 0, xid 1).
fn open(rx: &mut Receiver, n: u32) -> u16 {
    connect(rx, &request(0, 1, n), 0).unwrap().0
}

/// (wptr, gen, credit) of a CONNECT that must be granted.
fn connect(rx: &mut Receiver, c: &Connect, now: Tick) -> Option<(u16, u32, u32)> {
    match rx.connect(c, now).reply {
        Some(Message::ConnectResp(m)) if m.status == ConnectStatus::Ok => {
            Some((m.wptr, m.r#gen, m.credit))
        }
        _ => None,
    }
}

fn packet(rx: &Receiver, wptr: u16, pidx: u32) -> Data {
    let t = rx.transfer(wptr).unwrap();
    let tail = pidx + 1 == t.n;
    let len = t.packet_len(pidx) as u16;
    Data {
        src: t.src,
        wptr,
        r#gen: rx.window(wptr).unwrap().r#gen,
        pidx,
        tail,
        round: 0,
        len,
    }
}

fn data(rx: &mut Receiver, wptr: u16, pidx: u32, now: Tick) -> Result<Accepted, DropReason> {
    let d = packet(rx, wptr, pidx);
    rx.data(&d, now)
}

/// Sends a message that must be dropped for this reason, and checks that nothing but a counter has changed.
fn dropped(rx: &mut Receiver, d: &Data, reason: DropReason) {
    let (before, count) = (rx.clone(), rx.stats().dropped(reason));
    assert_eq!(rx.data(d, 0), Err(reason), "{d:?}");
    assert_eq!(*rx, before, "{reason}");
    assert_eq!(rx.stats().dropped(reason), count + 1);
}

fn asked(outputs: &[Output]) -> (Vec<u32>, Option<u32>) {
    let mut ones = Vec::new();
    let mut range = None;
    for output in outputs {
        match output {
            Output::Send {
                msg: Message::RetxOne(m),
                ..
            } => ones.push(m.pidx),
            Output::Send {
                msg: Message::RetxRange(m),
                ..
            } => range = Some(m.pidx),
            other => panic!("{other:?}"),
        }
    }
    (ones, range)
}
