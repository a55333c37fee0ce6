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
    /// A tree of switches with one tree, number 1, that has endpoint 0 as its root and every other as a member.
    ///
    /// `shape` is the number of ports downwards of the switches, level by level from the endpoints: `[4, 4]` is 16 endpoints
    /// on four leaf switches under one spine. Port 0 and the next go down, the last one up.
    ///
    /// # Errors
    /// No level, a level without ports or with more than a switch has, or more endpoints than addresses.
    pub fn regular(shape: &[usize], link: LinkSpec) -> Result<Self, ShapeError> {
        let wrong = |reason| ShapeError {
            shape: shape.to_vec(),
            reason,
        };
        let Some((top, below)) = shape.split_last() else {
            return Err(wrong("it has no level"));
        };
        let fits = |n: &usize, up: usize| *n > 0 && n + up <= PORTS_MAX.into();
        if !fits(top, 0) || !below.iter().all(|n| fits(n, 1)) {
            return Err(wrong("a switch has 1 to 64 ports, one of them up"));
        }
        let size = shape.iter().try_fold(1usize, |all, n| all.checked_mul(*n));
        let size = size.filter(|n| *n <= SWITCH_NODES as usize);
        let mut count = size.ok_or_else(|| wrong("more endpoints than addresses"))?;
        let endpoint = |i: usize| EndpointSpec {
            name: format!("e{i}"),
            node: i as u32,
        };
        let mut fabric = Self {
            endpoints: (0..count).map(endpoint).collect(),
            ..Self::default()
        };
        let mut below: Vec<Place> = (0..count).map(Place::Endpoint).collect();
        for (level, &radix) in shape.iter().enumerate() {
            let last = level + 1 == shape.len();
            count /= radix;
            let first = fabric.switches.len();
            for i in 0..count {
                let name = match (level, last) {
                    (0, _) => format!("leaf{i}"),
                    (_, true) => "spine".to_owned(),
                    _ => format!("mid{level}_{i}"),
                };
                let ports = radix + usize::from(!last);
                fabric.switches.push(SwitchSpec::new(name, ports as u8));
            }
            let ports = (0..count).flat_map(|i| (0..radix).map(move |port| (i, port)));
            for (lower, (i, port)) in below.iter().zip(ports) {
                let ends = [*lower, Place::Switch(first + i, port as u8)];
                fabric.cables.push(Cable { ends, link });
            }
            below = (0..count)
                .map(|i| Place::Switch(first + i, radix as u8))
                .collect();
        }
        fabric.trees.push(TreeSpec {
            id: 1,
            root: 0,
            members: (1..fabric.endpoints.len()).collect(),
            entries: Vec::new(),
        });
        Ok(fabric)
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
    fn shapes_that_cannot_be_are_refused() {
        for shape in [&[][..], &[0], &[4, 0], &[64, 4], &[63, 65], &[63; 20]] {
            assert!(
                Fabric::regular(shape, LinkSpec::default()).is_err(),
                "{shape:?}"
            );
        }
    }
}
