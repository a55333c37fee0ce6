//! How headers of packets are declared: once, as data, for encoders, parsers, the C header and the documents.

/// Some bits of a header. Bits count as they travel: the first of a byte is its most significant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeaderField {
    /// Lower-case name.
    pub name: &'static str,
    /// Byte in which it begins.
    pub offset: u16,
    /// Bits of that byte in front of it.
    pub skip: u8,
    /// Number of bits, at most 64.
    pub width: u8,
    /// Meaning.
    pub doc: &'static str,
}

impl HeaderField {
    /// Bytes that it has a part in.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        (self.skip as usize + self.width as usize).div_ceil(8)
    }

    /// Bits behind it in its last byte.
    #[must_use]
    pub const fn shift(&self) -> u8 {
        (self.bytes() * 8) as u8 - self.skip - self.width
    }

    /// Ones, as many as it has bits.
    #[must_use]
    pub const fn mask(&self) -> u64 {
        u64::MAX >> (64 - self.width as u32)
    }

    /// Its value in a header; bytes behind the end are 0.
    #[must_use]
    #[inline(always)] // Of a declared field all but the bytes is constant: it comes out as one load.
    pub fn get(&self, header: &[u8]) -> u64 {
        let from = usize::from(self.offset);
        let mut value = 0;
        if let Some(bytes) = header.get(from..from + self.bytes()) {
            for byte in bytes {
                value = value << 8 | u64::from(*byte);
            }
        } else {
            for at in from..from + self.bytes() {
                value = value << 8 | u64::from(header.get(at).copied().unwrap_or(0));
            }
        }
        value >> self.shift() & self.mask()
    }

    /// Puts a value in its place; bits that do not fit are left out, and so is what lies behind the end.
    #[inline(always)] // As above: one store.
    pub fn put(&self, header: &mut [u8], value: impl Into<u64>) {
        let value = (value.into() & self.mask()) << self.shift();
        let mask = self.mask() << self.shift();
        let from = usize::from(self.offset);
        let end = header.len().min(from + self.bytes());
        let places = header.get_mut(from..end).unwrap_or_default();
        let mut shift = 8 * self.bytes();
        for place in places {
            shift -= 8;
            *place = *place & !((mask >> shift) as u8) | (value >> shift) as u8;
        }
    }
}

/// A header: name, meaning, bytes, fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Lower-case name.
    pub name: &'static str,
    /// Bytes.
    pub length: usize,
    /// Fields by ascending place. Bits without a field are 0.
    pub fields: &'static [HeaderField],
    /// Meaning.
    pub doc: &'static str,
}

macro_rules! header {
    ($list:ident $text:literal $length:expr, $list_doc:literal;
        $($name:ident $fname:literal [$offset:literal / $skip:literal +: $width:literal] $doc:literal,)*) => {
        $(
            #[doc = $doc]
            pub const $name: $crate::header::HeaderField = $crate::header::HeaderField {
                name: $fname, offset: $offset, skip: $skip, width: $width, doc: $doc,
            };
        )*
        #[doc = $list_doc]
        pub const $list: $crate::header::Header = $crate::header::Header {
            name: $text, length: $length, fields: &[$($name),*], doc: $list_doc,
        };
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn field(offset: u16, skip: u8, width: u8) -> HeaderField {
        HeaderField {
            name: "",
            offset,
            skip,
            width,
            doc: "",
        }
    }

    #[test]
    fn fields_lie_where_network_order_puts_them_and_touch_nothing_else() {
        let bytes = [0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0x55];
        for (field, value) in [
            (field(0, 0, 64), 0x0123_4567_89ab_cdef),
            (field(1, 0, 24), 0x23_4567),
            (field(7, 0, 4), 0xe),
            (field(7, 4, 4), 0xf),
            (field(2, 3, 13), 0x0567),
            (field(0, 7, 1), 1),
            (field(8, 0, 16), 0x5500),
        ] {
            assert_eq!(field.get(&bytes), value, "{field:?}");
            let mut copy = bytes;
            field.put(&mut copy, !value);
            let ones = field.mask();
            let behind = field.offset == 8;
            let got = if behind {
                !value & 0xff00
            } else {
                !value & ones
            };
            assert_eq!(field.get(&copy), got, "{field:?}");
            field.put(&mut copy, value);
            assert_eq!(copy, bytes, "{field:?}");
        }
    }
}
