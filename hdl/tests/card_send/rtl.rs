//! The block in Verilator: its ports, clock by clock.

use tributary_hdl::card::CardSend;
use tributary_hdl::emit::emit_block;
use tributary_protocol::card::descriptor::WorkRequest;
use tributary_protocol::xud::{Peer, Window};
use tributary_sim::verilate::{BuildOptions, Model, Port, Verilated};

/// log2 of the queue pairs of the block under test.
pub const LQ: usize = 4;
/// Its queue pairs.
pub const QPS: usize = 1 << LQ;

/// Queue pair, kind, index.
pub type Doorbell = (u32, u8, u16);

/// Queue pair, word of its context, data.
pub type ContextWrite = (u32, u8, u64);

/// Inputs of one clock.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    pub rst: bool,
    pub db: Option<Doorbell>,
    pub cfg: Option<ContextWrite>,
    pub mtu: u64,
    pub bulk: bool,
    pub bulk_ready: bool,
    pub reduce: bool,
    pub reduce_room: bool,
    /// A work request of this queue pair has its completion.
    pub ended: Option<u32>,
    pub hold: bool,
    pub rsv: Option<bool>,
    pub place: Option<bool>,
    pub set_ready: bool,
    pub look: Option<bool>,
    pub rd_ready: bool,
    /// Word, last, error.
    pub wq: Option<(u64, bool, bool)>,
    pub sd_ready: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Set {
    pub qpn: u32,
    pub psn: u32,
    pub node: u32,
    pub peer: u32,
    pub vf: u8,
    pub win_id: u16,
    pub epoch: u16,
    pub msn: u32,
    pub wr_id: u64,
    pub request: u16,
    pub timeout: u8,
    pub outcome: u8,
    /// Of what is answered: kind, address, key, bytes.
    pub buffer: Option<(u8, u64, u32, u16)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    pub node: u32,
    pub peer: u32,
    pub psn: u32,
    pub q_key: u32,
    pub src: u32,
    pub vf: u8,
    pub win_id: u16,
    pub epoch: u16,
    pub msn: u32,
    pub head: [u64; 2],
    pub head_len: u8,
    pub len: u16,
}

/// A work request of a bulk transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    pub request: WorkRequest,
    pub psn: u32,
    pub number: u16,
    pub qpn: u32,
    pub pd: u16,
    pub q_key: u32,
}

/// A work request of a reduction group: queue pair, number.
pub type Reduce = (u32, u16);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    pub key: u32,
    pub pd: u16,
    pub addr: u64,
    pub len: u16,
    pub write: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    pub addr: u64,
    pub len: u16,
    pub ctx: u16,
}

impl Read {
    /// That of so many bytes of payload.
    pub fn payload(addr: u64, len: u16) -> Self {
        let ctx = 1 << 14;
        Self { addr, len, ctx }
    }
}

/// Outputs of one clock, before its edge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outputs {
    pub idle: bool,
    pub fatal: Option<u32>,
    pub rsv: Option<u32>,
    pub cancel: Option<u32>,
    /// Queue pair, PSN.
    pub place: Option<(u32, u32)>,
    /// Queue pair, PSN.
    pub drop: Option<(u32, u32)>,
    pub set: Option<Set>,
    pub look: Option<Look>,
    pub rd: Option<Read>,
    pub sd: Option<Record>,
    pub bulk: Option<Work>,
    pub reduce: Option<Reduce>,
    /// A word that lands, and whether it is the first of its work request.
    pub lands: Option<(u64, bool)>,
    pub wq_ready: bool,
    pub bad_doorbell: bool,
    pub stall_credit: bool,
    pub stall_place: bool,
    pub local_error: bool,
}

macro_rules! ports {
    ($($name:ident),+ $(,)?) => {
        struct Ports { $($name: Port,)+ }

        impl Ports {
            fn of(model: &Model) -> Self {
                Self { $($name: model.port(stringify!($name)).expect("the block has the port"),)+ }
            }
        }
    };
}

