//! A board over a pair of network interfaces of this machine. Skipped where none can be made.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tributary_protocol::card::regs::MTU;
use tributary_sim::cable::Cable;
use tributary_sim::card::{BoardKind, CabledBoard, CardSizes, Node, RemoteBoard, build_board};

/// Two interfaces that are the ends of one cable, until this is dropped.
struct Ends([String; 2]);

impl Ends {
    /// `which` tells them from others of this process.
    fn new(which: char) -> Option<Self> {
        let names =
            ["a", "b"].map(|end| format!("tri{which}{}{end}", std::process::id() % 100_000));
        let ip = |arguments: &[&str]| {
            let done = Command::new("ip").args(arguments).output();
            done.is_ok_and(|output| output.status.success())
        };
        let [one, other] = names.each_ref().map(String::as_str);
        let made = ip(&["link", "add", one, "type", "veth", "peer", "name", other])
            && ip(&["link", "set", one, "up"])
            && ip(&["link", "set", other, "up"]);
        if !made {
            println!("skipped: `ip link add type veth` needs CAP_NET_ADMIN");
        }
        made.then(|| Self(names).ready())
    }

    /// Waits until both carry frames: until the kernel has seen that the other end is up it drops what is sent.
    fn ready(self) -> Self {
        let start = Instant::now();
        for name in &self.0 {
            let state = format!("/sys/class/net/{name}/operstate");
            while std::fs::read_to_string(&state).unwrap().trim() != "up" {
                assert!(
                    start.elapsed() < Duration::from_secs(10),
                    "{name} stays down"
                );
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        self
    }
}

impl Drop for Ends {
    fn drop(&mut self) {
        let _ = Command::new("ip")
            .args(["link", "del", &self.0[0]])
            .status();
    }
}

#[test]
fn frames_cross_between_interfaces_whole_and_in_order() {
    let Some(ends) = Ends::new('f') else { return };
    let [mut one, mut other] = ends
        .0
        .each_ref()
        .map(|name| Cable::interface(name).unwrap());
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
    let Some(ends) = Ends::new('c') else { return };
    let [to_board, to_host] = ends
        .0
        .each_ref()
        .map(|name| Cable::interface(name).unwrap());
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
