//! The reliable layer on a queue pair of the driver.

use std::borrow::Cow;
use std::time::Duration;

use tributary_protocol::xud::rendezvous::MAX_LONG;
use tributary_protocol::xud::{
    self, Datagrams, Event, Layer, LayerConfig, LayerStats, MAX_MESSAGE, Peer,
};

use crate::copies::Copies;
use crate::long::{self, Hands, Long, LongStats};
use crate::port::{Arrival, DeviceClock, Message, Port};
use crate::ring::{Rings, Shape};
use crate::{
    Access, AddressHandle, Buffer, Context, Error, PostError, ProtectionDomain, QueuePairState,
    Rejected, WorkCompletionStatus,
};

/// How an endpoint is made.
#[derive(Clone, Copy, Debug)]
pub struct EndpointConfig {
    /// Key of this endpoint and of all that it talks to.
    pub q_key: u32,
    /// Messages in flight to each peer: 1 to 65,536.
    pub windows: u32,
    /// Packets that may arrive before the endpoint is polled.
    pub receives: u16,
    /// Packets of its own under way.
    pub sends: u16,
    /// Timeout exponent t: 4.096 µs · 2^t, above the round trip.
    pub timeout: u8,
    /// Sendings of a packet before its message is given up (XUD-8), and answers that its receiver was not ready.
    pub attempts: u8,
    /// Longest pause between two sendings. Pauses double from 2 µs to it, so that `attempts` and this bound how long a peer may be
    /// deaf, or its program kept from running, before it is given up.
    pub longest_pause: Duration,
    /// Deliver in the order of sending, for each peer (XUD-11).
    pub ordered: bool,
    /// Bytes for messages of up to 64 KiB that are copied ([`ReliableEndpoint::send_copy`]).
    pub copy_bytes: usize,
    /// Bytes that messages above 64 KiB may take here together while they arrive and until they are taken; more wait at their senders.
    /// One that is longer is refused, and ends there in [`RemoteLength`](WorkCompletionStatus::RemoteLength). 0 refuses all.
    pub long_bytes: usize,
    /// Interrupt vector that wakes [`ReliableEndpoint::wait`].
    pub vector: u32,
}

impl Default for EndpointConfig {
    /// 32 windows, 65 µs, 24 sendings with pauses of up to 33 ms (a third of a second in all), no order, 1 MiB for copies,
    /// 64 MiB for long messages.
    fn default() -> Self {
        Self {
            q_key: 0x1EE7,
            windows: 32,
            receives: 256,
            sends: 256,
            timeout: 4,
            attempts: 24,
            longest_pause: Duration::from_millis(33),
            ordered: false,
            copy_bytes: 1 << 20,
            long_bytes: 64 << 20,
            vector: 0,
        }
    }
}

/// What an endpoint tells its user.
#[derive(Debug)]
pub enum EndpointEvent<'a> {
    /// A message has arrived.
    Delivered {
        /// Where from.
        from: AddressHandle,
        /// All of it. A message of one packet is read where the card has put it, until the endpoint is used again; to keep it
        /// or to give it to another thread, [`Cow::into_owned`] copies it.
        payload: Cow<'a, [u8]>,
    },
    /// A message has ended.
    Completed {
        /// What sending returned.
        id: u64,
        /// Where it went.
        to: AddressHandle,
        /// How it ended. After anything but OK the receiver may have it, at most once.
        status: WorkCompletionStatus,
        /// The buffer that was given to [`ReliableEndpoint::send`].
        buffer: Option<Buffer>,
    },
}

/// Waits for the interrupt that [`ReliableEndpoint::arm`] asked for.
pub struct Waiter {
    context: Context,
    vector: u32,
    seen: u64,
}

impl Waiter {
    /// Sleeps until the interrupt, or the time is over.
    ///
    /// # Errors
    /// The card cannot be reached.
    pub fn wait(&self, timeout: Duration) -> Result<(), Error> {
        let device = self.context.device();
        device.wait(self.vector, self.seen, timeout)?;
        Ok(())
    }
}

/// Messages of up to 1 GiB, each delivered once or reported as failed, over one queue pair with one consumer (XUD-7).
///
/// Those above 64 KiB are announced and then moved by bulk transfers of the cards, or in parts where a card has none (XUD-12). Both
/// ends' programs have a share in that, so such a message needs both to be polled; and the receiver is to [`Self::drain`] before it
/// closes, or what it delivered last may be reported as failed at the sender.
///
/// It works while it is polled: timers of the reliable layer run in [`Self::poll`] and [`Self::wait`].
pub struct ReliableEndpoint {
    port: Port,
    layer: Option<Layer<Message, Arrival>>,
    domain: ProtectionDomain,
    copies: Copies,
    config: EndpointConfig,
    long: Long,
    next_id: u64,
}

