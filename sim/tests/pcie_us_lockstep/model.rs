//! What the shim makes of each TLP, by the tables of fields and nothing of the RTL: descriptors as one number each, and
//! headers with DW0 on top.

/// Bits `high` to `low` of a number.
pub fn field(number: u128, high: u32, low: u32) -> u128 {
    number >> low & ((1 << (high - low + 1)) - 1)
}

/// A word of 64 bits, and which of its halves count.
pub type Word = (u64, u64);

/// 32-bit words as words of 64 bits.
pub fn packed(words: &[u32]) -> Vec<Word> {
    let pair = |pair: &[u32]| {
        let high = pair.get(1).copied();
        let data = u64::from(pair[0]) | u64::from(high.unwrap_or(0)) << 32;
        (data, if high.is_some() { 3 } else { 1 })
    };
    words.chunks(2).map(pair).collect()
}

/// A request of the host, as the card sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub header: u128,
    pub bar: u64,
    pub function: u64,
}

/// The TLP of a descriptor of CQ and its byte enables, first ones below; none of a kind that is reserved.
pub fn request(descriptor: u128, enables: u128) -> Option<Request> {
    let at = |high, low| field(descriptor, high, low);
    let count = at(74, 64);
    // Data, type, memory or a message.
    let (data, kind, memory, message) = match at(78, 75) {
        0 => (false, 0, true, false),
        1 => (true, 0, true, false),
        2 => (false, 2, false, false),
        3 => (true, 2, false, false),
        4 => (true, 12, true, false),
        5 => (true, 13, true, false),
        6 => (true, 14, true, false),
        7 => (false, 1, true, false),
        8 => (false, 4, false, false),
        9 => (false, 5, false, false),
        10 => (true, 4, false, false),
        11 => (true, 5, false, false),
        12..=14 => (count != 0, 16 + at(114, 112), false, true),
        _ => return None,
    };
    let wide = message || (memory && at(63, 32) != 0);
    let address_type = if message { 0 } else { at(1, 0) };
    let dw_0 = u128::from(data) << 30
        | u128::from(wide) << 29
        | kind << 24
        | at(123, 121) << 20
        | at(126, 126) << 18
        | at(125, 124) << 12
        | address_type << 10
        | (count % 1024);
    let below = if message { at(111, 104) } else { enables };
    let dw_1 = at(95, 80) << 16 | at(103, 96) << 8 | below;
    let low = if message { at(31, 0) } else { at(31, 2) << 2 };
    let rest = match wide {
        true => at(63, 32) << 32 | low,
        false => low << 32,
    };
    Some(Request {
        header: dw_0 << 96 | dw_1 << 64 | rest,
        bar: if message { 0 } else { at(114, 112) as u64 },
        function: if message { 0 } else { at(111, 104) as u64 },
    })
}

/// The header of a descriptor of RC. `id` is the card's.
pub fn completion(descriptor: u128, id: u128) -> u128 {
    let at = |high, low| field(descriptor, high, low);
    let tag = at(71, 64);
    match at(15, 12) {
        // Completer Abort: nothing more comes.
        8 => return 0x0A00_0001 << 96 | 0x8FFF << 64 | id << 48 | tag << 40,
        9.. => return 0x0A00_0001 << 96 | 0xFFF << 64 | id << 48 | tag << 40,
        _ => {}
    }
    let dw_0 = u128::from(at(42, 32) != 0) << 30
        | (10 + at(29, 29)) << 24
        | at(91, 89) << 20
        | at(94, 94) << 18
        | at(46, 46) << 14
        | at(93, 92) << 12
        | at(41, 32);
    let dw_1 = at(87, 72) << 16 | at(45, 43) << 13 | at(27, 16);
    let dw_2 = at(63, 48) << 16 | tag << 8 | at(6, 0);
    dw_0 << 96 | dw_1 << 64 | dw_2 << 32
}

/// The descriptor of CC of a completion.
pub fn answer(header: u128) -> [u32; 3] {
    let at = |high, low| field(header, high, low);
    let has_data = at(126, 126) == 1;
    let bytes = at(75, 64);
    let bytes = if bytes == 0 { 4096 } else { bytes };
    let words = if has_data { at(105, 96) } else { 0 };
    let first = at(38, 32) | at(107, 106) << 8 | bytes << 16 | at(120, 120) << 29;
    let second = words | at(79, 77) << 11 | at(110, 110) << 14 | at(63, 48) << 16;
    let third =
        at(47, 40) | at(95, 80) << 8 | at(118, 116) << 25 | at(109, 108) << 28 | at(114, 114) << 30;
    [first, second, third].map(|word| word as u32)
}

/// The descriptor of RQ of a read or write, and its byte enables.
pub fn asked(header: u128) -> ([u32; 4], u64) {
    let at = |high, low| field(header, high, low);
    let address = match at(125, 125) {
        1 => at(63, 2) << 2,
        _ => at(63, 34) << 2,
    };
    let words = match at(105, 96) {
        0 => 1024,
        words => words,
    };
    let descriptor = address
        | at(107, 106)
        | (words | at(126, 126) << 11 | at(110, 110) << 15 | at(95, 80) << 16) << 64
        | (at(79, 72) | at(118, 116) << 25 | at(109, 108) << 28 | at(114, 114) << 30) << 96;
    let word = |n: u32| (descriptor >> (32 * n)) as u32;
    ([word(0), word(1), word(2), word(3)], at(71, 64) as u64)
}
