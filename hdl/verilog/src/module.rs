//! One module: from a block of rust-hdl to the plan of its Verilog text.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use num_bigint::BigUint;
use rust_hdl::prelude::{AtomKind, TypeDescriptor, TypeKind, Verilog};

use crate::info::Parameter;

use super::deps::{self, Deps};
use super::error::{EmitError, Reason};
use super::expr::{Expr, SigId, mask};
use super::infer::Lower;
use super::lower;
use super::names;
use super::order;
use super::parts;
use super::record;
use super::regs::{self, Clocked, Reg};
use super::signals::{self, Kind as SigKind, Sig, Signals};
use super::stmt::{self, Comment, Kind, Stmt};
use super::tree::Scope;

/// A port as the parent sees it.
#[derive(Clone, Debug)]
pub(super) struct Port {
    /// rust-hdl's flat name.
    pub key: String,
    /// Verilog name.
    pub name: String,
    pub doc: String,
    /// Name of the bus that it belongs to, and what the block says of it.
    pub bus: Option<(String, String)>,
    pub input: bool,
    pub width: usize,
    /// The parameter that is its width.
    pub parameter: Option<String>,
    pub ty: TypeDescriptor,
    /// For an output: the inputs that reach it without a register, by key.
    pub through: BTreeSet<String>,
}

/// A child module and where it stands.
#[derive(Clone, Debug)]
pub(super) struct Instance {
    /// Verilog instance name.
    pub name: String,
    pub module: String,
    pub parameters: Vec<Parameter>,
    pub doc: Vec<String>,
    /// Ports with the signal of this module that each belongs to.
    pub ports: Vec<(Port, SigId)>,
}

/// Everything that the text of a module needs.
pub(super) struct Plan {
    pub signals: Signals,
    pub instances: Vec<Instance>,
    pub regs: Vec<Reg>,
    /// Instance inputs that are connected to an expression directly.
    pub inline: BTreeMap<SigId, Expr>,
    /// Instance outputs that drive a signal of this module and nothing else.
    pub alias: BTreeMap<SigId, SigId>,
    /// What is said of either.
    pub comments: BTreeMap<SigId, Vec<Comment>>,
    /// Everything that the kernel says.
    pub all_comments: Vec<Comment>,
    /// Combinational blocks in text order.
    pub comb: Vec<Comb>,
    pub clocked: Vec<Clocked>,
    pub ports: Vec<Port>,
}

/// A combinational block.
pub(super) enum Comb {
    /// Unconditional assignments: `assign`.
    Wires(Vec<Stmt>),
    /// `always @(*)`.
    Always(Vec<SigId>, Vec<Stmt>),
}

/// A block already emitted.
pub(super) struct Emitted {
    pub module: String,
    pub parameters: Vec<Parameter>,
    pub ports: Vec<Port>,
    /// Every name in it and below it.
    pub names: BTreeSet<String>,
}

/// A child already emitted.
pub(super) struct Child<'a> {
    pub scope: &'a Scope,
    pub emitted: Emitted,
}

/// Puts a block's name on a reason.
pub(super) type Fail<'a> = &'a dyn Fn(Option<String>, Reason) -> EmitError;

fn at<T>(fail: Fail<'_>, key: &str, r: Result<T, Reason>) -> Result<T, EmitError> {
    r.map_err(|reason| fail(Some(names::rust_path(key)), reason))
}

/// Doc comment of a field; of a signal of a bus as `bus.signal`.
fn said<'a>(scope: &'a Scope, field: &str) -> Option<&'a [String]> {
    let mut fields = scope.info.iter().flat_map(|i| &i.fields);
    let (_, doc) = fields.find(|(name, _)| name == field)?;
    Some(doc)
}

/// The field that a signal or child comes from and, if that is a bus, the bus's signal.
fn field_of(key: &str) -> (&str, Option<String>) {
    let mut parts = key.split('$').filter(|part| part.parse::<usize>().is_err());
    let field = parts.next().unwrap_or(key);
    (
        field,
        parts.next().map(|signal| format!("{field}.{signal}")),
    )
}

/// What is said of a signal or child.
fn doc_of(scope: &Scope, key: &str) -> Vec<String> {
    let (field, signal) = field_of(key);
    let signal = signal.and_then(|signal| said(scope, &signal));
    let found = signal.or_else(|| said(scope, field));
    found.map(<[String]>::to_vec).unwrap_or_default()
}

