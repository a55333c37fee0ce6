//! Queue pairs, their groups, work requests and frames, and what is to come of them.

use std::collections::{BTreeMap, VecDeque};

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use tributary_protocol::card::command::State;
use tributary_protocol::card::descriptor::{ReductionRequest, flags};
use tributary_protocol::red::answer::Answers;
use tributary_protocol::red::wire::{DEFAULT_ETHERTYPE, Fabric, Frame, Reduction, Restricted};
use tributary_protocol::red::{Address, Key, Op, Rc};

use super::NODE;

/// A queue pair, its group, and what it has fetched and ended.
#[derive(Clone, Debug)]
pub struct Member {
    pub qpn: u64,
    pub vni: u16,
    pub tree: u16,
    pub cookie: u32,
    pub state: State,
    pub fetched: u16,
    pub ended: u16,
    /// The host was told that so many were fetched.
    pub told: u16,
    /// Of a root: members of its group, and what was told to the tree, by reduction id.
    pub members: u32,
    pub answers: [Answers; 8],
    /// Sequence number and round of what was told last; of any before the first.
    pub last: [(u16, u64); 8],
}

impl Member {
    pub fn new(qpn: u64, (vni, tree, cookie): (u16, u16, u32), members: u32) -> Self {
        Self {
            qpn,
            vni,
            tree,
            cookie,
            state: State::Init,
            fetched: 0,
            ended: 0,
            told: 0,
            members,
            answers: [Answers::new(members); 8],
            last: std::array::from_fn(|id| {
                let bits = u64::from(cookie) + qpn + id as u64;
                let bits = bits.wrapping_mul(0x9E37_79B9_7F4A_7C15);
                ((bits >> 54) as u16, bits & (u64::MAX >> 8))
            }),
        }
    }
}

/// What a work request comes to.
#[derive(Clone, Debug)]
pub struct Work {
    pub qpn: u64,
    pub wr_id: u64,
    pub request: u16,
    pub reduction: u8,
    pub bad: bool,
    pub signal: bool,
    /// An answer has overtaken it.
    pub late: bool,
}

/// A frame on its way in: what stands in each clock, and what is to become of it.
pub struct Coming {
    pub words: VecDeque<(u64, u64, bool, bool)>,
    pub kept: Option<Frame>,
    pub place: Place,
    pub bad: bool,
}

#[derive(Default)]
pub struct Counts {
    pub sent: u64,
    pub received: u64,
    pub bad: u64,
    pub foreign: u64,
    pub no_slot: u64,
    pub answered: u64,
    pub overtaken: u64,
}

/// Queue pair and reduction id of a root, if it is of one.
pub type Place = Option<(u64, u8)>;

/// Queue pairs, groups, and what is expected.
#[derive(Default)]
pub struct World {
    pub members: Vec<Member>,
    /// Frames of good work requests that have not left, as bytes; completions and slots of all.
    pub leaving: VecDeque<Vec<u8>>,
    /// Answers that have not left.
    pub answers: VecDeque<Vec<u8>>,
    /// Work requests and arrivals under way, by queue pair and reduction id of a root: never both, since either may be first.
    pub works: BTreeMap<(u64, u8), u32>,
    pub results: BTreeMap<(u64, u8), u32>,
    pub ends: VecDeque<Work>,
    /// Good frames that were kept, in their order, with their place in `results`.
    pub arrived: VecDeque<(Frame, Place)>,
    /// Completions of frames: queue pair, the least that it may say of work requests, its place in `results`, whether it is answered.
    pub landing: VecDeque<(u64, u16, Place, bool)>,
    pub words: VecDeque<u64>,
    pub counts: Counts,
}

impl World {
    /// Who a frame is for.
    pub fn of(&self, frame: &Frame) -> Option<&Member> {
        let reduction = (frame.red.cookie % 8) as u8;
        let own = frame.fabric.dfa == Address::unicast(NODE, 0);
        self.members.iter().find(|member| {
            let tree = member.tree;
            let by_tree = frame.fabric.dfa.multicast() == Some(Key { tree, reduction });
            let same = (member.vni, member.cookie) == (frame.fabric.vni, frame.red.cookie & !7);
            same && (own || by_tree) && member.state.receives()
        })
    }

    /// A frame that has come is of a root's group and comes up a tree.
    pub fn result(&self, frame: &Frame) -> Place {
        let group = (frame.fabric.vni, frame.red.cookie & !7);
        let mut roots = self.members.iter().filter(|m| m.members != 0);
        let root = roots.find(|m| (m.vni, m.cookie) == group)?;
        frame.fabric.dfa.multicast()?;
        Some((root.qpn, (frame.red.cookie % 8) as u8))
    }

