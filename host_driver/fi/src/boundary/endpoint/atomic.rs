//! The calls of atomic operations on memory of peers, by buffer, by list and by description.

use super::target::Target;
use super::*;
use crate::engine::{Atomic, MOST_ATOMIC, Memory, Operation, Type};

pub static ATOMIC: Shared<fi_ops_atomic> = Shared(fi_ops_atomic {
    size: size_of::<fi_ops_atomic>(),
    write,
    writev,
    writemsg,
    inject,
    readwrite,
    readwritev,
    readwritemsg,
    compwrite,
    compwritev,
    compwritemsg,
    writevalid,
    readwritevalid,
    compwritevalid,
});

/// Ways to call: what is there before does not come back, comes back, is also compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Plain,
    Fetch,
    Compare,
}

/// A type and an operation, if the form has them together.
fn known(of: u32, operation: u32, form: Form) -> Option<(Type, Operation)> {
    let (of, operation) = (Type::of(of)?, Operation::of(operation)?);
    let fits = match form {
        Form::Plain => operation != Operation::Read && !operation.compares(),
        Form::Fetch => !operation.compares(),
        Form::Compare => operation.compares(),
    };
    (fits && operation.takes(of)).then_some((of, operation))
}

/// What fi_query_atomic and the three questions of an endpoint answer: how many elements an operation may have.
fn most(of: u32, operation: u32, form: Form) -> Option<(usize, usize)> {
    let (of, _) = known(of, operation, form)?;
    Some((MOST_ATOMIC / of.bytes(), of.bytes()))
}

pub unsafe extern "C" fn query(
    _: *mut fid_domain,
    of: u32,
    operation: u32,
    attr: *mut fi_atomic_attr,
    flags: u64,
) -> c_int {
    call(|| {
        let form = match (flags & COMPARE_ATOMIC != 0, flags & FETCH_ATOMIC != 0) {
            (true, true) => return -EINVAL,
            (true, false) => Form::Compare,
            (false, true) => Form::Fetch,
            (false, false) => Form::Plain,
        };
        match most(of, operation, form) {
            Some((count, size)) => {
                // SAFETY: the caller gives a place.
                unsafe { attr.write(fi_atomic_attr { count, size }) };
                SUCCESS
            }
            None => -EOPNOTSUPP,
        }
    })
}

/// Elements of the program: a buffer, or a list.
#[derive(Clone, Copy)]
enum Elements {
    None,
    Buffer(*const c_void, usize),
    List(*const fi_ioc, usize),
}

impl Elements {
    /// Their memory.
    ///
    /// # Safety
    /// A list has so many entries.
    unsafe fn memory(self, of: Type) -> Option<UserMemory> {
        let bytes = |count: usize| count.checked_mul(of.bytes());
        Some(match self {
            Self::None => UserMemory::new(std::ptr::null_mut(), 0),
            Self::Buffer(buffer, count) => UserMemory::new(buffer.cast_mut(), bytes(count)?),
            Self::List(list, count) => {
                let entry = |at| {
                    // SAFETY: as the caller says.
                    let entry = unsafe { list.add(at).read() };
                    let iov_len = bytes(entry.count)?;
                    let iov_base = entry.addr;
                    Some(libc::iovec { iov_base, iov_len })
                };
                let parts: Vec<libc::iovec> = (0..count).map(entry).collect::<Option<_>>()?;
                // SAFETY: the list is here.
                unsafe { UserMemory::of(parts.as_ptr(), parts.len()) }
            }
        })
    }
}

/// What a call asks for.
struct Ask {
    form: Form,
    operand: Elements,
    compare: Elements,
    result: Elements,
    of: u32,
    operation: u32,
    target: Target,
}

