//! Non-blocking calls. The program gets a generalized request, which all that waits or tests in the MPI library knows. The library's
//! progress calls `progress` here, in the thread that waits, tests or does something else in MPI: it looks for operations that have
//! ended, gives the program their results, and completes their requests. Open MPI's own non-blocking collectives do the same.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::sync::{Mutex, Once, PoisonError};

use crate::calls::{Call, Out};
use crate::group;
use crate::mpi::{ERR_OTHER, ERR_REQUEST, Handle, Mpi, OpenMpi, SUCCESS};
use crate::provider::Operation;

/// Operations whose requests are not complete.
static UNDER_WAY: Mutex<Vec<Pending>> = Mutex::new(Vec::new());
/// How many: what costs nothing where there are none.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// An operation that is under way.
struct Pending {
    name: &'static str,
    operation: Operation,
    out: Out,
    request: Handle,
    /// What MPI returns for the request; the request frees it.
    code: *const AtomicI32,
}

// SAFETY: it belongs to whoever has taken it out of the list; MPI lets any thread complete a request and write what it is for.
unsafe impl Send for Pending {}

impl Pending {
    /// Works; whether it has ended.
    fn has_ended(&mut self) -> bool {
        let room = self.out.room();
        // SAFETY: the room is there until the request is complete.
        match unsafe { self.operation.test(room) } {
            Ok(false) => false,
            Ok(true) => true,
            Err(error) => {
                eprintln!("tributary: {}: {error}", self.name);
                // SAFETY: the request is not complete.
                unsafe { &*self.code }.store(ERR_OTHER, Ordering::Release);
                true
            }
        }
    }

    /// Gives the program what has come.
    fn complete(mut self, mpi: &Mpi, open: &OpenMpi) {
        // SAFETY: the request is not complete.
        let code = unsafe { &*self.code };
        if code.load(Ordering::Acquire) == SUCCESS {
            // SAFETY: the program's memory is there until the request is complete. Its communicator need not be.
            let given = unsafe { self.out.give(mpi, open.comm_self) };
            code.store(given, Ordering::Release);
        }
        release(mpi, &mut self.out);
        // SAFETY: a request of ours, completed once.
        unsafe { (mpi.grequest_complete)(self.request) };
    }
}

/// Keeps the type of what comes, which the program may free at once.
fn retain(mpi: &Mpi, out: &mut Out) -> Result<(), c_int> {
    if let Out::Packed(_, Some(to)) = out {
        let mut kept = std::ptr::null_mut();
        // SAFETY: a type of the program, and room for a handle.
        match unsafe { (mpi.type_dup)(to.datatype, &raw mut kept) } {
            SUCCESS => to.datatype = kept,
            code => return Err(code),
        }
    }
    Ok(())
}

fn release(mpi: &Mpi, out: &mut Out) {
    if let Out::Packed(_, Some(to)) = out {
        // SAFETY: a copy that `retain` has made. It is of no interest if it stays.
        unsafe { (mpi.type_free)(&raw mut to.datatype) };
    }
}

/// What the status of a request says. What else is in it is as in Open MPI's own.
unsafe extern "C" fn query(code: *mut c_void, _: *mut c_void) -> c_int {
    // SAFETY: what `begin` has given the request.
    unsafe { &*code.cast::<AtomicI32>() }.load(Ordering::Acquire)
}

unsafe extern "C" fn free(code: *mut c_void) -> c_int {
    // SAFETY: as above; the request is complete, and gone.
    drop(unsafe { Box::from_raw(code.cast::<AtomicI32>()) });
    SUCCESS
}

/// MPI forbids it; as in Open MPI's own.
const unsafe extern "C" fn cancel(_: *mut c_void, _: c_int) -> c_int {
    ERR_REQUEST
}

/// What Open MPI calls while it waits or tests; how much has happened.
unsafe extern "C" fn progress() -> c_int {
    if COUNT.load(Ordering::Acquire) == 0 {
        return 0;
    }
    // Another thread that is here does the same.
    let Ok(mut under_way) = UNDER_WAY.try_lock() else {
        return 0;
    };
    let ended: Vec<Pending> = under_way.extract_if(.., Pending::has_ended).collect();
    COUNT.store(under_way.len(), Ordering::Release);
    drop(under_way);
    let events = ended.len();
    let mpi = Mpi::get();
    if let Some(open) = &mpi.open {
        ended.into_iter().for_each(|one| one.complete(mpi, open));
    }
    c_int::try_from(events).unwrap_or(c_int::MAX)
}

/// Begins a call. What MPI returns; nothing if the communicator has no group so far: to make one is to wait for others, which such a
/// call must not.
///
/// # Safety
/// The communicator is the program's, the memory is there until the request is complete, and there is room for the request.
pub unsafe fn begin(mpi: &Mpi, mut call: Call, request: *mut Handle) -> Option<c_int> {
    let open = mpi.open.as_ref()?;
    let register = open.progress_register?;
    // SAFETY: as the caller says.
    let group = match unsafe { group::existing(mpi, call.comm) } {
        Ok(group) => group?,
        Err(code) => return Some(code),
    };
    static REGISTERED: Once = Once::new();
    // SAFETY: a function that stays.
    REGISTERED.call_once(|| unsafe {
        register(progress);
    });
    if let Err(code) = retain(mpi, &mut call.out) {
        return Some(code);
    }
    let code = Box::into_raw(Box::new(AtomicI32::new(SUCCESS)));
    // SAFETY: functions of these types, what they are given, and room for a handle.
    let started = unsafe { (mpi.grequest_start)(query, free, cancel, code.cast(), request) };
    if started != SUCCESS {
        release(mpi, &mut call.out);
        return Some(started);
    }
    // SAFETY: as the caller says.
    let operation = match unsafe { group.start(&call.request) } {
        Ok(operation) => operation,
        Err(error) => {
            release(mpi, &mut call.out);
            // SAFETY: a request of ours, which the program does not get.
            unsafe {
                (mpi.grequest_complete)(request.read());
                (mpi.request_free)(request);
            }
            // SAFETY: as the caller says.
            return Some(unsafe { call.fail(mpi, &error) });
        }
    };
    let mut under_way = UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner);
    under_way.push(Pending {
        name: call.name,
        operation,
        out: call.out,
        // SAFETY: MPI has written it.
        request: unsafe { request.read() },
        code,
    });
    COUNT.store(under_way.len(), Ordering::Release);
    Some(SUCCESS)
}
