//! Parameters of the two machines.

use super::MTU_RANGE;
use super::sender::pace::PaceConfig;
use crate::red::address::NODES;

/// Which protocol the two machines speak. All of them carry `gen` (RW-7).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// The receiver counts packets only. When it has waited `tail_ticks` and one is missing, the whole transfer is sent
    /// again in a new round, counted from 0. A packet that the network duplicates within a round is counted twice: this mode
    /// is for measurement on networks that do not duplicate.
    Counter,
    /// The receiver takes packets in order only and asks for the expected number once per gap; the sender goes back.
    GoBackN,
    /// The window as its source prints it: no credit, and requests only when the window has not moved for `retry_ticks`.
    RwTimer,
    /// The window with early requests, credit and bitmaps: all rules.
    #[default]
    Rw,
}

impl Mode {
    /// All modes, the reference ones first.
    pub const ALL: [Self; 4] = [Self::Counter, Self::GoBackN, Self::RwTimer, Self::Rw];

    /// The name on command lines and in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::GoBackN => "go-back-n",
            Self::RwTimer => "rw-timer",
            Self::Rw => "rw",
        }
    }
}

impl std::fmt::Display for Mode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for Mode {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Self, ConfigError> {
        Self::ALL
            .into_iter()
            .find(|mode| mode.name() == text)
            .ok_or_else(|| ConfigError::Mode(text.to_owned()))
    }
}

/// Deliberate errors, all off by default. Tests switch one on and show which property catches it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Mutations {
    /// Receiver: DATA, POLL and write acknowledgements match whatever their gen (against RW-7).
    pub no_gen: bool,
    /// Sender: never polls (against RW-10).
    pub no_poll: bool,
    /// Receiver: takes a number again whose bit is set (against RW-2).
    pub no_duplicate_check: bool,
    /// Receiver: slides by one less than the run of leading ones (against RW-3).
    pub slide_off_by_one: bool,
    /// Sender: sets TAIL on the first sending only (against RW-4).
    pub tail_on_first_only: bool,
    /// Receiver: complete as soon as the last packet is there (against RW-4, RW-16).
    pub complete_on_tail: bool,
    /// Receiver: asks for the range from wbase (against RW-13).
    pub range_from_wbase: bool,
    /// Sender: acts on a COMPLETE of any xid (against RW-7).
    pub any_xid_completes: bool,
}

/// A parameter that no machine can work with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// A number outside its range.
    #[error("{name} = {value} is out of range: {min} to {max}")]
    Range {
        /// Field name.
        name: &'static str,
        /// What it was.
        value: u64,
        /// Smallest legal value.
        min: u64,
        /// Largest legal value.
        max: u64,
    },
    /// Not the name of a mode.
    #[error("unknown mode '{0}': counter, go-back-n, rw-timer or rw")]
    Mode(String),
}

fn range(name: &'static str, value: impl Into<u64>, min: u64, max: u64) -> Result<(), ConfigError> {
    let value = value.into();
    if (min..=max).contains(&value) {
        Ok(())
    } else {
        Err(ConfigError::Range {
            name,
            value,
            min,
            max,
        })
    }
}

/// Parameters of a [`super::Receiver`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ReceiverConfig {
    /// Protocol.
    pub mode: Mode,
    /// W, packets per window.
    pub w: u32,
    /// R, number of windows.
    pub r: u32,
    /// M, most packets of a transfer.
    pub max_packets: u32,
    /// Width of gen, 1 to 24 bits (RW-22).
    pub gen_bits: u32,
    /// Peer nodes served: src < this.
    pub src_limit: u32,
    /// Transfer slots per peer: slot < this.
    pub slot_limit: u32,
    /// Most entries of peer slots that are kept, above R: a new one takes the place of the one whose transfer finished first
    /// (BW-10). `None` keeps all.
    pub peers: Option<u32>,
    /// Reorder allowance in packets (RW-12): a hole is old when something this far above it has arrived.
    pub allowance: u32,
    /// Reorder allowance in ticks: when nothing has arrived for so long, every hole is old.
    pub allowance_ticks: u16,
    /// Round trip + allowance: no hole is asked for twice within it.
    pub retry_ticks: u16,
    /// Silence after which the packets above the highest one are asked for.
    pub tail_ticks: u16,
    /// Silence after which a transfer is aborted (RW-18); longer than the sender's whole retry time.
    pub idle_ticks: u16,
    /// Retry hint of a BUSY answer, ticks (RW-9).
    pub busy_hint: u16,
    /// How often each message leaves, 1 or 2: with 2 it is lost only if both copies are (RW-11). Both are one answer or one
    /// request (RW-12). [`Mode::Rw`] only; the reference modes send each message once.
    pub copies: u8,
    /// [`Mode::Rw`]: an accepted packet leaves wbase where it is until [`super::Receiver::slide`] moves it, as in hardware, where
    /// that takes some clocks.
    pub late_slides: bool,
    /// Deliberate errors.
    pub mutations: Mutations,
}

impl Default for ReceiverConfig {
    /// W = 256, R = 64, timers for a round trip of 128 ticks and a reorder span of 32, as the goodput table is measured.
    fn default() -> Self {
        Self {
            mode: Mode::Rw,
            w: 256,
            r: 64,
            max_packets: 1 << 21,
            gen_bits: 16,
            src_limit: 256,
            slot_limit: 16,
            peers: None,
            allowance: 34,
            allowance_ticks: 34,
            retry_ticks: 200,
            tail_ticks: 36,
            idle_ticks: 40_000,
            busy_hint: 256,
            copies: 2,
            late_slides: false,
            mutations: Mutations::default(),
        }
    }
}

