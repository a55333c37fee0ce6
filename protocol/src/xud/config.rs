//! Parameters of the card's engine and of the reliable layer.

use thiserror::Error;

use super::card::Shape;

/// A parameter out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{name} = {value} is not within {min} to {max}")]
pub struct ConfigError {
    /// Which.
    pub name: &'static str,
    /// Its value.
    pub value: u64,
    /// The smallest.
    pub min: u64,
    /// The largest.
    pub max: u64,
}

/// A parameter of the receiver window; the protocol is always the same one.
impl From<crate::rw::ConfigError> for ConfigError {
    fn from(error: crate::rw::ConfigError) -> Self {
        match error {
            crate::rw::ConfigError::Range {
                name,
                value,
                min,
                max,
            } => Self {
                name,
                value,
                min,
                max,
            },
            crate::rw::ConfigError::Mode(_) => Self {
                name: "mode",
                value: 0,
                min: 0,
                max: 0,
            },
        }
    }
}

impl ConfigError {
    /// The error of a value that is not within its range.
    pub(crate) fn check(name: &'static str, value: u64, min: u64, max: u64) -> Result<(), Self> {
        range(name, value, min, max)
    }
}

fn range(
    name: &'static str,
    value: impl TryInto<u64>,
    min: u64,
    max: u64,
) -> Result<(), ConfigError> {
    let value = value.try_into().unwrap_or(u64::MAX);
    if (min..=max).contains(&value) {
        Ok(())
    } else {
        Err(ConfigError {
            name,
            value,
            min,
            max,
        })
    }
}

/// Deliberate errors, all off by default. Tests switch one on and show which property catches it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Mutations {
    /// Card: an acknowledgement matches by PSN alone (against XUD-3).
    pub psn_only: bool,
    /// Card and layer: epochs are not looked at (against XUD-6).
    pub no_epoch: bool,
    /// Card: acknowledges on acceptance, before the completion (against XUD-4).
    pub early_ack: bool,
    /// Card: acknowledges without a receive request (against XUD-4).
    pub no_reserve: bool,
    /// Layer: message numbers of one bit (against XUD-5).
    pub short_msn: bool,
    /// Layer: delivers whatever its number (against XUD-5, XUD-10).
    pub no_duplicate_check: bool,
    /// Layer: sends again for ever (against XUD-8).
    pub no_bound: bool,
    /// Layer: a window that gave up goes on with the next number (against XUD-8).
    pub reuse_window: bool,
    /// Layer: connections by node, whatever the queue pair (against XUD-7).
    pub peer_by_node: bool,
    /// Card: one-sided operations are done whatever their number (against XUD-13).
    pub no_number_check: bool,
    /// Card: no replay entry, an atomic that comes again is done again (against XUD-13).
    pub no_replay: bool,
    /// Card: memory is touched before the number is looked at (against XUD-13).
    pub access_first: bool,
    /// Card: the number advances before memory was touched (against XUD-13).
    pub early_number: bool,
}

/// Parameters of a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CardConfig {
    /// Its node number.
    pub node: u32,
    /// Largest payload of a packet, bytes: 256 to 4,096.
    pub mtu: u16,
    /// Entries of the in-flight table, a power of two up to 65,536.
    pub table: u32,
    /// Bits of a PSN: 24, fewer only to see numbers wrap.
    pub psn_bits: u8,
    /// Buckets of the timer wheel, each of half the shortest timeout (2,048 ns).
    pub wheel: u16,
    /// Deliberate errors.
    pub mutations: Mutations,
}

impl Default for CardConfig {
    /// MTU 1,024, 1,024 requests in flight.
    fn default() -> Self {
        Self {
            node: 0,
            mtu: 1024,
            table: 1024,
            psn_bits: 24,
            wheel: 256,
            mutations: Mutations::default(),
        }
    }
}

impl CardConfig {
    /// Checks every field.
    ///
    /// # Errors
    /// The first field out of its range.
    pub fn check(&self) -> Result<(), ConfigError> {
        range("mtu", self.mtu, 256, 4096)?;
        range("table", self.table, 1, 1 << 16)?;
        range("ones in table", self.table.count_ones(), 1, 1)?;
        range("psn_bits", self.psn_bits, 1, 24)?;
        range("wheel", self.wheel, 1, u64::from(u16::MAX))
    }
}

/// Parameters of a reliable layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LayerConfig {
    /// Its queue pair, 24 bits.
    pub qpn: u32,
    /// Q_Key of all its peers and its own.
    pub q_key: u32,
    /// Windows of a connection, each way: 1 to 65,536.
    pub windows: u32,
    /// Receive requests that it keeps posted.
    pub receives: u16,
    /// Requests of its own in the card, not yet completed.
    pub sends: u16,
    /// Card's timeout exponent t: 4.096 µs · 2^t.
    pub timeout: u8,
    /// Sendings of one message, the first included, before it is given up (XUD-8).
    pub attempts: u8,
    /// Sendings that may be answered RNR, on top.
    pub rnr_attempts: u8,
    /// Pause before the first resend, ns; doubles with each.
    pub backoff_ns: u64,
    /// Longest of these pauses, ns: with `attempts`, how long a peer may be deaf before it is given up.
    pub longest_pause_ns: u64,
    /// Deliver in the order of sending, for each connection (XUD-11).
    pub ordered: bool,
    /// How far an ordered sender runs ahead of its oldest unfinished message, and the length of the receiver's reorder ring.
    pub span: u16,
    /// Deliberate errors.
    pub mutations: Mutations,
}

impl Default for LayerConfig {
    /// 32 windows, 16.4 µs timeout, 8 attempts.
    fn default() -> Self {
        Self {
            qpn: 1,
            q_key: 0x1EE7,
            windows: 32,
            receives: 256,
            sends: 256,
            timeout: 2,
            attempts: 8,
            rnr_attempts: 16,
            backoff_ns: 2_048,
            longest_pause_ns: 131_072,
            ordered: false,
            span: 64,
            mutations: Mutations::default(),
        }
    }
}

impl LayerConfig {
    /// Pause after so many sendings, ns.
    pub(super) fn pause(&self, sendings: u8) -> u64 {
        let doublings = u32::from(sendings.saturating_sub(1)).min(63);
        let pause = self.backoff_ns.saturating_mul(1 << doublings);
        pause.min(self.longest_pause_ns)
    }

    /// What its queue pair is made with.
    #[must_use]
    pub fn shape(&self) -> Shape {
        Shape {
            q_key: self.q_key,
            first_psn: 0,
            timeout: self.timeout,
            sends: self.sends,
            receives: self.receives,
            completions: u32::from(self.sends) + u32::from(self.receives),
        }
    }

    /// Checks every field.
    ///
    /// # Errors
    /// The first field out of its range.
    pub fn check(&self) -> Result<(), ConfigError> {
        range("qpn", self.qpn, 0, 0xFF_FFFF)?;
        range("windows", self.windows, 1, 1 << 16)?;
        range("receives", self.receives, 1, u64::from(u16::MAX))?;
        range("sends", self.sends, 1, u64::from(u16::MAX))?;
        range("timeout", self.timeout, 0, 31)?;
        range("attempts", self.attempts, 1, 32)?;
        range("span", self.span, 1, u64::from(u16::MAX))
    }
}
