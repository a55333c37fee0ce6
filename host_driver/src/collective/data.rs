//! What is reduced: data of a type, as words of reduction frames and back.

use tributary_protocol::red::host::repsum::{self, SUMMANDS_MAX, Sum};
use tributary_protocol::red::ops::Rounding;
use tributary_protocol::red::{Op, Value};

use super::CollectiveError;
use super::rule::{Factor, Rule};

/// Bits that turn the order of unsigned numbers into that of signed ones.
const TOP: u64 = 1 << 63;
const TOP_32: u32 = 1 << 31;

/// An operation on the elements of all members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Sum. Integers wrap at the size of their type; floating-point sums depend on the order.
    Sum,
    /// Sum of doubles that is the same to the bit whatever the order, the tree and the number of members; within
    /// `docs/arithmetic.md` of the exact sum.
    SumReproducible,
    /// Smallest. A NaN wins.
    Min,
    /// Largest. A NaN wins.
    Max,
    /// Smallest and largest with their places; of equal ones the lower place.
    MinMaxLoc,
    /// Bitwise and, of integers.
    And,
    /// Bitwise or, of integers.
    Or,
    /// Bitwise exclusive or, of integers.
    Xor,
    /// Product. Integers wrap at the size of their type; floating-point products depend on the order. No engine of a switch has it.
    Product,
    /// 1 where all have another number than 0, else 0; of integers.
    LogicalAnd,
    /// 1 where somebody has another number than 0, else 0; of integers.
    LogicalOr,
    /// 1 where an odd number of members has another number than 0, else 0; of integers.
    LogicalXor,
}

impl Operation {
    const fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::SumReproducible => "reproducible sum",
            Self::Min => "min",
            Self::Max => "max",
            Self::MinMaxLoc => "minmaxloc",
            Self::And => "and",
            Self::Or => "or",
            Self::Xor => "xor",
            Self::Product => "product",
            Self::LogicalAnd => "logical and",
            Self::LogicalOr => "logical or",
            Self::LogicalXor => "logical xor",
        }
    }

    const fn is_logical(self) -> bool {
        matches!(self, Self::LogicalAnd | Self::LogicalOr | Self::LogicalXor)
    }
}

/// A smallest and a largest value, each with its place.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Extremes<T> {
    /// Smallest value.
    pub min: T,
    /// Its place: a rank, an index, whatever the program likes.
    pub min_at: u64,
    /// Largest value.
    pub max: T,
    /// Its place.
    pub max_at: u64,
}

/// Elements of one type.
///
/// A frame carries 4 elements of 64 bits or 8 of 32; of reproducible sums and of extremes it carries one.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// Binary64.
    F64(Vec<f64>),
    /// Binary32.
    F32(Vec<f32>),
    /// Signed, 64 bits.
    I64(Vec<i64>),
    /// Unsigned, 64 bits.
    U64(Vec<u64>),
    /// Signed, 32 bits.
    I32(Vec<i32>),
    /// Unsigned, 32 bits.
    U32(Vec<u32>),
    /// For [`Operation::MinMaxLoc`].
    F64Extremes(Vec<Extremes<f64>>),
    /// For [`Operation::MinMaxLoc`].
    I64Extremes(Vec<Extremes<i64>>),
    /// Reproducible sums that have numbers in them already; for [`Operation::SumReproducible`], whose outcome is [`Data::F64`].
    Sums(Vec<Sum>),
    /// Bytes, 32 in a frame; for bitwise operations.
    Bytes(Vec<u8>),
}

