//! The Verilated `rw_window`, one clock at a time.

use anyhow::{Context, Result, ensure};
use tributary_hdl::catalog;
use tributary_protocol::rw::{Message, ReceiverConfig, Status, Verdict};

use crate::verilate::{BuildOptions, Model, Port, Verilated};

macro_rules! ports {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $port:ident),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug)]
        struct $name { $($(#[$doc])* $port: Port),* }
        impl $name {
            fn new(model: &Model) -> Result<Self> {
                Ok(Self { $($port: model.port(stringify!($port))?),* })
            }
        }
    };
}

ports!(Ports {
    s_valid,
    s_ready,
    s_error,
    s_type,
    s_src,
    s_wptr,
    s_gen,
    s_pidx,
    s_tail,
    s_len,
    s_slot,
    s_xid,
    s_incarnation,
    s_seq,
    s_length,
    s_addr,
    s_rkey,
    s_mtu,
    s_verdict,
    s_hold,
    s_reason,
    con_valid,
    con_how,
    con_wptr,
    con_gen,
    con_lost,
    full_valid,
    forgotten,
    rev_valid,
    rev_ready,
    rev_wptr,
    rev_gen,
    rev_status,
    m_wr_valid,
    m_wr_ready,
    m_wr_accept,
    m_wr_reason,
    m_wr_wptr,
    m_wr_gen,
    m_wr_addr,
    m_wr_rkey,
    m_wr_len,
    ack_valid,
    ack_ready,
    ack_wptr,
    ack_gen,
    m_msg_valid,
    m_msg_ready,
    m_msg_type,
    m_msg_dst,
    m_msg_slot,
    m_msg_xid,
    m_msg_status,
    m_msg_wptr,
    m_msg_gen,
    m_msg_pidx,
    m_msg_credit,
    m_msg_seq,
    m_msg_wbase,
    m_msg_tail,
    m_msg_hint,
    m_bitmap_valid,
    m_bitmap_ready,
    m_bitmap_data,
    m_bitmap_last,
    m_cpl_valid,
    m_cpl_ready,
    m_cpl_wptr,
    m_cpl_src,
    m_cpl_slot,
    m_cpl_xid,
    m_cpl_length,
    m_cpl_status,
    m_cpl_reason,
    now,
    cfg_allowance,
    cfg_allowance_ticks,
    cfg_retry_ticks,
    cfg_tail_ticks,
    cfg_idle_ticks,
    cfg_busy_hint,
    cfg_twice,
    stat_addr,
    stat_data,
    free_count,
    mon_act,
    mon_op,
    mon_wptr,
    mon_now,
    mon_view,
    mon_word,
    mon_slide,
    mon_slide_wptr,
    mon_slide_base,
});

/// What the engine is given in one clock, beside its configuration.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// A message for the receiver; stays until it is taken.
    pub message: Option<Message>,
    /// Its frame failed a check.
    pub error: bool,
    /// With CONNECT: what its transfer is answered with if it is not known.
    pub verdict: Verdict,
    /// With CONNECT: the window is kept until it is revoked.
    pub hold: bool,
    /// A window to be revoked, its generation, and how its transfer ends; stays until that is done.
    pub revoke: Option<(u16, u32, Status)>,
    /// (window, generation) of a write that is visible in host memory.
    pub ack: Option<(u16, u32)>,
    /// Coarse time.
    pub now: u16,
    /// A decision is taken.
    pub wr_ready: bool,
    /// A message to a sender is taken.
    pub msg_ready: bool,
    /// A bitmap word is taken.
    pub bitmap_ready: bool,
    /// A completion record is taken.
    pub cpl_ready: bool,
}

impl Default for Inputs {
    fn default() -> Self {
        Self {
            message: None,
            error: false,
            verdict: Verdict::Open,
            hold: false,
            revoke: None,
            ack: None,
            now: 0,
            wr_ready: true,
            msg_ready: true,
            bitmap_ready: true,
            cpl_ready: true,
        }
    }
}

/// A decision about a DATA packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Why it is dropped; 0 if its payload is written.
    pub reason: u8,
    /// Window.
    pub wptr: u16,
    /// Incarnation.
    pub generation: u32,
    /// Where the payload goes.
    pub addr: u64,
    /// Key of the region.
    pub rkey: u32,
    /// Payload bytes.
    pub len: u16,
}

