//! The group that a communicator has in the switches. All its ranks find out together, in the first call that could go there, and
//! agree: either all have it, or none.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Once, OnceLock};
use std::time::{Duration, Instant};

use crate::mpi::{Handle, Mpi, SUCCESS, Work};
use crate::provider::{Operation, Provider, Request};

/// Version of what ranks tell each other.
const VERSION: u64 = 1;
/// Words of it: version, address, name of the group if this rank is the first, whether sums are reproducible.
const WORDS: usize = 4;
/// Longest wait for what the first rank has found: processes share processors.
const PATIENCE: Duration = Duration::from_secs(60);
/// The program ends MPI: no more groups.
static CLOSED: AtomicBool = AtomicBool::new(false);

/// A communicator as the program frees it: nothing there means that the library does everything.
pub struct Group {
    provider: &'static Provider,
    member: *mut c_void,
}

/// Sums of real numbers have the same bits in any order, if the user wants that.
pub fn reproducible() -> bool {
    static WANTED: OnceLock<bool> = OnceLock::new();
    *WANTED.get_or_init(|| std::env::var_os("TRIBUTARY_REPRODUCIBLE").is_some_and(|v| v == "1"))
}

impl Mpi {
    /// Lets the library work, which may be what others wait for; yields in any case.
    pub fn progress(&self) {
        // SAFETY: MPI is initialised, or the program could not have called.
        match self.known.as_ref().and_then(|known| known.work) {
            Some(Work::Function(work)) => unsafe { work() },
            Some(Work::Probe {
                probe,
                anybody,
                any_tag,
                comm,
                ignore,
            }) => {
                let mut there = 0;
                // SAFETY: as above; room for whether there is one, which nobody receives.
                unsafe { probe(anybody, any_tag, comm, &raw mut there, ignore) };
            }
            None => {}
        }
        std::thread::yield_now();
    }
}

impl Group {
    /// Begins an operation, after those that have begun.
    ///
    /// # Safety
    /// The memory of the request is there.
    pub unsafe fn start(&self, request: &Request) -> Result<Operation, String> {
        // SAFETY: a group of the provider, and what the caller says.
        unsafe { self.provider.start(self.member, request) }
    }

    /// Does an operation.
    ///
    /// # Safety
    /// The memory of the request and so much room are there.
    pub unsafe fn run(
        &self,
        mpi: &Mpi,
        request: &Request,
        room: (*mut c_void, usize),
    ) -> Result<(), String> {
        // SAFETY: as the caller says.
        let operation = unsafe { self.start(request) }?;
        // SAFETY: as the caller says.
        while !unsafe { operation.test(room) }? {
            mpi.progress();
        }
        Ok(())
    }
}

unsafe extern "C" fn copy(
    _: Handle,
    _: c_int,
    _: *mut c_void,
    _: *mut c_void,
    _: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: MPI gives a place. A copy of a communicator finds out for itself.
    unsafe { flag.write(0) };
    SUCCESS
}

unsafe extern "C" fn delete(_: Handle, _: c_int, value: *mut c_void, _: *mut c_void) -> c_int {
    // SAFETY: what `of` has attached, once.
    let group = unsafe { Box::from_raw(value.cast::<Option<Group>>()) };
    if let Some(group) = *group {
        // SAFETY: a group of the provider that nobody uses any more.
        unsafe { (group.provider.free)(group.member) };
    }
    SUCCESS
}

fn keyval(mpi: &Mpi) -> Result<c_int, c_int> {
    static KEYVAL: OnceLock<Result<c_int, c_int>> = OnceLock::new();
    *KEYVAL.get_or_init(|| {
        let mut key = 0;
        let extra = std::ptr::null_mut();
        // SAFETY: functions of these types.
        match unsafe { (mpi.comm_create_keyval)(copy, delete, &raw mut key, extra) } {
            SUCCESS => Ok(key),
            code => Err(code),
        }
    })
}

