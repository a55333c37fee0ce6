//! The Verilated `rw_window` as a receiver engine of a simulation.

use std::collections::VecDeque;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use tributary_protocol::rw::{
    Bitmap, Complete, Completion, ConnectResp, ConnectStatus, DropReason, Message, Mode, Output,
    Reason, ReceiverConfig, RetxOne, RetxRange, Status, StatusReport, Unknown, WriteCmd,
};

use super::engine::{EngineStats, ReceiverEngine};
use super::rtl::{Decision, Inputs, RawCompletion, RawMessage, RtlWindow, Sample, build};
use super::trace::Record;

/// Operation of the control engine that sweeps the timers, as `mon_op` codes it.
const SWEEP: u8 = 5;
/// Clocks of a slot after which the engine counts as stuck.
const CLOCKS_PER_SLOT: u64 = 1 << 20;

/// Clocks from a record to the events it causes in the queues of the control engine, if it makes no slide beyond its word of
/// the bitmap, and for each further word.
const TO_QUEUES: u64 = 32;
const WORD: u64 = 12;

/// `rw_window` in Verilator. One slot is one tick; in a slot the engine takes all records, each
/// when the control engine has answered the one before, and then runs until the sweep has
/// visited every window. So its outputs come in the order in which the model gives them.
#[derive(Debug)]
pub struct RtlEngine {
    rtl: RtlWindow,
    windows: u32,
    window_packets: u32,
    waiting: VecDeque<Record>,
    /// DATA records whose decision has not left yet.
    undecided: VecDeque<u32>,
    /// STATUS whose bitmap is on its way.
    status: Option<(u32, StatusReport)>,
    outputs: Vec<Output>,
    stats: EngineStats,
    clocks: u64,
}

impl RtlEngine {
    /// Builds the engine for the sizes of `config`, or opens it from the cache, and resets it.
    ///
    /// # Errors
    /// A mode or size that the RTL does not have; missing tools; a failed build.
    pub fn new(config: &ReceiverConfig) -> Result<Self> {
        ensure!(
            config.mode == Mode::Rw,
            "the RTL engine has the mode `rw` only, not `{}`",
            config.mode
        );
        let library = build(config.w, config.r, true)?;
        Ok(Self {
            rtl: RtlWindow::new(&library, config)?,
            windows: config.r,
            window_packets: config.w,
            waiting: VecDeque::new(),
            undecided: VecDeque::new(),
            status: None,
            outputs: Vec::new(),
            stats: EngineStats::default(),
            clocks: 0,
        })
    }

    /// Clocks since reset.
    #[must_use]
    pub fn clocks(&self) -> u64 {
        self.clocks
    }

    fn clock(&mut self, inputs: &Inputs) -> Result<Sample> {
        let s = self.rtl.clock(inputs)?;
        self.clocks += 1;
        if let Some(decision) = s.decision {
            self.decided(decision)?;
        }
        if let Some(message) = s.message {
            self.message(message)?;
        }
        if let Some((word, last)) = s.bitmap {
            self.bitmap(word, last)?;
        }
        if let Some(c) = s.completion {
            self.outputs.push(Output::Completion(completion(c)?));
        }
        Ok(s)
    }

    fn decided(&mut self, d: Decision) -> Result<()> {
        let pidx = self
            .undecided
            .pop_front()
            .context("a decision without a DATA record")?;
        if d.reason == 0 {
            self.stats.accepted += 1;
            self.outputs.push(Output::Write(WriteCmd {
                wptr: d.wptr,
                r#gen: d.generation,
                pidx,
                addr: d.addr,
                rkey: d.rkey,
                len: d.len,
            }));
            return Ok(());
        }
        let reason =
            DropReason::from_code(d.reason).with_context(|| format!("drop reason {}", d.reason))?;
        match self
            .stats
            .dropped
            .iter_mut()
            .find(|(known, _)| *known == reason)
        {
            Some((_, count)) => *count += 1,
            None => self.stats.dropped.push((reason, 1)),
        }
        Ok(())
    }

