//! The reliable layer on a queue pair of the driver.

use std::time::Duration;

use tributary_protocol::card::descriptor::{
    HEAD_MAX, OPCODE_SEND, Of, ReceiveRequest, WorkRequest,
};
use tributary_protocol::xud::{
    self, Completion, Datagrams, Event, Layer, LayerConfig, LayerStats, MAX_MESSAGE, Peer, Post,
};

use crate::ring::{Rings, Shape};
use crate::{
    Access, AddressHandle, Buffer, Error, MemoryRegion, PostError, ProtectionDomain,
    QueuePairState, Rejected, WorkCompletionStatus,
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
    /// Sendings of a packet before its message is given up (XUD-8).
    pub attempts: u8,
    /// Deliver in the order of sending, for each peer (XUD-11).
    pub ordered: bool,
    /// Bytes for messages that are copied ([`ReliableEndpoint::send_copy`]).
    pub copy_bytes: usize,
    /// Interrupt vector that wakes [`ReliableEndpoint::wait`].
    pub vector: u32,
}

impl Default for EndpointConfig {
    /// 32 windows, 65 µs, 12 sendings, no order, 1 MiB for copies.
    fn default() -> Self {
        Self {
            q_key: 0x1EE7,
            windows: 32,
            receives: 256,
            sends: 256,
            timeout: 4,
            attempts: 12,
            ordered: false,
            copy_bytes: 1 << 20,
            vector: 0,
        }
    }
}

/// What an endpoint tells its user.
#[derive(Debug)]
pub enum EndpointEvent {
    /// A message has arrived.
    Delivered {
        /// Where from.
        from: AddressHandle,
        /// All of it.
        payload: Vec<u8>,
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

/// A message that is being sent.
enum Message {
    User(Buffer),
    Copy(Buffer),
}

impl Message {
    fn buffer(&self) -> &Buffer {
        match self {
            Self::User(buffer) | Self::Copy(buffer) => buffer,
        }
    }
}

impl AsRef<[u8]> for Message {
    fn as_ref(&self) -> &[u8] {
        self.buffer()
    }
}

/// The queue pair as the layer sees it. An error of the card is kept for the user; from then on nothing happens.
struct Port {
    rings: Rings<()>,
    mtu: u16,
    /// A place of an MTU for each receive request.
    places: Buffer,
    error: Option<Error>,
}

impl Port {
    fn note<T>(&mut self, result: Result<T, Error>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                self.error.get_or_insert(error);
                None
            }
        }
    }
}

impl Datagrams for Port {
    type Buffer = Message;

    fn mtu(&self) -> u16 {
        self.mtu
    }

    fn epoch(&self, _: u32) -> Option<u16> {
        Some(self.rings.epoch)
    }

    fn next_epoch(&mut self, _: u32) -> Option<u16> {
        let epoch = self.rings.next_epoch();
        self.note(epoch)
    }

    fn post_send(&mut self, _: u32, post: Post<'_, Message>) -> Result<(), xud::PostError> {
        let (address, lkey, length) = post.payload.map_or((0, 0, 0), |(message, range)| {
            let buffer = message.buffer();
            let address = buffer.iova() + range.start as u64;
            (address, buffer.key(), range.len() as u32)
        });
        let mut head = [0; HEAD_MAX];
        let Some(place) = head.get_mut(..post.head.len()) else {
            return Err(xud::PostError::Request("head"));
        };
        place.copy_from_slice(post.head);
        let work = WorkRequest {
            opcode: OPCODE_SEND,
            head_len: post.head.len() as u8,
            length,
            wr_id: post.id,
            address,
            lkey,
            version_flags: xud::wire::VERSION_1 | post.flags,
            to: post.to,
            window: post.window,
            head,
        };
        match self.rings.takes_send() {
            Ok(()) => self.rings.put_send(&work, ()),
            // In the state Error nothing is taken and nothing ends.
            Err(PostError::State(_)) => {}
            Err(_) => return Err(xud::PostError::Full("send")),
        }
        Ok(())
    }

    fn post_receive(&mut self, _: u32, request: xud::ReceiveRequest) -> Result<(), xud::PostError> {
        let request = ReceiveRequest {
            wr_id: request.id,
            address: self.places.iova() + request.id * u64::from(self.mtu),
            lkey: self.places.key(),
            length: request.length,
        };
        match self.rings.takes_receive() {
            Ok(()) => self.rings.put_receive(&request, ()),
            Err(PostError::State(_)) => {}
            Err(_) => return Err(xud::PostError::Full("receive")),
        }
        Ok(())
    }

