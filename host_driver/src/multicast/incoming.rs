//! Blocks that this member has granted: each has a tag, which its notification brings back.

use std::collections::BTreeMap;

use tributary_protocol::multicast::group::{Expected, GroupConfig};

struct Open {
    from: u32,
    expected: Expected,
    /// Bytes that have landed.
    landed: Option<u32>,
    /// Of a first block: message, block and length, as its sender says.
    carried: Option<(u32, u32, u64)>,
}

/// A block that is here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    pub from: u32,
    pub message: u32,
    pub block: u32,
    /// Bytes of the message.
    pub length: u64,
    /// Bytes of the block.
    pub bytes: u32,
    /// It lies beside its place.
    pub is_first: bool,
}

/// What a notification or an announcement leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leads {
    /// The other one of the two is to come.
    Nowhere,
    Arrived(Arrived),
    /// Nobody was allowed that.
    Unexpected,
    /// A member that was allowed a block has sent another one.
    Wrong {
        from: u32,
    },
}

#[derive(Default)]
pub struct Incoming {
    open: BTreeMap<u32, Open>,
    next: u32,
}

impl Incoming {
    /// A block was granted; its tag.
    pub fn grant(&mut self, from: u32, expected: Expected) -> u32 {
        let tag = self.next;
        self.next = self.next.wrapping_add(1);
        let open = Open {
            from,
            expected,
            landed: None,
            carried: None,
        };
        self.open.insert(tag, open);
        tag
    }

    /// Who may use a tag.
    pub fn sender(&self, tag: u32) -> Option<u32> {
        self.open.get(&tag).map(|open| open.from)
    }

    /// Bytes have landed. `length_of` knows the lengths of messages that have begun.
    pub fn landed(
        &mut self,
        tag: u32,
        bytes: u32,
        config: &GroupConfig,
        length_of: impl Fn(u32) -> Option<u64>,
    ) -> Leads {
        let Some(open) = self.open.get_mut(&tag) else {
            return Leads::Unexpected;
        };
        if open.landed.is_some() {
            return Leads::Unexpected;
        }
        open.landed = Some(bytes);
        let Expected { message, block } = open.expected;
        if let Some((block, length)) = block.zip(length_of(message)) {
            open.carried = Some((message, block, length));
        }
        self.complete(tag, config)
    }

    /// The sender of a first block says what it is.
    pub fn carried(
        &mut self,
        from: u32,
        tag: u32,
        carried: (u32, u32, u64),
        config: &GroupConfig,
    ) -> Leads {
        let open = self.open.get_mut(&tag).filter(|open| open.from == from);
        let Some(open) = open.filter(|o| o.expected.block.is_none() && o.carried.is_none()) else {
            return Leads::Unexpected;
        };
        open.carried = Some(carried);
        self.complete(tag, config)
    }

    fn complete(&mut self, tag: u32, config: &GroupConfig) -> Leads {
        let Some(open) = self.open.get(&tag) else {
            return Leads::Unexpected;
        };
        let (Some(bytes), Some((message, block, length))) = (open.landed, open.carried) else {
            return Leads::Nowhere;
        };
        let (from, is_first) = (open.from, open.expected.block.is_none());
        let blocks = config.blocks(length).unwrap_or(0);
        let right = message == open.expected.message
            && block < blocks
            && bytes == config.bytes_of(length, block);
        if !right {
            return Leads::Wrong { from };
        }
        self.open.remove(&tag);
        Leads::Arrived(Arrived {
            from,
            message,
            block,
            length,
            bytes,
            is_first,
        })
    }
}
