//! A card behind a vfio-user socket: registers by message, doorbells through shared memory where the server has it, memory as
//! shared files, interrupts as events.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tributary_protocol::card::regs::{DOORBELLS, ID, MAGIC};
use vfio_user::{Client, Error as ClientError};

use crate::shared::{Clock, Event, Mapping, POSTED_REGION, Posted, PostedWrites, memory_file};
use crate::{Device, DeviceError, DmaMemory};

/// Region of BAR0, and the index of MSI-X, as VFIO numbers them.
const BAR0: u32 = 0;
const MSIX: u32 = 2;
/// VFIO_IRQ_SET_DATA_EVENTFD and VFIO_IRQ_SET_ACTION_TRIGGER.
const BY_EVENT: u32 = 1 << 2 | 1 << 5;
/// Bus addresses are handed out from here on, and from a random page of so many more.
const FIRST: u64 = 0x1_0000_0000;
const RANDOM_PAGES_LOG: u32 = 36;
const PAGE: usize = 4_096;
/// Who waits looks this often whether the other process still lives.
const LOOK: Duration = Duration::from_millis(50);
/// Who polls in vain asks for the time once in so many times.
const LOOKS: u32 = 256;

/// A card in another process.
pub struct VfioUserDevice {
    client: Mutex<Client>,
    posted: Option<PostedWrites>,
    /// Whoever posts has it.
    posting: Mutex<()>,
    memory: Mutex<HashMap<u64, Mapping>>,
    next: AtomicU64,
    vectors: Vec<Vector>,
    idle: AtomicU32,
    /// The other process is gone: a ring in memory would not say so.
    gone: AtomicBool,
    /// When it was last looked whether the other process lives, ms.
    looked: AtomicU64,
    start: Instant,
    clock: Mutex<Clock>,
}

struct Vector {
    event: Event,
    count: AtomicU64,
}

fn gone(_: ClientError) -> DeviceError {
    DeviceError::Gone
}

/// The first bus address of this process. A transfer to an earlier process with this card, which had the same keys, finds nothing
/// at the addresses of this one.
fn first_address() -> u64 {
    let random = std::hash::RandomState::new().build_hasher().finish();
    FIRST + (random >> (64 - RANDOM_PAGES_LOG)) * PAGE as u64
}

impl VfioUserDevice {
    /// Connects to a socket.
    ///
    /// # Errors
    /// Nobody listens there, or it is no card.
    pub fn connect(path: &Path) -> Result<Self, DeviceError> {
        let mut client = Client::new(path).map_err(|error| match error {
            ClientError::Connect(error) => DeviceError::Io(error),
            _ => DeviceError::Gone,
        })?;
        let count = client.get_irq_info(MSIX).map_err(gone)?.count;
        let vectors = (0..count.min(8)).map(|_| {
            Ok(Vector {
                event: Event::new()?,
                count: AtomicU64::new(0),
            })
        });
        let vectors: Vec<Vector> = vectors.collect::<std::io::Result<_>>()?;
        let events: Vec<_> = vectors.iter().map(|v| v.event.as_raw_fd()).collect();
        client
            .set_irqs(MSIX, BY_EVENT, 0, events.len() as u32, &events)
            .map_err(gone)?;
        let ring = client
            .region(POSTED_REGION)
            .and_then(|region| region.file_offset.as_ref());
        let ring = ring.map(|place| PostedWrites::open(place.file(), place.start()));
        Ok(Self {
            posted: ring.transpose()?.flatten(),
            posting: Mutex::default(),
            client: Mutex::new(client),
            memory: Mutex::default(),
            next: AtomicU64::new(first_address()),
            vectors,
            idle: AtomicU32::new(0),
            gone: AtomicBool::new(false),
            looked: AtomicU64::new(0),
            start: Instant::now(),
            clock: Mutex::default(),
        })
    }

    fn client(&self) -> MutexGuard<'_, Client> {
        self.client.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn vector(&self, vector: u32) -> Result<&Vector, DeviceError> {
        let found = self.vectors.get(vector as usize);
        found.ok_or_else(|| std::io::Error::from(std::io::ErrorKind::InvalidInput).into())
    }

