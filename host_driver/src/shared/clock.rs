//! Time that another process tells.

use super::TOLD_EVERY;

/// Goes on by itself between two tellings, but not for longer than [`TOLD_EVERY`], and never back.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    told: u64,
    /// When that was heard, by the own clock.
    since: u64,
    now: u64,
}

impl Clock {
    /// The time, if this was told last and the own clock says `own`; all in ns.
    pub fn at(&mut self, told: u64, own: u64) -> u64 {
        if told != self.told {
            (self.told, self.since) = (told, own);
        }
        let passed = own
            .saturating_sub(self.since)
            .min(TOLD_EVERY.as_nanos() as u64);
        // Who tells may have been kept from it for a moment.
        self.now = self.now.max(told + passed);
        self.now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_on_between_tellings_stands_still_without_them_and_never_goes_back() {
        let most = TOLD_EVERY.as_nanos() as u64;
        let mut clock = Clock::default();
        assert_eq!(clock.at(1_000, 77), 1_000);
        assert_eq!(clock.at(1_000, 177), 1_100);
        assert_eq!(clock.at(1_000, 77 + most), 1_000 + most);
        assert_eq!(clock.at(1_000, u64::MAX), 1_000 + most);
        // Told late: 100 ns less than what was said already.
        assert_eq!(clock.at(900 + most, 2 * most), 1_000 + most);
        assert_eq!(clock.at(900 + most, 2 * most + 300), 1_200 + most);
    }
}
