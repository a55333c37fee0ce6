//! The state of a receiver model over time, as a waveform (FST).
//!
//! One time unit of the file, 1 ns, is one slot. Shown is the window that has been open last.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use anyhow::{Context, Result};
use fst_writer::{
    FstBodyWriter, FstFileType, FstHeaderWriter, FstInfo, FstScopeType, FstSignalId, FstSignalType,
    FstVarDirection, FstVarType,
};
use tributary_protocol::rw::{NUMBER_BITS, Receiver};

/// Name and width in bits of each signal, in the order of [`values`].
const SIGNALS: [(&str, u32); 13] = [
    ("open", 1),
    ("wptr", 16),
    ("gen", 24),
    ("wbase", NUMBER_BITS),
    ("highest", NUMBER_BITS),
    ("arrived_above_wbase", NUMBER_BITS),
    ("w_tail", 1),
    ("acked", NUMBER_BITS),
    ("req_upto", NUMBER_BITS),
    ("accepted", 32),
    ("dropped", 32),
    ("retx_one", 32),
    ("retx_range", 32),
];

/// A waveform under way.
pub(super) struct Waveform {
    body: FstBodyWriter<BufWriter<File>>,
    signals: Vec<(FstSignalId, u32)>,
    shown: u16,
}

impl std::fmt::Debug for Waveform {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Waveform")
            .field("shown", &self.shown)
            .finish_non_exhaustive()
    }
}

impl Waveform {
    pub(super) fn create(path: &Path) -> Result<Self> {
        let info = FstInfo {
            start_time: 0,
            timescale_exponent: -9,
            version: "Tributary".to_owned(),
            // Left out, so that equal runs make equal files.
            date: String::new(),
            file_type: FstFileType::Verilog,
        };
        let mut header = FstHeaderWriter::new(BufWriter::new(File::create(path)?), &info)?;
        header.scope("rw_receiver", "", FstScopeType::Module)?;
        let mut signals = Vec::with_capacity(SIGNALS.len());
        for (name, width) in SIGNALS {
            let id = header.var(
                name,
                FstSignalType::bit_vec(width),
                FstVarType::Reg,
                FstVarDirection::Implicit,
                None,
            )?;
            signals.push((id, width));
        }
        header.up_scope()?;
        Ok(Self {
            body: header.finish()?,
            signals,
            shown: 0,
        })
    }

    /// Takes the state at the end of slot `now`.
    pub(super) fn sample(&mut self, now: u64, receiver: &Receiver) -> Result<()> {
        let open = (0..receiver.config().r)
            .filter_map(|wptr| u16::try_from(wptr).ok())
            .find(|wptr| receiver.transfer(*wptr).is_some());
        self.shown = open.unwrap_or(self.shown);
        self.body.time_change(now)?;
        for ((id, width), value) in self.signals.iter().zip(values(receiver, self.shown)) {
            let bits: Vec<u8> = (0..*width)
                .rev()
                .map(|bit| b'0' + (value >> bit & 1) as u8)
                .collect();
            self.body.signal_change(*id, &bits)?;
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Result<()> {
        let file = self.body.finish().context("cannot complete the waveform")?;
        file.into_inner()
            .map_err(std::io::IntoInnerError::into_error)
            .context("cannot complete the waveform")?;
        Ok(())
    }
}

fn values(receiver: &Receiver, wptr: u16) -> [u64; SIGNALS.len()] {
    let stats = receiver.stats();
    let generation = receiver.window(wptr).map_or(0, |window| window.r#gen);
    let transfer = receiver.transfer(wptr);
    let of = |read: fn(&tributary_protocol::rw::Transfer) -> u64| transfer.map_or(0, read);
    [
        u64::from(transfer.is_some()),
        wptr.into(),
        generation.into(),
        of(|t| t.wbase.into()),
        of(|t| t.highest.into()),
        of(|t| t.wvec.count_ones() as u64),
        of(|t| t.w_tail.into()),
        of(|t| t.acked.into()),
        of(|t| t.req_upto.into()),
        stats.accepted,
        stats.dropped_total(),
        stats.retx_one,
        stats.retx_range,
    ]
}
