//! The calls that read and write memory of peers, by buffer, by list and by description.

use super::target::Target;
use super::*;
use crate::engine::Memory;

pub static RMA: Shared<fi_ops_rma> = Shared(fi_ops_rma {
    size: size_of::<fi_ops_rma>(),
    read,
    readv,
    readmsg,
    write,
    writev,
    writemsg,
    inject,
    writedata,
    injectdata,
});

/// A read or a write.
struct Transfer {
    memory: UserMemory,
    target: Target,
}

impl Ep {
    fn read(&self, transfer: Transfer) -> isize {
        self.reach(transfer.target, |core, place, op| {
            core.engine.read(place, transfer.memory, op)
        })
    }

    fn write(&self, transfer: Transfer, data: Option<u64>) -> isize {
        let inject = transfer
            .target
            .flags
            .is_none_or(|flags| flags & INJECT != 0);
        if inject && transfer.memory.length() > EAGER {
            return -(EMSGSIZE as isize);
        }
        self.reach(transfer.target, |core, place, op| {
            core.engine.write(place, transfer.memory, data, op)
        })
    }
}

/// # Safety
/// An endpoint of this provider.
unsafe fn of<'a>(ep: *mut fid_ep) -> &'a Ep {
    // SAFETY: as the caller says.
    unsafe { &*ep.cast::<Ep>() }
}

unsafe extern "C" fn read(
    ep: *mut fid_ep,
    buffer: *mut c_void,
    length: usize,
    _: *mut c_void,
    from: u64,
    offset: u64,
    key: u64,
    context: *mut c_void,
) -> isize {
    // SAFETY: as libfabric's contract says; of all calls that follow, too.
    let ep = unsafe { of(ep) };
    size(|| {
        ep.read(Transfer {
            memory: UserMemory::new(buffer, length),
            target: Target {
                peer: (from, offset, key),
                context,
                flags: Some(ep.tx_flags),
            },
        })
    })
}

/// A list as a transfer.
///
/// # Safety
/// So many entries at the list.
unsafe fn listed(
    ep: &Ep,
    (list, count): (*const libc::iovec, usize),
    peer: (u64, u64, u64),
    context: *mut c_void,
) -> Transfer {
    Transfer {
        // SAFETY: as the caller says.
        memory: unsafe { UserMemory::of(list, count) },
        target: Target {
            peer,
            context,
            flags: Some(ep.tx_flags),
        },
    }
}

unsafe extern "C" fn readv(
    ep: *mut fid_ep,
    list: *const libc::iovec,
    _: *mut *mut c_void,
    count: usize,
    from: u64,
    offset: u64,
    key: u64,
    context: *mut c_void,
) -> isize {
    // SAFETY: as above.
    let ep = unsafe { of(ep) };
    // SAFETY: as above.
    size(|| ep.read(unsafe { listed(ep, (list, count), (from, offset, key), context) }))
}

/// A description as what it says; nothing where it is not one piece of the peer's memory of the same length.
///
/// # Safety
/// A description of libfabric.
unsafe fn described(message: *const fi_msg_rma, flags: u64) -> Option<Transfer> {
    // SAFETY: as the caller says.
    unsafe {
        let m = &*message;
        let memory = UserMemory::of(m.msg_iov, m.iov_count);
        let place = m.rma_iov.as_ref().filter(|_| m.rma_iov_count == 1)?;
        (place.len == memory.length()).then_some(Transfer {
            memory,
            target: Target {
                peer: (m.addr, place.addr, place.key),
                context: m.context,
                flags: Some(flags),
            },
        })
    }
}

unsafe extern "C" fn readmsg(ep: *mut fid_ep, message: *const fi_msg_rma, flags: u64) -> isize {
    // SAFETY: as above.
    let (ep, transfer) = unsafe { (of(ep), described(message, flags)) };
    size(|| transfer.map_or(-(EINVAL as isize), |transfer| ep.read(transfer)))
}

unsafe extern "C" fn writemsg(ep: *mut fid_ep, message: *const fi_msg_rma, flags: u64) -> isize {
    // SAFETY: as above.
    let (ep, transfer, data) = unsafe { (of(ep), described(message, flags), (*message).data) };
    let data = (flags & REMOTE_CQ_DATA != 0).then_some(data);
    size(|| transfer.map_or(-(EINVAL as isize), |transfer| ep.write(transfer, data)))
}

unsafe extern "C" fn writev(
    ep: *mut fid_ep,
    list: *const libc::iovec,
    _: *mut *mut c_void,
    count: usize,
    to: u64,
    offset: u64,
    key: u64,
    context: *mut c_void,
) -> isize {
    // SAFETY: as above.
    let ep = unsafe { of(ep) };
    // SAFETY: as above.
    let transfer = || unsafe { listed(ep, (list, count), (to, offset, key), context) };
    size(|| ep.write(transfer(), None))
}

/// Writes whose arguments stand in the call.
macro_rules! writes {
    ($($name:ident($($front:ident: $front_type:ty),*)($($behind:ident: $behind_type:ty),*) data $data:expr, context $context:expr, flags $flags:expr;)+) => {
        $(
            unsafe extern "C" fn $name(
                ep: *mut fid_ep,
                buffer: *const c_void,
                length: usize,
                $($front: $front_type,)*
                to: u64,
                offset: u64,
                key: u64,
                $($behind: $behind_type),*
            ) -> isize {
                // SAFETY: as above.
                let ep = unsafe { of(ep) };
                let flags: fn(&Ep) -> Option<u64> = $flags;
                size(|| {
                    let transfer = Transfer {
                        memory: UserMemory::new(buffer.cast_mut(), length),
                        target: Target {
                            peer: (to, offset, key),
                            context: $context,
                            flags: flags(ep),
                        },
                    };
                    ep.write(transfer, $data)
                })
            }
        )+
    };
}

writes! {
    write(_desc: *mut c_void)(context: *mut c_void) data None, context context, flags |ep| Some(ep.tx_flags);
    writedata(_desc: *mut c_void, data: u64)(context: *mut c_void) data Some(data), context context, flags |ep| Some(ep.tx_flags);
    inject()() data None, context std::ptr::null_mut(), flags |_| None;
    injectdata(data: u64)() data Some(data), context std::ptr::null_mut(), flags |_| None;
}