    /// The answer to a frame that has its slot, if there is one.
    pub fn answer(&mut self, frame: &Frame) -> Option<Vec<u8>> {
        let (_, id) = self.result(frame)?;
        let qpn = self.of(frame)?.qpn;
        let member = self.members.iter_mut().find(|m| m.qpn == qpn)?;
        let own = Address::unicast(NODE, 0);
        let answer = member.answers[usize::from(id)].answer(frame, own)?;
        member.last[usize::from(id)] = (answer.red.seqno, answer.restricted.remote_offset);
        Some(answer.to_bytes(DEFAULT_ETHERTYPE).to_vec())
    }

    /// The frame that a work request asks for.
    pub fn frame(&self, member: &Member, asked: &ReductionRequest) -> Frame {
        let reduction = asked.reduction;
        let tree = member.tree;
        let to = match asked.to {
            Some(node) => Address::unicast(node, 0),
            None => Key { tree, reduction }.address(),
        };
        Frame {
            fabric: Fabric::new(Address::unicast(NODE, 0), to, member.vni),
            restricted: Restricted {
                opcode: asked.kind,
                remote_offset: asked.round,
                ..Restricted::default()
            },
            red: Reduction {
                cookie: member.cookie + u32::from(reduction),
                ..asked.red
            },
            data: asked.data,
        }
    }
}

pub fn reduction(rng: &mut ChaCha8Rng, cookie: u32) -> Reduction {
    Reduction {
        seqno: rng.random_range(0..1 << 10),
        arm: rng.random(),
        op: Op::ALL[rng.random_range(0..Op::ALL.len())],
        count: rng.random_range(0..1 << 20),
        resno: rng.random_range(0..1 << 10),
        rc: Rc::new(rng.random_range(0..16)),
        m: rng.random(),
        oflow: rng.random_range(0..4),
        pad: rng.random_range(0..8),
        cookie,
    }
}

/// A code that names no operation.
const NO_OPERATION: u64 = 0x31;

/// A work request, now and then one without a meaning; of a root mostly near to what it told its tree last.
pub fn entry(rng: &mut ChaCha8Rng, of: Option<&Member>) -> [u64; 8] {
    let mut asked = ReductionRequest {
        flags: if rng.random_range(0..3) == 0 {
            flags::SIGNAL.mask() as u8
        } else {
            rng.random::<u8>() & !flags::SIGNAL.mask() as u8
        },
        wr_id: rng.random(),
        reduction: rng.random_range(0..8),
        to: rng.random::<bool>().then(|| rng.random_range(0..1 << 20)),
        kind: rng.random_range(0..=4),
        round: rng.random_range(0..1 << 56),
        red: reduction(rng, 0),
        data: rng.random(),
    };
    if let Some(root) = of.filter(|m| m.members != 0)
        && rng.random_range(0..8) > 0
    {
        // Few reduction ids, so that much happens in each.
        asked.reduction = rng.random_range(0..3);
        let (seqno, round) = root.last[usize::from(asked.reduction)];
        let arms = rng.random_range(0..8);
        let far = [0, 1, 2, 511, 512, 513, 1_023][rng.random_range(0..7)];
        let near = u16::from(arms < 3);
        let ahead = if rng.random_range(0..5) == 0 {
            far
        } else {
            near
        };
        asked.red.seqno = (seqno + ahead) & 0x3FF;
        let other = if rng.random_range(0..8) == 0 {
            1 << rng.random_range(0..56)
        } else {
            0
        };
        // An attempt at the round that has just been over, or the next one.
        let behind = if rng.random_range(0..4) == 0 {
            u64::MAX >> 8
        } else {
            u64::from(rng.random_range(0..4) == 0)
        };
        let near = (round ^ other).wrapping_add(if arms < 3 { behind } else { 0 });
        asked.round = near & (u64::MAX >> 8);
        match arms {
            0..3 => (asked.kind, asked.red.arm, asked.to) = (0, true, None),
            3..6 => (asked.kind, asked.red.arm, asked.to) = (0, false, None),
            6 => (asked.kind, asked.red.arm) = (rng.random_range(0..2), rng.random()),
            _ => {}
        }
    }
    let bytes = asked.encode();
    let mut words =
        std::array::from_fn(|at| u64::from_le_bytes(bytes[8 * at..8 * at + 8].try_into().unwrap()));
    match rng.random_range(0..12) {
        // Another opcode, a kind or an operation without a meaning, any bits.
        0 => words[0] ^= 1 << rng.random_range(0..8),
        1 => words[0] |= 0xF << 24,
        2 => words[2] = words[2] & !(0x3F << 11) | NO_OPERATION << 11,
        3 => words[0] ^= u64::from(rng.random::<u8>()) << 56,
        _ => {}
    }
    words
}