    fn poll(&mut self, _: u32) -> Option<Completion> {
        let ended = self.rings.next();
        let ended = self.note(ended).flatten()?;
        let completion = ended.completion;
        let id = ended.wr_id;
        if completion.of == Of::Send && completion.status != WorkCompletionStatus::LocalQueue {
            let outcome = completion.status;
            return Some(Completion::Sent { id, outcome });
        }
        let at = id as usize * usize::from(self.mtu);
        let payload = self.places.get(at..at + completion.length as usize);
        match (completion.status, payload) {
            (WorkCompletionStatus::Ok, Some(payload)) => Some(Completion::Received {
                id,
                from: completion.peer,
                version: completion.version_flags >> 4,
                flags: completion.version_flags & 15,
                window: completion.window,
                payload: payload.to_vec(),
            }),
            (status, _) => {
                let qpn = self.rings.number();
                let what = format!("a receive request of the reliable layer ended in {status}");
                self.note::<()>(Err(Error::Corrupt { qpn, what }));
                None
            }
        }
    }

    fn tick(&mut self, _: u64) {}
}

/// Messages of up to 64 KiB, each delivered once or reported as failed, over one queue pair with one consumer (XUD-7).
///
/// It works while it is polled: timers of the reliable layer run in [`Self::poll`] and [`Self::wait`].
pub struct ReliableEndpoint {
    port: Port,
    layer: Option<Layer<Message>>,
    domain: ProtectionDomain,
    copies: MemoryRegion,
    config: EndpointConfig,
}

impl ReliableEndpoint {
    /// Makes an endpoint that receives and sends.
    ///
    /// # Errors
    /// A number out of range, or something that the card has no more of.
    pub fn new(domain: &ProtectionDomain, config: EndpointConfig) -> Result<Self, Error> {
        let context = domain.context();
        let mtu = context.options().mtu;
        let places = domain.reg_mr(
            usize::from(mtu) * usize::from(config.receives.max(1)),
            Access::LOCAL_WRITE,
        )?;
        let copies = domain.reg_mr(config.copy_bytes.max(1), Access::LOCAL_READ)?;
        let places = places.alloc(places.length()).ok_or(Error::Exhausted {
            what: "bytes of a new region",
            count: places.length() as u64,
        })?;
        let shape = Shape {
            sends: config.sends,
            receives: config.receives,
            q_key: config.q_key,
            first_psn: context.device().now_ns() as u32,
            timeout: config.timeout.min(31),
            vector: config.vector,
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
            ordered: config.ordered,
            ..LayerConfig::default()
        };
        let mut port = Port {
            rings,
            mtu,
            places,
            error: None,
        };
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
            copies,
            config,
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

    /// Counters of the reliable layer.
    #[must_use]
    pub fn stats(&self) -> LayerStats {
        self.layer
            .as_ref()
            .map(Layer::stats)
            .cloned()
            .unwrap_or_default()
    }

    /// Messages that have not ended.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.layer.as_ref().map_or(0, Layer::pending)
    }

    /// Bytes that the connections occupy.
    #[must_use]
    pub fn connection_bytes(&self) -> usize {
        self.layer.as_ref().map_or(0, Layer::connection_bytes)
    }

    /// Sends a message from where it is; the name that its completion will carry. The buffer comes back then (XUD-9).
    ///
    /// # Errors
    /// Above 64 KiB, or of another protection domain; the buffer comes back with the error.
    pub fn send(&mut self, to: AddressHandle, buffer: Buffer) -> Result<u64, Rejected> {
        if !buffer.is_in(&self.domain) {
            let error = PostError::Domain;
            let buffer = Some(buffer);
            return Err(Rejected { error, buffer });
        }
        if let Err(error) = check(buffer.len()) {
            let buffer = Some(buffer);
            return Err(Rejected { error, buffer });
        }
        self.enqueue(to, Message::User(buffer))
            .map_err(|error| Rejected {
                error,
                buffer: None,
            })
    }

