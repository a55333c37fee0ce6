//! Random networks as real ones are: uneven, with GUIDs in no order and doubled cables.

use rand::RngExt;
use rand::seq::{IndexedRandom, SliceRandom};
use rand_chacha::ChaCha8Rng;
use tributary_fabric::{Network, NetworkBuilder, read};

/// The shapes that are tried.
pub const SHAPES: [&str; 4] = ["graph", "dragonfly", "torus", "fat-tree"];

/// Switches and the cables between them.
fn cables(shape: &str, rng: &mut ChaCha8Rng) -> (u32, Vec<(u32, u32)>) {
    let mut cables = Vec::new();
    let count = match shape {
        "graph" => {
            let count = rng.random_range(12..36);
            for at in 1..count {
                cables.push((at, rng.random_range(0..at)));
            }
            for _ in 0..count * 3 / 2 {
                let a = rng.random_range(0..count);
                cables.push((a, (a + rng.random_range(1..count)) % count));
            }
            count
        }
        "dragonfly" => {
            let (in_group, groups) = (rng.random_range(3..6), rng.random_range(4..8));
            for group in 0..groups {
                for a in 0..in_group {
                    for b in 0..a {
                        cables.push((group * in_group + a, group * in_group + b));
                    }
                }
                for other in 0..group {
                    for _ in 0..rng.random_range(1..3) {
                        let mut end = |group| group * in_group + rng.random_range(0..in_group);
                        cables.push((end(group), end(other)));
                    }
                }
            }
            in_group * groups
        }
        "torus" => {
            let [x, y] = [rng.random_range(3..7), rng.random_range(3..6)];
            for a in 0..x {
                for b in 0..y {
                    cables.push((a * y + b, (a + 1) % x * y + b));
                    cables.push((a * y + b, a * y + (b + 1) % y));
                }
            }
            x * y
        }
        _ => {
            let half = rng.random_range(2..4);
            let pods = 2 * half;
            for pod in 0..pods {
                for a in 0..half {
                    let above = pods * half + pod * half + a;
                    for b in 0..half {
                        cables.push((pod * half + b, above));
                        cables.push((above, 2 * pods * half + a * half + b));
                    }
                }
            }
            2 * pods * half + half * half
        }
    };
    cables.shuffle(rng);
    (count, cables)
}

/// A network of this shape as its ibnetdiscover file is read, and that file.
pub fn random(shape: &str, rng: &mut ChaCha8Rng) -> (Network, String) {
    let (count, mut cables) = cables(shape, rng);
    let leaves = if shape == "fat-tree" {
        cables.iter().map(|&(low, _)| low).min().unwrap_or(0)..count * 2 / 5
    } else {
        0..count
    };
    let mut endnodes: Vec<u32> = leaves
        .flat_map(|switch| vec![switch; *[0, 1, 1, 2, 4].choose(rng).unwrap()])
        .collect();
    endnodes.extend([0, 1, 2]);
    endnodes.shuffle(rng);
    // Some cables are missing where there is another way round.
    for _ in 0..cables.len() / 20 {
        let mut fewer = cables.clone();
        fewer.swap_remove(rng.random_range(0..cables.len()));
        if joined(count, &fewer) {
            cables = fewer;
        }
    }
    let mut names: Vec<u32> = (0..count).collect();
    names.shuffle(rng);
    let mut free: Vec<Vec<u16>> = Vec::new();
    let mut builder = NetworkBuilder::new(shape);
    for switch in 0..count {
        let ends = cables.iter().flat_map(|&(a, b)| [a, b]);
        let used = ends
            .chain(endnodes.iter().copied())
            .filter(|&s| s == switch);
        let ports = (used.count() + rng.random_range(0..5)) as u16;
        let mut order: Vec<u16> = (1..=ports).collect();
        order.shuffle(rng);
        free.push(order);
        let guid = guid(rng, names[switch as usize]);
        let name = format!("S{}", names[switch as usize]);
        builder.switch(name, guid, ports).unwrap();
    }
    let mut plug = |switch: u32| (switch, free[switch as usize].pop().unwrap());
    for (a, b) in cables {
        builder.cable(plug(a), plug(b)).unwrap();
    }
    for (k, switch) in (0..).zip(endnodes) {
        let guid = guid(rng, k) ^ 1 << 40;
        builder
            .endnode(format!("H{k}"), guid, plug(switch))
            .unwrap();
    }
    let file = read::write_ibnet(&builder.build().unwrap());
    let network = read::parse(file.as_bytes(), "file", shape).unwrap();
    (network, file)
}

/// As a vendor gives them: his number, a random part. The last bits leave room for the numbers of ports.
fn guid(rng: &mut ChaCha8Rng, unique: u32) -> u64 {
    0x0002_c900 << 32 | u64::from(rng.random::<u16>()) << 16 | u64::from(unique) << 4
}

fn joined(count: u32, cables: &[(u32, u32)]) -> bool {
    let mut reached = vec![false; count as usize];
    let mut next = vec![0];
    while let Some(at) = next.pop() {
        if std::mem::replace(&mut reached[at as usize], true) {
            continue;
        }
        for &(a, b) in cables {
            next.extend(match at {
                _ if at == a => Some(b),
                _ if at == b => Some(a),
                _ => None,
            });
        }
    }
    reached.into_iter().all(|it| it)
}
