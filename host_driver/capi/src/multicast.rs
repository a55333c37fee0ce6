//! Block multicast for C.

use std::ffi::{c_int, c_void};
use std::ptr::{null_mut, slice_from_raw_parts_mut};
use std::slice;
use std::time::Duration;

use tributary_host_driver::AddressHandle;
use tributary_host_driver::multicast::{
    Algorithm, ByCards, Carried, Group, GroupOptions, MulticastError, Seat, Verdict, Why,
};

use crate::endpoint::make;
use crate::{Address, Card, Config, NULL, done, fail};

/// The endpoint of a member.
pub struct GroupSeat(Seat);

/// A member of a group.
pub struct GroupMember(Group);

/// `tributary_group_options`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct GroupSettings {
    /// Bytes for messages.
    pub memory: u64,
    /// A silent member is gone, ns.
    pub silence_ns: u64,
    /// The same until the group opens.
    pub join_ns: u64,
    /// Of cards that carry the blocks: a message that does not get on for so long ends the group, ns; 0: never.
    pub watchdog_ns: u64,
    /// Place of the root in the list of members.
    pub root: u32,
    /// Bytes of a block.
    pub block_bytes: u32,
    /// Blocks on their way to a member.
    pub credits: u32,
    /// Higher for a later group of the same seats.
    pub epoch: u32,
    /// Of cards that carry the blocks: most blocks of a message.
    pub most_blocks: u32,
    /// Shape of the schedules: `TRIBUTARY_SEQUENTIAL` and so on.
    pub algorithm: u8,
    /// 1: messages are kept.
    pub resumable: u8,
    /// 1: the cards carry the blocks.
    pub offload: u8,
    /// Of cards that carry the blocks: queue pairs for each peer and direction.
    pub lanes: u8,
}

/// Shapes of schedules, by their numbers.
pub const SHAPES: [Algorithm; 4] = [
    Algorithm::Sequential,
    Algorithm::Chain,
    Algorithm::BinomialTree,
    Algorithm::BinomialPipeline,
];

/// `tributary_group_message`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct GroupMessage {
    /// Its bytes.
    pub payload: *mut u8,
    /// How many.
    pub length: usize,
    /// Its number in the group.
    pub number: u32,
}

/// `tributary_group_verdict`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupVerdict {
    /// Of a success: messages of the group.
    pub messages: u32,
    /// Of a failure: rank of the suspect.
    pub suspect: u32,
    /// 1: every message reached every member.
    pub success: u8,
    /// Of a failure: what the suspect is suspected of.
    pub why: u8,
}

/// Number of a suspicion.
#[must_use]
pub fn why_code(why: Why) -> u8 {
    match why {
        Why::Gone => 1,
        Why::Parameters => 2,
        Why::Length => 3,
        Why::Stuck => 4,
        Why::Ticket => 5,
    }
}

/// Makes a member's endpoint.
///
/// # Safety
/// `card` and `config` are valid, and `seat` has room for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_seat_new(
    card: *const Card,
    config: *const Config,
    seat: *mut *mut GroupSeat,
) -> c_int {
    // SAFETY: as the header says.
    unsafe {
        make(card, config, seat, |domain, config| {
            Seat::new(domain, config).map(GroupSeat)
        })
    }
}

/// Frees a seat that no group was made with.
///
/// # Safety
/// It came from [`tributary_seat_new`] and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_seat_free(seat: *mut GroupSeat) {
    if !seat.is_null() {
        // SAFETY: a box of ours that nobody uses again.
        drop(unsafe { Box::from_raw(seat) });
    }
}

/// How others address a member; all zeros of null.
///
/// # Safety
/// `seat` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_seat_address(seat: *const GroupSeat) -> Address {
    // SAFETY: null or valid, as the header says.
    match unsafe { seat.as_ref() } {
        Some(seat) => seat.0.address().into(),
        None => Address { qp_num: 0, node: 0 },
    }
}