ports! {
    s_ended_valid, s_ended_qpn, cfg_bulk, m_bulk_valid, m_bulk_ready, m_bulk_opcode, m_bulk_flags, m_bulk_head_len, m_bulk_length, m_bulk_wr_id,
    m_bulk_address, m_bulk_lkey, m_bulk_vf, m_bulk_node, m_bulk_peer, m_bulk_msn, m_bulk_win_id, m_bulk_epoch,
    cfg_reduce, m_reduce_lands, m_reduce_first, m_reduce_data, m_reduce_valid, m_reduce_room, m_reduce_qpn, m_reduce_request,
    m_bulk_head_low, m_bulk_head_high, m_bulk_psn, m_bulk_request, m_bulk_qpn, m_bulk_pd, m_bulk_q_key,
    rst, db_valid, db_qpn, db_kind, db_index, cfg_valid, cfg_qpn, cfg_word, cfg_data, cfg_mtu, hold,
    m_idle, m_fatal_valid, m_fatal_qpn, m_rsv_valid, m_rsv_qpn, rsv_done, rsv_ok, m_cancel_valid,
    m_cancel_qpn, m_place_valid, m_place_qpn, m_place_psn, place_done, place_ok, m_drop_valid,
    m_drop_qpn, m_drop_psn, m_set_valid, m_set_ready, m_set_qpn, m_set_psn, m_set_node, m_set_peer,
    m_set_vf, m_set_win_id, m_set_epoch, m_set_msn, m_set_wr_id, m_set_request, m_set_timeout,
    m_set_outcome, m_set_kind, m_set_addr, m_set_key, m_set_len, m_look_valid, m_look_key, m_look_pd, m_look_addr, m_look_len, m_look_write,
    look_valid, look_ok, m_rd_valid, m_rd_ready, m_rd_addr, m_rd_len, m_rd_ctx, s_wq_valid,
    s_wq_ready, s_wq_data, s_wq_last, s_wq_error, s_wq_ctx, m_sd_valid, m_sd_ready, m_sd_node,
    m_sd_peer, m_sd_psn, m_sd_q_key, m_sd_src, m_sd_vf, m_sd_win_id, m_sd_epoch, m_sd_msn,
    m_sd_head, m_sd_head_len, m_sd_len, ev_bad_doorbell, ev_stall_credit, ev_stall_place,
    ev_local_error,
}

/// One running block.
pub struct Rtl {
    model: Model,
    ports: Ports,
}

/// The block's Verilog, file by file, and the name of its top.
pub fn sources() -> (String, Vec<(String, String)>) {
    let design = emit_block(&mut CardSend::<LQ>::default()).expect("the block is writable");
    let files = design.files();
    (design.top, files)
}

/// The block as a library. What a RAM gives when it is read and written at once is spoilt, and what is not reset is random.
pub fn build(top: &str, files: &[(String, String)]) -> Verilated {
    let options = BuildOptions::new(top, files)
        .with_random_init(true)
        .with_checks();
    Verilated::build(&options).unwrap_or_else(|error| panic!("{error}"))
}

impl Rtl {
    pub fn new(library: &Verilated, seed: u64) -> Self {
        let model = library.model_with_seed(seed).expect("a model");
        let ports = Ports::of(&model);
        Self { model, ports }
    }

    /// One clock: inputs in, outputs as they stand before the edge, edge.
    ///
    /// # Errors
    /// A check in the Verilog stops the block.
    pub fn clock(&mut self, inputs: &Inputs) -> Result<Outputs, String> {
        self.drive(inputs);
        self.model.eval().map_err(|error| error.to_string())?;
        let outputs = self.sample();
        self.model.clock().map_err(|error| error.to_string())?;
        Ok(outputs)
    }

    fn drive(&mut self, inputs: &Inputs) {
        let Self { model, ports: p } = self;
        let mut set = |port, value: u64| model.set(port, value);
        set(p.rst, inputs.rst.into());
        set(p.db_valid, inputs.db.is_some().into());
        let (qpn, kind, index) = inputs.db.unwrap_or_default();
        set(p.db_qpn, qpn.into());
        set(p.db_kind, kind.into());
        set(p.db_index, index.into());
        set(p.cfg_valid, inputs.cfg.is_some().into());
        let (qpn, word, data) = inputs.cfg.unwrap_or_default();
        set(p.cfg_qpn, qpn.into());
        set(p.cfg_word, word.into());
        set(p.cfg_data, data);
        set(p.cfg_mtu, inputs.mtu);
        set(p.cfg_bulk, inputs.bulk.into());
        set(p.m_bulk_ready, inputs.bulk_ready.into());
        set(p.cfg_reduce, inputs.reduce.into());
        set(p.m_reduce_room, inputs.reduce_room.into());
        set(p.s_ended_valid, inputs.ended.is_some().into());
        set(p.s_ended_qpn, inputs.ended.unwrap_or_default().into());
        set(p.hold, inputs.hold.into());
        set(p.rsv_done, inputs.rsv.is_some().into());
        set(p.rsv_ok, inputs.rsv.unwrap_or_default().into());
        set(p.place_done, inputs.place.is_some().into());
        set(p.place_ok, inputs.place.unwrap_or_default().into());
        set(p.m_set_ready, inputs.set_ready.into());
        set(p.look_valid, inputs.look.is_some().into());
        set(p.look_ok, inputs.look.unwrap_or_default().into());
        set(p.m_rd_ready, inputs.rd_ready.into());
        set(p.s_wq_valid, inputs.wq.is_some().into());
        let (data, last, error) = inputs.wq.unwrap_or_default();
        set(p.s_wq_data, data);
        set(p.s_wq_last, last.into());
        set(p.s_wq_error, error.into());
        set(p.s_wq_ctx, 0);
        set(p.m_sd_ready, inputs.sd_ready.into());
    }

