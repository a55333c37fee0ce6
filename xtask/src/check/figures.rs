//! The figures of a block in the tables of docs/performance.md.

use std::fmt;

use super::Report;

/// LUTs and registers may grow by this share before it counts.
const MORE: f64 = 1.02;

/// The frequency with one seed may fall to this share: another netlist of the same logic is placed otherwise.
const SLOWER: f64 = 0.93;

/// A row of a table whose columns begin `block | LUTs | registers | block RAM | Fmax MHz`.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// As `W=256`.
    pub sizes: Vec<String>,
    luts: u64,
    registers: u64,
    block_rams: u64,
    /// With seed 1 where the table tells seeds apart, else the median.
    fmax_mhz: f64,
}

impl Figures {
    /// The first row of `block`, in `sizes` if there are any.
    pub fn of(page: &str, block: &str, sizes: &[String]) -> Option<Self> {
        let mut wanted = sizes.to_vec();
        wanted.sort();
        let mut in_table = false;
        for line in page.lines() {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            if cells.len() < 7 {
                in_table = false;
            } else if cells[1] == "block" {
                in_table = cells[2..5] == ["LUTs", "registers", "block RAM"]
                    && cells[5].starts_with("Fmax MHz");
            } else if let Some(row) = in_table.then(|| Self::row(&cells, block)).flatten() {
                let mut has = row.sizes.clone();
                has.sort();
                if wanted.is_empty() || has == wanted {
                    return Some(row);
                }
            }
        }
        None
    }

    fn row(cells: &[&str], block: &str) -> Option<Self> {
        let name = format!("`{block}`");
        let rest = cells[1].strip_prefix(&name)?;
        let sizes = rest.split([' ', ',']).filter(|word| {
            word.split_once('=')
                .is_some_and(|(_, size)| size.parse::<u64>().is_ok())
        });
        let number = |cell: &str| match cell {
            "" => Some(0),
            digits => digits.replace(',', "").parse().ok(),
        };
        let by_seed = cells[6]
            .split(',')
            .next()
            .and_then(|mhz| mhz.trim().parse().ok());
        Some(Self {
            sizes: sizes.map(str::to_owned).collect(),
            luts: number(cells[2])?,
            registers: number(cells[3])?,
            block_rams: number(cells[4])?,
            fmax_mhz: by_seed.or_else(|| cells[5].parse().ok())?,
        })
    }

    /// What is worse than recorded, in words.
    pub fn worse(&self, report: &Report) -> Vec<String> {
        let mut worse = Vec::new();
        for (name, now, then) in [
            ("LUTs", report.luts, self.luts),
            ("registers", report.registers, self.registers),
        ] {
            if now as f64 > then as f64 * MORE {
                worse.push(format!("{now} {name}, not {then}"));
            }
        }
        if report.block_rams > self.block_rams {
            worse.push(format!(
                "{} block RAMs, not {}",
                report.block_rams, self.block_rams
            ));
        }
        if let Some(mhz) = report.fmax_mhz
            && mhz < self.fmax_mhz * SLOWER
        {
            worse.push(format!("{mhz} MHz, not {}", self.fmax_mhz));
        }
        worse
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} LUTs, {} registers, {} block RAMs, {} MHz",
            self.luts, self.registers, self.block_rams, self.fmax_mhz
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "\
| name | LUTs | registers | block RAM | Fmax MHz | more |
|---|---|---|---|---|---|
| `lane` | 9 | 9 | 9 | 9 | 9 |

| block | LUTs | registers | block RAM | Fmax MHz, median | by seed |
|---|---|---|---|---|---|
| `lane` W=64 R=8 | 1,906 | 1,814 | | 193.9 | 190.5, 193.9, 195.0 |
| `lane` W=256 R=8, placed first | 3,000 | 2,000 | 12 | 150 | |
";

    #[test]
    fn a_row_is_found_by_block_and_sizes() {
        let first = Figures::of(PAGE, "lane", &[]).unwrap();
        assert_eq!(first.sizes, ["W=64", "R=8"]);
        assert_eq!(
            first.to_string(),
            "1906 LUTs, 1814 registers, 0 block RAMs, 190.5 MHz"
        );
        let sizes = ["R=8".to_owned(), "W=256".to_owned()];
        let other = Figures::of(PAGE, "lane", &sizes).unwrap();
        assert_eq!((other.block_rams, other.fmax_mhz), (12, 150.0));
        assert_eq!(Figures::of(PAGE, "lane", &sizes[..1]), None);
        assert_eq!(Figures::of(PAGE, "other", &[]), None);
    }

    #[test]
    fn each_figure_that_is_worse_is_named() {
        let row = Figures::of(PAGE, "lane", &[]).unwrap();
        let report = |luts, registers, block_rams, mhz| Report {
            luts,
            registers,
            block_rams,
            fmax_mhz: Some(mhz),
        };
        assert!(row.worse(&report(1940, 1814, 0, 178.0)).is_empty());
        let worse = row.worse(&report(1950, 1900, 1, 170.0));
        assert_eq!(worse.len(), 4, "{worse:?}");
    }
}
