//! Random runs: descriptors and headers of all bits, in lock step with the model.

use std::collections::VecDeque;

use rand::{RngExt, SeedableRng, rngs::SmallRng};
use tributary_sim::verilate::Verilated;

use crate::bench::{ANSWERED, Beat, Bench, CC, COMPLETION, CQ, RC, READ, REQUEST, RQ, WRITE};
use crate::model::{Word, answer, asked, completion, field, packed, request};

/// TLPs that may be out at the block.
const OUT: usize = 60;
/// The card's requester ID: bus 0x5A.
const ID: u128 = 0x5A00;

/// A TLP that a sink has to see: what stands beside its first word, and its words with an error each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    beside: Vec<u128>,
    words: Vec<(Word, u128)>,
}

/// 32-bit words with 0 where they do not count.
fn masked(data: u128, strb: u128) -> Word {
    let mask = [0, 0xFFFF_FFFF, u64::MAX << 32, u64::MAX][strb as usize];
    (data as u64 & mask, strb as u64)
}

/// How many words of data a TLP has.
fn amount(rng: &mut SmallRng) -> usize {
    match rng.random_range(0..8) {
        0 => rng.random_range(0..130),
        1 | 2 => 16,
        _ => rng.random_range(0..6),
    }
}

fn words(rng: &mut SmallRng, count: usize) -> Vec<u32> {
    (0..count).map(|_| rng.random()).collect()
}

/// Beats of AXI4-Stream of 32-bit words, `user` beside each; noise where nothing is.
fn beats(rng: &mut SmallRng, words: &[u32], user: impl Fn(usize) -> u128) -> Vec<Beat> {
    let packed = packed(words);
    let count = packed.len();
    let beat = |(at, (data, keep)): (usize, Word)| {
        let noise = if keep == 1 {
            u128::from(rng.random::<u32>()) << 32
        } else {
            0
        };
        let last = u128::from(at + 1 == count);
        vec![u128::from(data) | noise, keep.into(), last, user(at)]
    };
    packed.into_iter().enumerate().map(beat).collect()
}

/// Where a frame of so many beats is discontinued, and whether it is cut behind its first beat.
fn fault(rng: &mut SmallRng, count: usize) -> (usize, bool) {
    match rng.random_range(0..12) {
        0 => (rng.random_range(0..count), false),
        1 => (usize::MAX, true),
        _ => (usize::MAX, false),
    }
}

pub struct Run {
    bench: Bench,
    rng: SmallRng,
    /// What requests and completions the card has to see, and what the block has to see on CC.
    expected: [VecDeque<Seen>; 3],
    /// Reads and writes that RQ has to see.
    asks: [VecDeque<Seen>; 2],
    /// What each sink has seen of the TLP under way.
    within: [Option<Seen>; 4],
    dropped: u64,
    errors: u64,
    /// Number of the next write; bit 5 of the last that has begun.
    number: u64,
    lap: u64,
    /// Requests at the block: whether they are writes, and their numbers.
    out: VecDeque<(bool, u64)>,
    /// By number: writes that the block has returned, that the card has heard of.
    returned: [u64; 64],
    heard: [u64; 64],
    /// Configuration of the clock before.
    config: Option<[u64; 6]>,
    pub passed: u64,
}

impl Run {
    fn new(library: &Verilated, seed: u64) -> Self {
        let mut bench = Bench::new(library, seed);
        bench.set("cfg_function_status", 4);
        bench.set("cfg_bus_number", (ID >> 8) as u64);
        Self {
            bench,
            rng: SmallRng::seed_from_u64(seed),
            expected: Default::default(),
            asks: Default::default(),
            within: Default::default(),
            dropped: 0,
            errors: 0,
            number: 0,
            lap: 0,
            out: VecDeque::new(),
            returned: [0; 64],
            heard: [0; 64],
            config: None,
            passed: 0,
        }
    }