/// A frame for a member or for nobody, whole or not.
pub fn coming(rng: &mut ChaCha8Rng, world: &World) -> Coming {
    let group = (
        rng.random(),
        rng.random_range(0..1 << 13),
        rng.random::<u32>() & !7,
    );
    let any = Member::new(0, group, 0);
    let member = match world.members.len() {
        0 => any,
        some => {
            // A root that sends, more often than others.
            let roots = world.members.iter();
            let mut roots = roots.filter(|m| m.members != 0 && m.state == State::ReadyToSend);
            match roots.next() {
                Some(root) if rng.random() => root.clone(),
                _ => world.members[rng.random_range(0..some)].clone(),
            }
        }
    };
    let reduction_id: u8 = rng.random_range(0..8);
    let mut key = Key {
        tree: member.tree,
        reduction: reduction_id,
    };
    let (mut vni, mut cookie, mut node) = (member.vni, member.cookie, NODE);
    match rng.random_range(0..14) {
        0 => vni ^= 1 << rng.random_range(0..16),
        1 => cookie ^= 1 << rng.random_range(3..32),
        2 => key.tree ^= 1 << rng.random_range(0..13),
        3 => key.reduction ^= 1 << rng.random_range(0..3),
        4 => node ^= 1 << rng.random_range(0..20),
        _ => {}
    }
    let to = if rng.random() {
        key.address()
    } else {
        Address::unicast(node, u16::from(rng.random_range(0..20) == 0))
    };
    let mut frame = Frame {
        fabric: Fabric {
            ecn: rng.random_range(0..4),
            ..Fabric::new(Address(rng.random()), to, vni)
        },
        restricted: Restricted {
            req_not_rsp: rng.random(),
            opcode: rng.random_range(0..16),
            remote_offset: rng.random_range(0..1 << 56),
            ..Restricted::default()
        },
        red: reduction(rng, cookie + u32::from(reduction_id)),
        data: rng.random(),
    };
    if member.members != 0 && rng.random_range(0..4) > 0 {
        // Nearly always the result of what is armed; else one field is another.
        let id = rng.random_range(0..3u8);
        let key = Key {
            tree: member.tree,
            reduction: id,
        };
        frame.fabric.dfa = key.address();
        frame.fabric.vni = member.vni;
        frame.restricted.opcode = 0;
        let red = &mut frame.red;
        (red.cookie, red.arm) = (member.cookie + u32::from(id), false);
        (red.count, red.seqno) = (member.members, member.last[usize::from(id)].0);
        red.rc = Rc::new([0, 1, 6, 8, 8, 15][rng.random_range(0..6)]);
        match rng.random_range(0..16) {
            0 => frame.restricted.opcode = 1 << rng.random_range(0..4),
            1 => red.arm = true,
            2 => red.count ^= 1 << rng.random_range(0..20),
            3 => red.seqno ^= 1 << rng.random_range(0..10),
            4 => red.rc = Rc::CONTR_OVERFLOW,
            5 => red.count = 0,
            6 => frame.fabric.dfa = Address::unicast(NODE, 0),
            _ => {}
        }
    }
    if rng.random_range(0..24) == 0 {
        frame.fabric.dfa.0 ^= 1 << rng.random_range(0..32);
    }
    let mut bytes = frame.to_bytes(DEFAULT_ETHERTYPE).to_vec();
    let mut broken = false;
    match rng.random_range(0..16) {
        0..3 => {
            // The first two bytes say what kind of address follows.
            let upto = if rng.random() { bytes.len() } else { 2 };
            let at = rng.random_range(0..upto);
            bytes[at] ^= 1 << rng.random_range(0..8);
        }
        3 => bytes.truncate(rng.random_range(60..94)),
        4 => bytes.resize(rng.random_range(95..140), 0),
        5 => broken = true,
        _ => {}
    }
    let red = bytes[12..14] == DEFAULT_ETHERTYPE.to_be_bytes();
    let parsed = Frame::parse(&bytes, DEFAULT_ETHERTYPE).ok();
    // Either the MAC says so, or a word in the middle has not all its bytes.
    let ragged = broken && rng.random();
    let last = bytes.len().div_ceil(8) - 1;
    let words = bytes.chunks(8).enumerate().map(|(at, chunk)| {
        let mut word: [u8; 8] = rng.random();
        word[..chunk.len()].copy_from_slice(chunk);
        let mut keep = (1 << chunk.len()) - 1;
        if ragged && at == last / 2 {
            keep = 0xFF ^ 1 << rng.random_range(0..8);
        }
        (
            u64::from_le_bytes(word),
            keep,
            at == last,
            broken && !ragged && at == last,
        )
    });
    Coming {
        words: words.collect(),
        place: None,
        kept: parsed.filter(|_| red && !broken),
        bad: red && (broken || parsed.is_none()),
    }
}

/// One of those under way at this place is over.
pub fn over(under_way: &mut BTreeMap<(u64, u8), u32>, place: Place) {
    let Some(place) = place else { return };
    if let Some(left) = under_way.get_mut(&place) {
        *left -= 1;
        if *left == 0 {
            under_way.remove(&place);
        }
    }
}
