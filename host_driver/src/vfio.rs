//! A card on the PCI Express bus, through Linux VFIO. **Untested on hardware**: no board runs the card yet.
//!
//! The card must be bound to `vfio-pci`, alone in its IOMMU group. What can be tested without a card is: layouts and numbers of the
//! kernel's interface, and the errors.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::shared::{Event, Mapping, memory_file};
use crate::{Device, DeviceError, DmaMemory};

/// Numbers of `linux/vfio.h`: _IO(';', 100 + n).
const GET_API_VERSION: u64 = request(0);
const CHECK_EXTENSION: u64 = request(1);
const SET_IOMMU: u64 = request(2);
const GROUP_GET_STATUS: u64 = request(3);
const GROUP_SET_CONTAINER: u64 = request(4);
const GROUP_GET_DEVICE_FD: u64 = request(6);
const DEVICE_GET_REGION_INFO: u64 = request(8);
const DEVICE_GET_IRQ_INFO: u64 = request(9);
const DEVICE_SET_IRQS: u64 = request(10);
const IOMMU_MAP_DMA: u64 = request(13);
const IOMMU_UNMAP_DMA: u64 = request(14);
const API_VERSION: i32 = 0;
const TYPE1V2: u64 = 3;
const GROUP_VIABLE: u32 = 1;
const MAP_READ_WRITE: u32 = 3;
const IRQ_BY_EVENT: u32 = 1 << 2 | 1 << 5;
const BAR0: u32 = 0;
const CONFIG: u32 = 7;
const MSIX: u32 = 2;
/// Command register of configuration space, and its bits for memory and bus mastering.
const COMMAND: u64 = 4;
const COMMAND_ON: u16 = 1 << 1 | 1 << 2;
const VECTORS_MAX: usize = 8;
const FIRST: u64 = 0x1_0000_0000;
const PAGE: usize = 4_096;

const fn request(number: u64) -> u64 {
    (b';' as u64) << 8 | (100 + number)
}

#[repr(C)]
#[derive(Default)]
struct GroupStatus {
    argsz: u32,
    flags: u32,
}

#[repr(C)]
#[derive(Default)]
struct RegionInfo {
    argsz: u32,
    flags: u32,
    index: u32,
    cap_offset: u32,
    size: u64,
    offset: u64,
}

#[repr(C)]
#[derive(Default)]
struct IrqInfo {
    argsz: u32,
    flags: u32,
    index: u32,
    count: u32,
}

#[repr(C)]
struct SetIrqs {
    argsz: u32,
    flags: u32,
    index: u32,
    start: u32,
    count: u32,
    events: [i32; VECTORS_MAX],
}

#[repr(C)]
#[derive(Default)]
struct MapDma {
    argsz: u32,
    flags: u32,
    vaddr: u64,
    iova: u64,
    size: u64,
}

#[repr(C)]
#[derive(Default)]
struct UnmapDma {
    argsz: u32,
    flags: u32,
    iova: u64,
    size: u64,
}

/// A control call with a structure, which says its own size first.
fn control<T>(file: &File, request: u64, argument: &mut T) -> io::Result<i32> {
    // SAFETY: the structure is the one of this request, and the kernel stays within its size.
    let result =
        unsafe { libc::ioctl(file.as_raw_fd(), request as _, std::ptr::from_mut(argument)) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(result)
}

/// A control call with a number.
fn control_number(file: &File, request: u64, argument: u64) -> io::Result<i32> {
    // SAFETY: the request takes a number.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), request as _, argument) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(result)
}

fn size_of_u32<T>() -> u32 {
    size_of::<T>() as u32
}

struct Vector {
    event: Event,
    count: AtomicU64,
}

/// A card on the bus. Untested on hardware.
pub struct VfioDevice {
    // Dropped in this order: mappings, then the device, then what holds it.
    memory: Mutex<HashMap<u64, Mapping>>,
    bar0: Mapping,
    vectors: Vec<Vector>,
    next: AtomicU64,
    start: Instant,
    _device: File,
    _group: File,
    container: File,
}

/// The IOMMU group of a device in sysfs, by its address `0000:01:00.0`.
fn group_of(sysfs: &Path, address: &str) -> io::Result<PathBuf> {
    let link = std::fs::read_link(sysfs.join(address).join("iommu_group"))?;
    let number = link.file_name().ok_or(io::ErrorKind::InvalidData)?;
    Ok(Path::new("/dev/vfio").join(number))
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open(path)
}

fn unsupported(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, what)
}

