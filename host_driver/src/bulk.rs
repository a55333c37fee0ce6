//! Bulk transfers: WRITE and READ of any size between regions of two hosts (BW-1, BW-11).

use tributary_protocol::card::descriptor::{
    OPCODE_BULK_READ, OPCODE_BULK_WRITE, WorkRequest, flags,
};
use tributary_protocol::xud::onesided::{Asked, HEADER_LEN, Request};
use tributary_protocol::xud::{Window, wire::ONE_SIDED_FRAME};

use crate::memory::Buffer;
use crate::queue::{Batch, reject};
use crate::{
    AddressHandle, Context, Exposed, PostError, ProtectionDomain, QueuePair, Rejected, Remote,
};

/// Most packets of a transfer.
const PACKETS_MAX: u64 = 1 << 21;

/// Bytes of a buffer to or from memory of another host.
///
/// ```
/// # use tributary_host_driver::*;
/// # fn show(queue: &QueuePair, to: AddressHandle, buffer: Buffer, there: Remote) -> Result<(), Rejected> {
/// queue.post_write(TransferRequest::new(1, to, buffer, there).notify(0xCAFE))
/// # }
/// ```
#[derive(Debug)]
pub struct TransferRequest {
    wr_id: u64,
    to: AddressHandle,
    buffer: Buffer,
    there: Remote,
    immediate: Option<u32>,
    fence: bool,
    oldest_first: bool,
}

impl TransferRequest {
    /// All bytes of a buffer, and as many at `there`: memory of the host with the queue pair `to`, whose region lets others write or
    /// read.
    #[must_use]
    pub fn new(wr_id: u64, to: AddressHandle, buffer: Buffer, there: Remote) -> Self {
        Self {
            wr_id,
            to,
            buffer,
            there,
            immediate: None,
            fence: false,
            oldest_first: false,
        }
    }

    /// Of a write: the queue pair there gets one completion with these data, when every byte is in its memory. It takes a receive
    /// request (BW-3).
    #[must_use]
    pub fn notify(mut self, immediate: u32) -> Self {
        self.immediate = Some(immediate);
        self
    }

    /// It begins when all earlier requests of the queue pair have ended; otherwise requests may overtake each other (BW-12).
    #[must_use]
    pub fn fence(mut self) -> Self {
        self.fence = true;
        self
    }

    /// Of a write: its packets leave when no transfer of this card that asked for the same and began earlier has any to send.
    /// So a row of blocks arrives one by one; otherwise transfers take turns packet by packet, and all arrive late. Up to eight of
    /// a card do so at a time; one that begins while there are eight takes turns.
    #[must_use]
    pub fn oldest_first(mut self) -> Self {
        self.oldest_first = true;
        self
    }
}

/// The one-sided header of a bulk request, and the entry of the ring.
pub(crate) fn work(
    opcode: u8,
    wr_id: u64,
    to: AddressHandle,
    buffer: &Buffer,
    there: Remote,
    options: (u8, u32),
) -> WorkRequest {
    let asked = if opcode == OPCODE_BULK_READ {
        Asked::Read(0)
    } else {
        Asked::Write(&[])
    };
    let header = Request {
        address: there.address,
        rkey: there.rkey,
        asked,
    };
    WorkRequest {
        opcode,
        flags: options.0,
        head_len: HEADER_LEN as u8,
        length: buffer.bytes() as u32,
        wr_id,
        address: buffer.iova(),
        lkey: buffer.key(),
        version_flags: ONE_SIDED_FRAME,
        to: to.peer(),
        window: Window {
            msn: options.1,
            ..Window::default()
        },
        head: header.header(),
    }
}

/// Whether a card can move so many bytes at once.
pub(crate) fn fits(context: &Context, bytes: usize) -> Result<(), PostError> {
    let mtu = context.options().mtu;
    if context.sizes().transfers == 0 {
        let max = usize::from(mtu) - HEADER_LEN;
        return Err(PostError::NoBulk { bytes, max });
    }
    let max = (PACKETS_MAX << mtu.ilog2()).min(u32::MAX.into()) as usize;
    if bytes > max {
        return Err(PostError::TooLong { bytes, max });
    }
    Ok(())
}

