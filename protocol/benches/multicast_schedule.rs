//! Time of one query of a block schedule: `cargo bench -p tributary-protocol --bench multicast_schedule`.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput};
use tributary_protocol::multicast::{Algorithm, Schedule};

/// Queries of a batch: ranks and steps that jump about.
const QUERIES: u64 = 1_024;

fn places(schedule: &Schedule) -> Vec<(u32, u64)> {
    let (members, steps) = (u64::from(schedule.members()), schedule.total_steps());
    (0..QUERIES)
        .map(|i| ((i * 389 % members) as u32, i * 7_919 % steps))
        .collect()
}

fn queries(c: &mut Criterion) {
    let mut group = c.benchmark_group("query");
    group.throughput(Throughput::Elements(QUERIES));
    for (name, members) in [("power of two", 1_024), ("twins", 1_023), ("hybrid", 1_024)] {
        let schedule = match name {
            "hybrid" => Schedule::hybrid(&[32; 32], 1_000),
            _ => Schedule::new(Algorithm::BinomialPipeline, members, 1_000),
        }
        .expect("sizes are in range");
        let places = places(&schedule);
        group.bench_with_input(BenchmarkId::new("send_at", name), &places, |b, places| {
            b.iter(|| {
                for &(rank, step) in places {
                    black_box(schedule.send_at(black_box(rank), step));
                }
            });
        });
        group.bench_with_input(BenchmarkId::new("recv_at", name), &places, |b, places| {
            b.iter(|| {
                for &(rank, step) in places {
                    black_box(schedule.recv_at(black_box(rank), step));
                }
            });
        });
        group.bench_with_input(
            BenchmarkId::new("first_block", name),
            &places,
            |b, places| {
                b.iter(|| {
                    for &(rank, _) in places {
                        black_box(schedule.first_block(black_box(rank)));
                    }
                });
            },
        );
    }
    group.finish();
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    queries(&mut criterion);
    criterion.final_summary();
}