    fn cq(&mut self) {
        let rng = &mut self.rng;
        let mut descriptor: u128 = rng.random();
        if rng.random() {
            descriptor &= !(0xFFFF_FFFF << 32);
        }
        let enables: u128 = rng.random_range(0..256);
        let data = amount(rng);
        let data = words(rng, data);
        let frame: Vec<u32> = (0..4).map(|n| (descriptor >> (32 * n)) as u32).collect();
        let frame = [frame, data.clone()].concat();
        let (stop, cut) = fault(rng, frame.len().div_ceil(2));
        let noise: u128 = rng.random();
        let noise = noise & ((1 << 88) - 1) & !(1 << 41) & !0xFF;
        let mut beats = beats(rng, &frame, |at| {
            noise | enables | u128::from(at == stop) << 41
        });
        if cut {
            beats.truncate(1);
            beats[0][2] = 1;
        }
        self.bench.waiting[CQ].extend(beats);
        let told = request(descriptor, enables);
        let Some(told) = told.filter(|_| !cut && (stop > 2 || stop == usize::MAX)) else {
            self.dropped += 1;
            return;
        };
        let mut seen: Vec<_> = packed(&data).into_iter().map(|word| (word, 0)).collect();
        if seen.is_empty() {
            seen.push(((0, 0), 0));
        }
        if stop != usize::MAX {
            seen[stop - 2].0 = (0, 0);
            self.dropped += 1;
        }
        self.expected[REQUEST].push_back(Seen {
            beside: vec![told.header, told.bar.into(), told.function.into()],
            words: seen,
        });
    }

    fn rc(&mut self) {
        let rng = &mut self.rng;
        let mut descriptor: u128 = rng.random();
        if rng.random() {
            descriptor &= !0xF000;
        }
        let data = amount(rng);
        let data = words(rng, data);
        let frame: Vec<u32> = (0..3).map(|n| (descriptor >> (32 * n)) as u32).collect();
        let frame = [frame, data.clone()].concat();
        let count = frame.len().div_ceil(2);
        let (stop, cut) = fault(rng, count);
        let noise: u128 = rng.random();
        let noise = noise & ((1 << 75) - 1) & !(1 << 42);
        let mut beats = beats(rng, &frame, |at| noise | u128::from(at == stop) << 42);
        if cut {
            beats.truncate(1);
            beats[0][2] = 1;
            self.errors += 1;
        }
        self.bench.waiting[RC].extend(beats);
        if cut {
            return;
        }
        let code = field(descriptor, 15, 12);
        // A pulse with the second beat, one with the last.
        self.errors += u64::from(code != 0) + u64::from(stop != usize::MAX);
        if code != 0 && stop != usize::MAX && count == 2 {
            self.errors -= 1;
        }
        let mut seen = packed(&data);
        if seen.is_empty() {
            seen.push((0, 0));
        }
        let seen = seen.into_iter().enumerate().map(|(at, word)| {
            let error = match at {
                _ if stop != usize::MAX && stop <= (at + 2).min(count - 1) => 15,
                0 => code,
                _ => 0,
            };
            (word, error)
        });
        self.expected[ANSWERED].push_back(Seen {
            beside: vec![completion(descriptor, ID)],
            words: seen.collect(),
        });
    }

    fn completion(&mut self) {
        let rng = &mut self.rng;
        let header: u128 = rng.random();
        let count = rng.random_range(0..3);
        let data = words(rng, count);
        let (word, strb) = packed(&data).first().copied().unwrap_or((0, 0));
        let noise: u64 = rng.random();
        let mask = [u64::MAX, u64::MAX << 32, 0, 0][strb as usize];
        let word = word | noise & if strb == 3 { 0 } else { mask };
        self.bench.waiting[COMPLETION].push_back(vec![word.into(), strb.into(), header, 1, 1]);
        let frame = [answer(header).to_vec(), data].concat();
        self.expected[CC].push_back(Seen {
            beside: vec![0],
            words: packed(&frame).into_iter().map(|word| (word, 0)).collect(),
        });
    }

    /// Format and type of a memory request; everything else of all bits.
    fn header(rng: &mut SmallRng, writes: bool) -> u128 {
        let header: u128 = rng.random();
        let format = u128::from(rng.random::<bool>()) | u128::from(writes) << 1;
        header & !(0xFF << 120) | format << 125
    }

    fn ask(&mut self, header: u128, data: &[u32], number: u128) -> Seen {
        let (descriptor, enables) = asked(header);
        let words = packed(&[&descriptor, data].concat());
        let user = u128::from(enables) | (number & 15) << 24 | (number >> 4) << 60;
        Seen {
            beside: vec![user],
            words: words.into_iter().map(|word| (word, 0)).collect(),
        }
    }

