//! `tributary bench vector`: what it says of itself, in short.

use std::process::Command;

use serde_json::Value;

/// Sixteen members and eight values on their way keep the engine of one tree busy all the time: what arms it comes in time
/// all the same, so that no contribution passes and no root has to complete a value.
#[test]
fn cl_07_roots_of_few_trees_need_not_complete_what_came_before_its_engine_was_armed() {
    let output = Command::new(env!("CARGO_BIN_EXE_tributary"))
        .args([
            "bench",
            "vector",
            "--stripes",
            "0,3",
            "--bytes",
            "8192",
            "--json",
        ])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 4, "{report}");
    for row in rows {
        assert_eq!(row["good"], true, "{row}");
        for none in ["completed_by_root", "again", "by_messages"] {
            assert_eq!(row[none], 0, "{none}: {row}");
        }
    }
}
