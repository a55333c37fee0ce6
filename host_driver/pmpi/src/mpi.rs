//! What is used of an MPI library: functions by their names, handles and constants of Open MPI 4.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;

/// A handle. Open MPI's are pointers; those of others are numbers that are passed on as they came.
pub type Handle = *mut c_void;

/// MPI_SUCCESS and MPI_ERR_OTHER.
pub const SUCCESS: c_int = 0;
pub const ERR_OTHER: c_int = 16;
/// MPI_IN_PLACE.
pub const IN_PLACE: *const c_void = std::ptr::without_provenance(1);

/// Classes of elements, as the provider numbers them.
const REAL: u8 = 0;
const SIGNED: u8 = 1;
const UNSIGNED: u8 = 2;

/// Symbols of types: class and bytes. Those of Fortran depend on how the library was built: others than these are not used.
const TYPES: [(&CStr, u8, u8); 36] = [
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
];
/// Not of the provider: bytes have bitwise operations alone, truth values logical ones.
pub const BYTES: u8 = 3;
pub const TRUTH: u8 = 4;

/// Symbols of operations, in the order of the provider's numbers.
const OPS: [&CStr; 9] = [
    c"ompi_mpi_op_sum",
    c"ompi_mpi_op_min",
    c"ompi_mpi_op_max",
    c"ompi_mpi_op_band",
    c"ompi_mpi_op_bor",
    c"ompi_mpi_op_bxor",
    c"ompi_mpi_op_land",
    c"ompi_mpi_op_lor",
    c"ompi_mpi_op_lxor",
];

type Reduces =
    unsafe extern "C" fn(*const c_void, *mut c_void, c_int, Handle, Handle, c_int, Handle) -> c_int;
type Packs = unsafe extern "C" fn(
    *const c_void,
    c_int,
    Handle,
    *mut c_void,
    c_int,
    *mut c_int,
    Handle,
) -> c_int;
type Unpacks = unsafe extern "C" fn(
    *const c_void,
    c_int,
    *mut c_int,
    *mut c_void,
    c_int,
    Handle,
    Handle,
) -> c_int;
type Copies =
    unsafe extern "C" fn(Handle, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_int) -> c_int;
type Deletes = unsafe extern "C" fn(Handle, c_int, *mut c_void, *mut c_void) -> c_int;

type Sizes = unsafe extern "C" fn(Handle, *mut c_int) -> c_int;

/// Functions and handles of the MPI library of this process.
pub struct Mpi {
    pub allreduce:
        unsafe extern "C" fn(*const c_void, *mut c_void, c_int, Handle, Handle, Handle) -> c_int,
    pub reduce: Reduces,
    pub barrier: unsafe extern "C" fn(Handle) -> c_int,
    pub bcast: unsafe extern "C" fn(*mut c_void, c_int, Handle, c_int, Handle) -> c_int,
    pub allgather: unsafe extern "C" fn(
        *const c_void,
        c_int,
        Handle,
        *mut c_void,
        c_int,
        Handle,
        Handle,
    ) -> c_int,
    pub finalize: unsafe extern "C" fn() -> c_int,
    pub comm_size: unsafe extern "C" fn(Handle, *mut c_int) -> c_int,
    pub comm_rank: unsafe extern "C" fn(Handle, *mut c_int) -> c_int,
    pub comm_test_inter: unsafe extern "C" fn(Handle, *mut c_int) -> c_int,
    pub comm_create_keyval: unsafe extern "C" fn(Copies, Deletes, *mut c_int, *mut c_void) -> c_int,
    pub comm_set_attr: unsafe extern "C" fn(Handle, c_int, *mut c_void) -> c_int,
    pub comm_get_attr: unsafe extern "C" fn(Handle, c_int, *mut c_void, *mut c_int) -> c_int,
    pub comm_call_errhandler: unsafe extern "C" fn(Handle, c_int) -> c_int,
    pub type_size: Sizes,
    packs: Packs,
    unpacks: Unpacks,
    /// Of Open MPI alone; nothing of others goes to the switches.
    pub open: Option<OpenMpi>,
}

