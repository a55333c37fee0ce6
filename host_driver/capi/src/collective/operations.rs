//! Operations of communicators for C: elements, posting, results.

use std::ffi::{c_int, c_void};
use std::ptr::{null_mut, slice_from_raw_parts_mut};
use std::slice;

use tributary_host_driver::collective::{
    CollectiveError, Communicator, Data, Extremes, Finished, Operation, Outcome, Ticket,
};

use super::Group;
use crate::{NULL, done, fail};

/// Operations, by their numbers.
pub const OPERATIONS: [Operation; 12] = [
    Operation::Sum,
    Operation::SumReproducible,
    Operation::Min,
    Operation::Max,
    Operation::MinMaxLoc,
    Operation::And,
    Operation::Or,
    Operation::Xor,
    Operation::Product,
    Operation::LogicalAnd,
    Operation::LogicalOr,
    Operation::LogicalXor,
];

/// Names of types of elements, by their numbers, and bytes of one.
pub const TYPES: [(&str, usize); 9] = [
    ("F64", 8),
    ("F32", 4),
    ("I64", 8),
    ("U64", 8),
    ("I32", 4),
    ("F64_EXTREMES", 32),
    ("I64_EXTREMES", 32),
    ("BYTES", 1),
    ("U32", 4),
];

/// `tributary_result`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CollectiveResult {
    /// What posting gave.
    pub ticket: u64,
    /// Elements.
    pub payload: *mut c_void,
    /// How many.
    pub count: usize,
    /// Of a failure: the rank that is named.
    pub rank: u32,
    /// Their type.
    pub kind: u8,
    /// What the arithmetic reported.
    pub code: u8,
    /// Of a failure: what that rank did; 0 of a success.
    pub why: u8,
}

/// Elements as the driver has them.
///
/// # Safety
/// There are `count` elements of the type at `data`.
unsafe fn data(kind: u8, data: *const c_void, count: usize) -> Result<Data, String> {
    let Some(&(_, bytes)) = TYPES.get(usize::from(kind)) else {
        return Err(format!("no type {kind}"));
    };
    if count > 0 && data.is_null() {
        return Err(NULL.to_owned());
    }
    let length = count.checked_mul(bytes).ok_or("too many elements")?;
    let all = if length == 0 {
        &[][..]
    } else {
        // SAFETY: the caller has so many bytes there.
        unsafe { slice::from_raw_parts(data.cast::<u8>(), length) }
    };
    let four = || all.as_chunks::<4>().0.iter().copied();
    let eight = || all.as_chunks::<8>().0.iter().copied();
    let word = |bytes: &[u8], at: usize| {
        bytes[8 * at..][..8]
            .try_into()
            .map_or(0, u64::from_ne_bytes)
    };
    Ok(match kind {
        0 => Data::F64(eight().map(f64::from_ne_bytes).collect()),
        1 => Data::F32(four().map(f32::from_ne_bytes).collect()),
        2 => Data::I64(eight().map(i64::from_ne_bytes).collect()),
        3 => Data::U64(eight().map(u64::from_ne_bytes).collect()),
        4 => Data::I32(four().map(i32::from_ne_bytes).collect()),
        5 => {
            let read = |e: &[u8; 32]| Extremes {
                min: f64::from_bits(word(e, 0)),
                min_at: word(e, 1),
                max: f64::from_bits(word(e, 2)),
                max_at: word(e, 3),
            };
            Data::F64Extremes(all.as_chunks::<32>().0.iter().map(read).collect())
        }
        6 => {
            let read = |e: &[u8; 32]| Extremes {
                min: word(e, 0) as i64,
                min_at: word(e, 1),
                max: word(e, 2) as i64,
                max_at: word(e, 3),
            };
            Data::I64Extremes(all.as_chunks::<32>().0.iter().map(read).collect())
        }
        7 => Data::Bytes(all.to_vec()),
        _ => Data::U32(four().map(u32::from_ne_bytes).collect()),
    })
}

