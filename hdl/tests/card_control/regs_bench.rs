//! The registers of the card with the rest of the card around them.

use crate::bench::{Dice, Rtl, build};
use crate::regs_bulk_watch::Watch;
use std::collections::VecDeque;
use std::sync::OnceLock;
use tributary_hdl::card::CardRegs;
use tributary_protocol::card::command::Command;
use tributary_protocol::card::regs::{self, Counter};
use tributary_sim::testbench::Stalls;
use tributary_sim::verilate::Verilated;

pub const LQ: usize = 3;
pub const LR: usize = 4;
pub const LF: usize = 6;
/// Clocks from a read to its answer.
const READ: u64 = 7;
/// Clocks for which a reset lasts, with the tables behind it.
pub const RESET: u64 = 48 + 4 * (1 << LF) + 8;
/// Clocks for which all must be idle.
const QUIET: u64 = 16;

/// A word of a context: queue pair, word, value.
pub type Context = (u64, u64, u64);

/// What regions are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Set {
    pub index: u64,
    pub present: bool,
    pub variant: u64,
    pub local_write: bool,
    pub remote: u64,
    pub pd: u64,
    pub base: u64,
    pub length: u64,
}

/// What windows are told, and what they say: number expected, whether it was there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub index: u64,
    /// Own queue pair, node and queue pair of the peer, epoch of one that opens.
    pub open: Option<[u64; 4]>,
    pub said: (u64, bool),
}

/// What the table of groups is asked, and what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Join {
    pub qpn: u64,
    /// VNI, tree, cookie, members.
    pub group: [u64; 4],
    pub ok: bool,
}

/// A request to dma_write and its word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    pub vector: u64,
    pub addr: u64,
    pub data: u64,
}

pub fn library() -> &'static Verilated {
    static LIBRARY: OnceLock<Verilated> = OnceLock::new();
    LIBRARY.get_or_init(|| build(CardRegs::<LQ, LR, LF>::default()))
}

pub struct Bench {
    pub rtl: Rtl,
    pub dice: Dice,
    pub contexts: Vec<Context>,
    pub sets: Vec<Set>,
    pub windows: Vec<Window>,
    /// They answer in so many clocks.
    window: Option<u64>,
    pub joins: Vec<Join>,
    /// The table of groups answers in so many clocks; chance that there is room, in percent.
    joining: Option<u64>,
    pub joins_ok: u32,
    /// Queue pair, kind, index.
    pub doorbells: Vec<(u64, u64, u64)>,
    pub messages: Vec<Message>,
    /// Queue pairs flushed.
    pub flushes: Vec<u64>,
    /// Ends that bulk transfers were told: of a queue pair, or else a region; its number.
    pub ends: Vec<(bool, u64)>,
    /// They are done in so many clocks.
    ending: Option<u64>,
    /// Chance that the card is idle while it is held, in percent.
    pub idle: u32,
    /// Chance that dma_write takes something.
    pub ready: u32,
    /// When it does, instead of that chance.
    pub stalls: Option<Stalls>,
    /// Of request and word: what was on offer and not taken in the clock before.
    offered: [Option<Vec<u64>>; 2],
    /// Clocks for which it has been held and idle; the same after each of the last three clocks.
    quiet: u64,
    lately: [u64; 3],
    /// The in-flight table answers in so many clocks.
    flushing: Option<u64>,
    /// Context of the last message's request.
    request: Option<(u64, u64)>,
    word: Option<u64>,
    /// Messages that dma_write has and has not done.
    pub under_way: VecDeque<u64>,
    /// Chance that it does one, in percent.
    pub does: u32,
    /// Times of bulk transfers, if it has their registers.
    pub watch: Option<Watch>,
}

impl Bench {
    pub fn new(seed: u64) -> Self {
        Self::of(library(), seed)
    }

