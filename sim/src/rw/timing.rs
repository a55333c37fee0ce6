//! Timers of both machines from what is known of the network.

use tributary_protocol::rw::{Mode, ReceiverConfig, SenderConfig};

/// What the timers are set for. One tick of both machines is one slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Shortest round trip, slots.
    pub round_trip_slots: u32,
    /// How far packets may overtake each other, slots.
    pub reorder_slots: u32,
}

impl Timing {
    /// Largest round trip and reorder span for which every timer fits 16 bits, slots.
    pub const MAX_SLOTS: u32 = 1024;

    /// Reorder allowance (RW-12): the span, and one slot each for sending and receiving.
    fn allowance(self) -> u32 {
        self.reorder_slots + 2
    }

    /// Round trip and the allowance in both directions, with a margin of four slots.
    fn retry(self) -> u32 {
        self.round_trip_slots + 2 * self.allowance() + 4
    }

    /// Parameters of a receiver with windows of `w` packets.
    #[must_use]
    pub fn receiver(self, mode: Mode, w: u32) -> ReceiverConfig {
        let ticks = |slots: u32| u16::try_from(slots).unwrap_or(u16::MAX);
        ReceiverConfig {
            mode,
            w,
            allowance: self.allowance(),
            allowance_ticks: ticks(self.allowance()),
            retry_ticks: ticks(self.retry()),
            tail_ticks: ticks(self.allowance() + 2),
            idle_ticks: 60_000,
            busy_hint: ticks(2 * self.round_trip_slots),
            ..ReceiverConfig::default()
        }
    }

    /// Parameters of the sender that goes with it.
    #[must_use]
    pub fn sender(self, mode: Mode) -> SenderConfig {
        SenderConfig {
            mode,
            rtt_ticks: self.round_trip_slots,
            allowance_ticks: self.allowance(),
            retry_ticks: self.retry(),
            poll_ticks: (2 * self.round_trip_slots).max(self.retry()),
            stall_poll_ticks: (self.round_trip_slots / 8).max(1),
            poll_ticks_max: 8 * self.round_trip_slots.max(self.reorder_slots).max(1),
            overrun: self.round_trip_slots + self.reorder_slots,
            ..SenderConfig::default()
        }
    }
}

impl Default for Timing {
    /// Round trip 128 slots, reorder span 32 slots: the network that goodput is measured on.
    fn default() -> Self {
        Self {
            round_trip_slots: 128,
            reorder_slots: 32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_network_gives_the_default_machines_except_for_the_longest_waits() {
        let timing = Timing::default();
        let receiver = ReceiverConfig {
            idle_ticks: 60_000,
            ..ReceiverConfig::default()
        };
        let sender = SenderConfig {
            poll_ticks_max: 1024,
            ..SenderConfig::default()
        };
        assert_eq!(timing.receiver(Mode::Rw, 256), receiver);
        assert_eq!(timing.sender(Mode::Rw), sender);
    }

    #[test]
    fn rw_18_idle_time_exceeds_the_whole_retry_time_of_the_sender() {
        for round_trip_slots in [2, 128, 1000, Timing::MAX_SLOTS] {
            for reorder_slots in [0, 32, Timing::MAX_SLOTS] {
                let timing = Timing {
                    round_trip_slots,
                    reorder_slots,
                };
                let idle = u64::from(timing.receiver(Mode::Rw, 256).idle_ticks);
                assert!(
                    timing.sender(Mode::Rw).retry_time().unwrap() < idle,
                    "{timing:?}"
                );
            }
        }
    }
}
