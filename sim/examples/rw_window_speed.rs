//! Clocks per second of the Verilated `rw_window`, driven from Rust: one DATA record offered in
//! every clock, every output read.
//!
//! `cargo run --release -p tributary-sim --example rw_window_speed`

use std::time::Instant;

use tributary_protocol::rw::{Connect, Data, Message, ReceiverConfig};
use tributary_sim::rw::rtl::{Inputs, RtlWindow, build};

const CLOCKS: u32 = 1_000_000;

fn main() -> anyhow::Result<()> {
    for (w, r) in [(64, 16), (256, 64)] {
        let config = ReceiverConfig {
            w,
            r,
            ..ReceiverConfig::default()
        };
        let mut rtl = RtlWindow::new(&build(w, r, false)?, &config)?;
        let packets = 1 << 21;
        let connect = Connect {
            src: 1,
            slot: 0,
            xid: 1,
            incarnation: 0,
            length: packets << 8,
            addr: 0,
            rkey: 0,
            mtu: 8,
        };
        let mut inputs = Inputs {
            message: Some(Message::Connect(connect)),
            ..Inputs::default()
        };
        let open = loop {
            let s = rtl.clock(&inputs)?;
            if s.taken {
                inputs.message = None;
            }
            if let Some(message) = s.message {
                break message;
            }
        };
        let (mut pidx, mut accepted) = (0, 0u32);
        let started = Instant::now();
        for _ in 0..CLOCKS {
            inputs.message = Some(Message::Data(Data {
                src: 1,
                wptr: open.wptr,
                r#gen: open.generation,
                pidx,
                tail: false,
                round: 0,
                len: 256,
            }));
            let s = rtl.clock(&inputs)?;
            pidx += u32::from(s.taken);
            accepted += u32::from(s.decision.is_some_and(|d| d.reason == 0));
        }
        let seconds = started.elapsed().as_secs_f64();
        println!(
            "rw_window W={w} R={r}: {:.0} clocks/s, {:.4} packets accepted per clock",
            f64::from(CLOCKS) / seconds,
            f64::from(accepted) / f64::from(CLOCKS)
        );
    }
    Ok(())
}
