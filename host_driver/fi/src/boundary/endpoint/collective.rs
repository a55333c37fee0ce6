//! The calls of collective operations. A broadcast is a scatter of which each keeps all, and gathering for one is gathering for all of
//! which one keeps something: in the switches that costs no more.

use tributary_host_driver::collective::{CollectiveError, Communicator, Data, Ticket};

use super::groups::Out;
use super::*;
use crate::boundary::set::Set;
use crate::collective::elements::{Collective, Elements, bytes_of, combined};

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

/// What a program gives in a call.
struct Call {
    group: u64,
    /// Place of the one that gives or gets, if there is one.
    root: Option<u64>,
    /// This member's elements.
    elements: *const c_void,
    count: usize,
    datatype: u32,
    /// Where what comes goes.
    result: *mut c_void,
    flags: u64,
    context: *mut c_void,
}

/// What a call means to this member.
struct Part<'a> {
    ep: &'a Ep,
    call: &'a Call,
    members: usize,
    rank: usize,
    root: Option<usize>,
}

impl<'a> Part<'a> {
    /// # Errors
    /// There is no such group or root.
    fn of(ep: &'a Ep, call: &'a Call) -> Result<Self, c_int> {
        let root = call.root.map(|root| ep.rank_of(call.group, root));
        Ok(Self {
            ep,
            call,
            members: ep.end.members_of(call.group)?,
            rank: ep.end.rank_in(call.group, Some(ep.end.port.own()))?,
            root: root.transpose()?,
        })
    }

    fn is_root(&self) -> bool {
        self.root == Some(self.rank)
    }

    /// Whether this member gets the result.
    fn wants(&self) -> bool {
        self.root.is_none_or(|root| root == self.rank)
    }

    /// This member's elements, of so many bytes.
    ///
    /// # Errors
    /// There is no memory.
    ///
    /// # Safety
    /// They are there, if there is memory.
    unsafe fn elements(&self, bytes: usize) -> Result<&[u8], c_int> {
        if self.call.elements.is_null() {
            return Err(-EINVAL);
        }
        // SAFETY: as the caller says.
        Ok(unsafe { std::slice::from_raw_parts(self.call.elements.cast(), bytes) })
    }

