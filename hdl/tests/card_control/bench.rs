//! A Verilated block with its ports by name, and random choices.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;
use tributary_hdl::emit::{Design, emit_block};
use tributary_hdl::prelude::*;
use tributary_sim::verilate::{BuildOptions, Model, Port, Verilated};

/// Verilates a block. Registers without a reset start at random, and a word of a block RAM that is read while it is
/// written comes out wrong.
pub fn build<B: Block>(mut block: B) -> Verilated {
    let design = emit_block(&mut block).expect("the block is writable");
    verilate(&design.top, &design.files())
}

/// The same from texts.
pub fn verilate(top: &str, sources: &[(String, String)]) -> Verilated {
    let options = BuildOptions::new(top, sources)
        .with_random_init(true)
        .with_checks();
    Verilated::build(&options).unwrap_or_else(|e| panic!("{top}: {e}"))
}

/// A wrong expression: what is wrong with it, the right one, the wrong one.
pub type Fault = (&'static str, &'static str, &'static str);

/// A design with all faults in it. Input `fault` of its top module chooses one, counted from 1; 0 is none.
pub fn with_faults(design: &Design, faults: &[Fault]) -> Verilated {
    let mut files = design.files();
    let top = &design.top;
    for (i, (name, right, wrong)) in faults.iter().enumerate() {
        let (_, text) = files
            .iter_mut()
            .find(|(_, text)| text.contains(right))
            .unwrap_or_else(|| panic!("{name}: {right} is nowhere"));
        let both = format!("(({top}.fault == 8'd{}) ? ({wrong}) : ({right}))", i + 1);
        *text = text.replace(right, &both);
    }
    let head = format!("module {top} (");
    for (_, text) in &mut files {
        *text = text.replace(&head, &format!("{head}\n    input wire [7:0] fault,"));
    }
    verilate(top, &files)
}

/// Seeds of a random test.
pub fn seeds(count: u64) -> Range<u64> {
    match std::env::var("TRIBUTARY_SEED") {
        Ok(text) => {
            let seed = text.parse().expect("TRIBUTARY_SEED is a number");
            seed..seed + 1
        }
        Err(_) => 0..count,
    }
}

/// Takes the address of a name for its hash: ports are looked up dozens of times a clock.
#[derive(Default)]
pub struct ByAddress(u64);

impl Hasher for ByAddress {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("addresses are of type usize");
    }

    fn write_usize(&mut self, address: usize) {
        self.0 = (address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

/// A running block.
pub struct Rtl {
    model: Model,
    ports: HashMap<usize, Port, BuildHasherDefault<ByAddress>>,
    /// Clocks since it was made.
    pub now: u64,
}

impl Rtl {
    pub fn new(library: &Verilated, seed: u64) -> Self {
        Self {
            model: library.model_with_seed(seed + 1).expect("a model"),
            ports: HashMap::default(),
            now: 0,
        }
    }

    fn port(&mut self, name: &'static str) -> Port {
        let address = name.as_ptr().addr();
        if let Some(&port) = self.ports.get(&address) {
            return port;
        }
        let port = self.model.port(name).unwrap_or_else(|e| panic!("{e}"));
        self.ports.insert(address, port);
        port
    }

    /// Whether there is a port of that name.
    #[allow(
        dead_code,
        reason = "for blocks that come in two forms, in another test"
    )]
    pub fn has(&self, name: &str) -> bool {
        self.model.port(name).is_ok()
    }

    /// Sets an input.
    pub fn set(&mut self, name: &'static str, value: impl Into<u64>) {
        let port = self.port(name);
        self.model.set(port, value.into());
    }

    /// Reads an output.
    pub fn get(&mut self, name: &'static str) -> u64 {
        let port = self.port(name);
        self.model.get(port)
    }

    /// Reads an output of more than 64 bits.
    #[allow(dead_code, reason = "for blocks with such outputs, in another test")]
    pub fn wide(&mut self, name: &'static str) -> Vec<u64> {
        let port = self.port(name);
        self.model.words(port)
    }

    /// Whether an output is high.
    pub fn is(&mut self, name: &'static str) -> bool {
        self.get(name) != 0
    }

    /// Lets outputs follow the inputs.
    pub fn settle(&mut self) {
        self.model.eval().expect("the model runs");
    }

    pub fn clock(&mut self) {
        self.now += 1;
        self.model.clock().expect("the model runs");
    }

    pub fn clocks(&mut self, count: u64) {
        for _ in 0..count {
            self.clock();
        }
    }

    /// Holds reset for `count` clocks.
    pub fn reset(&mut self, count: u64) {
        self.set("rst", 1u8);
        self.clocks(count);
        self.set("rst", 0u8);
    }
}

/// Random choices of one test.
pub struct Dice(pub ChaCha8Rng);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// True in `percent` of the cases.
    pub fn chance(&mut self, percent: u32) -> bool {
        self.0.random_range(0..100) < percent
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0.random_range(0..limit)
    }

    /// A random number of `bits` bits.
    pub fn bits(&mut self, bits: u32) -> u64 {
        self.0.random::<u64>() >> (64 - bits)
    }

    /// One of several.
    pub fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }
}
