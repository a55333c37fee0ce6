//! fi_getinfo: what the provider offers.

use super::*;
use crate::engine::{EAGER, MOST_ATOMIC};

/// What a program may ask for.
const CAPS: u64 = MSG
    | TAGGED
    | RMA
    | ATOMIC
    | COLLECTIVE
    | READ
    | WRITE
    | RECV
    | SEND
    | REMOTE_READ
    | REMOTE_WRITE
    | MULTI_RECV
    | RMA_EVENT
    | SOURCE
    | DIRECTED_RECV
    | LOCAL_COMM
    | REMOTE_COMM;
/// Order that is kept; of memory up to the size that is told.
const ORDERS: u64 = ORDER_SAS | ORDER_MEMORY;
/// Capabilities of a sender.
const TX_CAPS: u64 = MSG | TAGGED | RMA | ATOMIC | COLLECTIVE | SEND | READ | WRITE;
/// Of a domain.
const DOMAIN_CAPS: u64 = LOCAL_COMM | REMOTE_COMM;
/// Entries of a list of memory.
pub const IOV: usize = 16;
/// Bytes of a structure that libfabric may know longer than this provider does.
const SLACK: usize = 512;
/// Address of who has none yet: it comes with the endpoint. Nobody can have this one.
const UNKNOWN: u64 = u64::MAX;
/// Longest message.
const LONGEST: usize = 1 << 40;

/// Memory that libfabric frees by `free`.
///
/// # Safety
/// `T` is plain data for which zeros are good.
unsafe fn zeroed<T>() -> *mut T {
    // SAFETY: a plain allocation.
    unsafe { libc::calloc(1, size_of::<T>().max(SLACK)).cast() }
}

/// Who names none of the directions of messages, or of reads and writes, means all of them.
fn directions(caps: u64) -> u64 {
    const OF_RMA: u64 = READ | WRITE | REMOTE_READ | REMOTE_WRITE;
    let mut all = caps;
    if caps & (MSG | TAGGED) != 0 && caps & (SEND | RECV) == 0 {
        all |= SEND | RECV;
    }
    if caps & (RMA | ATOMIC) != 0 && caps & OF_RMA == 0 {
        all |= OF_RMA;
    }
    all
}

