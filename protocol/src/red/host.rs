//! The host side: reproducible sums, and the endpoints of a reduction (RED-8, RED-18).
//!
//! * [`repsum`]: binary64 to reproducible sums and back, and sums that count their summands.
//! * [`Root`], [`Leaf`]: the endpoints of a [`Group`]. They are polled: frames in by `receive`, frames and events out by `poll`.
//! * [`Doubling`]: the same all-reduce by recursive doubling between hosts, without engines, to compare with.
//!
//! ```
//! use tributary_protocol::red::{host::*, ops::*, *};
//!
//! // Root at port 0 of a switch, leaves at ports 1 and 2.
//! let key = Key { tree: 3, reduction: 0 };
//! let at = |port: u8| Address::unicast(port.into(), 0);
//! let mut switch = Switch::new(SwitchConfig::default())?;
//! for port in 0..3 {
//!     let address = Address::unicast(0x100, port.into());
//!     switch.set_port(port, PortSettings { enable: true, engine: true, address })?;
//!     switch.set_unicast(port.into(), Some(port))?;
//! }
//! switch.set_multicast(key.tree, Some(Tree { parent: 0, children: 0b110, wait: 2 }))?;
//!
//! let group = Group::new(key, 7, 0xc0ffee, at(0), vec![at(1), at(2)]);
//! let mut root = Root::new(group.clone(), RootConfig::default(), 0);
//! let mut leaves = [1, 2].map(|port| Leaf::new(group.clone(), at(port), LeafConfig::default()));
//! let value = |n: u64| Value { data: [n, 0, 0, 0], ..Value::default() };
//! root.start(Op::IntSum, value(1), 0)?;
//! leaves[0].contribute(0, Op::IntSum, value(10), 0)?;
//! leaves[1].contribute(0, Op::IntSum, value(100), 0)?;
//!
//! let mut results = Vec::new();
//! for now in 0..10 {
//!     let polled = [root.poll(now), leaves[0].poll(now), leaves[1].poll(now)];
//!     for (port, output) in (0..).zip(polled).flat_map(|(p, list)| list.into_iter().map(move |o| (p, o))) {
//!         match output {
//!             Output::Event(Event::Done(outcome)) => results.push(outcome.value.data[0]),
//!             Output::Event(other) => panic!("{other:?}"),
//!             Output::Send(bytes) => {
//!                 for (out, bytes) in switch.receive(port, &bytes, now) {
//!                     match out {
//!                         0 => root.receive(&bytes, now)?,
//!                         n => leaves[usize::from(n) - 1].receive(&bytes, now)?,
//!                     }
//!                 }
//!             }
//!         }
//!     }
//! }
//! assert_eq!(results, [111, 111, 111]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # How rounds, attempts and results go
//! A group reduces in rounds, one after the other. The root arms the tree; each leaf contributes; engines combine what they catch,
//! and the root's software completes the rest with the engines' own arithmetic. The frame with the result arms the tree for the
//! next round.
//!
//! ```mermaid
//! sequenceDiagram
//!     participant L as leaves
//!     participant E as engines
//!     participant R as root
//!     R->>L: arm, seqno s, round k (multicast)
//!     L->>E: contribution, seqno s
//!     E->>R: results, partials, and what passed
//!     Note over R: not complete in time
//!     R->>L: arm, seqno s+1, round k: contribute again
//!     L->>R: contribution, seqno s+1
//!     Note over R: still not complete after the last attempt
//!     R->>L: roll call, seqno s+2, round k (engines let go)
//!     L->>R: answer by unicast, with the value or without
//!     R->>L: result: resno s+2; arm, seqno s+3, round k+1
//! ```
//!
//! * **An attempt is a sequence number.** A lost frame may have taken a sum of several values with it, so an attempt is never
//!   mended: the root takes a new number, engines forget the old one (RED-14), and every leaf sends its value again. A leaf sends
//!   once for each number, so nothing is counted twice.
//! * **The roll call is the last attempt**, and goes round the engines: answers are unicast frames, one for each leaf, so the
//!   root knows exactly whose value it has, who is there without one, and who is silent. It is asked several times.
//! * **Every downward frame names the round it arms and the last result**, so a leaf that missed a result gets it with whatever
//!   the root sends next. A leaf that waits too long asks the root, which repeats its last frame by unicast.
//! * A round that ended without a leaf's value is reported to that leaf as such, never mixed up with the next one.
//!
//! The round (56 bits) travels in `remote_offset`, the kind of message in `opcode`; switches keep both to the bit.
//!
//! # What it relies on
//! Ports have different addresses, since the root recognises duplicates by source.
//!
//! The network does not repeat frames *below* an engine (Ethernet does not). An engine does not know whom it has counted, so a
//! repeated contribution can take the place of one that comes a moment later. If the count gets too large the attempt is thrown
//! away. If not, the crowded-out contribution passes and reaches the root after the result, which is then reported as
//! [`Event::Doubtful`]: too late to take it back, early enough not to trust it. If it comes so late that the engine is armed for
//! the next round, the switch drops it as old: then only the switch's counter `old_seqno` tells.

mod doubling;
mod group;
mod leaf;
pub mod repsum;
mod root;

pub use doubling::{Doubling, DoublingError};
pub use group::{Event, Group, Ignored, Kind, Outcome, Output};
pub use leaf::{ContributeError, Leaf, LeafConfig};
pub use root::{Root, RootConfig, StartError};
