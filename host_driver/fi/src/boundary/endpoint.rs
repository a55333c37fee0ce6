//! Endpoints: made, bound, enabled and closed; what a send and a receive do.

mod atomic;
mod collective;
mod groups;
mod messages;
mod rma;
mod target;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::address::{Av, Table, put};
use super::counter::{Cntr, Count};
use super::domain::{Domain, Inner, Watchers, complain};
use super::event::{Eq, Events};
use super::name::Name;
use super::queue::{Cq, Entry, Queue};
use super::*;
use crate::card::{Core, Port};
use crate::collective::Totals;
use crate::engine::{Counts, Done, EAGER, Failure, Label, Notice, Reached, Want, What};
use groups::Groups;

pub use atomic::query as query_atomic;
pub use collective::query as query_collective;

/// Names a folder in which every endpoint leaves a file when it is closed: messages sent, bytes, of these long messages, packets
/// that were sent again, messages, reads and writes whose bytes came by bulk transfers; and if it was in groups another one, as the library of reductions does for MPI.
const STATISTICS: &str = "TRIBUTARY_STATISTICS";

/// What an operation is to the program.
#[derive(Clone, PartialEq)]
struct Op {
    context: usize,
    /// Where its memory begins.
    buffer: usize,
    tagged: bool,
    /// A look at messages is no receive, and nobody counts it.
    counts: bool,
    /// The program wants to be told if it ends well.
    told: bool,
}

/// An endpoint on the card.
pub struct EndpointPort {
    port: Arc<Port<Op, UserMemory>>,
    queues: Arc<Queues>,
    groups: Groups,
}

/// Where the program is told of ends.
#[derive(Default)]
struct Queues {
    send: OnceLock<(Arc<Queue>, bool)>,
    receive: OnceLock<(Arc<Queue>, bool)>,
    /// Of each direction in `DIRECTIONS`.
    counts: [OnceLock<Arc<Count>>; 6],
    table: OnceLock<Arc<Table>>,
    /// Where it is told of groups.
    events: OnceLock<Arc<Events>>,
    /// Counters of regions.
    watchers: Watchers,
    /// What groups have not looked at.
    notices: Mutex<VecDeque<Notice>>,
    /// The card has failed, and what was under way has ended.
    failed: Mutex<bool>,
}

/// What counters can be bound to.
const DIRECTIONS: [u64; 6] = [SEND, RECV, READ, WRITE, REMOTE_READ, REMOTE_WRITE];

impl Queues {
    fn count(&self, direction: u64, good: bool) {
        let counts = DIRECTIONS.iter().zip(&self.counts);
        for (_, count) in counts.filter(|(of, _)| **of == direction) {
            if let Some(count) = count.get() {
                count.one(good);
            }
        }
    }

    fn tell(&self, core: &mut Core<Op, UserMemory>) {
        if let Some(why) = &core.failed {
            let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
            if !std::mem::replace(&mut *failed, true) {
                complain(&format!("the card has failed: {why}"));
                core.engine.fail();
            }
        }
        while let Some(done) = core.engine.take() {
            self.one(done);
        }
        while let Some(reached) = core.engine.reached() {
            self.reached(reached);
        }
        while let Some(notice) = core.engine.notice() {
            self.notice(notice);
        }
    }

