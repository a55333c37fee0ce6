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

/// Distances of switches from the nearest endpoint: 1 for those that endpoints hang on.
#[must_use]
pub fn levels(cabling: &Cabling, switches: usize) -> Vec<u32> {
    let mut levels = vec![0; switches];
    let leads_to = |switch: usize, wanted: &dyn Fn(Place) -> bool| {
        cabling.neighbours(switch).any(|(_, place)| wanted(place))
    };
    let mut level = 1;
    let mut open: Vec<usize> = (0..switches)
        .filter(|&s| leads_to(s, &|place| matches!(place, Place::Endpoint(_))))
        .collect();
    while !open.is_empty() {
        for &switch in &open {
            levels[switch] = level;
        }
        let above = |s: usize| {
            levels[s] == 0
                && leads_to(
                    s,
                    &|place| matches!(place, Place::Switch(n, _) if levels[n] == level),
                )
        };
        open = (0..switches).filter(|&s| above(s)).collect();
        level += 1;
    }
    levels
}

/// The port of every switch towards an endpoint. Of k equally short ways, the destination's node number chooses: by its lowest
/// digit to the base k on the first level, the next digit on the second, and so on, which spreads a fat tree's traffic evenly.
#[must_use]
pub fn towards(
    fabric: &Fabric,
    cabling: &Cabling,
    levels: &[u32],
    endpoint: usize,
) -> Vec<Option<u8>> {
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
    let mut ports: Vec<u8> = Vec::new();
    (0..fabric.switches.len())
        .map(|switch| {
            ports.clear();
            let ways = cabling
                .neighbours(switch)
                .filter(|(_, place)| nearer(switch, *place));
            ports.extend(ways.map(|(port, _)| port));
            let below = levels
                .get(switch)
                .map_or(0, |level| level.saturating_sub(1));
            let digit = node / ports.len().max(1).saturating_pow(below) % ports.len().max(1);
            ports.get(digit).copied()
        })
        .collect()
}
