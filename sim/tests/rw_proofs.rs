//! Invariants of the receiver window, proven on the emitted Verilog at small sizes.

use std::fs;
use std::path::PathBuf;
use std::process::Output;

use tributary_hdl::blocks::FreeList;
use tributary_hdl::emit::{Design, emit_block};
use tributary_hdl::rw::{RwAccept, RwControl, RwSlide};
use tributary_sim::tools::{Tools, target_dir};

const ACCEPT: &str = include_str!("rw_proofs/accept.v");
const FIFO: &str = include_str!("rw_proofs/fifo.v");
const FREE_LIST: &str = include_str!("rw_proofs/free_list.v");
const GENS: &str = include_str!("rw_proofs/gens.v");
const SLIDE: &str = include_str!("rw_proofs/slide.v");

/// The design's text with a memory module for each size, such as `ram_reg_w22_d2`: a proof looks into some of them only.
fn sized(design: &Design) -> String {
    let (memories, others): (Vec<_>, Vec<_>) =
        design.modules.iter().partition(|m| m.has_parameters);
    let others: Vec<&str> = others.iter().map(|m| m.text.as_str()).collect();
    let mut text = others.join("\n");
    for memory in memories {
        let head = format!("    {} #(.W(", memory.name);
        while let Some(at) = text.find(&head) {
            let values = &text[at + head.len()..];
            let (width, rest) = values.split_once("), .A(").unwrap();
            let (address, _) = rest.split_once(")) ").unwrap();
            let instance = format!("{head}{width}), .A({address})) ");
            let words = 1u32 << address.parse::<u32>().unwrap();
            let name = format!("{}_w{width}_d{words}", memory.name);
            let from = memory.text.find(") (").unwrap() + 2;
            let body = &memory.text[from..memory.text.rfind("endmodule").unwrap()];
            // Sizes as numbers, as `dump` and `cut` want them.
            let sizes = format!("localparam W = {width}, A = {address};");
            let body = body
                .replace("[W-1:0]", &format!("[{width}-1:0]"))
                .replace("[A-1:0]", &format!("[{address}-1:0]"))
                .replacen(");\n", &format!(");\n    {sizes}\n"), 1);
            let module = format!("module {name} {body}endmodule\n\n");
            text = text.replace(&instance, &format!("    {name} "));
            text.insert_str(0, &module);
        }
    }
    text
}

/// Emitted Verilog on its way to a proof.
struct Text {
    top: String,
    text: String,
}

impl Text {
    fn of(design: &Design) -> Self {
        Self {
            top: design.top.clone(),
            text: sized(design),
        }
    }

    fn replace(&mut self, from: &str, to: &str) {
        assert!(self.text.contains(from), "{from} is not in the text");
        self.text = self.text.replace(from, to);
    }

    /// Edits the text of one module.
    fn module(&mut self, name: &str, edit: impl FnOnce(&str) -> String) {
        let start = self.text.find(&format!("module {name} (")).unwrap();
        let end = start + self.text[start..].find("endmodule").unwrap();
        let edited = edit(&self.text[start..end]);
        self.text.replace_range(start..end, &edited);
    }

    fn append(&mut self, module: &str, property: &str) {
        self.module(module, |text| format!("{text}{property}"));
    }

    /// A port that shows what a module holds.
    fn port(&mut self, module: &str, width: usize) {
        let head = format!("module {module} (");
        let port = format!("{head}\n    output wire [{}:0] dump,", width - 1);
        self.replace(&head, &port);
    }

    fn dump(&mut self, module: &str, width: usize, value: &str) {
        self.port(module, width);
        self.append(module, &format!("    assign dump = {value};\n"));
    }

    /// The port of one instance, as `<instance>_dump`.
    fn see(&mut self, module: &str, instance: &str, width: usize) {
        let head = format!("    {module} {instance} (");
        let wire = format!("    wire [{}:0] {instance}_dump;\n", width - 1);
        self.replace(
            &head,
            &format!("{wire}{head}\n        .dump({instance}_dump),"),
        );
    }

    /// Tables begin with any contents.
    fn any_tables(&mut self) {
        let lines = self.text.lines();
        let kept = lines.filter(|line| !line.trim_start().starts_with("mem[i] = "));
        self.text = kept.collect::<Vec<_>>().join("\n");
    }

    /// A module delivers anything.
    fn cut(&mut self, module: &str, outputs: &[(&str, usize)]) {
        self.module(module, |text| {
            let ports = text.find(");").unwrap() + 2;
            let mut cut = text[..ports].replace("output reg ", "output wire") + "\n";
            for (output, width) in outputs {
                let top = width - 1;
                cut += &format!("    (* anyseq *) reg [{top}:0] any_{output};\n");
                cut += &format!("    assign {output} = any_{output};\n");
            }
            cut
        });
    }

