//! The manager: tables through registers, and failures while traffic flows.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tributary_fabric::control::{Control, ControlError, Registers};
use tributary_fabric::topology::Topology;
use tributary_fabric::unicast::Unicast;
use tributary_fabric::{Network, network::Port};
use tributary_protocol::red::Counter;
use tributary_protocol::red::{Op, Value};
use tributary_sim::card::Cluster;
use tributary_sim::fabric::network::{Plan, tree};
use tributary_sim::fabric::{Contribution, Fabric, Fate, GroupConfig, Simulator};

use super::{exchange, models, plan, sixteen, unrouted};

pub fn start(sim: &mut Simulator, plan: &Plan) -> Control {
    let nodes = sim.fabric().endpoints.iter().map(|e| e.node).collect();
    Control::start(plan.network.clone(), nodes, sim).unwrap()
}

#[test]
fn a_manager_writes_every_table_and_traffic_flows() {
    let fabric = sixteen();
    let plan_of = fabric.plan().unwrap();
    let mut sim = unrouted(fabric, 1);
    start(&mut sim, &plan_of);
    let cluster = models(sim);
    let report = exchange(&cluster, &plan(480, 1), &mut |_| {}).unwrap();
    assert!(report.good(480), "{report:?}");
    assert_only_queues_dropped(&cluster, report.resent);
}

/// What was sent again was dropped by a full queue (many send to one), not for want of a route.
fn assert_only_queues_dropped(cluster: &Cluster, resent: u64) {
    let [full, no_route] = [Counter::QueueFull, Counter::NoRoute]
        .map(|counter| cluster.with(|sim| sim.counted(counter)).unwrap());
    assert_eq!(no_route, 0);
    assert!(
        full > 0 || resent == 0,
        "{resent} sent again, no queue full"
    );
}

#[test]
fn without_a_manager_nothing_gets_through_a_switch() {
    let mut sim = unrouted(sixteen(), 1);
    let to = sim.fabric().endpoints[1].address().mac();
    let mut frame = vec![0; 64];
    frame[..6].copy_from_slice(&to);
    sim.inject(0, &frame, 0).unwrap();
    sim.run(100_000).unwrap();
    assert_eq!(sim.counted(Counter::NoRoute), 1);
    assert!(sim.take_ignored(1).is_empty());
}

/// Every cable between switches and every spine fails once, under traffic; the manager is told some time later.
#[test]
fn a_failed_cable_or_switch_is_routed_around_and_no_message_is_lost() {
    let fabric = sixteen();
    let plan_of = fabric.plan().unwrap();
    let spines = [3u32, 4];
    let cases = plan_of.cables.len() + spines.len();
    for case in 0..cases {
        let mut sim = unrouted(fabric.clone(), case as u64);
        let mut control = start(&mut sim, &plan_of);
        let cluster = models(sim);
        let messages = 16 * 15 * 2;
        let cut: Vec<usize> = match case.checked_sub(plan_of.cables.len()) {
            None => vec![plan_of.cables[case]],
            Some(spine) => {
                let links = plan_of.network.links(spines[spine]).iter();
                links.map(|l| plan_of.cables[l.cable as usize]).collect()
            }
        };
        let (mut failed, mut told) = (false, false);
        let report = exchange(&cluster, &plan(messages, case as u64), &mut |ended| {
            if !failed && ended > messages / 4 {
                failed = true;
                cluster.with(|sim| cut.iter().for_each(|&c| sim.set_cable(c, false).unwrap()));
            }
            if failed && !told && ended > messages / 2 {
                told = true;
                let mended = cluster.with(|sim| match case.checked_sub(plan_of.cables.len()) {
                    None => control.cable_failed(case as u32, sim),
                    Some(spine) => control.switch_failed(spines[spine], sim),
                });
                let mended = mended.unwrap().unwrap();
                assert!(mended.unicast > 0, "case {case}: {mended:?}");
                assert!(mended.unreachable.is_empty(), "case {case}: {mended:?}");
            }
        });
        let report = report.unwrap();
        assert!(told && report.good(messages), "case {case}: {report:?}");
        assert!(report.resent > 0, "case {case} lost nothing: {report:?}");
        // Whole again: cables lose nothing any more.
        cluster.with(Simulator::record);
        let again = exchange(&cluster, &plan(480, 99), &mut |_| {}).unwrap();
        assert!(again.good(480), "case {case}: {again:?}");
        let lost = cluster.with(|sim| {
            let seen = sim.sightings();
            assert!(seen.len() > 480, "case {case}: {} frames", seen.len());
            seen.iter().filter(|s| s.fate == Fate::Lost).count()
        });
        assert_eq!(lost, Some(0), "case {case}");
    }
}

