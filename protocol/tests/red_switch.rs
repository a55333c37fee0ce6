//! The switch: forwarding, reasons for drops, and a reduction through one switch.

mod red_common;

use proptest::prelude::*;
use red_common::{frame, one_switch::*};
use tributary_protocol::red::{switch::*, wire::DEFAULT_ETHERTYPE, *};

fn count(sw: &Switch, port: u8, counter: Counter) -> u64 {
    sw.counters(port).expect("port").get(counter)
}

#[test]
fn red_15_a_reduction_through_one_switch() {
    let mut sw = switch(3);
    // The arm frame reaches every child to the bit, pad bits and all.
    let down: Vec<_> = (0..3).map(|p| (p, arm())).collect();
    assert_eq!(sw.receive(ROOT, &arm(), 10), down);
    assert_eq!(sw.in_use(), 1);
    assert_eq!(sw.receive(0, &up(0, 1), 20), []);
    assert_eq!(sw.receive(2, &up(2, 2), 21), []);
    let out = sw.receive(1, &up(1, 3), 22);
    let result = Frame::parse(&out[0].1, DEFAULT_ETHERTYPE).expect("a frame");
    assert_eq!(
        (out.len(), out[0].0, result.data, result.red.count),
        (1, ROOT, [6; 4], 3)
    );
    assert_eq!(result.fabric.sfa, Address::unicast(0x104, 0));
    assert_eq!(sw.in_use(), 0);
    for (counter, times) in [
        (Counter::Combined, 3),
        (Counter::Results, 1),
        (Counter::Sent, 1),
        (Counter::Armed, 1),
    ] {
        assert_eq!(count(&sw, ROOT, counter), times, "{counter}");
    }
    // A late frame goes on to the root as it is.
    assert_eq!(sw.receive(0, &up(0, 1), 30), [(ROOT, up(0, 1))]);
}

#[test]
fn red_12_the_switch_sends_partials_when_time_is_up() {
    let mut sw = switch(3);
    sw.receive(ROOT, &arm(), 10);
    sw.receive(0, &up(0, 1), 20);
    let deadline = sw.next_deadline().expect("armed");
    assert_eq!(sw.tick(deadline - 1), []);
    let out = sw.tick(deadline);
    assert_eq!((out.len(), out[0].0), (1, ROOT));
    assert_eq!(
        Frame::parse(&out[0].1, DEFAULT_ETHERTYPE)
            .expect("a frame")
            .red
            .count,
        1
    );
    assert_eq!((sw.in_use(), sw.next_deadline()), (0, None));
}

#[test]
fn red_16_an_engine_that_is_off_lets_everything_pass() {
    let mut sw = switch(3);
    sw.set_port(
        ROOT,
        PortSettings {
            enable: true,
            ..PortSettings::default()
        },
    )
    .expect("port");
    assert_eq!(sw.receive(ROOT, &arm(), 10).len(), 3);
    assert_eq!(sw.in_use(), 0);
    assert_eq!(sw.receive(0, &up(0, 1), 20), [(ROOT, up(0, 1))]);
}

#[test]
fn red_17_only_the_roots_port_sends_down() {
    for wait in [0, 3] {
        let mut sw = switch(wait);
        // From a member, even what looks like an arm frame goes to the parent port at most.
        let mut false_arm = frame(KEY.address(), 1, Op::Barrier, [0; 4]);
        false_arm.red.arm = true;
        let out = sw.receive(1, &bytes(&false_arm), 0);
        assert_eq!(
            out,
            if wait == 0 {
                vec![(ROOT, bytes(&false_arm))]
            } else {
                vec![]
            }
        );
        assert_eq!(count(&sw, ROOT, Counter::ArmUpwards), u64::from(wait != 0));
        // A port outside the tree: nowhere.
        assert_eq!(sw.receive(3, &up(3, 1), 0), []);
        assert_eq!(count(&sw, 3, Counter::BadEntry), 1);
        assert_eq!(sw.in_use(), 0);
    }
    // Wait count 0: plain multicast, nothing is armed and nothing combined.
    let mut sw = switch(0);
    assert_eq!(sw.receive(ROOT, &arm(), 0).len(), 3);
    assert_eq!(sw.receive(0, &up(0, 1), 0), [(ROOT, up(0, 1))]);
    assert_eq!(sw.in_use(), 0);
}

