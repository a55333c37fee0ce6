//! Which member gets which rank of a binomial pipeline, so that members of a rack talk among themselves (MB-6).

/// A numbering of members, rack by rack, as ranks of a binomial pipeline.
///
/// Members that follow each other get vertices of the hypercube that follow each other, and both ranks of a vertex of two.
/// Vertices that follow each other differ in low dimensions, so most transfers stay inside racks. Member 0 is the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    members: u32,
}

impl Layout {
    /// The layout of `members` members.
    pub fn new(members: u32) -> Self {
        Self { members }
    }

    fn twins(self) -> (u32, u32) {
        let vertices = 1 << self.members.max(1).ilog2();
        (vertices, self.members.saturating_sub(vertices))
    }

    /// The rank of `member`; `None` if there is no such member.
    pub fn rank(self, member: u32) -> Option<u32> {
        let (vertices, twins) = self.twins();
        if member >= self.members {
            return None;
        }
        // Members 2v - 1 and 2v share vertex v.
        Some(match member {
            0 => 0,
            m if m > 2 * twins => m - twins,
            m if m % 2 == 1 => m.div_ceil(2),
            m => m / 2 + vertices - 1,
        })
    }

    /// The member that has `rank`; `None` if there is no such rank.
    pub fn member(self, rank: u32) -> Option<u32> {
        let (vertices, twins) = self.twins();
        if rank >= self.members {
            return None;
        }
        Some(match rank {
            0 => 0,
            r if r >= vertices => 2 * (r - vertices + 1),
            r if r <= twins => 2 * r - 1,
            r => r + twins,
        })
    }
}
