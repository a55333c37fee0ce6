//! Memory that peers may reach. Keys are the program's, offsets begin at 0, and nothing is pinned.

use std::collections::hash_map::Entry;
use std::sync::{Arc, PoisonError};

use super::domain::{Domain, Inner};
use super::*;
use crate::engine::Region;

#[repr(C)]
struct Mr {
    fid: fid_mr,
    domain: Arc<Inner>,
}

static FID: Shared<fi_ops> = Shared(fid_ops(close));
pub static OPS: Shared<fi_ops_mr> = Shared(fi_ops_mr {
    size: size_of::<fi_ops_mr>(),
    reg,
    regv,
    regattr,
});

/// What is registered.
struct Registration {
    memory: UserMemory,
    access: u64,
    offset: u64,
    key: u64,
    context: *mut c_void,
}

/// # Safety
/// A domain of this provider, and a place.
unsafe fn register(domain: *mut fid, what: Registration, out: *mut *mut fid_mr) -> c_int {
    // SAFETY: as the caller says.
    let inner = unsafe { &(*domain.cast::<Domain>()).inner };
    if what.offset != 0 {
        return -EINVAL;
    }
    let key = what.key;
    let mut regions = (inner.regions.lock()).unwrap_or_else(PoisonError::into_inner);
    match regions.entry(key) {
        Entry::Occupied(_) => return -ENOKEY,
        Entry::Vacant(place) => place.insert(Region {
            memory: what.memory,
            reads: what.access & REMOTE_READ != 0,
            writes: what.access & REMOTE_WRITE != 0,
        }),
    };
    drop(regions);
    let mr = Mr {
        fid: fid_mr {
            fid: fid {
                fclass: CLASS_MR,
                context: what.context,
                ops: &FID.0,
            },
            mem_desc: std::ptr::null_mut(),
            key,
        },
        domain: Arc::clone(inner),
    };
    // SAFETY: as the caller says.
    unsafe { out.write(Box::into_raw(Box::new(mr)).cast()) };
    SUCCESS
}

unsafe extern "C" fn reg(
    domain: *mut fid,
    buffer: *const c_void,
    length: usize,
    access: u64,
    offset: u64,
    key: u64,
    _: u64,
    out: *mut *mut fid_mr,
    context: *mut c_void,
) -> c_int {
    call(|| {
        let memory = UserMemory::new(buffer.cast_mut(), length);
        let what = Registration {
            memory,
            access,
            offset,
            key,
            context,
        };
        // SAFETY: as libfabric's contract says; of the calls that follow, too.
        unsafe { register(domain, what, out) }
    })
}

unsafe extern "C" fn regv(
    domain: *mut fid,
    list: *const libc::iovec,
    count: usize,
    access: u64,
    offset: u64,
    key: u64,
    _: u64,
    out: *mut *mut fid_mr,
    context: *mut c_void,
) -> c_int {
    call(|| {
        let what = Registration {
            // SAFETY: as above.
            memory: unsafe { UserMemory::of(list, count) },
            access,
            offset,
            key,
            context,
        };
        // SAFETY: as above.
        unsafe { register(domain, what, out) }
    })
}

unsafe extern "C" fn regattr(
    domain: *mut fid,
    attr: *const fi_mr_attr,
    flags: u64,
    out: *mut *mut fid_mr,
) -> c_int {
    // SAFETY: as above.
    unsafe {
        let a = &*attr;
        regv(
            domain,
            a.mr_iov,
            a.iov_count,
            a.access,
            a.offset,
            a.requested_key,
            flags,
            out,
            a.context,
        )
    }
}

unsafe extern "C" fn close(fid: *mut fid) -> c_int {
    call(|| {
        // SAFETY: made by `register`, closed once.
        let mr = unsafe { Box::from_raw(fid.cast::<Mr>()) };
        mr.domain.close_region(mr.fid.key);
        SUCCESS
    })
}
