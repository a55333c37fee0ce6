//! What a port counts. Counters are not part of a machine's state.

macro_rules! counters {
    ($($(#[$doc:meta])* $variant:ident = $index:literal $text:literal,)*) => {
        /// A counter of a port; the number is its index in the statistics window.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Counter { $($(#[$doc])* $variant = $index,)* }

        impl Counter {
            /// Every counter, by ascending index.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Lower-case name.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }
    };
}

counters! {
    /// Frames received on an enabled port.
    Received = 0 "received",
    /// Frames sent, copies and results each for themselves.
    Sent = 1 "sent",
    /// Reduction frames with a field that has no legal value, and frames too short for an Ethernet header.
    Malformed = 2 "malformed",
    /// No table entry for the destination, or a destination of no known shape.
    NoRoute = 3 "no_route",
    /// A multicast frame that entered at a port outside its tree (RED-17).
    BadEntry = 4 "bad_entry",
    /// A frame for the port it came from.
    Hairpin = 5 "hairpin",
    /// Copies dropped whole because the output's queue was full; counted at the input.
    QueueFull = 6 "queue_full",
    /// Frames that came to a disabled port, and copies for one; counted at the input.
    Disabled = 7 "disabled",
    /// Arm frames that came from below (RED-17).
    ArmUpwards = 8 "arm_upwards",
    /// Contributions passed on unchanged by an engine.
    Passed = 9 "passed",
    /// Frames of another VNI than the descriptor's (RED-10).
    ForeignVni = 10 "foreign_vni",
    /// Frames of a round that is over (RED-14).
    OldSeqno = 11 "old_seqno",
    /// Arm frames that found no free descriptor.
    NoDescriptor = 12 "no_descriptor",
    /// Descriptors armed or armed anew (RED-13).
    Armed = 13 "armed",
    /// Descriptors freed by a frame without arm (RED-14).
    Released = 14 "released",
    /// Contributions combined.
    Combined = 15 "combined",
    /// Complete results sent up.
    Results = 16 "results",
    /// Partial results sent up on timeout (RED-12).
    Partials = 17 "partials",
    /// Descriptors that timed out without a contribution (RED-12).
    ExpiredEmpty = 18 "expired_empty",
    /// Frames that the MAC marked bad, shorter than 57 bytes or longer than a queue, and those with holes in them; the
    /// models have none.
    BadFrame = 19 "bad_frame",
    /// Frames marked for congestion (CL-4); counted at the output.
    EcnMarked = 20 "ecn_marked",
}

impl std::fmt::Display for Counter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// The counters of a port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters([u64; Counter::ALL.len()]);

impl Counters {
    /// How often it happened.
    #[must_use]
    pub const fn get(&self, counter: Counter) -> u64 {
        self.0[counter as usize]
    }

    /// Counts one.
    pub const fn count(&mut self, counter: Counter) {
        self.0[counter as usize] += 1;
    }

    /// Sum over several ports.
    #[must_use]
    pub fn total<'a>(all: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut sum = Self::default();
        for counters in all {
            for (total, value) in sum.0.iter_mut().zip(counters.0) {
                *total += value;
            }
        }
        sum
    }
}
