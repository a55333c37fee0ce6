//! Bulk transfers of an endpoint: a queue pair for them, memory that is sent from, and the slots to which peers write.

use tributary_host_driver::{
    Access, AddressHandle, CompletionQueue, Error, Exposed, MemoryRegion, ProtectionDomain,
    QueuePair, TransferRequest, WorkCompletion, WorkCompletionStatus,
};
use tributary_host_driver::{Buffer, PostError, Remote};

use crate::engine::{Busy, SLOT, Spot, Transferred};

/// Pieces that peers may have under way to an endpoint, and it to them.
pub const SLOTS: usize = 8;
const WRITES: usize = 8;
/// Bytes of a slot are taken so many at a time: they stay in the processor's cache.
const BITE: usize = 16 << 10;
/// Key of the queue pairs for transfers.
const Q_KEY: u32 = 0xB01C;

/// What moves long messages.
pub struct Mover {
    /// Gone before the memory is: nothing is written then.
    queue: QueuePair,
    completions: CompletionQueue,
    domain: ProtectionDomain,
    free: Vec<Buffer>,
    slots: Vec<Option<Exposed>>,
    ended: Vec<WorkCompletion>,
    bite: Vec<u8>,
    error: Option<Error>,
}

/// Memory for a slot: a region of its own, so that it can be closed by itself.
fn slot(domain: &ProtectionDomain) -> Result<Option<Exposed>, Error> {
    Ok(domain.reg_mr(SLOT, Access::REMOTE_WRITE)?.expose(SLOT))
}

impl Mover {
    /// Nothing if the card has no bulk transfers, or no room for these.
    pub fn new(domain: &ProtectionDomain, vector: u32) -> Option<Self> {
        if domain.context().sizes().transfers == 0 {
            return None;
        }
        Self::make(domain, vector).ok()
    }

    fn make(domain: &ProtectionDomain, vector: u32) -> Result<Self, Error> {
        let completions = domain.context().create_cq(vector)?;
        let builder = domain.create_qp(&completions).q_key(Q_KEY);
        let queue = builder.max_send_wr(WRITES as u16).max_recv_wr(1).build()?;
        queue.activate()?;
        let region: MemoryRegion = domain.reg_mr(WRITES * SLOT, Access::LOCAL_READ)?;
        let free: Vec<Buffer> = (0..WRITES).filter_map(|_| region.alloc(SLOT)).collect();
        let slots: Result<Vec<_>, Error> = (0..SLOTS).map(|_| slot(domain)).collect();
        Ok(Self {
            queue,
            completions,
            domain: domain.clone(),
            free,
            slots: slots?,
            ended: Vec::new(),
            bite: vec![0; BITE],
            error: None,
        })
    }

    /// Where peers write to a slot.
    pub fn spot(&self, slot: usize) -> Option<Spot> {
        let remote = self.slots.get(slot)?.as_ref()?.remote();
        Some(Spot {
            qpn: self.queue.qp_num(),
            address: remote.address,
            rkey: remote.rkey,
        })
    }

    /// Gives a slot other memory. The card has let go of what it had when this returns (BW-2).
    pub fn renew(&mut self, at: usize) -> bool {
        let Some(place) = self.slots.get_mut(at) else {
            return false;
        };
        drop(place.take());
        match slot(&self.domain) {
            Ok(made) => *place = made,
            Err(error) => self.error = Some(error),
        }
        place.is_some()
    }

    /// Bytes of a slot, in pieces.
    pub fn take(&mut self, slot: usize, bytes: usize, to: &mut dyn FnMut(usize, &[u8])) -> bool {
        let Some(Some(exposed)) = self.slots.get(slot) else {
            return false;
        };
        if bytes > exposed.length() {
            return false;
        }
        for at in (0..bytes).step_by(BITE) {
            let bite = &mut self.bite[..BITE.min(bytes - at)];
            if exposed.read(at, bite).is_err() {
                return false;
            }
            to(at, bite);
        }
        true
    }

    /// Begins a transfer.
    pub fn write(
        &mut self,
        node: u32,
        spot: Spot,
        bytes: usize,
        name: u32,
        fill: &mut dyn FnMut(&mut [u8]),
    ) -> Result<(), Busy> {
        let Ok(to) = AddressHandle::new(node, spot.qpn) else {
            return Err(Busy);
        };
        let mut buffer = self.free.pop().ok_or(Busy)?;
        if buffer.resize(bytes).is_err() {
            self.free.push(buffer);
            return Err(Busy);
        }
        fill(&mut buffer);
        let there = Remote {
            address: spot.address,
            rkey: spot.rkey,
        };
        let request = TransferRequest::new(name.into(), to, buffer, there);
        let Err(rejected) = self.queue.post_write(request) else {
            return Ok(());
        };
        match (rejected.error, rejected.buffer) {
            (_, Some(buffer)) => {
                self.free.push(buffer);
                Err(Busy)
            }
            (PostError::Device(error), None) => {
                self.error = Some(error.into());
                Ok(())
            }
            // What was not posted comes with its buffer.
            (_, None) => Ok(()),
        }
    }

    /// A transfer that has ended: its name, and how.
    pub fn ended(&mut self) -> Result<Option<(u32, Transferred)>, Error> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        if self.free.len() < WRITES && self.ended.is_empty() {
            self.completions.poll(&mut self.ended, WRITES)?;
        }
        let Some(ended) = self.ended.pop() else {
            return Ok(None);
        };
        if let Some(mut buffer) = ended.buffer
            && buffer.resize(SLOT).is_ok()
        {
            self.free.push(buffer);
        }
        let how = match ended.status {
            WorkCompletionStatus::Ok => Transferred::Landed,
            WorkCompletionStatus::Unreachable | WorkCompletionStatus::Unresponsive => {
                Transferred::Silent
            }
            _ => Transferred::Broken,
        };
        Ok(Some((ended.wr_id as u32, how)))
    }

    /// Asks for an interrupt; whether no transfer has ended.
    pub fn arm(&self) -> Result<bool, Error> {
        self.completions.arm()
    }
}
