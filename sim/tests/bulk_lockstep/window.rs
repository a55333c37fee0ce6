//! A Verilated `rw_window` at the other end.

use std::collections::VecDeque;

use anyhow::Result;
use tributary_protocol::rw::*;
use tributary_sim::rw::rtl::{Inputs, RawMessage, RtlWindow};
use tributary_sim::verilate::Verilated;

/// The engine, what waits to enter it, and what has come out.
pub struct Window {
    rtl: RtlWindow,
    w: u32,
    coming: VecDeque<Message>,
    acks: VecDeque<(u16, u32)>,
    /// A STATUS whose words are still to come.
    report: Option<StatusReport>,
    words: usize,
    done: Vec<(u16, u32)>,
}

impl Window {
    pub fn new(library: &Verilated, config: &ReceiverConfig) -> Self {
        Self {
            rtl: RtlWindow::new(library, config).unwrap(),
            w: config.w,
            coming: VecDeque::new(),
            acks: VecDeque::new(),
            report: None,
            words: 0,
            done: Vec::new(),
        }
    }

    /// A message has come.
    pub fn arrives(&mut self, message: Message) {
        self.coming.push_back(message);
    }

    /// How often a transfer was completed with every byte.
    pub fn completed(&self, transfer: (u16, u32)) -> usize {
        self.done.iter().filter(|done| **done == transfer).count()
    }

    /// One clock: the messages that leave.
    pub fn clock(&mut self, now: u16) -> Result<Vec<Message>> {
        let sample = self.rtl.clock(&Inputs {
            message: self.coming.front().cloned(),
            ack: self.acks.front().copied(),
            now,
            ..Inputs::default()
        })?;
        if sample.taken {
            self.coming.pop_front();
        }
        if sample.ack_taken {
            self.acks.pop_front();
        }
        if let Some(decision) = sample.decision
            && decision.reason == 0
        {
            self.acks.push_back((decision.wptr, decision.generation));
        }
        if let Some(done) = sample.completion
            && done.status == 0
        {
            self.done.push((done.slot, done.xid));
        }
        let mut leave = Vec::new();
        if let Some((word, last)) = sample.bitmap
            && let Some(report) = &mut self.report
        {
            let bits = self.rtl.word_bits() as usize;
            for bit in 0..bits {
                report
                    .bitmap
                    .set(self.words * bits + bit, word >> bit & 1 == 1);
            }
            self.words += 1;
            if last {
                leave.extend(self.report.take().map(Message::Status));
            }
        }
        if let Some(raw) = sample.message {
            match self.message(&raw) {
                Message::Status(report) => {
                    self.report = Some(report);
                    self.words = 0;
                }
                other => leave.push(other),
            }
        }
        Ok(leave)
    }

    fn message(&self, raw: &RawMessage) -> Message {
        let (slot, xid) = (raw.slot, raw.xid);
        match raw.kind {
            1 => Message::Complete(Complete {
                slot,
                xid,
                status: [Status::Ok, Status::Aborted][usize::from(raw.status)],
            }),
            2 => Message::RetxOne(RetxOne {
                slot,
                xid,
                pidx: raw.pidx,
            }),
            3 => Message::RetxRange(RetxRange {
                slot,
                xid,
                pidx: raw.pidx,
                round: 0,
            }),
            5 => {
                let status = [
                    ConnectStatus::Ok,
                    ConnectStatus::Busy,
                    ConnectStatus::Refused,
                ][usize::from(raw.status)];
                let open = status == ConnectStatus::Ok;
                Message::ConnectResp(ConnectResp {
                    slot,
                    xid,
                    status,
                    wptr: raw.wptr,
                    r#gen: raw.generation,
                    w: if open { self.w as u16 } else { 0 },
                    credit: if open { raw.credit } else { 0 },
                    retry: raw.hint,
                })
            }
            6 => Message::Status(StatusReport {
                slot,
                xid,
                seq: raw.seq,
                wbase: raw.wbase,
                w_tail: raw.tail,
                credit: raw.credit,
                bitmap: Bitmap::repeat(false, self.w as usize),
            }),
            7 => Message::Unknown(Unknown {
                slot,
                xid,
                reason: if raw.status == Reason::Idle as u8 {
                    Reason::Idle
                } else {
                    Reason::NoTransfer
                },
            }),
            kind => panic!("rw_window sends a message of type {kind}"),
        }
    }
}