impl VfioDevice {
    /// Opens the card at a PCI address like `0000:01:00.0`.
    ///
    /// # Errors
    /// No such device, not bound to `vfio-pci`, or the system refused.
    pub fn open(address: &str) -> Result<Self, DeviceError> {
        let group_path = group_of(Path::new("/sys/bus/pci/devices"), address)?;
        let container = open(Path::new("/dev/vfio/vfio"))?;
        if control_number(&container, GET_API_VERSION, 0)? != API_VERSION {
            return Err(unsupported("another version of VFIO").into());
        }
        if control_number(&container, CHECK_EXTENSION, TYPE1V2)? == 0 {
            return Err(unsupported("no IOMMU of type 1").into());
        }
        let group = open(&group_path)?;
        let mut status = GroupStatus {
            argsz: size_of_u32::<GroupStatus>(),
            ..GroupStatus::default()
        };
        control(&group, GROUP_GET_STATUS, &mut status)?;
        if status.flags & GROUP_VIABLE == 0 {
            let what = "not every device of the IOMMU group is bound to vfio-pci";
            return Err(unsupported(what).into());
        }
        let mut descriptor = container.as_raw_fd();
        control(&group, GROUP_SET_CONTAINER, &mut descriptor)?;
        control_number(&container, SET_IOMMU, TYPE1V2)?;
        let name = std::ffi::CString::new(address).map_err(io::Error::from)?;
        // SAFETY: a name that ends with a zero; the descriptor is ours alone.
        let device = unsafe {
            let fd = libc::ioctl(group.as_raw_fd(), GROUP_GET_DEVICE_FD as _, name.as_ptr());
            if fd < 0 {
                return Err(io::Error::last_os_error().into());
            }
            File::from_raw_fd(fd)
        };
        let bar0 = region(&device, BAR0)?;
        let length = usize::try_from(bar0.size).map_err(|_| unsupported("BAR0 is too large"))?;
        let bar0 = Mapping::device(&device, bar0.offset, length)?;
        let config = region(&device, CONFIG)?;
        let vectors = vectors(&device)?;
        turn_on(&device, config.offset)?;
        Ok(Self {
            memory: Mutex::default(),
            bar0,
            vectors,
            next: AtomicU64::new(FIRST),
            start: Instant::now(),
            _device: device,
            _group: group,
            container,
        })
    }

    fn register(&self, offset: u32) -> Result<NonNull<u32>, DeviceError> {
        let at = offset as usize;
        if at + 4 > self.bar0.length() || !at.is_multiple_of(4) {
            return Err(io::Error::from(io::ErrorKind::InvalidInput).into());
        }
        // SAFETY: it lies in the mapping.
        Ok(unsafe { self.bar0.pointer().add(at) }.cast())
    }

    fn vector(&self, vector: u32) -> Result<&Vector, DeviceError> {
        let found = self.vectors.get(vector as usize);
        found.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput).into())
    }
}

fn region(device: &File, index: u32) -> io::Result<RegionInfo> {
    let mut info = RegionInfo {
        argsz: size_of_u32::<RegionInfo>(),
        index,
        ..RegionInfo::default()
    };
    control(device, DEVICE_GET_REGION_INFO, &mut info)?;
    Ok(info)
}

/// An event for each MSI-X vector.
fn vectors(device: &File) -> io::Result<Vec<Vector>> {
    let mut info = IrqInfo {
        argsz: size_of_u32::<IrqInfo>(),
        index: MSIX,
        ..IrqInfo::default()
    };
    control(device, DEVICE_GET_IRQ_INFO, &mut info)?;
    let count = (info.count as usize).min(VECTORS_MAX);
    let vectors = (0..count).map(|_| {
        Ok(Vector {
            event: Event::new()?,
            count: AtomicU64::new(0),
        })
    });
    let vectors: Vec<Vector> = vectors.collect::<io::Result<_>>()?;
    let mut set = SetIrqs {
        argsz: 20 + 4 * count as u32,
        flags: IRQ_BY_EVENT,
        index: MSIX,
        start: 0,
        count: count as u32,
        events: [-1; VECTORS_MAX],
    };
    for (place, vector) in set.events.iter_mut().zip(&vectors) {
        *place = vector.event.as_raw_fd();
    }
    control(device, DEVICE_SET_IRQS, &mut set)?;
    Ok(vectors)
}

