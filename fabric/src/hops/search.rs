//! Breadth-first searches over the graph of classes: from one class, or from 256 at once with a bit for each.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::UNREACHABLE;
use super::classes::Classes;

const WORDS: usize = 4;
pub const LANES: usize = 64 * WORDS;

type Lanes = [u64; WORDS];

/// Distances from `from`; `row` is [`UNREACHABLE`] everywhere. Returns a class that is too far away, if there is one.
pub fn one(classes: &Classes, from: usize, row: &mut [u8], queue: &mut Vec<u32>) -> Option<usize> {
    queue.clear();
    queue.push(from as u32);
    row[from] = 0;
    let mut next = 0;
    while let Some(&at) = queue.get(next) {
        next += 1;
        let hops = row[at as usize] + 1;
        for &peer in classes.near(at as usize) {
            if row[peer as usize] == UNREACHABLE {
                if hops == UNREACHABLE {
                    return Some(peer as usize);
                }
                row[peer as usize] = hops;
                queue.push(peer);
            }
        }
    }
    None
}

/// The whole table, row by row. Returns two classes that are too far apart, if there are such.
pub fn all(
    classes: &Classes,
    hops: &mut [u8],
    stride: usize,
    threads: usize,
) -> Option<(usize, usize)> {
    let batches = classes.len().div_ceil(LANES);
    let next = AtomicUsize::new(0);
    let table = Mutex::new(hops);
    let far = Mutex::new(None);
    let work = || {
        let mut block = Vec::new();
        loop {
            let first = next.fetch_add(1, Ordering::Relaxed) * LANES;
            if first >= classes.len() || far.lock().is_ok_and(|far| far.is_some()) {
                return;
            }
            let sources: Vec<usize> = (first..classes.len().min(first + LANES)).collect();
            let found = many(classes, &sources, &mut block);
            if let (Some(found), Ok(mut far)) = (found, far.lock()) {
                *far = Some(found);
            }
            // Distances are the same both ways, so a column is as good as a row, and whole pieces of rows are quick to write.
            if let Ok(mut hops) = table.lock() {
                for (row, distances) in hops.chunks_mut(stride).zip(&block) {
                    row[first..first + sources.len()].copy_from_slice(&distances[..sources.len()]);
                }
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads.min(batches) {
            scope.spawn(work);
        }
        work();
    });
    far.into_inner().ok().flatten()
}

/// Distances of every class to each of `sources`, at most 256. Returns two classes that are too far apart, if there are such.
pub fn many(
    classes: &Classes,
    sources: &[usize],
    hops: &mut Vec<[u8; LANES]>,
) -> Option<(usize, usize)> {
    hops.clear();
    hops.resize(classes.len(), [UNREACHABLE; LANES]);
    let mut seen: Vec<Lanes> = vec![[0; WORDS]; classes.len()];
    let mut front = seen.clone();
    let mut next = seen.clone();
    let mut all = [0; WORDS];
    for (lane, &source) in sources.iter().enumerate().take(LANES) {
        let bit = 1 << (lane % 64);
        all[lane / 64] |= bit;
        seen[source][lane / 64] |= bit;
        front[source][lane / 64] |= bit;
        hops[source][lane] = 0;
    }
    for level in 1..=UNREACHABLE {
        let mut any = false;
        for (class, (new, seen)) in next.iter_mut().zip(&mut seen).enumerate() {
            *new = [0; WORDS];
            if *seen == all {
                continue;
            }
            for &peer in classes.near(class) {
                for (to, from) in new.iter_mut().zip(&front[peer as usize]) {
                    *to |= from;
                }
            }
            for (word, (new, seen)) in new.iter_mut().zip(seen).enumerate() {
                *new &= !*seen;
                *seen |= *new;
                let mut bits = *new;
                any |= bits != 0;
                while bits != 0 {
                    let lane = 64 * word + bits.trailing_zeros() as usize;
                    if level == UNREACHABLE {
                        return Some((sources[lane], class));
                    }
                    hops[class][lane] = level;
                    bits &= bits - 1;
                }
            }
        }
        if !any {
            return None;
        }
        std::mem::swap(&mut front, &mut next);
    }
    None
}