    /// Begins: of what comes, so many bytes behind the first go to the program.
    ///
    /// # Errors
    /// There is no memory for them, or the operation is refused.
    fn begin(
        &self,
        direction: u64,
        (from, bytes): (usize, usize),
        elements: Option<Elements>,
        post: impl FnOnce(&mut Communicator) -> Result<Ticket, CollectiveError>,
    ) -> Result<(), c_int> {
        let (ep, call) = (self.ep, self.call);
        if bytes > 0 && call.result.is_null() {
            return Err(-EINVAL);
        }
        let selective = (ep.end.queues.send.get()).is_some_and(|(_, selective)| *selective);
        let out = Out {
            context: call.context as usize,
            result: (call.result as usize, bytes),
            from,
            told: !selective || (call.flags | ep.tx_flags) & COMPLETION != 0,
            direction,
        };
        ep.end.begin(call.group, out, elements, post)
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
unsafe fn on(
    ep: *mut fid_ep,
    call: &Call,
    act: impl FnOnce(&Part<'_>) -> Result<(), c_int>,
) -> isize {
    size(|| {
        // SAFETY: as the caller says.
        let ep = unsafe { &*ep.cast::<Ep>() };
        let failed = ep.end.port.enter().failed.is_some();
        let part = if failed {
            Err(-EIO)
        } else {
            Part::of(ep, call)
        };
        let done = part.and_then(|part| act(&part));
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
        root: None,
        elements: std::ptr::null(),
        count: 0,
        datatype: 0,
        result: std::ptr::null_mut(),
        flags,
        context,
    };
    // SAFETY: as above.
    unsafe {
        on(ep, &call, |part| {
            part.begin(WRITE, (0, 0), None, |all| all.post_barrier())
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
    let call = Call {
        group,
        root: Some(root),
        elements: buffer,
        count,
        datatype,
        result: buffer,
        flags,
        context,
    };
    // SAFETY: as above.
    unsafe {
        on(ep, &call, |part| {
            let all = length(count, bytes_of(datatype))?;
            let wanted = if part.is_root() { 0 } else { all };
            from_root(part, all, WRITE, (0, wanted))
        })
    }
}

unsafe extern "C" fn scatter(
    ep: *mut fid_ep,
    elements: *const c_void,
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
    let call = Call {
        group,
        root: Some(root),
        elements,
        count,
        datatype,
        result,
        flags,
        context,
    };
    // SAFETY: as above.
    unsafe {
        on(ep, &call, |part| {
            let all = length(count.saturating_mul(part.members), bytes_of(datatype))?;
            let share = all / part.members;
            from_root(part, all, READ, (share * part.rank, share))
        })
    }
}

/// Bytes of one for all, of which this member keeps some.
///
/// # Safety
/// The root's elements are there.
unsafe fn from_root(
    part: &Part<'_>,
    all: usize,
    direction: u64,
    keep: (usize, usize),
) -> Result<(), c_int> {
    let root = part.root.ok_or(-EINVAL)?;
    // Of the others only the length counts, and their memory need not have been written, or be there.
    let data = match part.is_root() {
        // SAFETY: as the caller says.
        true => unsafe { part.elements(all) }?.to_vec(),
        false => vec![0; all],
    };
    part.begin(direction, keep, None, |all| all.post_broadcast(root, data))
}

unsafe extern "C" fn allreduce(
    ep: *mut fid_ep,
    elements: *const c_void,
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
    let call = Call {
        group,
        root: None,
        elements,
        count,
        datatype,
        result,
        flags,
        context,
    };
    // SAFETY: as above.
    unsafe { on(ep, &call, |part| reduced(part, operation)) }
}

unsafe extern "C" fn reduce(
    ep: *mut fid_ep,
    elements: *const c_void,
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
    let call = Call {
        group,
        root: Some(root),
        elements,
        count,
        datatype,
        result,
        flags,
        context,
    };
    // SAFETY: as above.
    unsafe { on(ep, &call, |part| reduced(part, operation)) }
}

/// A reduction, for all or for one.
///
/// # Safety
/// The elements are there, and room for as many at whoever gets the result.
unsafe fn reduced(part: &Part<'_>, operation: u32) -> Result<(), c_int> {
    let combined = combined(part.call.datatype, operation);
    let (elements, op) = combined.ok_or(-EOPNOTSUPP)?;
    let bytes = length(part.call.count, Some(elements.size()))?;
    // SAFETY: as the caller says.
    let own = unsafe { part.elements(bytes) }?;
    let prepared = elements.prepare(op, reproducible(), own);
    let (operation, data) = prepared.ok_or(-EOPNOTSUPP)?;
    let wanted = if part.wants() { bytes } else { 0 };
    part.begin(READ, (0, wanted), Some(elements), |all| match part.root {
        None => all.post_all_reduce(operation, &data),
        Some(root) => all.post_reduce(root, operation, &data),
    })
}

unsafe extern "C" fn allgather(
    ep: *mut fid_ep,
    elements: *const c_void,
    count: usize,
    _: *mut c_void,
    result: *mut c_void,
    _: *mut c_void,
    group: u64,
    datatype: u32,
    flags: u64,
    context: *mut c_void,
) -> isize {
    let call = Call {
        group,
        root: None,
        elements,
        count,
        datatype,
        result,
        flags,
        context,
    };
    // SAFETY: as above.
    unsafe { on(ep, &call, |part| gathered(part)) }
}

unsafe extern "C" fn gather(
    ep: *mut fid_ep,
    elements: *const c_void,
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
    let call = Call {
        group,
        root: Some(root),
        elements,
        count,
        datatype,
        result,
        flags,
        context,
    };
    // SAFETY: as above.
    unsafe { on(ep, &call, |part| gathered(part)) }
}

/// Everyone's elements, for all or for one.
///
/// # Safety
/// As [`reduced`].
unsafe fn gathered(part: &Part<'_>) -> Result<(), c_int> {
    let count = part.call.count.saturating_mul(part.members);
    let all = length(count, bytes_of(part.call.datatype))?;
    // SAFETY: as the caller says.
    let own = unsafe { part.elements(all / part.members) }?;
    let data = Data::Bytes(own.to_vec());
    let wanted = if part.wants() { all } else { 0 };
    part.begin(READ, (0, wanted), None, |all| all.post_all_gather(&data))
}

impl Ep {
    /// Rank of an address of the program in a group.
    fn rank_of(&self, group: u64, place: u64) -> Result<usize, c_int> {
        let table = self.end.queues.table.get();
        let address = table.and_then(|table| table.address(place));
        self.end.rank_in(group, address)
    }
}
