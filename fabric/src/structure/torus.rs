//! Tori, as products of rings.
//!
//! Two cables of one switch that lead in different dimensions are sides of a square, two of one dimension are not. Opposite sides of squares
//! are parallel: they join the same two planes. So classes of parallel cables are the gaps between planes, and gaps whose cables
//! meet without a square belong to one dimension. Most of the meetings decide, so a missing cable does no harm.
//! A ring of four is a square itself: it comes out as two dimensions of two, and the two are put together again.

use std::collections::HashMap;

use super::graph::{Graph, Sets, sizes};
use super::{Form, Structure};

/// Most neighbours of a switch: six dimensions.
const DEGREE_MAX: usize = 12;

pub fn recognise(graph: &Graph) -> Option<Structure> {
    let degrees = (0..graph.len()).map(|s| graph.near(s).len());
    if graph.len() < 3 || degrees.max().unwrap_or(0) > DEGREE_MAX {
        return None;
    }
    let edges = Edges::new(graph);
    let gaps = gaps(graph, &edges);
    let dimensions = dimensions(graph, &edges, &gaps)?;
    let count = dimensions.iter().max().map_or(0, |&last| last + 1);
    let mut planes = Vec::new();
    for dimension in 0..count {
        let across = |a, b| dimensions[gaps[edges.of(graph, a, b)] as usize] == dimension;
        planes.push(graph.parts(|a, b| !across(a, b)));
    }
    let long: Vec<u32> = planes.iter().map(|of| sizes(of).len() as u32).collect();
    let rings = (0..count as usize).all(|d| {
        let gaps = dimensions.iter().filter(|&&of| of as usize == d).count();
        gaps == if long[d] == 2 { 1 } else { long[d] as usize }
    });
    if !rings || long.iter().any(|&size| size < 2) || !is_product(&planes, &long) {
        return None;
    }
    Some(Structure {
        form: Form::Torus(put_together(long)),
        partitions: planes,
        blocks: None,
    })
}

/// Numbers of edges.
struct Edges {
    /// By neighbour of all switches; both directions of an edge have one number.
    of: Vec<u32>,
    count: usize,
}

impl Edges {
    fn new(graph: &Graph) -> Self {
        let mut of = vec![0; graph.edges()];
        let mut count = 0;
        for a in 0..graph.len() {
            for (i, &b) in graph.near(a).iter().enumerate() {
                of[graph.first(a) + i] = match a < b as usize {
                    true => {
                        count += 1;
                        count - 1
                    }
                    false => {
                        let back = graph.near(b as usize).binary_search(&(a as u32));
                        of[graph.first(b as usize) + back.unwrap_or(0)]
                    }
                };
            }
        }
        Self {
            of,
            count: count as usize,
        }
    }

    /// The edge between two neighbours.
    fn of(&self, graph: &Graph, a: usize, b: usize) -> usize {
        let at = graph.near(a).binary_search(&(b as u32)).unwrap_or(0);
        self.of[graph.first(a) + at] as usize
    }
}

/// Other corners of the squares without diagonals that two edges from `at` are sides of.
fn corners(graph: &Graph, at: usize, v: usize, w: usize) -> impl Iterator<Item = usize> + '_ {
    let near = graph.near(v).iter().map(|&x| x as usize);
    let apart = !graph.are_near(v, w);
    near.filter(move |&x| apart && x != at && graph.are_near(w, x) && !graph.are_near(at, x))
}

/// Pairs of neighbours of a switch.
fn pairs(graph: &Graph, at: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
    let near = graph.near(at);
    let pair = move |i: usize| {
        near[..i]
            .iter()
            .map(move |&v| (v as usize, near[i] as usize))
    };
    (0..near.len()).flat_map(pair)
}

/// By edge: its class of parallel edges.
fn gaps(graph: &Graph, edges: &Edges) -> Vec<u32> {
    let mut sets = Sets::new(edges.count);
    for at in 0..graph.len() {
        for (v, w) in pairs(graph, at) {
            for x in corners(graph, at, v, w) {
                sets.join(edges.of(graph, at, v), edges.of(graph, w, x));
                sets.join(edges.of(graph, at, w), edges.of(graph, v, x));
            }
        }
    }
    sets.numbered()
}

/// By gap: its dimension; none if two edges of one switch are parallel.
fn dimensions(graph: &Graph, edges: &Edges, gaps: &[u32]) -> Option<Vec<u32>> {
    let count = gaps.iter().max().map_or(0, |&last| last as usize + 1);
    // By two gaps: meetings with a square more than those without.
    let mut meetings: HashMap<(u32, u32), i64> = HashMap::new();
    for at in 0..graph.len() {
        for (v, w) in pairs(graph, at) {
            let [a, b] = [v, w].map(|to| gaps[edges.of(graph, at, to)]);
            if a == b {
                return None;
            }
            let square = corners(graph, at, v, w).next().is_some();
            *meetings.entry((a.min(b), a.max(b))).or_default() += if square { 1 } else { -1 };
        }
    }
    let mut sets = Sets::new(count);
    for (&(a, b), &squares) in &meetings {
        if squares < 0 {
            sets.join(a as usize, b as usize);
        }
    }
    Some(sets.numbered())
}

/// Whether every switch is at a place of its own, and every place is taken.
fn is_product(planes: &[Vec<u32>], long: &[u32]) -> bool {
    let switches = planes.first().map_or(0, Vec::len);
    let places = long
        .iter()
        .fold(1usize, |all, &size| all.saturating_mul(size as usize));
    if places != switches {
        return false;
    }
    let mut taken = vec![false; places];
    (0..switches).all(|switch| {
        let place = planes.iter().zip(long).fold(0, |at, (plane, &size)| {
            at * size as usize + plane[switch] as usize
        });
        !std::mem::replace(&mut taken[place], true)
    })
}

/// Sizes with two dimensions of two as a ring of four, the largest first.
fn put_together(mut long: Vec<u32>) -> Vec<u32> {
    let twos = long.iter().filter(|&&size| size == 2).count();
    long.retain(|&size| size != 2);
    long.extend(std::iter::repeat_n(4, twos / 2));
    long.extend(std::iter::repeat_n(2, twos % 2));
    long.sort_unstable_by(|a, b| b.cmp(a));
    long
}
