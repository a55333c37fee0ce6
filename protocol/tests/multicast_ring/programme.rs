//! Both ways to make descriptors, beside each other and beside the vectors of another implementation.

use std::io::Read;

use tributary_protocol::multicast::ring::{Counts, Descriptor, Generator, Programme, Step, listed};
use tributary_protocol::multicast::{Algorithm, Schedule};

const VECTORS: &[u8] = include_bytes!("../data/rdmc/nic_program.csv.gz");

fn generated(n: u32, rank: u32, k: u32) -> Vec<Descriptor> {
    let generator = Generator::new(n, rank, k).unwrap();
    let mut programme = Programme::new(generator, n, Counts::default());
    let mut sent = Counts::default();
    std::iter::from_fn(|| programme.next(&mut sent)).collect()
}

fn written(n: u32, rank: u32, k: u32) -> Vec<Descriptor> {
    written_of(Algorithm::BinomialPipeline, n, rank, k)
}

fn written_of(algorithm: Algorithm, n: u32, rank: u32, k: u32) -> Vec<Descriptor> {
    let schedule = Schedule::new(algorithm, n, k).unwrap();
    listed(
        &schedule,
        rank,
        &mut Counts::default(),
        &mut Counts::default(),
    )
}

#[test]
fn mb_16_descriptors_are_those_of_another_implementation() {
    let mut text = String::new();
    flate2::read::GzDecoder::new(VECTORS)
        .read_to_string(&mut text)
        .unwrap();
    let mut of = (String::new(), 0, 0, 0);
    let mut own = Vec::new();
    let mut rows = 0;
    for line in text.lines().skip(1) {
        let name = line.split(',').next().unwrap().to_owned();
        let fields: Vec<i64> = line
            .split(',')
            .skip(1)
            .map(|f| f.parse().unwrap())
            .collect();
        let &[
            n,
            k,
            rank,
            sequence,
            step,
            to,
            block,
            _,
            source,
            received,
            credit,
        ] = &fields[..]
        else {
            panic!("{line}");
        };
        let key = (name, n, k, rank);
        if of != key {
            let (n, rank, k) = (n as u32, rank as u32, k as u32);
            own = match key.0.as_str() {
                "binomial" => generated(n, rank, k),
                "chain" => written_of(Algorithm::Chain, n, rank, k),
                "tree" => written_of(Algorithm::BinomialTree, n, rank, k),
                other => panic!("{other}"),
            };
            of = key;
        }
        let wanted = Descriptor {
            step: step as u32,
            to: to as u32,
            block: block as u32,
            source: u32::try_from(source).ok(),
            received: received as u32,
            credit: credit as u32,
        };
        assert_eq!(own[sequence as usize], wanted, "{line}");
        rows += 1;
    }
    assert!(rows == 3 * 1_843, "{rows} rows");
}

#[test]
fn mb_16_generator_and_schedule_give_the_same_stream() {
    for n in 1u32..=130 {
        let few = [1, 2, 3, 4, 5, 9, 1 + n % 31];
        for k in few {
            for rank in 0..n {
                assert_eq!(generated(n, rank, k), written(n, rank, k), "{n} {rank} {k}");
            }
        }
    }
    for (n, k) in [(255, 40), (256, 40), (300, 3), (1_000, 20), (1_024, 17)] {
        for rank in (0..n).step_by(37) {
            assert_eq!(generated(n, rank, k), written(n, rank, k), "{n} {rank} {k}");
        }
    }
    for (n, rank) in [(65_535, 40_000), (65_536, 65_535), (40_000, 7_233)] {
        assert_eq!(generated(n, rank, 64), written(n, rank, 64), "{n} {rank}");
    }
}

#[test]
fn mb_16_generator_and_schedule_receive_the_same() {
    for n in 1u32..=70 {
        for k in [1, 2, 3, 7, 20] {
            let schedule = Schedule::new(Algorithm::BinomialPipeline, n, k).unwrap();
            for rank in 0..n {
                let steps: Vec<Step> = Generator::new(n, rank, k).unwrap().collect();
                assert_eq!(steps.len() as u64, schedule.total_steps());
                for (t, step) in (0..).zip(steps) {
                    let wanted = Step {
                        send: schedule.send_at(rank, t),
                        receive: schedule.recv_at(rank, t),
                    };
                    assert_eq!(step, wanted, "{n} {rank} {k} step {t}");
                }
            }
        }
    }
}
