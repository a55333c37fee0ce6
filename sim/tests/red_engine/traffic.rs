//! Random frames that meet: few keys, seqnos near the descriptors', mostly one job.

use rand::{RngExt, rngs::SmallRng};
use tributary_protocol::red::{
    Address, Descriptor, Engine, Frame, Key, Op, Rc, seqno_after,
    wire::{Fabric, Reduction, Restricted},
};

use super::bench::{Item, Way};

const SPECIAL: [u64; 24] = [
    0,
    1 << 63,
    1,
    (1 << 63) | 1,
    0x000f_ffff_ffff_ffff,
    0x0010_0000_0000_0000,
    0x8010_0000_0000_0000,
    0x3ff0_0000_0000_0000,
    0xbff0_0000_0000_0000,
    0x3ff0_0000_0000_0001,
    0x3cb0_0000_0000_0000,
    0x3ca0_0000_0000_0000,
    0x7fef_ffff_ffff_ffff,
    0xffef_ffff_ffff_ffff,
    0x7ff0_0000_0000_0000,
    0xfff0_0000_0000_0000,
    0x7ff8_0000_0000_0000,
    0xfff8_0000_0000_1234,
    0x7ff0_0000_0000_0001,
    0xfff4_0000_0000_0000,
    0x7fff_ffff_ffff_ffff,
    0xffff_ffff_ffff_ffff,
    0x4340_0000_0000_0000,
    2,
];

/// Elements of 32 bits: ends of integers, and of binary32 zeros, subnormals, ones, a little, the largest, infinities, NaNs.
const SPECIAL_32: [u32; 16] = [
    0,
    0x8000_0000,
    0x7fff_ffff,
    0xffff_ffff,
    1,
    0x807f_ffff,
    0x0080_0000,
    0x3f80_0000,
    0xbf80_0000,
    0x3380_0000,
    0x3f7f_ffff,
    0x7f7f_ffff,
    0x7f80_0000,
    0xff80_0000,
    0x7f80_0001,
    0xffc0_0123,
];

fn word(rng: &mut SmallRng) -> u64 {
    match rng.random_range(0..5) {
        4 => {
            let mut half = || u64::from(SPECIAL_32[rng.random_range(0..SPECIAL_32.len())]);
            half() << 32 | half()
        }
        0 => SPECIAL[rng.random_range(0..SPECIAL.len())],
        1 => rng.random_range(0..16),
        2 => f64::from(rng.random_range(-1000..1000)).to_bits(),
        _ => rng.random(),
    }
}

fn chance(rng: &mut SmallRng, one_in: u32) -> bool {
    rng.random_range(0..one_in) == 0
}

/// Trees and reduction ids in use.
pub fn key(rng: &mut SmallRng, keys: u16) -> Key {
    let n = rng.random_range(0..keys);
    Key {
        tree: n * 2741 % 8192,
        reduction: (n % 8) as u8,
    }
}