    fn read(&mut self) {
        let header = Self::header(&mut self.rng, false);
        let beat = vec![header, self.rng.random_range(0..64), 1, 1];
        self.bench.waiting[READ].push_back(beat);
        // Its number depends on the writes before it.
        let seen = self.ask(header, &[], 0);
        self.asks[0].push_back(seen);
    }

    fn write(&mut self) {
        let header = Self::header(&mut self.rng, true);
        let count = amount(&mut self.rng).max(1);
        let data = words(&mut self.rng, count);
        if self.rng.random_range(0..60) == 0 {
            // A reset: numbers begin anew, with the other bit 5.
            self.number = !self.number & 32;
        }
        let number = u128::from(self.number);
        self.number = self.number & 32 | (self.number + 1) & 31;
        let seen = self.ask(header, &data, number);
        let beats = packed(&data);
        let last = beats.len() - 1;
        let beats = beats.into_iter().enumerate().map(|(at, (word, strb))| {
            let (sop, eop) = (u128::from(at == 0), u128::from(at == last));
            vec![word.into(), strb.into(), header, number, sop, eop]
        });
        self.bench.waiting[WRITE].extend(beats);
        self.asks[1].push_back(seen);
    }

    /// A word at a sink: the TLP if it ends there.
    fn collect(&mut self, sink: usize) -> Result<Option<Seen>, String> {
        let Some(beat) = self.bench.taken[sink].clone() else {
            return Ok(None);
        };
        let begins = self.within[sink].is_none();
        let (beside, word, error, last) = match sink {
            REQUEST => (
                vec![beat[2], beat[3], beat[4]],
                masked(beat[0], beat[1]),
                0,
                beat[6],
            ),
            ANSWERED => (vec![beat[2]], masked(beat[0], beat[1]), beat[3], beat[5]),
            _ => (vec![beat[3]], masked(beat[0], beat[1]), 0, beat[2]),
        };
        let sop = match sink {
            REQUEST => Some(beat[5]),
            ANSWERED => Some(beat[4]),
            _ => None,
        };
        if sop.is_some_and(|sop| (sop == 1) != begins) {
            return Err(format!("sink {sink}: sop {sop:?} in the wrong place"));
        }
        let seen = self.within[sink].get_or_insert(Seen {
            beside,
            words: vec![],
        });
        seen.words.push((word, error));
        Ok(if last == 1 {
            self.within[sink].take()
        } else {
            None
        })
    }

    fn look(&mut self) -> Result<(), String> {
        for sink in [REQUEST, ANSWERED, CC] {
            let Some(seen) = self.collect(sink)? else {
                continue;
            };
            self.passed += 1;
            let right = self.expected[sink].pop_front();
            if right.as_ref() != Some(&seen) {
                return Err(format!("sink {sink}: {seen:x?}, not {right:x?}"));
            }
        }
        let Some(seen) = self.collect(RQ)? else {
            return Ok(());
        };
        self.passed += 1;
        let number = seen.beside[0] >> 24 & 15 | (seen.beside[0] >> 60) << 4;
        let writes = seen.words[1].0.0 >> 11 & 15 == 1;
        let mut right = self.asks[usize::from(writes)].pop_front();
        if writes {
            self.lap = number as u64 >> 5;
        } else if let Some(right) = &mut right {
            let number = u128::from(31 | (self.lap ^ 1) << 5);
            right.beside[0] |= (number & 15) << 24 | (number >> 4) << 60;
        }
        if right.as_ref() != Some(&seen) {
            return Err(format!("RQ: {seen:x?}, not {right:x?}"));
        }
        self.out.push_back((writes, number as u64));
        Ok(())
    }

