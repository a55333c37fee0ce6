//! Where the fields of records lie that `tributary-protocol` declares, and records that blocks share.

mod context;
mod dma;
mod ring;

pub use context::{ContextEpochs, ContextKeys, ContextPart, ContextShape, MEMBER, RingBase};
pub use dma::{EntryContext, ReadClient, ReadContext, ReceiveContext, WriteClient, WriteContext};
pub use ring::{
    ArrivalEntry, CompletionEntry, EndWord, ReceiveEntry, ReduceEntry, ScheduleEntry, WorkEntry,
};

use tributary_protocol::card::descriptor;
use tributary_protocol::header::Header;
use tributary_verilog::record::Place;

/// The field of this name in an entry of a ring: word 0 is in the lowest bits.
///
/// # Panics
/// The list has no such field; in a constant, at compile time.
#[must_use]
pub const fn word_place(list: &[descriptor::Place], name: &str) -> Place {
    let mut at = 0;
    while at < list.len() {
        if is_same(list[at].name, name) {
            let place = &list[at];
            return Place {
                at: place.word as usize * 64 + place.lsb as usize,
                width: place.width as usize,
                doc: place.doc,
            };
        }
        at += 1;
    }
    panic!("the list declares no field of this name");
}

/// The field of this name in a header: the first bit that travels is on top.
///
/// # Panics
/// The header has no such field; in a constant, at compile time.
#[must_use]
pub const fn header_place(header: &Header, name: &str) -> Place {
    let mut at = 0;
    while at < header.fields.len() {
        let field = &header.fields[at];
        if is_same(field.name, name) {
            let end = field.offset as usize * 8 + field.skip as usize + field.width as usize;
            return Place {
                at: header.length * 8 - end,
                width: field.width as usize,
                doc: field.doc,
            };
        }
        at += 1;
    }
    panic!("the header declares no field of this name");
}

/// Bits of 64-bit word `word` of a header that no field has, the first bit that travels on top.
#[must_use]
pub const fn header_gaps(header: &Header, word: usize) -> usize {
    let mut gaps = usize::MAX;
    let mut at = 0;
    while at < header.fields.len() {
        let field = &header.fields[at];
        let mut bit = 0;
        while bit < field.width as usize {
            let from_top = field.offset as usize * 8 + field.skip as usize + bit;
            if from_top / 64 == word {
                gaps &= !(1 << (63 - from_top % 64));
            }
            bit += 1;
        }
        at += 1;
    }
    gaps
}

const fn is_same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}
