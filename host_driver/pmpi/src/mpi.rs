//! What is used of an MPI library: functions by their names, and what is known of it (`known`): of Open MPI (`open`) and of MPICH and
//! those that share its interface (`mpich`).

/// A function of an MPI library, by its name.
macro_rules! function {
    ($name:literal) => {
        // SAFETY: MPI fixes the type of a function with this name.
        unsafe { typed(function($name)) }
    };
}

mod known;
mod mpich;
mod open;

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;

pub use known::{BYTES, Known, REAL_PLACED, Requests, SIGNED_PLACED, TRUTH, Work};
pub use open::Fortran;

/// A handle. Open MPI's are pointers; those of MPICH are numbers, which come and go in the same registers.
pub type Handle = *mut c_void;

/// MPI_SUCCESS.
pub const SUCCESS: c_int = 0;
/// MPI_ERR_COUNT.
const ERR_COUNT: c_int = 2;

/// MPI_Count.
pub type Count = i64;

type Reduces<N> =
    unsafe extern "C" fn(*const c_void, *mut c_void, N, Handle, Handle, c_int, Handle) -> c_int;
type AllReduces<N> =
    unsafe extern "C" fn(*const c_void, *mut c_void, N, Handle, Handle, Handle) -> c_int;
type IAllReduces<N> = unsafe extern "C" fn(
    *const c_void,
    *mut c_void,
    N,
    Handle,
    Handle,
    Handle,
    *mut Handle,
) -> c_int;
type IReduces<N> = unsafe extern "C" fn(
    *const c_void,
    *mut c_void,
    N,
    Handle,
    Handle,
    c_int,
    Handle,
    *mut Handle,
) -> c_int;
type Broadcasts<N> = unsafe extern "C" fn(*mut c_void, N, Handle, c_int, Handle) -> c_int;
type IBroadcasts<N> =
    unsafe extern "C" fn(*mut c_void, N, Handle, c_int, Handle, *mut Handle) -> c_int;
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

/// Of a generalized request: what its status says, its end, and that it shall be cancelled.
type Queries = unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int;
type Frees = unsafe extern "C" fn(*mut c_void) -> c_int;
type Cancels = unsafe extern "C" fn(*mut c_void, c_int) -> c_int;
type Sizes = unsafe extern "C" fn(Handle, *mut c_int) -> c_int;

/// Functions and handles of the MPI library of this process.
pub struct Mpi {
    pub allreduce: AllReduces<c_int>,
    pub reduce: Reduces<c_int>,
    pub barrier: unsafe extern "C" fn(Handle) -> c_int,
    pub bcast: Broadcasts<c_int>,
    pub iallreduce: IAllReduces<c_int>,
    pub ireduce: IReduces<c_int>,
    pub ibarrier: unsafe extern "C" fn(Handle, *mut Handle) -> c_int,
    pub ibcast: IBroadcasts<c_int>,
    pub large: Large,
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
    pub type_dup: unsafe extern "C" fn(Handle, *mut Handle) -> c_int,
    pub type_free: unsafe extern "C" fn(*mut Handle) -> c_int,
    pub grequest_start:
        unsafe extern "C" fn(Queries, Frees, Cancels, *mut c_void, *mut Handle) -> c_int,
    pub grequest_complete: unsafe extern "C" fn(Handle) -> c_int,
    pub request_free: unsafe extern "C" fn(*mut Handle) -> c_int,
    pub status_set_elements: unsafe extern "C" fn(*mut c_void, Handle, c_int) -> c_int,
    pub status_set_cancelled: unsafe extern "C" fn(*mut c_void, c_int) -> c_int,
    packs: Packs,
    unpacks: Unpacks,
    /// Of libraries that are known; nothing of others goes to the switches.
    pub known: Option<Known>,
}

/// The large forms of functions with counts, as far as the library has them.
pub struct Large {
    pub allreduce: Option<AllReduces<Count>>,
    pub reduce: Option<Reduces<Count>>,
    pub bcast: Option<Broadcasts<Count>>,
    pub iallreduce: Option<IAllReduces<Count>>,
    pub ireduce: Option<IReduces<Count>>,
    pub ibcast: Option<IBroadcasts<Count>>,
}

