//! Who sends next on the line: datagrams or bulk transfers (BW-4).
//!
//! It knows nothing of either, so another policy can take its place: it is told who waits, says whose turn it is, and is told how
//! many bytes left. Which transfer of the bulk engine is next, and what of it, is that engine's own schedule.

/// Who may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Datagrams, their acknowledgements, and answers of one-sided operations.
    Datagrams,
    /// Bulk transfers in both directions.
    Bulk,
}

/// Whole of [`Line::set_share`].
pub const WHOLE: u32 = 256;
/// Bytes that a source may be ahead of its share: what it sent while the other had nothing counts no longer.
pub const AHEAD: i64 = 16 << 10;

/// Gives each source its share of the bytes while both wait, and all to one that waits alone.
#[derive(Clone, Debug)]
pub struct Line {
    /// Share of bulk transfers, of [`WHOLE`].
    share: u32,
    /// Bytes that bulk transfers are ahead of their share, times [`WHOLE`]; negative: behind.
    ahead: i64,
}

impl Line {
    /// Bulk transfers have `share` of [`WHOLE`]; more counts as all.
    pub fn new(share: u32) -> Self {
        Self {
            share: share.min(WHOLE),
            ahead: 0,
        }
    }

    /// Changes the share.
    pub fn set_share(&mut self, share: u32) {
        *self = Self::new(share);
    }

    /// Whose turn it is, of those that wait.
    pub fn next(&self, datagrams: bool, bulk: bool) -> Option<Source> {
        match (datagrams, bulk) {
            (false, false) => None,
            (true, false) => Some(Source::Datagrams),
            (false, true) => Some(Source::Bulk),
            (true, true) if self.share == 0 => Some(Source::Datagrams),
            (true, true) if self.share == WHOLE || self.ahead <= 0 => Some(Source::Bulk),
            (true, true) => Some(Source::Datagrams),
        }
    }

    /// A frame of so many bytes leaves.
    pub fn sent(&mut self, source: Source, bytes: usize) {
        let bytes = bytes as i64;
        self.ahead += match source {
            Source::Bulk => bytes * i64::from(WHOLE - self.share),
            Source::Datagrams => -bytes * i64::from(self.share),
        };
        let most = AHEAD * i64::from(WHOLE);
        self.ahead = self.ahead.clamp(-most, most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes of datagrams and of bulk transfers that leave in so many turns.
    fn run(line: &mut Line, turns: usize, sizes: [usize; 2]) -> [usize; 2] {
        let mut sent = [0; 2];
        for _ in 0..turns {
            let source = line.next(true, true).unwrap();
            let at = usize::from(source == Source::Bulk);
            line.sent(source, sizes[at]);
            sent[at] += sizes[at];
        }
        sent
    }

    #[test]
    fn bw_04_each_gets_its_share_of_the_bytes_whatever_its_frames_have() {
        for (share, sizes) in [
            (128, [1_000, 1_000]),
            (128, [100, 4_200]),
            (192, [4_200, 100]),
            (64, [700, 900]),
        ] {
            let [datagrams, bulk] = run(&mut Line::new(share), 100_000, sizes);
            let got = bulk as f64 / (bulk + datagrams) as f64;
            let wanted = f64::from(share) / 256.0;
            assert!((got - wanted).abs() < 0.01, "{share} of 256: {got}");
        }
        assert_eq!(run(&mut Line::new(0), 10, [1, 1]), [10, 0]);
        assert_eq!(run(&mut Line::new(256), 10, [1, 1]), [0, 10]);
    }

    #[test]
    fn bw_04_who_waits_alone_has_the_whole_line_and_owes_little_for_it() {
        let mut line = Line::new(128);
        for _ in 0..100_000 {
            assert_eq!(line.next(false, true), Some(Source::Bulk));
            line.sent(Source::Bulk, 4_200);
        }
        // Datagrams come: they are not given the line for as long as bulk transfers had it.
        let [_, bulk] = run(&mut line, 100, [4_200, 4_200]);
        assert!(bulk > 40 * 4_200, "{bulk}");
        assert_eq!(line.next(true, false), Some(Source::Datagrams));
        assert_eq!(line.next(false, false), None);
    }
}
