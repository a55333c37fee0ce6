//! MSI-X.

use tributary_protocol::card::regs::{self, Counter, doorbell};
use tributary_protocol::xud::Peer;

use crate::bench::{DATA, Host, MSI, work};

/// Entry of vector 1, the one that queue pairs here use.
const ENTRY: u32 = regs::MSIX_TABLE + 16;

/// A host with vector 1 set up, and a queue pair whose peer does not exist: requests end in timeouts.
fn host() -> Host {
    with_rings([4, 4, 5])
}

fn with_rings(logs: [u8; 3]) -> Host {
    let mut host = Host::new(0);
    host.memory.bytes.resize(4 << 20, 0);
    for (word, value) in [MSI as u32, (MSI >> 32) as u32, 0xABCD, 0]
        .into_iter()
        .enumerate()
    {
        host.card.write(ENTRY + 4 * word as u32, value);
    }
    host.connect(1, logs);
    host
}

/// One more completion.
fn complete(host: &mut Host) {
    let mut bad = work(Peer { node: 1, qpn: 1 }, DATA, 1);
    bad.opcode = 9;
    host.post_send(1, &bad);
    host.step();
}

fn arm(host: &mut Host, index: u32) {
    host.card.write(doorbell(1, &regs::DOORBELL_ARM), index);
    host.step();
}

#[test]
fn the_table_is_as_declared_after_reset_and_keeps_its_fields_only() {
    let mut host = Host::new(0);
    for vector in 0..2 {
        for register in regs::MSIX_ENTRY {
            let at = regs::MSIX_TABLE + regs::MSIX_ENTRY_LEN * vector + u32::from(register.offset);
            assert_eq!(host.card.read(at), register.reset, "{}", register.name);
            host.card.write(at, u32::MAX);
            assert_eq!(host.card.read(at), register.mask(), "{}", register.name);
        }
    }
    assert_eq!(host.count(Counter::BadWrite), 0);
}

#[test]
fn an_armed_ring_interrupts_once_as_soon_as_it_has_more() {
    let mut host = host();
    complete(&mut host);
    assert!(host.memory.interrupts.is_empty(), "nobody asked");
    arm(&mut host, 0);
    assert_eq!(host.memory.interrupts, [0xABCD], "at once");
    complete(&mut host);
    assert_eq!(host.memory.interrupts.len(), 1, "once");
    arm(&mut host, 2);
    assert_eq!(host.memory.interrupts.len(), 1, "not more than 2 yet");
    complete(&mut host);
    assert_eq!(
        (
            host.memory.interrupts.len(),
            host.count(Counter::Interrupts)
        ),
        (2, 2)
    );
}

#[test]
fn a_masked_interrupt_waits_as_pending() {
    let mut host = host();
    host.card.write(ENTRY + 12, 1);
    arm(&mut host, 0);
    complete(&mut host);
    assert_eq!(
        (
            host.memory.interrupts.len(),
            host.card.read(regs::MSIX_PENDING)
        ),
        (0, 2)
    );
    host.card.write(ENTRY + 12, 0);
    host.step();
    assert_eq!(
        (
            host.memory.interrupts.len(),
            host.card.read(regs::MSIX_PENDING)
        ),
        (1, 0)
    );
}

#[test]
fn moderation_delays_and_merges_and_loses_none() {
    let mut host = host();
    host.write(&regs::MODERATION, 1_000);
    arm(&mut host, 0);
    complete(&mut host);
    assert_eq!(host.memory.interrupts.len(), 1);
    for index in 1..4 {
        arm(&mut host, index);
        complete(&mut host);
    }
    host.now = 7_999;
    host.step();
    assert_eq!(host.memory.interrupts.len(), 1);
    host.now = 8_000;
    host.step();
    host.step();
    assert_eq!(host.memory.interrupts.len(), 2, "the due ones became one");
}

#[test]
fn arming_counts_modulo_two_to_the_16() {
    let mut host = host();
    for _ in 0..65_600u32 {
        complete(&mut host);
        host.outcomes(1);
    }
    arm(&mut host, 64);
    assert!(host.memory.interrupts.is_empty());
    complete(&mut host);
    assert_eq!(host.memory.interrupts.len(), 1);
}

/// Software that has taken nothing of the longest ring asks with index 0, and 2^15 completions are there.
#[test]
fn a_full_ring_of_2_to_the_15_entries_interrupts_at_once() {
    let mut host = with_rings([4, 4, 15]);
    for _ in 0..1 << 15 {
        complete(&mut host);
    }
    arm(&mut host, 0);
    assert_eq!(host.memory.interrupts, [0xABCD]);
    arm(&mut host, 1 << 15);
    assert_eq!(host.memory.interrupts.len(), 1, "no more than that yet");
}
