//! What a transfer came to, for people and as JSON.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

use serde::Serialize;
use tributary_protocol::rw::{Mode, Outcome};
use tributary_sim::rw::{Plan, Report};

/// Everything that is printed of a transfer.
#[derive(Serialize)]
pub struct Summary {
    demo: &'static str,
    engine: &'static str,
    mode: Mode,
    outcome: Outcome,
    payload_intact: bool,
    first_difference_at_byte: Option<usize>,
    bytes: u32,
    packet_bytes: u32,
    packets: u32,
    window_packets: u32,
    loss: f64,
    duplication: f64,
    reorder_slots: u32,
    round_trip_slots: u32,
    seed: u64,
    sent_packets: u64,
    resent_packets: u64,
    packets_per_useful: f64,
    goodput: Option<f64>,
    goodput_with_handshake: f64,
    accepted_packets: u64,
    /// By reason.
    dropped: BTreeMap<&'static str, u64>,
    connects: u64,
    polls: u64,
    messages_back: u64,
    lost_to_receiver: u64,
    lost_to_sender: u64,
    duplicated_to_receiver: u64,
    duplicated_to_sender: u64,
    overtaken_to_receiver: u64,
    completion_slot: Option<u64>,
    end_slot: u64,
    slots: u64,
    slot_ns: f64,
    simulated_s: f64,
    time_s: f64,
}

impl Summary {
    /// Gathers it. `difference`: the first byte of the receiver's memory that is wrong.
    pub fn new(
        plan: &Plan,
        engine: &'static str,
        report: &Report,
        difference: Option<usize>,
        slot_ns: f64,
        time: Duration,
    ) -> Self {
        Self {
            demo: "rw",
            engine,
            mode: plan.mode,
            outcome: report.outcome,
            payload_intact: difference.is_none(),
            first_difference_at_byte: difference,
            bytes: plan.bytes,
            packet_bytes: 1 << plan.mtu,
            packets: report.packets,
            window_packets: plan.window_packets,
            loss: plan.loss,
            duplication: plan.duplication,
            reorder_slots: plan.reorder_slots,
            round_trip_slots: plan.round_trip_slots,
            seed: plan.seed,
            sent_packets: report.sender.data(),
            resent_packets: report.sender.resent,
            packets_per_useful: report.packets_per_useful(),
            goodput: report.goodput(),
            goodput_with_handshake: report.goodput_with_handshake(),
            accepted_packets: report.receiver.accepted,
            dropped: report
                .receiver
                .dropped
                .iter()
                .map(|(reason, count)| (reason.name(), *count))
                .collect(),
            connects: report.sender.connects,
            polls: report.sender.polls,
            messages_back: report.to_sender.sent,
            lost_to_receiver: report.to_receiver.lost,
            lost_to_sender: report.to_sender.lost,
            duplicated_to_receiver: report.to_receiver.duplicated,
            duplicated_to_sender: report.to_sender.duplicated,
            overtaken_to_receiver: report.to_receiver.overtaken,
            completion_slot: report.completion_slot,
            end_slot: report.end_slot,
            slots: report.slots,
            slot_ns,
            simulated_s: report.slots as f64 * slot_ns * 1e-9,
            time_s: time.as_secs_f64(),
        }
    }

    /// Prints it for people.
    pub fn print(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let Self {
            bytes,
            packets,
            packet_bytes,
            ..
        } = self;
        writeln!(
            out,
            "transfer    {bytes} bytes in {packets} packets of {packet_bytes}, {}, window of {} packets, {}",
            self.mode, self.window_packets, self.engine
        )?;
        writeln!(
            out,
            "link        loss {}, duplication {}, reorder span {} slots, round trip {} slots, seed {}",
            self.loss, self.duplication, self.reorder_slots, self.round_trip_slots, self.seed
        )?;
        let verdict = match (self.outcome, self.first_difference_at_byte) {
            (Outcome::Ok, None) => "complete, every byte as sent".to_owned(),
            (Outcome::Ok, Some(at)) => {
                format!("FAILED: reported complete, but byte {at} is not as sent")
            }
            (outcome, _) => format!("FAILED: ended as {}", format!("{outcome:?}").to_lowercase()),
        };
        writeln!(out, "result      {verdict}")?;
        let completion = self
            .completion_slot
            .map_or_else(|| "never".to_owned(), |slot| format!("in slot {slot}"));
        writeln!(
            out,
            "time        complete at the receiver {completion}, known to the sender in slot {}; 1 slot = {:.1} ns at 100 Gb/s",
            self.end_slot, self.slot_ns
        )?;
        writeln!(
            out,
            "sent        {} DATA packets, {} of them again: {:.3} per useful packet; {} CONNECT, {} POLL",
            self.sent_packets,
            self.resent_packets,
            self.packets_per_useful,
            self.connects,
            self.polls
        )?;
        if let Some(goodput) = self.goodput {
            writeln!(
                out,
                "goodput     {goodput:.3} of the line rate; {:.3} with handshake and COMPLETE",
                self.goodput_with_handshake
            )?;
        }
        let reasons: Vec<String> = self
            .dropped
            .iter()
            .map(|(reason, count)| format!("{count} {reason}"))
            .collect();
        let dropped = if reasons.is_empty() {
            "nothing dropped".to_owned()
        } else {
            format!("dropped {}", reasons.join(", "))
        };
        writeln!(
            out,
            "receiver    accepted {}, {dropped}; {} messages back",
            self.accepted_packets, self.messages_back
        )?;
        writeln!(
            out,
            "lost        {} packets to the receiver, {} to the sender; {} and {} duplicated; {} overtaken on the way to the receiver",
            self.lost_to_receiver,
            self.lost_to_sender,
            self.duplicated_to_receiver,
            self.duplicated_to_sender,
            self.overtaken_to_receiver
        )
    }
}