impl Ask {
    /// As the engine takes it, with where the result goes.
    ///
    /// # Safety
    /// As of the call.
    unsafe fn read(&self) -> Option<(Atomic, UserMemory)> {
        let (of, operation) = known(self.of, self.operation, self.form)?;
        // SAFETY: as the caller says.
        let memory = |elements: Elements| unsafe { elements.memory(of) };
        let result = memory(self.result)?;
        let mut operands = Vec::new();
        let length = match operation {
            // What is read says how much.
            Operation::Read => result.length(),
            _ => {
                let operand = memory(self.operand)?;
                operand.read(0, operand.length(), &mut operands);
                operand.length()
            }
        };
        let compare = memory(self.compare)?;
        compare.read(0, compare.length(), &mut operands);
        let atomic = Atomic {
            operation,
            of,
            operands,
            length,
            fetches: self.form != Form::Plain,
        };
        let whole = !atomic.fetches || result.length() == length;
        (whole && atomic.is_sound()).then_some((atomic, result))
    }
}

/// # Safety
/// An endpoint of this provider, and an `Ask` of what its caller gave.
unsafe fn act(ep: *mut fid_ep, ask: impl FnOnce(&Ep) -> Option<Ask>) -> isize {
    size(|| {
        // SAFETY: as the caller says.
        let ep = unsafe { &*ep.cast::<Ep>() };
        let Some(ask) = ask(ep) else {
            return -(EINVAL as isize);
        };
        // SAFETY: as the caller says.
        let Some((atomic, result)) = (unsafe { ask.read() }) else {
            return -(EINVAL as isize);
        };
        ep.reach(ask.target, |core, place, op| {
            core.engine.atomic(place, &atomic, result, op)
        })
    })
}

/// A description as what it says; nothing where it is not one piece of the peer's memory of as many elements. Receives with a tag
/// are no targets here, and no data go to the peer's program.
///
/// # Safety
/// A description of libfabric.
unsafe fn described(
    message: *const fi_msg_atomic,
    (form, compare, result): (Form, Elements, Elements),
    flags: u64,
) -> Option<Ask> {
    if flags & (TAGGED | REMOTE_CQ_DATA) != 0 {
        return None;
    }
    // SAFETY: as the caller says.
    unsafe {
        let m = &*message;
        let place = m.rma_iov.as_ref().filter(|_| m.rma_iov_count == 1)?;
        let operand = Elements::List(m.msg_iov, m.iov_count);
        // Of a read the result says how many there are.
        let counted = if m.op == Operation::Read as u32 {
            result
        } else {
            operand
        };
        let of = Type::of(m.datatype)?;
        let same = place.count.checked_mul(of.bytes()) == Some(counted.memory(of)?.length());
        same.then_some(Ask {
            form,
            operand,
            compare,
            result,
            of: m.datatype,
            operation: m.op,
            target: Target {
                peer: (m.addr, place.addr, place.key),
                context: m.context,
                flags: Some(flags),
            },
        })
    }
}

/// Calls whose arguments stand in the call.
macro_rules! calls {
    ($($name:ident $form:ident ($($front:ident: $front_type:ty),*)($($behind:ident: $behind_type:ty),*) operand $operand:expr, compare $compare:expr, result $result:expr, context $context:expr, flags $flags:expr;)+) => {
        $(
            unsafe extern "C" fn $name(
                ep: *mut fid_ep,
                $($front: $front_type,)*
                to: u64,
                offset: u64,
                key: u64,
                of: u32,
                operation: u32,
                $($behind: $behind_type),*
            ) -> isize {
                let flags: fn(&Ep) -> Option<u64> = $flags;
                // SAFETY: as libfabric's contract says; of all calls that follow, too.
                unsafe {
                    act(ep, |ep| {
                        Some(Ask {
                            form: Form::$form,
                            operand: $operand,
                            compare: $compare,
                            result: $result,
                            of,
                            operation,
                            target: Target {
                                peer: (to, offset, key),
                                context: $context,
                                flags: flags(ep),
                            },
                        })
                    })
                }
            }
        )+
    };
}

use Elements::{Buffer, List};

