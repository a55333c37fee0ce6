//! Between bytes and words of 32 bits with byte enables.

/// The words of 32 bits that hold a range of bytes, with byte enables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ByteEnables {
    /// Length.
    pub length: u16,
    /// First DW BE.
    pub first: u8,
    /// Last DW BE; 0 if there is only one word.
    pub last: u8,
}

impl ByteEnables {
    /// Of `bytes` bytes from `address` on. For no bytes: a word of which none is enabled.
    #[must_use]
    pub fn of(address: u64, bytes: u32) -> Self {
        let offset = (address % 4) as u32;
        if bytes == 0 {
            return Self {
                length: 1,
                first: 0,
                last: 0,
            };
        }
        let end = offset + bytes;
        let length = end.div_ceil(4) as u16;
        let first = 0xF << offset & 0xF;
        let last = 0xF >> ((4 - end % 4) % 4);
        match length {
            1 => Self {
                length,
                first: (first & last) as u8,
                last: 0,
            },
            _ => Self {
                length,
                first: first as u8,
                last: last as u8,
            },
        }
    }
}

/// Whether byte `index`, counted from the first word on, is enabled.
#[must_use]
pub fn enabled(length: u16, first_be: u8, last_be: u8, index: usize) -> bool {
    let (word, bit) = (index / 4, index % 4);
    let last = usize::from(length) - 1;
    match word {
        0 => first_be >> bit & 1 == 1,
        word if word == last => last_be >> bit & 1 == 1,
        word => word < last,
    }
}

/// Byte Count of the first completion of a read: from its first to its last enabled byte; 1 if there is none.
#[must_use]
pub fn byte_count(length: u16, first_be: u8, last_be: u8) -> u16 {
    let bytes = 4 * usize::from(length);
    let first = (0..bytes).find(|&i| enabled(length, first_be, last_be, i));
    let last = (0..bytes).rfind(|&i| enabled(length, first_be, last_be, i));
    match (first, last) {
        (Some(first), Some(last)) => (last - first + 1) as u16,
        _ => 1,
    }
}

/// Lower Address of the first completion of a read: the first enabled byte; that of the word if there is none.
#[must_use]
pub fn lower_address(address: u64, first_be: u8) -> u8 {
    let offset = match first_be & 0xF {
        0 => 0,
        be => be.trailing_zeros() as u8,
    };
    (address & 0x7C) as u8 | offset
}

/// Words of 32 bits of a completion of `bytes` bytes that begins at `lower_address`.
#[must_use]
pub fn completion_dwords(lower_address: u8, bytes: u16) -> u16 {
    (u16::from(lower_address) % 4 + bytes).div_ceil(4)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Byte Count of one word by its byte enables, and of two words, as the table of the specification has them.
    #[test]
    fn byte_counts_are_those_of_the_table_in_the_specification() {
        let one = |be| byte_count(1, be, 0);
        for (bes, count) in [
            (vec![0b1001, 0b1011, 0b1101, 0b1111], 4),
            (vec![0b0101, 0b0111, 0b1010, 0b1110], 3),
            (vec![0b0011, 0b0110, 0b1100], 2),
            (vec![0b0001, 0b0010, 0b0100, 0b1000, 0], 1),
        ] {
            for be in bes {
                assert_eq!(one(be), count, "{be:#06b}");
            }
        }
        for (first, lead) in [
            (0b1111, 0),
            (0b1110, 1),
            (0b1100, 2),
            (0b1000, 3),
            (0b1010, 1),
        ] {
            for (last, trail) in [
                (0b1111, 0),
                (0b0111, 1),
                (0b0011, 2),
                (0b0001, 3),
                (0b0101, 1),
            ] {
                assert_eq!(byte_count(2, first, last), 8 - lead - trail);
                assert_eq!(byte_count(1024, first, last), 4096 - lead - trail);
            }
        }
    }

    #[test]
    fn lower_addresses_are_those_of_the_table_in_the_specification() {
        for (be, low) in [
            (0, 0),
            (0b1111, 0),
            (0b0010, 1),
            (0b0100, 2),
            (0b1000, 3),
            (0b1010, 1),
        ] {
            assert_eq!(lower_address(0xFFFF_FFC0, be), 0x40 | low);
        }
    }

    #[test]
    fn byte_enables_cover_every_range_exactly() {
        for address in 0..4 {
            for bytes in 0..40 {
                let e = ByteEnables::of(address, bytes);
                let want = |i: usize| (address..address + u64::from(bytes)).contains(&(i as u64));
                for i in 0..4 * usize::from(e.length) {
                    assert_eq!(
                        enabled(e.length, e.first, e.last, i),
                        want(i),
                        "{address} {bytes}"
                    );
                }
                assert_eq!(e.last == 0, e.length == 1);
                if bytes > 0 {
                    assert_eq!(u32::from(byte_count(e.length, e.first, e.last)), bytes);
                    assert_eq!(completion_dwords(address as u8, bytes as u16), e.length);
                }
            }
        }
    }
}
