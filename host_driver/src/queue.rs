//! Queue pairs: posting.

use std::sync::Arc;

use tributary_protocol::card::descriptor::{HEAD_MAX, OPCODE_SEND, ReceiveRequest, WorkRequest};
use tributary_protocol::red::address::NODES;
use tributary_protocol::xud::{Peer, Window};

use crate::lock::{Held, Lock};
use crate::ring::{Rings, Shape};
use crate::{
    Buffer, CompletionQueue, Context, Error, Grant, OpenWindow, PostError, ProtectionDomain,
    QueuePairState, Rejected, WorkCompletion,
};

/// Whether there can be a node of this number.
pub(crate) fn check_node(node: u32) -> Result<(), Error> {
    if node < NODES {
        return Ok(());
    }
    Err(Error::Range {
        what: "node number",
        value: node.into(),
        min: 0,
        max: (NODES - 1).into(),
    })
}

/// A queue pair somewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AddressHandle(Peer);

impl AddressHandle {
    /// Queue pair `qp_num` of a node.
    ///
    /// # Errors
    /// A node of more than 20 bits, or a queue pair of more than 24.
    pub fn new(node: u32, qp_num: u32) -> Result<Self, Error> {
        check_node(node)?;
        if qp_num >= 1 << 24 {
            return Err(Error::Range {
                what: "queue pair number",
                value: qp_num.into(),
                min: 0,
                max: 0xFF_FFFF,
            });
        }
        Ok(Self(Peer { node, qpn: qp_num }))
    }

    /// Node number.
    #[must_use]
    pub fn node(self) -> u32 {
        self.0.node
    }

    /// Queue pair number.
    #[must_use]
    pub fn qp_num(self) -> u32 {
        self.0.qpn
    }

    /// Queue pair `number` of a card.
    pub(crate) fn of(context: &Context, number: u32) -> Self {
        Self(Peer {
            node: context.options().node,
            qpn: number,
        })
    }

    /// Who has granted a window. A number that no card has, of a node too, ends in LOCAL_ADDRESS.
    pub(crate) fn from_grant(grant: Grant) -> Self {
        Self(Peer {
            node: grant.node,
            qpn: match check_node(grant.node) {
                Ok(()) => grant.qp_num,
                Err(_) => u32::MAX,
            },
        })
    }

    pub(crate) fn peer(self) -> Peer {
        self.0
    }
}

impl From<Peer> for AddressHandle {
    /// What a card says of a peer has 20 and 24 bits.
    fn from(peer: Peer) -> Self {
        Self(Peer {
            node: peer.node & (NODES - 1),
            qpn: peer.qpn & 0xFF_FFFF,
        })
    }
}

/// A datagram to send: up to 16 bytes of its own, then a buffer.
#[derive(Debug)]
pub struct SendRequest {
    wr_id: u64,
    to: AddressHandle,
    version: u8,
    flags: u8,
    window: Window,
    head: [u8; HEAD_MAX],
    head_len: u8,
    buffer: Option<Buffer>,
}

impl SendRequest {
    /// An empty datagram of version 1.
    #[must_use]
    #[inline]
    pub fn new(wr_id: u64, to: AddressHandle) -> Self {
        Self {
            wr_id,
            to,
            version: 1,
            flags: 0,
            window: Window::default(),
            head: [0; HEAD_MAX],
            head_len: 0,
            buffer: None,
        }
    }

    /// All bytes of a buffer, read by the card where they are.
    #[must_use]
    #[inline]
    pub fn buffer(mut self, buffer: Buffer) -> Self {
        self.buffer = Some(buffer);
        self
    }

    /// Window identity; its epoch must be the receiver's (XUD-6).
    #[must_use]
    #[inline]
    pub fn window(mut self, window: Window) -> Self {
        self.window = window;
        self
    }

    /// Version and flags of the XUDETH.
    #[must_use]
    #[inline]
    pub fn header(mut self, version: u8, flags: u8) -> Self {
        (self.version, self.flags) = (version & 15, flags & 15);
        self
    }

    /// Bytes in front, which are copied.
    ///
    /// # Errors
    /// More than 16.
    #[inline]
    pub fn head(mut self, bytes: &[u8]) -> Result<Self, Error> {
        let Some(place) = self.head.get_mut(..bytes.len()) else {
            return Err(Error::Range {
                what: "bytes of the head",
                value: bytes.len() as u64,
                min: 0,
                max: HEAD_MAX as u64,
            });
        };
        place.copy_from_slice(bytes);
        self.head_len = bytes.len() as u8;
        Ok(self)
    }
}

/// Collects what a queue pair is to be like.
pub struct QueuePairBuilder {
    domain: ProtectionDomain,
    queue: CompletionQueue,
    shape: Shape,
}

impl ProtectionDomain {
    /// Begins a queue pair whose completions go to `queue`.
    #[must_use]
    pub fn create_qp(&self, queue: &CompletionQueue) -> QueuePairBuilder {
        QueuePairBuilder {
            domain: self.clone(),
            queue: queue.clone(),
            shape: Shape {
                sends: 128,
                receives: 128,
                q_key: 0,
                first_psn: 0,
                timeout: 4,
                vector: queue.vector(),
                rung_by_card: false,
            },
        }
    }
}

