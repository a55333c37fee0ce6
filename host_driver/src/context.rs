//! Opening a card; its commands; numbers of what was made on it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tributary_protocol::card::command::{Arguments, Command, Status};
use tributary_protocol::card::regs::{
    ARG0, BULK_ALLOWANCE, BULK_LINE, BULK_LINE_MBPS, BULK_ROUND_TRIP, BULK_SHARE, BULK_SIZES,
    BULK_SIZES_SLOTS, BULK_TICK, BulkCounter, COMMAND, COMMAND_CODE, COMMAND_INDEX,
    CONGESTION_CONTROL, CONGESTION_ENABLE, CONGESTION_INTERVAL, CONGESTION_INTERVAL_TICKS, CONTROL,
    CONTROL_ENABLE, CONTROL_RESET, CongestionCounter, Counter, FEATURES, FEATURES_BULK,
    FEATURES_CONGESTION, FEATURES_ONE_SIDED, FEATURES_REDUCTIONS, FEATURES_RINGS, FEATURES_XUD, ID,
    MAGIC, MAP_VERSION, MTU, NODE, RESULT0, RESULT1, RING_SIZES, RING_SIZES_GROUPS,
    ReductionCounter, SIZES, SIZES_IN_FLIGHT, SIZES_QPS, SIZES_REGIONS, SIZES_VECTORS,
    STATISTICS_HIGH, STATISTICS_LOW, STATISTICS_SELECT, STATUS, STATUS_BUSY, STATUS_CODE,
    TIMEOUT_CLOCKS, TIMEOUT_UNIT, VERSION, VERSION_MAJOR, VERSION_MINOR, WINDOWS,
};
use tributary_protocol::registers::Register;

use crate::memory::Domain;
use crate::queue::check_node;
use crate::{CompletionQueue, Device, Error, MapVersion, ProtectionDomain};

/// A command takes no longer, ms.
const COMMAND_MS: u64 = 1_000;
/// Nor more looks at it than this, for a card whose time stands still.
const COMMAND_LOOKS: u32 = 1 << 24;
/// Of the time between two looks no more counts than this, ns: a process that was kept from its processor has not looked, and its
/// card, if it is simulated, was kept from it as well.
const LOOK_NS: u64 = 10_000_000;

/// Bytes around the payload of a packet of a bulk transfer: headers, checksums, preamble and gap.
const AROUND_PAYLOAD: u64 = 90;

/// Protection domains of a card.
const DOMAINS: u32 = 1 << 12;

/// How a card is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Its node number, below 2^20, unique in its network.
    pub node: u32,
    /// Largest payload of a packet, bytes: 256 to 4,096.
    pub mtu: u16,
}

impl Default for Options {
    /// Node 0, 4,096 bytes.
    fn default() -> Self {
        Self {
            node: 0,
            mtu: 4_096,
        }
    }
}

/// How large a card was built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Queue pairs.
    pub queue_pairs: u32,
    /// Regions.
    pub regions: u32,
    /// Requests in flight.
    pub in_flight: u32,
    /// Interrupt vectors.
    pub vectors: u32,
    /// Windows of one-sided operations; 0 if it does none.
    pub windows: u32,
    /// Bulk transfers that it sends at once (BW-4); 0 if it has none: then no request is longer than a packet.
    pub transfers: u32,
    /// Whether its queue pairs can be in reduction groups (CL-5).
    pub reductions: bool,
    /// Groups of schedule rings (MB-16); 0 if it has none.
    pub groups: u32,
    /// Whether its transfers can slow down when switches mark their packets (CL-4): [`Context::set_congestion`].
    pub congestion: bool,
}

/// What bulk transfers should know of the network (`docs/bulk.md`). Until told, a card has the times of its board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BulkTuning {
    /// Shortest time from when a packet is chosen to its answer: from here to a peer and back, and what both cards take, ns. One that
    /// is too short has packets sent in vain.
    pub round_trip_ns: u64,
    /// How far packets overtake each other, packets.
    pub overtaking: u32,
    /// Share of the line while datagrams have something to send, too: 0 to 256, in 256ths.
    pub share_of_256: u32,
}

/// An open card. Copies are the same card; it is reset and silent when the last of them, and of what was made on it, is gone.
#[derive(Clone)]
pub struct Context(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub device: Arc<dyn Device>,
    options: Options,
    sizes: Sizes,
    /// Held while a command or a counter is read.
    registers: Mutex<()>,
    pub queue_pairs: Numbers,
    pub regions: Numbers,
    pub domains: Numbers,
    pub windows: Numbers,
    pub groups: Numbers,
    /// The card looks at marks of switches.
    congestion: AtomicBool,
}