/// A message as it stands at `m_msg_*`; which fields count depends on the type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the fields are those of the messages
pub struct RawMessage {
    pub kind: u8,
    pub dst: u32,
    pub slot: u16,
    pub xid: u32,
    pub status: u8,
    pub wptr: u16,
    pub generation: u32,
    pub pidx: u32,
    pub credit: u32,
    pub seq: u16,
    pub wbase: u32,
    pub tail: bool,
    pub hint: u16,
}

/// A completion record as it stands at `m_cpl_*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the fields are those of the completion
pub struct RawCompletion {
    pub wptr: u16,
    pub src: u32,
    pub slot: u16,
    pub xid: u32,
    pub length: u32,
    pub status: u8,
    pub reason: u8,
}

/// What happened in one clock.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// The message was taken.
    pub taken: bool,
    /// The acknowledgement was taken.
    pub ack_taken: bool,
    /// The window was revoked, or was none.
    pub revoked: bool,
    /// A CONNECT was decided: how, and its window and generation if it has a new one.
    pub connected: Option<(u8, Option<(u16, u32)>)>,
    /// A CONNECT found the queue full.
    pub connect_lost: bool,
    /// A transfer that keeps its window is complete: window and generation.
    pub full: Option<(u16, u32)>,
    /// A peer was forgotten.
    pub forgotten: bool,
    /// What stands at an output: decision, message, bitmap word, completion record.
    pub waits: [bool; 4],
    /// A decision left.
    pub decision: Option<Decision>,
    /// A message stands at the output.
    pub shown: Option<RawMessage>,
    /// A message left.
    pub message: Option<RawMessage>,
    /// A bitmap word left, and whether it is the last one.
    pub bitmap: Option<(u64, bool)>,
    /// A completion record left.
    pub completion: Option<RawCompletion>,
    /// (operation, window, time) that the control engine decides now.
    pub act: Option<(u8, u16, u16)>,
    /// First packet of the bitmap word that the control engine uses now.
    pub view: Option<u32>,
    /// (window, wbase) that is written now: DATA taken from this clock on is judged by it.
    pub slide: Option<(u16, u32)>,
    /// Free windows.
    pub free: u16,
}

/// A Verilated receiver-window engine.
#[derive(Debug)]
pub struct RtlWindow {
    model: Model,
    ports: Ports,
    word_bits: u32,
}

/// Verilog of `rw_window` for `w` packets and `r` windows.
///
/// # Errors
/// The size is not on offer.
pub fn sources(w: u32, r: u32) -> Result<(String, Vec<(String, String)>)> {
    let choice = catalog::choose("rw_window", &[("W", w as usize), ("R", r as usize)])?;
    let design = choice
        .emit()
        .with_context(|| format!("Verilog of {choice}"))?;
    let files = design.files();
    Ok((design.top, files))
}

/// Builds `rw_window`. Reads that collide with a write give complemented words, so that a missing
/// forward shows.
///
/// # Errors
/// The size is not on offer, or Verilator or the compiler refuses the sources.
pub fn build(w: u32, r: u32, trace: bool) -> Result<Verilated> {
    let (top, files) = sources(w, r)?;
    build_sources(&top, &files, trace)
}

/// Builds `rw_window` from the text given.
///
/// # Errors
/// Verilator or the compiler refuses the sources.
pub fn build_sources(top: &str, files: &[(String, String)], trace: bool) -> Result<Verilated> {
    let options = BuildOptions::new(top, files)
        .with_trace(trace)
        .with_checks();
    Verilated::build(&options).with_context(|| format!("Verilator model of {top}"))
}

impl RtlWindow {
    /// An engine after reset, ready.
    ///
    /// # Errors
    /// The library is no `rw_window`, or it does not become ready.
    pub fn new(library: &Verilated, config: &ReceiverConfig) -> Result<Self> {
        let model = library.model()?;
        let ports = Ports::new(&model)?;
        let mut rtl = Self {
            word_bits: ports.m_bitmap_data.width(),
            model,
            ports,
        };
        let m = &mut rtl.model;
        m.set(ports.cfg_allowance, config.allowance.into());
        m.set(ports.cfg_allowance_ticks, config.allowance_ticks.into());
        m.set(ports.cfg_retry_ticks, config.retry_ticks.into());
        m.set(ports.cfg_tail_ticks, config.tail_ticks.into());
        m.set(ports.cfg_idle_ticks, config.idle_ticks.into());
        m.set(ports.cfg_busy_hint, config.busy_hint.into());
        m.set(ports.cfg_twice, (config.copies == 2).into());
        m.reset(4)?;
        for _ in 0..10_000 {
            if m.is_set(ports.s_ready) {
                return Ok(rtl);
            }
            m.clock()?;
        }
        anyhow::bail!("rw_window is not ready 10,000 clocks after reset")
    }

