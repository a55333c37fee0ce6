//! The calls of collective operations. A broadcast is a scatter of which each keeps all, and gathering for one is gathering for all of
//! which one keeps something: in the switches that costs no more.

use tributary_host_driver::collective::{Communicator, Data};

use super::groups::Out;
use super::*;
use crate::boundary::set::Set;
use crate::collective::elements::{Collective, Elements, Op as Operation, bytes_of, combined};

/// Most bytes of an operation, at each member.
const MOST: usize = 1 << 20;
/// Most members: peers of an endpoint.
const MEMBERS: usize = 64;

pub static CALLS: Shared<fi_ops_collective> = Shared(fi_ops_collective {
    size: size_of::<fi_ops_collective>(),
    barrier,
    broadcast,
    alltoall: none_size,
    allreduce,
    allgather,
    reduce_scatter: none_size,
    reduce,
    scatter,
    gather,
    msg: none_size,
    barrier2,
});

/// Sums of real numbers have the same bits in any order, if the user wants that.
fn reproducible() -> bool {
    static WANTED: OnceLock<bool> = OnceLock::new();
    *WANTED.get_or_init(|| std::env::var_os("TRIBUTARY_REPRODUCIBLE").is_some_and(|v| v == "1"))
}

pub unsafe extern "C" fn query(
    _: *mut fid_domain,
    what: u32,
    attr: *mut fi_collective_attr,
    flags: u64,
) -> c_int {
    call(|| {
        // SAFETY: libfabric's own structure.
        let Some(attr) = (unsafe { attr.as_mut() }) else {
            return -EINVAL;
        };
        let size = match Collective::of(what) {
            _ if flags != 0 => None,
            Some(Collective::Barrier) => Some(0),
            Some(
                Collective::Broadcast
                | Collective::AllGather
                | Collective::Scatter
                | Collective::Gather,
            ) => bytes_of(attr.datatype),
            Some(Collective::AllReduce | Collective::Reduce) => {
                combined(attr.datatype, attr.op).map(|(elements, _)| elements.size())
            }
            None => None,
        };
        let Some(size) = size else {
            return -EOPNOTSUPP;
        };
        attr.datatype_attr = fi_atomic_attr {
            count: MOST.checked_div(size).unwrap_or(0),
            size,
        };
        (attr.max_members, attr.mode) = (MEMBERS, 0);
        SUCCESS
    })
}

pub unsafe extern "C" fn join(
    ep: *mut fid_ep,
    addr: *const c_void,
    flags: u64,
    out: *mut *mut fid_mc,
    context: *mut c_void,
) -> c_int {
    call(|| {
        if flags & COLLECTIVE == 0 {
            // Groups of multicast.
            return -ENOSYS;
        }
        // SAFETY: an endpoint of this provider, libfabric's own structure, and a set of this provider.
        let (ep, set) = unsafe {
            let addr = &*addr.cast::<fi_collective_addr>();
            (&*ep.cast::<Ep>(), addr.set.cast::<Set>().as_ref())
        };
        let Some(events) = ep.end.queues.events.get() else {
            return -ENOEQ;
        };
        let list = set.zip(ep.end.queues.table.get());
        let Some(list) = list.and_then(|(set, table)| set.list(table)) else {
            return -EINVAL;
        };
        if list.len() > MEMBERS || flags != COLLECTIVE {
            return -EINVAL;
        }
        match ep.end.join(&ep.domain, list, Arc::clone(events), context) {
            Ok(group) => {
                // SAFETY: the caller gives a place.
                unsafe { out.write(group) };
                SUCCESS
            }
            Err(error) => error,
        }
    })
}

/// An operation as every call describes it.
struct Call {
    group: u64,
    /// Elements of this member, and where what comes goes.
    bytes: (*const c_void, usize),
    result: (*mut c_void, usize),
    /// Where its part of what comes begins.
    from: usize,
    flags: u64,
    context: *mut c_void,
    direction: u64,
}

impl Call {
    /// This member's elements.
    ///
    /// # Errors
    /// There is no memory.
    ///
    /// # Safety
    /// They are there, if there is memory.
    unsafe fn elements(&self) -> Result<&[u8], c_int> {
        if self.bytes.0.is_null() {
            return Err(-EINVAL);
        }
        // SAFETY: as the caller says.
        Ok(unsafe { std::slice::from_raw_parts(self.bytes.0.cast(), self.bytes.1) })
    }

    /// What is to be done at its end.
    ///
    /// # Errors
    /// There is no memory for its result.
    fn out(&self, ep: &Ep) -> Result<Out, c_int> {
        if self.result.1 > 0 && self.result.0.is_null() {
            return Err(-EINVAL);
        }
        let selective = (ep.end.queues.send.get()).is_some_and(|(_, selective)| *selective);
        Ok(Out {
            context: self.context as usize,
            result: (self.result.0 as usize, self.result.1),
            from: self.from,
            told: !selective || (self.flags | ep.tx_flags) & COMPLETION != 0,
            direction: self.direction,
        })
    }
}

