//! Address vectors: places of addresses.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::*;
use crate::card::is_possible;
use crate::engine::Address;

/// Bytes of an address.
pub const BYTES: usize = 8;

#[repr(C)]
pub struct Av {
    fid: fid_av,
    pub table: Arc<Table>,
}

/// Addresses by place, and places by address.
#[derive(Default)]
pub struct Table(Mutex<Places>);

#[derive(Default)]
struct Places {
    all: Vec<Option<Address>>,
    of: HashMap<Address, u64>,
}

impl Places {
    /// The place of an address; none for one that no queue pair can have.
    fn insert(&mut self, address: Address) -> Option<u64> {
        if !is_possible(address) {
            return None;
        }
        let place = self.all.len() as u64;
        self.all.push(Some(address));
        self.of.entry(address).or_insert(place);
        Some(place)
    }
}

impl Table {
    /// The place of an address, or of the endpoint that has the name that it stands for.
    fn insert(&self, of: Address) -> Option<u64> {
        let address = name::resolve(of)?;
        self.lock().insert(address)
    }

    fn lock(&self) -> MutexGuard<'_, Places> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn address(&self, place: u64) -> Option<Address> {
        *self.lock().all.get(usize::try_from(place).ok()?)?
    }

    /// Places from the first to the last that have addresses, so many apart.
    pub fn places(&self, first: u64, last: u64, stride: usize) -> Vec<u64> {
        let count = self.lock().all.len() as u64;
        let all = (first..=last.min(count.saturating_sub(1))).step_by(stride.max(1));
        all.filter(|place| self.address(*place).is_some()).collect()
    }

    pub fn place(&self, address: Address) -> u64 {
        self.lock().of.get(&address).copied().unwrap_or(ADDR_UNSPEC)
    }
}

static FID: Shared<fi_ops> = Shared(fid_ops(close));
static OPS: Shared<fi_ops_av> = Shared(fi_ops_av {
    size: size_of::<fi_ops_av>(),
    insert,
    insertsvc,
    insertsym: none,
    remove,
    lookup,
    straddr,
    av_set: super::set::open,
});

pub unsafe extern "C" fn open(
    _: *mut fid_domain,
    _: *mut c_void,
    out: *mut *mut fid_av,
    context: *mut c_void,
) -> c_int {
    call(|| {
        let av = Av {
            fid: fid_av {
                fid: fid {
                    fclass: CLASS_AV,
                    context,
                    ops: &FID.0,
                },
                ops: &OPS.0,
            },
            table: Arc::default(),
        };
        // SAFETY: the caller gives a place.
        unsafe { out.write(Box::into_raw(Box::new(av)).cast()) };
        SUCCESS
    })
}

unsafe extern "C" fn insert(
    av: *mut fid_av,
    addresses: *const c_void,
    count: usize,
    places: *mut u64,
    _: u64,
    _: *mut c_void,
) -> c_int {
    call(|| {
        // SAFETY: an address vector of this provider, so many addresses of eight bytes, and room for as many places or none.
        let (table, addresses) = unsafe {
            let table = &(*av.cast::<Av>()).table;
            let bytes: &[[u8; BYTES]] = std::slice::from_raw_parts(addresses.cast(), count);
            (table, bytes)
        };
        let mut taken = 0;
        for (at, bytes) in addresses.iter().enumerate() {
            let place = table.insert(u64::from_ne_bytes(*bytes));
            taken += c_int::from(place.is_some());
            if !places.is_null() {
                // SAFETY: as above.
                unsafe { places.add(at).write(place.unwrap_or(ADDR_UNSPEC)) };
            }
        }
        taken
    })
}

unsafe extern "C" fn insertsvc(
    av: *mut fid_av,
    node: *const c_char,
    service: *const c_char,
    to: *mut u64,
    _: u64,
    _: *mut c_void,
) -> c_int {
    call(|| {
        // SAFETY: an address vector of this provider, texts of C, and room for a place or none.
        unsafe {
            let table = &(*av.cast::<Av>()).table;
            let address = name::of_service(text(service));
            let address = address.filter(|_| name::is_here(text(node)));
            let place = address.and_then(|address| table.insert(address));
            if !to.is_null() {
                to.write(place.unwrap_or(ADDR_UNSPEC));
            }
            c_int::from(place.is_some())
        }
    })
}

unsafe extern "C" fn remove(av: *mut fid_av, places: *mut u64, count: usize, _: u64) -> c_int {
    call(|| {
        // SAFETY: as for `insert`.
        let (table, places) = unsafe {
            let table = &(*av.cast::<Av>()).table;
            (table, std::slice::from_raw_parts(places, count))
        };
        let mut table = table.lock();
        for place in places {
            let entry = table.all.get_mut(*place as usize).and_then(Option::take);
            let Some(address) = entry else {
                return -EINVAL;
            };
            if table.of.get(&address) == Some(place) {
                table.of.remove(&address);
            }
        }
        SUCCESS
    })
}

unsafe extern "C" fn lookup(
    av: *mut fid_av,
    place: u64,
    to: *mut c_void,
    length: *mut usize,
) -> c_int {
    call(|| {
        // SAFETY: an address vector of this provider.
        let found = unsafe { &(*av.cast::<Av>()).table }.address(place);
        let Some(address) = found else { return -EINVAL };
        // SAFETY: the caller says how much room there is.
        unsafe { put(address, to, length) };
        SUCCESS
    })
}

/// Writes an address, as much of it as there is room for, and how long it is.
///
/// # Safety
/// Room for so many bytes.
pub unsafe fn put(address: Address, to: *mut c_void, length: *mut usize) -> bool {
    let bytes = address.to_ne_bytes();
    // SAFETY: as the caller says.
    unsafe {
        let room = (*length).min(BYTES);
        to.cast::<u8>()
            .copy_from_nonoverlapping(bytes.as_ptr(), room);
        length.write(BYTES);
        room == BYTES
    }
}

unsafe extern "C" fn straddr(
    _: *mut fid_av,
    address: *const c_void,
    to: *mut c_char,
    length: *mut usize,
) -> *const c_char {
    // SAFETY: an address of eight bytes, and so much room.
    unsafe {
        let mut bytes = [0; BYTES];
        bytes
            .as_mut_ptr()
            .copy_from_nonoverlapping(address.cast(), BYTES);
        let address = u64::from_ne_bytes(bytes);
        let text = match name::service(address) {
            Some(service) => format!("tributary://service/{service}\0"),
            None => format!("tributary://{}/{}\0", address >> 32, address as u32),
        };
        let room = (*length).min(text.len());
        if room > 0 {
            to.cast::<u8>()
                .copy_from_nonoverlapping(text.as_ptr(), room);
            to.add(room - 1).write(0);
        }
        length.write(text.len());
    }
    to
}

unsafe extern "C" fn close(fid: *mut fid) -> c_int {
    call(|| {
        // SAFETY: made by `open`, closed once.
        drop(unsafe { Box::from_raw(fid.cast::<Av>()) });
        SUCCESS
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cl_9_addresses_that_no_queue_pair_can_have_get_no_place() {
        let mut places = Places::default();
        assert_eq!(places.insert(3 << 32 | 7), Some(0));
        // Nodes have 20 bits, queue pairs 24.
        assert_eq!(places.insert(1 << 52 | 7), None);
        assert_eq!(places.insert(u64::from(u32::MAX)), None);
        assert_eq!(places.insert(0xF_FFFF << 32 | 9), Some(1));
    }
}
