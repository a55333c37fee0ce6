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
use super::signals::Kind as SigKind;
use super::stmt;
use super::usage::{Usage, unused, usage};

/// `section` under a comment line, if it says anything.
fn section(title: &str, body: &str, out: &mut String) {
    if !body.is_empty() {
        out.push_str(&format!("\n    // {title}\n{body}"));
    }
}

/// The whole file of a planned module.
pub(super) fn module(name: &str, info: Option<&ModuleInfo>, plan: &Plan) -> String {
    let signals = &plan.signals;
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
    port_list(name, &plan.ports, signals, &reg_ports, &mut out);

    section("Constants", &params(plan, &used), &mut out);
    section("Registers", &registers(plan), &mut out);
    section("Signals", &wires(plan, &procedural), &mut out);
    let instances = instances(plan);
    if !instances.is_empty() {
        out.push_str(&instances);
    }
    section("Combinational logic", &comb(plan), &mut out);
    let clocked: Vec<String> = plan
        .clocked
        .iter()
        .map(|c| clocked(plan, c))
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
    out
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

/// A declaration.
fn declare(kind: &str, plan: &Plan, s: SigId, width: usize, out: &mut String) {
    let sig = &plan.signals.list[s];
    let named = format!("{}{};", range(sig.width), sig.name);
    let mut doc = sig.doc.join(" ");
    if let TypeKind::Composite(_) = sig.ty.kind {
        doc = format!("{doc} ({})", sig.ty.name).trim().to_owned();
    }
    with_doc(&format!("    {kind} {named:<width$}"), &doc, "    ", out);
}

fn registers(plan: &Plan) -> String {
    let width = plan
        .regs
        .iter()
        .map(|r| decl_len(plan, r.q))
        .max()
        .unwrap_or(0);
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
        declare("reg ", plan, r.q, width, &mut out);
    }
    out
}

fn decl_len(plan: &Plan, s: SigId) -> usize {
    let sig = &plan.signals.list[s];
    range(sig.width).len() + sig.name.len() + 1
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
    let width = shown.iter().map(|s| decl_len(plan, *s)).max().unwrap_or(0);
    let mut out = String::new();
    for s in shown {
        let kind = if procedural.contains(&s) {
            "reg "
        } else {
            "wire"
        };
        declare(kind, plan, s, width, &mut out);
    }
    out
}

fn instances(plan: &Plan) -> String {
    let print = Printer::new(&plan.signals);
    let mut out = String::new();
    for inst in &plan.instances {
        out.push('\n');
        comment(&inst.doc, "    ", &mut out);
        out.push_str(&format!("    {} {} (\n", inst.module, inst.name));
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
                format!("        .{:<width$} ({to})", p.name)
            })
            .collect();
        out.push_str(&rows.join(",\n"));
        out.push_str("\n    );\n");
    }
    out
}

fn comb(plan: &Plan) -> String {
    let print = Printer::new(&plan.signals);
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
                    for c in &s.comments {
                        out.push_str(&format!("    // {c}\n"));
                    }
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

fn clocked(plan: &Plan, c: &Clocked) -> String {
    let rename: BTreeMap<SigId, SigId> = plan.regs.iter().map(|r| (r.d, r.q)).collect();
    let print = Printer {
        signals: &plan.signals,
        rename,
        assign: "<=",
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
        let mut text = format!("        if ({}) begin\n", name(*rst));
        for (r, value) in list {
            text.push_str(&format!(
                "            {} <= {};\n",
                name(r.q),
                print.expr(value)
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
