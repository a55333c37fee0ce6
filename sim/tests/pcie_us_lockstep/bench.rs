//! Verilated `pcie_us_shim` between a block and a card that the bench plays.

use std::cell::Cell;
use std::collections::VecDeque;

use tributary_hdl::catalog;
use tributary_sim::testbench::{Profile, Stalls};
use tributary_sim::verilate::{BuildOptions, Model, Port, Verilated};

thread_local! {
    /// The deliberate error of the blocks of this thread.
    pub static WRONG: Cell<u64> = const { Cell::new(0) };
}

pub fn build(edit: impl Fn(&str, String) -> String) -> Verilated {
    let none: &[(&str, usize)] = &[];
    let design = catalog::choose("pcie_us_shim", none).unwrap();
    let design = design.emit().unwrap();
    let files = design.files().into_iter().map(|(name, text)| {
        let text = edit(&name, text);
        (name, text)
    });
    let files: Vec<(String, String)> = files.collect();
    Verilated::build(&BuildOptions::new(&design.top, &files).with_checks()).unwrap()
}

/// What stands at the ports of a stream in one clock, in the order of [`Stream::fields`].
pub type Beat = Vec<u128>;

/// A stream: its ports beside valid and ready, with their widths.
struct Stream {
    valid: Port,
    ready: Port,
    fields: Vec<(Port, u32)>,
    /// Which field says that a TLP ends.
    last: usize,
}

impl Stream {
    fn new(model: &Model, name: &str, axis: bool, fields: &[(&str, u32)], last: usize) -> Self {
        let t = if axis { "t" } else { "" };
        let port = |end: &str| model.port(&format!("{name}_{t}{end}")).unwrap();
        Self {
            valid: port("valid"),
            ready: port("ready"),
            fields: fields.iter().map(|&(end, w)| (port(end), w)).collect(),
            last,
        }
    }

    fn put(&self, model: &mut Model, beat: &Beat) {
        for (&(port, width), &value) in self.fields.iter().zip(beat) {
            match width {
                ..=64 => model.set(port, value as u64),
                _ => model
                    .set_wide(port, &[value as u64, (value >> 64) as u64])
                    .unwrap(),
            }
        }
    }

    fn take(&self, model: &Model) -> Beat {
        let value = |&(port, width): &(Port, u32)| match width {
            ..=64 => u128::from(model.get(port)),
            _ => {
                let words = model.words(port);
                u128::from(words[0]) | u128::from(words[1]) << 64
            }
        };
        self.fields.iter().map(value).collect()
    }
}

/// Streams that the bench offers.
pub const CQ: usize = 0;
pub const RC: usize = 1;
pub const COMPLETION: usize = 2;
pub const READ: usize = 3;
pub const WRITE: usize = 4;
/// Streams that it takes.
pub const REQUEST: usize = 0;
pub const ANSWERED: usize = 1;
pub const CC: usize = 2;
pub const RQ: usize = 3;

/// Inputs, and what they are behind a reset.
const SETTINGS: [&str; 13] = [
    "cfg_bus_number",
    "cfg_function_status",
    "cfg_max_payload",
    "cfg_max_read_req",
    "cfg_interrupt_msix_enable",
    "cfg_interrupt_msix_mask",
    "cfg_flr_in_process",
    "card_busy",
    "pcie_rq_seq_num0",
    "pcie_rq_seq_num_vld0",
    "pcie_rq_seq_num1",
    "pcie_rq_seq_num_vld1",
    "rst",
];

pub struct Bench {
    pub model: Model,
    sources: Vec<Stream>,
    sinks: Vec<Stream>,
    pub stalls: Stalls,
    /// Beats that wait at each source; whether one is on offer.
    pub waiting: [VecDeque<Beat>; 5],
    offers: [bool; 5],
    /// Beats that each sink has taken in this clock.
    pub taken: [Option<Beat>; 4],
    pub now: u64,
    /// Clocks in which a request was dropped, in which a completion had an error.
    pub dropped: u64,
    pub errors: u64,
}