    pub fn of(library: &Verilated, seed: u64) -> Self {
        let mut rtl = Rtl::new(library, seed);
        for input in [
            "flr",
            "reg_wr_valid",
            "reg_rd_valid",
            "idle",
            "flush_done",
            "win_done",
            "s_fatal_a_valid",
            "s_fatal_b_valid",
            "ev",
            "s_irq_valid",
            "msix_mask",
            "m_wr_ready",
            "m_wd_ready",
            "done_valid",
            "s_left",
            "cfg_bulk",
            "cfg_reduce",
            "m_join_done",
            "m_join_ok",
            "end_done",
        ] {
            rtl.set(input, 0u8);
        }
        // Of card_regs by itself; with other registers beside it they are inside.
        for input in [
            "more_wr_known",
            "more_rd_data",
            "more_count",
            "more_features",
        ] {
            if rtl.has(input) {
                rtl.set(input, 0u8);
            }
        }
        rtl.set("msix_enable", 1u8);
        rtl.set("bus_master_enable", 1u8);
        rtl.reset(1);
        let mut bench = Self {
            rtl,
            dice: Dice::new(seed),
            contexts: vec![],
            sets: vec![],
            windows: vec![],
            window: None,
            joins: vec![],
            joining: None,
            joins_ok: 100,
            doorbells: vec![],
            messages: vec![],
            flushes: vec![],
            ends: vec![],
            ending: None,
            idle: 95,
            ready: 50,
            stalls: None,
            offered: [None, None],
            quiet: 0,
            lately: [0; 3],
            flushing: None,
            request: None,
            word: None,
            under_way: VecDeque::new(),
            does: 20,
            watch: None,
        };
        bench.clocks(RESET);
        bench
    }

