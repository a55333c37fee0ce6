//! The slot simulation: one sender, one receiver engine, a link each way.

use anyhow::{Context, Result, ensure};
use tributary_protocol::roce;
use tributary_protocol::rw::{
    Completion, Message, Mode, Outcome, Output, ReceiverConfig, Request, Sender, SenderCompletion,
    SenderStats, wire,
};

use super::engine::{EngineStats, ReceiverEngine};
use super::memory::Memory;
use super::observe::{End, Event, Observer};
use super::timing::Timing;
use super::trace::Record;
use crate::link::{Fate, Link, LinkConfig, LinkStats};

/// Node numbers of the two ends.
const SENDER_NODE: u32 = 0;
const RECEIVER_NODE: u32 = 1;
/// Where the bytes go: any address and key would do.
const ADDR: u64 = 0x1_0000;
const RKEY: u32 = 0x7717;
/// A transfer that has not ended after so many slots, and so many for each packet, never will:
/// every retry of every mode is shorter.
const SLOTS_AT_MOST: (u64, u64) = (1_000_000, 2_000);

/// What is sent, how, and over what.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// Protocol.
    pub mode: Mode,
    /// W, packets.
    pub window_packets: u32,
    /// Bytes of the transfer.
    pub bytes: u32,
    /// log2 of the packet size.
    pub mtu: u8,
    /// Shortest round trip, slots; half of it each way, the odd slot on the way to the receiver.
    pub round_trip_slots: u32,
    /// How far packets overtake each other, slots, each way.
    pub reorder_slots: u32,
    /// Probability of loss on the way to the receiver.
    pub loss: f64,
    /// Probability of loss on the way back.
    pub loss_back: f64,
    /// How often each message of the receiver leaves; the reference modes send it once.
    pub copies: u8,
    /// Probability of duplication, each way.
    pub duplication: f64,
    /// What every random choice comes from.
    pub seed: u64,
}

impl Plan {
    /// Timers for the network of this plan.
    #[must_use]
    pub fn timing(&self) -> Timing {
        Timing {
            round_trip_slots: self.round_trip_slots,
            reorder_slots: self.reorder_slots,
        }
    }

    /// Parameters of the receiver.
    #[must_use]
    pub fn receiver(&self) -> ReceiverConfig {
        ReceiverConfig {
            copies: self.copies,
            ..self.timing().receiver(self.mode, self.window_packets)
        }
    }

    /// N, packets.
    #[must_use]
    pub fn packets(&self) -> u32 {
        tributary_protocol::rw::packets(self.bytes, self.mtu)
    }

    fn link(&self, end: End) -> Result<Link<Packet>> {
        let (delay_slots, loss, stream) = match end {
            End::Sender => (self.round_trip_slots.div_ceil(2), self.loss, 0),
            End::Receiver => (self.round_trip_slots / 2, self.loss_back, 1),
        };
        let config = LinkConfig {
            delay_slots,
            reorder_slots: self.reorder_slots,
            loss,
            duplication: self.duplication,
        };
        Ok(Link::new(config, self.seed, stream)?)
    }
}

/// A packet on a link.
#[derive(Clone, Debug)]
enum Packet {
    /// Without payload, where only its timing counts.
    Message(Message),
    /// As bytes.
    Frame(Vec<u8>),
}

/// How a transfer went.
#[derive(Clone, Debug)]
pub struct Report {
    /// How it ended at the sender.
    pub outcome: Outcome,
    /// N, packets.
    pub packets: u32,
    /// Counters of the sender.
    pub sender: SenderStats,
    /// Counters of the receiver engine.
    pub receiver: EngineStats,
    /// The link to the receiver.
    pub to_receiver: LinkStats,
    /// The link back.
    pub to_sender: LinkStats,
    /// Completion records at the receiver.
    pub completions: Vec<Completion>,
    /// Slot in which the first DATA packet left.
    pub first_data_slot: Option<u64>,
    /// Slot of the receiver's completion record: the last byte is visible in its memory.
    pub completion_slot: Option<u64>,
    /// Slot in which the sender knew the end. CONNECT left in slot 0.
    pub end_slot: u64,
    /// Slots until both links were empty as well.
    pub slots: u64,
}

impl Report {
    /// DATA packets put on the line per packet of the transfer.
    #[must_use]
    pub fn packets_per_useful(&self) -> f64 {
        self.sender.data() as f64 / f64::from(self.packets)
    }

    /// N packets as a share of the slots from the first DATA packet on the line to the receiver's
    /// completion record, both included. The handshake before is not counted, the flight of the
    /// last packets is. `None` if the receiver never completed.
    #[must_use]
    pub fn goodput(&self) -> Option<f64> {
        let slots = self.completion_slot? + 1 - self.first_data_slot?;
        Some(f64::from(self.packets) / slots as f64)
    }

