//! A domain: one card of this process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::counter::Count;
use super::endpoint::EndpointPort;
use super::*;
use crate::card::Card;
use crate::engine::Regions;

#[repr(C)]
pub struct Domain {
    pub fid: fid_domain,
    pub inner: Arc<Inner>,
}

/// Counters of what peers do with a region, by its key: of reads, of writes.
pub type Watchers = Arc<Mutex<HashMap<u64, [Option<Arc<Count>>; 2]>>>;

/// What endpoints and queues of a domain share.
pub struct Inner {
    pub card: Card,
    pub regions: Regions<UserMemory>,
    pub watchers: Watchers,
    ports: Mutex<Vec<Arc<EndpointPort>>>,
}

/// Domains that this process has opened.
static OPEN: Mutex<Vec<Weak<Inner>>> = Mutex::new(Vec::new());

/// The domain of this process: the first that is open.
pub fn of_process() -> Option<Arc<Inner>> {
    let open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    open.iter().find_map(Weak::upgrade)
}

impl Inner {
    pub fn add(&self, port: Arc<EndpointPort>) {
        self.ports
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(port);
    }

    pub fn remove(&self, port: &Arc<EndpointPort>) {
        let mut ports = self.ports.lock().unwrap_or_else(PoisonError::into_inner);
        ports.retain(|other| !Arc::ptr_eq(other, port));
    }

    /// A region is no more.
    pub fn close_region(&self, key: u64) {
        let mut regions = self.regions.lock().unwrap_or_else(PoisonError::into_inner);
        regions.remove(&key);
        drop(regions);
        let mut watchers = self.watchers.lock().unwrap_or_else(PoisonError::into_inner);
        watchers.remove(&key);
        drop(watchers);
        let ports = self.ports.lock().unwrap_or_else(PoisonError::into_inner);
        for port in ports.iter() {
            port.close_region(key);
        }
    }

    /// The program is about to sleep until a descriptor is raised: the threads of the endpoints work from now on.
    pub fn leave(&self) {
        let ports = self.ports.lock().unwrap_or_else(PoisonError::into_inner);
        for port in ports.iter() {
            port.leave();
        }
    }

    /// Works for all endpoints.
    pub fn progress(&self) {
        let ports = self.ports.lock().unwrap_or_else(PoisonError::into_inner);
        for port in ports.iter() {
            port.progress();
        }
    }
}

static FID: Shared<fi_ops> = Shared(fid_ops(close));
static OPS: Shared<fi_ops_domain> = Shared(fi_ops_domain {
    size: size_of::<fi_ops_domain>(),
    av_open: address::open,
    cq_open: queue::open,
    endpoint: endpoint::open,
    scalable_ep: none,
    cntr_open: counter::open,
    poll_open: poll::open,
    stx_ctx: none,
    srx_ctx: none,
    query_atomic: super::endpoint::query_atomic,
    query_collective: super::endpoint::query_collective,
    endpoint2: std::ptr::null(),
});

/// Tells the user what no error number can.
pub fn complain(what: &str) {
    eprintln!("tributary: {what}");
}

pub unsafe extern "C" fn open(
    _: *mut fid_fabric,
    _: *mut fi_info,
    out: *mut *mut fid_domain,
    context: *mut c_void,
) -> c_int {
    call(|| {
        let Some(folder) = folder() else {
            complain(&format!("{SOCKETS} does not name a folder of sockets"));
            return -ENODEV;
        };
        let card = match Card::claim(&folder) {
            Ok(card) => card,
            Err(error) => {
                complain(&error);
                return -ENODEV;
            }
        };
        let inner = Arc::new(Inner {
            card,
            regions: Regions::default(),
            watchers: Watchers::default(),
            ports: Mutex::default(),
        });
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|domain| domain.strong_count() > 0);
        open.push(Arc::downgrade(&inner));
        drop(open);
        let domain = Domain {
            fid: fid_domain {
                fid: fid {
                    fclass: CLASS_DOMAIN,
                    context,
                    ops: &FID.0,
                },
                ops: &OPS.0,
                mr: &memory::OPS.0,
            },
            inner,
        };
        // SAFETY: the caller gives a place.
        unsafe { out.write(Box::into_raw(Box::new(domain)).cast()) };
        SUCCESS
    })
}

unsafe extern "C" fn close(fid: *mut fid) -> c_int {
    call(|| {
        // SAFETY: made by `open`, closed once.
        drop(unsafe { Box::from_raw(fid.cast::<Domain>()) });
        SUCCESS
    })
}
