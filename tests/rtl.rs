//! The same transfer over the same lossy links, with the model and with the Verilated RTL at the
//! receiving end.

use std::process::Command;

fn tributary(arguments: &[&str]) -> (Option<i32>, serde_json::Value) {
    let out = Command::new(env!("CARGO_BIN_EXE_tributary"))
        .args(arguments)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&out.stdout);
    let errors = String::from_utf8_lossy(&out.stderr);
    let value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}{errors}"));
    (out.status.code(), value)
}

/// The summary without what may differ: the engine's name and the time it took.
fn transfer(engine: &str, seed: &str, window: &str, loss: &str, dup: &str) -> serde_json::Value {
    let (code, mut value) = tributary(&[
        "sim", "--demo", "rw", "--json", "--engine", engine, "--seed", seed, "--window", window,
        "--loss", loss, "--dup", dup, "--bytes", "150000",
    ]);
    assert_eq!(code, Some(0), "{value}");
    let object = value.as_object_mut().unwrap();
    for key in ["engine", "time_s"] {
        assert!(object.remove(key).is_some(), "{object:?}");
    }
    value
}

#[test]
fn rw_11_rw_12_rw_16_transfer_over_rtl_equals_the_model_slot_by_slot() {
    for (seed, loss, dup) in [
        ("1", "0", "0"),
        ("2", "0.01", "0.01"),
        ("3", "0.05", "0.02"),
    ] {
        let model = transfer("model", seed, "64", loss, dup);
        let rtl = transfer("rtl", seed, "64", loss, dup);
        assert_eq!(model, rtl, "seed {seed}");
    }
}

#[test]
fn p_02_recorded_trace_of_a_lossy_transfer_replays_into_the_rtl() {
    let dir = std::env::temp_dir().join(format!("tributary-rtl-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let file = dir.join("trace.jsonl");
    let path = file.to_str().unwrap();
    let (code, _) = tributary(&[
        "sim", "--demo", "rw", "--json", "--window", "64", "--bytes", "100000", "--loss", "0.02",
        "--seed", "9", "--record", path,
    ]);
    assert_eq!(code, Some(0));
    let (code, mut model) = tributary(&["sim", "--replay", path, "--json"]);
    assert_eq!(code, Some(0), "{model}");
    let (code, mut rtl) = tributary(&["sim", "--replay", path, "--engine", "rtl", "--json"]);
    assert_eq!(code, Some(0), "{rtl}");
    std::fs::remove_dir_all(&dir).unwrap();
    for value in [&mut model, &mut rtl] {
        for key in ["engine", "time_s"] {
            value.as_object_mut().unwrap().remove(key);
        }
    }
    assert_eq!(model, rtl);
}
