//! Many to one (CL-4): what is dropped, how much of the receiver's line is used, and that senders recover.

use tributary_protocol::card::model::{BulkConfig, BulkMutations, ModelConfig};
use tributary_sim::card::{
    Cluster, Incast, IncastReport, LINE_MBPS, SLOT_NS, incast, incast_datagrams, incast_on,
};
use tributary_sim::fabric::{Fabric, LinkSpec, file};

use super::{models, rtl, sixteen};

/// Threshold of the switches, words of a queue of 512, which takes seven packets of 512 bytes: three and a half.
const WORDS: u16 = 256;
/// Four hosts on two leaves, two ways between these.
const TWO_SPINES: &str = include_str!("../../fabrics/two-spines.toml");
const BYTES: usize = 512 << 10;
/// Clocks after which a transfer whose companions have ended has 95 % of the line again: 0.5 ms.
const RECOVERY: u64 = 62_500;

fn one_switch() -> Fabric {
    Fabric::regular(&[16], LinkSpec::default()).unwrap()
}

fn run(fabric: &Fabric, plan: &Incast) -> IncastReport {
    let report = incast(fabric, plan, &mut |_| {}).unwrap();
    let senders = plan.bytes.iter().skip(1).filter(|bytes| **bytes > 0);
    let senders = senders.count();
    assert_eq!((report.ok, report.right), (senders, senders));
    report
}

/// The whole of CL-4: little is dropped, and the line is full.
fn good(report: &IncastReport) -> bool {
    report.loss() <= 0.01 && report.goodput() >= 0.9
}

fn figures(report: &IncastReport) -> String {
    format!(
        "dropped {:.4}, of use {:.4}, line {:.4}, shares {:.3}, {} sent again of {}",
        report.loss(),
        report.goodput(),
        report.line_use(),
        report.fairness(),
        report.resent,
        report.sent
    )
}

#[test]
fn cl_04_incast_of_15_on_one_switch_drops_little_and_fills_the_line() {
    let fabric = one_switch();
    let on = run(&fabric, &Incast::of_all(&fabric, BYTES, WORDS));
    assert!(good(&on), "{}", figures(&on));
    assert!(on.fairness() >= 0.8, "{}", figures(&on));
    // What is sent again was dropped: the pace of a transfer takes no packet for lost.
    assert!(on.resent <= 2 * on.dropped, "{}", figures(&on));
    let off = run(&fabric, &Incast::of_all(&fabric, BYTES, 0));
    assert!(!good(&off) && off.loss() > 0.2, "{}", figures(&off));
    assert!(off.resent > 20 * on.resent.max(1), "{}", figures(&off));
    assert_eq!((off.marked, off.told, off.slowed), (0, 0, 0));
}

#[test]
fn cl_04_incast_of_15_on_five_switches_drops_little_and_fills_the_line() {
    let fabric = sixteen();
    let on = run(&fabric, &Incast::of_all(&fabric, BYTES, WORDS));
    assert!(good(&on), "{}", figures(&on));
    let off = run(&fabric, &Incast::of_all(&fabric, BYTES, 0));
    assert!(!good(&off) && off.loss() > 0.2, "{}", figures(&off));
}

/// The whole of it with Verilated cards; short, since 16 of them take their time.
#[test]
fn cl_04_incast_of_15_verilated_cards_drops_little_and_fills_the_line() {
    for (fabric, words) in [(one_switch(), WORDS), (sixteen(), WORDS)] {
        let plan = Incast::of_all(&fabric, BYTES / 4, words);
        let cards = |simulator| Ok(rtl(simulator));
        let on = incast_on(&fabric, &plan, cards, &mut |_| {}).unwrap();
        println!("{}", figures(&on));
        assert_eq!((on.ok, on.right), (15, 15));
        assert!(good(&on), "{}", figures(&on));
        assert!(on.told > 15 && on.slowed > 15 && on.marked > 0);
    }
}