/// Handles of Open MPI.
pub struct OpenMpi {
    /// Address, class and bytes of predefined types.
    types: Vec<(usize, u8, u8)>,
    ops: Vec<usize>,
    pub comm_null: usize,
    pub datatype_null: usize,
    pub uint64: Handle,
    pub int32: Handle,
    pub min: Handle,
    pub fortran: Fortran,
    /// Lets the library work while a process waits for the switches.
    pub progress: Option<unsafe extern "C" fn()>,
}

/// What the arguments of Fortran mean.
pub struct Fortran {
    pub comm: unsafe extern "C" fn(c_int) -> Handle,
    pub datatype: unsafe extern "C" fn(c_int) -> Handle,
    pub op: unsafe extern "C" fn(c_int) -> Handle,
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

// SAFETY: addresses that never change.
unsafe impl Send for OpenMpi {}
// SAFETY: as above.
unsafe impl Sync for OpenMpi {}

/// A symbol of this process: as the program sees it, or of an MPI library that only a part of it sees.
fn symbol(name: &CStr) -> *mut c_void {
    // SAFETY: looks for a name.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    if !found.is_null() {
        return found;
    }
    // SAFETY: finds a library that is loaded already, or nothing.
    unsafe {
        let library = libc::dlopen(
            c"libmpi.so.40".as_ptr(),
            libc::RTLD_LAZY | libc::RTLD_NOLOAD,
        );
        if library.is_null() {
            return library;
        }
        libc::dlsym(library, name.as_ptr())
    }
}

/// The function of this name that comes after this library's own.
pub fn next(name: &str) -> *mut c_void {
    let name = &std::ffi::CString::new(name).unwrap_or_default();
    // SAFETY: looks for a name.
    let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    if !found.is_null() {
        return found;
    }
    // Only a part of the process sees it.
    let libraries = [c"libmpi_mpifh.so.40", c"libmpi_usempif08.so.40"];
    let found = libraries.into_iter().find_map(|library| {
        let flags = libc::RTLD_LAZY | libc::RTLD_NOLOAD;
        // SAFETY: finds a library that is loaded already, or nothing; then a name in it.
        let found = unsafe {
            let library = libc::dlopen(library.as_ptr(), flags);
            (!library.is_null()).then(|| libc::dlsym(library, name.as_ptr()))
        };
        found.filter(|at| !at.is_null())
    });
    found.unwrap_or_else(|| missing(name))
}

/// A function that every MPI library has.
fn function(name: &CStr) -> *mut c_void {
    let found = symbol(name);
    if found.is_null() {
        missing(name);
    }
    found
}

fn missing(name: &CStr) -> ! {
    eprintln!("tributary: this process calls MPI, but has no {name:?}");
    std::process::abort();
}

/// An address as the function that is there.
///
/// # Safety
/// A function of this type is there.
pub unsafe fn typed<F: Copy>(at: *mut c_void) -> F {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    // SAFETY: as the caller says; both are addresses.
    unsafe { std::mem::transmute_copy(&at) }
}

macro_rules! function {
    ($name:literal) => {
        // SAFETY: MPI fixes the type of a function with this name.
        unsafe { typed(function($name)) }
    };
}

