//! The header says what the library has, and a C program works with it. Needs a C compiler, as the project does.

use std::fmt::Write;
use std::mem::{offset_of, size_of};
use std::path::{Path, PathBuf};
use std::process::Command;

use tributary_c::{
    Address, COMPLETED, CollectiveResult, CommunicatorCounters, CommunicatorSettings, Completion,
    Config, DELIVERED, Event, GroupMessage, GroupSettings, GroupVerdict, OPERATIONS,
    OneSidedSettings, REMOTE_ATOMIC, REMOTE_READ, REMOTE_WRITE, RemoteMemory, SHAPES, SimConfig,
    TYPES, WindowGrant, why_code,
};
use tributary_host_driver::WorkCompletionStatus;
use tributary_host_driver::collective::{Operation, Why as Reason};
use tributary_host_driver::multicast::{Algorithm, Why};

const CRATE: &str = env!("CARGO_MANIFEST_DIR");

/// Where cargo put the libraries and this test.
fn built() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().unwrap().to_path_buf()
}

/// Compiles a program against header and shared library and runs it.
fn run(source: &Path, name: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let program = folder.join(name);
    let libraries = built();
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let compiled = Command::new(compiler)
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-I", CRATE])
        .arg(source)
        .arg("-L")
        .arg(&libraries)
        .args(["-ltributary_c", "-o"])
        .arg(&program)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&compiled.stderr);
    assert!(compiled.status.success(), "{errors}");
    let output = Command::new(&program)
        .env("LD_LIBRARY_PATH", &libraries)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn xud_12_the_example_delivers_its_messages_once_and_long_ones_among_them() {
    let source = Path::new(CRATE).join("examples/hello.c");
    assert_eq!(run(&source, "hello"), "100 messages delivered once\n");
}

#[test]
fn xud_13_the_example_does_each_operation_once_on_memory_of_another_host() {
    let source = Path::new(CRATE).join("examples/counter.c");
    assert_eq!(run(&source, "counter"), "500 additions, each done once\n");
}

#[test]
fn mb_11_mb_13_mb_14_mb_16_the_example_sends_to_all_and_goes_on_without_one() {
    let source = Path::new(CRATE).join("examples/multicast.c");
    assert_eq!(
        run(&source, "multicast"),
        "hosts: 2 messages at all that are there\ncards: 2 messages at all that are there\n"
    );
}

#[test]
fn cl_05_cl_08_the_example_reduces_in_the_switches_and_names_who_is_gone() {
    let source = Path::new(CRATE).join("examples/reduce.c");
    assert_eq!(
        run(&source, "reduce"),
        "4 members, 6 operations in the switches; rank 2 is gone\n"
    );
}

/// Names and numbers of parameters of functions, sorted. `open` begins a function, the list of parameters follows.
fn functions(text: &str) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("tributary_") {
        rest = &rest[at..];
        let end = rest
            .find(|c: char| c != '_' && !c.is_ascii_alphanumeric())
            .unwrap_or(rest.len());
        let (name, tail) = rest.split_at(end);
        rest = tail;
        if let Some(list) = tail.strip_prefix('(') {
            let list = &list[..list.find(')').unwrap()];
            let parameters = list.split(',').map(str::trim);
            let count = parameters.filter(|p| !p.is_empty() && *p != "void").count();
            found.push((name.to_owned(), count));
        }
    }
    found.sort();
    found
}

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(CRATE).join(path)).unwrap()
}

#[test]
fn the_header_declares_every_function_and_no_other() {
    let header = read("tributary.h");
    let code = header.split("#ifndef").nth(1).unwrap();
    // Without comments, which name functions too.
    let mut declared = String::new();
    for (number, part) in code.split("/*").enumerate() {
        let part = if number == 0 {
            part
        } else {
            part.split_once("*/").unwrap().1
        };
        declared += part;
    }
    let files = [
        "lib",
        "collective",
        "collective/operations",
        "endpoint",
        "memory",
        "multicast",
        "onesided",
    ]
    .map(|name| format!("src/{name}.rs"));
    let sources = files.map(|file| read(&file)).concat();
    let exported: String = sources
        .split("#[unsafe(no_mangle)]")
        .skip(1)
        .map(|part| part.split_once("fn ").unwrap().1.split_once('{').unwrap().0)
        .collect();
    let expected = functions(&exported);
    assert_eq!(functions(&declared), expected);
    assert_eq!(expected.len(), 68);
}

