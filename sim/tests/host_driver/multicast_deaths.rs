//! Members of groups that die, and what becomes of the others. `MULTICAST_DEATHS=n` makes n random runs.

use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tributary_host_driver::multicast::{
    ByCards, Carried, Group, GroupOptions, MulticastError, Verdict,
};

use super::BAD;
use super::multicast::{bytes_of, cards, groups, options};

/// Numbers of the messages that a member has got, and their bytes.
type Got = Vec<Vec<u8>>;

struct Run {
    groups: Vec<Option<Group>>,
    got: Vec<Got>,
}

impl Run {
    /// Polls those that live; the number of rounds until `done`.
    fn until(&mut self, done: impl Fn(&Self) -> bool) -> usize {
        for round in 0..3_000_000 {
            if done(self) {
                return round;
            }
            self.poll();
        }
        let states: Vec<_> = self
            .groups
            .iter()
            .map(|g| g.as_ref().map(|g| (g.verdict().cloned(), g.counters())))
            .collect();
        panic!("survivors wait for ever: {states:?}");
    }

    fn poll(&mut self) {
        for (group, got) in self.groups.iter_mut().zip(&mut self.got) {
            if let Some(group) = group
                && let Ok(Some(message)) = group.poll()
            {
                assert_eq!(message.number() as usize, got.len());
                got.push(message.to_vec());
            }
        }
    }

    fn living(&self) -> impl Iterator<Item = &Group> {
        self.groups.iter().flatten()
    }
}

/// One run: a member dies at a random moment, by its process or by its card. Returns whether all ended well.
fn random_death(seed: u64, by_cards: bool) -> bool {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let count = random.random_range(2..=9);
    let (devices, domains) = cards(count, BAD);
    let resumable = random.random();
    let carried = match by_cards {
        false => Carried::ByHosts,
        true => Carried::ByCards(ByCards {
            lanes: random.random_range(1..=2),
            watchdog: Duration::from_micros(random.random_range(0..2) * 1_000),
            ..ByCards::default()
        }),
    };
    let options = GroupOptions {
        resumable,
        carried,
        ..options()
    };
    let mut run = Run {
        groups: groups(&domains, &options).into_iter().map(Some).collect(),
        got: vec![Vec::new(); count as usize],
    };
    let messages: Vec<Vec<u8>> = (0..random.random_range(1..4))
        .map(|_| {
            let length = random.random_range(0..40_000);
            bytes_of(&mut random, length)
        })
        .collect();
    let root = run.groups[0].as_mut().unwrap();
    for message in &messages {
        root.send(message).unwrap();
    }
    let closes = random.random();
    if closes {
        root.say_close().unwrap();
    }
    for _ in 0..random.random_range(0..2_500) {
        run.poll();
    }
    let victim = random.random_range(0..count as usize);
    let card_dies = random.random();
    if card_dies {
        devices[victim].remove();
    }
    let died = run.groups[victim].take().unwrap();
    let had_ended = run.living().any(|g| g.verdict().is_some());
    drop(died);
    run.until(|run| run.living().all(|g| g.verdict().is_some()));
    // Survivors agree, and what they are told is true.
    let verdicts: Vec<_> = run.living().map(|g| g.verdict().unwrap().clone()).collect();
    let first = &verdicts[0];
    // Some may have closed well and others not when the root dies while it tells them: nobody can then know.
    let split = closes && victim == 0;
    assert!(
        split || verdicts.iter().all(|v| v == first),
        "seed {seed}: {verdicts:?}"
    );
    for verdict in &verdicts {
        match verdict {
            Verdict::Success { messages: all } => {
                assert!(closes, "seed {seed}");
                assert_eq!(*all as usize, messages.len(), "seed {seed}");
                for (rank, group) in run.groups.iter_mut().enumerate().skip(1) {
                    let Some(group) = group else { continue };
                    while let Ok(Some(message)) = group.poll() {
                        run.got[rank].push(message.to_vec());
                    }
                    assert_eq!(run.got[rank].len(), messages.len(), "seed {seed}");
                }
            }
            Verdict::Failure {
                suspect,
                watermarks,
                ..
            } => {
                assert_eq!(*suspect as usize, victim, "seed {seed}");
                assert!(watermarks[victim].is_none(), "seed {seed}");
                assert!(!had_ended || split, "seed {seed}");
            }
        }
    }
    for (rank, group) in run.groups.iter_mut().enumerate() {
        let Some(group) = group else { continue };
        // What had been delivered comes out, then every call names the victim.
        while let Ok(Some(message)) = group.poll() {
            run.got[rank].push(message.to_vec());
        }
        if let Some(Verdict::Failure { watermarks, .. }) = group.verdict().cloned() {
            if rank != 0 {
                let watermark = watermarks[rank].unwrap() as usize;
                assert_eq!(watermark, run.got[rank].len(), "seed {seed}, rank {rank}");
            }
            for error in [group.poll().map(|_| ()), group.send(&[]).map(|_| ())] {
                let Err(MulticastError::Failed { rank, .. }) = error else {
                    panic!("seed {seed}: {error:?}");
                };
                assert_eq!(rank as usize, victim, "seed {seed}");
            }
        }
        for (got, right) in run.got[rank].iter().zip(&messages) {
            assert!(got == right, "seed {seed}, rank {rank}");
        }
    }
    let failed = verdicts
        .iter()
        .all(|v| matches!(v, Verdict::Failure { .. }));
    if resumable && failed && count > 2 {
        resume(seed, run, &messages, victim);
    } else {
        drop(run);
    }
    for (rank, domain) in domains.iter().enumerate() {
        let context = domain.context();
        if rank != victim {
            let left = (context.in_use(), context.open_groups());
            assert_eq!(left, ((0, 0), 0), "seed {seed}, rank {rank}");
        }
    }
    !failed
}

