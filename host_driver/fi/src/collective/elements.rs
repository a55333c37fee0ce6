//! Elements as programs have them in memory, and as the driver reduces them.

use tributary_host_driver::collective::{Data, Extremes, Operation};

use crate::engine::{Operation as Atomic, Type};
use crate::numbered::numbered;

numbered! {
    /// Collective operations that endpoints have, as libfabric numbers them.
    Collective {
        /// Ends when all have begun it.
        Barrier = 0,
        /// One gives elements to all.
        Broadcast = 1,
        /// Elements are combined for all.
        AllReduce = 3,
        /// All give elements to all.
        AllGather = 4,
        /// Elements are combined for one.
        Reduce = 6,
        /// One gives each its share.
        Scatter = 7,
        /// All give elements to one.
        Gather = 8,
    }
}

/// Bytes of libfabric's types, by their numbers; complex and long ones too, which can only be copied.
const BYTES: [usize; 16] = [1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 8, 16, 16, 32, 16, 16];

/// Bytes of a type of libfabric that is not void.
#[must_use]
pub fn bytes_of(datatype: u32) -> Option<usize> {
    BYTES.get(usize::try_from(datatype).ok()?).copied()
}

/// What libfabric's numbers of a type and an operation mean, if elements can be combined so.
#[must_use]
pub fn combined(datatype: u32, operation: u32) -> Option<(Elements, Op)> {
    let of = Type::of(datatype)?;
    let size = of.bytes() as u8;
    let elements = match of {
        Type::F32 | Type::F64 => Elements::Real(size),
        Type::I8 | Type::I16 | Type::I32 | Type::I64 => Elements::Signed(size),
        Type::U8 | Type::U16 | Type::U32 | Type::U64 => Elements::Unsigned(size),
    };
    let op = match Atomic::of(operation)? {
        Atomic::Min => Op::Min,
        Atomic::Max => Op::Max,
        Atomic::Sum => Op::Sum,
        Atomic::Prod => Op::Product,
        Atomic::Lor => Op::Or,
        Atomic::Land => Op::And,
        Atomic::Bor => Op::BitOr,
        Atomic::Band => Op::BitAnd,
        Atomic::Lxor => Op::Xor,
        Atomic::Bxor => Op::BitXor,
        _ => return None,
    };
    elements.prepare(op, false, &[]).map(|_| (elements, op))
}

/// Elements of a program: a kind and the bytes of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elements {
    /// IEEE 754: 4 or 8 bytes.
    Real(u8),
    /// Two's complement: 1, 2, 4 or 8 bytes.
    Signed(u8),
    /// 1, 2, 4 or 8 bytes.
    Unsigned(u8),
    /// A real or signed number and its place, an `int` behind it: 8 or 16 bytes, half of them for the number.
    Pair {
        /// IEEE 754, not two's complement.
        real: bool,
        /// Bytes of both.
        size: u8,
        /// The largest is wanted, not the smallest.
        largest: bool,
    },
}

/// Turns the order of signed numbers into that of unsigned ones, which places have in the switches.
const SIGN: u32 = 1 << 31;

/// Operations of programs, by their numbers at the boundary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Op {
    Sum,
    Min,
    Max,
    BitAnd,
    BitOr,
    BitXor,
    And,
    Or,
    Xor,
    MinLoc,
    MaxLoc,
    Product,
}

impl Op {
    /// All, by their numbers.
    pub const ALL: [Self; 12] = [
        Self::Sum,
        Self::Min,
        Self::Max,
        Self::BitAnd,
        Self::BitOr,
        Self::BitXor,
        Self::And,
        Self::Or,
        Self::Xor,
        Self::MinLoc,
        Self::MaxLoc,
        Self::Product,
    ];

    const fn is_logical(self) -> bool {
        matches!(self, Self::And | Self::Or | Self::Xor)
    }
}

