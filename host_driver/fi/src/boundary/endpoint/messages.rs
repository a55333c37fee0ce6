//! The calls that send and receive messages, with and without tags, by buffer, by list and by description.

use super::*;

pub static MESSAGES: Shared<fi_ops_msg> = Shared(fi_ops_msg {
    size: size_of::<fi_ops_msg>(),
    recv,
    recvv,
    recvmsg,
    send,
    sendv,
    sendmsg,
    inject,
    senddata,
    injectdata,
});
pub static TAGGED_MESSAGES: Shared<fi_ops_tagged> = Shared(fi_ops_tagged {
    size: size_of::<fi_ops_tagged>(),
    recv: trecv,
    recvv: trecvv,
    recvmsg: trecvmsg,
    send: tsend,
    sendv: tsendv,
    sendmsg: tsendmsg,
    inject: tinject,
    senddata: tsenddata,
    injectdata: tinjectdata,
});

/// # Safety
/// An endpoint of this provider.
unsafe fn of<'a>(ep: *mut fid_ep) -> &'a Ep {
    // SAFETY: as the caller says.
    unsafe { &*ep.cast::<Ep>() }
}

fn label(tag: Option<u64>, data: Option<u64>) -> Label {
    Label { tag, data }
}

unsafe extern "C" fn recv(
    ep: *mut fid_ep,
    buffer: *mut c_void,
    length: usize,
    _: *mut c_void,
    from: u64,
    context: *mut c_void,
) -> isize {
    // SAFETY: as libfabric's contract says; of all calls that follow, too.
    let ep = unsafe { of(ep) };
    size(|| {
        ep.receive(
            UserMemory::new(buffer, length),
            from,
            None,
            context,
            ep.rx_flags,
        )
    })
}

/// Receives into a list.
///
/// # Safety
/// An endpoint of this provider, and so many entries at the list.
unsafe fn receive_list(
    ep: *mut fid_ep,
    (list, count): (*const libc::iovec, usize),
    from: u64,
    tag: Option<(u64, u64)>,
    context: *mut c_void,
    flags: Option<u64>,
) -> isize {
    // SAFETY: as the caller says.
    let ep = unsafe { of(ep) };
    size(|| {
        // SAFETY: as above.
        let memory = unsafe { UserMemory::of(list, count) };
        ep.receive(memory, from, tag, context, flags.unwrap_or(ep.rx_flags))
    })
}

unsafe extern "C" fn recvv(
    ep: *mut fid_ep,
    list: *const libc::iovec,
    _: *mut *mut c_void,
    count: usize,
    from: u64,
    context: *mut c_void,
) -> isize {
    // SAFETY: as above.
    unsafe { receive_list(ep, (list, count), from, None, context, None) }
}

unsafe extern "C" fn recvmsg(ep: *mut fid_ep, message: *const fi_msg, flags: u64) -> isize {
    // SAFETY: as above.
    unsafe {
        let m = &*message;
        let list = (m.msg_iov, m.iov_count);
        receive_list(ep, list, m.addr, None, m.context, Some(flags))
    }
}

unsafe extern "C" fn trecv(
    ep: *mut fid_ep,
    buffer: *mut c_void,
    length: usize,
    _: *mut c_void,
    from: u64,
    tag: u64,
    ignore: u64,
    context: *mut c_void,
) -> isize {
    // SAFETY: as above.
    let ep = unsafe { of(ep) };
    let tag = Some((tag, ignore));
    size(|| {
        ep.receive(
            UserMemory::new(buffer, length),
            from,
            tag,
            context,
            ep.rx_flags,
        )
    })
}

unsafe extern "C" fn trecvv(
    ep: *mut fid_ep,
    list: *const libc::iovec,
    _: *mut *mut c_void,
    count: usize,
    from: u64,
    tag: u64,
    ignore: u64,
    context: *mut c_void,
) -> isize {
    let tag = Some((tag, ignore));
    // SAFETY: as above.
    unsafe { receive_list(ep, (list, count), from, tag, context, None) }
}

unsafe extern "C" fn trecvmsg(ep: *mut fid_ep, message: *const fi_msg_tagged, flags: u64) -> isize {
    // SAFETY: as above.
    unsafe {
        let m = &*message;
        let (list, tag) = ((m.msg_iov, m.iov_count), Some((m.tag, m.ignore)));
        receive_list(ep, list, m.addr, tag, m.context, Some(flags))
    }
}

