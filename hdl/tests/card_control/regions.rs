//! Regions against arithmetic on 128 bits.

use crate::bench::{Dice, Fault, Rtl, build, seeds, with_faults};
use std::collections::VecDeque;
use std::sync::OnceLock;
use tributary_hdl::card::CardRegions;
use tributary_hdl::emit::emit_block;
use tributary_sim::verilate::Verilated;

/// log2 of the regions.
const LR: usize = 4;
/// Clocks from an access to its answer.
const LATENCY: usize = 6;

#[derive(Clone, Copy, Debug, Default)]
struct Region {
    present: bool,
    variant: u8,
    /// local_write 0, remote_write 1, remote_read 2, remote_atomic 3.
    rights: u8,
    pd: u16,
    base: u64,
    length: u64,
}

#[derive(Clone, Copy, Debug)]
struct Access {
    key: u32,
    pd: u16,
    addr: u64,
    len: u16,
    /// Rights that it needs; of ports a and b local_write alone.
    need: u8,
}

fn library() -> &'static Verilated {
    static LIBRARY: OnceLock<Verilated> = OnceLock::new();
    LIBRARY.get_or_init(|| build(CardRegions::<LR>::default()))
}

/// What docs/card.md says.
fn allowed(regions: &[Region], access: &Access) -> bool {
    if access.len == 0 {
        return true;
    }
    let Some(region) = regions.get((access.key >> 8) as usize) else {
        return false;
    };
    let end = u128::from(access.addr) + u128::from(access.len);
    region.present
        && region.variant == access.key as u8
        && region.pd == access.pd
        && (access.need & !region.rights == 0)
        && access.addr >= region.base
        && end <= u128::from(region.base) + u128::from(region.length)
        && end <= 1 << 64
}

