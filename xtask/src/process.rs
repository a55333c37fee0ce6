//! Running other programs, with errors that show the command and the end of its output.

use std::ffi::OsStr;
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, bail};

/// How many lines of a failed program's output an error shows.
const TAIL_LINES: usize = 25;

/// The command as one would type it.
pub fn shown(command: &Command) -> String {
    std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(OsStr::to_string_lossy)
        .map(|word| {
            if word.contains([' ', '"', '\'', ';']) {
                format!("'{word}'")
            } else {
                word.into_owned()
            }
        })
        .collect::<Vec<_>>()
        .join(" ")
}

/// Runs `command` with its output caught; fails with the last lines of it unless it succeeds.
pub fn run_quietly(command: &mut Command) -> Result<Output> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot start `{}`", shown(command)))?;
    if !output.status.success() {
        let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.push_str(&String::from_utf8_lossy(&output.stderr));
        let lines: Vec<&str> = text.lines().collect();
        let tail = lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n");
        bail!("`{}` failed ({}):\n{tail}", shown(command), output.status);
    }
    Ok(output)
}

/// Runs `command` with its output passed through; fails unless it succeeds.
pub fn run_loudly(command: &mut Command) -> Result<()> {
    eprintln!("+ {}", shown(command));
    let status = command
        .stdin(Stdio::null())
        .status()
        .with_context(|| format!("cannot start `{}`", shown(command)))?;
    if !status.success() {
        bail!("`{}` failed ({status})", shown(command));
    }
    Ok(())
}