/// Sends whose arguments stand in the call.
macro_rules! sends {
    ($($name:ident($($argument:ident: $of:ty),*) to $to:expr, tag $tag:expr, data $data:expr, context $context:expr, flags $flags:expr;)+) => {
        $(
            unsafe extern "C" fn $name(
                ep: *mut fid_ep,
                buffer: *const c_void,
                length: usize,
                $($argument: $of),*
            ) -> isize {
                // SAFETY: as above.
                let ep = unsafe { of(ep) };
                let flags: for<'a> fn(&'a Ep) -> Option<&'a u64> = $flags;
                size(|| ep.send(Send {
                    memory: UserMemory::new(buffer.cast_mut(), length),
                    to: $to,
                    label: label($tag, $data),
                    context: $context,
                    flags: flags(ep),
                }))
            }
        )+
    };
}

sends! {
    send(_desc: *mut c_void, to: u64, context: *mut c_void) to to, tag None, data None, context context, flags |ep| Some(&ep.tx_flags);
    senddata(_desc: *mut c_void, data: u64, to: u64, context: *mut c_void) to to, tag None, data Some(data), context context, flags |ep| Some(&ep.tx_flags);
    inject(to: u64) to to, tag None, data None, context std::ptr::null_mut(), flags |_| None;
    injectdata(data: u64, to: u64) to to, tag None, data Some(data), context std::ptr::null_mut(), flags |_| None;
    tsend(_desc: *mut c_void, to: u64, tag: u64, context: *mut c_void) to to, tag Some(tag), data None, context context, flags |ep| Some(&ep.tx_flags);
    tsenddata(_desc: *mut c_void, data: u64, to: u64, tag: u64, context: *mut c_void) to to, tag Some(tag), data Some(data), context context, flags |ep| Some(&ep.tx_flags);
    tinject(to: u64, tag: u64) to to, tag Some(tag), data None, context std::ptr::null_mut(), flags |_| None;
    tinjectdata(data: u64, to: u64, tag: u64) to to, tag Some(tag), data Some(data), context std::ptr::null_mut(), flags |_| None;
}

/// Sends whose memory is a list.
///
/// # Safety
/// An endpoint of this provider, and so many entries at the list.
unsafe fn send_list(
    ep: *mut fid_ep,
    (list, count): (*const libc::iovec, usize),
    to: u64,
    label: Label,
    context: *mut c_void,
    flags: Option<u64>,
) -> isize {
    // SAFETY: as the caller says.
    let ep = unsafe { of(ep) };
    let flags = flags.unwrap_or(ep.tx_flags);
    size(|| {
        ep.send(Send {
            // SAFETY: as above.
            memory: unsafe { UserMemory::of(list, count) },
            to,
            label,
            context,
            flags: Some(&flags),
        })
    })
}

unsafe extern "C" fn sendv(
    ep: *mut fid_ep,
    list: *const libc::iovec,
    _: *mut *mut c_void,
    count: usize,
    to: u64,
    context: *mut c_void,
) -> isize {
    // SAFETY: as above.
    unsafe { send_list(ep, (list, count), to, label(None, None), context, None) }
}

unsafe extern "C" fn tsendv(
    ep: *mut fid_ep,
    list: *const libc::iovec,
    _: *mut *mut c_void,
    count: usize,
    to: u64,
    tag: u64,
    context: *mut c_void,
) -> isize {
    // SAFETY: as above.
    unsafe { send_list(ep, (list, count), to, label(Some(tag), None), context, None) }
}

fn data_of(flags: u64, data: u64) -> Option<u64> {
    (flags & REMOTE_CQ_DATA != 0).then_some(data)
}

unsafe extern "C" fn sendmsg(ep: *mut fid_ep, message: *const fi_msg, flags: u64) -> isize {
    // SAFETY: as above.
    unsafe {
        let m = &*message;
        let label = label(None, data_of(flags, m.data));
        let list = (m.msg_iov, m.iov_count);
        send_list(ep, list, m.addr, label, m.context, Some(flags))
    }
}

unsafe extern "C" fn tsendmsg(ep: *mut fid_ep, message: *const fi_msg_tagged, flags: u64) -> isize {
    // SAFETY: as above.
    unsafe {
        let m = &*message;
        let label = label(Some(m.tag), data_of(flags, m.data));
        let list = (m.msg_iov, m.iov_count);
        send_list(ep, list, m.addr, label, m.context, Some(flags))
    }
}
