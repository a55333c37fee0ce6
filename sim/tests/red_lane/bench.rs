//! One word a clock into the Verilated lane, and what the model says comes out ten clocks later.

use rand::{RngExt, SeedableRng, rngs::SmallRng};
use std::collections::VecDeque;
use tributary_hdl::catalog;
use tributary_protocol::red::ops::{Mode, Op, Rc, Value, combine, int_sum};
use tributary_sim::verilate::{BuildOptions, Model, Port, Verilated};

/// Clocks from a word to its result.
pub const LATENCY: usize = 10;

/// One word of a frame, and what comes of it.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub op: Op,
    pub word: u8,
    pub a: u64,
    pub b: u64,
    /// REPSUM: the accumulator's word and the order to ignore all, three clocks later.
    pub late: Option<(u64, bool)>,
    pub data: u64,
    pub code: u8,
}

fn value(data: [u64; 4]) -> Value {
    Value {
        data,
        ..Value::default()
    }
}

/// A word of an operation without a frame: whatever its index, the model has it as word 0.
pub fn single(op: Op, mode: Mode, word: u8, a: u64, b: u64) -> Step {
    let result = combine(op, mode, &value([a, 0, 0, 0]), &value([b, 0, 0, 0]));
    Step {
        op,
        word,
        a,
        b,
        late: None,
        data: result.data[0],
        code: result.rc.code(),
    }
}

/// The four words of a frame of any operation but REPSUM.
pub fn frame(op: Op, mode: Mode, a: [u64; 4], b: [u64; 4]) -> [Step; 4] {
    let loc = matches!(
        op,
        Op::IntMinmaxloc | Op::FltMinmaxloc | Op::FltMinmaxnumloc
    );
    let whole = combine(op, mode, &value(a), &value(b));
    let steps = std::array::from_fn(|i| {
        // Only the word itself, and whatever is chosen by it, in a frame of zeros.
        let only = |data: [u64; 4]| {
            let mut one = [0; 4];
            one[i] = data[i];
            value(one)
        };
        let code = if loc && i % 2 == 1 {
            Rc::OK
        } else {
            combine(op, mode, &only(a), &only(b)).rc
        };
        Step {
            op,
            word: i as u8,
            a: a[i],
            b: b[i],
            late: None,
            data: whole.data[i],
            code: code.code(),
        }
    });
    let largest = steps.iter().map(|s: &Step| s.code).max();
    assert_eq!(largest, Some(whole.rc.code()), "{op} {a:x?} {b:x?}");
    steps
}

/// A word of REPSUM: `a` stands on the early port and must not matter.
pub fn repsum(word: u8, a: u64, late: u64, zero: bool, b: u64) -> Step {
    let (data, rc) = if zero {
        (0, Rc::OK)
    } else {
        int_sum(64, late, b)
    };
    Step {
        op: Op::FltRepsum,
        word,
        a,
        b,
        late: Some((late, zero)),
        data,
        code: rc.code(),
    }
}

/// Verilog of the lane.
pub fn sources() -> (String, Vec<(String, String)>) {
    let design = catalog::choose("red_lane", &[] as &[(&str, usize)])
        .unwrap()
        .emit()
        .unwrap();
    let files = design.files();
    (design.top, files)
}

pub fn build() -> Verilated {
    let (top, files) = sources();
    Verilated::build(&BuildOptions::new(&top, &files).with_checks()).unwrap()
}

/// A difference between the lane and the model.
pub type Wrong = String;

pub struct Bench {
    model: Model,
    s_valid: Port,
    s_op: Port,
    s_word: Port,
    s_a: Port,
    s_b: Port,
    r_a: Port,
    r_zero: Port,
    m_valid: Port,
    m_word: Port,
    m_data: Port,
    m_code: Port,
    /// What is in the pipeline, youngest last.
    due: VecDeque<Option<Step>>,
    /// Fills what nobody should look at.
    noise: SmallRng,
    pub words: u64,
}

impl Bench {
    pub fn new(library: &Verilated, mode: Mode) -> Self {
        let mut model = library.model().unwrap();
        let nan = model.input("cfg_ieee_nan", 1).unwrap();
        model.set(nan, mode.ieee_nan.into());
        model.reset(2).unwrap();
        Self {
            s_valid: model.input("s_valid", 1).unwrap(),
            s_op: model.input("s_op", 6).unwrap(),
            s_word: model.input("s_word", 2).unwrap(),
            s_a: model.input("s_a", 64).unwrap(),
            s_b: model.input("s_b", 64).unwrap(),
            r_a: model.input("r_a", 64).unwrap(),
            r_zero: model.input("r_zero", 1).unwrap(),
            m_valid: model.output("m_valid", 1).unwrap(),
            m_word: model.output("m_word", 2).unwrap(),
            m_data: model.output("m_data", 64).unwrap(),
            m_code: model.output("m_code", 4).unwrap(),
            due: (0..LATENCY - 1).map(|_| None).collect(),
            noise: SmallRng::seed_from_u64(5),
            words: 0,
            model,
        }
    }

    /// A port of the model that only a test has added.
    pub fn set(&mut self, port: &str, value: u64) {
        let port = self.model.port(port).unwrap();
        self.model.set(port, value);
    }

    /// A clock of reset: whatever is in the pipeline is gone.
    pub fn reset(&mut self) {
        self.model.set(self.s_valid, 0);
        self.model.reset(1).unwrap();
        self.due = (0..LATENCY - 1).map(|_| None).collect();
    }

    /// One clock.
    pub fn clock(&mut self, step: Option<Step>) -> Result<(), Wrong> {
        let m = &mut self.model;
        m.set(self.s_valid, step.is_some().into());
        match step {
            Some(s) => {
                m.set(self.s_op, s.op.code().into());
                m.set(self.s_word, s.word.into());
                m.set(self.s_a, s.a);
                m.set(self.s_b, s.b);
            }
            None => {
                for port in [self.s_op, self.s_word, self.s_a, self.s_b] {
                    m.set(port, self.noise.random());
                }
            }
        }
        let (late, zero) = self.due[LATENCY - 4]
            .and_then(|s| s.late)
            .unwrap_or_else(|| (self.noise.random(), self.noise.random()));
        m.set(self.r_a, late);
        m.set(self.r_zero, zero.into());
        m.clock().map_err(|e| e.to_string())?;
        self.due.push_back(step);
        let due = self.due.pop_front().flatten();
        let Some(due) = due else {
            return if m.is_set(self.m_valid) {
                Err("a result when none is due".to_owned())
            } else {
                Ok(())
            };
        };
        self.words += 1;
        let valid = m.is_set(self.m_valid);
        let (word, data) = (m.get(self.m_word) as u8, m.get(self.m_data));
        let code = m.get(self.m_code) as u8;
        if valid && (word, data, code) == (due.word, due.data, due.code) {
            return Ok(());
        }
        Err(format!(
            "valid {valid} word {word} data {data:#018x} code {code}, not {:#018x} code {}, of {} {:#018x} {:#018x} word {} {:x?}",
            due.data, due.code, due.op, due.a, due.b, due.word, due.late
        ))
    }

    pub fn run(&mut self, steps: impl IntoIterator<Item = Step>) -> Result<(), Wrong> {
        for step in steps {
            self.clock(Some(step))?;
        }
        Ok(())
    }

    /// Idle until the last result is out.
    pub fn drain(&mut self) -> Result<(), Wrong> {
        (0..LATENCY).try_for_each(|_| self.clock(None))
    }
}
