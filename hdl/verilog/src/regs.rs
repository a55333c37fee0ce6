//! Registers in place: which child blocks are flip-flops, which resets move
//! into the clocked block, and what needs a `_next` signal.

use std::collections::{BTreeMap, BTreeSet};

use num_bigint::BigUint;
use rust_hdl::prelude::Verilog;

use super::error::{Fallible, Reason};
use super::expr::{Expr, SigId, mask};
use super::signals::{Kind as SigKind, Signals};
use super::stmt::{self, Comment, Kind, Stmt};
use super::tree::{self, Scope};

/// One flip-flop.
#[derive(Clone, Debug)]
pub(super) struct Reg {
    pub d: SigId,
    pub q: SigId,
    pub clk: SigId,
    pub init: BigUint,
}

/// The clock port of a block that is a plain flip-flop of rust-hdl-widgets.
pub(super) fn clock_port(scope: &Scope) -> Option<&str> {
    let timing = scope
        .timing
        .iter()
        .find(|t| t.name == "dff" || t.name == "edge_ff")?;
    let plain = scope.children.is_empty()
        && scope.atoms.len() == 3
        && matches!(scope.code, Verilog::Custom(_))
        && ["d", "q", timing.clock.as_str()]
            .iter()
            .all(|p| scope.port(p).is_some());
    plain.then_some(timing.clock.as_str())
}

/// Initial value of a flip-flop, which only its Verilog text tells.
pub(super) fn initial_value(scope: &Scope) -> Fallible<BigUint> {
    let refuse = || Reason::Unsupported("a flip-flop without a literal initial value".into());
    let Verilog::Custom(text) = &scope.code else {
        return Err(refuse());
    };
    let at = text.find("q = ").ok_or_else(refuse)?;
    let literal = text[at + 4..].split(';').next().unwrap_or_default();
    let (value, _) = tree::parse_literal(literal).ok_or_else(refuse)?;
    let width = scope.port("q").map_or(0, |q| q.width);
    value
        .to_biguint()
        .filter(|v| *v <= mask(width))
        .ok_or_else(refuse)
}

/// What happens at the edge of one clock.
#[derive(Clone, Debug, Default)]
pub(super) struct Clocked {
    pub clk: SigId,
    /// Groups of statements on register inputs, to be written as `q <= ...`.
    pub bodies: Vec<Vec<Stmt>>,
    /// Registers that take their `_next` signal.
    pub nexts: Vec<Reg>,
    /// Reset signal, and what it sets.
    pub resets: Vec<(SigId, Vec<(Reg, Reset)>)>,
}

/// What a reset does to one register.
#[derive(Clone, Debug)]
pub(super) struct Reset {
    pub rst: SigId,
    pub value: Expr,
    /// Of the reset as a whole.
    pub head: Vec<Comment>,
    pub comments: Vec<Comment>,
}

/// Constant values that a trailing `if (rst)` gives registers, by register input.
pub(super) type Resets = BTreeMap<SigId, Reset>;

/// Takes the trailing resets of registers out of the kernel. A reset is the last top-level
/// statement that assigns the register, `if <signal named rst or reset>`, and assigns it a
/// constant. What else such a statement assigns stays.
pub(super) fn hoist_resets(
    stmts: &mut Vec<Stmt>,
    signals: &Signals,
    eligible: &BTreeSet<SigId>,
) -> Resets {
    let mut resets = Resets::new();
    // Of several resets of a register only the last one moves: the others take part in what it is otherwise.
    let last = stmt::last_assignments(stmts);
    for i in (0..stmts.len()).rev() {
        let Kind::If {
            cond: Expr::Sig(rst, _),
            then,
            otherwise,
        } = &stmts[i].kind
        else {
            continue;
        };
        let name = signals.list[*rst].name.to_lowercase();
        if !otherwise.is_empty() || !(name.contains("rst") || name.contains("reset")) {
            continue;
        }
        // The last value of each register that only plain assignments set here.
        let mut found = Resets::new();
        let mut chosen = BTreeSet::new();
        for s in then {
            match &s.kind {
                Kind::Assign { sig, value, .. } => {
                    let reset = Reset {
                        rst: *rst,
                        value: value.clone(),
                        head: stmts[i].comments.clone(),
                        comments: s.comments.clone(),
                    };
                    found.insert(*sig, reset);
                }
                _ => chosen.extend(stmt::targets(std::slice::from_ref(s))),
            }
        }
        found.retain(|t, Reset { value, .. }| {
            !chosen.contains(t)
                && eligible.contains(t)
                && last.get(t).is_none_or(|at| *at <= i)
                && value.value().is_some()
                && value.width() == signals.list[*t].width
        });
        let rest = stmt::project(&stmts[i..=i], &|s| !found.contains_key(&s));
        stmts.splice(i..=i, rest);
        resets.extend(found);
    }
    resets
}

/// A group of statements on register inputs without the leading `d = q` that says "hold":
/// a clocked assignment holds anyway. `reset` tells which registers a reset also sets.
pub(super) fn without_holds(
    stmts: Vec<Stmt>,
    regs: &BTreeMap<SigId, Reg>,
    reset: &Resets,
) -> Vec<Stmt> {
    let last = stmt::last_assignments(&stmts);
    let mut seen = BTreeSet::new();
    let is_hold = |s: &Stmt| match &s.kind {
        Kind::Assign {
            sig,
            value: Expr::Sig(q, _),
            ..
        } => regs.get(sig).is_some_and(|r| r.q == *q).then_some(*sig),
        _ => None,
    };
    let mut out = vec![];
    let mut comments = vec![];
    for (i, s) in stmts.iter().enumerate() {
        let assigned = stmt::targets(std::slice::from_ref(s));
        if let Some(sig) = is_hold(s) {
            let more = last.get(&sig).is_some_and(|at| *at > i);
            if !seen.contains(&sig) && (more || reset.contains_key(&sig)) {
                seen.insert(sig);
                comments.extend_from_slice(&s.comments);
                continue;
            }
        }
        seen.extend(assigned);
        let mut kept = s.clone();
        kept.comments.splice(0..0, comments.drain(..));
        out.push(kept);
    }
    out
}

/// Register inputs that nothing reads, which therefore need no signal of their own.
pub(super) fn unread_inputs(signals: &Signals, stmts: &[Stmt]) -> BTreeSet<SigId> {
    let mut unread: BTreeSet<SigId> = signals
        .list
        .iter()
        .enumerate()
        .filter(|(_, s)| matches!(s.kind, SigKind::RegD(_)))
        .map(|(id, _)| id)
        .collect();
    let mut drop = |e: &Expr| {
        e.reads(&mut |s, _, _| {
            unread.remove(&s);
        });
    };
    stmt::each_expr(stmts, &mut drop);
    signals
        .list
        .iter()
        .filter_map(|s| s.driver.as_ref())
        .for_each(drop);
    unread
}
