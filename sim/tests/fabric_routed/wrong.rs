//! Wrong entries, in every switch of a tree: refused before they are written, and seen in what they do.

use tributary_fabric::route::Fulb;
use tributary_protocol::red::{Counter, Tree};
use tributary_sim::fabric::Simulator;

use crate::common::*;

/// A tree over all endnodes.
fn job() -> Job {
    let network = network("ft3:4");
    let groups = groups(&network, "1x16");
    Job::new(network, groups, &mut Fulb::default())
}

/// Why a fabric with one changed entry is refused.
fn refused(job: &Job, at: usize, wrong: Tree) -> String {
    let mut fabric = job.fabric();
    fabric.trees[0].entries[at].1 = wrong;
    Simulator::new(fabric, 1).unwrap_err().to_string()
}

/// A fabric with one entry changed as it runs.
fn changed(job: &Job, at: usize, wrong: Tree) -> Simulator {
    let mut sim = Simulator::new(job.fabric(), 1).unwrap();
    let (switch, _) = sim.fabric().trees[0].entries[at];
    sim.write_multicast(switch, job.ids[0], Some(wrong))
        .unwrap();
    sim
}

/// Endpoints that hear the leader.
fn hear(sim: &mut Simulator) -> usize {
    let tree = &sim.fabric().trees[0];
    let sends = [(tree.root, tree.id, 7)];
    send(sim, &sends, 20 * APART)
        .iter()
        .filter(|got| !got.is_empty())
        .count()
}

fn entries(job: &Job) -> impl Iterator<Item = (usize, Tree)> {
    let entries = job.fabric().trees.remove(0).entries;
    entries.into_iter().map(|(_, entry)| entry).enumerate()
}

#[test]
fn mc_10_a_missing_child_is_noticed() {
    let job = job();
    for (at, entry) in entries(&job) {
        let children = entry.children & (entry.children - 1);
        let wrong = Tree { children, ..entry };
        let reason = refused(&job, at, wrong);
        let known = ["waits for", "no children"];
        assert!(known.iter().any(|k| reason.contains(k)), "{reason}");
        let mut sim = changed(&job, at, wrong);
        assert!(hear(&mut sim) < 15);
        let groups = join(&mut sim, &[0]);
        let clock = sim.now() + 2_500;
        round(&mut sim, &groups, clock);
        assert!(retries(&sim, groups[0]) > 0);
        assert!(sim.counted(Counter::BadEntry) > 0);
    }
}

#[test]
fn mc_10_a_wait_count_off_by_one_is_noticed() {
    let job = job();
    for (at, entry) in entries(&job) {
        for wait in [entry.wait - 1, entry.wait + 1] {
            let wrong = Tree { wait, ..entry };
            let mut sim = changed(&job, at, wrong);
            // Frames go their ways.
            assert_eq!(hear(&mut sim), 15);
            let groups = join(&mut sim, &[0]);
            let clock = sim.now() + 2_500;
            round(&mut sim, &groups, clock);
            // Too low: the last one passes, or is one more than was due; too high: a timeout.
            if wait < entry.wait {
                let passed = sim.counted(Counter::Passed);
                assert!(passed > 0 || retries(&sim, groups[0]) > 0, "{wait}");
            } else {
                assert!(sim.counted(Counter::Partials) > 0, "{wait}");
            }
            // A count of 0 is one of plain multicast.
            if wait > 0 {
                let reason = refused(&job, at, wrong);
                assert!(reason.contains(&format!("waits for {wait}")), "{reason}");
            }
        }
    }
}

#[test]
fn mc_10_a_wrong_parent_is_noticed() {
    let job = job();
    for (at, entry) in entries(&job) {
        let child = entry.children.trailing_zeros() as u8;
        let children = entry.children & (entry.children - 1) | 1 << entry.parent;
        let wrong = Tree {
            parent: child,
            children,
            ..entry
        };
        let reason = refused(&job, at, wrong);
        assert!(reason.contains("so the parent port is"), "{reason}");
        let mut sim = changed(&job, at, wrong);
        assert!(hear(&mut sim) < 15);
    }
}
