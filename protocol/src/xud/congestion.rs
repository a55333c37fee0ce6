//! How many packets the reliable layer may have in flight to one peer while switches mark them (CL-4): a window of congestion.
//!
//! As in DCTCP: the part of marked acknowledgements is averaged over rounds, each of about as many packets as are in flight.
//! A round with marks takes half that part off the limit, one without adds a packet; until the first mark it doubles. A packet
//! that was lost halves it. The limit is never less than a packet, and never more than the connection has windows. It only
//! grows while it is used.

/// A packet, in parts of limits.
const PACKET: u32 = 256;
/// All acknowledgements of a round, as the part of them that is marked.
const ALL: u32 = 1_024;
/// Weight of the last round in the average: 2^-this.
const WEIGHT: u32 = 2;
/// Packets in flight to a peer at first: many senders begin at once, and queues of switches are short.
const FIRST: u32 = 2;

/// How many packets may be in flight to a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limit {
    /// In parts of a packet.
    parts: u32,
    /// Average part of marked acknowledgements, of [`ALL`].
    marked_part: u32,
    /// Packets that have ended in this round, those of them that were marked, and how many it has.
    ended: u32,
    marked: u32,
    round: u32,
    /// Nothing was marked or lost yet: it doubles with each round.
    doubles: bool,
    /// This round was cut for a loss.
    cut: bool,
    /// In this round half of it and more was in flight.
    used: bool,
}

impl Default for Limit {
    fn default() -> Self {
        Self {
            parts: FIRST * PACKET,
            marked_part: ALL,
            ended: 0,
            marked: 0,
            round: FIRST,
            doubles: true,
            cut: false,
            used: false,
        }
    }
}

impl Limit {
    /// Packets that may be in flight: 1 and more.
    #[must_use]
    #[inline]
    pub fn packets(&self) -> u32 {
        self.parts / PACKET
    }

    /// A packet was answered, one of `flying`, and the answer said whether it came marked; no more than `most` are ever in flight.
    pub fn answered(&mut self, marked: bool, flying: u32, most: u32) {
        self.ended += 1;
        self.marked += u32::from(marked);
        self.used |= flying >= self.packets().div_ceil(2);
        if self.ended < self.round {
            return;
        }
        let part = ALL * self.marked / self.ended;
        self.marked_part = self.marked_part - (self.marked_part >> WEIGHT) + (part >> WEIGHT);
        if self.marked > 0 {
            self.doubles = false;
            let off = u64::from(self.parts) * u64::from(self.marked_part) / u64::from(2 * ALL);
            self.set(self.parts - off as u32, most);
        } else if self.used {
            let more = if self.doubles { self.parts } else { PACKET };
            self.set(self.parts + more, most);
        }
        self.begin_round();
    }

    /// A packet was lost, or its answer: once in a round the limit is halved.
    pub fn lost(&mut self, flying: u32, most: u32) {
        self.doubles = false;
        if !std::mem::replace(&mut self.cut, true) {
            self.set(self.parts / 2, most);
        }
        self.answered(false, flying, most);
    }

    fn set(&mut self, parts: u32, most: u32) {
        self.parts = parts.min(most.saturating_mul(PACKET)).max(PACKET);
    }

