//! One direction of a link: delay, loss, duplication and reordering, all from one seed.
//!
//! Time is counted in slots, the time that one full packet takes on the line. What is sent in
//! slot t arrives in slot `t + delay_slots + r` with r uniform in `0..=reorder_slots`, so packets
//! overtake each other by up to `reorder_slots`; packets that arrive in one slot come out in the
//! order in which they were sent. A copy made by the link has a delay of its own.

use std::collections::BTreeMap;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use thiserror::Error;

/// How a link treats packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkConfig {
    /// Shortest time from one end to the other, slots.
    pub delay_slots: u32,
    /// Longest further delay of a packet, slots: how far packets overtake each other.
    pub reorder_slots: u32,
    /// Probability that a packet is lost.
    pub loss: f64,
    /// Probability that a packet that is not lost arrives twice.
    pub duplication: f64,
}

/// A link that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[error("{name} = {value} is not a probability (0 to 1)")]
pub struct LinkError {
    name: &'static str,
    value: f64,
}

impl LinkConfig {
    /// Checks the probabilities.
    ///
    /// # Errors
    /// The first that is not between 0 and 1.
    pub fn check(&self) -> Result<(), LinkError> {
        for (name, value) in [("loss", self.loss), ("duplication", self.duplication)] {
            if !(0.0..=1.0).contains(&value) {
                return Err(LinkError { name, value });
            }
        }
        Ok(())
    }
}

/// What becomes of a packet. Known to whoever watches the link, not to the nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It never arrives.
    Lost,
    /// It arrives in slot `due`, and once more in slot `copy_due` if the link made a copy.
    Arrives {
        /// Slot.
        due: u64,
        /// Slot of the copy.
        copy_due: Option<u64>,
    },
}

/// What a link has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkStats {
    /// Packets put on it.
    pub sent: u64,
    /// Of these, lost.
    pub lost: u64,
    /// Copies made.
    pub duplicated: u64,
    /// Packets that came out in another order than they went in: sent before one that arrived
    /// in an earlier slot.
    pub overtaken: u64,
}

/// One direction of a link.
#[derive(Debug)]
pub struct Link<T> {
    config: LinkConfig,
    rng: ChaCha8Rng,
    /// By slot of arrival, then by the number of the packet.
    flying: BTreeMap<(u64, u64), T>,
    count: u64,
    newest_out: u64,
    stats: LinkStats,
}

impl<T: Clone> Link<T> {
    /// An empty link. Links of one simulation share its seed and differ in `stream`.
    ///
    /// # Errors
    /// A probability out of range.
    pub fn new(config: LinkConfig, seed: u64, stream: u64) -> Result<Self, LinkError> {
        config.check()?;
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(stream);
        Ok(Self {
            config,
            rng,
            flying: BTreeMap::new(),
            count: 0,
            newest_out: 0,
            stats: LinkStats::default(),
        })
    }

    /// Puts a packet on the link in slot `now`. Every packet takes the same number of random
    /// numbers, so changing a probability changes nothing else.
    pub fn send(&mut self, packet: T, now: u64) -> Fate {
        let [lost, doubled] =
            [self.config.loss, self.config.duplication].map(|p| unit(self.rng.next_u64()) < p);
        let [due, copy_due] = [(); 2].map(|()| {
            let span = u64::from(self.config.reorder_slots) + 1;
            now + u64::from(self.config.delay_slots) + below(self.rng.next_u64(), span)
        });
        self.stats.sent += 1;
        if lost {
            self.stats.lost += 1;
            return Fate::Lost;
        }
        self.count += 1;
        if doubled {
            self.stats.duplicated += 1;
            self.flying.insert((copy_due, self.count), packet.clone());
            self.count += 1;
        }
        self.flying.insert((due, self.count), packet);
        Fate::Arrives {
            due,
            copy_due: doubled.then_some(copy_due),
        }
    }

