//! The host and the blocks around the block under test.

use super::rtl::QPS;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::{BTreeMap, VecDeque};
use tributary_hdl::record::MEMBER;
use tributary_protocol::card::descriptor::{
    OPCODE_ATOMIC, OPCODE_BULK_READ, OPCODE_BULK_WRITE, OPCODE_READ, OPCODE_REDUCE, OPCODE_SEND,
    OPCODE_WRITE, WORK_LEN, WorkRequest, flags,
};
use tributary_protocol::xud::{Outcome, Peer, Window};

const FENCE: u8 = flags::FENCE.mask() as u8;

/// Random choices of one run.
pub struct Dice(ChaCha8Rng);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// True in `percent` of the cases.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0.next_u64() % limit
    }

    pub fn word(&mut self) -> u64 {
        self.0.next_u64()
    }
}

/// How the world behaves; chances in percent.
#[derive(Clone, Copy, Debug)]
pub struct Manner {
    /// An output is taken in a clock in which it could be.
    pub taken: u64,
    /// A word comes in a clock in which it could.
    pub words: u64,
    /// Fewest and most clocks until a slot is answered.
    pub slot: (u64, u64),
    /// A free slot or place is refused all the same.
    pub refuse: u64,
    /// Clocks until a read begins to answer.
    pub latency: u64,
    /// A fetch fails.
    pub fail: u64,
    /// A work request is bad in some way.
    pub bad: u64,
    /// A work request is one of a bulk transfer; such a one is taken in a clock in which it could be.
    pub bulk: u64,
    pub bulk_taken: u64,
    /// A work request has a fence.
    pub fence: u64,
    /// A queue pair is in a reduction group; there is room for its work requests in a clock.
    pub group: u64,
    pub room: u64,
    /// Most bytes of payload from memory.
    pub payload: u64,
    /// Clocks until a request ends.
    pub flight: u64,
    /// Reads that wait at most, and records whose payload xud_tx waits for.
    pub reads: usize,
    pub ahead: usize,
    /// Completion slots of a queue pair, places of the table.
    pub slots: usize,
    pub places: u32,
}

/// Nothing stalls, nothing is refused.
pub const CALM: Manner = Manner {
    taken: 100,
    words: 100,
    slot: (4, 4),
    refuse: 0,
    latency: 150,
    fail: 0,
    bad: 0,
    bulk: 0,
    bulk_taken: 100,
    fence: 0,
    group: 0,
    room: 100,
    payload: 0,
    flight: 100,
    reads: 64,
    ahead: 64,
    slots: 1 << 20,
    places: 1 << 12,
};

/// What a queue pair is made with.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub log: u8,
    pub timeout: u8,
    pub pd: u16,
    pub q_key: u32,
    pub first: u32,
    pub base: u64,
    /// It is in a reduction group.
    pub member: bool,
}

impl Shape {
    pub fn random(dice: &mut Dice, qpn: u32) -> Self {
        let log = [0, 1, 2, 3, 4, 6][dice.below(6) as usize];
        // Over the carry between the halves of the address half of the time; rings do not overlap.
        let region = dice.below(1 << 20) << 44 | u64::from(qpn) << 38;
        let base = if dice.chance(50) {
            region + (1 << 37) - 64 * (1 + dice.below(1 << log))
        } else {
            region + 64 * dice.below(1 << 20)
        };
        let first = [0, 0xFF_FFF8, 0xFF_FFFF, dice.below(1 << 24) as u32][dice.below(4) as usize];
        Self {
            log,
            timeout: dice.below(32) as u8,
            pd: dice.word() as u16,
            q_key: dice.word() as u32,
            first,
            base,
            member: false,
        }
    }

    /// Word 0 of the context, all other fields of it at random.
    pub fn word_0(&self, state: u8, noise: u64) -> u64 {
        let fields = u64::from(state)
            | u64::from(self.log) << 4
            | u64::from(self.timeout) << 16
            | u64::from(self.pd) << 32;
        fields | u64::from(self.member) << MEMBER | noise & 0x0700_FF00
    }
}