    /// Prepares the text and runs the solver: whether it proved the assertions, and its words. A new solver for each question is
    /// several times faster here than one that keeps what it has learnt.
    fn check(&self, name: &str, defines: &str, arguments: &[&str]) -> (bool, String) {
        let dir: PathBuf = target_dir()
            .join("test-scratch")
            .join("rw-proofs")
            .join(name);
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("rtl.v"), &self.text).unwrap();
        let top = &self.top;
        let script = format!(
            "read_verilog -sv -formal {defines} rtl.v; prep -flatten -top {top}; \
             delete -port o:*; opt_clean -purge; memory_map; async2sync; dffunmap; \
             opt_clean -purge; write_smt2 -wires rtl.smt2"
        );
        let run = |tool: &str, arguments: &[&str]| -> Output {
            let mut command = Tools::find().unwrap().command(tool).unwrap();
            command.args(arguments).current_dir(&dir).output().unwrap()
        };
        let output = run("yosys", &["-q", "-p", &script]);
        assert!(output.status.success(), "{output:?}");
        let all = [
            &["-s", "z3", "--noincr", "--noprogress"],
            arguments,
            &["rtl.smt2"],
        ]
        .concat();
        let output = run("yosys-smtbmc", &all);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        fs::write(dir.join("log"), &text).unwrap();
        assert!(text.contains("Status: "), "{text} {output:?}");
        let proven = text.contains("Status: PASSED");
        assert_eq!(output.status.success(), proven, "{text}");
        (proven, text)
    }

    /// Induction, from a base case of `depth` clocks.
    fn prove(&self, name: &str, depth: &str) {
        for (mode, way) in [("base", &[][..]), ("step", &["-i"])] {
            let way = [way, &["--unroll", "-t", depth]].concat();
            let (proven, text) = self.check(&format!("{name}-{mode}"), "-DHELPERS", &way);
            assert!(proven, "{text}");
        }
    }

    fn refute(&self, name: &str, way: &[&str]) {
        let (proven, text) = self.check(name, "", way);
        assert!(!proven && text.contains("Assert failed"), "{text}");
    }
}

fn free_list() -> Text {
    let mut text = Text::of(&emit_block(&mut FreeList::<2>::default()).unwrap());
    text.dump(
        "ram_reg_w2_d4",
        10,
        "{array_out, mem[3], mem[2], mem[1], mem[0]}",
    );
    text.see("ram_reg_w2_d4", "words", 10);
    text.dump(
        "ram_async_w2_d4",
        8,
        "{storage[3], storage[2], storage[1], storage[0]}",
    );
    text.see("ram_async_w2_d4", "mem", 8);
    text.dump(
        "fifo_reg_w2_d4",
        14,
        "{full_reg, some_reg, tail_reg, head_reg, mem_dump}",
    );
    text.see("fifo_reg_w2_d4", "ahead", 14);
    text.port("fifo_bram_w2_d4", 10);
    text.append("fifo_bram_w2_d4", FIFO);
    text.see("fifo_bram_w2_d4", "queue", 10);
    text.append("free_list_d4", FREE_LIST);
    text
}

#[test]
fn p_13_free_and_held_windows_add_up_by_induction() {
    free_list().prove("p13", "4");
}

#[test]
fn p_13_an_id_handed_out_twice_is_refuted() {
    let mut text = free_list();
    text.module("fifo_reg_w2_d4", |module| {
        assert!(module.contains("head_reg <= head_next;"));
        module.replace("head_reg <= head_next;", "head_reg <= head_reg;")
    });
    text.refute("p13-bad", &["--unroll", "-t", "12"]);
}

fn gens() -> Text {
    let mut block = RwControl::<1, 16, 8, 3, 2, 1, 19, 4, 3, 1>::default();
    let mut text = Text::of(&emit_block(&mut block).unwrap());
    text.any_tables();
    text.dump("ram_reg_w16_d2", 48, "{array_out, mem[1], mem[0]}");
    text.see("ram_reg_w16_d2", "gens", 48);
    // Whatever the other tables and the free list say.
    for (module, width) in [
        ("ram_reg_w1_d2", 1),
        ("ram_reg_w125_d2", 125),
        ("ram_reg_w22_d2", 22),
        ("ram_reg_w38_d2", 38),
    ] {
        text.cut(module, &[("rd_data", width)]);
    }
    let outputs = [
        ("ready", 1),
        ("s_ready", 1),
        ("m_valid", 1),
        ("m_data", 1),
        ("count", 16),
    ];
    text.cut("free_list_d2", &outputs);
    let peer = [
        ("ready", 1),
        ("done", 1),
        ("m_found", 1),
        ("m_entry", 3),
        ("m_state", 3),
        ("m_wptr", 1),
        ("m_id", 48),
        ("forgotten", 1),
    ];
    text.cut("rw_peers_e8_r2", &peer);
    let top = text.top.clone();
    text.append(&top, GENS);
    text
}

