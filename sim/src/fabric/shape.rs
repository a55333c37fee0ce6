//! Regular fabrics: trees of equal switches.

use thiserror::Error;
use tributary_protocol::red::switch::PORTS_MAX;

use super::describe::{
    Cable, EndpointSpec, Fabric, LinkSpec, Place, SWITCH_NODES, SwitchSpec, TreeSpec,
};

/// A shape that cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("a fabric of shape {shape:?}: {reason}")]
pub struct ShapeError {
    /// Asked for.
    pub shape: Vec<usize>,
    /// What is wrong with it.
    pub reason: &'static str,
}

impl Fabric {
    /// A tree of switches: [`Fabric::fat`] with one cable upwards from every switch.
    ///
    /// # Errors
    /// As [`Fabric::fat`].
    pub fn regular(shape: &[usize], link: LinkSpec) -> Result<Self, ShapeError> {
        Self::fat(shape, &vec![1; shape.len().saturating_sub(1)], link)
    }

    /// Levels of equal switches with one multicast tree, number 1, that has endpoint 0 as its root and every other as a member.
    ///
    /// `shape` is the number of ports downwards of the switches, level by level from the endpoints: `[4, 4]` is 16 endpoints
    /// on four leaf switches under one spine. `up` is the number of ports upwards, for all levels but the last: with as many up
    /// as down everywhere, the fabric is a fat tree without bottleneck. Ports downwards come first.
    ///
    /// # Errors
    /// No level, a level without ports or with more than a switch has, or more endpoints than addresses.
    pub fn fat(shape: &[usize], up: &[usize], link: LinkSpec) -> Result<Self, ShapeError> {
        let wrong = |reason| ShapeError {
            shape: shape.to_vec(),
            reason,
        };
        if shape.is_empty() || up.len() + 1 != shape.len() {
            return Err(wrong(
                "it has no level, or not one number of ports upwards for each but the last",
            ));
        }
        let ports: Vec<usize> = (0..shape.len())
            .map(|l| shape[l].saturating_add(*up.get(l).unwrap_or(&0)))
            .collect();
        if shape.contains(&0) || up.contains(&0) || ports.iter().any(|n| *n > PORTS_MAX.into()) {
            return Err(wrong(
                "a switch has 1 to 64 ports, at least one of them down and, below others, one up",
            ));
        }
        let product = |list: &[usize]| list.iter().try_fold(1usize, |all, n| all.checked_mul(*n));
        let limit = SWITCH_NODES as usize;
        let sizes = product(shape)
            .zip(product(up))
            .filter(|(down, up)| *down <= limit && *up <= limit);
        let Some((size, _)) = sizes else {
            return Err(wrong("more endpoints or switches than addresses"));
        };
        let endpoint = |i: usize| EndpointSpec {
            name: format!("e{i}"),
            node: i as u32,
            kind: None,
        };
        let mut fabric = Self {
            endpoints: (0..size).map(endpoint).collect(),
            ..Self::default()
        };
        // A switch of a level has a place among those that reach the same endpoints (`plane`) and a set of endpoints (`group`).
        let mut below: Vec<Vec<Place>> = (0..size).map(|e| vec![Place::Endpoint(e)]).collect();
        let (mut groups, mut planes) = (size, 1);
        for (level, &radix) in shape.iter().enumerate() {
            groups /= radix;
            let first = fabric.switches.len();
            let at = |group: usize, plane: usize| first + group * planes + plane;
            for group in 0..groups {
                for plane in 0..planes {
                    let name = name(level, shape.len(), group, (planes > 1).then_some(plane));
                    fabric
                        .switches
                        .push(SwitchSpec::new(name, ports[level] as u8));
                }
            }
            // Cable number u upwards of a switch in plane p leads to plane p + u * (planes below).
            for (child, ends) in below.iter().enumerate() {
                for (plane, lower) in ends.iter().enumerate() {
                    let upper = Place::Switch(at(child / radix, plane), (child % radix) as u8);
                    fabric.cables.push(Cable {
                        ends: [*lower, upper],
                        link,
                    });
                }
            }
            let Some(&ways) = up.get(level) else { continue };
            let lower = |group, plane: usize| {
                Place::Switch(at(group, plane % planes), (radix + plane / planes) as u8)
            };
            below = (0..groups)
                .map(|group| {
                    (0..planes * ways)
                        .map(|plane| lower(group, plane))
                        .collect()
                })
                .collect();
            planes *= ways;
        }
        fabric.trees.push(TreeSpec {
            id: 1,
            root: 0,
            root_contributes: false,
            members: (1..fabric.endpoints.len()).collect(),
            entries: Vec::new(),
        });
        Ok(fabric)
    }
}

fn name(level: usize, levels: usize, group: usize, plane: Option<usize>) -> String {
    match (level, plane) {
        (0, _) => format!("leaf{group}"),
        (l, None) if l + 1 == levels => "spine".to_owned(),
        (l, Some(plane)) if l + 1 == levels => format!("spine{plane}"),
        (l, None) => format!("mid{l}_{group}"),
        (l, Some(plane)) => format!("mid{l}_{group}_{plane}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_by_four_is_five_switches_and_twenty_cables() {
        let fabric = Fabric::regular(&[4, 4], LinkSpec::default()).unwrap();
        let sizes = (
            fabric.endpoints.len(),
            fabric.switches.len(),
            fabric.cables.len(),
        );
        assert_eq!(sizes, (16, 5, 20));
        let ends: Vec<String> = fabric.cables[19]
            .ends
            .iter()
            .map(|p| fabric.name(*p))
            .collect();
        assert_eq!(ends, ["leaf3.4", "spine.3"]);
    }

    #[test]
    fn a_fat_tree_has_as_many_cables_on_every_level() {
        for (shape, switches) in [
            (&[4, 4][..], 4 + 4),
            (&[2, 2, 2], 4 + 4 + 4),
            (&[3, 2, 4], 8 + 12 + 6),
        ] {
            let fabric =
                Fabric::fat(shape, &shape[..shape.len() - 1], LinkSpec::default()).unwrap();
            let size: usize = shape.iter().product();
            assert_eq!(fabric.switches.len(), switches, "{shape:?}");
            assert_eq!(fabric.cables.len(), shape.len() * size);
            let cabling = super::super::check::Cabling::new(&fabric).unwrap();
            let entries = &super::super::tree::all(&fabric, &cabling).unwrap()[0];
            assert_eq!(entries[&0].wait as usize, size - 1);
        }
    }

    #[test]
    fn shapes_that_cannot_be_are_refused() {
        for shape in [&[][..], &[0], &[4, 0], &[64, 4], &[63, 65], &[63; 20]] {
            assert!(
                Fabric::regular(shape, LinkSpec::default()).is_err(),
                "{shape:?}"
            );
        }
        for up in [&[][..], &[0], &[61], &[1, 1]] {
            assert!(
                Fabric::fat(&[4, 4], up, LinkSpec::default()).is_err(),
                "{up:?}"
            );
        }
    }
}
