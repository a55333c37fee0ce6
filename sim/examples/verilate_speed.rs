//! How many clocks a second Rust can drive a Verilated block whose 40 ports are all touched in
//! every clock: `cargo run --release -p tributary-sim --example verilate_speed`.

use std::time::Instant;

use tributary_sim::verilate::{BuildOptions, Direction, Verilated};

const CLOCKS: u64 = 1_000_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let text = include_str!("../tests/verilog/forty_ports.v");
    let start = Instant::now();
    let library = Verilated::build(&BuildOptions::new(
        "forty_ports",
        &[("forty_ports.v", text)],
    ))?;
    println!("built or opened in {:.3} s", start.elapsed().as_secs_f64());

    let mut model = library.model()?;
    model.reset(2)?;
    let ports = |prefix: &str, way| {
        let ports: Vec<_> = library
            .ports()
            .filter(|(name, port)| name.starts_with(prefix) && port.direction() == way)
            .map(|(_, port)| port)
            .collect();
        ports
    };
    let inputs = ports("i_", Direction::Input);
    let outputs = ports("o_", Direction::Output);
    println!("{} inputs, {} outputs", inputs.len(), outputs.len());

    let mut random = 1_u64;
    let mut seen = 0;
    let mut wide = [0_u64; 4];
    let start = Instant::now();
    for _ in 0..CLOCKS {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        for &port in &inputs {
            if port.width() > 64 {
                model.set_wide(port, &[random; 4])?;
            } else {
                model.set(port, random);
            }
        }
        model.clock()?;
        for &port in &outputs {
            if port.width() > 64 {
                model.get_wide(port, &mut wide)?;
                seen ^= wide[0];
            } else {
                seen ^= model.get(port);
            }
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{:.0} clocks/s (outputs fold to {seen:016x})",
        CLOCKS as f64 / seconds
    );
    Ok(())
}
