//! Collectives of this process through the switches: what the library that is preloaded before MPI calls, and libfabric's of an
//! endpoint. `docs/mpi.md` is the contract.
//!
//! A process has one card, that of the provider's domain. Beside the provider's endpoint there is a host of
//! `tributary_host_driver::collective` on it, and a thread that works for its communicators while the program does something else.

mod boundary;
pub mod elements;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use elements::Elements;
use tributary_host_driver::collective::remote::RemoteTrees;
use tributary_host_driver::collective::{
    CollectiveError, Communicator, Data, Finished, Host, HostOptions, Options, Outcome,
    SharedTrees, Ticket,
};
use tributary_host_driver::{AddressHandle, EndpointConfig, ProtectionDomain};

use crate::card::DEAF;

/// The thread looks this often.
const LOOK: Duration = Duration::from_millis(2);
/// Communicators end with all their members, or after so long.
const CLOSING: Duration = Duration::from_secs(10);
/// Times of processes on a machine that may have too few processors for them: 150 ms until a lost frame is sent again, 12 s until a
/// member that says nothing has failed. An attempt is shorter than the engines of such fabrics wait (205 ms for each level): they
/// wait for late ranks, which are rare; a lost frame should not take so long. What it costs is another attempt beside the first.
const OPTIONS: Options = Options {
    lanes: 4,
    stripes: 0,
    // As messages between two.
    bulk_from: 128 << 10,
    attempt: Duration::from_millis(150),
    roll: Duration::from_millis(20),
    idle: Duration::from_millis(100),
    ask_after: Duration::from_secs(1),
    questions: 10,
    patience: Duration::from_secs(3_600),
};

/// What the groups of a process have done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Operations through the switches.
    pub in_switches: u64,
    /// Operations by messages of the driver, or in blocks by bulk transfers.
    pub by_messages: u64,
    /// Values that this process completed as the root.
    pub completed_by_root: u64,
    /// Values that needed another attempt.
    pub again: u64,
}

/// A group of processes, as this one sees it.
pub struct Member {
    state: Mutex<State>,
    /// The card is this process's as long as this is there, and queue pairs of a group that the program forgot are on it.
    _card: Arc<dyn Send + Sync>,
}

struct State {
    communicator: Communicator,
    /// Operations that have ended and that nobody has asked for since.
    ended: BTreeMap<Ticket, Result<Outcome, CollectiveError>>,
    closing: Option<Closing>,
}

/// A group that is being closed.
#[derive(Clone, Copy)]
struct Closing {
    since: Instant,
    /// The last operation; nothing if the group has failed, and nobody need be waited for.
    ticket: Option<Ticket>,
}

/// An operation of a group, until its result is taken.
pub struct Pending {
    member: Arc<Member>,
    ticket: Ticket,
    /// Of a reduction.
    elements: Option<Elements>,
}

impl State {
    /// Does what can be done.
    fn work(&mut self) -> Result<(), CollectiveError> {
        while let Some(Finished { ticket, result }) = self.communicator.poll()? {
            self.ended.insert(ticket, result);
        }
        Ok(())
    }

    /// Whether a group that is being closed may go: all have all results, or some never will.
    fn is_over(&mut self) -> bool {
        let failed = self.work().is_err();
        // What was under way before takes the time it needs.
        let goes_on = self.communicator.pending() > 1;
        let Some(Closing { since, ticket }) = &mut self.closing else {
            return false;
        };
        if goes_on {
            *since = Instant::now();
        }
        let (since, ticket) = (*since, *ticket);
        let ended = ticket.and_then(|ticket| self.ended.get(&ticket));
        let over = ended.is_some_and(|ended| ended.is_err() || self.communicator.is_drained());
        failed || ticket.is_none() || over || since.elapsed() > CLOSING
    }
}

impl Member {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins an operation; of a reduction, its elements. Others may be under way: all members begin them in the same order.
    ///
    /// # Errors
    /// The group has failed, or the operation makes no sense.
    pub fn start(
        self: &Arc<Self>,
        elements: Option<Elements>,
        post: impl FnOnce(&mut Communicator) -> Result<Ticket, CollectiveError>,
    ) -> Result<Pending, CollectiveError> {
        let ticket = post(&mut self.lock().communicator)?;
        Ok(Pending {
            member: Arc::clone(self),
            ticket,
            elements,
        })
    }

    /// How its operations are done, as far as it is known.
    ///
    /// # Errors
    /// The card or a member has failed.
    pub fn path(&self) -> Result<tributary_host_driver::collective::Path, CollectiveError> {
        let mut state = self.lock();
        state.work()?;
        Ok(state.communicator.path())
    }
}

impl Pending {
    /// Works; the bytes of the result, once.
    ///
    /// # Errors
    /// The card or a member has failed.
    pub fn test(&self) -> Result<Option<Vec<u8>>, CollectiveError> {
        let mut state = self.member.lock();
        // What ended before the group failed is there all the same.
        let worked = state.work();
        let Some(ended) = state.ended.remove(&self.ticket) else {
            return worked.map(|()| None);
        };
        let data = ended?.data;
        Ok(Some(match (self.elements, data) {
            (_, Data::Bytes(bytes)) => bytes,
            (Some(elements), data) => elements.restore(&data),
            (None, _) => Vec::new(),
        }))
    }
}