/// Survivors go on: what some have, all have then; and the new root sends.
fn resume(seed: u64, mut run: Run, messages: &[Vec<u8>], victim: usize) {
    let old_root_lives = victim != 0;
    let most = match old_root_lives {
        true => messages.len(),
        false => run.got.iter().map(Vec::len).max().unwrap(),
    };
    for group in &mut run.groups {
        *group = group.take().map(|group| group.resume().unwrap());
    }
    run.until(|run| run.living().all(Group::is_open));
    let more = vec![seed as u8; 5_000];
    let root = run.living().position(Group::is_root).unwrap();
    let place = (0..run.groups.len())
        .filter(|&rank| run.groups[rank].is_some())
        .nth(root)
        .unwrap();
    let root = run.groups[place].as_mut().unwrap();
    let number = root.send(&more).unwrap() as usize;
    root.say_close().unwrap();
    assert!(number >= most, "seed {seed}: {number} of {most}");
    run.until(|run| run.living().all(|g| g.verdict().is_some()));
    for (rank, group) in run.groups.iter_mut().enumerate() {
        let Some(group) = group else { continue };
        let messages_of = number as u32 + 1;
        assert_eq!(
            group.verdict(),
            Some(&Verdict::Success {
                messages: messages_of
            }),
            "seed {seed}"
        );
        while let Ok(Some(message)) = group.poll() {
            run.got[rank].push(message.to_vec());
        }
        let right = messages[..number].iter().chain([&more]);
        let own_sent = match (rank, rank == place) {
            // The old root has its messages from itself.
            (0, _) => continue,
            // The new one has not got its own.
            (_, true) => number,
            _ => number + 1,
        };
        assert_eq!(run.got[rank].len(), own_sent, "seed {seed}, rank {rank}");
        for (got, right) in run.got[rank].iter().zip(right) {
            assert!(got == right, "seed {seed}, rank {rank}");
        }
    }
}

#[test]
fn mb_12_mb_13_mb_14_random_deaths_end_every_call_with_a_true_verdict_and_survivors_resume() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let runs = number("MULTICAST_DEATHS").unwrap_or(40);
    let first = number("MULTICAST_SEED").unwrap_or(0);
    for seed in first..first + runs {
        println!("MULTICAST_SEED={seed} MULTICAST_DEATHS=1 replays this run");
        random_death(seed, false);
    }
}

#[test]
fn mb_12_mb_13_mb_14_mb_16_random_deaths_of_members_whose_cards_carry_the_blocks() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    if let Some(seed) = number("TRIBUTARY_SEED") {
        random_death(seed, true);
        return;
    }
    let runs = number("MULTICAST_DEATHS").unwrap_or(60);
    let mut well = 0;
    for seed in 0..runs {
        println!("TRIBUTARY_SEED={seed} replays this run");
        well += u64::from(random_death(seed, true));
    }
    println!("{well} of {runs} runs ended before the death");
    assert!(runs < 40 || (1..runs / 2).contains(&well));
}

#[test]
fn mb_14_only_groups_that_failed_and_kept_their_messages_are_resumed() {
    let (_, domains) = cards(3, BAD);
    let mut made = groups(&domains, &options());
    let open = made.remove(2);
    assert_eq!(
        open.resume().map(|_| ()).unwrap_err().to_string(),
        "the group has not ended with a failure: nothing is to be resumed"
    );
    let mut run = Run {
        groups: made.into_iter().map(Some).collect(),
        got: vec![Vec::new(); 2],
    };
    run.until(|run| run.living().all(|g| g.verdict().is_some()));
    let failed = run.groups[0].take().unwrap();
    assert_eq!(
        failed.resume().map(|_| ()).unwrap_err().to_string(),
        "the group was not made with `resumable`: its messages are not kept"
    );
}
