//! Two containers that rust-hdl lacks: constants that come from const
//! generics, and banks of equal parts whose number is a const generic. Both
//! have a `Default`, so a block's struct can derive its own.

use rust_hdl::ast::VerilogLiteral;
use rust_hdl::atom::{Atom, AtomKind};
use rust_hdl::constraint::PinConstraint;
use rust_hdl::prelude::*;
use rust_hdl::synth::VCDValue;
use rust_hdl::type_descriptor::TypeDescriptor;
use std::ops::{Index, IndexMut};
use tributary_verilog::Wired;

/// The constant `V` as an `N`-bit vector; a `localparam` in Verilog.
#[derive(Clone, Copy, Debug, Default)]
pub struct Param<const V: usize, const N: usize>;

impl<const V: usize, const N: usize> Param<V, N> {
    /// The constant's value; usable in kernels.
    pub fn val(&self) -> Bits<N> {
        bits(V as u64)
    }
}

impl<const V: usize, const N: usize> Logic for Param<V, N> {
    fn update(&mut self) {}
}

impl<const V: usize, const N: usize> Wired for Param<V, N> {}

impl<const V: usize, const N: usize> Atom for Param<V, N> {
    fn bits(&self) -> usize {
        N
    }
    fn connected(&self) -> bool {
        true
    }
    fn changed(&self) -> bool {
        false
    }
    fn kind(&self) -> AtomKind {
        AtomKind::Constant
    }
    fn descriptor(&self) -> TypeDescriptor {
        Bits::<N>::descriptor()
    }
    fn vcd(&self) -> VCDValue {
        self.val().into()
    }
    fn id(&self) -> usize {
        0
    }
    fn verilog(&self) -> VerilogLiteral {
        self.val().into()
    }
    fn constraints(&self) -> Vec<PinConstraint> {
        vec![]
    }
}

impl<const V: usize, const N: usize> Block for Param<V, N> {
    fn connect_all(&mut self) {}
    fn update_all(&mut self) {}
    fn has_changed(&self) -> bool {
        false
    }
    fn accept(&self, name: &str, probe: &mut dyn probe::Probe) {
        probe.visit_atom(name, self);
    }
}

/// `N` signals, registers or blocks of one kind, indexed in kernels as
/// `self.bank[i]`.
#[derive(Clone, Debug)]
pub struct Bank<T, const N: usize>(Vec<T>);

impl<T: Default, const N: usize> Default for Bank<T, N> {
    fn default() -> Self {
        Self((0..N).map(|_| T::default()).collect())
    }
}

impl<T, const N: usize> Index<usize> for Bank<T, N> {
    type Output = T;
    fn index(&self, i: usize) -> &T {
        &self.0[i]
    }
}

impl<T, const N: usize> IndexMut<usize> for Bank<T, N> {
    fn index_mut(&mut self, i: usize) -> &mut T {
        &mut self.0[i]
    }
}

impl<T, const N: usize> Logic for Bank<T, N> {
    fn update(&mut self) {}
}

impl<T: Block, const N: usize> Block for Bank<T, N> {
    fn connect_all(&mut self) {
        self.0.connect_all();
    }
    fn update_all(&mut self) {
        self.0.update_all();
    }
    fn has_changed(&self) -> bool {
        self.0.has_changed()
    }
    fn accept(&self, name: &str, probe: &mut dyn probe::Probe) {
        self.0.accept(name, probe);
    }
}

impl<W: Wired, const N: usize> Wired for Bank<W, N> {
    fn signals() -> &'static [(&'static str, &'static str)] {
        W::signals()
    }
    fn claim(&mut self, clk: bool, rst: bool) {
        self.0.iter_mut().for_each(|part| part.claim(clk, rst));
    }
    fn wire(&mut self, clk: Option<Clock>, rst: Option<bool>) {
        self.0.iter_mut().for_each(|part| part.wire(clk, rst));
    }
    fn reset(&mut self) {
        self.0.iter_mut().for_each(Wired::reset);
    }
}
