//! Verilator's opinion of what was generated.

use std::path::Path;
use std::thread;

use anyhow::{Context, Result, anyhow};
use serde::Serialize;
use tributary_sim::tools::{self, Tools, ToolsError};

use super::plan::Folder;

/// What came of it.
#[derive(Serialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum Lint {
    /// It was not asked for.
    NotAsked,
    /// Verilator is not there.
    Skipped {
        /// Why, and how to get it.
        why: String,
    },
    /// Not one message.
    Clean {
        /// Top modules looked at.
        tops: usize,
    },
    /// Verilator has something to say.
    Messages {
        /// What.
        messages: String,
    },
}

impl Lint {
    /// Nothing is wrong as far as one knows.
    pub fn is_good(&self) -> bool {
        !matches!(self, Self::Messages { .. })
    }

    /// For people.
    pub fn tell(&self) -> String {
        match self {
            Self::NotAsked => String::new(),
            Self::Skipped { why } => format!("lint: SKIPPED, {why}\n"),
            Self::Clean { tops } => format!(
                "lint: {}, -Wall: no message on {tops} top modules\n",
                tools::VERILATOR_VERSION
            ),
            Self::Messages { messages } => format!("{messages}\nlint: FAILED\n"),
        }
    }
}

/// Looks at every top module of folders that lie in `out`.
pub fn run(folders: &[Folder], out: &Path) -> Result<Lint> {
    let tools = match Tools::find() {
        Ok(tools) => tools,
        Err(error @ (ToolsError::NotInstalled { .. } | ToolsError::Missing { .. })) => {
            return Ok(Lint::Skipped {
                why: error.to_string(),
            });
        }
    };
    let tops: Vec<(&Folder, &String)> = folders
        .iter()
        .flat_map(|folder| folder.tops.iter().map(move |top| (folder, top)))
        .collect();
    let messages: Vec<String> = thread::scope(|scope| {
        let work: Vec<_> = tops
            .iter()
            .map(|(folder, top)| scope.spawn(|| one(&tools, folder, top, out)))
            .collect();
        work.into_iter()
            .map(|work| work.join().map_err(|_| anyhow!("the lint broke down"))?)
            .collect::<Result<_>>()
    })?;
    let messages: Vec<&str> = messages
        .iter()
        .map(|text| text.trim())
        .filter(|text| !text.is_empty())
        .collect();
    Ok(if messages.is_empty() {
        Lint::Clean { tops: tops.len() }
    } else {
        Lint::Messages {
            messages: messages.join("\n"),
        }
    })
}

fn one(tools: &Tools, folder: &Folder, top: &str, out: &Path) -> Result<String> {
    let path = out.join(&folder.name);
    let output = tools
        .command("verilator")?
        .args(["--lint-only", "-Wall", "--top-module", top])
        .args(&folder.sources)
        .current_dir(&path)
        .output()
        .with_context(|| format!("cannot start Verilator in {}", path.display()))?;
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    if !output.status.success() && text.trim().is_empty() {
        return Ok(format!("Verilator on {top}: {}", output.status));
    }
    // The report of how long it took is no message.
    let lines = text.lines().filter(|line| !line.starts_with("- "));
    Ok(lines.map(|line| format!("{line}\n")).collect())
}
