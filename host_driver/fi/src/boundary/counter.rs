//! Counters of operations that have ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::domain::{Domain, Inner};
use super::wait::Descriptor;
use super::*;

#[repr(C)]
pub struct Cntr {
    fid: fid_cntr,
    pub count: Arc<Count>,
    pub domain: Arc<Inner>,
}

/// Operations that ended well, and others.
pub struct Count {
    good: AtomicU64,
    bad: AtomicU64,
    /// What the program has seen of both.
    seen: [AtomicU64; 2],
    /// Raised by every change.
    descriptor: Descriptor,
}

impl Count {
    pub fn one(&self, good: bool) {
        let which = if good { &self.good } else { &self.bad };
        // Who reads the count sees what the operation wrote.
        which.fetch_add(1, Ordering::Release);
        self.descriptor.raise();
    }

    /// Whether it is another one than the program has seen.
    pub fn has_changed(&self) -> bool {
        let both = [&self.good, &self.bad].into_iter().zip(&self.seen);
        let mut both = both.map(|pair| (pair.0.load(Ordering::Acquire), pair.1));
        both.any(|(is, seen)| is != seen.load(Ordering::Acquire))
    }
}

impl Cntr {
    /// Whether the program may sleep until the descriptor is raised.
    pub fn rest(&self) -> bool {
        // First, so that what changes from here on raises it.
        self.count.descriptor.lower();
        self.domain.progress();
        let quiet = !self.count.has_changed();
        if quiet {
            self.domain.leave();
        }
        quiet
    }
}

static FID: Shared<fi_ops> = Shared(fi_ops {
    control: Some(control),
    ..fid_ops(close)
});
static OPS: Shared<fi_ops_cntr> = Shared(fi_ops_cntr {
    size: size_of::<fi_ops_cntr>(),
    read,
    readerr,
    add,
    set,
    wait,
    adderr,
    seterr,
});

pub unsafe extern "C" fn open(
    domain: *mut fid_domain,
    attr: *mut fi_cntr_attr,
    out: *mut *mut fid_cntr,
    context: *mut c_void,
) -> c_int {
    call(|| {
        // SAFETY: libfabric's own structure, or nothing.
        let (events, wait) =
            unsafe { attr.as_ref() }.map_or((EVENTS_COMP, 0), |a| (a.events, a.wait_obj));
        // Bytes are not counted.
        if events != EVENTS_COMP {
            return -ENOSYS;
        }
        let descriptor = match Descriptor::new(wait) {
            Ok(descriptor) => descriptor,
            Err(error) => return error,
        };
        // SAFETY: a domain of this provider.
        let domain = unsafe { &*domain.cast::<Domain>() };
        let counter = Cntr {
            fid: fid_cntr {
                fid: fid {
                    fclass: CLASS_CNTR,
                    context,
                    ops: &FID.0,
                },
                ops: &OPS.0,
            },
            count: Arc::new(Count {
                good: AtomicU64::new(0),
                bad: AtomicU64::new(0),
                seen: Default::default(),
                descriptor,
            }),
            domain: Arc::clone(&domain.inner),
        };
        // SAFETY: the caller gives a place.
        unsafe { out.write(Box::into_raw(Box::new(counter)).cast()) };
        SUCCESS
    })
}

/// # Safety
/// A counter of this provider.
unsafe fn of<'a>(counter: *mut fid_cntr) -> &'a Cntr {
    // SAFETY: as the caller says.
    unsafe { &*counter.cast::<Cntr>() }
}

/// Its value, after what can be done now: some programs look nowhere else.
fn value(counter: &Cntr, which: fn(&Count) -> (&AtomicU64, &AtomicU64)) -> u64 {
    let work = || {
        counter.domain.progress();
        0
    };
    // A panic of the work is seen at the queues; the count stays.
    let _ = call(work);
    let (count, seen) = which(&counter.count);
    let count = count.load(Ordering::Acquire);
    seen.store(count, Ordering::Release);
    count
}

fn good(count: &Count) -> (&AtomicU64, &AtomicU64) {
    (&count.good, &count.seen[0])
}

fn bad(count: &Count) -> (&AtomicU64, &AtomicU64) {
    (&count.bad, &count.seen[1])
}

unsafe extern "C" fn read(counter: *mut fid_cntr) -> u64 {
    // SAFETY: as libfabric's contract says; of all calls that follow, too.
    let counter = unsafe { of(counter) };
    value(counter, good)
}

unsafe extern "C" fn readerr(counter: *mut fid_cntr) -> u64 {
    // SAFETY: as above.
    let counter = unsafe { of(counter) };
    value(counter, bad)
}

unsafe extern "C" fn add(counter: *mut fid_cntr, value: u64) -> c_int {
    // SAFETY: as above.
    let count = unsafe { &of(counter).count };
    count.good.fetch_add(value, Ordering::AcqRel);
    count.descriptor.raise();
    SUCCESS
}

unsafe extern "C" fn set(counter: *mut fid_cntr, value: u64) -> c_int {
    // SAFETY: as above.
    let count = unsafe { &of(counter).count };
    count.good.store(value, Ordering::Release);
    count.descriptor.raise();
    SUCCESS
}

unsafe extern "C" fn adderr(counter: *mut fid_cntr, value: u64) -> c_int {
    // SAFETY: as above.
    let count = unsafe { &of(counter).count };
    count.bad.fetch_add(value, Ordering::AcqRel);
    count.descriptor.raise();
    SUCCESS
}

unsafe extern "C" fn seterr(counter: *mut fid_cntr, value: u64) -> c_int {
    // SAFETY: as above.
    let count = unsafe { &of(counter).count };
    count.bad.store(value, Ordering::Release);
    count.descriptor.raise();
    SUCCESS
}

unsafe extern "C" fn wait(counter: *mut fid_cntr, threshold: u64, timeout: c_int) -> c_int {
    call(|| {
        // SAFETY: as above.
        let counter = unsafe { of(counter) };
        let start = Instant::now();
        let most = u64::try_from(timeout).ok().map(Duration::from_millis);
        let failed = counter.count.bad.load(Ordering::Acquire);
        loop {
            if value(counter, good) >= threshold {
                return SUCCESS;
            }
            if counter.count.bad.load(Ordering::Acquire) != failed {
                return -EAVAIL;
            }
            if most.is_some_and(|most| start.elapsed() >= most) {
                return -ETIMEDOUT;
            }
            std::thread::yield_now();
        }
    })
}

unsafe extern "C" fn control(fid: *mut fid, command: c_int, argument: *mut c_void) -> c_int {
    call(|| {
        // SAFETY: as libfabric's contract says.
        unsafe { of(fid.cast()).count.descriptor.control(command, argument) }
    })
}

unsafe extern "C" fn close(fid: *mut fid) -> c_int {
    call(|| {
        // SAFETY: made by `open`, closed once.
        drop(unsafe { Box::from_raw(fid.cast::<Cntr>()) });
        SUCCESS
    })
}
