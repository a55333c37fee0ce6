//! The engine on a card: a reliable endpoint of the driver, and a thread that works while the program computes.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tributary_host_driver::collective::remote::TREES_SOCKET;
use tributary_host_driver::{
    AddressHandle, Claim, ClaimError, Context, EndpointConfig, EndpointEvent, Error, Options,
    PostError, ProtectionDomain, ReliableEndpoint, Waiter, WorkCompletionStatus,
};

use crate::engine::{Address, Busy, Counts, Engine, Memory, Regions, Spot, Wire};
use crate::mover::{Mover, SLOTS};

/// Receive requests of an endpoint, and peers that share them.
const RECEIVES: u16 = 2_048;
const PEERS: usize = 64;
/// Bytes of a packet. Where there are switches a frame stays below the 3,968 bytes that they carry, with what is around it. Without,
/// packets of bulk transfers, whose payload is a power of two, have twice as much.
const MTU_SWITCHES: u16 = 3_584;
const MTU: u16 = 4_096;
/// What the driver uses of a packet for itself.
const AROUND: u16 = 64;
/// 1 ms. Packets wait behind each other at cards and switches, 3.7 us each on a line of 8 Gb/s; after the usual 65 us most would be
/// sent again in vain.
const TIMEOUT: u8 = 8;
/// Interrupt of an endpoint's messages and transfers.
const VECTOR: u32 = 0;
/// A program that has not asked for so long computes: the thread works for it.
const AWAY: Duration = Duration::from_millis(1);
/// The thread looks whether it shall end this often.
const LOOK: Duration = Duration::from_millis(20);
/// Longest pause between two sendings of a packet: a peer whose processor others have taken is not dead before seconds, and a fabric
/// that is simulated slowly is not filled with packets that are under way anyhow.
pub const DEAF: Duration = Duration::from_secs(1);
/// What is under way gets so long when an endpoint is closed.
const CLOSING: Duration = Duration::from_secs(5);
/// A peer that says nothing for so long while something is under way with it is asked whether it is there.
const PROBE: Duration = Duration::from_secs(2);

/// A card of this process.
pub struct Card {
    domain: ProtectionDomain,
    _claim: Claim,
}

impl Card {
    /// Claims a card of a folder of sockets.
    ///
    /// # Errors
    /// None is free, or it is none that this provider can drive: the text says why.
    pub fn claim(folder: &Path) -> Result<Self, String> {
        let text = |error: ClaimError| error.to_string();
        let claim = Claim::first(folder).map_err(text)?;
        let device = Arc::new(claim.connect().map_err(text)?);
        // The manager of a fabric with switches has a socket there.
        let switches = folder.join(TREES_SOCKET).exists();
        let options = Options {
            node: claim.node(),
            mtu: if switches { MTU_SWITCHES } else { MTU },
        };
        let opened = Context::open(device, options).and_then(|context| context.alloc_pd());
        let socket = claim.socket().display();
        let domain =
            opened.map_err(|error| format!("cannot open the card at {socket}: {error}"))?;
        Ok(Self {
            domain,
            _claim: claim,
        })
    }

    /// Where queue pairs and memory of this process are made.
    #[must_use]
    pub fn domain(&self) -> &ProtectionDomain {
        &self.domain
    }
}

/// Address of a queue pair, as programs exchange it: node and number.
#[must_use]
pub fn address(of: AddressHandle) -> Address {
    u64::from(of.node()) << 32 | u64::from(of.qp_num())
}

/// The queue pair with an address, if there can be one.
#[must_use]
pub fn handle(of: Address) -> Option<AddressHandle> {
    AddressHandle::new(u32::try_from(of >> 32).ok()?, of as u32).ok()
}

/// Whether a queue pair can have this address.
#[must_use]
pub fn is_possible(of: Address) -> bool {
    handle(of).is_some()
}

/// Which ends of messages say something new of a peer.
#[derive(Default)]
struct Ends {
    /// Messages begun so far; they are numbered from 0, over all peers.
    begun: u64,
    /// How many had begun when a peer was found gone, or another process.
    settled: HashMap<Address, u64>,
}

impl Ends {
    /// A peer has been found gone or another process: of messages before this nothing more is to be learned.
    fn settle(&mut self, peer: Address) {
        self.settled.insert(peer, self.begun);
    }

    /// Whether the end of a message is of the peer as it is known now.
    fn is_news(&self, peer: Address, number: u64) -> bool {
        self.settled.get(&peer).is_none_or(|begun| number >= *begun)
    }
}

/// Gives messages to the reliable endpoint, keeps count of them, and begins bulk transfers.
struct Sender<'a>(
    &'a mut ReliableEndpoint,
    &'a mut Ends,
    &'a mut Option<Mover>,
);