/// Lets the card answer and master the bus.
fn turn_on(device: &File, config: u64) -> io::Result<()> {
    use std::os::unix::fs::FileExt;
    let mut command = [0; 2];
    device.read_exact_at(&mut command, config + COMMAND)?;
    let on = u16::from_le_bytes(command) | COMMAND_ON;
    device.write_all_at(&on.to_le_bytes(), config + COMMAND)
}

// SAFETY: memory is a new mapping of a new file of zeros, page-aligned, and kept until it is freed.
unsafe impl Device for VfioDevice {
    fn read32(&self, offset: u32) -> Result<u32, DeviceError> {
        // SAFETY: a register of the card.
        let value = unsafe { self.register(offset)?.as_ptr().read_volatile() };
        fence(Ordering::Acquire);
        // What no card answers reads as ones; no register of this card does.
        if value == u32::MAX && offset == 0 {
            return Err(DeviceError::Gone);
        }
        Ok(u32::from_le(value))
    }

    fn write32(&self, offset: u32, value: u32) -> Result<(), DeviceError> {
        // What was written to memory before is there first.
        fence(Ordering::SeqCst);
        // SAFETY: a register of the card.
        unsafe {
            self.register(offset)?
                .as_ptr()
                .write_volatile(value.to_le())
        };
        Ok(())
    }

    fn allocate(&self, length: usize) -> Result<DmaMemory, DeviceError> {
        let length = length.max(1).next_multiple_of(PAGE);
        let mapping = Mapping::new(&memory_file(length)?, 0, length)?;
        let pointer = mapping.pointer();
        let iova = self
            .next
            .fetch_add((length + PAGE) as u64, Ordering::Relaxed);
        let mut map = MapDma {
            argsz: size_of_u32::<MapDma>(),
            flags: MAP_READ_WRITE,
            vaddr: pointer.as_ptr() as u64,
            iova,
            size: length as u64,
        };
        control(&self.container, IOMMU_MAP_DMA, &mut map)?;
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        memory.insert(iova, mapping);
        Ok(DmaMemory {
            iova,
            pointer,
            length,
        })
    }

    unsafe fn free(&self, memory: DmaMemory) {
        let mut unmap = UnmapDma {
            argsz: size_of_u32::<UnmapDma>(),
            flags: 0,
            iova: memory.iova,
            size: memory.length as u64,
        };
        // If the IOMMU still maps it, it must not be used again.
        if control(&self.container, IOMMU_UNMAP_DMA, &mut unmap).is_ok() {
            let mut all = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
            all.remove(&memory.iova);
        }
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
            self.vector(vector)?.event.wait(left);
        }
    }

    fn now_ns(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes and offsets of `linux/vfio.h`.
    #[test]
    fn structures_are_those_of_the_kernel() {
        assert_eq!(size_of::<GroupStatus>(), 8);
        assert_eq!(size_of::<RegionInfo>(), 32);
        assert_eq!(std::mem::offset_of!(RegionInfo, size), 16);
        assert_eq!(size_of::<IrqInfo>(), 16);
        assert_eq!(std::mem::offset_of!(SetIrqs, events), 20);
        assert_eq!(size_of::<MapDma>(), 32);
        assert_eq!(size_of::<UnmapDma>(), 24);
        assert_eq!((GET_API_VERSION, IOMMU_UNMAP_DMA), (0x3B64, 0x3B72));
    }

    #[test]
    fn the_group_is_found_by_address_and_no_device_is_an_error() {
        let folder = std::env::temp_dir().join(format!("tributary-vfio-{}", std::process::id()));
        let device = folder.join("0000:01:00.0");
        std::fs::create_dir_all(&device).unwrap();
        std::os::unix::fs::symlink("../../iommu_groups/17", device.join("iommu_group")).unwrap();
        let found = group_of(&folder, "0000:01:00.0").unwrap();
        assert_eq!(found, Path::new("/dev/vfio/17"));
        assert!(group_of(&folder, "0000:02:00.0").is_err());
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(matches!(
            VfioDevice::open("ffff:ff:1f.7"),
            Err(DeviceError::Io(_))
        ));
    }
}
