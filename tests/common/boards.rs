//! Simulated boards for tests.

// Not every test file uses every function.
#![allow(dead_code)]

use std::io::{BufRead, BufReader, Lines};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use super::server::Server;

/// Two boards that run.
pub struct Boards {
    pub process: Child,
    lines: Lines<BufReader<ChildStdout>>,
    folder: PathBuf,
    pub cables: Vec<String>,
}

impl Boards {
    pub fn start(name: &str, kind: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("tributary-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let mut process = Command::new(env!("CARGO_BIN_EXE_tributary"))
            .args(["board", "--kind", kind, "--cables"])
            .arg(&folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let cables: Vec<String> = lines.by_ref().take(2).map(Result::unwrap).collect();
        assert_eq!(cables.len(), 2);
        Self {
            process,
            lines,
            folder,
            cables,
        }
    }

    /// Serves the board of this node.
    pub fn serve(&self, node: usize, name: &str, more: &[&str]) -> Server {
        let node_name = node.to_string();
        let mut arguments = vec!["--cable", &self.cables[node], "--node", &node_name];
        // A simulated board needs many times as long as a real one.
        arguments.extend(["--link-timeout", "500"]);
        arguments.extend(more);
        Server::of(name, 1, &arguments)
    }

    pub fn end_cleanly(mut self) {
        assert!(self.process.wait().unwrap().success());
        assert!(self.lines.next().is_none());
        assert!(self.cables.iter().all(|path| !Path::new(path).exists()));
    }
}

impl Drop for Boards {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
