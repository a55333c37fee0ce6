//! A pair of AXI4-Streams of a Verilated card: frames in, frames out, both never waiting.

use anyhow::Result;

use crate::switch::{Beat, Sink, Source};
use crate::verilate::{Model, Port};

/// Frames into and out of a model.
pub(super) struct AxisPorts {
    /// tvalid, tdata, tkeep, tlast, tuser.
    rx: [Port; 5],
    /// The same without tuser.
    tx: [Port; 4],
    source: Source,
    sink: Sink,
}

impl AxisPorts {
    /// # Errors
    /// The model lacks one of the streams.
    pub fn new(model: &mut Model, rx: &str, tx: &str) -> Result<Self> {
        let port = |model: &Model, stream: &str, end: &str| model.port(&format!("{stream}_{end}"));
        let ready = port(model, tx, "tready")?;
        model.set(ready, 1);
        let of = |end| port(model, tx, end);
        let tx = [of("tvalid")?, of("tdata")?, of("tkeep")?, of("tlast")?];
        let of = |end| port(model, rx, end);
        let rx = [
            of("tvalid")?,
            of("tdata")?,
            of("tkeep")?,
            of("tlast")?,
            of("tuser")?,
        ];
        model.set(rx[0], 0);
        Ok(Self {
            rx,
            tx,
            source: Source::default(),
            sink: Sink::default(),
        })
    }

    /// A frame for the model.
    pub fn push(&mut self, beats: impl IntoIterator<Item = Beat>) {
        self.source.push_beats(beats);
    }

    /// Words that wait.
    pub fn waiting(&self) -> usize {
        self.source.len()
    }

    /// Before a clock: the next word.
    pub fn drive(&mut self, model: &mut Model) {
        let beat = self.source.front();
        model.set(self.rx[0], beat.is_some().into());
        if let Some(beat) = beat {
            model.set(self.rx[1], beat.data);
            model.set(self.rx[2], beat.keep.into());
            model.set(self.rx[3], beat.last.into());
            model.set(self.rx[4], beat.user.into());
            self.source.pop();
        }
    }

    /// After the inputs have settled: the frame that ends in this clock.
    ///
    /// # Errors
    /// What stands there is no frame.
    pub fn sample(&mut self, model: &Model) -> Result<Option<Vec<u8>>> {
        if !model.is_set(self.tx[0]) {
            return Ok(None);
        }
        let beat = Beat {
            data: model.get(self.tx[1]),
            keep: model.get(self.tx[2]) as u8,
            last: model.is_set(self.tx[3]),
            user: false,
        };
        self.sink.take(beat).map_err(anyhow::Error::msg)
    }
}
