//! Times of bulk transfers: everything follows from what a packet takes on the line, the round trip and the reorder allowance.

use crate::rw::{ReceiverConfig, SenderConfig};

/// Answers BUSY, less one, after which a peer counts as one that does not answer (BW-1): some seconds.
pub const MAX_BUSY: u32 = (1 << 16) - 1;
/// Ticks after which a READ request or CONNECT that was answered BUSY is made again.
pub const BUSY_HINT: u16 = 256;
/// Most of the ticks of a busy answer that count: half of what 16 bits tell apart.
pub const RETRY_MOST: u16 = 0x7fff;
/// Polls without progress after which a transfer is given up (RW-18).
pub const POLLS: u32 = 6;
/// Ticks without a packet after which a window is given up: longer than any [`Times::patience`].
pub const IDLE: u16 = 60_000;
/// Shortest round trip that counts, ticks.
pub const ROUND_TRIP_LEAST: u32 = 8;
/// The longest one.
pub const ROUND_TRIP_MOST: u32 = 512;
/// Largest reorder allowance that counts, packets and ticks.
pub const ALLOWANCE_MOST: u32 = 1_024;
/// Longest poll interval, ticks, if the first one is not longer.
pub const POLL_MOST: u32 = 8_192;
/// Packets above the credit that may be sent (RW-19).
pub const OVERRUN: u32 = 160;
/// One fresh packet at least in so many (RW-15).
pub const FRESH_EVERY: u32 = 8;

/// Times of a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    tick_ns: u64,
    round_trip: u32,
    allowance: u32,
    /// Ticks and time from which on this holds.
    from: (u64, u64),
}

impl Default for Times {
    fn default() -> Self {
        Self {
            tick_ns: 336,
            round_trip: 128,
            allowance: 34,
            from: (0, 0),
        }
    }
}

impl Times {
    /// Other times from now on; ticks go on from where they are. A tick takes 1 ns at least.
    #[must_use]
    pub fn change(self, tick_ns: u64, round_trip: u32, allowance: u32, now: u64) -> Self {
        Self {
            tick_ns: tick_ns.max(1),
            round_trip: round_trip.clamp(ROUND_TRIP_LEAST, ROUND_TRIP_MOST),
            allowance: allowance.min(ALLOWANCE_MOST),
            from: (self.tick(now), now),
        }
    }

    /// Ticks so far.
    #[must_use]
    pub fn tick(&self, now: u64) -> u64 {
        let (ticks, from) = self.from;
        ticks + now.saturating_sub(from) / self.tick_ns
    }

    fn retry(&self) -> u32 {
        self.round_trip + 2 * self.allowance + 4
    }

    /// First poll interval, and the longest.
    #[must_use]
    pub fn polls(&self) -> (u32, u32) {
        let first = 2 * (self.round_trip + self.allowance);
        (first, (64 * self.round_trip).clamp(first, POLL_MOST))
    }

    /// Parameters of the sender, but for who this card is and how large it is built.
    #[must_use]
    pub fn sender(&self) -> SenderConfig {
        let (first, longest) = self.polls();
        SenderConfig {
            rtt_ticks: self.round_trip,
            allowance_ticks: self.allowance,
            retry_ticks: self.retry(),
            poll_ticks: first,
            stall_poll_ticks: (self.round_trip / 8).max(1),
            poll_ticks_max: longest,
            max_polls: Some(POLLS),
            max_busy: MAX_BUSY,
            overrun: OVERRUN,
            fresh_every: FRESH_EVERY,
            ..SenderConfig::default()
        }
    }

    /// Parameters of the receiver, but for how large it is built.
    #[must_use]
    pub fn receiver(&self) -> ReceiverConfig {
        ReceiverConfig {
            allowance: self.allowance,
            allowance_ticks: self.allowance as u16,
            retry_ticks: self.retry() as u16,
            tail_ticks: (self.allowance + 2) as u16,
            idle_ticks: IDLE,
            busy_hint: BUSY_HINT,
            ..ReceiverConfig::default()
        }
    }

    /// Ticks for which a peer that does not answer is asked (RW-18).
    #[must_use]
    pub fn patience(&self) -> u64 {
        self.sender().retry_time().unwrap_or(u64::from(IDLE))
    }

    /// Ticks for which a notification waits for a receive request (BW-3): the sender still polls then.
    #[must_use]
    pub fn not_ready(&self) -> u64 {
        let (first, longest) = self.polls();
        u64::from(longest + 2 * first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bw_03_bw_09_a_window_outlives_its_sender_and_a_notification_ends_before_both() {
        for round_trip in [0, 8, 64, 128, 512, 9_999] {
            for allowance in [0, 34, 1_024, 9_999] {
                let times = Times::default().change(100, round_trip, allowance, 0);
                let patience = times.patience();
                assert!(patience < u64::from(IDLE), "{times:?}: {patience}");
                assert!(times.not_ready() < patience);
                assert!(times.sender().check().is_ok() && times.receiver().check().is_ok());
            }
        }
    }

    #[test]
    fn ticks_go_on_when_their_length_changes() {
        let times = Times::default().change(10, 100, 10, 0);
        assert_eq!(times.tick(1_000), 100);
        let longer = times.change(100, 100, 10, 1_000);
        assert_eq!((longer.tick(1_000), longer.tick(2_000)), (100, 110));
    }
}