impl Wire for Sender<'_> {
    fn spot(&mut self, slot: usize) -> Option<Spot> {
        self.2.as_ref()?.spot(slot)
    }

    fn renew(&mut self, slot: usize) -> bool {
        self.2.as_mut().is_some_and(|mover| mover.renew(slot))
    }

    fn take(&mut self, slot: usize, bytes: usize, to: &mut dyn FnMut(usize, &[u8])) -> bool {
        (self.2.as_mut()).is_some_and(|mover| mover.take(slot, bytes, to))
    }

    fn write(
        &mut self,
        (to, spot): (Address, Spot),
        bytes: usize,
        name: u32,
        fill: &mut dyn FnMut(&mut [u8]),
    ) -> Result<(), Busy> {
        let (Some(mover), Some(to)) = (self.2.as_mut(), handle(to)) else {
            return Err(Busy);
        };
        mover.write(to.node(), spot, bytes, name, fill)
    }

    fn send(&mut self, to: Address, message: &[u8]) -> Result<(), Busy> {
        // An address vector takes no address that cannot be.
        let Some(to) = handle(to) else { return Ok(()) };
        match self.0.send_copy(to, message) {
            Ok(number) => {
                self.1.begun = number + 1;
                Ok(())
            }
            Err(PostError::Full(_)) => Err(Busy),
            // The engine sends nothing that is too long.
            Err(_) => Ok(()),
        }
    }
}

/// What an endpoint works with, under one lock.
pub struct Core<O, M> {
    /// The logic.
    pub engine: Engine<O, M>,
    port: ReliableEndpoint,
    /// Nothing, if long messages go as datagrams.
    mover: Option<Mover>,
    probed: Instant,
    /// The card has failed: why.
    pub failed: Option<String>,
    ends: Ends,
}

impl<O: Clone + PartialEq, M: Memory> Core<O, M> {
    /// Does what can be done now.
    pub fn progress(&mut self) {
        if self.failed.is_none()
            && let Err(error) = self.work()
        {
            self.failed = Some(error.to_string());
        }
    }

    fn work(&mut self) -> Result<(), Error> {
        if self.probed.elapsed() >= PROBE {
            self.probed = Instant::now();
            self.engine.probe();
        }
        if let Some(mover) = &mut self.mover {
            while let Some((name, how)) = mover.ended()? {
                self.engine.transferred(name, how);
            }
        }
        self.flush()?;
        while let Some(event) = self.port.poll()? {
            match event {
                EndpointEvent::Delivered { from, payload } => {
                    let from = address(from);
                    if self.engine.arrived(from, &payload) {
                        self.ends.settle(from);
                    }
                }
                EndpointEvent::Completed { id, to, status, .. } => {
                    let to = address(to);
                    if status != WorkCompletionStatus::Ok && self.ends.is_news(to, id) {
                        self.ends.settle(to);
                        self.engine.lost(to);
                    }
                }
            }
        }
        if self.engine.waits() {
            self.flush()?;
        }
        Ok(())
    }

    /// Gives the card what waits.
    fn flush(&mut self) -> Result<(), Error> {
        self.engine
            .pump(&mut Sender(&mut self.port, &mut self.ends, &mut self.mover));
        self.port.flush()
    }

    /// The same, from a call that sends.
    pub fn push(&mut self) {
        if self.failed.is_none()
            && let Err(error) = self.flush()
        {
            self.failed = Some(error.to_string());
        }
    }

    /// Asks for an interrupt: who waits for it, if there is nothing to do at once.
    fn arm(&mut self) -> Result<Option<Waiter>, Error> {
        let waiter = self.port.arm()?;
        let quiet = self.mover.as_ref().map_or(Ok(true), Mover::arm)?;
        Ok(waiter.filter(|_| quiet))
    }
}

