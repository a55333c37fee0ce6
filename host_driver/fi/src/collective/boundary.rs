//! The C functions, which `libtributary_pmpi.so` finds by name. Each returns -1 if it fails; `tributary_coll_error` says why.

use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tributary_host_driver::AddressHandle;
use tributary_host_driver::collective::Path;
use tributary_host_driver::collective::remote::RemoteTrees;

use super::elements::{Elements, Op};
use super::{Collectives, Member, Pending, Totals};
use crate::boundary::{folder, of_process};
use crate::card::{address, handle};

/// What an operation is, for [`tributary_coll_start`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Elements; of a broadcast, bytes.
    pub data: *const c_void,
    /// How many.
    pub count: usize,
    /// Of a reduction for one rank, and of a broadcast: which.
    pub root: u32,
    /// 0 barrier, 1 broadcast, 2 reduction for all, 3 reduction for one.
    pub what: u8,
    /// Of a reduction: number in [`Op::ALL`].
    pub op: u8,
    /// 0 real, 1 signed, 2 unsigned; 3 and 4 a real or signed number with its place.
    pub class: u8,
    /// Bytes of an element.
    pub size: u8,
    /// Sums of real numbers are reproducible.
    pub reproducible: u8,
}

/// Layout of [`Request`] and meaning of the functions: both libraries must have the same.
pub const VERSION: u32 = 3;

/// A member, as C holds it.
pub type Handle = Arc<Member>;

static PROCESS: Mutex<Option<Collectives>> = Mutex::new(None);

thread_local! {
    static ERROR: RefCell<CString> = RefCell::default();
}

fn process() -> MutexGuard<'static, Option<Collectives>> {
    PROCESS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn fail(error: impl std::fmt::Display) -> c_int {
    let text = error.to_string().replace('\0', " ");
    ERROR.with_borrow_mut(|place| *place = CString::new(text).unwrap_or_default());
    -1
}

fn call(act: impl FnOnce() -> c_int) -> c_int {
    catch_unwind(AssertUnwindSafe(act)).unwrap_or_else(|_| fail("the library has failed"))
}

/// Why the latest call of this thread failed.
#[unsafe(no_mangle)]
pub extern "C" fn tributary_coll_error() -> *const c_char {
    ERROR.with_borrow(|text| text.as_ptr())
}

/// Makes this process a host, if it is none yet, on the card of the provider. `version` is [`VERSION`].
///
/// # Safety
/// There is room for an address.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_coll_open(version: u32, place: *mut u64) -> c_int {
    call(|| {
        if version != VERSION {
            return fail(format!(
                "the library before MPI has version {version}, the provider {VERSION}: they are of different builds"
            ));
        }
        let mut process = process();
        if process.is_none() {
            let (Some(card), Some(folder)) = (of_process(), folder()) else {
                return fail("this process has no card: the provider is not in use");
            };
            let trees = match RemoteTrees::connect(&folder) {
                Ok(trees) => Some(trees),
                Err(error) => return fail(error),
            };
            match Collectives::new(card.card.domain(), trees, card.clone(), || ()) {
                Ok(made) => *process = Some(made),
                Err(error) => return fail(error),
            }
        }
        let Some(made) = &*process else { return -1 };
        // SAFETY: as the caller says.
        unsafe { place.write(address(made.address())) };
        0
    })
}

/// Makes a group of the processes at these addresses; their order gives the ranks.
///
/// # Safety
/// `count` addresses, and room for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_coll_create(
    name: u64,
    members: *const u64,
    count: usize,
    group: *mut *mut Handle,
) -> c_int {
    call(|| {
        let process = process();
        let Some(made) = &*process else {
            return fail("tributary_coll_open has not been called");
        };
        // SAFETY: as the caller says.
        let members = unsafe { slice::from_raw_parts(members, count) };
        let members: Option<Vec<AddressHandle>> = members.iter().map(|at| handle(*at)).collect();
        let Some(members) = members else {
            return fail("an address that no process can have");
        };
        match made.create(name, &members) {
            Ok(member) => {
                // SAFETY: as the caller says.
                unsafe { group.write(Box::into_raw(Box::new(member))) };
                0
            }
            Err(error) => fail(error),
        }
    })
}

