//! The signals and named constants of one module, and how the kernel's names find them.

use std::collections::HashMap;

use num_bigint::BigUint;
use rust_hdl::prelude::{AtomKind, TypeDescriptor, TypeKind};

use super::error::{Fallible, Reason};
use super::expr::{Expr, ParamId, SigId, clog2, concat};
use super::names::{self, Names};
use super::record;

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
    /// Part of a record that nothing reads: not in the text.
    Dropped,
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
    /// It may be left out if nothing reads it: it is part of a record that no port has.
    pub may_go: bool,
}

/// A record: signals in place of one.
#[derive(Clone, Debug)]
pub(super) struct Record {
    pub width: usize,
    /// Lowest first; a gap has no signal, and reads as 0.
    pub parts: Vec<(Option<SigId>, usize)>,
}

impl Record {
    /// The signal that takes exactly these bits, if one does.
    pub(super) fn part_at(&self, lo: usize, width: usize) -> Option<SigId> {
        let mut base = 0;
        let found = self.parts.iter().find(|(_, w)| {
            base += w;
            base - w == lo && *w == width
        });
        found.and_then(|(sig, _)| *sig)
    }

    /// The whole record.
    pub(super) fn value(&self) -> Expr {
        let part = |(sig, width): &(Option<SigId>, usize)| match sig {
            Some(sig) => Expr::Sig(*sig, *width),
            None => Expr::Lit(BigUint::ZERO, *width),
        };
        concat(self.parts.iter().rev().map(part).collect())
    }

    /// The first of its signals.
    pub(super) fn first(&self) -> Option<SigId> {
        self.parts.iter().find_map(|(sig, _)| *sig)
    }
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
    /// A record, by its index.
    Record(usize),
    Param(ParamId),
}

/// The tables of one module.
#[derive(Default)]
pub(super) struct Signals {
    pub list: Vec<Sig>,
    pub params: Vec<Param>,
    pub names: Names,
    pub records: Vec<Record>,
    by_key: HashMap<String, SigId>,
    record_keys: HashMap<String, usize>,
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

/// Makes or finds the signal of a part of a record: of its key, its type and its meaning.
pub(super) type MakePart<'a, E> =
    dyn FnMut(&mut Signals, &str, &TypeDescriptor, &str) -> Result<SigId, E> + 'a;

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

    /// Adds a record, and the records in it, under `key`.
    pub(super) fn add_record<E>(
        &mut self,
        key: &str,
        ty: &TypeDescriptor,
        part: &mut MakePart<'_, E>,
    ) -> Result<usize, E> {
        let mut parts = vec![];
        for (field, doc) in record::fields(ty).unwrap_or_default() {
            if field.fieldname.is_empty() {
                parts.push((None, type_width(&field.kind.kind)));
                continue;
            }
            let key = format!("{key}${}", field.fieldname);
            if record::fields(&field.kind).is_some() {
                let inner = self.add_record(&key, &field.kind, part)?;
                parts.extend(self.records[inner].parts.clone());
                continue;
            }
            let sig = part(self, &key, &field.kind, doc)?;
            parts.push((Some(sig), self.list[sig].width));
        }
        let width = parts.iter().map(|(_, width)| width).sum();
        self.record_keys.insert(key.to_owned(), self.records.len());
        self.records.push(Record { width, parts });
        Ok(self.records.len() - 1)
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
            may_go: true,
        });
        Ok(self.list.len() - 1)
    }

    /// What a resolved key means.
    pub(super) fn symbol(&self, key: &str) -> Option<Symbol> {
        if let Some(id) = self.by_key.get(key) {
            return Some(Symbol::Signal(*id));
        }
        if let Some(id) = self.record_keys.get(key) {
            return Some(Symbol::Record(*id));
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
        Kind::Helper | Kind::Dropped => Some("a constant"),
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