impl Data {
    /// Elements.
    #[must_use]
    pub const fn len(&self) -> usize {
        match self {
            Self::F64(list) => list.len(),
            Self::F32(list) => list.len(),
            Self::I64(list) => list.len(),
            Self::U64(list) => list.len(),
            Self::I32(list) => list.len(),
            Self::U32(list) => list.len(),
            Self::F64Extremes(list) => list.len(),
            Self::I64Extremes(list) => list.len(),
            Self::Sums(list) => list.len(),
            Self::Bytes(list) => list.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    const fn name(&self) -> &'static str {
        match self {
            Self::F64(_) => "f64",
            Self::F32(_) => "f32",
            Self::I64(_) => "i64",
            Self::U64(_) => "u64",
            Self::I32(_) => "i32",
            Self::U32(_) => "u32",
            Self::F64Extremes(_) => "extremes of f64",
            Self::I64Extremes(_) => "extremes of i64",
            Self::Sums(_) => "sums",
            Self::Bytes(_) => "bytes",
        }
    }

    /// A part of it.
    #[must_use]
    pub fn part(&self, range: std::ops::Range<usize>) -> Self {
        match self {
            Self::F64(list) => Self::F64(list[range].to_vec()),
            Self::F32(list) => Self::F32(list[range].to_vec()),
            Self::I64(list) => Self::I64(list[range].to_vec()),
            Self::U64(list) => Self::U64(list[range].to_vec()),
            Self::I32(list) => Self::I32(list[range].to_vec()),
            Self::U32(list) => Self::U32(list[range].to_vec()),
            Self::F64Extremes(list) => Self::F64Extremes(list[range].to_vec()),
            Self::I64Extremes(list) => Self::I64Extremes(list[range].to_vec()),
            Self::Sums(list) => Self::Sums(list[range].to_vec()),
            Self::Bytes(list) => Self::Bytes(list[range].to_vec()),
        }
    }

    /// The elements as bytes, little-endian; nothing of those with places or numbers in them.
    pub(super) fn to_bytes(&self) -> Option<Vec<u8>> {
        Some(match self {
            Self::F64(list) => list.iter().flat_map(|x| x.to_le_bytes()).collect(),
            Self::F32(list) => list.iter().flat_map(|x| x.to_le_bytes()).collect(),
            Self::I64(list) => list.iter().flat_map(|x| x.to_le_bytes()).collect(),
            Self::U64(list) => list.iter().flat_map(|x| x.to_le_bytes()).collect(),
            Self::I32(list) => list.iter().flat_map(|x| x.to_le_bytes()).collect(),
            Self::U32(list) => list.iter().flat_map(|x| x.to_le_bytes()).collect(),
            Self::Bytes(list) => list.clone(),
            Self::F64Extremes(_) | Self::I64Extremes(_) | Self::Sums(_) => return None,
        })
    }

    /// Elements of the type of these that such bytes are.
    pub(super) fn of_bytes(&self, bytes: &[u8]) -> Self {
        let four = || bytes.as_chunks::<4>().0.iter().copied();
        let eight = || bytes.as_chunks::<8>().0.iter().copied();
        match self {
            Self::F64(_) => Self::F64(eight().map(f64::from_le_bytes).collect()),
            Self::F32(_) => Self::F32(four().map(f32::from_le_bytes).collect()),
            Self::I64(_) => Self::I64(eight().map(i64::from_le_bytes).collect()),
            Self::U64(_) => Self::U64(eight().map(u64::from_le_bytes).collect()),
            Self::I32(_) => Self::I32(four().map(i32::from_le_bytes).collect()),
            Self::U32(_) => Self::U32(four().map(u32::from_le_bytes).collect()),
            _ => Self::Bytes(bytes.to_vec()),
        }
    }

    /// Puts elements of the same type behind these; whether they are.
    pub(super) fn append(&mut self, more: Self) -> bool {
        match (self, more) {
            (Self::F64(list), Self::F64(more)) => list.extend(more),
            (Self::F32(list), Self::F32(more)) => list.extend(more),
            (Self::I64(list), Self::I64(more)) => list.extend(more),
            (Self::U64(list), Self::U64(more)) => list.extend(more),
            (Self::I32(list), Self::I32(more)) => list.extend(more),
            (Self::U32(list), Self::U32(more)) => list.extend(more),
            (Self::F64Extremes(list), Self::F64Extremes(more)) => list.extend(more),
            (Self::I64Extremes(list), Self::I64Extremes(more)) => list.extend(more),
            (Self::Sums(list), Self::Sums(more)) => list.extend(more),
            (Self::Bytes(list), Self::Bytes(more)) => list.extend(more),
            _ => return false,
        }
        true
    }
}

/// How words become data again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    F64,
    F32,
    I64,
    /// With the top bit turned.
    U64(u64),
    I32,
    /// With the top bit turned.
    U32(u32),
    F64Extremes,
    I64Extremes,
    Bytes,
    Reproducible,
}

