//! Poll sets: which of several queues and counters have something new.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::counter::{Cntr, Count};
use super::domain::Inner;
use super::queue::{Cq, Queue};
use super::*;

#[repr(C)]
pub struct Set {
    fid: fid_poll,
    members: Mutex<Vec<Member>>,
}

struct Member {
    /// What the program knows it by.
    of: usize,
    context: usize,
    domain: Arc<Inner>,
    what: What,
}

enum What {
    Queue(Arc<Queue>),
    Count(Arc<Count>),
}

impl Member {
    /// There is something that the program has not seen.
    fn is_new(&self) -> bool {
        match &self.what {
            What::Queue(queue) => !queue.is_empty(),
            What::Count(count) => count.has_changed(),
        }
    }
}

static FID: Shared<fi_ops> = Shared(fid_ops(close));
static OPS: Shared<fi_ops_poll> = Shared(fi_ops_poll {
    size: size_of::<fi_ops_poll>(),
    poll,
    poll_add: add,
    poll_del: remove,
});

pub unsafe extern "C" fn open(
    _: *mut fid_domain,
    attr: *mut fi_poll_attr,
    out: *mut *mut fid_poll,
) -> c_int {
    call(|| {
        // SAFETY: libfabric's own structure, or nothing.
        if unsafe { attr.as_ref() }.is_some_and(|attr| attr.flags != 0) {
            return -EINVAL;
        }
        let set = Set {
            fid: fid_poll {
                fid: fid {
                    fclass: CLASS_POLL,
                    context: std::ptr::null_mut(),
                    ops: &FID.0,
                },
                ops: &OPS.0,
            },
            members: Mutex::default(),
        };
        // SAFETY: the caller gives a place.
        unsafe { out.write(Box::into_raw(Box::new(set)).cast()) };
        SUCCESS
    })
}

impl Set {
    /// # Safety
    /// A set of this provider.
    unsafe fn members<'a>(set: *mut fid_poll) -> MutexGuard<'a, Vec<Member>> {
        // SAFETY: as the caller says.
        let set = unsafe { &*set.cast::<Self>() };
        set.members.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Contexts of those that have something new, and how many there are.
unsafe extern "C" fn poll(set: *mut fid_poll, contexts: *mut *mut c_void, count: c_int) -> c_int {
    call(|| {
        // SAFETY: as libfabric's contract says; of all calls that follow, too.
        let members = unsafe { Set::members(set) };
        let mut found = 0;
        for member in members.iter() {
            if found >= count {
                break;
            }
            if !member.is_new() {
                member.domain.progress();
            }
            if member.is_new() {
                // SAFETY: room for `count` of them.
                unsafe {
                    let place = contexts.add(found as usize);
                    place.write(member.context as *mut c_void);
                }
                found += 1;
            }
        }
        found
    })
}

unsafe extern "C" fn add(set: *mut fid_poll, one: *mut fid, flags: u64) -> c_int {
    call(|| {
        // SAFETY: as above; the class says what it is.
        let (mut members, class, context) =
            unsafe { (Set::members(set), (*one).fclass, (*one).context as usize) };
        // SAFETY: as above.
        let (domain, what) = unsafe {
            match class {
                CLASS_CQ => {
                    let cq = &*one.cast::<Cq>();
                    (&cq.domain, What::Queue(Arc::clone(&cq.queue)))
                }
                CLASS_CNTR => {
                    let counter = &*one.cast::<Cntr>();
                    (&counter.domain, What::Count(Arc::clone(&counter.count)))
                }
                _ => return -EINVAL,
            }
        };
        if flags != 0 || members.iter().any(|member| member.of == one as usize) {
            return -EINVAL;
        }
        members.push(Member {
            of: one as usize,
            context,
            domain: Arc::clone(domain),
            what,
        });
        SUCCESS
    })
}

unsafe extern "C" fn remove(set: *mut fid_poll, one: *mut fid, _: u64) -> c_int {
    call(|| {
        // SAFETY: as above.
        let mut members = unsafe { Set::members(set) };
        let count = members.len();
        members.retain(|member| member.of != one as usize);
        if members.len() < count {
            SUCCESS
        } else {
            -EINVAL
        }
    })
}

unsafe extern "C" fn close(fid: *mut fid) -> c_int {
    call(|| {
        // SAFETY: made by `open`, closed once.
        drop(unsafe { Box::from_raw(fid.cast::<Set>()) });
        SUCCESS
    })
}