/// The bus that a port belongs to, and what is said of it.
fn bus_of(scope: &Scope, key: &str) -> Option<(String, String)> {
    let (field, signal) = field_of(key);
    said(scope, &signal?)?;
    let doc = said(scope, field).unwrap_or_default();
    Some((field.to_owned(), doc.join(" ")))
}

/// Adds the block's own signals and constants. Ports come first: their names are fixed.
pub(super) fn own_signals(
    scope: &Scope,
    signals: &mut Signals,
    fail: Fail<'_>,
) -> Result<(), EmitError> {
    for ports in [true, false] {
        for a in scope
            .atoms
            .iter()
            .filter(|a| a.kind.is_parameter() == ports)
        {
            let doc = doc_of(scope, &a.key);
            if a.kind == AtomKind::Constant {
                let signed = matches!(a.ty.kind, TypeKind::Signed(_));
                at(
                    fail,
                    &a.key,
                    signals.add_constant(&a.key, a.value.clone(), a.width, signed, doc),
                )?;
                at(fail, &a.key, signals.add_enums(&a.ty))?;
                continue;
            }
            let Some(kind) = signals::own_kind(a.kind) else {
                return Err(fail(
                    Some(names::rust_path(&a.key)),
                    Reason::Unsupported("an `InOut` signal".into()),
                ));
            };
            let add = |signals: &mut Signals, key: &str, flat: &str, ty: &TypeDescriptor, doc| {
                let name = if ports {
                    signals.names.exact(flat)
                } else {
                    signals.names.fresh(flat)
                };
                let sig = Sig {
                    key: key.to_owned(),
                    name: at(fail, key, name)?,
                    kind,
                    width: signals::type_width(&ty.kind),
                    ty: ty.clone(),
                    doc,
                    driver: None,
                    may_go: kind == SigKind::Local && key != a.key,
                };
                at(fail, key, signals.add(sig))
            };
            if record::fields(&a.ty).is_none() {
                add(signals, &a.key, &names::flatten(&a.key), &a.ty, doc)?;
                continue;
            }
            let stem = record::stem(&a.key);
            // Of a bus its heading says it.
            let mut whole = match stem == a.key {
                true => doc,
                false => vec![],
            };
            signals.add_record(&a.key, &a.ty, &mut |signals, key, ty, doc| {
                let flat = names::flatten(&key.replacen(&a.key, stem, 1));
                let mut said = std::mem::take(&mut whole);
                said.push(doc.to_owned());
                add(signals, key, &flat, ty, said)
            })?;
        }
    }
    for a in &scope.atoms {
        at(fail, &a.key, signals.add_enums(&a.ty))?;
    }
    Ok(())
}

