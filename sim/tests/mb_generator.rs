//! `mb_generator` in Verilator against its model, and against descriptors of another implementation.
//!
//! `MB_SEED` repeats a random run, `MB_RUNS` is the number of messages in it.

use std::collections::BTreeMap;
use std::io::Read;
use std::sync::OnceLock;

use rand::{RngExt, SeedableRng, rngs::SmallRng};
use tributary_hdl::catalog;
use tributary_protocol::multicast::ring::{Generator, Step};
use tributary_protocol::multicast::{Receive, Send};
use tributary_sim::testbench::{Profile, Stalls};
use tributary_sim::verilate::{BuildOptions, Model, Port, Verilated};

const VECTORS: &[u8] = include_bytes!("../../protocol/tests/data/rdmc/nic_program.csv.gz");

/// Clocks from one step to the next, if it is taken at once; and of a message beside its steps and dimensions.
const STEP: u64 = 5;
const BEFORE: u64 = 3;

/// What stands before an expression, the expression and a wrong one. All are in one model: the port `wrong` chooses one.
const MUTATIONS: &[(&str, &str, &str, &str)] = &[
    ("nothing comes in at the top", "| ", "top_reg", "16'd0"),
    (
        "no odd rounds",
        "partner_changed = ",
        "odd_round_reg ^ changed_reg",
        "changed_reg",
    ),
    (
        "twins never change",
        "changed_reg <= ",
        "changed_reg ^ rotated_reg[0]",
        "changed_reg",
    ),
    (
        "last block not again",
        "",
        "even_block_reg < {2'd0, last_block_reg}",
        "even_block_reg != 22'd0",
    ),
    ("sends to the root", "& ", "!even_is_root_reg", "1'b1"),
    (
        "only block inside",
        "",
        "(is_last_reg & (last_block_reg == 20'd0))",
        "1'b0",
    ),
    (
        "no last step",
        "is_last_reg <= ",
        "(twins_reg != 16'd0)",
        "1'b0",
    ),
    (
        "root is no root",
        "even_is_root_reg <= ",
        "even == 16'd0",
        "1'b0",
    ),
];

fn library() -> &'static Verilated {
    static LIBRARY: OnceLock<Verilated> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let chosen = catalog::choose("mb_generator", &[] as &[(&str, usize)]);
        let design = chosen.unwrap().emit().unwrap();
        Verilated::build(&BuildOptions::new(&design.top, &design.files()).with_checks()).unwrap()
    })
}

struct Bench {
    model: Model,
    ports: BTreeMap<&'static str, Port>,
    clocks: u64,
}

impl Bench {
    fn of(library: &Verilated) -> Self {
        let mut model = library.model().unwrap();
        let ports = [
            "s_valid",
            "s_ready",
            "s_members",
            "s_rank",
            "s_blocks",
            "m_valid",
            "m_ready",
            "m_step",
            "m_send",
            "m_to",
            "m_send_block",
            "m_receive",
            "m_from",
            "m_receive_block",
            "done",
        ];
        let ports = ports.map(|name| (name, model.port(name).unwrap()));
        model.reset(2).unwrap();
        Self {
            model,
            ports: ports.into(),
            clocks: 0,
        }
    }

    fn set(&mut self, name: &str, value: u64) {
        self.model.set(self.ports[name], value);
    }

    fn get(&self, name: &str) -> u64 {
        self.model.get(self.ports[name])
    }

    fn clock(&mut self) {
        self.model.clock().unwrap();
        self.clocks += 1;
    }

    fn shown(&self) -> (u64, Step) {
        let number = |name| self.get(name) as u32;
        let step = Step {
            send: (self.get("m_send") == 1).then(|| Send {
                to: number("m_to"),
                block: number("m_send_block"),
            }),
            receive: (self.get("m_receive") == 1).then(|| Receive {
                from: number("m_from"),
                block: number("m_receive_block"),
            }),
        };
        (self.get("m_step"), step)
    }

