//! Frames, and what the model makes of them.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use tributary_protocol::bulk::{OPCODE_CONGESTED, OPCODES};
use tributary_protocol::red::address::NODES;
use tributary_protocol::red::wire::DEFAULT_ETHERTYPE;
use tributary_protocol::roce::{self, Bth, Link};
use tributary_protocol::xud::Packet;
use tributary_protocol::xud::wire::{self, WireError};

use super::super::rtl::{ack, frame, length, rng, send};

/// What becomes of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Taken,
    Overflow,
    BadFrame,
    NotXud,
    BadHeader,
    /// Nothing: it is for another block.
    Elsewhere,
}

/// What is in a good frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken {
    Xud(Packet),
    /// Of a bulk transfer: its body, if that is long enough and not too long; whether it was marked.
    Bulk(Bth, Option<Vec<u8>>, bool),
}

impl Taken {
    /// What waits in the buffer.
    pub fn payload(&self) -> &[u8] {
        match self {
            Self::Xud(Packet::Send(send)) => &send.payload,
            Self::Bulk(_, Some(body), _) => &body[8..],
            _ => &[],
        }
    }
}

/// What the model makes of a frame: source node, and what is in it.
pub type Judged = Result<(u32, Taken), Verdict>;

/// Longest frame of which anything is kept.
const LONGEST: usize = 4_170;

/// `bad`: the MAC says so of it. `marks`: marks of switches are looked at.
pub fn judge(frame: &[u8], bad: bool, bulk: bool, marks: bool) -> Judged {
    if bad {
        return Err(Verdict::BadFrame);
    }
    if let Ok(good) = roce::decode(frame)
        && bulk
        && (OPCODES.contains(&good.bth.opcode) || marks && good.bth.opcode == OPCODE_CONGESTED)
    {
        let body = good.body.to_vec();
        let fits = body.len() >= 8 && frame.len() <= LONGEST;
        let taken = Taken::Bulk(good.bth, fits.then_some(body), roce::is_marked(frame));
        return Ok((good.link.src_node(), taken));
    }
    let decoded = wire::decode_frame(frame).map_err(|error| match error {
        WireError::Frame(_) => Verdict::BadFrame,
        WireError::Opcode(_) => Verdict::NotXud,
        _ => Verdict::BadHeader,
    });
    decoded.map(|(from, mut packet)| {
        match &mut packet {
            Packet::Ack(ack) => ack.marked &= marks,
            Packet::Send(send) | Packet::Unknown { send, .. } => send.marked &= marks,
        }
        (from, Taken::Xud(packet))
    })
}

/// Whether a frame has the ethertype of reductions.
pub fn of_reductions(frame: &[u8]) -> bool {
    frame.get(12..14) == Some(&DEFAULT_ETHERTYPE.to_be_bytes())
}

/// A frame of a bulk transfer with any opcode near theirs.
pub fn bulk_frame(rng: &mut ChaCha8Rng, longest: usize) -> Vec<u8> {
    let mut body = vec![0; length(rng, longest)];
    body.iter_mut().for_each(|byte| *byte = rng.random());
    let bth = Bth {
        opcode: rng.random_range(0xC0..=0xCF),
        dest_qp: rng.random_range(0..1 << 24),
        psn: rng.random_range(0..1 << 24),
    };
    roce::encode(
        &Link::between(rng.random_range(0..NODES), rng.random_range(0..NODES)),
        &bth,
        &body,
    )
    .unwrap()
}

/// Computes both checksums of a frame anew.
pub fn repair(frame: &mut [u8]) {
    if frame.len() < 58 {
        return;
    }
    frame[24..26].fill(0);
    let sum: u32 = frame[14..34]
        .chunks(2)
        .map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]))
        .sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    let crc_at = frame.len() - 4;
    let crc = roce::icrc(&frame[14..crc_at]).unwrap();
    frame[crc_at..].copy_from_slice(&crc.to_le_bytes());
}

/// A few frames: every kind of packet, short and with each pad count.
pub fn samples() -> Vec<Vec<u8>> {
    let mut rng = rng(3);
    let mut frames = vec![];
    for length in [0, 1, 2, 3, 8, 29] {
        let mut send = send(&mut rng, 100);
        send.payload.resize(length, 0xa5);
        send.version = u8::from(length != 2);
        if send.version == 0 {
            (send.flags, send.window.epoch) = (0, 0);
        }
        frames.push(frame(0xA_1234, 0x5_5678, &Packet::Send(send)));
    }
    let mut long = ack(&mut rng);
    while long.echo.is_none() {
        long = ack(&mut rng);
    }
    frames.push(frame(7, 8, &Packet::Ack(long)));
    long.echo = None;
    frames.push(frame(7, 8, &Packet::Ack(long)));
    let mut plain = send(&mut rng, 10);
    plain.payload.clear();
    let unknown = Packet::Unknown {
        opcode: 0xdf,
        send: plain,
    };
    frames.push(frame(9, 1, &unknown));
    frames
}
