//! The blocks between schedule rings and the card, each beside a small reference, with deliberate errors.

use std::fmt::Debug;

use rand_chacha::ChaCha8Rng;
use tributary_hdl::emit::emit_block;
use tributary_hdl::prelude::*;
use tributary_sim::testbench::wrong::{self, Wrong};
use tributary_sim::testbench::{Stalls, number, profiles};
use tributary_sim::verilate::{Model, Verilated};

use super::ports;

mod ends;
mod pairs;
mod reads;
mod regs;

pub(super) type Result<T> = std::result::Result<T, String>;

/// A block with these errors: one more port says the number of one, from 1 on, or 0 for none.
pub(super) fn library(mut block: impl Block, errors: &[Wrong]) -> Verilated {
    let design = emit_block(&mut block).unwrap_or_else(|e| panic!("{e}"));
    let mut files = design.files();
    let top = format!("{}.v", design.top);
    let top = files.iter_mut().find(|(name, _)| *name == top).unwrap();
    let at = top.1.find("    input  wire        clk,").unwrap();
    top.1.insert_str(at, "    input  wire [7:0]  wrong,\n");
    wrong::library(&design.top, files, ("wrong", 8), 1, errors)
}

/// A model, what stands at its ports by name, and chance.
pub(super) struct Bench<'a> {
    library: &'a Verilated,
    pub(super) model: Model,
    pub(super) rng: ChaCha8Rng,
    pub(super) stalls: Stalls,
}

impl<'a> Bench<'a> {
    pub(super) fn new(library: &'a Verilated, seed: u64, error: u64, stalled: usize) -> Self {
        let mut model = library.model_with_seed(seed).unwrap();
        model.set(library.port("wrong").unwrap(), error);
        model.reset(2).unwrap();
        Self {
            library,
            model,
            rng: ports::rng(seed),
            stalls: Stalls::of_seed(seed, stalled),
        }
    }

    pub(super) fn set(&mut self, name: &str, value: u64) {
        self.model.set(self.library.port(name).unwrap(), value);
    }

    pub(super) fn get(&self, name: &str) -> u64 {
        self.model.get(self.library.port(name).unwrap())
    }

    pub(super) fn is(&self, name: &str) -> bool {
        self.get(name) != 0
    }

    /// An output says this.
    pub(super) fn says(&self, name: &str, should: impl Into<u64>) -> Result<()> {
        same(name, self.get(name), should.into())
    }

    pub(super) fn eval(&mut self) -> Result<()> {
        self.model.eval().map_err(|e| e.to_string())
    }

    /// Clocks of a run, each by its number; what is wrong says where. The model as it is then.
    pub(super) fn run(
        mut self,
        clocks: u64,
        mut clock: impl FnMut(&mut Self, u64) -> Result<()>,
    ) -> Result<Model> {
        for now in 0..clocks {
            self.stalls.clock();
            clock(&mut self, now)
                .and_then(|()| self.model.clock().map_err(|e| e.to_string()))
                .map_err(|what| format!("{}, clock {now}: {what}", self.stalls))?;
        }
        Ok(self.model)
    }
}

pub(super) fn same<T: PartialEq + Debug>(what: &str, is: T, should: T) -> Result<()> {
    if is == should {
        Ok(())
    } else {
        Err(format!("{what}: {is:x?}, not {should:x?}"))
    }
}

pub(super) fn demand(so: bool, what: &str) -> Result<()> {
    if so { Ok(()) } else { Err(what.to_owned()) }
}

/// The right block under every profile of stalls. A run returns how often each thing that counts was seen; with all seeds
/// it is 10 times or more.
pub(super) fn right<const N: usize>(what: &str, run: impl Fn(u64, u64) -> Result<[u64; N]>) {
    let mut all = [0; N];
    profiles(what, |seed| {
        let seen = run(seed, 0)
            .unwrap_or_else(|what| panic!("{what}; TRIBUTARY_SEED={seed} runs it again"));
        (0..N).for_each(|i| all[i] += seen[i]);
        seen[0]
    });
    println!("{all:?}");
    if number("TRIBUTARY_SEED").is_none() {
        assert!(all.iter().all(|&count| count >= 10), "{all:?}");
    }
}

/// Each error, under one profile after the other.
pub(super) fn wrong<const N: usize>(errors: &[Wrong], run: impl Fn(u64, u64) -> Result<[u64; N]>) {
    wrong::every_is_noticed(errors, |number| {
        (0..13).try_for_each(|seed| run(seed, number + 1).map(drop))
    });
}
