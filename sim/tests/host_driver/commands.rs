//! How long the driver waits for a command, on a card whose answers and clock are those of the test.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tributary_host_driver::{Context, Device, DeviceError, DmaMemory, Error, Options};
use tributary_protocol::card::regs::{STATUS, STATUS_BUSY};
use tributary_sim::card::{SimDevice, network};

use crate::{BAD, config};

/// A card that is seen at work for so many looks after each write, and each time so many ns pass by the driver's clock.
struct Late {
    card: SimDevice,
    looks: u64,
    pause_ns: u64,
    busy: AtomicU64,
    now_ns: AtomicU64,
    seen: AtomicU64,
}

impl Late {
    fn new(looks: u64, pause_ns: u64) -> Arc<Self> {
        let devices = network(&config(2, BAD)).unwrap();
        Arc::new(Self {
            card: devices[0].clone(),
            looks,
            pause_ns,
            busy: AtomicU64::new(0),
            now_ns: AtomicU64::new(0),
            seen: AtomicU64::new(0),
        })
    }
}

// SAFETY: memory is that of the simulated card.
unsafe impl Device for Late {
    fn read32(&self, offset: u32) -> Result<u32, DeviceError> {
        let value = self.card.read32(offset)?;
        if offset != u32::from(STATUS.offset) || self.busy.load(Ordering::Relaxed) == 0 {
            return Ok(value);
        }
        self.busy.fetch_sub(1, Ordering::Relaxed);
        self.seen.fetch_add(1, Ordering::Relaxed);
        self.now_ns.fetch_add(self.pause_ns, Ordering::Relaxed);
        Ok(value | STATUS_BUSY.put(1))
    }

    fn write32(&self, offset: u32, value: u32) -> Result<(), DeviceError> {
        self.busy.store(self.looks, Ordering::Relaxed);
        self.card.write32(offset, value)
    }

    fn allocate(&self, length: usize) -> Result<DmaMemory, DeviceError> {
        self.card.allocate(length)
    }

    unsafe fn free(&self, memory: DmaMemory) {
        // SAFETY: as the caller says.
        unsafe { self.card.free(memory) };
    }

    fn interrupts(&self, vector: u32) -> Result<u64, DeviceError> {
        self.card.interrupts(vector)
    }

    fn wait(&self, vector: u32, seen: u64, timeout: Duration) -> Result<u64, DeviceError> {
        self.card.wait(vector, seen, timeout)
    }

    fn now_ns(&self) -> u64 {
        self.now_ns.load(Ordering::Relaxed)
    }

    fn idle(&self) -> Result<(), DeviceError> {
        self.card.idle()
    }
}

const OPTIONS: Options = Options {
    node: 0,
    mtu: 1_024,
};

#[test]
fn a_driver_that_was_away_between_two_looks_does_not_blame_its_card() {
    let card = Late::new(3, 5_000_000_000);
    let context = Context::open(Arc::clone(&card) as Arc<dyn Device>, OPTIONS).unwrap();
    context.alloc_pd().unwrap();
    assert!(card.seen.load(Ordering::Relaxed) >= 3);
}

#[test]
fn a_command_that_does_not_end_is_given_up_after_a_second_of_looks() {
    // 1 ms between looks: a second is a thousand of them.
    let card = Late::new(u64::MAX, 1_000_000);
    let opened = Context::open(Arc::clone(&card) as Arc<dyn Device>, OPTIONS);
    assert!(matches!(opened.err(), Some(Error::Stuck(1_000))));
    assert_eq!(card.seen.load(Ordering::Relaxed), 1_001);
}
