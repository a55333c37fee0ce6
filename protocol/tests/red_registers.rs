//! The switch's registers: the table itself, and that they do what the methods do.

mod red_common;

use proptest::prelude::*;
use red_common::{frame, one_switch::*};
use tributary_protocol::red::{regs, switch::*, *};

#[test]
fn red_12_registers_do_what_the_methods_do() {
    let mut sw = blank();
    assert_eq!(
        sw.read(regs::SIZES.offset),
        Ok(5 | 8 << 8 | 4 << 16 | 6 << 24)
    );
    for r in regs::GLOBAL
        .iter()
        .filter(|r| r.offset != regs::SIZES.offset)
    {
        assert_eq!(sw.read(r.offset), Ok(r.reset), "{}", r.name);
    }
    let mut write = |offset, value| sw.write(offset, value).expect("register");
    for port in 0..5u8 {
        write(regs::port_offset(port, &regs::PORT_CONTROL), 3);
        write(
            regs::port_offset(port, &regs::PORT_ADDRESS),
            Address::unicast(0x100 + u32::from(port), 0).0,
        );
        write(
            regs::UNICAST_ENTRY.offset,
            regs::UNICAST_VALID.put(1) | regs::UNICAST_PORT.put(port.into()),
        );
        write(regs::UNICAST_COMMIT.offset, port.into());
    }
    write(regs::MULTICAST_CHILDREN_LOW.offset, 0b111);
    write(regs::MULTICAST_CHILDREN_HIGH.offset, 0);
    let entry = regs::MULTICAST_VALID.put(1)
        | regs::MULTICAST_PARENT.put(ROOT.into())
        | regs::MULTICAST_WAIT.put(3);
    write(regs::MULTICAST_ENTRY.offset, entry);
    write(regs::MULTICAST_COMMIT.offset, KEY.tree.into());
    write(regs::TIMEOUT0.offset, 7);
    write(regs::MODE.offset, 1);
    assert!(sw.engine(2).expect("port").config().mode.ieee_nan);
    assert_eq!(
        sw.engine(2).expect("port").config().timeouts,
        [7, 50, 75, 100]
    );
    assert_eq!(
        sw.engine(2).expect("port").config().address,
        Address::unicast(0x102, 0)
    );
    let mut twin = switch(3);
    for (port, f) in [
        (ROOT, arm()),
        (0, up(0, 1)),
        (1, up(1, 1)),
        (2, up(2, 1)),
        (
            0,
            bytes(&frame(Address::unicast(2, 0), 0, Op::Barrier, [0; 4])),
        ),
    ] {
        assert_eq!(sw.receive(port, &f, 0), twin.receive(port, &f, 0));
    }
    sw.write(
        regs::STATISTICS_SELECT.offset,
        u32::from(ROOT) << 8 | Counter::Combined as u32,
    )
    .expect("register");
    assert_eq!(
        (
            sw.read(regs::STATISTICS_LOW.offset),
            sw.read(regs::STATISTICS_HIGH.offset)
        ),
        (Ok(3), Ok(0))
    );
    sw.write(regs::STATISTICS_SELECT.offset, 200)
        .expect("register");
    assert_eq!(sw.read(regs::STATISTICS_LOW.offset), Ok(0));
    // Every register that can be written keeps its fields, and refuses any other bit.
    for r in regs::GLOBAL {
        let spare = (0..32).filter(|bit| r.mask() >> bit & 1 == 0);
        for bit in spare.filter(|_| r.access != regs::Access::ReadOnly) {
            let wrote = sw.write(r.offset, 1 << bit);
            let refused = matches!(wrote, Err(RegisterError::Fields { .. }));
            assert!(refused, "{} bit {bit}: {wrote:?}", r.name);
        }
        let wrote = sw.write(r.offset, r.mask());
        match r.access {
            regs::Access::ReadOnly => assert_eq!(wrote, Err(RegisterError::ReadOnly(r.offset))),
            regs::Access::WriteOnly => {
                assert!(matches!(wrote, Err(RegisterError::Index(_))), "{}", r.name)
            }
            regs::Access::ReadWrite => assert_eq!(
                (wrote, sw.read(r.offset)),
                (Ok(()), Ok(r.mask())),
                "{}",
                r.name
            ),
        }
    }
    assert_eq!(
        sw.read(regs::port_offset(5, &regs::PORT_CONTROL)),
        Err(RegisterError::Unknown(0x450))
    );
    assert_eq!(sw.write(0x00c, 1), Err(RegisterError::Unknown(0x00c)));
}

