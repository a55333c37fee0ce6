//! The endpoint by which others know a process, and who of its communicators a message is for.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::long::Mover;
use super::messages::Message;
use super::{CollectiveError, Why};
use crate::{
    AddressHandle, DeviceError, EndpointConfig, EndpointEvent, Error, PostError, ProtectionDomain,
    ReliableEndpoint, WorkCompletionStatus,
};

/// Messages of communicators that are still to be made here, and names of those that are no more: so many are kept.
const EARLY: usize = 4_096;
const CLOSED: usize = 4_096;

/// How a host is made.
#[derive(Clone, Copy, Debug)]
pub struct HostOptions {
    /// The endpoint for messages; its Q_Key is the job's, and it delivers in order, whatever is said here.
    pub endpoint: EndpointConfig,
    /// The job in reduction frames. Hosts of another VNI or Q_Key neither see nor disturb this one.
    pub vni: u16,
}

impl Default for HostOptions {
    /// The usual endpoint, VNI 1.
    fn default() -> Self {
        Self {
            endpoint: EndpointConfig::default(),
            vni: 1,
        }
    }
}

/// A process that is a member of communicators. Copies are the same host.
#[derive(Clone)]
pub struct Host(Arc<Mutex<Hub>>);

/// What the communicators of a host share.
pub struct Hub {
    endpoint: ReliableEndpoint,
    pub domain: ProtectionDomain,
    pub options: HostOptions,
    /// Messages that the endpoint had no room for.
    unsent: VecDeque<(AddressHandle, Vec<u8>)>,
    /// By name.
    inboxes: BTreeMap<u64, VecDeque<(AddressHandle, Message)>>,
    early: VecDeque<(u64, AddressHandle, Message)>,
    /// Own rank in communicators that are no more.
    closed: VecDeque<(u64, u32)>,
    /// What writes blocks of long operations, once it is needed; nothing in it if the card cannot.
    mover: Option<Option<Mover>>,
    /// Transfers that have ended, and whether all is written, by communicator.
    moved: BTreeMap<u64, VecDeque<(u64, bool)>>,
    /// To whom messages were lost.
    lost: Vec<AddressHandle>,
    /// Messages that no member sends.
    pub malformed: u64,
    /// What the card or driver failed with: every communicator hears it.
    failed: Option<String>,
}

impl Host {
    /// Makes an endpoint for collectives.
    ///
    /// # Errors
    /// As [`ReliableEndpoint::new`].
    pub fn new(domain: &ProtectionDomain, options: HostOptions) -> Result<Self, Error> {
        let config = EndpointConfig {
            ordered: true,
            long_bytes: 0,
            ..options.endpoint
        };
        Ok(Self(Arc::new(Mutex::new(Hub {
            endpoint: ReliableEndpoint::new(domain, config)?,
            domain: domain.clone(),
            options,
            unsent: VecDeque::new(),
            inboxes: BTreeMap::new(),
            early: VecDeque::new(),
            closed: VecDeque::new(),
            mover: None,
            moved: BTreeMap::new(),
            lost: Vec::new(),
            malformed: 0,
            failed: None,
        }))))
    }

    /// How others address it.
    #[must_use]
    pub fn address(&self) -> AddressHandle {
        self.hub().endpoint.address()
    }

    /// Messages that came and were none of a communicator: dropped.
    #[must_use]
    pub fn malformed(&self) -> u64 {
        self.hub().malformed
    }

    /// Takes what has come and sends what waits, whether or not a communicator is polled: peers get answers of a host whose members
    /// are busy, or not made yet. What came for a communicator is kept for it.
    ///
    /// # Errors
    /// The card cannot be reached or failed.
    pub fn work(&self) -> Result<(), Error> {
        let mut hub = self.hub();
        hub.pull()?;
        hub.push()
    }

    pub(super) fn hub(&self) -> MutexGuard<'_, Hub> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Time of the card's world, ns.
    pub(super) fn now(&self) -> u64 {
        self.hub().domain.context().device().now_ns()
    }
}

impl Hub {
    /// Begins a communicator; what came for it before.
    pub fn register(&mut self, name: u64) -> Result<(), CollectiveError> {
        if self.inboxes.contains_key(&name) {
            return Err(CollectiveError::NameTaken(name));
        }
        self.closed.retain(|(closed, _)| *closed != name);
        let early = std::mem::take(&mut self.early);
        let (mine, others) = early.into_iter().partition(|(of, ..)| *of == name);
        self.early = others;
        let mine: VecDeque<(u64, AddressHandle, Message)> = mine;
        let inbox = mine.into_iter().map(|(_, from, message)| (from, message));
        self.inboxes.insert(name, inbox.collect());
        Ok(())
    }

