//! Enums whose numbers travel on the wire or name a counter.

macro_rules! codes {
    ($(#[$doc:meta])* $name:ident { $($(#[doc = $vdoc:literal])+ $variant:ident = $code:literal $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[repr(u8)]
        pub enum $name { $($(#[doc = $vdoc])+ $variant = $code,)* }

        impl $name {
            /// Every value, by ascending code.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The number on the wire and in the RTL.
            #[must_use]
            pub const fn code(self) -> u8 { self as u8 }

            /// The value with this number, if there is one.
            #[must_use]
            pub const fn from_code(code: u8) -> Option<Self> {
                match code { $($code => Some(Self::$variant),)* _ => None }
            }

            /// Short lower-case name, as used for counters and traces.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// What it means, for generated documents.
            #[must_use]
            pub const fn doc(self) -> &'static str {
                match self { $(Self::$variant => concat!($($vdoc),+).trim_ascii(),)* }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { f.write_str(self.name()) }
        }
    };
}
