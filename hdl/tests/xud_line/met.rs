//! What claims of requests in flight meet (XUD-13): a random run counts it, so that it shows what it has tried.

use super::table::{Ack, Kind, Tag};

/// How often.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Met {
    /// Claims that found their request.
    pub claimed: u64,
    /// Claims of nothing that is in reach.
    pub nothing: u64,
    /// Claims from elsewhere, or of another window identity.
    pub mismatched: u64,
    /// Of a claimed request: acknowledgements, more claims, failures.
    pub ack: u64,
    pub again: u64,
    pub fail: u64,
    /// Of these, by how many clocks behind the claim, 1 to 4.
    pub behind: [u64; 4],
    /// Claims, by how many clocks behind another end of the same request, 1 to 4.
    pub ended: [u64; 4],
    /// Times that were over long before their claimed request ended.
    pub timeout: u64,
    /// Acknowledgements that say OK of a request that waits for an answer.
    pub refused: u64,
}

/// Something that came 1 to 4 clocks behind.
fn near(counts: &mut [u64; 4], clocks: u64) {
    let at = clocks.checked_sub(1);
    if let Some(count) = at.and_then(|at| counts.get_mut(at as usize)) {
        *count += 1;
    }
}

impl Met {
    /// A failure of the claimed request, so many clocks behind the claim.
    pub fn failed(&mut self, clocks: u64) {
        self.fail += 1;
        near(&mut self.behind, clocks);
    }

    /// An acknowledgement, claim or end: what is claimed since when, what ended last and when; when the time of its
    /// request is over, and by when that would have shown.
    pub fn acknowledged(
        &mut self,
        time: u64,
        ack: &Ack,
        claimed: Option<(Tag, u64)>,
        last: Option<(Tag, u64)>,
        over: Option<(u64, u64)>,
    ) {
        let is = |(tag, _): &(Tag, u64)| *tag == ack.tag;
        let claimed = claimed.filter(is).map(|(_, since)| since);
        match (ack.kind, claimed) {
            (Kind::Plain, Some(since)) => {
                self.ack += 1;
                near(&mut self.behind, time - since);
            }
            (Kind::Claim, Some(since)) => {
                self.again += 1;
                near(&mut self.behind, time - since);
            }
            (Kind::Claim, None) => {
                if let Some((_, ended)) = last.filter(is) {
                    near(&mut self.ended, time - ended);
                }
            }
            (Kind::End, Some(since)) => {
                let met = over.is_some_and(|(over, shown)| over > since && shown < time);
                self.timeout += u64::from(met);
            }
            (Kind::Plain | Kind::End, None) => {}
        }
    }

    /// Adds what another run has met.
    pub fn add(&mut self, other: &Self) {
        self.claimed += other.claimed;
        self.nothing += other.nothing;
        self.mismatched += other.mismatched;
        self.ack += other.ack;
        self.again += other.again;
        self.fail += other.fail;
        self.timeout += other.timeout;
        self.refused += other.refused;
        for (count, more) in self.behind.iter_mut().zip(other.behind) {
            *count += more;
        }
        for (count, more) in self.ended.iter_mut().zip(other.ended) {
            *count += more;
        }
    }
}
