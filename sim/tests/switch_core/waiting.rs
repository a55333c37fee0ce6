//! Contributions on their way to the engines, and what stands around those that go together with others.

use std::collections::VecDeque;

use crate::bench::Class;
use crate::engine::is_brief;

/// Input and output.
type Way = (usize, usize);

/// What stood around contributions that were taken behind another one, in their queues.
#[derive(Clone, Copy, Debug, Default)]
pub struct Around {
    /// A plain frame in front, one that passes, a contribution.
    pub before: [u64; 3],
    /// The same behind them; of contributions, one of the same key.
    pub behind: [u64; 3],
    pub next_round: u64,
    /// The plain frame in front had left the switch 30 clocks before or less.
    pub just_left: u64,
}

/// A frame's number, its class, what names its reduction.
type Sent = (u32, Class, [u8; 4]);

/// Contributions that are on their way to an engine.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// By input and output.
    up: Vec<Vec<VecDeque<Vec<u8>>>>,
    /// All frames of a way.
    ways: Vec<Vec<Vec<Sent>>>,
    /// When the latest plain frame left.
    left: Vec<Vec<u64>>,
    pub clock: u64,
    pub around: Around,
}

fn number(frame: &[u8]) -> u32 {
    u32::from_be_bytes(frame[8..12].try_into().unwrap())
}

impl Waiting {
    pub fn new(ports: usize) -> Self {
        Self {
            up: vec![vec![VecDeque::new(); ports]; ports],
            ways: vec![vec![vec![]; ports]; ports],
            left: vec![vec![0; ports]; ports],
            clock: 0,
            around: Around::default(),
        }
    }

    /// A frame is on its way.
    pub fn push(&mut self, (input, out): Way, class: Class, frame: &[u8]) {
        let key = frame[2..6].try_into().unwrap();
        self.ways[input][out].push((number(frame), class, key));
        if class == Class::Looked {
            self.up[input][out].push_back(frame.to_vec());
        }
    }

    /// Contributions from one input to one output.
    pub fn longest(&self) -> usize {
        let ways = self.up.iter().flatten();
        ways.map(VecDeque::len).max().unwrap_or(0)
    }

    /// A plain frame has left.
    pub fn passed(&mut self, (input, out): Way, clock: u64) {
        self.left[input][out] = clock;
    }

    /// It has come to the engine, after all that were not dropped of those before it.
    pub fn came(&mut self, out: usize, frame: &[u8]) -> Result<(), String> {
        let queue = &mut self.up[usize::from(frame[7])][out];
        let place = queue.iter().position(|f| f == frame);
        let place = place.ok_or("a contribution changed, twice or out of order")?;
        queue.drain(..=place);
        Ok(())
    }

    /// Its data have come to the engine: the input and the frame.
    pub fn joined(
        &mut self,
        out: usize,
        mut inputs: std::ops::Range<usize>,
        first: usize,
        is: impl Fn(&[u8]) -> bool,
    ) -> Option<(usize, Vec<u8>)> {
        let place = |input: usize| {
            let mut queue = self.up[input][out].iter();
            queue.position(|f| is_brief(f) && is(f))
        };
        let (input, place) =
            inputs.find_map(|input| (input != first).then(|| Some((input, place(input)?)))?)?;
        let frame = self.up[input][out].drain(..=place).next_back()?;
        let way = &self.ways[input][out];
        let at = way.iter().position(|(n, ..)| *n == number(&frame))?;
        let around = &mut self.around;
        let class = |at: usize| way.get(at).map(|(_, class, _)| *class as usize);
        if let Some(class) = at.checked_sub(1).and_then(class) {
            around.before[class] += 1;
            let lately = self.left[input][out] + 30 > self.clock;
            around.just_left += u64::from(class == Class::Plain as usize && lately);
        }
        if let Some(class) = class(at + 1) {
            around.behind[class] += 1;
            let again = class == Class::Looked as usize && way[at + 1].2 == way[at].2;
            around.next_round += u64::from(again);
        }
        Some((input, frame))
    }
}
