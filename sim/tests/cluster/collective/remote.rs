//! The manager for other processes, behind its socket.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use tributary_host_driver::collective::Trees;
use tributary_host_driver::collective::remote::{GREETING, LINE_MAX, RemoteTrees, TREES_SOCKET};
use tributary_sim::card::serve_trees;

use super::{World, seed, sixteen_world};

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("tributary-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn tree(world: &World, group: u64) -> Option<u16> {
    world.control.lock().unwrap().tree(group as usize)
}

#[test]
fn cl_09_other_processes_get_trees_and_those_of_a_client_that_is_gone_are_taken_back() {
    let world = sixteen_world(seed());
    let folder = Folder::new("trees");
    let server = serve_trees(world.trees.clone(), &folder.0.join(TREES_SOCKET)).unwrap();
    let mut clients = [(); 2].map(|()| RemoteTrees::connect(&folder.0).unwrap());
    let grants = [0, 1].map(|at| clients[at].plant(&[1 + at as u32, 7, 12]).unwrap());
    assert_ne!(grants[0].tree, grants[1].tree);
    assert_ne!(grants[0].cookie, grants[1].cookie);
    for at in [0, 1] {
        assert_eq!(tree(&world, grants[at].group), Some(grants[at].tree));
        assert_eq!(clients[at].current(grants[at].group), Some(grants[at]));
    }
    // What is not its own, a client neither sees nor takes back.
    let [first, second] = &mut clients;
    assert_eq!(first.current(grants[1].group), None);
    first.uproot(grants[1].group);
    assert_eq!(tree(&world, grants[1].group), Some(grants[1].tree));
    assert!(
        first
            .plant(&[1, 99])
            .unwrap_err()
            .contains("node 99 is not on the fabric")
    );
    assert!(first.plant(&[]).is_err() && first.plant(&[3, 3]).is_err());
    second.uproot(grants[1].group);
    assert_eq!(tree(&world, grants[1].group), None);
    let other = second.plant(&[4, 5]).unwrap();
    drop(clients);
    let begun = Instant::now();
    while tree(&world, grants[0].group).is_some() || tree(&world, other.group).is_some() {
        assert!(begun.elapsed() < Duration::from_secs(10), "groups are kept");
        std::thread::sleep(Duration::from_millis(2));
    }
    drop(server);
    let gone = RemoteTrees::connect(&folder.0).err().unwrap().to_string();
    assert!(gone.contains("cannot ask for trees"), "{gone}");
}

#[test]
fn cl_03_a_client_gives_back_the_numbers_of_trees_that_its_group_has_left() {
    let world = sixteen_world(seed());
    let folder = Folder::new("trees-moved");
    let _server = serve_trees(world.trees.clone(), &folder.0.join(TREES_SOCKET)).unwrap();
    let mut clients = [(); 2].map(|()| RemoteTrees::connect(&folder.0).unwrap());
    let old = clients[0].plant(&[1, 7, 12]).unwrap();
    {
        let mut control = world.control.lock().unwrap();
        let routed = control.routed(old.group as usize).unwrap();
        let used = routed.tree.cables().next().unwrap();
        let mended = world.cluster.with(|sim| control.cable_failed(used, sim));
        assert_eq!(mended.unwrap().unwrap().trees.len(), 1);
    }
    let taken = || world.control.lock().unwrap().taken();
    let new = clients[0].current(old.group).unwrap();
    assert_ne!((old.tree, old.cookie), (new.tree, new.cookie));
    assert_eq!(taken(), 2);
    // That all are on the old one still says nothing, and others have no say.
    clients[0].moved(old.group, old.tree);
    clients[1].moved(old.group, new.tree);
    assert_eq!(taken(), 2);
    clients[0].moved(old.group, new.tree);
    assert_eq!(taken(), 1);
}

#[test]
fn cl_09_clients_that_break_the_protocol_get_an_error_or_lose_the_connection() {
    let world = sixteen_world(seed());
    let folder = Folder::new("trees-nonsense");
    let path = folder.0.join(TREES_SOCKET);
    let _server = serve_trees(world.trees.clone(), &path).unwrap();
    assert!(serve_trees(world.trees.clone(), &path).is_err());
    let mut client = UnixStream::connect(&path).unwrap();
    let mut reader = BufReader::new(client.try_clone().unwrap());
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    assert_eq!(line.trim_end(), GREETING);
    for (says, answer) in [
        (&b"grow 1\n"[..], "no \"grow 1\" is no line"),
        (b"plant 1 x\n", "no \"plant 1 x\""),
        (b"\xFF\xFE\n", "no "),
        (b"moved 0\n", "no \"moved 0\" is no line"),
        (b"moved 0 1\n", "no group 0 is not of this client"),
        (
            b"current 18446744073709551615\n",
            "no group 18446744073709551615 is not of this client",
        ),
        // In two pieces.
        (b"plant 0 1\n", "tree "),
    ] {
        let (head, tail) = says.split_at(says.len() / 2);
        client.write_all(head).unwrap();
        std::thread::sleep(Duration::from_millis(1));
        client.write_all(tail).unwrap();
        line.clear();
        reader.read_line(&mut line).unwrap();
        assert!(line.starts_with(answer), "{line}");
    }
    // A line without an end. The server goes before it has read all, so that writing may fail.
    let _ = client.write_all(&vec![b'1'; LINE_MAX + 100_000]);
    let mut rest = Vec::new();
    let _ = reader.read_to_end(&mut rest);
    assert!(rest.is_empty());
    assert!(
        RemoteTrees::connect(&folder.0)
            .unwrap()
            .plant(&[2, 3])
            .is_ok()
    );
    // A server of something else.
    let strange = Folder::new("trees-strange");
    let listener = std::os::unix::net::UnixListener::bind(strange.0.join(TREES_SOCKET)).unwrap();
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"tributary trees 2\n").unwrap();
    });
    let refused = RemoteTrees::connect(&strange.0).err().unwrap().to_string();
    assert!(refused.contains("tributary trees 2"), "{refused}");
    thread.join().unwrap();
}
