//! How values of two members become one.

use tributary_protocol::red::ops::{BINARY32, BINARY64, combine, flt_product, int_product};
use tributary_protocol::red::{Mode, Op, Rc, Value};

/// Codes of products in messages begin here: engines have 6 bits.
const PRODUCTS: u8 = 0x80;

/// What is multiplied; unsigned numbers as signed ones, whose products have the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Factor {
    F64,
    F32,
    I64,
    I32,
}

/// How values of two members become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// As engines of switches do, and hosts as well.
    Engines(Op),
    /// Which hosts alone do.
    Product(Factor),
}

impl Rule {
    /// Its number in messages.
    pub const fn code(self) -> u8 {
        match self {
            Self::Engines(op) => op.code(),
            Self::Product(factor) => PRODUCTS + factor as u8,
        }
    }

    /// What engines are told; nothing if they cannot.
    pub const fn engines(self) -> Option<Op> {
        match self {
            Self::Engines(op) => Some(op),
            Self::Product(_) => None,
        }
    }

    /// Combines values, the earlier one first.
    pub fn combine(self, acc: &Value, inc: &Value) -> Value {
        let factor = match self {
            Self::Engines(op) => return combine(op, Mode::default(), acc, inc),
            Self::Product(factor) => factor,
        };
        let mut rc = acc.rc.max(inc.rc);
        let data = std::array::from_fn(|at| {
            let (word, code) = multiply(factor, acc.data[at], inc.data[at]);
            rc = rc.max(code);
            word
        });
        Value {
            data,
            rc,
            ..Value::default()
        }
    }
}

/// A word of factors: one, or two of 32 bits.
fn multiply(factor: Factor, a: u64, b: u64) -> (u64, Rc) {
    let halves = |f: &dyn Fn(u64, u64) -> (u64, Rc)| {
        let low = u64::from(u32::MAX);
        let ((high, first), (low, second)) = (f(a >> 32, b >> 32), f(a & low, b & low));
        (high << 32 | low, first.max(second))
    };
    let real = |format| {
        move |a, b| {
            let (bits, flags) = flt_product(format, a, b);
            (bits, flags.rc())
        }
    };
    match factor {
        Factor::F64 => real(BINARY64)(a, b),
        Factor::F32 => halves(&real(BINARY32)),
        Factor::I64 => int_product(64, a, b),
        Factor::I32 => halves(&|a, b| int_product(32, a, b)),
    }
}
