//! Random operations on a receiver, legal and illegal mixed: what must hold after each of them.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use tributary_protocol::rw::*;

const W: u32 = 8;
const R: u32 = 3;

#[derive(Clone, Debug)]
enum Op {
    Connect {
        slot: u16,
        xid: u32,
        n: u32,
    },
    /// `off - 2` from the window's base.
    Data {
        wptr: u16,
        back: u32,
        src: u32,
        off: u32,
        odd: u8,
    },
    WriteDone {
        pick: usize,
    },
    Poll {
        wptr: u16,
        slot: u16,
        xid: u32,
    },
    Abort {
        slot: u16,
        xid: u32,
    },
    Sweep {
        wptr: u16,
        ticks: u16,
    },
}

fn op() -> impl Strategy<Value = Op> {
    let wptr = || 0..R as u16 + 1;
    prop_oneof![
        1 => (0u16..4, 0u32..6, 1u32..24).prop_map(|(slot, xid, n)| Op::Connect { slot, xid, n }),
        30 => (wptr(), prop_oneof![20 => Just(0u32), 1 => Just(1)], prop_oneof![20 => Just(0u32), 1 => Just(1), 1 => Just(1 << 16)], 0..W + 4, 0u8..30)
            .prop_map(|(wptr, back, src, off, odd)| Op::Data { wptr, back, src, off, odd }),
        25 => any::<usize>().prop_map(|pick| Op::WriteDone { pick }),
        1 => (wptr(), 0u16..4, 0u32..6).prop_map(|(wptr, slot, xid)| Op::Poll { wptr, slot, xid }),
        1 => (0u16..4, 0u32..60).prop_map(|(slot, xid)| Op::Abort { slot, xid }),
        2 => (wptr(), 0u16..40).prop_map(|(wptr, ticks)| Op::Sweep { wptr, ticks }),
    ]
}

/// The receiver, and beside it a naive account of which numbers have arrived.
struct Bench {
    rx: Receiver,
    now: Tick,
    writes: Vec<WriteCmd>,
    arrived: BTreeMap<u16, BTreeSet<u32>>,
    opened: [u32; R as usize],
    done: BTreeSet<(u16, u32)>,
}

impl Bench {
    fn new() -> Self {
        let config = ReceiverConfig {
            w: W,
            r: R,
            gen_bits: 3,
            idle_ticks: 200,
            retry_ticks: 30,
            allowance: 3,
            allowance_ticks: 9,
            ..Default::default()
        };
        let rx = Receiver::new(config).unwrap();
        Self {
            rx,
            now: 0,
            writes: vec![],
            arrived: BTreeMap::new(),
            opened: [0; R as usize],
            done: BTreeSet::new(),
        }
    }