impl QueuePairBuilder {
    /// Work requests that may be under way: 1 to 8,192; 128 unless told.
    #[must_use]
    pub fn max_send_wr(mut self, requests: u16) -> Self {
        self.shape.sends = requests;
        self
    }

    /// Receive requests that may be posted: 1 to 8,192; 128 unless told.
    #[must_use]
    pub fn max_recv_wr(mut self, requests: u16) -> Self {
        self.shape.receives = requests;
        self
    }

    /// Key of this queue pair and of all that it talks to.
    #[must_use]
    pub fn q_key(mut self, q_key: u32) -> Self {
        self.shape.q_key = q_key;
        self
    }

    /// Number of the first packet, 24 bits.
    #[must_use]
    pub fn first_psn(mut self, psn: u32) -> Self {
        self.shape.first_psn = psn;
        self
    }

    /// Timeout exponent t, 0 to 31: 4.096 µs · 2^t (XUD-1); 4 unless told.
    #[must_use]
    pub fn timeout(mut self, exponent: u8) -> Self {
        self.shape.timeout = exponent.min(31);
        self
    }

    /// The card rings the doorbell of its send ring, when it is bound to a schedule ring: posting writes entries only.
    #[must_use]
    pub(crate) fn rung_by_card(mut self) -> Self {
        self.shape.rung_by_card = true;
        self
    }

    /// Makes it, in the state Init: receive requests may be posted.
    ///
    /// # Errors
    /// A number out of range, no memory, or no queue pair left on the card.
    pub fn build(self) -> Result<QueuePair, Error> {
        let rings = Rings::new(self.domain.context(), self.domain.0.number, &self.shape)?;
        let number = rings.number();
        let queue = Arc::new(Queue {
            number,
            rings: Lock::new(rings),
        });
        self.queue.add(&queue);
        Ok(QueuePair {
            inner: queue,
            domain: self.domain,
            queue: self.queue,
        })
    }
}

/// Rings whose requests keep their buffers.
pub(crate) type QueueRings = Rings<Option<Buffer>>;

/// What a completion queue knows of a queue pair.
pub(crate) struct Queue {
    pub number: u32,
    rings: Lock<QueueRings>,
}

impl Queue {
    pub fn rings(&self) -> Held<'_, QueueRings> {
        self.rings.lock()
    }

    /// Moves up to `most` completions to the end of `into`; how many.
    pub fn take(&self, into: &mut Vec<WorkCompletion>, most: usize) -> Result<usize, Error> {
        let mut rings = self.rings();
        let mut found = 0;
        while found < most
            && let Some(ended) = rings.next()?
        {
            let buffer = rings.kept(&ended);
            into.push(WorkCompletion::new(self.number, &ended, buffer));
            found += 1;
        }
        rings.give_back()?;
        Ok(found)
    }
}

/// A queue pair. When it is dropped, what had not ended comes out of its completion queue as FLUSHED (XUD-2).
pub struct QueuePair {
    inner: Arc<Queue>,
    domain: ProtectionDomain,
    queue: CompletionQueue,
}

impl QueuePair {
    /// Its number.
    #[must_use]
    pub fn qp_num(&self) -> u32 {
        self.inner.number
    }

    /// How others address it.
    #[must_use]
    pub fn address(&self) -> AddressHandle {
        AddressHandle::of(self.domain.context(), self.qp_num())
    }

    /// The epoch that messages to it must carry (XUD-6).
    #[must_use]
    pub fn epoch(&self) -> u16 {
        self.inner.rings().epoch
    }

    /// Opens a window through which the queue pair of another card may do one-sided operations here, in regions of this
    /// protection domain that allow it (XUD-13). It takes a new epoch; messages may still carry the old one.
    ///
    /// # Errors
    /// None is left, or the card does no one-sided operations.
    pub fn open_window(&self, peer: AddressHandle) -> Result<OpenWindow, Error> {
        OpenWindow::new(self.domain.context(), &mut self.inner.rings(), peer)
    }

    /// Its state, as far as the driver knows.
    #[must_use]
    pub fn state(&self) -> QueuePairState {
        self.inner.rings().state
    }

    /// Changes its state: Init, ReadyToReceive, ReadyToSend in this order, Error from any.
    ///
    /// # Errors
    /// The state cannot be reached from the present one.
    pub fn modify(&self, to: QueuePairState) -> Result<(), Error> {
        self.inner.rings().modify(to)
    }

    /// ReadyToReceive, then ReadyToSend.
    ///
    /// # Errors
    /// It is not in the state Init.
    pub fn activate(&self) -> Result<(), Error> {
        self.modify(QueuePairState::ReadyToReceive)?;
        self.modify(QueuePairState::ReadyToSend)
    }

