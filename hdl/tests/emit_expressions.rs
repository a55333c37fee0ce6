//! Expressions whose meaning differs between Rust and a careless Verilog: their values in
//! the emitted text are compared with rust-hdl's own simulation on random vectors.

// Unparenthesised on purpose: that is what is tested.
#![allow(clippy::precedence)]

mod emit_support;

use emit_support::cosim::assert_same;
use emit_support::{signed_word, word};
use rand::RngExt;
use tributary_hdl::prelude::*;

hdl_module! {
    /// Operators whose precedence or width differs between Rust and Verilog.
    #[module("expr_precedence")]
    pub struct Precedence {
        /// First operand.
        pub a: Signal<In, Bits<8>>,
        /// Second operand.
        pub b: Signal<In, Bits<8>>,
        /// Third operand.
        pub c: Signal<In, Bits<8>>,
        /// Shift amount that reaches beyond the width.
        pub n: Signal<In, Bits<4>>,
        /// A flag.
        pub x: Signal<In, Bit>,
        /// Another flag.
        pub y: Signal<In, Bit>,
        /// `&` binds tighter than `==` in Rust.
        pub and_then_eq: Signal<Out, Bit>,
        /// `|` too.
        pub or_lt: Signal<Out, Bit>,
        /// `+` binds tighter than `<<`.
        pub shl_add: Signal<Out, Bits<8>>,
        /// Complement before and.
        pub not_and: Signal<Out, Bits<8>>,
        /// Left associative.
        pub sub_left: Signal<Out, Bits<8>>,
        /// Not associative.
        pub sub_right: Signal<Out, Bits<8>>,
        /// Mixed bit operators.
        pub mixed: Signal<Out, Bits<8>>,
        /// Mixed flags.
        pub flags: Signal<Out, Bit>,
        /// Carry is lost, then extended.
        pub sum_9: Signal<Out, Bits<9>>,
        /// Carry is kept.
        pub carry_9: Signal<Out, Bits<9>>,
        /// Carry alone.
        pub carry: Signal<Out, Bit>,
        /// Compared after wrapping.
        pub wrapped: Signal<Out, Bit>,
        /// Difference wraps before it is compared.
        pub window: Signal<Out, Bit>,
        /// Average with the carry dropped.
        pub average: Signal<Out, Bits<8>>,
        /// Shifts left by up to 15.
        pub shl_n: Signal<Out, Bits<8>>,
        /// Shifts right by up to 15.
        pub shr_n: Signal<Out, Bits<8>>,
        /// Shift by the width.
        pub shl_8: Signal<Out, Bits<8>>,
        /// Shift right by a constant.
        pub shr_3: Signal<Out, Bits<8>>,
        /// A shifted literal has 64 bits.
        pub one_hot: Signal<Out, Bits<64>>,
        /// A shift amount that wraps must wrap before it shifts.
        pub shift_sum: Signal<Out, Bits<8>>,
        /// Flag added to a word.
        pub plus_flag: Signal<Out, Bits<8>>,
        /// Complement of a sum, truncated.
        pub low_nibble: Signal<Out, Bits<4>>,
        /// Slice of a sum.
        pub high_nibble: Signal<Out, Bits<4>>,
        /// Slice of a difference.
        pub middle: Signal<Out, Bits<3>>,
        /// Casts inside casts.
        pub nested: Signal<Out, Bits<12>>,
        /// Reductions.
        pub reduced: Signal<Out, Bit>,
        /// Reduction of a sum.
        pub any_sum: Signal<Out, Bit>,
        /// Slice beyond the end.
        pub beyond: Signal<Out, Bits<8>>
    }
}