fn add_regs(scope: &Scope, signals: &mut Signals, fail: Fail<'_>) -> Result<Vec<Reg>, EmitError> {
    let mut out: Vec<Reg> = vec![];
    for child in &scope.children {
        let Some(clock) = regs::clock_port(child) else {
            continue;
        };
        let doc = doc_of(scope, &child.name);
        let init = at(fail, &child.name, regs::initial_value(child))?;
        let whole = child.name.as_str();
        let add = |signals: &mut Signals,
                   (key, flat): (&str, &str),
                   suffix: &str,
                   kind: SigKind,
                   ty: &TypeDescriptor,
                   doc: &[String]|
         -> Result<SigId, EmitError> {
            at(fail, key, signals.add_enums(ty))?;
            let base = flat.strip_suffix("_reg").unwrap_or(flat);
            let name = at(fail, key, signals.names.fresh(&format!("{base}_{suffix}")))?;
            let sig = Sig {
                key: key.to_owned(),
                name,
                kind,
                width: signals::type_width(&ty.kind),
                ty: ty.clone(),
                doc: doc.to_vec(),
                driver: None,
                may_go: false,
            };
            at(fail, key, signals.add(sig))
        };
        let port = |name: &str| match child.port(name) {
            Some(port) => Ok(port),
            None => {
                let key = format!("{whole}${name}");
                Err(fail(Some(names::rust_path(&key)), Reason::Undriven))
            }
        };
        let (q, d, clk) = (port("q")?, port("d")?, port(clock)?);
        let key = |name: &str| format!("{whole}${name}");
        let flat = names::flatten(whole);
        let index = out.len();
        let kinds = [SigKind::RegQ(index), SigKind::RegD(index)];
        if record::fields(&q.ty).is_none() {
            let q = add(signals, (&key("q"), &flat), "reg", kinds[0], &q.ty, &doc)?;
            let d = add(signals, (&key("d"), &flat), "next", kinds[1], &d.ty, &doc)?;
            let named = (key(clock), flat.as_str());
            let clk = add(
                signals,
                (&named.0, named.1),
                "clock",
                SigKind::RegClk(index),
                &clk.ty,
                &doc,
            )?;
            out.push(Reg { d, q, clk, init });
            continue;
        }
        let mut ids = vec![];
        for (end, suffix, kind) in [("q", "reg", kinds[0]), ("d", "next", kinds[1])] {
            let root = key(end);
            let mut whole_doc = doc.clone();
            let record = signals.add_record(&root, &q.ty, &mut |signals, part, ty, doc| {
                let path = part.strip_prefix(&root).unwrap_or(part);
                let flat = names::flatten(&format!("{whole}{path}"));
                let mut said = std::mem::take(&mut whole_doc);
                said.push(doc.to_owned());
                let sig = add(signals, (part, &flat), suffix, kind, ty, &said)?;
                signals.list[sig].may_go = true;
                Ok(sig)
            })?;
            ids.push(record);
        }
        let clk = add(
            signals,
            (&key(clock), &flat),
            "clock",
            SigKind::RegClk(index),
            &clk.ty,
            &doc,
        )?;
        let mut lo = 0;
        let both = signals.records[ids[0]]
            .parts
            .iter()
            .zip(&signals.records[ids[1]].parts);
        for ((q, width), (d, _)) in both {
            if let (Some(q), Some(d)) = (*q, *d) {
                let init = (&init >> lo) & mask(*width);
                out.push(Reg { d, q, clk, init });
            }
            lo += width;
        }
    }
    Ok(out)
}

