//! Atomic operations on memory that a peer has opened (FI_ATOMIC). The peer's provider does each as a whole: no other one of its
//! domain sees half of it.
//!
//! A request carries what is to be combined, and what is compared; the answer (`Ack`) says that it was done, with what was there
//! before if that was asked for. Numbers are little-endian on the way.

use crate::numbered::numbered;

use super::{
    Address, Busy, Engine, Header, Kind, Label, Memory, Outgoing, Place, Reached, Sending, What,
};

/// Most bytes of an operation, and of a read that is answered at once: the answer is one packet.
pub const MOST: usize = 2_048;
/// Bytes in front of the operands of a request: operation, type, whether what was there is wanted, zeros.
const FRONT: usize = 8;

numbered! {
    /// Types of elements, as libfabric numbers them.
    #[allow(missing_docs, reason = "names say it")]
    Type {
        I8 = 0,
        U8 = 1,
        I16 = 2,
        U16 = 3,
        I32 = 4,
        U32 = 5,
        I64 = 6,
        U64 = 7,
        F32 = 8,
        F64 = 9,
    }
}

impl Type {
    /// Bytes.
    #[must_use]
    pub fn bytes(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }

    fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }
}

numbered! {
    /// Operations, as libfabric numbers them.
    #[allow(missing_docs, reason = "names are libfabric's")]
    Operation {
        Min = 0,
        Max = 1,
        Sum = 2,
        Prod = 3,
        Lor = 4,
        Land = 5,
        Bor = 6,
        Band = 7,
        Lxor = 8,
        Bxor = 9,
        Read = 10,
        Write = 11,
        Cswap = 12,
        CswapNe = 13,
        CswapLe = 14,
        CswapLt = 15,
        CswapGe = 16,
        CswapGt = 17,
        Mswap = 18,
    }
}

impl Operation {
    /// It compares.
    #[must_use]
    pub fn compares(self) -> bool {
        self as u8 >= Self::Cswap as u8
    }

    /// It is defined for the type.
    #[must_use]
    pub fn takes(self, of: Type) -> bool {
        let bits = matches!(self, Self::Bor | Self::Band | Self::Bxor | Self::Mswap);
        !(bits && of.is_float())
    }

    /// Operands of a request: what is combined, what is compared.
    fn operands(self) -> usize {
        match self {
            Self::Read => 0,
            _ if self.compares() => 2,
            _ => 1,
        }
    }
}

/// What is to be done at a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Atomic {
    /// Operation.
    pub operation: Operation,
    /// Of the elements.
    pub of: Type,
    /// What is combined with the memory, nothing of a read; behind it what the memory is compared with.
    pub operands: Vec<u8>,
    /// Bytes of the memory.
    pub length: usize,
    /// What was there before is wanted.
    pub fetches: bool,
}

impl Atomic {
    fn encode(&self) -> Vec<u8> {
        let (operation, of) = (self.operation as u8, self.of as u8);
        let mut bytes = vec![operation, of, u8::from(self.fetches), 0, 0, 0, 0, 0];
        bytes.extend_from_slice(&self.operands);
        bytes
    }

    /// What a peer asks for, if it makes sense.
    fn decode(bytes: &[u8], length: usize) -> Option<Self> {
        let (front, operands) = bytes.split_first_chunk::<FRONT>()?;
        let atomic = Self {
            operation: Operation::of(front[0].into())?,
            of: Type::of(front[1].into())?,
            operands: operands.to_vec(),
            length,
            fetches: front[2] == 1,
        };
        let known = front[2] <= 1 && front[3..] == [0; 5];
        (known && atomic.is_sound()).then_some(atomic)
    }

    /// Its lengths are those of its operation.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let operands = self.operation.operands() * self.length;
        (1..=MOST).contains(&self.length)
            && self.length.is_multiple_of(self.of.bytes())
            && self.operands.len() == operands
            && self.operation.takes(self.of)
    }

    /// What is in the memory afterwards.
    fn apply(&self, before: &[u8]) -> Vec<u8> {
        let (operand, compare) = self.operands.split_at(self.operands.len().min(self.length));
        let each: OneElement = match self.of {
            Type::I8 => of_i8,
            Type::U8 => of_u8,
            Type::I16 => of_i16,
            Type::U16 => of_u16,
            Type::I32 => of_i32,
            Type::U32 => of_u32,
            Type::I64 => of_i64,
            Type::U64 => of_u64,
            Type::F32 => of_f32,
            Type::F64 => of_f64,
        };
        let mut after = Vec::with_capacity(self.length);
        for (at, element) in before.chunks_exact(self.of.bytes()).enumerate() {
            let range = at * element.len()..(at + 1) * element.len();
            let [operand, compare] =
                [operand, compare].map(|all| all.get(range.clone()).unwrap_or_default());
            each(self.operation, element, operand, compare, &mut after);
        }
        after
    }
}

/// Does an operation to one element, with what is combined and compared, and adds what is there then.
type OneElement = fn(Operation, &[u8], &[u8], &[u8], &mut Vec<u8>);