/// The collectives of a process.
pub struct Collectives {
    host: Host,
    trees: Option<SharedTrees>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    card: Arc<dyn Send + Sync>,
}

/// What the thread works on.
#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    members: Mutex<Vec<Arc<Member>>>,
    totals: Mutex<Totals>,
}

impl Collectives {
    /// Makes a host on a card, which is kept. Without trees all goes by messages. The thread does what `also` says, too.
    ///
    /// # Errors
    /// The card has no more of something, or there is no thread.
    pub fn new(
        domain: &ProtectionDomain,
        trees: Option<RemoteTrees>,
        card: Arc<dyn Send + Sync>,
        also: impl Fn() + Send + 'static,
    ) -> Result<Self, String> {
        let options = HostOptions {
            endpoint: EndpointConfig {
                windows: 64,
                attempts: 32,
                longest_pause: DEAF,
                ..EndpointConfig::default()
            },
            ..HostOptions::default()
        };
        // From here on peers may talk to it, and the thread answers them.
        let host = Host::new(domain, options).map_err(|error| error.to_string())?;
        let shared = Arc::new(Shared::default());
        let (works, answers) = (Arc::clone(&shared), host.clone());
        let thread = std::thread::Builder::new().name("collectives".to_owned());
        let thread = thread.spawn(move || help(&works, &answers, &also));
        Ok(Self {
            host,
            trees: trees.map(|trees| Arc::new(Mutex::new(trees)) as SharedTrees),
            shared,
            thread: Some(thread.map_err(|error| error.to_string())?),
            card,
        })
    }

    /// Address of this process.
    #[must_use]
    pub fn address(&self) -> AddressHandle {
        self.host.address()
    }

    /// Makes a group; all members do, with the same name and list.
    ///
    /// # Errors
    /// As [`Communicator::create`].
    pub fn create(
        &self,
        name: u64,
        members: &[AddressHandle],
    ) -> Result<Arc<Member>, CollectiveError> {
        let trees = self.trees.clone();
        let communicator = Communicator::create(&self.host, name, members, trees, OPTIONS)?;
        let member = Arc::new(Member {
            state: Mutex::new(State {
                communicator,
                ended: BTreeMap::new(),
                closing: None,
            }),
            _card: Arc::clone(&self.card),
        });
        self.shared.members().push(Arc::clone(&member));
        Ok(member)
    }

    /// Begins to close a group; the thread does the rest.
    pub fn close(&self, member: &Member) {
        let mut state = member.lock();
        if state.closing.is_none() {
            state.closing = Some(Closing {
                since: Instant::now(),
                ticket: state.communicator.post_close().ok(),
            });
        }
    }

    /// Leaves a group of which operations are under way that will not be waited for: the others are told.
    pub fn leave(&self, member: &Member) {
        let (since, ticket) = (Instant::now(), None);
        member.lock().closing = Some(Closing { since, ticket });
    }

    /// Closes all groups, for a bounded time; what they have done.
    #[must_use]
    pub fn end(mut self) -> Totals {
        let members = self.shared.members().clone();
        members.iter().for_each(|member| self.close(member));
        drop(members);
        let begun = Instant::now();
        while !self.shared.members().is_empty() && begun.elapsed() < 2 * CLOSING {
            self.shared.look();
            std::thread::yield_now();
        }
        self.shared.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            // A thread that failed has said so.
            let _ = thread.join();
        }
        *self.shared.totals()
    }
}

impl Shared {
    fn members(&self) -> MutexGuard<'_, Vec<Arc<Member>>> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn totals(&self) -> MutexGuard<'_, Totals> {
        self.totals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Works for all groups that nobody else works for now.
    fn look(&self) {
        let members = self.members().clone();
        for member in members {
            let Ok(mut state) = member.state.try_lock() else {
                continue;
            };
            if state.closing.is_none() {
                // What fails is seen by who waits.
                let _ = state.work();
                continue;
            }
            if !state.is_over() {
                continue;
            }
            let counters = state.communicator.counters();
            let ticket = state.closing.and_then(|closing| closing.ticket);
            let closed =
                ticket.is_some_and(|ticket| matches!(state.ended.get(&ticket), Some(Ok(_))));
            drop(state);
            let mut all = self.members();
            let before = all.len();
            all.retain(|other| !Arc::ptr_eq(other, &member));
            if all.len() == before {
                continue;
            }
            let mut totals = self.totals();
            totals.in_switches += counters.in_switches;
            // The barrier of closing goes by messages and is no operation of the program.
            totals.by_messages += counters.in_software.saturating_sub(closed.into());
            totals.by_messages += counters.in_blocks;
            totals.completed_by_root += counters.completed_by_root;
            totals.again += counters.again;
        }
    }
}

fn help(shared: &Shared, host: &Host, also: &impl Fn()) {
    while !shared.stop.load(Ordering::Acquire) {
        // A card that failed is seen by who waits.
        let _ = host.work();
        shared.look();
        also();
        std::thread::sleep(LOOK);
    }
}
