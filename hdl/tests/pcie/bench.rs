//! Verilated blocks, and random choices.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::fs;
use tributary_hdl::emit::emit_block;
use tributary_hdl::prelude::*;
use tributary_sim::tools::{Tools, target_dir};
use tributary_sim::verilate::{BuildOptions, Verilated};

/// Builds a block; its Verilog has no message from the linter. Registers start at random, and a read of a RAM that
/// collides with a write gives a wrong word.
pub fn build(block: impl Block) -> Verilated {
    let (top, files) = verilog(block);
    lint(&top, &files);
    verilate(&top, &files)
}

/// Builds a block with a fault: in one place of its Verilog, another text.
pub fn build_wrong(block: impl Block, right: &str, wrong: &str) -> Verilated {
    let (top, mut files) = verilog(block);
    let places: usize = files
        .iter()
        .map(|(_, text)| text.matches(right).count())
        .sum();
    assert_eq!(places, 1, "{right} stands in {places} places of {top}");
    for (_, text) in &mut files {
        *text = text.replace(right, wrong);
    }
    verilate(&top, &files)
}

/// Name of the top module, and files.
fn verilog(mut block: impl Block) -> (String, Vec<(String, String)>) {
    let design = emit_block(&mut block).unwrap_or_else(|e| panic!("{e}"));
    let files = design.files();
    (design.top, files)
}

fn verilate(top: &str, files: &[(String, String)]) -> Verilated {
    let options = BuildOptions::new(top, files)
        .with_random_init(true)
        .with_checks();
    Verilated::build(&options).unwrap_or_else(|e| panic!("{e}"))
}

fn lint(top: &str, files: &[(String, String)]) {
    let dir = target_dir().join("pcie").join(top);
    fs::create_dir_all(&dir).unwrap();
    for (name, text) in files {
        fs::write(dir.join(name), text).unwrap();
    }
    let output = Tools::find()
        .and_then(|tools| tools.command("verilator"))
        .unwrap_or_else(|e| panic!("{e}"))
        .args(["--lint-only", "-Wall", "--quiet", "--top-module", top])
        .args(["--default-language", "1364-2005"])
        .args(files.iter().map(|(name, _)| name))
        .current_dir(&dir)
        .output()
        .unwrap();
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    let text = String::from_utf8_lossy(&text);
    assert!(
        output.status.success() && text.trim().is_empty(),
        "verilator on {top} says:\n{text}"
    );
}

/// The seeds to run.
pub fn seeds(count: u64) -> std::ops::Range<u64> {
    match std::env::var("TRIBUTARY_SEED") {
        Ok(text) => {
            let seed = text.parse().unwrap();
            seed..seed + 1
        }
        Err(_) => 0..count,
    }
}

/// Seeds of a random test: so many as a rule, and with `TRIBUTARY_FRAMES` so many that this many requests are made,
/// `each` of them in a run.
pub fn runs(count: u64, each: u64) -> std::ops::Range<u64> {
    match std::env::var("TRIBUTARY_FRAMES") {
        Ok(text) => seeds(text.parse::<u64>().unwrap().div_ceil(each)),
        Err(_) => seeds(count),
    }
}

/// Random choices of one test.
pub struct Dice(ChaCha8Rng);

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

    /// One of them.
    pub fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize].clone()
    }

    /// Random bytes.
    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.0.random()).collect()
    }

    /// A length of a request: often short, often the largest, often around multiples of TLP sizes.
    pub fn length(&mut self) -> u64 {
        match self.below(6) {
            0 => 1 + self.below(16),
            1 => 64,
            2 => 4096 - self.below(8),
            3 => (128 << self.below(3)) - 4 + self.below(9),
            4 => 1 + self.below(200),
            _ => 1 + self.below(4096),
        }
    }

    /// An address for so many bytes in [base, base + size): often aligned, often just below a page.
    pub fn address(&mut self, base: u64, size: u64, bytes: u64) -> u64 {
        let room = size - bytes + 1;
        let any = self.below(room);
        let offset = match self.below(4) {
            0 => any & !63,
            1 => any & !7,
            2 => (any | 0xFFF).wrapping_sub(self.below(16)),
            _ => any,
        };
        base + if offset < room { offset } else { any }
    }
}
