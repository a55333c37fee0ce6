//! READs of a host as they should be, and what is said about them.

use rand::{RngExt, rngs::SmallRng};
use tributary_protocol::bulk::{ReadRequest, Refusal};
use tributary_protocol::rw::{Reason, Status};
use tributary_protocol::xud::Outcome;

/// Most of the ticks of a busy answer that count.
const RETRY_MOST: u64 = 0x7fff;
/// A target that is busy for more ticks is waited for in haste.
const LONG: u64 = 1_000;

/// How the block is set up.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    pub node: u64,
    pub incarnation: u64,
    pub poll: u64,
    pub poll_max: u64,
    pub max_polls: u64,
    pub max_busy: u64,
}

/// What the target of a READ does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Silent,
    Busy,
    Refuses(Refusal),
    Answers,
}

impl Fate {
    /// Each of them now and then.
    pub fn draw(rng: &mut SmallRng) -> Self {
        match rng.random_range(0..10) {
            0 => Self::Silent,
            1..3 => Self::Busy,
            3..5 => Self::Refuses(Refusal::ALL[rng.random_range(1..4)]),
            _ => Self::Answers,
        }
    }
}

/// How far a READ is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Its target is asked.
    Asks,
    /// A CONNECT answers, which is not done.
    Judged,
    /// A window is open.
    Open,
    /// It waits for its completion, which has one of these statuses.
    Ended(Vec<u64>),
}

/// A READ that has begun.
#[derive(Clone, Debug)]
pub struct Reading {
    pub request: ReadRequest,
    pub target: u64,
    pub wr_id: u64,
    pub psn: u64,
    pub msn: u64,
    pub ring: u64,
    /// Tick of the next request, and ticks to the one behind it.
    pub next_at: u64,
    pub interval: u64,
    pub tries: u64,
    pub busy: u64,
    pub heard: bool,
    pub state: State,
    /// Its region has ended.
    pub gone: bool,
    /// Its target was busy for long.
    pub far: bool,
    pub fate: Fate,
    /// Clock in which its target says something.
    pub reply: Option<u64>,
    /// Clocks for which it has waited for the block: any, and those in which there was nothing else to do.
    pub late: u64,
    pub alone: u64,
}

impl Reading {
    /// It ends when it is to be asked the next time.
    pub fn over(&self, config: &Config) -> bool {
        self.tries > config.max_polls || self.busy > config.max_busy
    }

    /// The block may have given it up by this tick.
    pub fn may_be_given_up(&self, config: &Config, tick: u64) -> bool {
        self.state == State::Asks && self.over(config) && tick >= self.next_at
    }

    /// Status of one that was given up.
    pub fn given_up(&self) -> u64 {
        status(if self.heard {
            Outcome::Unresponsive
        } else {
            Outcome::Unreachable
        })
    }

    /// It was asked in this tick.
    pub fn asked(&mut self, config: &Config, tick: u64) {
        self.tries += 1;
        self.next_at = tick + self.interval;
        self.interval = (2 * self.interval).min(config.poll_max);
        (self.late, self.alone) = (0, 0);
    }

    /// Its target does not serve it.
    pub fn refused(&mut self, reason: Refusal, retry: u64, tick: u64) {
        (self.late, self.alone) = (0, 0);
        let as_what = match reason {
            Refusal::Busy => {
                self.heard = true;
                self.busy += 1;
                self.tries = 0;
                self.next_at = tick + retry.min(RETRY_MOST);
                self.far = retry > LONG;
                return;
            }
            Refusal::Access => Outcome::RemoteAccess,
            Refusal::BadQp => Outcome::BadQp,
            Refusal::Length => Outcome::RemoteLength,
        };
        self.end(vec![status(as_what)]);
    }

    /// It ends with one of these.
    pub fn end(&mut self, statuses: Vec<u64>) {
        self.state = State::Ended(statuses);
        (self.late, self.alone) = (0, 0);
    }

    /// The CONNECT that answers it, as `s_answer` has it.
    pub fn answer(&self) -> [u64; 7] {
        let m = &self.request;
        [
            m.token,
            self.target,
            m.qpn.into(),
            m.source.into(),
            m.length.into(),
            m.to_address,
            m.to_key.into(),
        ]
    }
}

/// A status as a completion has it.
pub fn status(outcome: Outcome) -> u64 {
    outcome as u64
}

/// How a READ ends whose window was closed.
pub fn as_window(closed: Status, reason: u64) -> u64 {
    let is = |code: Reason| u64::from(code.code()) == reason;
    status(match closed {
        Status::Ok => Outcome::Ok,
        _ if is(Reason::Protection) => Outcome::RemoteAccess,
        _ if is(Reason::Memory) => Outcome::RemoteOperation,
        _ if is(Reason::Idle) => Outcome::Unresponsive,
        _ => Outcome::Aborted,
    })
}

/// One bit of one of these values is another one.
pub fn flip<const N: usize>(rng: &mut SmallRng, values: &mut [u64; N], widths: [u32; N]) -> usize {
    let at = rng.random_range(0..N);
    values[at] ^= 1 << rng.random_range(0..widths[at]);
    at
}
