//! The switch as a C header and as a page.

use std::fmt::Write;

use tributary_protocol::red::regs;

use super::{c, page as p};

/// The header.
pub fn header() -> String {
    let mut out = String::new();
    let prefix = "trib_switch";
    for (doc, name, value) in [
        ("Registers of port 0.", "ports_base", regs::PORTS_BASE),
        (
            "Bytes from those of one port to the next.",
            "port_stride",
            regs::PORT_STRIDE,
        ),
    ] {
        c::comment(&mut out, doc);
        c::define(
            &mut out,
            &format!("{prefix}_{name}"),
            format_args!("0x{value:x}u"),
        );
    }
    c::registers(
        &mut out,
        prefix,
        "Registers of the switch: byte offsets",
        regs::GLOBAL,
    );
    c::registers(
        &mut out,
        prefix,
        "Registers of a port: offsets within its block",
        regs::PORT,
    );
    out.push('\n');
    c::header(
        "TRIBUTARY_SWITCH_H",
        "Registers of the switch. Of a field F: F_SHIFT lowest bit, F_WIDTH bits, F_MASK in place.",
        &out,
    )
}

/// The page.
pub fn page() -> String {
    let mut out = p::page("Switch: registers", "protocol/src/red/regs.rs");
    out += "\nRegisters have 32 bits. Bits without a field read as 0. Answered SLVERR, without effect: an access where nothing is, or to a port that the \
            switch does not have; a write to a register that can only be read, with a one in a bit without a field, or of an index beyond its table. \
            So a number that is too large is not taken for its lower bits. Ports in entries of tables that the switch does not have: a child is \
            left out, frames towards a parent or an endnode there are dropped and counted in `no_route`.\n";
    p::registers(&mut out, "AXI4-Lite", regs::GLOBAL);
    let _ = writeln!(
        out,
        "\nRegisters of port p: 0x{:x} + 0x{:x} · p.",
        regs::PORTS_BASE,
        regs::PORT_STRIDE
    );
    p::registers(&mut out, "A port", regs::PORT);
    out
}
