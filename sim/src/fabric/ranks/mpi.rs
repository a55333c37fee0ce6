//! Ranks that are processes of an MPI job, by the MPI library of the machine.
//!
//! The library is loaded when it is asked for, so building the project needs none. Of what differs between libraries only three
//! handles are used: symbols of Open MPI, numbers of MPICH and those that have its binary interface (Intel MPI, MVAPICH).

use std::env;
use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW, Symbol};

use super::Carrier;

/// Open MPI's, and those of MPICH's binary interface.
const OPEN: [&str; 2] = ["libmpi.so.40", "libmpi.so"];
const MPICH: [&str; 3] = ["libmpi.so.12", "libmpich.so.12", "libmpi.so"];
/// Handles of MPICH's binary interface: MPI_COMM_WORLD, MPI_BYTE and MPI_INT.
const MPICH_HANDLES: [usize; 3] = [0x4400_0000, 0x4c00_010d, 0x4c00_0405];
/// MPI_SUCCESS.
const SUCCESS: c_int = 0;

/// A handle: a pointer with Open MPI, a number with others, and passed on as it is with both.
type Handle = *mut c_void;

type Init = unsafe extern "C" fn(*mut c_int, *mut *mut *mut c_char) -> c_int;
type Ask = unsafe extern "C" fn(Handle, *mut c_int) -> c_int;
type AllToAll =
    unsafe extern "C" fn(*const c_void, c_int, Handle, *mut c_void, c_int, Handle, Handle) -> c_int;
type AllToAllV = unsafe extern "C" fn(
    *const c_void,
    *const c_int,
    *const c_int,
    Handle,
    *mut c_void,
    *const c_int,
    *const c_int,
    Handle,
    Handle,
) -> c_int;

struct Loaded {
    library: Library,
    world: Handle,
    bytes: Handle,
    integers: Handle,
}

// SAFETY: handles are passed back to the library and not looked into; calls are made by one thread at a time.
unsafe impl Send for Loaded {}
// SAFETY: as above; `MpiCarrier` calls through `&mut self`, `Mpi` before and after it.
unsafe impl Sync for Loaded {}

impl Loaded {
    fn open() -> Result<Self> {
        // Who started this process knows which library it is to be.
        let names = match env::var_os("OMPI_COMM_WORLD_SIZE") {
            Some(_) => [&OPEN[..], &MPICH],
            None => [&MPICH[..], &OPEN],
        };
        let mut failed = String::new();
        for name in names.concat() {
            // SAFETY: an MPI library does nothing of its own when it is loaded.
            match unsafe { Library::open(Some(name), RTLD_NOW | RTLD_GLOBAL) } {
                Ok(library) => return Self::of(library),
                Err(error) => failed = error.to_string(),
            }
        }
        anyhow::bail!("no MPI library: {failed}; install one, or give a number of threads")
    }

    fn of(library: Library) -> Result<Self> {
        let open = |name: &str| {
            // SAFETY: the address of a variable, which is not read.
            let symbol = unsafe { library.get::<*mut c_void>(name.as_bytes()) };
            symbol.ok().map(|symbol| symbol.into_raw().cast::<c_void>())
        };
        let handles = ["ompi_mpi_comm_world", "ompi_mpi_byte", "ompi_mpi_int"].map(open);
        let mut handles = handles.into_iter().zip(MPICH_HANDLES);
        let mut next = || {
            let (open, number) = handles.next().unwrap_or_default();
            open.unwrap_or(std::ptr::without_provenance_mut(number))
        };
        let (world, bytes, integers) = (next(), next(), next());
        Ok(Self {
            library,
            world,
            bytes,
            integers,
        })
    }

    /// A function with the type that MPI gives this name.
    fn function<T>(&self, name: &str) -> Result<Symbol<T>> {
        // SAFETY: callers name a type beside each name, those of the MPI standard.
        let found = unsafe { self.library.get::<T>(name.as_bytes()) };
        found.with_context(|| format!("the MPI library has no {name}"))
    }
}

fn done(what: &str, code: c_int) -> Result<()> {
    ensure!(code == SUCCESS, "{what} failed with {code}");
    Ok(())
}

/// This process in its MPI job.
pub struct Mpi {
    loaded: Arc<Loaded>,
}