    /// The block returns numbers, at one port or both.
    fn numbers(&mut self) {
        for port in 0..2 {
            let returns = self.out.len() > OUT / 2 || self.bench.stalls.ready(9 + port);
            let some = returns && !self.out.is_empty();
            self.bench
                .stalls
                .observe(9 + port, !self.out.is_empty(), true);
            self.bench.set(
                ["pcie_rq_seq_num_vld0", "pcie_rq_seq_num_vld1"][port],
                some.into(),
            );
            if !some {
                continue;
            }
            // Reads may be late, so any of the oldest few.
            let at = self.rng.random_range(0..self.out.len().min(4));
            let (writes, number) = self.out.remove(at).unwrap();
            self.bench
                .set(["pcie_rq_seq_num0", "pcie_rq_seq_num1"][port], number);
            if writes {
                self.returned[number as usize] += 1;
            }
        }
    }

    /// A number that the card hears is never one of a write whose own has not come.
    fn hear(&mut self) -> Result<(), String> {
        if self.bench.get("m_axis_wr_req_tx_seq_num_valid") == 1 {
            let number = self.bench.get("m_axis_wr_req_tx_seq_num") as usize;
            self.heard[number] += 1;
            if self.heard[number] > self.returned[number] {
                return Err(format!("number {number} before its write has left"));
            }
        }
        Ok(())
    }

    /// Configuration, but for the bus and bus mastering, is that of the clock before.
    fn configure(&mut self) -> Result<(), String> {
        let outputs = [
            "m_max_payload_size",
            "m_max_read_request_size",
            "m_msix_enable",
            "m_msix_mask",
        ];
        let now = outputs.map(|name| self.bench.get(name));
        if let Some([payload, read, enable, mask, ..]) = self.config
            && now != [payload, read, enable & 1, mask & 1]
        {
            return Err(format!("configuration {now:?} of {:?}", self.config));
        }
        if self.bench.get("m_function_id") != ID as u64 && self.bench.now > 2 {
            return Err("function ID".to_owned());
        }
        Ok(())
    }

    fn choose(&mut self) {
        let rng = &mut self.rng;
        let config = [
            rng.random_range(0..4),
            rng.random_range(0..8),
            rng.random_range(0..16),
            rng.random_range(0..16),
            0,
            0,
        ];
        let inputs = [
            "cfg_max_payload",
            "cfg_max_read_req",
            "cfg_interrupt_msix_enable",
            "cfg_interrupt_msix_mask",
        ];
        for (name, value) in inputs.into_iter().zip(config) {
            self.bench.set(name, value);
        }
        self.config = Some(config);
    }

    fn clock(&mut self) -> Result<(), String> {
        self.hear()?;
        self.configure()?;
        self.choose();
        self.numbers();
        self.bench.clock()?;
        self.look()
    }
}

/// TLPs that passed in so many clocks and until nothing is left.
pub fn run(library: &Verilated, seed: u64, clocks: u64) -> Result<u64, String> {
    let mut run = Run::new(library, seed);
    let patience = 40_000;
    while run.bench.now < clocks + patience {
        if run.bench.now < clocks {
            for (source, offer) in [Run::cq, Run::rc, Run::completion, Run::read, Run::write]
                .into_iter()
                .enumerate()
            {
                if run.bench.waiting[source].len() < 4 && run.rng.random_range(0..3) == 0 {
                    offer(&mut run);
                }
            }
        }
        let at = run.bench.now;
        run.clock()
            .map_err(|error| format!("clock {at}: {error}"))?;
        let empty =
            run.expected.iter().all(VecDeque::is_empty) && run.asks.iter().all(VecDeque::is_empty);
        if run.bench.now >= clocks && run.bench.idle() && empty && run.out.is_empty() {
            break;
        }
    }
    // What is in the stages and the queue of numbers.
    run.bench.set("pcie_rq_seq_num_vld0", 0);
    run.bench.set("pcie_rq_seq_num_vld1", 0);
    for _ in 0..100 {
        run.hear()?;
        run.bench.clock()?;
        run.look()?;
    }
    let counted = (run.bench.dropped, run.bench.errors);
    if counted != (run.dropped, run.errors) {
        return Err(format!(
            "counts {counted:?}, not {:?}",
            (run.dropped, run.errors)
        ));
    }
    if run.heard != run.returned {
        return Err(format!("numbers {:?}, not {:?}", run.heard, run.returned));
    }
    if !run.bench.idle() || run.expected.iter().any(|some| !some.is_empty()) {
        return Err("it does not settle".to_owned());
    }
    Ok(run.passed)
}