/// Fills in what most want.
///
/// # Safety
/// `options` is null or has room for them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_group_defaults(options: *mut GroupSettings) {
    let (usual, cards) = (GroupOptions::default(), ByCards::default());
    let nanos = |time: Duration| time.as_nanos() as u64;
    let shape = SHAPES.iter().position(|&shape| shape == usual.algorithm);
    if !options.is_null() {
        // SAFETY: there is room for them.
        unsafe {
            options.write(GroupSettings {
                memory: usual.memory as u64,
                silence_ns: nanos(usual.silence),
                join_ns: nanos(usual.join),
                watchdog_ns: nanos(cards.watchdog),
                root: 0,
                block_bytes: usual.block_bytes,
                credits: usual.credits,
                epoch: usual.epoch,
                most_blocks: cards.most_blocks,
                algorithm: shape.unwrap_or(0) as u8,
                resumable: usual.resumable.into(),
                offload: (usual.carried != Carried::ByHosts).into(),
                lanes: cards.lanes,
            });
        }
    }
}

fn create(
    seat: Seat,
    members: &[Address],
    options: &GroupSettings,
) -> Result<Group, Box<dyn std::error::Error>> {
    let members = members.iter().map(|m| AddressHandle::new(m.node, m.qp_num));
    let members = members.collect::<Result<Vec<_>, _>>()?;
    let root = members.get(options.root as usize);
    let root = root.ok_or_else(|| {
        let (root, count) = (options.root, members.len());
        format!("root = {root} is no place in a list of {count} members")
    })?;
    let algorithm = SHAPES.get(usize::from(options.algorithm));
    let algorithm = algorithm.ok_or_else(|| format!("no algorithm {}", options.algorithm))?;
    let carried = match options.offload {
        0 => Carried::ByHosts,
        1 => Carried::ByCards(ByCards {
            most_blocks: options.most_blocks,
            lanes: options.lanes,
            watchdog: Duration::from_nanos(options.watchdog_ns),
        }),
        other => return Err(format!("offload = {other}: 0 or 1").into()),
    };
    let options = GroupOptions {
        root: Some(*root),
        block_bytes: options.block_bytes,
        algorithm: *algorithm,
        racks: Vec::new(),
        carried,
        credits: options.credits,
        memory: usize::try_from(options.memory)?,
        resumable: options.resumable != 0,
        epoch: options.epoch,
        silence: Duration::from_nanos(options.silence_ns),
        join: Duration::from_nanos(options.join_ns),
    };
    Ok(Group::create(seat, &members, options)?)
}

/// Makes a group. The seat is the group's, or gone if there is none.
///
/// # Safety
/// `seat` is valid and not used again; `members` has `count` addresses; `options` is valid, and `group` has room for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_group_create(
    seat: *mut GroupSeat,
    members: *const Address,
    count: u32,
    options: *const GroupSettings,
    group: *mut *mut GroupMember,
) -> c_int {
    if seat.is_null() {
        return fail(&NULL);
    }
    // SAFETY: a box of ours that nobody uses again.
    let seat = unsafe { Box::from_raw(seat) };
    // SAFETY: null or valid, as the header says.
    let Some(options) = (unsafe { options.as_ref() }) else {
        return fail(&NULL);
    };
    if members.is_null() || group.is_null() {
        return fail(&NULL);
    }
    // SAFETY: the caller has so many addresses there.
    let members = unsafe { slice::from_raw_parts(members, count as usize) };
    done(create(seat.0, members, options), |made| {
        // SAFETY: there is room for a handle.
        unsafe { group.write(Box::into_raw(Box::new(GroupMember(made)))) };
        0
    })
}

/// Frees a group; to the others the member is gone, unless the group has ended.
///
/// # Safety
/// It came from [`tributary_group_create`] or [`tributary_group_resume`] and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_group_free(group: *mut GroupMember) {
    if !group.is_null() {
        // SAFETY: a box of ours that nobody uses again.
        drop(unsafe { Box::from_raw(group) });
    }
}

/// Whether all have made the group, and none has failed.
///
/// # Safety
/// `group` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_group_is_open(group: *const GroupMember) -> c_int {
    // SAFETY: null or valid, as the header says.
    match unsafe { group.as_ref() } {
        Some(group) => group.0.is_open().into(),
        None => fail(&NULL),
    }
}

/// The root sends a copy of a message.
///
/// # Safety
/// `group` is valid and used by nobody else now; `message` has `length` bytes; `number` is null or has room for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_group_send(
    group: *mut GroupMember,
    message: *const c_void,
    length: usize,
    number: *mut u32,
) -> c_int {
    // SAFETY: null or valid, as the header says.
    let Some(group) = (unsafe { group.as_mut() }) else {
        return fail(&NULL);
    };
    let bytes = if length == 0 {
        &[]
    } else if message.is_null() {
        return fail(&NULL);
    } else {
        // SAFETY: the caller has so many bytes there.
        unsafe { slice::from_raw_parts(message.cast::<u8>(), length) }
    };
    match group.0.send(bytes) {
        Ok(sent) => {
            if !number.is_null() {
                // SAFETY: there is room for a number.
                unsafe { number.write(sent) };
            }
            0
        }
        Err(error) => {
            let later = matches!(error, MulticastError::NoMemory { bytes, memory }
                if bytes <= memory as u64);
            fail(&error);
            if later { 1 } else { -1 }
        }
    }
}