    fn sample(&self) -> Outputs {
        let Self { model, ports: p } = self;
        let bit = |port| model.is_set(port);
        let get = |port| model.get(port);
        let qpn = |port| get(port) as u32;
        Outputs {
            idle: bit(p.m_idle),
            fatal: bit(p.m_fatal_valid).then(|| qpn(p.m_fatal_qpn)),
            rsv: bit(p.m_rsv_valid).then(|| qpn(p.m_rsv_qpn)),
            cancel: bit(p.m_cancel_valid).then(|| qpn(p.m_cancel_qpn)),
            place: bit(p.m_place_valid).then(|| (qpn(p.m_place_qpn), get(p.m_place_psn) as u32)),
            drop: bit(p.m_drop_valid).then(|| (qpn(p.m_drop_qpn), get(p.m_drop_psn) as u32)),
            set: bit(p.m_set_valid).then(|| Set {
                qpn: qpn(p.m_set_qpn),
                psn: get(p.m_set_psn) as u32,
                node: get(p.m_set_node) as u32,
                peer: get(p.m_set_peer) as u32,
                vf: get(p.m_set_vf) as u8,
                win_id: get(p.m_set_win_id) as u16,
                epoch: get(p.m_set_epoch) as u16,
                msn: get(p.m_set_msn) as u32,
                wr_id: get(p.m_set_wr_id),
                request: get(p.m_set_request) as u16,
                timeout: get(p.m_set_timeout) as u8,
                outcome: get(p.m_set_outcome) as u8,
                buffer: Some((
                    get(p.m_set_kind) as u8,
                    get(p.m_set_addr),
                    get(p.m_set_key) as u32,
                    get(p.m_set_len) as u16,
                ))
                .filter(|(kind, ..)| *kind > 0),
            }),
            look: bit(p.m_look_valid).then(|| Look {
                key: get(p.m_look_key) as u32,
                pd: get(p.m_look_pd) as u16,
                addr: get(p.m_look_addr),
                len: get(p.m_look_len) as u16,
                write: bit(p.m_look_write),
            }),
            rd: bit(p.m_rd_valid).then(|| Read {
                addr: get(p.m_rd_addr),
                len: get(p.m_rd_len) as u16,
                ctx: get(p.m_rd_ctx) as u16,
            }),
            sd: bit(p.m_sd_valid).then(|| self.record()),
            bulk: bit(p.m_bulk_valid).then(|| self.work()),
            reduce: bit(p.m_reduce_valid)
                .then(|| (qpn(p.m_reduce_qpn), get(p.m_reduce_request) as u16)),
            lands: bit(p.m_reduce_lands).then(|| (get(p.m_reduce_data), bit(p.m_reduce_first))),
            wq_ready: bit(p.s_wq_ready),
            bad_doorbell: bit(p.ev_bad_doorbell),
            stall_credit: bit(p.ev_stall_credit),
            stall_place: bit(p.ev_stall_place),
            local_error: bit(p.ev_local_error),
        }
    }

    fn work(&self) -> Work {
        let Self { model, ports: p } = self;
        let get = |port| model.get(port);
        let mut head = [0; 16];
        head[..8].copy_from_slice(&get(p.m_bulk_head_low).to_le_bytes());
        head[8..].copy_from_slice(&get(p.m_bulk_head_high).to_le_bytes());
        Work {
            request: WorkRequest {
                opcode: get(p.m_bulk_opcode) as u8,
                flags: get(p.m_bulk_flags) as u8,
                head_len: get(p.m_bulk_head_len) as u8,
                length: get(p.m_bulk_length) as u32,
                wr_id: get(p.m_bulk_wr_id),
                address: get(p.m_bulk_address),
                lkey: get(p.m_bulk_lkey) as u32,
                version_flags: get(p.m_bulk_vf) as u8,
                to: Peer {
                    node: get(p.m_bulk_node) as u32,
                    qpn: get(p.m_bulk_peer) as u32,
                },
                window: Window {
                    id: get(p.m_bulk_win_id) as u16,
                    epoch: get(p.m_bulk_epoch) as u16,
                    msn: get(p.m_bulk_msn) as u32,
                },
                head,
            },
            psn: get(p.m_bulk_psn) as u32,
            number: get(p.m_bulk_request) as u16,
            qpn: get(p.m_bulk_qpn) as u32,
            pd: get(p.m_bulk_pd) as u16,
            q_key: get(p.m_bulk_q_key) as u32,
        }
    }

    fn record(&self) -> Record {
        let Self { model, ports: p } = self;
        let get = |port| model.get(port);
        let mut head = [0; 2];
        model
            .get_wide(p.m_sd_head, &mut head)
            .expect("128 bits are two words");
        Record {
            node: get(p.m_sd_node) as u32,
            peer: get(p.m_sd_peer) as u32,
            psn: get(p.m_sd_psn) as u32,
            q_key: get(p.m_sd_q_key) as u32,
            src: get(p.m_sd_src) as u32,
            vf: get(p.m_sd_vf) as u8,
            win_id: get(p.m_sd_win_id) as u16,
            epoch: get(p.m_sd_epoch) as u16,
            msn: get(p.m_sd_msn) as u32,
            head,
            head_len: get(p.m_sd_head_len) as u8,
            len: get(p.m_sd_len) as u16,
        }
    }
}
