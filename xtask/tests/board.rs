//! The whole flow to a bitstream, for every board with an ECP5 and every design for it. Needs the pinned tools. Boards that
//! are built by Vivado: `au50.rs`.

use std::path::Path;
use std::process::{Command, Output};

fn xtask(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(arguments)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Boards and their designs, as `board list` has them.
fn designs() -> Vec<(String, String)> {
    let list = xtask(&["board", "list"]);
    assert!(list.status.success(), "{}", text(&list.stderr));
    let mut board = String::new();
    let mut designs = vec![];
    for line in text(&list.stdout).lines() {
        match line
            .strip_prefix("  ")
            .and_then(|line| line.split(' ').next())
        {
            Some(design) => designs.push((board.clone(), design.to_owned())),
            None => board = line.split(':').next().unwrap_or_default().to_owned(),
        }
    }
    designs
}

/// That of the network card takes three quarters of an hour: it is built with `BOARD_LONG=1` only.
#[test]
fn designs_for_boards_have_bitstreams_with_all_clocks_met() {
    let designs = designs();
    for (board, design) in [("au50", "card"), ("versa", "nic"), ("versa", "repeater")] {
        let design = (board.to_owned(), design.to_owned());
        assert!(designs.contains(&design), "{designs:?}");
    }
    let generator = Path::new(env!("CARGO_BIN_EXE_xtask")).with_file_name("tributary");
    // Not `target/board`: what somebody has built there is theirs.
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("board");
    let _ = std::fs::remove_dir_all(&place);
    for (board, design) in designs {
        if board == "au50" {
            continue;
        }
        if design == "nic" && std::env::var_os("BOARD_LONG").is_none() {
            println!("skipped: {board} {design}, without BOARD_LONG=1");
            continue;
        }
        let out = place.join(&board).join(&design);
        let out_name = out.to_str().unwrap();
        let mut arguments = vec!["board", "build", &board, "--design", &design];
        arguments.extend(["--out", out_name]);
        // Built beside xtask by a test of the whole workspace; without it, cargo builds it.
        if generator.is_file() {
            arguments.extend(["--generator", generator.to_str().unwrap()]);
        }
        let built = xtask(&arguments);
        let said = text(&built.stdout);
        assert!(built.status.success(), "{said}{}", text(&built.stderr));
        assert!(said.contains(" met ") && !said.contains("NOT"), "{said}");
        let bitstream = std::fs::metadata(out.join("board.bit")).unwrap();
        assert!(bitstream.len() > 50_000, "{said}");
        println!("{said}");
    }
}

#[test]
fn boards_and_designs_that_are_not_there_are_named_with_those_that_are() {
    let none = xtask(&["board", "build", "nexys"]);
    assert!(!none.status.success());
    let error = text(&none.stderr);
    assert!(
        error.contains("there is no board `nexys`; there are au50, versa"),
        "{error}"
    );
    let none = xtask(&["board", "build", "versa", "--design", "switch"]);
    assert!(!none.status.success());
    let error = text(&none.stderr);
    assert!(
        error.contains("there is no design `switch` for ECP5-5G Versa; there are repeater, nic"),
        "{error}"
    );
}