/// Type of an outcome and its bytes.
fn bytes(data: &Data) -> (u8, Vec<u8>) {
    match data {
        Data::F64(list) => (0, list.iter().flat_map(|x| x.to_ne_bytes()).collect()),
        Data::F32(list) => (1, list.iter().flat_map(|x| x.to_ne_bytes()).collect()),
        Data::I64(list) => (2, list.iter().flat_map(|x| x.to_ne_bytes()).collect()),
        Data::U64(list) => (3, list.iter().flat_map(|x| x.to_ne_bytes()).collect()),
        Data::I32(list) => (4, list.iter().flat_map(|x| x.to_ne_bytes()).collect()),
        Data::F64Extremes(list) => {
            let words = |e: &Extremes<f64>| [e.min.to_bits(), e.min_at, e.max.to_bits(), e.max_at];
            let words = list.iter().flat_map(words);
            (5, words.flat_map(u64::to_ne_bytes).collect())
        }
        Data::I64Extremes(list) => {
            let words = |e: &Extremes<i64>| [e.min as u64, e.min_at, e.max as u64, e.max_at];
            let words = list.iter().flat_map(words);
            (6, words.flat_map(u64::to_ne_bytes).collect())
        }
        Data::Bytes(list) => (7, list.clone()),
        Data::U32(list) => (8, list.iter().flat_map(|x| x.to_ne_bytes()).collect()),
        // No operation has sums as its outcome.
        Data::Sums(_) => (7, Vec::new()),
    }
}

/// Posts something; the ticket.
///
/// # Safety
/// `communicator` is null or valid and used by nobody else now; `ticket` is null or has room for a number.
unsafe fn post(
    communicator: *mut Group,
    ticket: *mut u64,
    post: impl FnOnce(&mut Communicator) -> Result<Ticket, CollectiveError>,
) -> c_int {
    // SAFETY: as the caller says.
    let Some(group) = (unsafe { communicator.as_mut() }) else {
        return fail(&NULL);
    };
    done(post(&mut group.0), |number| {
        // SAFETY: null, or there is room for a number.
        if let Some(ticket) = unsafe { ticket.as_mut() } {
            *ticket = number.0;
        }
        0
    })
}

fn operation(number: u8) -> Result<Operation, String> {
    let found = OPERATIONS.get(usize::from(number)).copied();
    found.ok_or_else(|| format!("no operation {number}"))
}

/// Which members get the result of a reduction.
#[derive(Clone, Copy)]
enum Whom {
    All,
    One(u32),
    Shares,
}

/// Posts a reduction.
///
/// # Safety
/// As [`post`], and there are `count` elements at `elements`.
unsafe fn post_reduction(
    communicator: *mut Group,
    whom: Whom,
    (number, kind): (u8, u8),
    elements: *const c_void,
    count: usize,
    ticket: *mut u64,
) -> c_int {
    // SAFETY: as the caller says.
    let data = match unsafe { data(kind, elements, count) } {
        Ok(data) => data,
        Err(error) => return fail(&error),
    };
    let operation = match operation(number) {
        Ok(operation) => operation,
        Err(error) => return fail(&error),
    };
    // SAFETY: as the caller says.
    unsafe {
        post(communicator, ticket, |group| match whom {
            Whom::All => group.post_all_reduce(operation, &data),
            Whom::One(root) => group.post_reduce(root as usize, operation, &data),
            Whom::Shares => group.post_reduce_scatter(operation, &data),
        })
    }
}

/// Combines everyone's elements, for everyone.
///
/// # Safety
/// `communicator` is valid and used by nobody else now; there are `count` elements; `ticket` is null or has room for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_post_all_reduce(
    communicator: *mut Group,
    operation: u8,
    kind: u8,
    data: *const c_void,
    count: usize,
    ticket: *mut u64,
) -> c_int {
    let what = (operation, kind);
    // SAFETY: as the header says.
    unsafe { post_reduction(communicator, Whom::All, what, data, count, ticket) }
}

/// The same for one rank.
///
/// # Safety
/// As [`tributary_post_all_reduce`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_post_reduce(
    communicator: *mut Group,
    root: u32,
    operation: u8,
    kind: u8,
    data: *const c_void,
    count: usize,
    ticket: *mut u64,
) -> c_int {
    let what = (operation, kind);
    // SAFETY: as the header says.
    unsafe { post_reduction(communicator, Whom::One(root), what, data, count, ticket) }
}

/// The same, a share for each rank.
///
/// # Safety
/// As [`tributary_post_all_reduce`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_post_reduce_scatter(
    communicator: *mut Group,
    operation: u8,
    kind: u8,
    data: *const c_void,
    count: usize,
    ticket: *mut u64,
) -> c_int {
    let what = (operation, kind);
    // SAFETY: as the header says.
    unsafe { post_reduction(communicator, Whom::Shares, what, data, count, ticket) }
}

