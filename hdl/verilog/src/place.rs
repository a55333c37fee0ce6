//! Where each assignment of a kernel goes: a port connection, an `assign`, an
//! `always @(*)` block or the clocked block.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use num_bigint::BigUint;

use super::deps::{self, Deps, Group};
use super::expr::{Expr, SigId, mask};
use super::module::{Comb, Plan};
use super::regs::{self, Clocked, Reg};
use super::signals::{Kind as SigKind, Signals};
use super::stmt::{self, Comment, Kind, Stmt};

/// Signals with one assignment only, which is unconditional and to the whole signal; its value and what is said of it.
fn singles<'a>(stmts: &'a [Stmt], signals: &Signals) -> HashMap<SigId, (&'a Expr, &'a [Comment])> {
    let mut counts: HashMap<SigId, usize> = HashMap::new();
    stmt::each_assign(stmts, &mut |s, _, _| *counts.entry(s).or_default() += 1);
    let single = stmts.iter().filter_map(|s| match &s.kind {
        Kind::Assign { sig, value, .. }
            if counts[sig] == 1 && value.width() == signals.list[*sig].width =>
        {
            Some((*sig, (value, s.comments.as_slice())))
        }
        _ => None,
    });
    single.collect()
}

impl Plan {
    /// Everything that the combinational text or an instance drives under its own name.
    pub(super) fn assigned(&self) -> BTreeSet<SigId> {
        let logic = self.comb.iter().flat_map(|c| {
            let (Comb::Wires(body) | Comb::Always(_, body)) = c;
            stmt::targets(body)
        });
        logic.chain(self.alias.values().copied()).collect()
    }

    /// Decides where each assignment goes: a port connection, an `assign`, an `always @(*)`
    /// or the clocked block.
    pub(super) fn place(&mut self, mut stmts: Vec<Stmt>, deps: &Deps) {
        let by_d: BTreeMap<SigId, Reg> = self.regs.iter().map(|r| (r.d, r.clone())).collect();
        let unread = regs::unread_inputs(&self.signals, &stmts);
        let resets = regs::hoist_resets(&mut stmts, &self.signals, &unread);
        self.connect(&mut stmts);

        let mut order: BTreeMap<SigId, Clocked> = BTreeMap::new();
        for reg in &self.regs {
            order.entry(reg.clk).or_insert_with(|| Clocked {
                clk: reg.clk,
                ..Clocked::default()
            });
        }
        let mut nexts: BTreeSet<SigId> = BTreeSet::new();
        let mut groups = deps::together(stmts);
        // A block stands where its first decision stands, not where its defaults do.
        groups.sort_by_key(|g| g.first_decision());
        for Group {
            targets: group,
            stmts: own,
        } in groups
        {
            let clocks: BTreeSet<Option<SigId>> = group
                .iter()
                .map(|s| by_d.get(s).filter(|_| unread.contains(s)).map(|r| r.clk))
                .collect();
            let own: Vec<Stmt> = own.into_iter().map(|(_, s)| s).collect();
            if let [Some(clk)] = clocks.iter().copied().collect::<Vec<_>>()[..] {
                let body = as_choice(regs::without_holds(own, &by_d, &resets));
                let body = stmt::without_idle_arms(body);
                if let Some(c) = order.get_mut(&clk).filter(|_| !body.is_empty()) {
                    c.bodies.push(body);
                }
                continue;
            }
            for part in deps::split(vec![group], deps) {
                let body = as_choice(stmt::project(&own, &|s| part.contains(&s)));
                let body = stmt::without_idle_arms(body);
                nexts.extend(part.iter().filter(|s| by_d.contains_key(s)));
                self.comb.push(if are_wires(&body) {
                    Comb::Wires(body)
                } else {
                    Comb::Always(part, body)
                });
            }
        }
        for reg in &self.regs {
            let Some(clocked) = order.get_mut(&reg.clk) else {
                continue;
            };
            if nexts.contains(&reg.d) {
                clocked.nexts.push(reg.clone());
            }
            if let Some(reset) = resets.get(&reg.d) {
                let entry = (reg.clone(), reset.clone());
                match clocked.resets.iter_mut().find(|(r, _)| *r == reset.rst) {
                    Some((_, list)) => list.push(entry),
                    None => clocked.resets.push((reset.rst, vec![entry])),
                }
            }
        }
        self.clocked = order.into_values().collect();
    }

