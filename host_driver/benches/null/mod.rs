//! A device without a network: requests end OK, and what goes to one of its own queue pairs arrives there.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use tributary_host_driver::{Device, DeviceError, DmaMemory};
use tributary_protocol::card::command::{Command, SHAPE_COMPLETE, SHAPE_RECEIVE, SHAPE_SEND};
use tributary_protocol::card::descriptor::{COMPLETION_LEN, RECEIVE_LEN, WORK_LEN};
use tributary_protocol::card::regs::{
    ARG0, COMMAND, COMMAND_INDEX, DOORBELL_RECEIVE, DOORBELL_SEND, DOORBELLS, GLOBAL, PAGE,
    RESULT0, SIZES,
};

/// Queue pairs.
const PAIRS: usize = 4;
/// Time that passes with each look at the clock, ns.
const LOOK_NS: u64 = 10;
/// Kinds of completions.
const SENT: u64 = 1;
const RECEIVED: u64 = 2;

/// The rings of a queue pair; base and log of each: send, receive, complete.
#[derive(Default)]
struct Pair {
    rings: [AtomicU64; 6],
    /// What the doorbells said last: send, receive.
    rung: [AtomicU32; 2],
    /// Entries taken from both, and completions written.
    at: [AtomicU32; 3],
}

/// One thread uses it. The bus address of memory is its address.
#[derive(Default)]
pub struct NullDevice {
    args: [AtomicU32; 16],
    pairs: [Pair; PAIRS],
    /// Doorbells are only noted; work is done in [`Self::work`].
    held: AtomicBool,
    now: AtomicU64,
}

/// Reads a counter or ring that one thread uses.
macro_rules! get {
    ($cell:expr) => {
        $cell.load(Ordering::Relaxed)
    };
}

impl Pair {
    /// Entry `number` of a ring of such entries.
    fn entry(&self, ring: usize, number: u32, bytes: usize) -> *mut u64 {
        let (base, log) = (get!(self.rings[2 * ring]), get!(self.rings[2 * ring + 1]));
        (base as usize + (number as usize & ((1 << log) - 1)) * bytes) as *mut u64
    }

    /// Writes a completion; words 1 to 4, the kind of request and its number.
    fn complete(&self, id: u64, words: [u64; 4], request: u32) {
        let number = get!(self.at[2]);
        let phase = !(u64::from(number) >> get!(self.rings[5])) & 1;
        let to = self.entry(2, number, COMPLETION_LEN);
        // SAFETY: it lies in the ring that the driver told of; one thread only.
        unsafe {
            *to = id;
            for (at, word) in words.into_iter().enumerate() {
                *to.add(1 + at) = word;
            }
            *to.add(5) = u64::from(request as u16);
            *to.add(7) = phase | u64::from(number as u16) << 16;
        }
        self.at[2].store(number.wrapping_add(1), Ordering::Relaxed);
    }
}

impl NullDevice {
    /// A device whose work is not done at its doorbells.
    #[allow(dead_code, reason = "not every bench holds it")]
    pub fn held() -> Self {
        Self {
            held: AtomicBool::new(true),
            ..Self::default()
        }
    }

    fn create(&self, number: usize) {
        let arg = |at: usize| get!(self.args[at]);
        let base = |at: usize| u64::from(arg(at)) | u64::from(arg(at + 1)) << 32;
        let rings = [
            base(4),
            SHAPE_SEND.get(arg(0)).into(),
            base(6),
            SHAPE_RECEIVE.get(arg(0)).into(),
            base(8),
            SHAPE_COMPLETE.get(arg(0)).into(),
        ];
        let pair = &self.pairs[number % PAIRS];
        for (place, value) in pair.rings.iter().zip(rings) {
            place.store(value, Ordering::Relaxed);
        }
        for counter in pair.rung.iter().chain(&pair.at) {
            counter.store(0, Ordering::Relaxed);
        }
    }

    /// Sends and completes everything that was posted.
    #[allow(dead_code, reason = "only held devices need it")]
    pub fn work(&self) {
        (0..PAIRS).for_each(|number| self.work_of(number));
    }

    fn work_of(&self, number: usize) {
        let pair = &self.pairs[number];
        let until = get!(pair.rung[0]);
        let mut at = get!(pair.at[0]);
        while at as u16 != until as u16 {
            self.send(number, pair, at);
            at = at.wrapping_add(1);
        }
        pair.at[0].store(at, Ordering::Relaxed);
    }