impl Shape {
    /// Elements in a value.
    const fn elements(self) -> usize {
        match self {
            Self::F64 | Self::I64 | Self::U64(_) => 4,
            Self::F32 | Self::I32 | Self::U32(_) => 8,
            Self::Bytes => 32,
            Self::F64Extremes | Self::I64Extremes | Self::Reproducible => 1,
        }
    }
}

/// How values are combined, those of this member, and how the result is read.
#[derive(Clone, Debug)]
pub struct Prepared {
    pub rule: Rule,
    pub values: Vec<Value>,
    pub shape: Shape,
    pub length: usize,
}

impl Prepared {
    /// Cut into parts of as many values each, as far as that goes: the first have one more.
    pub fn cut(&self, parts: usize) -> Vec<Self> {
        let (each, more) = (self.values.len() / parts, self.values.len() % parts);
        let mut at = 0;
        let part = |index| {
            let begin = at;
            at += each + usize::from(index < more);
            let elements = self.shape.elements();
            let length = self.length.min(at * elements) - self.length.min(begin * elements);
            Self {
                rule: self.rule,
                values: self.values[begin..at].to_vec(),
                shape: self.shape,
                length,
            }
        };
        (0..parts).map(part).collect()
    }
}

fn frames(words: impl Iterator<Item = u64>) -> Vec<Value> {
    let words: Vec<u64> = words.collect();
    let frame = |chunk: &[u64]| {
        let mut data = [0; 4];
        data[..chunk.len()].copy_from_slice(chunk);
        Value {
            data,
            ..Value::default()
        }
    };
    words.chunks(4).map(frame).collect()
}

/// Elements of 32 bits, two in a word, the first in the upper half.
fn pairs(elements: impl Iterator<Item = u32>) -> impl Iterator<Item = u64> {
    let mut elements = elements;
    std::iter::from_fn(move || {
        let first = u64::from(elements.next()?);
        Some(first << 32 | elements.next().map_or(0, u64::from))
    })
}

/// Bytes as words, the first in the lowest bits.
fn packed(bytes: &[u8]) -> Vec<Value> {
    let word = |chunk: &[u8]| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    };
    frames(bytes.chunks(8).map(word))
}

/// The elements of one member among as many of each: all others are 0, so that a bitwise or of all members' has everyone's.
pub fn placed(data: &Data, rank: usize, size: usize) -> Result<Prepared, CollectiveError> {
    // Where elements are, so that halves of a word may be of two members.
    let spread = |length: usize| (length * rank, length * size);
    let wide = |words: Vec<u64>, shape| {
        let (before, length) = spread(words.len());
        let mut all = vec![0; length];
        all[before..][..words.len()].copy_from_slice(&words);
        (frames(all.into_iter()), shape, length)
    };
    let narrow = |elements: Vec<u32>, shape| {
        let (before, length) = spread(elements.len());
        let mut all = vec![0; length];
        all[before..][..elements.len()].copy_from_slice(&elements);
        (frames(pairs(all.into_iter())), shape, length)
    };
    let (values, shape, length) = match data {
        Data::F64(list) => wide(list.iter().map(|x| x.to_bits()).collect(), Shape::F64),
        Data::F32(list) => narrow(list.iter().map(|x| x.to_bits()).collect(), Shape::F32),
        Data::I64(list) => wide(list.iter().map(|&x| x as u64).collect(), Shape::I64),
        Data::U64(list) => wide(list.clone(), Shape::U64(0)),
        Data::I32(list) => narrow(list.iter().map(|&x| x as u32).collect(), Shape::I32),
        Data::U32(list) => narrow(list.clone(), Shape::U32(0)),
        Data::Bytes(list) => {
            let (before, length) = spread(list.len());
            let mut all = vec![0; length];
            all[before..][..list.len()].copy_from_slice(list);
            return prepare(Operation::Or, &Data::Bytes(all));
        }
        Data::F64Extremes(_) | Data::I64Extremes(_) | Data::Sums(_) => {
            return Err(CollectiveError::Unsupported {
                operation: "gather",
                data: data.name(),
            });
        }
    };
    Ok(Prepared {
        rule: Rule::Engines(Op::Or),
        values,
        shape,
        length,
    })
}

