//! Handles of MPICH and of the libraries that share its binary interface, Intel MPI among them: numbers that never change.

use std::ffi::{CStr, c_char, c_int, c_void};

use super::known::{
    BYTES, Known, REAL, REAL_PLACED, Requests, SIGNED, SIGNED_PLACED, TRUTH, UNSIGNED, Work,
};
use super::{Handle, symbol, typed};

/// Types: handle, class and bytes. Those of one number have their bytes in bits 15:8.
const TYPES: [(usize, u8, u8); 40] = [
    (0x4C00_040A, REAL, 4),           // FLOAT
    (0x4C00_080B, REAL, 8),           // DOUBLE
    (0x4C00_0118, SIGNED, 1),         // SIGNED_CHAR
    (0x4C00_0203, SIGNED, 2),         // SHORT
    (0x4C00_0405, SIGNED, 4),         // INT
    (0x4C00_0807, SIGNED, 8),         // LONG
    (0x4C00_0809, SIGNED, 8),         // LONG_LONG_INT
    (0x4C00_0102, UNSIGNED, 1),       // UNSIGNED_CHAR
    (0x4C00_0204, UNSIGNED, 2),       // UNSIGNED_SHORT
    (0x4C00_0406, UNSIGNED, 4),       // UNSIGNED
    (0x4C00_0808, UNSIGNED, 8),       // UNSIGNED_LONG
    (0x4C00_0819, UNSIGNED, 8),       // UNSIGNED_LONG_LONG
    (0x4C00_0137, SIGNED, 1),         // INT8_T
    (0x4C00_0238, SIGNED, 2),         // INT16_T
    (0x4C00_0439, SIGNED, 4),         // INT32_T
    (0x4C00_083A, SIGNED, 8),         // INT64_T
    (0x4C00_013B, UNSIGNED, 1),       // UINT8_T
    (0x4C00_023C, UNSIGNED, 2),       // UINT16_T
    (0x4C00_043D, UNSIGNED, 4),       // UINT32_T
    (0x4C00_083E, UNSIGNED, 8),       // UINT64_T
    (0x4C00_0843, SIGNED, 8),         // AINT
    (0x4C00_0844, SIGNED, 8),         // OFFSET
    (0x4C00_0845, SIGNED, 8),         // COUNT
    (0x4C00_010D, BYTES, 1),          // BYTE
    (0x4C00_013F, TRUTH, 1),          // C_BOOL
    (0x4C00_0133, TRUTH, 1),          // CXX_BOOL
    (0x4C00_041B, SIGNED, 4),         // INTEGER
    (0x4C00_012D, SIGNED, 1),         // INTEGER1
    (0x4C00_022F, SIGNED, 2),         // INTEGER2
    (0x4C00_0430, SIGNED, 4),         // INTEGER4
    (0x4C00_0831, SIGNED, 8),         // INTEGER8
    (0x4C00_041C, REAL, 4),           // REAL
    (0x4C00_0427, REAL, 4),           // REAL4
    (0x4C00_0829, REAL, 8),           // REAL8
    (0x4C00_081F, REAL, 8),           // DOUBLE_PRECISION
    (0x4C00_041D, TRUTH, 4),          // LOGICAL
    (0x8C00_0000, REAL_PLACED, 8),    // FLOAT_INT
    (0x8C00_0001, REAL_PLACED, 16),   // DOUBLE_INT
    (0x4C00_0816, SIGNED_PLACED, 8),  // 2INT
    (0x8C00_0002, SIGNED_PLACED, 16), // LONG_INT
];

/// Operations, in the order of the provider's numbers: sum, min, max, band, bor, bxor, land, lor, lxor, minloc, maxloc.
const OPS: [usize; 11] = [
    0x5800_0003,
    0x5800_0002,
    0x5800_0001,
    0x5800_0006,
    0x5800_0008,
    0x5800_000A,
    0x5800_0005,
    0x5800_0007,
    0x5800_0009,
    0x5800_000B,
    0x5800_000C,
];

