//! Registers, doorbells, counters and interrupts of the card, by what `protocol::card::regs` declares.

use crate::bench::{Fault, seeds, with_faults};
use crate::regs_bench::{Bench, LF, LQ, LR, Message, RESET};
use tributary_hdl::card::CardRegs;
use tributary_hdl::emit::emit_block;
use tributary_protocol::card::command::{Command, Status};
use tributary_protocol::card::regs::{self, Counter};
use tributary_protocol::registers::{Access, Register};
use tributary_sim::testbench::{Profile, Stalls, profiles};

/// Value that a register has after reset.
fn after_reset(register: &Register) -> u32 {
    if register.offset == regs::SIZES.offset {
        return regs::SIZES_QPS.put(LQ as u32)
            | regs::SIZES_REGIONS.put(LR as u32)
            | regs::SIZES_IN_FLIGHT.put(LF as u32)
            | regs::SIZES_VECTORS.put(3);
    }
    register.reset
}

fn all_as_after_reset(bench: &mut Bench) {
    for register in regs::GLOBAL {
        let value = bench.get(register);
        assert_eq!(value, after_reset(register), "{}", register.name);
    }
    for arg in 0..regs::ARGS {
        assert_eq!(bench.read((regs::ARG0 + 4 * arg).into()), 0, "arg{arg}");
    }
    for (at, register) in table() {
        assert_eq!(bench.read(at), register.reset, "{at:x}");
    }
    assert_eq!(bench.read(regs::MSIX_PENDING), 0);
}

/// The MSI-X table: offsets, and what is there.
fn table() -> impl Iterator<Item = (u32, &'static Register)> {
    let at = |vector, register: &Register| {
        regs::MSIX_TABLE + regs::MSIX_ENTRY_LEN * vector + u32::from(register.offset)
    };
    (0..8).flat_map(move |vector| regs::MSIX_ENTRY.iter().map(move |r| (at(vector, r), r)))
}

#[test]
fn registers_have_the_reset_values_masks_and_rights_that_are_declared() {
    let mut bench = Bench::new(1);
    all_as_after_reset(&mut bench);
    let mut bad = bench.counter(Counter::BadWrite);
    assert_eq!(bad, 0);
    for register in regs::GLOBAL {
        for _ in 0..8 {
            let mut value = bench.dice.bits(32) as u32;
            if register.offset == regs::COMMAND.offset {
                value = 0;
            }
            if register.access == Access::ReadWrite {
                value &= register.mask();
            }
            let kept = if register.offset == regs::CONTROL.offset {
                value &= !regs::CONTROL_RESET.mask();
                regs::CONTROL_ENABLE.mask()
            } else {
                register.mask()
            };
            bench.set(register, value);
            let now = bench.get(register);
            match register.access {
                Access::ReadWrite => assert_eq!(now, value & kept, "{}", register.name),
                Access::WriteOnly => assert_eq!(now, 0, "{}", register.name),
                Access::ReadOnly => {
                    bad += 1;
                    // The command of before has left its status.
                    let status = regs::STATUS_CODE.put(Status::BadCommand.code().into());
                    let ran = register.offset == regs::STATUS.offset;
                    let want = if ran { status } else { after_reset(register) };
                    assert_eq!(now, want, "{}", register.name);
                }
            }
        }
    }
    for (at, register) in table() {
        for value in [u32::MAX, bench.dice.bits(32) as u32, 0] {
            bench.write(at, value);
            assert_eq!(bench.read(at), value & register.mask(), "{at:x}");
        }
    }
    assert_eq!(bench.counter(Counter::BadWrite), bad);
}

