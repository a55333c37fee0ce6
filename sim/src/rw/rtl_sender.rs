//! The Verilated `bulk_send`, one clock at a time.

use anyhow::{Context, Result, bail, ensure};
use tributary_hdl::catalog;
use tributary_protocol::rw::pace::Congestion;
use tributary_protocol::rw::{Message, Mode, Reason, Request, SenderConfig};

use crate::verilate::{BuildOptions, Model, Port, Verilated};

macro_rules! ports {
    ($($port:ident),* $(,)?) => {
        #[derive(Clone, Copy, Debug)]
        struct Ports { $($port: Port),* }
        impl Ports {
            fn new(model: &Model) -> Result<Self> {
                Ok(Self { $($port: model.port(stringify!($port))?),* })
            }
        }
    };
}

ports!(
    s_valid,
    s_ready,
    s_dst,
    s_addr,
    s_rkey,
    s_length,
    s_mtu,
    s_oldest_first,
    m_started_valid,
    m_started_ready,
    m_started_error,
    m_started_slot,
    m_started_xid,
    s_cancel_valid,
    s_cancel_ready,
    s_cancel_slot,
    s_cancel_xid,
    s_cancel_reason,
    s_msg_valid,
    s_msg_ready,
    s_msg_type,
    s_msg_slot,
    s_msg_xid,
    s_msg_status,
    s_msg_wptr,
    s_msg_gen,
    s_msg_w,
    s_msg_hint,
    s_msg_credit,
    s_msg_pidx,
    s_msg_seq,
    s_bitmap_valid,
    s_bitmap_ready,
    s_bitmap_data,
    s_bitmap_last,
    m_pkt_valid,
    m_pkt_ready,
    m_pkt_type,
    m_pkt_dst,
    m_pkt_slot,
    m_pkt_xid,
    m_pkt_wptr,
    m_pkt_gen,
    m_pkt_pidx,
    m_pkt_tail,
    m_pkt_again,
    m_pkt_offset,
    m_pkt_length,
    m_pkt_seq,
    m_pkt_reason,
    m_pkt_addr,
    m_pkt_rkey,
    m_pkt_mtu,
    m_end_valid,
    m_end_ready,
    m_end_slot,
    m_end_xid,
    m_end_outcome,
    now,
    cfg_xid_before,
    cfg_settled,
    cfg_allowance,
    cfg_overtaken,
    cfg_retry,
    cfg_known,
    cfg_poll,
    cfg_poll_max,
    cfg_stall_poll,
    cfg_early_poll,
    cfg_max_polls,
    cfg_max_busy,
    cfg_fresh_every,
    cfg_overrun,
    cfg_echo,
    stat_addr,
    stat_data,
    stat_time_addr,
    stat_time_data,
    cfg_pace,
    cfg_interval,
    s_said_valid,
    s_said_ready,
    s_said_slot,
    s_said_marked,
    s_said_share,
    ev_slowed,
    m_paced,
    m_starved,
    m_nothing,
    ready,
    mon_act,
    mon_op,
    mon_slot,
    mon_class,
    mon_now,
    mon_wants,
    mon_pace,
    mon_deed,
    mon_pace_slot,
    mon_tick,
    mon_gap,
    mon_held,
);

/// What the engine is given in one clock.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    /// A transfer to start; stays until it is taken.
    pub request: Option<Request>,
    /// (slot, xid) of a transfer to cancel, and what its receiver is told; stays until it is taken.
    pub cancel: Option<(u16, u32, Reason)>,
    /// A message from a receiver; stays until it is taken. The bitmap of a STATUS comes apart.
    pub message: Option<Message>,
    /// A word of a bitmap, and whether it is the last one; stays until it is taken.
    pub bitmap: Option<(u64, bool)>,
    /// What a receiver says of the transfer in a slot (CL-4); stays until it is taken.
    pub said: Option<(u16, Congestion)>,
    /// Coarse time.
    pub now: u16,
    /// A packet is taken.
    pub pkt_ready: bool,
    /// A completion record is taken.
    pub end_ready: bool,
    /// The answer to a request is taken.
    pub started_ready: bool,
}

/// A packet as it stands at `m_pkt_*`. Fields that its type does not have are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // the fields are those of the ports
pub struct RawPacket {
    pub kind: u8,
    pub dst: u32,
    pub slot: u16,
    pub xid: u32,
    pub wptr: u16,
    pub generation: u32,
    pub pidx: u32,
    pub tail: bool,
    pub again: bool,
    pub offset: u32,
    pub length: u32,
    pub seq: u16,
    pub reason: u8,
    pub addr: u64,
    pub rkey: u32,
    pub mtu: u8,
}

