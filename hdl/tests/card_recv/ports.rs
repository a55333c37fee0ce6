//! The block Verilated, with its ports by name.

use std::sync::OnceLock;

use rust_hdl::prelude::Block;
use tributary_hdl::card::CardRecv;
use tributary_hdl::emit::{Design, emit_block};
use tributary_sim::verilate::{BuildOptions, Model, Port, Verilated};

fn build(mut block: impl Block, fault: Option<&Fault>) -> (Design, Verilated) {
    let mut design = emit_block(&mut block).expect("the block is writable");
    if let Some(fault) = fault {
        let module = design.modules.iter_mut().find(|m| m.name == fault.module);
        let module = module.expect("the module is there");
        for (right, wrong) in fault.changes {
            assert!(module.text.contains(right), "{right}");
            module.text = module.text.replace(right, wrong);
        }
    }
    // A word read in the clock in which it is written comes out complemented: whoever relies on it shows.
    let options = BuildOptions::new(&design.top, &design.files()).with_checks();
    let library = Verilated::build(&options).unwrap_or_else(|e| panic!("{}: {e}", design.top));
    (design, library)
}

/// A deliberate fault: what is replaced in the Verilog of a module.
pub struct Fault {
    pub module: &'static str,
    pub changes: &'static [(&'static str, &'static str)],
}

/// As [`small`], with a fault.
pub fn faulty(fault: &Fault) -> Verilated {
    build(CardRecv::<3, 7, 4, 5>::default(), Some(fault)).1
}

/// 8 queue pairs, 16 acknowledgements.
pub fn small() -> &'static (Design, Verilated) {
    static BUILT: OnceLock<(Design, Verilated)> = OnceLock::new();
    BUILT.get_or_init(|| build(CardRecv::<3, 7, 4, 5>::default(), None))
}

/// 1,024 queue pairs, 64 acknowledgements.
pub fn large() -> &'static (Design, Verilated) {
    static BUILT: OnceLock<(Design, Verilated)> = OnceLock::new();
    BUILT.get_or_init(|| build(CardRecv::<10, 14, 6, 7>::default(), None))
}

macro_rules! ports {
    ($($name:ident)*) => {
        /// Handles of the block's ports.
        #[derive(Clone, Copy)]
        pub struct Ports { $(pub $name: Port),* }

        impl Ports {
            fn of(model: &Model) -> Self {
                Self { $($name: model.port(stringify!($name)).expect("the block has the port")),* }
            }
        }
    };
}

ports! {
    db_valid db_qpn db_kind db_index cfg_valid cfg_qpn cfg_word cfg_data cfg_mtu hold
    s_rq_valid s_rq_ready s_rq_drop s_rq_node s_rq_qpn s_rq_psn s_rq_q_key s_rq_src s_rq_vf
    s_rq_win_id s_rq_epoch s_rq_msn s_rq_len s_rq_unknown s_rq_marked
    s_notify_valid s_notify_begins s_notify_ready s_notify_told s_notify_ok s_notify_qpn
    s_notify_node s_notify_source s_notify_q_key s_notify_immediate s_notify_length
    s_pl_valid s_pl_ready s_pl_data s_pl_last
    s_rr_valid s_rr_ready s_rr_data s_rr_last s_rr_error s_rr_ctx
    m_rd_valid m_rd_ready m_rd_addr m_rd_len m_rd_ctx
    m_rsv_valid m_rsv_qpn rsv_done rsv_ok
    m_look_valid m_look_key m_look_pd m_look_addr m_look_len m_look_write look_valid look_ok
    m_wr_valid m_wr_ready m_wr_addr m_wr_len m_wr_ctx m_wd_valid m_wd_ready m_wd_data
    m_rx_valid m_rx_ready m_rx_qpn m_rx_wr_id m_rx_status m_rx_vf m_rx_len m_rx_node m_rx_peer
    m_rx_win_id m_rx_epoch m_rx_msn m_rx_q_key m_rx_psn m_rx_request m_rx_notified m_rx_arrived m_rx_marked landed
    m_ak_valid m_ak_ready m_ak_node m_ak_peer m_ak_psn m_ak_syndrome m_ak_echo m_ak_win_id
    m_ak_epoch m_ak_msn m_ak_vf m_ak_src m_ak_marked
    m_fatal_valid m_fatal_qpn ev_bad_doorbell ev_accepted ev_ack_overload ev_bad_opcode ev_bad_qp
    ev_bad_key ev_bad_length ev_stale_epoch ev_rnr ev_local_error m_idle
}