/// What is to be done with data.
pub fn prepare(operation: Operation, data: &Data) -> Result<Prepared, CollectiveError> {
    use Operation as O;
    let unsupported = CollectiveError::Unsupported {
        operation: operation.name(),
        data: data.name(),
    };
    let engines = |(wide, narrow)| (Rule::Engines(wide), Rule::Engines(narrow));
    // Operations on 64 bits, and on 32.
    let integers = match operation {
        O::Sum => Some(engines((Op::IntSum, Op::Int32Sum))),
        O::Min => Some(engines((Op::IntMin, Op::Int32Min))),
        O::Max => Some(engines((Op::IntMax, Op::Int32Max))),
        O::And | O::LogicalAnd => Some(engines((Op::And, Op::And))),
        O::Or | O::LogicalOr => Some(engines((Op::Or, Op::Or))),
        O::Xor | O::LogicalXor => Some(engines((Op::Xor, Op::Xor))),
        O::Product => Some((Rule::Product(Factor::I64), Rule::Product(Factor::I32))),
        O::SumReproducible | O::MinMaxLoc => None,
    };
    let reals = match operation {
        O::Sum => Some(engines((Op::FltSumNearest, Op::Flt32SumNearest))),
        O::Min => Some(engines((Op::FltMin, Op::Flt32Min))),
        O::Max => Some(engines((Op::FltMax, Op::Flt32Max))),
        O::Product => Some((Rule::Product(Factor::F64), Rule::Product(Factor::F32))),
        _ => None,
    };
    let ordered = matches!(operation, O::Min | O::Max);
    // Of 0 and 1 the bitwise operations are the logical ones.
    let logical = operation.is_logical();
    let wide = move |x: u64| if logical { u64::from(x != 0) } else { x };
    let narrow = move |x: u32| if logical { u32::from(x != 0) } else { x };
    let bits = |x: f64| x.to_bits();
    let prepared = match data {
        Data::F64(list) if operation == O::SumReproducible => Some((
            Rule::Engines(Op::FltRepsum),
            list.iter().map(|x| repsum::encode(x.to_bits())).collect(),
            Shape::Reproducible,
        )),
        Data::F64(list) => {
            reals.map(|(rule, _)| (rule, frames(list.iter().copied().map(bits)), Shape::F64))
        }
        Data::F32(list) => reals.map(|(_, rule)| {
            let elements = list.iter().map(|x| x.to_bits());
            (rule, frames(pairs(elements)), Shape::F32)
        }),
        Data::I64(list) => integers.map(|(rule, _)| {
            let words = list.iter().map(|&x| wide(x as u64));
            (rule, frames(words), Shape::I64)
        }),
        Data::U64(list) => integers.map(|(rule, _)| {
            let flip = if ordered { TOP } else { 0 };
            let words = list.iter().map(|&x| wide(x) ^ flip);
            (rule, frames(words), Shape::U64(flip))
        }),
        Data::I32(list) => integers.map(|(_, rule)| {
            let elements = list.iter().map(|&x| narrow(x as u32));
            (rule, frames(pairs(elements)), Shape::I32)
        }),
        Data::U32(list) => integers.map(|(_, rule)| {
            let flip = if ordered { TOP_32 } else { 0 };
            let elements = list.iter().map(|&x| narrow(x) ^ flip);
            (rule, frames(pairs(elements)), Shape::U32(flip))
        }),
        Data::F64Extremes(list) if operation == O::MinMaxLoc => {
            let value = |e: &Extremes<f64>| Value {
                data: [bits(e.min), e.min_at, bits(e.max), e.max_at],
                ..Value::default()
            };
            let values = list.iter().map(value).collect();
            Some((Rule::Engines(Op::FltMinmaxloc), values, Shape::F64Extremes))
        }
        Data::I64Extremes(list) if operation == O::MinMaxLoc => {
            let value = |e: &Extremes<i64>| Value {
                data: [e.min as u64, e.min_at, e.max as u64, e.max_at],
                ..Value::default()
            };
            let values = list.iter().map(value).collect();
            Some((Rule::Engines(Op::IntMinmaxloc), values, Shape::I64Extremes))
        }
        Data::Bytes(list) => match operation {
            O::And | O::Or | O::Xor => integers.map(|(rule, _)| (rule, packed(list), Shape::Bytes)),
            _ => None,
        },
        Data::Sums(list) if operation == O::SumReproducible => {
            let values = list.iter().map(|sum| *sum.value()).collect();
            Some((Rule::Engines(Op::FltRepsum), values, Shape::Reproducible))
        }
        Data::F64Extremes(_) | Data::I64Extremes(_) | Data::Sums(_) => None,
    };
    let (rule, values, shape) = prepared.ok_or(unsupported)?;
    Ok(Prepared {
        rule,
        values,
        shape,
        length: data.len(),
    })
}

