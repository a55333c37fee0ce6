//! `a | b` of parts that never overlap, as one concatenation.

use num_bigint::BigUint;

use super::expr::{Expr, Op, concat};

/// A part of a word, most significant first: its width, and what stands there unless zeros do.
type Part = (usize, Option<Expr>);

fn parts(e: Expr, out: &mut Vec<Part>) {
    match e {
        Expr::Concat(inner) => inner.into_iter().for_each(|e| parts(e, out)),
        Expr::Lit(value, width) => {
            let top = value.bits() as usize;
            let low = value.trailing_zeros().unwrap_or(0) as usize;
            zeros(width - top, out);
            if top > 0 {
                out.push((top - low, Some(Expr::Lit(value >> low, top - low))));
                zeros(low, out);
            }
        }
        e => out.push((e.width(), Some(e))),
    }
}

fn zeros(width: usize, out: &mut Vec<Part>) {
    match out.last_mut() {
        _ if width == 0 => {}
        Some((before, None)) => *before += width,
        _ => out.push((width, None)),
    }
}

/// The parts of both words, if where one has something the other has zeros, and no part of either needs to be cut.
fn joined(left: &[Part], right: &[Part]) -> Option<Vec<Expr>> {
    let (mut left, mut right) = (left.to_vec(), right.to_vec());
    left.reverse();
    right.reverse();
    let mut out = vec![];
    while let (Some((a, x)), Some((b, y))) = (left.pop(), right.pop()) {
        let width = match (x, y) {
            (None, None) => {
                let width = a.min(b);
                out.push(Expr::Lit(BigUint::ZERO, width));
                width
            }
            (Some(x), None) if a <= b => {
                out.push(x);
                a
            }
            (None, Some(y)) if b <= a => {
                out.push(y);
                b
            }
            _ => return None,
        };
        if a > width {
            left.push((a - width, None));
        }
        if b > width {
            right.push((b - width, None));
        }
    }
    Some(out)
}

/// `l | r`.
pub(super) fn or(l: Expr, r: Expr) -> Expr {
    let split = |e: &Expr| {
        let mut out = vec![];
        parts(e.clone(), &mut out);
        out
    };
    match joined(&split(&l), &split(&r)) {
        Some(parts) => concat(parts),
        None => Expr::Bin(Op::Or, Box::new(l), Box::new(r)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::expr::mask;
    use super::*;

    fn lit(value: u32, width: usize) -> Expr {
        Expr::Lit(BigUint::from(value), width)
    }

    /// Bits of the value, if every signal is all ones.
    fn ones(e: &Expr) -> BigUint {
        match e {
            Expr::Lit(v, _) => v.clone(),
            Expr::Concat(parts) => parts.iter().fold(BigUint::ZERO, |word, part| {
                (word << part.width()) | ones(part)
            }),
            Expr::Bin(Op::Or, l, r) => ones(l) | ones(r),
            e => mask(e.width()),
        }
    }

    #[test]
    fn fields_that_do_not_overlap_are_one_concatenation() {
        let (a, b) = (Expr::Sig(0, 4), Expr::Sig(1, 3));
        let high = concat(vec![a.clone(), lit(0, 8)]);
        let low = concat(vec![lit(0, 7), b.clone(), lit(0, 2)]);
        let whole = or(high.clone(), low.clone());
        assert_eq!(
            whole,
            Expr::Concat(vec![a.clone(), lit(0, 3), b.clone(), lit(0, 2)])
        );
        assert_eq!(or(low.clone(), high.clone()), whole);
        // Constants fill what is left.
        assert_eq!(
            or(whole, lit(0b1_0000_0011, 12)),
            Expr::Bin(
                Op::Or,
                Box::new(Expr::Concat(vec![
                    a.clone(),
                    lit(0, 3),
                    b.clone(),
                    lit(0, 2)
                ])),
                Box::new(lit(0b1_0000_0011, 12))
            )
        );
        assert_eq!(
            or(low, lit(3, 12)),
            Expr::Concat(vec![lit(0, 7), b, lit(3, 2)])
        );
    }

    #[test]
    fn what_overlaps_stays_a_disjunction() {
        let whole = or(Expr::Sig(0, 4), Expr::Sig(1, 4));
        assert!(matches!(whole, Expr::Bin(Op::Or, ..)));
        let cut = or(
            concat(vec![Expr::Sig(0, 3), lit(0, 3)]),
            concat(vec![lit(0, 2), Expr::Sig(1, 4)]),
        );
        assert!(matches!(cut, Expr::Bin(Op::Or, ..)));
    }

    #[test]
    fn every_pair_of_two_fields_keeps_its_bits() {
        for at in 0..8 {
            for width in 1..=8 - at {
                for other in 0..8 {
                    let field = |id, lo: usize, w: usize| {
                        concat(vec![lit(0, 8 - lo - w), Expr::Sig(id, w), lit(0, lo)])
                    };
                    let right = field(1, other, 1);
                    let left = field(0, at, width);
                    let expected = ones(&left) | ones(&right);
                    let both = or(left, right);
                    assert_eq!((ones(&both), both.width()), (expected, 8));
                }
            }
        }
    }
}