    fn send(&self, number: usize, pair: &Pair, at: u32) {
        let from = pair.entry(0, at, WORK_LEN);
        // SAFETY: an entry of the ring that the driver told of; one thread only.
        let work: [u64; 8] = std::array::from_fn(|word| unsafe { *from.add(word) });
        let qpn = work[4] & 0xFF_FFFF;
        let to = self.pairs.get(qpn as usize);
        if let Some(to) = to.filter(|to| get!(to.at[1]) as u16 != get!(to.rung[1]) as u16) {
            let (head, length) = ((work[0] >> 16 & 31) as usize, (work[0] >> 32) as usize);
            let taken = get!(to.at[1]);
            let place = to.entry(1, taken, RECEIVE_LEN);
            // SAFETY: buffers that the driver has posted, long enough for its messages; one thread only.
            let id = unsafe {
                let payload = *place.add(1) as *mut u8;
                let bytes = from.add(6).cast::<u8>();
                bytes.copy_to_nonoverlapping(payload, head);
                (work[2] as *const u8).copy_to_nonoverlapping(payload.add(head), length);
                *place
            };
            to.at[1].store(taken.wrapping_add(1), Ordering::Relaxed);
            let kind =
                RECEIVED << 8 | (work[3] >> 32 & 0xFF) << 16 | ((head + length) as u64) << 32;
            let window = work[5] & 0xFFFF_FFFF | work[4] & !0xFFFF_FFFF;
            to.complete(id, [kind, (number as u64) << 32, window, 0], taken);
        }
        pair.complete(work[1], [SENT << 8, qpn << 32, 0, 0], at);
    }
}

// SAFETY: memory comes from the allocator as asked for.
unsafe impl Device for NullDevice {
    fn read32(&self, offset: u32) -> Result<u32, DeviceError> {
        let register = GLOBAL.iter().find(|r| u32::from(r.offset) == offset);
        Ok(match register {
            Some(register) if *register == SIZES => 0x0000_0404,
            Some(register) if *register == RESULT0 => 1,
            Some(register) => register.reset,
            None => 0,
        })
    }

    fn write32(&self, offset: u32, value: u32) -> Result<(), DeviceError> {
        if let Some(at) = offset.checked_sub(DOORBELLS) {
            let number = (at / PAGE) as usize % PAIRS;
            let pair = &self.pairs[number];
            if at % PAGE == u32::from(DOORBELL_SEND.offset) {
                pair.rung[0].store(value, Ordering::Relaxed);
                if !self.held.load(Ordering::Relaxed) {
                    self.work_of(number);
                }
            } else if at % PAGE == u32::from(DOORBELL_RECEIVE.offset) {
                pair.rung[1].store(value, Ordering::Relaxed);
            }
            return Ok(());
        }
        let argument = offset.wrapping_sub(ARG0.into()) / 4;
        let create = u32::from(Command::CreateQp.code());
        if let Some(place) = self.args.get(argument as usize) {
            place.store(value, Ordering::Relaxed);
        } else if offset == u32::from(COMMAND.offset) && value & 0xFF == create {
            self.create(COMMAND_INDEX.get(value) as usize);
        }
        Ok(())
    }

    fn allocate(&self, length: usize) -> Result<DmaMemory, DeviceError> {
        let layout =
            Layout::from_size_align(length, 4_096).map_err(|_| DeviceError::Memory(length))?;
        // SAFETY: the driver asks for no empty memory.
        let pointer = NonNull::new(unsafe { alloc_zeroed(layout) });
        let pointer = pointer.ok_or(DeviceError::Memory(length))?;
        Ok(DmaMemory {
            iova: pointer.as_ptr() as u64,
            pointer,
            length,
        })
    }

    unsafe fn free(&self, memory: DmaMemory) {
        if let Ok(layout) = Layout::from_size_align(memory.length, 4_096) {
            // SAFETY: allocated with this layout.
            unsafe { dealloc(memory.pointer.as_ptr(), layout) };
        }
    }

    fn interrupts(&self, _: u32) -> Result<u64, DeviceError> {
        Ok(0)
    }

    fn wait(&self, _: u32, seen: u64, _: Duration) -> Result<u64, DeviceError> {
        Ok(seen)
    }

    fn now_ns(&self) -> u64 {
        self.now.fetch_add(LOOK_NS, Ordering::Relaxed)
    }
}

/// Processor time of this thread: what else runs on the machine counts little.
pub fn thread_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: room for a time.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
