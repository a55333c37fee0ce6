//! The text of a module: declarations, instances, logic.

use std::collections::{BTreeMap, BTreeSet};

use num_bigint::BigUint;
use rust_hdl::prelude::TypeKind;

use crate::info::ModuleInfo;

use super::expr::SigId;
use super::module::{Comb, Plan};
use super::ports::{comment, footer, header, port_list, with_doc};
use super::print::{Printer, literal, range};
use super::regs::Clocked;
use super::said::Said;
use super::signals::Kind as SigKind;
use super::stmt;
use super::usage::{Usage, unused, usage};

/// `section` under a comment line, if it says anything.
fn section(title: &str, body: &str, out: &mut String) {
    if !body.is_empty() {
        out.push_str(&format!("\n    // {title}\n{body}"));
    }
}

/// The whole file of a planned module, and the comments of its kernel that found no place in it.
pub(super) fn module(name: &str, info: Option<&ModuleInfo>, plan: &Plan) -> (String, Vec<String>) {
    let signals = &plan.signals;
    let said = Said::default();
    let used = usage(plan);
    let procedural: BTreeSet<SigId> = plan
        .comb
        .iter()
        .flat_map(|c| match c {
            Comb::Always(sigs, _) => sigs.clone(),
            Comb::Wires(_) => vec![],
        })
        .collect();
    let mut out = String::new();
    header(name, info, &mut out);
    let reg_ports = procedural
        .iter()
        .map(|s| signals.list[*s].name.clone())
        .collect();
    port_list(name, &[], &plan.ports, &reg_ports, &mut out);

    section("Constants", &params(plan, &used), &mut out);
    section("Registers", &registers(plan), &mut out);
    section("Signals", &wires(plan, &procedural), &mut out);
    let instances = instances(plan, &said);
    if !instances.is_empty() {
        out.push_str(&instances);
    }
    section("Combinational logic", &comb(plan, &said), &mut out);
    let clocked: Vec<String> = plan
        .clocked
        .iter()
        .map(|c| clocked(plan, c, &said))
        .filter(|t| !t.is_empty())
        .collect();
    let mut clocked = clocked.join("\n");
    let init = initial(plan);
    if !init.is_empty() {
        clocked = if clocked.is_empty() {
            init
        } else {
            format!("{init}\n{clocked}")
        };
    }
    section("Clocked logic", &clocked, &mut out);
    section(
        "Read by nothing; named here so that linters know it is meant",
        &unused(plan, &used),
        &mut out,
    );
    footer(&mut out);
    let lost = said.left_of(&plan.all_comments);
    (out, lost)
}

fn params(plan: &Plan, used: &Usage) -> String {
    let list = &plan.signals.params;
    let shown: Vec<_> = used.params.iter().map(|p| &list[*p]).collect();
    let width = shown
        .iter()
        .map(|p| p.name.len() + range(p.width).len())
        .max()
        .unwrap_or(0);
    let mut out = String::new();
    for p in shown {
        let named = format!("{}{}", range(p.width), p.name);
        let line = format!(
            "    localparam {named:<width$} = {};",
            literal(&p.value, p.width)
        );
        with_doc(&line, &p.doc.join(" "), "    ", &mut out);
    }
    out
}

/// Columns of declarations: their ranges, and their names with what stands behind.
struct Columns {
    range: usize,
    name: usize,
}

impl Columns {
    fn of(plan: &Plan, signals: &[SigId]) -> Self {
        let all = || signals.iter().map(|s| &plan.signals.list[*s]);
        Self {
            range: all().map(|s| range(s.width).len()).max().unwrap_or(0),
            name: all().map(|s| s.name.len() + 1).max().unwrap_or(0),
        }
    }
}

/// A declaration.
fn declare(kind: &str, plan: &Plan, s: SigId, columns: &Columns, out: &mut String) {
    let sig = &plan.signals.list[s];
    let bits = range(sig.width);
    let named = format!("{};", sig.name);
    let mut doc = sig.doc.join(" ");
    if let TypeKind::Composite(_) = sig.ty.kind {
        doc = format!("{doc} ({})", sig.ty.name).trim().to_owned();
    }
    let Columns { range, name } = columns;
    let line = format!("    {kind} {bits:<range$}{named:<name$}");
    with_doc(&line, &doc, "    ", out);
}

fn registers(plan: &Plan) -> String {
    let all: Vec<SigId> = plan.regs.iter().map(|r| r.q).collect();
    let columns = Columns::of(plan, &all);
    // Of states that a reset sets, the encoding is free.
    let reset: BTreeSet<SigId> = plan
        .clocked
        .iter()
        .flat_map(|c| c.resets.iter().flat_map(|(_, regs)| regs))
        .map(|(r, _)| r.q)
        .collect();
    let mut out = String::new();
    for r in &plan.regs {
        let kind = &plan.signals.list[r.q].ty.kind;
        if matches!(kind, TypeKind::Enum(_)) && reset.contains(&r.q) {
            out.push_str("    (* fsm_encoding = \"auto\" *)\n");
        }
        declare("reg ", plan, r.q, &columns, &mut out);
    }
    out
}

