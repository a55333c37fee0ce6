//! What the completion of an end says in the field `length`: declared field by field in [`END`].

use super::EndCode;
use crate::card::descriptor::Place;

/// Bytes of the word.
pub const END_LEN: usize = 4;

const fn place(name: &'static str, lsb: u8, width: u8, doc: &'static str) -> Place {
    Place {
        name,
        word: 0,
        lsb,
        width,
        doc,
    }
}

const CODE: Place = place("code", 0, 3, "How the message or the group has ended.");
const PEER: Place = place("peer", 8, 6, "Slot of the peer of a failed transfer.");
const FETCHED: Place = place(
    "fetched",
    16,
    16,
    "Index of the first entry that was not fetched.",
);

/// The fields.
pub const END: &[Place] = &[CODE, PEER, FETCHED];

/// The word of an end.
#[must_use]
pub fn end_word(code: EndCode, peer: u8, fetched: u16) -> u32 {
    u32::from(code.code()) << CODE.lsb
        | u32::from(peer) << PEER.lsb
        | u32::from(fetched) << FETCHED.lsb
}

/// Code and peer of such a word. `None`: it says nothing.
#[must_use]
pub fn end_of_word(word: u32) -> Option<(EndCode, u8)> {
    let get = |place: Place| word >> place.lsb & (u32::MAX >> (32 - place.width));
    let known = end_word(EndCode::Done, get(PEER) as u8, get(FETCHED) as u16) | get(CODE);
    let code = EndCode::from_code(get(CODE) as u8)?;
    (known == word).then_some((code, get(PEER) as u8))
}
