//! Entries of many trees, checked, with numbers in place of names: what files are made from.

use std::io::{self, Write};

use rayon::prelude::*;
use tributary_protocol::red;

use super::toml::{push_entry, push_tree};
use super::{ID_LAST, NamedTables, SwitchEntry, TreeTable};
use crate::export::{ExportError, Routed, endnode_name, switch_name};
use crate::network::{EndnodeId, Network, SwitchId};
use crate::table;

/// Trees of a string of TOML: little enough for the allocator to use its memory again.
const TREES_OF_A_STRING: usize = 16;
/// Trees that are in memory as TOML at a time: a large network's tables have tens of megabytes.
const TREES_AT_A_TIME: usize = 1024;

/// Entries of trees that fit the switches' tables together.
#[derive(Debug)]
pub struct Entries<'a> {
    network: &'a Network,
    trees: &'a [Routed<'a>],
    /// By tree, the leader's switch first.
    of_tree: Vec<Vec<(SwitchId, red::Tree)>>,
}

impl<'a> Entries<'a> {
    /// The entries of these trees, on all cores.
    ///
    /// # Errors
    /// Two trees have one id on one switch, an id is out of range, or a tree does not fit the tables.
    pub fn new(network: &'a Network, trees: &'a [Routed<'a>]) -> Result<Self, ExportError> {
        let entries = |routed: &Routed<'_>| {
            let id = routed.id;
            if id > ID_LAST {
                return Err(ExportError::Id { id, last: ID_LAST });
            }
            table::entries(network, routed.group, routed.tree, routed.leader)
                .map_err(|source| ExportError::Table { id, source })
        };
        let each: Vec<Result<_, ExportError>> = trees.par_iter().map(entries).collect();
        let mut taken = Taken::new(network);
        let mut of_tree = Vec::with_capacity(trees.len());
        for (routed, entries) in trees.iter().zip(each) {
            let entries = entries?;
            if let Some((switch, _)) = entries.iter().find(|(s, _)| !taken.take(routed.id, *s)) {
                return Err(ExportError::Clash {
                    id: routed.id,
                    switch: switch_name(network, *switch),
                });
            }
            of_tree.push(entries);
        }
        Ok(Self {
            network,
            trees,
            of_tree,
        })
    }

    /// The same with names.
    #[must_use]
    pub fn named(&self) -> NamedTables {
        let name = |&endnode: &EndnodeId| endnode_name(self.network, endnode);
        let entry = |(switch, entry): &(SwitchId, red::Tree)| SwitchEntry {
            name: switch_name(self.network, *switch),
            parent: entry.parent,
            children: ports(entry.children).collect(),
            wait: entry.wait,
        };
        let each = self.trees.iter().zip(&self.of_tree);
        let tree = each.map(|(routed, entries)| TreeTable {
            id: routed.id,
            root: name(&routed.leader.endnode),
            root_contributes: routed.leader.contributes,
            members: members(routed).map(name).collect(),
            switch: entries.iter().map(entry).collect(),
        });
        NamedTables {
            tree: tree.collect(),
        }
    }

    /// Writes them as the `[[tree]]` sections of a fabric file, the text that [`NamedTables`] displays. All cores make it, and some of
    /// it is written while more is made.
    ///
    /// # Errors
    /// `out` cannot be written to.
    pub fn write_toml(&self, out: &mut (impl Write + Send)) -> io::Result<()> {
        let mut made: Vec<String> = Vec::new();
        let mut write = |made: &[String]| {
            let mut made = made.iter();
            made.try_for_each(|text| out.write_all(text.as_bytes()))
        };
        for first in (0..self.trees.len()).step_by(TREES_AT_A_TIME) {
            let last = self.trees.len().min(first + TREES_AT_A_TIME);
            let make = || -> Vec<String> {
                let starts = (first..last).into_par_iter().step_by(TREES_OF_A_STRING);
                let text = |start| self.toml(start, last.min(start + TREES_OF_A_STRING));
                starts.map(text).collect()
            };
            let (written, more) = rayon::join(|| write(&made), make);
            written?;
            made = more;
        }
        write(&made)
    }

    /// TOML of the trees from `first` to before `end`.
    fn toml(&self, first: usize, end: usize) -> String {
        let mut text = String::new();
        let (switches, endnodes) = (self.network.switches(), self.network.endnodes());
        let name = |&endnode: &EndnodeId| endnodes[endnode as usize].name.as_str();
        for index in first..end {
            let routed = &self.trees[index];
            if index > 0 {
                text.push('\n');
            }
            let members = members(routed).map(name);
            let (root, contributes) = (name(&routed.leader.endnode), routed.leader.contributes);
            push_tree(&mut text, routed.id, root, contributes, members);
            for (switch, entry) in &self.of_tree[index] {
                let name = &switches[*switch as usize].name;
                let children = ports(entry.children);
                push_entry(&mut text, name, entry.parent, children, entry.wait);
            }
        }
        text
    }
}

/// The members of a tree but its leader.
fn members<'a>(routed: &Routed<'a>) -> impl Iterator<Item = &'a EndnodeId> {
    let leader = routed.leader.endnode;
    let all = routed.group.endnodes().iter();
    all.filter(move |&&endnode| endnode != leader)
}

/// The bits of a mask, ascending.
fn ports(mut mask: u64) -> impl Iterator<Item = u8> {
    std::iter::from_fn(move || {
        let port = (mask != 0).then(|| mask.trailing_zeros() as u8);
        mask &= mask.wrapping_sub(1);
        port
    })
}

/// Which switches have an entry for which id: a bit each, for as many ids as there were.
struct Taken {
    words_of_an_id: usize,
    words: Vec<u64>,
}

impl Taken {
    fn new(network: &Network) -> Self {
        Self {
            words_of_an_id: (network.switch_count() as usize).div_ceil(64),
            words: Vec::new(),
        }
    }

    /// False if it is taken already.
    fn take(&mut self, id: u16, switch: SwitchId) -> bool {
        let end = (usize::from(id) + 1) * self.words_of_an_id;
        if self.words.len() < end {
            self.words.resize(end, 0);
        }
        let at = end - self.words_of_an_id + switch as usize / 64;
        let bit = 1 << (switch % 64);
        let free = self.words[at] & bit == 0;
        self.words[at] |= bit;
        free
    }
}