impl Logic for Precedence {
    #[hdl_gen]
    fn update(&mut self) {
        self.and_then_eq.next = self.a.val() & self.b.val() == self.c.val();
        self.or_lt.next = self.a.val() | self.b.val() < self.c.val() ^ self.b.val();
        self.shl_add.next = self.a.val() << self.n.val() + 1;
        self.not_and.next = !self.a.val() & self.b.val();
        self.sub_left.next = self.a.val() - self.b.val() - self.c.val();
        self.sub_right.next = self.a.val() - (self.b.val() - self.c.val());
        self.mixed.next = self.a.val() | self.b.val() & self.c.val() ^ self.a.val() + self.b.val();
        self.flags.next = self.x.val() | self.y.val() & !self.x.val()
            || self.a.val() > self.b.val() && !self.y.val() ^ self.x.val();
        self.sum_9.next = bit_cast::<9, 8>(self.a.val() + self.b.val());
        self.carry_9.next = bit_cast::<9, 8>(self.a.val()) + bit_cast::<9, 8>(self.b.val());
        self.carry.next =
            (bit_cast::<9, 8>(self.a.val()) + bit_cast::<9, 8>(self.b.val())).get_bit(8);
        self.wrapped.next = self.a.val() + self.b.val() > self.c.val();
        self.window.next = self.a.val() - self.b.val() < 16;
        self.average.next = (self.a.val() + self.b.val()) >> 1;
        self.shl_n.next = self.a.val() << self.n.val();
        self.shr_n.next = self.a.val() >> self.n.val();
        self.shl_8.next = self.b.val() << 8;
        self.shr_3.next = self.b.val() >> 3;
        self.one_hot.next = 1 << self.b.val();
        self.shift_sum.next = self.a.val() >> (self.n.val() + 9);
        self.plus_flag.next = self.a.val() + self.x.val();
        self.low_nibble.next = bit_cast::<4, 8>(!(self.a.val() + self.b.val()));
        self.high_nibble.next = (self.a.val() + self.b.val()).get_bits::<4>(4);
        self.middle.next = (self.a.val() - self.c.val()).get_bits::<3>(2);
        self.nested.next = bit_cast::<12, 6>(bit_cast::<6, 10>(
            bit_cast::<10, 8>(self.a.val()) + bit_cast::<10, 8>(self.b.val()),
        )) - 1;
        self.reduced.next = self.a.val().any() & self.b.val().all() | self.c.val().xor();
        self.any_sum.next = !(self.a.val() + self.b.val()).any();
        self.beyond.next = self.a.val().get_bits::<8>(5);
    }
}

#[test]
fn precedence_carries_shifts_slices_and_casts_mean_what_rust_says() {
    assert_same(
        "precedence",
        Precedence::default(),
        3000,
        |b, rng| {
            b.a.next = word(rng);
            b.b.next = word(rng);
            b.c.next = if rng.random_range(0..4) == 0 {
                b.a.next & b.b.next
            } else {
                word(rng)
            };
            b.n.next = word(rng);
            b.x.next = rng.random();
            b.y.next = rng.random();
        },
        |_, _| {},
    );
}

hdl_module! {
    /// Signed arithmetic and comparisons.
    #[module("expr_signed")]
    pub struct SignedMath {
        /// First operand.
        pub a: Signal<In, Signed<8>>,
        /// Second operand.
        pub b: Signal<In, Signed<8>>,
        /// Bits taken as a number with a sign.
        pub u: Signal<In, Bits<8>>,
        /// Factor.
        pub f: Signal<In, Signed<16>>,
        /// Factor.
        pub g: Signal<In, Signed<16>>,
        /// Unsigned factor.
        pub p: Signal<In, Bits<16>>,
        /// Unsigned factor.
        pub q: Signal<In, Bits<16>>,
        /// Signed less.
        pub lt: Signal<Out, Bit>,
        /// Signed against a negative literal.
        pub below: Signal<Out, Bit>,
        /// The least literal.
        pub above_min: Signal<Out, Bit>,
        /// Sum wraps, then compares.
        pub sum_lt: Signal<Out, Bit>,
        /// Equal.
        pub eq: Signal<Out, Bit>,
        /// Cast, then signed compare.
        pub cast_ge: Signal<Out, Bit>,
        /// Unsigned compare of signed numbers.
        pub unsigned_lt: Signal<Out, Bit>,
        /// Negation.
        pub neg: Signal<Out, Signed<8>>,
        /// Difference of a negation.
        pub diff: Signal<Out, Signed<8>>,
        /// Sign extended.
        pub wide: Signal<Out, Signed<12>>,
        /// Sum, then sign extended.
        pub wide_sum: Signal<Out, Signed<12>>,
        /// Truncated.
        pub narrow: Signal<Out, Signed<4>>,
        /// Signed product.
        pub product: Signal<Out, Signed<32>>,
        /// Unsigned product.
        pub product_u: Signal<Out, Bits<32>>,
        /// Constant.
        pub minus_five: Signal<Out, Signed<8>>
    }
}

