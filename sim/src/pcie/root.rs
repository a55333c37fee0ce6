//! The root complex.

mod tlps;

use anyhow::{Result, ensure};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::collections::VecDeque;
use tributary_protocol::card::model;
use tributary_protocol::pcie::{MemoryRequest, Outstanding, Requester, Tlp, enabled};

use super::config::{Config, Interrupt, Seen};
use super::fault::{Fault, Faulted};
use super::host::{Answer, Host, Ticket};
use super::memory::HostMemory;
use super::posted::WritesPosted;
use super::reads::{Cuts, Pending};
use super::stream::{Beat, FromCard, RawTlp, ToCard, present};
use crate::testbench::stall::Stalls;
use crate::verilate::{Model, Port};

/// Clocks for which a card may begin to offer requests after bus mastering has ended.
const MASTER_CLOCKS: u64 = 2;

/// Streams between the card and the host.
const STREAMS: usize = 5;

/// Configuration inputs of the card; a block has those that it needs.
#[derive(Debug, Default)]
struct Inputs {
    requester_id: Option<Port>,
    completer_id: Option<Port>,
    max_payload_size: Option<Port>,
    max_read_request_size: Option<Port>,
    ext_tag_enable: Option<Port>,
    bus_master_enable: Option<Port>,
}

/// A root complex with memory, at the TLP ports of a Verilated model; streams that the model does not have are idle.
///
/// Each clock: [`drive`](Self::drive) before the inputs settle, [`sample`](Self::sample) after, then the edge;
/// [`tick`](Self::tick) does all three. [`drive_with`](Self::drive_with) and [`sample_with`](Self::sample_with) are the same over
/// memory from elsewhere; without any, no read is answered and no write is taken.
#[derive(Debug)]
pub struct RootComplex {
    /// What the card may do.
    pub config: Config,
    /// The host's memory.
    pub memory: HostMemory,
    /// Interrupts, oldest first.
    pub interrupts: VecDeque<Interrupt>,
    /// Reads that something was done to, oldest first.
    pub faulted: Vec<Faulted>,
    /// What the card has sent.
    pub seen: Seen,
    rng: ChaCha8Rng,
    stalls: Stalls,
    clock: u64,
    /// Latest clock in which the card was a bus master.
    master: u64,
    inputs: Inputs,
    flr: Option<Port>,
    resetting: bool,
    request: Option<ToCard>,
    completion: Option<ToCard>,
    reads: Option<FromCard>,
    writes: Option<FromCard>,
    posted: Option<WritesPosted>,
    answers: Option<FromCard>,
    requester: Requester,
    pending: Vec<Pending>,
    /// Faults for the reads to come.
    faults: VecDeque<Fault>,
    host: Host,
    /// TLPs for a card that is at no stream.
    outbox: Option<VecDeque<RawTlp>>,
    errors: Vec<String>,
}

impl RootComplex {
    /// A root complex for this model.
    ///
    /// # Errors
    /// A stream of the model lacks a port.
    pub fn new(model: &mut Model, config: Config) -> Result<Self> {
        let into = |name: &str, beside| -> Result<Option<ToCard>> {
            let there = present(model, name);
            Ok(there
                .then(|| ToCard::new(model, name, beside))
                .transpose()?)
        };
        let out = |name: &str| -> Result<Option<FromCard>> {
            Ok(present(model, name)
                .then(|| FromCard::new(model, name))
                .transpose()?)
        };
        let port = |name: &str| model.port(name).ok();
        let mut root = Self {
            inputs: Inputs {
                requester_id: port("requester_id"),
                completer_id: port("completer_id"),
                max_payload_size: port("max_payload_size"),
                max_read_request_size: port("max_read_request_size"),
                ext_tag_enable: port("ext_tag_enable"),
                bus_master_enable: port("bus_master_enable"),
            },
            flr: port("flr"),
            request: into("s_rx_req_tlp", [Some("bar_id"), Some("func_num")])?,
            completion: into("s_rx_cpl_tlp", [Some("error"), None])?,
            reads: out("m_tx_rd_req_tlp")?,
            writes: out("m_tx_wr_req_tlp")?,
            posted: WritesPosted::new(model),
            answers: out("m_tx_cpl_tlp")?,
            ..Self::without_streams(config)
        };
        root.configure(model);
        root.function_reset(model, false);
        Ok(root)
    }