impl ReliableEndpoint {
    /// Makes an endpoint that receives and sends.
    ///
    /// # Errors
    /// A number out of range, or something that the card has no more of.
    pub fn new(domain: &ProtectionDomain, config: EndpointConfig) -> Result<Self, Error> {
        let context = domain.context();
        let room = config
            .copy_bytes
            .max(1)
            .saturating_add(long::memory_bytes());
        let copies = domain.reg_mr(room, Access::LOCAL_READ)?;
        let now = context.device().now_ns();
        let long = Long::new(&config, |bytes| copies.alloc(bytes), now);
        let shape = Shape {
            sends: config.sends,
            receives: config.receives,
            q_key: config.q_key,
            first_psn: context.device().now_ns() as u32,
            timeout: config.timeout.min(31),
            vector: config.vector,
            rung_by_card: false,
        };
        let mut rings = Rings::new(context, domain.0.number, &shape)?;
        rings.modify(QueuePairState::ReadyToReceive)?;
        rings.modify(QueuePairState::ReadyToSend)?;
        let layer = LayerConfig {
            qpn: rings.number(),
            q_key: config.q_key,
            windows: config.windows,
            receives: config.receives,
            sends: config.sends,
            timeout: shape.timeout,
            attempts: config.attempts,
            rnr_attempts: config.attempts,
            longest_pause_ns: u64::try_from(config.longest_pause.as_nanos()).unwrap_or(u64::MAX),
            ordered: config.ordered,
            ..LayerConfig::default()
        };
        let mut port = Port::new(domain, rings, config.receives)?;
        let layer = Layer::over(layer, &mut port).map_err(|error| match error {
            xud::LayerError::Config(error) => Error::Range {
                what: error.name,
                value: error.value,
                min: error.min,
                max: error.max,
            },
            other => Error::Corrupt {
                qpn: port.rings.number(),
                what: other.to_string(),
            },
        })?;
        port.rings.ring()?;
        Ok(Self {
            port,
            layer: Some(layer),
            domain: domain.clone(),
            copies: Copies::new(copies),
            config,
            long,
            next_id: 0,
        })
    }

    /// How others address it.
    #[must_use]
    pub fn address(&self) -> AddressHandle {
        AddressHandle::from(Peer {
            node: self.domain.context().options().node,
            qpn: self.port.rings.number(),
        })
    }

    /// What tells this endpoint from earlier ones of the same address: the first epoch of its queue pair (XUD-6). 0 when closed.
    #[must_use]
    pub fn incarnation(&self) -> u16 {
        self.layer.as_ref().map_or(0, Layer::incarnation)
    }

    /// Counters of the reliable layer.
    #[must_use]
    pub fn stats(&self) -> LayerStats {
        self.layer
            .as_ref()
            .map(Layer::stats)
            .cloned()
            .unwrap_or_default()
    }

    /// Counters of messages above 64 KiB; the other counters have these messages too, and the packets that are sent for them.
    #[must_use]
    pub fn long_stats(&self) -> LongStats {
        self.long.stats()
    }

    /// Messages that have not ended.
    #[must_use]
    pub fn pending(&self) -> usize {
        let layer = self.layer.as_ref().map_or(0, Layer::pending);
        layer.saturating_sub(self.long.said()) + self.long.pending()
    }

    /// Bytes that the connections occupy.
    #[must_use]
    pub fn connection_bytes(&self) -> usize {
        self.layer.as_ref().map_or(0, Layer::connection_bytes)
    }

    /// Sends a message from where it is; the name that its completion will carry. The buffer comes back then (XUD-9).
    ///
    /// # Errors
    /// Above 1 GiB, or of another protection domain; the buffer comes back with the error.
    pub fn send(&mut self, to: AddressHandle, buffer: Buffer) -> Result<u64, Rejected> {
        if !buffer.is_in(&self.domain) {
            let error = PostError::Domain;
            let buffer = Some(buffer);
            return Err(Rejected { error, buffer });
        }
        if let Err(error) = long::check(buffer.len()) {
            let buffer = Some(buffer);
            return Err(Rejected { error, buffer });
        }
        self.enqueue(to, Message::User(buffer))
            .map_err(|error| Rejected {
                error,
                buffer: None,
            })
    }

