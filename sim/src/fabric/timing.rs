//! How long frames take, in clocks. The figures of the switch are those of its RTL.

// All from the clock in which one word stands at an input to the clock in which another stands at an output.

/// From the last word of a frame in to its first word out, through an idle switch, if no engine looks at it.
pub const FORWARD_CLOCKS: u64 = 9;
/// From the last word of a frame in to its first word past the queue: at the engine, if that looks at it.
pub const TO_ENGINE_CLOCKS: u64 = 6;
/// From there to its first word out, of one that no engine looks at.
pub const LINE_CLOCKS: u64 = FORWARD_CLOCKS - TO_ENGINE_CLOCKS;
/// From the first word of the last contribution at the engine to the first word of the result out.
pub const ENGINE_CLOCKS: u64 = 11;
/// Clocks by which a contribution may be ready later than another one begins, and still be taken with it. Less than
/// [`TO_ENGINE_CLOCKS`].
pub const TOGETHER_CLOCKS: u64 = 1;
/// Most contributions that are taken with one.
pub const OTHERS_MAX: usize = 15;
/// From the first word of a contribution until the others that are taken with it have left their queues, without a clock for each.
pub const ASIDE_CLOCKS: u64 = 15;
/// From the first word at the engine of a frame that passes unchanged upwards to its first word out.
pub const PASS_CLOCKS: u64 = 11;
/// Between two frames of one queue of which the engine looks at one and not at the other.
pub const OTHER_READER_CLOCKS: u64 = 1;
/// Words that a queue holds of a frame for its engine, and clocks that it takes into it.
pub const STORED_WORDS: u64 = 11;
/// From the last word of the last contribution in to the first word of the result out.
pub const RESULT_CLOCKS: u64 = TO_ENGINE_CLOCKS + ENGINE_CLOCKS;
/// Words of 8 bytes that a queue between an input and an output holds.
pub const QUEUE_WORDS: u64 = 512;
/// Bytes of a word: what a port takes in a clock.
pub const WORD_BYTES: u64 = 8;
/// Bytes that a frame occupies its link for, besides itself: preamble 8, frame check sequence 4, gap 12.
pub const GAP_BYTES: u64 = 24;
/// From the last word of a frame in to the first word of an answer out, at an endpoint whose software takes no time.
pub const ENDPOINT_CLOCKS: u64 = 1;
/// The same in the card of a root, from a result to its answer (CL-6): what `card_reduce` takes (`docs/card.md`).
pub const ANSWER_CLOCKS: u64 = 43;

/// From the first word of the first of several contributions that are taken together to the clock that counts as the first word of
/// all of them as one: the result leaves, and the next frame may begin, so much later than after one contribution alone. At least
/// three contributions; `was_empty`: there is nothing else in their descriptor.
///
/// The others' data come one a clock. Neighbours are combined as soon as both are there, and what comes out again, so only the
/// last of each level counts. The last two values, or the last one and what is in the descriptor, are combined as any contribution.
#[must_use]
pub fn together_clocks(contributions: usize, was_empty: bool) -> u64 {
    // Clocks in which the values of a level are there.
    let mut level: Vec<u64> = (FIRST_CLOCK..).take(contributions).collect();
    if contributions % 2 == 1
        && let Some(last) = level.last_mut()
    {
        *last += UNPAIRED_CLOCKS;
    }
    let own = if was_empty { 2 } else { 1 };
    while level.len() > own {
        let sum = |pair: &[u64]| pair[pair.len() - 1] + COMBINE_CLOCKS;
        level = level.chunks(2).map(sum).collect();
    }
    level.last().map_or(0, |last| last - OWN_CLOCKS)
}

/// From the first word of the first contribution to its data, behind which the others' follow.
const FIRST_CLOCK: u64 = 6;
/// From data without a neighbour to the clock in which it goes on; on later levels at once.
const UNPAIRED_CLOCKS: u64 = 1;
/// From two values that are combined to what comes out.
const COMBINE_CLOCKS: u64 = 11;
/// From the clock that counts as the first word of all to the last value.
const OWN_CLOCKS: u64 = 2;

/// Words of a frame.
#[must_use]
pub const fn words(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(WORD_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Event by event: what is issued in each clock, at most one thing, and what comes out of it. Returns the clock of the last
    /// value.
    fn by_clocks(contributions: usize, was_empty: bool) -> u64 {
        let others = contributions - 1;
        // By level: values that have come; by clock: values of which level come out.
        let mut come: Vec<Vec<u64>> = vec![vec![6]];
        let mut out: Vec<(u64, usize)> = vec![];
        let mut sizes = vec![contributions];
        while *sizes.last().unwrap() > 1 {
            sizes.push(sizes.last().unwrap().div_ceil(2));
        }
        let end = sizes
            .iter()
            .position(|&size| size <= if was_empty { 2 } else { 1 })
            .unwrap();
        for clock in 7.. {
            let mut issues = vec![];
            let arrivals = out.iter().filter(|(at, _)| *at == clock);
            let mut arrivals: Vec<usize> = arrivals.map(|(_, level)| *level).collect();
            if clock - 6 <= others as u64 {
                arrivals.push(0);
            }
            for level in arrivals {
                if come.len() == level {
                    come.push(vec![]);
                }
                come[level].push(clock);
                let number = come[level].len();
                if level == end {
                    if number == sizes[end] {
                        return clock;
                    }
                } else if number.is_multiple_of(2) || (level > 0 && number == sizes[level]) {
                    issues.push(level);
                }
            }
            if clock == 7 + others as u64 && contributions % 2 == 1 {
                issues.push(0);
            }
            assert!(issues.len() <= 1, "{contributions}: {issues:?} in {clock}");
            out.extend(issues.iter().map(|level| (clock + 11, level + 1)));
        }
        unreachable!()
    }

    #[test]
    fn red_09_contributions_taken_together_take_a_clock_each_and_some_levels() {
        let clocks = |was_empty| {
            let one = |k| together_clocks(k, was_empty);
            (3..=16).map(one).collect::<Vec<u64>>()
        };
        let empty = [18, 18, 31, 31, 33, 33, 46, 46, 48, 48, 50, 50, 52, 52];
        let held = [29, 29, 42, 42, 44, 44, 57, 57, 59, 59, 61, 61, 63, 63];
        assert_eq!(
            (clocks(true), clocks(false)),
            (empty.to_vec(), held.to_vec())
        );
        for k in 3..=16 {
            for was_empty in [true, false] {
                assert_eq!(by_clocks(k, was_empty), together_clocks(k, was_empty) + 2);
            }
        }
    }
}