/// Rank and size of a communicator that may have a group: not of one between two groups, of which all ranks know that it is none.
///
/// # Safety
/// A communicator of the program.
pub unsafe fn place(mpi: &Mpi, comm: Handle) -> Option<(c_int, c_int)> {
    if mpi.known.as_ref()?.is_no_comm(comm) {
        return None;
    }
    let (mut rank, mut size, mut inter) = (0, 0, 0);
    // SAFETY: as the caller says.
    let good = unsafe {
        (mpi.comm_test_inter)(comm, &raw mut inter) == SUCCESS
            && (mpi.comm_rank)(comm, &raw mut rank) == SUCCESS
            && (mpi.comm_size)(comm, &raw mut size) == SUCCESS
    };
    (good && inter == 0 && size > 1).then_some((rank, size))
}

/// The group of a communicator. In the first call, all its ranks make one or agree that there is none.
///
/// # Errors
/// What MPI returns where it keeps nothing for a communicator, after it has told the error handler.
///
/// # Safety
/// A communicator of the program, whose ranks all do this.
pub unsafe fn of(mpi: &Mpi, comm: Handle) -> Result<Option<&'static Group>, c_int> {
    // SAFETY: as the caller says.
    let Some((rank, size)) = (unsafe { place(mpi, comm) }) else {
        return Ok(None);
    };
    // SAFETY: as the caller says.
    let (group, is_new) = unsafe { attached(mpi, comm) }?;
    if is_new {
        // SAFETY: as the caller says.
        let made = unsafe { make(mpi, comm, rank, size) };
        // SAFETY: it is there until the program frees the communicator, and nobody else has looked at it yet.
        unsafe { group.write(made) };
    }
    if CLOSED.load(Ordering::Acquire) {
        return Ok(None);
    }
    // SAFETY: as above.
    Ok(unsafe { &*group }.as_ref())
}

/// The group of a communicator, if its ranks have made one: no rank waits.
///
/// # Errors
/// As [`of`].
///
/// # Safety
/// A communicator of the program.
pub unsafe fn existing(mpi: &Mpi, comm: Handle) -> Result<Option<&'static Group>, c_int> {
    // SAFETY: as the caller says.
    if unsafe { place(mpi, comm) }.is_none() || CLOSED.load(Ordering::Acquire) {
        return Ok(None);
    }
    // SAFETY: as the caller says.
    let group = unsafe { looked_up(mpi, comm) }?;
    // SAFETY: it is there until the program frees the communicator.
    Ok(group.and_then(|group| unsafe { &*group }.as_ref()))
}

/// What is attached to a communicator, if something is.
///
/// # Safety
/// A communicator of the program.
unsafe fn looked_up(mpi: &Mpi, comm: Handle) -> Result<Option<*mut Option<Group>>, c_int> {
    let key = keyval(mpi)?;
    let mut value: *mut c_void = std::ptr::null_mut();
    let mut there = 0;
    // SAFETY: MPI writes a pointer and whether it is there.
    match unsafe { (mpi.comm_get_attr)(comm, key, (&raw mut value).cast(), &raw mut there) } {
        SUCCESS => Ok((there != 0).then_some(value.cast())),
        code => Err(code),
    }
}

/// What is attached to a communicator, and whether it is new.
///
/// # Safety
/// A communicator of the program.
unsafe fn attached(mpi: &Mpi, comm: Handle) -> Result<(*mut Option<Group>, bool), c_int> {
    // SAFETY: as the caller says.
    if let Some(group) = unsafe { looked_up(mpi, comm) }? {
        return Ok((group, false));
    }
    let place: *mut Option<Group> = Box::into_raw(Box::new(None));
    // SAFETY: a key of ours; `delete` frees the box.
    let code = unsafe { (mpi.comm_set_attr)(comm, keyval(mpi)?, place.cast()) };
    if code != SUCCESS {
        // SAFETY: nobody has it.
        drop(unsafe { Box::from_raw(place) });
        return Err(code);
    }
    Ok((place, true))
}

/// This rank's address among those of the switches; 0 if it has none, and a line that says why.
fn own_address(provider: Option<&Provider>) -> u64 {
    let Some(provider) = provider else {
        complain("this process has no card: libfabric has not loaded the provider");
        return 0;
    };
    provider.address().unwrap_or_else(|error| {
        complain(&error);
        0
    })
}

