//! Elements as programs have them in memory, and as the driver reduces them.

use tributary_host_driver::collective::{Data, Operation};

/// Elements of a program: a kind and the bytes of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elements {
    /// IEEE 754: 4 or 8 bytes.
    Real(u8),
    /// Two's complement: 1, 2, 4 or 8 bytes.
    Signed(u8),
    /// 1, 2, 4 or 8 bytes.
    Unsigned(u8),
}

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
}

impl Op {
    /// All, by their numbers.
    pub const ALL: [Self; 9] = [
        Self::Sum,
        Self::Min,
        Self::Max,
        Self::BitAnd,
        Self::BitOr,
        Self::BitXor,
        Self::And,
        Self::Or,
        Self::Xor,
    ];

    const fn is_logical(self) -> bool {
        matches!(self, Self::And | Self::Or | Self::Xor)
    }
}

impl Elements {
    /// By class (0 real, 1 signed, 2 unsigned) and size.
    #[must_use]
    pub fn from_code(class: u8, size: u8) -> Option<Self> {
        match (class, size) {
            (0, 4 | 8) => Some(Self::Real(size)),
            (1, 1 | 2 | 4 | 8) => Some(Self::Signed(size)),
            (2, 1 | 2 | 4 | 8) => Some(Self::Unsigned(size)),
            _ => None,
        }
    }

    /// Bytes of one.
    #[must_use]
    pub const fn size(self) -> usize {
        match self {
            Self::Real(size) | Self::Signed(size) | Self::Unsigned(size) => size as usize,
        }
    }

    /// What the driver is to do with elements; nothing where the operation is not for them.
    #[must_use]
    pub fn prepare(self, op: Op, reproducible: bool, bytes: &[u8]) -> Option<(Operation, Data)> {
        let real = matches!(self, Self::Real(_));
        let operation = match op {
            Op::Sum if real && reproducible => Operation::SumReproducible,
            Op::Sum => Operation::Sum,
            Op::Min => Operation::Min,
            Op::Max => Operation::Max,
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
            // Narrower ones fit whatever their sign; sums wrap when they are cut.
            Self::Signed(_) | Self::Unsigned(_) => {
                Data::I64(words.into_iter().map(|word| word as i64).collect())
            }
        };
        Some((operation, data))
    }

    fn widen(self, one: &[u8]) -> u64 {
        let negative = matches!(self, Self::Signed(_)) && one.last().is_some_and(|b| b & 0x80 != 0);
        let mut word = [if negative { 0xFF } else { 0 }; 8];
        word[..one.len()].copy_from_slice(one);
        u64::from_le_bytes(word)
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
            (_, Data::F32(list)) => list.iter().flat_map(|x| x.to_le_bytes()).collect(),
            (_, Data::F64(list)) => list.iter().flat_map(|x| x.to_le_bytes()).collect(),
            (_, Data::I64(list)) => list.iter().flat_map(|x| cut(*x as u64)).collect(),
            (_, Data::U64(list)) => list.iter().flat_map(|x| cut(*x)).collect(),
            (_, Data::Bytes(list)) => list.clone(),
            _ => Vec::new(),
        }
    }
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
            Data::I64(vec![-2])
        );
        assert_eq!(
            one(Elements::Unsigned(2), Op::Min, &[0xFE, 0xFF]),
            Data::I64(vec![0xFFFE])
        );
        assert_eq!(
            one(Elements::Signed(4), Op::And, &[0, 0, 0, 9]),
            Data::I64(vec![1])
        );
        assert_eq!(
            one(Elements::Signed(4), Op::BitAnd, &[8, 0, 0, 0]),
            Data::I64(vec![8])
        );
        assert_eq!(Elements::Real(8).prepare(Op::BitOr, false, &[0; 8]), None);
        let (operation, data) = Elements::Real(4).prepare(Op::Sum, true, &[0; 4]).unwrap();
        assert_eq!(
            (operation, data),
            (Operation::SumReproducible, Data::F64(vec![0.0]))
        );
        assert_eq!(Elements::from_code(1, 3), None);
        assert_eq!(Elements::from_code(3, 8), None);
    }
}