    /// Bits of a bitmap word.
    #[must_use]
    pub fn word_bits(&self) -> u32 {
        self.word_bits
    }

    /// The model, to record a waveform.
    pub fn model(&mut self) -> &mut Model {
        &mut self.model
    }

    /// Counter `reason`: 0 counts accepted DATA. Takes 32 clocks without input.
    ///
    /// # Errors
    /// The model has stopped.
    pub fn counter(&mut self, reason: u8) -> Result<u32> {
        ensure!(reason < 16, "counter {reason}: there are 16");
        self.model.set(self.ports.stat_addr, reason.into());
        self.model.set(self.ports.s_valid, 0);
        self.model.set(self.ports.ack_valid, 0);
        for output in [
            self.ports.m_wr_ready,
            self.ports.m_msg_ready,
            self.ports.m_bitmap_ready,
            self.ports.m_cpl_ready,
        ] {
            self.model.set(output, 0);
        }
        self.model.clocks(32)?;
        Ok(self.model.get(self.ports.stat_data) as u32)
    }

    /// One clock.
    ///
    /// # Errors
    /// The model has stopped, or a message is none for receivers.
    pub fn clock(&mut self, inputs: &Inputs) -> Result<Sample> {
        let p = self.ports;
        let m = &mut self.model;
        m.set(p.s_valid, inputs.message.is_some().into());
        m.set(p.s_error, inputs.error.into());
        if let Some(message) = &inputs.message {
            drive(m, &p, message)?;
        }
        let verdict = match inputs.verdict {
            Verdict::Open => 0,
            Verdict::Refuse(status) => status.code(),
            Verdict::Silent => 7,
        };
        m.set(p.s_verdict, verdict.into());
        m.set(p.s_hold, inputs.hold.into());
        m.set(p.rev_valid, inputs.revoke.is_some().into());
        if let Some((wptr, generation, status)) = inputs.revoke {
            m.set(p.rev_wptr, wptr.into());
            m.set(p.rev_gen, generation.into());
            m.set(p.rev_status, status.code().into());
        }
        m.set(p.ack_valid, inputs.ack.is_some().into());
        if let Some((wptr, generation)) = inputs.ack {
            m.set(p.ack_wptr, wptr.into());
            m.set(p.ack_gen, generation.into());
        }
        m.set(p.now, inputs.now.into());
        m.set(p.m_wr_ready, inputs.wr_ready.into());
        m.set(p.m_msg_ready, inputs.msg_ready.into());
        m.set(p.m_bitmap_ready, inputs.bitmap_ready.into());
        m.set(p.m_cpl_ready, inputs.cpl_ready.into());
        m.eval()?;
        let mut s = Sample {
            taken: inputs.message.is_some() && m.is_set(p.s_ready),
            ack_taken: inputs.ack.is_some() && m.is_set(p.ack_ready),
            free: m.get(p.free_count) as u16,
            revoked: inputs.revoke.is_some() && m.is_set(p.rev_ready),
            connect_lost: m.is_set(p.con_lost),
            forgotten: m.is_set(p.forgotten),
            waits: [p.m_wr_valid, p.m_msg_valid, p.m_bitmap_valid, p.m_cpl_valid]
                .map(|valid| m.is_set(valid)),
            ..Sample::default()
        };
        if m.is_set(p.m_wr_valid) && inputs.wr_ready {
            let reason = m.get(p.m_wr_reason) as u8;
            ensure!(
                m.is_set(p.m_wr_accept) == (reason == 0),
                "m_wr_accept disagrees with reason {reason}"
            );
            s.decision = Some(Decision {
                reason,
                wptr: m.get(p.m_wr_wptr) as u16,
                generation: m.get(p.m_wr_gen) as u32,
                addr: m.get(p.m_wr_addr),
                rkey: m.get(p.m_wr_rkey) as u32,
                len: m.get(p.m_wr_len) as u16,
            });
        }
        if m.is_set(p.m_msg_valid) {
            let message = RawMessage {
                kind: m.get(p.m_msg_type) as u8,
                dst: m.get(p.m_msg_dst) as u32,
                slot: m.get(p.m_msg_slot) as u16,
                xid: m.get(p.m_msg_xid) as u32,
                status: m.get(p.m_msg_status) as u8,
                wptr: m.get(p.m_msg_wptr) as u16,
                generation: m.get(p.m_msg_gen) as u32,
                pidx: m.get(p.m_msg_pidx) as u32,
                credit: m.get(p.m_msg_credit) as u32,
                seq: m.get(p.m_msg_seq) as u16,
                wbase: m.get(p.m_msg_wbase) as u32,
                tail: m.is_set(p.m_msg_tail),
                hint: m.get(p.m_msg_hint) as u16,
            };
            s.shown = Some(message);
            s.message = inputs.msg_ready.then_some(message);
        }
        if m.is_set(p.m_bitmap_valid) && inputs.bitmap_ready {
            s.bitmap = Some((m.get(p.m_bitmap_data), m.is_set(p.m_bitmap_last)));
        }
        if m.is_set(p.m_cpl_valid) && inputs.cpl_ready {
            s.completion = Some(RawCompletion {
                wptr: m.get(p.m_cpl_wptr) as u16,
                src: m.get(p.m_cpl_src) as u32,
                slot: m.get(p.m_cpl_slot) as u16,
                xid: m.get(p.m_cpl_xid) as u32,
                length: m.get(p.m_cpl_length) as u32,
                status: m.get(p.m_cpl_status) as u8,
                reason: m.get(p.m_cpl_reason) as u8,
            });
        }
        let window = (m.get(p.con_wptr) as u16, m.get(p.con_gen) as u32);
        if m.is_set(p.con_valid) {
            let how = m.get(p.con_how) as u8;
            s.connected = Some((how, (how == 1).then_some(window)));
        }
        s.full = m.is_set(p.full_valid).then_some(window);
        if m.is_set(p.mon_act) {
            s.act = Some((
                m.get(p.mon_op) as u8,
                m.get(p.mon_wptr) as u16,
                m.get(p.mon_now) as u16,
            ));
        }
        if m.is_set(p.mon_slide) {
            s.slide = Some((
                m.get(p.mon_slide_wptr) as u16,
                m.get(p.mon_slide_base) as u32,
            ));
        }
        if m.is_set(p.mon_view) {
            s.view = Some(m.get(p.mon_word) as u32 * self.word_bits);
        }
        m.clock()?;
        Ok(s)
    }
}

