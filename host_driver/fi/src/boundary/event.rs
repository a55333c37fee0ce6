//! Event queues: what programs write to them, and groups that have been joined.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::wait::Descriptor;
use super::*;

/// Events of a queue whose program does not say how many.
const SIZE: usize = 256;

#[repr(C)]
pub struct Eq {
    fid: fid_eq,
    pub events: Arc<Events>,
}

/// What has happened.
pub struct Events {
    list: Mutex<VecDeque<Event>>,
    came: Condvar,
    /// Events that it may hold.
    size: usize,
    /// Readable while there are events.
    descriptor: Descriptor,
}

struct Event {
    number: u32,
    bytes: Vec<u8>,
    /// Number of the error, if it is one.
    error: Option<c_int>,
}

static FID: Shared<fi_ops> = Shared(fi_ops {
    control: Some(control),
    ..fid_ops(close)
});
static OPS: Shared<fi_ops_eq> = Shared(fi_ops_eq {
    size: size_of::<fi_ops_eq>(),
    read,
    readerr,
    write,
    sread,
    strerror,
});

pub unsafe extern "C" fn open(
    _: *mut fid_fabric,
    attr: *const fi_eq_attr,
    out: *mut *mut fid_eq,
    context: *mut c_void,
) -> c_int {
    call(|| {
        // SAFETY: libfabric's own structure, or nothing.
        let (size, wait) = unsafe { attr.as_ref() }.map_or((0, 0), |a| (a.size, a.wait_obj));
        let descriptor = match Descriptor::new(wait) {
            Ok(descriptor) => descriptor,
            Err(error) => return error,
        };
        let queue = Eq {
            fid: fid_eq {
                fid: fid {
                    fclass: CLASS_EQ,
                    context,
                    ops: &FID.0,
                },
                ops: &OPS.0,
            },
            events: Arc::new(Events {
                list: Mutex::default(),
                came: Condvar::new(),
                size: if size == 0 { SIZE } else { size },
                descriptor,
            }),
        };
        // SAFETY: the caller gives a place.
        unsafe { out.write(Box::into_raw(Box::new(queue)).cast()) };
        SUCCESS
    })
}

impl Events {
    /// # Safety
    /// A queue of this provider.
    unsafe fn of<'a>(queue: *mut fid_eq) -> &'a Self {
        // SAFETY: as the caller says.
        unsafe { &(*queue.cast::<Eq>()).events }
    }

    fn events(&self) -> MutexGuard<'_, VecDeque<Event>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.events().is_empty()
    }

    /// A group has been joined, or not for this reason.
    pub fn joined(&self, (fid, context): (usize, usize), error: Option<c_int>) {
        let words = [fid as u64, context as u64, 0];
        let event = Event {
            number: JOIN_COMPLETE,
            bytes: words.iter().flat_map(|word| word.to_ne_bytes()).collect(),
            error,
        };
        self.put(&mut self.events(), event);
    }

    fn put(&self, events: &mut VecDeque<Event>, event: Event) {
        events.push_back(event);
        self.descriptor.raise();
        self.came.notify_all();
    }

    /// Gives the oldest event to the program, if it has room for it.
    ///
    /// # Safety
    /// Room for a number, and so many bytes or no memory.
    unsafe fn give(
        &self,
        events: &mut VecDeque<Event>,
        event: *mut u32,
        (buffer, length): (*mut c_void, usize),
        flags: u64,
    ) -> isize {
        let Some(first) = events.front() else {
            return -(EAGAIN as isize);
        };
        if first.error.is_some() {
            return -(EAVAIL as isize);
        }
        // Who gives no memory wants the number alone.
        let count = match buffer.is_null() {
            true => 0,
            false => first.bytes.len(),
        };
        if length < count {
            return -(ETOOSMALL as isize);
        }
        // SAFETY: as the caller says.
        unsafe {
            event.write(first.number);
            if count > 0 {
                let bytes = buffer.cast::<u8>();
                bytes.copy_from_nonoverlapping(first.bytes.as_ptr(), count);
            }
        }
        if flags & PEEK == 0 {
            events.pop_front();
            if events.is_empty() {
                self.descriptor.lower();
            }
        }
        count as isize
    }
}

