//! Cards for other processes: each behind a vfio-user socket, as any virtual machine monitor would attach it.

use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use thiserror::Error;
use tributary_host_driver::Device;
use tributary_host_driver::shared::{
    Event, Mapping, POSTED_BYTES, POSTED_REGION, PostedWrites, TOLD_EVERY,
};
use tributary_protocol::card::regs::{CONTROL, CONTROL_RESET};
use vfio_user::{
    DmaMapFlags, DmaUnmapFlags, IrqInfo, Server, ServerBackend, ServerRegion, SparseArea,
};

use super::SimDevice;
use super::world::Work;

/// Regions and interrupts of a PCI device, as VFIO numbers them; the last region is the ring of doorbells.
const REGIONS: u32 = POSTED_REGION + 1;
const BAR0: u32 = 0;
const CONFIG: u32 = 7;
const IRQS: u32 = 5;
const MSIX: u32 = 2;
/// VFIO_REGION_INFO_FLAG_READ and VFIO_REGION_INFO_FLAG_WRITE.
const READ_WRITE: u32 = 3;
/// VFIO_REGION_INFO_FLAG_MMAP.
const MMAP: u32 = 4;
/// VFIO_IRQ_INFO_EVENTFD.
const EVENT: u32 = 1;
/// Bytes of configuration space.
const CONFIG_LEN: usize = 256;
/// Longest access to a register.
const ACCESS_MAX: usize = 8;
/// Longest turn of the network while no driver sees anything new. Who gives the processor away gets it back late on a machine that
/// does other things.
const TURN: Duration = Duration::from_micros(100);
/// A network that has nothing to do sleeps so long at most: what needs no driver happens with it.
const NAP: Duration = Duration::from_millis(2);

