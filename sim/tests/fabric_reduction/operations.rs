//! Every operation through engines on two levels.

use tributary_protocol::red::{
    Counter, Op, Value,
    host::repsum::{self, TooManySummands},
};
use tributary_sim::fabric::{Contribution, SimulationError};

use crate::common::{LIMIT, agreed, contribute_all, expected, group, lanes, two_level};

fn value(op: Op, endpoint: usize) -> Value {
    let number = (endpoint as f64 + 0.1)
        * if endpoint.is_multiple_of(3) {
            -1e9
        } else {
            1.0 / 3.0
        };
    let e = endpoint as u64;
    match op {
        Op::Barrier => Value::default(),
        Op::FltRepsum => repsum::encode(number.to_bits()),
        Op::IntMinmaxloc => Value {
            data: [e * 7 % 5, e, e * 7 % 5, e],
            ..Value::default()
        },
        Op::FltMinmaxloc | Op::FltMinmaxnumloc => Value {
            data: [number.to_bits(), e, number.to_bits(), e],
            ..Value::default()
        },
        // Another number in each half, and another sign.
        op if op.element_bits() == 32 && op.code() >= 0x20 => {
            let [high, low] = [number as f32, -0.7 - e as f32].map(|x| u64::from(x.to_bits()));
            lanes(high << 32 | low)
        }
        op if op.code() >= 0x20 => lanes(number.to_bits()),
        _ => lanes(e.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
    }
}

#[test]
fn every_operation_is_reduced_in_the_switches_bit_for_bit() {
    let mut sim = two_level();
    let group = group(&mut sim);
    for (round, &op) in (0..).zip(Op::ALL) {
        let start = sim.now() + 1000;
        // Distinct clocks, in another order each round: the cables show the order.
        let at = |e: usize| start + 16 * ((e as u64 * 5 + round) % 16);
        contribute_all(&mut sim, group, round, op, |e| value(op, e), at);
        assert!(
            !sim.run_while(LIMIT, |sim| !(0..16).all(|e| sim.is_over(group, e, round)))
                .unwrap()
        );
        let outcome = agreed(&sim, group, round);
        assert_eq!((outcome.op, outcome.count), (op, 16));
        let given: Vec<_> = (0..16).map(|e| (e, op, value(op, e))).collect();
        let reference = expected(&sim, group, round, &given).unwrap();
        assert_eq!(
            (reference.value, reference.count),
            (outcome.value, 16),
            "{op}"
        );
    }
    let rounds = Op::ALL.len() as u64;
    assert_eq!(sim.counted(Counter::Results), 5 * rounds);
    assert_eq!(
        (sim.counted(Counter::Passed), sim.counted(Counter::Partials)),
        (0, 0)
    );
    assert!(sim.run(LIMIT).unwrap());
    assert_eq!(sim.in_use(), 0);
}

/// Sixteen endpoints have 2^19 summands each of the 2^23; one more is refused when it is given, not in the middle of a round.
#[test]
fn red_08_a_reproducible_sum_beyond_the_share_is_not_scripted() {
    let mut sim = two_level();
    let group = group(&mut sim);
    // Word 3 of a number has 40 bits at most.
    let summands = |n: u64| Contribution {
        at: 1000,
        op: Op::FltRepsum,
        value: Value {
            data: [0, 0, 0, n * ((1 << 40) - 1)],
            ..Value::default()
        },
    };
    sim.contribute(group, 3, 0, summands(1 << 19)).unwrap();
    let refused = TooManySummands {
        summands: (1 << 19) + 1,
        most: 1 << 19,
    };
    assert_eq!(
        sim.contribute(group, 3, 0, summands((1 << 19) + 1)),
        Err(SimulationError::Summands(refused))
    );
}