impl Logic for SignedMath {
    #[hdl_gen]
    fn update(&mut self) {
        self.lt.next = self.a.val() < self.b.val();
        self.below.next = self.a.val() < (-5).into();
        self.above_min.next = self.a.val() > (-128).into();
        self.sum_lt.next = self.a.val() + self.b.val() <= self.b.val();
        self.eq.next = self.a.val() == self.b.val();
        self.cast_ge.next = signed_cast(self.u.val()) >= self.b.val();
        self.unsigned_lt.next = unsigned_cast(self.a.val()) < unsigned_cast(self.b.val());
        self.neg.next = -self.a.val();
        self.diff.next = self.a.val() - -self.b.val();
        self.wide.next = signed_bit_cast::<12, 8>(self.a.val());
        self.wide_sum.next = signed_bit_cast::<12, 8>(self.a.val() + self.b.val());
        self.narrow.next = signed_bit_cast::<4, 8>(self.a.val());
        self.product.next = self.f.val() * self.g.val();
        self.product_u.next = self.p.val() * self.q.val();
        self.minus_five.next = (-5).into();
    }
}

#[test]
fn signed_compares_sums_negations_and_products_mean_what_rust_says() {
    // rust-hdl's own cast of the least number never returns, so it is left out.
    let avoid_min = |v: Signed<8>| if v == signed(-128) { signed(-127) } else { v };
    assert_same(
        "signed",
        SignedMath::default(),
        3000,
        |b, rng| {
            b.a.next = avoid_min(signed_word(rng));
            b.b.next = avoid_min(signed_word(rng));
            if b.a.next + b.b.next == signed(-128) {
                b.b.next = signed(0);
            }
            b.u.next = word(rng);
            b.f.next = signed_word(rng);
            b.g.next = signed_word(rng);
            b.p.next = word::<15>(rng).index().to_bits();
            b.q.next = word(rng);
        },
        |_, _| {},
    );
}