    fn one(&self, done: Done<Op>) {
        let (side, direction) = match done.what {
            What::Send => (&self.send, SEND),
            What::Receive => (&self.receive, RECV),
            What::Read | What::Atomic { fetched: true } => (&self.send, READ),
            What::Write | What::Atomic { fetched: false } => (&self.send, WRITE),
        };
        if done.op.counts {
            self.count(direction, done.failure.is_none());
        }
        let Some((queue, _)) = side.get() else { return };
        // Memory for many messages would be lost to a program that is not told.
        if done.failure.is_none() && !done.op.told && !done.released {
            return;
        }
        let kind = match done.what {
            What::Read | What::Write => RMA,
            What::Atomic { .. } => ATOMIC,
            _ if done.op.tagged => TAGGED,
            _ => MSG,
        };
        let data = if done.label.data.is_some() && done.what == What::Receive {
            REMOTE_CQ_DATA
        } else {
            0
        };
        let released = if done.released { MULTI_RECV } else { 0 };
        let error = done.failure.map(|failure| match failure {
            Failure::Truncated(over) => (ETRUNC, over),
            Failure::Canceled => (ECANCELED, 0),
            Failure::Peer => (EHOSTUNREACH, 0),
            Failure::NoMessage => (ENOMSG, 0),
            Failure::Refused => (EACCES, 0),
        });
        let table = self.table.get();
        queue.push(Entry {
            entry: fi_cq_tagged_entry {
                op_context: done.op.context as *mut c_void,
                flags: kind | data | released | direction,
                len: done.length,
                buf: (done.op.buffer + done.at) as *mut c_void,
                data: done.label.data.unwrap_or(0),
                tag: done.label.tag.unwrap_or(0),
            },
            from: table.map_or(ADDR_UNSPEC, |table| table.place(done.from)),
            error,
        });
    }

    /// A peer has reached memory of this end. The program hears of it if there are data for it.
    fn reached(&self, reached: Reached) {
        let direction = if reached.write {
            REMOTE_WRITE
        } else {
            REMOTE_READ
        };
        self.count(direction, true);
        let watchers = self.watchers.lock().unwrap_or_else(PoisonError::into_inner);
        let watcher = watchers.get(&reached.key);
        if let Some(count) = watcher.and_then(|of| of[usize::from(reached.write)].as_ref()) {
            count.one(true);
        }
        drop(watchers);
        let (Some((queue, _)), Some(data)) = (self.receive.get(), reached.data) else {
            return;
        };
        queue.push(Entry {
            entry: fi_cq_tagged_entry {
                op_context: std::ptr::null_mut(),
                flags: RMA | direction | REMOTE_CQ_DATA,
                len: reached.length,
                buf: std::ptr::null_mut(),
                data,
                tag: 0,
            },
            from: (self.table.get()).map_or(ADDR_UNSPEC, |table| table.place(reached.by)),
            error: None,
        });
    }
}

impl EndpointPort {
    pub fn progress(&self) {
        let mut core = self.port.enter();
        core.progress();
        self.queues.tell(&mut core);
        drop(core);
        self.look();
    }

    /// The program is about to sleep.
    pub fn leave(&self) {
        self.port.leave();
    }

    /// A region of the domain is no more.
    pub fn close_region(&self, key: u64) {
        let mut core = self.port.enter();
        core.engine.close_region(key);
        core.push();
        self.queues.tell(&mut core);
    }
}

#[repr(C)]
struct Ep {
    fid: fid_ep,
    domain: Arc<Inner>,
    end: Arc<EndpointPort>,
    /// A source counts only for programs that asked for it.
    directed: bool,
    tx_flags: u64,
    rx_flags: u64,
    /// With less room than this, memory for many messages is released.
    least_room: usize,
    /// By which others find it.
    _name: Option<Name>,
}

/// Of programs that do not say it.
const LEAST_ROOM: usize = 16 << 10;

static FID: Shared<fi_ops> = Shared(fi_ops {
    size: size_of::<fi_ops>(),
    close: Some(close),
    bind: Some(bind),
    control: Some(control),
    ops_open: std::ptr::null(),
    tostr: std::ptr::null(),
    ops_set: std::ptr::null(),
});
static OPS: Shared<fi_ops_ep> = Shared(fi_ops_ep {
    size: size_of::<fi_ops_ep>(),
    cancel,
    getopt,
    setopt,
    tx_ctx: none,
    rx_ctx: none,
    rx_size_left: none_size,
    tx_size_left: none_size,
});
static CM: Shared<fi_ops_cm> = Shared(fi_ops_cm {
    size: size_of::<fi_ops_cm>(),
    setname: none,
    getname,
    getpeer: none,
    connect: none,
    listen: none,
    accept: none,
    reject: none,
    shutdown: none,
    join: collective::join,
});