impl Bench {
    pub fn new(library: &Verilated, seed: u64) -> Self {
        let mut model = library.model_with_seed(seed).unwrap();
        if let Ok(wrong) = model.port("wrong") {
            model.set(wrong, WRONG.get());
        }
        let axis = |name, user| {
            let fields = [("data", 64), ("keep", 2), ("last", 1), ("user", user)];
            Stream::new(&model, name, true, &fields, 2)
        };
        let ends = [("sop", 1), ("eop", 1)];
        let tlp = |name, fields: &[(&str, u32)]| {
            let fields = [fields, &ends].concat();
            Stream::new(&model, name, false, &fields, fields.len() - 1)
        };
        let words = [("data", 64), ("strb", 2), ("hdr", 128)];
        let with = |more: &[(&'static str, u32)]| [&words, more].concat();
        let sources = vec![
            axis("s_axis_cq", 88),
            axis("s_axis_rc", 75),
            tlp("s_tx_cpl_tlp", &words),
            tlp("s_tx_rd_req_tlp", &[("hdr", 128), ("seq", 6)]),
            tlp("s_tx_wr_req_tlp", &with(&[("seq", 6)])),
        ];
        let sinks = vec![
            tlp("m_rx_req_tlp", &with(&[("bar_id", 3), ("func_num", 8)])),
            tlp("m_rx_cpl_tlp", &with(&[("error", 4)])),
            axis("m_axis_cc", 33),
            axis("m_axis_rq", 62),
        ];
        for name in SETTINGS {
            let port = model.port(name).unwrap();
            model.set(port, 0);
        }
        for stream in &sources {
            model.set(stream.valid, 0);
        }
        for stream in &sinks {
            model.set(stream.ready, 0);
        }
        model.reset(2).unwrap();
        Self {
            model,
            sources,
            sinks,
            stalls: Stalls::of_seed(seed, 11),
            waiting: Default::default(),
            offers: [false; 5],
            taken: Default::default(),
            now: 0,
            dropped: 0,
            errors: 0,
        }
    }

    pub fn free(mut self) -> Self {
        self.stalls.set(Profile::Free);
        self
    }

    pub fn set(&mut self, name: &str, value: u64) {
        let port = self.model.port(name).unwrap();
        self.model.set(port, value);
    }

    pub fn get(&self, name: &str) -> u64 {
        self.model.get(self.model.port(name).unwrap())
    }

    /// One clock: what waits is offered, what is offered is taken.
    pub fn clock(&mut self) -> Result<(), String> {
        self.stalls.clock();
        for (at, stream) in self.sources.iter().enumerate() {
            let beat = self.waiting[at].front();
            self.offers[at] = beat.is_some() && (self.offers[at] || self.stalls.ready(at));
            self.model.set(stream.valid, self.offers[at].into());
            if let Some(beat) = beat.filter(|_| self.offers[at]) {
                stream.put(&mut self.model, beat);
            }
            let last = beat.is_some_and(|beat| beat[stream.last] == 1);
            self.stalls.observe(at, beat.is_some(), last);
        }
        for (at, stream) in self.sinks.iter().enumerate() {
            let ready = self.stalls.ready(5 + at);
            self.model.set(stream.ready, ready.into());
        }
        self.model.eval().map_err(|error| error.to_string())?;
        for (at, stream) in self.sources.iter().enumerate() {
            if self.offers[at] && self.model.is_set(stream.ready) {
                self.waiting[at].pop_front();
                self.offers[at] = false;
            }
        }
        for (at, stream) in self.sinks.iter().enumerate() {
            let beat = self
                .model
                .is_set(stream.valid)
                .then(|| stream.take(&self.model));
            let last = beat.as_ref().is_some_and(|beat| beat[stream.last] == 1);
            self.stalls.observe(5 + at, beat.is_some(), last);
            self.taken[at] = beat.filter(|_| self.stalls.ready(5 + at));
        }
        self.dropped += self.get("ev_cq_dropped");
        self.errors += self.get("ev_rc_error");
        self.model.clock().map_err(|error| error.to_string())?;
        self.now += 1;
        Ok(())
    }

    pub fn idle(&self) -> bool {
        self.waiting.iter().all(VecDeque::is_empty)
    }
}
