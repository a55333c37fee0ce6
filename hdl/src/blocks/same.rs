//! Two words compared, in parts.

use crate::prelude::*;

hdl_module! {
    /// Compares two words of 64 bits in P parts, so that a register can stand between the comparison and its sum. Combinational.
    #[module("same_parts_p{P}")]
    pub struct SameParts<const P: usize> {
        /// A word.
        pub a: Signal<In, Bits<64>>,
        /// Another one.
        pub b: Signal<In, Bits<64>>,
        /// A bit per part, the lowest one first: they are the same there.
        pub m: Signal<Out, Bits<P>>,
    }
}

impl<const P: usize> Logic for SameParts<P> {
    fn update(&mut self) {
        const { assert!(P > 1 && 64usize.is_multiple_of(P)) };
        let differs = self.a.val() ^ self.b.val();
        let mut m = Bits::<P>::default();
        for part in 0..P {
            let bits = 64 / P;
            let same = (0..bits).all(|bit| !differs.get_bit(part * bits + bit));
            m = m.replace_bit(part, same);
        }
        self.m.next = m;
    }

    fn connect(&mut self) {
        self.m.connect();
    }

    fn hdl(&self) -> Verilog {
        let bits = 64 / P;
        let parts = (0..P).map(|part| {
            let (low, high) = (part * bits, part * bits + bits - 1);
            format!("assign m[{part}] = a[{high}:{low}] == b[{high}:{low}];")
        });
        Verilog::Custom(parts.collect::<Vec<_>>().join("\n"))
    }

    fn timing(&self) -> Vec<TimingInfo> {
        Self::module_info().into_timing()
    }
}
