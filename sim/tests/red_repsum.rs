//! `red_repsum` in Verilator: what its control makes of two operands is what the model says.
//!
//! `RED_SEED` repeats a run, `RED_PAIRS` is five times the number of frames.

#[path = "../../protocol/tests/red_common/mod.rs"]
mod red_common;

use rand::{Rng, RngExt};
use tributary_protocol::red::ops::{Mode, Op, Rc, Value, combine, int_sum};
use tributary_sim::verilate::{BuildOptions, Model, Verilated};

/// The model with its ports by name; a frame takes too long for the search to matter.
struct Bench(Model);

impl Bench {
    fn new() -> Self {
        let design = tributary_hdl::catalog::choose("red_repsum", &[] as &[(&str, usize)])
            .unwrap()
            .emit()
            .unwrap();
        let files: Vec<_> = design
            .modules
            .into_iter()
            .map(|m| (format!("{}.v", m.name), m.text))
            .collect();
        let library = Verilated::build(&BuildOptions::new(&design.top, &files)).unwrap();
        let mut model = library.model().unwrap();
        model.reset(2).unwrap();
        Self(model)
    }

    fn set(&mut self, port: &str, value: u64) {
        let port = self.0.port(port).unwrap();
        self.0.set(port, value);
    }

    fn get(&self, port: &str) -> u64 {
        self.0.get(self.0.port(port).unwrap())
    }

    fn start(&mut self, frame: Option<&(Value, Value)>) {
        self.set("s_valid", frame.is_some().into());
        let Some((a, b)) = frame else { return };
        let some = (0..4).filter(|&i| a.data[i] != 0).map(|i| 1 << i).sum();
        let over = |v: &Value| u64::from(v.rc == Rc::INT_OVERFLOW);
        for (port, value) in [
            ("s_a_m", a.m as u64),
            ("s_b_m", b.m as u64),
            ("s_a_some", some),
            ("s_a_over", over(a)),
            ("s_a_oflow", a.oflow.into()),
            ("s_b_over", over(b)),
            ("s_b_oflow", b.oflow.into()),
        ] {
            self.set(port, value);
        }
    }

    /// What a switch does with the control of one slot; `out` starts as the accumulator.
    fn slot(&mut self, i: usize, a: &Value, b: &Value, out: &mut Value) {
        assert_eq!(self.get("m_valid"), 1);
        if self.get("m_write") == 0 {
            return;
        }
        let index = self.get("m_index") as usize;
        let read = match self.get("m_none") {
            0 => a.data[self.get("m_read") as usize],
            _ => 0,
        };
        out.data[index] = 0;
        if self.get("m_zero") == 0 {
            let (sum, rc) = int_sum(read, b.data[i]);
            out.data[index] = sum;
            if rc == Rc::INT_OVERFLOW {
                out.oflow = if out.rc == rc {
                    out.oflow.max(index as u8)
                } else {
                    index as u8
                };
                out.rc = rc;
            }
        }
    }
}

/// An operand: M close to that of others or special, words that are often zero or near overflow.
fn operand(rng: &mut impl Rng) -> Value {
    let m = match rng.random_range(0..8) {
        0 => rng.random_range(125..=127),
        1 => rng.random(),
        _ => rng.random_range(-5..5),
    };
    Value {
        data: std::array::from_fn(|_| match rng.random_range(0..4) {
            0 | 1 => 0,
            2 => rng.random(),
            _ => 3 << 62 >> rng.random_range(0..2),
        }),
        rc: if rng.random_range(0..3) == 0 {
            Rc::INT_OVERFLOW
        } else {
            Rc::OK
        },
        m,
        oflow: rng.random_range(0..4),
    }
}

/// Frames as fast as they come, one every four clocks.
#[test]
fn red_06_red_07_control_of_random_frames_back_to_back() {
    let mut bench = Bench::new();
    let mut rng = red_common::rng(red_common::seed());
    let frames: Vec<_> = (0..red_common::pairs() / 5)
        .map(|_| (operand(&mut rng), operand(&mut rng)))
        .collect();
    // Clock 4 n: frame n starts; its slot i is at clock 4 n + 2 + i.
    let mut out = Value::default();
    let mut dropped = Rc::OK;
    for clock in 0..frames.len() * 4 + 7 {
        bench.start((clock % 4 == 0).then(|| frames.get(clock / 4)).flatten());
        let at = clock.checked_sub(2).filter(|at| at / 4 < frames.len());
        if let Some(at) = at {
            let ((a, b), slot) = (&frames[at / 4], at % 4);
            bench.set("b_some", u64::from(b.data[slot] != 0));
            bench.0.eval().unwrap();
            if slot == 0 {
                let over = bench.get("m_over") == 1;
                out = Value {
                    rc: if over { Rc::INT_OVERFLOW } else { Rc::OK },
                    oflow: bench.get("m_oflow") as u8,
                    ..*a
                };
                dropped = Rc::new(bench.get("m_code") as u8);
            }
            bench.slot(slot, a, b, &mut out);
            out.m = bench.get("m_m") as i8;
        } else {
            bench.0.eval().unwrap();
            assert_eq!(bench.get("m_valid"), 0);
        }
        bench.0.clock().unwrap();
        if let Some(at) = at {
            if bench.get("m_dropped") == 1 {
                dropped = dropped.max(Rc::REPSUM_INEXACT);
            }
            if at % 4 == 3 {
                let (a, b) = &frames[at / 4];
                let want = combine(Op::FltRepsum, Mode::default(), a, b);
                out.rc = out.rc.max(dropped);
                if want.rc != Rc::INT_OVERFLOW {
                    out.oflow = want.oflow;
                }
                assert_eq!(out, want, "{a:x?} {b:x?}");
            }
        }
    }
}
