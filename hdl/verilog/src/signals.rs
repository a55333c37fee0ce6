//! The signals and named constants of one module, and how the kernel's names find them.

use std::collections::HashMap;

use num_bigint::BigUint;
use rust_hdl::prelude::{AtomKind, TypeDescriptor, TypeKind};

use super::error::{Fallible, Reason};
use super::expr::{Expr, ParamId, SigId, clog2};
use super::names::{self, Names};

/// What a signal is to its module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Input,
    Output,
    Local,
    /// Input of the instance with this index.
    InstIn(usize),
    /// Output of the instance with this index.
    InstOut(usize),
    /// What the register with this index takes at the next clock.
    RegD(usize),
    /// What the register holds.
    RegQ(usize),
    /// The register's clock.
    RegClk(usize),
    /// Carries an expression that Verilog cannot slice in place.
    Helper,
}

/// One signal.
#[derive(Clone, Debug)]
pub(super) struct Sig {
    /// rust-hdl's flat name, `lanes$0$x`.
    pub key: String,
    /// Verilog name.
    pub name: String,
    pub kind: Kind,
    pub width: usize,
    pub ty: TypeDescriptor,
    /// Doc comment of the field, if the block has one.
    pub doc: Vec<String>,
    /// Value of a helper.
    pub driver: Option<Expr>,
}

/// A localparam: an enum variant or a `Constant`.
#[derive(Clone, Debug)]
pub(super) struct Param {
    pub name: String,
    pub value: BigUint,
    pub width: usize,
    pub signed: bool,
    pub doc: Vec<String>,
}

/// What a name means.
#[derive(Clone, Copy, Debug)]
pub(super) enum Symbol {
    /// A loop index.
    Index(i64),
    Signal(SigId),
    /// A field of a struct-valued signal: signal, lowest bit, width, signedness.
    Field(SigId, usize, usize, bool),
    Param(ParamId),
}

/// The tables of one module.
#[derive(Default)]
pub(super) struct Signals {
    pub list: Vec<Sig>,
    pub params: Vec<Param>,
    pub names: Names,
    by_key: HashMap<String, SigId>,
    consts: HashMap<String, ParamId>,
    /// `State$Idle` to its constant; `None` when two enums disagree.
    variants: HashMap<String, Option<ParamId>>,
}

/// Width of a type.
pub(super) fn type_width(kind: &TypeKind) -> usize {
    match kind {
        TypeKind::Bits(n) | TypeKind::Signed(n) => *n,
        TypeKind::Enum(variants) => clog2(variants.len()),
        TypeKind::Composite(fields) => fields.iter().map(|f| type_width(&f.kind.kind)).sum(),
    }
}

/// The field, possibly nested, that takes exactly these bits.
pub(super) fn field_at(
    kind: &TypeKind,
    lo: usize,
    width: usize,
) -> Option<(String, TypeDescriptor)> {
    let TypeKind::Composite(fields) = kind else {
        return None;
    };
    let mut base = 0;
    for field in fields {
        let w = type_width(&field.kind.kind);
        if lo == base && width == w {
            return Some((field.fieldname.clone(), field.kind.clone()));
        }
        if lo >= base && lo + width <= base + w {
            let (name, ty) = field_at(&field.kind.kind, lo - base, width)?;
            return Some((format!("{}.{name}", field.fieldname), ty));
        }
        base += w;
    }
    None
}

/// Lowest bit and type of the field at a path of names.
fn field_named(kind: &TypeKind, path: &[&str]) -> Option<(usize, TypeDescriptor)> {
    let TypeKind::Composite(fields) = kind else {
        return None;
    };
    let mut base = 0;
    for field in fields {
        if field.fieldname == path[0] {
            if path.len() == 1 {
                return Some((base, field.kind.clone()));
            }
            let (lo, ty) = field_named(&field.kind.kind, &path[1..])?;
            return Some((base + lo, ty));
        }
        base += type_width(&field.kind.kind);
    }
    None
}

impl Signals {
    /// Adds a signal under `key`, already named.
    pub(super) fn add(&mut self, sig: Sig) -> Fallible<SigId> {
        if sig.width == 0 {
            return Err(Reason::ZeroWidth);
        }
        let id = self.list.len();
        if self.by_key.insert(sig.key.clone(), id).is_some() {
            return Err(Reason::NameClash(sig.key));
        }
        self.list.push(sig);
        Ok(id)
    }