    /// The steps of a message, and an error if it does not end.
    fn run(
        &mut self,
        (members, rank, blocks): (u32, u32, u32),
        mut takes: impl FnMut() -> bool,
    ) -> Result<Vec<Step>, String> {
        let patience = 300 * (u64::from(blocks.min(1 << 20)) + 40);
        self.set("s_valid", 1);
        self.set("s_members", members.into());
        self.set("s_rank", rank.into());
        self.set("s_blocks", blocks.into());
        self.model.eval().unwrap();
        assert_eq!(self.get("s_ready"), 1);
        self.clock();
        self.set("s_valid", 0);
        let mut steps = Vec::new();
        let mut before = None;
        for _ in 0..patience {
            let ready = takes();
            self.set("m_ready", ready.into());
            self.model.eval().unwrap();
            if self.get("done") == 1 {
                self.set("m_ready", 0);
                return Ok(steps);
            }
            if self.get("m_valid") == 1 {
                let shown = self.shown();
                // What waits does not change.
                if before.is_some_and(|before| before != shown) {
                    return Err(format!("{before:?}, then {shown:?}"));
                }
                before = Some(shown);
                if ready {
                    if shown.0 != steps.len() as u64 {
                        return Err(format!("step {} behind {}", shown.0, steps.len()));
                    }
                    steps.push(shown.1);
                    before = None;
                }
            }
            self.clock();
        }
        Err("it does not end".into())
    }
}

fn check(
    bench: &mut Bench,
    message: (u32, u32, u32),
    takes: impl FnMut() -> bool,
) -> Result<(), String> {
    let (members, rank, blocks) = message;
    let wanted: Vec<Step> = match Generator::new(members, rank, blocks) {
        Ok(generator) => generator.collect(),
        Err(_) => Vec::new(),
    };
    let found = bench.run(message, takes)?;
    match found == wanted {
        true => Ok(()),
        false => Err(format!("{message:?}: {found:?}, not {wanted:?}")),
    }
}

#[test]
fn mb_16_the_generator_in_rtl_gives_the_stream_of_its_model_for_every_small_group() {
    let mut bench = Bench::of(library());
    for members in 2..=34 {
        for blocks in [1, 2, 3, 4, 7, 12] {
            for rank in 0..members {
                check(&mut bench, (members, rank, blocks), || true).unwrap();
            }
        }
    }
    // Large ones, at both sides of powers of two.
    for members in [255, 256, 257, 1_024, 32_767, 32_768, 65_535, 65_536] {
        for rank in [
            0,
            1,
            2,
            members / 2,
            members / 2 + 1,
            members - 2,
            members - 1,
        ] {
            check(&mut bench, (members, rank, 40), || true).unwrap();
        }
    }
    check(&mut bench, (3, 2, 1 << 20), || true).unwrap();
}

#[test]
fn mb_16_the_generator_in_rtl_takes_five_clocks_a_step() {
    let mut bench = Bench::of(library());
    for (members, dimensions) in [(2, 1), (5, 2), (65_536, 16)] {
        let begin = bench.clocks;
        let steps = bench.run((members, 1, 100), || true).unwrap().len() as u64;
        assert_eq!(bench.clocks - begin, BEFORE + dimensions + STEP * steps);
    }
}

#[test]
fn mb_16_sizes_out_of_range_have_no_steps_and_the_next_message_has() {
    let mut bench = Bench::of(library());
    for message in [
        (0, 0, 5),
        (1, 0, 5),
        (4, 4, 5),
        (4, 60_000, 5),
        (4, 1, 0),
        (4, 1, (1 << 20) + 1),
        (4, 1, (1 << 21) - 1),
        (65_537, 3, 5),
        ((1 << 17) - 1, 3, 5),
    ] {
        assert_eq!(bench.run(message, || true).unwrap(), [], "{message:?}");
        check(&mut bench, (6, 3, 5), || true).unwrap();
    }
}

