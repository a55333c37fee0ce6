//! Speed-ups of reductions as SVG.

use anyhow::Result;

use crate::bench::reduction::Row;

/// Placeholder.
pub fn speedups(_rows: &[Row]) -> Result<String> {
    Ok(String::new())
}
