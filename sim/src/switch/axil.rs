//! AXI4-Lite as a driver uses it, with stalls.

use anyhow::{Result, ensure};
use std::collections::VecDeque;

use crate::testbench::{Profile, Stalls};
use crate::verilate::{Model, Port};

/// An access and its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Byte offset.
    pub offset: u16,
    /// Word and strobes of a write; nothing for a read.
    pub write: Option<(u32, u8)>,
}

/// How an access was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The access.
    pub access: Access,
    /// Word read; 0 for a write.
    pub data: u32,
    /// SLVERR.
    pub error: bool,
}

/// The master of an AXI4-Lite port: one read and one write at a time.
#[derive(Debug)]
pub struct Axil {
    ports: [Port; 17],
    /// When the master offers (address and data of a write, address of a read) and takes (answers of writes and reads).
    pub stalls: Stalls,
    writes: VecDeque<Access>,
    reads: VecDeque<Access>,
    /// Offered, and taken: address and data of the write, address of the read.
    offered: [bool; 3],
    taken: [bool; 3],
    /// Answers that were shown and not taken: code, word.
    shown: [Option<(u64, u64)>; 2],
}

const NAMES: [&str; 17] = [
    "awvalid", "awready", "awaddr", "wvalid", "wready", "wdata", "wstrb", "bvalid", "bready",
    "bresp", "arvalid", "arready", "araddr", "rvalid", "rready", "rdata", "rresp",
];

impl Axil {
    /// The master of `s_axil_*`.
    ///
    /// # Errors
    /// The model has no such ports.
    pub fn new(model: &Model, seed: u64) -> Result<Self> {
        let ports = NAMES
            .map(|name| model.port(&format!("s_axil_{name}")))
            .into_iter()
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            ports: ports.try_into().unwrap_or_else(|_| unreachable!()),
            stalls: Stalls::new(Profile::Free, seed, 5),
            writes: VecDeque::new(),
            reads: VecDeque::new(),
            offered: [false; 3],
            taken: [false; 3],
            shown: [None; 2],
        })
    }

    /// Queues a write.
    pub fn write(&mut self, offset: u16, value: u32, strobes: u8) {
        self.writes.push_back(Access {
            offset,
            write: Some((value, strobes)),
        });
    }

    /// Queues a read.
    pub fn read(&mut self, offset: u16) {
        self.reads.push_back(Access {
            offset,
            write: None,
        });
    }

    /// Nothing waits for an answer.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.writes.is_empty() && self.reads.is_empty()
    }

    /// Before a clock: drives the inputs.
    pub fn drive(&mut self, model: &mut Model) {
        let p = self.ports;
        let waiting = [
            !self.writes.is_empty(),
            !self.writes.is_empty(),
            !self.reads.is_empty(),
        ];
        self.stalls.clock();
        for (i, port) in [p[0], p[3], p[10]].into_iter().enumerate() {
            // What is offered stays so until it is taken.
            if !self.offered[i] {
                let next = waiting[i] && !self.taken[i];
                self.stalls.observe(i, next, true);
                self.offered[i] = next && self.stalls.ready(i);
            }
            model.set(port, self.offered[i].into());
        }
        if let Some(Access {
            offset,
            write: Some((value, strobes)),
        }) = self.writes.front()
        {
            model.set(p[2], (*offset).into());
            model.set(p[5], (*value).into());
            model.set(p[6], (*strobes).into());
        }
        if let Some(access) = self.reads.front() {
            model.set(p[12], access.offset.into());
        }
        model.set(p[8], self.stalls.ready(3).into());
        model.set(p[14], self.stalls.ready(4).into());
    }

    /// After the inputs have settled, before the edge: what passes in this clock.
    ///
    /// # Errors
    /// An answer to nothing, or one that changes before it is taken, or a response code that does not exist here.
    pub fn sample(&mut self, model: &Model) -> Result<Vec<Answer>> {
        let p = self.ports;
        let mut answers = Vec::new();
        // Answers belong to accesses taken before this clock.
        let done = self.taken;
        for (i, ready) in [p[1], p[4], p[11]].into_iter().enumerate() {
            if self.offered[i] && model.is_set(ready) {
                self.offered[i] = false;
                self.taken[i] = true;
            }
        }
        for (i, [valid, code, word]) in [[7, 9, 9], [13, 16, 15]].into_iter().enumerate() {
            let shows = model.is_set(p[valid]);
            let answer = shows.then(|| (model.get(p[code]), model.get(p[word])));
            ensure!(
                self.shown[i].is_none() || self.shown[i] == answer,
                "an answer changed before it was taken"
            );
            self.shown[i] = answer.filter(|_| !self.stalls.ready(3 + i));
            self.stalls.observe(3 + i, shows, true);
        }
        let error = |port| -> Result<bool> {
            let code = model.get(port);
            ensure!(code == 0 || code == 2, "response {code}");
            Ok(code == 2)
        };
        if model.is_set(p[7]) {
            ensure!(done[0] && done[1], "an answer to no write");
            if model.is_set(p[8])
                && let Some(access) = self.writes.pop_front()
            {
                self.taken[0] = false;
                self.taken[1] = false;
                answers.push(Answer {
                    access,
                    data: 0,
                    error: error(p[9])?,
                });
            }
        }
        if model.is_set(p[13]) {
            ensure!(done[2], "an answer to no read");
            if model.is_set(p[14])
                && let Some(access) = self.reads.pop_front()
            {
                self.taken[2] = false;
                answers.push(Answer {
                    access,
                    data: model.get(p[15]) as u32,
                    error: error(p[16])?,
                });
            }
        }
        Ok(answers)
    }
}