#[test]
fn structures_and_constants_are_those_of_the_library() {
    let mut source = "#include \"tributary.h\"\n".to_owned();
    let mut same = |what: String, value: usize| {
        writeln!(source, "_Static_assert({what} == {value}, \"{what}\");").unwrap();
    };
    macro_rules! structure {
        ($name:literal $type:ident { $($field:ident)* }) => {
            same(format!("sizeof(tributary_{})", $name), size_of::<$type>());
            $(same(
                format!("offsetof(tributary_{}, {})", $name, stringify!($field)),
                offset_of!($type, $field),
            );)*
        };
    }
    structure!("sim_config" SimConfig { seed loss duplication delay reorder });
    structure!("address" Address { qp_num node });
    structure!("endpoint_config" Config { q_key windows receives sends timeout attempts ordered longest_pause_us long_bytes });
    structure!("event" Event { id payload length peer kind status });
    structure!("one_sided_config" OneSidedSettings { q_key operations timeout attempts longest_pause_us });
    structure!("grant" WindowGrant { qp_num node window epoch });
    structure!("remote" RemoteMemory { addr rkey });
    structure!("wc" Completion { old payload length through status });
    structure!("group_options" GroupSettings {
        memory silence_ns join_ns watchdog_ns root block_bytes credits epoch most_blocks algorithm
        resumable offload lanes
    });
    structure!("group_message" GroupMessage { payload length number });
    structure!("group_verdict" GroupVerdict { messages suspect success why });
    structure!("communicator_options" CommunicatorSettings {
        attempt_ns roll_ns idle_ns ask_after_ns patience_ns questions lanes stripes bulk_from
    });
    structure!("collective_counters" CommunicatorCounters {
        in_switches in_software alone completed_by_root again new_trees no_tree
        in_blocks blocks_by_messages
    });
    structure!("result" CollectiveResult { ticket payload count rank kind code why });
    for (number, operation) in OPERATIONS.iter().enumerate() {
        let name = match operation {
            Operation::SumReproducible => "SUM_REPRODUCIBLE".to_owned(),
            Operation::LogicalAnd => "LOGICAL_AND".to_owned(),
            Operation::LogicalOr => "LOGICAL_OR".to_owned(),
            Operation::LogicalXor => "LOGICAL_XOR".to_owned(),
            other => format!("{other:?}").to_uppercase(),
        };
        same(format!("TRIBUTARY_{name}"), number);
    }
    for (number, (name, _)) in TYPES.iter().enumerate() {
        same(format!("TRIBUTARY_{name}"), number);
    }
    for (name, why) in [
        ("SILENT", Reason::Silent),
        ("UNREACHABLE", Reason::Unreachable),
        ("LEFT", Reason::Left),
        ("MISMATCH", Reason::Mismatch),
        ("DOUBTFUL", Reason::Doubtful),
        ("STRANGE", Reason::Strange),
        ("BROKEN", Reason::Broken),
    ] {
        same(format!("TRIBUTARY_RANK_{name}"), why.code().into());
    }
    for (number, shape) in SHAPES.into_iter().enumerate() {
        let name = match shape {
            Algorithm::Sequential => "SEQUENTIAL",
            Algorithm::Chain => "CHAIN",
            Algorithm::BinomialTree => "BINOMIAL_TREE",
            _ => "BINOMIAL_PIPELINE",
        };
        same(format!("TRIBUTARY_{name}"), number);
    }
    let constants = [
        ("GONE", why_code(Why::Gone)),
        ("PARAMETERS", why_code(Why::Parameters)),
        ("LENGTH", why_code(Why::Length)),
        ("STUCK", why_code(Why::Stuck)),
        ("TICKET", why_code(Why::Ticket)),
        ("DELIVERED", DELIVERED),
        ("COMPLETED", COMPLETED),
        ("OK", WorkCompletionStatus::Ok.code()),
        ("REMOTE_LENGTH", WorkCompletionStatus::RemoteLength.code()),
        ("EPOCH_MISMATCH", WorkCompletionStatus::EpochMismatch.code()),
        ("UNREACHABLE", WorkCompletionStatus::Unreachable.code()),
        ("UNRESPONSIVE", WorkCompletionStatus::Unresponsive.code()),
        ("FLUSHED", WorkCompletionStatus::Flushed.code()),
        ("REMOTE_ACCESS", WorkCompletionStatus::RemoteAccess.code()),
        ("BAD_QP", WorkCompletionStatus::BadQp.code()),
        (
            "REMOTE_OPERATION",
            WorkCompletionStatus::RemoteOperation.code(),
        ),
    ];
    for (name, value) in constants {
        same(format!("TRIBUTARY_{name}"), value.into());
    }
    for (name, value) in [
        ("WRITE", REMOTE_WRITE),
        ("READ", REMOTE_READ),
        ("ATOMIC", REMOTE_ATOMIC),
    ] {
        same(format!("TRIBUTARY_ACCESS_REMOTE_{name}"), value as usize);
    }
    source += "int main(void) { return tributary_error() == 0; }\n";
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("layout.c");
    std::fs::write(&path, source).unwrap();
    run(&path, "layout");
}