    fn without_streams(config: Config) -> Self {
        Self {
            memory: HostMemory::default(),
            interrupts: VecDeque::new(),
            faulted: Vec::new(),
            seen: Seen::default(),
            rng: ChaCha8Rng::seed_from_u64(config.seed),
            stalls: Stalls::new(config.stall, config.seed, STREAMS),
            clock: 0,
            master: 0,
            inputs: Inputs::default(),
            flr: None,
            resetting: false,
            request: None,
            completion: None,
            reads: None,
            writes: None,
            posted: None,
            answers: None,
            requester: Requester::new(config.limits),
            pending: Vec::new(),
            faults: VecDeque::new(),
            host: Host::new(config.host_id),
            outbox: None,
            errors: Vec::new(),
            config,
        }
    }

    /// Drives the configuration inputs after `config.limits` has changed.
    pub fn configure(&mut self, model: &mut Model) {
        let limits = self.config.limits;
        self.requester.limits = limits;
        let code = |bytes: u32| u64::from((bytes / 128).max(1).ilog2());
        for (port, value) in [
            (self.inputs.requester_id, limits.requester_id.into()),
            (self.inputs.completer_id, limits.requester_id.into()),
            (self.inputs.max_payload_size, code(limits.max_payload)),
            (self.inputs.max_read_request_size, code(limits.max_read)),
            (self.inputs.ext_tag_enable, limits.extended_tags.into()),
            (self.inputs.bus_master_enable, limits.bus_master.into()),
        ] {
            if let Some(port) = port {
                model.set(port, value);
            }
        }
    }

    /// Drives the function-level reset, if the model has it. A read that the card was offering may go with it.
    pub fn function_reset(&mut self, model: &mut Model, active: bool) {
        if let Some(port) = self.flr {
            model.set(port, active.into());
        }
        self.resetting = active;
    }

    /// Writes to BAR0: at most 4,096 bytes.
    pub fn bar_write(&mut self, address: u64, bytes: &[u8]) {
        let tlp = self.host.write(address, bytes);
        self.send(tlp);
    }

    /// Reads from BAR0: at most 4,096 bytes. None is a read that only flushes writes.
    pub fn bar_read(&mut self, address: u64, bytes: u32) -> Ticket {
        let (tlp, ticket) = self.host.read(address, bytes);
        self.send(tlp);
        ticket
    }

    /// Sends a request as it is, however wrong.
    pub fn send(&mut self, tlp: RawTlp) {
        if let Some(stream) = &mut self.request {
            stream.push(&tlp);
        } else if let Some(outbox) = &mut self.outbox {
            outbox.push_back(tlp);
        }
    }

    /// Sends a request as it is but for requester ID and tag, and waits for an answer.
    pub fn ask(&mut self, tlp: RawTlp) -> Ticket {
        let (tlp, ticket) = self.host.track(tlp);
        self.send(tlp);
        ticket
    }

    /// Sends the words of a TLP to the card as a request that lacks its first word.
    pub fn send_headless(&mut self, words: usize) {
        if let Some(stream) = &mut self.request {
            for i in 0..words {
                stream.push_beat(Beat {
                    header: [0; 4],
                    beside: 0,
                    data: 0,
                    strb: 3,
                    sop: false,
                    eop: i + 1 == words,
                });
            }
        }
    }

    /// Sends a completion as it is, whether or not a read waits for it.
    pub fn send_completion(&mut self, tlp: &RawTlp) {
        if let Some(stream) = &mut self.completion {
            stream.push(tlp);
        }
    }

    /// Sends the first words of a completion: its end never comes.
    pub fn send_completion_cut(&mut self, tlp: &RawTlp, words: usize) {
        if let Some(stream) = &mut self.completion {
            for beat in tlp.beats().take(words) {
                stream.push_beat(Beat { eop: false, ..beat });
            }
        }
    }

