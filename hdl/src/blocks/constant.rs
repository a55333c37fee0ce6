//! Constants that depend on a block's sizes.

use crate::prelude::*;

/// The constant 2^A as a word of W bits.
///
/// Kernels cannot compute with const generics; a field of this type gives them
/// the value as a named constant.
pub struct Pow2<const W: usize, const A: usize>(Constant<Bits<W>>);

impl<const W: usize, const A: usize> Pow2<W, A> {
    /// The value, for kernels.
    pub fn val(&self) -> Bits<W> {
        self.0.val()
    }
}

impl<const W: usize, const A: usize> Default for Pow2<W, A> {
    fn default() -> Self {
        Self(Constant::new((1u64 << A).into()))
    }
}

impl<const W: usize, const A: usize> Logic for Pow2<W, A> {
    fn update(&mut self) {}
}

impl<const W: usize, const A: usize> Block for Pow2<W, A> {
    fn connect_all(&mut self) {}

    fn update_all(&mut self) {}

    fn has_changed(&self) -> bool {
        false
    }

    fn accept(&self, name: &str, probe: &mut dyn Probe) {
        self.0.accept(name, probe);
    }
}

impl<const W: usize, const A: usize> Wired for Pow2<W, A> {}