#[test]
fn registers_drive_the_card() {
    let mut bench = Bench::new(2);
    assert!(!bench.rtl.is("cfg_enable"));
    assert_eq!(bench.rtl.get("cfg_mtu"), u64::from(regs::MTU.reset));
    assert_eq!(
        bench.rtl.get("cfg_timeout_unit"),
        u64::from(regs::TIMEOUT_UNIT.reset)
    );
    bench.set(&regs::CONTROL, regs::CONTROL_ENABLE.put(1));
    bench.set(&regs::NODE, 0xF_1234);
    bench.set(&regs::MTU, 1024);
    bench.set(&regs::TIMEOUT_UNIT, 0x567);
    bench.set(&regs::MODERATION, 0x89a);
    bench.clocks(4);
    assert!(bench.rtl.is("cfg_enable"));
    assert_eq!(bench.rtl.get("cfg_node"), 0xF_1234);
    assert_eq!(bench.rtl.get("cfg_mtu"), 1024);
    assert_eq!(bench.rtl.get("cfg_timeout_unit"), 0x567);
    assert_eq!(bench.rtl.get("cfg_moderation"), 0x89a);
    bench.set(&regs::MTU, 8191);
    assert_eq!(bench.get(&regs::MTU), 8191);
    assert_eq!(bench.rtl.get("cfg_mtu"), 4096, "no larger than a buffer");
    // Clamped, and read back as written.
    for (value, counts) in [(0, 256), (255, 256), (256, 256), (257, 257), (4095, 4095)] {
        bench.set(&regs::MTU, value);
        assert_eq!(bench.get(&regs::MTU), value);
        assert_eq!(bench.rtl.get("cfg_mtu"), counts);
    }
    for (value, counts) in [(0, 4), (3, 4), (4, 4), (5, 5), (0xffff, 0xffff)] {
        bench.set(&regs::TIMEOUT_UNIT, value);
        assert_eq!(bench.get(&regs::TIMEOUT_UNIT), value);
        assert_eq!(bench.rtl.get("cfg_timeout_unit"), counts);
    }
}

#[test]
fn offsets_that_are_not_there_read_as_0_and_writes_to_them_are_counted() {
    let mut bench = Bench::new(3);
    let mut known: Vec<u32> = regs::GLOBAL.iter().map(|r| r.offset.into()).collect();
    known.extend((0..regs::ARGS).map(|i| u32::from(regs::ARG0 + 4 * i)));
    known.extend((0..32).map(|i| regs::MSIX_TABLE + 4 * i));
    let page = regs::DOORBELLS + regs::PAGE;
    known.extend(regs::DOORBELL.iter().map(|r| page + u32::from(r.offset)));
    let pages = [0, 0x1000, regs::MSIX_TABLE, 0x4000, 0xf000, page];
    let mut bad = 0;
    for base in pages {
        for word in (0..64).chain([128, 512, 1023]) {
            let offset = base + 4 * word;
            if known.contains(&offset) {
                continue;
            }
            bench.write(offset, u32::MAX);
            bad += 1;
            assert_eq!(bench.read(offset), 0, "{offset:#x}");
        }
    }
    // Less than a word is refused, nothing at all does nothing.
    bench.set(&regs::NODE, 7);
    for strobes in 0..15 {
        bench.write_bytes(regs::NODE.offset.into(), 0xffff, strobes);
        bad += u64::from(strobes != 0);
    }
    assert_eq!(bench.get(&regs::NODE), 7);
    assert_eq!(bench.counter(Counter::BadWrite), bad);
    assert!(bench.doorbells.is_empty());
}

#[test]
fn doorbells_go_to_their_queue_pair_one_a_clock() {
    let mut bench = Bench::new(4);
    let mut want = vec![];
    for _ in 0..200 {
        let qpn = bench.dice.below(1 << LQ);
        let kind = bench.dice.below(4);
        let index = bench.dice.bits(16);
        let register = &regs::DOORBELL[kind as usize];
        assert_eq!(register.name, KINDS[kind as usize]);
        let noise = (bench.dice.bits(16) as u32) << 16;
        bench.write(regs::doorbell(qpn as u32, register), index as u32 | noise);
        want.push((qpn, kind, index));
    }
    bench.clocks(4);
    assert_eq!(bench.doorbells, want);
    for register in regs::DOORBELL {
        assert_eq!(bench.read(regs::doorbell(1, register)), 0);
        bench.write(regs::doorbell(1 << LQ, register), 0);
        bench.write(regs::doorbell(4079, register), 0);
    }
    assert_eq!(bench.counter(Counter::BadDoorbell), 8);
    assert_eq!(bench.counter(Counter::BadWrite), 0);
    assert_eq!(bench.doorbells.len(), want.len());
}

/// Owners of `db_kind`, in the order of docs/card.md.
const KINDS: [&str; 4] = [
    "doorbell_send",
    "doorbell_receive",
    "doorbell_complete",
    "doorbell_arm",
];

