//! One word of several, by a one-hot select.

use crate::prelude::*;

hdl_module! {
    /// Combinational: the word whose bit of sel is set, as an and-or tree.
    /// sel has exactly one bit set.
    pub struct OnehotSelect<const N: usize, const D: usize> {
        /// Words.
        pub d: Bank<Signal<In, Bits<D>>, N>,
        /// One-hot select.
        pub sel: Signal<In, Bits<N>>,
        /// The selected word.
        pub q: Signal<Out, Bits<D>>,
        gated: Bank<Signal<Local, Bits<D>>, N>,
        any: Bank<Signal<Local, Bits<D>>, N>,
    }
}

impl<const N: usize, const D: usize> Logic for OnehotSelect<N, D> {
    #[hdl_gen]
    fn update(&mut self) {
        for i in 0..N {
            self.gated[i].next = 0.into();
            if self.sel.val().get_bit(i) {
                self.gated[i].next = self.d[i].val();
            }
        }
        self.any[0].next = self.gated[0].val();
        for i in 1..N {
            self.any[i].next = self.any[i - 1].val() | self.gated[i].val();
        }
        for i in (N - 1)..N {
            self.q.next = self.any[i].val();
        }
    }

    fn timing(&self) -> Vec<TimingInfo> {
        Self::module_info(format!("onehot_select_n{N}_w{D}")).into_timing()
    }
}
