//! Sites of block RAMs (Project Trellis).

use crate::rams::Site;

/// Rows of groups of four, each group nine columns from the next; one gap of two columns more.
struct Grid {
    rows: &'static [i32],
    groups: i32,
    /// Groups in front of the gap.
    before_gap: i32,
}

impl Grid {
    fn sites(&self) -> Vec<Site> {
        let row = |&y: &i32| {
            (0..4 * self.groups).map(move |i| {
                let (group, number) = (i / 4, i % 4);
                let gap = if group < self.before_gap { 0 } else { 2 };
                let x = 4 + 9 * group + 2 * number + gap;
                (format!("X{x}/Y{y}/EBR{number}"), (x, y))
            })
        };
        self.rows.iter().flat_map(row).collect()
    }
}

/// The block RAMs of an ECP5, whose device is named as nextpnr's option names it; none if they are not known here.
pub fn ecp5(device: &str) -> Option<Vec<Site>> {
    let grid = match device {
        "85k" | "um-85k" | "um5g-85k" => Grid {
            rows: &[22, 46, 70, 82],
            groups: 13,
            before_gap: 7,
        },
        "45k" | "um-45k" | "um5g-45k" => Grid {
            rows: &[10, 34, 58],
            groups: 9,
            before_gap: 4,
        },
        _ => return None,
    };
    Some(grid.sites())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn there_are_as_many_sites_as_the_data_sheet_has_block_rams() {
        for (device, count) in [("85k", 208), ("um5g-45k", 108)] {
            let sites = ecp5(device).unwrap();
            assert_eq!(sites.len(), count);
            let places: BTreeSet<_> = sites.iter().map(|(_, place)| place).collect();
            assert_eq!(places.len(), count);
        }
        assert_eq!(ecp5("45k").unwrap()[16].0, "X42/Y10/EBR0");
        assert_eq!(ecp5("45k").unwrap()[107].0, "X84/Y58/EBR3");
        assert!(ecp5("25k").is_none());
    }
}
