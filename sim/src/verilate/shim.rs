//! The C++ between Verilator's class and Rust: a handful of `extern "C"` functions.

use std::fmt::Write;

use super::options::BuildOptions;
use super::ports::{Declaration, Direction};

/// Raised with every change of the functions below.
pub(super) const ABI: u32 = 1;

/// What every shim is made of, besides its table of ports.
pub(super) const TEMPLATE: &str = include_str!("shim.cpp");

/// The shim of a model with these ports.
pub(super) fn text(options: &BuildOptions, ports: &[Declaration]) -> String {
    let mut text = String::from("#include \"Vtrib.h\"\n");
    let _ = writeln!(text, "#define TRIB_ABI {ABI}");
    let _ = writeln!(text, "#define TRIB_TRACE {}", u8::from(options.trace));
    if let Some(clock) = ports
        .iter()
        .find(|port| port.name == options.clock && port.width == 1)
    {
        let _ = writeln!(text, "#define TRIB_CLOCK {}", clock.member);
    }
    // Name, width, direction, address.
    text.push_str("#define TRIB_PORTS(PORT) \\\n");
    for port in ports {
        let _ = writeln!(
            text,
            "  PORT(\"{}\", {}, {}, {}) \\",
            port.name.replace('\\', "\\\\").replace('"', "\\\""),
            port.width,
            u8::from(port.direction == Direction::Output),
            port.member,
        );
    }
    text.push_str("\n\n");
    text.push_str(TEMPLATE);
    text
}
