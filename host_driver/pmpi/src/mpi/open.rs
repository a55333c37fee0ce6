//! Handles of Open MPI 4 and 5, and what programs in Fortran give it.

use std::ffi::{CStr, c_int, c_void};

use super::known::{
    BYTES, Known, REAL, REAL_PLACED, Requests, SIGNED, SIGNED_PLACED, TRUTH, UNSIGNED, Work,
};
use super::{Handle, SUCCESS, Sizes, function, symbol, typed};

/// Symbols of types: class and bytes. Those of Fortran depend on how the library was built: others than these are not used.
const TYPES: [(&CStr, u8, u8); 40] = [
    (c"ompi_mpi_float", REAL, 4),
    (c"ompi_mpi_double", REAL, 8),
    (c"ompi_mpi_signed_char", SIGNED, 1),
    (c"ompi_mpi_short", SIGNED, 2),
    (c"ompi_mpi_int", SIGNED, 4),
    (c"ompi_mpi_long", SIGNED, 8),
    (c"ompi_mpi_long_long_int", SIGNED, 8),
    (c"ompi_mpi_unsigned_char", UNSIGNED, 1),
    (c"ompi_mpi_unsigned_short", UNSIGNED, 2),
    (c"ompi_mpi_unsigned", UNSIGNED, 4),
    (c"ompi_mpi_unsigned_long", UNSIGNED, 8),
    (c"ompi_mpi_unsigned_long_long", UNSIGNED, 8),
    (c"ompi_mpi_int8_t", SIGNED, 1),
    (c"ompi_mpi_int16_t", SIGNED, 2),
    (c"ompi_mpi_int32_t", SIGNED, 4),
    (c"ompi_mpi_int64_t", SIGNED, 8),
    (c"ompi_mpi_uint8_t", UNSIGNED, 1),
    (c"ompi_mpi_uint16_t", UNSIGNED, 2),
    (c"ompi_mpi_uint32_t", UNSIGNED, 4),
    (c"ompi_mpi_uint64_t", UNSIGNED, 8),
    (c"ompi_mpi_aint", SIGNED, 8),
    (c"ompi_mpi_offset", SIGNED, 8),
    (c"ompi_mpi_count", SIGNED, 8),
    (c"ompi_mpi_byte", BYTES, 1),
    (c"ompi_mpi_c_bool", TRUTH, 1),
    (c"ompi_mpi_cxx_bool", TRUTH, 1),
    (c"ompi_mpi_integer", SIGNED, 4),
    (c"ompi_mpi_integer1", SIGNED, 1),
    (c"ompi_mpi_integer2", SIGNED, 2),
    (c"ompi_mpi_integer4", SIGNED, 4),
    (c"ompi_mpi_integer8", SIGNED, 8),
    (c"ompi_mpi_real", REAL, 4),
    (c"ompi_mpi_real4", REAL, 4),
    (c"ompi_mpi_real8", REAL, 8),
    (c"ompi_mpi_dblprec", REAL, 8),
    (c"ompi_mpi_logical", TRUTH, 4),
    (c"ompi_mpi_float_int", REAL_PLACED, 8),
    (c"ompi_mpi_double_int", REAL_PLACED, 16),
    (c"ompi_mpi_2int", SIGNED_PLACED, 8),
    (c"ompi_mpi_long_int", SIGNED_PLACED, 16),
];
/// Symbols of operations, in the order of the provider's numbers.
const OPS: [&CStr; 11] = [
    c"ompi_mpi_op_sum",
    c"ompi_mpi_op_min",
    c"ompi_mpi_op_max",
    c"ompi_mpi_op_band",
    c"ompi_mpi_op_bor",
    c"ompi_mpi_op_bxor",
    c"ompi_mpi_op_land",
    c"ompi_mpi_op_lor",
    c"ompi_mpi_op_lxor",
    c"ompi_mpi_op_minloc",
    c"ompi_mpi_op_maxloc",
];

