//! The generated headers: they compile without a word, and C reads what Rust wrote.
//! Needs a C compiler; where there is no C++ compiler, C++ is left out, and the test says so.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use tributary_protocol::card::command::argument::create_qp;
use tributary_protocol::card::command::{Arguments, CALLS, key};
use tributary_protocol::card::descriptor::{Completion, Of};
use tributary_protocol::card::regs::{bar0_bytes, doorbell};
use tributary_protocol::header::Header;
use tributary_protocol::roce::{FRAME, ICRC_LEN, Link};
use tributary_protocol::xud::control::{Control, FRAGMENT, Fragment, OPEN, OPEN_ACK, Open, REFUSE};
use tributary_protocol::xud::onesided::{Asked, ONE_SIDED_HEADER, Request};
use tributary_protocol::xud::rendezvous::{
    ABORT, ANNOUNCE, ASK, DONE, GRANT, LANDED, PART_HEADER, Place, Said,
};
use tributary_protocol::xud::wire::{AETH, ECHO, SOURCE, XUDETH, encode_frame};
use tributary_protocol::xud::{Ack, Echo, Nak, Outcome, Packet, Peer, Reply, Send, Window};

const HEADERS: [&str; 2] = ["tributary_card.h", "tributary_switch.h"];
const WINDOW: Window = Window {
    id: 0x1112,
    epoch: 0x1314,
    msn: 0x1516_1718,
};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("rtl_out/registers")
}

