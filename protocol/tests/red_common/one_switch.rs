//! A switch with one tree, and frames for it.

use super::frame;
use tributary_protocol::red::{switch::*, wire::DEFAULT_ETHERTYPE, *};

/// The reduction.
pub const KEY: Key = Key {
    tree: 9,
    reduction: 1,
};
/// Port towards its root.
pub const ROOT: u8 = 4;

/// Five ports, nothing set.
pub fn blank() -> Switch {
    Switch::new(SwitchConfig {
        ports: 5,
        unicast_bits: 4,
        multicast_bits: 6,
        ..SwitchConfig::default()
    })
    .expect("legal")
}

/// Five ports; tree 9 has its root at port 4 and children 0 to 2; node n is at port n.
pub fn switch(wait: u32) -> Switch {
    let mut sw = blank();
    for port in 0..5 {
        let address = Address::unicast(0x100 + u32::from(port), 0);
        sw.set_port(
            port,
            PortSettings {
                enable: true,
                engine: true,
                address,
            },
        )
        .expect("port");
        sw.set_unicast(port.into(), Some(port)).expect("entry");
    }
    sw.set_multicast(
        KEY.tree,
        Some(Tree {
            parent: ROOT,
            children: 0b111,
            wait,
        }),
    )
    .expect("entry");
    sw
}

/// A frame as it is on the line.
pub fn bytes(f: &Frame) -> Vec<u8> {
    f.to_bytes(DEFAULT_ETHERTYPE).to_vec()
}

/// A contribution to [`KEY`].
pub fn up(source: u8, word: u64) -> Vec<u8> {
    bytes(&frame(KEY.address(), source.into(), Op::IntSum, [word; 4]))
}

/// The arm frame of [`KEY`].
pub fn arm() -> Vec<u8> {
    let mut f = frame(KEY.address(), 99, Op::Barrier, [0; 4]);
    (f.red.arm, f.red.count, f.red.pad) = (true, 0, 5);
    bytes(&f)
}