/// VNI and cookie of a key's job.
fn job(key: Key) -> (u16, u32) {
    let key = u64::from(key.tree) << 3 | u64::from(key.reduction);
    let any = (key + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((any >> 48) as u16, (any >> 8) as u32)
}

/// A wait count: mostly small, or around a threshold, or any.
fn wait(rng: &mut SmallRng, thresholds: [u32; 3]) -> u32 {
    match rng.random_range(0..8) {
        0 => rng.random_range(1..1 << 20),
        1 | 2 => {
            let near = thresholds[rng.random_range(0..3)] + rng.random_range(0..3);
            (near.max(2) - 1).min((1 << 20) - 1)
        }
        _ => rng.random_range(1..8),
    }
}

/// How many a contribution stands for: mostly few; any; or as many as are missing, or one more or less.
fn count(rng: &mut SmallRng, found: Option<&Descriptor>) -> u32 {
    let come = |d: &Descriptor| d.partial.map_or(0, |partial| partial.count);
    let missing = found.map_or(0, |d| d.wait.saturating_sub(come(d)));
    match rng.random_range(0..64) {
        0 => rng.random_range(1..1 << 20),
        1..8 if missing > 1 => (missing + rng.random_range(0..3) - 1).min((1 << 20) - 1),
        _ => rng.random_range(1..3),
    }
}

/// A frame for a key whose descriptor, if there is one, is `found`.
pub fn frame(rng: &mut SmallRng, key: Key, found: Option<&Descriptor>, arm: bool) -> Frame {
    let ((mut vni, mut cookie), mut seqno) = (job(key), rng.random_range(0..1024));
    if let Some(d) = found {
        (vni, cookie, seqno) = (d.vni, d.cookie, d.seqno);
        if arm {
            seqno = seqno_after(seqno);
        }
    }
    if chance(rng, 24) {
        vni ^= 1 << rng.random_range(0..16);
    }
    if chance(rng, 24) {
        cookie ^= 1 << rng.random_range(0..32);
    }
    if chance(rng, 12) {
        let near = [1, 2, 511, 512, 513, 1022, 1023];
        seqno = (seqno + near[rng.random_range(0..near.len())]) % 1024;
    }
    // The tree decides the operation, so that contributions mostly agree.
    let all = Op::ALL;
    let mut op = match found.and_then(|d| d.partial) {
        Some(partial) => partial.op,
        // The one with a scale: more often than its share.
        None if chance(rng, 6) => Op::FltRepsum,
        None => all[rng.random_range(0..all.len())],
    };
    if chance(rng, 16) {
        op = all[rng.random_range(0..all.len())];
    }
    let m = match rng.random_range(0..8) {
        0 => [125, 126, 127, -128][rng.random_range(0..4)],
        1 => rng.random(),
        _ => rng.random_range(-3..4),
    };
    let rc = if chance(rng, 8) {
        rng.random_range(0..16)
    } else {
        0
    };
    let mut data = std::array::from_fn(|_| word(rng));
    // Which words there are: each pattern as often.
    if op == Op::FltRepsum && rng.random() {
        let there = rng.random_range(0..16);
        for (i, w) in data.iter_mut().enumerate() {
            *w *= there >> i & 1;
        }
    }
    Frame {
        fabric: Fabric {
            ttl: rng.random(),
            spt_idx: rng.random_range(0..2048),
            ..Fabric::new(
                Address::unicast(rng.random_range(0..1 << 20), rng.random_range(0..1 << 12)),
                key.address(),
                vni,
            )
        },
        restricted: Restricted {
            remote_offset: rng.random::<u64>() >> 8,
            ..Restricted::default()
        },
        red: Reduction {
            seqno,
            arm,
            op,
            count: count(rng, found),
            resno: seqno,
            rc: Rc::new(rc),
            m,
            oflow: rng.random_range(0..4),
            pad: rng.random_range(0..8),
            cookie,
        },
        data,
    }
}

/// Something to do next with an engine in this state.
pub fn item(rng: &mut SmallRng, keys: u16, engine: &Engine) -> Item {
    let mut key = key(rng, keys);
    // Another one, near by.
    if chance(rng, 32) {
        key.tree ^= 1 << rng.random_range(0..13);
    }
    if chance(rng, 32) {
        key.reduction ^= 1 << rng.random_range(0..3);
    }
    let mut all = engine.descriptors().iter().flatten();
    let found = all.find(|d| d.key == key);
    let wait = wait(rng, engine.config().thresholds);
    let (way, arm) = match rng.random_range(0..16) {
        1 => (Way::Down(wait), chance(rng, 2)),
        2 | 3 => (Way::Down(wait), true),
        _ if found.is_none() && !chance(rng, 4) => (Way::Down(wait), true),
        _ => (Way::Up, chance(rng, 64)),
    };
    let mut frame = frame(rng, key, found, arm);
    let others = if way == Way::Up && chance(rng, 3) {
        others(rng, &mut frame)
    } else {
        vec![]
    };
    Item { way, frame, others }
}

/// A descriptor armed for two contributions of [`Op::FltRepsum`], and these: any words of any scales that are near each other.
///
/// The second one's sum moves by up to six words, so that its words are written in any order while the result begins to leave.
pub fn two_scales(rng: &mut SmallRng) -> [Item; 3] {
    let key = key(rng, 8);
    let mut arm = frame(rng, key, None, true);
    arm.red.op = Op::FltRepsum;
    let scale: i8 = rng.random_range(-125..123);
    let mut contribution = || {
        let mut one = frame(rng, key, None, false);
        one.fabric.vni = arm.fabric.vni;
        one.red = Reduction {
            arm: false,
            count: 1,
            rc: Rc::new(0),
            m: scale + rng.random_range(-3..4),
            ..arm.red
        };
        one.data = std::array::from_fn(|_| match rng.random_range(0..4) {
            0 => 0,
            1 => word(rng),
            _ => rng.random(),
        });
        Item {
            way: Way::Up,
            frame: one,
            others: vec![],
        }
    };
    let (first, second) = (contribution(), contribution());
    let arm = Item {
        way: Way::Down(2),
        frame: arm,
        others: vec![],
    };
    [arm, first, second]
}

/// Makes a contribution one that can be taken together with others, and these: two to 15 from other endpoints.
fn others(rng: &mut SmallRng, frame: &mut Frame) -> Vec<Frame> {
    frame.red.arm = false;
    if frame.red.op == Op::FltRepsum {
        frame.red.op = Op::ALL[rng.random_range(0..Op::ALL.len())];
    }
    let code = |rng: &mut SmallRng| {
        Rc::new(if chance(rng, 4) {
            rng.random_range(0..8)
        } else {
            0
        })
    };
    frame.data[1..].fill(0);
    frame.red.rc = code(rng);
    if frame.red.op == Op::FltRepsum {
        return vec![];
    }
    let most = if rng.random() { 4 } else { 15 };
    let count = rng.random_range(2..=most);
    let mut other = || {
        let mut other = *frame;
        other.fabric.sfa = Address(rng.random());
        other.data[0] = word(rng);
        other.red.rc = code(rng);
        other
    };
    (0..count).map(|_| other()).collect()
}