pub unsafe extern "C" fn open(
    domain: *mut fid_domain,
    info: *mut fi_info,
    out: *mut *mut fid_ep,
    context: *mut c_void,
) -> c_int {
    call(|| {
        // SAFETY: a domain of this provider and an `fi_info` of libfabric.
        let (domain, caps, tx_flags, rx_flags, source) = unsafe {
            let info = &*info;
            let tx = info.tx_attr.as_ref().map_or(0, |attr| attr.op_flags);
            let rx = info.rx_attr.as_ref().map_or(0, |attr| attr.op_flags);
            let source = info.src_addr.cast::<u64>();
            let has_source = !source.is_null() && info.src_addrlen == size_of::<u64>();
            let source = has_source.then(|| source.read_unaligned());
            let inner = &(*domain.cast::<Domain>()).inner;
            (inner, info.caps, tx, rx, source)
        };
        let queues = Arc::new(Queues {
            watchers: Arc::clone(&domain.watchers),
            ..Queues::default()
        });
        let told = Arc::clone(&queues);
        let port = match Port::new(&domain.card, Arc::clone(&domain.regions), move |core| {
            told.tell(core)
        }) {
            Ok(port) => port,
            Err(error) => {
                complain(&error);
                return -ENODEV;
            }
        };
        let name = source.and_then(|name| Name::take(name, port.own()));
        let end = Arc::new(EndpointPort {
            port,
            queues,
            groups: Groups::default(),
        });
        let ep = Ep {
            fid: fid_ep {
                fid: fid {
                    fclass: CLASS_EP,
                    context,
                    ops: &FID.0,
                },
                ops: &OPS.0,
                cm: &CM.0,
                msg: &messages::MESSAGES.0,
                rma: &rma::RMA.0,
                tagged: &messages::TAGGED_MESSAGES.0,
                atomic: &atomic::ATOMIC.0,
                collective: &collective::CALLS.0,
            },
            domain: Arc::clone(domain),
            end,
            directed: caps & DIRECTED_RECV != 0,
            tx_flags,
            rx_flags,
            least_room: LEAST_ROOM,
            _name: name,
        };
        // SAFETY: the caller gives a place.
        unsafe { out.write(Box::into_raw(Box::new(ep)).cast()) };
        SUCCESS
    })
}

unsafe extern "C" fn bind(of: *mut fid, other: *mut fid, flags: u64) -> c_int {
    call(|| {
        // SAFETY: an endpoint of this provider and something to bind to it, whose class says what it is.
        unsafe {
            let ep = &*of.cast::<Ep>();
            let queues = &ep.end.queues;
            let bound = match (*other).fclass {
                CLASS_CQ => {
                    let queue = &(*other.cast::<Cq>()).queue;
                    let entry = || (Arc::clone(queue), flags & SELECTIVE_COMPLETION != 0);
                    (flags & SEND == 0 || queues.send.set(entry()).is_ok())
                        && (flags & RECV == 0 || queues.receive.set(entry()).is_ok())
                }
                CLASS_AV => {
                    let table = Arc::clone(&(*other.cast::<Av>()).table);
                    queues.table.set(table).is_ok()
                }
                CLASS_CNTR => {
                    let count = &(*other.cast::<Cntr>()).count;
                    let mut bound = DIRECTIONS.iter().zip(&queues.counts);
                    bound.all(|(of, place)| flags & of == 0 || place.set(Arc::clone(count)).is_ok())
                }
                CLASS_EQ => {
                    let events = &(*other.cast::<Eq>()).events;
                    queues.events.set(Arc::clone(events)).is_ok()
                }
                _ => return -ENOSYS,
            };
            if bound { SUCCESS } else { -EINVAL }
        }
    })
}

