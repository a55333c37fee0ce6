//! What stands at the receiving end of a transfer.

use std::path::Path;

use anyhow::{Context, Result};
use tributary_protocol::rw::{ConfigError, DropReason, Output, Receiver, ReceiverConfig};

use super::trace::Record;
use super::waveform::Waveform;

/// A receiver of `docs/rw-engine.md`, seen from outside: records go in, outputs come out.
///
/// In every slot the simulation calls [`input`](Self::input) once for each record that arrives
/// and then [`end_slot`](Self::end_slot) once. An engine with a pipeline may give its outputs in
/// a later slot; their order is that of the records that caused them.
pub trait ReceiverEngine {
    /// Short name, as `--engine` takes it.
    fn name(&self) -> &'static str;

    /// Takes a record in slot `now`. Records of one slot take effect in the order of the calls.
    ///
    /// # Errors
    /// The engine has stopped working. What the protocol drops is not an error.
    fn input(&mut self, record: &Record, now: u64) -> Result<()>;

    /// Ends slot `now`: lets the timer sweep visit every window, and hands over all outputs that
    /// have become ready.
    ///
    /// # Errors
    /// The engine has stopped working.
    fn end_slot(&mut self, now: u64) -> Result<Vec<Output>>;

    /// Counters so far.
    fn stats(&self) -> EngineStats;

    /// Records a waveform of the engine from now on (FST).
    ///
    /// # Errors
    /// The file cannot be made.
    fn start_waveform(&mut self, path: &Path) -> Result<()>;

    /// Completes the waveform, if there is one.
    ///
    /// # Errors
    /// The file cannot be written.
    fn finish_waveform(&mut self) -> Result<()>;
}

/// Counters of an engine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EngineStats {
    /// DATA packets accepted.
    pub accepted: u64,
    /// Drops by reason; reasons that never occurred are left out.
    pub dropped: Vec<(DropReason, u64)>,
}

impl EngineStats {
    /// Drops for one reason.
    #[must_use]
    pub fn dropped(&self, reason: DropReason) -> u64 {
        self.dropped
            .iter()
            .filter(|(named, _)| *named == reason)
            .map(|(_, count)| count)
            .sum()
    }

    /// Drops for any reason.
    #[must_use]
    pub fn dropped_total(&self) -> u64 {
        self.dropped.iter().map(|(_, count)| count).sum()
    }
}

/// The executable model as an engine.
#[derive(Debug)]
pub struct ModelEngine {
    receiver: Receiver,
    outputs: Vec<Output>,
    waveform: Option<Waveform>,
}

impl ModelEngine {
    /// A receiver after reset.
    ///
    /// # Errors
    /// A parameter out of range.
    pub fn new(config: ReceiverConfig) -> Result<Self, ConfigError> {
        Ok(Self {
            receiver: Receiver::new(config)?,
            outputs: Vec::new(),
            waveform: None,
        })
    }

    /// The model itself.
    #[must_use]
    pub fn receiver(&self) -> &Receiver {
        &self.receiver
    }
}

impl ReceiverEngine for ModelEngine {
    fn name(&self) -> &'static str {
        "model"
    }

    fn input(&mut self, record: &Record, now: u64) -> Result<()> {
        let outputs = match record.message() {
            Ok(message) => self.receiver.handle(&message, now),
            Err((wptr, generation)) => self.receiver.handle_write_done(wptr, generation),
        };
        self.outputs.extend(outputs);
        Ok(())
    }

    fn end_slot(&mut self, now: u64) -> Result<Vec<Output>> {
        self.outputs.extend(self.receiver.handle_sweep(now));
        if let Some(waveform) = &mut self.waveform {
            waveform
                .sample(now, &self.receiver)
                .context("waveform of the model")?;
        }
        Ok(std::mem::take(&mut self.outputs))
    }

    fn stats(&self) -> EngineStats {
        let stats = self.receiver.stats();
        let counted = DropReason::ALL
            .iter()
            .map(|reason| (*reason, stats.dropped(*reason)));
        EngineStats {
            accepted: stats.accepted,
            dropped: counted.filter(|(_, count)| *count > 0).collect(),
        }
    }

    fn start_waveform(&mut self, path: &Path) -> Result<()> {
        let name = || format!("cannot write the waveform {}", path.display());
        self.waveform = Some(Waveform::create(path).with_context(name)?);
        Ok(())
    }

    fn finish_waveform(&mut self) -> Result<()> {
        self.waveform.take().map_or(Ok(()), Waveform::finish)
    }
}
