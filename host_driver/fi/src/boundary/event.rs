//! Event queues: nothing that this provider does needs one, but programs open them.

use super::*;

static FID: Shared<fi_ops> = Shared(fid_ops(close));
static OPS: Shared<fi_ops_eq> = Shared(fi_ops_eq {
    size: size_of::<fi_ops_eq>(),
    read: empty,
    readerr: empty,
    write: none_size,
    sread: empty,
    strerror: no_text,
});

pub unsafe extern "C" fn open(
    _: *mut fid_fabric,
    _: *mut c_void,
    out: *mut *mut fid_eq,
    context: *mut c_void,
) -> c_int {
    call(|| {
        let queue = fid_eq {
            fid: fid {
                fclass: CLASS_EQ,
                context,
                ops: &FID.0,
            },
            ops: &OPS.0,
        };
        // SAFETY: the caller gives a place.
        unsafe { out.write(Box::into_raw(Box::new(queue))) };
        SUCCESS
    })
}

unsafe extern "C" fn empty() -> isize {
    -(EAGAIN as isize)
}

unsafe extern "C" fn no_text() -> *const c_char {
    c"no details".as_ptr()
}

unsafe extern "C" fn close(fid: *mut fid) -> c_int {
    call(|| {
        // SAFETY: made by `open`, closed once.
        drop(unsafe { Box::from_raw(fid.cast::<fid_eq>()) });
        SUCCESS
    })
}
