//! card_rx_gate.

use rand::RngExt;
use tributary_hdl::card::CardRxGate;
use tributary_sim::testbench::seeds;

use super::ports::{build, rng};

/// A frame passes whole if the gate was open before its first word, or not at all; none of which the reset saw a part.
#[test]
fn whole_frames_pass_while_the_card_is_enabled_and_no_part_of_others() {
    let library = build(CardRxGate::default());
    let (mut passed, mut lost, mut cut) = (0, 0, 0);
    for seed in seeds(8) {
        let (mut rng, mut model) = (rng(seed), library.model_with_seed(seed).unwrap());
        let [rst, enable, valid, last, out] = ["rst", "enable", "s_tvalid", "s_tlast", "m_tvalid"]
            .map(|name| model.port(name).unwrap());
        // A word that ends whatever frame the MAC was in before power came.
        for (port, value) in [(rst, 1), (valid, 1), (last, 1)] {
            model.set(port, value);
        }
        model.clocks(2).unwrap();
        let (mut enabled, mut before) = (false, false);
        // Words of the frame under way that are left; whether it passes.
        let (mut left, mut passes) = (0, false);
        let share = rng.random_range(1..=10);
        for clock in 0..20_000 {
            let reset = rng.random_range(0..300) == 0;
            if rng.random_range(0..20) == 0 {
                enabled = !enabled;
            }
            let word = rng.random_range(0..10) < share;
            if word && left == 0 {
                left = rng.random_range(1..9);
                passes = before;
                passed += u64::from(passes);
                lost += u64::from(!passes);
            }
            model.set(rst, reset.into());
            model.set(enable, enabled.into());
            model.set(valid, word.into());
            // Without a word, the rest of the stream says nothing.
            model.set(
                last,
                if word {
                    (left == 1).into()
                } else {
                    rng.random::<bool>().into()
                },
            );
            model.eval().unwrap();
            let expected = word && passes;
            assert_eq!(model.is_set(out), expected, "seed {seed}, clock {clock}");
            left -= i32::from(word);
            before = enabled && !reset;
            if reset {
                cut += u64::from(passes && left > 0);
                passes = false;
            }
            model.clock().unwrap();
        }
    }
    assert!(
        passed > 500 && lost > 500 && cut > 20,
        "{passed} {lost} {cut}"
    );
}
