//! What depends on what without a register in between: loops, and which
//! signals may share an `always` block.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::expr::{Expr, SigId};
use super::names;
use super::signals::{Kind as SigKind, Signals};
use super::stmt::{Kind, Stmt, targets};

/// Combinational dependencies of a module.
#[derive(Debug, Default)]
pub(super) struct Deps {
    /// For each driven signal, what it is computed from.
    pub of: BTreeMap<SigId, BTreeSet<SigId>>,
}

fn read(e: &Expr, into: &mut BTreeSet<SigId>) {
    e.reads(&mut |s, _, _| {
        into.insert(s);
    });
}

impl Deps {
    /// Dependencies of the statements, with every enclosing condition.
    pub(super) fn add_stmts(&mut self, stmts: &[Stmt]) {
        self.walk(stmts, &BTreeSet::new());
    }

    fn walk(&mut self, stmts: &[Stmt], under: &BTreeSet<SigId>) {
        for s in stmts {
            match &s.kind {
                Kind::Assign { sig, value, .. } => {
                    let deps = self.of.entry(*sig).or_default();
                    deps.extend(under);
                    read(value, deps);
                }
                Kind::If {
                    cond,
                    then,
                    otherwise,
                } => {
                    let mut under = under.clone();
                    read(cond, &mut under);
                    self.walk(then, &under);
                    self.walk(otherwise, &under);
                }
                Kind::Case {
                    subject,
                    arms,
                    rest,
                } => {
                    let mut under = under.clone();
                    read(subject, &mut under);
                    arms.iter().for_each(|(_, body)| self.walk(body, &under));
                    self.walk(rest.as_deref().unwrap_or_default(), &under);
                }
            }
        }
    }

    /// Dependencies of the helper signals.
    pub(super) fn add_helpers(&mut self, signals: &Signals) {
        for (id, s) in signals.list.iter().enumerate() {
            if let Some(e) = &s.driver {
                read(e, self.of.entry(id).or_default());
            }
        }
    }

    /// Everything that `from` is computed from, transitively.
    pub(super) fn cone(&self, from: SigId) -> BTreeSet<SigId> {
        let mut seen = BTreeSet::new();
        let mut todo = vec![from];
        while let Some(s) = todo.pop() {
            for d in self.of.get(&s).into_iter().flatten() {
                if seen.insert(*d) {
                    todo.push(*d);
                }
            }
        }
        seen
    }

    /// A signal that depends on itself, and the way round, in words.
    pub(super) fn find_loop(&self, signals: &Signals) -> Option<(SigId, String)> {
        let mut done = BTreeSet::new();
        for &start in self.of.keys() {
            // (signal, dependencies still to visit); the stack is the current path.
            let mut stack: Vec<(SigId, Vec<SigId>)> = vec![(start, self.next(start))];
            let mut on_path = BTreeSet::from([start]);
            if done.contains(&start) {
                continue;
            }
            while let Some((at, rest)) = stack.last_mut() {
                let Some(next) = rest.pop() else {
                    done.insert(*at);
                    on_path.remove(at);
                    stack.pop();
                    continue;
                };
                if on_path.contains(&next) {
                    let path = stack.iter().map(|(s, _)| *s).skip_while(|s| *s != next);
                    let mut words: Vec<String> = path
                        .map(|s| names::rust_path(&signals.list[s].key))
                        .collect();
                    words.push(names::rust_path(&signals.list[next].key));
                    return Some((next, words.join(" <- ")));
                }
                if !done.contains(&next) {
                    on_path.insert(next);
                    let deps = self.next(next);
                    stack.push((next, deps));
                }
            }
        }
        None
    }

    fn next(&self, s: SigId) -> Vec<SigId> {
        self.of
            .get(&s)
            .map(|d| d.iter().rev().copied().collect())
            .unwrap_or_default()
    }
}