/// Gives everyone's elements to everyone.
///
/// # Safety
/// As [`tributary_post_all_reduce`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_post_all_gather(
    communicator: *mut Group,
    kind: u8,
    elements: *const c_void,
    count: usize,
    ticket: *mut u64,
) -> c_int {
    // SAFETY: as the header says.
    match unsafe { data(kind, elements, count) } {
        // SAFETY: as the header says.
        Ok(data) => unsafe { post(communicator, ticket, |group| group.post_all_gather(&data)) },
        Err(error) => fail(&error),
    }
}

/// Gives bytes of one rank to all.
///
/// # Safety
/// As [`tributary_post_all_reduce`], with `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_post_broadcast(
    communicator: *mut Group,
    root: u32,
    bytes: *const c_void,
    length: usize,
    ticket: *mut u64,
) -> c_int {
    // SAFETY: as the header says.
    match unsafe { data(7, bytes, length) } {
        // SAFETY: as the header says.
        Ok(Data::Bytes(own)) => unsafe {
            post(communicator, ticket, |group| {
                group.post_broadcast(root as usize, own)
            })
        },
        Ok(_) => fail(&NULL),
        Err(error) => fail(&error),
    }
}

/// Ends when all have begun it.
///
/// # Safety
/// `communicator` is valid and used by nobody else now; `ticket` is null or has room for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_post_barrier(
    communicator: *mut Group,
    ticket: *mut u64,
) -> c_int {
    // SAFETY: as the header says.
    unsafe { post(communicator, ticket, Communicator::post_barrier) }
}

fn to_c(ticket: Ticket, result: Result<Outcome, CollectiveError>) -> Option<CollectiveResult> {
    let mut out = CollectiveResult {
        ticket: ticket.0,
        payload: null_mut(),
        count: 0,
        rank: 0,
        kind: 0,
        code: 0,
        why: 0,
    };
    match result {
        Ok(outcome) => {
            let (kind, bytes) = bytes(&outcome.data);
            (out.kind, out.code, out.count) = (kind, outcome.code.code(), outcome.data.len());
            // Words, so that C finds its elements aligned.
            let mut words = vec![0u64; bytes.len().div_ceil(8)];
            for (word, chunk) in words.iter_mut().zip(bytes.chunks(8)) {
                let mut whole = [0; 8];
                whole[..chunk.len()].copy_from_slice(chunk);
                *word = u64::from_ne_bytes(whole);
            }
            out.payload = Box::into_raw(words.into_boxed_slice()).cast();
        }
        Err(error) => {
            let CollectiveError::Failed { rank, why, .. } = error else {
                fail(&error);
                return None;
            };
            fail(&error);
            (out.rank, out.why) = (rank as u32, why.code());
        }
    }
    Some(out)
}

/// Works; the oldest operation that has ended.
///
/// # Safety
/// `communicator` is valid and used by nobody else now, and `result` has room for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_communicator_poll(
    communicator: *mut Group,
    result: *mut CollectiveResult,
) -> c_int {
    // SAFETY: null or valid, as the header says.
    let (Some(group), Some(place)) = (unsafe { (communicator.as_mut(), result.as_mut()) }) else {
        return fail(&NULL);
    };
    match group.0.poll() {
        Ok(None) => 0,
        Ok(Some(Finished { ticket, result })) => to_c(ticket, result).map_or(-1, |result| {
            *place = result;
            1
        }),
        Err(error) => fail(&error),
    }
}

/// Waits for an operation.
///
/// # Safety
/// As [`tributary_communicator_poll`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_communicator_wait(
    communicator: *mut Group,
    ticket: u64,
    result: *mut CollectiveResult,
) -> c_int {
    // SAFETY: null or valid, as the header says.
    let (Some(group), Some(place)) = (unsafe { (communicator.as_mut(), result.as_mut()) }) else {
        return fail(&NULL);
    };
    let ended = group.0.wait_for(Ticket(ticket));
    to_c(Ticket(ticket), ended).map_or(-1, |result| {
        *place = result;
        1
    })
}

/// Frees the elements of a result.
///
/// # Safety
/// `result` is null or came from this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_result_free(result: *mut CollectiveResult) {
    // SAFETY: null or valid, as the header says.
    let Some(result) = (unsafe { result.as_mut() }) else {
        return;
    };
    let payload = std::mem::replace(&mut result.payload, null_mut()).cast::<u64>();
    let count = std::mem::take(&mut result.count);
    if !payload.is_null() {
        let element = TYPES.get(usize::from(result.kind)).map_or(1, |t| t.1);
        let words = (count * element).div_ceil(8);
        // SAFETY: a boxed slice of so many words (`to_c`).
        drop(unsafe { Box::from_raw(slice_from_raw_parts_mut(payload, words)) });
    }
}