/// Compiles a program; the program.
fn compile(compiler: &str, standard: &str, name: &str, source: &str) -> PathBuf {
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let ending = if compiler == "cc" { "c" } else { "cpp" };
    let file = target.join(format!("{name}.{ending}"));
    std::fs::write(&file, source).unwrap();
    let program = target.join(name);
    let output = Command::new(compiler)
        .args([standard, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I"])
        .arg(folder())
        .arg(&file)
        .arg("-o")
        .arg(&program)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{compiler}: {errors}");
    program
}

#[test]
fn headers_compile_without_warnings_as_c99_and_as_cpp_alone_and_together() {
    let include = |header: &str| format!("#include \"{header}\"\n");
    let all: String = HEADERS.iter().map(|header| include(header)).collect();
    for (at, text) in [include(HEADERS[0]), include(HEADERS[1]), all]
        .iter()
        .enumerate()
    {
        let source = format!("{text}int main(void) {{ return 0; }}\n");
        compile("cc", "-std=c99", &format!("header_c_{at}"), &source);
        if Command::new("c++").arg("--version").output().is_ok() {
            compile("c++", "-std=c++11", &format!("header_cpp_{at}"), &source);
        } else {
            println!("SKIPPED in C++: no `c++`");
        }
    }
}

/// A C program that checks expressions.
#[derive(Default)]
struct Checks(String);

impl Checks {
    fn equal(&mut self, expression: &str, value: impl Into<u64>) {
        let value = value.into();
        writeln!(
            self.0,
            "    same({expression:?}, (uint64_t)({expression}), {value}ull);"
        )
        .unwrap();
    }

    fn bytes(&mut self, name: &str, bytes: &[u8]) {
        let list: Vec<String> = bytes.iter().map(ToString::to_string).collect();
        writeln!(
            self.0,
            "    const uint8_t {name}[] = {{{}}};",
            list.join(",")
        )
        .unwrap();
    }

    /// Every field of a header in some bytes, as C and as Rust read it, and put where 0 was.
    fn header(&mut self, header: &Header, name: &str, bytes: &[u8]) {
        self.bytes(name, bytes);
        for field in header.fields {
            let macro_name = format!("TRIB_{}_{}", header.name, field.name).to_uppercase();
            let read = format!("TRIB_HEADER_GET({macro_name}, {name})");
            self.equal(&read, field.get(bytes));
            writeln!(
                self.0,
                "    TRIB_HEADER_PUT({macro_name}, built_{name}, {read});"
            )
            .unwrap();
        }
        let length = format!("TRIB_{}_BYTES", header.name).to_uppercase();
        self.equal(&length, header.length as u64);
        self.equal(
            &format!("memcmp({name}, built_{name}, {length}) == 0"),
            1u64,
        );
        let built = format!("    uint8_t built_{name}[{}] = {{0}};\n", header.length);
        self.0.insert_str(0, &built);
    }

    /// Compiles and runs it.
    fn run(self, name: &str) {
        let source = format!(
            "#include \"tributary_card.h\"\n#include <stdio.h>\n#include <string.h>\n\nstatic int wrong;\n\
             static void same(const char *what, uint64_t is, uint64_t expected) {{\n    if (is == expected) return;\n    wrong = 1;\n    \
             fprintf(stderr, \"%s is %llx, not %llx\\n\", what, (unsigned long long)is, (unsigned long long)expected);\n}}\n\n\
             int main(void) {{\n{}    return wrong;\n}}\n",
            self.0
        );
        // Constants of 64 bits are no part of C90, which C99 is not.
        let program = compile("cc", "-std=c99", name, &source);
        let output = Command::new(program).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
    }
}

#[test]
fn c_reads_frames_field_by_field_as_they_were_encoded() {
    let mut checks = Checks::default();
    let link = Link::between(0x0102, 0x0304);
    let request = Send {
        dest_qp: 0x21_2223,
        psn: 0x31_3233,
        q_key: 0x4142_4344,
        src_qp: 0x51_5253,
        version: 1,
        flags: 6,
        window: WINDOW,
        payload: vec![7; 5],
        marked: false,
    };
    let frame = encode_frame(&link, &Packet::Send(request)).unwrap();
    checks.header(&FRAME, "request", &frame);
    checks.header(&XUDETH, "xudeth", &frame[FRAME.length..]);
    checks.equal("TRIB_HEADER_GET(TRIB_XUDETH_WIN_MSN, xudeth)", WINDOW.msn);
    checks.equal(
        "TRIB_HEADER_GET(TRIB_FRAME_OPCODE, request) == TRIB_BTH_REQUEST",
        1u64,
    );
    checks.equal(
        "TRIB_HEADER_GET(TRIB_FRAME_UDP_PORT, request) == TRIB_UDP_PORT",
        1u64,
    );
    let whole = FRAME.length + XUDETH.length + 5 + 3 + ICRC_LEN;
    assert_eq!(frame.len(), whole);

    let ack = Ack {
        dest_qp: 1,
        psn: 0x61_6263,
        reply: Reply::Nak(Nak::Epoch),
        echo: Some(Echo {
            window: WINDOW,
            flags: 5,
            qpn: 0x71_7273,
        }),
        marked: false,
    };
    let frame = encode_frame(&link, &Packet::Ack(ack)).unwrap();
    let body = &frame[FRAME.length..];
    checks.header(&AETH, "aeth", body);
    checks.header(&ECHO, "echo", &body[AETH.length..]);
    checks.header(&SOURCE, "source", &body[AETH.length + ECHO.length..]);
    checks.equal(
        "TRIB_HEADER_GET(TRIB_AETH_SYNDROME, aeth) == (TRIB_SYNDROME_NAK | TRIB_NAK_EPOCH)",
        1u64,
    );
    checks.equal("TRIB_HEADER_GET(TRIB_ACK_SOURCE_QPN, source)", 0x71_7273u64);

    let one_sided = Request {
        address: 0x8182_8384_8586_8788,
        rkey: 0x9192_9394,
        asked: Asked::Read(0x0302),
    };
    checks.header(&ONE_SIDED_HEADER, "one_sided", &one_sided.header());
    checks.equal(
        "TRIB_HEADER_GET(TRIB_ONE_SIDED_LENGTH, one_sided)",
        0x0302u64,
    );
    checks.equal(
        "TRIB_HEADER_GET(TRIB_ONE_SIDED_OPERATION, one_sided) == TRIB_OPERATION_READ",
        1u64,
    );
    let open = Control::Open(Open {
        windows: 0x0102,
        incarnation: 0x0304,
        epoch: 0x0506,
        start: 0x0708_090a,
        last: Some(0x0b0c),
    });
    checks.header(&OPEN, "open", &open.encode());
    let open_ack = Control::OpenAck {
        fresh: true,
        windows: 0x1112,
        of: 0x1314,
        epoch: 0x1516,
    };
    checks.header(&OPEN_ACK, "open_ack", &open_ack.encode());
    checks.header(&REFUSE, "refuse", &Control::Refuse(WINDOW).encode());
    let fragment = Fragment {
        message: 0x2122_2324,
        offset: 0x3132_3334,
        total: 0x4142_4344,
        rendezvous: true,
    };
    checks.header(&FRAGMENT, "fragment", &fragment.encode());
    let place = Place {
        address: 0x5152_5354_5556_5758,
        rkey: 0x6162_6364,
    };
    let (bulk, length, offset) = (true, 0x1234_5678, 0x9abc_def0);
    let part = Said::Part {
        offset,
        bytes: &[1],
    };
    for (header, name, said) in [
        (&ANNOUNCE, "announce", Said::Announce { bulk, length }),
        (&GRANT, "grant", Said::Grant(Some(place))),
        (&LANDED, "landed", Said::Landed),
        (&PART_HEADER, "part", part),
        (&DONE, "done", Said::Done(0x13)),
        (&ABORT, "abort", Said::Abort),
        (&ASK, "ask", Said::Ask { receiver: true }),
    ] {
        checks.header(
            header,
            name,
            &said.encode(0x7172_7374_7576_7778)[..header.length],
        );
    }
    checks.run("c_frames");
}

#[test]
fn c_reads_completions_and_places_arguments_as_rust_does() {
    let mut checks = Checks::default();
    let completion = Completion {
        wr_id: 0x0102_0304_0506_0708,
        status: Outcome::RemoteOperation,
        of: Of::Receive,
        version_flags: 0x16,
        length: 0x1122_3344,
        peer: Peer {
            node: 0x2122,
            qpn: 0x31_3233,
        },
        window: WINDOW,
        q_key: 0x4142_4344,
        psn: 0x51_5253,
        request: 0x6162,
        number: 0x7172,
        marked: true,
    };
    checks.bytes("entry", &completion.encode(4));
    let phase = u64::from(Completion::phase(completion.number, 4));
    for (field, value) in [
        ("WR_ID", completion.wr_id),
        ("STATUS", completion.status.code().into()),
        ("OF", completion.of.code().into()),
        ("MARKED", completion.marked.into()),
        ("VERSION_FLAGS", 0x16),
        ("LENGTH", 0x1122_3344),
        ("NODE", 0x2122),
        ("QPN", 0x31_3233),
        ("WIN_ID", WINDOW.id.into()),
        ("EPOCH", WINDOW.epoch.into()),
        ("WIN_MSN", WINDOW.msn.into()),
        ("Q_KEY", 0x4142_4344),
        ("PSN", 0x51_5253),
        ("REQUEST", 0x6162),
        ("NUMBER", 0x7172),
        ("PHASE", phase),
    ] {
        checks.equal(
            &format!("TRIB_ENTRY_GET(TRIB_COMPLETION_{field}, entry)"),
            value,
        );
    }
    // Every argument of every command with an own value, register by register.
    for call in CALLS {
        let command = call.command.name().to_uppercase();
        let args = format!("{}_args", call.command.name());
        writeln!(checks.0, "    uint32_t {args}[TRIB_CARD_ARGS] = {{0}};").unwrap();
        let mut registers = Arguments::default();
        for (at, argument) in call.arguments.iter().enumerate() {
            let value = 0x9e37_79b9_7f4a_7c15u64.wrapping_mul(at as u64 + 1);
            argument.put(&mut registers, value);
            let name = argument.name.to_uppercase();
            writeln!(
                checks.0,
                "    TRIB_ARG_PUT(TRIB_{command}_{name}, {args}, {value}ull);"
            )
            .unwrap();
        }
        for (at, register) in registers.iter().enumerate() {
            checks.equal(&format!("{args}[{at}]"), *register);
        }
        checks.equal(&format!("TRIB_{command}_ARGS"), call.registers() as u64);
    }
    checks.equal(
        "TRIB_CREATE_QP_SEND_BASE_WIDTH",
        u64::from(create_qp::SEND_BASE.width),
    );
    checks.equal(
        "TRIB_PUT(TRIB_KEY_INDEX, 0x1234) | TRIB_PUT(TRIB_KEY_VARIANT, 0x56)",
        key(0x1234, 0x56),
    );
    for log in 0..=16 {
        checks.equal(&format!("trib_card_bar0_bytes({log})"), bar0_bytes(log));
    }
    let arm = doorbell(77, &tributary_protocol::card::regs::DOORBELL_ARM);
    checks.equal("TRIB_CARD_DOORBELL(77, TRIB_CARD_DOORBELL_ARM)", arm);
    checks.run("c_entries");
}