fn add_instances(
    scope: &Scope,
    children: &[Child<'_>],
    signals: &mut Signals,
    fail: Fail<'_>,
) -> Result<Vec<Instance>, EmitError> {
    let mut out = vec![];
    for (index, child) in children.iter().enumerate() {
        let mut flat = names::flatten(&child.scope.name);
        // A name inside an instance of the same name hides it, which linters dislike.
        if child.emitted.names.contains(&flat) {
            flat.push_str("_inst");
        }
        let name = at(fail, &child.scope.name, signals.names.fresh(&flat))?;
        let mut ports = vec![];
        for port in &child.emitted.ports {
            let key = format!("{}${}", child.scope.name, port.key);
            at(fail, &key, signals.add_enums(&port.ty))?;
            let sig = Sig {
                name: at(
                    fail,
                    &key,
                    signals.names.fresh(&format!("{name}_{}", port.name)),
                )?,
                kind: if port.input {
                    SigKind::InstIn(index)
                } else {
                    SigKind::InstOut(index)
                },
                width: port.width,
                ty: port.ty.clone(),
                doc: vec![port.doc.clone()],
                driver: None,
                may_go: false,
                key,
            };
            let key = sig.key.clone();
            ports.push((port.clone(), at(fail, &key, signals.add(sig))?));
        }
        for atom in &child.scope.atoms {
            if atom.kind.is_parameter() && record::fields(&atom.ty).is_some() {
                let key = format!("{}${}", child.scope.name, atom.key);
                signals.add_record(&key, &atom.ty, &mut |signals, part, _, _| {
                    let sig = signals.by_key(part);
                    sig.ok_or_else(|| fail(Some(names::rust_path(part)), Reason::Undriven))
                })?;
            }
        }
        out.push(Instance {
            name,
            module: child.emitted.module.clone(),
            parameters: child.emitted.parameters.clone(),
            doc: doc_of(scope, &child.scope.name),
            ports,
        });
    }
    Ok(out)
}

/// The ports of a block, in the order of the text, before anything is known of their paths.
pub(super) fn ports(scope: &Scope, signals: &Signals) -> Vec<Port> {
    let own = signals
        .list
        .iter()
        .filter(|s| matches!(s.kind, SigKind::Input | SigKind::Output));
    let ports = own.map(|s| Port {
        key: s.key.clone(),
        name: s.name.clone(),
        doc: s.doc.join(" "),
        bus: bus_of(scope, &s.key),
        input: s.kind == SigKind::Input,
        width: s.width,
        parameter: None,
        ty: s.ty.clone(),
        through: BTreeSet::new(),
    });
    let mut ports: Vec<Port> = ports.collect();
    order::order(&mut ports);
    ports
}

/// Plans a block with a kernel (or none).
pub(super) fn plan(
    scope: &Scope,
    children: &[Child<'_>],
    fail: Fail<'_>,
) -> Result<Plan, EmitError> {
    let mut signals = Signals::default();
    own_signals(scope, &mut signals, fail)?;
    let mut regs = add_regs(scope, &mut signals, fail)?;
    let instances = add_instances(scope, children, &mut signals, fail)?;

    let code = match &scope.code {
        Verilog::Combinatorial(code) => code.as_slice(),
        _ => &[],
    };
    let mut kernel = Lower {
        signals: &mut signals,
        loops: vec![],
        hint: String::new(),
    };
    let stmts = lower::lower(&mut kernel, code, fail)?;
    let all_comments = stmt::all_comments(&stmts);
    let stmts = wires(scope, &signals, &regs, &instances, stmts);
    let stmts = stmt::drop_overridden(stmts, &|s| signals.list[s].width);
    let stmts = parts::rename(&mut signals, stmts);
    let stmts = parts::drop_unread(&mut signals, &mut regs, stmts);
    check_driven(&signals, &stmts, fail)?;
    let stmts = take_clocks(&signals, stmts, &mut regs, fail)?;

    let mut deps = Deps::default();
    deps.add_stmts(&stmts);
    deps.add_helpers(&signals);
    for inst in &instances {
        for (port, sig) in &inst.ports {
            let inputs = inst
                .ports
                .iter()
                .filter(|(p, _)| port.through.contains(&p.key));
            let through: BTreeSet<SigId> = inputs.map(|(_, s)| *s).collect();
            if !through.is_empty() {
                deps.of.insert(*sig, through);
            }
        }
    }
    if let Some((sig, way)) = deps.find_loop(&signals) {
        return Err(fail(
            Some(names::rust_path(&signals.list[sig].key)),
            Reason::Loop(way),
        ));
    }
    let mut ports = ports(scope, &signals);
    for p in ports.iter_mut().filter(|p| !p.input) {
        let cone = signals
            .by_key(&p.key)
            .map(|s| deps.cone(s))
            .unwrap_or_default();
        let inputs = cone
            .iter()
            .filter(|s| signals.list[**s].kind == SigKind::Input);
        p.through = inputs.map(|s| signals.list[*s].key.clone()).collect();
    }
    let mut plan = Plan {
        signals,
        instances,
        regs,
        inline: BTreeMap::new(),
        alias: BTreeMap::new(),
        all_comments,
        comments: BTreeMap::new(),
        comb: vec![],
        clocked: vec![],
        ports,
    };
    plan.place(stmts, &deps);
    Ok(plan)
}

/// The kernel between what comes by itself: clock and reset of registers and instances before it, the registers that the
/// reset clears behind it. See `Wired`.
fn wires(
    scope: &Scope,
    signals: &Signals,
    regs: &[Reg],
    instances: &[Instance],
    kernel: Vec<Stmt>,
) -> Vec<Stmt> {
    let own = |name: &str| {
        let sig = signals.by_key(name)?;
        (signals.list[sig].kind == SigKind::Input).then_some(sig)
    };
    let assign = |sig: SigId, value: Expr| Stmt {
        comments: vec![],
        kind: Kind::Assign { sig, lo: 0, value },
    };
    let copy = |sig: SigId, of: SigId| assign(sig, Expr::Sig(of, signals.list[of].width));
    let mut out = vec![];
    if let Some(clk) = own("clk") {
        let clocks: BTreeSet<SigId> = regs.iter().map(|reg| reg.clk).collect();
        out.extend(clocks.into_iter().map(|reg| copy(reg, clk)));
        out.extend(regs.iter().map(|reg| copy(reg.d, reg.q)));
    }
    let ports = instances.iter().flat_map(|instance| &instance.ports);
    for (port, sig) in ports.filter(|(port, _)| port.input) {
        if let (true, Some(from)) = (matches!(port.key.as_str(), "clk" | "rst"), own(&port.key)) {
            out.push(copy(*sig, from));
        }
    }
    out.extend(kernel);
    let cleared = |reg: &&Reg| {
        let key = signals.list[reg.d].key.split('$').next();
        let named = scope.info.iter().flat_map(|info| &info.resets);
        named.into_iter().any(|field| key == Some(field))
    };
    let then: Vec<Stmt> = regs
        .iter()
        .filter(cleared)
        .filter_map(|reg| {
            Some((
                reg.d,
                Expr::literal(&reg.init.clone().into(), signals.list[reg.d].width).ok()?,
            ))
        })
        .map(|(sig, value)| assign(sig, value))
        .collect();
    if let (Some(rst), false) = (own("rst"), then.is_empty()) {
        out.push(Stmt {
            comments: vec![],
            kind: Kind::If {
                cond: Expr::Sig(rst, 1),
                then,
                otherwise: vec![],
            },
        });
    }
    out
}

/// Everything that must be driven is, on every path.
fn check_driven(signals: &Signals, stmts: &[Stmt], fail: Fail<'_>) -> Result<(), EmitError> {
    let mut read = BTreeSet::new();
    let mut note = |e: &Expr| {
        e.reads(&mut |s, _, _| {
            read.insert(s);
        });
    };
    stmt::each_expr(stmts, &mut note);
    signals
        .list
        .iter()
        .filter_map(|s| s.driver.as_ref())
        .for_each(note);
    let assigned: BTreeSet<SigId> = stmt::targets(stmts).into_iter().collect();
    let always = stmt::always_assigned(stmts);
    for (id, s) in signals.list.iter().enumerate() {
        let name = Some(names::rust_path(&s.key));
        if assigned.contains(&id) {
            let missing = mask(s.width) ^ always.get(&id).cloned().unwrap_or_default();
            if missing != BigUint::ZERO {
                return Err(fail(name, Reason::Latch(bit_list(&missing, s.width))));
            }
            continue;
        }
        let must = match s.kind {
            SigKind::Output | SigKind::InstIn(_) | SigKind::RegD(_) | SigKind::RegClk(_) => true,
            SigKind::Local => read.contains(&id),
            _ => false,
        };
        if must {
            return Err(fail(name, Reason::Undriven));
        }
    }
    Ok(())
}

/// `7..4, 0` for the bits that are set.
fn bit_list(bits: &BigUint, width: usize) -> String {
    let mut out: Vec<String> = vec![];
    let mut at = width;
    while at > 0 {
        at -= 1;
        if !bits.bit(at as u64) {
            continue;
        }
        let top = at;
        while at > 0 && bits.bit(at as u64 - 1) {
            at -= 1;
        }
        out.push(if top == at {
            top.to_string()
        } else {
            format!("{top}..{at}")
        });
    }
    out.join(", ")
}

/// Removes the assignments to register clocks and gives each register its clock signal.
fn take_clocks(
    signals: &Signals,
    stmts: Vec<Stmt>,
    regs: &mut [Reg],
    fail: Fail<'_>,
) -> Result<Vec<Stmt>, EmitError> {
    let mut counts: HashMap<SigId, usize> = HashMap::new();
    stmt::each_assign(&stmts, &mut |s, _, _| *counts.entry(s).or_default() += 1);
    let sources = stmts.iter().filter_map(|s| match &s.kind {
        Kind::Assign {
            sig,
            value: Expr::Sig(source, _),
            ..
        } => Some((*sig, *source)),
        _ => None,
    });
    let sources: HashMap<SigId, SigId> = sources.collect();
    for reg in regs.iter_mut() {
        match sources.get(&reg.clk) {
            Some(source) if counts[&reg.clk] == 1 => reg.clk = *source,
            _ => {
                let name = names::rust_path(&signals.list[reg.clk].key);
                return Err(fail(Some(name), Reason::Clock));
            }
        }
    }
    Ok(stmt::retain(stmts, &|_, s| {
        deps::is_logic(signals.list[s].kind)
    }))
}