/// Why cards cannot be served.
#[derive(Debug, Error)]
pub enum ServeError {
    /// The socket.
    #[error("cannot listen at {path}: {error}")]
    Listen {
        /// Where.
        path: PathBuf,
        /// Why not.
        error: vfio_user::Error,
    },
    /// The socket of the manager.
    #[error("cannot listen at {path}: {error}")]
    Trees {
        /// Where.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// A thread.
    #[error(transparent)]
    Thread(#[from] io::Error),
}

/// Cards that are served until this is dropped: then they are gone for whoever still has one.
pub struct Served {
    stop: Arc<AtomicBool>,
    clients: Arc<Clients>,
    calls: Arc<Calls>,
    cards: Vec<(SimDevice, PathBuf)>,
    clock: Option<JoinHandle<()>>,
}

/// Who has a card.
#[derive(Debug, Default)]
struct Clients {
    came: AtomicUsize,
    left: AtomicUsize,
}

impl Served {
    /// Clients that have used a card so far, and those of them that still have it.
    #[must_use]
    pub fn clients(&self) -> (usize, usize) {
        // In this order, or one that comes in between would be missed.
        let left = self.clients.left.load(Ordering::Acquire);
        let came = self.clients.came.load(Ordering::Acquire);
        (came, came - left)
    }
}

/// Serves each card of a network at a socket of its own, and lets their time pass. One client has a card at a time; when it
/// goes, the card is reset for the next.
///
/// # Errors
/// A path that exists, or no thread.
pub fn serve(cards: Vec<(SimDevice, PathBuf)>) -> Result<Served, ServeError> {
    let mut served = Served {
        stop: Arc::default(),
        clients: Arc::default(),
        calls: Arc::default(),
        cards: Vec::new(),
        clock: None,
    };
    let Some((first, _)) = cards.first() else {
        return Ok(served);
    };
    let clock = first.clone();
    for (device, path) in cards {
        let (ring, file) = PostedWrites::create()?;
        device.set_posted(ring);
        let server = listen(&device, &path, &file).map_err(|error| ServeError::Listen {
            path: path.clone(),
            error,
        })?;
        served.cards.push((device.clone(), path));
        let stop = Arc::clone(&served.stop);
        let (clients, calls) = (Arc::clone(&served.clients), Arc::clone(&served.calls));
        let thread = std::thread::Builder::new().name("card".to_owned());
        thread.spawn(move || {
            // Clients are given copies of it.
            let _file = file;
            while !stop.load(Ordering::Acquire) {
                let mut backend = Backend {
                    device: device.clone(),
                    clients: Arc::clone(&clients),
                    calls: Arc::clone(&calls),
                    came: false,
                };
                // A client that breaks the protocol loses its connection; the next one may come.
                let _ = server.run(&mut backend);
            }
        })?;
    }
    let (stop, calls) = (Arc::clone(&served.stop), Arc::clone(&served.calls));
    let thread = std::thread::Builder::new().name("network".to_owned());
    served.clock = Some(thread.spawn(move || pass_time(&clock, &stop, &calls))?);
    Ok(served)
}

/// Time of the network: as fast as the machine can while there is something to do. Drivers are told how long it has been at work,
/// which is time as it passes unless the machine does other things: then nobody gives a card up that had no chance to answer.
fn pass_time(clock: &SimDevice, stop: &AtomicBool, calls: &Calls) {
    let (mut time, mut looked) = (NonZeroU64::MIN, Instant::now());
    while !stop.load(Ordering::Acquire) {
        let passed = looked.elapsed();
        looked += passed;
        time = time.saturating_add(passed.min(TOLD_EVERY).as_nanos() as u64);
        clock.tell_time(time);
        let wanted = || calls.waiting.load(Ordering::Acquire) > 0;
        match clock.turn(TURN, wanted) {
            // Who waits for the network must get it.
            Work::Some if !wanted() => std::thread::yield_now(),
            Work::Some | Work::Unknown => std::thread::sleep(Duration::from_micros(1)),
            Work::None => {
                let seen = calls.count();
                if clock.sleep(true) {
                    calls.wait(seen, NAP);
                }
                clock.sleep(false);
            }
        }
    }
}

/// Calls of clients, which wake a network that sleeps.
#[derive(Debug, Default)]
struct Calls {
    waiting: AtomicUsize,
    count: Mutex<u64>,
    came: Condvar,
}

impl Calls {
    fn count(&self) -> u64 {
        *self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn call(&self) {
        *self.count.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.came.notify_all();
    }

    /// Waits until there are other calls than those that were seen.
    fn wait(&self, seen: u64, most: Duration) {
        let count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        // A lock that somebody broke is as good.
        drop(
            self.came
                .wait_timeout_while(count, most, |count| *count == seen),
        );
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        self.calls.call();
        for (card, path) in &self.cards {
            card.remove();
            // Wakes who waits for a client; who has one ends with it.
            drop(UnixStream::connect(path));
            let _ = std::fs::remove_file(path);
        }
        if let Some(clock) = self.clock.take() {
            // A thread that failed has said so.
            let _ = clock.join();
        }
    }
}

fn listen(device: &SimDevice, path: &Path, posted: &File) -> Result<Server, vfio_user::Error> {
    let irqs = (0..IRQS).map(|index| IrqInfo {
        index,
        flags: if index == MSIX { EVENT } else { 0 },
        count: if index == MSIX {
            device.vectors() as u32
        } else {
            0
        },
    });
    let bar0 = u64::from(device.bar0());
    let regions = (0..REGIONS).map(|index| {
        let mut region = ServerRegion {
            region_info: Default::default(),
            sparse_areas: Vec::new(),
            mmap_fd: None,
        };
        let info = &mut region.region_info;
        info.argsz = size_of_val(info) as u32;
        info.index = index;
        info.size = match index {
            BAR0 => bar0,
            CONFIG => CONFIG_LEN as u64,
            POSTED_REGION => POSTED_BYTES as u64,
            _ => 0,
        };
        info.flags = if info.size > 0 { READ_WRITE } else { 0 };
        if index == POSTED_REGION {
            info.flags |= MMAP;
            let mut area = SparseArea {
                area: Default::default(),
            };
            area.area.size = info.size;
            region.sparse_areas.push(area);
            region.mmap_fd = Some(posted.as_raw_fd());
        }
        region
    });
    Server::new(path, true, irqs.collect(), regions.collect())
}

/// One client of one card.
struct Backend {
    device: SimDevice,
    clients: Arc<Clients>,
    calls: Arc<Calls>,
    /// It has asked for something.
    came: bool,
}

impl Backend {
    /// Does what was posted, wakes the network, and then what is asked.
    fn ask<T>(&self, act: impl FnOnce(&SimDevice) -> T) -> T {
        self.calls.waiting.fetch_add(1, Ordering::AcqRel);
        self.device.catch_up();
        let result = act(&self.device);
        self.calls.waiting.fetch_sub(1, Ordering::AcqRel);
        self.calls.call();
        result
    }

    fn note(&mut self) {
        if !std::mem::replace(&mut self.came, true) {
            self.clients.came.fetch_add(1, Ordering::AcqRel);
        }
    }
}

impl Drop for Backend {
    fn drop(&mut self) {
        // First the card lets go of the memory, then the memory goes.
        self.device.forget_posted();
        let _ = self.reset();
        self.device.unmap_all();
        if self.came {
            self.clients.left.fetch_add(1, Ordering::AcqRel);
        }
    }
}

fn bad() -> io::Error {
    io::ErrorKind::InvalidInput.into()
}

/// Offsets of the registers of an access; none of those behind BAR0 comes out as one within it.
fn registers(offset: u64, bytes: usize) -> io::Result<impl Iterator<Item = u32>> {
    let first = u32::try_from(offset).map_err(|_| bad())?;
    if bytes == 0 || bytes > ACCESS_MAX || !bytes.is_multiple_of(4) || !first.is_multiple_of(4) {
        return Err(bad());
    }
    Ok((0..bytes as u32 / 4).map(move |word| first.saturating_add(4 * word)))
}

impl ServerBackend for Backend {
    fn region_read(&mut self, region: u32, offset: u64, data: &mut [u8]) -> io::Result<()> {
        self.note();
        match region {
            BAR0 => {
                let offsets = registers(offset, data.len())?;
                for (offset, place) in offsets.zip(data.chunks_exact_mut(4)) {
                    // A card that is gone reads as ones, as on a bus, and so does what is behind its BAR0.
                    let value = self.ask(|card| card.read32(offset)).unwrap_or(u32::MAX);
                    place.copy_from_slice(&value.to_le_bytes());
                }
            }
            // The driver needs nothing from configuration space: the server does what an operating system would.
            CONFIG | POSTED_REGION => data.fill(0),
            _ => return Err(bad()),
        }
        Ok(())
    }

    fn region_write(&mut self, region: u32, offset: u64, data: &[u8]) -> io::Result<()> {
        match region {
            BAR0 => {
                let offsets = registers(offset, data.len())?;
                for (offset, value) in offsets.zip(data.chunks_exact(4)) {
                    let value = u32::from_le_bytes([value[0], value[1], value[2], value[3]]);
                    // Nobody tells a writer of a card that is gone, or of what is not there.
                    let _ = self.ask(|card| card.write32(offset, value));
                }
                Ok(())
            }
            CONFIG => Ok(()),
            POSTED_REGION => {
                self.ask(|_| ());
                Ok(())
            }
            _ => Err(bad()),
        }
    }

    fn dma_map(
        &mut self,
        _: DmaMapFlags,
        offset: u64,
        address: u64,
        size: u64,
        file: Option<File>,
    ) -> io::Result<()> {
        let file = file.ok_or_else(bad)?;
        let mapping = Mapping::new(&file, offset, size.try_into().map_err(|_| bad())?)?;
        if self.ask(|card| card.map(address, mapping)) {
            Ok(())
        } else {
            Err(bad())
        }
    }

    fn dma_unmap(&mut self, _: DmaUnmapFlags, address: u64, size: u64) -> io::Result<()> {
        if self.ask(|card| card.unmap(address, size)) {
            Ok(())
        } else {
            Err(bad())
        }
    }

    fn reset(&mut self) -> io::Result<()> {
        let reset = self.ask(|card| card.write32(CONTROL.offset.into(), CONTROL_RESET.put(1)));
        reset.map_err(io::Error::other)
    }

    fn set_irqs(
        &mut self,
        index: u32,
        _: u32,
        start: u32,
        _: u32,
        files: Vec<File>,
    ) -> io::Result<()> {
        self.note();
        if index != MSIX {
            return Err(bad());
        }
        for (vector, file) in (start..).zip(files) {
            if !self.device.set_event(vector, Event::from(file)) {
                return Err(bad());
            }
        }
        Ok(())
    }
}
