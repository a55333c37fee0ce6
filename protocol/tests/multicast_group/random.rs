//! Random orders of events in larger groups. `TRIBUTARY_SEED` runs one seed and prints its steps, `TRIBUTARY_RUNS` sets how
//! many seeds there are.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tributary_protocol::multicast::Algorithm;

use super::world::{Scenario, Step, World};

pub fn from_env(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name}={text}: not a number")),
    )
}

/// Whether anyone died. Prints each step if `shown`.
fn run(seed: u64, shown: bool) -> Result<bool, String> {
    Ok(!to_the_end(seed, shown)?.0.dead.is_empty())
}

/// A run until nothing happens any more, and what it was about.
pub fn to_the_end(seed: u64, shown: bool) -> Result<(World, Scenario), String> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let members = rng.random_range(2..=9);
    let messages = (0..rng.random_range(0..4))
        .map(|_| rng.random_range(0..60))
        .collect::<Vec<u64>>();
    let mut scenario = Scenario::new(members, &messages);
    scenario.config.credits = rng.random_range(2..=5);
    scenario.deaths = rng.random_range(0..5).min(members as u8 - 1);
    scenario.config.algorithm = Algorithm::ALL[rng.random_range(0..5)];
    if scenario.config.algorithm == Algorithm::Hybrid {
        let first = rng.random_range(1..=members);
        let racks = [first, members - first];
        scenario.config.racks = racks.into_iter().filter(|&size| size > 0).collect();
    }
    // Deaths come in a row, spread over the run, or near its end.
    let deadly = [2, 40, 400][rng.random_range(0..3)];
    let mut world = World::new(&scenario)?;
    loop {
        let steps = world.steps(&scenario);
        let wait: Vec<Step> = steps
            .iter()
            .copied()
            .filter(|step| !matches!(step, Step::Death(_)))
            .collect();
        if World::is_at_rest(&steps) {
            world.check_rest()?;
            return Ok((world, scenario));
        }
        let deaths = steps.len() - wait.len();
        let step = match deaths > 0 && rng.random_range(0..deadly) == 0 {
            true => steps[wait.len() + rng.random_range(0..deaths)],
            false => wait[rng.random_range(0..wait.len())],
        };
        if shown {
            println!("{}", world.describe(step));
        }
        world.take(&scenario, step)?;
    }
}

#[test]
fn mb_11_mb_12_mb_13_random_deaths_give_no_wrong_verdict() {
    let runs = from_env("TRIBUTARY_RUNS").unwrap_or(4_000);
    if let Some(seed) = from_env("TRIBUTARY_SEED") {
        run(seed, true).unwrap_or_else(|e| panic!("TRIBUTARY_SEED={seed}: {e}"));
        return;
    }
    let mut deadly = 0;
    for seed in 0..runs {
        let died = run(seed, false).unwrap_or_else(|e| panic!("TRIBUTARY_SEED={seed}: {e}"));
        deadly += u64::from(died);
    }
    println!("{deadly} runs with deaths");
    assert!(deadly > runs / 4);
}