/// A manager that died is started again beside traffic, with a cable that failed while it was away.
#[test]
fn a_manager_that_comes_back_takes_over_a_running_fabric() {
    let fabric = sixteen();
    let plan_of = fabric.plan().unwrap();
    let mut sim = unrouted(fabric, 2);
    drop(start(&mut sim, &plan_of));
    let cluster = models(sim);
    let messages = 960;
    let mut step = 0;
    let report = exchange(&cluster, &plan(messages, 2), &mut |ended| {
        if step == 0 && ended > messages / 4 {
            step = 1;
            cluster.with(|sim| sim.set_cable(plan_of.cables[0], false).unwrap());
        }
        if step == 1 && ended > messages / 2 {
            step = 2;
            cluster.with(|sim| {
                let mut control = start(sim, &plan_of);
                control.cable_failed(0, sim).unwrap();
            });
        }
    });
    let report = report.unwrap();
    assert!(step == 2 && report.good(messages), "{report:?}");
}

/// Sums ones over a group's tree; the result has to name everyone.
fn reduce(sim: &mut Simulator, control: &Control, group: usize) -> (u64, u32) {
    let routed = control.routed(group).unwrap();
    let spec = tree(control.network(), &routed).unwrap();
    let index = sim.add_tree(spec).unwrap();
    let number = sim.add_group(index, &GroupConfig::default()).unwrap();
    let members = sim.group_endpoints(number).to_vec();
    let at = sim.now() + 1_000;
    for &endpoint in &members {
        let value = Value {
            data: [1, endpoint as u64, 0, 0],
            ..Value::default()
        };
        let op = Op::IntSum;
        sim.contribute(number, endpoint, 0, Contribution { at, op, value })
            .unwrap();
    }
    let limit = at + 5_000_000;
    let over = |sim: &Simulator| members.iter().all(|&e| sim.is_over(number, e, 0));
    sim.run_while(limit, |sim| !over(sim)).unwrap();
    let (_, outcome) = sim.outcome(number, members[0], 0).unwrap();
    (outcome.value.data[0], outcome.count)
}

#[test]
fn a_tree_that_loses_a_cable_is_made_anew_under_another_number() {
    let fabric = sixteen();
    let plan_of = fabric.plan().unwrap();
    let mut sim = unrouted(fabric, 4);
    let mut control = start(&mut sim, &plan_of);
    let members: Vec<u32> = (0..16).collect();
    let group = control.add_group(&members, 5, &mut sim).unwrap();
    assert_eq!(reduce(&mut sim, &control, group), (16, 16));
    let used = control.routed(group).unwrap().tree.cables().next().unwrap();
    let old = control.tree(group).unwrap();
    sim.set_cable(plan_of.cables[used as usize], false).unwrap();
    let mended = control.cable_failed(used, &mut sim).unwrap();
    let new = control.tree(group).unwrap();
    assert_eq!(mended.trees, [(group, old, new)]);
    assert_ne!(old, new);
    assert_eq!(reduce(&mut sim, &control, group), (16, 16));
}

/// Registers of a fabric of which one write fails.
struct Failing<'a> {
    sim: &'a mut Simulator,
    /// Writes until then.
    left: usize,
}

impl Registers for Failing<'_> {
    type Error = String;

    fn read(&mut self, switch: u32, offset: u16) -> Result<u32, String> {
        self.sim
            .read_register(switch as usize, offset)
            .map_err(|e| e.to_string())
    }

    fn write(&mut self, switch: u32, offset: u16, value: u32) -> Result<(), String> {
        self.left = self.left.wrapping_sub(1);
        if self.left == usize::MAX {
            return Err("no answer".into());
        }
        self.sim
            .write_register(switch as usize, offset, value)
            .map_err(|e| e.to_string())
    }
}