#[test]
fn null_and_nonsense_are_errors_with_a_text() {
    use std::ffi::CStr;
    use std::ptr::{null, null_mut};
    // SAFETY: null is allowed everywhere.
    unsafe {
        assert_eq!(
            tributary_c::tributary_sim_network(null(), 2, null_mut()),
            -1
        );
        assert_eq!(tributary_c::tributary_wait(null_mut(), 0, null_mut()), -1);
        tributary_c::tributary_device_free(null_mut());
        tributary_c::tributary_event_free(null_mut());
        let nowhere = RemoteMemory { addr: 0, rkey: 0 };
        assert_eq!(
            tributary_c::tributary_rdma_read(null_mut(), 0, 1, nowhere),
            -1
        );
        assert_eq!(tributary_c::tributary_mr_load(null(), 0, null_mut()), -1);
        assert_eq!(tributary_c::tributary_mr_remote(null()), nowhere);
        assert_eq!(tributary_c::tributary_tune_bulk(null(), 1, 1, 1), -1);
        assert_eq!(tributary_c::tributary_congestion(null(), 1, 0), -1);
        tributary_c::tributary_dereg_mr(null_mut());
        tributary_c::tributary_window_close(null_mut());
        tributary_c::tributary_wc_free(null_mut());
        let no_seat =
            tributary_c::tributary_group_create(null_mut(), null(), 2, null(), null_mut());
        assert_eq!(no_seat, -1);
        assert_eq!(tributary_c::tributary_group_is_open(null()), -1);
        tributary_c::tributary_group_free(null_mut());
        let nobody = tributary_c::tributary_post_barrier(null_mut(), null_mut());
        assert_eq!(nobody, -1);
        assert_eq!(tributary_c::tributary_communicator_close(null_mut()), -1);
        tributary_c::tributary_communicator_free(null_mut());
        tributary_c::tributary_result_free(null_mut());
        let (mut devices, mut count) = ([null_mut(); 1], 0);
        let text = c"[[endpoint]]\nname = \"a\"\n";
        let fabric = tributary_c::tributary_sim_fabric(
            text.as_ptr(),
            1,
            1,
            devices.as_mut_ptr(),
            &raw mut count,
            null_mut(),
        );
        assert_eq!(fabric, -1);
        tributary_c::tributary_seat_free(null_mut());
        tributary_c::tributary_group_message_free(null_mut());
        let bad = SimConfig {
            seed: 0,
            loss: 2.0,
            duplication: 0.0,
            delay: 1,
            reorder: 0,
        };
        let mut devices = [null_mut(); 1];
        let result = tributary_c::tributary_sim_network(&raw const bad, 1, devices.as_mut_ptr());
        assert_eq!(result, -1);
        let text = CStr::from_ptr(tributary_c::tributary_error())
            .to_str()
            .unwrap();
        assert_eq!(text, "loss = 2 is not a probability (0 to 1)");
    }
}

#[test]
fn cl_04_programs_in_c_tell_a_card_about_the_network_and_read_every_counter() {
    use std::ffi::CStr;
    use std::ptr::null_mut;
    use tributary_host_driver::{BulkCounter, CongestionCounter, Counter, ReductionCounter};
    let config = SimConfig {
        seed: 1,
        loss: 0.0,
        duplication: 0.0,
        delay: 1,
        reorder: 0,
    };
    // SAFETY: handles that these functions made, and room for what they give.
    unsafe {
        let mut devices = [null_mut(); 1];
        let mut card = null_mut();
        let made = tributary_c::tributary_sim_network(&raw const config, 1, devices.as_mut_ptr());
        assert_eq!(made, 0);
        let opened = tributary_c::tributary_open(devices[0], 0, 1_024, &raw mut card);
        assert_eq!(opened, 0);
        assert_eq!(tributary_c::tributary_tune_bulk(card, 2_000, 64, 192), 0);
        assert_eq!(tributary_c::tributary_congestion(card, 1, 100), 0);
        assert_eq!(tributary_c::tributary_congestion(card, 0, 0), 0);
        let known: Vec<u8> = (Counter::ALL.iter().map(|one| one.code()))
            .chain(BulkCounter::ALL.iter().map(|one| one.code()))
            .chain(CongestionCounter::ALL.iter().map(|one| one.code()))
            .chain(ReductionCounter::ALL.iter().map(|one| one.code()))
            .collect();
        for code in 0..=u8::MAX {
            let mut value = u64::MAX;
            let read = tributary_c::tributary_counter(card, code, &raw mut value);
            assert_eq!(read == 0, known.contains(&code), "{code}");
            assert_eq!(value, if read == 0 { 0 } else { u64::MAX }, "{code}");
        }
        let why = CStr::from_ptr(tributary_c::tributary_error());
        assert_eq!(why.to_str().unwrap(), "no counter 255");
        tributary_c::tributary_close(card);
        tributary_c::tributary_device_free(devices[0]);
    }
}