hdl_module! {
    /// Wide and narrow vectors, indexes, replaced bits.
    #[module("expr_vectors")]
    pub struct Vectors {
        /// 130 bits.
        pub wide: Signal<In, Bits<130>>,
        /// 130 more.
        pub wide2: Signal<In, Bits<130>>,
        /// 70 bits.
        pub w70: Signal<In, Bits<70>>,
        /// One bit as a vector.
        pub v1: Signal<In, Bits<1>>,
        /// Another.
        pub u1: Signal<In, Bits<1>>,
        /// Index into `wide`, at most 129.
        pub at: Signal<In, Bits<8>>,
        /// Index into `octet`.
        pub at3: Signal<In, Bits<3>>,
        /// A wider index than `octet` needs.
        pub at6: Signal<In, Bits<6>>,
        /// A byte.
        pub octet: Signal<In, Bits<8>>,
        /// A flag.
        pub flag: Signal<In, Bit>,
        /// Carry across words.
        pub sum: Signal<Out, Bits<130>>,
        /// Difference across words.
        pub diff: Signal<Out, Bits<130>>,
        /// Variable shift of a wide word.
        pub shifted: Signal<Out, Bits<130>>,
        /// Compare across words.
        pub less: Signal<Out, Bit>,
        /// A literal above 32 bits.
        pub masked: Signal<Out, Bits<70>>,
        /// Slice across words.
        pub middle: Signal<Out, Bits<70>>,
        /// Run-time index.
        pub bit_at: Signal<Out, Bit>,
        /// Index of a sum.
        pub sum_bit: Signal<Out, Bit>,
        /// Narrow index.
        pub byte_bit: Signal<Out, Bit>,
        /// Slice from a run-time offset, zero beyond the end.
        pub slice_at: Signal<Out, Bits<12>>,
        /// Slice that cannot leave the word.
        pub nibble_at: Signal<Out, Bits<8>>,
        /// Bit replaced at run time.
        pub replaced: Signal<Out, Bits<130>>,
        /// Bit set at run time.
        pub set: Signal<Out, Bits<8>>,
        /// Bit cleared at run time.
        pub cleared: Signal<Out, Bits<8>>,
        /// Constant position.
        pub replaced_3: Signal<Out, Bits<8>>,
        /// Top bit.
        pub replaced_7: Signal<Out, Bits<8>>,
        /// One-bit vector arithmetic.
        pub one_sum: Signal<Out, Bits<1>>,
        /// One-bit comparison.
        pub one_lt: Signal<Out, Bit>,
        /// One bit as a flag.
        pub one_flag: Signal<Out, Bit>,
        /// One bit widened.
        pub one_wide: Signal<Out, Bits<5>>,
        /// One-bit index.
        pub one_index: Signal<Out, Bit>,
        /// Parity of many bits.
        pub parity: Signal<Out, Bit>
    }
}

impl Logic for Vectors {
    #[hdl_gen]
    fn update(&mut self) {
        self.sum.next = self.wide.val() + self.wide2.val() + 1;
        self.diff.next = self.wide.val() - self.wide2.val();
        self.shifted.next = self.wide.val() << self.at.val() | self.wide2.val() >> self.at.val();
        self.less.next = self.wide.val() < self.wide2.val();
        self.masked.next = self.w70.val() & 0xFFFF_FFFF_0000_1234_u64;
        self.middle.next = self.wide.val().get_bits::<70>(31);
        self.bit_at.next = self.wide.val().get_bit(self.at.val().index());
        self.sum_bit.next = (self.wide.val() + self.wide2.val()).get_bit(self.at.val().index());
        self.byte_bit.next = self.octet.val().get_bit(self.at3.val().index());
        self.slice_at.next = self.wide.val().get_bits::<12>(self.at.val().index());
        self.nibble_at.next =
            bit_cast::<8, 7>(self.w70.val().get_bits::<7>(self.at6.val().index()));
        self.replaced.next = self
            .wide
            .val()
            .replace_bit(self.at.val().index(), self.flag.val());
        self.set.next = self.octet.val().replace_bit(self.at3.val().index(), true);
        self.cleared.next = self.octet.val().replace_bit(self.at3.val().index(), false);
        self.replaced_3.next = self.octet.val().replace_bit(3, self.flag.val());
        self.replaced_7.next = self.octet.val().replace_bit(7, self.flag.val());
        self.one_sum.next = self.v1.val() + self.u1.val() + 1;
        self.one_lt.next = self.v1.val() < self.u1.val();
        self.one_flag.next = self.v1.val().into();
        self.one_wide.next = bit_cast::<5, 1>(self.v1.val());
        self.one_index.next = self.v1.val().get_bit(0);
        self.parity.next = self.wide.val().xor();
    }
}

#[test]
fn wide_and_one_bit_vectors_indexes_and_replaced_bits_mean_what_rust_says() {
    assert_same(
        "vectors",
        Vectors::default(),
        2000,
        |b, rng| {
            b.wide.next = word(rng);
            b.wide2.next = word(rng);
            b.w70.next = word(rng);
            b.v1.next = word(rng);
            b.u1.next = word(rng);
            b.at.next = rng.random_range(0..130u64).into();
            b.at3.next = word(rng);
            b.at6.next = word(rng);
            b.octet.next = word(rng);
            b.flag.next = rng.random();
        },
        |_, _| {},
    );
}