impl Elements {
    /// By class (0 real, 1 signed, 2 unsigned, 3 and 4 a real or signed number with its place), size, and number of the operation.
    #[must_use]
    pub fn from_code(class: u8, size: u8, op: u8) -> Option<Self> {
        match (class, size) {
            (0, 4 | 8) => Some(Self::Real(size)),
            (1, 1 | 2 | 4 | 8) => Some(Self::Signed(size)),
            (2, 1 | 2 | 4 | 8) => Some(Self::Unsigned(size)),
            (3 | 4, 8 | 16) => Some(Self::Pair {
                real: class == 3,
                size,
                largest: op == Op::MaxLoc as u8,
            }),
            _ => None,
        }
    }

    /// Bytes of one.
    #[must_use]
    pub const fn size(self) -> usize {
        match self {
            Self::Real(size)
            | Self::Signed(size)
            | Self::Unsigned(size)
            | Self::Pair { size, .. } => size as usize,
        }
    }

    /// What the driver is to do with elements; nothing where the operation is not for them.
    #[must_use]
    pub fn prepare(self, op: Op, reproducible: bool, bytes: &[u8]) -> Option<(Operation, Data)> {
        if let Self::Pair {
            real,
            size,
            largest,
        } = self
        {
            let wanted = if largest { Op::MaxLoc } else { Op::MinLoc };
            let data = pairs(real, usize::from(size), bytes);
            return (op == wanted).then_some((Operation::MinMaxLoc, data));
        }
        let real = matches!(self, Self::Real(_));
        let operation = match op {
            Op::Sum if real && reproducible => Operation::SumReproducible,
            Op::Sum => Operation::Sum,
            Op::Min => Operation::Min,
            Op::Max => Operation::Max,
            Op::Product => Operation::Product,
            Op::MinLoc | Op::MaxLoc => return None,
            _ if real => return None,
            Op::BitAnd | Op::And => Operation::And,
            Op::BitOr | Op::Or => Operation::Or,
            Op::BitXor | Op::Xor => Operation::Xor,
        };
        let wide = bytes.chunks_exact(self.size()).map(|one| self.widen(one));
        let truth = |word: u64| {
            if op.is_logical() {
                u64::from(word != 0)
            } else {
                word
            }
        };
        let words: Vec<u64> = wide.map(truth).collect();
        let data = match self {
            Self::Real(4) if operation != Operation::SumReproducible => Data::F32(
                words
                    .iter()
                    .map(|word| f32::from_bits(*word as u32))
                    .collect(),
            ),
            Self::Real(4) => Data::F64(
                words
                    .iter()
                    .map(|word| f32::from_bits(*word as u32).into())
                    .collect(),
            ),
            Self::Real(_) => Data::F64(words.into_iter().map(f64::from_bits).collect()),
            Self::Unsigned(8) => Data::U64(words),
            Self::Unsigned(4) => Data::U32(words.into_iter().map(|word| word as u32).collect()),
            Self::Signed(8) | Self::Pair { .. } => {
                Data::I64(words.into_iter().map(|word| word as i64).collect())
            }
            // Narrower ones fit whatever their sign; sums and products wrap when they are cut.
            Self::Signed(_) | Self::Unsigned(_) => {
                Data::I32(words.into_iter().map(|word| word as i32).collect())
            }
        };
        Some((operation, data))
    }

    fn widen(self, one: &[u8]) -> u64 {
        widen(matches!(self, Self::Signed(_)), one)
    }

