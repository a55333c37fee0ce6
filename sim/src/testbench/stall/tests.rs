//! The distributions themselves.

use super::*;

/// Lengths of the stalls of each port, a word always waiting, frames of `frame` words.
fn stalls(profile: Profile, ports: usize, frame: u32, clocks: u32) -> Vec<Vec<u32>> {
    let mut stalls = Stalls::new(profile, 7, ports);
    let mut lengths = vec![vec![]; ports];
    let mut since = vec![0; ports];
    let mut word = vec![0; ports];
    for _ in 0..clocks {
        stalls.clock();
        for port in 0..ports {
            if stalls.ready(port) {
                if since[port] > 0 {
                    lengths[port].push(since[port]);
                }
                since[port] = 0;
            } else {
                since[port] += 1;
            }
            let ready = stalls.ready(port);
            stalls.observe(port, true, word[port] + 1 == frame);
            if ready {
                word[port] = (word[port] + 1) % frame;
            }
        }
    }
    lengths
}

fn mean(lengths: &[u32]) -> f64 {
    f64::from(lengths.iter().sum::<u32>()) / lengths.len() as f64
}

#[test]
fn independent_stalls_are_short_and_as_frequent_as_asked() {
    let lengths = stalls(Profile::Independent(64), 1, 12, 100_000).remove(0);
    let stalled: u32 = lengths.iter().sum();
    assert!((24_000..26_000).contains(&stalled), "{stalled}");
    // This is why there are other profiles.
    assert!(lengths.iter().max() < Some(&26), "{lengths:?}");
}

#[test]
fn bursts_have_their_lengths_and_reach_26_clocks_and_5000() {
    let of = |gap, length| stalls(Profile::Bursts { gap, length }, 2, 12, 400_000);
    for lengths in of(60, Length::Geometric(40)) {
        assert!((mean(&lengths) - 40.0).abs() < 3.0, "{}", mean(&lengths));
        assert!(lengths.iter().filter(|&&n| n >= 26).count() > 1000);
        assert!(lengths.contains(&1));
    }
    for lengths in of(100, Length::Geometric(5_000)) {
        assert_eq!(lengths.iter().max(), Some(&LONGEST));
    }
    for lengths in of(40, Length::Fixed(27)) {
        assert!(lengths.iter().all(|&n| n == 27), "{lengths:?}");
        assert!(lengths.len() > 4_000);
    }
}

#[test]
fn ports_stall_on_their_own_or_all_at_once() {
    let length = Length::Geometric(150);
    let own = stalls(Profile::Bursts { gap: 200, length }, 3, 12, 50_000);
    assert!(own[0] != own[1] && own[1] != own[2]);
    let together = stalls(Profile::Together { gap: 200, length }, 3, 12, 50_000);
    assert!(together[0].len() > 50);
    assert!(together[0] == together[1] && together[1] == together[2]);
}

#[test]
fn a_word_every_13_clocks() {
    for lengths in stalls(Profile::OneIn(13), 3, 12, 13_000) {
        assert!(lengths.iter().skip(1).all(|&n| n == 12), "{lengths:?}");
        assert!(lengths.len() >= 999);
    }
}

/// Words, by number in their frame, at which a port has stood still.
fn stops(ports: usize, frame: u32, limit: u32) -> Vec<Vec<(u32, u32)>> {
    let mut stalls = Stalls::new(Profile::Freeze { limit }, 7, ports);
    let mut stops = vec![vec![]; ports];
    let mut word = vec![0; ports];
    let mut stopped = vec![false; ports];
    for _ in 0..20_000 {
        stalls.clock();
        for port in 0..ports {
            let ready = stalls.ready(port);
            if !ready {
                match stops[port].last_mut() {
                    Some((w, clocks)) if stopped[port] => {
                        assert_eq!(*w, word[port]);
                        *clocks += 1;
                    }
                    _ => stops[port].push((word[port], 1)),
                }
            }
            stopped[port] = !ready;
            stalls.observe(port, true, word[port] + 1 == frame);
            if ready {
                word[port] = (word[port] + 1) % frame;
            }
        }
    }
    stops
}

#[test]
fn a_single_port_stops_at_every_word_in_turn_for_the_limit() {
    let stops = stops(1, 5, 30).remove(0);
    for (n, &(word, clocks)) in stops.iter().take(50).enumerate() {
        assert_eq!((word, clocks), (n as u32 % 5, 30));
    }
}

#[test]
fn a_frozen_port_waits_for_a_whole_frame_of_each_other_port() {
    for (port, stops) in stops(3, 12, 300).into_iter().enumerate() {
        let mut words: Vec<u32> = stops.iter().map(|&(word, _)| word).collect();
        for &(word, clocks) in &stops[..stops.len() - 1] {
            assert!(
                (1..=24).contains(&clocks),
                "port {port}, word {word}: {clocks}"
            );
        }
        words.sort_unstable();
        words.dedup();
        assert_eq!(words, (0..12).collect::<Vec<_>>(), "port {port}");
    }
}

/// The others never send: the limit ends the stop, and a port without words passes its turn on.
#[test]
fn a_frozen_port_goes_on_without_the_others() {
    let mut stalls = Stalls::new(Profile::Freeze { limit: 30 }, 1, 2);
    let mut taken = 0;
    for _ in 0..1_000 {
        stalls.clock();
        taken += u32::from(stalls.ready(1));
        stalls.observe(0, false, false);
        stalls.observe(1, true, true);
    }
    assert!((500..900).contains(&taken), "{taken}");
}

#[test]
fn a_round_that_the_bench_reports_releases_the_port() {
    let mut stalls = Stalls::new(Profile::Freeze { limit: 30 }, 1, 1);
    stalls.clock();
    assert!(!stalls.ready(0));
    stalls.observe(0, true, true);
    stalls.round();
    stalls.clock();
    assert!(stalls.ready(0));
}

#[test]
fn a_seed_gives_the_same_stalls_again() {
    for seed in 0..PROFILES.len() as u64 {
        let run = || {
            let mut stalls = Stalls::of_seed(seed, 2);
            let clocks = (0..20_000).map(|_| {
                stalls.clock();
                stalls.observe(0, true, true);
                stalls.observe(1, true, false);
                (stalls.ready(0), stalls.ready(1))
            });
            clocks.collect::<Vec<_>>()
        };
        let once = run();
        assert_eq!(once, run());
        assert!(
            once.iter().any(|&(a, _)| a),
            "{}: nothing taken",
            Profile::of_seed(seed)
        );
    }
}

/// The patience that a profile asks of a bench covers the longest stall that a long run shows.
#[test]
fn no_word_waits_longer_than_the_profile_says() {
    for profile in PROFILES {
        let longest = stalls(profile, 3, 12, 200_000).into_iter().flatten().max();
        assert!(
            longest.unwrap_or(0) < profile.pause(),
            "{profile}: {longest:?}"
        );
    }
}