    /// Everything but the register bus.
    fn around(&mut self) {
        let idle = self.dice.chance(self.idle);
        self.rtl.set("idle", idle);
        let done = self.flushing == Some(0);
        self.flushing = self.flushing.and_then(|clocks| clocks.checked_sub(1));
        self.rtl.set("flush_done", done);
        let done = self.window == Some(0);
        self.window = self.window.and_then(|clocks| clocks.checked_sub(1));
        self.rtl.set("win_done", done);
        let joined = self.joining == Some(0);
        self.joining = self.joining.and_then(|clocks| clocks.checked_sub(1));
        self.rtl.set("m_join_done", joined);
        // Without an answer it says nothing.
        let ok = match self.joins.last() {
            Some(join) if joined => join.ok,
            _ => self.rtl.now & 1 == 1,
        };
        self.rtl.set("m_join_ok", ok);
        let ended = self.ending == Some(0);
        self.ending = self.ending.and_then(|clocks| clocks.checked_sub(1));
        self.rtl.set("end_done", ended);
        let [wr, wd] = match &mut self.stalls {
            Some(stalls) => {
                stalls.clock();
                [stalls.ready(0), stalls.ready(1)]
            }
            None => [(); 2].map(|()| self.dice.chance(self.ready)),
        };
        self.rtl.set("m_wr_ready", wr);
        self.rtl.set("m_wd_ready", wd);
        let does = self.dice.chance(self.does);
        let done = does.then(|| self.under_way.pop_front()).flatten();
        self.rtl.set("done_valid", done.is_some());
        let vector = done.unwrap_or_else(|| self.dice.below(8));
        self.rtl.set("done_vector", vector);
        self.rtl.settle();
        self.offers([wr, wd]);
        let held = self.rtl.is("hold");
        // What is set in this clock was decided 2 clocks ago, by what was seen until then.
        let calm = self.lately.iter().any(|quiet| *quiet >= QUIET);
        if self.rtl.is("cfg_valid") {
            let word = ["cfg_qpn", "cfg_word", "cfg_data"].map(|port| self.rtl.get(port));
            if word[1] == 0 && word[2] == 0 {
                assert!(held && !self.flushes.is_empty(), "destroyed too early");
            }
            self.contexts.push((word[0], word[1], word[2]));
        }
        if self.rtl.is("set_valid") {
            let set = Set {
                index: self.rtl.get("set_index"),
                present: self.rtl.is("set_present"),
                variant: self.rtl.get("set_variant"),
                local_write: self.rtl.is("set_local_write"),
                remote: self.rtl.get("set_remote"),
                pd: self.rtl.get("set_pd"),
                base: self.rtl.get("set_base"),
                length: self.rtl.get("set_length"),
            };
            // With bulk transfers what uses a region ends behind the rest, and before it is changed.
            let told = self.ends.last() == Some(&(false, set.index));
            let bulk = self.rtl.is("cfg_bulk");
            let calm = if bulk { told } else { set.present || calm };
            assert!(calm, "changed too early");
            self.sets.push(set);
        }
        if self.rtl.is("win_valid") {
            assert!(held && calm, "a window is changed too early");
            let fields = ["win_qpn", "win_node", "win_peer", "win_epoch"];
            let fields = fields.map(|port| self.rtl.get(port));
            let said = (self.dice.bits(32), self.dice.chance(50));
            self.rtl.set("win_expected", said.0);
            self.rtl.set("win_was", said.1);
            self.windows.push(Window {
                index: self.rtl.get("win_index"),
                open: self.rtl.is("win_open").then_some(fields),
                said,
            });
            self.window = Some(self.dice.below(6));
        }
        let asked = self.rtl.is("m_join_valid");
        if self.rtl.is("m_reset") {
            // Of both.
            self.joining = None;
        } else {
            let stays = asked || !joined && self.joining.is_none();
            assert!(stays, "not asked any more");
        }
        if asked {
            self.join(joined);
        }
        if self.rtl.is("end_valid") && !ended && self.ending.is_none() {
            let end = (self.rtl.is("end_pair"), self.rtl.get("end_index"));
            assert!(held && (calm || end.0), "ended too early");
            self.ends.push(end);
            self.ending = Some(self.dice.below(50));
        }
        if self.rtl.is("flush_valid") {
            assert!(held && calm, "flushed too early");
            let qpn = self.rtl.get("flush_qpn");
            self.flushes.push(qpn);
            self.flushing = Some(self.dice.below(50));
        }
        if self.rtl.is("db_valid") {
            let door = ["db_qpn", "db_kind", "db_index"].map(|port| self.rtl.get(port));
            self.doorbells.push((door[0], door[1], door[2]));
        }
        if wr && self.rtl.is("m_wr_valid") {
            assert_eq!(self.rtl.get("m_wr_len"), 4);
            let ctx = self.rtl.get("m_wr_ctx");
            assert_eq!(ctx >> 3, 2 << 10, "client 2");
            let addr = self.rtl.get("m_wr_addr");
            assert!(self.request.replace((ctx & 7, addr)).is_none());
        }
        if wd && self.rtl.is("m_wd_valid") {
            let data = self.rtl.get("m_wd_data");
            assert!(self.word.replace(data).is_none());
        }
        if let (Some((vector, addr)), Some(data)) = (self.request, self.word) {
            self.messages.push(Message { vector, addr, data });
            assert!(
                !self.under_way.contains(&vector),
                "two messages of vector {vector}"
            );
            self.under_way.push_back(vector);
            (self.request, self.word) = (None, None);
        }
        self.quiet = if held && idle { self.quiet + 1 } else { 0 };
        let [_, second, third] = self.lately;
        self.lately = [second, third, self.quiet];
    }

    /// A queue pair is to be in a group; the question stays until it is answered.
    fn join(&mut self, answered: bool) {
        let group = [
            "m_join_vni",
            "m_join_tree",
            "m_join_cookie",
            "m_join_members",
        ];
        let group = group.map(|port| self.rtl.get(port));
        let (qpn, ok) = (self.rtl.get("m_join_qpn"), self.dice.chance(self.joins_ok));
        // In units of 8.
        let group = [group[0], group[1], group[2] * 8, group[3]];
        if let Some(asked) = self
            .joins
            .last()
            .filter(|_| answered || self.joining.is_some())
        {
            assert_eq!((asked.qpn, asked.group), (qpn, group), "asks for another");
            return;
        }
        assert!(!self.rtl.is("hold"), "nothing is ended");
        self.joins.push(Join { qpn, group, ok });
        self.joining = Some(self.dice.below(12));
    }

