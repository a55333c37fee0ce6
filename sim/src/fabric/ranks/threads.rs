//! Ranks that are threads of one process.

use std::hint::spin_loop;
use std::num::NonZero;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::available_parallelism;

use anyhow::Result;

use super::{Carrier, RankEnded};

/// Looks for a message, some 50 us.
const LOOKS: u32 = 10_000;

/// One of them.
pub struct ThreadCarrier {
    rank: usize,
    /// To each rank, and from each.
    to: Vec<Sender<Vec<u8>>>,
    from: Vec<Receiver<Vec<u8>>>,
    /// Looks for a message before the thread sleeps: windows are shorter than it takes to wake up.
    looks: u32,
}

/// Carriers for as many threads, in the order of their ranks.
#[must_use]
pub fn threads(ranks: usize) -> Vec<ThreadCarrier> {
    let processors = available_parallelism().map_or(1, NonZero::get);
    let looks = if ranks <= processors { LOOKS } else { 0 };
    let mut carriers: Vec<_> = (0..ranks)
        .map(|rank| ThreadCarrier {
            rank,
            to: Vec::new(),
            from: Vec::new(),
            looks,
        })
        .collect();
    for from in 0..ranks {
        for to in 0..ranks {
            let (sender, receiver) = channel();
            // Both lists grow in the order of the other end.
            carriers[from].to.push(sender);
            carriers[to].from.push(receiver);
        }
    }
    carriers
}

impl Carrier for ThreadCarrier {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.to.len()
    }

    fn exchange(&mut self, messages: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>> {
        for (rank, (to, message)) in self.to.iter().zip(messages).enumerate() {
            to.send(message).map_err(|_| RankEnded(rank))?;
        }
        let from = self.from.iter().enumerate();
        from.map(|(rank, from)| Ok(receive(from, self.looks).ok_or(RankEnded(rank))?))
            .collect()
    }
}

/// A message; nothing if there will be none.
fn receive(from: &Receiver<Vec<u8>>, looks: u32) -> Option<Vec<u8>> {
    for _ in 0..looks {
        match from.try_recv() {
            Ok(message) => return Some(message),
            Err(TryRecvError::Disconnected) => return None,
            Err(TryRecvError::Empty) => spin_loop(),
        }
    }
    from.recv().ok()
}
