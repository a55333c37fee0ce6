//! What the switches can do. All grounds are arguments that MPI demands to be the same at all ranks.

use std::ffi::{c_int, c_void};

use crate::mpi::{BYTES, Handle, Mpi, REAL_PLACED, SIGNED_PLACED, SUCCESS, TRUTH};
use crate::provider::Request;

/// Most elements of a reduction: four frames on each of the four reduction ids.
const ELEMENTS_MAX: c_int = 64;
/// Most numbers with their places: so many frames, each of which carries one.
const PLACED_MAX: c_int = 16;
/// Most bytes of a broadcast: the driver sends longer ones as messages.
const BYTES_MAX: usize = 256;
/// Numbers of operations: the first of the bitwise ones, of the logical ones, and of those with places.
const BITWISE: u8 = 3;
const LOGICAL: u8 = 6;
const PLACES: u8 = 9;
/// Class of real and of unsigned elements, as the provider numbers them.
const REAL: u8 = 0;
const UNSIGNED: u8 = 2;

/// A reduction for the switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reduction {
    count: usize,
    op: u8,
    class: u8,
    size: u8,
}

impl Reduction {
    /// Bytes of the elements.
    pub fn bytes(&self) -> usize {
        self.count * usize::from(self.size)
    }

    /// The request for it.
    pub fn request(&self, what: u8, data: *const c_void, root: u32) -> Request {
        Request {
            data,
            count: self.count,
            root,
            what,
            op: self.op,
            class: self.class,
            size: self.size,
            reproducible: u8::from(crate::group::reproducible()),
        }
    }
}

/// Whether operations of MPI are for elements, and of which class they are for the provider.
fn class_for(op: u8, class: u8) -> Option<u8> {
    match class {
        REAL => (op < BITWISE).then_some(REAL),
        BYTES => (BITWISE..LOGICAL).contains(&op).then_some(UNSIGNED),
        TRUTH => (LOGICAL..PLACES).contains(&op).then_some(UNSIGNED),
        REAL_PLACED | SIGNED_PLACED => (op >= PLACES).then_some(class),
        _ => (op < PLACES).then_some(class),
    }
}

/// A reduction for the switches, if it is one.
pub fn reduction(mpi: &Mpi, count: c_int, datatype: Handle, op: Handle) -> Option<Reduction> {
    let known = mpi.known.as_ref()?;
    if !(1..=ELEMENTS_MAX).contains(&count) {
        return None;
    }
    let (class, size) = known.elements(datatype)?;
    let op = known.op(op)?;
    if op >= PLACES && count > PLACED_MAX {
        return None;
    }
    Some(Reduction {
        count: count as usize,
        op,
        class: class_for(op, class)?,
        size,
    })
}

/// Bytes of a broadcast for the switches, if it is one.
///
/// # Safety
/// A type of the program.
pub unsafe fn small(mpi: &Mpi, count: c_int, datatype: Handle) -> Option<usize> {
    if count < 1 || mpi.known.as_ref()?.is_no_datatype(datatype) {
        return None;
    }
    let mut size = 0;
    // SAFETY: as the caller says.
    let code = unsafe { (mpi.type_size)(datatype, &raw mut size) };
    let bytes = usize::try_from(size).ok()?.checked_mul(count as usize)?;
    (code == SUCCESS && (1..=BYTES_MAX).contains(&bytes)).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cl_09_operations_are_for_the_types_that_mpi_says() {
        for op in 0..11 {
            assert_eq!(class_for(op, REAL).is_some(), op < 3, "real, {op}");
            assert_eq!(
                class_for(op, BYTES).is_some(),
                (3..6).contains(&op),
                "bytes, {op}"
            );
            let logical = (6..9).contains(&op);
            assert_eq!(class_for(op, TRUTH).is_some(), logical, "truth, {op}");
            assert_eq!(class_for(op, 1).is_some(), op < 9, "integers, {op}");
            for placed in [REAL_PLACED, SIGNED_PLACED] {
                assert_eq!(class_for(op, placed).is_some(), op >= 9, "places, {op}");
            }
        }
    }
}
