//! Keeping what enters an engine, and putting it into another one.

use std::path::Path;

use anyhow::Result;
use tributary_protocol::rw::{Completion, Output, ReceiverConfig};

use super::engine::{EngineStats, ReceiverEngine};
use super::trace::{Entry, Header, Record, Trace};

/// An engine that keeps every record before it passes it on.
pub struct Recorder<'a> {
    engine: &'a mut dyn ReceiverEngine,
    trace: Trace,
}

impl<'a> Recorder<'a> {
    /// Records what enters `engine`, whose parameters are `config`.
    pub fn new(engine: &'a mut dyn ReceiverEngine, config: &ReceiverConfig) -> Self {
        Self {
            engine,
            trace: Trace {
                header: Header::new(config),
                entries: Vec::new(),
            },
        }
    }

    /// What has entered so far.
    #[must_use]
    pub fn into_trace(self) -> Trace {
        self.trace
    }
}

impl ReceiverEngine for Recorder<'_> {
    fn name(&self) -> &'static str {
        self.engine.name()
    }

    fn input(&mut self, record: &Record, now: u64) -> Result<()> {
        self.trace.entries.push(Entry {
            slot: now,
            record: *record,
        });
        self.engine.input(record, now)
    }

    fn end_slot(&mut self, now: u64) -> Result<Vec<Output>> {
        self.engine.end_slot(now)
    }

    fn stats(&self) -> EngineStats {
        self.engine.stats()
    }

    fn start_waveform(&mut self, path: &Path) -> Result<()> {
        self.engine.start_waveform(path)
    }

    fn finish_waveform(&mut self) -> Result<()> {
        self.engine.finish_waveform()
    }
}

/// What an engine did with a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// Everything it gave out, with the slot.
    pub outputs: Vec<(u64, Output)>,
    /// Its counters at the end.
    pub stats: EngineStats,
    /// Slots that went by.
    pub slots: u64,
}

impl Replayed {
    /// The completion records among the outputs.
    pub fn completions(&self) -> impl Iterator<Item = &Completion> {
        self.outputs.iter().filter_map(|(_, output)| match output {
            Output::Completion(done) => Some(done),
            Output::Send { .. } | Output::Write(_) => None,
        })
    }
}

/// Puts a trace into an engine, slot by slot, and goes on for `extra_slots` slots after the last
/// record.
///
/// # Errors
/// The engine has stopped working.
pub fn replay(
    trace: &Trace,
    engine: &mut dyn ReceiverEngine,
    extra_slots: u64,
) -> Result<Replayed> {
    let mut entries = trace.entries.iter().peekable();
    let slots = trace
        .entries
        .last()
        .map_or(0, |entry| entry.slot + 1)
        .saturating_add(extra_slots);
    let mut outputs = Vec::new();
    for now in 0..slots {
        while let Some(entry) = entries.next_if(|entry| entry.slot == now) {
            engine.input(&entry.record, now)?;
        }
        outputs.extend(
            engine
                .end_slot(now)?
                .into_iter()
                .map(|output| (now, output)),
        );
    }
    Ok(Replayed {
        outputs,
        stats: engine.stats(),
        slots,
    })
}
