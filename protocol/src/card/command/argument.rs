//! Values that commands take from the argument registers and leave in the result registers.

use super::State;
use crate::card::regs::ARGS;
use crate::registers::Field;

/// The argument registers.
pub type Arguments = [u32; ARGS as usize];

/// A value among the arguments of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Argument {
    /// Lower-case name.
    pub name: &'static str,
    /// The argument register that it is in, or begins in.
    pub register: u8,
    /// Lowest bit there.
    pub lsb: u8,
    /// Number of bits. One of 64 bits has its upper half in the next register.
    pub width: u8,
    /// Which values are taken; another one ends the command with bad_argument.
    pub limit: Limit,
    /// Meaning.
    pub doc: &'static str,
}

/// Which values of an argument are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Every one.
    Any,
    /// Code of a [`State`].
    State,
    /// A queue pair that the card has, whether it exists or not.
    QueuePair,
    /// An interrupt vector that the card has.
    Vector,
    /// A multiple of this.
    Multiple(u64),
    /// At least 1, and the sum of this argument and it at most 2^64.
    BytesFrom(&'static Argument),
}

/// How large a card was built, as far as commands depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Built {
    /// Queue pairs.
    pub queue_pairs: u32,
    /// Regions.
    pub regions: u32,
    /// Interrupt vectors.
    pub vectors: u32,
}

impl Argument {
    const fn mask(&self) -> u64 {
        u64::MAX >> (64 - self.width as u32)
    }

    /// Registers behind the first that it has a part in.
    #[must_use]
    pub const fn further(&self) -> u8 {
        (self.lsb + self.width - 1) / 32
    }

    fn both(&self, registers: &Arguments) -> u64 {
        let at = usize::from(self.register);
        let high = match self.further() {
            0 => 0,
            _ => registers[at + 1],
        };
        u64::from(high) << 32 | u64::from(registers[at])
    }

    /// Its value.
    #[must_use]
    pub fn get(&self, registers: &Arguments) -> u64 {
        self.both(registers) >> self.lsb & self.mask()
    }

    /// Puts a value in its place; bits that do not fit are left out.
    pub fn put(&self, registers: &mut Arguments, value: impl Into<u64>) {
        let mask = self.mask() << self.lsb;
        let both = self.both(registers) & !mask | value.into() << self.lsb & mask;
        let at = usize::from(self.register);
        registers[at] = both as u32;
        if self.further() > 0 {
            registers[at + 1] = (both >> 32) as u32;
        }
    }

    /// The same as bits of its register. Of an argument with more than one register: its lower half.
    #[must_use]
    pub const fn field(&self) -> Field {
        Field {
            name: self.name,
            lsb: self.lsb,
            width: if self.width < 32 { self.width } else { 32 },
            doc: self.doc,
        }
    }

    /// Whether its value is taken.
    #[must_use]
    pub fn is_taken(&self, registers: &Arguments, built: &Built) -> bool {
        let value = self.get(registers);
        match self.limit {
            Limit::Any => true,
            Limit::State => State::from_code(value as u8).is_some(),
            Limit::QueuePair => value < built.queue_pairs.into(),
            Limit::Vector => value < built.vectors.into(),
            Limit::Multiple(of) => value.is_multiple_of(of),
            Limit::BytesFrom(base) => {
                value > 0 && u128::from(base.get(registers)) + u128::from(value) <= 1 << 64
            }
        }
    }
}

/// Bits of an argument register that some argument has; the others must be 0, or the command ends with bad_argument. So a value
/// that is too large is not taken for the one that its lower bits are.
#[must_use]
pub const fn bits_of(arguments: &[Argument], register: u8) -> u32 {
    let (mut bits, mut at) = (0, 0);
    while at < arguments.len() {
        let argument = &arguments[at];
        let mask = argument.mask() << argument.lsb;
        if argument.register == register {
            bits |= mask as u32;
        }
        if argument.further() > 0 && argument.register + 1 == register {
            bits |= (mask >> 32) as u32;
        }
        at += 1;
    }
    bits
}

