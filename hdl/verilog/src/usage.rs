//! What the final text reads, and the wire that takes the rest: a linter's
//! "unused signal" is then a promise that somebody checked.

use std::collections::{BTreeMap, BTreeSet};

use num_bigint::BigUint;

use super::expr::{Expr, SigId, mask};
use super::module::{Comb, Plan};
use super::ports::COLUMNS;
use super::signals::{Kind as SigKind, Signals};
use super::stmt;

/// Which bits of each signal the final text reads.
#[derive(Default)]
pub(super) struct Usage {
    bits: BTreeMap<SigId, BigUint>,
    /// Named constants that are read.
    pub params: BTreeSet<usize>,
}

impl Usage {
    fn read(&mut self, e: &Expr, signals: &Signals) {
        e.reads(&mut |s, lo, w| {
            let bits = if w == 0 {
                mask(signals.list[s].width)
            } else {
                mask(w) << lo
            };
            *self.bits.entry(s).or_default() |= bits;
        });
        e.params(&mut |p| {
            self.params.insert(p);
        });
    }

    fn whole(&mut self, s: SigId, signals: &Signals) {
        *self.bits.entry(s).or_default() |= mask(signals.list[s].width);
    }
}

/// What the final text of a module reads.
pub(super) fn usage(plan: &Plan) -> Usage {
    let mut u = Usage::default();
    let signals = &plan.signals;
    for e in plan
        .inline
        .values()
        .chain(signals.list.iter().filter_map(|s| s.driver.as_ref()))
    {
        u.read(e, signals);
    }
    for c in &plan.comb {
        let (Comb::Wires(body) | Comb::Always(_, body)) = c;
        stmt::each_expr(body, &mut |e| u.read(e, signals));
    }
    for c in &plan.clocked {
        u.whole(c.clk, signals);
        for body in &c.bodies {
            stmt::each_expr(body, &mut |e| u.read(e, signals));
        }
        c.nexts.iter().for_each(|r| u.whole(r.d, signals));
        for (rst, list) in &c.resets {
            u.whole(*rst, signals);
            list.iter().for_each(|(_, r)| u.read(&r.value, signals));
        }
    }
    for inst in &plan.instances {
        let inputs = inst
            .ports
            .iter()
            .filter(|(p, s)| p.input && !plan.inline.contains_key(s));
        inputs.for_each(|(_, s)| u.whole(*s, signals));
    }
    u
}

/// The wire that takes what nothing reads.
pub(super) fn unused(plan: &Plan, used: &Usage) -> String {
    let mut rows: Vec<String> = vec![];
    let assigned = plan.assigned();
    for (id, s) in plan.signals.list.iter().enumerate() {
        let here = match s.kind {
            SigKind::Input | SigKind::RegQ(_) | SigKind::Helper => true,
            SigKind::InstOut(_) => !plan.alias.contains_key(&id),
            SigKind::Local | SigKind::RegD(_) => assigned.contains(&id),
            _ => false,
        };
        if here {
            rows.extend(unread_parts(&s.name, s.width, used.bits.get(&id)));
        }
    }
    unused_wire(&rows)
}

/// The parts of a signal that nothing reads.
fn unread_parts(name: &str, width: usize, read: Option<&BigUint>) -> Vec<String> {
    let unread = mask(width) ^ read.cloned().unwrap_or_default();
    if unread == mask(width) {
        return vec![name.to_owned()];
    }
    let mut out = vec![];
    let mut at = width;
    while at > 0 {
        at -= 1;
        if !unread.bit(at as u64) {
            continue;
        }
        let top = at;
        while at > 0 && unread.bit(at as u64 - 1) {
            at -= 1;
        }
        out.push(if top == at {
            format!("{name}[{at}]")
        } else {
            format!("{name}[{top}:{at}]")
        });
    }
    out
}

/// The idiom that all linters take for "unused on purpose".
pub(super) fn unused_wire(parts: &[String]) -> String {
    if parts.is_empty() {
        return String::new();
    }
    let mut out = String::from("    wire _unused = &{1'b0");
    let mut column = out.len();
    for part in parts {
        if column + part.len() + 2 > COLUMNS {
            out.push_str(",\n        ");
            column = 8;
        } else {
            out.push_str(", ");
            column += 2;
        }
        out.push_str(part);
        column += part.len();
    }
    out.push_str("};\n");
    out
}