    /// The result as the program wants it.
    #[must_use]
    pub fn restore(self, data: &Data) -> Vec<u8> {
        let size = self.size();
        let cut = |word: u64| word.to_le_bytes().into_iter().take(size);
        match (self, data) {
            (Self::Real(4), Data::F64(list)) => list
                .iter()
                .flat_map(|x| (*x as f32).to_le_bytes())
                .collect(),
            (Self::Pair { largest, .. }, Data::F64Extremes(list)) => {
                let bytes = list.iter().flat_map(|found| {
                    let (value, at) = one_of(found, largest);
                    match size {
                        8 => placed(&(value as f32).to_le_bytes(), at),
                        _ => placed(&value.to_le_bytes(), at),
                    }
                });
                bytes.collect()
            }
            (Self::Pair { largest, .. }, Data::I64Extremes(list)) => {
                let bytes = list.iter().flat_map(|found| {
                    let (value, at) = one_of(found, largest);
                    placed(&value.to_le_bytes()[..size / 2], at)
                });
                bytes.collect()
            }
            (_, Data::F32(list)) => list.iter().flat_map(|x| x.to_le_bytes()).collect(),
            (_, Data::F64(list)) => list.iter().flat_map(|x| x.to_le_bytes()).collect(),
            (_, Data::I64(list)) => list.iter().flat_map(|x| cut(*x as u64)).collect(),
            (_, Data::I32(list)) => list.iter().flat_map(|x| cut(*x as u64)).collect(),
            (_, Data::U32(list)) => list.iter().flat_map(|x| cut((*x).into())).collect(),
            (_, Data::U64(list)) => list.iter().flat_map(|x| cut(*x)).collect(),
            (_, Data::Bytes(list)) => list.clone(),
            _ => Vec::new(),
        }
    }
}

fn widen(is_signed: bool, one: &[u8]) -> u64 {
    let negative = is_signed && one.last().is_some_and(|b| b & 0x80 != 0);
    let mut word = [if negative { 0xFF } else { 0 }; 8];
    word[..one.len()].copy_from_slice(one);
    u64::from_le_bytes(word)
}

/// Numbers with their places, each as the smallest and the largest so far.
fn pairs(real: bool, size: usize, bytes: &[u8]) -> Data {
    let half = size / 2;
    let halves = bytes.chunks_exact(size).map(|pair| {
        let place = widen(false, &pair[half..half + 4]) as u32;
        (&pair[..half], u64::from(place ^ SIGN))
    });
    if real {
        let number = |number: &[u8]| match half {
            4 => f32::from_bits(widen(false, number) as u32).into(),
            _ => f64::from_bits(widen(false, number)),
        };
        // For MPI, zeros are equal whatever their sign; for the switches they are not.
        let found = halves.map(|(value, at)| extremes(number(value) + 0.0, at));
        Data::F64Extremes(found.collect())
    } else {
        let found = halves.map(|(value, at)| extremes(widen(true, value) as i64, at));
        Data::I64Extremes(found.collect())
    }
}

const fn extremes<T: Copy>(value: T, at: u64) -> Extremes<T> {
    Extremes {
        min: value,
        min_at: at,
        max: value,
        max_at: at,
    }
}

const fn one_of<T: Copy>(found: &Extremes<T>, largest: bool) -> (T, u64) {
    if largest {
        (found.max, found.max_at)
    } else {
        (found.min, found.min_at)
    }
}

