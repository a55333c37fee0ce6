//! Kernels in parts give the Verilog of the whole, and behave like it.
#![allow(missing_docs)]

mod emit_support;

use emit_support::cosim::assert_same_quickly;
use emit_support::word;
use rand::RngExt;
use tributary_hdl::emit::emit_block;
use tributary_hdl::prelude::*;

hdl_record! {
    /// Two halves.
    struct Halves {
        /// Lower half.
        low: Bits<4>,
        /// Upper half.
        high: Bits<4>,
    }
}

hdl_module! {
    /// Adds one.
    #[module("test_parts_add")]
    pub struct AddOne {
        /// Word.
        pub s: Signal<In, Bits<4>>,
        /// One more.
        pub m: Signal<Out, Bits<4>>,
    }
}

impl Logic for AddOne {
    #[hdl_gen]
    fn update(&mut self) {
        self.m.next = self.s.val() + 1;
    }
}

hdl_module! {
    /// Keeps words.
    #[module("test_parts_w{N}")]
    pub struct Whole<const N: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// What to do.
        pub op: Signal<In, Bits<2>>,
        /// Word.
        pub s: Signal<In, Bits<4>>,
        /// Kept words.
        pub m: Signal<Out, Bits<8>>,
        /// One more than the word.
        pub more: Signal<Out, Bits<4>>,
        /// A word of N bits.
        pub wide: Signal<Out, Bits<N>>,
        add: AddOne,
        #[reset] halves: DFF<Halves>,
        copies: [DFF<Bits<4>>; 2],
        doubled: Signal<Local, Bits<4>>,
    }
}

// The same but for its kernel.
hdl_module! {
    /// Keeps words.
    #[module("test_parts_w{N}")]
    pub struct Cut<const N: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// What to do.
        pub op: Signal<In, Bits<2>>,
        /// Word.
        pub s: Signal<In, Bits<4>>,
        /// Kept words.
        pub m: Signal<Out, Bits<8>>,
        /// One more than the word.
        pub more: Signal<Out, Bits<4>>,
        /// A word of N bits.
        pub wide: Signal<Out, Bits<N>>,
        add: AddOne,
        #[reset] halves: DFF<Halves>,
        copies: [DFF<Bits<4>>; 2],
        doubled: Signal<Local, Bits<4>>,
    }
}

impl<const N: usize> Logic for Whole<N> {
    #[hdl_gen]
    fn update(&mut self) {
        // The word, doubled.
        self.doubled.next = self.s.val() << 1;
        Signal::<In, Bits<4>>::link(&mut self.s, &mut self.add.s);
        Signal::<Out, Bits<4>>::link(&mut self.more, &mut self.add.m);
        self.wide.next = bit_cast::<N, 4>(self.copies[1].q.val());
        for i in 0..2 {
            // Each copy.
            self.copies[i].d.next = self.doubled.val();
        }
        match self.op.val().index() {
            1 => {
                // Both halves.
                self.halves.d.next = Halves {
                    low: self.s.val(),
                    high: self.doubled.val(),
                };
            }
            2 => {
                self.halves.d.next.low = self.doubled.val();
            }
            _ => {}
        }
        if self.op.val() == 3 {
            // Only one.
            self.halves.d.next.high = self.copies[0].q.val();
        }
        self.m.next = self.halves.q.val().to_bits();
    }
}

impl<const N: usize> Logic for Cut<N> {
    #[hdl_gen]
    fn update(&mut self) {
        self.double();
        for i in 0..2 {
            // Each copy.
            self.copies[i].d.next = self.doubled.val();
        }
        match self.op.val().index() {
            1 => self.both(),
            2 => {
                self.halves.d.next.low = self.doubled.val();
            }
            _ => {}
        }
        if self.op.val() == 3 {
            self.one();
        }
        self.m.next = self.halves.q.val().to_bits();
    }
}

mod elsewhere {
    use super::{Cut, Halves};
    use tributary_hdl::prelude::*;

    impl<const N: usize> Cut<N> {
        /// A part that has a part.
        #[hdl_part]
        pub(super) fn double(&mut self) {
            // The word, doubled.
            self.doubled.next = self.s.val() << 1;
            self.connect_add();
            self.wide.next = bit_cast::<N, 4>(self.copies[1].q.val());
        }

        #[hdl_part]
        fn connect_add(&mut self) {
            Signal::<In, Bits<4>>::link(&mut self.s, &mut self.add.s);
            Signal::<Out, Bits<4>>::link(&mut self.more, &mut self.add.m);
        }

        #[hdl_part]
        pub(super) fn both(&mut self) {
            // Both halves.
            self.halves.d.next = Halves {
                low: self.s.val(),
                high: self.doubled.val(),
            };
        }

        #[hdl_part]
        pub(super) fn one(&mut self) {
            // Only one.
            self.halves.d.next.high = self.copies[0].q.val();
        }
    }
}

#[test]
fn a_kernel_in_parts_is_the_same_verilog_as_the_whole() {
    let whole = emit_block(&mut Whole::<6>::default()).unwrap();
    let cut = emit_block(&mut Cut::<6>::default()).unwrap();
    assert_eq!(whole.to_text(), cut.to_text());
    let module = cut.modules.last().unwrap();
    assert!(module.lost.is_empty(), "{:?}", module.lost);
    for comment in [
        "The word, doubled.",
        "Each copy.",
        "Both halves.",
        "Only one.",
    ] {
        assert_eq!(module.text.matches(comment).count(), 1, "{comment}");
    }
}

#[test]
fn a_kernel_in_parts_runs_as_in_rust() {
    assert_same_quickly(
        "parts",
        Cut::<6>::default(),
        500,
        |b, rng| {
            b.rst.next = rng.random_range(0..9) == 0;
            b.op.next = word(rng);
            b.s.next = word(rng);
        },
        |b, level| b.clk.next = level.into(),
    );
}
