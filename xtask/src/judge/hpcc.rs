//! The HPC Challenge benchmark, of which the package is installed.

use std::path::Path;

use anyhow::Result;

use super::{End, Judge, Score};

/// Its input in Debian's package, and the lines of it that are changed: size and grid of the processes.
const INPUT: &str = "/usr/share/doc/hpcc/examples/_hpccinf.txt";
/// Unknowns: seconds on one core.
const SIZE: u32 = 400;

/// Runs it, if it is there.
pub fn run(judge: &Judge, score: &mut Score) -> Result<()> {
    if !Path::new(INPUT).exists() {
        println!("hpcc: not installed, left out");
        return Ok(());
    }
    let folder = judge.folder.join("hpcc");
    std::fs::create_dir_all(&folder)?;
    let ranks = judge.options.ranks;
    let (rows, columns) = match ranks % 2 {
        0 => (2, ranks / 2),
        _ => (1, ranks),
    };
    let input = std::fs::read_to_string(INPUT)?;
    let lines: Vec<String> = input
        .lines()
        .enumerate()
        .map(|(at, line)| match at {
            5 => format!("{SIZE} Ns"),
            10 => format!("{rows} Ps"),
            11 => format!("{columns} Qs"),
            _ => line.to_owned(),
        })
        .collect();
    std::fs::write(folder.join("hpccinf.txt"), lines.join("\n") + "\n")?;
    let result = folder.join("hpccoutf.txt");
    let once = |over| -> Result<End> {
        // It adds to what is there.
        let _ = std::fs::remove_file(&result);
        let end = judge.run(over, &folder, &["hpcc"], judge.options.patience, |_| true)?;
        let text = std::fs::read_to_string(&result).unwrap_or_default();
        Ok(match end {
            End::Good if !passed(&text) => End::Bad(super::tail(&text)),
            end => end,
        })
    };
    score.program("hpcc", once)
}

/// It went to its end, and every check of its own passed.
fn passed(text: &str) -> bool {
    text.contains("Success=1") && text.contains("PASSED") && !text.contains("FAILED")
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_run_without_an_end_or_with_a_failed_check_has_not_passed() {
        assert!(super::passed("residual 0.01 ... PASSED\nSuccess=1\n"));
        assert!(!super::passed("residual 0.01 ... PASSED\n"));
        assert!(!super::passed("a ... PASSED\nb ... FAILED\nSuccess=1\n"));
    }
}