unsafe extern "C" fn read(
    queue: *mut fid_eq,
    event: *mut u32,
    buffer: *mut c_void,
    length: usize,
    flags: u64,
) -> isize {
    size(|| {
        // SAFETY: as libfabric's contract says; of all calls that follow, too.
        let queue = unsafe { Events::of(queue) };
        // SAFETY: as above.
        unsafe { queue.give(&mut queue.events(), event, (buffer, length), flags) }
    })
}

unsafe extern "C" fn sread(
    queue: *mut fid_eq,
    event: *mut u32,
    buffer: *mut c_void,
    length: usize,
    timeout: c_int,
    flags: u64,
) -> isize {
    size(|| {
        // SAFETY: as above.
        let queue = unsafe { Events::of(queue) };
        let most = u64::try_from(timeout).ok().map(Duration::from_millis);
        let start = Instant::now();
        let mut events = queue.events();
        while events.is_empty() {
            let Some(most) = most else {
                events = (queue.came.wait(events)).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = most.saturating_sub(start.elapsed());
            if left.is_zero() {
                break;
            }
            let waited = queue.came.wait_timeout(events, left);
            events = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        // SAFETY: as above.
        unsafe { queue.give(&mut events, event, (buffer, length), flags) }
    })
}

unsafe extern "C" fn write(
    queue: *mut fid_eq,
    event: u32,
    buffer: *const c_void,
    length: usize,
    _: u64,
) -> isize {
    size(|| {
        // SAFETY: as above.
        let queue = unsafe { Events::of(queue) };
        if buffer.is_null() {
            return -(EINVAL as isize);
        }
        // SAFETY: so many bytes are there.
        let bytes = unsafe { std::slice::from_raw_parts(buffer.cast::<u8>(), length) };
        let mut events = queue.events();
        if events.len() >= queue.size {
            return -(EAGAIN as isize);
        }
        let event = Event {
            number: event,
            bytes: bytes.to_vec(),
            error: None,
        };
        queue.put(&mut events, event);
        length as isize
    })
}

/// Bytes of an error entry without what is said of it, for which nobody asked.
const ERROR_BYTES: usize = std::mem::offset_of!(fi_eq_err_entry, err_data);

unsafe extern "C" fn readerr(queue: *mut fid_eq, to: *mut fi_eq_err_entry, _: u64) -> isize {
    size(|| {
        // SAFETY: as above.
        let queue = unsafe { Events::of(queue) };
        let mut events = queue.events();
        let Some(event) = events.pop_front_if(|event| event.error.is_some()) else {
            return -(EAGAIN as isize);
        };
        if events.is_empty() {
            queue.descriptor.lower();
        }
        // SAFETY: room for an entry, whose front part is that of a good one.
        unsafe {
            let bytes = to.cast::<u8>();
            bytes.copy_from_nonoverlapping(event.bytes.as_ptr(), event.bytes.len());
            (&raw mut (*to).err).write(event.error.unwrap_or(0));
            (&raw mut (*to).prov_errno).write(0);
        }
        ERROR_BYTES as isize
    })
}

unsafe extern "C" fn strerror(
    _: *mut fid_eq,
    _: c_int,
    _: *const c_void,
    _: *mut c_char,
    _: usize,
) -> *const c_char {
    c"no details".as_ptr()
}

unsafe extern "C" fn control(of: *mut fid, command: c_int, argument: *mut c_void) -> c_int {
    call(|| {
        // SAFETY: a queue of this provider.
        let queue = unsafe { Events::of(of.cast()) };
        // SAFETY: as libfabric's contract says.
        unsafe { queue.descriptor.control(command, argument) }
    })
}

unsafe extern "C" fn close(fid: *mut fid) -> c_int {
    call(|| {
        // SAFETY: made by `open`, closed once.
        drop(unsafe { Box::from_raw(fid.cast::<Eq>()) });
        SUCCESS
    })
}
