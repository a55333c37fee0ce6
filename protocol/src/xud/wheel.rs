//! Timer wheel: deadlines in buckets of a fixed width (XUD-1).

/// Times in nanoseconds; a deadline farther away than one turn stays in its bucket for further turns.
#[derive(Clone, Debug)]
pub(super) struct Wheel<T> {
    /// Width of a bucket: 2^so many ns.
    log: u32,
    buckets: Vec<Vec<(u64, T)>>,
    /// Number of the bucket that is looked at next, counted over all turns.
    hand: u64,
    len: usize,
}

impl<T> Wheel<T> {
    /// `buckets` of 2^`log` ns each.
    pub fn new(log: u32, buckets: usize) -> Self {
        Self {
            log,
            buckets: (0..buckets.max(1)).map(|_| Vec::new()).collect(),
            hand: 0,
            len: 0,
        }
    }

    /// Whether no timer runs.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// When the first of the timers that `counts` goes off, if nobody looks before.
    pub fn next(&self, counts: impl Fn(&T) -> bool) -> Option<u64> {
        let running = self.buckets.iter().flatten();
        let first = running.filter(|(_, item)| counts(item)).map(|(at, _)| *at);
        first.min().map(|at| ((at >> self.log) + 1) << self.log)
    }

    /// Starts a timer. It goes off up to one width after its time.
    pub fn start(&mut self, now: u64, after: u64, item: T) {
        let deadline = now.saturating_add(after);
        if self.len == 0 {
            self.hand = self.hand.max(now >> self.log);
        }
        // A deadline in the past belongs to the bucket that is looked at next.
        let bucket = ((deadline >> self.log) + 1).max(self.hand);
        let place = (bucket % self.buckets.len() as u64) as usize;
        self.buckets[place].push((deadline, item));
        self.len += 1;
    }

    /// Calls `fire` for every timer whose deadline is over. At most one turn of work.
    #[inline]
    pub fn advance(&mut self, now: u64, fire: impl FnMut(T)) {
        let target = now >> self.log;
        if self.len > 0 && self.hand <= target {
            self.turn(now, target, fire);
        }
        self.hand = self.hand.max(target + 1);
    }

    /// Looks at all buckets up to `target`.
    fn turn(&mut self, now: u64, target: u64, mut fire: impl FnMut(T)) {
        let turns = self.buckets.len() as u64;
        let first = self.hand.max((target + 1).saturating_sub(turns));
        for bucket in first..=target {
            let place = (bucket % turns) as usize;
            let mut kept = 0;
            while kept < self.buckets[place].len() {
                if self.buckets[place][kept].0 <= now {
                    let (_, item) = self.buckets[place].swap_remove(kept);
                    self.len -= 1;
                    fire(item);
                } else {
                    kept += 1;
                }
            }
        }
    }
}
