//! Completion queues.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::domain::{Domain, Inner};
use super::wait::Descriptor;
use super::*;

#[repr(C)]
pub struct Cq {
    fid: fid_cq,
    pub queue: Arc<Queue>,
    pub domain: Arc<Inner>,
    format: c_int,
}

/// What has ended.
pub struct Queue {
    entries: Mutex<VecDeque<Entry>>,
    /// Readable while there are entries.
    descriptor: Descriptor,
    /// Who waits in a call shall return.
    woken: AtomicBool,
}

/// An operation that has ended.
pub struct Entry {
    pub entry: fi_cq_tagged_entry,
    pub from: u64,
    /// Number of the error and bytes that had no room, if it failed.
    pub error: Option<(c_int, usize)>,
}

// SAFETY: the pointers in it are the program's, who gets them back.
unsafe impl Send for Entry {}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn push(&self, entry: Entry) {
        let mut entries = self.lock();
        if entries.is_empty() {
            self.descriptor.raise();
        }
        entries.push_back(entry);
    }

    /// Takes the oldest entry that is wanted, if it is the first.
    fn pop(&self, entries: &mut VecDeque<Entry>, wanted: impl Fn(&Entry) -> bool) -> Option<Entry> {
        let entry = entries.pop_front_if(|entry| wanted(entry))?;
        if entries.is_empty() {
            self.descriptor.lower();
        }
        Some(entry)
    }

    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }
}

