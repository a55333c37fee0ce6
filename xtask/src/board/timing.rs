//! Which clocks are met, from nextpnr's report.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

/// What nextpnr found out, as far as it is read.
#[derive(Debug, Deserialize)]
struct Report {
    fmax: BTreeMap<String, Clock>,
    utilization: BTreeMap<String, Used>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Clock {
    achieved: f64,
    constraint: f64,
}

#[derive(Debug, Deserialize)]
struct Used {
    used: u64,
    available: u64,
}

/// What became of the clocks of a board.
#[derive(Debug)]
pub struct Verdict {
    clocks: BTreeMap<String, Clock>,
    /// What was asked of the board's clocks, if it is not what nextpnr was told.
    asked: Option<Vec<f64>>,
    used: Vec<String>,
}

/// Reads nextpnr's report; `asked` is a frequency for each clock.
pub fn verdict(report: &Path, asked: &[f64]) -> Result<Verdict> {
    let text =
        fs::read_to_string(report).with_context(|| format!("cannot read {}", report.display()))?;
    of_report(&text, asked).with_context(|| format!("in {}", report.display()))
}

fn of_report(text: &str, asked: &[f64]) -> Result<Verdict> {
    let report: Report = serde_json::from_str(text)?;
    let mut told: Vec<f64> = report.fmax.values().map(|clock| clock.constraint).collect();
    let mut asked = asked.to_vec();
    told.sort_by(f64::total_cmp);
    asked.sort_by(f64::total_cmp);
    // nextpnr rounds periods to picoseconds.
    let same = told.len() == asked.len()
        && told
            .iter()
            .zip(&asked)
            .all(|(told, asked)| (told - asked).abs() < 0.1);
    let used = ["TRELLIS_COMB", "TRELLIS_FF", "DP16KD"]
        .iter()
        .filter_map(|kind| {
            let used = report.utilization.get(*kind)?;
            Some(format!("{kind} {} of {}", used.used, used.available))
        })
        .collect();
    Ok(Verdict {
        clocks: report.fmax,
        asked: (!same).then_some(asked),
        used,
    })
}

impl Verdict {
    /// All clocks are those that were asked for, and are met.
    pub fn met(&self) -> bool {
        self.asked.is_none() && self.clocks.values().all(Clock::met)
    }
}

impl Clock {
    fn met(&self) -> bool {
        self.achieved >= self.constraint
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.used.join(", "))?;
        for (name, clock) in &self.clocks {
            let met = if clock.met() { "met" } else { "NOT MET" };
            let (achieved, constraint) = (clock.achieved, clock.constraint);
            writeln!(f, "{achieved:7.1} of {constraint:5.1} MHz  {met}  {name}")?;
        }
        if let Some(asked) = &self.asked {
            writeln!(f, "NOT THE CLOCKS of board.toml: {asked:?} MHz")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::of_report;

    /// A report of nextpnr 0.11.1, cut down.
    fn report(rx: f64, told: f64) -> String {
        format!(
            r#"{{"critical_paths": [], "fmax": {{"$glbnet$clk": {{"achieved": 155.6, "constraint": 100.0}},
            "$glbnet$rxc": {{"achieved": {rx}, "constraint": {told}}}}},
            "utilization": {{"DP16KD": {{"available": 108, "used": 32}}}}}}"#
        )
    }

    #[test]
    fn a_clock_below_its_frequency_is_not_met() {
        let good = of_report(&report(125.01, 125.0), &[125.0, 100.0]).unwrap();
        assert!(good.met(), "{good}");
        let bad = of_report(&report(124.99, 125.0), &[125.0, 100.0]).unwrap();
        assert!(!bad.met(), "{bad}");
        assert!(bad.to_string().contains("NOT MET  $glbnet$rxc"), "{bad}");
    }

    /// nextpnr takes 12 MHz for clocks of which nobody told it.
    #[test]
    fn a_clock_without_its_constraint_is_not_met() {
        let loose = of_report(&report(190.0, 12.0), &[125.0, 100.0]).unwrap();
        assert!(!loose.met(), "{loose}");
        let missing = of_report(&report(190.0, 125.0), &[125.0, 125.0, 100.0]).unwrap();
        assert!(!missing.met(), "{missing}");
        assert!(missing.to_string().contains("NOT THE CLOCKS"), "{missing}");
    }
}
