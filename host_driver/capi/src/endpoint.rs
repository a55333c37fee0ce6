//! Endpoints for C.

use std::ffi::{c_int, c_void};
use std::ptr::{null_mut, slice_from_raw_parts_mut};
use std::time::Duration;

use tributary_host_driver::{
    AddressHandle, EndpointConfig, EndpointEvent, Error, PostError, ProtectionDomain,
    ReliableEndpoint,
};

use crate::{Card, NULL, done, fail};

/// `TRIBUTARY_DELIVERED`.
pub const DELIVERED: u8 = 1;
/// `TRIBUTARY_COMPLETED`.
pub const COMPLETED: u8 = 2;

/// Sends and receives messages.
pub struct Endpoint(ReliableEndpoint);

/// `tributary_address`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// Queue pair, 24 bits.
    pub qp_num: u32,
    /// Node.
    pub node: u32,
}

impl From<AddressHandle> for Address {
    fn from(handle: AddressHandle) -> Self {
        Self {
            qp_num: handle.qp_num(),
            node: handle.node(),
        }
    }
}

/// `tributary_endpoint_config`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Key of all that talk to each other.
    pub q_key: u32,
    /// Messages in flight to each peer.
    pub windows: u32,
    /// Packets that may arrive between two polls.
    pub receives: u16,
    /// Packets under way.
    pub sends: u16,
    /// Exponent t: 4.096 µs · 2^t.
    pub timeout: u8,
    /// Sendings of a packet before its message is given up.
    pub attempts: u8,
    /// 1: deliver in the order of sending.
    pub ordered: u8,
    /// Longest pause between two sendings of a packet, µs.
    pub longest_pause_us: u32,
    /// Bytes that messages above 64 KiB may take together.
    pub long_bytes: usize,
}

impl Config {
    /// As the driver has it.
    pub(crate) fn of(&self) -> EndpointConfig {
        EndpointConfig {
            q_key: self.q_key,
            windows: self.windows,
            receives: self.receives,
            sends: self.sends,
            timeout: self.timeout,
            attempts: self.attempts,
            ordered: self.ordered != 0,
            longest_pause: Duration::from_micros(self.longest_pause_us.into()),
            long_bytes: self.long_bytes,
            ..EndpointConfig::default()
        }
    }
}

/// `tributary_event`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// Of a completed message: what sending gave.
    pub id: u64,
    /// Of a delivered message: its bytes.
    pub payload: *mut u8,
    /// How many.
    pub length: usize,
    /// Where from or where to.
    pub peer: Address,
    /// [`DELIVERED`] or [`COMPLETED`].
    pub kind: u8,
    /// How it ended.
    pub status: u8,
}

/// Fills in what most want.
///
/// # Safety
/// `config` is null or has room for a configuration.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_endpoint_defaults(config: *mut Config) {
    let usual = EndpointConfig::default();
    if !config.is_null() {
        // SAFETY: there is room for it.
        unsafe {
            config.write(Config {
                q_key: usual.q_key,
                windows: usual.windows,
                receives: usual.receives,
                sends: usual.sends,
                timeout: usual.timeout,
                attempts: usual.attempts,
                ordered: usual.ordered.into(),
                longest_pause_us: usual.longest_pause.as_micros() as u32,
                long_bytes: usual.long_bytes,
            });
        }
    }
}

/// Makes an endpoint.
///
/// # Safety
/// `card` and `config` are valid, and `endpoint` has room for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_endpoint_new(
    card: *const Card,
    config: *const Config,
    endpoint: *mut *mut Endpoint,
) -> c_int {
    // SAFETY: as the header says.
    unsafe {
        make(card, config, endpoint, |domain, config| {
            ReliableEndpoint::new(domain, config).map(Endpoint)
        })
    }
}

/// Makes something in a domain of its own on a card, and a handle of it.
///
/// # Safety
/// `card` and `config` are null or valid; `handle` is null or has room.
pub unsafe fn make<T>(
    card: *const Card,
    config: *const Config,
    handle: *mut *mut T,
    new: impl FnOnce(&ProtectionDomain, EndpointConfig) -> Result<T, Error>,
) -> c_int {
    // SAFETY: as the caller says.
    let (Some(card), Some(config)) = (unsafe { (card.as_ref(), config.as_ref()) }) else {
        return fail(&NULL);
    };
    if handle.is_null() {
        return fail(&NULL);
    }
    let made = (card.0.alloc_pd()).and_then(|domain| new(&domain, config.of()));
    done(made, |made| {
        // SAFETY: there is room for a handle.
        unsafe { handle.write(Box::into_raw(Box::new(made))) };
        0
    })
}

