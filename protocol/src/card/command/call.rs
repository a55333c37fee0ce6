//! What each command takes, checks, changes and returns.

use super::argument::{
    Argument, Arguments, Built, Returned, bits_of, close_window, create_qp, join_group, modify_qp,
    next_epoch, open_window, query_qp, set_region,
};
use super::{Command, Status};
use crate::card::regs::WINDOWS_ONE_SIDED;

/// What the index of a command counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Index {
    /// Queue pairs.
    QueuePair,
    /// Regions.
    Region,
    /// Windows of one-sided operations.
    Window,
}

impl Index {
    /// For people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::QueuePair => "queue pair",
            Self::Region => "region",
            Self::Window => "window",
        }
    }

    /// How many the card has.
    #[must_use]
    pub const fn count(self, built: &Built) -> u32 {
        match self {
            Self::QueuePair => built.queue_pairs,
            Self::Region => built.regions,
            Self::Window => WINDOWS_ONE_SIDED,
        }
    }
}

/// A command: its arguments, its results, and what becomes of it.
///
/// A card checks in this order: the code, else bad_command; the index, else bad_index; the arguments, else bad_argument; `state`,
/// else bad_state; and, if it waits, that nothing is under way, else not_idle. A command that is refused changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Which.
    pub command: Command,
    /// What its index counts.
    pub index: Index,
    /// What it takes.
    pub arguments: &'static [Argument],
    /// What it returns.
    pub results: &'static [Returned],
    /// When it ends with bad_state; empty if never.
    pub state: &'static str,
    /// It waits until nothing is under way on the card, and may end with not_idle.
    pub waits: bool,
    /// What it changes.
    pub effect: &'static str,
}

/// Every command, by ascending code.
pub const CALLS: &[Call] = &[
    Call {
        command: Command::CreateQp,
        index: Index::QueuePair,
        arguments: create_qp::ARGUMENTS,
        results: create_qp::RESULTS,
        state: "the queue pair exists",
        waits: false,
        effect: "Queue pair: exists in the state init, with the epoch that follows the newest one of its number; no older epoch is accepted. \
                 Rings: all indices are 0; the first completion has number 0 and phase 1; no interrupt is asked for.",
    },
    Call {
        command: Command::ModifyQp,
        index: Index::QueuePair,
        arguments: modify_qp::ARGUMENTS,
        results: &[],
        state: "the queue pair does not exist, or the new state cannot be reached from its present one",
        waits: false,
        effect: "Queue pair: has the new state. Rings: unchanged; what is in flight still ends, with its completion.",
    },
    Call {
        command: Command::DestroyQp,
        index: Index::QueuePair,
        arguments: &[],
        results: &[],
        state: "the queue pair does not exist",
        waits: true,
        effect: "Queue pair: is gone; only its epoch is kept. Rings: what had not ended gets no completion; the card does not touch them, or \
                 memory that their requests name, any more. Windows that name it refuse from now on, and so they do for the next queue pair of its number.",
    },
    Call {
        command: Command::QueryQp,
        index: Index::QueuePair,
        arguments: &[],
        results: query_qp::RESULTS,
        state: "",
        waits: false,
        effect: "Nothing.",
    },
    Call {
        command: Command::NextEpoch,
        index: Index::QueuePair,
        arguments: &[],
        results: next_epoch::RESULTS,
        state: "the queue pair does not exist",
        waits: false,
        effect: "Queue pair: has the next epoch, modulo 2^16. It accepts the epochs that it has had since CREATE_QP, the newest 32,768 of them.",
    },
    Call {
        command: Command::SetRegion,
        index: Index::Region,
        arguments: set_region::ARGUMENTS,
        results: &[],
        state: "",
        waits: false,
        effect: "Region: exists, with the key index · 256 + variant; one that was there is replaced, and its key is no longer good if the variant \
                 differs. Accesses that were allowed before may still be under way.",
    },
    Call {
        command: Command::ClearRegion,
        index: Index::Region,
        arguments: &[],
        results: &[],
        state: "",
        waits: true,
        effect: "Region: is gone, and the card does not touch its memory any more. One that was not there: nothing.",
    },
    Call {
        command: Command::OpenWindow,
        index: Index::Window,
        arguments: open_window::ARGUMENTS,
        results: &[],
        state: "the own queue pair does not exist",
        waits: true,
        effect: "Window: open for one-sided requests of this peer to this queue pair in this epoch; the number expected is 0. One that was open \
                 is replaced.",
    },
    Call {
        command: Command::CloseWindow,
        index: Index::Window,
        arguments: &[],
        results: close_window::RESULTS,
        state: "",
        waits: true,
        effect: "Window: closed; requests for it are refused. One that was not open: nothing.",
    },
    Call {
        command: Command::JoinGroup,
        index: Index::QueuePair,
        arguments: join_group::ARGUMENTS,
        results: &[],
        state: "the queue pair is not in the state init, is in a group already, another one of the card is in a group of this VNI and cookie, or as many of the card are in groups as it was built for (8 of bulk_card)",
        waits: false,
        effect: "Queue pair: is in the group until it is destroyed. Its work requests are reduction frames, and the frames of the group its completions; \
                 it takes no messages. A card without the feature reductions ends with bad_command.",
    },
];

impl Call {
    /// Argument registers that it looks at: the first so many.
    #[must_use]
    pub fn registers(&self) -> usize {
        let used = |argument: &Argument| usize::from(argument.register + argument.further()) + 1;
        self.arguments.iter().map(used).max().unwrap_or(0)
    }

    /// Checks index and arguments.
    ///
    /// # Errors
    /// bad_index or bad_argument.
    pub fn check(&self, index: u32, registers: &Arguments, built: &Built) -> Result<(), Status> {
        if index >= self.index.count(built) {
            return Err(Status::BadIndex);
        }
        let taken = |argument: &Argument| argument.is_taken(registers, built);
        let spare = |register| !bits_of(self.arguments, register as u8);
        let beyond = (0..self.registers()).any(|at| registers[at] & spare(at) != 0);
        if beyond || !self.arguments.iter().all(taken) {
            return Err(Status::BadArgument);
        }
        Ok(())
    }
}

impl Command {
    /// What it takes, checks, changes and returns.
    #[must_use]
    pub fn call(self) -> &'static Call {
        let at = usize::from(self.code()) - 1;
        debug_assert_eq!(CALLS[at].command, self);
        &CALLS[at]
    }
}
