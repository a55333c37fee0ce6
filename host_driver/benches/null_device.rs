//! What the driver itself costs: post and poll against a device that completes every work request at its doorbell.
//!
//! `cargo bench -p tributary-host-driver`. The figures include the device, which reads and writes the rings as a card would. They are
//! processor time of the thread, so that what else runs on the machine counts little.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::hint::black_box;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use criterion::measurement::{Measurement, ValueFormatter, WallTime};
use criterion::{Criterion, Throughput};
use tributary_host_driver::{
    Access, AddressHandle, Context, Device, DeviceError, DmaMemory, Options, SendRequest,
};
use tributary_protocol::card::command::{Command, SHAPE_COMPLETE, SHAPE_SEND};
use tributary_protocol::card::descriptor::{COMPLETION_LEN, WORK_LEN};
use tributary_protocol::card::regs::{
    ARG0, COMMAND, DOORBELL_SEND, DOORBELLS, GLOBAL, RESULT0, SIZES,
};

/// Processor time of this thread.
struct ThreadTime;

impl Measurement for ThreadTime {
    type Intermediate = Duration;
    type Value = Duration;

    fn start(&self) -> Duration {
        let mut time = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: room for a time.
        unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    }

    fn end(&self, start: Duration) -> Duration {
        self.start().saturating_sub(start)
    }

    fn add(&self, a: &Duration, b: &Duration) -> Duration {
        *a + *b
    }

    fn zero(&self) -> Duration {
        Duration::ZERO
    }

    fn to_f64(&self, value: &Duration) -> f64 {
        value.as_nanos() as f64
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        WallTime.formatter()
    }
}

/// One queue pair, whose work requests end OK when they are posted. The bus address of memory is its address.
#[derive(Default)]
struct NullDevice {
    args: [AtomicU32; 16],
    /// Rings: base and log of the send ring, then of the completion ring.
    rings: [AtomicU64; 4],
    sent: AtomicU32,
}

impl NullDevice {
    fn create(&self) {
        let arg = |at: usize| self.args[at].load(Ordering::Relaxed);
        let base = |at: usize| u64::from(arg(at)) | u64::from(arg(at + 1)) << 32;
        let rings = [
            base(4),
            SHAPE_SEND.get(arg(0)).into(),
            base(8),
            SHAPE_COMPLETE.get(arg(0)).into(),
        ];
        for (place, value) in self.rings.iter().zip(rings) {
            place.store(value, Ordering::Relaxed);
        }
        self.sent.store(0, Ordering::Relaxed);
    }

    /// Completes everything up to this index.
    fn complete(&self, index: u32) {
        let [send, send_log, complete, complete_log] =
            [0, 1, 2, 3].map(|at| self.rings[at].load(Ordering::Relaxed));
        let mut number = self.sent.load(Ordering::Relaxed);
        while number as u16 != index as u16 {
            let from = send as usize + (number as usize & ((1 << send_log) - 1)) * WORK_LEN;
            let to =
                complete as usize + (number as usize & ((1 << complete_log) - 1)) * COMPLETION_LEN;
            let phase = !(u64::from(number) >> complete_log) & 1;
            // SAFETY: both lie in the rings that the driver told of; one thread only.
            unsafe {
                let (from, to) = (from as *const u64, to as *mut u64);
                *to = *from.add(1);
                *to.add(1) = 1 << 8 | 1 << 20;
                *to.add(2) = *from.add(4) << 32;
                *to.add(5) = u64::from(number as u16);
                *to.add(7) = phase | u64::from(number as u16) << 16;
            }
            number = number.wrapping_add(1);
        }
        self.sent.store(number, Ordering::Relaxed);
    }
}

// SAFETY: memory comes from the allocator as asked for.
unsafe impl Device for NullDevice {
    fn read32(&self, offset: u32) -> Result<u32, DeviceError> {
        let register = GLOBAL.iter().find(|r| u32::from(r.offset) == offset);
        Ok(match register {
            Some(register) if *register == SIZES => 0x0000_0101,
            Some(register) if *register == RESULT0 => 1,
            Some(register) => register.reset,
            None => 0,
        })
    }

    fn write32(&self, offset: u32, value: u32) -> Result<(), DeviceError> {
        let argument = offset.wrapping_sub(ARG0.into()) / 4;
        if offset == DOORBELLS + u32::from(DOORBELL_SEND.offset) {
            self.complete(value);
        } else if let Some(place) = self.args.get(argument as usize) {
            place.store(value, Ordering::Relaxed);
        } else if offset == u32::from(COMMAND.offset)
            && value == u32::from(Command::CreateQp.code())
        {
            self.create();
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
        0
    }
}

fn post_and_poll(c: &mut Criterion<ThreadTime>) {
    let context = Context::open(Arc::new(NullDevice::default()), Options::default()).unwrap();
    let domain = context.alloc_pd().unwrap();
    let queue = context.create_cq(0).unwrap();
    let pair = domain.create_qp(&queue).max_send_wr(64).build().unwrap();
    pair.activate().unwrap();
    let to = AddressHandle::new(1, 1).unwrap();
    let region = domain.reg_mr(64 * 64, Access::LOCAL_READ).unwrap();
    let mut buffers: Vec<_> = std::iter::from_fn(|| region.alloc(64)).collect();
    let mut done = Vec::with_capacity(64);
    let mut group = c.benchmark_group("post_and_poll");
    for batch in [1, 16, 64] {
        group.throughput(Throughput::Elements(batch));
        group.bench_function(format!("batch_{batch}"), |b| {
            b.iter(|| {
                let mut posting = pair.batch();
                for id in 0..batch {
                    let buffer = buffers.pop().unwrap();
                    posting
                        .send(SendRequest::new(id, to).buffer(buffer))
                        .unwrap();
                }
                posting.ring().unwrap();
                let found = queue.poll(&mut done, 64).unwrap();
                assert_eq!(found as u64, batch);
                buffers.extend(done.drain(..).filter_map(|done| black_box(done).buffer));
            });
        });
    }
    group.finish();
}

fn main() {
    let mut criterion = Criterion::default()
        .with_measurement(ThreadTime)
        .configure_from_args();
    post_and_poll(&mut criterion);
    criterion.final_summary();
}