unsafe extern "C" fn control(of: *mut fid, command: c_int, argument: *mut c_void) -> c_int {
    call(|| {
        // SAFETY: an endpoint of this provider; the argument is what the command says.
        unsafe {
            let ep = &mut *of.cast::<Ep>();
            match command {
                COMMAND_ENABLE => {
                    if ep.end.queues.table.get().is_none() {
                        return -EINVAL;
                    }
                    ep.domain.add(Arc::clone(&ep.end));
                }
                COMMAND_GETOPSFLAG => {
                    let flags = argument.cast::<u64>();
                    flags.write(if *flags & SEND != 0 {
                        ep.tx_flags
                    } else {
                        ep.rx_flags
                    });
                }
                COMMAND_SETOPSFLAG => {
                    let flags = argument.cast::<u64>().read();
                    if flags & SEND != 0 {
                        ep.tx_flags = flags & !SEND;
                    } else {
                        ep.rx_flags = flags & !RECV;
                    }
                }
                _ => return -ENOSYS,
            }
        }
        SUCCESS
    })
}

unsafe extern "C" fn close(of: *mut fid) -> c_int {
    call(|| {
        // SAFETY: made by `open`, closed once.
        let ep = unsafe { Box::from_raw(of.cast::<Ep>()) };
        let groups = ep.end.end_groups();
        let (counts, resent) = ep.end.port.close();
        ep.domain.remove(&ep.end);
        let name = format!("{}-{}", std::process::id(), ep.end.port.own());
        if let Some(totals) = groups {
            let Totals {
                in_switches,
                by_messages,
                completed_by_root,
                again,
            } = totals;
            leave_figures(
                &format!("reductions-{name}"),
                &[in_switches, by_messages, 0, completed_by_root, again],
            );
        }
        let Counts {
            sent,
            bytes,
            long,
            bulk,
        } = counts;
        leave_figures(&name, &[sent, bytes, long, resent, bulk]);
        SUCCESS
    })
}

/// Leaves figures for whoever wants them.
fn leave_figures(name: &str, figures: &[u64]) {
    if let Some(folder) = std::env::var_os(STATISTICS) {
        let figures: Vec<String> = figures.iter().map(u64::to_string).collect();
        let text = figures.join(" ") + "\n";
        // Whoever wants them does without those that cannot be written.
        let _ = std::fs::write(std::path::Path::new(&folder).join(name), text);
    }
}

unsafe extern "C" fn getname(of: *mut fid, to: *mut c_void, length: *mut usize) -> c_int {
    call(|| {
        // SAFETY: an endpoint of this provider, and so much room.
        let ep = unsafe { &*of.cast::<Ep>() };
        // SAFETY: as above.
        let whole = unsafe { put(ep.end.port.own(), to, length) };
        if whole { SUCCESS } else { -ETOOSMALL }
    })
}

unsafe extern "C" fn cancel(of: *mut fid, context: *mut c_void) -> isize {
    size(|| {
        // SAFETY: an endpoint of this provider.
        let ep = unsafe { &*of.cast::<Ep>() };
        let mut core = ep.end.port.enter();
        core.engine.cancel(|op| op.context == context as usize);
        ep.end.queues.tell(&mut core);
        0
    })
}

unsafe extern "C" fn setopt(
    of: *mut fid,
    level: c_int,
    name: c_int,
    value: *const c_void,
    length: usize,
) -> c_int {
    call(|| {
        if (level, name) != (OPT_ENDPOINT, OPT_MIN_MULTI_RECV) {
            return -ENOPROTOOPT;
        }
        if value.is_null() || length < size_of::<usize>() {
            return -EINVAL;
        }
        // SAFETY: an endpoint of this provider, and a value of this option.
        unsafe { (*of.cast::<Ep>()).least_room = value.cast::<usize>().read_unaligned() };
        SUCCESS
    })
}