impl Batch<'_> {
    /// As [`QueuePair::post_write`].
    ///
    /// # Errors
    /// As there.
    pub fn write(&mut self, request: TransferRequest) -> Result<(), Rejected> {
        self.transfer(OPCODE_BULK_WRITE, request)
    }

    /// As [`QueuePair::post_read`].
    ///
    /// # Errors
    /// As there.
    pub fn read(&mut self, request: TransferRequest) -> Result<(), Rejected> {
        self.transfer(OPCODE_BULK_READ, request)
    }

    /// Writes a part of exposed memory, with these flags, and with these data for the other end if it is notified. Whoever posts it keeps the memory until the completion.
    pub(crate) fn write_exposed(
        &mut self,
        wr_id: u64,
        to: AddressHandle,
        from: &Exposed,
        (at, bytes): (usize, u32),
        there: Remote,
        (bits, immediate): (u32, u32),
    ) -> Result<(), PostError> {
        fits(self.domain.context(), bytes as usize)?;
        if !from.buffer().is_in(self.domain) {
            return Err(PostError::Domain);
        }
        self.rings.takes_send()?;
        let options = (bits as u8, immediate);
        let whole = work(OPCODE_BULK_WRITE, wr_id, to, from.buffer(), there, options);
        let part = WorkRequest {
            address: whole.address + at as u64,
            length: bytes,
            ..whole
        };
        self.rings.put_send(&part, None);
        Ok(())
    }

    fn transfer(&mut self, opcode: u8, request: TransferRequest) -> Result<(), Rejected> {
        let checked = check(self.domain, opcode, &request).and_then(|()| self.rings.takes_send());
        if let Err(error) = checked {
            return Err(reject(error, Some(request.buffer)));
        }
        let mut bits = 0;
        if request.immediate.is_some() {
            bits |= flags::NOTIFY.mask() as u8;
        }
        if request.fence {
            bits |= flags::FENCE.mask() as u8;
        }
        if request.oldest_first {
            bits |= flags::OLDEST_FIRST.mask() as u8;
        }
        let options = (bits, request.immediate.unwrap_or(0));
        let TransferRequest {
            wr_id,
            to,
            buffer,
            there,
            ..
        } = request;
        let work = work(opcode, wr_id, to, &buffer, there, options);
        self.rings.put_send(&work, Some(buffer));
        Ok(())
    }
}

fn check(
    domain: &ProtectionDomain,
    opcode: u8,
    request: &TransferRequest,
) -> Result<(), PostError> {
    let buffer = &request.buffer;
    fits(domain.context(), buffer.bytes())?;
    if !buffer.is_in(domain) {
        return Err(PostError::Domain);
    }
    if opcode == OPCODE_BULK_READ {
        if !buffer.writable() {
            return Err(PostError::ReadOnly);
        }
        if request.immediate.is_some() {
            return Err(PostError::ReadNotifies);
        }
        if request.oldest_first {
            return Err(PostError::ReadOldestFirst);
        }
    }
    Ok(())
}

impl QueuePair {
    /// Writes the bytes of a buffer to memory of another host. There is one completion, and the buffer comes back with it (BW-1).
    ///
    /// # Errors
    /// No room, a state in which nothing is sent, a buffer of another domain, or a card without bulk transfers or what the request
    /// needs of them; the buffer comes back with the error. When the card cannot be reached the request counts as posted.
    pub fn post_write(&self, request: TransferRequest) -> Result<(), Rejected> {
        let mut batch = self.batch();
        batch.write(request)?;
        batch.ring()
    }

    /// Reads bytes from memory of another host, as many as the buffer has.
    ///
    /// # Errors
    /// As [`Self::post_write`]; or the card may not write to the buffer, or the request notifies.
    pub fn post_read(&self, request: TransferRequest) -> Result<(), Rejected> {
        let mut batch = self.batch();
        batch.read(request)?;
        batch.ring()
    }
}
