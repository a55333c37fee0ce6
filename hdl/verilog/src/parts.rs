//! Parts of records: those that only are another name, and those that nothing reads, are not in the text.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::deps::Deps;
use super::expr::{Expr, SigId, concat, repeat, slice_of_parts};
use super::regs::Reg;
use super::signals::{Kind as SigKind, Signals};
use super::stmt::{self, Kind, Stmt};

/// Leaves out parts of records that nothing reads.
pub(super) fn drop_unread(
    signals: &mut Signals,
    regs: &mut Vec<Reg>,
    stmts: Vec<Stmt>,
) -> Vec<Stmt> {
    if signals.records.is_empty() {
        return stmts;
    }
    let mut deps = Deps::default();
    deps.add_stmts(&stmts);
    deps.add_helpers(signals);
    for reg in regs.iter() {
        deps.of.entry(reg.q).or_default().insert(reg.d);
        deps.of.entry(reg.d).or_default().insert(reg.q);
    }
    let needed: Vec<SigId> = deps.of.keys().copied().collect();
    let needed = needed.into_iter().filter(|sig| !signals.list[*sig].may_go);
    let mut live: BTreeSet<SigId> = needed.collect();
    let mut todo: Vec<SigId> = live.iter().copied().collect();
    while let Some(sig) = todo.pop() {
        let more = deps.of.get(&sig).into_iter().flatten();
        todo.extend(more.filter(|sig| live.insert(**sig)));
    }
    let dead = |sig: SigId, signals: &Signals| signals.list[sig].may_go && !live.contains(&sig);
    regs.retain(|reg| !dead(reg.q, signals));
    let stmts = stmt::retain(stmts, &|_, sig| !dead(sig, signals));
    for sig in 0..signals.list.len() {
        if dead(sig, signals) {
            signals.list[sig].kind = SigKind::Dropped;
            signals.list[sig].driver = None;
        }
    }
    stmts
}

/// True for what is read as well where a part of a record stands: a signal, a constant, or several of them.
fn is_another_name(e: &Expr) -> bool {
    match e {
        Expr::Sig(..) | Expr::Lit(..) | Expr::Param(..) => true,
        Expr::Concat(parts) => parts
            .iter()
            .all(|e| !matches!(e, Expr::Concat(_)) && is_another_name(e)),
        _ => false,
    }
}

/// Reads another signal in place of a part of a local record that is nothing but that.
pub(super) fn rename(signals: &mut Signals, stmts: Vec<Stmt>) -> Vec<Stmt> {
    let mut counts: HashMap<SigId, usize> = HashMap::new();
    stmt::each_assign(&stmts, &mut |s, _, _| *counts.entry(s).or_default() += 1);
    let mut indexed = BTreeSet::new();
    let mut note = |e: &Expr| e.indexed(&mut |s| _ = indexed.insert(s));
    stmt::each_expr(&stmts, &mut note);
    signals
        .list
        .iter()
        .filter_map(|s| s.driver.as_ref())
        .for_each(note);
    let found = stmts.iter().filter_map(|s| match &s.kind {
        Kind::Assign { sig, value, .. } => Some((*sig, value)),
        _ => None,
    });
    let mut names: BTreeMap<SigId, Expr> = found
        .filter(|(sig, value)| {
            let s = &signals.list[*sig];
            s.may_go
                && s.kind == SigKind::Local
                && counts[sig] == 1
                && s.width == value.width()
                && is_another_name(value)
                && (matches!(value, Expr::Sig(..)) || !indexed.contains(sig))
        })
        .map(|(sig, value)| (sig, value.clone()))
        .collect();
    if names.is_empty() {
        return stmts;
    }
    // A name of a name.
    for _ in 0..names.len().min(16) {
        let before = names.clone();
        names
            .values_mut()
            .for_each(|e| *e = substitute(e.clone(), &before));
    }
    for s in &mut signals.list {
        s.driver = s.driver.take().map(|e| substitute(e, &names));
    }
    stmt::map(stmts, &|e| substitute(e, &names))
}

fn substitute(e: Expr, names: &BTreeMap<SigId, Expr>) -> Expr {
    let inner = |e: Box<Expr>| Box::new(substitute(*e, names));
    let other = |s: SigId| match names.get(&s) {
        Some(Expr::Sig(other, _)) => *other,
        _ => s,
    };
    match e {
        Expr::Sig(s, _) => names.get(&s).cloned().unwrap_or(e),
        Expr::Slice(s, lo, w) => match names.get(&s) {
            Some(value) => slice_of_parts(value, lo, w),
            None => e,
        },
        Expr::Lit(..) | Expr::Param(..) => e,
        Expr::Not(x) => Expr::Not(inner(x)),
        Expr::Neg(x) => Expr::Neg(inner(x)),
        Expr::Reduce(op, x) => Expr::Reduce(op, inner(x)),
        Expr::Bin(op, l, r) => Expr::Bin(op, inner(l), inner(r)),
        Expr::Shift(left, l, r) => Expr::Shift(left, inner(l), inner(r)),
        Expr::Cmp(op, signed, l, r) => Expr::Cmp(op, signed, inner(l), inner(r)),
        Expr::Logic(and, l, r) => Expr::Logic(and, inner(l), inner(r)),
        Expr::Bit(s, at) => Expr::Bit(other(s), inner(at)),
        Expr::Part(s, at, w) => Expr::Part(other(s), inner(at), w),
        Expr::Concat(parts) => concat(parts.into_iter().map(|e| substitute(e, names)).collect()),
        Expr::Repeat(n, x) => repeat(n, substitute(*x, names)),
        Expr::Mux(c, a, b) => Expr::Mux(inner(c), inner(a), inner(b)),
    }
}
