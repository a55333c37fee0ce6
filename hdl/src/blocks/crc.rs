//! The CRC-32 of Ethernet as linear maps over its state, for words instead of bits.

use crate::prelude::*;

/// Generator polynomial, least significant bit first.
const POLYNOMIAL: u32 = 0xEDB8_8320;

/// The state after `bits` more bits of zero.
pub(crate) const fn advance(state: u32, bits: usize) -> u32 {
    let (mut state, mut done) = (state, 0);
    while done < bits {
        state = state >> 1 ^ if state & 1 == 1 { POLYNOMIAL } else { 0 };
        done += 1;
    }
    state
}

/// The state before the last `bits` bits, if those were zero.
pub(crate) const fn retreat(state: u32, bits: usize) -> u32 {
    let (mut state, mut done) = (state, 0);
    while done < bits {
        // The polynomial's top bit is set, so the top bit says what was shifted out.
        let out = state >> 31;
        state = (state ^ if out == 1 { POLYNOMIAL } else { 0 }) << 1 | out;
        done += 1;
    }
    state
}

/// The state after `bytes`.
pub(crate) const fn over(state: u32, bytes: &[u8]) -> u32 {
    let (mut state, mut at) = (state, 0);
    while at < bytes.len() {
        state = advance(state ^ bytes[at] as u32, 8);
        at += 1;
    }
    state
}

/// Verilog of a linear map: each bit of `m` as the parity of some bits of `s`.
fn parities(map: impl Fn(u32) -> u32) -> String {
    let rows = (0..32).map(|row| {
        let mask = (0..32)
            .filter(|bit| map(1 << bit) >> row & 1 == 1)
            .fold(0u32, |mask, bit| mask | 1 << bit);
        format!("assign m[{row}] = ^(s & 32'h{mask:08x});")
    });
    rows.collect::<Vec<_>>().join("\n")
}

hdl_module! {
    /// State of a CRC-32 after N bits of zero. Combinational: a tree of exclusive ors for each bit.
    #[module("crc32_advance_{N}")]
    pub struct CrcAdvance<const N: usize> {
        /// State.
        pub s: Signal<In, Bits<32>>,
        /// State after N bits of zero.
        pub m: Signal<Out, Bits<32>>,
    }
}

impl<const N: usize> Logic for CrcAdvance<N> {
    fn update(&mut self) {
        self.m.next = u64::from(advance(self.s.val().to_u64() as u32, N)).into();
    }

    fn connect(&mut self) {
        self.m.connect();
    }

    fn hdl(&self) -> Verilog {
        Verilog::Custom(parities(|state| advance(state, N)))
    }

    fn timing(&self) -> Vec<TimingInfo> {
        Self::module_info().into_timing()
    }
}

hdl_module! {
    /// State of a CRC-32 before N bits of zero. Combinational: a tree of exclusive ors for each
    /// bit.
    #[module("crc32_retreat_{N}")]
    pub struct CrcRetreat<const N: usize> {
        /// State.
        pub s: Signal<In, Bits<32>>,
        /// State before the N bits of zero.
        pub m: Signal<Out, Bits<32>>,
    }
}

impl<const N: usize> Logic for CrcRetreat<N> {
    fn update(&mut self) {
        self.m.next = u64::from(retreat(self.s.val().to_u64() as u32, N)).into();
    }

    fn connect(&mut self) {
        self.m.connect();
    }

    fn hdl(&self) -> Verilog {
        Verilog::Custom(parities(|state| retreat(state, N)))
    }

    fn timing(&self) -> Vec<TimingInfo> {
        Self::module_info().into_timing()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crc_of_the_check_string_and_way_back() {
        assert_eq!(!over(!0, b"123456789"), 0xCBF4_3926);
        assert_eq!(retreat(advance(0x1234_5678, 80), 80), 0x1234_5678);
    }
}