    /// Sends a copy of a message.
    ///
    /// # Errors
    /// Above 64 KiB, or no room for the copy until others have ended.
    pub fn send_copy(&mut self, to: AddressHandle, bytes: &[u8]) -> Result<u64, PostError> {
        check(bytes.len())?;
        let copy = self.copies.alloc(bytes.len());
        let mut copy = copy.ok_or(PostError::Full("copy"))?;
        copy.copy_from_slice(bytes);
        self.enqueue(to, Message::Copy(copy))
    }

    fn enqueue(&mut self, to: AddressHandle, message: Message) -> Result<u64, PostError> {
        let layer = self.layer.as_mut();
        let layer = layer.ok_or(PostError::State(QueuePairState::Reset))?;
        let bytes = message.as_ref().len();
        let sent = layer.send(to.peer(), message);
        sent.map_err(|_| PostError::TooLong {
            bytes,
            max: MAX_MESSAGE,
        })
    }

    /// Does what can be done and returns the oldest event. Never waits.
    ///
    /// # Errors
    /// The card cannot be reached or failed; [`Self::close`] gives the buffers back that the card cannot touch any more.
    pub fn poll(&mut self) -> Result<Option<EndpointEvent>, Error> {
        if let Some(event) = self.take_event() {
            return Ok(Some(event));
        }
        self.run()?;
        let event = self.take_event();
        if event.is_none() {
            self.domain.context().device().idle()?;
        }
        Ok(event)
    }

    fn run(&mut self) -> Result<(), Error> {
        let now = self.domain.context().device().now_ns();
        if let Some(layer) = &mut self.layer {
            layer.run(&mut self.port, now);
        }
        if let Some(error) = self.port.error.take() {
            return Err(error);
        }
        self.port.rings.ring()?;
        self.port.rings.give_back()?;
        Ok(())
    }

    fn take_event(&mut self) -> Option<EndpointEvent> {
        self.layer.as_mut()?.take_event().map(event)
    }

    /// The next event, waiting by interrupt for at most so long.
    ///
    /// # Errors
    /// As [`Self::poll`].
    pub fn wait(&mut self, timeout: Duration) -> Result<Option<EndpointEvent>, Error> {
        let context = self.domain.context().clone();
        let device = context.device();
        let start = device.now_ns();
        // Timers of the layer need a look now and then.
        let slice = Duration::from_nanos(4_096 << self.config.timeout.min(16));
        loop {
            let event = self.poll()?;
            let over = Duration::from_nanos(device.now_ns().saturating_sub(start));
            let left = timeout.saturating_sub(over);
            if event.is_some() || left.is_zero() {
                return Ok(event);
            }
            let seen = device.interrupts(self.config.vector)?;
            self.port.rings.arm()?;
            // What came before the arming interrupts nobody.
            if !self.port.rings.has_next() {
                device.wait(self.config.vector, seen, left.min(slice))?;
            }
        }
    }

    /// Ends the endpoint: events that were not taken, then every message that had not ended, FLUSHED.
    #[must_use]
    pub fn close(mut self) -> Vec<EndpointEvent> {
        self.end()
    }

    /// The card lets go of the queue pair first. If it does not answer, it may still read messages: their memory stays its own.
    fn end(&mut self) -> Vec<EndpointEvent> {
        let Some(layer) = self.layer.take() else {
            return Vec::new();
        };
        self.port.rings.destroy();
        let let_go = self.port.rings.let_go();
        let events = layer.flush().into_iter().map(|ended| match ended {
            Event::Completed {
                id,
                to,
                outcome,
                buffer,
            } if !let_go => {
                std::mem::forget(buffer);
                EndpointEvent::Completed {
                    id,
                    to: AddressHandle::from(to),
                    status: outcome,
                    buffer: None,
                }
            }
            other => event(other),
        });
        events.collect()
    }
}

impl Drop for ReliableEndpoint {
    fn drop(&mut self) {
        self.end();
    }
}

fn check(bytes: usize) -> Result<(), PostError> {
    if bytes > MAX_MESSAGE {
        let max = MAX_MESSAGE;
        return Err(PostError::TooLong { bytes, max });
    }
    Ok(())
}

fn event(event: Event<Message>) -> EndpointEvent {
    match event {
        Event::Delivered { from, payload } => EndpointEvent::Delivered {
            from: AddressHandle::from(from),
            payload,
        },
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
                Message::Copy(_) => None,
            },
        },
    }
}