/// Puts a message on the `s_*` ports.
fn drive(m: &mut Model, p: &Ports, message: &Message) -> Result<()> {
    match message {
        Message::Data(d) => {
            m.set(p.s_type, 0);
            m.set(p.s_src, d.src.into());
            m.set(p.s_wptr, d.wptr.into());
            m.set(p.s_gen, d.r#gen.into());
            m.set(p.s_pidx, d.pidx.into());
            m.set(p.s_tail, d.tail.into());
            m.set(p.s_len, d.len.into());
        }
        Message::Connect(c) => {
            m.set(p.s_type, 4);
            m.set(p.s_src, c.src.into());
            m.set(p.s_slot, c.slot.into());
            m.set(p.s_xid, c.xid.into());
            m.set(p.s_incarnation, c.incarnation.into());
            m.set(p.s_length, c.length.into());
            m.set(p.s_addr, c.addr);
            m.set(p.s_rkey, c.rkey.into());
            m.set(p.s_mtu, c.mtu.min(15).into());
        }
        Message::Poll(q) => {
            m.set(p.s_type, 6);
            m.set(p.s_src, q.src.into());
            m.set(p.s_wptr, q.wptr.into());
            m.set(p.s_gen, q.r#gen.into());
            m.set(p.s_slot, q.slot.into());
            m.set(p.s_xid, q.xid.into());
            m.set(p.s_seq, q.seq.into());
        }
        Message::Abort(a) => {
            m.set(p.s_type, 7);
            m.set(p.s_src, a.src.into());
            m.set(p.s_slot, a.slot.into());
            m.set(p.s_xid, a.xid.into());
            m.set(p.s_reason, a.reason.code().into());
        }
        other => anyhow::bail!("{other:?} is no message for receivers"),
    }
    Ok(())
}
