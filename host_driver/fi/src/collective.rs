//! Collectives of this process through the switches: what the library that is preloaded before MPI calls. `docs/mpi.md` is the
//! contract.
//!
//! A process has one card, that of the provider's domain. Beside the provider's endpoint there is a host of
//! `tributary_host_driver::collective` on it, and a thread that works for its communicators while the program does something else.

mod boundary;
pub mod elements;

use std::path::Path;
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

/// The thread looks this often.
const LOOK: Duration = Duration::from_millis(2);
/// Communicators end with all their members, or after so long.
const CLOSING: Duration = Duration::from_secs(10);
/// Times of processes on a machine that may have too few processors for them: 150 ms until a lost frame is sent again, 12 s until a
/// member that says nothing has failed. An attempt is shorter than the engines of such fabrics wait (205 ms for each level): they
/// wait for late ranks, which are rare; a lost frame should not take so long. What it costs is another attempt beside the first.
const OPTIONS: Options = Options {
    lanes: 4,
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
    /// Operations by messages of the driver.
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
    /// The operation that is under way.
    ticket: Option<Ticket>,
    /// Its elements, if it is a reduction.
    elements: Option<Elements>,
    ended: Option<Result<Outcome, CollectiveError>>,
    /// It is being closed since then.
    closing: Option<Instant>,
}

impl State {
    /// Does what can be done.
    fn work(&mut self) -> Result<(), CollectiveError> {
        while let Some(Finished { ticket, result }) = self.communicator.poll()? {
            if self.ticket == Some(ticket) {
                self.ended = Some(result);
            }
        }
        Ok(())
    }

    /// Whether a group that is being closed may go: all have all results, or some never will.
    fn is_over(&mut self) -> bool {
        let Some(since) = self.closing else {
            return false;
        };
        let failed = self.work().is_err() || matches!(self.ended, Some(Err(_)));
        let drained = self.ended.is_some() && self.communicator.is_drained();
        failed || drained || since.elapsed() > CLOSING
    }
}

impl Member {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins an operation; of a reduction, its elements.
    ///
    /// # Errors
    /// The group has failed, or the operation makes no sense.
    pub fn start(
        &self,
        elements: Option<Elements>,
        post: impl FnOnce(&mut Communicator) -> Result<Ticket, CollectiveError>,
    ) -> Result<(), CollectiveError> {
        let mut state = self.lock();
        state.ended = None;
        state.elements = elements;
        state.ticket = Some(post(&mut state.communicator)?);
        Ok(())
    }

    /// Works; the bytes of the operation's result, once.
    ///
    /// # Errors
    /// The card or a member has failed.
    pub fn test(&self) -> Result<Option<Vec<u8>>, CollectiveError> {
        let mut state = self.lock();
        state.work()?;
        let Some(ended) = state.ended.take() else {
            return Ok(None);
        };
        let data = ended?.data;
        Ok(Some(match (state.elements, data) {
            (_, Data::Bytes(bytes)) => bytes,
            (Some(elements), data) => elements.restore(&data),
            (None, _) => Vec::new(),
        }))
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

/// The collectives of a process.
pub struct Collectives {
    host: Host,
    trees: SharedTrees,
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
    /// Makes a host on a card. `folder` has the socket of the manager, if there is one; `card` is kept.
    ///
    /// # Errors
    /// The card has no more of something, or there is no thread.
    pub fn new(
        domain: &ProtectionDomain,
        folder: &Path,
        card: Arc<dyn Send + Sync>,
    ) -> Result<Self, String> {
        let options = HostOptions {
            endpoint: EndpointConfig {
                windows: 64,
                attempts: 32,
                longest_pause: Duration::from_millis(250),
                ..EndpointConfig::default()
            },
            ..HostOptions::default()
        };
        let host = Host::new(domain, options).map_err(|error| error.to_string())?;
        let trees = RemoteTrees::connect(folder).map_err(|error| error.to_string())?;
        let shared = Arc::new(Shared::default());
        let works = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("collectives".to_owned());
        let thread = thread.spawn(move || help(&works));
        Ok(Self {
            host,
            trees: Arc::new(Mutex::new(trees)),
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
        let trees = Some(Arc::clone(&self.trees));
        let communicator = Communicator::create(&self.host, name, members, trees, OPTIONS)?;
        let member = Arc::new(Member {
            state: Mutex::new(State {
                communicator,
                ticket: None,
                elements: None,
                ended: None,
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
            state.closing = Some(Instant::now());
            state.ended = None;
            state.ticket = state.communicator.post_close().ok();
        }
        if state.ticket.is_none() {
            // It has failed: the thread need not wait for anybody.
            state.closing = Instant::now().checked_sub(2 * CLOSING).or(state.closing);
        }
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
            let closed = matches!(state.ended, Some(Ok(_)));
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
            totals.completed_by_root += counters.completed_by_root;
            totals.again += counters.again;
        }
    }
}

fn help(shared: &Shared) {
    while !shared.stop.load(Ordering::Acquire) {
        shared.look();
        std::thread::sleep(LOOK);
    }
}
