//! Which tests exercise which block.
//!
//! Only tests that run the Verilog are of use; of those named here, `runs.rs` finds out by
//! itself which ones build the block. A block's own bench comes first, whole cards and switches
//! last: what a bench of its own kills costs a second, a whole card a minute.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::workspace;

/// A test binary: package and name.
pub type Binary = (&'static str, &'static str);

const HDL: &str = "tributary-hdl";
const SIM: &str = "tributary-sim";

const CONTROL: Binary = (HDL, "card_control");
const JOINTS: Binary = (HDL, "card_joints");
const ONESIDED: Binary = (HDL, "card_onesided");
const RECV: Binary = (HDL, "card_recv");
const SEND: Binary = (HDL, "card_send");
const PCIE: Binary = (HDL, "pcie");
const PCIE_US: Binary = (SIM, "pcie_us_lockstep");
const LINE: Binary = (HDL, "xud_line");
const CARD: Binary = (SIM, "card_rtl");
const ENGINE: Binary = (SIM, "red_engine");
const LANE: Binary = (SIM, "red_lane");
const RED_SWITCH: Binary = (SIM, "red_switch");
const CORE: Binary = (SIM, "switch_core");
const REGS: Binary = (SIM, "switch_regs");
const WINDOW: Binary = (SIM, "rw_lockstep");
const BULK_RECEIVE: Binary = (SIM, "bulk_receive");
const BULK_SEND: Binary = (SIM, "bulk_lockstep");
const BULK_TRANSMIT: Binary = (SIM, "bulk_transmit");
const DRIVER: Binary = (SIM, "host_driver");

/// Blocks that share their tests, by base name: the module's name without its sizes.
struct Group {
    blocks: &'static [&'static str],
    binaries: &'static [Binary],
}

