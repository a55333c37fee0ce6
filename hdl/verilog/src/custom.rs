//! Blocks whose body is Verilog text of their own, such as memories.

use std::collections::BTreeSet;

use crate::info::Parameter;

use super::error::EmitError;
use super::module::{self, Fail, Port};
use super::ports::{footer, header, port_list};
use super::signals::{Kind as SigKind, Signals};
use super::tree::Scope;
use super::usage::unused_wire;

/// The identifiers of a text, comments included (a name in a comment counts as use: harmless).
fn words(body: &str) -> BTreeSet<&str> {
    body.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '$'))
        .collect()
}

/// Text and ports of a block with custom Verilog.
pub(super) fn emit(
    name: &str,
    scope: &Scope,
    body: &str,
    parameters: &[Parameter],
    fail: Fail<'_>,
) -> Result<(String, Vec<Port>, BTreeSet<String>), EmitError> {
    let mut signals = Signals::default();
    module::own_signals(scope, &mut signals, fail)?;
    let mut body = body.trim_end().to_owned();
    for s in signals.list.iter().filter(|s| s.key.contains('$')) {
        body = body.replace(&s.key, &s.name);
    }
    let used = words(&body);
    let outputs: Vec<&str> = signals
        .list
        .iter()
        .filter(|s| s.kind == SigKind::Output)
        .map(|s| s.name.as_str())
        .collect();
    let wires: BTreeSet<&str> = body
        .split("assign ")
        .skip(1)
        .filter_map(|rest| {
            rest.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
                .next()
        })
        .collect();
    let regs = outputs
        .iter()
        .filter(|o| !wires.contains(*o))
        .map(|o| (*o).to_owned())
        .collect();

    let mut ports = module::ports(scope, &signals);
    for port in &mut ports {
        let width = parameters.iter().find(|p| p.ports.contains(&port.name));
        port.parameter = width.map(|p| p.name.clone());
    }
    // What is assigned with `<=` depends on nothing in the same clock.
    let registered = |name: &str| {
        body.lines()
            .any(|l| l.trim_start().starts_with(&format!("{name} <=")))
    };
    let inputs = ports.iter().filter(|p| p.input).map(|p| p.key.clone());
    let inputs: BTreeSet<String> = inputs.collect();
    for p in ports.iter_mut().filter(|p| !p.input) {
        if !registered(&p.name) {
            p.through = inputs.clone();
        }
    }

    let mut out = String::new();
    header(name, scope.info.as_ref(), &mut out);
    port_list(name, parameters, &ports, &regs, &mut out);
    out.push('\n');
    for line in body.lines() {
        if line.trim().is_empty() {
            out.push('\n');
        } else {
            out.push_str(&format!("    {}\n", line.trim_end()));
        }
    }
    let unread: Vec<String> = signals
        .list
        .iter()
        .filter(|s| s.kind == SigKind::Input && !used.contains(s.name.as_str()))
        .map(|s| s.name.clone())
        .collect();
    let unused = unused_wire(&unread);
    if !unused.is_empty() {
        out.push_str(&format!("\n{unused}"));
    }
    footer(&mut out);
    let names = used.into_iter().map(str::to_owned);
    let names = names.chain(signals.names.taken().cloned()).collect();
    Ok((out, ports, names))
}
