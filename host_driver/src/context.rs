//! Opening a card; its commands; numbers of what was made on it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tributary_protocol::card::command::{Arguments, Command, Status};
use tributary_protocol::card::regs::{
    ARG0, COMMAND, COMMAND_CODE, COMMAND_INDEX, CONTROL, CONTROL_ENABLE, CONTROL_RESET, Counter,
    FEATURES, FEATURES_ONE_SIDED, FEATURES_XUD, ID, MAGIC, MAP_VERSION, MTU, NODE, RESULT0,
    RESULT1, SIZES, SIZES_IN_FLIGHT, SIZES_QPS, SIZES_REGIONS, SIZES_VECTORS, STATISTICS_HIGH,
    STATISTICS_LOW, STATISTICS_SELECT, STATUS, STATUS_BUSY, STATUS_CODE, VERSION, VERSION_MAJOR,
    VERSION_MINOR, WINDOWS,
};
use tributary_protocol::registers::Register;

use crate::memory::Domain;
use crate::{CompletionQueue, Device, Error, MapVersion, ProtectionDomain};

/// A command takes no longer, ms.
const COMMAND_MS: u64 = 1_000;
/// Nor more looks at it than this, for a card whose time stands still.
const COMMAND_LOOKS: u32 = 1 << 24;

/// Protection domains of a card.
const DOMAINS: u32 = 1 << 12;

/// How a card is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Its node number, unique in its network.
    pub node: u16,
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

    fn used(&self) -> usize {
        let state = self.state();
        state.uses.len() - state.free.len()
    }
}

impl Inner {
    fn read(&self, register: &Register) -> Result<u32, Error> {
        Ok(self.device.read32(register.offset.into())?)
    }

    fn write(&self, register: &Register, value: u32) -> Result<(), Error> {
        Ok(self.device.write32(register.offset.into(), value)?)
    }

    /// Waits until no command runs; its status.
    fn ended(&self) -> Result<u8, Error> {
        let start = self.device.now_ns();
        for _ in 0..COMMAND_LOOKS {
            let status = self.read(&STATUS)?;
            if STATUS_BUSY.get(status) == 0 {
                return Ok(STATUS_CODE.get(status) as u8);
            }
            if self.device.now_ns().saturating_sub(start) > COMMAND_MS * 1_000_000 {
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
    /// Not a card, one that this driver does not know, or an option out of range.
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
        };
        inner.write(&CONTROL, CONTROL_RESET.put(1))?;
        inner.ended()?;
        inner.write(&NODE, options.node.into())?;
        inner.write(&MTU, options.mtu.into())?;
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
        let inner = &self.0;
        let held = inner.registers.lock();
        let _held = held.unwrap_or_else(PoisonError::into_inner);
        inner.write(&STATISTICS_SELECT, counter.code().into())?;
        let low = u64::from(inner.read(&STATISTICS_LOW)?);
        Ok(low | u64::from(inner.read(&STATISTICS_HIGH)?) << 32)
    }

    /// Runs a command with these arguments, as its declaration places them; its results.
    pub(crate) fn command(
        &self,
        command: Command,
        index: u32,
        args: &Arguments,
    ) -> Result<[u32; 2], Error> {
        let inner = &self.0;
        let held = inner.registers.lock();
        let _held = held.unwrap_or_else(PoisonError::into_inner);
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