#[test]
fn every_counter_counts_every_event_also_all_at_once() {
    for seed in seeds(2) {
        let mut bench = Bench::new(seed);
        let mut want = [0u64; 36];
        for round in 0..12 {
            for _ in 0..bench.dice.below(400) {
                let mut events = bench.dice.bits(36);
                if round % 3 == 0 {
                    events |= bench.dice.bits(36) | bench.dice.bits(36);
                }
                if round % 4 == 1 {
                    events = (1 << 36) - 1;
                }
                bench.rtl.set("ev", events);
                bench.clock();
                for (i, count) in want.iter_mut().enumerate() {
                    *count += events >> i & 1;
                }
            }
            bench.rtl.set("ev", 0u8);
            bench.clocks(44);
            for counter in Counter::ALL {
                let count = bench.select(counter.code());
                assert_eq!(
                    count,
                    want[usize::from(counter.code())],
                    "{counter}, seed {seed}"
                );
            }
            for none in [36, 37, 63, 64, 255] {
                assert_eq!(bench.select(none), 0, "counter {none}");
            }
        }
        assert!(want[0] > 300);
    }
}

#[test]
fn a_copy_of_a_counter_stays_while_the_counter_runs() {
    let mut bench = Bench::new(5);
    bench.rtl.set("ev", 1u64 << Counter::WaitLine.code());
    bench.clocks(500);
    let before = bench.select(Counter::WaitLine.code());
    bench.clocks(500);
    assert_eq!(u64::from(bench.get(&regs::STATISTICS_LOW)), before);
    assert!(bench.select(Counter::WaitLine.code()) > before + 500);
}

/// Events of 2^26 each, so that counts pass 2^32.
#[test]
fn counts_go_on_above_32_bits() {
    const LARGE: &[Fault] = &[(
        "large events",
        "{27'd0, s2_amount_reg}",
        "{1'd0, s2_amount_reg, 26'd0}",
    )];
    let design = emit_block(&mut CardRegs::<LQ, LR, LF>::default()).unwrap();
    let library = with_faults(&design, LARGE);
    let mut bench = Bench::of(&library, 6);
    bench.rtl.set("fault", 1u8);
    bench.rtl.set("ev", 1u64 << Counter::Sent.code());
    bench.clocks(1_000);
    bench.rtl.set("ev", 0u8);
    assert_eq!(bench.counter(Counter::Sent), 1_000 << 26);
}

#[test]
fn a_reset_has_ended_when_nothing_of_before_is_left() {
    let busy = regs::STATUS_BUSY.put(1);
    for left in [1, RESET - 60, 3 * RESET] {
        let mut bench = Bench::new(left);
        bench.rtl.set("s_left", 1u8);
        bench.set(&regs::CONTROL, regs::CONTROL_RESET.put(1));
        bench.clocks(left + 60);
        assert_eq!(bench.get(&regs::STATUS), busy);
        // Ignored, as any while it is busy.
        bench.start(Command::CloseWindow.code(), 999);
        bench.clocks(10);
        bench.rtl.set("s_left", 0u8);
        bench.clocks(RESET);
        assert_eq!(bench.get(&regs::STATUS), 0);
        // What leaves later is of later.
        bench.rtl.set("s_left", 1u8);
        bench.clocks(10);
        assert_eq!(bench.get(&regs::STATUS), 0);
    }
}

