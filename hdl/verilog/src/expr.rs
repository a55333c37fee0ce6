//! Typed expressions: every node knows its width, and its Verilog text has
//! exactly that self-determined width, so that no context can extend it.

use num_bigint::{BigInt, BigUint, Sign};

use super::error::{Fallible, Reason};

/// Index of a signal in its module.
pub(super) type SigId = usize;
/// Index of a named constant in its module.
pub(super) type ParamId = usize;

/// Operators whose operands and result share one width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Add,
    Sub,
    Mul,
    And,
    Or,
    Xor,
}

/// Comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cmp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// Reductions to one bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reduce {
    All,
    Any,
    Xor,
}

/// An expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Expr {
    /// A whole signal and its width.
    Sig(SigId, usize),
    /// A sized literal.
    Lit(BigUint, usize),
    /// A localparam, with its value and width.
    Param(ParamId, BigUint, usize),
    Not(Box<Expr>),
    Neg(Box<Expr>),
    Reduce(Reduce, Box<Expr>),
    Bin(Op, Box<Expr>, Box<Expr>),
    /// `<<` if the flag is set, else `>>`; the amount has a width of its own.
    Shift(bool, Box<Expr>, Box<Expr>),
    /// Comparison of equal widths, signed if the flag is set.
    Cmp(Cmp, bool, Box<Expr>, Box<Expr>),
    /// `&&` if the flag is set, else `||`.
    Logic(bool, Box<Expr>, Box<Expr>),
    /// Constant part of a signal: signal, lowest bit, width.
    Slice(SigId, usize, usize),
    /// One bit of a signal at a run-time index of exactly the right width.
    Bit(SigId, Box<Expr>),
    /// Part of a signal from a run-time offset that cannot leave it.
    Part(SigId, Box<Expr>, usize),
    /// Most significant part first.
    Concat(Vec<Expr>),
    /// A single bit, repeated.
    Repeat(usize, Box<Expr>),
    /// `c ? a : b`.
    Mux(Box<Expr>, Box<Expr>, Box<Expr>),
}

/// Where an expression that only a signal can express (a slice of a sum) gets its helper signal.
pub(super) trait Helpers {
    /// A signal that carries `e`; `role` says what it is (`sum`, `shifted`).
    fn helper(&mut self, e: Expr, role: &str) -> Fallible<SigId>;
}

/// Bits needed to count to `n` exclusive.
pub(super) fn clog2(n: usize) -> usize {
    n.next_power_of_two().trailing_zeros() as usize
}

/// All ones.
pub(super) fn mask(width: usize) -> BigUint {
    (BigUint::from(1u8) << width) - BigUint::from(1u8)
}

impl Expr {
    /// Width in bits.
    pub(super) fn width(&self) -> usize {
        match self {
            Expr::Sig(_, w) | Expr::Lit(_, w) | Expr::Param(_, _, w) => *w,
            Expr::Not(e) | Expr::Neg(e) | Expr::Bin(_, e, _) | Expr::Shift(_, e, _) => e.width(),
            Expr::Reduce(..) | Expr::Cmp(..) | Expr::Logic(..) | Expr::Bit(..) => 1,
            Expr::Slice(_, _, w) | Expr::Part(_, _, w) => *w,
            Expr::Concat(parts) => parts.iter().map(Expr::width).sum(),
            Expr::Repeat(n, _) => *n,
            Expr::Mux(_, a, _) => a.width(),
        }
    }

    /// A literal of `width` bits, two's complement if negative.
    pub(super) fn literal(value: &BigInt, width: usize) -> Fallible<Expr> {
        let magnitude = value.magnitude().clone();
        if magnitude.bits() > width as u64 {
            return Err(Reason::LiteralTooWide {
                value: value.to_string(),
                width,
            });
        }
        let bits = if value.sign() == Sign::Minus {
            ((BigUint::from(1u8) << width) - magnitude) & mask(width)
        } else {
            magnitude
        };
        Ok(Expr::Lit(bits, width))
    }

    /// A literal of just the bits that `n` needs.
    pub(super) fn count(n: usize) -> Expr {
        Expr::Lit(BigUint::from(n), clog2(n + 1).max(1))
    }

    /// Value, if it is a constant.
    pub(super) fn value(&self) -> Option<&BigUint> {
        match self {
            Expr::Lit(v, _) | Expr::Param(_, v, _) => Some(v),
            _ => None,
        }
    }