    /// Connects what needs no signal of its own: instance inputs that are one simple
    /// expression, and instance outputs that only drive another signal.
    fn connect(&mut self, stmts: &mut Vec<Stmt>) {
        let mut reads: BTreeMap<SigId, usize> = BTreeMap::new();
        let mut note = |e: &Expr| e.reads(&mut |s, _, _| *reads.entry(s).or_default() += 1);
        stmt::each_expr(stmts, &mut note);
        let helpers = self.signals.list.iter().filter_map(|s| s.driver.as_ref());
        helpers.for_each(note);
        let single = singles(stmts, &self.signals);
        for (id, s) in self.signals.list.iter().enumerate() {
            let Some((value, comments)) = single.get(&id) else {
                continue;
            };
            match s.kind {
                SigKind::InstIn(_) if !reads.contains_key(&id) && value.is_simple() => {
                    self.inline.insert(id, (*value).clone());
                    self.comments.insert(id, comments.to_vec());
                }
                SigKind::Output | SigKind::Local => {
                    if let Expr::Sig(from, _) = value
                        && matches!(self.signals.list[*from].kind, SigKind::InstOut(_))
                        && reads.get(from) == Some(&1)
                    {
                        self.alias.insert(*from, id);
                        self.comments.insert(*from, comments.to_vec());
                    }
                }
                _ => {}
            }
        }
        let direct: BTreeSet<SigId> = self
            .inline
            .keys()
            .chain(self.alias.values())
            .copied()
            .collect();
        *stmts = stmt::project(stmts, &|s| !direct.contains(&s));
    }
}

/// A signal that only chooses between two values, as `x = c ? a : b`.
fn as_choice(body: Vec<Stmt>) -> Vec<Stmt> {
    fn assigned(s: &Stmt) -> Option<(SigId, usize, &Expr)> {
        match &s.kind {
            Kind::Assign { sig, lo, value } => Some((*sig, *lo, value)),
            _ => None,
        }
    }
    fn only(stmts: &[Stmt]) -> Option<(SigId, usize, &Expr)> {
        match stmts {
            [s] if s.comments.is_empty() => assigned(s),
            _ => None,
        }
    }
    let (first, last) = match body.as_slice() {
        [one] => (None, one),
        [first, last] => (Some(std::slice::from_ref(first)), last),
        _ => return body,
    };
    let Kind::If {
        cond,
        then,
        otherwise,
    } = &last.kind
    else {
        return body;
    };
    let fallback = match first {
        Some([first]) if otherwise.is_empty() => assigned(first),
        None => only(otherwise),
        _ => None,
    };
    match (only(then), fallback) {
        (Some((sig, lo, a)), Some((other, at, b)))
            if sig == other && lo == at && a.width() == b.width() =>
        {
            let choice = Expr::Mux(
                Box::new(cond.clone()),
                Box::new(a.clone()),
                Box::new(b.clone()),
            );
            let kind = Kind::Assign {
                sig,
                lo,
                value: choice,
            };
            vec![Stmt {
                comments: body.iter().flat_map(|s| s.comments.clone()).collect(),
                kind,
            }]
        }
        _ => body,
    }
}

/// True if the statements are unconditional and do not overlap, so that `assign` says the same.
fn are_wires(stmts: &[Stmt]) -> bool {
    let mut seen: BTreeMap<SigId, BigUint> = BTreeMap::new();
    stmts.iter().all(|s| match &s.kind {
        Kind::Assign { sig, lo, value } => {
            let bits = mask(value.width()) << *lo;
            let known = seen.entry(*sig).or_default();
            let free = (&*known & &bits) == BigUint::ZERO;
            *known |= bits;
            free
        }
        _ => false,
    })
}