    /// Sends a copy of a message. The copy of one above 64 KiB has a region of its own.
    ///
    /// # Errors
    /// Above 1 GiB, or no room for the copy, or no region, until others have ended.
    pub fn send_copy(&mut self, to: AddressHandle, bytes: &[u8]) -> Result<u64, PostError> {
        long::check(bytes.len())?;
        let copy = if bytes.len() > MAX_MESSAGE {
            let region = self.domain.reg_mr(bytes.len(), Access::LOCAL_READ);
            let buffer = region.ok().and_then(|region| region.alloc(bytes.len()));
            buffer.map(|mut buffer| {
                buffer.copy_from_slice(bytes);
                buffer
            })
        } else {
            self.copies.make(bytes)
        };
        self.enqueue(to, Message::Copy(copy.ok_or(PostError::Full("copy"))?))
    }

    fn enqueue(&mut self, to: AddressHandle, message: Message) -> Result<u64, PostError> {
        let layer = self.layer.as_mut();
        let layer = layer.ok_or(PostError::State(QueuePairState::Reset))?;
        let (bytes, id) = (message.as_ref().len(), self.next_id);
        if bytes > MAX_MESSAGE {
            let now = self.domain.context().device().now_ns();
            let (port, domain) = (&mut self.port, &self.domain);
            let mut hands = Hands {
                layer,
                port,
                domain,
                now,
            };
            self.long.send(&mut hands, id, to, message);
        } else if self.long.holds(to.peer()) {
            self.long.hold(id, to.peer(), message);
        } else {
            let sent = layer.send_as(id, to.peer(), message, false);
            sent.map_err(|_| PostError::TooLong {
                bytes,
                max: MAX_LONG,
            })?;
        }
        self.next_id += 1;
        Ok(id)
    }

