//! The block hierarchy as rust-hdl's probe shows it.

use num_bigint::BigUint;
use rust_hdl::prelude::*;

use crate::info::ModuleInfo;

/// One signal of a block.
#[derive(Clone, Debug)]
pub(super) struct AtomInfo {
    /// Flat name with rust-hdl's `$` between the parts.
    pub key: String,
    pub kind: AtomKind,
    pub width: usize,
    pub ty: TypeDescriptor,
    /// Value of a `Constant`.
    pub value: BigUint,
}

/// One block.
pub(super) struct Scope {
    /// Field name in the parent, `lanes$0` for an element of a vector.
    pub name: String,
    pub atoms: Vec<AtomInfo>,
    pub children: Vec<Scope>,
    pub code: Verilog,
    pub info: Option<ModuleInfo>,
    pub timing: Vec<TimingInfo>,
}

impl Scope {
    /// The port called `key`, if the block has it.
    pub(super) fn port(&self, key: &str) -> Option<&AtomInfo> {
        self.atoms.iter().find(|a| a.key == key)
    }
}

/// Value of a rust-hdl literal: its fields are private, its text is not.
pub(super) fn literal_value(literal: &VerilogLiteral) -> Option<num_bigint::BigInt> {
    parse_literal(&format!("{literal:x}")).map(|(value, _)| value)
}

/// Width that a rust-hdl literal was made with.
pub(super) fn literal_bits(literal: &VerilogLiteral) -> Option<usize> {
    parse_literal(&format!("{literal:x}")).map(|(_, bits)| bits)
}

/// Reads `8'hff`.
pub(super) fn parse_literal(text: &str) -> Option<(num_bigint::BigInt, usize)> {
    let (bits, digits) = text.split_once("'h")?;
    Some((
        num_bigint::BigInt::parse_bytes(digits.trim().as_bytes(), 16)?,
        bits.trim().parse().ok()?,
    ))
}

#[derive(Default)]
struct Walker {
    open: Vec<(Scope, Vec<String>)>,
    done: Vec<Scope>,
}

impl Probe for Walker {
    fn visit_start_scope(&mut self, name: &str, node: &dyn Block) {
        let timing = node.timing();
        let scope = Scope {
            name: name.to_owned(),
            atoms: vec![],
            children: vec![],
            code: node.hdl(),
            info: ModuleInfo::from_timing(&timing),
            timing,
        };
        self.open.push((scope, vec![]));
    }

    fn visit_start_namespace(&mut self, name: &str, _node: &dyn Block) {
        if let Some((_, namespace)) = self.open.last_mut() {
            namespace.push(name.to_owned());
        }
    }

    fn visit_atom(&mut self, name: &str, signal: &dyn Atom) {
        if let Some((scope, namespace)) = self.open.last_mut() {
            let mut key = namespace.join("$");
            if !key.is_empty() {
                key.push('$');
            }
            key.push_str(name);
            let value = literal_value(&signal.verilog()).and_then(|v| v.to_biguint());
            scope.atoms.push(AtomInfo {
                key,
                kind: signal.kind(),
                width: signal.bits(),
                ty: signal.descriptor(),
                value: value.unwrap_or_default(),
            });
        }
    }

    fn visit_end_namespace(&mut self, _name: &str, _node: &dyn Block) {
        if let Some((_, namespace)) = self.open.last_mut() {
            namespace.pop();
        }
    }

    fn visit_end_scope(&mut self, _name: &str, _node: &dyn Block) {
        if let Some((scope, _)) = self.open.pop() {
            match self.open.last_mut() {
                Some((parent, _)) => parent.children.push(scope),
                None => self.done.push(scope),
            }
        }
    }
}

/// Walks the hierarchy under `top`; `None` if `top` is not a block with a scope of its own.
pub(super) fn walk(top: &dyn Block) -> Option<Scope> {
    let mut walker = Walker::default();
    top.accept("top", &mut walker);
    walker.done.pop()
}