    /// Adds a `Constant`.
    pub(super) fn add_constant(
        &mut self,
        key: &str,
        value: BigUint,
        width: usize,
        signed: bool,
        doc: Vec<String>,
    ) -> Fallible<()> {
        let name = self.names.fresh(&names::flatten(key).to_uppercase())?;
        self.consts.insert(key.to_owned(), self.params.len());
        self.params.push(Param {
            name,
            value,
            width,
            signed,
            doc,
        });
        Ok(())
    }

    /// Makes the variants of every enum inside `ty` known.
    pub(super) fn add_enums(&mut self, ty: &TypeDescriptor) -> Fallible<()> {
        match &ty.kind {
            TypeKind::Composite(fields) => fields.iter().try_for_each(|f| self.add_enums(&f.kind)),
            TypeKind::Enum(variants) => {
                let width = clog2(variants.len());
                for (value, variant) in variants.iter().enumerate() {
                    let key = variant.replace("::", "$");
                    let value = BigUint::from(value);
                    match self.variants.get(&key) {
                        Some(Some(id)) => {
                            let known = &self.params[*id];
                            if known.value != value || known.width != width {
                                self.variants.insert(key, None);
                            }
                        }
                        Some(None) => {}
                        None => {
                            let name = self.names.fresh(&names::screaming(variant))?;
                            self.variants.insert(key, Some(self.params.len()));
                            self.params.push(Param {
                                name,
                                value,
                                width,
                                signed: false,
                                doc: vec![],
                            });
                        }
                    }
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// A helper signal for `e`; the same expression gets the same helper.
    pub(super) fn helper(&mut self, e: Expr, name: &str) -> Fallible<SigId> {
        if let Some(id) = self.list.iter().position(|s| s.driver.as_ref() == Some(&e)) {
            return Ok(id);
        }
        let name = self.names.fresh(name)?;
        let width = e.width();
        self.list.push(Sig {
            key: name.clone(),
            name,
            kind: Kind::Helper,
            width,
            ty: TypeDescriptor {
                name: String::new(),
                kind: TypeKind::Bits(width),
            },
            doc: vec![],
            driver: Some(e),
        });
        Ok(self.list.len() - 1)
    }

    /// What a resolved key means.
    pub(super) fn symbol(&self, key: &str) -> Option<Symbol> {
        if let Some(id) = self.by_key.get(key) {
            return Some(Symbol::Signal(*id));
        }
        if let Some(id) = self.consts.get(key) {
            return Some(Symbol::Param(*id));
        }
        let parts: Vec<&str> = key.split('$').collect();
        if parts.len() >= 2 {
            let variant = parts[parts.len() - 2..].join("$");
            if let Some(id) = self.variants.get(&variant) {
                return id.map(Symbol::Param);
            }
        }
        for cut in (1..parts.len()).rev() {
            if let Some(&id) = self.by_key.get(&parts[..cut].join("$")) {
                let (lo, ty) = field_named(&self.list[id].ty.kind, &parts[cut..])?;
                let signed = matches!(ty.kind, TypeKind::Signed(_));
                return Some(Symbol::Field(id, lo, type_width(&ty.kind), signed));
            }
        }
        None
    }

    /// The signal under exactly this key.
    pub(super) fn by_key(&self, key: &str) -> Option<SigId> {
        self.by_key.get(key).copied()
    }
}

/// Why the kernel may not assign a signal of this kind, if it may not.
pub(super) fn not_assignable(kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::Input => Some("an input of this block"),
        Kind::InstOut(_) => Some("an output of a child block"),
        Kind::RegQ(_) => Some("the output of a register"),
        Kind::Helper => Some("a constant"),
        _ => None,
    }
}

/// The Verilog kind of a rust-hdl signal seen from inside its block.
pub(super) fn own_kind(kind: AtomKind) -> Option<Kind> {
    match kind {
        AtomKind::InputParameter => Some(Kind::Input),
        AtomKind::OutputParameter | AtomKind::OutputPassthrough => Some(Kind::Output),
        AtomKind::LocalSignal => Some(Kind::Local),
        _ => None,
    }
}
