//! A manager in another process: each line on a Unix socket asks for something, and a line answers.
//!
//! The server begins with [`GREETING`]. `docs/collectives.md` has the lines.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use thiserror::Error;

use tributary_protocol::red::address::NODES;

use super::{Grant, Trees};

/// Name of the socket in the folder of the cards' sockets.
pub const TREES_SOCKET: &str = "trees";
/// The first line from a server; its number is the version.
pub const GREETING: &str = "tributary trees 1";
/// Bytes of the longest line: 65,536 nodes of up to 7 digits.
pub const LINE_MAX: usize = 1 << 20;
/// Longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a client asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// `plant NODE NODE …`: a tree for these nodes, the first of which is its root.
    Plant(Vec<u32>),
    /// `current GROUP`: the tree that a group of this client has now.
    Current(u64),
    /// `moved GROUP TREE`: all members send under this number, and nothing of an older tree of the group is under way.
    Moved(u64, u16),
    /// `uproot GROUP`: the group needs its tree no more.
    Uproot(u64),
}

/// What the server answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// `tree GROUP TREE COOKIE`.
    Tree(Grant),
    /// `done`: there is no more to say.
    Done,
    /// `no REASON`.
    No(String),
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plant(nodes) => {
                f.write_str("plant")?;
                nodes.iter().try_for_each(|node| write!(f, " {node}"))
            }
            Self::Current(group) => write!(f, "current {group}"),
            Self::Moved(group, tree) => write!(f, "moved {group} {tree}"),
            Self::Uproot(group) => write!(f, "uproot {group}"),
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tree(grant) => write!(f, "tree {} {} {}", grant.group, grant.tree, grant.cookie),
            Self::Done => f.write_str("done"),
            // One line, whatever the reason says.
            Self::No(reason) => write!(f, "no {}", reason.replace(['\n', '\r'], " ")),
        }
    }
}

/// A line that is none of the protocol.
#[derive(Debug, Error)]
#[error(
    "{0:?} is no line of this protocol: plant NODES, current GROUP, moved GROUP TREE, uproot GROUP"
)]
pub struct Malformed(String);

fn malformed(line: &str) -> Malformed {
    Malformed(line.chars().take(80).collect())
}

impl FromStr for Request {
    type Err = Malformed;

    fn from_str(line: &str) -> Result<Self, Malformed> {
        let mut words = line.split_ascii_whitespace();
        let verb = words.next();
        let rest: Vec<&str> = words.collect();
        let request = match (verb, &rest[..]) {
            (Some("plant"), nodes) => {
                let nodes: Result<Vec<u32>, _> = nodes.iter().map(|node| node.parse()).collect();
                let known = |nodes: &Vec<u32>| nodes.iter().all(|node| *node < NODES);
                nodes.ok().filter(known).map(Self::Plant)
            }
            (Some("current"), [group]) => group.parse().ok().map(Self::Current),
            (Some("moved"), [group, tree]) => {
                let numbers = group.parse().ok().zip(tree.parse().ok());
                numbers.map(|(group, tree)| Self::Moved(group, tree))
            }
            (Some("uproot"), [group]) => group.parse().ok().map(Self::Uproot),
            _ => None,
        };
        request.ok_or_else(|| malformed(line))
    }
}

impl FromStr for Answer {
    type Err = Malformed;

    fn from_str(line: &str) -> Result<Self, Malformed> {
        if let Some(reason) = line.strip_prefix("no ") {
            return Ok(Self::No(reason.to_owned()));
        }
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let answer = match words[..] {
            ["done"] => Some(Self::Done),
            ["tree", group, tree, cookie] => {
                let grant = (group.parse().ok())
                    .zip(tree.parse().ok())
                    .zip(cookie.parse().ok());
                grant.map(|((group, tree), cookie)| {
                    Self::Tree(Grant {
                        group,
                        tree,
                        cookie,
                    })
                })
            }
            _ => None,
        };
        answer.ok_or_else(|| malformed(line))
    }
}

/// Reads on to the end of a line; false at the end of the stream. What came before an error stays in `line`.
///
/// # Errors
/// The stream, or a line that is too long.
pub fn read_line(from: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    loop {
        let bytes = match from.fill_buf() {
            Ok(bytes) => bytes,
            // A signal of the program; with a timeout the kernel does not go on by itself.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if bytes.is_empty() {
            return Ok(false);
        }
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let count = end.unwrap_or(bytes.len());
        line.extend_from_slice(&bytes[..count]);
        from.consume(count + usize::from(end.is_some()));
        if line.len() > LINE_MAX {
            return Err(io::Error::other(format!(
                "a line of more than {LINE_MAX} bytes"
            )));
        }
        if end.is_some() {
            return Ok(true);
        }
    }
}

/// Why no manager can be asked.
#[derive(Debug, Error)]
pub enum RemoteError {
    /// The socket.
    #[error(
        "cannot ask for trees at {path}: {error}; `tributary serve --fabric` and `tributary mpi --fabric` answer there"
    )]
    Socket {
        /// Where.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// Another protocol, or a server that has no room.
    #[error("{path} says {says:?} instead of {GREETING:?}")]
    Version {
        /// Where.
        path: PathBuf,
        /// The first line.
        says: String,
    },
}