/// Functions that do an operation to one element; operands that an operation has not are empty, and count as 0.
macro_rules! elements {
    ($($name:ident $of:ident $sum:expr, $product:expr, $bits:expr;)+) => {
        $(
            fn $name(operation: Operation, before: &[u8], operand: &[u8], compare: &[u8], after: &mut Vec<u8>) {
                let value = |bytes: &[u8]| bytes.try_into().map_or($of::default(), $of::from_le_bytes);
                let (target, source, compare) = (value(before), value(operand), value(compare));
                let truth = |what: bool| u8::from(what) as $of;
                let zero = $of::default();
                let swap = |when: bool| if when { source } else { target };
                let result = match operation {
                    Operation::Min => swap(source < target),
                    Operation::Max => swap(source > target),
                    Operation::Sum => $sum(target, source),
                    Operation::Prod => $product(target, source),
                    Operation::Lor => truth(target != zero || source != zero),
                    Operation::Land => truth(target != zero && source != zero),
                    Operation::Lxor => truth((target != zero) != (source != zero)),
                    Operation::Read => target,
                    Operation::Write => source,
                    Operation::Cswap => swap(compare == target),
                    Operation::CswapNe => swap(compare != target),
                    Operation::CswapLe => swap(compare <= target),
                    Operation::CswapLt => swap(compare < target),
                    Operation::CswapGe => swap(compare >= target),
                    Operation::CswapGt => swap(compare > target),
                    Operation::Bor | Operation::Band | Operation::Bxor | Operation::Mswap => {
                        let bits: fn(Operation, $of, $of, $of) -> $of = $bits;
                        bits(operation, target, source, compare)
                    }
                };
                after.extend_from_slice(&result.to_le_bytes());
            }
        )+
    };
}

/// Operations on the bits of integers.
macro_rules! bits {
    () => {
        |operation, target, source, compare| match operation {
            Operation::Bor => target | source,
            Operation::Band => target & source,
            Operation::Bxor => target ^ source,
            _ => source & compare | target & !compare,
        }
    };
}

elements! {
    of_i8 i8 i8::wrapping_add, i8::wrapping_mul, bits!();
    of_u8 u8 u8::wrapping_add, u8::wrapping_mul, bits!();
    of_i16 i16 i16::wrapping_add, i16::wrapping_mul, bits!();
    of_u16 u16 u16::wrapping_add, u16::wrapping_mul, bits!();
    of_i32 i32 i32::wrapping_add, i32::wrapping_mul, bits!();
    of_u32 u32 u32::wrapping_add, u32::wrapping_mul, bits!();
    of_i64 i64 i64::wrapping_add, i64::wrapping_mul, bits!();
    of_u64 u64 u64::wrapping_add, u64::wrapping_mul, bits!();
    of_f32 f32 |a, b| a + b, |a, b| a * b, |_, target, _, _| target;
    of_f64 f64 |a, b| a + b, |a, b| a * b, |_, target, _, _| target;
}

impl<O: Clone + PartialEq, M: Memory> Engine<O, M> {
    /// Does an operation to memory of a peer; what was there before goes to `result`, which is empty if nobody wants it.
    ///
    /// # Errors
    /// Too many messages wait for this peer.
    pub fn atomic(&mut self, to: Place, atomic: &Atomic, result: M, op: O) -> Result<(), Busy> {
        let what = What::Atomic {
            fetched: atomic.fetches,
        };
        if self.refuses(to.at, &op, what)? {
            return Ok(());
        }
        let kind = Kind::Atomic;
        let header = Header::new(kind, self.number(), to.key, to.offset, atomic.length);
        let mut bytes = header.encode().to_vec();
        bytes.extend(atomic.encode());
        let sending = Sending::new(to.at, result, Outgoing::Atomic(op, what));
        self.sending.insert(header.id, sending);
        self.queue(to.at, bytes);
        Ok(())
    }

    pub(super) fn asked_for_atomic(
        &mut self,
        from: Address,
        header: &Header,
        payload: &[u8],
        length: usize,
    ) {
        let Some(atomic) = Atomic::decode(payload, length) else {
            return;
        };
        match self.combine(header, &atomic) {
            Some(before) => {
                self.reached.push_back(Reached {
                    by: from,
                    key: header.tag,
                    write: !atomic.fetches,
                    length,
                    data: None,
                });
                let found = if atomic.fetches { &before[..] } else { &[] };
                self.acknowledge(from, header.id, true, found);
            }
            None => self.acknowledge(from, header.id, false, &[]),
        }
    }

    /// Does an operation, if the peer may; what was there before.
    fn combine(&self, header: &Header, atomic: &Atomic) -> Option<Vec<u8>> {
        // Held while memory is read and written: all endpoints of the domain take it.
        let regions = self
            .regions
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let region = regions.get(&header.tag)?;
        let reads = atomic.fetches || atomic.operation == Operation::Read;
        let writes = atomic.operation != Operation::Read;
        if reads && !region.reads || writes && !region.writes {
            return None;
        }
        let mut memory = region.part(header.data, atomic.length)?;
        let mut before = Vec::with_capacity(atomic.length);
        memory.read(0, atomic.length, &mut before);
        if writes {
            memory.write(0, &atomic.apply(&before));
        }
        Some(before)
    }

    /// An operation of this end was done, and found this; or was refused.
    pub(super) fn atomic_ended(&mut self, id: u32, done: bool, found: &[u8]) {
        let Some(Sending {
            to,
            mut memory,
            purpose: Outgoing::Atomic(op, what),
            ..
        }) = self.sending.remove(&id)
        else {
            return;
        };
        // What was there before is whole, or the peer has not understood.
        let good = done && found.len() == memory.length();
        if good {
            memory.write(0, found);
        }
        let failure = (!good).then_some(super::Failure::Refused);
        let length = if good { found.len() } else { 0 };
        self.end(Some(op), what, length, Label::default(), to, failure);
    }
}
