//! Block multicast in the card (MB-16): what a card does for its host, from one doorbell to one completion.
//!
//! A group has a ring of send descriptors. Each names a block, the member that gets it, and two numbers to wait for: blocks
//! received from the member that the block comes from, and credits of the one that gets it. Both counters only rise and are
//! compared modulo 2^32, when a descriptor comes to the head of the ring and whenever a counter changes. The card counts
//! itself: a block of the group that lands raises one counter, a credit message the other. So after its doorbell a message
//! needs no host until it is done.
//!
//! [`Generator`] makes the descriptors of a binomial pipeline out of (members, rank, blocks) with registers alone, step by
//! step; [`listed`] makes the same ones from the schedule, as a host would write them. [`Ring`] is the machine of one group,
//! [`Card`] the table of all groups of a card. [`RingTable`] is the part of a card that hardware has: it carries out
//! [entries](Entry) that a host wrote for a schedule of any shape, and counts and waits for it.

mod card;
mod descriptor;
mod end;
mod engine;
mod entry;
mod generator;
mod interface;
mod message;
mod table;

pub use card::{Card, CardError, GroupId};
pub use descriptor::{Counts, Descriptor, Programme, listed};
pub use end::{END, END_LEN, end_of_word, end_word};
pub use engine::Ring;
pub use entry::{ALL, ENTRY_LEN, ENTRY_WORDS, Entry, EntryKind, EntryWriter, PEERS, SCHEDULE};
pub use generator::{Generator, Step};
pub use interface::{
    Completion, Counters, Job, RingConfig, RingError, RingMutations, RingOutput, Status,
};
pub use table::{EndCode, Opening, Operation, QUEUE, RingTable, TableOutput};