/// Statements that share targets, and all that these assign.
#[derive(Default)]
pub(super) struct Group {
    pub targets: Vec<SigId>,
    /// Each with its place among all statements.
    pub stmts: Vec<(usize, Stmt)>,
}

impl Group {
    /// Where the first `if` or `case` stands, or else the first assignment.
    pub(super) fn first_decision(&self) -> usize {
        let mut own = self.stmts.iter();
        let decision = own.find(|(_, s)| !matches!(s.kind, Kind::Assign { .. }));
        decision.or(self.stmts.first()).map_or(0, |(i, _)| *i)
    }
}

/// Parts the statements into groups: targets that stand in one `if` or `case` belong together. In text order.
pub(super) fn together(stmts: Vec<Stmt>) -> Vec<Group> {
    let mut groups: Vec<Option<Group>> = vec![];
    let mut home: HashMap<SigId, usize> = HashMap::new();
    for (i, s) in stmts.into_iter().enumerate() {
        let mut all = targets(std::slice::from_ref(&s));
        let known: BTreeSet<usize> = all.iter().filter_map(|t| home.get(t)).copied().collect();
        let mut own = vec![];
        for at in &known {
            let Some(group) = groups[*at].take() else {
                continue;
            };
            let old: BTreeSet<SigId> = group.targets.iter().copied().collect();
            let more = all.into_iter().filter(|t| !old.contains(t));
            all = group.targets.into_iter().chain(more).collect();
            own.extend(group.stmts);
        }
        own.push((i, s));
        own.sort_by_key(|(i, _)| *i);
        let at = known.first().copied().unwrap_or_else(|| {
            groups.push(None);
            groups.len() - 1
        });
        home.extend(all.iter().map(|t| (*t, at)));
        groups[at] = Some(Group {
            targets: all,
            stmts: own,
        });
    }
    groups.into_iter().flatten().collect()
}

/// Splits the groups so that no `always` block reads, directly or around through others,
/// what it writes itself: such a block would be a combinational loop where the signals are none.
pub(super) fn split(groups: Vec<Vec<SigId>>, deps: &Deps) -> Vec<Vec<SigId>> {
    // Block of each signal; signals outside every group are blocks of their own.
    let mut block: BTreeMap<SigId, SigId> = BTreeMap::new();
    let mut out: Vec<Vec<SigId>> = vec![];
    for group in groups {
        let mut parts: Vec<Vec<SigId>> = vec![];
        for sig in group {
            let home = parts.iter().position(|part| {
                let mut trial = block.clone();
                trial.insert(sig, part[0]);
                !loops_through(part[0], &trial, deps)
            });
            match home {
                Some(i) => {
                    block.insert(sig, parts[i][0]);
                    parts[i].push(sig);
                }
                None => {
                    block.insert(sig, sig);
                    parts.push(vec![sig]);
                }
            }
        }
        out.extend(parts);
    }
    out
}

/// True if the block led by `leader` can reach itself once its members count as one.
fn loops_through(leader: SigId, block: &BTreeMap<SigId, SigId>, deps: &Deps) -> bool {
    let lead = |s: SigId| block.get(&s).copied().unwrap_or(s);
    let mut members: BTreeMap<SigId, Vec<SigId>> = BTreeMap::new();
    for (s, l) in block {
        members.entry(*l).or_default().push(*s);
    }
    let mut seen = BTreeSet::new();
    let mut todo = vec![leader];
    while let Some(at) = todo.pop() {
        let own = members.get(&at).cloned().unwrap_or_else(|| vec![at]);
        for s in own {
            for d in deps.of.get(&s).into_iter().flatten() {
                let d = lead(*d);
                if d == leader {
                    return true;
                }
                if seen.insert(d) {
                    todo.push(d);
                }
            }
        }
    }
    false
}

/// True for signals that the kernel drives and that keep nothing: everything but clocks.
pub(super) fn is_logic(kind: SigKind) -> bool {
    !matches!(kind, SigKind::RegClk(_))
}
