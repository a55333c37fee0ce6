//! Typed statements, and the questions asked of them: what do they assign, on
//! which paths, what is left for these targets.

use std::collections::{BTreeSet, HashMap};

use num_bigint::BigUint;

use super::expr::{Expr, SigId, mask};

/// A statement with the comments that stand before it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stmt {
    pub comments: Vec<String>,
    pub kind: Kind,
}

/// What a statement does.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    /// Bits `lo .. lo + value.width()` of a signal.
    Assign { sig: SigId, lo: usize, value: Expr },
    If {
        cond: Expr,
        then: Vec<Stmt>,
        otherwise: Vec<Stmt>,
    },
    /// `rest` is `None` when the arms cover every value that Rust's type has.
    Case {
        subject: Expr,
        arms: Vec<(Vec<Expr>, Vec<Stmt>)>,
        rest: Option<Vec<Stmt>>,
    },
}

/// Everything that the statements assign, in text order.
pub(super) fn targets(stmts: &[Stmt]) -> Vec<SigId> {
    let mut seen = BTreeSet::new();
    let mut out = vec![];
    each_assign(stmts, &mut |sig, _, _| {
        if seen.insert(sig) {
            out.push(sig);
        }
    });
    out
}

/// Calls `f(signal, lowest bit, value)` for every assignment at any depth.
pub(super) fn each_assign(stmts: &[Stmt], f: &mut dyn FnMut(SigId, usize, &Expr)) {
    for s in stmts {
        match &s.kind {
            Kind::Assign { sig, lo, value } => f(*sig, *lo, value),
            Kind::If {
                then, otherwise, ..
            } => {
                each_assign(then, f);
                each_assign(otherwise, f);
            }
            Kind::Case { arms, rest, .. } => {
                arms.iter().for_each(|(_, body)| each_assign(body, f));
                each_assign(rest.as_deref().unwrap_or_default(), f);
            }
        }
    }
}

/// Calls `f` for every expression: values, conditions, subjects and labels.
pub(super) fn each_expr(stmts: &[Stmt], f: &mut dyn FnMut(&Expr)) {
    for s in stmts {
        match &s.kind {
            Kind::Assign { value, .. } => f(value),
            Kind::If {
                cond,
                then,
                otherwise,
            } => {
                f(cond);
                each_expr(then, f);
                each_expr(otherwise, f);
            }
            Kind::Case {
                subject,
                arms,
                rest,
            } => {
                f(subject);
                for (labels, body) in arms {
                    labels.iter().for_each(&mut *f);
                    each_expr(body, f);
                }
                each_expr(rest.as_deref().unwrap_or_default(), f);
            }
        }
    }
}

/// The statements with only the assignments that `keep` wants; empty branches vanish.
pub(super) fn project(stmts: &[Stmt], keep: &dyn Fn(SigId) -> bool) -> Vec<Stmt> {
    let mut out = vec![];
    for s in stmts {
        let kind = match &s.kind {
            Kind::Assign { sig, .. } => {
                if !keep(*sig) {
                    continue;
                }
                s.kind.clone()
            }
            Kind::If {
                cond,
                then,
                otherwise,
            } => {
                let (then, otherwise) = (project(then, keep), project(otherwise, keep));
                match (then.is_empty(), otherwise.is_empty()) {
                    (true, true) => continue,
                    (true, false) => Kind::If {
                        cond: Expr::Not(Box::new(cond.clone())),
                        then: otherwise,
                        otherwise: vec![],
                    },
                    _ => Kind::If {
                        cond: cond.clone(),
                        then,
                        otherwise,
                    },
                }
            }
            Kind::Case {
                subject,
                arms,
                rest,
            } => {
                let arms: Vec<_> = arms
                    .iter()
                    .map(|(l, b)| (l.clone(), project(b, keep)))
                    .collect();
                let rest = rest.as_ref().map(|b| project(b, keep));
                if arms.iter().all(|(_, b)| b.is_empty()) && rest.as_ref().is_none_or(Vec::is_empty)
                {
                    continue;
                }
                Kind::Case {
                    subject: subject.clone(),
                    arms,
                    rest,
                }
            }
        };
        out.push(Stmt {
            comments: s.comments.clone(),
            kind,
        });
    }
    out
}

/// Bits of `sig` that the statements assign on every path.
pub(super) fn always_assigned(stmts: &[Stmt], sig: SigId) -> BigUint {
    let mut bits = BigUint::ZERO;
    for s in stmts {
        match &s.kind {
            Kind::Assign {
                sig: target,
                lo,
                value,
            } => {
                if *target == sig {
                    bits |= mask(value.width()) << *lo;
                }
            }
            Kind::If {
                then, otherwise, ..
            } => {
                bits |= always_assigned(then, sig) & always_assigned(otherwise, sig);
            }
            Kind::Case { arms, rest, .. } => {
                let bodies = arms.iter().map(|(_, b)| b).chain(rest);
                let common = bodies.map(|b| always_assigned(b, sig)).reduce(|a, b| a & b);
                bits |= common.unwrap_or_default();
            }
        }
    }
    bits
}

/// Drops what a later unconditional assignment to the whole signal overrides.
pub(super) fn drop_overridden(stmts: Vec<Stmt>, width: &dyn Fn(SigId) -> usize) -> Vec<Stmt> {
    let mut last = HashMap::new();
    for (i, s) in stmts.iter().enumerate() {
        if let Kind::Assign { sig, value, .. } = &s.kind
            && value.width() == width(*sig)
        {
            last.insert(*sig, i);
        }
    }
    stmts
        .into_iter()
        .enumerate()
        .flat_map(|(i, s)| project(&[s], &|sig| last.get(&sig).is_none_or(|at| *at <= i)))
        .collect()
}
