//! What is measured.

use crate::route::routers::Kind;

/// A network with the groups that are routed on it.
pub struct Net {
    pub topology: &'static str,
    pub endnodes: u32,
    pub ppn: u32,
    pub patterns: &'static [Groups],
}

/// A pattern.
pub struct Groups {
    pub text: &'static str,
    /// Max EFI that prototypes of the routers [`PROTOTYPES`] reached.
    pub prototype: [Option<u32>; PROTOTYPES.len()],
}

/// Routers whose prototypes have figures.
pub const PROTOTYPES: [Kind; 6] = [
    Kind::Minihop,
    Kind::Sssp,
    Kind::MinihopNew,
    Kind::SsspDynNew,
    Kind::Fulb,
    Kind::Own,
];

const fn known(text: &'static str, p: [u32; PROTOTYPES.len()]) -> Groups {
    Groups {
        text,
        prototype: [
            Some(p[0]),
            Some(p[1]),
            Some(p[2]),
            Some(p[3]),
            Some(p[4]),
            Some(p[5]),
        ],
    }
}

const fn new(text: &'static str) -> Groups {
    Groups {
        text,
        prototype: [None; PROTOTYPES.len()],
    }
}

/// In the order of the table.
pub const NETWORKS: [Net; 9] = [
    Net {
        topology: "ft3:40",
        endnodes: 16_000,
        ppn: 1,
        patterns: &[
            known("160x100", [100, 100, 21, 21, 21, 2]),
            known("40x20x20", [400, 400, 21, 21, 21, 3]),
            known("rnd1000_64_2", [831, 831, 13, 13, 13, 8]),
        ],
    },
    Net {
        topology: "torus:30x20x20,2",
        endnodes: 24_000,
        ppn: 1,
        patterns: &[
            known("240x100", [21, 93, 11, 23, 26, 6]),
            known("40x30x20", [22, 40, 20, 20, 20, 11]),
        ],
    },
    Net {
        topology: "bluelight",
        endnodes: 8_704,
        ppn: 4,
        patterns: &[known("34x32x32", [1024, 1024, 142, 22, 23, 16])],
    },
    Net {
        topology: "taihulight",
        endnodes: 40_960,
        ppn: 4,
        patterns: &[Groups {
            text: "64x64x40",
            prototype: [Some(2642), None, Some(105), Some(53), Some(53), Some(18)],
        }],
    },
    Net {
        topology: "df:18,9,9",
        endnodes: 26_406,
        ppn: 1,
        patterns: &[known("162x163", [164, 164, 36, 26, 20, 5])],
    },
    Net {
        topology: "ft3:16",
        endnodes: 1_024,
        ppn: 1,
        patterns: &[new("32x32"), new("rnd500_32_1")],
    },
    Net {
        topology: "torus:16x16x16,1",
        endnodes: 4_096,
        ppn: 1,
        patterns: &[new("64x64"), new("rnd500_64_1")],
    },
    Net {
        topology: "df:8,4,4",
        endnodes: 1_056,
        ppn: 1,
        patterns: &[new("32x33"), new("rnd500_32_1")],
    },
    Net {
        topology: "supernodes:8,16,4",
        endnodes: 2_048,
        ppn: 1,
        patterns: &[new("64x32"), new("rnd500_32_1")],
    },
];