    /// What is offered stays until it is taken.
    fn offers(&mut self, ready: [bool; 2]) {
        let ports: [(_, &[&'static str]); 2] = [
            ("m_wr_valid", &["m_wr_addr", "m_wr_len", "m_wr_ctx"]),
            ("m_wd_valid", &["m_wd_data"]),
        ];
        for (port, (valid, fields)) in ports.into_iter().enumerate() {
            let offered = self.rtl.is(valid);
            if let Some(stalls) = &mut self.stalls {
                stalls.observe(port, offered, true);
            }
            let words: Vec<u64> = fields.iter().map(|field| self.rtl.get(field)).collect();
            if let Some(held) = &self.offered[port] {
                assert!(offered && *held == words, "{valid}: a held word changed");
            }
            self.offered[port] = (offered && !ready[port]).then_some(words);
        }
    }

    pub fn clock(&mut self) {
        self.around();
        if let Some(watch) = &mut self.watch {
            watch.look(&mut self.rtl);
        }
        self.rtl.clock();
    }

    pub fn clocks(&mut self, count: u64) {
        for _ in 0..count {
            self.clock();
        }
    }

    /// A pulse on some inputs.
    pub fn pulse(&mut self, valid: &'static str, inputs: &[(&'static str, u64)]) {
        self.rtl.set(valid, 1u8);
        for &(input, value) in inputs {
            self.rtl.set(input, value);
        }
        self.clock();
        self.rtl.set(valid, 0u8);
    }

    pub fn write_bytes(&mut self, offset: u32, value: u32, strobes: u8) {
        let inputs = [
            ("reg_wr_addr", u64::from(offset / 4)),
            ("reg_wr_data", u64::from(value)),
            ("reg_wr_strb", u64::from(strobes)),
        ];
        self.pulse("reg_wr_valid", &inputs);
    }

    pub fn write(&mut self, offset: u32, value: u32) {
        self.write_bytes(offset, value, 0xf);
    }

    pub fn set(&mut self, register: &tributary_protocol::registers::Register, value: u32) {
        self.write(register.offset.into(), value);
    }

    pub fn read(&mut self, offset: u32) -> u32 {
        self.rtl.set("reg_rd_addr", offset / 4);
        self.pulse("reg_rd_valid", &[]);
        self.rtl.set("reg_rd_addr", 0u8);
        for age in 1..READ {
            assert!(!self.rtl.is("reg_rd_done"), "answered after {age}");
            self.clock();
        }
        assert!(self.rtl.is("reg_rd_done"), "not answered after {READ}");
        let data = self.rtl.get("reg_rd_data") as u32;
        self.clock();
        assert!(!self.rtl.is("reg_rd_done"), "answered twice");
        data
    }

    pub fn get(&mut self, register: &tributary_protocol::registers::Register) -> u32 {
        self.read(register.offset.into())
    }

    pub fn counter(&mut self, counter: Counter) -> u64 {
        self.clocks(44);
        self.select(counter.code())
    }

    /// Counter by number, as it stands.
    pub fn select(&mut self, counter: u8) -> u64 {
        self.set(&regs::STATISTICS_SELECT, counter.into());
        let low = self.get(&regs::STATISTICS_LOW);
        u64::from(self.get(&regs::STATISTICS_HIGH)) << 32 | u64::from(low)
    }

    pub fn start(&mut self, command: u8, index: u32) {
        let value = regs::COMMAND_CODE.put(command.into()) | regs::COMMAND_INDEX.put(index);
        self.set(&regs::COMMAND, value);
    }

    /// Waits until the command has ended; its status.
    pub fn wait(&mut self) -> u8 {
        for _ in 0..2_000 {
            let status = self.get(&regs::STATUS);
            if regs::STATUS_BUSY.get(status) == 0 {
                return regs::STATUS_CODE.get(status) as u8;
            }
        }
        panic!("the command does not end");
    }

    pub fn args(&mut self, args: &[u32]) {
        for (i, &arg) in args.iter().enumerate() {
            self.write(u32::from(regs::ARG0) + 4 * i as u32, arg);
        }
    }

    pub fn run(&mut self, command: Command, index: u32, args: &[u32]) -> (u8, u32, u32) {
        self.args(args);
        self.start(command.code(), index);
        let status = self.wait();
        let (result0, result1) = (self.get(&regs::RESULT0), self.get(&regs::RESULT1));
        (status, result0, result1)
    }
}