/// Numbers of one kind that are handed out and come back; the one that came back first goes out first.
pub(crate) struct Numbers {
    what: &'static str,
    state: Mutex<NumbersState>,
}

struct NumbersState {
    free: VecDeque<u32>,
    /// How often each was handed out, modulo 256.
    uses: Vec<u8>,
}

impl Numbers {
    fn new(what: &'static str, count: u32) -> Self {
        let state = NumbersState {
            free: (0..count).collect(),
            uses: vec![0; count as usize],
        };
        Self {
            what,
            state: Mutex::new(state),
        }
    }

    fn state(&self) -> MutexGuard<'_, NumbersState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A number and how often it was handed out before, modulo 256.
    pub fn take(&self) -> Result<(u32, u8), Error> {
        let mut state = self.state();
        let number = state.free.pop_front().ok_or(Error::Exhausted {
            what: self.what,
            count: state.uses.len() as u64,
        })?;
        let uses = &mut state.uses[number as usize];
        *uses = uses.wrapping_add(1);
        Ok((number, uses.wrapping_sub(1)))
    }

    pub fn give(&self, number: u32) {
        self.state().free.push_back(number);
    }

    pub fn used(&self) -> usize {
        let state = self.state();
        state.uses.len() - state.free.len()
    }
}

impl Inner {
    /// Registers, commands and counters have one user at a time.
    pub fn registers(&self) -> MutexGuard<'_, ()> {
        let held = self.registers.lock();
        held.unwrap_or_else(PoisonError::into_inner)
    }

    pub fn read(&self, register: &Register) -> Result<u32, Error> {
        Ok(self.device.read32(register.offset.into())?)
    }

    pub fn write(&self, register: &Register, value: u32) -> Result<(), Error> {
        Ok(self.device.write32(register.offset.into(), value)?)
    }

    /// Clocks that a full packet of a bulk transfer takes on the line.
    fn tick_clocks(&self) -> Result<u32, Error> {
        let packet = 1u64 << self.options.mtu.ilog2();
        let mbps = u64::from(BULK_LINE_MBPS.get(self.read(&BULK_LINE)?)).max(1);
        let picoseconds = (packet + AROUND_PAYLOAD) * 8 * 1_000_000 / mbps;
        let clocks = u64::from(TIMEOUT_CLOCKS.get(self.read(&TIMEOUT_UNIT)?));
        // The unit is 4.096 µs.
        let clocks = (picoseconds * clocks).div_ceil(4_096_000);
        Ok(clocks.clamp(1, u16::MAX.into()) as u32)
    }

    /// Waits until no command runs; its status.
    fn ended(&self) -> Result<u8, Error> {
        self.answered(|| {
            let status = self.read(&STATUS)?;
            Ok((STATUS_BUSY.get(status) == 0).then(|| STATUS_CODE.get(status) as u8))
        })
    }

    /// Looks for the end of a command until it is there.
    ///
    /// # Errors
    /// That of a look, or the command takes too long.
    pub(crate) fn answered<T>(
        &self,
        look: impl Fn() -> Result<Option<T>, Error>,
    ) -> Result<T, Error> {
        let mut before = self.device.now_ns();
        let mut waited = 0;
        for _ in 0..COMMAND_LOOKS {
            if let Some(answer) = look()? {
                return Ok(answer);
            }
            let now = self.device.now_ns();
            waited += now.saturating_sub(before).min(LOOK_NS);
            before = now;
            if waited > COMMAND_MS * 1_000_000 {
                break;
            }
            self.device.idle()?;
        }
        Err(Error::Stuck(COMMAND_MS))
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // A card that cannot be reached cannot be told.
        let _ = self.write(&CONTROL, CONTROL_RESET.put(1));
    }
}