/// A work request, bad with the given chance.
pub fn work_request(dice: &mut Dice, manner: &Manner, mtu: u64) -> [u8; WORK_LEN] {
    let version = dice.below(2) as u8;
    let head_len = dice.below(17).min(mtu);
    let most = manner.payload.min(mtu - head_len);
    let mut request = WorkRequest {
        opcode: OPCODE_SEND,
        flags: 0,
        head_len: head_len as u8,
        length: [0, most, dice.below(most + 1)][dice.below(3) as usize] as u32,
        wr_id: dice.word(),
        address: dice.word(),
        lkey: dice.word() as u32 & !1,
        version_flags: version * (16 + dice.below(8) as u8),
        to: Peer {
            node: dice.word() as u32 >> 12,
            qpn: dice.word() as u32 >> 8,
        },
        window: Window {
            id: dice.word() as u16,
            epoch: u16::from(version) * dice.word() as u16,
            msn: dice.word() as u32,
        },
        head: std::array::from_fn(|_| dice.word() as u8),
    };
    // In mixed traffic, one-sided ones, where the MTU has room for them.
    if manner.bad > 0 && mtu >= 32 && dice.chance(25) {
        request.opcode = OPCODE_WRITE + dice.below(3) as u8;
        request.version_flags = 0x18;
        request.head_len = 16;
        request.length = match request.opcode {
            OPCODE_ATOMIC => 16,
            OPCODE_READ => 1 + dice.below(mtu - 16) as u32,
            _ => request.length.min(mtu as u32 - 16),
        };
    }
    // Of a bulk transfer or a reduction nothing is looked at here.
    let reduces = manner.group > 0 && dice.chance(manner.group);
    if reduces || dice.chance(manner.bulk) {
        let mut entry: [u8; WORK_LEN] = std::array::from_fn(|_| dice.word() as u8);
        entry[0] = match reduces {
            true => OPCODE_REDUCE,
            false => [OPCODE_BULK_WRITE, OPCODE_BULK_READ][dice.below(2) as usize],
        };
        entry[1] = some_flags(dice, manner);
        return entry;
    }
    let mut faults = if dice.chance(manner.bad) { 1 } else { 0 };
    faults *= 1 + dice.below(3);
    for _ in 0..faults {
        match dice.below(12) {
            0 => request.length = (mtu - head_len + 1 + dice.below(3)) as u32,
            1 => request.length = 1 << (13 + dice.below(19)),
            2 => request.length = dice.word() as u32,
            3 => request.head_len = 17 + dice.below(239) as u8,
            4 => request.to.qpn |= 1 << (24 + dice.below(8)),
            5 => request.opcode ^= 1 << dice.below(8),
            6 => request.version_flags |= 0x20 << dice.below(3),
            7 => request.version_flags ^= 8,
            8 => request.version_flags = 1 << dice.below(3),
            9 => {
                request.version_flags = 0;
                request.window.epoch = 1 << dice.below(16);
            }
            _ => request.lkey |= 1,
        }
    }
    let mut entry = request.encode();
    // Bits without a field: the card does not look at them.
    entry[1] = some_flags(dice, manner);
    entry[3] = dice.word() as u8;
    entry[29] = dice.word() as u8;
    entry[44..48].copy_from_slice(&(dice.word() as u32).to_le_bytes());
    entry
}

/// Flags with a fence or without; the others at random.
fn some_flags(dice: &mut Dice, manner: &Manner) -> u8 {
    let noise = dice.word() as u8 & !FENCE;
    noise | if dice.chance(manner.fence) { FENCE } else { 0 }
}

/// How a work request must end: what the contract says, in its order.
pub fn judge(request: &WorkRequest, mtu: u64) -> Option<Outcome> {
    let (version, flags) = (request.version_flags >> 4, request.version_flags & 15);
    let meaningless = match request.opcode {
        OPCODE_SEND => flags & 8 != 0,
        OPCODE_WRITE..=OPCODE_ATOMIC => request.version_flags != 0x18 || request.head_len != 16,
        _ => true,
    };
    let meaningless =
        meaningless || version > 1 || version == 0 && (flags != 0 || request.window.epoch != 0);
    let in_front = match request.opcode {
        OPCODE_READ => 16,
        _ => u64::from(request.head_len),
    };
    let no_such_length = match request.opcode {
        OPCODE_READ => request.length == 0,
        OPCODE_ATOMIC => request.length != 16,
        _ => false,
    };
    let too_long = request.head_len > 16 || u64::from(request.length) + in_front > mtu;
    if too_long || no_such_length {
        Some(Outcome::LocalLength)
    } else if request.to.qpn >= 1 << 24 {
        Some(Outcome::LocalAddress)
    } else if meaningless {
        Some(Outcome::LocalOpcode)
    } else if !allowed(request.lkey, request.length) {
        Some(Outcome::LocalProtection)
    } else {
        None
    }
}

/// Whether it has a fence.
pub fn has_fence(request: &WorkRequest) -> bool {
    request.flags & FENCE != 0
}

/// Whether it is one of a bulk transfer.
pub fn of_bulk(request: &WorkRequest) -> bool {
    matches!(request.opcode, OPCODE_BULK_WRITE | OPCODE_BULK_READ)
}

