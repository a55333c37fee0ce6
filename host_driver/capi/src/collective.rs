//! Collectives for C: hosts, communicators, and a fabric that reduces.

mod operations;

use std::ffi::{CStr, c_char, c_int};
use std::ptr::null_mut;
use std::slice;
use std::time::Duration;

use tributary_host_driver::AddressHandle;
use tributary_host_driver::collective::{
    Communicator, Counters, Host, HostOptions, Options, Path, SharedTrees,
};
use tributary_sim::card::{Cluster, ClusterTrees};
use tributary_sim::fabric::file;

pub use operations::*;

use crate::endpoint::make;
use crate::{Address, Card, Config, Device, NULL, done, fail};

/// Who makes trees.
pub struct TreeMaker(SharedTrees);

/// A process, as a member of communicators.
pub struct CollectiveHost(Host);

/// A member's communicator.
pub struct Group(Communicator);

/// `tributary_communicator_options`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CommunicatorSettings {
    /// Longest attempt through the engines, ns.
    pub attempt_ns: u64,
    /// Wait for answers of single members, ns.
    pub roll_ns: u64,
    /// A tree that was idle for longer is armed anew, ns.
    pub idle_ns: u64,
    /// Pause before and between questions, ns.
    pub ask_after_ns: u64,
    /// How long calls that wait do so, ns.
    pub patience_ns: u64,
    /// Questions without an answer.
    pub questions: u32,
    /// Values of an operation in the switches at once.
    pub lanes: u8,
    /// Further trees, over which long vectors are spread.
    pub stripes: u8,
    /// Operations on so many bytes or more go in blocks; 0: none.
    pub bulk_from: u32,
}

/// `tributary_collective_counters`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CommunicatorCounters {
    /// Operations through the switches.
    pub in_switches: u64,
    /// Operations by messages.
    pub in_software: u64,
    /// Operations of a member that is alone.
    pub alone: u64,
    /// Values that the root's software completed.
    pub completed_by_root: u64,
    /// Values that needed more than one attempt.
    pub again: u64,
    /// Trees that took the place of another one.
    pub new_trees: u64,
    /// Times that there was no tree.
    pub no_tree: u64,
    /// Long operations in blocks.
    pub in_blocks: u64,
    /// Blocks that were sent as messages.
    pub blocks_by_messages: u64,
}

/// Makes cards on a fabric of models, and a manager that makes trees there.
///
/// # Safety
/// `text` is a string, `devices` has room for `room` handles, `count` for a number, and `trees` is null or has room for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_sim_fabric(
    text: *const c_char,
    seed: u64,
    room: u16,
    devices: *mut *mut Device,
    count: *mut u16,
    trees: *mut *mut TreeMaker,
) -> c_int {
    if text.is_null() || devices.is_null() || count.is_null() {
        return fail(&NULL);
    }
    // SAFETY: a string, as the header says.
    let Ok(text) = (unsafe { CStr::from_ptr(text) }).to_str() else {
        return fail(&"the fabric's text is not UTF-8");
    };
    let made = || {
        let fabric = file::parse(text, "fabric").map_err(|error| error.to_string())?;
        let cards = fabric.endpoints.len();
        if cards > usize::from(room) {
            return Err(format!("{cards} cards, room for {room}"));
        }
        let made = Cluster::managed(fabric, seed).map_err(|error| format!("{error:#}"))?;
        let shared = ClusterTrees::shared(&made.0, &made.1, 0);
        Ok((made.0, shared))
    };
    let made = made();
    done(made, |(cluster, shared)| {
        for (at, device) in cluster.devices().iter().enumerate() {
            let handle = Box::into_raw(Box::new(Device(device.clone())));
            // SAFETY: there is room for as many.
            unsafe { devices.add(at).write(handle) };
        }
        // SAFETY: there is room for a number.
        unsafe { count.write(cluster.devices().len() as u16) };
        if !trees.is_null() {
            let handle = Box::into_raw(Box::new(TreeMaker(shared)));
            // SAFETY: there is room for a handle.
            unsafe { trees.write(handle) };
        }
        0
    })
}

/// Frees who makes trees.
///
/// # Safety
/// It is null, or came from this library and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_trees_free(handle: *mut TreeMaker) {
    if !handle.is_null() {
        // SAFETY: a box of ours that nobody uses again.
        drop(unsafe { Box::from_raw(handle) });
    }
}

/// Frees a host; its communicators keep it.
///
/// # Safety
/// It is null, or came from this library and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_host_free(handle: *mut CollectiveHost) {
    if !handle.is_null() {
        // SAFETY: a box of ours that nobody uses again.
        drop(unsafe { Box::from_raw(handle) });
    }
}

/// Frees a communicator: the member has left.
///
/// # Safety
/// It is null, or came from this library and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_communicator_free(handle: *mut Group) {
    if !handle.is_null() {
        // SAFETY: a box of ours that nobody uses again.
        drop(unsafe { Box::from_raw(handle) });
    }
}

/// Makes a host.
///
/// # Safety
/// `card` and `config` are valid, and `host` has room for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_host_new(
    card: *const Card,
    config: *const Config,
    vni: u16,
    host: *mut *mut CollectiveHost,
) -> c_int {
    // SAFETY: as the header says.
    unsafe {
        make(card, config, host, |domain, endpoint| {
            Host::new(domain, HostOptions { endpoint, vni }).map(CollectiveHost)
        })
    }
}

/// How others address a host; all zeros of null.
///
/// # Safety
/// `host` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_host_address(host: *const CollectiveHost) -> Address {
    // SAFETY: null or valid, as the header says.
    match unsafe { host.as_ref() } {
        Some(host) => host.0.address().into(),
        None => Address { qp_num: 0, node: 0 },
    }
}

