//! The manager of a fabric for other processes, behind a Unix socket (`tributary_host_driver::collective::remote`).

use std::collections::BTreeSet;
use std::io::{self, BufReader, ErrorKind, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tributary_host_driver::collective::SharedTrees;
use tributary_host_driver::collective::remote::{Answer, GREETING, Request, read_line};

use super::ServeError;

/// Clients at once, and groups of each.
const CLIENTS: usize = 1_024;
const GROUPS: usize = 1_024;
/// A client that says nothing is looked at this often: the server may end.
const LOOK: Duration = Duration::from_millis(100);
/// New clients are looked for this often.
const ACCEPT: Duration = Duration::from_millis(5);

/// Answers until this is dropped. Groups of a client that is gone are taken back.
pub struct TreeServer {
    stop: Arc<AtomicBool>,
    path: PathBuf,
    listens: Option<JoinHandle<()>>,
}

/// Answers requests for trees at a socket.
///
/// # Errors
/// A path that exists, or no thread.
pub fn serve_trees(trees: SharedTrees, path: &Path) -> Result<TreeServer, ServeError> {
    let trees_error = |error| ServeError::Trees {
        path: path.into(),
        error,
    };
    let listener = UnixListener::bind(path).map_err(trees_error)?;
    // Nothing has to reach the socket for this to end: its file may be gone or another's by then.
    listener.set_nonblocking(true).map_err(trees_error)?;
    let stop = Arc::new(AtomicBool::new(false));
    let ends = Arc::clone(&stop);
    let thread = std::thread::Builder::new().name("trees".to_owned());
    let listens = thread.spawn(move || listen(&listener, &trees, &ends))?;
    Ok(TreeServer {
        stop,
        path: path.into(),
        listens: Some(listens),
    })
}

impl Drop for TreeServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = self.listens.take() {
            // A thread that failed has said so.
            let _ = thread.join();
        }
        let _ = std::fs::remove_file(&self.path);
    }
}

fn listen(listener: &UnixListener, trees: &SharedTrees, stop: &Arc<AtomicBool>) {
    let clients = Arc::new(AtomicUsize::new(0));
    while !stop.load(Ordering::Acquire) {
        let mut stream = match listener.accept() {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Nobody, or no descriptor is free and some client will end.
                let nobody = error.kind() == ErrorKind::WouldBlock;
                std::thread::sleep(if nobody { ACCEPT } else { LOOK });
                continue;
            }
        };
        if clients.load(Ordering::Acquire) >= CLIENTS {
            let _ = writeln!(stream, "no {CLIENTS} clients have trees already");
            continue;
        }
        clients.fetch_add(1, Ordering::AcqRel);
        let mut client = Client {
            trees: Arc::clone(trees),
            groups: BTreeSet::new(),
            clients: Arc::clone(&clients),
        };
        let stop = Arc::clone(stop);
        let thread = std::thread::Builder::new().name("trees".to_owned());
        // Without a thread the client is dropped: it reads the end of its stream.
        let _ = thread.spawn(move || client.run(stream, &stop));
    }
}

/// One client, and the groups that it has.
struct Client {
    trees: SharedTrees,
    groups: BTreeSet<u64>,
    clients: Arc<AtomicUsize>,
}

impl Client {
    fn run(&mut self, stream: UnixStream, stop: &AtomicBool) {
        // Whoever breaks the protocol, or reads no answers, loses the connection.
        let _ = self.talk(stream, stop);
    }

    fn talk(&mut self, mut stream: UnixStream, stop: &AtomicBool) -> io::Result<()> {
        stream.set_read_timeout(Some(LOOK))?;
        stream.set_write_timeout(Some(LOOK))?;
        writeln!(stream, "{GREETING}")?;
        let mut reader = BufReader::new(stream.try_clone()?);
        let mut line = Vec::new();
        while !stop.load(Ordering::Acquire) {
            match read_line(&mut reader, &mut line) {
                Ok(false) => break,
                Ok(true) => {
                    let text = String::from_utf8_lossy(&line);
                    let answer = match text.parse() {
                        Ok(request) => self.answer(&request),
                        Err(error) => Answer::No(format!("{error}")),
                    };
                    line.clear();
                    writeln!(stream, "{answer}")?;
                }
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn answer(&mut self, request: &Request) -> Answer {
        let mut trees = self.trees.lock().unwrap_or_else(PoisonError::into_inner);
        let own = |group: &u64| self.groups.contains(group);
        match request {
            Request::Plant(_) if self.groups.len() >= GROUPS => {
                Answer::No(format!("the client has {GROUPS} groups already"))
            }
            Request::Plant(nodes) => match trees.plant(nodes) {
                Ok(grant) => {
                    self.groups.insert(grant.group);
                    Answer::Tree(grant)
                }
                Err(reason) => Answer::No(reason),
            },
            Request::Current(group) | Request::Moved(group, _) | Request::Uproot(group)
                if !own(group) =>
            {
                Answer::No(format!("group {group} is not of this client"))
            }
            Request::Current(group) => match trees.current(*group) {
                Some(grant) => Answer::Tree(grant),
                None => Answer::No("the group has no tree any more".to_owned()),
            },
            Request::Moved(group, tree) => {
                trees.moved(*group, *tree);
                Answer::Done
            }
            Request::Uproot(group) => {
                trees.uproot(*group);
                self.groups.remove(group);
                Answer::Done
            }
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let mut trees = self.trees.lock().unwrap_or_else(PoisonError::into_inner);
        for group in &self.groups {
            trees.uproot(*group);
        }
        self.clients.fetch_sub(1, Ordering::AcqRel);
    }
}