/// An entry whose child mask has the parent port too: no copy goes back.
#[test]
fn red_17_no_copy_goes_back_to_the_root() {
    let mut sw = switch(3);
    let tree = Tree {
        parent: ROOT,
        children: 0b11111,
        wait: 3,
    };
    sw.set_multicast(KEY.tree, Some(tree)).expect("entry");
    let to: Vec<u8> = sw.receive(ROOT, &arm(), 0).iter().map(|s| s.0).collect();
    assert_eq!(to, [0, 1, 2, 3]);
    assert_eq!(sw.in_use(), 1);
}

/// The tree of [`switch`] with leaves 0 and 1, whose root contributes by its own port.
fn root_contributes(wait: u32) -> Switch {
    let mut sw = switch(wait);
    let tree = Tree {
        parent: ROOT,
        children: 0b11 | 1 << ROOT,
        wait,
    };
    sw.set_multicast(KEY.tree, Some(tree)).expect("entry");
    sw
}

/// A frame with one thing different.
fn but(raw: &[u8], change: impl Fn(&mut Frame)) -> Vec<u8> {
    let mut frame = Frame::parse(raw, DEFAULT_ETHERTYPE).expect("a frame");
    change(&mut frame);
    bytes(&frame)
}

#[test]
fn cl_06_the_root_contributes_by_its_own_port() {
    // In whatever order they come.
    for turn in 0..3 {
        let mut sw = root_contributes(3);
        let to: Vec<u8> = sw.receive(ROOT, &arm(), 10).iter().map(|s| s.0).collect();
        assert_eq!(to, [0, 1]);
        let all = [(0, up(0, 1)), (1, up(1, 2)), (ROOT, up(99, 4))];
        for at in [turn, (turn + 1) % 3] {
            assert_eq!(sw.turns(all[at].0, &all[at].1), all[at].0 == ROOT);
            assert_eq!(sw.receive(all[at].0, &all[at].1, 20), []);
        }
        let last = &all[(turn + 2) % 3];
        let out = sw.receive(last.0, &last.1, 30);
        let result = Frame::parse(&out[0].1, DEFAULT_ETHERTYPE).expect("a frame");
        assert_eq!(
            (out.len(), out[0].0, result.data, result.red.count),
            (1, ROOT, [7; 4], 3)
        );
        assert_eq!((result.red.rc, sw.in_use()), (Rc::OK, 0));
        for (counter, times) in [
            (Counter::Combined, 3),
            (Counter::Results, 1),
            (Counter::Sent, 1),
            (Counter::Hairpin, 0),
            (Counter::Passed, 0),
        ] {
            assert_eq!(count(&sw, ROOT, counter), times, "{counter}");
        }
    }
}

/// Each frame at each port, with and without the bit of the parent port: they differ for contributions at the parent port.
#[test]
fn cl_06_all_other_frames_go_their_ways_as_without_the_bit() {
    let contribution = up(9, 5);
    let mut plain = contribution.clone();
    plain[12..14].copy_from_slice(&[0x12, 0x34]);
    let mut frames = vec![arm(), plain, contribution[..93].to_vec()];
    frames.push(but(&contribution, |f| f.red.arm = true));
    frames.push(but(&contribution, |f| f.red.count = 0));
    frames.push(contribution);
    for opcode in 1..16 {
        frames.push(but(&up(9, 5), |f| f.restricted.opcode = opcode));
        frames.push(but(&up(9, 5), |f| {
            f.restricted.opcode = opcode;
            f.red.count = 0;
        }));
    }
    for wait in [0, 3] {
        for port in 0..5 {
            for (at, frame) in frames.iter().enumerate() {
                let run = |children| {
                    let mut sw = switch(wait);
                    let tree = Tree {
                        parent: ROOT,
                        children,
                        wait,
                    };
                    sw.set_multicast(KEY.tree, Some(tree)).expect("entry");
                    sw.receive(ROOT, &arm(), 0);
                    let sent = sw.receive(port, frame, 10);
                    let counts = (0..5).map(|p| sw.counters(p).expect("port"));
                    (sent, counts.collect::<Vec<_>>(), sw.in_use())
                };
                let turns = port == ROOT && (at == 4 || at == 5);
                let (with, without) = (run(0b10111), run(0b00111));
                assert_eq!(with == without, !turns, "{wait}, port {port}, frame {at}");
                assert!(turns || with.0.iter().all(|s| s.0 != port));
            }
        }
    }
}

