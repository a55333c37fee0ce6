//! card_ack_merge.

use rand::RngExt;
use tributary_hdl::card::CardAckMerge;
use tributary_hdl::emit::emit_block;
use tributary_protocol::xud::wire::ONE_SIDED;
use tributary_sim::testbench::seeds;
use tributary_sim::verilate::{BuildOptions, Verilated};

use super::ports::{Group, rng};

/// A claim or an end goes first, with the flags of one-sided operations; an acknowledgement comes as it is.
#[test]
fn xud_13_claims_and_ends_pass_in_front_of_acknowledgements_field_by_field() {
    // Nothing is held here, so an acknowledgement may give way: no watch over what is offered.
    let design = emit_block(&mut CardAckMerge::default()).unwrap();
    let library = Verilated::build(&BuildOptions::new(&design.top, &design.files())).unwrap();
    let [a, b, m] = ["a", "b", "m"].map(|prefix| Group::of(&library, prefix));
    for seed in seeds(4) {
        let (mut rng, mut model) = (rng(seed), library.model().unwrap());
        for round in 0..2_000 {
            let [offers_a, offers_b, ready]: [bool; 3] = rng.random();
            let (from_a, from_b) = (a.draw(&mut rng), b.draw(&mut rng));
            a.offer(&mut model, &mut rng, Some(&from_a).filter(|_| offers_a));
            b.offer(&mut model, &mut rng, Some(&from_b).filter(|_| offers_b));
            m.set_ready(&mut model, ready);
            model.eval().unwrap();
            let mut expected = None;
            if offers_b {
                let mut all = from_b.clone();
                let end = from_b["end"][0];
                for (field, value) in [
                    ("echo", 1),
                    ("flags", ONE_SIDED.into()),
                    ("claim", 1 - end),
                    ("marked", 0),
                ] {
                    all.insert(field.to_owned(), vec![value]);
                }
                expected = Some(all);
            } else if offers_a {
                let mut all = from_a.clone();
                for field in ["claim", "end"] {
                    all.insert(field.to_owned(), vec![0]);
                }
                expected = Some(all);
            }
            assert_eq!(m.offered(&model), expected, "seed {seed}, round {round}");
            let taken = [a.is_ready(&model), b.is_ready(&model)];
            assert_eq!(taken, [ready && !offers_b, ready], "seed {seed}");
        }
    }
}