/// MPI_IN_PLACE.
const IN_PLACE: *const c_void = std::ptr::without_provenance(1);
const ERR_REQUEST: c_int = 7;
const ERR_OTHER: c_int = 16;

/// What the arguments of Fortran mean.
pub struct Fortran {
    pub comm: unsafe extern "C" fn(c_int) -> Handle,
    pub datatype: unsafe extern "C" fn(c_int) -> Handle,
    pub op: unsafe extern "C" fn(c_int) -> Handle,
    /// The other way.
    pub request: unsafe extern "C" fn(Handle) -> c_int,
    /// MPI_IN_PLACE and MPI_BOTTOM are variables, known by their addresses.
    in_place: Option<usize>,
    bottom: Option<usize>,
}

impl Fortran {
    /// A buffer as C would give it.
    pub fn buffer(&self, at: *mut c_void) -> *mut c_void {
        match Some(at as usize) {
            address if address == self.in_place => IN_PLACE.cast_mut(),
            address if address == self.bottom => std::ptr::null_mut(),
            _ => at,
        }
    }
}

pub(super) fn find(type_size: Sizes) -> Option<Known> {
    let at = |name: &CStr| Some(symbol(name)).filter(|at| !at.is_null());
    at(c"ompi_mpi_comm_null")?;
    let sized = |datatype: Handle, bytes: u8| {
        let mut size = 0;
        // SAFETY: a predefined type; the program has begun MPI, or it could not call what this library has.
        let code = unsafe { type_size(datatype, &raw mut size) };
        code == SUCCESS && size == c_int::from(bytes)
    };
    // SAFETY: the function takes and returns nothing.
    let work = at(c"opal_progress").map(|at| Work::Function(unsafe { typed(at) }));
    // SAFETY: Open MPI's function of this name has this type.
    let requests =
        at(c"opal_progress_register").map(|at| Requests::Registered(unsafe { typed(at) }));
    let types = TYPES.iter().filter_map(|(name, class, size)| {
        // What fills the memory between pairs does not count for MPI.
        let counted = match *class {
            REAL_PLACED | SIGNED_PLACED => *size / 2 + 4,
            _ => *size,
        };
        let datatype = at(name).filter(|datatype| sized(*datatype, counted))?;
        Some((datatype as usize, *class, *size))
    });
    // Compilers differ in what they add to a name.
    let variable = |names: [&CStr; 2]| names.into_iter().find_map(at).map(|at| at as usize);
    let fortran = Fortran {
        comm: function!(c"PMPI_Comm_f2c"),
        datatype: function!(c"PMPI_Type_f2c"),
        op: function!(c"PMPI_Op_f2c"),
        request: function!(c"PMPI_Request_c2f"),
        in_place: variable([c"mpi_fortran_in_place_", c"mpi_fortran_in_place__"]),
        bottom: variable([c"mpi_fortran_bottom_", c"mpi_fortran_bottom__"]),
    };
    // Arguments of Fortran are read as integers of C. Where they are others, ranks in C stay with those in Fortran.
    if fortran.in_place.is_some() && !sized(at(c"ompi_mpi_integer")?, 4) {
        return None;
    }
    Some(Known {
        numbers: false,
        comm_null: at(c"ompi_mpi_comm_null")? as usize,
        comm_self: at(c"ompi_mpi_comm_self")?,
        datatype_null: at(c"ompi_mpi_datatype_null")? as usize,
        types: types.collect(),
        ops: OPS
            .iter()
            .map(|name| Some(at(name)? as usize))
            .collect::<Option<_>>()?,
        uint64: at(c"ompi_mpi_uint64_t")?,
        int32: at(c"ompi_mpi_int32_t")?,
        min: at(c"ompi_mpi_op_min")?,
        in_place: IN_PLACE,
        err_request: ERR_REQUEST,
        err_other: ERR_OTHER,
        fortran: Some(fortran),
        work,
        requests,
    })
}