/// Bytes of so many elements, if an operation may have them.
fn length(count: usize, size: Option<usize>) -> Result<usize, c_int> {
    let size = size.ok_or(-EOPNOTSUPP)?;
    match count.checked_mul(size) {
        Some(0) => Err(-EINVAL),
        Some(bytes) if bytes <= MOST => Ok(bytes),
        _ => Err(-EMSGSIZE),
    }
}

/// Runs a call on an endpoint, which has not failed.
///
/// # Safety
/// An endpoint of this provider.
unsafe fn on(ep: *mut fid_ep, act: impl FnOnce(&Ep) -> Result<(), c_int>) -> isize {
    size(|| {
        // SAFETY: as the caller says.
        let ep = unsafe { &*ep.cast::<Ep>() };
        let failed = ep.end.port.enter().failed.is_some();
        let done = if failed { Err(-EIO) } else { act(ep) };
        done.map_or_else(|error| error as isize, |()| 0)
    })
}

unsafe extern "C" fn barrier(ep: *mut fid_ep, group: u64, context: *mut c_void) -> isize {
    // SAFETY: as libfabric's contract says; of all calls that follow, too.
    unsafe { barrier2(ep, group, 0, context) }
}

unsafe extern "C" fn barrier2(
    ep: *mut fid_ep,
    group: u64,
    flags: u64,
    context: *mut c_void,
) -> isize {
    let call = Call {
        group,
        bytes: (std::ptr::null(), 0),
        result: (std::ptr::null_mut(), 0),
        from: 0,
        flags,
        context,
        direction: WRITE,
    };
    // SAFETY: as above.
    unsafe {
        on(ep, |ep| {
            let post = |all: &mut Communicator| all.post_barrier();
            ep.end.begin(call.group, call.out(ep)?, None, post)
        })
    }
}

unsafe extern "C" fn broadcast(
    ep: *mut fid_ep,
    buffer: *mut c_void,
    count: usize,
    _: *mut c_void,
    group: u64,
    root: u64,
    datatype: u32,
    flags: u64,
    context: *mut c_void,
) -> isize {
    // SAFETY: as above.
    unsafe {
        on(ep, |ep| {
            let bytes = length(count, bytes_of(datatype))?;
            let root = ep.rank_of(group, root)?;
            let own = ep.end.rank_in(group, Some(ep.end.port.own()))? == root;
            let call = Call {
                group,
                bytes: (buffer, bytes),
                result: (buffer, if own { 0 } else { bytes }),
                from: 0,
                flags,
                context,
                direction: WRITE,
            };
            from_root(ep, &call, root, own)
        })
    }
}

unsafe extern "C" fn scatter(
    ep: *mut fid_ep,
    buffer: *const c_void,
    count: usize,
    _: *mut c_void,
    result: *mut c_void,
    _: *mut c_void,
    group: u64,
    root: u64,
    datatype: u32,
    flags: u64,
    context: *mut c_void,
) -> isize {
    // SAFETY: as above.
    unsafe {
        on(ep, |ep| {
            let members = ep.end.members_of(group)?;
            let all = length(count.saturating_mul(members), bytes_of(datatype))?;
            let root = ep.rank_of(group, root)?;
            let own = ep.end.rank_in(group, Some(ep.end.port.own()))?;
            let call = Call {
                group,
                bytes: (buffer, all),
                result: (result, all / members),
                from: all / members * own,
                flags,
                context,
                direction: READ,
            };
            from_root(ep, &call, root, own == root)
        })
    }
}

/// Bytes of one for all.
///
/// # Safety
/// The root's elements are there.
unsafe fn from_root(ep: &Ep, call: &Call, root: usize, is_root: bool) -> Result<(), c_int> {
    // Of the others only the length counts, and their memory need not have been written, or be there.
    let data = match is_root {
        // SAFETY: as the caller says.
        true => unsafe { call.elements() }?.to_vec(),
        false => vec![0; call.bytes.1],
    };
    let post = |all: &mut Communicator| all.post_broadcast(root, data);
    ep.end.begin(call.group, call.out(ep)?, None, post)
}

unsafe extern "C" fn allreduce(
    ep: *mut fid_ep,
    buffer: *const c_void,
    count: usize,
    _: *mut c_void,
    result: *mut c_void,
    _: *mut c_void,
    group: u64,
    datatype: u32,
    operation: u32,
    flags: u64,
    context: *mut c_void,
) -> isize {
    let kind = (datatype, operation);
    // SAFETY: as above.
    unsafe {
        reduced(
            ep,
            (buffer, count),
            result,
            (group, None),
            kind,
            (flags, context),
        )
    }
}

