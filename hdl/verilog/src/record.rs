//! Records: named fields in one word, declared with [`hdl_record!`](crate::hdl_record).
//!
//! In a simulation a record is a struct. In Verilog each field is a signal of its own, named after what holds the record
//! and after the field, so a reader finds `s1_kind_reg` and not bits 18 to 16 of a vector. A field of a register or of a
//! local record that nothing reads is left out.

use rust_hdl::prelude::*;

/// What the name of a record's descriptor begins with. Behind it stands the record's name and, line by line, what each
/// field means: rust-hdl's descriptor has no other place for it.
const MARK: &str = "tributary::record";

/// What can be a field of a record.
pub trait Part: Synth {
    /// The value in the lowest bits of a word.
    fn pack<const N: usize>(self) -> Bits<N>;
    /// The value that begins at this bit of a word.
    fn unpack<const N: usize>(word: Bits<N>, at: usize) -> Self;
}

impl<const M: usize> Part for Bits<M> {
    fn pack<const N: usize>(self) -> Bits<N> {
        bit_cast::<N, M>(self)
    }

    fn unpack<const N: usize>(word: Bits<N>, at: usize) -> Self {
        word.get_bits::<M>(at)
    }
}

impl Part for bool {
    fn pack<const N: usize>(self) -> Bits<N> {
        bit_cast::<N, 1>(self.into())
    }

    fn unpack<const N: usize>(word: Bits<N>, at: usize) -> Self {
        word.get_bit(at)
    }
}

/// The most bits that a record has.
const MOST: usize = 2048;

/// The value of a record.
#[must_use]
pub fn literal<P: Part>(record: P) -> VerilogLiteral {
    const { assert!(P::BITS <= MOST) };
    record.pack::<MOST>().into()
}

/// Where a field of a declared layout lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its lowest bit.
    pub at: usize,
    /// Number of bits.
    pub width: usize,
    /// Meaning.
    pub doc: &'static str,
}

/// A field of a record's type.
#[derive(Clone, Debug)]
pub struct Field {
    /// Name.
    pub name: &'static str,
    /// Lowest bit in the record.
    pub at: usize,
    /// Type.
    pub ty: TypeDescriptor,
    /// Meaning.
    pub doc: String,
}

/// The descriptor of a record of so many bits; bits of no field are a gap, which has no name.
///
/// # Panics
/// Fields overlap or reach beyond the end.
#[must_use]
pub fn descriptor(name: &str, bits: usize, mut fields: Vec<Field>) -> TypeDescriptor {
    fields.sort_by_key(|field| field.at);
    let mut kinds = vec![];
    let mut said = vec![MARK.to_owned(), name.to_owned()];
    let mut end = 0;
    let gap = |width: usize| TypeField {
        fieldname: String::new(),
        kind: TypeDescriptor {
            name: "gap".into(),
            kind: TypeKind::Bits(width),
        },
    };
    for field in fields {
        let width = width(&field.ty);
        assert!(field.at >= end, "{name}.{} lies over another", field.name);
        if field.at > end {
            kinds.push(Box::new(gap(field.at - end)));
            said.push(String::new());
        }
        end = field.at + width;
        said.push(field.doc);
        kinds.push(Box::new(TypeField {
            fieldname: field.name.into(),
            kind: field.ty,
        }));
    }
    assert!(end <= bits, "{name} has more than {bits} bits");
    if end < bits {
        kinds.push(Box::new(gap(bits - end)));
        said.push(String::new());
    }
    TypeDescriptor {
        name: said.join("\n"),
        kind: TypeKind::Composite(kinds),
    }
}

/// Bits of a type.
fn width(ty: &TypeDescriptor) -> usize {
    crate::signals::type_width(&ty.kind)
}

/// A part of a record that is no record itself.
#[derive(Clone, Debug)]
pub struct Leaf {
    /// Names of the fields down to it; empty for a gap.
    pub path: Vec<String>,
    /// Number of bits.
    pub width: usize,
    /// Type.
    pub ty: TypeDescriptor,
    /// Meaning.
    pub doc: String,
}

/// The fields of a record, each with what it means, lowest first; `None` if the type is no record.
pub(crate) fn fields(ty: &TypeDescriptor) -> Option<Vec<(&TypeField, &str)>> {
    let mut said = ty.name.split('\n');
    let (TypeKind::Composite(kinds), Some(MARK)) = (&ty.kind, said.next()) else {
        return None;
    };
    let docs = said.skip(1).chain(std::iter::repeat(""));
    Some(kinds.iter().map(Box::as_ref).zip(docs).collect())
}

/// The parts of a record, lowest first; `None` if the type is no record.
#[must_use]
pub fn leaves(ty: &TypeDescriptor) -> Option<Vec<Leaf>> {
    let mut out = vec![];
    for (field, doc) in fields(ty)? {
        match leaves(&field.kind) {
            Some(inner) => out.extend(inner.into_iter().map(|mut leaf| {
                if !leaf.path.is_empty() {
                    leaf.path.insert(0, field.fieldname.clone());
                }
                leaf
            })),
            None => {
                let named = !field.fieldname.is_empty();
                out.push(Leaf {
                    path: named.then(|| field.fieldname.clone()).into_iter().collect(),
                    width: width(&field.kind),
                    ty: field.kind.clone(),
                    doc: doc.to_owned(),
                });
            }
        }
    }
    Some(out)
}

/// The name of what holds a record, in front of the names of its fields: a bus has one record, whose own name says nothing.
#[must_use]
pub fn stem(key: &str) -> &str {
    match key.rsplit_once('$') {
        Some((bus, last)) if last.parse::<usize>().is_err() => bus,
        _ => key,
    }
}