    /// True for what may stand in a port connection: names, parts of names and constants.
    pub(super) fn is_simple(&self) -> bool {
        match self {
            Expr::Sig(..) | Expr::Lit(..) | Expr::Param(..) | Expr::Slice(..) => true,
            Expr::Concat(parts) => parts.iter().all(Expr::is_simple),
            Expr::Repeat(_, e) => e.is_simple(),
            _ => false,
        }
    }

    /// Calls `f(signal, lowest bit, width)` for everything that is read; width 0 means all of it.
    pub(super) fn reads(&self, f: &mut dyn FnMut(SigId, usize, usize)) {
        match self {
            Expr::Sig(s, w) => f(*s, 0, *w),
            Expr::Lit(..) | Expr::Param(..) => {}
            Expr::Slice(s, lo, w) => f(*s, *lo, *w),
            Expr::Not(e) | Expr::Neg(e) | Expr::Reduce(_, e) | Expr::Repeat(_, e) => e.reads(f),
            Expr::Bin(_, l, r)
            | Expr::Shift(_, l, r)
            | Expr::Cmp(_, _, l, r)
            | Expr::Logic(_, l, r) => {
                l.reads(f);
                r.reads(f);
            }
            Expr::Bit(s, i) | Expr::Part(s, i, _) => {
                f(*s, 0, 0);
                i.reads(f);
            }
            Expr::Concat(parts) => parts.iter().for_each(|p| p.reads(f)),
            Expr::Mux(c, a, b) => [c, a, b].iter().for_each(|e| e.reads(f)),
        }
    }

    /// Calls `f` for every signal of which a bit or a part is read at a run-time index.
    pub(super) fn indexed(&self, f: &mut dyn FnMut(SigId)) {
        match self {
            Expr::Sig(..) | Expr::Lit(..) | Expr::Param(..) | Expr::Slice(..) => {}
            Expr::Bit(s, at) | Expr::Part(s, at, _) => {
                f(*s);
                at.indexed(f);
            }
            Expr::Not(e) | Expr::Neg(e) | Expr::Reduce(_, e) | Expr::Repeat(_, e) => e.indexed(f),
            Expr::Bin(_, l, r)
            | Expr::Shift(_, l, r)
            | Expr::Cmp(_, _, l, r)
            | Expr::Logic(_, l, r) => {
                l.indexed(f);
                r.indexed(f);
            }
            Expr::Concat(parts) => parts.iter().for_each(|p| p.indexed(f)),
            Expr::Mux(c, a, b) => [c, a, b].iter().for_each(|e| e.indexed(f)),
        }
    }

    /// Calls `f` for every named constant.
    pub(super) fn params(&self, f: &mut dyn FnMut(ParamId)) {
        match self {
            Expr::Param(p, ..) => f(*p),
            Expr::Sig(..) | Expr::Lit(..) | Expr::Slice(..) => {}
            Expr::Not(e) | Expr::Neg(e) | Expr::Reduce(_, e) | Expr::Repeat(_, e) => e.params(f),
            Expr::Bin(_, l, r)
            | Expr::Shift(_, l, r)
            | Expr::Cmp(_, _, l, r)
            | Expr::Logic(_, l, r) => {
                l.params(f);
                r.params(f);
            }
            Expr::Bit(_, i) | Expr::Part(_, i, _) => i.params(f),
            Expr::Concat(parts) => parts.iter().for_each(|p| p.params(f)),
            Expr::Mux(c, a, b) => [c, a, b].iter().for_each(|e| e.params(f)),
        }
    }

    /// What a helper signal for this expression should be called after its target.
    fn role(&self) -> &'static str {
        match self {
            Expr::Bin(Op::Add, ..) => "sum",
            Expr::Bin(Op::Sub, ..) | Expr::Neg(_) => "diff",
            Expr::Bin(Op::Mul, ..) => "product",
            Expr::Shift(..) => "shifted",
            Expr::Part(..) => "part",
            _ => "word",
        }
    }

    /// The signal itself, or a helper that carries the expression.
    pub(super) fn into_signal(self, h: &mut dyn Helpers) -> Fallible<SigId> {
        match self {
            Expr::Sig(s, _) => Ok(s),
            e => {
                let role = e.role();
                h.helper(e, role)
            }
        }
    }
}

