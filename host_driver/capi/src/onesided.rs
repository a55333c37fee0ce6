//! One-sided operations for C.

use std::ffi::{c_int, c_void};
use std::ptr::{null_mut, slice_from_raw_parts, slice_from_raw_parts_mut};
use std::time::Duration;

use tributary_host_driver::{
    Access, AddressHandle, Buffer, Error, Grant, MemoryRegion, OneSided as Driver,
    OneSidedCompletion, OneSidedConfig, OpenWindow, PostError, ProtectionDomain, Remote, Through,
    WorkCompletionStatus,
};

use crate::memory::Region;
use crate::{Address, Card, NULL, done, fail};

/// Does operations on memory of others, and opens its own to them.
pub struct OneSided {
    driver: Driver,
    domain: ProtectionDomain,
    /// Where bytes wait that are written or read.
    staging: MemoryRegion,
    lines: Vec<Line>,
}

/// A window that it uses.
struct Line {
    through: Through,
    /// Its operation is a read.
    reads: bool,
}

/// A window of this side.
pub struct Window {
    _open: OpenWindow,
}

/// `tributary_one_sided_config`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OneSidedSettings {
    /// Key of all that use each other's memory.
    pub q_key: u32,
    /// Operations under way.
    pub operations: u16,
    /// Exponent t: 4.096 µs · 2^t.
    pub timeout: u8,
    /// Sendings of an operation before its window is given up.
    pub attempts: u8,
    /// Longest pause between two sendings, µs.
    pub longest_pause_us: u32,
}

/// `tributary_grant`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowGrant {
    /// Queue pair of the memory.
    pub qp_num: u32,
    /// Node.
    pub node: u32,
    /// Window there.
    pub window: u16,
    /// Its epoch.
    pub epoch: u16,
}

/// `tributary_remote`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemoteMemory {
    /// As the card there knows it.
    pub addr: u64,
    /// Key of the region.
    pub rkey: u32,
}

impl From<RemoteMemory> for Remote {
    fn from(memory: RemoteMemory) -> Self {
        Self {
            address: memory.addr,
            rkey: memory.rkey,
        }
    }
}

/// `tributary_wc`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Completion {
    /// Of an atomic: what it found there.
    pub old: u64,
    /// Of a read: the bytes.
    pub payload: *mut u8,
    /// How many.
    pub length: usize,
    /// The window.
    pub through: u32,
    /// How it ended.
    pub status: u8,
}

/// Fills in what most want.
///
/// # Safety
/// `config` is null or has room for a configuration.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_one_sided_defaults(config: *mut OneSidedSettings) {
    let usual = OneSidedConfig::default();
    if !config.is_null() {
        // SAFETY: there is room for it.
        unsafe {
            config.write(OneSidedSettings {
                q_key: usual.q_key,
                operations: usual.operations,
                timeout: usual.timeout,
                attempts: usual.attempts,
                longest_pause_us: usual.longest_pause.as_micros() as u32,
            });
        }
    }
}

/// Makes one.
///
/// # Safety
/// `card` and `config` are valid, and `one_sided` has room for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_one_sided_new(
    card: *const Card,
    config: *const OneSidedSettings,
    one_sided: *mut *mut OneSided,
) -> c_int {
    // SAFETY: null or valid, as the header says.
    let (Some(card), Some(config)) = (unsafe { (card.as_ref(), config.as_ref()) }) else {
        return fail(&NULL);
    };
    if one_sided.is_null() {
        return fail(&NULL);
    }
    done(OneSided::new(card, config), |made| {
        // SAFETY: there is room for a handle.
        unsafe { one_sided.write(Box::into_raw(Box::new(made))) };
        0
    })
}

impl OneSided {
    fn new(card: &Card, config: &OneSidedSettings) -> Result<Self, Error> {
        let domain = card.0.alloc_pd()?;
        let config = OneSidedConfig {
            q_key: config.q_key,
            operations: config.operations,
            timeout: config.timeout,
            attempts: config.attempts,
            longest_pause: Duration::from_micros(config.longest_pause_us.into()),
            ..OneSidedConfig::default()
        };
        let driver = Driver::new(&domain, config)?;
        // A buffer begins at a multiple of 64.
        let most = driver.max_bytes().next_multiple_of(64);
        let bytes = most * usize::from(config.operations);
        Ok(Self {
            staging: domain.reg_mr(bytes, Access::LOCAL_WRITE)?,
            driver,
            domain,
            lines: Vec::new(),
        })
    }

    /// A window by its number.
    fn through(&self, number: u32) -> Result<Through, PostError> {
        let line = self.lines.get(number as usize);
        line.map(|line| line.through)
            .ok_or(PostError::Window("none of this handle"))
    }