#[test]
fn mb_16_random_messages_under_every_stall_profile_give_the_same_stream() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let first: u64 = number("MB_SEED").unwrap_or(0);
    let runs: u64 = number("MB_RUNS").unwrap_or(400);
    let mut bench = Bench::of(library());
    for seed in first..first + runs {
        let mut random = SmallRng::seed_from_u64(seed);
        let members = 1 << random.random_range(1..17u32);
        let members: u32 = random.random_range(members / 2 + 1..=members).max(2);
        let message = (
            members,
            random.random_range(0..members),
            random.random_range(1..40),
        );
        let mut stalls = Stalls::of_seed(seed, 1);
        let profile: Profile = stalls.profile();
        check(&mut bench, message, || stalls.moves())
            .unwrap_or_else(|error| panic!("MB_SEED={seed} MB_RUNS=1, {profile:?}: {error}"));
    }
}

#[test]
fn mb_16_the_generator_in_rtl_sends_what_another_implementation_sends() {
    let mut text = String::new();
    flate2::read::GzDecoder::new(VECTORS)
        .read_to_string(&mut text)
        .unwrap();
    let mut wanted: BTreeMap<(u32, u32, u32), Vec<(u32, Send)>> = BTreeMap::new();
    for line in text.lines().skip(1).filter(|l| l.starts_with("binomial,")) {
        let fields = line.split(',').skip(1).take(6);
        let fields: Vec<u32> = fields.map(|field| field.parse().unwrap()).collect();
        let [members, blocks, rank, _, step] = fields[..5] else {
            panic!("{line}");
        };
        let mut more = line.split(',').skip(6);
        let mut next = || more.next().unwrap().parse().unwrap();
        let send = Send {
            to: next(),
            block: next(),
        };
        let of = wanted.entry((members, rank, blocks)).or_default();
        of.push((step, send));
    }
    let mut bench = Bench::of(library());
    let mut sends = 0;
    for (message, wanted) in wanted {
        let steps = bench.run(message, || true).unwrap();
        let found = (0..)
            .zip(steps)
            .filter_map(|(at, step)| Some((at, step.send?)));
        let found: Vec<(u32, Send)> = found.collect();
        assert_eq!(found, wanted, "{message:?}");
        sends += found.len();
    }
    assert_eq!(sends, 1_843);
}

#[test]
fn mb_16_wrong_generators_are_noticed() {
    let design = catalog::choose("mb_generator", &[] as &[(&str, usize)]);
    let design = design.unwrap().emit().unwrap();
    let mut files: Vec<(String, String)> = design
        .files()
        .into_iter()
        .map(|(n, t)| (n.to_string(), t.to_string()))
        .collect();
    let (_, text) = files
        .iter_mut()
        .find(|(name, _)| name.starts_with("mb_generator"))
        .unwrap();
    for (number, (name, before, right, wrong)) in (1..).zip(MUTATIONS) {
        let place = format!("{before}{right}");
        assert!(text.contains(&place), "{name}: nowhere {place}");
        let either = format!("{before}((wrong == 4'd{number}) ? ({wrong}) : ({right}))");
        *text = text.replace(&place, &either);
    }
    let clock = text
        .lines()
        .find(|line| line.contains("input") && line.contains("clk"));
    let clock = clock.unwrap().to_owned();
    let both = format!("{}\n{clock}", clock.replace("clk", "[3:0] wrong"));
    *text = text.replacen(&clock, &both, 1);
    let library = Verilated::build(&BuildOptions::new(&design.top, &files)).unwrap();
    let noticed = |wrong: u64| {
        let mut bench = Bench::of(&library);
        let port = bench.model.port("wrong").unwrap();
        bench.model.set(port, wrong);
        let small = (2..=9).flat_map(|n| (0..n).flat_map(move |r| [(n, r, 1), (n, r, 5)]));
        small
            .into_iter()
            .find_map(|message| check(&mut bench, message, || true).err())
    };
    assert_eq!(noticed(0), None);
    for (number, (name, ..)) in (1..).zip(MUTATIONS) {
        let error = noticed(number);
        assert!(error.is_some(), "{name} is not noticed");
    }
}