/// A value that a command leaves in a result register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Returned {
    /// Lower-case name.
    pub name: &'static str,
    /// The result register.
    pub register: u8,
    /// Number of bits, from bit 0 on; those above are 0.
    pub width: u8,
    /// Meaning.
    pub doc: &'static str,
}

impl Returned {
    /// Its value.
    #[must_use]
    pub const fn get(&self, results: &[u32; 2]) -> u32 {
        results[self.register as usize] & (u32::MAX >> (32 - self.width as u32))
    }

    /// Puts a value in its place.
    pub fn put(&self, results: &mut [u32; 2], value: impl Into<u32>) {
        results[usize::from(self.register)] = value.into();
    }
}

macro_rules! arguments {
    ($list:ident $list_doc:literal; $($name:ident $text:literal [$register:literal, $lsb:literal +: $width:literal] $limit:expr, $doc:literal;)*) => {
        $(
            #[doc = $doc]
            pub const $name: Argument = Argument {
                name: $text, register: $register, lsb: $lsb, width: $width, limit: $limit, doc: $doc,
            };
        )*
        #[doc = $list_doc]
        pub const $list: &[Argument] = &[$($name),*];
    };
}

macro_rules! results {
    ($list:ident $list_doc:literal; $($name:ident $text:literal [$register:literal, $width:literal] $doc:literal;)*) => {
        $(
            #[doc = $doc]
            pub const $name: Returned = Returned { name: $text, register: $register, width: $width, doc: $doc };
        )*
        #[doc = $list_doc]
        pub const $list: &[Returned] = &[$($name),*];
    };
}

/// Arguments and result of CREATE_QP.
pub mod create_qp {
    use super::{Argument, Limit, Returned};

    /// Rings start at a multiple of this.
    pub const RING_ALIGN: u64 = 64;

    arguments! {
        ARGUMENTS "Arguments of CREATE_QP.";
        SEND_LOG "send_log" [0, 4 +: 4] Limit::Any, "log2 of the send ring's entries, 0 to 15.";
        RECEIVE_LOG "receive_log" [0, 8 +: 4] Limit::Any, "log2 of the receive ring's entries, 0 to 15.";
        COMPLETE_LOG "complete_log" [0, 12 +: 4] Limit::Any, "log2 of the completion ring's entries, 0 to 15.";
        TIMEOUT "timeout" [0, 16 +: 5] Limit::Any, "Timeout exponent t: a request times out after 4.096 µs · 2^t (XUD-1); the card does not send it again.";
        VECTOR "vector" [0, 24 +: 3] Limit::Vector, "Interrupt vector of its completions.";
        Q_KEY "q_key" [1, 0 +: 32] Limit::Any, "Q_Key: requests that arrive must carry it, requests that leave carry it. So queue pairs that talk have the same.";
        DOMAIN "domain" [2, 0 +: 16] Limit::Any, "Protection domain: the queue pair uses regions of the same one only.";
        FIRST_PSN "first_psn" [3, 0 +: 24] Limit::Any, "PSN of the first request. A clock or a random number, or an acknowledgement of an earlier queue pair of this number may pass for one of this.";
        SEND_BASE "send_base" [4, 0 +: 64] Limit::Multiple(RING_ALIGN), "Bus address of the send ring.";
        RECEIVE_BASE "receive_base" [6, 0 +: 64] Limit::Multiple(RING_ALIGN), "Bus address of the receive ring.";
        COMPLETE_BASE "complete_base" [8, 0 +: 64] Limit::Multiple(RING_ALIGN), "Bus address of the completion ring.";
    }

    results! {
        RESULTS "Result of CREATE_QP.";
        EPOCH "epoch" [0, 16] "The queue pair's epoch: what requests of version 1 to it must carry.";
    }
}