#[test]
fn cl_04_a_switch_marks_what_leaves_a_queue_above_the_threshold_and_counts_it() {
    let mut sw = switch(3);
    let mut ect = vec![0; 60];
    ect[12..16].copy_from_slice(&[0x08, 0x00, 0x45, 0x02]);
    let leaves = |sw: &mut Switch, frame: &[u8], queued| {
        let mut after = frame.to_vec();
        let marked = sw.leave(2, &mut after, queued);
        assert_eq!(marked, after != frame);
        assert_eq!(marked, after[15] & 3 == 3 && frame[15] & 3 != 3);
        marked
    };
    // After reset none is, however long the queue.
    assert!(!leaves(&mut sw, &ect, u64::MAX));
    sw.write(regs::ECN_THRESHOLD.offset, 100).expect("register");
    for (queued, marked) in [(1, false), (100, false), (101, true), (511, true)] {
        assert_eq!(leaves(&mut sw, &ect, queued), marked, "{queued}");
        assert_eq!(sw.is_long(queued), marked, "{queued}");
    }
    for ecn in [0, 3] {
        ect[15] = ecn;
        assert!(!leaves(&mut sw, &ect, 511), "{ecn}");
    }
    let marks = |sw: &Switch, port| sw.counters(port).expect("port").get(Counter::EcnMarked);
    assert_eq!(
        [0, 1, 2, 3, 4].map(|port| marks(&sw, port)),
        [0, 0, 2, 0, 0]
    );
    let select = regs::STATISTICS_COUNTER.put(20) | regs::STATISTICS_PORT.put(2);
    sw.write(regs::STATISTICS_SELECT.offset, select)
        .expect("register");
    assert_eq!(sw.read(regs::STATISTICS_LOW.offset), Ok(2));
    // A multicast frame can be marked, unless it is a reduction frame.
    ect[0] = 3;
    ect[15] = 2;
    assert!(leaves(&mut sw, &ect, 511));
    sw.write(regs::ETHERTYPE.offset, 0x0800).expect("register");
    assert!(!leaves(&mut sw, &ect, 511));
    ect[0] = 2;
    assert!(leaves(&mut sw, &ect, 511));
    // The highest threshold, and one that the register does not hold.
    let at = regs::ECN_THRESHOLD.offset;
    sw.write(at, 1023).expect("register");
    assert!(sw.write(at, 1024).is_err());
    assert_eq!(sw.read(at), Ok(1023));
}

#[test]
fn the_register_table_is_sound() {
    for list in [regs::GLOBAL, regs::PORT] {
        assert!(list.is_sorted_by(|a, b| a.offset < b.offset && a.offset % 4 == 0));
        for r in list {
            assert!(
                !r.fields.is_empty() && r.reset & !r.mask() == 0,
                "{}",
                r.name
            );
            let bits: u32 = r.fields.iter().map(|f| u32::from(f.width)).sum();
            assert_eq!(bits, r.mask().count_ones(), "{}", r.name);
        }
    }
    let last = regs::PORT.last().expect("registers").offset;
    assert!(
        last < regs::PORT_STRIDE
            && regs::GLOBAL.last().expect("registers").offset < regs::PORTS_BASE
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Any register access, between frames: nothing panics, and every descriptor gets free.
    #[test]
    fn red_16_registers_may_be_written_at_any_time(
        steps in proptest::collection::vec((any::<bool>(), 0u8..6, any::<u16>(), any::<u32>()), 0..200),
    ) {
        let mut sw = switch(3);
        let known: Vec<u16> = regs::GLOBAL.iter().map(|r| r.offset).chain((0x400..0x460).step_by(4)).collect();
        for (now, (access, port, pick, word)) in (0u64..).zip(steps) {
            let offset = known.get(usize::from(pick) % (known.len() + 1)).copied().unwrap_or(pick);
            if access {
                // Small values too, so that table entries are reached.
                let _ = sw.write(offset, word >> (pick % 32));
                let _ = sw.read(offset);
            } else {
                sw.receive(port, &if word % 3 == 0 { arm() } else { up(port, 1) }, now);
            }
        }
        sw.tick(u64::MAX);
        prop_assert_eq!(sw.in_use(), 0);
    }
}
