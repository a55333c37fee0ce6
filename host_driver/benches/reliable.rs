//! What reliability costs in software: messages with the reliable layer against datagrams without it, both by the same loop, one
//! thread being sender and receiver.
//!
//! `cargo bench -p tributary-host-driver --bench reliable`. The device does its work outside of what is measured: processor time
//! of the thread and, where valgrind is installed, instructions.

mod null;

use std::hint::black_box;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::Duration;

use tributary_host_driver::{
    Access, AddressHandle, Buffer, CompletionQueue, Context, EndpointConfig, EndpointEvent,
    MemoryRegion, Options, ProtectionDomain, QueuePair, ReliableEndpoint, SendRequest, Window,
    WorkCompletion, WorkCompletionOpcode, WorkCompletionStatus,
};

use null::{NullDevice, thread_time};

/// Bytes of a message.
const BYTES: usize = 64;
/// Messages posted between two polls.
const BURSTS: [usize; 3] = [1, 16, 64];
/// Messages of a measurement, and turns of it.
const MESSAGES: usize = 200_000;
const TURNS: usize = 7;
/// Under valgrind.
const COUNTED: usize = 40_000;
/// Receive requests that are kept posted, and requests under way.
const DEPTH: u16 = 256;

/// Who sends and who receives.
trait Ends {
    fn name() -> &'static str;
    fn new(domain: &ProtectionDomain) -> Self;
    /// Posts so many messages, takes all that has come to either end: messages delivered and completed.
    fn turn(&mut self, count: usize, payload: &[u8]) -> (usize, usize);
}

struct Raw {
    queues: [CompletionQueue; 2],
    from: QueuePair,
    to: QueuePair,
    address: AddressHandle,
    window: Window,
    out: MemoryRegion,
    done: Vec<WorkCompletion>,
}

impl Raw {
    fn keep(done: WorkCompletion) -> Buffer {
        assert_eq!(done.status, WorkCompletionStatus::Ok);
        done.buffer.unwrap()
    }
}

impl Ends for Raw {
    fn name() -> &'static str {
        "datagrams"
    }

    fn new(domain: &ProtectionDomain) -> Self {
        let queues = [(); 2].map(|()| domain.context().create_cq(0).unwrap());
        let pairs = queues.each_ref().map(|queue| {
            let builder = domain.create_qp(queue).q_key(1);
            let builder = builder.max_send_wr(DEPTH).max_recv_wr(DEPTH);
            let pair = builder.build().unwrap();
            pair.activate().unwrap();
            pair
        });
        let places = domain
            .reg_mr(usize::from(DEPTH) * BYTES, Access::LOCAL_WRITE)
            .unwrap();
        let [from, to] = pairs;
        for id in 0..DEPTH {
            to.post_recv(id.into(), places.alloc(BYTES).unwrap())
                .unwrap();
        }
        Self {
            address: to.address(),
            window: Window {
                epoch: to.epoch(),
                ..Window::default()
            },
            queues,
            from,
            to,
            out: domain.reg_mr(1 << 20, Access::LOCAL_READ).unwrap(),
            done: Vec::with_capacity(2 * usize::from(DEPTH)),
        }
    }

    fn turn(&mut self, count: usize, payload: &[u8]) -> (usize, usize) {
        let mut batch = self.from.batch();
        for id in 0..count {
            let mut buffer = self.out.alloc(payload.len()).unwrap();
            buffer.copy_from_slice(payload);
            let request = SendRequest::new(id as u64, self.address).window(self.window);
            batch.send(request.buffer(buffer)).unwrap();
        }
        batch.ring().unwrap();
        let (mut delivered, mut completed) = (0, 0);
        for queue in &self.queues {
            queue.poll(&mut self.done, usize::from(DEPTH)).unwrap();
        }
        let mut batch = self.to.batch();
        for done in self.done.drain(..) {
            let (id, opcode) = (done.wr_id, done.opcode);
            let buffer = Self::keep(done);
            if opcode == WorkCompletionOpcode::Send {
                completed += 1;
                continue;
            }
            delivered += 1;
            black_box(&buffer[..]);
            batch.recv(id, buffer).unwrap();
        }
        batch.ring().unwrap();
        (delivered, completed)
    }
}

struct Reliable {
    ends: [ReliableEndpoint; 2],
    to: AddressHandle,
}