    /// The next packet that has arrived by slot `now`.
    pub fn receive(&mut self, now: u64) -> Option<T> {
        let first = self.flying.first_entry().filter(|e| e.key().0 <= now)?;
        let number = first.key().1;
        if number < self.newest_out {
            self.stats.overtaken += 1;
        }
        self.newest_out = self.newest_out.max(number);
        Some(first.remove())
    }

    /// Number of packets under way.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.flying.len()
    }

    /// Its counters.
    #[must_use]
    pub fn stats(&self) -> LinkStats {
        self.stats
    }
}

/// A random word as a number from 0 up to but not including 1.
fn unit(word: u64) -> f64 {
    (word >> 11) as f64 / (1u64 << 53) as f64
}

/// A random word as a number below `bound`.
fn below(word: u64, bound: u64) -> u64 {
    ((u128::from(word) * u128::from(bound)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: LinkConfig = LinkConfig {
        delay_slots: 10,
        reorder_slots: 0,
        loss: 0.0,
        duplication: 0.0,
    };

    fn arrivals(config: LinkConfig, seed: u64, packets: u64) -> (Vec<(u64, u64)>, LinkStats) {
        let mut link = Link::new(config, seed, 0).unwrap();
        let mut out = Vec::new();
        for now in 0..packets + 1000 {
            if now < packets {
                link.send(now, now);
            }
            out.extend(std::iter::from_fn(|| link.receive(now)).map(|packet| (now, packet)));
        }
        assert_eq!(link.in_flight(), 0);
        (out, link.stats())
    }

    #[test]
    fn a_plain_link_only_delays() {
        let (out, stats) = arrivals(PLAIN, 1, 100);
        assert!(out.iter().copied().eq((0..100).map(|k| (k + 10, k))));
        assert_eq!((stats.sent, stats.lost, stats.overtaken), (100, 0, 0));
    }

    #[test]
    fn the_same_seed_gives_the_same_run_and_another_seed_another() {
        let config = LinkConfig {
            reorder_slots: 32,
            loss: 0.1,
            duplication: 0.1,
            ..PLAIN
        };
        assert_eq!(arrivals(config, 7, 1000), arrivals(config, 7, 1000));
        assert_ne!(arrivals(config, 7, 1000), arrivals(config, 8, 1000));
    }

    #[test]
    fn delay_stays_between_its_bounds_and_reaches_both() {
        let config = LinkConfig {
            reorder_slots: 4,
            ..PLAIN
        };
        let (out, stats) = arrivals(config, 3, 2000);
        let delays: std::collections::BTreeSet<u64> =
            out.iter().map(|(at, sent)| at - sent).collect();
        assert!(delays.iter().copied().eq(10..=14));
        assert!(stats.overtaken > 100);
    }

    #[test]
    fn loss_and_duplication_come_as_often_as_asked_for() {
        let config = LinkConfig {
            loss: 0.25,
            duplication: 0.5,
            ..PLAIN
        };
        let (out, stats) = arrivals(config, 5, 20_000);
        assert!((4_700..5_300).contains(&stats.lost), "{stats:?}");
        assert!((7_200..7_800).contains(&stats.duplicated), "{stats:?}");
        assert_eq!(out.len() as u64, stats.sent - stats.lost + stats.duplicated);
    }

    #[test]
    fn changing_the_loss_leaves_the_delays_of_the_others_alone() {
        let config = LinkConfig {
            reorder_slots: 32,
            ..PLAIN
        };
        let (all, _) = arrivals(config, 9, 500);
        let (some, _) = arrivals(
            LinkConfig {
                loss: 0.2,
                ..config
            },
            9,
            500,
        );
        assert!(some.len() < all.len() && some.iter().all(|arrival| all.contains(arrival)));
    }

    #[test]
    fn a_probability_above_one_is_refused() {
        let error = Link::<()>::new(LinkConfig { loss: 1.5, ..PLAIN }, 0, 0).unwrap_err();
        assert_eq!(
            error.to_string(),
            "loss = 1.5 is not a probability (0 to 1)"
        );
    }
}