#[test]
fn cl_06_a_root_that_meets_no_engine_gets_its_contribution_back() {
    // Of the wait count, of the engine, of what is armed.
    for (wait, engine, armed) in [(0, true, true), (3, false, true), (3, true, false)] {
        let mut sw = root_contributes(wait);
        let settings = PortSettings {
            enable: true,
            engine,
            ..PortSettings::default()
        };
        sw.set_port(ROOT, settings).expect("port");
        if armed {
            assert_eq!(sw.receive(ROOT, &arm(), 0).len(), 2);
        }
        assert_eq!(sw.receive(ROOT, &up(99, 4), 10), [(ROOT, up(99, 4))]);
        let passed = u64::from(wait != 0 && engine);
        assert_eq!(count(&sw, ROOT, Counter::Passed), passed);
        assert_eq!((sw.in_use(), count(&sw, ROOT, Counter::Hairpin)), (0, 0));
    }
    // A port that is off sends nothing back, and takes nothing.
    let mut sw = root_contributes(3);
    sw.set_port(ROOT, PortSettings::default()).expect("port");
    assert_eq!(sw.receive(ROOT, &up(99, 4), 10), []);
    assert_eq!(count(&sw, ROOT, Counter::Disabled), 1);
}

#[test]
fn cl_06_a_contribution_of_the_root_counts_for_someone() {
    for wait in [0, 3] {
        let mut sw = root_contributes(wait);
        sw.receive(ROOT, &arm(), 0);
        let nobody = but(&up(99, 4), |f| f.red.count = 0);
        assert_eq!(sw.receive(ROOT, &nobody, 10), []);
        assert_eq!(count(&sw, ROOT, Counter::Malformed), 1);
        assert_eq!(count(&sw, ROOT, Counter::Combined), 0);
        // What goes down may count none.
        let down = but(&nobody, |f| f.red.arm = true);
        assert_eq!(sw.receive(ROOT, &down, 20).len(), 2);
        let down = but(&nobody, |f| f.restricted.opcode = 1);
        assert_eq!(sw.receive(ROOT, &down, 30).len(), 2);
    }
}

