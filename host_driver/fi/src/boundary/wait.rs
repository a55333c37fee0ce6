//! Descriptors that programs wait for.

use std::os::fd::AsRawFd;

use tributary_host_driver::shared::Event;

use super::counter::Cntr;
use super::event::Eq;
use super::queue::Cq;
use super::*;

/// What a program may wait for in the system: readable when there is something to look at. Nothing, if it waits by calls.
pub struct Descriptor(Option<Event>);

impl Descriptor {
    /// Of what the program wants to wait for.
    ///
    /// # Errors
    /// The number of the error.
    pub fn new(wait: c_int) -> Result<Self, c_int> {
        match wait {
            WAIT_NONE | WAIT_UNSPEC | WAIT_YIELD => Ok(Self(None)),
            WAIT_FD => Ok(Self(Some(Event::new().map_err(|_| -ENOMEM)?))),
            _ => Err(-ENOSYS),
        }
    }

    /// There is something.
    pub fn raise(&self) {
        if let Some(event) = &self.0 {
            event.signal();
        }
    }

    /// There is nothing any more.
    pub fn lower(&self) {
        if let Some(event) = &self.0 {
            // How often it was raised does not matter.
            let _ = event.take();
        }
    }

    /// What a program asks of an object that has it.
    ///
    /// # Safety
    /// The argument is what the command says.
    pub unsafe fn control(&self, command: c_int, argument: *mut c_void) -> c_int {
        match (&self.0, command) {
            (Some(event), COMMAND_GETWAIT) => {
                // SAFETY: the caller gives a place for it.
                unsafe { argument.cast::<c_int>().write(event.as_raw_fd()) };
                SUCCESS
            }
            _ => -ENOSYS,
        }
    }
}

/// Whether a program may wait for the descriptors of these: nothing is there to be looked at, and what comes raises them.
pub unsafe extern "C" fn trywait(_: *mut fid_fabric, fids: *mut *mut fid, count: c_int) -> c_int {
    call(|| {
        for at in 0..usize::try_from(count).unwrap_or(0) {
            // SAFETY: so many are there; the class says what each is.
            let quiet = unsafe {
                let one = fids.add(at).read();
                match (*one).fclass {
                    CLASS_EQ => (*one.cast::<Eq>()).events.is_empty(),
                    CLASS_CQ => (*one.cast::<Cq>()).rest(),
                    CLASS_CNTR => (*one.cast::<Cntr>()).rest(),
                    _ => return -ENOSYS,
                }
            };
            if !quiet {
                return -EAGAIN;
            }
        }
        SUCCESS
    })
}