impl Context {
    /// Resets a card and sets it up.
    ///
    /// # Errors
    /// Not a card, one that this driver does not know, or an option out of range: a node from 2^20 on, an MTU.
    pub fn open(device: Arc<dyn Device>, options: Options) -> Result<Self, Error> {
        let mtu = u64::from(options.mtu);
        if !(256..=4_096).contains(&mtu) {
            return Err(Error::Range {
                what: "mtu",
                value: mtu,
                min: 256,
                max: 4_096,
            });
        }
        check_node(options.node)?;
        let read = |register: &Register| device.read32(register.offset.into());
        let found = read(&ID)?;
        if found != MAGIC {
            let expected = MAGIC;
            return Err(Error::NotACard { found, expected });
        }
        let version = |word: u32| MapVersion {
            major: VERSION_MAJOR.get(word) as u16,
            minor: VERSION_MINOR.get(word) as u16,
        };
        let (card, driver) = (version(read(&VERSION)?), version(MAP_VERSION));
        if card.major != driver.major || card.minor < driver.minor {
            return Err(Error::Version { card, driver });
        }
        let features = read(&FEATURES)?;
        if FEATURES_XUD.get(features) == 0 {
            return Err(Error::Feature("extended unreliable datagrams"));
        }
        let has_bulk = FEATURES_BULK.get(features) != 0;
        let sizes = read(&SIZES)?;
        let two_to = |field: tributary_protocol::registers::Field| 1 << field.get(sizes);
        let sizes = Sizes {
            queue_pairs: two_to(SIZES_QPS),
            regions: two_to(SIZES_REGIONS),
            in_flight: two_to(SIZES_IN_FLIGHT),
            vectors: two_to(SIZES_VECTORS),
            windows: if FEATURES_ONE_SIDED.get(features) == 0 {
                0
            } else {
                read(&WINDOWS)?.min(1 << 16)
            },
            transfers: if has_bulk {
                BULK_SIZES_SLOTS.get(read(&BULK_SIZES)?)
            } else {
                0
            },
            reductions: FEATURES_REDUCTIONS.get(features) != 0,
            groups: if FEATURES_RINGS.get(features) == 0 {
                0
            } else {
                RING_SIZES_GROUPS.get(read(&RING_SIZES)?)
            },
            congestion: FEATURES_CONGESTION.get(features) != 0,
        };
        let inner = Inner {
            device,
            options,
            sizes,
            registers: Mutex::new(()),
            queue_pairs: Numbers::new("queue pairs", sizes.queue_pairs),
            regions: Numbers::new("regions", sizes.regions),
            domains: Numbers::new("protection domains", DOMAINS),
            windows: Numbers::new("windows", sizes.windows),
            groups: Numbers::new("groups of schedule rings", sizes.groups),
            congestion: AtomicBool::new(false),
        };
        inner.write(&CONTROL, CONTROL_RESET.put(1))?;
        inner.ended()?;
        inner.write(&NODE, options.node)?;
        inner.write(&MTU, options.mtu.into())?;
        if sizes.transfers > 0 {
            inner.write(&BULK_TICK, inner.tick_clocks()?)?;
        }
        inner.write(&CONTROL, CONTROL_ENABLE.put(1))?;
        Ok(Self(Arc::new(inner)))
    }