/// # Safety
/// The hints are nothing or an `fi_info` of libfabric.
unsafe fn fits(hints: *const fi_info) -> bool {
    // SAFETY: as the caller says; attributes are nothing or theirs.
    unsafe {
        let Some(hints) = hints.as_ref() else {
            return true;
        };
        let kind = hints.ep_attr.as_ref().map_or(0, |attr| attr.r#type);
        let named = |pointer: *const c_char| {
            let name = text(pointer);
            name.is_empty() || name.starts_with(NAME.to_bytes())
        };
        let domain = (hints.domain_attr.as_ref()).is_none_or(|attr| named(attr.name));
        let fabric = (hints.fabric_attr.as_ref()).is_none_or(|attr| named(attr.name));
        let format = hints.addr_format == 0 || hints.addr_format == PROV_SPECIFIC | 1;
        let long = (hints.ep_attr.as_ref()).is_some_and(|attr| attr.max_msg_size > LONGEST);
        let inject = (hints.tx_attr.as_ref()).is_some_and(|attr| attr.inject_size > EAGER);
        let tx_order = hints.tx_attr.as_ref().map_or(0, |attr| attr.msg_order);
        let rx_order = hints.rx_attr.as_ref().map_or(0, |attr| attr.msg_order);
        let domain_caps = (hints.domain_attr.as_ref()).map_or(0, |attr| attr.caps);
        let mr_mode = hints.domain_attr.as_ref().map_or(0, |attr| attr.mr_mode);
        hints.caps & !CAPS == 0
            && (kind == 0 || kind == EP_RDM)
            && domain
            && fabric
            && format
            && !long
            && !inject
            && (tx_order | rx_order) & !ORDERS == 0
            && domain_caps & !DOMAIN_CAPS == 0
            && mr_mode != MR_BASIC
    }
}

/// Addresses of this end and of the other one, as the program names them; nothing if there is none of such a name.
///
/// # Safety
/// Texts of C or nothing, and hints as for [`fits`].
unsafe fn named(
    node: *const c_char,
    service: *const c_char,
    is_own: bool,
    hints: *const fi_info,
) -> Option<(u64, Option<u64>)> {
    // SAFETY: as the caller says.
    unsafe {
        let hints = hints.as_ref();
        let hinted = |address: *mut c_void, length: usize| {
            let there = !address.is_null() && length == size_of::<u64>();
            there.then(|| address.cast::<u64>().read_unaligned())
        };
        let own = hints.and_then(|hints| hinted(hints.src_addr, hints.src_addrlen));
        let peer = hints.and_then(|hints| hinted(hints.dest_addr, hints.dest_addrlen));
        if !node.is_null() && !name::is_here(text(node)) {
            return None;
        }
        let by_name = name::of_service(text(service));
        match (node.is_null() && service.is_null(), is_own) {
            (true, _) => Some((own.unwrap_or(UNKNOWN), peer)),
            // A service without a number names nothing, and one of one's own need not.
            (_, true) => Some((by_name.or(own).unwrap_or(UNKNOWN), peer)),
            (_, false) if node.is_null() => None,
            (_, false) => Some((own.unwrap_or(UNKNOWN), Some(by_name?))),
        }
    }
}

pub unsafe extern "C" fn get(
    version: u32,
    node: *const c_char,
    service: *const c_char,
    flags: u64,
    hints: *const fi_info,
    out: *mut *mut fi_info,
) -> c_int {
    call(|| {
        // SAFETY: libfabric's own structures.
        let offered = unsafe { fits(hints) } && folder().is_some();
        // SAFETY: as above.
        let named = unsafe { named(node, service, flags & SOURCE != 0, hints) };
        let Some((own, peer)) = named.filter(|_| offered) else {
            return -ENODATA;
        };
        // SAFETY: new memory, filled before anybody sees it; hints as above.
        unsafe {
            let info: *mut fi_info = zeroed();
            let tx: *mut fi_tx_attr = zeroed();
            let rx: *mut fi_rx_attr = zeroed();
            let ep: *mut fi_ep_attr = zeroed();
            let domain: *mut fi_domain_attr = zeroed();
            let fabric: *mut fi_fabric_attr = zeroed();
            if [
                info.cast(),
                tx.cast(),
                rx.cast(),
                ep.cast(),
                domain.cast(),
                fabric.cast(),
            ]
            .contains(&std::ptr::null_mut::<c_void>())
            {
                return -ENOMEM;
            }
            let asked = hints.as_ref();
            let caps = match asked.map_or(0, |hints| hints.caps) {
                0 => CAPS,
                some => directions(some) | DOMAIN_CAPS,
            };
            let asked_tx = asked.and_then(|hints| hints.tx_attr.as_ref());
            let asked_rx = asked.and_then(|hints| hints.rx_attr.as_ref());
            let asked_domain = asked.and_then(|hints| hints.domain_attr.as_ref());
            (*tx).caps = caps & TX_CAPS;
            (*tx).op_flags = asked_tx.map_or(0, |attr| attr.op_flags);
            (*tx).msg_order = ORDERS;
            (*tx).inject_size = EAGER;
            (*tx).size = 1_024;
            (*tx).iov_limit = IOV;
            (*rx).caps = caps & !(SEND | READ | WRITE | DOMAIN_CAPS);
            (*tx).rma_iov_limit = 1;
            (*rx).op_flags = asked_rx.map_or(0, |attr| attr.op_flags);
            (*rx).msg_order = ORDERS;
            (*rx).size = 4_096;
            (*rx).iov_limit = IOV;
            (*ep).r#type = EP_RDM;
            (*ep).protocol = PROV_SPECIFIC | 0x7B;
            (*ep).protocol_version = 1;
            (*ep).max_msg_size = LONGEST;
            (*ep).max_order_raw_size = MOST_ATOMIC;
            (*ep).max_order_war_size = MOST_ATOMIC;
            (*ep).max_order_waw_size = MOST_ATOMIC;
            (*ep).mem_tag_format = TAG_FORMAT;
            (*ep).tx_ctx_cnt = 1;
            (*ep).rx_ctx_cnt = 1;
            (*domain).name = libc::strdup(NAME.as_ptr());
            // Programs compare this with what they asked for.
            (*domain).threading = match asked_domain.map_or(0, |attr| attr.threading) {
                0 => THREAD_SAFE,
                some => some,
            };
            (*domain).control_progress = match asked_domain.map_or(0, |attr| attr.control_progress)
            {
                0 => PROGRESS_AUTO,
                some => some,
            };
            // Programs of interfaces before 1.5 know no bits.
            let before = version < (1 << 16 | 5);
            (*domain).mr_mode = match asked_domain.map_or(0, |attr| attr.mr_mode) {
                MR_SCALABLE => MR_SCALABLE,
                _ if before => MR_SCALABLE,
                _ => 0,
            };
            (*domain).data_progress = match asked_domain.map_or(0, |attr| attr.data_progress) {
                0 => PROGRESS_AUTO,
                some => some,
            };
            (*domain).resource_mgmt = RM_ENABLED;
            (*domain).av_type = match asked_domain.map_or(0, |attr| attr.av_type) {
                0 => AV_TABLE,
                some => some,
            };
            (*domain).mr_key_size = 8;
            (*domain).cq_data_size = 8;
            (*domain).cq_cnt = 64;
            (*domain).cntr_cnt = 64;
            (*domain).ep_cnt = 16;
            (*domain).tx_ctx_cnt = 16;
            (*domain).rx_ctx_cnt = 16;
            (*domain).max_ep_tx_ctx = 1;
            (*domain).max_ep_rx_ctx = 1;
            (*domain).mr_iov_limit = IOV;
            (*domain).mr_cnt = 1 << 16;
            (*domain).caps = DOMAIN_CAPS;
            (*fabric).name = libc::strdup(NAME.as_ptr());
            (*fabric).prov_version = 1 << 16;
            (*fabric).api_version = version;
            (*info).caps = caps;
            (*info).addr_format = PROV_SPECIFIC | 1;
            let places = [
                (
                    &raw mut (*info).src_addr,
                    &raw mut (*info).src_addrlen,
                    Some(own),
                ),
                (
                    &raw mut (*info).dest_addr,
                    &raw mut (*info).dest_addrlen,
                    peer,
                ),
            ];
            for (place, length, address) in places {
                let Some(address) = address else { continue };
                let bytes: *mut u64 = libc::malloc(size_of::<u64>()).cast();
                if bytes.is_null() {
                    return -ENOMEM;
                }
                bytes.write(address);
                place.write(bytes.cast());
                length.write(size_of::<u64>());
            }
            ((*info).tx_attr, (*info).rx_attr, (*info).ep_attr) = (tx, rx, ep);
            ((*info).domain_attr, (*info).fabric_attr) = (domain, fabric);
            out.write(info);
        }
        SUCCESS
    })
}