const GROUPS: [Group; 25] = [
    Group {
        blocks: &[
            "card_cq",
            "card_cq_indices",
            "card_cq_moderation",
            "card_cq_write",
            "card_regions",
            "card_regions_look",
            "card_regs",
            "card_regs_bulk",
            "card_regs_bulk_times",
            "card_regs_command",
            "card_regs_msix",
            "card_regs_stats",
        ],
        binaries: &[CONTROL, CARD],
    },
    Group {
        blocks: &[
            "card_onesided",
            "card_onesided_check",
            "card_onesided_run",
            "card_onesided_tables",
        ],
        binaries: &[ONESIDED, CARD],
    },
    Group {
        blocks: &[
            "card_recv",
            "card_recv_acks",
            "card_recv_check",
            "card_recv_doorbell",
            "card_recv_fetch",
            "card_recv_fill",
            "card_recv_notices",
            "card_recv_store",
        ],
        binaries: &[RECV, CARD],
    },
    Group {
        blocks: &[
            "card_send",
            "card_send_doorbell",
            "card_send_ended",
            "card_send_entry",
            "card_send_list",
            "card_send_reads",
            "card_send_record",
            "card_send_turn",
        ],
        binaries: &[SEND, CARD],
    },
    Group {
        blocks: &[
            "card_ack_merge",
            "card_completions",
            "card_contexts",
            "card_read_mux",
            "card_reserve_merge",
            "card_rx_gate",
            "card_send_merge",
            "card_send_queue",
            "card_send_room",
            "card_tx_first",
            "card_tx_guard",
            "card_write_order",
        ],
        binaries: &[JOINTS, CARD],
    },
    Group {
        blocks: &["bulk_card", "card", "card_core", "card_regs_congestion"],
        binaries: &[CARD],
    },
    Group {
        blocks: &[
            "card_regs_rings",
            "card_ring_ends",
            "card_ring_pairs",
            "card_ring_reads",
            "card_rings",
        ],
        binaries: &[JOINTS, DRIVER],
    },
    Group {
        blocks: &[
            "card_reduce",
            "card_reduce_answer",
            "card_reduce_land",
            "card_reduce_receive",
            "card_reduce_root",
            "card_reduce_send",
            "card_reduce_table",
            "card_regs_reduce",
        ],
        binaries: &[JOINTS, CARD],
    },
    Group {
        blocks: &["bulk_depart", "bulk_ends"],
        binaries: &[JOINTS, CARD],
    },
    Group {
        blocks: &["bulk_inbox", "bulk_looks", "bulk_scan", "bulk_wants"],
        binaries: &[JOINTS, BULK_SEND, BULK_TRANSMIT, CARD],
    },
    Group {
        blocks: &["bulk_reads", "bulk_serve"],
        binaries: &[JOINTS, BULK_TRANSMIT, CARD],
    },
    Group {
        blocks: &[
            "bulk_answer",
            "bulk_check",
            "bulk_land",
            "bulk_notify",
            "bulk_receive",
            "bulk_sort",
            "bulk_watch",
        ],
        binaries: &[JOINTS, BULK_RECEIVE, CARD],
    },
    Group {
        blocks: &[
            "bulk_begin",
            "bulk_fetch",
            "bulk_limits",
            "bulk_marks",
            "bulk_pack",
            "bulk_transmit",
            "bulk_works",
        ],
        binaries: &[BULK_TRANSMIT, CARD],
    },
    Group {
        blocks: &[
            "bulk_engine",
            "bulk_hear",
            "bulk_pace",
            "bulk_plan",
            "bulk_queue",
            "bulk_send",
            "bulk_turns",
        ],
        binaries: &[BULK_SEND, BULK_TRANSMIT],
    },
    Group {
        blocks: &[
            "dma_completions",
            "dma_deliver",
            "dma_read",
            "dma_split",
            "dma_tags",
            "dma_write",
            "dma_write_mux",
            "dma_write_returns",
            "pcie_completer",
        ],
        binaries: &[PCIE, CARD],
    },
    Group {
        blocks: &[
            "pcie_us_cc",
            "pcie_us_config",
            "pcie_us_cq",
            "pcie_us_rc",
            "pcie_us_rq",
            "pcie_us_rq_beats",
            "pcie_us_seq",
            "pcie_us_shim",
        ],
        binaries: &[PCIE_US],
    },
    Group {
        blocks: &[
            "bulk_line",
            "xud_deadlines",
            "xud_end",
            "xud_icrc",
            "xud_inflight",
            "xud_keep",
            "xud_place",
            "xud_rx",
            "xud_rx_buffer",
            "xud_rx_header",
            "xud_rx_sum",
            "xud_tx",
            "xud_tx_buffer",
            "xud_tx_gather",
            "xud_tx_items",
        ],
        binaries: &[LINE, CARD],
    },
    Group {
        blocks: &[
            "red_compare",
            "red_flt_add",
            "red_flt_align",
            "red_flt_control",
            "red_flt_lead",
            "red_flt_normalise",
            "red_flt_round",
            "red_half_add",
            "red_half_align",
            "red_half_compare",
            "red_lane",
            "red_lane_choose",
            "red_lane_pick",
        ],
        binaries: &[LANE, ENGINE],
    },
    Group {
        blocks: &[
            "red_accumulate",
            "red_buffer",
            "red_emit",
            "red_engine",
            "red_events",
            "red_match",
            "red_together",
        ],
        binaries: &[ENGINE, RED_SWITCH, REGS],
    },
    Group {
        blocks: &["red_switch"],
        binaries: &[RED_SWITCH, REGS],
    },
    Group {
        blocks: &["switch_counters", "switch_regs"],
        binaries: &[REGS, RED_SWITCH],
    },
    Group {
        blocks: &["switch"],
        binaries: &[REGS, CORE, RED_SWITCH],
    },
    Group {
        blocks: &[
            "red_check",
            "switch_core",
            "switch_crosspoint",
            "switch_look",
            "switch_out",
            "switch_reader",
            "switch_row",
            "switch_rx",
            "switch_together",
            "switch_tx",
        ],
        binaries: &[CORE, REGS, RED_SWITCH],
    },
    Group {
        blocks: &[
            "rw_accept",
            "rw_acks",
            "rw_bytes",
            "rw_control",
            "rw_counts",
            "rw_decisions",
            "rw_peers",
            "rw_slide",
        ],
        binaries: &[WINDOW],
    },
    Group {
        blocks: &["rw_window"],
        binaries: &[WINDOW],
    },
];

