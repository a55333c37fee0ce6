//! What must hold in every run.

use tributary_protocol::multicast::group::Verdict;

use super::runner::Group;
use super::seat::content;
use super::{Report, Time};

/// A message was delivered: the next one, whole, with its exact length, each block in its place (MB-10, MB-11).
pub fn delivery(
    group: &Group,
    (number, rank): (usize, u32),
    (message, count): (u32, usize),
    length: u64,
    wrong: &mut Vec<String>,
) {
    let what = format!("group {number}: rank {rank} delivers message {message}");
    if message as usize + 1 != count {
        wrong.push(format!("{what} as number {count}"));
    }
    let sent = group.plan.messages.get(message as usize);
    if sent.map(|&(_, bytes)| bytes) != Some(length) {
        wrong.push(format!("{what} with {length} bytes instead of {sent:?}"));
    }
    let seat = &group.seats[rank as usize];
    let held = seat.content.get(message as usize);
    let right = |(block, &held): (usize, &u32)| held == content(message, block as u32);
    if !held.is_some_and(|blocks| blocks.iter().enumerate().all(right)) {
        wrong.push(format!("{what}, which is not what was sent"));
    }
}

/// A member knows how the group ended (MB-13).
pub fn verdict(
    number: usize,
    rank: u32,
    verdict: &Verdict,
    group: &Group,
    report: &mut Report,
    now: Time,
) {
    let ended = &report.groups[number].members;
    let what = format!("group {number}: rank {rank} ends at {now} with {verdict:?}");
    match verdict {
        Verdict::Success { messages } => {
            let whole = ended
                .iter()
                .all(|m| m.delivered.len() == *messages as usize);
            if !whole || *messages as usize != group.plan.messages.len() {
                report
                    .wrong
                    .push(format!("{what}, but not everyone has everything"));
            }
        }
        Verdict::Failure { watermarks, .. } => {
            for (r, mark) in watermarks.iter().enumerate() {
                let right = match mark {
                    Some(mark) => *mark as usize == ended[r].delivered.len(),
                    None => ended[r].died.is_some(),
                };
                if !right {
                    let has = ended[r].delivered.len();
                    report.wrong.push(format!("{what}, but rank {r} has {has}"));
                }
            }
        }
    }
}

/// Nothing happens any more: survivors have ended, all in the same way, and nobody failed who lives.
pub fn rest(number: usize, group: &Group, report: &mut Report) {
    if !group.plan.close {
        return;
    }
    let members = &report.groups[number].members;
    let mut first: Option<&Verdict> = None;
    let mut wrong = Vec::new();
    for (rank, member) in members.iter().enumerate() {
        if member.died.is_some() {
            continue;
        }
        let Some((_, verdict)) = &member.verdict else {
            wrong.push(format!("group {number}: rank {rank} never ends"));
            continue;
        };
        if *first.get_or_insert(verdict) != verdict {
            wrong.push(format!(
                "group {number}: rank {rank} ends with {verdict:?}, others with {first:?}"
            ));
        }
    }
    if let Some(Verdict::Failure { suspect, .. }) = first
        && members[*suspect as usize].died.is_none()
    {
        wrong.push(format!(
            "group {number}: rank {suspect} is suspected, but lives"
        ));
    }
    report.wrong.append(&mut wrong);
}
