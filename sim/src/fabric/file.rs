//! Fabrics in TOML.
//!
//! ```
//! let text = r#"
//! [link]                       # of every cable that does not say otherwise
//! latency_clocks = 64
//!
//! [[switch]]
//! name = "s"
//! ports = 3
//! ecn_words = 128              # frames that leave a longer queue are marked; 0, as without it: none are
//!
//! [[endpoint]]
//! name = "a"                   # nodes are numbered from 0 unless they say otherwise
//! [[endpoint]]
//! name = "b"
//! kind = "model"               # or "rtl": its card; of a switch, the switch. Else what the command line says
//! [[endpoint]]
//! name = "c"
//!
//! [[cable]]
//! ends = ["s.0", "a"]
//! [[cable]]
//! ends = ["s.1", "b"]
//! [[cable]]
//! ends = ["s.2", "c"]
//!
//! [[tree]]
//! id = 1
//! root = "a"                   # members: all others
//! root_contributes = true      # through its own port, so that its card can answer; else, as without it, the root adds its value
//! "#;
//! let fabric = tributary_sim::fabric::file::parse(text, "example.toml")?;
//! assert_eq!(fabric.trees[0].members, [1, 2]);
//! # Ok::<(), tributary_sim::fabric::file::FileError>(())
//! ```
//!
//! A tree's entries are derived from the cabling. They can be given instead, and are then checked:
//!
//! ```toml
//! [[tree.switch]]
//! name = "s"
//! parent = 0
//! children = [1, 2]
//! wait = 2
//! ```
//!
//! Where the root contributes, the port to it is among the children too (`children = [0, 1, 2]`, `wait = 3`).

mod write;

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Deserialize;
use thiserror::Error;
use toml::Spanned;
use tributary_protocol::red::{EngineConfig, Tree};

use super::check::{Cabling, Item, Problem};
use super::describe::{Cable, EndpointSpec, Fabric, Kind, LinkSpec, Place, SwitchSpec, TreeSpec};
use super::tree;

pub use write::write;

/// What is wrong with a file, and where.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{file}:{line}: {reason}")]
pub struct FileError {
    /// Name of the file.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// What is wrong, and what would be right.
    pub reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default)]
    link: LinkTable,
    #[serde(default)]
    switch: Vec<Spanned<SwitchTable>>,
    #[serde(default)]
    endpoint: Vec<Spanned<EndpointTable>>,
    #[serde(default)]
    cable: Vec<Spanned<CableTable>>,
    #[serde(default)]
    tree: Vec<Spanned<TreeTable>>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct LinkTable {
    latency_clocks: Option<u64>,
    clocks_per_word: Option<u64>,
    reorder_clocks: Option<u64>,
    loss: Option<f64>,
    duplication: Option<f64>,
    corruption: Option<f64>,
}

