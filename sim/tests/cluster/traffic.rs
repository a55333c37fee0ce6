//! Datagrams and bulk transfers between cards of a fabric.

use std::sync::Arc;

use tributary_host_driver::{
    Access, Context, Device, Options, TransferRequest, WorkCompletionStatus,
};
use tributary_protocol::red::Counter;
use tributary_sim::card::Cluster;
use tributary_sim::fabric::{Fabric, LinkSpec, Place, Simulator, file};

use super::{exchange, far, models, plan, rtl, sixteen};

/// Hosts on one switch, or two without one.
pub fn small(hosts: usize, link: LinkSpec) -> Fabric {
    let mut text = String::new();
    for host in 0..hosts {
        text += &format!("[[endpoint]]\nname = \"h{host}\"\n");
        if hosts > 2 {
            text += &format!("[[cable]]\nends = [\"s.{host}\", \"h{host}\"]\n");
        }
    }
    text += &match hosts {
        2 => "[[cable]]\nends = [\"h0\", \"h1\"]\n".to_owned(),
        _ => format!("[[switch]]\nname = \"s\"\nports = {hosts}\n"),
    };
    file::parse(&text, "small.toml").unwrap().with_links(link)
}

#[test]
fn cl_02_two_cards_back_to_back_are_a_fabric_of_one_cable() {
    for loss in [0.0, 0.02] {
        let link = LinkSpec {
            loss,
            ..LinkSpec::default()
        };
        let cluster = models(Simulator::new(small(2, link), 3).unwrap());
        let report = exchange(&cluster, &plan(400, 3), &mut |_| {}).unwrap();
        assert!(report.good(400), "{report:?}");
        assert_eq!(report.resent > 0, loss > 0.0, "{report:?}");
    }
}

#[test]
fn datagrams_cross_a_switch_over_cables_that_lose_double_damage_and_overtake() {
    let link = LinkSpec {
        loss: 0.01,
        duplication: 0.01,
        corruption: 0.01,
        reorder_clocks: 400,
        ..LinkSpec::default()
    };
    let cluster = models(Simulator::new(small(3, link), 5).unwrap());
    let report = exchange(&cluster, &plan(900, 5), &mut |_| {}).unwrap();
    assert!(report.good(900), "{report:?}");
    assert!(report.resent > 0, "{report:?}");
}

#[test]
fn cl_01_sixteen_hosts_on_five_switches_all_to_all_by_the_tables_of_nodes() {
    let cluster = models(Simulator::new(far(sixteen()), 7).unwrap());
    let messages = 16 * 15 * 4;
    let report = exchange(&cluster, &plan(messages, 7), &mut |_| {}).unwrap();
    assert!(report.good(messages), "{report:?}");
    let seen = cluster.with(|sim| (sim.counted(Counter::NoRoute), sim.counted(Counter::Sent)));
    let (no_route, sent) = seen.unwrap();
    assert_eq!(no_route, 0);
    assert!(sent > messages, "{sent} frames left switches");
}

/// Two Verilated cards whose nodes differ in bits 19:16 alone, and one whose node is what is left of theirs without these.
#[test]
fn cl_01_datagrams_of_verilated_cards_cross_a_switch_by_all_bits_of_a_node() {
    let mut fabric = small(3, LinkSpec::default());
    for (endpoint, node) in fabric
        .endpoints
        .iter_mut()
        .zip([0x3_1177, 0x5_1177, 0x1177])
    {
        endpoint.node = node;
    }
    let cluster = rtl(Simulator::new(fabric, 9).unwrap());
    let report = exchange(&cluster, &plan(120, 9), &mut |_| {}).unwrap();
    assert!(report.good(120), "{report:?}");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let run = |seed| {
        let link = LinkSpec {
            loss: 0.02,
            ..LinkSpec::default()
        };
        let cluster = models(Simulator::new(small(3, link), seed).unwrap());
        exchange(&cluster, &plan(300, 1), &mut |_| {}).unwrap()
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn cl_01_bulk_writes_cross_the_fabric_while_a_cable_loses() {
    bulk_writes(models);
}

/// The same, with a Verilated card on each end.
#[test]
fn cl_01_bulk_writes_of_verilated_cards_cross_the_fabric_while_a_cable_loses() {
    bulk_writes(rtl);
}

fn bulk_writes(cards: fn(Simulator) -> Cluster) {
    let mut fabric = far(sixteen());
    for cable in &mut fabric.cables {
        if matches!(cable.ends[0], Place::Switch(..)) {
            cable.link.loss = 0.01;
        }
    }
    let cluster = cards(Simulator::new(fabric, 11).unwrap());
    let length = 40_000;
    // The first of one leaf switch to the last of another, and back.
    let ends = [0usize, 15];
    let contexts = ends.map(|at| {
        let device = Arc::new(cluster.devices()[at].clone());
        let options = Options {
            node: cluster.nodes()[at],
            mtu: 512,
        };
        Context::open(device, options).unwrap()
    });
    let queues = [0, 1].map(|i| contexts[i].create_cq(0).unwrap());
    let domains = [0, 1].map(|i| contexts[i].alloc_pd().unwrap());
    let pairs = [0, 1].map(|i| {
        let pair = domains[i].create_qp(&queues[i]).q_key(9).build().unwrap();
        pair.activate().unwrap();
        pair
    });
    let regions = [0, 1].map(|i| {
        let access = Access::REMOTE_WRITE | Access::LOCAL_WRITE;
        let shared = domains[i].reg_mr(length, access).unwrap();
        shared.expose(length).unwrap()
    });
    let local = [0, 1].map(|i| domains[i].reg_mr(length, Access::LOCAL_WRITE).unwrap());
    for i in [0, 1] {
        let mut buffer = local[i].alloc(length).unwrap();
        for (at, byte) in buffer.iter_mut().enumerate() {
            *byte = (at * 7 + i) as u8;
        }
        let to = pairs[1 - i].address();
        let request = TransferRequest::new(i as u64, to, buffer, regions[1 - i].remote());
        pairs[i].post_write(request).unwrap();
    }
    let mut done = Vec::new();
    for _ in 0..2_000_000 {
        queues.iter().for_each(|queue| {
            queue.poll(&mut done, 4).unwrap();
        });
        if done.len() == 2 {
            break;
        }
        cluster.devices()[0].idle().unwrap();
    }
    assert_eq!(done.len(), 2, "transfers end");
    assert!(done.iter().all(|d| d.status == WorkCompletionStatus::Ok));
    for i in [0, 1] {
        let mut arrived = vec![0; length];
        regions[1 - i].read(0, &mut arrived).unwrap();
        let right = (0..length).all(|at| arrived[at] == (at * 7 + i) as u8);
        assert!(right, "every byte as sent by {}", ends[i]);
    }
}
