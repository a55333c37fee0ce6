//! Clock and reset of a block's parts, which nobody connects by hand.

use rust_hdl::prelude::*;
use rust_hdl_widgets::prelude::DFF;

/// A part of a block: a signal, a register, a constant, or a block of its own.
///
/// Before the kernel of a block that has a port `clk` runs, its registers get this clock and keep their values, and its
/// child blocks get clock and reset (`rst`) where both have the port. A kernel that assigns one of them itself has the last
/// word. After the kernel, `rst` clears the registers with `#[reset]`. The Verilog writer does the same
/// (`wires` in `module`), so simulation and text agree.
pub trait Wired {
    /// What is connected counts as driven for rust-hdl's checks.
    fn claim(&mut self, _clk: bool, _rst: bool) {}
    /// Takes clock and reset, if the block around has them.
    fn wire(&mut self, _clk: Option<Clock>, _rst: Option<bool>) {}
    /// The signals of a bus, and what each means.
    fn signals() -> &'static [(&'static str, &'static str)] {
        &[]
    }
    /// The register's next value is its first one.
    fn reset(&mut self) {}
}

impl<D: Direction, T: Synth> Wired for Signal<D, T> {}

impl<T: Synth> Wired for Constant<T> {}

impl<T: Synth> Wired for DFF<T> {
    fn claim(&mut self, clk: bool, _rst: bool) {
        if clk {
            self.clock.connect();
            self.d.connect();
        }
    }

    fn wire(&mut self, clk: Option<Clock>, _rst: Option<bool>) {
        if let Some(clk) = clk {
            self.clock.next = clk;
            self.d.next = self.q.val();
        }
    }

    fn reset(&mut self) {
        self.d.next = T::default();
    }
}

impl<W: Wired, const N: usize> Wired for [W; N] {
    fn signals() -> &'static [(&'static str, &'static str)] {
        W::signals()
    }

    fn claim(&mut self, clk: bool, rst: bool) {
        self.iter_mut().for_each(|part| part.claim(clk, rst));
    }

    fn wire(&mut self, clk: Option<Clock>, rst: Option<bool>) {
        self.iter_mut().for_each(|part| part.wire(clk, rst));
    }

    fn reset(&mut self) {
        self.iter_mut().for_each(Wired::reset);
    }
}
