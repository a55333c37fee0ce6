//! What can be generated: blocks with the sizes on offer, and presets.
//!
//! Widths are const generics, so a size on offer is an instantiation here.

use crate::board::{BoardCard, BoardNic, Repeater, UsCard};
use crate::bulk::{BulkReceive, BulkSend, BulkTransmit};
use crate::card::{BulkCard, CardRegsBulk, CardTop};
use crate::emit::{Design, EmitError, emit_block};
use crate::link::{TlpLink, TlpUnits};
use crate::mac::{MacGmii, MacXgmii};
use crate::mb::{MbGenerator, MbRing};
use crate::pcie::{DmaRead, DmaWrite, PcieUsShim};
use crate::red::{RedFltSum, RedLane};
use crate::rw::{RwAccept, RwWindow};
use crate::switch::{RedEngine, RedSwitch, SwitchCore, SwitchTop};
use rust_hdl::prelude::Block;
use std::collections::BTreeMap;
use std::fmt;

/// A block with its sizes, as `--block B --set k=v` names it.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Name of the block: `rw_window`.
    pub block: &'static str,
    /// Sizes: `W` = 256, `R` = 64.
    pub sizes: Vec<(&'static str, usize)>,
    build: fn() -> Result<Design, EmitError>,
}

/// FPGAs that presets are made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fpga {
    /// Lattice ECP5.
    Ecp5,
    /// AMD UltraScale+.
    UltraScalePlus,
}

/// A set of blocks made for one purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    /// Name, also of its folder.
    pub name: &'static str,
    /// What it is for.
    pub purpose: &'static str,
    /// What it is made for; none if for simulation.
    pub fpga: Option<Fpga>,
    blocks: &'static [(&'static str, &'static [(&'static str, usize)])],
}

/// The presets, in the order in which they are generated.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "sim",
        purpose: "small tables, fast to build and to simulate",
        fpga: None,
        blocks: &[
            ("card", &[("Q", 16), ("R", 32), ("F", 64)]),
            (
                "bulk_card",
                &[
                    ("Q", 16),
                    ("R", 32),
                    ("F", 64),
                    ("S", 16),
                    ("V", 16),
                    ("W", 64),
                ],
            ),
            ("red_lane", &[]),
            ("rw_window", &[("W", 64), ("R", 16)]),
            ("switch", &[("N", 4), ("U", 64), ("T", 64)]),
            ("us_card", &[("Q", 16), ("R", 32), ("F", 64)]),
        ],
    },
    Preset {
        name: "versa-45f",
        purpose: "ECP5-5G Versa (LFE5UM5G-45F), open flow; each block fits by itself",
        fpga: Some(Fpga::Ecp5),
        blocks: &[
            ("card", &[("Q", 16), ("R", 32), ("F", 64)]),
            ("mac_gmii", &[]),
            ("board_nic", &[("C", 22)]),
            ("repeater", &[("C", 22)]),
            ("tlp_link", &[("B", 1024), ("R", 1024), ("U", 64)]),
            ("tlp_units", &[("D", 128)]),
        ],
    },
    Preset {
        name: "ecp5-85f",
        purpose: "Lattice ECP5 85F, open flow; each block fits by itself",
        fpga: Some(Fpga::Ecp5),
        blocks: &[
            ("card", &[("Q", 64), ("R", 256), ("F", 1024)]),
            ("red_lane", &[]),
            ("rw_window", &[("W", 256), ("R", 64)]),
            ("switch", &[("N", 4), ("U", 1024), ("T", 512)]),
        ],
    },
    Preset {
        name: "au50",
        purpose: "AMD Alveo U50",
        fpga: Some(Fpga::UltraScalePlus),
        blocks: &[
            ("card", &[("Q", 1024), ("R", 4096), ("F", 4096)]),
            ("mac_xgmii", &[]),
            ("us_card", &[("Q", 1024), ("R", 4096), ("F", 4096)]),
            ("red_lane", &[]),
            ("rw_window", &[("W", 1024), ("R", 512)]),
            ("switch", &[("N", 16), ("U", 4096), ("T", 8192)]),
        ],
    },
];

