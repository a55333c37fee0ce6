//! One simulation over several ranks: the same frames, results and counters to the bit, and ranks that end.

use std::sync::Arc;
use std::thread;

use anyhow::Result;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use tributary_protocol::red::{Counter, Op, Value, regs};
use tributary_sim::fabric::ranks::{Carrier, threads};
use tributary_sim::fabric::{
    Contribution, Fabric, GroupConfig, Kind, LinkSpec, Logged, Options, Sighting, Simulator,
    TreeSpec, capture,
};
use tributary_sim::testbench::seeds;

/// Everything that came of a run, as the first rank has it.
#[derive(Debug, PartialEq)]
struct Seen {
    frames: u64,
    in_use: u64,
    counters: Vec<u64>,
    registers: Vec<u32>,
    now: u64,
    log: Vec<Vec<Logged>>,
    sightings: Vec<Sighting>,
    capture: Vec<u8>,
}

/// What is simulated: a fabric, what becomes of its frames, and how long the ranks run at a time.
struct Plan {
    fabric: Arc<Fabric>,
    seed: u64,
    kind: Kind,
    rounds: u64,
}

impl Plan {
    /// A fabric with faults from a seed.
    fn random(seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut pick = |n: u64| rng.next_u64() % n;
        let shapes: [&[usize]; 4] = [&[4, 4], &[2, 3, 2], &[3, 5], &[2, 2, 2, 2]];
        let shape = shapes[pick(4) as usize];
        let mut fabric = Fabric::regular(shape, LinkSpec::default()).unwrap();
        let chance = |n| [0.0, 0.02, 0.1][n as usize];
        for cable in &mut fabric.cables {
            cable.link = LinkSpec {
                latency_clocks: 1 + [0, 20, 63, 300][pick(4) as usize],
                clocks_per_word: 1 + pick(2),
                reorder_clocks: [0, 0, 100][pick(3) as usize],
                loss: chance(pick(3)) / 4.0,
                duplication: chance(pick(3)),
                corruption: chance(pick(3)) / 4.0,
            };
        }
        Self {
            fabric: fabric.into(),
            seed,
            kind: Kind::Model,
            rounds: 4,
        }
    }

    /// What every rank does: reductions through the engines and between hosts, a cable that fails, registers, a further tree.
    fn run(&self, carrier: Option<Box<dyn Carrier>>) -> Result<Option<Seen>> {
        let options = Options {
            kind: self.kind,
            carrier,
            ..Options::default()
        };
        let mut sim = Simulator::build(self.fabric.clone(), self.seed, options)?;
        sim.record();
        let ends: Vec<usize> = (0..self.fabric.endpoints.len()).collect();
        let config = |number: u8| GroupConfig {
            reduction: number,
            cookie: 77 + u32::from(number),
            ..GroupConfig::default()
        };
        let mut groups = vec![
            sim.add_group(0, &config(0))?,
            sim.add_doubling(&ends, &config(1))?,
        ];
        let further = TreeSpec {
            id: 9,
            root: ends.len() - 1,
            root_contributes: true,
            members: (0..ends.len() - 1).step_by(2).collect(),
            entries: Vec::new(),
        };
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        for round in 0..self.rounds {
            if round == 1 {
                let tree = sim.add_tree(further.clone())?;
                groups.push(sim.add_group(tree, &config(2))?);
            }
            if self.kind == Kind::Model {
                // Every clock of a failure costs the Verilated ones a step.
                sim.set_cable(self.fabric.cables.len() - 1, round != 2)?;
            }
            let begin = sim.now() + 500;
            for (place, &group) in groups.iter().enumerate() {
                let group_round = if place == 2 { round - 1 } else { round };
                for endpoint in sim.group_endpoints(group).to_vec() {
                    let value = Value {
                        data: [(); 4].map(|()| rng.next_u64()),
                        ..Value::default()
                    };
                    let given = Contribution {
                        at: begin + rng.next_u64() % 50,
                        op: Op::FltSumNearest,
                        value,
                    };
                    sim.contribute(group, endpoint, group_round, given)?;
                }
            }
            let own: Vec<usize> = ends
                .iter()
                .copied()
                .filter(|&e| sim.has_endpoint(e))
                .collect();
            sim.run_while(begin + 400_000, |sim| {
                own.iter().any(|&e| !sim.is_over(0, e, round))
            })?;
        }
        let registers = (0..self.fabric.switches.len())
            .map(|switch| sim.read_register(switch, regs::UNICAST_ENTRY.offset));
        let registers = registers.collect::<Result<_>>()?;
        let counters = Counter::ALL
            .iter()
            .map(|&counter| sim.total(|sim| sim.counted(counter)));
        let counters = counters.collect::<Result<_>>()?;
        let (frames, in_use) = (
            sim.total(Simulator::frames)?,
            sim.total(|sim| sim.in_use() as u64)?,
        );
        if !sim.gather()? {
            return Ok(None);
        }
        Ok(Some(Seen {
            frames,
            in_use,
            counters,
            registers,
            now: sim.now(),
            log: sim.endpoints().iter().map(|e| e.log().to_vec()).collect(),
            capture: capture::write(Vec::new(), sim.fabric(), sim.sightings(), 6.4)?,
            sightings: sim.sightings().to_vec(),
        }))
    }