/// Whether sums of as many members stay within what a word holds, if all bring as many numbers as these.
pub fn check_summands(data: &Data, size: usize) -> Result<(), CollectiveError> {
    let Data::Sums(list) = data else {
        return Ok(());
    };
    let most = SUMMANDS_MAX as usize / size;
    let largest = list.iter().map(|sum| sum.summands() as usize).max();
    match largest {
        Some(numbers) if numbers > most => Err(CollectiveError::Summands { numbers, most }),
        _ => Ok(()),
    }
}

/// Reads a result.
pub fn restore(shape: Shape, length: usize, values: &[Value]) -> Data {
    let words = values.iter().flat_map(|value| value.data).take(length);
    let halves = values.iter().flat_map(|value| value.data);
    let halves = halves.flat_map(|word| [(word >> 32) as u32, word as u32]);
    let halves = halves.take(length);
    let loc = values.iter().map(|value| value.data);
    match shape {
        Shape::F64 => Data::F64(words.map(f64::from_bits).collect()),
        Shape::F32 => Data::F32(halves.map(f32::from_bits).collect()),
        Shape::I64 => Data::I64(words.map(|w| w as i64).collect()),
        Shape::U64(flip) => Data::U64(words.map(|w| w ^ flip).collect()),
        Shape::I32 => Data::I32(halves.map(|x| x as i32).collect()),
        Shape::U32(flip) => Data::U32(halves.map(|x| x ^ flip).collect()),
        Shape::F64Extremes => {
            let read = |[min, min_at, max, max_at]: [u64; 4]| Extremes {
                min: f64::from_bits(min),
                min_at,
                max: f64::from_bits(max),
                max_at,
            };
            Data::F64Extremes(loc.map(read).collect())
        }
        Shape::I64Extremes => {
            let read = |[min, min_at, max, max_at]: [u64; 4]| Extremes {
                min: min as i64,
                min_at,
                max: max as i64,
                max_at,
            };
            Data::I64Extremes(loc.map(read).collect())
        }
        Shape::Bytes => {
            let words = values.iter().flat_map(|value| value.data);
            Data::Bytes(words.flat_map(u64::to_le_bytes).take(length).collect())
        }
        Shape::Reproducible => {
            let number = |v: &Value| f64::from_bits(repsum::decode(v, Rounding::NearestEven).0);
            Data::F64(values.iter().map(number).collect())
        }
    }
}