unsafe extern "C" fn reduce(
    ep: *mut fid_ep,
    buffer: *const c_void,
    count: usize,
    _: *mut c_void,
    result: *mut c_void,
    _: *mut c_void,
    group: u64,
    root: u64,
    datatype: u32,
    operation: u32,
    flags: u64,
    context: *mut c_void,
) -> isize {
    let kind = (datatype, operation);
    // SAFETY: as above.
    unsafe {
        reduced(
            ep,
            (buffer, count),
            result,
            (group, Some(root)),
            kind,
            (flags, context),
        )
    }
}

/// A reduction, for all or for one.
///
/// # Safety
/// An endpoint of this provider; the elements are there, and room for as many at whoever gets the result.
unsafe fn reduced(
    ep: *mut fid_ep,
    (buffer, count): (*const c_void, usize),
    result: *mut c_void,
    (group, root): (u64, Option<u64>),
    (datatype, operation): (u32, u32),
    (flags, context): (u64, *mut c_void),
) -> isize {
    // SAFETY: as the caller says.
    unsafe {
        on(ep, |ep| {
            let (elements, op) = combined(datatype, operation).ok_or(-EOPNOTSUPP)?;
            let bytes = length(count, Some(elements.size()))?;
            let root = root.map(|root| ep.rank_of(group, root)).transpose()?;
            let own = ep.end.rank_in(group, Some(ep.end.port.own()))?;
            let wanted = root.is_none_or(|root| root == own);
            let call = Call {
                group,
                bytes: (buffer, bytes),
                result: (result, if wanted { bytes } else { 0 }),
                from: 0,
                flags,
                context,
                direction: READ,
            };
            start(ep, &call, (elements, op), root)
        })
    }
}

/// # Safety
/// As [`reduced`].
unsafe fn start(
    ep: &Ep,
    call: &Call,
    (elements, op): (Elements, Operation),
    root: Option<usize>,
) -> Result<(), c_int> {
    // SAFETY: as the caller says.
    let bytes = unsafe { call.elements() }?;
    let prepared = elements.prepare(op, reproducible(), bytes);
    let (operation, data) = prepared.ok_or(-EOPNOTSUPP)?;
    let post = |all: &mut Communicator| match root {
        None => all.post_all_reduce(operation, &data),
        Some(root) => all.post_reduce(root, operation, &data),
    };
    ep.end
        .begin(call.group, call.out(ep)?, Some(elements), post)
}

unsafe extern "C" fn allgather(
    ep: *mut fid_ep,
    buffer: *const c_void,
    count: usize,
    _: *mut c_void,
    result: *mut c_void,
    _: *mut c_void,
    group: u64,
    datatype: u32,
    flags: u64,
    context: *mut c_void,
) -> isize {
    // SAFETY: as above.
    unsafe {
        gathered(
            ep,
            (buffer, count),
            result,
            (group, None),
            datatype,
            (flags, context),
        )
    }
}

unsafe extern "C" fn gather(
    ep: *mut fid_ep,
    buffer: *const c_void,
    count: usize,
    _: *mut c_void,
    result: *mut c_void,
    _: *mut c_void,
    group: u64,
    root: u64,
    datatype: u32,
    flags: u64,
    context: *mut c_void,
) -> isize {
    let to = (group, Some(root));
    // SAFETY: as above.
    unsafe { gathered(ep, (buffer, count), result, to, datatype, (flags, context)) }
}

/// Everyone's elements, for all or for one.
///
/// # Safety
/// As [`reduced`].
unsafe fn gathered(
    ep: *mut fid_ep,
    (buffer, count): (*const c_void, usize),
    result: *mut c_void,
    (group, root): (u64, Option<u64>),
    datatype: u32,
    (flags, context): (u64, *mut c_void),
) -> isize {
    // SAFETY: as the caller says.
    unsafe {
        on(ep, |ep| {
            let members = ep.end.members_of(group)?;
            let all = length(count.saturating_mul(members), bytes_of(datatype))?;
            let root = root.map(|root| ep.rank_of(group, root)).transpose()?;
            let own = ep.end.rank_in(group, Some(ep.end.port.own()))?;
            let wanted = root.is_none_or(|root| root == own);
            let call = Call {
                group,
                bytes: (buffer, all / members),
                result: (result, if wanted { all } else { 0 }),
                from: 0,
                flags,
                context,
                direction: READ,
            };
            let data = Data::Bytes(call.elements()?.to_vec());
            let post = |all: &mut Communicator| all.post_all_gather(&data);
            ep.end.begin(call.group, call.out(ep)?, None, post)
        })
    }
}

impl Ep {
    /// Rank of an address of the program in a group.
    fn rank_of(&self, group: u64, place: u64) -> Result<usize, c_int> {
        let table = self.end.queues.table.get();
        let address = table.and_then(|table| table.address(place));
        self.end.rank_in(group, address)
    }
}