/// An operation of the engine that ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Act {
    /// 0 message, 1 start, 2 cancel, 3 send, 4 timers.
    pub op: u8,
    /// Transfer slot.
    pub slot: u16,
    /// What was sent for: 0 due, 1 resend, 2 fresh, 3 spare.
    pub class: u8,
    /// Time it went by.
    pub now: u16,
    /// What the transfer wants then: due, resend, fresh, spare from bit 0 on.
    pub wants: u8,
}

/// What has become of the pace of a transfer (CL-4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PaceAct {
    /// 0 new, 1 packet, 2 word of a receiver, 3 looked at.
    pub deed: u8,
    /// Transfer slot.
    pub slot: u16,
    /// Tick it went by.
    pub tick: u16,
    /// Its gap then, in parts of a tick.
    pub gap: u32,
    /// It is slower for what its receiver said.
    pub slowed: bool,
}

/// What happened in one clock.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// The request was taken.
    pub request_taken: bool,
    /// The cancellation was taken.
    pub cancel_taken: bool,
    /// The message was taken.
    pub message_taken: bool,
    /// The word was taken.
    pub bitmap_taken: bool,
    /// A packet left.
    pub packet: Option<RawPacket>,
    /// (slot, xid, outcome) of a transfer that has ended left.
    pub end: Option<(u16, u32, u8)>,
    /// (error, slot, xid) that answers a request left.
    pub started: Option<(u8, u16, u32)>,
    /// What stands at an output: packet, completion record, answer.
    pub waits: [bool; 3],
    /// What a receiver said was taken.
    pub said_taken: bool,
    /// No transfer may send for want of credit; none has anything to send; all that have wait for their pace.
    pub idle_for: [bool; 3],
    /// The pace of a transfer.
    pub pace: Option<PaceAct>,
    /// Transfers whose packets wait, a bit for each of the first 64.
    pub held: u64,
    /// An operation ends.
    pub act: Option<Act>,
}

/// A Verilated sending side.
#[derive(Debug)]
pub struct RtlSender {
    model: Model,
    ports: Ports,
}

/// Verilog of `bulk_send` for `s` transfers.
///
/// # Errors
/// The size is not on offer.
pub fn sources(s: u32) -> Result<(String, Vec<(String, String)>)> {
    let choice = catalog::choose("bulk_send", &[("S", s as usize), ("B", 64)])?;
    let design = choice
        .emit()
        .with_context(|| format!("Verilog of {choice}"))?;
    let files = design.files();
    Ok((design.top, files))
}

/// Builds `bulk_send` from the text given. Reads that collide with a write give complemented words.
///
/// # Errors
/// Verilator or the compiler refuses the sources.
pub fn build_sources(top: &str, files: &[(String, String)]) -> Result<Verilated> {
    let options = BuildOptions::new(top, files).with_checks();
    Verilated::build(&options).with_context(|| format!("Verilator model of {top}"))
}

/// Builds `bulk_send`.
///
/// # Errors
/// The size is not on offer, or Verilator or the compiler refuses the sources.
pub fn build(s: u32) -> Result<Verilated> {
    let (top, files) = sources(s)?;
    build_sources(&top, &files)
}

/// A time or limit as a port of `bits` bits takes it.
fn setting(name: &str, value: u32, bits: u32) -> Result<u64> {
    ensure!(
        value < 1 << bits,
        "{name} = {value}: bulk_send takes less than {}",
        1u32 << bits
    );
    Ok(value.into())
}

impl RtlSender {
    /// An engine after reset, ready.
    ///
    /// # Errors
    /// The library is no `bulk_send`, a setting does not fit its port, or the engine does not become ready.
    pub fn new(library: &Verilated, config: &SenderConfig) -> Result<Self> {
        let model = library.model()?;
        let p = Ports::new(&model)?;
        let mut rtl = Self { model, ports: p };
        ensure!(
            config.mode == Mode::Rw,
            "bulk_send speaks rw, not {}",
            config.mode
        );
        let Some(max_polls) = config.max_polls else {
            bail!("bulk_send always gives up: max_polls is none");
        };
        let settled = config.rtt_ticks + config.allowance_ticks;
        let known = config.rtt_ticks + config.retry_ticks;
        let early = (config.stall_poll_ticks / 8).max(1);
        for (name, port, value, bits) in [
            ("rtt + allowance", p.cfg_settled, settled, 15),
            ("allowance", p.cfg_allowance, config.allowance_ticks, 15),
            (
                "allowance / 2",
                p.cfg_overtaken,
                config.allowance_ticks / 2,
                15,
            ),
            ("retry", p.cfg_retry, config.retry_ticks, 15),
            ("rtt + retry", p.cfg_known, known, 16),
            ("poll", p.cfg_poll, config.poll_ticks, 15),
            ("poll_max", p.cfg_poll_max, config.poll_ticks_max, 15),
            ("stall_poll", p.cfg_stall_poll, config.stall_poll_ticks, 15),
            ("stall_poll / 8", p.cfg_early_poll, early, 15),
            ("max_polls", p.cfg_max_polls, max_polls, 8),
            ("max_busy", p.cfg_max_busy, config.max_busy, 16),
            ("fresh_every", p.cfg_fresh_every, config.fresh_every, 8),
            ("overrun", p.cfg_overrun, config.overrun, 16),
            ("echo", p.cfg_echo, config.echo.into(), 1),
        ] {
            rtl.model.set(port, setting(name, value, bits)?);
        }
        rtl.model.set(p.cfg_pace, config.pace.is_some().into());
        let interval = config.pace.map_or(1, |pace| pace.interval);
        rtl.model
            .set(p.cfg_interval, setting("interval", interval.into(), 13)?);
        let before = config.first_xid.wrapping_sub(1);
        rtl.model.set(p.cfg_xid_before, before.into());
        rtl.model.reset(4)?;
        for _ in 0..10_000 {
            if rtl.model.is_set(p.ready) {
                return Ok(rtl);
            }
            rtl.model.clock()?;
        }
        bail!("bulk_send is not ready 10,000 clocks after reset")
    }

