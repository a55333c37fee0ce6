//! Layouts of libfabric's C interface, by hand: providers are loaded by libraries of many versions and must not be linked to one.
//! `tests/abi.rs` compares them with the headers where those are installed.

#![allow(
    missing_docs,
    reason = "fields are those of libfabric's headers and manual pages"
)]

use std::ffi::{c_char, c_int, c_void};

pub const SUCCESS: c_int = 0;
pub const EIO: c_int = 5;
pub const EAGAIN: c_int = 11;
pub const ENOMEM: c_int = 12;
pub const EINVAL: c_int = 22;
pub const ENOSYS: c_int = 38;
pub const ENOMSG: c_int = 42;
pub const ENODATA: c_int = 61;
pub const EMSGSIZE: c_int = 90;
pub const EACCES: c_int = 13;
pub const ENODEV: c_int = 19;
pub const ENOPROTOOPT: c_int = 92;
pub const EOPNOTSUPP: c_int = 95;
pub const ETIMEDOUT: c_int = 110;
pub const EHOSTUNREACH: c_int = 113;
pub const ECANCELED: c_int = 125;
pub const EOTHER: c_int = 256;
pub const ETOOSMALL: c_int = 257;
pub const EOPBADSTATE: c_int = 258;
pub const EAVAIL: c_int = 259;
pub const ENOEQ: c_int = 261;
pub const ETRUNC: c_int = 265;
pub const ENOKEY: c_int = 266;

pub const MSG: u64 = 1 << 1;
pub const RMA: u64 = 1 << 2;
pub const ATOMIC: u64 = 1 << 4;
pub const TAGGED: u64 = 1 << 3;
pub const COLLECTIVE: u64 = 1 << 6;
pub const READ: u64 = 1 << 8;
pub const WRITE: u64 = 1 << 9;
pub const RECV: u64 = 1 << 10;
pub const SEND: u64 = 1 << 11;
pub const REMOTE_READ: u64 = 1 << 12;
pub const REMOTE_WRITE: u64 = 1 << 13;
pub const MULTI_RECV: u64 = 1 << 16;
pub const REMOTE_CQ_DATA: u64 = 1 << 17;
pub const PEEK: u64 = 1 << 19;
pub const COMPLETION: u64 = 1 << 24;
pub const INJECT: u64 = 1 << 25;
pub const DELIVERY_COMPLETE: u64 = 1 << 28;
pub const MATCH_COMPLETE: u64 = 1 << 31;
pub const LOCAL_COMM: u64 = 1 << 51;
pub const REMOTE_COMM: u64 = 1 << 52;
pub const RMA_EVENT: u64 = 1 << 56;
pub const SOURCE: u64 = 1 << 57;
pub const DISCARD: u64 = 1 << 58;
pub const DIRECTED_RECV: u64 = 1 << 59;
pub const CLAIM: u64 = 1 << 59;
/// Of a bind: only operations that ask for it complete there.
pub const SELECTIVE_COMPLETION: u64 = 1 << 59;

pub const PROV_SPECIFIC: u32 = 1 << 31;
pub const ADDR_UNSPEC: u64 = u64::MAX;
/// Of a question for operations: they fetch, they compare.
pub const FETCH_ATOMIC: u64 = 1 << 58;
pub const COMPARE_ATOMIC: u64 = 1 << 59;

pub const EP_RDM: c_int = 3;
pub const THREAD_SAFE: c_int = 1;
pub const PROGRESS_AUTO: c_int = 1;
pub const RM_ENABLED: c_int = 2;
pub const AV_TABLE: c_int = 2;
/// What `mr_mode` was before it was bits: the second is what all bits at 0 mean since.
pub const MR_BASIC: c_int = 1;
pub const MR_SCALABLE: c_int = 2;
pub const ORDER_SAS: u64 = 1 << 8;
/// Reads and writes of memory among themselves, behind each other both ways: at all, of FI_RMA, of FI_ATOMIC.
pub const ORDER_MEMORY: u64 = 0b11011 | 0xF << 32 | 0xF << 36;
pub const TAG_FORMAT: u64 = 0xAAAA_AAAA_AAAA_AAAA;

