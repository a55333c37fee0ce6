//! Requests of the host to the card, and what comes back.

use std::collections::HashMap;
use tributary_protocol::pcie::{
    Attributes, ByteEnables, Completion, Limits, MemoryRequest, Outstanding, Requester, Status,
    Tlp, Violation, check_completion,
};

use super::stream::RawTlp;

/// Names a request that is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket(u64);

/// How the card has answered a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Status.
    pub status: Status,
    /// The bytes asked for; none unless successful.
    pub bytes: Vec<u8>,
    /// The completion; the last one if there are several.
    pub completion: Completion,
}

/// What a request waits for.
#[derive(Clone, Debug)]
enum Wait {
    /// Completions with data.
    Read(Outstanding, Vec<u8>),
    /// One completion of any kind.
    Other,
    /// One that refuses a read which should not have been sent.
    Wrong,
}

/// Requests under way, and answers not fetched yet.
#[derive(Debug)]
pub(super) struct Host {
    /// Requester ID of the host.
    id: u16,
    tickets: u64,
    next_tag: u8,
    waits: HashMap<u16, (Ticket, Wait)>,
    answers: HashMap<Ticket, Answer>,
}

impl Host {
    pub fn new(id: u16) -> Self {
        Self {
            id,
            tickets: 0,
            next_tag: 0,
            waits: HashMap::new(),
            answers: HashMap::new(),
        }
    }

    /// A request for these bytes, without a tag.
    fn request(&self, address: u64, bytes: u32) -> MemoryRequest {
        let enables = ByteEnables::of(address, bytes);
        MemoryRequest {
            attributes: Attributes::default(),
            length: enables.length,
            requester_id: self.id,
            tag: 0,
            last_be: enables.last,
            first_be: enables.first,
            address: address & !3,
            four_dw: address >> 32 != 0,
        }
    }

    pub fn write(&self, address: u64, bytes: &[u8]) -> RawTlp {
        let request = self.request(address, bytes.len() as u32);
        let mut padded = vec![0; 4 * usize::from(request.length)];
        let offset = (address % 4) as usize;
        padded[offset..offset + bytes.len()].copy_from_slice(bytes);
        RawTlp {
            header: Tlp::MemoryWrite(request).emit().unwrap_or_default(),
            data: padded
                .chunks_exact(4)
                .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
                .collect(),
            beside: 0,
        }
    }

    pub fn read(&mut self, address: u64, bytes: u32) -> (RawTlp, Ticket) {
        let tlp = RawTlp {
            header: Tlp::MemoryRead(self.request(address, bytes))
                .emit()
                .unwrap_or_default(),
            ..RawTlp::default()
        };
        self.track(tlp)
    }

    /// Whether a host may send this read at all.
    fn allowed(&self, request: &MemoryRequest) -> bool {
        let limits = Limits {
            requester_id: self.id,
            max_payload: 4096,
            max_read: 4096,
            extended_tags: true,
            bus_master: true,
            zero_length: true,
        };
        Requester::new(limits).read(request).is_ok()
    }

    /// Gives a request that wants an answer requester ID and tag.
    ///
    /// # Panics
    /// All 256 tags wait for answers.
    pub fn track(&mut self, mut tlp: RawTlp) -> (RawTlp, Ticket) {
        assert!(
            self.waits.len() < 256,
            "256 requests wait for their answers"
        );
        while self.waits.contains_key(&self.next_tag.into()) {
            self.next_tag = self.next_tag.wrapping_add(1);
        }
        let tag = self.next_tag;
        self.next_tag = tag.wrapping_add(1);
        tlp.header[1] = u32::from(self.id) << 16 | u32::from(tag) << 8 | tlp.header[1] & 0xFF;
        let wait = match Tlp::parse(&tlp.header) {
            Ok(Tlp::MemoryRead(request)) => match self.allowed(&request) {
                true => Wait::Read(Outstanding::new(request), Vec::new()),
                false => Wait::Wrong,
            },
            _ => Wait::Other,
        };
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        self.waits.insert(tag.into(), (ticket, wait));
        (tlp, ticket)
    }

    pub fn answer(&mut self, ticket: Ticket) -> Option<Answer> {
        self.answers.remove(&ticket)
    }

    /// Requests without an answer.
    pub fn waiting(&self) -> usize {
        self.waits.len()
    }

    /// A completion of the card.
    pub fn complete(&mut self, completion: &Completion, data: &[u32]) -> Result<(), Violation> {
        let tag = completion.tag;
        let unexpected = Violation::Unexpected(tag);
        let (ticket, wait) = self.waits.remove(&tag).ok_or(unexpected)?;
        let mut bytes = Vec::new();
        match wait {
            Wait::Read(read, mut got) => {
                let rest = check_completion(&read, completion, data.len(), 64)?;
                let carried = read.bytes - rest.map_or(0, |rest| rest.bytes);
                let from = usize::from(completion.lower_address % 4);
                got.extend(
                    data.iter()
                        .flat_map(|word| word.to_le_bytes())
                        .skip(from)
                        .take(carried.into()),
                );
                if let Some(rest) = rest {
                    self.waits.insert(tag, (ticket, Wait::Read(rest, got)));
                    return Ok(());
                }
                bytes = got;
            }
            Wait::Wrong => {
                let (status, length) = (completion.status, completion.length);
                if status != Status::UnsupportedRequest || length > 0 {
                    return Err(Violation::StatusData { status, length });
                }
                if completion.requester_id != self.id {
                    return Err(unexpected);
                }
            }
            // Byte Count is 4 and Lower Address 0 for all but memory reads.
            Wait::Other => {
                let (got, want) = (completion.byte_count, 4);
                if got != want {
                    return Err(Violation::ByteCount { got, want });
                }
                let (got, want) = (completion.lower_address, 0);
                if got != want {
                    return Err(Violation::LowerAddress { got, want });
                }
                if completion.requester_id != self.id {
                    return Err(unexpected);
                }
            }
        }
        let answer = Answer {
            status: completion.status,
            bytes,
            completion: *completion,
        };
        self.answers.insert(ticket, answer);
        Ok(())
    }
}