    /// The model, to record a waveform.
    pub fn model(&mut self) -> &mut Model {
        &mut self.model
    }

    /// Counter `number`: 1 fresh and 2 further DATA, 3 POLL, 4 CONNECT, 5 ABORT, 6 messages ignored, 7 requests that came too
    /// early or too late. The engine goes on meanwhile.
    ///
    /// # Errors
    /// The model has stopped.
    pub fn counter(&mut self, number: u8) -> Result<u32> {
        ensure!(number < 16, "counter {number}: there are 16");
        self.model.set(self.ports.stat_addr, number.into());
        self.model.clocks(8)?;
        Ok(self.model.get(self.ports.stat_data) as u32)
    }

    /// Clocks spent: 0 the line did not take a packet, 1 no credit, 2 nothing to send, 3 all others.
    ///
    /// # Errors
    /// The model has stopped.
    pub fn clocks_spent(&mut self, number: u8) -> Result<u32> {
        ensure!(number < 4, "counter {number}: there are 4");
        self.model.set(self.ports.stat_time_addr, number.into());
        self.model.clocks(4)?;
        Ok(self.model.get(self.ports.stat_time_data) as u32)
    }

    /// One clock.
    ///
    /// # Errors
    /// The model has stopped, or a message is none for senders.
    pub fn clock(&mut self, inputs: &Inputs) -> Result<Sample> {
        let p = self.ports;
        let m = &mut self.model;
        m.set(p.s_valid, inputs.request.is_some().into());
        if let Some(request) = &inputs.request {
            m.set(p.s_dst, request.dst.into());
            m.set(p.s_addr, request.addr);
            m.set(p.s_rkey, request.rkey.into());
            m.set(p.s_length, request.length.into());
            m.set(p.s_mtu, request.mtu.min(15).into());
            m.set(p.s_oldest_first, request.oldest_first.into());
        }
        m.set(p.s_cancel_valid, inputs.cancel.is_some().into());
        if let Some((slot, xid, reason)) = inputs.cancel {
            m.set(p.s_cancel_slot, slot.into());
            m.set(p.s_cancel_xid, xid.into());
            m.set(p.s_cancel_reason, (reason as u8).into());
        }
        m.set(p.s_msg_valid, inputs.message.is_some().into());
        if let Some(message) = &inputs.message {
            drive(m, &p, message)?;
        }
        m.set(p.s_bitmap_valid, inputs.bitmap.is_some().into());
        if let Some((word, last)) = inputs.bitmap {
            m.set(p.s_bitmap_data, word);
            m.set(p.s_bitmap_last, last.into());
        }
        m.set(p.s_said_valid, inputs.said.is_some().into());
        if let Some((slot, said)) = inputs.said {
            m.set(p.s_said_slot, slot.into());
            m.set(p.s_said_marked, said.marked.into());
            m.set(p.s_said_share, said.share.into());
        }
        m.set(p.now, inputs.now.into());
        m.set(p.m_pkt_ready, inputs.pkt_ready.into());
        m.set(p.m_end_ready, inputs.end_ready.into());
        m.set(p.m_started_ready, inputs.started_ready.into());
        m.eval()?;
        let mut s = Sample {
            request_taken: inputs.request.is_some() && m.is_set(p.s_ready),
            cancel_taken: inputs.cancel.is_some() && m.is_set(p.s_cancel_ready),
            message_taken: inputs.message.is_some() && m.is_set(p.s_msg_ready),
            bitmap_taken: inputs.bitmap.is_some() && m.is_set(p.s_bitmap_ready),
            waits: [p.m_pkt_valid, p.m_end_valid, p.m_started_valid].map(|valid| m.is_set(valid)),
            said_taken: inputs.said.is_some() && m.is_set(p.s_said_ready),
            idle_for: [p.m_starved, p.m_nothing, p.m_paced].map(|idle| m.is_set(idle)),
            held: m.get(p.mon_held),
            ..Sample::default()
        };
        if s.waits[0] && inputs.pkt_ready {
            s.packet = Some(packet(m, &p));
        }
        if s.waits[1] && inputs.end_ready {
            s.end = Some((
                m.get(p.m_end_slot) as u16,
                m.get(p.m_end_xid) as u32,
                m.get(p.m_end_outcome) as u8,
            ));
        }
        if s.waits[2] && inputs.started_ready {
            s.started = Some((
                m.get(p.m_started_error) as u8,
                m.get(p.m_started_slot) as u16,
                m.get(p.m_started_xid) as u32,
            ));
        }
        if m.is_set(p.mon_act) {
            s.act = Some(Act {
                op: m.get(p.mon_op) as u8,
                slot: m.get(p.mon_slot) as u16,
                class: m.get(p.mon_class) as u8,
                now: m.get(p.mon_now) as u16,
                wants: m.get(p.mon_wants) as u8,
            });
        }
        if m.is_set(p.mon_pace) {
            s.pace = Some(PaceAct {
                deed: m.get(p.mon_deed) as u8,
                slot: m.get(p.mon_pace_slot) as u16,
                tick: m.get(p.mon_tick) as u16,
                gap: m.get(p.mon_gap) as u32,
                slowed: m.is_set(p.ev_slowed),
            });
        }
        m.clock()?;
        Ok(s)
    }
}