pub const CLASS_FABRIC: usize = 1;
pub const CLASS_DOMAIN: usize = 2;
pub const CLASS_EP: usize = 3;
pub const CLASS_AV: usize = 11;
pub const CLASS_MR: usize = 12;
pub const CLASS_EQ: usize = 13;
pub const CLASS_CQ: usize = 14;
pub const CLASS_CNTR: usize = 15;
pub const CLASS_POLL: usize = 17;
pub const CLASS_MC: usize = 19;
pub const CLASS_AV_SET: usize = 21;

/// Of an event queue.
pub const JOIN_COMPLETE: u32 = 6;
/// Of a set of addresses: all that the vector has.
pub const UNIVERSE: u64 = 1 << 57;

pub const OPT_ENDPOINT: c_int = 0;
pub const OPT_MIN_MULTI_RECV: c_int = 0;
pub const EVENTS_COMP: c_int = 0;

pub const COMMAND_GETOPSFLAG: c_int = 2;
pub const COMMAND_SETOPSFLAG: c_int = 3;
pub const COMMAND_GETWAIT: c_int = 5;
pub const COMMAND_ENABLE: c_int = 6;

pub const FORMAT_CONTEXT: c_int = 1;
pub const FORMAT_MSG: c_int = 2;
pub const FORMAT_DATA: c_int = 3;
pub const FORMAT_TAGGED: c_int = 4;
pub const WAIT_NONE: c_int = 0;
pub const WAIT_UNSPEC: c_int = 1;
pub const WAIT_FD: c_int = 3;
pub const WAIT_YIELD: c_int = 5;

/// A structure of C with public fields.
macro_rules! layouts {
    ($($name:ident { $($field:ident: $of:ty),+ $(,)? })+) => {
        $(
            #[repr(C)]
            #[derive(Clone, Copy)]
            pub struct $name { $(pub $field: $of),+ }

            impl $name {
                /// Name, bytes, and names and offsets of the fields.
                pub const LAYOUT: (&str, usize, &[(&str, usize)]) = (
                    stringify!($name),
                    size_of::<$name>(),
                    &[$((stringify!($field), std::mem::offset_of!($name, $field))),+],
                );
            }
        )+

        /// Of all structures.
        pub const LAYOUTS: &[(&str, usize, &[(&str, usize)])] = &[$($name::LAYOUT),+];
    };
}

/// A function that is not there.
pub type Missing = *const c_void;
type Fid = *mut fid;

#[allow(non_camel_case_types, reason = "names of C")]
mod types {
    use super::*;

