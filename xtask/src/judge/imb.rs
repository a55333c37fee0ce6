//! Intel's MPI benchmarks, which come with its library.

use anyhow::Result;

use super::{Judge, Score};

/// Programs of them that need no second job.
const PROGRAMS: [&str; 4] = ["IMB-MPI1", "IMB-P2P", "IMB-NBC", "IMB-RMA"];
/// What keeps each to minutes: few repetitions, messages of up to 64 KiB.
const SHORT: [&str; 4] = ["-iter", "10", "-msglog", "0:16"];
/// The other programs would do fewer repetitions of long messages.
const EVEN: [&str; 2] = ["-iter_policy", "off"];

/// Runs them.
pub fn run(judge: &Judge, score: &mut Score) -> Result<()> {
    let Some(home) = &judge.mpi.home else {
        return Ok(());
    };
    for name in PROGRAMS {
        if !judge.options.wants(name) {
            continue;
        }
        let program = home.join("bin").join(name).to_string_lossy().into_owned();
        let mut words = vec![&*program];
        words.extend(SHORT);
        if name != "IMB-P2P" {
            words.extend(EVEN);
        }
        score.program(name, |over| {
            judge.run(
                over,
                &judge.folder,
                &words,
                judge.options.patience,
                |text| text.contains("All processes entering MPI_Finalize"),
            )
        })?;
    }
    Ok(())
}