/// Argument of MODIFY_QP.
pub mod modify_qp {
    use super::{Argument, Limit};

    arguments! {
        ARGUMENTS "Argument of MODIFY_QP.";
        STATE "state" [0, 0 +: 3] Limit::State, "The new state.";
    }
}

/// Results of QUERY_QP.
pub mod query_qp {
    use super::Returned;

    results! {
        RESULTS "Results of QUERY_QP.";
        STATE "state" [0, 3] "State; reset if there is no such queue pair.";
        EPOCH "epoch" [1, 16] "The newest epoch that the number has had; 0 if it had none.";
    }
}

/// Result of NEXT_EPOCH.
pub mod next_epoch {
    use super::Returned;

    results! {
        RESULTS "Result of NEXT_EPOCH.";
        EPOCH "epoch" [0, 16] "The new epoch.";
    }
}

/// Arguments of SET_REGION.
pub mod set_region {
    use super::{Argument, Limit};

    arguments! {
        ARGUMENTS "Arguments of SET_REGION.";
        VARIANT "variant" [0, 0 +: 8] Limit::Any, "Low byte of the key.";
        LOCAL_WRITE "local_write" [0, 8 +: 1] Limit::Any, "The card may write there what it receives, reads and swaps (IBV_ACCESS_LOCAL_WRITE).";
        REMOTE_WRITE "remote_write" [0, 9 +: 1] Limit::Any, "Others may write there (IBV_ACCESS_REMOTE_WRITE).";
        REMOTE_READ "remote_read" [0, 10 +: 1] Limit::Any, "Others may read there (IBV_ACCESS_REMOTE_READ).";
        REMOTE_ATOMIC "remote_atomic" [0, 11 +: 1] Limit::Any, "Others may do atomics there (IBV_ACCESS_REMOTE_ATOMIC).";
        DOMAIN "domain" [1, 0 +: 16] Limit::Any, "Protection domain.";
        BASE "base" [2, 0 +: 64] Limit::Any, "Bus address of the first byte.";
        LENGTH "length" [4, 0 +: 64] Limit::BytesFrom(&BASE), "Bytes.";
    }
}

/// Arguments of OPEN_WINDOW.
pub mod open_window {
    use super::{Argument, Limit};

    arguments! {
        ARGUMENTS "Arguments of OPEN_WINDOW.";
        QPN "qpn" [0, 0 +: 24] Limit::QueuePair, "Own queue pair.";
        NODE "node" [1, 0 +: 20] Limit::Any, "Node of the peer.";
        PEER "peer" [2, 0 +: 24] Limit::Any, "Queue pair of the peer.";
        EPOCH "epoch" [3, 0 +: 16] Limit::Any, "Epoch: one that the own queue pair accepts, by CREATE_QP or NEXT_EPOCH; with another one requests are refused.";
    }
}

/// Results of CLOSE_WINDOW.
pub mod close_window {
    use super::Returned;

    results! {
        RESULTS "Results of CLOSE_WINDOW.";
        EXPECTED "expected" [0, 32] "Number that the window expected; 0 if it was not open.";
        WAS_OPEN "was_open" [1, 1] "1 if it was open.";
    }
}

/// Arguments of JOIN_GROUP.
pub mod join_group {
    use super::{Argument, Limit};

    arguments! {
        ARGUMENTS "Arguments of JOIN_GROUP.";
        VNI "vni" [0, 0 +: 16] Limit::Any, "VNI: the job. Frames of the group carry it.";
        TREE "tree" [1, 0 +: 13] Limit::Any, "Tree in the switches' multicast tables. Frames that come by another one are dropped.";
        MEMBERS "members" [1, 13 +: 19] Limit::Any, "0, or of the root's queue pair how many members the group has, the root among them: the card answers complete results itself (CL-6).";
        COOKIE "cookie" [2, 0 +: 32] Limit::Multiple(8), "Names the group among those of the VNI. Frames of the group carry it plus their reduction id.";
    }
}