    fn alloc(&self, length: usize) -> Result<Buffer, PostError> {
        let max = self.driver.max_bytes();
        if length <= max {
            let buffer = self.staging.alloc(length);
            return buffer.ok_or(PostError::Full("operation"));
        }
        if self.domain.context().sizes().transfers == 0 {
            let bytes = length;
            return Err(PostError::NoBulk { bytes, max });
        }
        // A region of its own, which goes with its buffer.
        let region = self.domain.reg_mr(length, Access::LOCAL_WRITE);
        let region = region.map_err(|error| match error {
            Error::Device(error) => PostError::Device(error),
            _ => PostError::Full("region"),
        })?;
        region.alloc(length).ok_or(PostError::Full("region"))
    }

    fn to_c(&self, ended: OneSidedCompletion) -> Completion {
        let at = |line: &Line| line.through == ended.through;
        let through = self.lines.iter().position(at).unwrap_or_default();
        let read = self.lines.get(through).is_some_and(|line| line.reads);
        let read = read && ended.status == WorkCompletionStatus::Ok;
        let bytes: Option<Box<[u8]>> = ended.buffer.filter(|_| read).map(|b| b[..].into());
        let length = bytes.as_ref().map_or(0, |bytes| bytes.len());
        Completion {
            old: ended.old.unwrap_or_default(),
            payload: bytes.map_or(null_mut(), |bytes| Box::into_raw(bytes).cast()),
            length,
            through: through as u32,
            status: ended.status.code(),
        }
    }
}

/// What posting an operation returns to C.
fn posted(result: Result<(), PostError>) -> c_int {
    match result {
        Ok(()) => 0,
        Err(PostError::Full(_)) => 1,
        Err(error) => fail(&error),
    }
}

/// Frees one.
///
/// # Safety
/// It came from [`tributary_one_sided_new`] and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_one_sided_free(one_sided: *mut OneSided) {
    if !one_sided.is_null() {
        // SAFETY: a box of ours that nobody uses again.
        drop(unsafe { Box::from_raw(one_sided) });
    }
}

/// Whom a window for it is opened for; all zeros of null.
///
/// # Safety
/// `one_sided` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_one_sided_address(one_sided: *const OneSided) -> Address {
    // SAFETY: null or valid, as the header says.
    match unsafe { one_sided.as_ref() } {
        Some(one_sided) => one_sided.driver.address().into(),
        None => Address { qp_num: 0, node: 0 },
    }
}

/// Makes memory that others reach.
///
/// # Safety
/// `one_sided` is valid, and `mr` has room for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_reg_mr(
    one_sided: *const OneSided,
    length: usize,
    access: c_int,
    mr: *mut *mut Region,
) -> c_int {
    // SAFETY: null or valid, as the header says.
    let (Some(one_sided), false) = (unsafe { one_sided.as_ref() }, mr.is_null()) else {
        return fail(&NULL);
    };
    let made = match Region::new(&one_sided.domain, length, access) {
        Ok(made) => made,
        Err(text) => return fail(&text),
    };
    // SAFETY: there is room for a handle.
    unsafe { mr.write(Box::into_raw(Box::new(made))) };
    0
}

/// Opens a window for another.
///
/// # Safety
/// `one_sided` is valid and used by nobody else now; `window` and `grant` have room for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_window_open(
    one_sided: *mut OneSided,
    peer: Address,
    window: *mut *mut Window,
    grant: *mut WindowGrant,
) -> c_int {
    // SAFETY: null or valid, as the header says.
    let Some(one_sided) = (unsafe { one_sided.as_mut() }) else {
        return fail(&NULL);
    };
    if window.is_null() || grant.is_null() {
        return fail(&NULL);
    }
    let peer = match AddressHandle::new(peer.node, peer.qp_num) {
        Ok(peer) => peer,
        Err(error) => return fail(&error),
    };
    done(one_sided.driver.open_window(peer), |open| {
        let Grant {
            node,
            qp_num,
            window: number,
            epoch,
        } = open.grant();
        // SAFETY: there is room for both.
        unsafe {
            grant.write(WindowGrant {
                qp_num,
                node,
                window: number,
                epoch,
            });
            window.write(Box::into_raw(Box::new(Window { _open: open })));
        }
        0
    })
}

/// Closes a window.
///
/// # Safety
/// It came from [`tributary_window_open`] and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_window_close(window: *mut Window) {
    if !window.is_null() {
        // SAFETY: a box of ours that nobody uses again.
        drop(unsafe { Box::from_raw(window) });
    }
}

/// Takes the grant of a window.
///
/// # Safety
/// `one_sided` is valid and used by nobody else now; `grant` is valid; `through` has room for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_connect(
    one_sided: *mut OneSided,
    grant: *const WindowGrant,
    through: *mut u32,
) -> c_int {
    // SAFETY: null or valid, as the header says.
    let (Some(one_sided), Some(grant)) = (unsafe { (one_sided.as_mut(), grant.as_ref()) }) else {
        return fail(&NULL);
    };
    if through.is_null() {
        return fail(&NULL);
    }
    // Its numbers come from C: those that no card has end here.
    if let Err(error) = AddressHandle::new(grant.node, grant.qp_num) {
        return fail(&error);
    }
    let grant = Grant {
        node: grant.node,
        qp_num: grant.qp_num,
        window: grant.window,
        epoch: grant.epoch,
    };
    let line = Line {
        through: one_sided.driver.connect(grant),
        reads: false,
    };
    // SAFETY: there is room for a number.
    unsafe { through.write(one_sided.lines.len() as u32) };
    one_sided.lines.push(line);
    0
}