/// # Safety
/// As [`of`].
unsafe fn make(mpi: &Mpi, comm: Handle, rank: c_int, size: c_int) -> Option<Group> {
    static NAMES: AtomicU64 = AtomicU64::new(0);
    let known = mpi.known.as_ref()?;
    let provider = Provider::get();
    let address = match CLOSED.load(Ordering::Acquire) {
        true => 0,
        false => own_address(provider),
    };
    // Another one for each group that begins here, and for each process that begins some.
    let name = address.rotate_left(16) ^ NAMES.fetch_add(1, Ordering::Relaxed);
    let own: [u64; WORDS] = [VERSION, address, name, reproducible().into()];
    let mut all = vec![[0u64; WORDS]; size as usize];
    // SAFETY: so many words of each rank.
    let code = unsafe {
        (mpi.allgather)(
            own.as_ptr().cast(),
            WORDS as c_int,
            known.uint64,
            all.as_mut_ptr().cast(),
            WORDS as c_int,
            known.uint64,
            comm,
        )
    };
    if code != SUCCESS {
        return None;
    }
    let first = all[0];
    if rank == 0 && all.iter().any(|of| of[0] != VERSION || of[3] != first[3]) {
        complain("ranks differ in the version of this library or in TRIBUTARY_REPRODUCIBLE");
    }
    let alike = |of: &[u64; WORDS]| of[0] == VERSION && of[1] != 0 && of[3] == first[3];
    // The same words at all ranks, so the same answer.
    if !all.iter().all(alike) {
        return None;
    }
    let provider = provider?;
    let members: Vec<u64> = all.iter().map(|of| of[1]).collect();
    let group = create(mpi, provider, first[2], &members);
    let good = c_int::from(group.is_ok());
    let mut all_good = 0;
    // SAFETY: a number of each rank.
    let code = unsafe {
        (mpi.allreduce)(
            (&raw const good).cast(),
            (&raw mut all_good).cast(),
            1,
            known.int32,
            known.min,
            comm,
        )
    };
    match group {
        Ok(group) if code == SUCCESS && all_good == 1 => Some(group),
        Ok(group) => {
            if rank == 0 {
                complain("another rank of a communicator has no group in the switches");
            }
            // SAFETY: a group that nobody has used.
            unsafe { (provider.free)(group.member) };
            None
        }
        Err(error) => {
            complain(&error);
            None
        }
    }
}

/// Makes this rank's part of a group, and waits until it is known whether it goes through the switches.
fn create(
    mpi: &Mpi,
    provider: &'static Provider,
    name: u64,
    members: &[u64],
) -> Result<Group, String> {
    let mut member = std::ptr::null_mut();
    // SAFETY: so many addresses, and room for a pointer.
    let made = unsafe { (provider.create)(name, members.as_ptr(), members.len(), &raw mut member) };
    if made < 0 {
        return Err(provider.error());
    }
    let group = Group { provider, member };
    let begun = Instant::now();
    loop {
        // SAFETY: a group of the provider.
        let why = match unsafe { (provider.path)(member) } {
            3 => return Ok(group),
            0 if begun.elapsed() < PATIENCE => {
                mpi.progress();
                continue;
            }
            0 => "the first rank does not say which tree the group has".to_owned(),
            1 | 2 => "a card has no queue pair left for a communicator, or the switches no tree"
                .to_owned(),
            _ => provider.error(),
        };
        // SAFETY: a group that nobody has used.
        unsafe { (provider.free)(member) };
        return Err(why);
    }
}

/// From here on no communicator gets a group.
pub fn close() {
    CLOSED.store(true, Ordering::Release);
}

/// Ends all groups; what they have done, if there is a provider.
pub fn end() -> Option<[u64; 4]> {
    let provider = Provider::get()?;
    let mut totals = [0; 4];
    // SAFETY: room for four numbers.
    let ended = unsafe { (provider.end)(totals.as_mut_ptr()) };
    (ended == 0).then_some(totals)
}

/// Says once why something is left to the library; what follows is for the same reason, or of no more use.
fn complain(what: &str) {
    static SAID: Once = Once::new();
    SAID.call_once(|| eprintln!("tributary: reductions are left to the MPI library: {what}"));
}