/// Bits `lo .. lo + w` of `e`, which must lie inside it. Slices are pushed towards the
/// signals as far as the value allows, so that a helper is needed only behind a carry.
pub(super) fn slice(h: &mut dyn Helpers, e: Expr, lo: usize, w: usize) -> Fallible<Expr> {
    if lo == 0 && w == e.width() {
        return Ok(e);
    }
    Ok(match e {
        Expr::Sig(s, _) => Expr::Slice(s, lo, w),
        Expr::Lit(v, _) | Expr::Param(_, v, _) => Expr::Lit((v >> lo) & mask(w), w),
        Expr::Slice(s, from, _) => Expr::Slice(s, from + lo, w),
        Expr::Not(x) => Expr::Not(Box::new(slice(h, *x, lo, w)?)),
        Expr::Neg(x) if lo == 0 => Expr::Neg(Box::new(slice(h, *x, 0, w)?)),
        Expr::Bin(op @ (Op::And | Op::Or | Op::Xor), l, r) => Expr::Bin(
            op,
            Box::new(slice(h, *l, lo, w)?),
            Box::new(slice(h, *r, lo, w)?),
        ),
        Expr::Bin(op, l, r) if lo == 0 => Expr::Bin(
            op,
            Box::new(slice(h, *l, 0, w)?),
            Box::new(slice(h, *r, 0, w)?),
        ),
        Expr::Shift(true, x, by) if lo == 0 => Expr::Shift(true, Box::new(slice(h, *x, 0, w)?), by),
        Expr::Concat(parts) => {
            let mut out = vec![];
            let mut base = 0;
            for part in parts.into_iter().rev() {
                let pw = part.width();
                let from = lo.max(base);
                let to = (lo + w).min(base + pw);
                if from < to {
                    out.push(slice(h, part, from - base, to - from)?);
                }
                base += pw;
            }
            out.reverse();
            concat(out)
        }
        Expr::Repeat(_, x) => repeat(w, *x),
        e => Expr::Slice(e.into_signal(h)?, lo, w),
    })
}

/// Bits of a signal, a constant, or several of them, which need no helper.
pub(super) fn slice_of_parts(e: &Expr, lo: usize, w: usize) -> Expr {
    match e {
        Expr::Sig(s, whole) if lo == 0 && w == *whole => Expr::Sig(*s, w),
        Expr::Sig(s, _) => Expr::Slice(*s, lo, w),
        Expr::Param(_, _, whole) if lo == 0 && w == *whole => e.clone(),
        Expr::Lit(v, _) | Expr::Param(_, v, _) => Expr::Lit((v >> lo) & mask(w), w),
        Expr::Concat(parts) => {
            let mut base = e.width();
            let mut out = vec![];
            for part in parts {
                base -= part.width();
                let (from, to) = (lo.max(base), (lo + w).min(base + part.width()));
                if from < to {
                    out.push(slice_of_parts(part, from - base, to - from));
                }
            }
            concat(out)
        }
        e => e.clone(),
    }
}

/// `n` copies of a bit.
pub(super) fn repeat(n: usize, bit: Expr) -> Expr {
    match bit {
        Expr::Lit(v, _) => Expr::Lit(if v == BigUint::ZERO { v } else { mask(n) }, n),
        bit if n == 1 => bit,
        bit => Expr::Repeat(n, Box::new(bit)),
    }
}

/// Concatenation, flattened, neighbouring literals merged.
pub(super) fn concat(parts: Vec<Expr>) -> Expr {
    let mut out: Vec<Expr> = vec![];
    for part in parts {
        let inner = match part {
            Expr::Concat(inner) => inner,
            part => vec![part],
        };
        for part in inner {
            match (out.last_mut(), part) {
                (Some(Expr::Lit(hi, hw)), Expr::Lit(lo, lw)) => {
                    *hi = (hi.clone() << lw) | lo;
                    *hw += lw;
                }
                (_, part) => out.push(part),
            }
        }
    }
    match out.pop() {
        Some(only) if out.is_empty() => only,
        Some(last) => {
            out.push(last);
            Expr::Concat(out)
        }
        None => Expr::Lit(BigUint::ZERO, 0),
    }
}

/// Zero extension or truncation to `w` bits.
pub(super) fn resize(h: &mut dyn Helpers, e: Expr, w: usize) -> Fallible<Expr> {
    let have = e.width();
    if w <= have {
        return slice(h, e, 0, w);
    }
    Ok(match e {
        Expr::Lit(v, _) => Expr::Lit(v, w),
        e => concat(vec![Expr::Lit(BigUint::ZERO, w - have), e]),
    })
}

/// Sign extension or truncation to `w` bits.
pub(super) fn resize_signed(h: &mut dyn Helpers, e: Expr, w: usize) -> Fallible<Expr> {
    let have = e.width();
    if w <= have {
        return slice(h, e, 0, w);
    }
    // The sign is read twice, so anything but a name gets one.
    let e = if e.is_simple() {
        e
    } else {
        Expr::Sig(e.into_signal(h)?, have)
    };
    let sign = slice(h, e.clone(), have - 1, 1)?;
    Ok(concat(vec![repeat(w - have, sign), e]))
}

