//! The figures, and where in the tools' reports they are.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::Serialize;
use serde_json::Value;

use super::path::CriticalPath;

/// Size and speed of a block. See the [module](super) for what exactly is counted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SynthReport {
    /// The module.
    pub top: String,
    /// The device.
    pub device: String,
    /// What the Verilog was read with.
    pub defines: &'static [&'static str],
    /// LUT4 sites in use.
    pub luts: u64,
    /// Flip-flops in use.
    pub registers: u64,
    /// Block RAMs (18 Kbit) in use.
    pub block_rams: u64,
    /// Those of `luts` that hold distributed RAM.
    pub lutram_luts: u64,
    /// 18×18 multipliers in use.
    pub multipliers: u64,
    /// Median frequency over the seeds; none if there is no path from register to register.
    pub fmax_mhz: Option<f64>,
    /// The frequency that was aimed at.
    pub target_mhz: u32,
    /// How often the block RAMs were placed ahead of the rest.
    pub ram_rounds: u32,
    /// After which of these rounds they were kept; 0: the sites are those that nextpnr chose.
    pub ram_round: u32,
    /// Each seed's result.
    pub seeds: Vec<SeedResult>,
    /// The path that bounds the frequency of the median seed.
    pub critical_path: Option<CriticalPath>,
    /// Cells after synthesis, before packing, by type.
    pub cells: BTreeMap<String, u64>,
    /// Where netlist, reports and logs are.
    #[serde(skip)]
    pub work_dir: PathBuf,
    /// How long it took; near zero when all was there already.
    pub time_s: f64,
}

/// What one seed came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SeedResult {
    /// The seed.
    pub seed: u32,
    /// Frequency of the slowest clock.
    pub fmax_mhz: Option<f64>,
    /// LUT4 sites in use.
    pub luts: u64,
    /// Flip-flops in use.
    pub registers: u64,
}

impl SeedResult {
    /// From nextpnr's report.
    pub(super) fn new(seed: u32, report: &Value) -> Self {
        let clocks = report["fmax"].as_object();
        let fmax_mhz = clocks
            .into_iter()
            .flat_map(|clocks| clocks.values())
            .filter_map(|clock| clock["achieved"].as_f64())
            .min_by(f64::total_cmp)
            // More digits than nextpnr's timing model is worth only hide the figure.
            .map(|mhz| (mhz * 100.0).round() / 100.0);
        Self {
            seed,
            fmax_mhz,
            luts: used(report, "TRELLIS_COMB"),
            registers: used(report, "TRELLIS_FF"),
        }
    }
}

/// How many cells of a kind nextpnr has placed.
pub(super) fn used(report: &Value, kind: &str) -> u64 {
    report["utilization"][kind]["used"].as_u64().unwrap_or(0)
}

/// The frequency of the slowest clock that nextpnr's log of a placement expects, MHz.
pub(super) fn expected(log: &str) -> Option<f64> {
    log.lines()
        .filter(|line| line.contains("Max frequency for clock"))
        .filter_map(|line| {
            line.split_once(" MHz")?
                .0
                .split(' ')
                .next_back()?
                .parse()
                .ok()
        })
        .min_by(f64::total_cmp)
}

/// Yosys's count of cells by type.
pub(super) fn cells(stat: &Value) -> BTreeMap<String, u64> {
    stat["design"]["num_cells_by_type"]
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(kind, count)| Some((kind.clone(), count.as_u64()?)))
        .collect()
}

/// The index of the median seed; of an even number the slower of the two in the middle.
pub(super) fn median<T>(seeds: &[(SeedResult, T)]) -> usize {
    let speed = |index: usize| seeds[index].0.fmax_mhz.unwrap_or(0.0);
    let mut order: Vec<usize> = (0..seeds.len()).collect();
    order.sort_by(|&a, &b| speed(a).total_cmp(&speed(b)));
    order
        .get((seeds.len().max(1) - 1) / 2)
        .copied()
        .unwrap_or(0)
}

impl fmt::Display for SynthReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} on {}, with {} defined",
            self.top,
            self.device,
            self.defines.join(", ")
        )?;
        writeln!(
            f,
            "  LUT4 {} (distributed RAM {}), registers {}, block RAM {}, multipliers {}",
            self.luts, self.lutram_luts, self.registers, self.block_rams, self.multipliers
        )?;
        if self.ram_rounds > 0 {
            writeln!(
                f,
                "  block RAMs placed first, as after round {} of {}",
                self.ram_round, self.ram_rounds
            )?;
        }
        match self.fmax_mhz {
            Some(fmax) => {
                let seeds: Vec<String> = self
                    .seeds
                    .iter()
                    .map(|seed| match seed.fmax_mhz {
                        Some(fmax) => format!("{}: {fmax:.1}", seed.seed),
                        None => format!("{}: -", seed.seed),
                    })
                    .collect();
                writeln!(
                    f,
                    "  Fmax {fmax:.1} MHz, median of {} seeds ({}), aimed at {} MHz",
                    self.seeds.len(),
                    seeds.join(", "),
                    self.target_mhz
                )?;
            }
            None => writeln!(f, "  Fmax: no path from register to register")?,
        }
        if let Some(path) = &self.critical_path {
            write!(f, "{path}")?;
        }
        Ok(())
    }
}