    fn data(&mut self, d: &Data) -> Result<(), TestCaseError> {
        let before = self.rx.clone();
        let result = self.rx.data(d, self.now);
        let named = before
            .window(d.wptr)
            .filter(|w| w.r#gen == d.r#gen)
            .and_then(|w| w.open.as_ref())
            .filter(|t| t.src == d.src);
        let Some(t) = named else {
            prop_assert!(result.is_err());
            prop_assert_eq!(&self.rx, &before, "P7: nothing but a counter changes");
            return Ok(());
        };
        let arrived = self.arrived.entry(d.wptr).or_default();
        let base = (0..).find(|pidx| !arrived.contains(pidx)).unwrap_or(0);
        let shape = d.pidx < t.n
            && d.tail == (d.pidx + 1 == t.n)
            && u32::from(d.len) == t.packet_len(d.pidx);
        let fits = shape && (base..base + W).contains(&d.pidx) && !arrived.contains(&d.pidx);
        prop_assert_eq!(result.is_ok(), fits, "{:?} with {:?}", d, arrived);
        if let Ok(accepted) = result {
            arrived.insert(d.pidx);
            prop_assert_eq!(accepted.write.addr, t.addr + u64::from(d.pidx) * 256);
            self.writes.push(accepted.write);
        }
        let wbase = self.rx.transfer(d.wptr).map(|t| t.wbase);
        let naive = (0..).find(|pidx| !self.arrived[&d.wptr].contains(pidx));
        prop_assert_eq!(wbase, naive, "RW-3");
        Ok(())
    }

    fn apply(&mut self, op: &Op) -> Result<(), TestCaseError> {
        match *op {
            Op::Connect { slot, xid, n } => {
                let free: Vec<_> = self.rx.free().collect();
                let c = Connect {
                    src: 0,
                    slot,
                    xid,
                    incarnation: 0,
                    length: n * 256 - n,
                    addr: 0x100,
                    rkey: 0,
                    mtu: 8,
                };
                let opened = self.rx.stats().opened;
                let out = self.rx.connect(&c, self.now);
                if self.rx.stats().opened > opened {
                    let wptr = free
                        .first()
                        .copied()
                        .or(out.aborted.map(|done| done.wptr))
                        .unwrap_or(u16::MAX);
                    prop_assert!(
                        self.rx
                            .transfer(wptr)
                            .is_some_and(|t| (t.slot, t.xid) == (slot, xid)),
                        "RW-22: first in, first out"
                    );
                    self.opened[usize::from(wptr)] += 1;
                    self.arrived.insert(wptr, BTreeSet::new());
                }
            }
            Op::Data {
                wptr,
                back,
                src,
                off,
                odd,
            } => {
                let window = self.rx.window(wptr);
                let pidx = (window.and_then(|w| w.open.as_ref()).map_or(0, |t| t.wbase) + off)
                    .saturating_sub(2);
                let n = window.and_then(|w| w.open.as_ref()).map_or(1, |t| t.n);
                let length = window.and_then(|w| w.open.as_ref()).map_or(0, |t| t.length);
                let r#gen = window.map_or(0, |w| w.r#gen).wrapping_sub(back) & 7;
                let tail = (pidx + 1 == n) != (odd == 1);
                let len = packet_len(length, 8, pidx) as u16 + u16::from(odd == 2);
                self.data(&Data {
                    src,
                    wptr,
                    r#gen,
                    pidx,
                    tail,
                    round: 0,
                    len,
                })?;
            }
            Op::WriteDone { pick } => {
                if self.writes.is_empty() {
                    return Ok(());
                }
                let write = self.writes.swap_remove(pick % self.writes.len());
                if self.rx.write_done(write.wptr, write.r#gen) {
                    let n = self.rx.transfer(write.wptr).map_or(0, |t| t.n);
                    let done = self.rx.finish(write.wptr);
                    prop_assert!(done.is_some(), "every write acknowledged implies RW-4");
                    if let Some(done) = done {
                        prop_assert_eq!(self.arrived[&write.wptr].len() as u32, n, "P2");
                        prop_assert!(
                            self.done
                                .insert((done.completion.slot, done.completion.xid)),
                            "P4"
                        );
                    }
                }
            }
            Op::Poll { wptr, slot, xid } => {
                let before = self.rx.clone();
                let r#gen = self.rx.window(wptr).map_or(0, |w| w.r#gen);
                self.rx.poll(&Poll {
                    src: 0,
                    wptr,
                    r#gen,
                    slot,
                    xid,
                    seq: 1,
                });
                prop_assert_eq!(&self.rx, &before, "RW-11");
            }
            Op::Abort { slot, xid } => {
                self.rx.abort(&Abort {
                    src: 0,
                    slot,
                    xid,
                    reason: Reason::GaveUp,
                });
            }
            Op::Sweep { wptr, ticks } => {
                self.now = self.now.wrapping_add(ticks);
                for output in self.rx.sweep(wptr, self.now) {
                    match output {
                        Output::Send {
                            msg: Message::RetxOne(m),
                            ..
                        } => prop_assert!(!self.arrived[&wptr].contains(&m.pidx), "RW-12"),
                        Output::Send {
                            msg: Message::RetxRange(m),
                            ..
                        } => {
                            prop_assert!(
                                self.arrived
                                    .get(&wptr)
                                    .is_none_or(|all| all.range(m.pidx..).next().is_none()),
                                "RW-13"
                            );
                        }
                        _ => {}
                    }
                }
            }
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn p_12_p_13_p_14_hold_after_every_operation(ops in proptest::collection::vec(op(), 1..400)) {
        let mut bench = Bench::new();
        for op in &ops {
            bench.apply(op)?;
            if let Err(what) = bench.rx.check() {
                return Err(TestCaseError::fail(what));
            }
            for wptr in 0..R {
                let r#gen = bench.rx.window(wptr as u16).map(|w| w.r#gen);
                prop_assert_eq!(r#gen, Some(bench.opened[wptr as usize] & 7), "P14: gen counts the allocations");
            }
        }
    }
}

/// Random operations do reach the ends of transfers: the test above is about something.
#[test]
fn random_operations_finish_transfers() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut finished = 0;
    for _ in 0..100 {
        let ops = proptest::collection::vec(op(), 400)
            .new_tree(&mut runner)
            .unwrap()
            .current();
        let mut bench = Bench::new();
        ops.iter().for_each(|op| bench.apply(op).unwrap());
        finished += bench.rx.stats().finished;
    }
    assert!(finished > 50, "{finished}");
}