impl Mpi {
    /// The library of this process.
    pub fn get() -> &'static Self {
        static MPI: OnceLock<Mpi> = OnceLock::new();
        MPI.get_or_init(|| Self {
            allreduce: function!(c"PMPI_Allreduce"),
            reduce: function!(c"PMPI_Reduce"),
            barrier: function!(c"PMPI_Barrier"),
            bcast: function!(c"PMPI_Bcast"),
            allgather: function!(c"PMPI_Allgather"),
            finalize: function!(c"PMPI_Finalize"),
            comm_size: function!(c"PMPI_Comm_size"),
            comm_rank: function!(c"PMPI_Comm_rank"),
            comm_test_inter: function!(c"PMPI_Comm_test_inter"),
            comm_create_keyval: function!(c"PMPI_Comm_create_keyval"),
            comm_set_attr: function!(c"PMPI_Comm_set_attr"),
            comm_get_attr: function!(c"PMPI_Comm_get_attr"),
            comm_call_errhandler: function!(c"PMPI_Comm_call_errhandler"),
            type_size: function!(c"PMPI_Type_size"),
            packs: function!(c"PMPI_Pack"),
            unpacks: function!(c"PMPI_Unpack"),
            open: OpenMpi::find(function!(c"PMPI_Type_size")),
        })
    }

    /// Packs elements into as many bytes; what MPI returns if it does not.
    ///
    /// # Safety
    /// As PMPI_Pack.
    pub unsafe fn pack(
        &self,
        from: *const c_void,
        count: c_int,
        datatype: Handle,
        to: &mut [u8],
        comm: Handle,
    ) -> Result<(), c_int> {
        let (room, mut end) = (to.len() as c_int, 0);
        let to = to.as_mut_ptr().cast();
        // SAFETY: as the caller says.
        let code = unsafe { (self.packs)(from, count, datatype, to, room, &raw mut end, comm) };
        match code {
            SUCCESS if end == room => Ok(()),
            SUCCESS => Err(ERR_OTHER),
            code => Err(code),
        }
    }

    /// The reverse.
    ///
    /// # Safety
    /// As PMPI_Unpack.
    pub unsafe fn unpack(
        &self,
        from: &[u8],
        to: *mut c_void,
        count: c_int,
        datatype: Handle,
        comm: Handle,
    ) -> c_int {
        let (bytes, mut at) = (from.len() as c_int, 0);
        let from = from.as_ptr().cast();
        // SAFETY: as the caller says.
        unsafe { (self.unpacks)(from, bytes, &raw mut at, to, count, datatype, comm) }
    }
}

impl OpenMpi {
    fn find(type_size: Sizes) -> Option<Self> {
        let at = |name: &CStr| Some(symbol(name)).filter(|at| !at.is_null());
        let sized = |datatype: Handle, bytes: u8| {
            let mut size = 0;
            // SAFETY: a predefined type; the program has begun MPI, or it could not call what this library has.
            let code = unsafe { type_size(datatype, &raw mut size) };
            code == SUCCESS && size == c_int::from(bytes)
        };
        // SAFETY: the function takes and returns nothing.
        let progress = at(c"opal_progress").map(|at| unsafe { typed(at) });
        let types = TYPES.iter().filter_map(|(name, class, size)| {
            let datatype = at(name).filter(|datatype| sized(*datatype, *size))?;
            Some((datatype as usize, *class, *size))
        });
        // Compilers differ in what they add to a name.
        let variable = |names: [&CStr; 2]| names.into_iter().find_map(at).map(|at| at as usize);
        let fortran = Fortran {
            comm: function!(c"PMPI_Comm_f2c"),
            datatype: function!(c"PMPI_Type_f2c"),
            op: function!(c"PMPI_Op_f2c"),
            in_place: variable([c"mpi_fortran_in_place_", c"mpi_fortran_in_place__"]),
            bottom: variable([c"mpi_fortran_bottom_", c"mpi_fortran_bottom__"]),
        };
        // Arguments of Fortran are read as integers of C. Where they are others, ranks in C stay with those in Fortran.
        if fortran.in_place.is_some() && !sized(at(c"ompi_mpi_integer")?, 4) {
            return None;
        }
        Some(Self {
            comm_null: at(c"ompi_mpi_comm_null")? as usize,
            datatype_null: at(c"ompi_mpi_datatype_null")? as usize,
            types: types.collect(),
            ops: OPS
                .iter()
                .map(|name| Some(at(name)? as usize))
                .collect::<Option<_>>()?,
            uint64: at(c"ompi_mpi_uint64_t")?,
            int32: at(c"ompi_mpi_int32_t")?,
            min: at(c"ompi_mpi_op_min")?,
            fortran,
            progress,
        })
    }

    /// Class and bytes of a predefined type.
    pub fn elements(&self, datatype: Handle) -> Option<(u8, u8)> {
        let mut types = self.types.iter();
        let found = types.find(|(at, ..)| *at == datatype as usize);
        found.map(|(_, class, size)| (*class, *size))
    }

    /// Number of a predefined operation, as the provider has it.
    pub fn op(&self, op: Handle) -> Option<u8> {
        let found = self.ops.iter().position(|at| *at == op as usize);
        found.map(|number| number as u8)
    }
}

/// The text that a function of C returned.
///
/// # Safety
/// A text that ends with a zero, or nothing.
pub unsafe fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: as the caller says.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_string_lossy().into_owned()
}