/// Writes a copy of bytes there.
///
/// # Safety
/// `one_sided` is valid and used by nobody else now; `bytes` has `length` of them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_rdma_write(
    one_sided: *mut OneSided,
    through: u32,
    bytes: *const c_void,
    length: usize,
    to: RemoteMemory,
) -> c_int {
    // SAFETY: null or valid, as the header says.
    let Some(one_sided) = (unsafe { one_sided.as_mut() }) else {
        return fail(&NULL);
    };
    if length > 0 && bytes.is_null() {
        return fail(&NULL);
    }
    posted(one_sided.through(through).and_then(|window| {
        let mut buffer = one_sided.alloc(length)?;
        if length > 0 {
            // SAFETY: the caller has so many bytes there.
            buffer.copy_from_slice(unsafe { &*slice_from_raw_parts(bytes.cast(), length) });
        }
        let result = one_sided.driver.write(window, buffer, to.into());
        result.map_err(|rejected| rejected.error)?;
        one_sided.lines[through as usize].reads = false;
        Ok(())
    }))
}

/// Reads bytes from there.
///
/// # Safety
/// `one_sided` is valid and used by nobody else now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_rdma_read(
    one_sided: *mut OneSided,
    through: u32,
    length: usize,
    from: RemoteMemory,
) -> c_int {
    // SAFETY: null or valid, as the header says.
    let Some(one_sided) = (unsafe { one_sided.as_mut() }) else {
        return fail(&NULL);
    };
    posted(one_sided.through(through).and_then(|window| {
        let buffer = one_sided.alloc(length)?;
        let result = one_sided.driver.read(window, buffer, from.into());
        result.map_err(|rejected| rejected.error)?;
        one_sided.lines[through as usize].reads = true;
        Ok(())
    }))
}

/// Adds to a number there.
///
/// # Safety
/// `one_sided` is valid and used by nobody else now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_atomic_fetch_add(
    one_sided: *mut OneSided,
    through: u32,
    at: RemoteMemory,
    add: u64,
) -> c_int {
    // SAFETY: null or valid, as the header says.
    let Some(one_sided) = (unsafe { one_sided.as_mut() }) else {
        return fail(&NULL);
    };
    let window = one_sided.through(through);
    posted(window.and_then(|window| one_sided.driver.fetch_add(window, at.into(), add)))
}

/// Puts a number there if the one that is there equals `compare`.
///
/// # Safety
/// `one_sided` is valid and used by nobody else now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_atomic_cmp_swp(
    one_sided: *mut OneSided,
    through: u32,
    at: RemoteMemory,
    compare: u64,
    swap: u64,
) -> c_int {
    // SAFETY: null or valid, as the header says.
    let Some(one_sided) = (unsafe { one_sided.as_mut() }) else {
        return fail(&NULL);
    };
    posted(one_sided.through(through).and_then(|window| {
        let driver = &mut one_sided.driver;
        driver.compare_swap(window, at.into(), compare, swap)
    }))
}

/// Works, and waits for an operation that has ended.
///
/// # Safety
/// `one_sided` is valid and used by nobody else now, and `wc` has room for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_one_sided_wait(
    one_sided: *mut OneSided,
    timeout_ns: u64,
    wc: *mut Completion,
) -> c_int {
    // SAFETY: null or valid, as the header says.
    let (Some(one_sided), false) = (unsafe { one_sided.as_mut() }, wc.is_null()) else {
        return fail(&NULL);
    };
    let ended = one_sided.driver.wait(Duration::from_nanos(timeout_ns));
    done(ended, |ended| match ended {
        None => 0,
        Some(ended) => {
            // SAFETY: there is room for one.
            unsafe { wc.write(one_sided.to_c(ended)) };
            1
        }
    })
}

/// Frees the bytes of a read.
///
/// # Safety
/// `wc` is null or came from [`tributary_one_sided_wait`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_wc_free(wc: *mut Completion) {
    // SAFETY: null or valid, as the header says.
    let Some(wc) = (unsafe { wc.as_mut() }) else {
        return;
    };
    let payload = std::mem::replace(&mut wc.payload, null_mut());
    let length = std::mem::take(&mut wc.length);
    if !payload.is_null() {
        // SAFETY: a boxed slice of this length (`to_c`).
        drop(unsafe { Box::from_raw(slice_from_raw_parts_mut(payload, length)) });
    }
}