/// The manager of a server. Groups end with the connection, so with the process, however it ends.
pub struct RemoteTrees {
    stream: BufReader<UnixStream>,
    /// Answers no longer fit to questions.
    broken: Option<String>,
    /// What each group had last.
    grants: BTreeMap<u64, Grant>,
}

impl RemoteTrees {
    /// Connects to the manager beside the cards of a folder.
    ///
    /// # Errors
    /// Nobody answers there, or in another way.
    pub fn connect(folder: &Path) -> Result<Self, RemoteError> {
        let path = folder.join(TREES_SOCKET);
        let greet = || -> io::Result<(BufReader<UnixStream>, String)> {
            let stream = UnixStream::connect(&path)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.set_write_timeout(Some(PATIENCE))?;
            let mut stream = BufReader::new(stream);
            let mut line = Vec::new();
            read_line(&mut stream, &mut line)?;
            Ok((stream, String::from_utf8_lossy(&line).into_owned()))
        };
        match greet() {
            Ok((stream, says)) if says == GREETING => Ok(Self {
                stream,
                broken: None,
                grants: BTreeMap::new(),
            }),
            Ok((_, says)) => Err(RemoteError::Version { path, says }),
            Err(error) => Err(RemoteError::Socket { path, error }),
        }
    }

    fn ask(&mut self, request: &Request) -> Result<Answer, String> {
        if let Some(broken) = &self.broken {
            return Err(broken.clone());
        }
        let mut exchange = || -> io::Result<Answer> {
            self.stream
                .get_mut()
                .write_all(format!("{request}\n").as_bytes())?;
            let mut line = Vec::new();
            if !read_line(&mut self.stream, &mut line)? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let line = String::from_utf8_lossy(&line);
            line.parse().map_err(io::Error::other)
        };
        exchange().map_err(|error| {
            let text = format!("the manager of trees does not answer: {error}");
            self.broken = Some(text.clone());
            text
        })
    }
}

impl Trees for RemoteTrees {
    fn plant(&mut self, nodes: &[u32]) -> Result<Grant, String> {
        match self.ask(&Request::Plant(nodes.to_vec()))? {
            Answer::Tree(grant) => {
                self.grants.insert(grant.group, grant);
                Ok(grant)
            }
            Answer::No(reason) => Err(reason),
            Answer::Done => Err("the manager answers another question".to_owned()),
        }
    }

    fn current(&mut self, group: u64) -> Option<Grant> {
        match self.ask(&Request::Current(group)) {
            Ok(Answer::Tree(grant)) => {
                self.grants.insert(group, grant);
                Some(grant)
            }
            Ok(_) => None,
            // A tree stays when the manager is gone: that nobody answers does not say that there is none.
            Err(_) => self.grants.get(&group).copied(),
        }
    }

    fn moved(&mut self, group: u64, tree: u16) {
        // A server that does not hear it keeps numbers until the group ends.
        let _ = self.ask(&Request::Moved(group, tree));
    }

    fn uproot(&mut self, group: u64) {
        self.grants.remove(&group);
        // The server does it at the end of the connection at the latest.
        let _ = self.ask(&Request::Uproot(group));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cl_09_lines_keep_every_field_and_nonsense_is_refused() {
        let grant = Grant {
            group: u64::MAX,
            tree: 8_191,
            cookie: 0xFFFF_FFF8,
        };
        for request in [
            Request::Plant(vec![1_048_575, 65_536, 0, 7]),
            Request::Plant(Vec::new()),
            Request::Current(0),
            Request::Moved(u64::MAX, 8_191),
            Request::Uproot(u64::MAX),
        ] {
            assert_eq!(request.to_string().parse::<Request>().unwrap(), request);
        }
        for answer in [
            Answer::Tree(grant),
            Answer::Done,
            Answer::No("a reason".to_owned()),
        ] {
            assert_eq!(answer.to_string().parse::<Answer>().unwrap(), answer);
        }
        for line in [
            "",
            "plant 1048576",
            "plant -1",
            "plant 1,2",
            "current",
            "current 1 2",
            "uproot x",
            "moved 1",
            "moved 1 65536",
            "moved 1 2 3",
            "grow 1",
        ] {
            let error = line.parse::<Request>().unwrap_err().to_string();
            assert!(error.contains("plant NODES"), "{error}");
        }
        for line in ["tree 1 2", "tree 1 70000 3", "tree 1 2 3 4", "yes"] {
            assert!(line.parse::<Answer>().is_err(), "{line}");
        }
        let reason = Answer::No("two\nlines".to_owned()).to_string();
        assert_eq!(reason, "no two lines");
    }

    #[test]
    fn cl_09_lines_end_and_are_bounded() {
        let mut line = Vec::new();
        let mut stream = &b"done\nrest"[..];
        assert!(read_line(&mut stream, &mut line).unwrap());
        assert_eq!(line, b"done");
        line.clear();
        assert!(!read_line(&mut stream, &mut line).unwrap());
        let long = vec![b'1'; LINE_MAX + 2];
        line.clear();
        assert!(read_line(&mut &long[..], &mut line).is_err());
    }
}