/// A number, its place, and what fills the rest of twice the number's size.
fn placed(value: &[u8], at: u64) -> Vec<u8> {
    let mut pair = value.to_vec();
    pair.extend((at as u32 ^ SIGN).to_le_bytes());
    pair.resize(2 * value.len(), 0);
    pair
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cl_09_elements_of_all_sizes_come_back_as_they_were() {
        let kinds = [
            (Elements::Signed(1), vec![0x80, 0x7F, 0xFF]),
            (Elements::Signed(2), vec![0x00, 0x80, 0xFF, 0x7F]),
            (
                Elements::Signed(4),
                vec![0, 0, 0, 0x80, 0xFF, 0xFF, 0xFF, 0x7F],
            ),
            (Elements::Signed(8), i64::MIN.to_le_bytes().to_vec()),
            (Elements::Unsigned(1), vec![0xFF, 0, 0x80]),
            (Elements::Unsigned(4), u32::MAX.to_le_bytes().to_vec()),
            (Elements::Unsigned(8), u64::MAX.to_le_bytes().to_vec()),
            (Elements::Real(4), (-0.0f32).to_le_bytes().to_vec()),
            (Elements::Real(8), f64::MIN_POSITIVE.to_le_bytes().to_vec()),
        ];
        for (kind, bytes) in kinds {
            let (_, data) = kind.prepare(Op::Max, false, &bytes).unwrap();
            assert_eq!(kind.restore(&data), bytes, "{kind:?}");
        }
    }

    #[test]
    fn cl_09_signs_and_truth_are_those_of_the_program() {
        let one = |kind: Elements, op, bytes: &[u8]| kind.prepare(op, false, bytes).unwrap().1;
        assert_eq!(
            one(Elements::Signed(2), Op::Min, &[0xFE, 0xFF]),
            Data::I32(vec![-2])
        );
        assert_eq!(
            one(Elements::Unsigned(2), Op::Min, &[0xFE, 0xFF]),
            Data::I32(vec![0xFFFE])
        );
        assert_eq!(
            one(Elements::Signed(4), Op::And, &[0, 0, 0, 9]),
            Data::I32(vec![1])
        );
        assert_eq!(
            one(Elements::Signed(4), Op::BitAnd, &[8, 0, 0, 0]),
            Data::I32(vec![8])
        );
        assert_eq!(Elements::Real(8).prepare(Op::BitOr, false, &[0; 8]), None);
        assert_eq!(Elements::Real(8).prepare(Op::And, false, &[0; 8]), None);
        for kind in [Elements::Real(8), Elements::Unsigned(8)] {
            let (operation, _) = kind.prepare(Op::Product, true, &[0; 8]).unwrap();
            assert_eq!(operation, Operation::Product);
        }
        let (operation, data) = Elements::Real(4).prepare(Op::Sum, true, &[0; 4]).unwrap();
        assert_eq!(
            (operation, data),
            (Operation::SumReproducible, Data::F64(vec![0.0]))
        );
        assert_eq!(Elements::from_code(1, 3, 0), None);
        assert_eq!(Elements::from_code(5, 8, 0), None);
    }

    #[test]
    fn cl_09_numbers_with_their_places_come_back_as_they_were() {
        let (min, max) = (Op::MinLoc as u8, Op::MaxLoc as u8);
        let pair = |number: &[u8], at: i32| placed(number, u64::from(at as u32 ^ SIGN));
        for (class, size, bytes) in [
            (3, 8, pair(&1.5f32.to_le_bytes(), -7)),
            (3, 16, pair(&f64::MIN_POSITIVE.to_le_bytes(), i32::MAX)),
            (4, 8, pair(&i32::MIN.to_le_bytes(), i32::MIN)),
            (4, 16, pair(&(-5i64).to_le_bytes(), 3)),
        ] {
            for op in [min, max] {
                let kind = Elements::from_code(class, size, op).unwrap();
                let (operation, data) = kind
                    .prepare(Op::ALL[usize::from(op)], false, &bytes)
                    .unwrap();
                assert_eq!(operation, Operation::MinMaxLoc);
                assert_eq!(kind.restore(&data), bytes, "{kind:?}");
                assert_eq!(kind.prepare(Op::Sum, false, &bytes), None);
            }
        }
        // Places are ordered by their signs, and zeros are equal.
        let kind = Elements::from_code(3, 16, min).unwrap();
        let bytes = [
            pair(&(-0.0f64).to_le_bytes(), -1),
            pair(&0.0f64.to_le_bytes(), 1),
        ]
        .concat();
        let Some((_, Data::F64Extremes(found))) = kind.prepare(Op::MinLoc, false, &bytes) else {
            panic!("no extremes");
        };
        assert!(found[0].min_at < found[1].min_at);
        assert_eq!(found[0].min.to_bits(), found[1].min.to_bits());
        assert_eq!(
            Elements::Signed(4).prepare(Op::MinLoc, false, &[0; 4]),
            None
        );
    }
}