/// Part of `e` from a run-time offset; bits beyond its end read as zero.
pub(super) fn part(h: &mut dyn Helpers, e: Expr, offset: Expr, w: usize) -> Fallible<Expr> {
    let have = e.width();
    let reach = if offset.width() >= usize::BITS as usize - 1 {
        usize::MAX
    } else {
        ((1usize << offset.width()) - 1).saturating_add(w)
    };
    if reach <= have {
        let offset = index(h, offset, have)?;
        return Ok(Expr::Part(e.into_signal(h)?, Box::new(offset), w));
    }
    let shifted = Expr::Shift(false, Box::new(e), Box::new(offset));
    if w > have {
        return resize(h, shifted, w);
    }
    slice(h, shifted, 0, w)
}

/// One bit of `e` at a run-time index; rust-hdl panics on an index beyond the end.
pub(super) fn bit(h: &mut dyn Helpers, e: Expr, at: Expr) -> Fallible<Expr> {
    if e.width() == 1 {
        return Ok(e);
    }
    let at = index(h, at, e.width())?;
    Ok(Expr::Bit(e.into_signal(h)?, Box::new(at)))
}

/// An index of exactly the bits that count to `n`, as linters want it.
fn index(h: &mut dyn Helpers, at: Expr, n: usize) -> Fallible<Expr> {
    resize(h, at, clog2(n).max(1))
}

/// `e` with the bit at `at` replaced.
pub(super) fn replace_bit(h: &mut dyn Helpers, e: Expr, at: Expr, bit: Expr) -> Fallible<Expr> {
    let w = e.width();
    if let Some(n) = at.value().and_then(|v| usize::try_from(v).ok()) {
        if n >= w {
            return Err(Reason::Unsupported(format!(
                "`replace_bit({n})` of {w} bits"
            )));
        }
        let e = if e.is_simple() {
            e
        } else {
            Expr::Sig(e.into_signal(h)?, w)
        };
        let mut parts = vec![];
        if n + 1 < w {
            parts.push(slice(h, e.clone(), n + 1, w - n - 1)?);
        }
        parts.push(bit);
        if n > 0 {
            parts.push(slice(h, e, 0, n)?);
        }
        return Ok(concat(parts));
    }
    if w == 1 {
        return Ok(bit);
    }
    let one = Expr::Lit(BigUint::from(1u8), w);
    let at = if at.is_simple() {
        at
    } else {
        let aw = at.width();
        Expr::Sig(h.helper(at, "index")?, aw)
    };
    let hole = Expr::Not(Box::new(Expr::Shift(
        true,
        Box::new(one.clone()),
        Box::new(at.clone()),
    )));
    let cleared = Expr::Bin(Op::And, Box::new(e.clone()), Box::new(hole));
    match bit.value() {
        Some(v) if *v == BigUint::ZERO => Ok(cleared),
        Some(_) => Ok(Expr::Bin(
            Op::Or,
            Box::new(e),
            Box::new(Expr::Shift(true, Box::new(one), Box::new(at))),
        )),
        None => {
            let set = Expr::Shift(true, Box::new(resize(h, bit, w)?), Box::new(at));
            Ok(Expr::Bin(Op::Or, Box::new(cleared), Box::new(set)))
        }
    }
}

/// `>>` and `<<`; by a constant they are wiring.
pub(super) fn shift(h: &mut dyn Helpers, left: bool, e: Expr, by: Expr) -> Fallible<Expr> {
    let w = e.width();
    if let Some(v) = by.value() {
        let n = usize::try_from(v).unwrap_or(usize::MAX);
        if n == 0 {
            return Ok(e);
        }
        if n >= w {
            return Ok(Expr::Lit(BigUint::ZERO, w));
        }
        // A slice of a sum would need a helper; shifting it does not.
        if !left && !e.is_simple() {
            return Ok(Expr::Shift(false, Box::new(e), Box::new(Expr::count(n))));
        }
        let zeros = Expr::Lit(BigUint::ZERO, n);
        return Ok(if left {
            concat(vec![slice(h, e, 0, w - n)?, zeros])
        } else {
            concat(vec![zeros, slice(h, e, n, w - n)?])
        });
    }
    Ok(Expr::Shift(left, Box::new(e), Box::new(by)))
}