/// An endpoint.
pub struct Port<O, M> {
    core: Mutex<Core<O, M>>,
    own: Address,
    /// Calls of the program so far: whether it is away.
    calls: AtomicU64,
    /// How many there were when it said that it would sleep.
    left: AtomicU64,
    stop: AtomicBool,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl<O, M> Port<O, M>
where
    O: Clone + PartialEq + Send + 'static,
    M: Memory + Send + 'static,
{
    /// Makes an endpoint on a card, whose peers may reach `regions`; `served` is told whenever the thread has worked.
    ///
    /// # Errors
    /// The card has no more of something.
    pub fn new(
        card: &Card,
        regions: Regions<M>,
        served: impl Fn(&mut Core<O, M>) + Send + 'static,
    ) -> Result<Arc<Self>, String> {
        let config = EndpointConfig {
            receives: RECEIVES,
            sends: 512,
            windows: 64,
            timeout: TIMEOUT,
            attempts: 32,
            longest_pause: DEAF,
            ordered: true,
            copy_bytes: 8 << 20,
            long_bytes: 0,
            vector: VECTOR,
            ..EndpointConfig::default()
        };
        let port = ReliableEndpoint::new(&card.domain, config).map_err(|e| e.to_string())?;
        let own = address(port.address());
        let mover = Mover::new(&card.domain, VECTOR);
        let mut engine = Engine::new(
            (own, port.incarnation()),
            usize::from(RECEIVES) / PEERS,
            usize::from(card.domain.context().options().mtu - AROUND),
            regions,
        );
        if mover.is_some() {
            engine.lend(SLOTS);
        }
        let port = Arc::new(Self {
            core: Mutex::new(Core {
                engine,
                port,
                mover,
                probed: Instant::now(),
                failed: None,
                ends: Ends::default(),
            }),
            own,
            calls: AtomicU64::new(0),
            left: AtomicU64::new(u64::MAX),
            stop: AtomicBool::new(false),
            thread: Mutex::new(None),
        });
        let weak = Arc::downgrade(&port);
        let thread = std::thread::Builder::new().name("tributary".to_owned());
        let thread = thread.spawn(move || help(&weak, served));
        let thread = thread.map_err(|error| error.to_string())?;
        *port.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
        Ok(port)
    }

    /// Its address.
    #[must_use]
    pub fn own(&self) -> Address {
        self.own
    }

    /// For a call of the program.
    pub fn enter(&self) -> MutexGuard<'_, Core<O, M>> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.core()
    }

    /// The program is about to sleep: the thread works from now on, and not only when it has been away for a while.
    pub fn leave(&self) {
        let calls = self.calls.load(Ordering::Acquire);
        self.left.store(calls, Ordering::Release);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = thread.as_ref() {
            thread.thread().unpark();
        }
    }

    fn core(&self) -> MutexGuard<'_, Core<O, M>> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until what was sent has arrived, for a bounded time, and ends the thread. What the endpoint has done: its messages, and
    /// packets that were sent again.
    pub fn close(&self) -> (Counts, u64) {
        self.stop.store(true, Ordering::Release);
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = thread.take() {
            // A thread that failed has said so.
            let _ = thread.join();
        }
        let mut core = self.core();
        let start = Instant::now();
        while core.failed.is_none() && !core.engine.is_drained() && start.elapsed() < CLOSING {
            core.progress();
            std::thread::yield_now();
        }
        let left = CLOSING.saturating_sub(start.elapsed());
        if core.failed.is_none()
            && let Err(error) = core.port.drain(left)
        {
            core.failed = Some(error.to_string());
        }
        let stats = core.port.stats();
        (core.engine.counts(), stats.resent + stats.rnr_resent)
    }
}

/// Works while the program does not, and sleeps in the interrupt.
fn help<O, M>(port: &Weak<Port<O, M>>, served: impl Fn(&mut Core<O, M>))
where
    O: Clone + PartialEq + Send + 'static,
    M: Memory + Send + 'static,
{
    let mut seen = 0;
    while let Some(port) = port
        .upgrade()
        .filter(|port| !port.stop.load(Ordering::Acquire))
    {
        let calls = port.calls.load(Ordering::Relaxed);
        let (mut sleep, mut again) = (None, false);
        if calls == seen || calls == port.left.load(Ordering::Acquire) {
            let mut core = port.core();
            core.progress();
            served(&mut core);
            if core.failed.is_none() {
                let slice = core.port.slice().max(AWAY);
                let most = if core.port.pending() > 0 || core.engine.waits() {
                    slice
                } else {
                    LOOK
                };
                // What fails is seen with the next look.
                if let Ok(armed) = core.arm() {
                    again = armed.is_none();
                    sleep = armed.map(|waiter| (waiter, most));
                }
            }
        }
        seen = calls;
        drop(port);
        match sleep {
            Some((waiter, most)) => drop(waiter.wait(most)),
            None if again => {}
            None => std::thread::park_timeout(AWAY),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Ends;

    #[test]
    fn cl_9_the_first_message_to_a_successor_is_news_and_those_before_it_are_not() {
        let mut ends = Ends::default();
        assert!(ends.is_news(7, 0));
        // Nothing has been sent when the successor is heard of.
        ends.settle(7);
        assert!(ends.is_news(7, 0) && ends.is_news(8, 0));
        ends.begun = 3;
        ends.settle(7);
        assert!(!ends.is_news(7, 2) && ends.is_news(7, 3) && ends.is_news(8, 2));
    }
}