    /// The same on several ranks, each with a carrier of its own kind.
    fn on<C: Carrier + 'static>(&self, carriers: Vec<C>) -> Vec<Result<Option<Seen>>> {
        thread::scope(|scope| {
            let ranks = carriers.into_iter();
            let ranks: Vec<_> = ranks
                .map(|carrier| scope.spawn(move || self.run(Some(Box::new(carrier)))))
                .collect();
            ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
        })
    }

    fn of_first<C: Carrier + 'static>(&self, carriers: Vec<C>) -> Seen {
        let mut ranks = self.on(carriers).into_iter().map(Result::unwrap);
        let first = ranks.next().flatten().unwrap();
        assert!(ranks.all(|other| other.is_none()));
        first
    }
}

#[test]
fn cl_10_frames_results_and_counters_are_the_same_on_any_number_of_ranks() {
    let mut results = 0;
    for seed in seeds(12) {
        println!("seed {seed}");
        let plan = Plan::random(seed);
        let alone = plan.run(None).unwrap().unwrap();
        results += alone.log.iter().flatten().count();
        for ranks in 1..=plan.fabric.switches.len().min(5) {
            let together = plan.of_first(threads(ranks));
            assert!(
                together == alone,
                "seed {seed}, {ranks} ranks: {}",
                difference(&alone, &together)
            );
        }
    }
    assert!(results > 500, "{results}");
}

#[test]
fn cl_10_verilated_switches_on_two_ranks_do_as_on_one() {
    let mut fabric = Fabric::regular(&[2, 2], LinkSpec::default()).unwrap();
    // One of another kind between them.
    fabric.switches[1].kind = Some(Kind::Model);
    let plan = Plan {
        fabric: fabric.into(),
        seed: 5,
        kind: Kind::Rtl,
        rounds: 2,
    };
    let alone = plan.run(None).unwrap().unwrap();
    let together = plan.of_first(threads(2));
    assert!(together == alone, "{}", difference(&alone, &together));
    assert!(alone.counters[Counter::Results as usize] > 0);
}

/// The first frame that differs, or what else does.
fn difference(one: &Seen, other: &Seen) -> String {
    let frames = one.sightings.iter().zip(&other.sightings);
    match frames.enumerate().find(|(_, (a, b))| a != b) {
        Some((at, (a, b))) => format!("frame {at}: {a:?} and {b:?}"),
        None => format!(
            "{} and {} frames seen; clocks {} and {}; counters {:?} and {:?}",
            one.sightings.len(),
            other.sightings.len(),
            one.now,
            other.now,
            one.counters,
            other.counters
        ),
    }
}

/// A carrier that does something wrong.
struct Wrong<F> {
    inner: tributary_sim::fabric::ranks::ThreadCarrier,
    calls: u64,
    act: F,
}

impl<F: FnMut(u64, &mut Vec<Vec<u8>>) -> Result<()> + Send> Carrier for Wrong<F> {
    fn rank(&self) -> usize {
        self.inner.rank()
    }