/// A name or size that is not on offer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CatalogError {
    /// No such block.
    #[error("there is no block `{0}`; there are {1}")]
    Block(String, String),
    /// No such preset.
    #[error("there is no preset `{0}`; there are {1}")]
    Preset(String, String),
    /// The block has no such parameter.
    #[error("`{block}` has no parameter `{name}`; it has {known}")]
    Parameter {
        /// Block.
        block: String,
        /// Parameter asked for.
        name: String,
        /// Parameters it has.
        known: String,
    },
    /// The size is not on offer.
    #[error("{name} = {value} is not on offer for `{block}`: {on_offer}")]
    Size {
        /// Block.
        block: String,
        /// Parameter.
        name: String,
        /// Size asked for.
        value: usize,
        /// Sizes on offer.
        on_offer: String,
    },
    /// The writer refused the block.
    #[error(transparent)]
    Emit(#[from] EmitError),
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.block)?;
        self.sizes
            .iter()
            .try_for_each(|(k, v)| write!(f, " {k}={v}"))
    }
}

impl Choice {
    /// Writes the block's Verilog.
    ///
    /// # Errors
    /// The writer refuses a construct of the block.
    pub fn emit(&self) -> Result<Design, EmitError> {
        (self.build)()
    }
}

impl Preset {
    /// The blocks of the preset.
    ///
    /// # Errors
    /// A block or size is not in the catalog.
    pub fn choices(&self) -> Result<Vec<Choice>, CatalogError> {
        self.blocks
            .iter()
            .map(|(block, sizes)| choose(block, sizes))
            .collect()
    }
}

/// The preset called `name`.
///
/// # Errors
/// There is none.
pub fn preset(name: &str) -> Result<&'static Preset, CatalogError> {
    PRESETS
        .iter()
        .find(|p| p.name == name)
        .ok_or_else(|| CatalogError::Preset(name.to_owned(), list(PRESETS.iter().map(|p| p.name))))
}