/// All blocks, those that share their tests together.
fn all() -> Vec<Vec<&'static str>> {
    GROUPS.iter().map(|group| group.blocks.to_vec()).collect()
}

/// These blocks, those that share their tests together; `all` for every block.
pub fn grouped(names: &[String]) -> Result<Vec<Vec<&'static str>>> {
    for name in names.iter().filter(|name| *name != "all") {
        binaries(name)?;
    }
    let wanted = |block: &&str| names.iter().any(|name| name == block || name == "all");
    let groups = all()
        .into_iter()
        .map(|group| group.into_iter().filter(wanted).collect());
    Ok(groups.filter(|group: &Vec<_>| !group.is_empty()).collect())
}

/// The tests of a block, in the order in which they are tried.
pub fn binaries(block: &str) -> Result<&'static [Binary]> {
    for group in &GROUPS {
        if group.blocks.contains(&block) {
            return Ok(group.binaries);
        }
    }
    let mut names = all().concat();
    names.sort_unstable();
    bail!("no block `{block}`; there are: {}", names.join(", "))
}

/// The name of a module without its sizes: `card_cq` of `card_cq_q16`.
pub fn base(module: &str) -> &str {
    let mut base = module;
    while let Some((front, last)) = base.rsplit_once('_') {
        let mut chars = last.chars();
        let is_size = chars.next().is_some_and(|c| c.is_ascii_lowercase())
            && !chars.as_str().is_empty()
            && chars.all(|c| c.is_ascii_digit());
        if !is_size {
            break;
        }
        base = front;
    }
    base
}

/// The sources of a preset, by the list in its folder.
pub fn sources(preset: &Path) -> Result<Vec<PathBuf>> {
    let list = preset.join("files.f");
    let text = fs::read_to_string(&list)
        .with_context(|| format!("cannot read {}", workspace::shown(&list)))?;
    Ok(text.lines().map(|file| preset.join(file)).collect())
}

/// The module that a source holds.
pub fn module_of(source: &Path) -> String {
    let stem = source.file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn blocks_are_run_with_those_of_their_group() {
        let of = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            grouped(&names)
        };
        let groups = of(&["red_lane", "rw_acks", "red_compare"]).unwrap();
        assert_eq!(groups, [vec!["red_compare", "red_lane"], vec!["rw_acks"]]);
        assert_eq!(of(&["all"]).unwrap(), all());
        assert!(of(&["red_lane", "red_line"]).is_err());
    }

    #[test]
    fn sizes_are_no_part_of_a_base_name() {
        for (module, expected) in [
            ("card_q16_r32_f64", "card"),
            ("red_emit", "red_emit"),
            ("rw_counts_d16", "rw_counts"),
            ("switch_n4_d512_u64_t64", "switch"),
        ] {
            assert_eq!(base(module), expected);
        }
    }

    #[test]
    fn every_block_of_card_switch_and_window_is_in_the_table() {
        let families = ["bulk", "card", "dma", "pcie", "red", "rw", "switch", "xud"];
        let dir = workspace::root().join("rtl_out").join("sim");
        let mut generated = BTreeSet::new();
        for path in sources(&dir).unwrap() {
            let module = module_of(&path);
            let block = base(&module);
            if families.contains(&block.split('_').next().unwrap()) {
                generated.insert(block.to_owned());
            }
        }
        let all = all().concat();
        let listed: BTreeSet<String> = all.iter().map(|&block| block.to_owned()).collect();
        assert_eq!(listed.len(), all.len(), "a block stands in two groups");
        assert_eq!(listed, generated);
    }
}
