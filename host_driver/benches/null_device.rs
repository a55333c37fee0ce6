//! What the driver itself costs: post and poll against a device that completes every work request at its doorbell.
//!
//! `cargo bench -p tributary-host-driver`. The figures include the device, which reads and writes the rings as a card would. They are
//! processor time of the thread, so that what else runs on the machine counts little.

mod null;

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use criterion::measurement::{Measurement, ValueFormatter, WallTime};
use criterion::{Criterion, Throughput};
use tributary_host_driver::{Access, AddressHandle, Context, Options, SendRequest};

use null::{NullDevice, thread_time};

/// Processor time of this thread.
struct ThreadTime;

impl Measurement for ThreadTime {
    type Intermediate = Duration;
    type Value = Duration;

    fn start(&self) -> Duration {
        thread_time()
    }

    fn end(&self, start: Duration) -> Duration {
        self.start().saturating_sub(start)
    }

    fn add(&self, a: &Duration, b: &Duration) -> Duration {
        *a + *b
    }

    fn zero(&self) -> Duration {
        Duration::ZERO
    }

    fn to_f64(&self, value: &Duration) -> f64 {
        value.as_nanos() as f64
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        WallTime.formatter()
    }
}

fn post_and_poll(c: &mut Criterion<ThreadTime>) {
    let context = Context::open(Arc::new(NullDevice::default()), Options::default()).unwrap();
    let domain = context.alloc_pd().unwrap();
    let queue = context.create_cq(0).unwrap();
    let pair = domain.create_qp(&queue).max_send_wr(64).build().unwrap();
    pair.activate().unwrap();
    let to = AddressHandle::new(1, 1).unwrap();
    let region = domain.reg_mr(64 * 64, Access::LOCAL_READ).unwrap();
    let mut buffers: Vec<_> = std::iter::from_fn(|| region.alloc(64)).collect();
    let mut done = Vec::with_capacity(64);
    let mut group = c.benchmark_group("post_and_poll");
    for batch in [1, 16, 64] {
        group.throughput(Throughput::Elements(batch));
        group.bench_function(format!("batch_{batch}"), |b| {
            b.iter(|| {
                let mut posting = pair.batch();
                for id in 0..batch {
                    let buffer = buffers.pop().unwrap();
                    posting
                        .send(SendRequest::new(id, to).buffer(buffer))
                        .unwrap();
                }
                posting.ring().unwrap();
                let found = queue.poll(&mut done, 64).unwrap();
                assert_eq!(found as u64, batch);
                buffers.extend(done.drain(..).filter_map(|done| black_box(done).buffer));
            });
        });
    }
    group.finish();
}

fn main() {
    let mut criterion = Criterion::default()
        .with_measurement(ThreadTime)
        .configure_from_args();
    post_and_poll(&mut criterion);
    criterion.final_summary();
}
