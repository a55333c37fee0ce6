//! Registers of bulk transfers: a number that is too large is refused whole.

use tributary_protocol::card::regs::{BULK, Counter};
use tributary_protocol::registers::Access;

use crate::world::{GOOD, World, seed};

#[test]
fn registers_of_bulk_transfers_refuse_what_their_fields_do_not_hold() {
    let mut world = World::pair(GOOD, seed());
    let host = &mut world.hosts[0];
    let before = host.card.counter(Counter::BadWrite);
    let mut bad = 0;
    for register in BULK {
        let writable = register.access == Access::ReadWrite;
        for bit in (0..32).filter(|bit| register.mask() >> bit & 1 == 0) {
            let kept = if writable {
                // Bits of a good number with the one that is too much.
                let kept = register.mask() & 0x55;
                host.set(register, kept);
                kept
            } else {
                host.get(register)
            };
            host.set(register, register.mask() & !kept | 1 << bit);
            bad += 1;
            assert_eq!(host.get(register), kept, "{} bit {bit}", register.name);
        }
    }
    assert_eq!(host.card.counter(Counter::BadWrite), before + bad);
    assert!(bad > 80, "{bad}");
}
