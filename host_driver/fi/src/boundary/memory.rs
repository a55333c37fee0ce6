//! Memory that peers may reach. Keys are the program's, offsets begin at 0, and nothing is pinned.

use std::collections::hash_map::Entry;
use std::sync::{Arc, PoisonError};

use super::counter::Cntr;
use super::domain::{Domain, Inner};
use super::*;
use crate::engine::Region;

#[repr(C)]
struct Mr {
    fid: fid_mr,
    domain: Arc<Inner>,
}

static FID: Shared<fi_ops> = Shared(fi_ops {
    bind: Some(bind),
    ..fid_ops(close)
});
pub static OPS: Shared<fi_ops_mr> = Shared(fi_ops_mr {
    size: size_of::<fi_ops_mr>(),
    reg,
    regv,
    regattr,
});

unsafe extern "C" fn reg(
    domain: *mut fid,
    buffer: *const c_void,
    length: usize,
    access: u64,
    offset: u64,
    key: u64,
    flags: u64,
    out: *mut *mut fid_mr,
    context: *mut c_void,
) -> c_int {
    let list = libc::iovec {
        iov_base: buffer.cast_mut(),
        iov_len: length,
    };
    // SAFETY: as libfabric's contract says, of the calls that follow, too; the list is read before the call returns.
    unsafe {
        let list = &raw const list;
        regv(domain, list, 1, access, offset, key, flags, out, context)
    }
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
        // SAFETY: as above: a domain of this provider.
        let inner = unsafe { &(*domain.cast::<Domain>()).inner };
        if offset != 0 {
            return -EINVAL;
        }
        // SAFETY: as above.
        let memory = unsafe { UserMemory::of(list, count) };
        let mut regions = (inner.regions.lock()).unwrap_or_else(PoisonError::into_inner);
        match regions.entry(key) {
            Entry::Occupied(_) => return -ENOKEY,
            Entry::Vacant(place) => place.insert(Region {
                memory,
                reads: access & REMOTE_READ != 0,
                writes: access & REMOTE_WRITE != 0,
            }),
        };
        drop(regions);
        let mr = Mr {
            fid: fid_mr {
                fid: fid {
                    fclass: CLASS_MR,
                    context,
                    ops: &FID.0,
                },
                mem_desc: std::ptr::null_mut(),
                key,
            },
            domain: Arc::clone(inner),
        };
        // SAFETY: the caller gives a place.
        unsafe { out.write(Box::into_raw(Box::new(mr)).cast()) };
        SUCCESS
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

/// Counts what peers do with the memory.
unsafe extern "C" fn bind(of: *mut fid, other: *mut fid, flags: u64) -> c_int {
    call(|| {
        // SAFETY: memory that was registered here, and something to bind to it, whose class says what it is.
        let (mr, count) = unsafe {
            if (*other).fclass != CLASS_CNTR {
                return -ENOSYS;
            }
            (&*of.cast::<Mr>(), &(*other.cast::<Cntr>()).count)
        };
        let mut watchers = (mr.domain.watchers.lock()).unwrap_or_else(PoisonError::into_inner);
        let places = watchers.entry(mr.fid.key).or_default();
        for (place, direction) in places.iter_mut().zip([REMOTE_READ, REMOTE_WRITE]) {
            if flags & direction != 0 {
                *place = Some(Arc::clone(count));
            }
        }
        SUCCESS
    })
}

unsafe extern "C" fn close(fid: *mut fid) -> c_int {
    call(|| {
        // SAFETY: made by `regv`, closed once.
        let mr = unsafe { Box::from_raw(fid.cast::<Mr>()) };
        mr.domain.close_region(mr.fid.key);
        SUCCESS
    })
}
