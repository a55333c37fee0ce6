//! Enumerations whose values have numbers on the way or in libfabric.

/// An enumeration, and its value of a number.
macro_rules! numbered {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $value:ident = $number:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum $name { $($(#[$doc])* $value = $number,)+ }

        impl $name {
            /// The value with this number, if there is one.
            #[must_use]
            pub fn of(number: u32) -> Option<Self> {
                match number { $($number => Some(Self::$value),)+ _ => None }
            }
        }
    };
}

pub(crate) use numbered;
