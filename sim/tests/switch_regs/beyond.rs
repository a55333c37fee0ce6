//! Numbers that are too large for their place: every register, every index, ports and counters that are not there.

use super::{Bench, PORTS, library};
use rand::RngExt;
use tributary_protocol::red::{Address, Counter, Key, regs};
use tributary_sim::testbench::beyond::{beyond, outside_fields};

/// All registers that can be written, with their offsets.
fn writable() -> Vec<(u16, &'static regs::Register)> {
    let ports = (0..PORTS as u8).flat_map(|port| {
        regs::PORT
            .iter()
            .map(move |r| (regs::port_offset(port, r), r))
    });
    let all = regs::GLOBAL.iter().map(|r| (r.offset, r)).chain(ports);
    all.filter(|(_, register)| register.access != regs::Access::ReadOnly)
        .collect()
}

impl Bench {
    /// Compares every register with the model's.
    fn all(&mut self) {
        for offset in (0..0x80).chain(0x400..0x400 + 0x10 * PORTS as u16) {
            if offset % 4 == 0 {
                self.read(offset);
            }
        }
    }
}

#[test]
fn a_register_refuses_what_its_fields_do_not_hold() {
    let library = library();
    let mut bench = Bench::new(&library, 1);
    let mut tried = 0;
    for (offset, register) in writable() {
        for ones in outside_fields(register) {
            let before = bench.rng.random::<u32>() & register.mask() & 0x3f;
            bench.write(offset, before, 0xf);
            // A number that would be another one; bytes without strobe are not looked at.
            let other = register.mask() & !before | ones;
            assert!(bench.model.clone().write(offset, other).is_err());
            bench.write(offset, other, 0xf);
            let bytes = (0..4).filter(|byte| ones >> (8 * byte) & 0xff != 0);
            bench.write(offset, ones, bytes.fold(0, |all, byte| all | 1 << byte));
            bench.read(offset);
            tried += 1;
        }
        bench.all();
    }
    assert!(tried > 250, "{tried}");
}

#[test]
fn an_index_beyond_its_table_changes_no_entry() {
    let library = library();
    let mut bench = Bench::new(&library, 2);
    bench.enable();
    // Node 5 and tree 5 lead to port 1 from port 0; what is staged then would lead them elsewhere.
    bench.route(5, Some(1));
    bench.set(&regs::MULTICAST_CHILDREN_LOW, 0b0010);
    bench.set(&regs::MULTICAST_ENTRY, regs::MULTICAST_VALID.put(1));
    bench.set(&regs::MULTICAST_COMMIT, 5);
    let elsewhere = regs::UNICAST_PORT.put(2) | regs::UNICAST_VALID.put(1);
    bench.set(&regs::UNICAST_ENTRY, elsewhere);
    bench.set(&regs::MULTICAST_CHILDREN_LOW, 0b0100);
    for register in [&regs::UNICAST_COMMIT, &regs::MULTICAST_COMMIT] {
        for index in beyond(64, 32, &[5]) {
            assert!(
                bench
                    .model
                    .clone()
                    .write(register.offset, index as u32)
                    .is_err()
            );
            bench.set(register, index as u32);
        }
    }
    let tree = |tree| Key { tree, reduction: 0 }.address().mac();
    for to in [Address::unicast(5, 0).mac(), tree(5)] {
        let frame = bench.frame(to);
        bench.sources[0].push(&frame);
        for _ in 0..200 {
            bench.clock();
        }
        assert_eq!(bench.out[1].pop(), Some(frame), "to {to:x?}");
    }
    assert!(bench.out.iter().all(Vec::is_empty));
}

