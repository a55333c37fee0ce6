//! Memory of connections, counted at the allocator.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use tributary_protocol::xud::{Card, CardConfig, Layer, LayerConfig, Packet, Peer};

struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);

// SAFETY: passes everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD.fetch_add(layout.size(), Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn held() -> usize {
    HELD.load(Ordering::Relaxed)
}

/// Both directions open, 32 windows each; a message has gone each way.
#[test]
fn each_of_100_000_connections_takes_at_most_512_bytes() {
    const CONNECTIONS: u32 = 100_000;
    let mut cards = [0, 1].map(|node| {
        Card::new(CardConfig {
            node,
            ..CardConfig::default()
        })
        .unwrap()
    });
    let hub = LayerConfig::default();
    let mut layer = Layer::new(hub, &mut cards[0]).unwrap();
    // Warm, so that what every layer has is not counted.
    let mut before = 0;
    for number in 0..=CONNECTIONS {
        if number == 1 {
            before = held();
        }
        let config = LayerConfig {
            qpn: number,
            receives: 8,
            sends: 8,
            ..hub
        };
        // Timers of the connection before are over.
        let now = u64::from(number) << 20;
        let mut other = Layer::new(config, &mut cards[1]).unwrap();
        let far = Peer {
            node: 1,
            qpn: number,
        };
        let near = Peer {
            node: 0,
            qpn: hub.qpn,
        };
        layer.send(far, [1].into()).unwrap();
        other.send(near, [2].into()).unwrap();
        let mut ends = 0;
        for _ in 0..8 {
            for (at, layer) in [&mut layer, &mut other].into_iter().enumerate() {
                layer.run(&mut cards[at], now);
                ends += std::iter::from_fn(|| layer.take_event()).count();
                while let Some(out) = cards[at].next_packet(now) {
                    let to = out.to as usize;
                    assert!(matches!(out.packet, Packet::Send(_) | Packet::Ack(_)));
                    cards[to].receive(at as u32, &out.packet, now);
                    cards[to].land();
                }
            }
        }
        assert_eq!(ends, 4, "{number}");
        other.close(&mut cards[1]);
    }
    let counted = layer.connection_bytes() / (CONNECTIONS as usize + 1);
    let allocated = (held() - before) / CONNECTIONS as usize;
    println!("{counted} bytes a connection by its own count, {allocated} allocated");
    assert_eq!(layer.connections(), CONNECTIONS as usize + 1);
    assert!(counted <= 512 && allocated <= 512, "{counted}, {allocated}");
}