    /// Does what can be done and returns the oldest event. Never waits.
    ///
    /// # Errors
    /// The card cannot be reached or failed; [`Self::close`] gives the buffers back that the card cannot touch any more.
    pub fn poll(&mut self) -> Result<Option<EndpointEvent<'_>>, Error> {
        self.look()?;
        Ok(self.take_event())
    }

    /// Gives the card what was sent and takes what it has, but no event: those stay for [`Self::poll`]. A program that sends and
    /// then does something else calls this.
    ///
    /// # Errors
    /// As [`Self::poll`].
    pub fn flush(&mut self) -> Result<(), Error> {
        self.port.take_back();
        self.work()
    }

    /// Takes the card's completions, serves timers, posts what waits.
    fn work(&mut self) -> Result<(), Error> {
        let Some(layer) = &mut self.layer else {
            return Ok(());
        };
        if self.port.rings.has_next() || layer.has_work() || self.long.is_busy() {
            let device = self.domain.context().device();
            layer.set_congestion(self.domain.context().congestion());
            let mut again = true;
            while again {
                layer.run(&mut self.port, DeviceClock(device));
                if let Some(error) = self.port.error.take() {
                    return Err(error);
                }
                again = layer.has_said() || self.long.is_busy();
                if again {
                    let (port, domain, now) = (&mut self.port, &self.domain, device.now_ns());
                    again = self.long.step(&mut Hands {
                        layer,
                        port,
                        domain,
                        now,
                    })?;
                }
            }
            self.port.rings.ring()?;
            self.port.rings.give_back()?;
        }
        Ok(())
    }

    /// Waits until every message has ended, or the time is over; whether they have. Events stay for [`Self::poll`].
    ///
    /// # Errors
    /// As [`Self::poll`].
    pub fn drain(&mut self, timeout: Duration) -> Result<bool, Error> {
        let context = self.domain.context().clone();
        let start = context.device().now_ns();
        loop {
            self.flush()?;
            let over = Duration::from_nanos(context.device().now_ns().saturating_sub(start));
            let ended = self.pending() == 0 && !self.long.is_busy();
            if ended || over >= timeout {
                return Ok(ended);
            }
            if let Some(waiter) = self.arm()? {
                waiter.wait((timeout - over).min(self.slice()))?;
            }
        }
    }

    /// Asks for an interrupt and returns who waits for it, without the endpoint: a thread that sleeps keeps it from nobody.
    /// `None` if there is something to do at once.
    ///
    /// # Errors
    /// The card cannot be reached.
    pub fn arm(&mut self) -> Result<Option<Waiter>, Error> {
        let context = self.domain.context();
        let vector = self.config.vector;
        let seen = context.device().interrupts(vector)?;
        self.port.rings.arm()?;
        // What came before the arming interrupts nobody.
        let free = !self.port.rings.has_next();
        Ok(free.then(|| Waiter {
            context: context.clone(),
            vector,
            seen,
        }))
    }

    /// How long who waits may sleep: timers of the layer need a look now and then.
    #[must_use]
    pub fn slice(&self) -> Duration {
        Duration::from_nanos(4_096 << self.config.timeout.min(16))
    }

    /// Works if there is no event; whether there is one now.
    fn look(&mut self) -> Result<bool, Error> {
        let Some(layer) = &mut self.layer else {
            return Ok(false);
        };
        if layer.has_event() {
            return Ok(true);
        }
        self.port.take_back();
        self.work()?;
        if self.layer.as_ref().is_some_and(Layer::has_event) {
            return Ok(true);
        }
        self.domain.context().device().idle()?;
        Ok(false)
    }

    #[inline]
    fn take_event(&mut self) -> Option<EndpointEvent<'_>> {
        Some(match self.layer.as_mut()?.take_event()? {
            Event::Delivered { from, payload } => {
                if let Arrival::Long(bytes) = &payload {
                    self.long.taken(bytes.len());
                }
                EndpointEvent::Delivered {
                    from: AddressHandle::from(from),
                    payload: self.port.lend(payload),
                }
            }
            Event::Completed {
                id,
                to,
                outcome,
                buffer,
            } => EndpointEvent::Completed {
                id,
                to: AddressHandle::from(to),
                status: outcome,
                buffer: match buffer {
                    Message::User(buffer) => Some(buffer),
                    Message::Copy(buffer) => {
                        self.copies.give(buffer);
                        None
                    }
                    Message::Said(_) => None,
                },
            },
        })
    }

    /// The next event, waiting by interrupt for at most so long.
    ///
    /// # Errors
    /// As [`Self::poll`].
    pub fn wait(&mut self, timeout: Duration) -> Result<Option<EndpointEvent<'_>>, Error> {
        let context = self.domain.context().clone();
        let device = context.device();
        let start = device.now_ns();
        let slice = self.slice();
        loop {
            let found = self.look()?;
            let over = Duration::from_nanos(device.now_ns().saturating_sub(start));
            let left = timeout.saturating_sub(over);
            if found || left.is_zero() {
                return Ok(self.take_event());
            }
            if let Some(waiter) = self.arm()? {
                waiter.wait(left.min(slice))?;
            }
        }
    }

    /// Ends the endpoint: events that were not taken, then every message that had not ended, FLUSHED.
    #[must_use]
    pub fn close(mut self) -> Vec<EndpointEvent<'static>> {
        self.end()
    }

    /// The card lets go of the queue pair first. If it does not answer, it may still read messages: their memory stays its own.
    fn end(&mut self) -> Vec<EndpointEvent<'static>> {
        let Some(layer) = self.layer.take() else {
            return Vec::new();
        };
        self.port.rings.destroy();
        let let_go = self.port.rings.let_go();
        let long = self.long.flush().into_iter();
        let long = long.map(|(id, to, buffer)| Event::Completed {
            id,
            to,
            outcome: WorkCompletionStatus::Flushed,
            buffer,
        });
        let events = layer.flush().into_iter().chain(long);
        let events = events.filter_map(|event| match event {
            Event::Delivered { from, payload } => Some(EndpointEvent::Delivered {
                from: AddressHandle::from(from),
                payload: Cow::Owned(self.port.bytes(&payload).to_vec()),
            }),
            Event::Completed {
                id,
                to,
                outcome,
                buffer,
            } => {
                let said = matches!(buffer, Message::Said(_));
                let buffer = match buffer {
                    Message::User(buffer) if let_go => Some(buffer),
                    Message::Copy(_) | Message::Said(_) if let_go => None,
                    lost => {
                        std::mem::forget(lost);
                        None
                    }
                };
                (!said).then(|| EndpointEvent::Completed {
                    id,
                    to: AddressHandle::from(to),
                    status: outcome,
                    buffer,
                })
            }
        });
        events.collect()
    }
}

impl Drop for ReliableEndpoint {
    fn drop(&mut self) {
        self.end();
    }
}