#[test]
fn xud_06_resets_of_the_function_make_everything_as_after_power_up_but_the_epochs() {
    for by_flr in [false, true] {
        let mut bench = Bench::new(7);
        let create = [0x100, 1, 2, 3, 64, 0, 64, 0, 64, 0];
        assert_eq!(bench.run(Command::CreateQp, 1, &create).1, 1);
        assert_eq!(bench.run(Command::NextEpoch, 1, &[]).1, 2);
        for register in regs::GLOBAL {
            if register.access == Access::ReadWrite && register.offset != regs::CONTROL.offset {
                bench.set(register, register.mask());
            }
        }
        for word in 0..32 {
            bench.write(regs::MSIX_TABLE + 4 * word, u32::MAX);
        }
        bench.rtl.set("ev", (1u64 << 36) - 1);
        bench.clocks(100);
        bench.rtl.set("ev", 0u8);
        for vector in 0..8 {
            bench.pulse("s_irq_valid", &[("s_irq_vector", vector)]);
        }
        assert_eq!(bench.read(regs::MSIX_PENDING), 0xff);
        // A command that never gets what it waits for.
        bench.idle = 0;
        bench.start(Command::DestroyQp.code(), 1);
        bench.clocks(3_000);
        assert_eq!(bench.get(&regs::STATUS), regs::STATUS_BUSY.put(1));
        assert!(bench.rtl.is("hold"));
        if by_flr {
            bench.rtl.set("flr", 1u8);
            bench.clocks(5);
            bench.rtl.set("flr", 0u8);
        } else {
            bench.set(&regs::CONTROL, regs::CONTROL_RESET.put(1));
            bench.clocks(2);
        }
        let mut clocks = 0;
        while bench.rtl.is("m_reset") {
            clocks += 1;
            bench.clock();
        }
        assert!((40..50).contains(&clocks), "m_reset for {clocks} clocks");
        assert_eq!(bench.get(&regs::STATUS), regs::STATUS_BUSY.put(1));
        // Ignored, as the tables are being cleared.
        bench.start(Command::QueryQp.code(), 1);
        bench.clocks(RESET);
        bench.idle = 95;
        assert!(!bench.rtl.is("hold"));
        all_as_after_reset(&mut bench);
        for counter in Counter::ALL {
            assert_eq!(bench.select(counter.code()), 0, "{counter}");
        }
        bench.set(&regs::STATISTICS_SELECT, 0);
        bench.args(&create);
        let found = bench.run(Command::QueryQp, 1, &[]);
        assert_eq!(found, (Status::Ok.code(), 0, 2));
        assert_eq!(bench.run(Command::CreateQp, 1, &create).1, 3);
        assert_eq!(bench.messages, []);
        // Not so a reset of the link.
        bench.rtl.reset(1);
        bench.clocks(RESET);
        bench.args(&create);
        assert_eq!(bench.run(Command::CreateQp, 1, &create).1, 1);
    }
}

#[test]
fn what_is_written_during_a_reset_is_lost_without_a_count_and_the_reset_ends_in_time() {
    let mut bench = Bench::new(11);
    bench.set(&regs::CONTROL, regs::CONTROL_RESET.put(1));
    bench.set(&regs::NODE, 7);
    let doorbells = [0, 1 << LQ].map(|qpn| regs::doorbell(qpn, &regs::DOORBELL_SEND));
    for offset in [regs::ARG0.into(), 0x100, doorbells[0], doorbells[1]] {
        bench.write(offset, 9);
    }
    assert_eq!(bench.get(&regs::STATUS), regs::STATUS_BUSY.put(1));
    assert_eq!(bench.get(&regs::NODE), regs::NODE.reset);
    bench.clocks(64 + 4 * (1 << LQ.max(LR).max(LF)));
    assert_eq!(bench.get(&regs::STATUS), 0);
    all_as_after_reset(&mut bench);
    assert_eq!(bench.doorbells, []);
    for counter in [Counter::BadWrite, Counter::BadDoorbell] {
        assert_eq!(bench.counter(counter), 0);
    }
    bench.set(&regs::NODE, 7);
    assert_eq!(bench.get(&regs::NODE), 7);
}

#[test]
fn commands_and_arguments_during_a_command_are_ignored_without_a_count() {
    let mut bench = Bench::new(12);
    let create = [0x100, 1, 2, 3, 64, 0, 64, 0, 64, 0];
    bench.run(Command::CreateQp, 1, &create);
    bench.idle = 0;
    bench.start(Command::DestroyQp.code(), 1);
    // Writes to words that are no neighbours come four clocks apart at least.
    bench.clocks(3);
    bench.write(regs::ARG0.into(), 0xbad);
    bench.start(Command::NextEpoch.code(), 1);
    // Other registers are taken.
    bench.set(&regs::NODE, 7);
    assert_eq!(bench.get(&regs::STATUS), regs::STATUS_BUSY.put(1));
    assert_eq!(bench.read(regs::ARG0.into()), create[0]);
    assert_eq!(bench.get(&regs::NODE), 7);
    bench.idle = 95;
    assert_eq!(bench.wait(), Status::Ok.code());
    let found = bench.run(Command::QueryQp, 1, &[]);
    assert_eq!(
        found,
        (Status::Ok.code(), 0, 1),
        "destroyed, epoch as it was"
    );
    assert_eq!(bench.counter(Counter::BadWrite), 0);
}