    fn ranks(&self) -> usize {
        self.inner.ranks()
    }

    fn exchange(&mut self, mut messages: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>> {
        self.calls += 1;
        (self.act)(self.calls, &mut messages)?;
        self.inner.exchange(messages)
    }
}

fn wrong<F>(ranks: usize, mut act: impl FnMut(usize) -> F) -> Vec<Wrong<F>> {
    let carriers = threads(ranks).into_iter().enumerate();
    carriers
        .map(|(rank, inner)| Wrong {
            inner,
            calls: 0,
            act: act(rank),
        })
        .collect()
}

#[test]
fn cl_10_a_frame_that_is_held_back_is_noticed() {
    let plan = Plan::random(2);
    let alone = plan.run(None).unwrap().unwrap();
    // What the second rank tells the first comes a window late, once there was something to tell.
    let late = wrong(2, |rank| {
        let mut held: Option<Vec<u8>> = None;
        move |_, messages: &mut Vec<Vec<u8>>| {
            if rank == 1 && held.is_none() && messages[0].len() > 40 {
                held = Some(std::mem::replace(&mut messages[0], vec![0, 1, 0]));
            }
            Ok(())
        }
    });
    let seen = plan.on(late).into_iter().next().unwrap();
    assert!(seen.is_err() || seen.unwrap().unwrap() != alone);
}

#[test]
fn a_rank_that_ends_ends_all_with_its_number() {
    let plan = Plan::random(3);
    let ends = wrong(3, |rank| {
        move |calls, _: &mut Vec<Vec<u8>>| {
            anyhow::ensure!(rank != 1 || calls < 20, "this one is tired");
            Ok(())
        }
    });
    let ends = plan
        .on(ends)
        .into_iter()
        .map(|end| end.unwrap_err().to_string());
    let ends: Vec<_> = ends.collect();
    assert_eq!(ends[1], "this one is tired");
    assert!(
        ends[0].ends_with("has ended") && ends[2].ends_with("has ended"),
        "{ends:?}"
    );
}

#[test]
fn what_another_version_says_is_refused() {
    let plan = Plan::random(4);
    let garbage = wrong(2, |rank| {
        move |calls, messages: &mut Vec<Vec<u8>>| {
            if rank == 1 && calls == 5 {
                messages[0] = vec![0xff; 7];
            }
            Ok(())
        }
    });
    let first = plan.on(garbage).into_iter().next().unwrap();
    let error = first.unwrap_err().to_string();
    assert!(error.contains("another version"), "{error}");
}

#[test]
fn more_ranks_than_switches_are_refused() {
    let plan = Plan {
        fabric: Fabric::regular(&[2], LinkSpec::default()).unwrap().into(),
        seed: 1,
        kind: Kind::Model,
        rounds: 1,
    };
    let error = plan.on(threads(2)).into_iter().next().unwrap().unwrap_err();
    assert_eq!(
        error.to_string(),
        "2 ranks for 1 switches; each rank has at least one"
    );
}

#[test]
fn ranks_that_are_given_something_else_are_refused() {
    for other in 0..3 {
        let plans = [0, other].map(|what| {
            let mut plan = Plan::random(5);
            match what {
                1 => plan.seed += 1,
                2 => {
                    let mut fabric = (*plan.fabric).clone();
                    fabric.cables[0].link.latency_clocks += 1;
                    plan.fabric = fabric.into();
                }
                _ => {}
            }
            plan
        });
        let ends = thread::scope(|scope| {
            let ranks = plans.iter().zip(threads(2));
            let ranks: Vec<_> = ranks
                .map(|(plan, carrier)| scope.spawn(move || plan.run(Some(Box::new(carrier)))))
                .collect();
            let ends = ranks.into_iter().map(|rank| rank.join().unwrap());
            ends.collect::<Vec<_>>()
        });
        if other == 0 {
            assert!(ends.iter().all(Result::is_ok));
            continue;
        }
        let errors = ends.into_iter().map(|end| end.unwrap_err().to_string());
        assert!(
            errors
                .into_iter()
                .all(|error| error.contains("simulates another fabric"))
        );
    }
}