/// The block called `block` in the sizes given; the others are the smallest on offer.
///
/// # Errors
/// Unknown block, parameter or size.
pub fn choose(block: &str, sizes: &[(impl AsRef<str>, usize)]) -> Result<Choice, CatalogError> {
    let all = choices();
    let mut left: Vec<Choice> = all.iter().filter(|c| c.block == block).cloned().collect();
    let Some(first) = left.first() else {
        let mut names: Vec<&str> = all.iter().map(|c| c.block).collect();
        names.dedup();
        return Err(CatalogError::Block(
            block.to_owned(),
            list(names.into_iter()),
        ));
    };
    let known: Vec<&str> = first.sizes.iter().map(|(k, _)| *k).collect();
    for (name, value) in sizes {
        let name = name.as_ref();
        if !known.contains(&name) {
            return Err(CatalogError::Parameter {
                block: block.to_owned(),
                name: name.to_owned(),
                known: list(known.iter().copied()),
            });
        }
        let size = |c: &Choice| {
            c.sizes
                .iter()
                .find(|(k, _)| *k == name)
                .map_or(0, |(_, v)| *v)
        };
        let on_offer: BTreeMap<usize, ()> = left.iter().map(|c| (size(c), ())).collect();
        left.retain(|c| size(c) == *value);
        if left.is_empty() {
            let numbers: Vec<String> = on_offer.keys().map(ToString::to_string).collect();
            return Err(CatalogError::Size {
                block: block.to_owned(),
                name: name.to_owned(),
                value: *value,
                on_offer: list(numbers.iter().map(String::as_str)),
            });
        }
    }
    left.into_iter()
        .next()
        .ok_or_else(|| CatalogError::Block(block.to_owned(), String::new()))
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

type Built = Result<Design, EmitError>;

fn build<B: Block + Default>() -> Built {
    on_a_large_stack(|| emit_block(&mut B::default()))
}

/// A block is a struct of all that is in it, and a thread of a test has no room for a card with its link.
fn on_a_large_stack(build: fn() -> Built) -> Built {
    const BYTES: usize = 64 << 20;
    let thread = std::thread::Builder::new().stack_size(BYTES);
    match thread.spawn(build).map(std::thread::JoinHandle::join) {
        Ok(Ok(built)) => built,
        Ok(Err(panic)) => std::panic::resume_unwind(panic),
        // There is no thread to be had: this one's stack has to do.
        Err(_) => build(),
    }
}

/// Bits that count to `size`, a power of 2.
const fn log2(size: usize) -> usize {
    assert!(size.is_power_of_two(), "sizes are powers of 2");
    size.ilog2() as usize
}

/// Bits of a word of the bitmap of `window` packets.
const fn word(window: usize) -> usize {
    if window > 256 { 64 } else { 32 }
}

/// Words of that bitmap.
const fn words(window: usize) -> usize {
    window / word(window)
}

/// Entries of peers, more than any card has windows.
const PEERS: usize = 1024;

/// Windows of W packets each, R of them.
macro_rules! windows {
    ($($w:literal: [$($r:literal),+]),+) => {
        vec![$($(
            Choice {
                block: "rw_window",
                sizes: vec![("W", $w), ("R", $r)],
                build: build::<RwWindow<
                    { log2($r) }, $w, { log2($w) },
                    { word($w) }, { log2(word($w)) }, { words($w) }, { log2(words($w)) },
                    { log2($r * words($w)) }, { log2((1 << 22) / word($w)) },
                    { log2(8 * $r) }, { 16 + log2($r) },
                    { log2(PEERS) }, { log2(PEERS / 4) },
                >>,
            },
            Choice {
                block: "rw_accept",
                sizes: vec![("W", $w), ("R", $r)],
                build: build::<RwAccept<
                    { log2($r) }, $w, { log2($w) },
                    { word($w) }, { log2(word($w)) }, { log2(words($w)) },
                    { log2($r * words($w)) },
                >>,
            },
        )+)+]
    };
}

/// Queues of a switch, words.
const QUEUE: usize = 512;

/// Switches of N ports, U nodes and T trees.
macro_rules! switches {
    ($($n:literal: [$($u:literal x $t:literal),+]),+) => {
        vec![$($(
            switches!("switch_core", SwitchCore, $n, $u, $t),
            switches!("red_switch", RedSwitch, $n, $u, $t),
            switches!("switch", SwitchTop, $n, $u, $t),
        )+)+]
    };
    ($name:literal, $block:ident, $n:literal, $u:literal, $t:literal) => {
        Choice {
            block: $name,
            sizes: vec![("N", $n), ("Q", QUEUE), ("U", $u), ("T", $t)],
            build: build::<$block<
                $n, { log2(QUEUE) }, { log2(128 * QUEUE) }, { log2($u) }, { log2($t) }, { 27 + $n },
            >>,
        }
    };
}

/// Cards of Q queue pairs, R regions and F requests in flight.
macro_rules! cards {
    ($($q:literal x $r:literal x $f:literal),+) => {
        vec![$(cards!("card", CardTop, $q, $r, $f)),+]
    };
    ($name:literal, $block:ident, $q:literal, $r:literal, $f:literal) => {
        Choice {
            block: $name,
            sizes: vec![("Q", $q), ("R", $r), ("F", $f)],
            build: {
                const { assert!($q <= 1024, "contexts of reads name a queue pair in 10 bits") };
                build::<$block<{ log2($q) }, { log2($r) }, { log2($f) }, { log2(16 * $q) }>>
            },
        }
    };
}

/// Cards with bulk transfers: S transfers sent at once, V windows of W packets.
macro_rules! bulk_cards {
    ($($q:literal x $r:literal x $f:literal, $s:literal, $v:literal x $w:literal);+) => {
        vec![$(Choice {
            block: "bulk_card",
            sizes: vec![("Q", $q), ("R", $r), ("F", $f), ("S", $s), ("V", $v), ("W", $w)],
            build: build::<BulkCard<
                { log2($q) }, { log2($r) }, { log2($f) }, { log2(16 * $q) },
                { log2($v) }, $v, $w, { log2($w) },
                { word($w) }, { log2(word($w)) }, { words($w) }, { log2(words($w)) },
                { log2($v * words($w)) }, { log2((1 << 22) / word($w)) },
                { log2(8 * $v) }, { 16 + log2($v) },
                { log2(PEERS) }, { log2(PEERS / 4) },
                $s, { log2($s) }, { if $s < 32 { 5 } else { log2($s) } },
                { log2(SPAN) }, { log2(SPAN * $s) }, { log2(32 * $s) },
                { log2(FETCHED) }, READS, { log2(READS) },
            >>,
        }),+]
    };
}

/// Receiving sides of bulk transfers: R windows of W packets, Q queue pairs.
macro_rules! receivers {
    ($($w:literal x $r:literal x $q:literal),+) => {
        vec![$(Choice {
            block: "bulk_receive",
            sizes: vec![("W", $w), ("R", $r), ("Q", $q)],
            build: build::<BulkReceive<
                { log2($q) }, { log2($r) }, $r, $w, { log2($w) },
                { word($w) }, { log2(word($w)) }, { words($w) }, { log2(words($w)) },
                { log2($r * words($w)) }, { log2((1 << 22) / word($w)) },
                { log2(8 * $r) }, { 16 + log2($r) },
                { log2(PEERS) }, { log2(PEERS / 4) },
            >>,
        }),+]
    };
}

/// Packets of a transfer of which `bulk_send` keeps track.
const SPAN: usize = 512;

/// Sending sides of S transfers, with bitmaps in words of B bits.
macro_rules! senders {
    ($($s:literal x $b:literal),+) => {
        vec![$(Choice {
            block: "bulk_send",
            sizes: vec![("S", $s), ("B", $b)],
            build: build::<BulkSend<
                $s, { log2($s) }, { if $s < 32 { 5 } else { log2($s) } },
                { log2(SPAN) }, { log2(SPAN * $s) }, { log2(32 * $s) },
                $b, { log2($b) }, { log2(1024 / $b) },
            >>,
        }),+]
    };
}

/// Words of payload that a card keeps between host memory and the line: four of the largest packets.
const FETCHED: usize = 2048;

/// READs of its host that a card has under way.
const READS: usize = 16;

/// Sending sides of bulk transfers in a card, beside one with 64 windows: S transfers, Q queue pairs.
macro_rules! transmitters {
    ($($s:literal x $q:literal),+) => {
        vec![$(Choice {
            block: "bulk_transmit",
            sizes: vec![("S", $s), ("Q", $q)],
            build: build::<BulkTransmit<
                $s, { log2($s) }, { if $s < 32 { 5 } else { log2($s) } },
                { log2(SPAN) }, { log2(SPAN * $s) }, { log2(32 * $s) },
                { log2($q) }, { log2(FETCHED) }, READS, { log2(READS) }, { log2(64) },
            >>,
        }),+]
    };
}

/// Schedule rings of G groups.
macro_rules! rings {
    ($($g:literal),+) => {
        vec![$(Choice {
            block: "mb_ring",
            sizes: vec![("G", $g)],
            build: build::<MbRing<{ log2($g) }, { log2(256 * $g) }, { log2(32 * $g) }>>,
        }),+]
    };
}

/// Repeaters with PHYs whose reset takes 2^C clocks; delays of their pads are RX and TX steps.
macro_rules! repeaters {
    ($($rx:literal, $tx:literal, $c:literal);+) => {
        vec![$(Choice {
            block: "repeater",
            sizes: vec![("RX", $rx), ("TX", $tx), ("C", $c)],
            build: build::<Repeater<$rx, $tx, $c>>,
        }),+]
    };
}

/// Cards of Q queue pairs, R regions and F requests in flight on boards; RX, TX and C as of repeaters, and a link that sends
/// again after 2^T clocks.
macro_rules! nics {
    ($($q:literal x $r:literal x $f:literal, $rx:literal, $tx:literal, $c:literal, $t:literal);+) => {
        vec![$(Choice {
            block: "board_nic",
            sizes: vec![
                ("Q", $q), ("R", $r), ("F", $f), ("RX", $rx), ("TX", $tx), ("C", $c), ("T", $t),
            ],
            build: build::<BoardNic<
                { log2($q) }, { log2($r) }, { log2($f) }, { log2(16 * $q) }, $rx, $tx, $c, $t,
            >>,
        }),+]
    };
}

/// Ends of the link with room for B words that came, and for R words and U units that may have to be sent again.
macro_rules! links {
    ($($b:literal x $r:literal x $u:literal),+) => {
        vec![$(Choice {
            block: "tlp_link",
            sizes: vec![("B", $b), ("R", $r), ("U", $u)],
            build: build::<TlpLink<{ log2($b) }, { log2($r) }, { log2($u) }>>,
        }),+]
    };
}

/// What joins a link to a card: units from the host have D words at most.
macro_rules! joints {
    ($($d:literal),+) => {
        vec![$(Choice {
            block: "tlp_units",
            sizes: vec![("D", $d)],
            build: build::<TlpUnits<{ log2($d) }, { log2($d) + 1 }>>,
        }),+]
    };
}

/// Every block in every size on offer, smallest first.
#[must_use]
pub fn choices() -> Vec<Choice> {
    let mut all = windows![
        64: [16, 64, 512],
        256: [16, 64, 512],
        1024: [16, 64, 512]
    ];
    all.push(Choice {
        block: "red_flt_sum",
        sizes: vec![],
        build: build::<RedFltSum>,
    });
    all.push(Choice {
        block: "red_lane",
        sizes: vec![],
        build: build::<RedLane>,
    });
    all.push(Choice {
        block: "mb_generator",
        sizes: vec![],
        build: build::<MbGenerator>,
    });
    all.extend(rings![16, 64]);
    all.push(Choice {
        block: "red_engine",
        sizes: vec![("T", 8)],
        build: build::<RedEngine>,
    });
    all.extend(switches![
        4: [64 x 64, 1024 x 512, 4096 x 8192],
        8: [64 x 64, 1024 x 512, 4096 x 8192],
        16: [64 x 64, 4096 x 8192],
        32: [4096 x 8192],
        64: [4096 x 8192]
    ]);
    all.extend(senders![16 x 64, 16 x 512, 64 x 64, 256 x 64]);
    all.extend(receivers![64 x 16 x 16, 256 x 64 x 64, 1024 x 64 x 64]);
    all.extend(transmitters![16 x 16, 16 x 64, 64 x 64]);
    all.extend(cards![
        16 x 32 x 64,
        64 x 256 x 1024,
        1024 x 4096 x 4096
    ]);
    all.push(Choice {
        block: "card_regs_bulk",
        sizes: vec![],
        build: build::<CardRegsBulk>,
    });
    all.extend(bulk_cards!(16 x 32 x 64, 16, 16 x 64; 16 x 32 x 64, 16, 64 x 256));
    all.push(cards!("board_card", BoardCard, 16, 32, 64));
    all.push(cards!("us_card", UsCard, 16, 32, 64));
    all.push(cards!("us_card", UsCard, 1024, 4096, 4096));
    all.push(Choice {
        block: "pcie_us_shim",
        sizes: vec![],
        build: build::<PcieUsShim>,
    });
    // The PHYs of the ECP5-5G Versa delay both clocks themselves. The short reset is for simulation.
    all.extend(repeaters![0, 0, 8; 0, 0, 22]);
    all.extend(nics![16 x 32 x 64, 0, 0, 8, 13; 16 x 32 x 64, 0, 0, 22, 17]);
    // The smallest is for simulation: it is full all the time.
    all.extend(links![64 x 64 x 4, 1024 x 1024 x 64, 2048 x 2048 x 64]);
    all.extend(joints![16, 128]);
    all.push(Choice {
        block: "dma_read",
        sizes: vec![],
        build: build::<DmaRead>,
    });
    all.push(Choice {
        block: "mac_gmii",
        sizes: vec![],
        build: build::<MacGmii>,
    });
    all.push(Choice {
        block: "mac_xgmii",
        sizes: vec![],
        build: build::<MacXgmii>,
    });
    all.push(Choice {
        block: "dma_write",
        sizes: vec![],
        build: build::<DmaWrite>,
    });
    all.sort_by_key(|c| (c.block, c.sizes.clone()));
    all
}
