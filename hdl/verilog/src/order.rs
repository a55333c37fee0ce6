//! In which order ports stand, and which of them belong together.

use super::module::Port;

/// A group of ports under one heading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Group {
    /// What the names begin with; empty for ports that stand alone.
    prefix: String,
    /// Number of the port, of several that are alike.
    number: Option<usize>,
    /// Of a bus, what the block says of it.
    bus: Option<String>,
}

impl Group {
    /// The heading, where it says more than the names do.
    pub(super) fn title(&self) -> Option<String> {
        if let Some(said) = &self.bus {
            let number = self.number.map(|n| format!(", port {n}"));
            return Some(format!(
                "{}{}: {said}",
                self.prefix,
                number.unwrap_or_default()
            ));
        }
        let what = match self.prefix.as_str() {
            "clk" => return Some("Clock and reset".into()),
            "cfg" => return Some("Configuration".into()),
            "s" => "stream in",
            "m" => "stream out",
            p if p.starts_with("s_axis") => "AXI4-Stream in",
            p if p.starts_with("m_axis") => "AXI4-Stream out",
            p if p.starts_with("s_axil") => "AXI4-Lite in",
            p if p.starts_with("m_axil") => "AXI4-Lite out",
            _ => return None,
        };
        let number = self.number.map(|n| format!(", port {n}"));
        Some(format!(
            "{}{}: {what}",
            self.prefix,
            number.unwrap_or_default()
        ))
    }
}

fn is_clock(p: &Port) -> bool {
    p.input && (p.ty.name == "clock" || p.name.starts_with("clk"))
}

fn is_reset(p: &Port) -> bool {
    p.input && p.name.starts_with("rst")
}

/// A name of an array, and the number in it.
fn numbered(name: &str) -> Option<(&str, usize)> {
    let (stem, number) = name.rsplit_once('_')?;
    Some((stem, number.parse().ok()?))
}

/// What the names of a bundle of arrays have in common: `s_axis` of `s_axis_tvalid_3`.
fn bundle(name: &str) -> Option<&str> {
    let (stem, _) = numbered(name)?;
    stem.rsplit_once('_').map(|(prefix, _)| prefix)
}

/// Clocks and resets first, configuration last, in between the order of declaration; of arrays that are declared one
/// behind the other and belong to one bundle all of number 0, then all of number 1.
pub(super) fn order(ports: &mut [Port]) {
    ports.sort_by_key(|p| match p {
        p if is_clock(p) => 0,
        p if is_reset(p) => 1,
        p if p.name.starts_with("cfg_") => 3,
        _ => 2,
    });
    for run in
        ports.chunk_by_mut(|a, b| bundle(&a.name).is_some() && bundle(&a.name) == bundle(&b.name))
    {
        run.sort_by_key(|p| numbered(&p.name).map(|(_, number)| number));
    }
}

/// The group of each of the ordered ports: those in a row that share a prefix up to an underscore.
pub(super) fn groups(ports: &[Port]) -> Vec<Group> {
    let prefixes = |name: &str| -> Vec<String> {
        let cuts = name.match_indices('_').map(|(i, _)| i).filter(|i| *i > 0);
        cuts.map(|i| name[..i].to_owned()).collect()
    };
    let mut out: Vec<Group> = vec![];
    for (i, p) in ports.iter().enumerate() {
        if is_clock(p) || is_reset(p) {
            out.push(Group {
                prefix: "clk".into(),
                ..Group::default()
            });
            continue;
        }
        if let Some((bus, said)) = &p.bus {
            let number = p.key.split('$').find_map(|part| part.parse().ok());
            out.push(Group {
                prefix: bus.clone(),
                number,
                bus: Some(said.clone()),
            });
            continue;
        }
        // The longest prefix that a neighbour shares; of single letters only the usual two.
        let near = [
            i.checked_sub(1).and_then(|j| ports.get(j)),
            ports.get(i + 1),
        ];
        let mut prefix = String::new();
        for candidate in prefixes(&p.name) {
            let shared = near
                .iter()
                .flatten()
                .any(|q| q.name.starts_with(&format!("{candidate}_")) && !is_clock(q));
            let telling = candidate.len() > 1 || candidate == "s" || candidate == "m";
            if shared && telling && candidate.len() > prefix.len() {
                prefix = candidate;
            }
        }
        // A neighbour's group that this name also belongs to wins, so that groups stay whole.
        if let Some(last) = out.last()
            && last.bus.is_none()
            && !last.prefix.is_empty()
            && p.name.starts_with(&format!("{}_", last.prefix))
        {
            prefix = last.prefix.clone();
        }
        let number = bundle(&p.name)
            .filter(|b| *b == prefix)
            .and(numbered(&p.name))
            .map(|(_, number)| number);
        out.push(Group {
            prefix,
            number,
            bus: None,
        });
    }
    out
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use rust_hdl::prelude::{Bits, Synth};

    use super::*;

    fn ordered(names: &[&str]) -> Vec<Port> {
        let mut ports: Vec<Port> = names
            .iter()
            .map(|name| Port {
                key: (*name).into(),
                name: (*name).into(),
                doc: String::new(),
                bus: None,
                input: true,
                width: 4,
                parameter: None,
                ty: Bits::<4>::descriptor(),
                through: BTreeSet::new(),
            })
            .collect();
        order(&mut ports);
        ports
    }

    fn names(ports: &[Port]) -> Vec<&str> {
        ports.iter().map(|p| p.name.as_str()).collect()
    }

    #[test]
    fn clocks_come_first_and_configuration_last() {
        let ports = ordered(&["cfg_wait", "go", "rst", "clk"]);
        assert_eq!(names(&ports), ["clk", "rst", "go", "cfg_wait"]);
    }

    #[test]
    fn ports_of_an_array_of_streams_stand_together() {
        let ports = ordered(&[
            "clk",
            "s_axis_tvalid_0",
            "s_axis_tvalid_1",
            "s_axis_tdata_0",
            "s_axis_tdata_1",
            "word_0",
            "word_1",
        ]);
        let expected = [
            "clk",
            "s_axis_tvalid_0",
            "s_axis_tdata_0",
            "s_axis_tvalid_1",
            "s_axis_tdata_1",
            "word_0",
            "word_1",
        ];
        assert_eq!(names(&ports), expected);
        let titles: Vec<_> = groups(&ports).iter().map(Group::title).collect();
        assert_eq!(titles[1].as_deref(), Some("s_axis, port 0: AXI4-Stream in"));
        assert_eq!(titles[4].as_deref(), Some("s_axis, port 1: AXI4-Stream in"));
        assert_eq!(titles[5], None);
    }
}