/// Whichever write of a mend fails: after the next one traffic and reductions are whole.
#[test]
fn a_write_that_fails_is_made_up_for_by_the_next_mend() {
    let fabric = sixteen();
    let plan_of = fabric.plan().unwrap();
    let members: Vec<u32> = (0..16).collect();
    for left in 0.. {
        let mut sim = unrouted(fabric.clone(), 7);
        let mut control = start(&mut sim, &plan_of);
        let group = control.add_group(&members, 5, &mut sim).unwrap();
        let used = control.routed(group).unwrap().tree.cables().next().unwrap();
        sim.set_cable(plan_of.cables[used as usize], false).unwrap();
        let mut failing = Failing {
            sim: &mut sim,
            left,
        };
        match control.cable_failed(used, &mut failing) {
            Err(ControlError::Access { reason, .. }) => assert_eq!(reason, "no answer"),
            Ok(_) => {
                assert!(left > 10, "{left} writes");
                return;
            }
            Err(other) => panic!("{other}"),
        }
        control.mend(&mut sim).unwrap();
        assert_eq!(reduce(&mut sim, &control, group), (16, 16), "write {left}");
        let cluster = models(sim);
        let report = exchange(&cluster, &plan(240, 7), &mut |_| {}).unwrap();
        assert!(report.good(240), "write {left}: {report:?}");
        let no_route = cluster.with(|sim| sim.counted(Counter::NoRoute));
        assert_eq!(no_route, Some(0), "write {left}");
    }
}

#[test]
fn a_switch_that_differs_from_the_plan_is_named() {
    let fabric = sixteen();
    let Plan { network, .. } = fabric.plan().unwrap();
    let mut smaller: Fabric = fabric.clone();
    // The fabric has one host of a number that its tables reach, the plan gives it one beyond them.
    smaller.trees.clear();
    let mut sim = unrouted(smaller, 1);
    let nodes: Vec<u32> = (0..15).chain([40_000]).collect();
    let error = Control::start(network.clone(), nodes, &mut sim).unwrap_err();
    let text = error.to_string();
    assert!(
        matches!(error, ControlError::Differs { .. }) && text.contains("leaf0"),
        "{text}"
    );
    let twice: Vec<u32> = (0..15).chain([3]).collect();
    let error = Control::start(network.clone(), twice, &mut sim).unwrap_err();
    assert_eq!(error.to_string(), "node numbers: 3 is there twice");
    let error = Control::start(network, vec![1], &mut sim).unwrap_err();
    assert_eq!(error.to_string(), "node numbers: 1 for 16 endnodes");
}

/// Follows the entries from every switch to an endnode: they end there or nowhere, and never go round.
fn no_loop(network: &Network, tables: &[Vec<Option<Port>>], endnode: u32) {
    let home = network.endnodes()[endnode as usize].at;
    for first in 0..network.switch_count() {
        let mut at = first;
        for hops in 0.. {
            assert!(hops <= network.switch_count(), "a loop to {endnode}");
            let Some(port) = tables[at as usize][endnode as usize] else {
                break;
            };
            if (at, port) == home {
                break;
            }
            // A port of a failed cable leads nowhere.
            let link = network.links(at).iter().find(|l| l.port == port);
            let Some(link) = link else { break };
            at = link.peer;
        }
    }
}

#[test]
fn no_order_of_writes_and_frames_makes_a_loop() {
    let seed = std::env::var("TRIBUTARY_SEED").map_or(1, |s| s.parse().unwrap());
    eprintln!("TRIBUTARY_SEED={seed} replays this");
    let mut rng = StdRng::seed_from_u64(seed);
    let mut changed = 0;
    for topology in ["ft3:4", "torus:4x4,1", "df:4,2,2"] {
        let Ok(topology) = topology.parse::<Topology>() else {
            panic!("{topology} is no topology");
        };
        let mut network = topology.build().unwrap();
        let (switches, endnodes) = (network.switch_count(), network.endnodes().len());
        let mut tables = vec![vec![None; endnodes]; switches as usize];
        let mut old: Option<Unicast> = None;
        for _ in 0..30 {
            let cable = rng.random_range(0..network.cables().len()) as u32;
            if !network.restore(cable) {
                network.fail(cable);
            }
            let new = Unicast::new(&network);
            // Now and then a manager begins anew and knows nothing of what stands in the tables.
            let known = old.as_ref().filter(|_| rng.random_range(0..4) > 0);
            for write in new.writes(known) {
                changed += 1;
                tables[write.switch as usize][write.endnode as usize] = write.port;
                no_loop(&network, &tables, write.endnode);
            }
            for endnode in 0..endnodes as u32 {
                let home = network.endnodes()[endnode as usize].at;
                for switch in 0..switches {
                    assert_eq!(
                        tables[switch as usize][endnode as usize],
                        new.port(switch, endnode)
                    );
                }
                assert_eq!(new.port(home.0, endnode), Some(home.1));
            }
            old = Some(new);
        }
    }
    assert!(changed > 1_000, "{changed} writes");
}