calls! {
    write Plain (buffer: *const c_void, count: usize, _desc: *mut c_void)(context: *mut c_void)
        operand Buffer(buffer, count), compare Elements::None, result Elements::None,
        context context, flags |ep| Some(ep.tx_flags);
    writev Plain (list: *const fi_ioc, _desc: *mut *mut c_void, count: usize)(context: *mut c_void)
        operand List(list, count), compare Elements::None, result Elements::None,
        context context, flags |ep| Some(ep.tx_flags);
    inject Plain (buffer: *const c_void, count: usize)()
        operand Buffer(buffer, count), compare Elements::None, result Elements::None,
        context std::ptr::null_mut(), flags |_| None;
    readwrite Fetch (buffer: *const c_void, count: usize, _desc: *mut c_void, result: *mut c_void, _result_desc: *mut c_void)(context: *mut c_void)
        operand Buffer(buffer, count), compare Elements::None, result Buffer(result, count),
        context context, flags |ep| Some(ep.tx_flags);
    readwritev Fetch (list: *const fi_ioc, _desc: *mut *mut c_void, count: usize, results: *const fi_ioc, _result_desc: *mut *mut c_void, result_count: usize)(context: *mut c_void)
        operand List(list, count), compare Elements::None, result List(results, result_count),
        context context, flags |ep| Some(ep.tx_flags);
    compwrite Compare (buffer: *const c_void, count: usize, _desc: *mut c_void, compare: *const c_void, _compare_desc: *mut c_void, result: *mut c_void, _result_desc: *mut c_void)(context: *mut c_void)
        operand Buffer(buffer, count), compare Buffer(compare, count), result Buffer(result, count),
        context context, flags |ep| Some(ep.tx_flags);
    compwritev Compare (list: *const fi_ioc, _desc: *mut *mut c_void, count: usize, compares: *const fi_ioc, _compare_desc: *mut *mut c_void, compare_count: usize, results: *const fi_ioc, _result_desc: *mut *mut c_void, result_count: usize)(context: *mut c_void)
        operand List(list, count), compare List(compares, compare_count), result List(results, result_count),
        context context, flags |ep| Some(ep.tx_flags);
}

unsafe extern "C" fn writemsg(ep: *mut fid_ep, message: *const fi_msg_atomic, flags: u64) -> isize {
    let form = (Form::Plain, Elements::None, Elements::None);
    // SAFETY: as above.
    unsafe { act(ep, |_| described(message, form, flags)) }
}

unsafe extern "C" fn readwritemsg(
    ep: *mut fid_ep,
    message: *const fi_msg_atomic,
    results: *const fi_ioc,
    _: *mut *mut c_void,
    count: usize,
    flags: u64,
) -> isize {
    let form = (Form::Fetch, Elements::None, List(results, count));
    // SAFETY: as above.
    unsafe { act(ep, |_| described(message, form, flags)) }
}

unsafe extern "C" fn compwritemsg(
    ep: *mut fid_ep,
    message: *const fi_msg_atomic,
    compares: *const fi_ioc,
    _: *mut *mut c_void,
    compare_count: usize,
    results: *const fi_ioc,
    _: *mut *mut c_void,
    count: usize,
    flags: u64,
) -> isize {
    let compare = List(compares, compare_count);
    let form = (Form::Compare, compare, List(results, count));
    // SAFETY: as above.
    unsafe { act(ep, |_| described(message, form, flags)) }
}

/// # Safety
/// A place for the answer.
unsafe fn valid(of: u32, operation: u32, form: Form, count: *mut usize) -> c_int {
    call(|| match most(of, operation, form) {
        Some((most, _)) => {
            // SAFETY: as the caller says.
            unsafe { count.write(most) };
            SUCCESS
        }
        None => -EOPNOTSUPP,
    })
}

unsafe extern "C" fn writevalid(_: *mut fid_ep, of: u32, op: u32, count: *mut usize) -> c_int {
    // SAFETY: as above.
    unsafe { valid(of, op, Form::Plain, count) }
}

unsafe extern "C" fn readwritevalid(_: *mut fid_ep, of: u32, op: u32, count: *mut usize) -> c_int {
    // SAFETY: as above.
    unsafe { valid(of, op, Form::Fetch, count) }
}

unsafe extern "C" fn compwritevalid(_: *mut fid_ep, of: u32, op: u32, count: *mut usize) -> c_int {
    // SAFETY: as above.
    unsafe { valid(of, op, Form::Compare, count) }
}
