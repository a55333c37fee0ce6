//! Layouts against the headers of libfabric, where these are installed.
#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::Command;

use tributary_fi::abi::{self, LAYOUTS};
use tributary_fi::collective::elements::Collective;
use tributary_fi::engine::{Operation, Type};

#[test]
fn cl_9_layouts_are_those_of_the_installed_headers() {
    if !Path::new("/usr/include/rdma/fabric.h").exists() {
        println!("skipped: libfabric-dev is not installed");
        return;
    }
    let mut source = String::from(
        "#include <stddef.h>\n#include <rdma/fabric.h>\n#include <rdma/fi_domain.h>\n#include <rdma/fi_endpoint.h>\n#include <rdma/fi_tagged.h>\n#include <rdma/fi_rma.h>\n#include <rdma/fi_atomic.h>\n#include <rdma/fi_cm.h>\n#include <rdma/fi_collective.h>\n#include <rdma/fi_eq.h>\n#include <rdma/providers/fi_prov.h>\n",
    );
    for (name, bytes, fields) in LAYOUTS {
        // Structures that end earlier in older versions may be longer here.
        source += &format!("_Static_assert(sizeof(struct {name}) >= {bytes}, \"{name}\");\n");
        for (field, offset) in *fields {
            let field = field.trim_start_matches("r#");
            source += &format!(
                "_Static_assert(offsetof(struct {name}, {field}) == {offset}, \"{name}.{field}\");\n"
            );
        }
    }
    // Numbers that this provider takes from enumerations.
    let numbers = [
        ("FI_INT8", Type::I8 as u32),
        ("FI_UINT64", Type::U64 as u32),
        ("FI_FLOAT", Type::F32 as u32),
        ("FI_DOUBLE", Type::F64 as u32),
        ("FI_MIN", Operation::Min as u32),
        ("FI_BXOR", Operation::Bxor as u32),
        ("FI_ATOMIC_READ", Operation::Read as u32),
        ("FI_ATOMIC_WRITE", Operation::Write as u32),
        ("FI_CSWAP", Operation::Cswap as u32),
        ("FI_CSWAP_GT", Operation::CswapGt as u32),
        ("FI_MSWAP", Operation::Mswap as u32),
        ("FI_WAIT_FD", abi::WAIT_FD as u32),
        ("FI_WAIT_YIELD", abi::WAIT_YIELD as u32),
        ("FI_CLASS_CNTR", abi::CLASS_CNTR as u32),
        ("FI_CLASS_POLL", abi::CLASS_POLL as u32),
        ("FI_GETWAIT", abi::COMMAND_GETWAIT as u32),
        ("FI_CLASS_MC", abi::CLASS_MC as u32),
        ("FI_CLASS_AV_SET", abi::CLASS_AV_SET as u32),
        ("FI_JOIN_COMPLETE", abi::JOIN_COMPLETE),
        ("FI_EOPBADSTATE", abi::EOPBADSTATE as u32),
        ("FI_ENOEQ", abi::ENOEQ as u32),
        ("FI_BARRIER", Collective::Barrier as u32),
        ("FI_BROADCAST", Collective::Broadcast as u32),
        ("FI_ALLREDUCE", Collective::AllReduce as u32),
        ("FI_ALLGATHER", Collective::AllGather as u32),
        ("FI_REDUCE", Collective::Reduce as u32),
        ("FI_SCATTER", Collective::Scatter as u32),
        ("FI_GATHER", Collective::Gather as u32),
        ("FI_MR_SCALABLE", abi::MR_SCALABLE as u32),
        ("FI_MR_BASIC", abi::MR_BASIC as u32),
    ];
    for (name, number) in numbers {
        source += &format!("_Static_assert({name} == {number}, \"{name}\");\n");
    }
    let orders = [
        ("FI_COLLECTIVE", abi::COLLECTIVE),
        ("FI_UNIVERSE", abi::UNIVERSE),
        ("FI_ORDER_SAS", abi::ORDER_SAS),
        (
            "(FI_ORDER_RAR | FI_ORDER_RAW | FI_ORDER_WAR | FI_ORDER_WAW | FI_ORDER_RMA_RAR | FI_ORDER_RMA_RAW | FI_ORDER_RMA_WAR | FI_ORDER_RMA_WAW | FI_ORDER_ATOMIC_RAR | FI_ORDER_ATOMIC_RAW | FI_ORDER_ATOMIC_WAR | FI_ORDER_ATOMIC_WAW)",
            abi::ORDER_MEMORY,
        ),
    ];
    for (name, bits) in orders {
        source += &format!("_Static_assert({name} == {bits}ULL, \"order\");\n");
    }
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("abi.c");
    std::fs::write(&file, source).unwrap();
    let compiled = Command::new("cc")
        .args(["-std=gnu11", "-fsyntax-only"])
        .arg(&file)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&compiled.stderr);
    assert!(compiled.status.success(), "{errors}");
    assert!(LAYOUTS.len() > 25);
}