#[test]
fn p_14_each_opening_raises_the_incarnation_by_one_by_induction() {
    gens().prove("p14", "6");
}

#[test]
fn p_14_an_incarnation_that_stays_is_refuted() {
    let mut text = gens();
    text.replace("assign raise_gen = ", "assign raise_gen = 1'b0 & ");
    text.replace(
        "        state_reg = 5'd0;",
        "        state_reg = STATE_ALLOC;",
    );
    // The first step that shows it; what 21 steps come to as one formula takes this solver much longer.
    text.refute("p14-bad", &["-t", "21:1:22"]);
}

/// Two windows of 64 packets; what the tables of the first one hold is seen.
fn tables(mut text: Text, tables: &[(&str, &str, usize, &str)], property: &str) -> Text {
    text.any_tables();
    for (module, instance, width, value) in tables {
        text.dump(module, *width, value);
        text.see(module, instance, *width);
    }
    let top = text.top.clone();
    text.append(&top, property);
    text
}

fn accept() -> Text {
    let mut block = RwAccept::<1, 64, 6, 32, 5, 1, 2>::default();
    let mut text = Text::of(&emit_block(&mut block).unwrap());
    // Slides as the property says.
    let outputs = [
        ("m_en", 1),
        ("m_wptr", 1),
        ("m_base", 22),
        ("m_credit", 1),
        ("m_credit_wptr", 1),
    ];
    text.cut("rw_slide_w64_r2", &outputs);
    let seen = [
        ("ram_reg_w22_d2", "ram_inst", 22, "mem[0]"),
        ("ram_reg_forward_w22_d2", "bases", 22, "ram_inst_dump"),
        ("ram_reg_w13_d2", "rows", 13, "mem[0]"),
        ("ram_reg_w32_d4", "bitmap", 64, "{mem[1], mem[0]}"),
    ];
    tables(text, &seen, ACCEPT)
}

fn slide() -> Text {
    let mut block = RwSlide::<1, 6, 32, 5, 1, 2>::default();
    let text = Text::of(&emit_block(&mut block).unwrap());
    let seen = [
        ("ram_reg_w22_d2", "ram_inst", 22, "mem[0]"),
        ("ram_reg_forward_w22_d2", "bases", 22, "ram_inst_dump"),
        ("ram_reg_w32_d4", "ram_inst", 64, "{mem[1], mem[0]}"),
        ("ram_reg_forward_w32_d4", "bitmap", 64, "ram_inst_dump"),
    ];
    tables(text, &seen, SLIDE)
}

/// Steps up to the one in which the records taken in clocks 9 and 10 have been decided.
const RECORDS: &str = "16";
/// Steps up to the one in which a visit moves wbase that has seen a packet arrive in clock 13.
const VISITS: &str = "20";

#[test]
fn p_12_from_any_state_packets_in_the_window_are_taken_once_and_none_above_the_tail() {
    let (proven, text) = accept().check("p12-accept", "", &["--unroll", "-t", RECORDS]);
    assert!(proven, "{text}");
}

#[test]
fn p_12_a_packet_that_follows_itself_and_is_taken_again_is_refuted() {
    let mut text = accept();
    text.replace(
        "s5_same_packet_reg <= s4_word5_reg & s4_place5_reg;",
        "s5_same_packet_reg <= 1'b0;",
    );
    text.refute("p12-accept-bad", &["--unroll", "-t", RECORDS]);
}

#[test]
fn p_12_from_any_state_slides_pass_what_has_arrived_and_end_at_a_hole_or_a_word() {
    let (proven, text) = slide().check("p12-slide", "", &["--unroll", "-t", VISITS]);
    assert!(proven, "{text}");
}

#[test]
fn p_12_a_slide_one_too_far_is_refuted() {
    let mut text = slide();
    text.replace("base_reg <= hole;", "base_reg <= hole + 22'd1;");
    text.refute("p12-slide-bad", &["--unroll", "-t", VISITS]);
}

#[test]
fn p_12_a_visit_that_moves_wbase_back_is_refuted() {
    let mut text = slide();
    text.replace(
        "assign v8_now_stale = v8_stale_reg",
        "assign v8_now_stale = 1'b0 & v8_stale_reg",
    );
    text.refute("p12-slide-back", &["--unroll", "-t", VISITS]);
}
