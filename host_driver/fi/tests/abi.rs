//! Layouts against the headers of libfabric, where these are installed.
#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::Command;

use tributary_fi::abi::LAYOUTS;

#[test]
fn cl_9_layouts_are_those_of_the_installed_headers() {
    if !Path::new("/usr/include/rdma/fabric.h").exists() {
        println!("skipped: libfabric-dev is not installed");
        return;
    }
    let mut source = String::from(
        "#include <stddef.h>\n#include <rdma/fabric.h>\n#include <rdma/fi_domain.h>\n#include <rdma/fi_endpoint.h>\n#include <rdma/fi_tagged.h>\n#include <rdma/fi_rma.h>\n#include <rdma/fi_cm.h>\n#include <rdma/fi_eq.h>\n#include <rdma/providers/fi_prov.h>\n",
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