impl LinkTable {
    fn over(&self, base: LinkSpec) -> LinkSpec {
        LinkSpec {
            latency_clocks: self.latency_clocks.unwrap_or(base.latency_clocks),
            clocks_per_word: self.clocks_per_word.unwrap_or(base.clocks_per_word),
            reorder_clocks: self.reorder_clocks.unwrap_or(base.reorder_clocks),
            loss: self.loss.unwrap_or(base.loss),
            duplication: self.duplication.unwrap_or(base.duplication),
            corruption: self.corruption.unwrap_or(base.corruption),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SwitchTable {
    name: String,
    ports: u8,
    #[serde(default)]
    spare: Vec<u8>,
    engines: Option<bool>,
    descriptors: Option<usize>,
    thresholds: Option<[u32; 3]>,
    timeouts: Option<[u32; 4]>,
    #[serde(default)]
    ecn_words: u16,
    kind: Option<Kind>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EndpointTable {
    name: String,
    node: Option<u32>,
    kind: Option<Kind>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CableTable {
    ends: [Spanned<String>; 2],
    #[serde(default)]
    link: LinkTable,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TreeTable {
    id: u16,
    root: Spanned<String>,
    #[serde(default)]
    root_contributes: bool,
    members: Option<Vec<Spanned<String>>>,
    #[serde(default)]
    switch: Vec<Spanned<EntryTable>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EntryTable {
    name: Spanned<String>,
    parent: u8,
    children: Vec<u8>,
    wait: u32,
}

/// Reads and checks a fabric; `file` is its name in errors.
///
/// # Errors
/// The first thing that is wrong: the TOML, a name that nothing has, or what [`Cabling::new`] and [`tree::all`] refuse.
pub fn parse(text: &str, file: &str) -> Result<Fabric, FileError> {
    let at = |span: Range<usize>, reason: String| FileError {
        file: file.to_owned(),
        line: text
            .bytes()
            .take(span.start)
            .filter(|b| *b == b'\n')
            .count()
            + 1,
        reason,
    };
    let document: Document = toml::from_str(text).map_err(|e| {
        at(
            e.span().unwrap_or(0..0),
            e.message().trim_end().replace('\n', "; "),
        )
    })?;
    let fabric = resolve(&document).map_err(|(span, reason)| at(span, reason))?;
    let line = |problem: Problem| at(document.span(problem.item), problem.reason);
    let cabling = Cabling::new(&fabric).map_err(line)?;
    tree::all(&fabric, &cabling).map_err(line)?;
    Ok(fabric)
}

impl Document {
    fn span(&self, item: Item) -> Range<usize> {
        let span = match item {
            Item::Switch(i) => self.switch.get(i).map(Spanned::span),
            Item::Endpoint(i) => self.endpoint.get(i).map(Spanned::span),
            Item::Cable(i) => self.cable.get(i).map(Spanned::span),
            Item::Tree(i) => self.tree.get(i).map(Spanned::span),
            Item::Entry(i, k) => self
                .tree
                .get(i)
                .and_then(|t| t.get_ref().switch.get(k))
                .map(Spanned::span),
        };
        span.unwrap_or(0..0)
    }
}

type Wrong = (Range<usize>, String);

fn new_name<'a>(
    names: &mut BTreeMap<&'a str, Place>,
    name: &'a str,
    place: Place,
) -> Result<(), String> {
    match names.insert(name, place) {
        None => Ok(()),
        Some(_) => Err(format!("the name {name} is there twice")),
    }
}

fn resolve(document: &Document) -> Result<Fabric, Wrong> {
    let mut fabric = Fabric::default();
    let mut names: BTreeMap<&str, Place> = BTreeMap::new();
    for (i, switch) in document.switch.iter().enumerate() {
        let table = switch.get_ref();
        new_name(&mut names, &table.name, Place::Switch(i, 0))
            .map_err(|reason| (switch.span(), reason))?;
        let spec = SwitchSpec::new(&table.name, table.ports);
        let engine = EngineConfig {
            descriptors: table.descriptors.unwrap_or(spec.engine.descriptors),
            thresholds: table.thresholds.unwrap_or(spec.engine.thresholds),
            timeouts: table.timeouts.unwrap_or(spec.engine.timeouts),
            ..spec.engine
        };
        fabric.switches.push(SwitchSpec {
            spare: mask(&table.spare, table.ports).map_err(|reason| (switch.span(), reason))?,
            engines: table.engines.unwrap_or(true),
            engine,
            ecn_words: table.ecn_words,
            kind: table.kind,
            ..spec
        });
    }
    for (i, endpoint) in document.endpoint.iter().enumerate() {
        let table = endpoint.get_ref();
        new_name(&mut names, &table.name, Place::Endpoint(i))
            .map_err(|reason| (endpoint.span(), reason))?;
        let node = table
            .node
            .or_else(|| u32::try_from(i).ok())
            .unwrap_or(u32::MAX);
        fabric.endpoints.push(EndpointSpec {
            name: table.name.clone(),
            node,
            kind: table.kind,
        });
    }
    let base = document.link.over(LinkSpec::default());
    for cable in &document.cable {
        let table = cable.get_ref();
        let [a, b] = &table.ends;
        let ends = [end(&names, a)?, end(&names, b)?];
        fabric.cables.push(Cable {
            ends,
            link: table.link.over(base),
        });
    }
    for tree in &document.tree {
        let spec = tree_spec(&names, tree.get_ref(), fabric.endpoints.len())?;
        fabric.trees.push(spec);
    }
    Ok(fabric)
}

fn tree_spec(
    names: &BTreeMap<&str, Place>,
    table: &TreeTable,
    endpoints: usize,
) -> Result<TreeSpec, Wrong> {
    let root = endpoint(names, &table.root)?;
    let members = match &table.members {
        Some(list) => list
            .iter()
            .map(|name| endpoint(names, name))
            .collect::<Result<_, _>>()?,
        None => (0..endpoints).filter(|e| *e != root).collect(),
    };
    let mut entries = Vec::new();
    for entry in &table.switch {
        let table = entry.get_ref();
        let Some(Place::Switch(switch, _)) = names.get(table.name.get_ref().as_str()) else {
            return Err((
                table.name.span(),
                format!("there is no switch {}", table.name.get_ref()),
            ));
        };
        let children = mask(&table.children, 64).map_err(|reason| (entry.span(), reason))?;
        let (parent, wait) = (table.parent, table.wait);
        entries.push((
            *switch,
            Tree {
                parent,
                children,
                wait,
            },
        ));
    }
    Ok(TreeSpec {
        id: table.id,
        root,
        root_contributes: table.root_contributes,
        members,
        entries,
    })
}

fn mask(ports: &[u8], of: u8) -> Result<u64, String> {
    let bit = |mask: u64, p: &u8| match 1u64.checked_shl((*p).into()).filter(|_| *p < of) {
        Some(bit) if mask & bit == 0 => Ok(mask | bit),
        Some(_) => Err(format!("port {p} is there twice")),
        None => Err(format!("there is no port {p} of {of}")),
    };
    ports.iter().try_fold(0, bit)
}

fn endpoint(names: &BTreeMap<&str, Place>, name: &Spanned<String>) -> Result<usize, Wrong> {
    match names.get(name.get_ref().as_str()) {
        Some(Place::Endpoint(e)) => Ok(*e),
        _ => Err((
            name.span(),
            format!("there is no endpoint {}", name.get_ref()),
        )),
    }
}

/// `switch.port`, or the name of an endpoint.
fn end(names: &BTreeMap<&str, Place>, text: &Spanned<String>) -> Result<Place, Wrong> {
    let wrong = |reason: String| (text.span(), reason);
    let whole = text.get_ref().as_str();
    // Names may have dots in them.
    let (name, port) = match whole.rsplit_once('.') {
        Some((name, port)) if !names.contains_key(whole) => (name, Some(port)),
        _ => (whole, None),
    };
    match (names.get(name), port) {
        (Some(Place::Switch(s, _)), Some(port)) => match port.parse() {
            Ok(port) => Ok(Place::Switch(*s, port)),
            Err(_) => Err(wrong(format!("{port} is no port of {name}"))),
        },
        (Some(Place::Switch(..)), None) => Err(wrong(format!(
            "{name} is a switch; name a port too, as in {name}.0"
        ))),
        (Some(Place::Endpoint(e)), None) => Ok(Place::Endpoint(*e)),
        (Some(Place::Endpoint(_)), Some(_)) => Err(wrong(format!(
            "{name} is an endpoint and has one port only"
        ))),
        (None, _) => Err(wrong(format!("there is no switch or endpoint {name}"))),
    }
}