const COMM_NULL: usize = 0x0400_0000;
const COMM_WORLD: usize = 0x4400_0000;
const COMM_SELF: usize = 0x4400_0001;
const DATATYPE_NULL: usize = 0x0C00_0000;
const UINT64: usize = 0x4C00_083E;
const INT32: usize = 0x4C00_0439;
const ANY_SOURCE: c_int = -2;
const ANY_TAG: c_int = -1;
const STATUS_IGNORE: *mut c_void = std::ptr::without_provenance_mut(1);
const ERR_REQUEST: c_int = 19;
const ERR_OTHER: c_int = 15;
/// Room for the version of a library.
const VERSION_MAX: usize = 8_192;

/// Whether the library of this process says that it is one of these.
fn is_here() -> bool {
    let Some(version) = Some(symbol(c"PMPI_Get_library_version")).filter(|at| !at.is_null()) else {
        return false;
    };
    // The same library with the handles of the MPI standard is another file.
    let mut place: libc::Dl_info = unsafe {
        // SAFETY: plain data.
        std::mem::zeroed()
    };
    // SAFETY: an address of a library, and room.
    let found = unsafe { libc::dladdr(version, &raw mut place) } != 0;
    if !found || place.dli_fname.is_null() {
        return false;
    }
    // SAFETY: a text of the loader.
    let file = unsafe { CStr::from_ptr(place.dli_fname) };
    if file.to_string_lossy().contains("_abi") {
        return false;
    }
    // SAFETY: MPI's function of this name has this type.
    let version: unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int = unsafe { typed(version) };
    let (mut text, mut length) = (vec![0u8; VERSION_MAX], 0);
    // SAFETY: room for the longest, which MPI says.
    unsafe { version(text.as_mut_ptr().cast(), &raw mut length) };
    let text = String::from_utf8_lossy(&text);
    text.starts_with("MPICH Version") || text.starts_with("Intel(R) MPI")
}

pub(super) fn find() -> Option<Known> {
    if !is_here() {
        return None;
    }
    let at = |name: &CStr| Some(symbol(name)).filter(|at| !at.is_null());
    let handle = |number| -> Handle { std::ptr::without_provenance_mut(number) };
    // SAFETY: MPI's function of this name has this type.
    let work = at(c"PMPI_Iprobe").map(|at| Work::Probe {
        probe: unsafe { typed(at) },
        anybody: ANY_SOURCE,
        any_tag: ANY_TAG,
        comm: handle(COMM_WORLD),
        ignore: STATUS_IGNORE,
    });
    // SAFETY: MPICH's function of this name has this type.
    let requests = at(c"PMPIX_Grequest_start").map(|at| Requests::Polled(unsafe { typed(at) }));
    Some(Known {
        numbers: true,
        types: TYPES.to_vec(),
        ops: OPS.to_vec(),
        comm_null: COMM_NULL,
        comm_self: handle(COMM_SELF),
        datatype_null: DATATYPE_NULL,
        uint64: handle(UINT64),
        int32: handle(INT32),
        min: handle(OPS[1]),
        in_place: std::ptr::without_provenance(usize::MAX),
        err_request: ERR_REQUEST,
        err_other: ERR_OTHER,
        // Its wrappers call the names of C.
        fortran: None,
        work,
        requests,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cl_09_numbers_of_types_say_their_bytes() {
        for (handle, _, bytes) in TYPES.iter().filter(|of| of.0 >> 24 == 0x4C) {
            assert_eq!(handle >> 8 & 0xFF, usize::from(*bytes), "{handle:x}");
        }
        let mut handles: Vec<usize> = TYPES.iter().map(|of| of.0).collect();
        handles.sort_unstable();
        handles.dedup();
        assert_eq!(handles.len(), TYPES.len());
    }
}