#[test]
fn a_port_that_is_not_there_is_never_taken_for_one_that_is() {
    let library = library();
    let mut bench = Bench::new(&library, 3);
    bench.enable();
    let mut lost = 0;
    for port in beyond(PORTS as u64, regs::UNICAST_PORT.width.into(), &[1, 2]) {
        bench.route(5, Some(port as u32));
        // As a parent, and as a child.
        bench.set(&regs::MULTICAST_CHILDREN_LOW, (1u64 << port | 1) as u32);
        bench.set(
            &regs::MULTICAST_CHILDREN_HIGH,
            ((1u64 << port) >> 32) as u32,
        );
        let entry = regs::MULTICAST_VALID.put(1) | regs::MULTICAST_PARENT.put(port as u32);
        bench.set(&regs::MULTICAST_ENTRY, entry);
        bench.set(&regs::MULTICAST_COMMIT, 5);
        bench.set(&regs::MULTICAST_CHILDREN_LOW, (1u64 << port | 0b10) as u32);
        bench.set(&regs::MULTICAST_ENTRY, regs::MULTICAST_VALID.put(1));
        bench.set(&regs::MULTICAST_COMMIT, 6);
        for to in [
            Address::unicast(5, 0).mac(),
            Key {
                tree: 5,
                reduction: 0,
            }
            .address()
            .mac(),
        ] {
            let frame = bench.frame(to);
            bench.model.receive(0, &frame, 0);
            bench.sources[0].push(&frame);
            lost += 1;
        }
        let frame = bench.frame(
            Key {
                tree: 6,
                reduction: 0,
            }
            .address()
            .mac(),
        );
        bench.model.receive(0, &frame, 0);
        bench.sources[0].push(&frame);
        for _ in 0..300 {
            bench.clock();
        }
        assert_eq!(bench.out[1].pop(), Some(frame), "child {port}");
        assert!(bench.out.iter().all(Vec::is_empty), "port {port}");
    }
    let model = bench.model.counters(0).unwrap().get(Counter::NoRoute);
    assert_eq!(u64::from(bench.counter(0, Counter::NoRoute as u32)), model);
    assert_eq!(model, lost);
}

#[test]
fn counters_and_their_ports_that_are_not_there_read_as_0() {
    let library = library();
    let mut bench = Bench::new(&library, 4);
    bench.enable();
    let received = Counter::Received as u32;
    for port in 0..PORTS {
        for _ in 0..1 + port {
            let frame = bench.frame(Address::unicast(9, 0).mac());
            bench.sources[port].push(&frame);
        }
    }
    for _ in 0..600 {
        bench.clock();
    }
    for port in 0..PORTS {
        assert_eq!(bench.counter(port, received), 1 + port as u32);
        assert_eq!(
            bench.counter(port, Counter::NoRoute as u32),
            1 + port as u32
        );
        let there: Vec<u64> = Counter::ALL.iter().map(|c| *c as u64).collect();
        for counter in beyond(there.len() as u64, 8, &there) {
            assert_eq!(bench.counter(port, counter as u32), 0, "{counter}");
        }
    }
    for port in beyond(PORTS as u64, 6, &[0, 1, 2, 3]) {
        assert_eq!(bench.counter(port as usize, received), 0, "port {port}");
    }
}

/// Addresses in frames: every bit of them that the tables do not have.
#[test]
fn an_address_beyond_the_tables_is_not_taken_for_its_lower_bits() {
    let library = library();
    let mut bench = Bench::new(&library, 5);
    bench.enable();
    bench.set(&regs::MULTICAST_CHILDREN_LOW, 0b0010);
    bench.set(&regs::MULTICAST_ENTRY, regs::MULTICAST_VALID.put(1));
    for place in 0..64 {
        bench.route(place, Some(1));
        bench.set(&regs::MULTICAST_COMMIT, place);
    }
    let tree = |tree| Key { tree, reduction: 0 }.address().mac();
    let mut addresses: Vec<[u8; 6]> = beyond(64, 20, &[0, 5, 63])
        .into_iter()
        .map(|node| Address::unicast(node as u32, 0).mac())
        .collect();
    let trees = beyond(64, 13, &[0, 5, 63]);
    addresses.extend(trees.into_iter().map(|number| tree(number as u16)));
    let none = addresses.len();
    // And every bit of an address that is there.
    for there in [Address::unicast(5, 0).mac(), tree(5)] {
        for bit in 0..48 {
            let mut other = there;
            other[bit / 8] ^= 1 << (bit % 8);
            addresses.push(other);
        }
    }
    let mut led = 0;
    for (number, to) in addresses.into_iter().enumerate() {
        let frame = bench.frame(to);
        let known = !bench.model.receive(0, &frame, 0).is_empty();
        assert!(!known || number >= none, "{to:x?}");
        led += u64::from(known);
        bench.sources[0].push(&frame);
        for _ in 0..160 {
            bench.clock();
        }
        assert_eq!(bench.out[1].pop(), known.then_some(frame), "{to:x?}");
        assert!(bench.out.iter().all(Vec::is_empty), "{to:x?}");
    }
    assert!(led > 20, "{led}");
    let model = bench.model.counters(0).unwrap().get(Counter::NoRoute);
    assert_eq!(u64::from(bench.counter(0, Counter::NoRoute as u32)), model);
    assert!(model > 60, "{model}");
}
