//! Unicast tables: shortest ways, spread over equal ones by the destination.

use std::collections::VecDeque;

use super::check::Cabling;
use super::describe::{Fabric, Place};

/// Distances of switches from an endpoint: 1 for the switch that it hangs on; `None` where no cable leads.
#[must_use]
pub fn distances(cabling: &Cabling, switches: usize, endpoint: usize) -> Vec<Option<u32>> {
    let mut distances = vec![None; switches];
    let mut open = VecDeque::new();
    if let Some(Place::Switch(first, _)) = cabling.peer(Place::Endpoint(endpoint)) {
        distances[first] = Some(1);
        open.push_back((first, 1));
    }
    while let Some((switch, distance)) = open.pop_front() {
        for (_, place) in cabling.neighbours(switch) {
            if let Place::Switch(next, _) = place
                && distances[next].is_none()
            {
                distances[next] = Some(distance + 1);
                open.push_back((next, distance + 1));
            }
        }
    }
    distances
}

/// The port of every switch towards an endpoint; of several equally short ways, the destination's node number chooses.
#[must_use]
pub fn towards(fabric: &Fabric, cabling: &Cabling, endpoint: usize) -> Vec<Option<u8>> {
    let distances = distances(cabling, fabric.switches.len(), endpoint);
    let node = fabric
        .endpoints
        .get(endpoint)
        .map_or(0, |e| e.node as usize);
    let nearer = |switch: usize, place: Place| match place {
        Place::Endpoint(e) => e == endpoint,
        Place::Switch(next, _) => distances[switch]
            .zip(distances[next])
            .is_some_and(|(here, there)| there < here),
    };
    (0..fabric.switches.len())
        .map(|switch| {
            let ports: Vec<u8> = cabling
                .neighbours(switch)
                .filter(|(_, place)| nearer(switch, *place))
                .map(|(port, _)| port)
                .collect();
            ports.get(node % ports.len().max(1)).copied()
        })
        .collect()
}