/// What stands at `m_pkt_*`.
fn packet(m: &Model, p: &Ports) -> RawPacket {
    let kind = m.get(p.m_pkt_type) as u8;
    let [data, connect, poll, abort] = [0, 4, 6, 7].map(|of| kind == of);
    let only = |field: bool, port| if field { m.get(port) } else { 0 };
    RawPacket {
        kind,
        dst: m.get(p.m_pkt_dst) as u32,
        slot: m.get(p.m_pkt_slot) as u16,
        xid: m.get(p.m_pkt_xid) as u32,
        wptr: only(data || poll, p.m_pkt_wptr) as u16,
        generation: only(data || poll, p.m_pkt_gen) as u32,
        pidx: only(data, p.m_pkt_pidx) as u32,
        tail: only(data, p.m_pkt_tail) == 1,
        again: only(data, p.m_pkt_again) == 1,
        offset: only(data, p.m_pkt_offset) as u32,
        length: only(data || connect, p.m_pkt_length) as u32,
        seq: only(poll, p.m_pkt_seq) as u16,
        reason: only(abort, p.m_pkt_reason) as u8,
        addr: only(connect, p.m_pkt_addr),
        rkey: only(connect, p.m_pkt_rkey) as u32,
        mtu: only(connect, p.m_pkt_mtu) as u8,
    }
}

/// Puts a message on the `s_msg_*` ports.
fn drive(m: &mut Model, p: &Ports, message: &Message) -> Result<()> {
    let mut name = |kind: u64, slot: u16, xid: u32| {
        m.set(p.s_msg_type, kind);
        m.set(p.s_msg_slot, slot.into());
        m.set(p.s_msg_xid, xid.into());
    };
    match message {
        Message::Complete(c) => {
            name(1, c.slot, c.xid);
            m.set(p.s_msg_status, (c.status as u8).into());
        }
        Message::RetxOne(r) => {
            name(2, r.slot, r.xid);
            m.set(p.s_msg_pidx, r.pidx.into());
        }
        Message::RetxRange(r) => {
            name(3, r.slot, r.xid);
            m.set(p.s_msg_pidx, r.pidx.into());
        }
        Message::ConnectResp(c) => {
            name(5, c.slot, c.xid);
            m.set(p.s_msg_status, (c.status as u8).into());
            m.set(p.s_msg_wptr, c.wptr.into());
            m.set(p.s_msg_gen, c.r#gen.into());
            m.set(p.s_msg_w, c.w.into());
            m.set(p.s_msg_hint, c.retry.into());
            m.set(p.s_msg_credit, c.credit.into());
        }
        Message::Status(s) => {
            name(6, s.slot, s.xid);
            m.set(p.s_msg_credit, s.credit.into());
            m.set(p.s_msg_pidx, s.wbase.into());
            m.set(p.s_msg_seq, s.seq.into());
        }
        Message::Unknown(u) => {
            name(7, u.slot, u.xid);
            m.set(p.s_msg_status, (u.reason as u8).into());
        }
        other => bail!("{other} is no message for senders"),
    }
    Ok(())
}