unsafe extern "C" fn getopt(
    of: *mut fid,
    level: c_int,
    name: c_int,
    value: *mut c_void,
    length: *mut usize,
) -> c_int {
    call(|| {
        if (level, name) != (OPT_ENDPOINT, OPT_MIN_MULTI_RECV) {
            return -ENOPROTOOPT;
        }
        if value.is_null() || length.is_null() {
            return -EINVAL;
        }
        // SAFETY: an endpoint of this provider, and so many bytes of room.
        unsafe {
            let room = length.replace(size_of::<usize>());
            if room < size_of::<usize>() {
                return -ETOOSMALL;
            }
            let least = (*of.cast::<Ep>()).least_room;
            value.cast::<usize>().write_unaligned(least);
        }
        SUCCESS
    })
}

/// A send as every call describes it.
struct Send<'a> {
    memory: UserMemory,
    to: u64,
    label: Label,
    context: *mut c_void,
    /// Nothing for injects, of which nobody is told.
    flags: Option<&'a u64>,
}

impl Ep {
    fn send(&self, send: Send<'_>) -> isize {
        let queues = &self.end.queues;
        let Some(to) = queues.table.get().and_then(|table| table.address(send.to)) else {
            return -(EINVAL as isize);
        };
        let mut core = self.end.port.enter();
        if core.failed.is_some() {
            return -(EIO as isize);
        }
        let selective = queues.send.get().is_some_and(|(_, selective)| *selective);
        let flags = send.flags.copied();
        let op = Op {
            context: send.context as usize,
            buffer: 0,
            tagged: send.label.tag.is_some(),
            counts: true,
            told: flags.is_some_and(|flags| !selective || flags & COMPLETION != 0),
        };
        let matched = flags.is_some_and(|f| f & (DELIVERY_COMPLETE | MATCH_COMPLETE) != 0);
        let inject = flags.is_none_or(|flags| flags & INJECT != 0);
        if inject && crate::engine::Memory::length(&send.memory) > EAGER {
            return -(EMSGSIZE as isize);
        }
        if core
            .engine
            .send(to, send.label, send.memory, Some(op), matched)
            .is_err()
        {
            core.progress();
            queues.tell(&mut core);
            return -(EAGAIN as isize);
        }
        core.push();
        queues.tell(&mut core);
        0
    }

    fn receive(
        &self,
        memory: UserMemory,
        from: u64,
        tag: Option<(u64, u64)>,
        context: *mut c_void,
        flags: u64,
    ) -> isize {
        let queues = &self.end.queues;
        let directed = self.directed && from != ADDR_UNSPEC;
        let from = directed
            .then(|| queues.table.get()?.address(from))
            .flatten();
        if directed && from.is_none() {
            return -(EINVAL as isize);
        }
        let mut core = self.end.port.enter();
        if core.failed.is_some() {
            return -(EIO as isize);
        }
        let selective = (queues.receive.get()).is_some_and(|(_, selective)| *selective);
        let op = Op {
            context: context as usize,
            buffer: memory.pointer() as usize,
            tagged: tag.is_some(),
            counts: flags & PEEK == 0,
            told: !selective || flags & COMPLETION != 0,
        };
        let want = Want { from, tag };
        let discard = flags & DISCARD != 0;
        let claim = flags & CLAIM != 0 && tag.is_some();
        if flags & PEEK != 0 {
            core.progress();
            let claim = claim.then_some(context as usize);
            core.engine.peek(want, op, claim, discard);
        } else if claim {
            if !core
                .engine
                .receive_claimed(context as usize, memory, op, discard)
            {
                return -(EINVAL as isize);
            }
        } else if flags & MULTI_RECV != 0 && tag.is_none() {
            if !memory.is_whole() {
                return -(EINVAL as isize);
            }
            core.engine.receive_many(want, memory, op, self.least_room);
        } else {
            core.engine.receive(want, memory, op);
        }
        if core.engine.waits() {
            core.push();
        }
        queues.tell(&mut core);
        0
    }
}
