//! A server of cards for tests.

// Not every test file uses every function.
#![allow(dead_code)]

use std::io::{BufRead, BufReader, Lines};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

/// `tributary serve` in a process of its own.
pub struct Server {
    pub process: Child,
    pub folder: PathBuf,
    /// Where each card is.
    pub sockets: Vec<String>,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Server {
    /// Starts one, and waits until `cards` sockets are named.
    pub fn start(name: &str, cards: usize, arguments: &[&str]) -> Self {
        let folder = std::env::temp_dir().join(format!("tributary-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        Self::start_in(folder, cards, arguments)
    }

    /// One with other arguments, of `cards` cards.
    pub fn of(name: &str, cards: usize, arguments: &[&str]) -> Self {
        let folder = std::env::temp_dir().join(format!("tributary-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        Self::spawn(folder, cards, arguments)
    }

    /// One with the cards of a fabric, of which there are `cards`.
    pub fn of_fabric(name: &str, fabric: &str, cards: usize) -> Self {
        Self::of(name, cards, &["--fabric", fabric])
    }

    /// The same in a folder that may be there.
    pub fn start_in(folder: PathBuf, cards: usize, arguments: &[&str]) -> Self {
        let count = cards.to_string();
        let mut all = vec!["--cards", &count];
        all.extend(arguments);
        Self::spawn(folder, cards, &all)
    }

    fn spawn(folder: PathBuf, cards: usize, arguments: &[&str]) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_tributary"))
            .args(["serve", "--sockets"])
            .arg(&folder)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let sockets: Vec<String> = lines.by_ref().take(cards).map(Result::unwrap).collect();
        assert_eq!(sockets.len(), cards);
        Self {
            process,
            folder,
            sockets,
            lines,
        }
    }

    /// `tributary perf` connected to its cards.
    pub fn perf(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tributary"));
        command.arg("perf").args(arguments);
        for socket in &self.sockets {
            command.args(["--connect", socket]);
        }
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub fn signal(&self, signal: &str) {
        let pid = self.process.id().to_string();
        let sent = Command::new("kill").args([signal, &pid]).status();
        assert!(sent.unwrap().success());
    }

    /// It must end by itself, soon, without a word, and leave no socket.
    pub fn ends_cleanly(&mut self) {
        assert!(self.process.wait().unwrap().success());
        assert!(self.lines.next().is_none());
        assert!(
            self.sockets
                .iter()
                .all(|path| !PathBuf::from(path).exists())
        );
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