fn wires(plan: &Plan, procedural: &BTreeSet<SigId>) -> String {
    let nexts: BTreeSet<SigId> = plan
        .clocked
        .iter()
        .flat_map(|c| c.nexts.iter().map(|r| r.d))
        .collect();
    let assigned = plan.assigned();
    let shown: Vec<SigId> = (0..plan.signals.list.len())
        .filter(|s| match plan.signals.list[*s].kind {
            SigKind::Local => assigned.contains(s),
            SigKind::Helper => true,
            SigKind::InstOut(_) => !plan.alias.contains_key(s),
            SigKind::InstIn(_) => !plan.inline.contains_key(s),
            SigKind::RegD(_) => nexts.contains(s),
            _ => false,
        })
        .collect();
    let columns = Columns::of(plan, &shown);
    let mut out = String::new();
    for s in shown {
        let kind = if procedural.contains(&s) {
            "reg "
        } else {
            "wire"
        };
        declare(kind, plan, s, &columns, &mut out);
    }
    out
}

fn instances(plan: &Plan, said: &Said) -> String {
    let print = Printer::new(&plan.signals, said);
    let mut out = String::new();
    for inst in &plan.instances {
        out.push('\n');
        comment(&inst.doc, "    ", &mut out);
        let values: Vec<String> = inst
            .parameters
            .iter()
            .map(|p| format!(".{}({})", p.name, p.value))
            .collect();
        let values = match values.is_empty() {
            true => String::new(),
            false => format!("#({}) ", values.join(", ")),
        };
        out.push_str(&format!("    {} {values}{} (\n", inst.module, inst.name));
        let width = inst
            .ports
            .iter()
            .map(|(p, _)| p.name.len())
            .max()
            .unwrap_or(0);
        let rows: Vec<String> = inst
            .ports
            .iter()
            .map(|(p, s)| {
                let to = match plan.inline.get(s) {
                    Some(e) => print.expr(e),
                    None => {
                        let net = plan.alias.get(s).unwrap_or(s);
                        plan.signals.list[*net].name.clone()
                    }
                };
                let mut row = String::new();
                let comments = plan.comments.get(s).map(Vec::as_slice);
                said.say(comments.unwrap_or_default(), "        ", &mut row);
                row + &format!("        .{:<width$} ({to})", p.name)
            })
            .collect();
        out.push_str(&rows.join(",\n"));
        out.push_str("\n    );\n");
    }
    out
}

fn comb(plan: &Plan, said: &Said) -> String {
    let print = Printer::new(&plan.signals, said);
    let mut out = String::new();
    for (id, s) in plan.signals.list.iter().enumerate() {
        if let Some(e) = &s.driver {
            out.push_str(&format!("    assign {}", print.assignment(id, 0, e, 1)));
        }
    }
    for c in &plan.comb {
        match c {
            Comb::Wires(body) => {
                for s in body {
                    said.say(&s.comments, "    ", &mut out);
                    if let stmt::Kind::Assign { sig, lo, value } = &s.kind {
                        out.push_str(&format!(
                            "    assign {}",
                            print.assignment(*sig, *lo, value, 1)
                        ));
                    }
                }
            }
            Comb::Always(_, body) => {
                if !out.is_empty() && !out.ends_with("\n\n") {
                    out.push('\n');
                }
                out.push_str("    always @(*) begin\n");
                print.stmts(body, 2, &mut BTreeMap::new(), &mut out);
                out.push_str("    end\n\n");
            }
        }
    }
    while out.ends_with("\n\n") {
        out.pop();
    }
    out
}

fn initial(plan: &Plan) -> String {
    if plan.regs.is_empty() {
        return String::new();
    }
    let mut out = String::from("    initial begin\n");
    for r in &plan.regs {
        let q = &plan.signals.list[r.q];
        out.push_str(&format!(
            "        {} = {};\n",
            q.name,
            constant(plan, r.q, &r.init)
        ));
    }
    out.push_str("    end\n");
    out
}

/// A literal for a signal.
fn constant(plan: &Plan, s: SigId, value: &BigUint) -> String {
    literal(value, plan.signals.list[s].width)
}

fn clocked(plan: &Plan, c: &Clocked, said: &Said) -> String {
    let rename: BTreeMap<SigId, SigId> = plan.regs.iter().map(|r| (r.d, r.q)).collect();
    let print = Printer {
        signals: &plan.signals,
        rename,
        assign: "<=",
        said,
    };
    let name = |s: SigId| plan.signals.list[s].name.as_str();
    let mut parts: Vec<String> = vec![];
    let mut simple = String::new();
    for body in &c.bodies {
        let mut text = String::new();
        print.stmts(body, 2, &mut BTreeMap::new(), &mut text);
        if text.lines().count() == 1 {
            simple.push_str(&text);
        } else {
            if !simple.is_empty() {
                parts.push(std::mem::take(&mut simple));
            }
            parts.push(text);
        }
    }
    for r in &c.nexts {
        simple.push_str(&format!("        {} <= {};\n", name(r.q), name(r.d)));
    }
    if !simple.is_empty() {
        parts.push(simple);
    }
    for (rst, list) in &c.resets {
        let mut text = String::new();
        for (_, reset) in list {
            said.say(&reset.head, "        ", &mut text);
        }
        text.push_str(&format!("        if ({}) begin\n", name(*rst)));
        for (r, reset) in list {
            said.say(&reset.comments, "            ", &mut text);
            text.push_str(&format!(
                "            {} <= {};\n",
                name(r.q),
                print.expr(&reset.value)
            ));
        }
        text.push_str("        end\n");
        parts.push(text);
    }
    if parts.is_empty() {
        return String::new();
    }
    format!(
        "    always @(posedge {}) begin\n{}    end\n",
        name(c.clk),
        parts.join("\n")
    )
}