/// Frees an endpoint.
///
/// # Safety
/// It came from [`tributary_endpoint_new`] and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_endpoint_free(endpoint: *mut Endpoint) {
    if !endpoint.is_null() {
        // SAFETY: a box of ours that nobody uses again.
        drop(unsafe { Box::from_raw(endpoint) });
    }
}

/// How others address an endpoint; all zeros of null.
///
/// # Safety
/// `endpoint` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_endpoint_address(endpoint: *const Endpoint) -> Address {
    // SAFETY: null or valid, as the header says.
    match unsafe { endpoint.as_ref() } {
        Some(endpoint) => endpoint.0.address().into(),
        None => Address { qp_num: 0, node: 0 },
    }
}

/// Sends a copy of a message.
///
/// # Safety
/// `endpoint` is valid and used by nobody else now; `message` has `length` bytes; `id` is null or has room for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_send(
    endpoint: *mut Endpoint,
    to: Address,
    message: *const c_void,
    length: usize,
    id: *mut u64,
) -> c_int {
    // SAFETY: null or valid, as the header says.
    let Some(endpoint) = (unsafe { endpoint.as_mut() }) else {
        return fail(&NULL);
    };
    let bytes = if length == 0 {
        &[]
    } else if message.is_null() {
        return fail(&NULL);
    } else {
        // SAFETY: the caller has so many bytes there.
        unsafe { std::slice::from_raw_parts(message.cast::<u8>(), length) }
    };
    let to = match AddressHandle::new(to.node, to.qp_num) {
        Ok(to) => to,
        Err(error) => return fail(&error),
    };
    match endpoint.0.send_copy(to, bytes) {
        Ok(number) => {
            if !id.is_null() {
                // SAFETY: there is room for a number.
                unsafe { id.write(number) };
            }
            0
        }
        Err(PostError::Full(_)) => 1,
        Err(error) => fail(&error),
    }
}

/// Works, and waits for an event.
///
/// # Safety
/// `endpoint` is valid and used by nobody else now, and `event` has room for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_wait(
    endpoint: *mut Endpoint,
    timeout_ns: u64,
    event: *mut Event,
) -> c_int {
    // SAFETY: null or valid, as the header says.
    let (Some(endpoint), false) = (unsafe { endpoint.as_mut() }, event.is_null()) else {
        return fail(&NULL);
    };
    done(
        endpoint.0.wait(Duration::from_nanos(timeout_ns)),
        |found| match found {
            None => 0,
            Some(found) => {
                // SAFETY: there is room for an event.
                unsafe { event.write(to_c(found)) };
                1
            }
        },
    )
}

fn to_c(event: EndpointEvent) -> Event {
    match event {
        EndpointEvent::Delivered { from, payload } => {
            let length = payload.len();
            Event {
                id: 0,
                payload: Box::into_raw(payload.into_owned().into_boxed_slice()).cast(),
                length,
                peer: from.into(),
                kind: DELIVERED,
                status: 0,
            }
        }
        EndpointEvent::Completed { id, to, status, .. } => Event {
            id,
            payload: null_mut(),
            length: 0,
            peer: to.into(),
            kind: COMPLETED,
            status: status.code(),
        },
    }
}

/// Frees the payload of an event.
///
/// # Safety
/// `event` is null or came from [`tributary_wait`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_event_free(event: *mut Event) {
    // SAFETY: null or valid, as the header says.
    let Some(event) = (unsafe { event.as_mut() }) else {
        return;
    };
    let payload = std::mem::replace(&mut event.payload, null_mut());
    let length = std::mem::take(&mut event.length);
    if !payload.is_null() {
        // SAFETY: a boxed slice of this length (`to_c`).
        drop(unsafe { Box::from_raw(slice_from_raw_parts_mut(payload, length)) });
    }
}