    /// N packets as a share of all slots from CONNECT to the sender's completion, handshake and
    /// COMPLETE included.
    #[must_use]
    pub fn goodput_with_handshake(&self) -> f64 {
        f64::from(self.packets) / (self.end_slot + 1) as f64
    }
}

/// One transfer.
pub struct Transfer {
    plan: Plan,
    sender: Sender,
    to_receiver: Link<Packet>,
    to_sender: Link<Packet>,
    memory: Option<Memory>,
    writes: Vec<Record>,
    completions: Vec<Completion>,
    first_data_slot: Option<u64>,
    completion_slot: Option<u64>,
    ended: Option<(u64, SenderCompletion)>,
}

impl Transfer {
    /// A transfer of packets without payload.
    ///
    /// # Errors
    /// A parameter out of range.
    pub fn new(plan: Plan) -> Result<Self> {
        let timing = Timing::MAX_SLOTS;
        ensure!(
            (2..=timing).contains(&plan.round_trip_slots) && plan.reorder_slots <= timing,
            "round trip {} and reorder span {} slots: 2 to {timing} and 0 to {timing}",
            plan.round_trip_slots,
            plan.reorder_slots
        );
        let mut sender = Sender::new(plan.timing().sender(plan.mode))?;
        sender.start(
            Request {
                dst: RECEIVER_NODE,
                addr: ADDR,
                rkey: RKEY,
                length: plan.bytes,
                mtu: plan.mtu,
                oldest_first: false,
            },
            0,
        )?;
        Ok(Self {
            sender,
            to_receiver: plan.link(End::Sender)?,
            to_sender: plan.link(End::Receiver)?,
            plan,
            memory: None,
            writes: Vec::new(),
            completions: Vec::new(),
            first_data_slot: None,
            completion_slot: None,
            ended: None,
        })
    }

    /// A transfer of these bytes: everything travels as frames, and payload is written to memory.
    ///
    /// # Errors
    /// A parameter out of range, or not as many bytes as planned.
    pub fn of_bytes(plan: Plan, bytes: Vec<u8>) -> Result<Self> {
        ensure!(
            bytes.len() as u64 == u64::from(plan.bytes),
            "{} bytes given, {} planned",
            bytes.len(),
            plan.bytes
        );
        let memory = Some(Memory::new(bytes, ADDR, RKEY));
        Ok(Self {
            memory,
            ..Self::new(plan)?
        })
    }

    /// The memory at both ends, for transfers of bytes.
    #[must_use]
    pub fn memory(&self) -> Option<&Memory> {
        self.memory.as_ref()
    }

    /// Runs until the sender has ended the transfer and both links are empty. `watch` is called
    /// with the number of packets known to have left for the first time, once a slot.
    ///
    /// # Errors
    /// The engine or an observer has failed, the engine has done what the protocol forbids, or
    /// the transfer does not end.
    pub fn run(
        &mut self,
        engine: &mut dyn ReceiverEngine,
        observers: &mut [&mut dyn Observer],
        watch: &mut dyn FnMut(u64),
    ) -> Result<Report> {
        let limit = SLOTS_AT_MOST.0 + SLOTS_AT_MOST.1 * u64::from(self.plan.packets());
        let mut now = 0;
        loop {
            let busy = self
                .slot(now, engine, observers)
                .with_context(|| format!("slot {now}"))?;
            watch(self.sender.stats().fresh);
            if let (Some((end_slot, done)), false) = (self.ended, busy) {
                return Ok(Report {
                    outcome: done.outcome,
                    packets: self.plan.packets(),
                    sender: self.sender.stats().clone(),
                    receiver: engine.stats(),
                    to_receiver: self.to_receiver.stats(),
                    to_sender: self.to_sender.stats(),
                    completions: std::mem::take(&mut self.completions),
                    first_data_slot: self.first_data_slot,
                    completion_slot: self.completion_slot,
                    end_slot,
                    slots: now + 1,
                });
            }
            ensure!(
                now < limit,
                "the transfer has not ended after {limit} slots"
            );
            now += 1;
        }
    }