/// Works, and waits for a message.
///
/// # Safety
/// `group` is valid and used by nobody else now, and `message` has room for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_group_next(
    group: *mut GroupMember,
    timeout_ns: u64,
    message: *mut GroupMessage,
) -> c_int {
    // SAFETY: null or valid, as the header says.
    let (Some(group), false) = (unsafe { group.as_mut() }, message.is_null()) else {
        return fail(&NULL);
    };
    done(
        group.0.next(Duration::from_nanos(timeout_ns)),
        |found| match found {
            None => 0,
            Some(found) => {
                let bytes = found.to_vec().into_boxed_slice();
                let length = bytes.len();
                let to_c = GroupMessage {
                    payload: Box::into_raw(bytes).cast(),
                    length,
                    number: found.number(),
                };
                // SAFETY: there is room for a message.
                unsafe { message.write(to_c) };
                1
            }
        },
    )
}

/// Frees the bytes of a message.
///
/// # Safety
/// `message` is null or came from [`tributary_group_next`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_group_message_free(message: *mut GroupMessage) {
    // SAFETY: null or valid, as the header says.
    let Some(message) = (unsafe { message.as_mut() }) else {
        return;
    };
    let payload = std::mem::replace(&mut message.payload, null_mut());
    let length = std::mem::take(&mut message.length);
    if !payload.is_null() {
        // SAFETY: a boxed slice of this length (`tributary_group_next`).
        drop(unsafe { Box::from_raw(slice_from_raw_parts_mut(payload, length)) });
    }
}

/// Waits for the end.
///
/// # Safety
/// `group` is valid and used by nobody else now; `verdict` has room for one; `watermarks` is null or has room for a number for
/// each member.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_group_close(
    group: *mut GroupMember,
    timeout_ns: u64,
    verdict: *mut GroupVerdict,
    watermarks: *mut i64,
) -> c_int {
    // SAFETY: null or valid, as the header says.
    let (Some(group), false) = (unsafe { group.as_mut() }, verdict.is_null()) else {
        return fail(&NULL);
    };
    let ended = match group.0.close(Duration::from_nanos(timeout_ns)) {
        Ok(ended) => ended,
        Err(MulticastError::TimedOut) => return 0,
        Err(error) => return fail(&error),
    };
    let (of_c, marks) = match ended {
        Verdict::Success { messages } => {
            let all = vec![i64::from(messages); group.0.members().len()];
            let success = GroupVerdict {
                messages,
                suspect: 0,
                success: 1,
                why: 0,
            };
            (success, all)
        }
        Verdict::Failure {
            suspect,
            why,
            watermarks,
        } => {
            let marks = watermarks
                .into_iter()
                .map(|mark| mark.map_or(-1, i64::from));
            let failure = GroupVerdict {
                messages: 0,
                suspect,
                success: 0,
                why: why_code(why),
            };
            (failure, marks.collect())
        }
    };
    // SAFETY: there is room for a verdict.
    unsafe { verdict.write(of_c) };
    if !watermarks.is_null() {
        for (rank, mark) in marks.into_iter().enumerate() {
            // SAFETY: there is room for a number for each member.
            unsafe { watermarks.add(rank).write(mark) };
        }
    }
    1
}

/// A group of those that survived. The old one is gone, whatever comes of it.
///
/// # Safety
/// `group` is valid and not used again, and `resumed` has room for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_group_resume(
    group: *mut GroupMember,
    resumed: *mut *mut GroupMember,
) -> c_int {
    if group.is_null() {
        return fail(&NULL);
    }
    // SAFETY: a box of ours that nobody uses again.
    let group = unsafe { Box::from_raw(group) };
    if resumed.is_null() {
        return fail(&NULL);
    }
    done(group.0.resume(), |made| {
        // SAFETY: there is room for a handle.
        unsafe { resumed.write(Box::into_raw(Box::new(GroupMember(made)))) };
        0
    })
}