    /// Whether the other process still answers.
    fn look(&self) -> Result<(), DeviceError> {
        match self.read32(ID.offset.into()) {
            Ok(MAGIC) => Ok(()),
            _ => {
                self.gone.store(true, Ordering::Release);
                Err(DeviceError::Gone)
            }
        }
    }
}

// SAFETY: memory is a new mapping of a new file of zeros, page-aligned, and kept until it is freed.
unsafe impl Device for VfioUserDevice {
    fn read32(&self, offset: u32) -> Result<u32, DeviceError> {
        let mut value = [0; 4];
        let read = self.client().region_read(BAR0, offset.into(), &mut value);
        read.map_err(gone)?;
        Ok(u32::from_le_bytes(value))
    }

    fn write32(&self, offset: u32, value: u32) -> Result<(), DeviceError> {
        if let Some(ring) = self.posted.as_ref().filter(|_| offset >= DOORBELLS) {
            if self.gone.load(Ordering::Acquire) {
                return Err(DeviceError::Gone);
            }
            let posting = self.posting.lock().unwrap_or_else(PoisonError::into_inner);
            let posted = ring.post(offset, value);
            drop(posting);
            match posted {
                Posted::Seen => return Ok(()),
                Posted::Asleep => {
                    let woken = self.client().region_write(POSTED_REGION, 0, &[0; 4]);
                    return woken.map_err(gone);
                }
                Posted::Full => {}
            }
        }
        let value = value.to_le_bytes();
        let written = self.client().region_write(BAR0, offset.into(), &value);
        written.map_err(gone)
    }

    fn allocate(&self, length: usize) -> Result<DmaMemory, DeviceError> {
        let length = length.max(1).next_multiple_of(PAGE);
        let file = memory_file(length)?;
        let mapping = Mapping::new(&file, 0, length)?;
        let pointer = mapping.pointer();
        let iova = self
            .next
            .fetch_add((length + PAGE) as u64, Ordering::Relaxed);
        let mapped = self
            .client()
            .dma_map(0, iova, length as u64, file.as_raw_fd());
        mapped.map_err(gone)?;
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        memory.insert(iova, mapping);
        Ok(DmaMemory {
            iova,
            pointer,
            length,
        })
    }

    unsafe fn free(&self, memory: DmaMemory) {
        // A process that is gone has no mapping left.
        let _ = self.client().dma_unmap(memory.iova, memory.length as u64);
        let mut all = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        all.remove(&memory.iova);
    }

    fn interrupts(&self, vector: u32) -> Result<u64, DeviceError> {
        let Vector { event, count } = self.vector(vector)?;
        let new = event.take();
        Ok(count.fetch_add(new, Ordering::AcqRel) + new)
    }

    fn wait(&self, vector: u32, seen: u64, timeout: Duration) -> Result<u64, DeviceError> {
        let start = Instant::now();
        loop {
            let count = self.interrupts(vector)?;
            let left = timeout.saturating_sub(start.elapsed());
            if count != seen || left.is_zero() {
                return Ok(count);
            }
            self.look()?;
            self.vector(vector)?.event.wait(left.min(LOOK));
        }
    }

    fn now_ns(&self) -> u64 {
        let mut clock = self.clock.lock().unwrap_or_else(PoisonError::into_inner);
        // Looked at under the lock: what another thread has seen is not older.
        let told = self.posted.as_ref().and_then(PostedWrites::told_time);
        let now = self.start.elapsed().as_nanos() as u64;
        told.map_or(now, |told| clock.at(told.get(), now))
    }

    fn idle(&self) -> Result<(), DeviceError> {
        let count = self.idle.fetch_add(1, Ordering::Relaxed);
        if count.is_multiple_of(LOOKS) {
            let now = self.start.elapsed().as_millis() as u64;
            if now.saturating_sub(self.looked.load(Ordering::Relaxed)) >= LOOK.as_millis() as u64 {
                self.looked.store(now, Ordering::Relaxed);
                return self.look();
            }
        }
        std::thread::yield_now();
        Ok(())
    }
}