impl Large {
    fn find() -> Self {
        macro_rules! perhaps {
            ($name:literal) => {{
                let found = symbol($name);
                // SAFETY: MPI fixes the type of a function with this name.
                (!found.is_null()).then(|| unsafe { typed(found) })
            }};
        }
        Self {
            allreduce: perhaps!(c"PMPI_Allreduce_c"),
            reduce: perhaps!(c"PMPI_Reduce_c"),
            bcast: perhaps!(c"PMPI_Bcast_c"),
            iallreduce: perhaps!(c"PMPI_Iallreduce_c"),
            ireduce: perhaps!(c"PMPI_Ireduce_c"),
            ibcast: perhaps!(c"PMPI_Ibcast_c"),
        }
    }
}

/// A symbol of this process: as the program sees it, or of an MPI library that only a part of it sees.
fn symbol(name: &CStr) -> *mut c_void {
    // SAFETY: looks for a name.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    if !found.is_null() {
        return found;
    }
    among(&[c"libmpi.so.40", c"libmpi.so.12"], name).unwrap_or(std::ptr::null_mut())
}

/// A symbol of libraries of which only a part of the process sees the names.
fn among(libraries: &[&CStr], name: &CStr) -> Option<*mut c_void> {
    libraries.iter().find_map(|library| {
        let flags = libc::RTLD_LAZY | libc::RTLD_NOLOAD;
        // SAFETY: finds a library that is loaded already, or nothing; then a name in it.
        let found = unsafe {
            let library = libc::dlopen(library.as_ptr(), flags);
            (!library.is_null()).then(|| libc::dlsym(library, name.as_ptr()))
        };
        found.filter(|at| !at.is_null())
    })
}

/// The function of this name that comes after this library's own.
pub fn next(name: &str) -> *mut c_void {
    let name = &std::ffi::CString::new(name).unwrap_or_default();
    // SAFETY: looks for a name.
    let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    if !found.is_null() {
        return found;
    }
    let libraries = [
        c"libmpi_mpifh.so.40",
        c"libmpi_usempif08.so.40",
        c"libmpifort.so.12",
    ];
    among(&libraries, name).unwrap_or_else(|| missing(name))
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

impl Mpi {
    /// The library of this process.
    pub fn get() -> &'static Self {
        static MPI: OnceLock<Mpi> = OnceLock::new();
        MPI.get_or_init(|| Self {
            allreduce: function!(c"PMPI_Allreduce"),
            reduce: function!(c"PMPI_Reduce"),
            barrier: function!(c"PMPI_Barrier"),
            bcast: function!(c"PMPI_Bcast"),
            iallreduce: function!(c"PMPI_Iallreduce"),
            ireduce: function!(c"PMPI_Ireduce"),
            ibarrier: function!(c"PMPI_Ibarrier"),
            ibcast: function!(c"PMPI_Ibcast"),
            large: Large::find(),
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
            type_dup: function!(c"PMPI_Type_dup"),
            type_free: function!(c"PMPI_Type_free"),
            grequest_start: function!(c"PMPI_Grequest_start"),
            grequest_complete: function!(c"PMPI_Grequest_complete"),
            request_free: function!(c"PMPI_Request_free"),
            packs: function!(c"PMPI_Pack"),
            unpacks: function!(c"PMPI_Unpack"),
            status_set_elements: function!(c"PMPI_Status_set_elements"),
            status_set_cancelled: function!(c"PMPI_Status_set_cancelled"),
            known: open::find(function!(c"PMPI_Type_size")).or_else(mpich::find),
        })
    }

    /// MPI_ERR_OTHER.
    pub fn err_other(&self) -> c_int {
        // Nothing goes to the switches where it is not known.
        self.known.as_ref().map_or(1, |known| known.err_other)
    }

    /// A count that this library cannot take: what MPI returns.
    ///
    /// # Safety
    /// A communicator of the program.
    pub unsafe fn refuse_count(&self, comm: Handle) -> c_int {
        // SAFETY: as the caller says.
        unsafe { (self.comm_call_errhandler)(comm, ERR_COUNT) };
        ERR_COUNT
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
            SUCCESS => Err(self.err_other()),
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
