//! A fabric as the file that it could have been read from.

use std::fmt::{self, Write as _};

use tributary_fabric::export::tables::toml::Quoted;

use super::super::describe::{Fabric, Kind, LinkSpec, Place, SwitchSpec, TreeSpec};

/// The file of a fabric: [`super::parse`] makes the same fabric of it, but for settings of engines that files do not have.
#[must_use]
pub fn write(fabric: &Fabric) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = whole(fabric, &mut text);
    text
}

fn whole(fabric: &Fabric, f: &mut String) -> fmt::Result {
    let base = fabric.cables.first().map(|c| c.link).unwrap_or_default();
    writeln!(f, "[link]\n{}", fields(&base, "\n"))?;
    for switch in &fabric.switches {
        one_switch(switch, f)?;
    }
    for endpoint in &fabric.endpoints {
        let (name, node) = (Quoted(&endpoint.name), endpoint.node);
        writeln!(f, "\n[[endpoint]]\nname = {name}\nnode = {node}")?;
        kind(endpoint.kind, f)?;
    }
    for cable in &fabric.cables {
        let [a, b] = cable.ends.map(|place| fabric.name(place));
        writeln!(f, "\n[[cable]]\nends = [{}, {}]", Quoted(&a), Quoted(&b))?;
        if cable.link != base {
            writeln!(f, "link = {{ {} }}", fields(&cable.link, ", "))?;
        }
    }
    fabric.trees.iter().try_for_each(|t| tree(fabric, t, f))
}

fn fields(link: &LinkSpec, between: &str) -> String {
    [
        format!("latency_clocks = {}", link.latency_clocks),
        format!("clocks_per_word = {}", link.clocks_per_word),
        format!("reorder_clocks = {}", link.reorder_clocks),
        format!("loss = {:?}", link.loss),
        format!("duplication = {:?}", link.duplication),
        format!("corruption = {:?}", link.corruption),
    ]
    .join(between)
}

fn one_switch(switch: &SwitchSpec, f: &mut String) -> fmt::Result {
    let SwitchSpec { name, ports, .. } = switch;
    let plain = SwitchSpec::new(name, *ports);
    writeln!(f, "\n[[switch]]\nname = {}\nports = {ports}", Quoted(name))?;
    let spare = bits(switch.spare);
    if !spare.is_empty() {
        writeln!(f, "spare = {spare:?}")?;
    }
    if !switch.engines {
        writeln!(f, "engines = false")?;
    }
    let (engine, plain) = (&switch.engine, &plain.engine);
    if engine.descriptors != plain.descriptors {
        writeln!(f, "descriptors = {}", engine.descriptors)?;
    }
    if engine.thresholds != plain.thresholds {
        writeln!(f, "thresholds = {:?}", engine.thresholds)?;
    }
    if engine.timeouts != plain.timeouts {
        writeln!(f, "timeouts = {:?}", engine.timeouts)?;
    }
    if switch.ecn_words != 0 {
        writeln!(f, "ecn_words = {}", switch.ecn_words)?;
    }
    kind(switch.kind, f)
}

fn kind(kind: Option<Kind>, f: &mut String) -> fmt::Result {
    match kind {
        Some(kind) => writeln!(f, "kind = \"{kind}\""),
        None => Ok(()),
    }
}

fn tree(fabric: &Fabric, tree: &TreeSpec, f: &mut String) -> fmt::Result {
    let name = |&e: &usize| Quoted(&fabric.name(Place::Endpoint(e))).to_string();
    let members: Vec<String> = tree.members.iter().map(name).collect();
    let (id, root, members) = (tree.id, name(&tree.root), members.join(", "));
    writeln!(f, "\n[[tree]]\nid = {id}\nroot = {root}")?;
    if tree.root_contributes {
        writeln!(f, "root_contributes = true")?;
    }
    writeln!(f, "members = [{members}]")?;
    for (switch, entry) in &tree.entries {
        let name = fabric.switches.get(*switch).map_or("", |s| &s.name);
        writeln!(f, "\n[[tree.switch]]\nname = {}", Quoted(name))?;
        writeln!(f, "parent = {}", entry.parent)?;
        writeln!(f, "children = {:?}", bits(entry.children))?;
        writeln!(f, "wait = {}", entry.wait)?;
    }
    Ok(())
}

fn bits(mask: u64) -> Vec<u8> {
    (0..64).filter(|p| mask >> p & 1 == 1).collect()
}
