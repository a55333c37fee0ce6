//! Sets of addresses: members of groups that are to be joined, in the order of their ranks.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::address::{Av, Table};
use super::*;
use crate::engine::Address;

#[repr(C)]
pub struct Set {
    fid: fid_av_set,
    table: Arc<Table>,
    /// Places in the table.
    members: Mutex<Vec<u64>>,
}

/// What fi_av_set_addr says of every set: it is good for joining alone.
pub const ADDRESS: u64 = 1 << 62;

static FID: Shared<fi_ops> = Shared(fid_ops(close));
static OPS: Shared<fi_ops_av_set> = Shared(fi_ops_av_set {
    size: size_of::<fi_ops_av_set>(),
    set_union,
    intersect,
    diff,
    insert,
    remove,
    addr,
});

impl Set {
    /// # Safety
    /// A set of this provider.
    unsafe fn of<'a>(set: *const fid_av_set) -> &'a Self {
        // SAFETY: as the caller says.
        unsafe { &*set.cast::<Self>() }
    }

    fn members(&self) -> MutexGuard<'_, Vec<u64>> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Addresses of the members; nothing if one has been taken out of the vector, or the vector is another one.
    pub fn list(&self, table: &Arc<Table>) -> Option<Vec<Address>> {
        if !Arc::ptr_eq(&self.table, table) {
            return None;
        }
        let members = self.members();
        members.iter().map(|place| table.address(*place)).collect()
    }
}

pub unsafe extern "C" fn open(
    av: *mut fid_av,
    attr: *const fi_av_set_attr,
    out: *mut *mut fid_av_set,
    context: *mut c_void,
) -> c_int {
    call(|| {
        // SAFETY: an address vector of this provider, and libfabric's own structure.
        let (table, attr) = unsafe { (&(*av.cast::<Av>()).table, attr.as_ref()) };
        let Some(attr) = attr else { return -EINVAL };
        if attr.comm_key_size != 0 {
            // Nobody but members makes groups here.
            return -ENOSYS;
        }
        let stride = usize::try_from(attr.stride).unwrap_or(usize::MAX);
        let members = match (attr.start_addr, attr.end_addr) {
            _ if attr.flags & UNIVERSE != 0 => table.places(0, u64::MAX, 1),
            (ADDR_UNSPEC, _) | (_, ADDR_UNSPEC) => Vec::new(),
            (first, last) => table.places(first, last, stride),
        };
        let set = Set {
            fid: fid_av_set {
                fid: fid {
                    fclass: CLASS_AV_SET,
                    context,
                    ops: &FID.0,
                },
                ops: &OPS.0,
            },
            table: Arc::clone(table),
            members: Mutex::new(members),
        };
        // SAFETY: the caller gives a place.
        unsafe { out.write(Box::into_raw(Box::new(set)).cast()) };
        SUCCESS
    })
}

/// Changes a set by another one of the same vector.
///
/// # Safety
/// Sets of this provider.
unsafe fn change(
    to: *mut fid_av_set,
    by: *const fid_av_set,
    act: impl FnOnce(&mut Vec<u64>, &[u64]),
) -> c_int {
    call(|| {
        // SAFETY: as the caller says.
        let (to, by) = unsafe { (Set::of(to), Set::of(by)) };
        if !Arc::ptr_eq(&to.table, &by.table) {
            return -EINVAL;
        }
        // It may be the same set.
        let by = by.members().clone();
        act(&mut to.members(), &by);
        SUCCESS
    })
}

unsafe extern "C" fn set_union(to: *mut fid_av_set, by: *const fid_av_set) -> c_int {
    // SAFETY: as libfabric's contract says; of all calls that follow, too.
    unsafe {
        change(to, by, |members, by| {
            let new = by.iter().filter(|place| !members.contains(place));
            let new: Vec<u64> = new.copied().collect();
            members.extend(new);
        })
    }
}

unsafe extern "C" fn intersect(to: *mut fid_av_set, by: *const fid_av_set) -> c_int {
    // SAFETY: as above.
    unsafe { change(to, by, |members, by| members.retain(|p| by.contains(p))) }
}

unsafe extern "C" fn diff(to: *mut fid_av_set, by: *const fid_av_set) -> c_int {
    // SAFETY: as above.
    unsafe { change(to, by, |members, by| members.retain(|p| !by.contains(p))) }
}

unsafe extern "C" fn insert(set: *mut fid_av_set, place: u64) -> c_int {
    call(|| {
        // SAFETY: as above.
        let set = unsafe { Set::of(set) };
        let mut members = set.members();
        if set.table.address(place).is_none() || members.contains(&place) {
            return -EINVAL;
        }
        members.push(place);
        SUCCESS
    })
}

unsafe extern "C" fn remove(set: *mut fid_av_set, place: u64) -> c_int {
    call(|| {
        // SAFETY: as above.
        let mut members = unsafe { Set::of(set) }.members();
        let before = members.len();
        members.retain(|member| *member != place);
        if members.len() < before {
            SUCCESS
        } else {
            -EINVAL
        }
    })
}

unsafe extern "C" fn addr(_: *mut fid_av_set, to: *mut u64) -> c_int {
    // SAFETY: the caller gives a place.
    unsafe { to.write(ADDRESS) };
    SUCCESS
}

unsafe extern "C" fn close(fid: *mut fid) -> c_int {
    call(|| {
        // SAFETY: made by `open`, closed once.
        drop(unsafe { Box::from_raw(fid.cast::<Set>()) });
        SUCCESS
    })
}