/// How operations of a group are done: 0 not known yet, 1 alone, 2 by messages, 3 through the switches.
///
/// # Safety
/// A group of this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_coll_path(group: *const Handle) -> c_int {
    call(|| {
        // SAFETY: as the caller says.
        match unsafe { &*group }.path() {
            Ok(Path::Unknown) => 0,
            Ok(Path::Alone) => 1,
            Ok(Path::Software) => 2,
            Ok(Path::Switches(_)) => 3,
            Err(error) => fail(error),
        }
    })
}

/// Begins an operation, which copies its elements; it outlives the group's handle.
///
/// # Safety
/// A group of this library; the elements are there, and room for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_coll_start(
    group: *const Handle,
    request: *const Request,
    operation: *mut *mut Pending,
) -> c_int {
    call(|| {
        // SAFETY: as the caller says.
        let (group, request) = unsafe { (&*group, &*request) };
        let elements = Elements::from_code(request.class, request.size, request.op);
        let length = elements.map_or(1, Elements::size) * request.count;
        let bytes = if request.data.is_null() || length == 0 {
            &[][..]
        } else {
            // SAFETY: as the caller says.
            unsafe { slice::from_raw_parts(request.data.cast::<u8>(), length) }
        };
        let root = request.root as usize;
        let started = match request.what {
            0 => group.start(None, |all| all.post_barrier()),
            1 => {
                let bytes = bytes.to_vec();
                group.start(None, |all| all.post_broadcast(root, bytes))
            }
            2 | 3 => {
                let op = Op::ALL.get(usize::from(request.op));
                let prepared = elements.zip(op).and_then(|(elements, op)| {
                    elements.prepare(*op, request.reproducible != 0, bytes)
                });
                let Some((op, data)) = prepared else {
                    return fail("an operation that is not for such elements");
                };
                group.start(elements, |all| match request.what {
                    2 => all.post_all_reduce(op, &data),
                    _ => all.post_reduce(root, op, &data),
                })
            }
            _ => return fail("no such operation"),
        };
        match started {
            Ok(started) => {
                // SAFETY: as the caller says.
                unsafe { operation.write(Box::into_raw(Box::new(started))) };
                0
            }
            Err(error) => fail(error),
        }
    })
}

/// Works; 0 while the operation is under way. 1 when it has ended, with its result in `out` as far as this process gets one; then,
/// and if it fails, the operation is gone.
///
/// # Safety
/// An operation of this library; so many bytes of room.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_coll_test(
    operation: *mut Pending,
    out: *mut c_void,
    room: usize,
) -> c_int {
    call(|| {
        // SAFETY: as the caller says.
        let tested = unsafe { &*operation }.test();
        if !matches!(tested, Ok(None)) {
            // SAFETY: as the caller says: it is not used again.
            drop(unsafe { Box::from_raw(operation) });
        }
        let bytes = match tested {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return 0,
            Err(error) => return fail(error),
        };
        if bytes.len() > room {
            return fail(format!("{} bytes have come, room for {room}", bytes.len()));
        }
        if !bytes.is_empty() {
            // SAFETY: as the caller says.
            unsafe {
                out.cast::<u8>()
                    .copy_from_nonoverlapping(bytes.as_ptr(), bytes.len())
            };
        }
        1
    })
}

/// Begins to close a group, as all its members do; it waits for nobody.
///
/// # Safety
/// A group of this library, which is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_coll_free(group: *mut Handle) {
    call(|| {
        // SAFETY: as the caller says.
        let group = unsafe { Box::from_raw(group) };
        if let Some(made) = &*process() {
            made.close(&group);
        }
        0
    });
}

/// Closes all groups, waiting for their members for a bounded time, and says what they have done: operations in switches, by messages,
/// values completed by this process as the root, values after another attempt.
///
/// # Safety
/// Room for four numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_coll_end(totals: *mut u64) -> c_int {
    call(|| {
        let made = process().take();
        let Totals {
            in_switches,
            by_messages,
            completed_by_root,
            again,
        } = made.map(Collectives::end).unwrap_or_default();
        for (at, value) in [in_switches, by_messages, completed_by_root, again]
            .into_iter()
            .enumerate()
        {
            // SAFETY: as the caller says.
            unsafe { totals.add(at).write(value) };
        }
        0
    })
}
