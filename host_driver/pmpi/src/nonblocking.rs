//! Non-blocking calls. The program gets a generalized request, which all that waits or tests in the MPI library knows. Open MPI's
//! progress calls `progress` here, in the thread that waits, tests or does something else in MPI; MPICH does, by `poll`, when it waits
//! for such a request or tests it. It looks for operations that have ended, gives the program their results, and completes their
//! requests. Non-blocking collectives of these libraries do the same.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use std::sync::{Mutex, Once, PoisonError};

use crate::calls::{Call, Out};
use crate::group;
use crate::mpi::{Handle, Known, Mpi, Requests, SUCCESS};
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
    /// The request frees it.
    state: *const State,
}

/// What a request knows of its operation.
struct State {
    /// What MPI returns for it.
    code: AtomicI32,
    ended: AtomicBool,
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
                let state = unsafe { &*self.state };
                let code = Mpi::get().err_other();
                state.code.store(code, Ordering::Release);
                true
            }
        }
    }

    /// Gives the program what has come.
    fn complete(mut self, mpi: &Mpi, known: &Known) {
        // SAFETY: the request is not complete.
        let state = unsafe { &*self.state };
        if state.code.load(Ordering::Acquire) == SUCCESS {
            // SAFETY: the program's memory is there until the request is complete. Its communicator need not be.
            let given = unsafe { self.out.give(mpi, known.comm_self) };
            state.code.store(given, Ordering::Release);
        }
        release(mpi, &mut self.out);
        state.ended.store(true, Ordering::Release);
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

/// What the status of a request says: nothing has come that could be counted.
unsafe extern "C" fn query(state: *mut c_void, status: *mut c_void) -> c_int {
    let mpi = Mpi::get();
    if let Some(known) = mpi.known.as_ref().filter(|known| known.numbers) {
        // What is there otherwise is of whatever had the request before. Open MPI fills it itself.
        // SAFETY: MPI gives a status.
        unsafe {
            (mpi.status_set_elements)(status, known.int32, 0);
            (mpi.status_set_cancelled)(status, 0);
        }
    }
    // SAFETY: what `begin` has given the request.
    let state = unsafe { &*state.cast::<State>() };
    state.code.load(Ordering::Acquire)
}

/// MPICH asks whether a request has ended, in the thread that waits for it or tests it.
unsafe extern "C" fn poll(state: *mut c_void, _: *mut c_void) -> c_int {
    // SAFETY: what `begin` has given the request.
    let state = unsafe { &*state.cast::<State>() };
    // SAFETY: takes and returns nothing.
    unsafe { progress() };
    if !state.ended.load(Ordering::Acquire) {
        // It only asks: what others wait for must go on meanwhile.
        Mpi::get().progress();
    }
    SUCCESS
}

/// MPICH waits for several of these.
unsafe extern "C" fn wait(
    count: c_int,
    states: *mut *mut c_void,
    _: f64,
    status: *mut c_void,
) -> c_int {
    for at in 0..usize::try_from(count).unwrap_or(0) {
        // SAFETY: so many of what `begin` has given requests.
        let state = unsafe { states.add(at).read() };
        // SAFETY: as above.
        while !unsafe { &*state.cast::<State>() }
            .ended
            .load(Ordering::Acquire)
        {
            // SAFETY: as above.
            unsafe { poll(state, status) };
        }
    }
    SUCCESS
}

unsafe extern "C" fn free(state: *mut c_void) -> c_int {
    // SAFETY: as above; the request is complete, and gone.
    drop(unsafe { Box::from_raw(state.cast::<State>()) });
    SUCCESS
}

/// MPI forbids it; as in Open MPI's own.
unsafe extern "C" fn cancel(_: *mut c_void, _: c_int) -> c_int {
    let known = Mpi::get().known.as_ref();
    known.map_or(SUCCESS, |known| known.err_request)
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
    if let Some(known) = &mpi.known {
        ended.into_iter().for_each(|one| one.complete(mpi, known));
    }
    c_int::try_from(events).unwrap_or(c_int::MAX)
}

/// Begins a call. What MPI returns; nothing if the communicator has no group so far: to make one is to wait for others, which such a
/// call must not.
///
/// # Safety
/// The communicator is the program's, the memory is there until the request is complete, and there is room for the request.
pub unsafe fn begin(mpi: &Mpi, mut call: Call, request: *mut Handle) -> Option<c_int> {
    let known = mpi.known.as_ref()?;
    let requests = known.requests?;
    // SAFETY: as the caller says.
    let group = match unsafe { group::existing(mpi, call.comm) } {
        Ok(group) => group?,
        Err(code) => return Some(code),
    };
    if let Err(code) = retain(mpi, &mut call.out) {
        return Some(code);
    }
    let state = Box::into_raw(Box::new(State {
        code: AtomicI32::new(SUCCESS),
        ended: AtomicBool::new(false),
    }));
    // SAFETY: functions of these types, what they are given, and room for a handle.
    let started = unsafe {
        match requests {
            Requests::Registered(register) => {
                static REGISTERED: Once = Once::new();
                REGISTERED.call_once(|| {
                    register(progress);
                });
                (mpi.grequest_start)(query, free, cancel, state.cast(), request)
            }
            Requests::Polled(start) => {
                start(query, free, cancel, poll, wait, state.cast(), request)
            }
        }
    };
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
                (mpi.grequest_complete)(known.handle_at(request));
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
        request: unsafe { known.handle_at(request) },
        state,
    });
    COUNT.store(under_way.len(), Ordering::Release);
    Some(SUCCESS)
}
