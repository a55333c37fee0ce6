//! The whole flow to a bitstream, for every board. Needs the pinned tools.

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

#[test]
fn every_board_has_a_bitstream_with_all_clocks_met() {
    let list = xtask(&["board", "list"]);
    let list = text(&list.stdout);
    let boards: Vec<&str> = list
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert!(boards.contains(&"versa"), "{list}");
    let generator = Path::new(env!("CARGO_BIN_EXE_xtask")).with_file_name("tributary");
    // Not `target/board`: what somebody has built there is theirs.
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("board");
    let _ = std::fs::remove_dir_all(&place);
    for board in boards {
        let out = place.join(board);
        let mut arguments = vec!["board", "build", board, "--out", out.to_str().unwrap()];
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
fn boards_that_are_not_there_are_named_with_those_that_are() {
    let none = xtask(&["board", "build", "nexys"]);
    assert!(!none.status.success());
    let error = text(&none.stderr);
    assert!(
        error.contains("there is no board `nexys`; there are versa"),
        "{error}"
    );
}