impl ReceiverConfig {
    /// Checks every field.
    ///
    /// # Errors
    /// The first field out of its range.
    pub fn check(&self) -> Result<(), ConfigError> {
        range("w", self.w, 1, 1 << 15)?;
        range("r", self.r, 1, 1 << 16)?;
        range("max_packets", self.max_packets, 1, 1 << 21)?;
        range("gen_bits", self.gen_bits, 1, 24)?;
        range("src_limit", self.src_limit, 1, NODES.into())?;
        range("slot_limit", self.slot_limit, 1, 1 << 16)?;
        if let Some(peers) = self.peers {
            range("peers", peers, u64::from(self.r) + 1, 1 << 24)?;
        }
        range("copies", self.copies, 1, 2)
    }

    /// How often a message leaves in this mode.
    #[must_use]
    pub fn frames_per_message(&self) -> usize {
        match self.mode {
            Mode::Rw => self.copies.into(),
            Mode::Counter | Mode::GoBackN | Mode::RwTimer => 1,
        }
    }

    /// Numbers below this are covered by the bitmap when wbase is as given: what RW-19 calls credit.
    #[must_use]
    pub fn credit(&self, wbase: u32, n: u32) -> u32 {
        match self.mode {
            Mode::Rw | Mode::GoBackN => n.min(wbase + self.w),
            Mode::Counter | Mode::RwTimer => n,
        }
    }
}

/// Parameters of a [`super::Sender`]. Times in ticks of the caller's clock, which also is the receiver's unit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SenderConfig {
    /// Protocol.
    pub mode: Mode,
    /// This node, as the receiver sees it.
    pub src: u32,
    /// Transfer slots.
    pub slots: u16,
    /// How often this node was reset.
    pub incarnation: u16,
    /// xid of the first transfer of each slot.
    pub first_xid: u32,
    /// Largest packets of a transfer that are accepted from the user.
    pub max_packets: u32,
    /// Shortest round trip. A request that comes within this and the allowance after the packet it names is an old one, and ignored.
    pub rtt_ticks: u32,
    /// How far packets may overtake each other.
    pub allowance_ticks: u32,
    /// Round trip + allowance in both directions: what a STATUS does not show after that is lost.
    pub retry_ticks: u32,
    /// First poll interval; doubles with every poll without progress (RW-10).
    pub poll_ticks: u32,
    /// First poll interval when the credit is used up before the last packet.
    pub stall_poll_ticks: u32,
    /// Longest poll interval.
    pub poll_ticks_max: u32,
    /// K: polls (or CONNECTs) without progress before giving up (RW-18); `None` never gives up.
    pub max_polls: Option<u32>,
    /// BUSY answers before giving up.
    pub max_busy: u32,
    /// Rounds of counter mode before giving up.
    pub max_rounds: u32,
    /// One fresh packet at least in every so many slots (RW-15).
    pub fresh_every: u32,
    /// How many packets above the credit may be sent, as far as the window will have moved when they arrive: over packets sent
    /// so long ago that a request for them would be here, and over packets sent again. 0 keeps strictly to the credit.
    pub overrun: u32,
    /// Packets, from the first one not known to have arrived, whose last sending the sender remembers: it sends none beyond.
    /// [`Mode::Rw`] only.
    pub span: u32,
    /// Send second copies where a loss would cost most, at most one for each request: of a packet that was asked for, when
    /// losing it again would shut the window or delay the end.
    /// Also poll early, once anything was lost and all is sent.
    pub echo: bool,
    /// `seq` of polls cycles through 1..=seq_limit.
    pub seq_limit: u16,
    /// How transfers slow down when their receivers tell them to (CL-4); `None`: they do not.
    pub pace: Option<PaceConfig>,
    /// Deliberate errors.
    pub mutations: Mutations,
}

impl Default for SenderConfig {
    /// 16 slots, timers for a round trip of 128 ticks and a reorder span of 32.
    fn default() -> Self {
        Self {
            mode: Mode::Rw,
            src: 0,
            slots: 16,
            incarnation: 0,
            first_xid: 1,
            max_packets: 1 << 21,
            rtt_ticks: 128,
            allowance_ticks: 34,
            retry_ticks: 200,
            poll_ticks: 256,
            stall_poll_ticks: 16,
            poll_ticks_max: 16_384,
            max_polls: Some(6),
            max_busy: 64,
            max_rounds: 64,
            fresh_every: 8,
            overrun: 160,
            span: 2048,
            echo: true,
            seq_limit: u16::MAX,
            pace: None,
            mutations: Mutations::default(),
        }
    }
}

impl SenderConfig {
    /// Checks every field.
    ///
    /// # Errors
    /// The first field out of its range.
    pub fn check(&self) -> Result<(), ConfigError> {
        range("slots", self.slots, 1, 1 << 16)?;
        range("max_packets", self.max_packets, 1, 1 << 21)?;
        range("fresh_every", self.fresh_every, 2, 1 << 16)?;
        range("span", self.span, 1, 1 << 16)?;
        range("seq_limit", self.seq_limit, 1, u64::from(u16::MAX))
    }

    /// The longest time from the first unanswered poll until the sender has given up: what `idle_ticks` must exceed (RW-18).
    /// `None` if it never gives up.
    #[must_use]
    pub fn retry_time(&self) -> Option<u64> {
        let polls = self.max_polls?;
        let mut interval = u64::from(self.poll_ticks);
        let mut total = 0;
        for _ in 0..=polls {
            total += interval;
            interval = (interval * 2).min(u64::from(self.poll_ticks_max));
        }
        Some(total)
    }

    /// True if `mtu` is a packet size the protocol has.
    #[must_use]
    pub fn mtu_ok(mtu: u8) -> bool {
        MTU_RANGE.contains(&mtu)
    }
}