/// Of few senders the window decides: what is sent beyond it, behind a packet that was lost, is sent again. Cards in RTL have 64
/// packets, and are then what models with as many are.
#[test]
fn cl_04_verilated_cards_of_few_senders_do_as_models_with_their_window() {
    let fabric = file::parse(TWO_SPINES, "two-spines.toml").unwrap();
    let plan = Incast::of_all(&fabric, BYTES / 4, WORDS);
    let models = |packets| {
        let bulk = BulkConfig {
            packets,
            line_mbps: LINE_MBPS,
            ..BulkConfig::default()
        };
        let card = ModelConfig {
            bulk: Some(bulk),
            ..ModelConfig::default()
        };
        let cards = |simulator| Cluster::of_models(simulator, card, SLOT_NS);
        incast_on(&fabric, &plan, cards, &mut |_| {}).unwrap()
    };
    let verilated = incast_on(&fabric, &plan, |sim| Ok(rtl(sim)), &mut |_| {}).unwrap();
    let [small, large] = [64, 256].map(models);
    for (name, report) in [("RTL", &verilated), ("64", &small), ("256", &large)] {
        println!("{name}: {}", figures(report));
        assert_eq!((report.ok, report.right), (3, 3));
    }
    assert!(verilated.goodput() >= 0.9 * small.goodput());
    assert!(verilated.loss() <= 0.01 && large.resent < small.resent);
}

/// Messages of a packet, by the reliable layer, with and without marks; every one must come once.
fn messages(fabric: &Fabric, bytes: usize, words: u16) -> IncastReport {
    let plan = Incast::of_all(fabric, bytes, words);
    let cards = |simulator| Ok(models(simulator));
    let report = incast_datagrams(fabric, &plan, cards, &mut |_| {}).unwrap();
    assert_eq!((report.ok, report.right), (15, 15));
    report
}

#[test]
fn cl_04_datagrams_of_15_to_one_are_hardly_dropped_and_fill_the_line() {
    for (fabric, shares) in [(one_switch(), 0.9), (sixteen(), 0.0)] {
        let on = messages(&fabric, BYTES / 4, WORDS);
        println!("{}", figures(&on));
        assert!(good(&on), "{}", figures(&on));
        assert!(on.fairness() >= shares, "{}", figures(&on));
        assert!(on.told > 1_000 && on.marked > 0, "{}", figures(&on));
        let off = messages(&fabric, BYTES / 4, 0);
        println!("{}", figures(&off));
        assert!(!good(&off) && off.loss() > 0.1, "{}", figures(&off));
        assert_eq!((off.marked, off.told), (0, 0));
    }
}

/// The same between Verilated cards, three to one: their acknowledgements and completions say what switches have marked.
#[test]
fn cl_04_datagrams_of_verilated_cards_slow_down_and_are_hardly_dropped() {
    let fabric = file::parse(TWO_SPINES, "two-spines.toml").unwrap();
    let run = |words| {
        let plan = Incast::of_all(&fabric, BYTES / 4, words);
        let cards = |simulator| Ok(rtl(simulator));
        let report = incast_datagrams(&fabric, &plan, cards, &mut |_| {}).unwrap();
        println!("{}", figures(&report));
        assert_eq!((report.ok, report.right), (3, 3));
        report
    };
    let (on, off) = (run(WORDS), run(0));
    assert!(on.loss() <= 0.01 && on.told > 100 && on.marked > 0);
    assert!(off.loss() > 0.05 && off.told == 0);
    assert!(
        on.resent * 10 < off.resent,
        "{} and {}",
        on.resent,
        off.resent
    );
}

#[test]
fn cl_04_a_transfer_alone_is_not_slower_with_marks() {
    let fabric = sixteen();
    let alone = |words| {
        let mut plan = Incast::of_all(&fabric, 0, words);
        plan.bytes[15] = 256 << 10;
        run(&fabric, &plan)
    };
    let (on, off) = (alone(WORDS), alone(0));
    assert!(on.clocks * 99 <= off.clocks * 100, "{}", figures(&on));
    assert_eq!((on.dropped, on.resent, on.slowed), (0, 0, 0));
}

/// One host has four times as much to send as each of the others.
fn longer(fabric: &Fabric, mutations: BulkMutations) -> IncastReport {
    let mut plan = Incast {
        mutations,
        ..Incast::of_all(fabric, 128 << 10, WORDS)
    };
    plan.bytes[15] *= 8;
    run(fabric, &plan)
}

#[test]
fn cl_04_when_the_others_have_ended_one_has_the_line_again() {
    let fabric = one_switch();
    let report = longer(&fabric, BulkMutations::default());
    let recovery = report.recovery(15, 0.95);
    assert!(
        recovery.is_some_and(|clocks| clocks <= RECOVERY),
        "{recovery:?}"
    );
    let error = BulkMutations {
        no_recovery: true,
        ..BulkMutations::default()
    };
    let without = longer(&fabric, error).recovery(15, 0.95);
    assert!(
        without.is_none_or(|clocks| clocks > RECOVERY),
        "{without:?} is not noticed"
    );
}