impl Cq {
    /// Whether the program may sleep until the descriptor is raised.
    pub fn rest(&self) -> bool {
        self.domain.progress();
        let quiet = self.queue.is_empty();
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
static OPS: Shared<fi_ops_cq> = Shared(fi_ops_cq {
    size: size_of::<fi_ops_cq>(),
    read,
    readfrom,
    readerr,
    sread,
    sreadfrom,
    signal,
    strerror,
});

pub unsafe extern "C" fn open(
    domain: *mut fid_domain,
    attr: *mut fi_cq_attr,
    out: *mut *mut fid_cq,
    context: *mut c_void,
) -> c_int {
    call(|| {
        // SAFETY: libfabric's own structures, or nothing.
        let (asked, wait) = unsafe { attr.as_ref() }.map_or((0, 0), |a| (a.format, a.wait_obj));
        if !(0..=FORMAT_TAGGED).contains(&asked) {
            return -ENOSYS;
        }
        let descriptor = match Descriptor::new(wait) {
            Ok(descriptor) => descriptor,
            Err(error) => return error,
        };
        let format = if asked == 0 { FORMAT_TAGGED } else { asked };
        // SAFETY: a domain of this provider.
        let domain = unsafe { &*domain.cast::<Domain>() };
        let cq = Cq {
            fid: fid_cq {
                fid: fid {
                    fclass: CLASS_CQ,
                    context,
                    ops: &FID.0,
                },
                ops: &OPS.0,
            },
            queue: Arc::new(Queue {
                entries: Mutex::default(),
                descriptor,
                woken: AtomicBool::new(false),
            }),
            domain: Arc::clone(&domain.inner),
            format,
        };
        // SAFETY: the caller gives a place.
        unsafe { out.write(Box::into_raw(Box::new(cq)).cast()) };
        SUCCESS
    })
}

fn entry_bytes(format: c_int) -> usize {
    match format {
        FORMAT_CONTEXT => 8,
        FORMAT_MSG => 24,
        FORMAT_DATA => 40,
        _ => size_of::<fi_cq_tagged_entry>(),
    }
}

/// # Safety
/// A queue of this provider, room for `count` entries of its format, and for as many addresses or none.
unsafe fn take(cq: *mut fid_cq, to: *mut c_void, count: usize, from: *mut u64) -> isize {
    // SAFETY: as the caller says.
    let cq = unsafe { &*cq.cast::<Cq>() };
    let mut queue = cq.queue.lock();
    if queue.is_empty() {
        drop(queue);
        cq.domain.progress();
        queue = cq.queue.lock();
    }
    let bytes = entry_bytes(cq.format);
    let mut taken = 0;
    while taken < count {
        let Some(entry) = cq.queue.pop(&mut queue, |entry| entry.error.is_none()) else {
            break;
        };
        // SAFETY: every format is the front part of the longest.
        unsafe {
            let source = (&raw const entry.entry).cast::<u8>();
            let place = to.cast::<u8>().add(taken * bytes);
            place.copy_from_nonoverlapping(source, bytes);
            if !from.is_null() {
                from.add(taken).write(entry.from);
            }
        }
        taken += 1;
    }
    if taken > 0 {
        taken as isize
    } else if queue.is_empty() {
        -(EAGAIN as isize)
    } else {
        -(EAVAIL as isize)
    }
}

unsafe extern "C" fn read(cq: *mut fid_cq, to: *mut c_void, count: usize) -> isize {
    // SAFETY: as libfabric's contract says.
    size(|| unsafe { take(cq, to, count, std::ptr::null_mut()) })
}

unsafe extern "C" fn readfrom(
    cq: *mut fid_cq,
    to: *mut c_void,
    count: usize,
    from: *mut u64,
) -> isize {
    // SAFETY: as libfabric's contract says.
    size(|| unsafe { take(cq, to, count, from) })
}

unsafe extern "C" fn sread(
    cq: *mut fid_cq,
    to: *mut c_void,
    count: usize,
    _: *const c_void,
    timeout: c_int,
) -> isize {
    // SAFETY: as libfabric's contract says.
    size(|| unsafe { wait(cq, to, count, std::ptr::null_mut(), timeout) })
}

unsafe extern "C" fn sreadfrom(
    cq: *mut fid_cq,
    to: *mut c_void,
    count: usize,
    from: *mut u64,
    _: *const c_void,
    timeout: c_int,
) -> isize {
    // SAFETY: as libfabric's contract says.
    size(|| unsafe { wait(cq, to, count, from, timeout) })
}

/// # Safety
/// As [`take`].
unsafe fn wait(
    cq: *mut fid_cq,
    to: *mut c_void,
    count: usize,
    from: *mut u64,
    timeout: c_int,
) -> isize {
    let start = Instant::now();
    let most = u64::try_from(timeout).ok().map(Duration::from_millis);
    loop {
        // SAFETY: as the caller says.
        let (taken, queue) = unsafe { (take(cq, to, count, from), &(*cq.cast::<Cq>()).queue) };
        let over = || most.is_some_and(|most| start.elapsed() >= most);
        let woken = || queue.woken.swap(false, Ordering::AcqRel);
        if taken != -(EAGAIN as isize) || woken() || over() {
            return taken;
        }
        std::thread::yield_now();
    }
}

/// Bytes of an error entry that every version has.
const ERROR_BYTES: usize = std::mem::offset_of!(fi_cq_err_entry, err_data);

unsafe extern "C" fn readerr(cq: *mut fid_cq, to: *mut fi_cq_err_entry, _: u64) -> isize {
    size(|| {
        // SAFETY: a queue of this provider.
        let cq = unsafe { &*cq.cast::<Cq>() };
        let found = cq
            .queue
            .pop(&mut cq.queue.lock(), |entry| entry.error.is_some());
        let Some(Entry {
            entry,
            from,
            error: Some((err, olen)),
        }) = found
        else {
            return -(EAGAIN as isize);
        };
        let error = fi_cq_err_entry {
            op_context: entry.op_context,
            flags: entry.flags,
            len: entry.len,
            buf: entry.buf,
            data: entry.data,
            tag: entry.tag,
            olen,
            err,
            prov_errno: named(from),
            err_data: std::ptr::null_mut(),
            err_data_size: 0,
        };
        // SAFETY: room for an entry, of which no more is written than the oldest version has; nobody asked for error data.
        unsafe {
            let source = (&raw const error).cast::<u8>();
            to.cast::<u8>()
                .copy_from_nonoverlapping(source, ERROR_BYTES);
        }
        1
    })
}

/// Who waits in a call returns.
unsafe extern "C" fn signal(cq: *mut fid_cq) -> c_int {
    call(|| {
        // SAFETY: a queue of this provider.
        let cq = unsafe { &*cq.cast::<Cq>() };
        cq.queue.woken.store(true, Ordering::Release);
        SUCCESS
    })
}

unsafe extern "C" fn control(of: *mut fid, command: c_int, argument: *mut c_void) -> c_int {
    call(|| {
        // SAFETY: a queue of this provider.
        let cq = unsafe { &*of.cast::<Cq>() };
        // SAFETY: as libfabric's contract says.
        unsafe { cq.queue.descriptor.control(command, argument) }
    })
}

/// The peer of a failed operation, as the provider's number of an error: its place in the address vector and 1, or 0.
fn named(from: u64) -> c_int {
    let place = c_int::try_from(from).ok();
    place.and_then(|place| place.checked_add(1)).unwrap_or(0)
}

thread_local! {
    /// The last text of an error that this thread asked for.
    static TEXT: std::cell::RefCell<std::ffi::CString> = std::cell::RefCell::default();
}

/// Names the peer of a failed operation. The text lives until this thread asks for the next one.
unsafe extern "C" fn strerror(
    _: *mut fid_cq,
    number: c_int,
    _: *const c_void,
    to: *mut c_char,
    room: usize,
) -> *const c_char {
    let peer = number.checked_sub(1).filter(|place| *place >= 0);
    let text = peer.map_or("no peer is known".to_owned(), |place| {
        format!("the peer is at place {place} of the address vector")
    });
    let text = std::ffi::CString::new(text).unwrap_or_default();
    if !to.is_null() && room > 0 {
        let bytes = text.as_bytes();
        let count = bytes.len().min(room - 1);
        // SAFETY: the caller gives so much room.
        unsafe {
            to.cast::<u8>()
                .copy_from_nonoverlapping(bytes.as_ptr(), count);
            to.add(count).write(0);
        }
    }
    let kept = TEXT.try_with(|kept| {
        let mut kept = kept.borrow_mut();
        *kept = text;
        kept.as_ptr()
    });
    kept.unwrap_or(c"no details".as_ptr())
}

unsafe extern "C" fn close(fid: *mut fid) -> c_int {
    call(|| {
        // SAFETY: made by `open`, closed once.
        drop(unsafe { Box::from_raw(fid.cast::<Cq>()) });
        SUCCESS
    })
}