impl Mpi {
    /// Loads the library and begins.
    ///
    /// # Errors
    /// There is no library, or it refuses.
    pub fn start() -> Result<Self> {
        let loaded = Loaded::open()?;
        let init = loaded.function::<Init>("MPI_Init")?;
        // SAFETY: the library allows no arguments at all.
        done("MPI_Init", unsafe {
            init(std::ptr::null_mut(), std::ptr::null_mut())
        })?;
        Ok(Self {
            loaded: Arc::new(loaded),
        })
    }

    /// The way to the other ranks of the job.
    ///
    /// # Errors
    /// The library does not say which rank this is.
    pub fn carrier(&self) -> Result<MpiCarrier> {
        let ask = |name: &str| {
            let mut answer = 0;
            let function = self.loaded.function::<Ask>(name)?;
            // SAFETY: a communicator and a place for a number.
            done(name, unsafe {
                function(self.loaded.world, &raw mut answer)
            })?;
            Ok::<_, anyhow::Error>(usize::try_from(answer)?)
        };
        Ok(MpiCarrier {
            rank: ask("MPI_Comm_rank")?,
            ranks: ask("MPI_Comm_size")?,
            loaded: Arc::clone(&self.loaded),
        })
    }

    /// Ends: with the others, or, if this rank has failed, all of them at once, because they would wait for it.
    ///
    /// # Errors
    /// The library refuses.
    pub fn end(self, good: bool) -> Result<()> {
        if good {
            let finish = self
                .loaded
                .function::<unsafe extern "C" fn() -> c_int>("MPI_Finalize")?;
            // SAFETY: nothing of this process is under way.
            return done("MPI_Finalize", unsafe { finish() });
        }
        let abort = self
            .loaded
            .function::<unsafe extern "C" fn(Handle, c_int) -> c_int>("MPI_Abort")?;
        // SAFETY: ends the process.
        done("MPI_Abort", unsafe { abort(self.loaded.world, 1) })
    }
}

/// The way to the other ranks of an MPI job.
pub struct MpiCarrier {
    rank: usize,
    ranks: usize,
    loaded: Arc<Loaded>,
}

/// Where each of some messages begins, and bytes of all.
fn places(lengths: &[c_int]) -> Result<(Vec<c_int>, usize)> {
    let mut places = Vec::new();
    let mut at: c_int = 0;
    for length in lengths {
        places.push(at);
        at = at
            .checked_add(*length)
            .context("more than 2 GiB between two windows")?;
    }
    Ok((places, usize::try_from(at)?))
}

impl Carrier for MpiCarrier {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.ranks
    }

    fn exchange(&mut self, messages: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>> {
        let Loaded {
            world,
            bytes,
            integers,
            ..
        } = *self.loaded;
        let lengths = messages.iter().map(|m| c_int::try_from(m.len()));
        let lengths: Vec<c_int> = lengths
            .collect::<Result<_, _>>()
            .context("a message of more than 2 GiB")?;
        let mut coming = vec![0; self.ranks];
        let all = self.loaded.function::<AllToAll>("MPI_Alltoall")?;
        // SAFETY: one number for each rank, and room for one of each.
        done("MPI_Alltoall", unsafe {
            all(
                lengths.as_ptr().cast(),
                1,
                integers,
                coming.as_mut_ptr().cast(),
                1,
                integers,
                world,
            )
        })?;
        let (out_at, _) = places(&lengths)?;
        let (in_at, total) = places(&coming)?;
        let out = messages.concat();
        let mut came = vec![0; total];
        let all = self.loaded.function::<AllToAllV>("MPI_Alltoallv")?;
        // SAFETY: lengths and places as both buffers have them.
        done("MPI_Alltoallv", unsafe {
            all(
                out.as_ptr().cast(),
                lengths.as_ptr(),
                out_at.as_ptr(),
                bytes,
                came.as_mut_ptr().cast(),
                coming.as_ptr(),
                in_at.as_ptr(),
                bytes,
                world,
            )
        })?;
        let mut rest = &came[..];
        let cut = coming.iter().map(|length| {
            let (message, behind) = rest.split_at(*length as usize);
            rest = behind;
            message.to_vec()
        });
        Ok(cut.collect())
    }
}
