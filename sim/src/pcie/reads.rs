//! Reads of the card, and how they are answered.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;
use tributary_protocol::card::model::HostMemory;
use tributary_protocol::pcie::{
    Completion, MemoryRequest, Outstanding, Status, Tlp, completion_dwords, enabled,
};

use super::fault::Fault;
use super::stream::RawTlp;

/// A read that has not been answered to the end.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    pub left: Outstanding,
    /// Not before this clock.
    pub due: u64,
    pub fault: Option<Fault>,
}

/// How completions are cut.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cuts {
    /// Who answers.
    pub completer_id: u16,
    /// Read completion boundary.
    pub boundary: u64,
    /// Bytes of a TLP.
    pub max_payload: u32,
    /// Only as few as must be.
    pub large: bool,
}

impl Pending {
    /// Bytes of the next completion: to its end, or to a boundary.
    fn carried(&self, cuts: Cuts, rng: &mut ChaCha8Rng) -> u16 {
        let to_boundary = cuts.boundary - u64::from(self.left.lower_address) % cuts.boundary;
        let most = u64::from(cuts.max_payload) - u64::from(self.left.lower_address) % cuts.boundary;
        let steps = most.saturating_sub(to_boundary) / cuts.boundary;
        let extra = if cuts.large {
            steps
        } else {
            u64::from(rng.next_u32()) % (steps + 1)
        };
        let bytes = to_boundary + extra * cuts.boundary;
        bytes.min(self.left.bytes.into()) as u16
    }

    /// Address of the next byte.
    fn address(&self) -> u64 {
        let whole = Outstanding::new(self.left.request);
        let begin = self.left.request.address & !0x7F | u64::from(whole.lower_address);
        begin + u64::from(whole.bytes - self.left.bytes)
    }

    /// The next completion, and whether it is the last that comes.
    pub fn next(
        &mut self,
        memory: &mut dyn HostMemory,
        cuts: Cuts,
        rng: &mut ChaCha8Rng,
    ) -> (RawTlp, bool) {
        let request = self.left.request;
        let carried = self.carried(cuts, rng);
        let mut completion = Completion {
            attributes: request.attributes,
            length: completion_dwords(self.left.lower_address, carried),
            locked: false,
            completer_id: cuts.completer_id,
            status: Status::Successful,
            bcm: false,
            byte_count: self.left.bytes,
            requester_id: request.requester_id,
            tag: request.tag,
            lower_address: self.left.lower_address,
        };
        let address = self.address();
        let mut last = carried == self.left.bytes;
        let (mut data, mut refused) = match words(memory, address, carried, flush(&request)) {
            Some(data) => (data, None),
            None => (Vec::new(), Some(Status::UnsupportedRequest)),
        };
        // What goes wrong does so at once or later, but at the last completion at the latest.
        let strikes = last || rng.next_u32().is_multiple_of(2);
        let fault = self.fault.filter(|_| strikes);
        if let Some(Fault::Refused(status)) = fault {
            refused = Some(status);
        }
        if let Some(status) = refused {
            completion.status = status;
            completion.length = 0;
            return (raw(&completion, Vec::new(), 0), true);
        }
        let mut beside = 0;
        match fault {
            Some(Fault::Poisoned) => {
                completion.attributes.ep = true;
                // Some shims report it beside the header too.
                beside = (rng.next_u32() % 2) as u16;
                self.fault = None;
            }
            Some(Fault::ByteCount) => {
                completion.byte_count = match completion.byte_count {
                    4096 => 1,
                    count => count + 1 + (rng.next_u32() % 3) as u16,
                };
                last = true;
            }
            Some(Fault::LowerAddress) => {
                completion.lower_address ^= 1 << (rng.next_u32() % 7);
                last = true;
            }
            Some(Fault::Short) => {
                if data.len() > 1 {
                    data.pop();
                } else {
                    data.push(0);
                }
                last = true;
            }
            Some(Fault::Long) => {
                data.push(rng.next_u32());
                last = true;
            }
            Some(Fault::Interface(code)) => {
                beside = code.into();
                last = true;
            }
            _ => {}
        }
        if !last {
            self.left.bytes -= carried;
            self.left.lower_address = ((address + u64::from(carried)) & 0x7F) as u8;
        }
        (raw(&completion, data, beside), last)
    }
}

/// A read of no byte: it has effect by its completion.
fn flush(request: &MemoryRequest) -> bool {
    !(0..4 * usize::from(request.length))
        .any(|i| enabled(request.length, request.first_be, request.last_be, i))
}

/// The 32-bit words that hold these bytes; `None` where there is no memory.
fn words(memory: &mut dyn HostMemory, address: u64, bytes: u16, flush: bool) -> Option<Vec<u32>> {
    let before = (address % 4) as usize;
    let end = before + usize::from(bytes);
    let mut whole = vec![0; end.next_multiple_of(4)];
    if !flush {
        memory.read(address, &mut whole[before..end]).ok()?;
    }
    let words = whole.as_chunks().0.iter();
    Some(words.map(|word| u32::from_le_bytes(*word)).collect())
}

fn raw(completion: &Completion, data: Vec<u32>, beside: u16) -> RawTlp {
    // Every field comes from a request that was read from a header.
    let header = Tlp::Completion(*completion).emit().unwrap_or_default();
    RawTlp {
        header,
        data,
        beside,
    }
}