    fn message(&mut self, m: RawMessage) -> Result<()> {
        let (slot, xid) = (m.slot, m.xid);
        let msg = match m.kind {
            1 => Message::Complete(Complete {
                slot,
                xid,
                status: status(m.status)?,
            }),
            2 => Message::RetxOne(RetxOne {
                slot,
                xid,
                pidx: m.pidx,
            }),
            3 => Message::RetxRange(RetxRange {
                slot,
                xid,
                pidx: m.pidx,
                round: 0,
            }),
            5 => {
                let status = ConnectStatus::from_code(m.status)
                    .with_context(|| format!("connect status {}", m.status))?;
                let open = status == ConnectStatus::Ok;
                Message::ConnectResp(ConnectResp {
                    slot,
                    xid,
                    status,
                    wptr: if open { m.wptr } else { 0 },
                    r#gen: if open { m.generation } else { 0 },
                    w: if open { self.window_packets as u16 } else { 0 },
                    credit: if open { m.credit } else { 0 },
                    retry: if status == ConnectStatus::Busy {
                        m.hint
                    } else {
                        0
                    },
                })
            }
            6 => {
                let bitmap = Bitmap::with_capacity(self.window_packets as usize);
                let report = StatusReport {
                    slot,
                    xid,
                    seq: m.seq,
                    wbase: m.wbase,
                    w_tail: m.tail,
                    credit: m.credit,
                    bitmap,
                };
                self.status = Some((m.dst, report));
                return Ok(());
            }
            7 => {
                let reason =
                    Reason::from_code(m.status).with_context(|| format!("reason {}", m.status))?;
                Message::Unknown(Unknown { slot, xid, reason })
            }
            kind => bail!("rw_window sent a message of TYPE {kind}"),
        };
        self.outputs.push(Output::Send { dst: m.dst, msg });
        Ok(())
    }

    fn bitmap(&mut self, word: u64, last: bool) -> Result<()> {
        let (_, report) = self
            .status
            .as_mut()
            .context("a bitmap word without STATUS")?;
        report
            .bitmap
            .extend((0..self.rtl.word_bits()).map(|bit| word >> bit & 1 == 1));
        if last && let Some((dst, report)) = self.status.take() {
            self.outputs.push(Output::Send {
                dst,
                msg: Message::Status(report),
            });
        }
        Ok(())
    }
}

fn status(code: u8) -> Result<Status> {
    Status::from_code(code).with_context(|| format!("status {code}"))
}

fn completion(c: RawCompletion) -> Result<Completion> {
    Ok(Completion {
        wptr: c.wptr,
        src: c.src,
        slot: c.slot,
        xid: c.xid,
        length: c.length,
        status: status(c.status)?,
        reason: Reason::from_code(c.reason).with_context(|| format!("reason {}", c.reason))?,
    })
}

impl ReceiverEngine for RtlEngine {
    fn name(&self) -> &'static str {
        "rtl"
    }

    fn input(&mut self, record: &Record, _now: u64) -> Result<()> {
        self.waiting.push_back(*record);
        Ok(())
    }

    fn end_slot(&mut self, now: u64) -> Result<Vec<Output>> {
        let words = u64::from(self.window_packets / self.rtl.word_bits());
        let to_queues = TO_QUEUES + WORD * words;
        let started = self.clocks;
        let mut taken = self.clocks;
        let mut visited = 0;
        loop {
            ensure!(
                self.clocks - started < CLOCKS_PER_SLOT,
                "rw_window is stuck in slot {now}"
            );
            let mut inputs = Inputs {
                now: now as u16,
                ..Inputs::default()
            };
            // Between two sweeps the control engine serves one event: a record causes two at most.
            let settled = visited > 3 || taken == started;
            match self
                .waiting
                .front()
                .filter(|_| settled)
                .map(Record::message)
            {
                Some(Ok(message)) => inputs.message = Some(message),
                Some(Err(ack)) => inputs.ack = Some(ack),
                None => {}
            }
            let s = self.clock(&inputs)?;
            if s.taken
                && let Some(Message::Data(d)) = &inputs.message
            {
                self.undecided.push_back(d.pidx);
            }
            if s.taken || s.ack_taken {
                self.waiting.pop_front();
                taken = self.clocks;
                visited = 0;
            }
            if let Some((SWEEP, ..)) = s.act
                && self.clocks >= taken + to_queues
            {
                visited += 1;
                if self.waiting.is_empty() && visited > 2 * self.windows {
                    return Ok(std::mem::take(&mut self.outputs));
                }
            }
        }
    }

    fn stats(&self) -> EngineStats {
        self.stats.clone()
    }

    fn start_waveform(&mut self, path: &Path) -> Result<()> {
        Ok(self.rtl.model().trace_open(path)?)
    }

    fn finish_waveform(&mut self) -> Result<()> {
        Ok(self.rtl.model().trace_close()?)
    }
}
