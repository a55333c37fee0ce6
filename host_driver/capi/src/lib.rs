//! C interface of the driver: `tributary.h` says what each function does.
//!
//! Handles are boxes. Every pointer that C gives is checked for null; beyond that, C keeps what the header says.

mod collective;
mod endpoint;
mod memory;
mod multicast;
mod onesided;

use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int};
use std::fmt::Display;
use std::sync::Arc;

use tributary_host_driver::{BulkTuning, Context, Options};
use tributary_sim::card::{NetworkConfig, SimDevice, network};
use tributary_sim::link::LinkConfig;

pub use collective::*;
pub use endpoint::*;
pub use memory::*;
pub use multicast::*;
pub use onesided::*;

thread_local! {
    static ERROR: RefCell<CString> = RefCell::default();
}

/// Keeps why a call failed.
fn fail(error: &dyn Display) -> c_int {
    let text = error.to_string().replace('\0', " ");
    ERROR.with_borrow_mut(|place| *place = CString::new(text).unwrap_or_default());
    -1
}

/// What a function that can fail returns to C.
fn done<T>(result: Result<T, impl Display>, keep: impl FnOnce(T) -> c_int) -> c_int {
    match result {
        Ok(value) => keep(value),
        Err(error) => fail(&error),
    }
}

const NULL: &str = "a pointer that must not be null is null";

/// A card that can be opened.
pub struct Device(SimDevice);

/// A card that is open.
pub struct Card(Context);

/// `tributary_sim_config`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SimConfig {
    /// What every random choice comes from.
    pub seed: u64,
    /// Probability that a frame is lost.
    pub loss: f64,
    /// Probability that a frame arrives twice.
    pub duplication: f64,
    /// Shortest time from card to card, slots.
    pub delay: u32,
    /// How far frames overtake each other, slots.
    pub reorder: u32,
}

/// Why the latest call of this thread failed.
#[unsafe(no_mangle)]
pub extern "C" fn tributary_error() -> *const c_char {
    ERROR.with_borrow(|text| text.as_ptr())
}

/// Makes a simulated network.
///
/// # Safety
/// `config` is valid, and `devices` has room for `count` handles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_sim_network(
    config: *const SimConfig,
    count: u32,
    devices: *mut *mut Device,
) -> c_int {
    // SAFETY: null or valid, as the header says.
    let Some(config) = (unsafe { config.as_ref() }) else {
        return fail(&NULL);
    };
    if devices.is_null() {
        return fail(&NULL);
    }
    let config = NetworkConfig {
        nodes: count,
        link: LinkConfig {
            delay_slots: config.delay,
            reorder_slots: config.reorder,
            loss: config.loss,
            duplication: config.duplication,
        },
        seed: config.seed,
        ..NetworkConfig::default()
    };
    done(network(&config), |all| {
        for (at, device) in all.into_iter().enumerate() {
            let handle = Box::into_raw(Box::new(Device(device)));
            // SAFETY: there is room for `count` handles.
            unsafe { devices.add(at).write(handle) };
        }
        0
    })
}

/// Frees a device.
///
/// # Safety
/// It came from [`tributary_sim_network`] and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_device_free(device: *mut Device) {
    if !device.is_null() {
        // SAFETY: a box of ours that nobody uses again.
        drop(unsafe { Box::from_raw(device) });
    }
}

/// Opens a card.
///
/// # Safety
/// `device` is valid, and `card` has room for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_open(
    device: *const Device,
    node: u32,
    mtu: u16,
    card: *mut *mut Card,
) -> c_int {
    // SAFETY: null or valid, as the header says.
    let (Some(device), false) = (unsafe { device.as_ref() }, card.is_null()) else {
        return fail(&NULL);
    };
    let opened = Context::open(Arc::new(device.0.clone()), Options { node, mtu });
    done(opened, |context| {
        // SAFETY: there is room for a handle.
        unsafe { card.write(Box::into_raw(Box::new(Card(context)))) };
        0
    })
}

/// Frees a card; what was made on it keeps it open.
///
/// # Safety
/// It came from [`tributary_open`] and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_close(card: *mut Card) {
    if !card.is_null() {
        // SAFETY: a box of ours that nobody uses again.
        drop(unsafe { Box::from_raw(card) });
    }
}

/// A counter of the card.
///
/// # Safety
/// `card` is valid, and `value` has room for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_counter(
    card: *const Card,
    counter: u8,
    value: *mut u64,
) -> c_int {
    // SAFETY: null or valid, as the header says.
    let (Some(card), false) = (unsafe { card.as_ref() }, value.is_null()) else {
        return fail(&NULL);
    };
    done(card.0.counter_numbered(counter), |found| {
        let Some(count) = found else {
            return fail(&format!("no counter {counter}"));
        };
        // SAFETY: there is room for a number.
        unsafe { value.write(count) };
        0
    })
}

/// Tells the card's bulk transfers about the network.
///
/// # Safety
/// `card` is valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_tune_bulk(
    card: *const Card,
    round_trip_ns: u64,
    overtaking: u32,
    share_of_256: u32,
) -> c_int {
    // SAFETY: null or valid, as the header says.
    let Some(card) = (unsafe { card.as_ref() }) else {
        return fail(&NULL);
    };
    let tuning = BulkTuning {
        round_trip_ns,
        overtaking,
        share_of_256,
    };
    done(card.0.tune_bulk(&tuning), |()| 0)
}

/// Whether the card looks at marks of switches; if `interval` is not 0, how often it does something about them.
///
/// # Safety
/// `card` is valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_congestion(card: *const Card, on: u8, interval: u16) -> c_int {
    // SAFETY: null or valid, as the header says.
    let Some(card) = (unsafe { card.as_ref() }) else {
        return fail(&NULL);
    };
    let told = match interval {
        0 => Ok(()),
        ticks => card.0.set_congestion_interval(ticks),
    };
    done(told.and_then(|()| card.0.set_congestion(on != 0)), |()| 0)
}
