//! Cards in another process, behind vfio-user sockets.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tributary_host_driver::Device;
use tributary_host_driver::multicast::{ByCards, Carried, Group, GroupOptions, Seat, Verdict};
use tributary_host_driver::{
    Access, Context, EndpointConfig, EndpointEvent, Error, Options, ReliableEndpoint, SendRequest,
    VfioUserDevice, WorkCompletionStatus,
};
use tributary_protocol::card::regs::{
    CONTROL, CONTROL_RESET, ID, MAGIC, NODE, SIZES, SIZES_QPS, bar0_bytes,
};
use tributary_sim::card::{network, serve};

use crate::{BAD, config};

/// Says to this test program: be the server.
const SOCKETS: &str = "TRIBUTARY_TEST_SOCKETS";

#[test]
#[ignore = "the process that the other tests start"]
fn the_other_process() {
    let Ok(folder) = std::env::var(SOCKETS) else {
        return;
    };
    let devices = network(&config(2, BAD)).unwrap();
    let paths = (0..2).map(|node| Path::new(&folder).join(node.to_string()));
    let served = serve(devices.into_iter().zip(paths).collect()).unwrap();
    println!("\nserving");
    // Until it is killed, or whoever started it is gone.
    let mut line = String::new();
    while std::io::stdin()
        .lock()
        .read_line(&mut line)
        .is_ok_and(|read| read > 0)
    {}
    drop(served);
}

struct Other {
    process: Child,
    folder: PathBuf,
}

impl Other {
    fn start(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("tributary-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "served::the_other_process",
                "--ignored",
                "--nocapture",
            ])
            .env(SOCKETS, &folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        assert!(lines.map_while(Result::ok).any(|line| line == "serving"));
        Self { process, folder }
    }

    fn open(&self, node: u32) -> Context {
        let device = VfioUserDevice::connect(&self.folder.join(node.to_string())).unwrap();
        Context::open(Arc::new(device), Options { node, mtu: 1_024 }).unwrap()
    }

    fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn endpoint(context: &Context) -> ReliableEndpoint {
    let config = EndpointConfig {
        timeout: 6,
        attempts: 32,
        receives: 64,
        sends: 64,
        ..EndpointConfig::default()
    };
    ReliableEndpoint::new(&context.alloc_pd().unwrap(), config).unwrap()
}

#[test]
fn xud_10_messages_between_cards_of_another_process_arrive_once() {
    let other = Other::start("exchange");
    // Two clients after each other: the card is clean for the second.
    for round in 0..2 {
        let contexts = [other.open(0), other.open(1)];
        let mut ends = contexts.each_ref().map(endpoint);
        let to = ends[1].address();
        for number in 0..100u8 {
            ends[0].send_copy(to, &[number; 1_500]).unwrap();
        }
        let (mut seen, mut ended) = ([false; 100], 0);
        let start = Instant::now();
        while ended < 100 || seen.contains(&false) {
            assert!(start.elapsed() < Duration::from_secs(60), "round {round}");
            for end in &mut ends {
                match end.wait(Duration::from_micros(100)).unwrap() {
                    Some(EndpointEvent::Delivered { payload, .. }) => {
                        assert!(*payload == [payload[0]; 1_500]);
                        assert!(!std::mem::replace(&mut seen[usize::from(payload[0])], true));
                    }
                    Some(EndpointEvent::Completed { status, .. }) => {
                        assert_eq!(status, WorkCompletionStatus::Ok);
                        ended += 1;
                    }
                    None => {}
                }
            }
        }
    }
}

#[test]
fn a_killed_process_is_an_error_of_every_call_and_no_hang() {
    let mut other = Other::start("kill");
    let context = other.open(0);
    let domain = context.alloc_pd().unwrap();
    let queue = context.create_cq(1).unwrap();
    let pair = domain.create_qp(&queue).build().unwrap();
    pair.activate().unwrap();
    let region = domain.reg_mr(4_096, Access::LOCAL_WRITE).unwrap();
    pair.post_recv(5, region.alloc(64).unwrap()).unwrap();
    let mut end = endpoint(&context);
    end.send_copy(end.address(), b"to nobody").unwrap();
    assert!(!queue.wait(Duration::from_millis(5)).unwrap());
    other.kill();
    let start = Instant::now();
    let gone = |error: Error| assert_eq!(error.to_string(), "the card is gone");
    gone(queue.wait(Duration::from_secs(60)).unwrap_err());
    let mut done = Vec::new();
    gone(
        std::iter::repeat_with(|| queue.poll(&mut done, 1))
            .find_map(Result::err)
            .unwrap(),
    );
    gone(
        std::iter::repeat_with(|| end.poll().map(drop))
            .find_map(Result::err)
            .unwrap(),
    );
    gone(domain.reg_mr(1, Access::LOCAL_READ).err().unwrap());
    assert!(pair.post_send(SendRequest::new(1, pair.address())).is_err());
    drop(pair);
    let statuses: Vec<_> = end.close().into_iter().collect();
    assert!(matches!(
        statuses[..],
        [EndpointEvent::Completed {
            status: WorkCompletionStatus::Flushed,
            ..
        }]
    ));
    queue.poll(&mut done, 8).unwrap();
    assert!(
        done.iter()
            .all(|done| done.status == WorkCompletionStatus::Flushed && done.buffer.is_none())
    );
    assert_eq!(done.len(), 2);
    assert!(start.elapsed() < Duration::from_secs(10));
    let error = VfioUserDevice::connect(&other.folder.join("0"))
        .err()
        .unwrap();
    assert!(error.to_string().contains("refused"), "{error}");
}

#[test]
fn mb_11_mb_12_mb_13_groups_over_sockets_deliver_and_a_member_that_goes_is_named() {
    groups_over_sockets("group", Carried::ByHosts);
}

#[test]
fn mb_11_mb_12_mb_13_mb_16_groups_over_sockets_whose_cards_carry_the_blocks() {
    groups_over_sockets("group-by-cards", Carried::ByCards(ByCards::default()));
}

fn groups_over_sockets(name: &str, carried: Carried) {
    let mut other = Other::start(name);
    let config = EndpointConfig {
        timeout: 6,
        attempts: 32,
        ..EndpointConfig::default()
    };
    let options = GroupOptions {
        block_bytes: 10_000,
        carried,
        memory: 1 << 20,
        ..GroupOptions::default()
    };
    // A group that closes, one of which a member goes, one of which all cards go.
    for end in 0..3 {
        let seats = [0, 1].map(|node| {
            let domain = other.open(node).alloc_pd().unwrap();
            Seat::new(&domain, config).unwrap()
        });
        let members = seats.each_ref().map(Seat::address);
        let mut groups = seats.map(|s| Group::create(s, &members, options.clone()).unwrap());
        let message: Vec<u8> = (0..100_003u32)
            .map(|at| (at.wrapping_mul(at) >> 5) as u8)
            .collect();
        groups[0].send(&message).unwrap();
        let start = Instant::now();
        let brief = Duration::from_micros(100);
        let got = loop {
            assert!(start.elapsed() < Duration::from_secs(60));
            assert!(groups[0].next(brief).unwrap().is_none());
            if let Some(got) = groups[1].next(brief).unwrap() {
                break got;
            }
        };
        assert!(got.to_vec() == message);
        let [mut root, member] = groups;
        if end == 0 {
            let mut member = member;
            let wait = Duration::from_secs(60);
            let both = std::thread::scope(|scope| {
                let closing = scope.spawn(|| member.close(wait).unwrap());
                [root.close(wait).unwrap(), closing.join().unwrap()]
            });
            assert!(both.iter().all(|v| *v == Verdict::Success { messages: 1 }));
            continue;
        }
        let start = Instant::now();
        if end == 1 {
            drop((member, got));
            let Verdict::Failure {
                suspect,
                watermarks,
                ..
            } = root.close(Duration::from_secs(60)).unwrap()
            else {
                panic!("member 1 is gone");
            };
            assert_eq!((suspect, watermarks), (1, vec![Some(1), None]));
            let error = root.send(&[]).unwrap_err().to_string();
            assert!(error.ends_with("(rank 1): it does not answer"), "{error}");
        } else {
            other.kill();
            for mut group in [root, member] {
                let error = group.close(Duration::from_secs(60)).unwrap_err();
                assert_eq!(error.to_string(), "the card is gone");
                let error = group.next(Duration::from_secs(60)).unwrap_err();
                assert_eq!(error.to_string(), "the card is gone");
            }
        }
        assert!(start.elapsed() < Duration::from_secs(30));
    }
}

#[test]
fn a_server_that_ends_is_an_error_too_and_leaves_no_socket() {
    let folder = std::env::temp_dir().join(format!("tributary-end-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("card");
    let card = network(&config(1, BAD)).unwrap().remove(0);
    let served = serve(vec![(card, path.clone())]).unwrap();
    let device = VfioUserDevice::connect(&path).unwrap();
    let context = Context::open(Arc::new(device), Options::default()).unwrap();
    let mut end = endpoint(&context);
    assert!(end.poll().unwrap().is_none());
    drop(served);
    let error = std::iter::repeat_with(|| end.poll().map(drop))
        .find_map(Result::err)
        .unwrap();
    assert_eq!(error.to_string(), "the card is gone");
    assert!(!path.exists());
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Offsets behind BAR0 whose lower bits are those of registers: over the socket, through the ring of doorbells, and of a card in
/// this process.
#[test]
fn what_lies_behind_bar0_is_taken_for_no_register() {
    let other = Other::start("behind");
    let device = VfioUserDevice::connect(&other.folder.join("0")).unwrap();
    let node = u32::from(NODE.offset);
    let sizes = device.read32(SIZES.offset.into()).unwrap();
    let bar0 = bar0_bytes(SIZES_QPS.get(sizes) as u8);
    device.write32(node, 7).unwrap();
    // These go through the ring: nobody is told.
    for beyond in [bar0, 2 * bar0, 1 << 31] {
        device.write32(beyond + node, 8).unwrap();
        device
            .write32(beyond + u32::from(CONTROL.offset), CONTROL_RESET.put(1))
            .unwrap();
    }
    assert_eq!(device.read32(node).unwrap(), 7);
    // As on a bus where nobody answers.
    assert_eq!(device.read32(bar0 + node).unwrap(), u32::MAX);
    assert_eq!(device.read32(ID.offset.into()).unwrap(), MAGIC);

    let here = &network(&config(2, BAD)).unwrap()[0];
    here.write32(node, 7).unwrap();
    for beyond in [bar0, 2 * bar0, 1 << 31] {
        assert!(here.write32(beyond + node, 8).is_err());
        assert!(here.read32(beyond + node).is_err());
    }
    assert!(here.read32(node + 1).is_err());
    assert_eq!(here.read32(node).unwrap(), 7);
}