/// Names of the inputs and outputs of a port.
struct Names([&'static str; 8]);

const PORTS: [Names; 3] = [
    Names([
        "a_s_valid",
        "a_s_key",
        "a_s_pd",
        "a_s_addr",
        "a_s_len",
        "a_s_write",
        "a_m_valid",
        "a_m_ok",
    ]),
    Names([
        "b_s_valid",
        "b_s_key",
        "b_s_pd",
        "b_s_addr",
        "b_s_len",
        "b_s_write",
        "b_m_valid",
        "b_m_ok",
    ]),
    Names([
        "c_s_valid",
        "c_s_key",
        "c_s_pd",
        "c_s_addr",
        "c_s_len",
        "c_s_need",
        "c_m_valid",
        "c_m_ok",
    ]),
];

struct Bench {
    rtl: Rtl,
    dice: Dice,
    /// As the lookups of the next clock see them.
    regions: Vec<Region>,
    /// Set one clock ago: written now, so an access of it is refused.
    fresh: Option<(usize, Region)>,
    due: [VecDeque<Option<(Access, bool)>>; 3],
    answers: [u64; 2],
}

impl Bench {
    fn new(library: &Verilated, seed: u64) -> Self {
        let mut rtl = Rtl::new(library, seed);
        for port in &PORTS {
            rtl.set(port.0[0], 0u8);
        }
        rtl.set("set_valid", 0u8);
        rtl.reset(2);
        let due = || (0..LATENCY).map(|_| None).collect();
        Self {
            rtl,
            dice: Dice::new(seed),
            regions: vec![Region::default(); 1 << LR],
            fresh: None,
            due: [due(), due(), due()],
            answers: [0; 2],
        }
    }

    /// One clock with these accesses and this set.
    fn clock(
        &mut self,
        accesses: [Option<Access>; 3],
        set: Option<(usize, Region)>,
    ) -> Result<(), String> {
        for (port, access) in PORTS.iter().zip(accesses) {
            let noise = Access {
                key: self.dice.bits(32) as u32,
                pd: self.dice.bits(16) as u16,
                addr: self.dice.bits(64),
                len: self.dice.bits(13) as u16,
                need: self.dice.bits(1) as u8,
            };
            let a = access.unwrap_or(noise);
            let n = &port.0;
            self.rtl.set(n[0], access.is_some());
            self.rtl.set(n[1], a.key);
            self.rtl.set(n[2], a.pd);
            self.rtl.set(n[3], a.addr);
            self.rtl.set(n[4], a.len);
            self.rtl.set(n[5], a.need);
        }
        self.rtl.set("set_valid", set.is_some());
        if let Some((index, region)) = set {
            self.rtl.set("set_index", index as u64);
            self.rtl.set("set_present", region.present);
            self.rtl.set("set_variant", region.variant);
            self.rtl.set("set_local_write", region.rights & 1);
            self.rtl.set("set_remote", region.rights >> 1);
            self.rtl.set("set_pd", region.pd);
            self.rtl.set("set_base", region.base);
            self.rtl.set("set_length", region.length);
        }
        for (i, access) in accesses.into_iter().enumerate() {
            let fresh = |a: &Access| {
                let index = (a.key >> 8) as usize;
                a.len > 0 && self.fresh.is_some_and(|(written, _)| written == index)
            };
            let verdict = access.map(|a| (a, !fresh(&a) && allowed(&self.regions, &a)));
            self.due[i].push_back(verdict);
        }
        if let Some((index, region)) = self.fresh.take() {
            self.regions[index] = region;
        }
        self.fresh = set;
        self.rtl.clock();
        for (i, port) in PORTS.iter().enumerate() {
            self.due[i].pop_front();
            let want = self.due[i].front().copied().flatten();
            let valid = self.rtl.is(port.0[6]);
            if valid != want.is_some() {
                return Err(format!("port {i}: valid {valid} at clock {}", self.rtl.now));
            }
            if let Some((access, ok)) = want {
                self.answers[usize::from(ok)] += 1;
                if self.rtl.is(port.0[7]) != ok {
                    let region = self.regions.get((access.key >> 8) as usize);
                    return Err(format!("{access:x?} must be {ok}, {region:x?}"));
                }
            }
        }
        Ok(())
    }

    fn region(&mut self) -> Region {
        let length = match self.dice.below(6) {
            0 => 1,
            1 => 4096,
            2 => self.dice.bits(13),
            3 => self.dice.bits(33),
            4 => 1 << 32,
            _ => self.dice.bits(64),
        };
        let base = match self.dice.below(5) {
            0 => 0u64.wrapping_sub(length),
            1 => (self.dice.bits(8) << 32).wrapping_sub(self.dice.bits(12)),
            2 => self.dice.bits(20),
            _ => self.dice.bits(64),
        };
        Region {
            present: self.dice.chance(90),
            variant: self.dice.bits(1) as u8 * 0x5a,
            rights: self.dice.of(&[15, 15, 15, 15, 14, 13, 11, 7, 1, 0]),
            pd: self.dice.bits(1) as u16 * 0x8001,
            base,
            length,
        }
    }

    /// Mostly of a region that is there, at its bounds.
    fn access(&mut self) -> Access {
        let index = self.dice.below(1 << LR) as usize;
        let region = self.regions[index];
        let len = match self.dice.below(6) {
            0 => 0,
            1 => 1,
            2 => region.length.min(8191),
            _ => self.dice.bits(13),
        };
        let end = region.base.wrapping_add(region.length);
        let near = self.dice.of(&[0u64, 0, 0, 1, u64::MAX, 4096, 1 << 32]);
        let addr = match self.dice.below(5) {
            0 => region.base.wrapping_add(near),
            1 | 2 => end.wrapping_sub(len).wrapping_add(near),
            3 => region
                .base
                .wrapping_add(self.dice.below(region.length.max(1))),
            _ => self.dice.of(&[self.dice_top(), region.base ^ 1 << 63]),
        };
        let mut key = (index as u32) << 8 | u32::from(region.variant);
        if self.dice.chance(5) {
            key ^= 1 << self.dice.below(32);
        }
        let mut pd = region.pd;
        if self.dice.chance(5) {
            pd ^= 1 << self.dice.below(16);
        }
        Access {
            key,
            pd,
            addr,
            len: len as u16,
            need: u8::from(self.dice.chance(30)),
        }
    }

    /// An address close to the end of the address space.
    fn dice_top(&self) -> u64 {
        u64::MAX - self.rtl.now % 9000
    }

    fn random(&mut self, clocks: u64, busy: u32, sets: u32) -> Result<(), String> {
        for _ in 0..clocks {
            let a = self.dice.chance(busy).then(|| self.access());
            let b = self.dice.chance(busy).then(|| self.access());
            let need = self.dice.of(&[0, 1, 2, 2, 4, 4, 8, 8]);
            let c = self.dice.chance(busy).then(|| Access {
                need,
                ..self.access()
            });
            let index = self.dice.below(1 << LR) as usize;
            let set = self.dice.chance(sets).then(|| (index, self.region()));
            self.clock([a, b, c], set)?;
        }
        Ok(())
    }

    /// All of the table is known.
    fn fill(&mut self) -> Result<(), String> {
        for _ in 0..1 << LR {
            self.clock([None; 3], None)?;
        }
        for index in 0..1 << LR {
            let region = self.region();
            self.clock([None; 3], Some((index, region)))?;
        }
        self.clock([None; 3], None)
    }
}

#[test]
fn regions_allow_exactly_what_lies_in_them_to_the_byte() {
    for seed in seeds(4) {
        let mut bench = Bench::new(library(), seed);
        let fail = |e| panic!("seed {seed}: {e}");
        bench.fill().unwrap_or_else(fail);
        // Every port takes an access a clock.
        bench.random(10_000, 100, 0).unwrap_or_else(fail);
        bench.random(10_000, 60, 3).unwrap_or_else(fail);
        let [refused, fine] = bench.answers;
        assert!(refused > 5_000 && fine > 5_000, "{refused} and {fine}");
    }
}

#[test]
fn regions_are_absent_after_reset_and_an_empty_access_is_always_fine() {
    let mut bench = Bench::new(library(), 7);
    let all = Region {
        present: true,
        rights: 1,
        length: u64::MAX,
        ..Region::default()
    };
    let access = |index: u32, len| Access {
        key: index << 8,
        pd: 0,
        addr: 0,
        len,
        need: 1,
    };
    bench.fill().unwrap();
    for index in 0..1 << LR {
        bench.clock([None; 3], Some((index, all))).unwrap();
    }
    bench.clock([None; 3], None).unwrap();
    for index in 0..1 << LR {
        let ports = [Some(access(index, 1)), Some(access(index, 8191)), None];
        bench.clock(ports, None).unwrap();
    }
    for _ in 0..LATENCY {
        bench.clock([None; 3], None).unwrap();
    }
    bench.rtl.reset(1);
    bench.regions.fill(Region::default());
    // While the table is cleared, and after.
    for index in 0..40 {
        let ports = [Some(access(index, 1)), Some(access(index % 16, 0)), None];
        bench.clock(ports, None).unwrap();
        let ports = [Some(access(15, 0)), Some(access(15, 1)), None];
        bench.clock(ports, None).unwrap();
    }
}

/// Wrong lookups, and that the stream above notices each.
#[test]
fn regions_with_a_fault_are_noticed() {
    const FAULTS: &[Fault] = &[
        ("begin of the region", "!s4_offset_reg[32]", "1'b1"),
        (
            "end of the region",
            "s4_left_reg[12:0] >= s4_len_reg",
            "s4_left_reg[12:0] > s4_len_reg",
        ),
        (
            "end of the address space",
            "s1_end_reg > HALF",
            "s1_end_reg == 14'd1",
        ),
        ("rights", "|(s2_need_reg & ~entry[155:152])", "1'b0"),
    ];
    let design = emit_block(&mut CardRegions::<LR>::default()).unwrap();
    let library = with_faults(&design, FAULTS);
    for (i, (name, _, _)) in FAULTS.iter().enumerate() {
        let mut bench = Bench::new(&library, 1);
        bench.rtl.set("fault", i as u64 + 1);
        let run = bench.fill().and_then(|()| bench.random(20_000, 80, 5));
        assert!(run.is_err(), "{name} was not noticed");
    }
}
