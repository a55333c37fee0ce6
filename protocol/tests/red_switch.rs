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
    ) {
        let mut sw = switch(3);
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
