//! bulk_scan: the bitmap of a STATUS against what was sent, packet by packet.

use std::collections::VecDeque;

use rand::RngExt;
use tributary_hdl::bulk::BulkScan;
use tributary_sim::testbench::seeds;

use super::ports::{build, rng};

/// log2 of the packets that are kept of a transfer.
const LD: usize = 9;
/// Bits 16 and 17 of what is kept of a packet.
const AGAIN: u64 = 1 << 16;
const ASKED: u64 = 1 << 17;

/// What a packet of the bitmap leads to.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Deed {
    pidx: u64,
    lost: bool,
    ask: bool,
    /// Place and data.
    write: Option<(u64, u64)>,
}

/// A number of up to 16 bits, of any size.
fn some(rng: &mut impl RngExt) -> u64 {
    let width = rng.random_range(1..17);
    rng.random_range(0..1u64 << width)
}

/// Bitmaps, ages and numbers of all sizes: each packet that was sent is judged once, in its order, as the rules say.
#[test]
fn rw_10_rw_11_rw_12_every_packet_of_a_bitmap_is_judged_by_the_rules() {
    let library = build(BulkScan::<64, 6, 4, LD>::default());
    let port = |name: &str| library.port(name).unwrap();
    let [start, rst, room, word_addr, word, read_place, read_data] = [
        "start",
        "rst",
        "room",
        "word_addr",
        "word",
        "read_place",
        "read_data",
    ]
    .map(port);
    let inputs = [
        "now",
        "base",
        "sent",
        "below_next",
        "old",
        "highest",
        "answers",
        "polled",
        "retry",
    ]
    .map(port);
    let [write, write_place, write_data, lost, ask, pidx, done] = [
        "write",
        "write_place",
        "write_data",
        "lost",
        "ask",
        "pidx",
        "done",
    ]
    .map(port);
    for seed in seeds(4) {
        let (mut rng, mut model) = (rng(seed), library.model_with_seed(seed).unwrap());
        model.reset(2).unwrap();
        let mut kept = vec![0u64; 1 << LD];
        let mut counts = [0; 4];
        for round in 0..120 {
            let few = [512, 64, 8][round % 3];
            let base: u64 = rng.random_range(0..1 << 21);
            let sent: u64 = rng.random_range(0..=few);
            let (now, polled, retry) = (rng.random::<u16>(), rng.random::<u16>(), some(&mut rng));
            let [old, highest, below_next] = [(); 3].map(|()| match rng.random_range(0..3) {
                0 => 0,
                1 => sent,
                _ => rng.random_range(0..=1024),
            });
            let answers: bool = rng.random();
            let words: [u64; 16] = [(); 16].map(|()| rng.random::<u64>() & rng.random::<u64>());
            for packet in &mut kept {
                // Ages and gaps of all sizes, and those at the border.
                let stamp = match rng.random_range(0..4) {
                    0 => u64::from(now)
                        .wrapping_sub(retry + rng.random_range(0..3))
                        .wrapping_add(1),
                    1 => u64::from(polled)
                        .wrapping_add(rng.random_range(0..3))
                        .wrapping_sub(1),
                    2 => u64::from(now).wrapping_sub(some(&mut rng)),
                    _ => rng.random(),
                };
                *packet = stamp & 0xffff | rng.random_range(0..4) << 16;
            }
            let values = [
                now.into(),
                base,
                sent,
                below_next,
                old,
                highest,
                answers.into(),
                polled.into(),
                retry,
            ];
            for (port, value) in inputs.into_iter().zip(values) {
                model.set(port, value);
            }
            let stops = rng.random_range(0..8) == 0 && sent > 20;
            let stop_at = rng.random_range(3..20);
            let mut next = 0;
            // Both memories answer two clocks later.
            let mut reads: VecDeque<(u64, u64)> = [(0, 0); 2].into();
            let mut clock = 0;
            loop {
                model.set(start, (clock == 0).into());
                model.set(rst, (stops && clock == stop_at).into());
                let has_room: bool = rng.random_range(0..4) > 0;
                model.set(room, has_room.into());
                let (bits, packet) = reads.pop_front().unwrap();
                model.set(word, bits);
                model.set(read_data, packet);
                model.eval().unwrap();
                reads.push_back((
                    words[model.get(word_addr) as usize],
                    kept[model.get(read_place) as usize],
                ));
                let place = format!("seed {seed}, round {round}, clock {clock}: {values:?}");
                // The packet of this clock, if there is one.
                let due = clock >= 6 && next < sent && !(stops && clock > stop_at);
                let wanted = due.then(|| {
                    let packet = kept[((base + next) % (1 << LD)) as usize];
                    let arrived = words[(next / 64) as usize] >> (next % 64) & 1 == 1;
                    let age = u64::from(now).wrapping_sub(packet) & 0xffff;
                    let gap = u64::from(polled).wrapping_sub(packet) & 0xffff;
                    let is_lost = !arrived
                        && next < below_next
                        && (next < highest && age >= retry
                            || answers && gap < 0x8000
                            || next < old && packet & AGAIN == 0);
                    let asks = is_lost && packet & ASKED == 0 && has_room;
                    let data = packet & !ASKED | if asks { ASKED } else { 0 };
                    let at = (base + next) % (1 << LD);
                    counts[0] += u32::from(arrived);
                    counts[1] += u32::from(is_lost && !asks);
                    counts[2] += u32::from(asks);
                    counts[3] += u32::from(!is_lost && !arrived);
                    Deed {
                        pidx: (base + next) & 0x3f_ffff,
                        lost: is_lost,
                        ask: asks,
                        write: (asks || arrived).then_some((at, data)),
                    }
                });
                next += u64::from(due);
                let writes = model.is_set(write);
                let got = Deed {
                    pidx: model.get(pidx),
                    lost: model.is_set(lost),
                    ask: model.is_set(ask),
                    write: writes.then(|| (model.get(write_place), model.get(write_data))),
                };
                let nothing = Deed {
                    pidx: got.pidx,
                    lost: false,
                    ask: false,
                    write: None,
                };
                assert_eq!(got, wanted.unwrap_or(nothing), "{place}");
                let over = model.is_set(done);
                model.clock().unwrap();
                if clock > 1 && over {
                    assert!(next == sent || stops, "{place}: {next} of {sent}");
                    break;
                }
                clock += 1;
                assert!(clock <= sent + 8, "{place}: not done");
            }
        }
        assert!(counts.iter().all(|&count| count > 500), "{counts:?}");
    }
}