    /// A communicator is no more.
    pub fn close(&mut self, name: u64, rank: u32) {
        self.inboxes.remove(&name);
        self.moved.remove(&name);
        if self.closed.len() == CLOSED {
            self.closed.pop_front();
        }
        self.closed.push_back((name, rank));
    }

    pub fn send(&mut self, name: u64, to: AddressHandle, message: &Message) {
        self.unsent.push_back((to, message.encode(name)));
    }

    /// What writes blocks of long operations; nothing if the card has no bulk transfers.
    pub fn mover(&mut self) -> Option<&mut Mover> {
        let endpoint = &self.options.endpoint;
        let made = self
            .mover
            .get_or_insert_with(|| Mover::new(&self.domain, endpoint.q_key, endpoint.vector));
        made.as_mut()
    }

    /// A transfer of a communicator that has ended, and whether all is written.
    pub fn moved(&mut self, name: u64) -> Option<(u64, bool)> {
        self.moved.get_mut(&name)?.pop_front()
    }

    fn turn_mover(&mut self) -> Result<(), Error> {
        let Some(Some(mover)) = &mut self.mover else {
            return Ok(());
        };
        for (name, number, written) in mover.run()? {
            if self.inboxes.contains_key(&name) {
                let moved = self.moved.entry(name).or_default();
                moved.push_back((number, written));
            }
        }
        Ok(())
    }

    /// Gives the endpoint what waits.
    pub fn push(&mut self) -> Result<(), Error> {
        let pushed = self.try_push();
        self.note(pushed)
    }

    fn try_push(&mut self) -> Result<(), Error> {
        while let Some((to, bytes)) = self.unsent.front() {
            match self.endpoint.send_copy(*to, bytes) {
                Ok(_) => drop(self.unsent.pop_front()),
                Err(PostError::Device(error)) => return Err(error.into()),
                // No room until others have ended.
                Err(_) => break,
            }
        }
        self.endpoint.flush()?;
        self.turn_mover()
    }

    fn note(&mut self, done: Result<(), Error>) -> Result<(), Error> {
        if let Err(error) = &done {
            self.failed.get_or_insert_with(|| error.to_string());
        }
        done
    }

    /// Takes what has come.
    pub fn pull(&mut self) -> Result<(), Error> {
        if let Some(what) = &self.failed {
            return Err(DeviceError::Io(std::io::Error::other(what.clone())).into());
        }
        let pulled = self.try_pull();
        self.note(pulled)
    }

    fn try_pull(&mut self) -> Result<(), Error> {
        while let Some(event) = self.endpoint.poll()? {
            match event {
                EndpointEvent::Completed { to, status, .. } => {
                    let arrived = status == WorkCompletionStatus::Ok;
                    if !arrived && !self.lost.contains(&to) {
                        self.lost.push(to);
                    }
                }
                EndpointEvent::Delivered { from, payload } => match Message::decode(&payload) {
                    None => self.malformed += 1,
                    Some((name, message)) => self.deliver(name, from, message),
                },
            }
        }
        self.turn_mover()
    }

    fn deliver(&mut self, name: u64, from: AddressHandle, message: Message) {
        if let Some(inbox) = self.inboxes.get_mut(&name) {
            return inbox.push_back((from, message));
        }
        if let Some(&(_, rank)) = self.closed.iter().find(|(closed, _)| *closed == name) {
            if message == Message::Ping {
                let why = Why::Left;
                self.send(name, from, &Message::Failed { rank, why });
            }
            return;
        }
        if self.early.len() == EARLY {
            self.early.pop_front();
            self.malformed += 1;
        }
        self.early.push_back((name, from, message));
    }

    /// The next message for a communicator.
    pub fn take(&mut self, name: u64) -> Option<(AddressHandle, Message)> {
        self.inboxes.get_mut(&name)?.pop_front()
    }

    /// To whom messages were lost.
    pub fn lost(&self) -> &[AddressHandle] {
        &self.lost
    }

    /// Whether nothing waits to be sent or to be acknowledged.
    pub fn is_quiet(&self) -> bool {
        self.unsent.is_empty() && self.endpoint.pending() == 0
    }
}