    /// Posts a datagram. Its buffer comes back with the completion (XUD-9).
    ///
    /// # Errors
    /// No room, a state in which nothing is sent, or a buffer of another domain; the buffer comes back with the error. When the
    /// card cannot be reached the request counts as posted.
    pub fn post_send(&self, request: SendRequest) -> Result<(), Rejected> {
        let mut batch = self.batch();
        batch.send(request)?;
        batch.ring()
    }

    /// Posts memory for a datagram. It comes back with the completion.
    ///
    /// # Errors
    /// As [`Self::post_send`]; or the card may not write there.
    pub fn post_recv(&self, wr_id: u64, buffer: Buffer) -> Result<(), Rejected> {
        let mut batch = self.batch();
        batch.recv(wr_id, buffer)?;
        batch.ring()
    }

    /// Posts several requests with one doorbell, which rings at the end.
    #[must_use]
    pub fn batch(&self) -> Batch<'_> {
        Batch {
            rings: self.inner.rings(),
            domain: &self.domain,
        }
    }
}

impl Drop for QueuePair {
    fn drop(&mut self) {
        self.queue.remove(&self.inner);
    }
}

/// Requests that are posted together. It holds the queue pair: polling in the same thread would wait for ever.
pub struct Batch<'a> {
    pub(crate) rings: Held<'a, QueueRings>,
    pub(crate) domain: &'a ProtectionDomain,
}

#[cold]
pub(crate) fn reject(error: PostError, buffer: Option<Buffer>) -> Rejected {
    Rejected { error, buffer }
}

impl Batch<'_> {
    /// As [`QueuePair::post_send`].
    ///
    /// # Errors
    /// As there.
    pub fn send(&mut self, request: SendRequest) -> Result<(), Rejected> {
        let buffer = request.buffer;
        if buffer.as_ref().is_some_and(|b| !b.is_in(self.domain)) {
            return Err(reject(PostError::Domain, buffer));
        }
        if let Err(error) = self.rings.takes_send() {
            return Err(reject(error, buffer));
        }
        let (address, lkey, length) = buffer.as_ref().map_or((0, 0, 0), |buffer| {
            (buffer.iova(), buffer.key(), buffer.len() as u32)
        });
        let work = WorkRequest {
            opcode: OPCODE_SEND,
            flags: 0,
            head_len: request.head_len,
            length,
            wr_id: request.wr_id,
            address,
            lkey,
            version_flags: request.version << 4 | request.flags,
            to: request.to.peer(),
            window: request.window,
            head: request.head,
        };
        self.rings.put_send(&work, buffer);
        Ok(())
    }

    /// Posts a receive request for a notification, which writes nothing; false if there is no room.
    pub(crate) fn recv_notice(&mut self, wr_id: u64) -> bool {
        let takes = self.rings.takes_receive().is_ok();
        if takes {
            let request = ReceiveRequest {
                wr_id,
                address: 0,
                lkey: 0,
                length: 0,
            };
            self.rings.put_receive(&request, None);
        }
        takes
    }

    /// As [`QueuePair::post_recv`].
    ///
    /// # Errors
    /// As there.
    pub fn recv(&mut self, wr_id: u64, buffer: Buffer) -> Result<(), Rejected> {
        if !buffer.is_in(self.domain) {
            return Err(reject(PostError::Domain, Some(buffer)));
        }
        if !buffer.writable() {
            return Err(reject(PostError::ReadOnly, Some(buffer)));
        }
        if let Err(error) = self.rings.takes_receive() {
            return Err(reject(error, Some(buffer)));
        }
        let request = ReceiveRequest {
            wr_id,
            address: buffer.iova(),
            lkey: buffer.key(),
            length: buffer.len() as u32,
        };
        self.rings.put_receive(&request, Some(buffer));
        Ok(())
    }

    /// Tells the card now.
    ///
    /// # Errors
    /// The card cannot be reached.
    pub fn ring(mut self) -> Result<(), Rejected> {
        let rung = self.rings.ring();
        rung.map_err(|error| reject(error.into(), None))
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        // Whoever wants to know of a card that is gone calls `ring`; polling will tell, too.
        let _ = self.rings.ring();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cl_01_a_node_has_20_bits_and_more_are_an_error() {
        let handle = AddressHandle::new(NODES - 1, 7).unwrap();
        assert_eq!((handle.node(), handle.qp_num()), (0xF_FFFF, 7));
        let error = AddressHandle::new(NODES, 7).unwrap_err().to_string();
        assert_eq!(error, "node number = 1048576 is not within 0 to 1048575");
        // What a grant says is not trusted: the card ends it as the address of nobody.
        let grant = Grant {
            node: NODES | 5,
            qp_num: 7,
            window: 0,
            epoch: 0,
        };
        assert_eq!(AddressHandle::from_grant(grant).qp_num(), u32::MAX);
        let far = Grant {
            node: NODES - 1,
            ..grant
        };
        assert_eq!(Grant::from_bytes(&far.to_bytes()), far);
        assert_eq!(AddressHandle::from_grant(far).peer().node, NODES - 1);
    }
}