impl Ends for Reliable {
    fn name() -> &'static str {
        "reliable"
    }

    fn new(domain: &ProtectionDomain) -> Self {
        let config = EndpointConfig {
            windows: DEPTH.into(),
            sends: DEPTH,
            receives: DEPTH,
            ..EndpointConfig::default()
        };
        let ends = [(); 2].map(|()| ReliableEndpoint::new(domain, config).unwrap());
        let to = ends[1].address();
        Self { ends, to }
    }

    fn turn(&mut self, count: usize, payload: &[u8]) -> (usize, usize) {
        for _ in 0..count {
            self.ends[0].send_copy(self.to, payload).unwrap();
        }
        let (mut delivered, mut completed) = (0, 0);
        for end in &mut self.ends {
            while let Some(event) = end.poll().unwrap() {
                match event {
                    EndpointEvent::Delivered { payload, .. } => {
                        delivered += 1;
                        black_box(&payload[..]);
                    }
                    EndpointEvent::Completed { status, .. } => {
                        assert_eq!(status, WorkCompletionStatus::Ok);
                        completed += 1;
                    }
                }
            }
        }
        (delivered, completed)
    }
}

/// All that is counted; its name is what valgrind looks for.
#[inline(never)]
fn driver_turn<E: Ends>(ends: &mut E, count: usize, payload: &[u8]) -> (usize, usize) {
    ends.turn(count, payload)
}

/// Time of the driver for so many messages.
fn run<E: Ends>(messages: usize, burst: usize) -> Duration {
    let device = Arc::new(NullDevice::held());
    let options = Options {
        node: 0,
        mtu: 1_024,
    };
    let context = Context::open(device.clone(), options).unwrap();
    let mut ends = E::new(&context.alloc_pd().unwrap());
    let payload = [0x5A; BYTES];
    // Opens the connection and fills the caches.
    let (mut sent, mut delivered, mut completed) = (0, 0, 0);
    let mut time = Duration::ZERO;
    let warm = 1_000;
    while completed < messages + warm {
        let count = burst.min(messages + warm - sent);
        let count = if sent - completed > usize::from(DEPTH) / 2 {
            0
        } else {
            count
        };
        let begun = thread_time();
        let (more_delivered, more_completed) = driver_turn(&mut ends, count, &payload);
        if completed > warm {
            time += thread_time() - begun;
        }
        sent += count;
        delivered += more_delivered;
        completed += more_completed;
        device.work();
    }
    assert_eq!((sent, completed), (messages + warm, sent));
    assert!(delivered + burst >= sent, "{delivered} of {sent}");
    time
}

/// The least of several turns: what else the machine does only adds.
fn nanoseconds<E: Ends>(burst: usize) -> f64 {
    let turns = (0..TURNS).map(|_| run::<E>(MESSAGES, burst));
    turns.min().unwrap_or_default().as_nanos() as f64 / MESSAGES as f64
}

fn once(name: &str, burst: usize) {
    if name == Raw::name() {
        run::<Raw>(COUNTED, burst);
    } else {
        run::<Reliable>(COUNTED, burst);
    }
}

/// Instructions for each message; none without valgrind.
fn instructions(name: &str, burst: usize) -> Option<f64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--toggle-collect=*driver_turn*"])
        .arg("--callgrind-out-file=/dev/null")
        .arg(std::env::current_exe().ok()?)
        .args(["--once", name, &burst.to_string()])
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let line = text.lines().find(|line| line.contains("Collected : "))?;
    let count: f64 = line.split(": ").nth(1)?.trim().parse().ok()?;
    Some(count / (COUNTED + 1_000) as f64)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, name, burst] = &arguments[..]
        && flag == "--once"
    {
        once(name, burst.parse().unwrap_or(1));
        return ExitCode::SUCCESS;
    }
    println!("messages of {BYTES} bytes, sender and receiver together, each message");
    println!("burst     datagrams      reliable     more");
    for burst in BURSTS {
        let times = [nanoseconds::<Raw>(burst), nanoseconds::<Reliable>(burst)];
        let [raw, reliable] = times;
        println!(
            "{burst:5} {raw:10.1} ns {reliable:10.1} ns {:8.1} ns",
            reliable - raw
        );
        let counts = [Raw::name(), Reliable::name()].map(|name| instructions(name, burst));
        if let [Some(raw), Some(reliable)] = counts {
            println!(
                "      {raw:10.1} instr. {reliable:6.1} instr. {:4.1} instr.",
                reliable - raw
            );
        }
    }
    ExitCode::SUCCESS
}