    /// One slot: what has arrived goes into the receiver, its outputs leave, what has arrived at
    /// the sender goes into it, and one packet of the sender leaves. True if something is under way.
    fn slot(
        &mut self,
        now: u64,
        engine: &mut dyn ReceiverEngine,
        observers: &mut [&mut dyn Observer],
    ) -> Result<bool> {
        for record in std::mem::take(&mut self.writes) {
            engine.input(&record, now)?;
        }
        while let Some(packet) = self.to_receiver.receive(now) {
            let message = self.take_in(End::Receiver, packet, now, observers)?;
            if let Some(record) = Record::from_message(&message) {
                engine.input(&record, now)?;
            }
        }
        for output in engine.end_slot(now)? {
            self.act(output, now, observers)?;
        }
        while let Some(packet) = self.to_sender.receive(now) {
            let message = self.take_in(End::Sender, packet, now, observers)?;
            self.sender.on_message(&message, now);
        }
        let out = self.sender.next_packet(now);
        let sent = out.is_some();
        if let Some(out) = out {
            if matches!(out.msg, Message::Data(_)) {
                self.first_data_slot.get_or_insert(now);
            }
            self.send(End::Sender, out.msg, now, observers)?;
        }
        while let Some(done) = self.sender.take_completion() {
            ensure!(
                self.ended.is_none(),
                "P4: a second completion at the sender"
            );
            self.ended = Some((now, done));
            tell(observers, now, &Event::Ended(&done))?;
        }
        Ok(sent
            || !self.writes.is_empty()
            || self.to_receiver.in_flight() + self.to_sender.in_flight() > 0)
    }

    /// A packet comes out of a link.
    fn take_in(
        &mut self,
        end: End,
        packet: Packet,
        now: u64,
        observers: &mut [&mut dyn Observer],
    ) -> Result<Message> {
        let (message, frame) = match packet {
            Packet::Message(message) => (message, Vec::new()),
            Packet::Frame(frame) => {
                let decoded = wire::decode_frame(&frame)
                    .with_context(|| format!("frame at the {}", end.name()))?;
                if let (Message::Data(data), Some(memory)) = (&decoded.msg, &mut self.memory) {
                    memory.arrived(*data, decoded.payload.to_vec());
                }
                let from = decoded.link.src_node();
                let message = decoded.msg.sent_by(from);
                let why = || format!("frame at the {}: of another node than {from}", end.name());
                (message.with_context(why)?, frame)
            }
        };
        tell(
            observers,
            now,
            &Event::Arrived {
                end,
                message: &message,
                frame: &frame,
            },
        )?;
        Ok(message)
    }

    /// The receiver wants something done.
    fn act(&mut self, output: Output, now: u64, observers: &mut [&mut dyn Observer]) -> Result<()> {
        match output {
            Output::Send { msg, .. } => self.send(End::Receiver, msg, now, observers),
            Output::Write(write) => {
                ensure!(
                    self.completions.is_empty(),
                    "P5: a write after the completion"
                );
                if let Some(memory) = &mut self.memory {
                    memory.write(&write)?;
                }
                self.writes.push(Record::WriteDone {
                    wptr: write.wptr,
                    r#gen: write.r#gen,
                });
                tell(observers, now, &Event::Written(&write))
            }
            Output::Completion(done) => {
                self.completions.push(done);
                ensure!(
                    self.completions.len() == 1,
                    "P4: a second completion at the receiver"
                );
                self.completion_slot = Some(now);
                tell(observers, now, &Event::Completed(&done))
            }
        }
    }

    fn send(
        &mut self,
        end: End,
        message: Message,
        now: u64,
        observers: &mut [&mut dyn Observer],
    ) -> Result<()> {
        let packet = match &self.memory {
            None => Packet::Message(message.clone()),
            Some(memory) => {
                let payload = if let Message::Data(data) = &message {
                    memory.payload(data, self.plan.mtu)
                } else {
                    Vec::new()
                };
                Packet::Frame(wire::encode_frame(&addresses(end), &message, &payload)?)
            }
        };
        let copy = if observers.is_empty() {
            None
        } else {
            Some(packet.clone())
        };
        let fate = self.put(end, packet, now);
        let frame = if let Some(Packet::Frame(frame)) = &copy {
            frame.as_slice()
        } else {
            &[]
        };
        tell(
            observers,
            now,
            &Event::Sent {
                end,
                message: &message,
                frame,
                fate,
            },
        )
    }

    fn put(&mut self, end: End, packet: Packet, now: u64) -> Fate {
        match end {
            End::Sender => self.to_receiver.send(packet, now),
            End::Receiver => self.to_sender.send(packet, now),
        }
    }
}

/// Addresses of what a node sends.
fn addresses(end: End) -> roce::Link {
    match end {
        End::Sender => roce::Link::between(SENDER_NODE, RECEIVER_NODE),
        End::Receiver => roce::Link::between(RECEIVER_NODE, SENDER_NODE),
    }
}

fn tell(observers: &mut [&mut dyn Observer], now: u64, event: &Event<'_>) -> Result<()> {
    observers
        .iter_mut()
        .try_for_each(|observer| observer.event(now, event))
}