#[test]
fn interrupts_are_sent_as_the_table_says_and_kept_while_masked() {
    for seed in seeds(3) {
        let mut bench = Bench::new(seed);
        let mut table = vec![];
        for vector in 0..8u32 {
            let at = regs::MSIX_TABLE + 16 * vector;
            let words = [0, 1, 2].map(|_| bench.dice.bits(32) as u32);
            for (i, word) in words.into_iter().enumerate() {
                bench.write(at + 4 * i as u32, word);
            }
            let low = words[0] & !3;
            assert_eq!(bench.read(at), low);
            assert_eq!(bench.read(at + 4), words[1]);
            assert_eq!(bench.read(at + 8), words[2]);
            table.push(Message {
                vector: vector.into(),
                addr: u64::from(words[1]) << 32 | u64::from(low),
                data: words[2].into(),
            });
        }
        let mask = |bench: &mut Bench, vector: u64, masked: bool| {
            let at = regs::MSIX_TABLE + 16 * vector as u32 + 12;
            bench.write(at, u32::from(masked));
        };
        let mut sent = 0;
        for _ in 0..60 {
            // Some vectors, the function, or all of MSI-X are masked.
            let masked = bench.dice.bits(8) & bench.dice.bits(8);
            for vector in 0..8 {
                mask(&mut bench, vector, masked >> vector & 1 == 1);
            }
            let (off, function) = (bench.dice.chance(20), bench.dice.chance(20));
            let silent = bench.dice.chance(20);
            bench.rtl.set("msix_enable", !off);
            bench.rtl.set("msix_mask", function);
            bench.rtl.set("bus_master_enable", !silent);
            bench.clocks(4);
            let mut asked = 0u64;
            for _ in 0..bench.dice.below(12) {
                let vector = bench.dice.below(8);
                asked |= 1 << vector;
                assert!(bench.rtl.is("s_irq_ready"));
                bench.pulse("s_irq_valid", &[("s_irq_vector", vector)]);
                let pause = bench.dice.below(3) * bench.dice.below(20);
                bench.clocks(pause);
            }
            bench.clocks(300);
            let open = if off || function || silent {
                0
            } else {
                !masked
            };
            let check = |messages: &[Message], vectors: u64| {
                for message in messages {
                    assert_eq!(*message, table[message.vector as usize], "seed {seed}");
                    assert!(
                        vectors >> message.vector & 1 == 1,
                        "{message:x?}, seed {seed}"
                    );
                }
                let got = messages.iter().fold(0, |all, m| all | 1u64 << m.vector);
                assert_eq!(got, vectors, "seed {seed}");
            };
            let messages = std::mem::take(&mut bench.messages);
            sent += messages.len() as u64;
            check(&messages, asked & open);
            let waiting = bench.read(regs::MSIX_PENDING);
            assert_eq!(u64::from(waiting), asked & !open, "seed {seed}");
            // What has waited is sent once, however often it was asked for.
            bench.rtl.set("msix_enable", 1u8);
            bench.rtl.set("msix_mask", 0u8);
            bench.rtl.set("bus_master_enable", 1u8);
            for vector in 0..8 {
                mask(&mut bench, vector, false);
            }
            bench.clocks(300);
            let messages = std::mem::take(&mut bench.messages);
            sent += messages.len() as u64;
            check(&messages, asked & !open);
            assert_eq!(messages.len() as u32, (asked & !open).count_ones());
            assert_eq!(bench.read(regs::MSIX_PENDING), 0);
        }
        assert_eq!(bench.counter(Counter::Interrupts), sent);
        assert!(sent > 100);
    }
}

