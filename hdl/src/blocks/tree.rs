//! Verilog of the tree that finds the lowest set bit of a vector.
//!
//! A node covers a group of nodes below it: whether any bit of the group is set,
//! and the index of the lowest set bit within the group. Both are found for four
//! (or two) nodes at a time, so the depth grows with the logarithm of the width.
//! The index is all ones where no bit is set.

/// One level of the tree.
struct Level {
    /// 1 at the leaves.
    number: usize,
    /// Nodes on this level.
    groups: usize,
    /// Bits that tell the nodes below a node apart: 1 or 2.
    select: usize,
    /// Width of the index of a node below; 0 on the first level.
    below: usize,
}

/// `[top:0] ` of a vector; empty for one bit.
fn range(width: usize) -> String {
    match width {
        1 => String::new(),
        _ => format!("[{}:0] ", width - 1),
    }
}

/// Levels over 2^`bits` leaves: fan-in 4 at the leaves and at the root, 2 between,
/// which takes fewer LUTs and is faster than fan-in 4 throughout.
fn levels(bits: usize) -> Vec<Level> {
    let selects = match bits {
        0 => unreachable!("a tree has two leaves or more"),
        1 => vec![1],
        2 => vec![2],
        3 => vec![2, 1],
        _ => [vec![2], vec![1; bits - 4], vec![2]].concat(),
    };
    let mut below = 0;
    let mut number = 0;
    selects
        .into_iter()
        .map(|select| {
            number += 1;
            below += select;
            Level {
                number,
                groups: 1 << (bits - below),
                select,
                below: below - select,
            }
        })
        .collect()
}

impl Level {
    /// Width of the index of one of this level's nodes.
    fn width(&self) -> usize {
        self.below + self.select
    }

    /// The node of `group` that holds the lowest set bit.
    fn first(&self, group: &str) -> String {
        let last = (1 << self.select) - 1;
        let choices: String = (0..last)
            .map(|k| format!("{group}[{k}] ? {}'d{k} : ", self.select))
            .collect();
        format!("{choices}{}'d{last}", self.select)
    }

    /// The index within the group, `node` naming the index of each node below.
    fn index(&self, first: &str, node: impl Fn(usize) -> String) -> String {
        match (self.below, self.select) {
            (0, _) => first.to_owned(),
            (_, 1) => format!("{{{first}, {first} ? {} : {}}}", node(1), node(0)),
            _ => format!(
                "{{{first}, {first}[1] ? ({first}[0] ? {} : {}) : ({first}[0] ? {} : {})}}",
                node(3),
                node(2),
                node(1),
                node(0)
            ),
        }
    }

    /// Wires `any_<number>` and `index_<number>` over the level below, which is `any`
    /// and `index`; at the root `group_<number>` instead of `any_<number>`.
    fn verilog(&self, any: &str, index: &str) -> String {
        let Level {
            number: k,
            groups,
            select,
            below,
        } = *self;
        let width = self.width();
        let fan_in = 1 << select;
        if groups == 1 {
            let group = format!("group_{k}");
            let node = |i: usize| format!("{index}[{} +: {below}]", i * below);
            return format!(
                "\
// Level {k}: the whole vector.
wire {group_range}{group} = {any};
wire {select_range}first_{k} = {first};
wire {index_range}index_{k} = {value};
",
                group_range = range(fan_in),
                select_range = range(select),
                first = self.first(&group),
                index_range = range(width),
                value = self.index(&format!("first_{k}"), node),
            );
        }
        let node = |i: usize| {
            format!(
                "{index}[{} * g{k} + {} +: {below}]",
                below * fan_in,
                i * below
            )
        };
        format!(
            "\
// Level {k}: {groups} groups of {leaves} bits.
wire {any_range}any_{k};
wire {index_range}index_{k};
genvar g{k};
generate
    for (g{k} = 0; g{k} < {groups}; g{k} = g{k} + 1) begin : level_{k}
        wire {group_range}group = {any}[{fan_in} * g{k} +: {fan_in}];
        wire {select_range}first = {first};
        assign any_{k}[g{k}] = |group;
        assign index_{k}[{width} * g{k} +: {width}] = {value};
    end
endgenerate

",
            leaves = 1usize << width,
            any_range = range(groups),
            index_range = range(groups * width),
            group_range = range(fan_in),
            select_range = range(select),
            first = self.first("group"),
            value = self.index("first", node),
        )
    }

    /// Registers `any_q` and `index_q` over this level's wires.
    fn registers(&self) -> String {
        let bits = self.groups * self.width();
        format!(
            "\
// Stage 1.
reg {any_range}any_q;
reg {index_range}index_q;

initial begin
    any_q = {{{groups}{{1'b1}}}};
    index_q = {bits}'d0;
end

always @(posedge clk) begin
    any_q <= any_{k};
    index_q <= index_{k};
end

",
            any_range = range(self.groups),
            index_range = range(bits),
            groups = self.groups,
            k = self.number,
        )
    }
}

/// The tree's wires and the names of its results.
pub(super) struct Tree {
    pub(super) text: String,
    /// High if any leaf is set, an expression.
    pub(super) any: String,
    /// Index of the lowest set leaf.
    pub(super) index: String,
}

/// The tree over the 2^`bits` leaves of the vector `leaves`, with a rank of
/// registers half way up if `pipelined`.
pub(super) fn tree(leaves: &str, bits: usize, pipelined: bool) -> Tree {
    let levels = levels(bits);
    let half = levels.len() / 2;
    let mut tree = Tree {
        text: String::new(),
        any: leaves.to_owned(),
        index: String::new(),
    };
    for level in &levels {
        tree.text += &level.verilog(&tree.any, &tree.index);
        let k = level.number;
        tree.index = format!("index_{k}");
        tree.any = match level.groups {
            1 => format!("(|group_{k})"),
            _ => format!("any_{k}"),
        };
        if pipelined && k == half {
            tree.text += &level.registers();
            (tree.any, tree.index) = ("any_q".to_owned(), "index_q".to_owned());
        }
    }
    tree
}
