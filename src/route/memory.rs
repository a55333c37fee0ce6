//! The most memory that the process has had, from Linux; elsewhere it is not known.

use std::fs;

/// Forgets the most so far, where Linux allows it; false if the most still counts from the start of the process.
pub fn restart() -> bool {
    fs::write("/proc/self/clear_refs", "5").is_ok()
}

/// The most memory since then, bytes.
pub fn peak_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}