    layouts! {
        fid { fclass: usize, context: *mut c_void, ops: *const fi_ops }
        fi_ops {
            size: usize,
            close: Option<unsafe extern "C" fn(Fid) -> c_int>,
            bind: Option<unsafe extern "C" fn(Fid, Fid, u64) -> c_int>,
            control: Option<unsafe extern "C" fn(Fid, c_int, *mut c_void) -> c_int>,
            ops_open: Missing,
            tostr: Missing,
            ops_set: Missing,
        }
        fi_tx_attr {
            caps: u64, mode: u64, op_flags: u64, msg_order: u64, comp_order: u64,
            inject_size: usize, size: usize, iov_limit: usize, rma_iov_limit: usize, tclass: u32,
        }
        fi_rx_attr {
            caps: u64, mode: u64, op_flags: u64, msg_order: u64, comp_order: u64,
            total_buffered_recv: usize, size: usize, iov_limit: usize,
        }
        fi_ep_attr {
            r#type: c_int, protocol: u32, protocol_version: u32, max_msg_size: usize, msg_prefix_size: usize,
            max_order_raw_size: usize, max_order_war_size: usize, max_order_waw_size: usize,
            mem_tag_format: u64, tx_ctx_cnt: usize, rx_ctx_cnt: usize, auth_key_size: usize, auth_key: *mut u8,
        }
        fi_domain_attr {
            domain: Fid, name: *mut c_char, threading: c_int, control_progress: c_int, data_progress: c_int,
            resource_mgmt: c_int, av_type: c_int, mr_mode: c_int, mr_key_size: usize, cq_data_size: usize,
            cq_cnt: usize, ep_cnt: usize, tx_ctx_cnt: usize, rx_ctx_cnt: usize, max_ep_tx_ctx: usize,
            max_ep_rx_ctx: usize, max_ep_stx_ctx: usize, max_ep_srx_ctx: usize, cntr_cnt: usize,
            mr_iov_limit: usize, caps: u64, mode: u64, auth_key: *mut u8, auth_key_size: usize,
            max_err_data: usize, mr_cnt: usize, tclass: u32,
        }
        fi_fabric_attr {
            fabric: Fid, name: *mut c_char, prov_name: *mut c_char, prov_version: u32, api_version: u32,
        }
        fi_info {
            next: *mut fi_info, caps: u64, mode: u64, addr_format: u32, src_addrlen: usize, dest_addrlen: usize,
            src_addr: *mut c_void, dest_addr: *mut c_void, handle: Fid, tx_attr: *mut fi_tx_attr,
            rx_attr: *mut fi_rx_attr, ep_attr: *mut fi_ep_attr, domain_attr: *mut fi_domain_attr,
            fabric_attr: *mut fi_fabric_attr, nic: *mut c_void,
        }
        fi_context { internal: [*mut c_void; 4] }
        fi_provider {
            version: u32, fi_version: u32, context: fi_context, name: *const c_char,
            getinfo: unsafe extern "C" fn(u32, *const c_char, *const c_char, u64, *const fi_info, *mut *mut fi_info) -> c_int,
            fabric: unsafe extern "C" fn(*mut fi_fabric_attr, *mut *mut fid_fabric, *mut c_void) -> c_int,
            cleanup: unsafe extern "C" fn(),
        }
        fid_fabric { fid: fid, ops: *const fi_ops_fabric, api_version: u32 }
        fi_ops_fabric {
            size: usize,
            domain: unsafe extern "C" fn(*mut fid_fabric, *mut fi_info, *mut *mut fid_domain, *mut c_void) -> c_int,
            passive_ep: unsafe extern "C" fn() -> c_int,
            eq_open: unsafe extern "C" fn(*mut fid_fabric, *const fi_eq_attr, *mut *mut fid_eq, *mut c_void) -> c_int,
            wait_open: unsafe extern "C" fn() -> c_int,
            trywait: unsafe extern "C" fn(*mut fid_fabric, *mut Fid, c_int) -> c_int,
            domain2: Missing,
        }
        fid_domain { fid: fid, ops: *const fi_ops_domain, mr: *const fi_ops_mr }
        fi_ops_mr {
            size: usize,
            reg: unsafe extern "C" fn(Fid, *const c_void, usize, u64, u64, u64, u64, *mut *mut fid_mr, *mut c_void) -> c_int,
            regv: unsafe extern "C" fn(Fid, *const libc::iovec, usize, u64, u64, u64, u64, *mut *mut fid_mr, *mut c_void) -> c_int,
            regattr: unsafe extern "C" fn(Fid, *const fi_mr_attr, u64, *mut *mut fid_mr) -> c_int,
        }
        fid_mr { fid: fid, mem_desc: *mut c_void, key: u64 }
        fi_mr_attr {
            mr_iov: *const libc::iovec, iov_count: usize, access: u64, offset: u64, requested_key: u64, context: *mut c_void,
        }
        fi_ioc { addr: *mut c_void, count: usize }
        fi_rma_ioc { addr: u64, count: usize, key: u64 }
        fi_msg_atomic {
            msg_iov: *const fi_ioc, desc: *mut *mut c_void, iov_count: usize, addr: u64, rma_iov: *const fi_rma_ioc,
            rma_iov_count: usize, datatype: u32, op: u32, context: *mut c_void, data: u64,
        }
        fi_atomic_attr { count: usize, size: usize }
        fi_ops_atomic {
            size: usize,
            write: unsafe extern "C" fn(*mut fid_ep, *const c_void, usize, *mut c_void, u64, u64, u64, u32, u32, *mut c_void) -> isize,
            writev: unsafe extern "C" fn(*mut fid_ep, *const fi_ioc, *mut *mut c_void, usize, u64, u64, u64, u32, u32, *mut c_void) -> isize,
            writemsg: unsafe extern "C" fn(*mut fid_ep, *const fi_msg_atomic, u64) -> isize,
            inject: unsafe extern "C" fn(*mut fid_ep, *const c_void, usize, u64, u64, u64, u32, u32) -> isize,
            readwrite: unsafe extern "C" fn(*mut fid_ep, *const c_void, usize, *mut c_void, *mut c_void, *mut c_void, u64, u64, u64, u32, u32, *mut c_void) -> isize,
            readwritev: unsafe extern "C" fn(*mut fid_ep, *const fi_ioc, *mut *mut c_void, usize, *const fi_ioc, *mut *mut c_void, usize, u64, u64, u64, u32, u32, *mut c_void) -> isize,
            readwritemsg: unsafe extern "C" fn(*mut fid_ep, *const fi_msg_atomic, *const fi_ioc, *mut *mut c_void, usize, u64) -> isize,
            compwrite: unsafe extern "C" fn(*mut fid_ep, *const c_void, usize, *mut c_void, *const c_void, *mut c_void, *mut c_void, *mut c_void, u64, u64, u64, u32, u32, *mut c_void) -> isize,
            compwritev: unsafe extern "C" fn(*mut fid_ep, *const fi_ioc, *mut *mut c_void, usize, *const fi_ioc, *mut *mut c_void, usize, *const fi_ioc, *mut *mut c_void, usize, u64, u64, u64, u32, u32, *mut c_void) -> isize,
            compwritemsg: unsafe extern "C" fn(*mut fid_ep, *const fi_msg_atomic, *const fi_ioc, *mut *mut c_void, usize, *const fi_ioc, *mut *mut c_void, usize, u64) -> isize,
            writevalid: unsafe extern "C" fn(*mut fid_ep, u32, u32, *mut usize) -> c_int,
            readwritevalid: unsafe extern "C" fn(*mut fid_ep, u32, u32, *mut usize) -> c_int,
            compwritevalid: unsafe extern "C" fn(*mut fid_ep, u32, u32, *mut usize) -> c_int,
        }
        fi_rma_iov { addr: u64, len: usize, key: u64 }
        fi_msg_rma {
            msg_iov: *const libc::iovec, desc: *mut *mut c_void, iov_count: usize, addr: u64, rma_iov: *const fi_rma_iov,
            rma_iov_count: usize, context: *mut c_void, data: u64,
        }
        fi_ops_rma {
            size: usize,
            read: unsafe extern "C" fn(*mut fid_ep, *mut c_void, usize, *mut c_void, u64, u64, u64, *mut c_void) -> isize,
            readv: unsafe extern "C" fn(*mut fid_ep, *const libc::iovec, *mut *mut c_void, usize, u64, u64, u64, *mut c_void) -> isize,
            readmsg: unsafe extern "C" fn(*mut fid_ep, *const fi_msg_rma, u64) -> isize,
            write: unsafe extern "C" fn(*mut fid_ep, *const c_void, usize, *mut c_void, u64, u64, u64, *mut c_void) -> isize,
            writev: unsafe extern "C" fn(*mut fid_ep, *const libc::iovec, *mut *mut c_void, usize, u64, u64, u64, *mut c_void) -> isize,
            writemsg: unsafe extern "C" fn(*mut fid_ep, *const fi_msg_rma, u64) -> isize,
            inject: unsafe extern "C" fn(*mut fid_ep, *const c_void, usize, u64, u64, u64) -> isize,
            writedata: unsafe extern "C" fn(*mut fid_ep, *const c_void, usize, *mut c_void, u64, u64, u64, u64, *mut c_void) -> isize,
            injectdata: unsafe extern "C" fn(*mut fid_ep, *const c_void, usize, u64, u64, u64, u64) -> isize,
        }
        fi_ops_domain {
            size: usize,
            av_open: unsafe extern "C" fn(*mut fid_domain, *mut c_void, *mut *mut fid_av, *mut c_void) -> c_int,
            cq_open: unsafe extern "C" fn(*mut fid_domain, *mut fi_cq_attr, *mut *mut fid_cq, *mut c_void) -> c_int,
            endpoint: unsafe extern "C" fn(*mut fid_domain, *mut fi_info, *mut *mut fid_ep, *mut c_void) -> c_int,
            scalable_ep: unsafe extern "C" fn() -> c_int,
            cntr_open: unsafe extern "C" fn(*mut fid_domain, *mut fi_cntr_attr, *mut *mut fid_cntr, *mut c_void) -> c_int,
            poll_open: unsafe extern "C" fn(*mut fid_domain, *mut fi_poll_attr, *mut *mut fid_poll) -> c_int,
            stx_ctx: unsafe extern "C" fn() -> c_int,
            srx_ctx: unsafe extern "C" fn() -> c_int,
            query_atomic: unsafe extern "C" fn(*mut fid_domain, u32, u32, *mut fi_atomic_attr, u64) -> c_int,
            query_collective: unsafe extern "C" fn(*mut fid_domain, u32, *mut fi_collective_attr, u64) -> c_int,
            endpoint2: Missing,
        }
        fid_av { fid: fid, ops: *const fi_ops_av }
        fi_ops_av {
            size: usize,
            insert: unsafe extern "C" fn(*mut fid_av, *const c_void, usize, *mut u64, u64, *mut c_void) -> c_int,
            insertsvc: unsafe extern "C" fn(*mut fid_av, *const c_char, *const c_char, *mut u64, u64, *mut c_void) -> c_int,
            insertsym: unsafe extern "C" fn() -> c_int,
            remove: unsafe extern "C" fn(*mut fid_av, *mut u64, usize, u64) -> c_int,
            lookup: unsafe extern "C" fn(*mut fid_av, u64, *mut c_void, *mut usize) -> c_int,
            straddr: unsafe extern "C" fn(*mut fid_av, *const c_void, *mut c_char, *mut usize) -> *const c_char,
            av_set: unsafe extern "C" fn(*mut fid_av, *const fi_av_set_attr, *mut *mut fid_av_set, *mut c_void) -> c_int,
        }
        fi_av_set_attr {
            count: usize, start_addr: u64, end_addr: u64, stride: u64, comm_key_size: usize, comm_key: *const u8, flags: u64,
        }
        fid_av_set { fid: fid, ops: *const fi_ops_av_set }
        fi_ops_av_set {
            size: usize,
            set_union: unsafe extern "C" fn(*mut fid_av_set, *const fid_av_set) -> c_int,
            intersect: unsafe extern "C" fn(*mut fid_av_set, *const fid_av_set) -> c_int,
            diff: unsafe extern "C" fn(*mut fid_av_set, *const fid_av_set) -> c_int,
            insert: unsafe extern "C" fn(*mut fid_av_set, u64) -> c_int,
            remove: unsafe extern "C" fn(*mut fid_av_set, u64) -> c_int,
            addr: unsafe extern "C" fn(*mut fid_av_set, *mut u64) -> c_int,
        }
        fid_mc { fid: fid, fi_addr: u64 }
        fi_collective_addr { set: *const fid_av_set, coll_addr: u64 }
        fi_collective_attr { op: u32, datatype: u32, datatype_attr: fi_atomic_attr, max_members: usize, mode: u64 }
        fi_ops_collective {
            size: usize,
            barrier: unsafe extern "C" fn(*mut fid_ep, u64, *mut c_void) -> isize,
            broadcast: unsafe extern "C" fn(*mut fid_ep, *mut c_void, usize, *mut c_void, u64, u64, u32, u64, *mut c_void) -> isize,
            alltoall: unsafe extern "C" fn() -> isize,
            allreduce: unsafe extern "C" fn(*mut fid_ep, *const c_void, usize, *mut c_void, *mut c_void, *mut c_void, u64, u32, u32, u64, *mut c_void) -> isize,
            allgather: unsafe extern "C" fn(*mut fid_ep, *const c_void, usize, *mut c_void, *mut c_void, *mut c_void, u64, u32, u64, *mut c_void) -> isize,
            reduce_scatter: unsafe extern "C" fn() -> isize,
            reduce: unsafe extern "C" fn(*mut fid_ep, *const c_void, usize, *mut c_void, *mut c_void, *mut c_void, u64, u64, u32, u32, u64, *mut c_void) -> isize,
            scatter: unsafe extern "C" fn(*mut fid_ep, *const c_void, usize, *mut c_void, *mut c_void, *mut c_void, u64, u64, u32, u64, *mut c_void) -> isize,
            gather: unsafe extern "C" fn(*mut fid_ep, *const c_void, usize, *mut c_void, *mut c_void, *mut c_void, u64, u64, u32, u64, *mut c_void) -> isize,
            msg: unsafe extern "C" fn() -> isize,
            barrier2: unsafe extern "C" fn(*mut fid_ep, u64, u64, *mut c_void) -> isize,
        }
        fi_cq_attr {
            size: usize, flags: u64, format: c_int, wait_obj: c_int, signaling_vector: c_int, wait_cond: c_int,
            wait_set: *mut c_void,
        }
        fi_cq_tagged_entry { op_context: *mut c_void, flags: u64, len: usize, buf: *mut c_void, data: u64, tag: u64 }
        fi_cq_err_entry {
            op_context: *mut c_void, flags: u64, len: usize, buf: *mut c_void, data: u64, tag: u64, olen: usize,
            err: c_int, prov_errno: c_int, err_data: *mut c_void, err_data_size: usize,
        }
        fi_eq_attr { size: usize, flags: u64, wait_obj: c_int, signaling_vector: c_int, wait_set: *mut c_void }
        fi_eq_entry { fid: Fid, context: *mut c_void, data: u64 }
        fi_eq_err_entry {
            fid: Fid, context: *mut c_void, data: u64, err: c_int, prov_errno: c_int, err_data: *mut c_void, err_data_size: usize,
        }
        fid_eq { fid: fid, ops: *const fi_ops_eq }
        fi_ops_eq {
            size: usize,
            read: unsafe extern "C" fn(*mut fid_eq, *mut u32, *mut c_void, usize, u64) -> isize,
            readerr: unsafe extern "C" fn(*mut fid_eq, *mut fi_eq_err_entry, u64) -> isize,
            write: unsafe extern "C" fn(*mut fid_eq, u32, *const c_void, usize, u64) -> isize,
            sread: unsafe extern "C" fn(*mut fid_eq, *mut u32, *mut c_void, usize, c_int, u64) -> isize,
            strerror: unsafe extern "C" fn(*mut fid_eq, c_int, *const c_void, *mut c_char, usize) -> *const c_char,
        }
        fid_cq { fid: fid, ops: *const fi_ops_cq }
        fi_ops_cq {
            size: usize,
            read: unsafe extern "C" fn(*mut fid_cq, *mut c_void, usize) -> isize,
            readfrom: unsafe extern "C" fn(*mut fid_cq, *mut c_void, usize, *mut u64) -> isize,
            readerr: unsafe extern "C" fn(*mut fid_cq, *mut fi_cq_err_entry, u64) -> isize,
            sread: unsafe extern "C" fn(*mut fid_cq, *mut c_void, usize, *const c_void, c_int) -> isize,
            sreadfrom: unsafe extern "C" fn(*mut fid_cq, *mut c_void, usize, *mut u64, *const c_void, c_int) -> isize,
            signal: unsafe extern "C" fn(*mut fid_cq) -> c_int,
            strerror: unsafe extern "C" fn(*mut fid_cq, c_int, *const c_void, *mut c_char, usize) -> *const c_char,
        }
        fi_poll_attr { flags: u64 }
        fid_poll { fid: fid, ops: *const fi_ops_poll }
        fi_ops_poll {
            size: usize,
            poll: unsafe extern "C" fn(*mut fid_poll, *mut *mut c_void, c_int) -> c_int,
            poll_add: unsafe extern "C" fn(*mut fid_poll, Fid, u64) -> c_int,
            poll_del: unsafe extern "C" fn(*mut fid_poll, Fid, u64) -> c_int,
        }
        fi_cntr_attr { events: c_int, wait_obj: c_int, wait_set: *mut c_void, flags: u64 }
        fid_cntr { fid: fid, ops: *const fi_ops_cntr }
        fi_ops_cntr {
            size: usize,
            read: unsafe extern "C" fn(*mut fid_cntr) -> u64,
            readerr: unsafe extern "C" fn(*mut fid_cntr) -> u64,
            add: unsafe extern "C" fn(*mut fid_cntr, u64) -> c_int,
            set: unsafe extern "C" fn(*mut fid_cntr, u64) -> c_int,
            wait: unsafe extern "C" fn(*mut fid_cntr, u64, c_int) -> c_int,
            adderr: unsafe extern "C" fn(*mut fid_cntr, u64) -> c_int,
            seterr: unsafe extern "C" fn(*mut fid_cntr, u64) -> c_int,
        }
        fid_ep {
            fid: fid, ops: *const fi_ops_ep, cm: *const fi_ops_cm, msg: *const fi_ops_msg, rma: *const fi_ops_rma,
            tagged: *const fi_ops_tagged, atomic: *const fi_ops_atomic,
            collective: *const fi_ops_collective,
        }
        fi_ops_ep {
            size: usize,
            cancel: unsafe extern "C" fn(Fid, *mut c_void) -> isize,
            getopt: unsafe extern "C" fn(Fid, c_int, c_int, *mut c_void, *mut usize) -> c_int,
            setopt: unsafe extern "C" fn(Fid, c_int, c_int, *const c_void, usize) -> c_int,
            tx_ctx: unsafe extern "C" fn() -> c_int,
            rx_ctx: unsafe extern "C" fn() -> c_int,
            rx_size_left: unsafe extern "C" fn() -> isize,
            tx_size_left: unsafe extern "C" fn() -> isize,
        }
        fi_ops_cm {
            size: usize,
            setname: unsafe extern "C" fn() -> c_int,
            getname: unsafe extern "C" fn(Fid, *mut c_void, *mut usize) -> c_int,
            getpeer: unsafe extern "C" fn() -> c_int,
            connect: unsafe extern "C" fn() -> c_int,
            listen: unsafe extern "C" fn() -> c_int,
            accept: unsafe extern "C" fn() -> c_int,
            reject: unsafe extern "C" fn() -> c_int,
            shutdown: unsafe extern "C" fn() -> c_int,
            join: unsafe extern "C" fn(*mut fid_ep, *const c_void, u64, *mut *mut fid_mc, *mut c_void) -> c_int,
        }
        fi_msg {
            msg_iov: *const libc::iovec, desc: *mut *mut c_void, iov_count: usize, addr: u64, context: *mut c_void, data: u64,
        }
        fi_msg_tagged {
            msg_iov: *const libc::iovec, desc: *mut *mut c_void, iov_count: usize, addr: u64, tag: u64, ignore: u64,
            context: *mut c_void, data: u64,
        }
        fi_ops_msg {
            size: usize,
            recv: unsafe extern "C" fn(*mut fid_ep, *mut c_void, usize, *mut c_void, u64, *mut c_void) -> isize,
            recvv: unsafe extern "C" fn(*mut fid_ep, *const libc::iovec, *mut *mut c_void, usize, u64, *mut c_void) -> isize,
            recvmsg: unsafe extern "C" fn(*mut fid_ep, *const fi_msg, u64) -> isize,
            send: unsafe extern "C" fn(*mut fid_ep, *const c_void, usize, *mut c_void, u64, *mut c_void) -> isize,
            sendv: unsafe extern "C" fn(*mut fid_ep, *const libc::iovec, *mut *mut c_void, usize, u64, *mut c_void) -> isize,
            sendmsg: unsafe extern "C" fn(*mut fid_ep, *const fi_msg, u64) -> isize,
            inject: unsafe extern "C" fn(*mut fid_ep, *const c_void, usize, u64) -> isize,
            senddata: unsafe extern "C" fn(*mut fid_ep, *const c_void, usize, *mut c_void, u64, u64, *mut c_void) -> isize,
            injectdata: unsafe extern "C" fn(*mut fid_ep, *const c_void, usize, u64, u64) -> isize,
        }
        fi_ops_tagged {
            size: usize,
            recv: unsafe extern "C" fn(*mut fid_ep, *mut c_void, usize, *mut c_void, u64, u64, u64, *mut c_void) -> isize,
            recvv: unsafe extern "C" fn(*mut fid_ep, *const libc::iovec, *mut *mut c_void, usize, u64, u64, u64, *mut c_void) -> isize,
            recvmsg: unsafe extern "C" fn(*mut fid_ep, *const fi_msg_tagged, u64) -> isize,
            send: unsafe extern "C" fn(*mut fid_ep, *const c_void, usize, *mut c_void, u64, u64, *mut c_void) -> isize,
            sendv: unsafe extern "C" fn(*mut fid_ep, *const libc::iovec, *mut *mut c_void, usize, u64, u64, *mut c_void) -> isize,
            sendmsg: unsafe extern "C" fn(*mut fid_ep, *const fi_msg_tagged, u64) -> isize,
            inject: unsafe extern "C" fn(*mut fid_ep, *const c_void, usize, u64, u64) -> isize,
            senddata: unsafe extern "C" fn(*mut fid_ep, *const c_void, usize, *mut c_void, u64, u64, u64, *mut c_void) -> isize,
            injectdata: unsafe extern "C" fn(*mut fid_ep, *const c_void, usize, u64, u64, u64) -> isize,
        }
    }
}
pub use types::*;
