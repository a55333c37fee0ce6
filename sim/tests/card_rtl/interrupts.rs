//! Interrupts of Verilated cards, by the driver.

use std::sync::Arc;

use tributary_host_driver::{Context, Device, Options, SendRequest};
use tributary_sim::link::LinkConfig;

use super::{pair, seed};

const GOOD: LinkConfig = LinkConfig {
    delay_slots: 5,
    reorder_slots: 0,
    loss: 0.0,
    duplication: 0.0,
};

/// A reset clears the MSI-X table, and writes during it are lost: whoever sets vectors up must wait for its end.
#[test]
fn every_vector_interrupts_after_a_reset_of_the_card() {
    let devices = pair(GOOD, seed());
    // Opening resets the card.
    let options = Options { node: 0, mtu: 256 };
    let context = Context::open(Arc::new(devices[0].clone()), options).unwrap();
    let domain = context.alloc_pd().unwrap();
    for vector in 0..8 {
        let queue = context.create_cq(vector).unwrap();
        let pair = domain.create_qp(&queue).build().unwrap();
        pair.activate().unwrap();
        let before = devices[0].interrupts(vector).unwrap();
        // To itself, where no receive request is.
        pair.post_send(SendRequest::new(1, pair.address())).unwrap();
        let waits = || devices[0].interrupts(vector).unwrap() == before;
        queue.wait(std::time::Duration::from_micros(200)).unwrap();
        for _ in 0..100 {
            if waits() {
                devices[0].run(1);
            }
        }
        assert!(!waits(), "vector {vector}");
    }
    devices[0].check().unwrap();
}
