//! A board over a pair of network interfaces of this machine. Skipped where none can be made.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tributary_protocol::card::regs::MTU;
use tributary_sim::cable::Cable;
use tributary_sim::card::{BoardKind, CabledBoard, CardSizes, Node, RemoteBoard, build_board};

/// Names of the interfaces.
const NAMES: [&str; 2] = ["one", "other"];

/// The two ends of one cable in a network of this thread alone: they go with it, however it ends, and no other program sees them.
struct Ends;

impl Ends {
    fn new() -> Option<Self> {
        // SAFETY: it has no memory; only the sockets that this thread and those it starts make from now on are elsewhere.
        let alone = unsafe { libc::unshare(libc::CLONE_NEWNET) } == 0;
        let [one, other] = NAMES;
        let made = alone
            && ip(&["link", "add", one, "type", "veth", "peer", "name", other]).is_some()
            && NAMES
                .iter()
                .all(|name| ip(&["link", "set", name, "up"]).is_some());
        if !made {
            println!(
                "skipped: a network of its own needs CAP_SYS_ADMIN, and `ip link add type veth`"
            );
        }
        made.then(|| Self.ready())
    }

    /// Waits until both carry frames: until the kernel has seen that the other end is up it drops what is sent.
    fn ready(self) -> Self {
        let start = Instant::now();
        for name in NAMES {
            while !ip(&["-oneline", "link", "show", name])
                .unwrap()
                .contains("state UP")
            {
                assert!(
                    start.elapsed() < Duration::from_secs(10),
                    "{name} stays down"
                );
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        self
    }

    fn cables(&self) -> [Cable; 2] {
        NAMES.map(|name| Cable::interface(name).unwrap())
    }
}

impl Drop for Ends {
    fn drop(&mut self) {
        let _ = ip(&["link", "del", NAMES[0]]);
    }
}

/// What `ip` prints, if it succeeds.
fn ip(arguments: &[&str]) -> Option<String> {
    let output = Command::new("ip").args(arguments).output().ok()?;
    let good = output.status.success();
    good.then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn frames_cross_between_interfaces_whole_and_in_order() {
    let Some(ends) = Ends::new() else { return };
    let [mut one, mut other] = ends.cables();
    for length in (60..=1_514).step_by(97) {
        let mut frame = vec![length as u8; length];
        // Of an EtherType that is nobody else's here.
        frame[..14].copy_from_slice(&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xB5]);
        for (from, to) in [(0, 1), (1, 0)] {
            let both = [&mut one, &mut other];
            both[from].send(&frame).unwrap();
            let start = Instant::now();
            loop {
                match both[to].receive().unwrap() {
                    Some(came) if came[12..14] == [0x88, 0xB5] => break assert_eq!(came, frame),
                    _ => assert!(start.elapsed() < Duration::from_secs(10), "{length} bytes"),
                }
            }
        }
    }
}

#[test]
fn a_board_at_an_interface_answers_as_a_card() {
    let Some(ends) = Ends::new() else { return };
    let [to_board, to_host] = ends.cables();
    let library = build_board(BoardKind::Streams, CardSizes::default()).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let board = std::thread::spawn({
        let stop = Arc::clone(&stop);
        move || {
            let (network, _far) = Cable::pair().unwrap();
            let board = CabledBoard::new(BoardKind::Streams, &library, 1, to_host, network);
            board.unwrap().run(&AtomicUsize::new(1), &stop).unwrap();
        }
    });
    let mut card = RemoteBoard::new(to_board, Duration::from_millis(500)).unwrap();
    assert_eq!(card.read32(MTU.offset.into()), MTU.reset);
    for mtu in [256, 512, 1_024] {
        card.write32(MTU.offset.into(), mtu);
        assert_eq!(card.read32(MTU.offset.into()), mtu);
    }
    card.check().unwrap();
    stop.store(true, Ordering::Release);
    board.join().unwrap();
    // Nobody answers any more.
    let start = Instant::now();
    drop(ends);
    assert_eq!(card.read32(MTU.offset.into()), u32::MAX);
    assert!(card.check().is_err() && start.elapsed() < Duration::from_secs(300));
}