/// Fills in what most want.
///
/// # Safety
/// `options` is null or has room for them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_communicator_defaults(options: *mut CommunicatorSettings) {
    let usual = Options::default();
    let nanos = |time: Duration| time.as_nanos() as u64;
    if !options.is_null() {
        // SAFETY: there is room for them.
        unsafe {
            options.write(CommunicatorSettings {
                attempt_ns: nanos(usual.attempt),
                roll_ns: nanos(usual.roll),
                idle_ns: nanos(usual.idle),
                ask_after_ns: nanos(usual.ask_after),
                patience_ns: nanos(usual.patience),
                questions: usual.questions,
                lanes: usual.lanes,
                stripes: usual.stripes,
                bulk_from: usual.bulk_from,
            });
        }
    }
}

/// Makes a communicator.
///
/// # Safety
/// `host` and `options` are valid, `members` has `count` addresses, `trees` is null or valid, `communicator` has room for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_communicator_create(
    host: *const CollectiveHost,
    name: u64,
    members: *const Address,
    count: u32,
    trees: *const TreeMaker,
    options: *const CommunicatorSettings,
    communicator: *mut *mut Group,
) -> c_int {
    // SAFETY: null or valid, as the header says.
    let (host, trees, options) = unsafe { (host.as_ref(), trees.as_ref(), options.as_ref()) };
    let (Some(host), Some(options)) = (host, options) else {
        return fail(&NULL);
    };
    if members.is_null() || communicator.is_null() {
        return fail(&NULL);
    }
    // SAFETY: the caller has so many there.
    let members = unsafe { slice::from_raw_parts(members, count as usize) };
    let members = members.iter().map(|m| AddressHandle::new(m.node, m.qp_num));
    let members = match members.collect::<Result<Vec<_>, _>>() {
        Ok(members) => members,
        Err(error) => return fail(&error),
    };
    let options = Options {
        lanes: options.lanes,
        stripes: options.stripes,
        bulk_from: options.bulk_from,
        attempt: Duration::from_nanos(options.attempt_ns),
        roll: Duration::from_nanos(options.roll_ns),
        idle: Duration::from_nanos(options.idle_ns),
        ask_after: Duration::from_nanos(options.ask_after_ns),
        questions: options.questions,
        patience: Duration::from_nanos(options.patience_ns),
    };
    let trees = trees.map(|trees| trees.0.clone());
    let made = Communicator::create(&host.0, name, &members, trees, options);
    done(made, |made| {
        // SAFETY: there is room for a handle.
        unsafe { communicator.write(Box::into_raw(Box::new(Group(made)))) };
        0
    })
}

/// Own rank, size and way of a communicator.
///
/// # Safety
/// `communicator` is valid; the others are null or have room for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_communicator_query(
    communicator: *const Group,
    rank: *mut u32,
    size: *mut u32,
    path: *mut u8,
) -> c_int {
    // SAFETY: null or valid, as the header says.
    let Some(group) = (unsafe { communicator.as_ref() }) else {
        return fail(&NULL);
    };
    let way = match group.0.path() {
        Path::Unknown => 0,
        Path::Alone => 1,
        Path::Software => 2,
        Path::Switches(_) => 3,
    };
    // SAFETY: null, or there is room for a number.
    unsafe {
        if let Some(rank) = rank.as_mut() {
            *rank = group.0.rank() as u32;
        }
        if let Some(size) = size.as_mut() {
            *size = group.0.size() as u32;
        }
        if let Some(path) = path.as_mut() {
            *path = way;
        }
    }
    0
}

/// Counters of a communicator.
///
/// # Safety
/// `communicator` is valid, and `counters` has room for them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_communicator_counters(
    communicator: *const Group,
    counters: *mut CommunicatorCounters,
) -> c_int {
    // SAFETY: null or valid, as the header says.
    let (Some(group), Some(place)) = (unsafe { (communicator.as_ref(), counters.as_mut()) }) else {
        return fail(&NULL);
    };
    let Counters {
        in_switches,
        in_software,
        alone,
        completed_by_root,
        again,
        new_trees,
        no_tree,
        in_blocks,
        blocks_by_messages,
        ..
    } = group.0.counters();
    *place = CommunicatorCounters {
        in_switches,
        in_software,
        alone,
        completed_by_root,
        again,
        new_trees,
        no_tree,
        in_blocks,
        blocks_by_messages,
    };
    0
}

/// Parts the members by color, and waits for it.
///
/// # Safety
/// `communicator` is valid and used by nobody else now, and `part` has room for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_communicator_split(
    communicator: *mut Group,
    color: u32,
    key: u32,
    part: *mut *mut Group,
) -> c_int {
    // SAFETY: null or valid, as the header says.
    let (Some(group), false) = (unsafe { communicator.as_mut() }, part.is_null()) else {
        return fail(&NULL);
    };
    let color = (color != u32::MAX).then_some(color);
    done(group.0.split(color, key), |made| {
        let handle = made.map_or(null_mut(), |made| Box::into_raw(Box::new(Group(made))));
        // SAFETY: there is room for a handle.
        unsafe { part.write(handle) };
        0
    })
}

/// Ends a communicator together with all others.
///
/// # Safety
/// `communicator` is valid and not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_communicator_close(communicator: *mut Group) -> c_int {
    if communicator.is_null() {
        return fail(&NULL);
    }
    // SAFETY: a box of ours that nobody uses again.
    let group = unsafe { Box::from_raw(communicator) };
    done(group.0.close(), |()| 0)
}
