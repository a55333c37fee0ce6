//! How registers are declared: once, as data, for the models, the RTL, the driver and the documents.

/// What can be done with a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read only.
    ReadOnly,
    /// Read and write.
    ReadWrite,
    /// Reads as 0; a write does something.
    WriteOnly,
}

/// Some bits of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Lower-case name.
    pub name: &'static str,
    /// Lowest bit.
    pub lsb: u8,
    /// Number of bits.
    pub width: u8,
    /// Meaning.
    pub doc: &'static str,
}

impl Field {
    /// Ones at the field's place.
    #[must_use]
    pub const fn mask(&self) -> u32 {
        (u32::MAX >> (32 - self.width as u32)) << self.lsb
    }

    /// The field of a register's value.
    #[must_use]
    pub const fn get(&self, register: u32) -> u32 {
        (register & self.mask()) >> self.lsb
    }

    /// A value at the field's place; bits that do not fit are left out.
    #[must_use]
    pub const fn put(&self, value: u32) -> u32 {
        (value << self.lsb) & self.mask()
    }
}

/// A register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Register {
    /// Lower-case name.
    pub name: &'static str,
    /// Byte offset; of a port register, within the port's block.
    pub offset: u16,
    /// What can be done with it.
    pub access: Access,
    /// Value after reset.
    pub reset: u32,
    /// Fields, by ascending bit.
    pub fields: &'static [Field],
    /// Meaning.
    pub doc: &'static str,
}

impl Register {
    /// Bits that some field has.
    #[must_use]
    pub const fn mask(&self) -> u32 {
        let (mut mask, mut at) = (0, 0);
        while at < self.fields.len() {
            mask |= self.fields[at].mask();
            at += 1;
        }
        mask
    }

    /// Bits that no field has.
    #[must_use]
    pub const fn spare(&self) -> u32 {
        !self.mask()
    }

    /// Whether a value has ones only where the register has fields.
    #[must_use]
    pub const fn fits(&self, value: u32) -> bool {
        value & self.spare() == 0
    }

    /// Whether it says how large a device was built: a constant, and `reset` is none of its values.
    #[must_use]
    pub fn says_sizes(&self) -> bool {
        self.access == Access::ReadOnly && self.name == "sizes"
    }
}

macro_rules! registers {
    ($list:ident, $list_doc:literal; $(
        $name:ident @ $offset:literal $access:ident reset $reset:literal $text:literal $doc:literal
        { $($field:ident $fname:literal [$lsb:literal +: $width:literal] $fdoc:literal,)* }
    )*) => {
        $(
            #[doc = $doc]
            pub const $name: Register = Register {
                name: $text, offset: $offset, access: Access::$access, reset: $reset,
                fields: &[$($field),*], doc: $doc,
            };
            $(
                #[doc = $fdoc]
                pub const $field: Field = Field { name: $fname, lsb: $lsb, width: $width, doc: $fdoc };
            )*
        )*
        #[doc = $list_doc]
        pub const $list: &[Register] = &[$($name),*];
    };
}