    fn begin_round(&mut self) {
        (self.ended, self.marked) = (0, 0);
        (self.cut, self.used) = (false, false);
        self.round = self.packets();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Windows of a connection.
    const MOST: u32 = 32;

    /// A round trip with all that may be in flight, of which so many are marked.
    fn round(limit: &mut Limit, marked: u32) {
        let flying = limit.packets();
        for at in 0..flying {
            limit.answered(at < marked, flying, MOST);
        }
    }

    #[test]
    fn cl_04_without_marks_a_limit_doubles_to_all_windows() {
        let mut limit = Limit::default();
        let mut seen = Vec::new();
        for _ in 0..6 {
            seen.push(limit.packets());
            round(&mut limit, 0);
        }
        assert_eq!(seen, [2, 4, 8, 16, 32, 32]);
    }

    #[test]
    fn cl_04_few_marks_take_little_off_and_all_of_them_half() {
        let mut limit = Limit::default();
        (0..5).for_each(|_| round(&mut limit, 0));
        // The average has forgotten the first mark's halving by now.
        (0..20).for_each(|_| round(&mut limit, 0));
        round(&mut limit, 2);
        let few = limit.packets();
        assert!((28..32).contains(&few), "{few}");
        (0..12).for_each(|_| round(&mut limit, MOST));
        assert_eq!(limit.packets(), 1);
    }

    #[test]
    fn cl_04_losses_of_one_round_halve_once() {
        let mut limit = Limit::default();
        (0..5).for_each(|_| round(&mut limit, 0));
        (0..15).for_each(|_| limit.lost(MOST, MOST));
        assert_eq!(limit.packets(), 16);
        (0..200).for_each(|_| limit.lost(1, MOST));
        assert_eq!(limit.packets(), 1);
    }

    #[test]
    fn cl_04_a_limit_that_is_not_used_does_not_grow() {
        let mut limit = Limit::default();
        round(&mut limit, 0);
        assert_eq!(limit.packets(), 4);
        (0..100).for_each(|_| limit.answered(false, 1, MOST));
        assert_eq!(limit.packets(), 4);
    }

    /// Senders share a queue of which packets above a threshold are marked, whoever's they are; their limits in each round.
    fn share(limits: &mut [Limit], threshold: u32, rounds: usize) -> Vec<f64> {
        let mut sums = vec![0.0; limits.len()];
        let mut turn = 0;
        for _ in 0..rounds {
            let flying: u32 = limits.iter().map(Limit::packets).sum();
            let marks = flying.saturating_sub(threshold);
            for (limit, sum) in limits.iter_mut().zip(&mut sums) {
                *sum += f64::from(limit.packets());
                // Marks are spread over all packets of the round.
                let own = limit.packets();
                let of = (0..own).filter(|at| (turn + at) * marks % flying < marks);
                let of = of.count() as u32;
                turn += own;
                round(limit, of);
            }
        }
        sums
    }

    #[test]
    fn cl_04_two_that_begin_apart_get_the_same() {
        for threshold in [8, 12, 20, 28] {
            let mut full = Limit::default();
            (0..5).for_each(|_| round(&mut full, 0));
            let mut limits = [full, Limit::default()];
            share(&mut limits, threshold, 200);
            let sums = share(&mut limits, threshold, 2_000);
            let ratio = sums[0] / sums[1];
            assert!((0.8..1.25).contains(&ratio), "{threshold}: {ratio}");
            // And together they fill the queue without holding it far above the threshold.
            let flying = (sums[0] + sums[1]) / 2_000.0;
            let threshold = f64::from(threshold);
            assert!(
                (0.7 * threshold..1.3 * threshold).contains(&flying),
                "{threshold}: {flying}"
            );
        }
    }

    #[derive(Clone, Copy, Debug)]
    enum Ends {
        Plain,
        Marked,
        Lost,
    }

    fn ends() -> impl Strategy<Value = Ends> {
        prop::sample::select(&[Ends::Plain, Ends::Marked, Ends::Lost][..])
    }

    proptest! {
        /// Whatever happens a packet may be in flight, never more than there are windows, and without marks all of them again.
        #[test]
        fn cl_04_a_limit_is_never_zero_and_recovers(
            most in 1..200u32,
            history in prop::collection::vec((ends(), 0..200u32), 0..400),
        ) {
            let mut limit = Limit::default();
            for (end, flying) in history {
                match end {
                    Ends::Plain => limit.answered(false, flying, most),
                    Ends::Marked => limit.answered(true, flying, most),
                    Ends::Lost => limit.lost(flying, most),
                }
                prop_assert!(limit.packets() >= 1 && limit.packets() <= most.max(FIRST));
            }
            for _ in 0..=most + 1 {
                let flying = limit.packets();
                (0..flying).for_each(|_| limit.answered(false, flying, most));
            }
            prop_assert_eq!(limit.packets(), most);
        }
    }
}
