//! Typed statements, and the questions asked of them: what do they assign, on
//! which paths, what is left for these targets.

use std::collections::{BTreeSet, HashMap};

use num_bigint::BigUint;

use super::expr::{Expr, SigId, mask};

/// A line of a comment. Where statements are copied, or a loop is unrolled, `id` tells that it is the same one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Comment {
    pub id: usize,
    pub text: String,
}

/// A statement with the comments that stand before it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stmt {
    pub comments: Vec<Comment>,
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

/// Everything that is said of the statements, at any depth.
pub(super) fn all_comments(stmts: &[Stmt]) -> Vec<Comment> {
    let mut all = vec![];
    for s in stmts {
        all.extend_from_slice(&s.comments);
        match &s.kind {
            Kind::Assign { .. } => {}
            Kind::If {
                then, otherwise, ..
            } => {
                all.extend(all_comments(then));
                all.extend(all_comments(otherwise));
            }
            Kind::Case { arms, rest, .. } => {
                all.extend(arms.iter().flat_map(|(_, body)| all_comments(body)));
                all.extend(all_comments(rest.as_deref().unwrap_or_default()));
            }
        }
    }
    all
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

/// The statements with another expression for each.
pub(super) fn map(stmts: Vec<Stmt>, f: &dyn Fn(Expr) -> Expr) -> Vec<Stmt> {
    let mapped = stmts.into_iter().map(|Stmt { comments, kind }| {
        let kind = match kind {
            Kind::Assign { sig, lo, value } => Kind::Assign {
                sig,
                lo,
                value: f(value),
            },
            Kind::If {
                cond,
                then,
                otherwise,
            } => Kind::If {
                cond: f(cond),
                then: map(then, f),
                otherwise: map(otherwise, f),
            },
            Kind::Case {
                subject,
                arms,
                rest,
            } => Kind::Case {
                subject: f(subject),
                arms: arms
                    .into_iter()
                    .map(|(labels, body)| (labels, map(body, f)))
                    .collect(),
                rest: rest.map(|body| map(body, f)),
            },
        };
        Stmt { comments, kind }
    });
    mapped.collect()
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

/// Bits of each signal that the statements assign on every path; signals without such bits may be missing.
pub(super) fn always_assigned(stmts: &[Stmt]) -> HashMap<SigId, BigUint> {
    let mut bits: HashMap<SigId, BigUint> = HashMap::new();
    for s in stmts {
        let more = match &s.kind {
            Kind::Assign { sig, lo, value } => {
                *bits.entry(*sig).or_default() |= mask(value.width()) << *lo;
                continue;
            }
            Kind::If {
                then, otherwise, ..
            } => common([then, otherwise].into_iter()),
            Kind::Case { arms, rest, .. } => common(arms.iter().map(|(_, b)| b).chain(rest)),
        };
        for (sig, own) in more {
            *bits.entry(sig).or_default() |= own;
        }
    }
    bits
}

/// What all of the bodies assign on every path.
fn common<'a>(mut bodies: impl Iterator<Item = &'a Vec<Stmt>>) -> HashMap<SigId, BigUint> {
    let mut shared = bodies
        .next()
        .map(|b| always_assigned(b))
        .unwrap_or_default();
    for body in bodies {
        if shared.is_empty() {
            break;
        }
        let other = always_assigned(body);
        shared.retain(|sig, bits| {
            other.get(sig).is_some_and(|other| {
                *bits &= other;
                *bits != BigUint::ZERO
            })
        });
    }
    shared
}

/// The last of the statements that assigns each signal at any depth.
pub(super) fn last_assignments(stmts: &[Stmt]) -> HashMap<SigId, usize> {
    let mut last = HashMap::new();
    for (i, s) in stmts.iter().enumerate() {
        each_assign(std::slice::from_ref(s), &mut |sig, _, _| {
            last.insert(sig, i);
        });
    }
    last
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
    retain(stmts, &|i, sig| last.get(&sig).is_none_or(|at| *at <= i))
}

/// The statements with only the assignments that `keep` wants, given the statement's place. What is said of a statement
/// that goes is said of the next one.
pub(super) fn retain(stmts: Vec<Stmt>, keep: &dyn Fn(usize, SigId) -> bool) -> Vec<Stmt> {
    let mut out = vec![];
    let mut said = vec![];
    for (i, s) in stmts.into_iter().enumerate() {
        match project(std::slice::from_ref(&s), &|sig| keep(i, sig)).pop() {
            Some(mut kept) => {
                kept.comments.splice(0..0, said.drain(..));
                out.push(kept);
            }
            None => said.extend(s.comments),
        }
    }
    if let Some(last) = out.last_mut() {
        last.comments.append(&mut said);
    }
    out
}

/// The statements without the arms of a `case` that do nothing, where the default does nothing either.
pub(super) fn without_idle_arms(stmts: Vec<Stmt>) -> Vec<Stmt> {
    let kept = stmts.into_iter().map(|Stmt { comments, kind }| {
        let kind = match kind {
            Kind::Assign { .. } => kind,
            Kind::If {
                cond,
                then,
                otherwise,
            } => Kind::If {
                cond,
                then: without_idle_arms(then),
                otherwise: without_idle_arms(otherwise),
            },
            Kind::Case {
                subject,
                arms,
                rest,
            } => {
                let all = arms.len();
                let idle = rest.as_ref().is_none_or(Vec::is_empty);
                let arms = arms
                    .into_iter()
                    .filter(|(_, body)| !idle || !body.is_empty());
                let arms = arms.map(|(labels, body)| (labels, without_idle_arms(body)));
                let arms: Vec<_> = arms.collect();
                // What an arm leaves alone has a value already, so the default may leave it alone.
                let rest = match rest {
                    None if arms.len() < all => Some(vec![]),
                    rest => rest.map(without_idle_arms),
                };
                Kind::Case {
                    subject,
                    arms,
                    rest,
                }
            }
        };
        Stmt { comments, kind }
    });
    kept.collect()
}
