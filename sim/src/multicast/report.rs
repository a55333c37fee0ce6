//! What came of a run.

use tributary_protocol::multicast::group::{Counters, Verdict, Why};

use super::Time;

/// One block on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    /// Number of the group.
    pub group: u32,
    /// Number of the message.
    pub message: u32,
    /// Number of the block.
    pub block: u32,
    /// Sending rank.
    pub from: u32,
    /// Receiving rank.
    pub to: u32,
    /// Its first byte left.
    pub start: Time,
    /// Its last byte arrived.
    pub end: Time,
}

/// What became of one member.
#[derive(Clone, Debug, Default)]
pub struct Ended {
    /// When each message was there, whole, and its host knew it; of the root, when it began.
    pub delivered: Vec<Time>,
    /// How the group ended for it, and when it knew.
    pub verdict: Option<(Time, Verdict)>,
    /// When it learnt of a failure, of which member, and what happened.
    pub failed: Option<(Time, u32, Why)>,
    /// When it died.
    pub died: Option<Time>,
    /// What its machine dropped.
    pub counters: Counters,
}

/// What became of one group.
#[derive(Clone, Debug, Default)]
pub struct GroupReport {
    /// Steps of the schedules of all messages.
    pub steps: u64,
    /// Time of all its steps, each as long as a whole block, at the full rate of a port.
    pub bound: Time,
    /// When the last block arrived anywhere.
    pub end: Time,
    /// Blocks that arrived.
    pub blocks: u64,
    /// Bytes that arrived.
    pub bytes: u64,
    /// By rank.
    pub members: Vec<Ended>,
}

/// What came of a run.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// By group.
    pub groups: Vec<GroupReport>,
    /// When nothing happened any more.
    pub end: Time,
    /// Every block's way, if asked for.
    pub moved: Vec<Moved>,
    /// What must not be: a wrong verdict, a wrong block, a member that never ends.
    pub wrong: Vec<String>,
}