/// The engine makes of a contribution of the root what it makes of one of a leaf: the same leaves, and the same is counted there.
#[test]
fn cl_06_the_engine_makes_no_difference_between_root_and_leaf() {
    type Case = (&'static str, fn(&mut Frame), Counter);
    let cases: [Case; 7] = [
        ("combined", |_| (), Counter::Combined),
        (
            "another operation",
            |f| f.red.op = Op::IntMax,
            Counter::Combined,
        ),
        ("old", |f| f.red.seqno = 1023, Counter::OldSeqno),
        ("newer", |f| f.red.seqno = 1, Counter::Passed),
        ("another job", |f| f.fabric.vni = 8, Counter::ForeignVni),
        ("another group", |f| f.red.cookie = 1, Counter::Passed),
        ("too many", |f| f.red.count = 7, Counter::Results),
    ];
    for (what, change, counted) in cases {
        let run = |port: u8| {
            let mut sw = root_contributes(3);
            sw.receive(ROOT, &arm(), 0);
            sw.receive(0, &up(0, 1), 10);
            let before = count(&sw, ROOT, counted);
            let mut sent = sw.receive(port, &but(&up(99, 4), change), 20);
            assert_eq!(count(&sw, ROOT, counted), before + 1, "{what}");
            sent.extend(sw.receive(1, &up(1, 2), 30));
            sent.extend(sw.tick(u64::MAX));
            (sent, sw.in_use())
        };
        let (root, leaf) = (run(ROOT), run(1));
        assert_eq!(root, leaf, "{what}");
        assert!(root.0.iter().all(|s| s.0 == ROOT), "{what}");
    }
    // Late: the round is over, and it passes.
    let mut sw = root_contributes(2);
    sw.receive(ROOT, &arm(), 0);
    sw.receive(0, &up(0, 1), 10);
    assert_eq!(sw.receive(1, &up(1, 2), 20).len(), 1);
    assert_eq!(sw.receive(ROOT, &up(99, 4), 30), [(ROOT, up(99, 4))]);
    assert_eq!(count(&sw, ROOT, Counter::Passed), 1);
}

#[test]
fn red_17_reasons_for_drops() {
    let mut sw = switch(3);
    let plain = |mac: [u8; 6]| {
        let mut b = vec![0xaa; 80];
        b[..6].copy_from_slice(&mac);
        b
    };
    let to = |node| plain(Address::unicast(node, 3).mac());
    assert_eq!(sw.receive(0, &to(2), 0), [(2, to(2))]);
    let mut drop = |port: u8, frame: &[u8], why: Counter| {
        let before = count(&sw, port, why);
        assert_eq!(sw.receive(port, frame, 0), [], "{why}");
        assert_eq!(count(&sw, port, why), before + 1, "{why}");
    };
    drop(2, &to(2), Counter::Hairpin);
    drop(0, &to(9), Counter::NoRoute);
    // Node bits above the table.
    drop(0, &to(16 + 2), Counter::NoRoute);
    drop(0, &plain([2, 1, 0, 0, 0x20, 0]), Counter::NoRoute);
    drop(0, &plain([0xff; 6]), Counter::NoRoute);
    drop(0, &plain([3, 0, 0, 0, 0x20, 0]), Counter::NoRoute);
    drop(
        0,
        &plain(
            Key {
                tree: 10,
                reduction: 0,
            }
            .address()
            .mac(),
        ),
        Counter::NoRoute,
    );
    drop(
        0,
        &plain(
            Key {
                tree: 1000,
                reduction: 0,
            }
            .address()
            .mac(),
        ),
        Counter::NoRoute,
    );
    drop(0, &[], Counter::Malformed);
    drop(0, &up(0, 1)[..13], Counter::Malformed);
    // A reduction frame on a tree must be flawless, and must stand for someone on the way up.
    drop(0, &up(0, 1)[..93], Counter::Malformed);
    let mut nobody = frame(KEY.address(), 1, Op::IntSum, [0; 4]);
    nobody.red.count = 0;
    drop(0, &bytes(&nobody), Counter::Malformed);
    for at in 14..50 {
        let mut bad = up(0, 1);
        bad[at] ^= 0x11;
        // A changed restricted header is not covered by the checksum, and partly free.
        if Frame::parse(&bad, DEFAULT_ETHERTYPE).is_err() {
            drop(1, &bad, Counter::Malformed);
        }
    }
    // Another ethertype, or a unicast DFA, is plain.
    let tree = plain(KEY.address().mac());
    assert_eq!(sw.receive(0, &tree, 0), [(ROOT, tree)]);
    let mut host = up(0, 1);
    host[..6].copy_from_slice(&Address::unicast(1, 0).mac());
    host[20] = 0xff;
    assert_eq!(sw.receive(0, &host, 0), [(1, host)]);
    assert_eq!(sw.receive(99, &to(2), 0), []);
}

#[test]
fn red_17_disabled_ports_receive_and_send_nothing() {
    let mut sw = switch(3);
    let off = PortSettings {
        enable: false,
        engine: true,
        ..PortSettings::default()
    };
    sw.set_port(1, off).expect("port");
    assert_eq!(sw.receive(1, &up(1, 1), 0), []);
    assert_eq!(
        (
            count(&sw, 1, Counter::Disabled),
            count(&sw, 1, Counter::Received)
        ),
        (1, 0)
    );
    assert_eq!(sw.receive(ROOT, &arm(), 0).len(), 2);
    assert_eq!(count(&sw, ROOT, Counter::Disabled), 1);
    sw.receive(0, &up(0, 1), 0);
    sw.set_port(ROOT, off).expect("port");
    assert_eq!(sw.receive(0, &up(0, 1), 0), []);
    assert_eq!(count(&sw, 0, Counter::Disabled), 1);
    assert_eq!(sw.tick(u64::MAX), []);
    assert_eq!((sw.in_use(), count(&sw, ROOT, Counter::Partials)), (0, 1));
}

#[test]
fn red_17_what_cannot_be_is_refused() {
    let with = |ports, unicast_bits, multicast_bits| SwitchConfig {
        ports,
        unicast_bits,
        multicast_bits,
        ..SwitchConfig::default()
    };
    for config in [
        with(0, 1, 1),
        with(65, 1, 1),
        with(4, 21, 1),
        with(4, 1, 14),
    ] {
        assert!(Switch::new(config).is_err(), "{config:?}");
    }
    let mut sw = switch(3);
    assert_eq!(
        sw.set_port(5, PortSettings::default()),
        Err(SwitchError::Port { port: 5, ports: 5 })
    );
    assert!(sw.set_unicast(16, None).is_err());
    assert!(sw.set_multicast(64, None).is_err());
    assert!(
        sw.set_multicast(
            1,
            Some(Tree {
                parent: 0,
                children: 0,
                wait: 1 << 20
            })
        )
        .is_err()
    );
    // Ports that are not there: no route, no copy, no panic.
    sw.set_unicast(7, Some(63)).expect("entry");
    sw.set_multicast(
        1,
        Some(Tree {
            parent: 63,
            children: u64::MAX,
            wait: 1,
        }),
    )
    .expect("entry");
    let f = bytes(&frame(
        Key {
            tree: 1,
            reduction: 0,
        }
        .address(),
        1,
        Op::IntSum,
        [0; 4],
    ));
    assert_eq!(sw.receive(0, &f, 0), []);
    assert_eq!(count(&sw, 0, Counter::NoRoute), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Whatever comes in: nothing panics, and a frame that does not come out is counted.
    #[test]
    fn red_16_no_frame_vanishes_without_a_count(
        steps in proptest::collection::vec((0u8..6, 0u8..8, 0usize..100, any::<u8>(), any::<u32>()), 0..100),
        turns in any::<bool>(),
    ) {
        let mut sw = if turns { root_contributes(3) } else { switch(3) };
        let total = |sw: &Switch| Counters::total(&(0..5).filter_map(|p| sw.counters(p)).collect::<Vec<_>>());
        let fates = Counter::ALL.iter().filter(|&&c| c != Counter::Received && c != Counter::Sent);
        for (now, (port, kind, at, value, word)) in (0u64..).zip(steps) {
            let mut f = match kind {
                0 => arm(),
                1 => word.to_be_bytes().repeat(at),
                2 => bytes(&frame(Address::unicast(word % 5, 0), 1, Op::Barrier, [0; 4])),
                _ => up(port, word.into()),
            };
            if let Some(byte) = f.get_mut(at) {
                *byte = value;
            }
            let before = total(&sw);
            let sent = sw.receive(port, &f, now * 2000);
            let after = total(&sw);
            let rose = |c: Counter| after.get(c) - before.get(c);
            prop_assert!(sent.iter().all(|s| s.0 != port || sw.turns(port, &f)));
            prop_assert_eq!(rose(Counter::Received), u64::from(port < 5));
            prop_assert_eq!(rose(Counter::Sent), sent.len() as u64);
            let counted: u64 = fates.clone().map(|&c| rose(c)).sum();
            prop_assert!(port == 5 || !sent.is_empty() || counted == 1, "{} counts", counted);
            sw.tick(now * 2000);
        }
        sw.tick(u64::MAX);
        prop_assert_eq!(sw.in_use(), 0);
    }
}