    /// The answer to a request, once.
    pub fn answer(&mut self, ticket: Ticket) -> Option<Answer> {
        self.host.answer(ticket)
    }

    /// Something goes wrong with the next read; if called again, with the one after.
    pub fn inject(&mut self, fault: Fault) {
        self.faults.push_back(fault);
    }

    /// Nothing is on its way: no request without its answer, no read without its completions, no TLP half sent.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        let waits = |stream: &Option<ToCard>| stream.as_ref().is_some_and(|s| s.waiting() > 0);
        let within = |stream: &Option<FromCard>| stream.as_ref().is_some_and(FromCard::is_within);
        self.pending.is_empty()
            && self.posted.as_ref().is_none_or(WritesPosted::is_empty)
            && self.host.waiting() == 0
            && !waits(&self.request)
            && !waits(&self.completion)
            && !within(&self.writes)
    }

    /// Reads of the card that have not been answered to the end.
    #[must_use]
    pub fn reads_pending(&self) -> usize {
        self.pending.len()
    }

    /// Rules that the card has broken, and accesses to memory that is not mapped.
    ///
    /// # Errors
    /// All of them, one a line.
    pub fn check(&self) -> Result<()> {
        let denied = self.memory.denied().iter().map(ToString::to_string);
        let all: Vec<String> = self.errors.iter().cloned().chain(denied).collect();
        ensure!(all.is_empty(), "the card broke rules:\n{}", all.join("\n"));
        Ok(())
    }

    /// The rules that were broken, and forgets them.
    pub fn take_errors(&mut self) -> Vec<String> {
        std::mem::take(&mut self.errors)
    }

    /// One clock of a model that has no other inputs.
    ///
    /// # Errors
    /// The model has stopped.
    pub fn tick(&mut self, model: &mut Model) -> Result<()> {
        self.drive(model)?;
        model.eval()?;
        self.sample(model)?;
        model.clock()?;
        Ok(())
    }

    /// Before a clock: drives the inputs.
    ///
    /// # Errors
    /// The model is another.
    pub fn drive(&mut self, model: &mut Model) -> Result<()> {
        self.with_memory(|root, memory| root.drive_with(model, Some(memory)))
    }

    /// After the inputs have settled, before the edge: what passes in this clock.
    ///
    /// # Errors
    /// The model is another.
    pub fn sample(&mut self, model: &Model) -> Result<()> {
        self.with_memory(|root, memory| root.sample_with(model, memory))
    }

    fn with_memory<T>(&mut self, act: impl FnOnce(&mut Self, &mut HostMemory) -> T) -> T {
        let mut memory = std::mem::take(&mut self.memory);
        let done = act(self, &mut memory);
        self.memory = memory;
        done
    }

    /// Before a clock: drives the inputs.
    ///
    /// # Errors
    /// The model is another.
    pub fn drive_with(
        &mut self,
        model: &mut Model,
        memory: Option<&mut dyn model::HostMemory>,
    ) -> Result<()> {
        self.clock += 1;
        if self.config.limits.bus_master {
            self.master = self.clock;
        }
        if self.stalls.profile() != self.config.stall {
            self.stalls.set(self.config.stall);
        }
        self.stalls.clock();
        let dice = self.rng.next_u64();
        let moves = |stream: usize| self.stalls.ready(stream);
        if let Some(stream) = &mut self.request {
            stream.drive(model, moves(0), dice)?;
        }
        if let Some(stream) = &mut self.reads {
            stream.drive(model, moves(2));
        }
        if let Some(stream) = &mut self.writes {
            stream.drive(model, memory.is_some() && moves(3));
        }
        if let Some(stream) = &mut self.answers {
            stream.drive(model, moves(4));
        }
        let moves = moves(1);
        if let Some(memory) = memory {
            self.queue_completion(memory);
            self.store_posted(memory);
        }
        if let Some(posted) = &mut self.posted {
            posted.drive(model, self.clock);
        }
        if let Some(stream) = &mut self.completion {
            stream.drive(model, moves, dice)?;
        }
        Ok(())
    }

    fn queue_completion(&mut self, memory: &mut dyn model::HostMemory) {
        if self
            .completion
            .as_ref()
            .is_none_or(|stream| stream.waiting() > 1)
        {
            return;
        }
        let next = self.next_completion(memory);
        if let (Some(stream), Some((tlp, copies))) = (&mut self.completion, next) {
            (0..copies).for_each(|_| stream.push(&tlp));
        }
    }

    /// The next completion of any read that is due, and how often it comes.
    fn next_completion(&mut self, memory: &mut dyn model::HostMemory) -> Option<(RawTlp, usize)> {
        let now = self.clock;
        let due = self.pending.iter().filter(|read| read.due <= now).count();
        if due == 0 {
            return None;
        }
        let pick = match self.config.ordered {
            true => 0,
            false => self.rng.next_u32() as usize % due,
        };
        let mut picked = (0..self.pending.len()).filter(|&i| self.pending[i].due <= now);
        let index = picked.nth(pick)?;
        let cuts = Cuts {
            completer_id: self.config.host_id,
            boundary: self.config.boundary,
            max_payload: self.config.limits.max_payload,
            large: self.config.large,
        };
        let read = &mut self.pending[index];
        let (tlp, last) = read.next(memory, cuts, &mut self.rng);
        let mut copies = 1;
        if last {
            copies += usize::from(read.fault == Some(Fault::Twice));
            self.requester.end(read.left.request.tag);
            self.pending.remove(index);
        }
        Some((tlp, copies))
    }

    /// After the inputs have settled, before the edge: what passes in this clock.
    ///
    /// # Errors
    /// The model is another.
    pub fn sample_with(&mut self, model: &Model, memory: &mut dyn model::HostMemory) -> Result<()> {
        for (number, stream) in [&mut self.request, &mut self.completion]
            .into_iter()
            .enumerate()
        {
            if let Some(stream) = stream {
                let ends = stream.ends();
                let taken = stream.sample(model);
                self.stalls.observe(number, taken, ends);
            }
        }
        for (number, stream) in [&self.reads, &self.writes, &self.answers]
            .into_iter()
            .enumerate()
        {
            if let Some(stream) = stream {
                let (valid, ends) = stream.stands(model);
                self.stalls.observe(2 + number, valid, ends);
            }
        }
        let (clock, errors) = (self.clock, &mut self.errors);
        let mut take = |stream: &mut Option<FromCard>, name: &str| -> Result<Option<RawTlp>> {
            let wrong = |what: String| errors.push(format!("clock {clock}: {name}: {what}"));
            match stream {
                Some(stream) => stream.sample(model, clock, wrong),
                None => Ok(None),
            }
        };
        let read = take(&mut self.reads, "m_tx_rd_req_tlp")?;
        let write = take(&mut self.writes, "m_tx_wr_req_tlp")?;
        let answer = take(&mut self.answers, "m_tx_cpl_tlp")?;
        if let Some(stream) = self.reads.as_mut().filter(|_| self.resetting) {
            stream.forget();
        }
        if let Some(tlp) = read {
            self.requester.limits.bus_master = self.was_master(&self.reads);
            self.read(&tlp);
        }
        if let Some(tlp) = write {
            let master = self.was_master(&self.writes);
            if let Some(posted) = &mut self.posted {
                let path = &self.config.writes;
                posted.push(model, (tlp, master), self.clock, path, &mut self.rng);
            }
            self.store_posted(memory);
        }
        if let Some(tlp) = answer {
            self.completed(&tlp);
        }
        Ok(())
    }

    /// The card has answered a request.
    fn completed(&mut self, tlp: &RawTlp) {
        self.seen.completions += 1;
        match Tlp::parse(&tlp.header) {
            Ok(Tlp::Completion(completion)) => {
                if completion.completer_id != self.config.limits.requester_id {
                    self.wrong(tlp, &"another completer ID");
                }
                if let Err(violation) = self.host.complete(&completion, &tlp.data) {
                    self.wrong(tlp, &violation);
                }
            }
            other => self.wrong(tlp, &format!("no completion: {other:?}")),
        }
    }

    /// Whether the card was a bus master when it began to offer the latest request of a stream: what is offered stays.
    fn was_master(&self, stream: &Option<FromCard>) -> bool {
        let began = stream.as_ref().map_or(0, FromCard::began);
        began <= self.master + MASTER_CLOCKS
    }

    fn wrong(&mut self, tlp: &RawTlp, what: &dyn std::fmt::Display) {
        let header = tlp.header;
        self.errors
            .push(format!("clock {}: {what}: {header:08x?}", self.clock));
    }

    fn read(&mut self, tlp: &RawTlp) {
        self.seen.reads += 1;
        let request = match Tlp::parse(&tlp.header) {
            Ok(Tlp::MemoryRead(request)) => request,
            other => return self.wrong(tlp, &format!("no read: {other:?}")),
        };
        if let Err(violation) = self.requester.read(&request) {
            self.wrong(tlp, &violation);
        }
        let random = self.rng.next_u32() % 1024 < self.config.faults;
        let fault = match self.faults.pop_front() {
            None if random => Some(Fault::random(&mut self.rng, self.config.late)),
            fault => fault,
        };
        let (low, high) = (*self.config.latency.start(), *self.config.latency.end());
        let mut latency = low + self.rng.next_u32() % (high.saturating_sub(low) + 1);
        if let Some(fault) = fault {
            self.faulted.push(Faulted {
                number: self.seen.reads - 1,
                request,
                fault,
            });
        }
        match fault {
            Some(Fault::Dropped) => return self.requester.end(request.tag),
            Some(Fault::Late(more)) => latency += more,
            _ => {}
        }
        self.pending.push(Pending {
            left: Outstanding::new(request),
            due: self.clock + u64::from(latency),
            fault,
        });
    }

    /// Writes that have reached memory.
    fn store_posted(&mut self, memory: &mut dyn model::HostMemory) {
        loop {
            let path = &self.config.writes;
            let posted = self.posted.as_mut();
            let arrived = posted.and_then(|all| all.arrived(self.clock, path, &mut self.rng));
            let Some(write) = arrived else {
                return;
            };
            self.requester.limits.bus_master = write.master;
            self.write(&write.tlp, memory);
        }
    }

    fn write(&mut self, tlp: &RawTlp, memory: &mut dyn model::HostMemory) {
        self.seen.writes += 1;
        self.seen.write_words += tlp.data.len() as u64;
        let request = match Tlp::parse(&tlp.header) {
            Ok(Tlp::MemoryWrite(request)) => request,
            other => return self.wrong(tlp, &format!("no write: {other:?}")),
        };
        if let Err(violation) = self.requester.write(&request, tlp.data.len()) {
            return self.wrong(tlp, &violation);
        }
        let interrupts = self.config.interrupts.as_ref();
        if interrupts.is_some_and(|range| range.contains(&request.address)) {
            if request.length != 1 || request.first_be != 0xF {
                return self.wrong(tlp, &"an interrupt of other than 4 bytes");
            }
            self.interrupts.push_back(Interrupt {
                address: request.address,
                data: tlp.data[0],
            });
            return;
        }
        store(&request, &tlp.data, memory);
    }
}

/// Writes the enabled bytes, in runs. Where there is no memory a write is lost, and the memory knows.
fn store(request: &MemoryRequest, data: &[u32], memory: &mut dyn model::HostMemory) {
    let bytes: Vec<u8> = data.iter().flat_map(|word| word.to_le_bytes()).collect();
    let on =
        |i: usize| i < bytes.len() && enabled(request.length, request.first_be, request.last_be, i);
    let mut from = 0;
    while from < bytes.len() {
        if !on(from) {
            from += 1;
            continue;
        }
        let to = (from..).find(|&i| !on(i)).unwrap_or(bytes.len());
        let iova = request.address.wrapping_add(from as u64);
        let _ = memory.write(iova, &bytes[from..to]);
        from = to;
    }
}
