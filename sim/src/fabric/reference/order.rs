//! In which orders an engine may have taken what came to it.
//!
//! It takes what has come; of several that wait the next input in turn. The cables show when a frame came, but neither whose turn it
//! was at first nor a difference of a clock or two inside the switch, so there may be several orders.

use std::collections::BTreeSet;

use crate::fabric::timing::STORED_WORDS;

/// Clocks by which the engine may begin later than the times on the cables say, so that what comes in them may go first.
const UNSEEN_CLOCKS: u64 = 2;

/// A contribution that came to a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Came {
    /// Clock of its last word.
    pub clock: u64,
    /// Port by which it came.
    pub input: usize,
}

/// Whether one of the orders that the engine may have had is right; `came` is sorted by clock.
pub fn any_order(came: &[Came], mut right: impl FnMut(&[usize]) -> bool) -> bool {
    go_on(came, &mut Vec::new(), 0, &mut right)
}

fn go_on(
    came: &[Came],
    taken: &mut Vec<usize>,
    free_at: u64,
    right: &mut dyn FnMut(&[usize]) -> bool,
) -> bool {
    // The oldest of each input.
    let mut inputs = BTreeSet::new();
    let heads: Vec<usize> = (0..came.len())
        .filter(|i| !taken.contains(i) && inputs.insert(came[*i].input))
        .collect();
    let Some(first) = heads.iter().map(|&i| came[i].clock).min() else {
        return right(taken);
    };
    let begin = first.max(free_at);
    let last = taken.last().map(|&i| came[i].input);
    let mut next = BTreeSet::new();
    for clock in begin..=begin + UNSEEN_CLOCKS {
        let waiting = heads.iter().copied().filter(|&i| came[i].clock <= clock);
        match last {
            None => next.extend(waiting),
            Some(last) => {
                next.extend(waiting.min_by_key(|&i| (came[i].input <= last, came[i].input)));
            }
        }
    }
    next.into_iter().any(|i| {
        taken.push(i);
        let found = go_on(came, taken, begin.max(came[i].clock) + STORED_WORDS, right);
        taken.pop();
        found
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn orders(came: &[(u64, usize)]) -> Vec<Vec<usize>> {
        let came: Vec<Came> = came
            .iter()
            .map(|&(clock, input)| Came { clock, input })
            .collect();
        let mut all = vec![];
        any_order(&came, |order| {
            all.push(order.iter().map(|&i| came[i].input).collect());
            false
        });
        all
    }

    #[test]
    fn what_comes_apart_has_one_order() {
        assert_eq!(orders(&[(0, 5), (11, 1), (22, 3)]), [[5, 1, 3]]);
    }

    #[test]
    fn what_waits_goes_in_turn() {
        // 2 begins; the others come meanwhile.
        assert_eq!(
            orders(&[(0, 2), (4, 6), (5, 1), (6, 3), (7, 2)]),
            [[2, 3, 6, 1, 2]]
        );
        // Whose turn it was before is not known.
        assert_eq!(
            orders(&[(0, 0), (0, 1), (0, 2)]),
            [[0, 1, 2], [1, 2, 0], [2, 0, 1]]
        );
    }

    #[test]
    fn a_clock_that_is_not_seen_may_let_another_one_go_first() {
        assert_eq!(orders(&[(0, 0), (2, 1)]), [[0, 1], [1, 0]]);
        assert_eq!(orders(&[(0, 0), (3, 1)]), [[0, 1]]);
        assert_eq!(
            orders(&[(0, 0), (10, 2), (12, 1)]),
            [[0, 2, 1], [0, 1, 2]],
            "1 is next in turn, if it is there"
        );
    }

    #[test]
    fn of_no_contributions_there_is_one_order() {
        assert_eq!(orders(&[]), [Vec::<usize>::new()]);
    }
}