    /// How it was set up.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.0.options
    }

    /// How large the card was built.
    #[must_use]
    pub fn sizes(&self) -> &Sizes {
        &self.0.sizes
    }

    /// What is in use of queue pairs and regions, those included that the driver has for itself.
    #[must_use]
    pub fn in_use(&self) -> (usize, usize) {
        (self.0.queue_pairs.used(), self.0.regions.used())
    }

    /// Windows of one-sided operations that are open.
    #[must_use]
    pub fn open_windows(&self) -> usize {
        self.0.windows.used()
    }

    /// Makes a protection domain.
    ///
    /// # Errors
    /// 4,096 exist.
    pub fn alloc_pd(&self) -> Result<ProtectionDomain, Error> {
        let (number, _) = self.0.domains.take()?;
        Ok(ProtectionDomain(Arc::new(Domain {
            context: self.clone(),
            number: number as u16,
        })))
    }

    /// Makes a completion queue whose waiters an interrupt vector wakes.
    ///
    /// # Errors
    /// The card has no such vector.
    pub fn create_cq(&self, vector: u32) -> Result<CompletionQueue, Error> {
        let max = self.0.sizes.vectors - 1;
        if vector > max {
            return Err(Error::Range {
                what: "vector",
                value: vector.into(),
                min: 0,
                max: max.into(),
            });
        }
        Ok(CompletionQueue::new(self, vector))
    }

    /// A counter of the card.
    ///
    /// # Errors
    /// The card cannot be reached.
    pub fn counter(&self, counter: Counter) -> Result<u64, Error> {
        self.statistic(counter.code())
    }

    fn statistic(&self, code: u8) -> Result<u64, Error> {
        let inner = &self.0;
        let _held = inner.registers();
        inner.write(&STATISTICS_SELECT, code.into())?;
        let low = u64::from(inner.read(&STATISTICS_LOW)?);
        Ok(low | u64::from(inner.read(&STATISTICS_HIGH)?) << 32)
    }

    /// A counter of bulk transfers; 0 if the card has none.
    ///
    /// # Errors
    /// The card cannot be reached.
    pub fn bulk_counter(&self, counter: BulkCounter) -> Result<u64, Error> {
        self.statistic(counter.code())
    }

    /// A counter of reductions; 0 if the card has none.
    ///
    /// # Errors
    /// The card cannot be reached.
    pub fn reduction_counter(&self, counter: ReductionCounter) -> Result<u64, Error> {
        self.statistic(counter.code())
    }

    /// A counter of congestion; 0 if the card has none.
    ///
    /// # Errors
    /// The card cannot be reached.
    pub fn congestion_counter(&self, counter: CongestionCounter) -> Result<u64, Error> {
        self.statistic(counter.code())
    }

    /// A counter of any kind by its number in the register map, 0 if the card has none of it; nothing if there is none of that number.
    ///
    /// # Errors
    /// The card cannot be reached.
    pub fn counter_numbered(&self, code: u8) -> Result<Option<u64>, Error> {
        let known = Counter::from_code(code).is_some()
            || BulkCounter::from_code(code).is_some()
            || CongestionCounter::from_code(code).is_some()
            || ReductionCounter::from_code(code).is_some();
        known.then(|| self.statistic(code)).transpose()
    }

    /// Length of the card's clock, ns: the unit of its counters of waiting.
    ///
    /// # Errors
    /// The card cannot be reached.
    pub fn clock_ns(&self) -> Result<f64, Error> {
        let clocks = TIMEOUT_CLOCKS.get(self.0.read(&TIMEOUT_UNIT)?).max(1);
        Ok(4_096.0 / f64::from(clocks))
    }

    /// Tells the card's bulk transfers about the network. Transfers that are under way go on with the new times.
    ///
    /// # Errors
    /// The card has no bulk transfers, or cannot be reached.
    pub fn tune_bulk(&self, tuning: &BulkTuning) -> Result<(), Error> {
        let inner = &self.0;
        if inner.sizes.transfers == 0 {
            return Err(Error::Feature("bulk transfers"));
        }
        let clocks = u64::from(inner.read(&BULK_TICK)?);
        let per_unit = u64::from(TIMEOUT_CLOCKS.get(inner.read(&TIMEOUT_UNIT)?)).max(1);
        let tick_ns = (clocks * 4_096 / per_unit).max(1);
        let ticks = (tuning.round_trip_ns / tick_ns).min(u16::MAX.into()) as u32;
        inner.write(&BULK_ROUND_TRIP, ticks)?;
        inner.write(&BULK_ALLOWANCE, tuning.overtaking.min(u16::MAX.into()))?;
        inner.write(&BULK_SHARE, tuning.share_of_256.min(256))
    }

    /// Whether the card looks at marks of switches and its transfers slow down (CL-4), and messages of
    /// [`ReliableEndpoint`](crate::ReliableEndpoint)s with them: not until told, and both ends of a transfer
    /// have to. Where no switch marks, it costs time: transfers to one receiver begin at their parts of its line, and endpoints with
    /// two messages to each peer.
    ///
    /// # Errors
    /// The card cannot, or cannot be reached.
    pub fn set_congestion(&self, on: bool) -> Result<(), Error> {
        let inner = &self.0;
        if !inner.sizes.congestion {
            return Err(Error::Feature("marks of switches"));
        }
        inner.write(&CONGESTION_CONTROL, CONGESTION_ENABLE.put(on.into()))?;
        inner.congestion.store(on, Ordering::Relaxed);
        Ok(())
    }

    /// What [`Self::set_congestion`] said last.
    #[inline]
    pub(crate) fn congestion(&self) -> bool {
        self.0.congestion.load(Ordering::Relaxed)
    }

    /// Ticks at least between two messages about marks, two cuts of a transfer and two steps of its recovery: a round trip,
    /// with the queues on its way. Until told, a card takes 48.
    ///
    /// # Errors
    /// As [`Self::set_congestion`].
    pub fn set_congestion_interval(&self, ticks: u16) -> Result<(), Error> {
        let inner = &self.0;
        if !inner.sizes.congestion {
            return Err(Error::Feature("marks of switches"));
        }
        let ticks = CONGESTION_INTERVAL_TICKS.put(ticks.into());
        inner.write(&CONGESTION_INTERVAL, ticks)
    }

    /// Runs a command with these arguments, as its declaration places them; its results.
    pub(crate) fn command(
        &self,
        command: Command,
        index: u32,
        args: &Arguments,
    ) -> Result<[u32; 2], Error> {
        let inner = &self.0;
        let _held = inner.registers();
        let looked_at = command.call().registers();
        for (at, arg) in args.iter().take(looked_at).enumerate() {
            let offset = u32::from(ARG0) + 4 * at as u32;
            inner.device.write32(offset, *arg)?;
        }
        let word = COMMAND_CODE.put(command.code().into()) | COMMAND_INDEX.put(index);
        inner.write(&COMMAND, word)?;
        let code = inner.ended()?;
        match Status::from_code(code) {
            Some(Status::Ok) => Ok([inner.read(&RESULT0)?, inner.read(&RESULT1)?]),
            Some(status) => Err(Error::Refused { command, status }),
            None => Err(Error::Refused {
                command,
                status: Status::BadCommand,
            }),
        }
    }
}