/// One instance.
pub struct Dut {
    model: Model,
    pub p: Ports,
    watched: Vec<Watched>,
}

/// A port that must keep what it offers until it is taken.
struct Watched {
    valid: Port,
    ready: Port,
    fields: Vec<Port>,
    offered: Option<Vec<u64>>,
}

impl Dut {
    pub fn new(library: &Verilated) -> Self {
        let model = library.model().expect("a model");
        let p = Ports::of(&model);
        let watch = |valid, ready, fields: &[Port]| Watched {
            valid,
            ready,
            fields: fields.to_vec(),
            offered: None,
        };
        let watched = vec![
            watch(
                p.m_rd_valid,
                p.m_rd_ready,
                &[p.m_rd_addr, p.m_rd_len, p.m_rd_ctx],
            ),
            watch(p.m_rsv_valid, p.rsv_done, &[p.m_rsv_qpn]),
            watch(
                p.m_wr_valid,
                p.m_wr_ready,
                &[p.m_wr_addr, p.m_wr_len, p.m_wr_ctx],
            ),
            watch(p.m_wd_valid, p.m_wd_ready, &[p.m_wd_data]),
            watch(
                p.m_rx_valid,
                p.m_rx_ready,
                &[
                    p.m_rx_qpn,
                    p.m_rx_wr_id,
                    p.m_rx_status,
                    p.m_rx_len,
                    p.m_rx_psn,
                ],
            ),
            watch(
                p.m_ak_valid,
                p.m_ak_ready,
                &[p.m_ak_node, p.m_ak_psn, p.m_ak_syndrome, p.m_ak_msn],
            ),
        ];
        let mut dut = Self { model, p, watched };
        dut.reset(3);
        dut
    }

    /// Holds reset for some clocks, with every input low but those that are always ready.
    pub fn reset(&mut self, clocks: u64) {
        let p = self.p;
        let inputs = [
            p.db_valid,
            p.cfg_valid,
            p.s_rq_valid,
            p.s_notify_valid,
            p.s_pl_valid,
            p.s_rr_valid,
            p.rsv_done,
            p.look_valid,
            p.landed,
        ];
        for port in inputs {
            self.set(port, 0u64);
        }
        self.model.reset(clocks).expect("the model runs");
        for watched in &mut self.watched {
            watched.offered = None;
        }
    }

    pub fn set(&mut self, port: Port, value: impl Into<u64>) {
        self.model.set(port, value.into());
    }

    pub fn get(&self, port: Port) -> u64 {
        self.model.get(port)
    }

    pub fn is_set(&self, port: Port) -> bool {
        self.model.is_set(port)
    }

    pub fn settle(&mut self) {
        self.model.eval().expect("the model runs");
        for i in 0..self.watched.len() {
            let watched = &self.watched[i];
            let (valid, taken) = (self.is_set(watched.valid), self.is_set(watched.ready));
            let fields: Vec<u64> = watched.fields.iter().map(|&f| self.get(f)).collect();
            if let Some(offered) = &watched.offered {
                assert!(valid, "port {i}: valid went away before it was taken");
                assert_eq!(offered, &fields, "port {i}: changed before it was taken");
            }
            self.watched[i].offered = (valid && !taken).then_some(fields);
        }
    }

    pub fn clock(&mut self) {
        self.model.clock().expect("the model runs");
    }
}