/// Long form: `TRIBUTARY_FRAMES=1000000 cargo test -p tributary-hdl --test card_control under_every_profile -- --nocapture`.
#[test]
fn interrupts_leave_whole_under_every_profile_of_stalls() {
    profiles("card_regs: interrupts", |seed| {
        let mut bench = Bench::new(seed);
        let mut table = vec![];
        for vector in 0..8u32 {
            let at = regs::MSIX_TABLE + 16 * vector;
            let words = [0; 3].map(|_: u32| bench.dice.bits(32) as u32);
            (0..3).for_each(|word| bench.write(at + 4 * word, words[word as usize]));
            bench.write(at + 12, 0);
            table.push(Message {
                vector: vector.into(),
                addr: u64::from(words[1]) << 32 | u64::from(words[0] & !3),
                data: words[2].into(),
            });
        }
        let stalls = Stalls::of_seed(seed, 2);
        bench.stalls = Some(stalls.clone());
        let mut sent = 0;
        for _ in 0..40 {
            let mut asked = 0u64;
            for _ in 0..1 + bench.dice.below(12) {
                let vector = bench.dice.below(8);
                asked |= 1 << vector;
                bench.pulse("s_irq_valid", &[("s_irq_vector", vector)]);
                let pause = bench.dice.below(3) * bench.dice.below(200);
                bench.clocks(pause);
            }
            let mut waited = 0;
            while bench.read(regs::MSIX_PENDING) != 0 || !bench.under_way.is_empty() {
                waited += 1;
                assert!(
                    waited < 20_000,
                    "{stalls}: interrupts {asked:#x} wait for ever"
                );
            }
            bench.clocks(2 * u64::from(Profile::of_seed(seed).pause()) + 20);
            let messages = std::mem::take(&mut bench.messages);
            for message in &messages {
                assert_eq!(*message, table[message.vector as usize], "{stalls}");
            }
            let got = messages.iter().fold(0, |all, m| all | 1u64 << m.vector);
            assert_eq!(got, asked, "{stalls}");
            sent += messages.len() as u64;
        }
        bench.stalls = None;
        bench.clocks(1_000);
        assert_eq!(bench.counter(Counter::Interrupts), sent, "{stalls}");
        sent
    });
}

#[test]
fn an_interrupt_is_pending_and_not_counted_until_its_message_is_done() {
    let mut bench = Bench::new(1);
    bench.write(regs::MSIX_TABLE + 16 * 3 + 12, 0);
    bench.does = 0;
    for round in 0..3 {
        bench.pulse("s_irq_valid", &[("s_irq_vector", 3)]);
        bench.clocks(100);
        assert_eq!(bench.messages.len(), 1, "it is on its way");
        assert_eq!(bench.counter(Counter::Interrupts), 2 * round);
        // The next one waits until it is done.
        bench.pulse("s_irq_valid", &[("s_irq_vector", 3)]);
        bench.clocks(100);
        assert_eq!(bench.messages.len(), 1);
        assert_eq!(bench.read(regs::MSIX_PENDING), 1 << 3);
        bench.does = 100;
        bench.clocks(100);
        assert_eq!(bench.messages.len(), 2);
        assert_eq!(bench.read(regs::MSIX_PENDING), 0);
        assert_eq!(bench.counter(Counter::Interrupts), 2 * round + 2);
        bench.does = 0;
        bench.messages.clear();
    }
}

#[test]
fn addresses_are_decoded_by_the_size_of_bar0_as_built() {
    let mut bench = Bench::new(1);
    let bytes = regs::bar0_bytes(LQ as u8);
    assert_eq!(bytes, 0x2_0000);
    // BAR0 lies at any multiple of its size: what is above it is of no account.
    for base in [0, 1, 2, 64, 77, 127].map(|at| at * bytes) {
        assert_eq!(bench.read(base + u32::from(regs::ID.offset)), regs::MAGIC);
        bench.write(base + u32::from(regs::NODE.offset), base >> 16);
        assert_eq!(bench.get(&regs::NODE), base >> 16);
        bench.write(base + regs::doorbell(5, &regs::DOORBELL_SEND), 9);
        bench.clocks(10);
        assert_eq!(bench.doorbells.pop(), Some((5, 0, 9)), "{base:#x}");
        bench.write(base + regs::MSIX_TABLE, 0x1230);
        assert_eq!(bench.read(regs::MSIX_TABLE), 0x1230);
    }
    assert_eq!(bench.counter(Counter::BadWrite), 0);
}