/// Whether what answers a work request is written to memory here: 1 of a READ, 2 of an ATOMIC.
pub fn kind(request: &WorkRequest) -> u8 {
    match request.opcode {
        OPCODE_READ => 1,
        OPCODE_ATOMIC => 2,
        _ => 0,
    }
}

/// What the regions say: keys that are even stand for something.
pub fn allowed(key: u32, len: u32) -> bool {
    len & 0x1FFF == 0 || key & 1 == 0
}

/// Completion slots, with an answer on its way.
#[derive(Default)]
pub struct Slots {
    pub used: BTreeMap<u32, usize>,
    asked: Option<u64>,
}

impl Slots {
    /// The answer in this clock to what was asked in the last one.
    pub fn answer(
        &mut self,
        asks: Option<u32>,
        now: u64,
        dice: &mut Dice,
        manner: &Manner,
    ) -> Option<bool> {
        let qpn = asks?;
        let (least, most) = manner.slot;
        // Asked in the clock before this one.
        let due = *self
            .asked
            .get_or_insert_with(|| now - 1 + least + dice.below(most - least + 1));
        if now < due {
            return None;
        }
        self.asked = None;
        let used = self.used.entry(qpn).or_default();
        let ok = *used < manner.slots && !dice.chance(manner.refuse);
        *used += usize::from(ok);
        Some(ok)
    }

    /// Gives one back; whether there was one.
    pub fn free(&mut self, qpn: u32) -> bool {
        let used = self.used.entry(qpn).or_default();
        let had = *used > 0;
        *used -= usize::from(had);
        had
    }
}

/// Places in flight by queue pair and PSN; true: filled.
#[derive(Default)]
pub struct Places {
    pub kept: BTreeMap<(u32, u32), bool>,
    asked: Option<(u64, u32, u32)>,
}

impl Places {
    pub fn ask(&mut self, qpn: u32, psn: u32, now: u64) -> bool {
        self.asked.replace((now + 4, qpn, psn)).is_none()
    }

    /// The answer in this clock; a place is taken if any that is kept shares it.
    pub fn answer(&mut self, now: u64, dice: &mut Dice, manner: &Manner) -> Option<bool> {
        let (due, qpn, psn) = self.asked?;
        if now < due {
            return None;
        }
        self.asked = None;
        let place = |qpn: u32, psn: u32| psn.wrapping_add(qpn * 5) % manner.places;
        let wanted = place(qpn, psn);
        let taken = self.kept.keys().any(|&(q, p)| place(q, p) == wanted);
        let ok = !taken && !dice.chance(manner.refuse);
        if ok {
            self.kept.insert((qpn, psn), false);
        }
        Some(ok)
    }
}

/// A read that host memory answers.
enum Job {
    Fetch { words: VecDeque<u64>, error: bool },
    Payload { words: u64 },
}

/// The stream of dma_read: in the order of requests. Payload waits for the line.
#[derive(Default)]
pub struct Reader {
    jobs: VecDeque<(u64, Job)>,
}

/// What the stream does in a clock.
pub struct Beat {
    pub word: Option<(u64, bool, bool)>,
    /// The last word of a payload has gone.
    pub payload_done: bool,
}

impl Reader {
    pub fn waiting(&self) -> usize {
        self.jobs.len()
    }

    pub fn fetch(&mut self, entry: &[u8; WORK_LEN], error: bool, due: u64) {
        let words = entry
            .chunks_exact(8)
            .map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes")))
            .collect();
        self.jobs.push_back((due, Job::Fetch { words, error }));
    }

    pub fn payload(&mut self, len: u16, due: u64) {
        let words = u64::from(len).div_ceil(8);
        self.jobs.push_back((due, Job::Payload { words }));
    }

    pub fn beat(&mut self, now: u64, dice: &mut Dice, manner: &Manner) -> Beat {
        let mut beat = Beat {
            word: None,
            payload_done: false,
        };
        let Some((due, job)) = self.jobs.front_mut() else {
            return beat;
        };
        if now < *due || !dice.chance(manner.words) {
            return beat;
        }
        match job {
            Job::Fetch { words, error } => {
                let word = words.pop_front().expect("a job has words");
                let last = words.is_empty();
                beat.word = Some((word, last, last && *error));
                if last {
                    self.jobs.pop_front();
                }
            }
            Job::Payload { words } => {
                *words -= 1;
                if *words == 0 {
                    beat.payload_done = true;
                    self.jobs.pop_front();
                }
            }
        }
        beat
    }
}

/// All queue pairs.
pub fn all() -> std::ops::Range<u32> {
    0..QPS as u32
}
