//! What ends while bulk WRITEs are under way: queue pairs, regions, cards.

use tributary_protocol::card::command::Command;
use tributary_protocol::card::descriptor::Completion;
use tributary_protocol::card::regs::{CONTROL, CONTROL_RESET};
use tributary_protocol::xud::Outcome;

use super::{MTU, PLACE, QUIET, open_to_writes, pair, post, write};
use crate::bench::{AREA, Dice, Pair, Queue, READS, WRITES};
use crate::traffic::{READABLE, WRITABLE};
use crate::{long, seed};

/// Posts eight writes, and lets a random part of the time pass that they take.
fn begin_eight(pair: &mut Pair, dice: &mut Dice, queue: &mut Queue) {
    for number in 0..8 {
        let request = write(queue, 0, number * PLACE, PLACE, number);
        post(pair, 0, queue, request);
    }
    pair.run(dice.below(70_000));
}

/// A new write, after whatever happened, goes well.
fn goes_well(pair: &mut Pair, dice: &mut Dice, queue: &mut Queue) {
    let bytes = dice.bytes(3_000);
    pair.mapped(0).write(READS, &bytes);
    let request = write(queue, 0, 0, 3_000, 99);
    post(pair, 0, queue, request);
    // What a card that was reset had begun is still asked for by the other, until it is given up: there is no rest before.
    let ended = wait(pair, queue, 1);
    assert_eq!(ended[0].status, Outcome::Ok);
    queue.consumed = queue.consumed.wrapping_add(1);
    pair.consume(0, queue);
    assert!(pair.mapped(1).bytes(WRITES, 3_000) == bytes);
}

/// Waits for so many completions, and no longer.
fn wait(pair: &mut Pair, queue: &Queue, count: usize) -> Vec<Completion> {
    let start = pair.now;
    loop {
        let ended = pair.completions(0, queue);
        if ended.len() >= count {
            return ended;
        }
        assert!(pair.now - start < 200 * QUIET, "{ended:?}");
        pair.step();
    }
}

/// What ends under writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ends {
    OwnPair,
    TheirPair,
    OwnRegion,
    TheirRegion,
}

/// At any moment of eight writes: none ends twice, nothing is written where it ended, and new ones go well.
#[test]
fn bw_02_bw_05_bw_09_what_ends_takes_its_writes_with_it() {
    let seed = seed();
    let rounds = if long() { 64 } else { 8 };
    let (flushed, refused) = end_under_writes(pair(seed), seed, rounds);
    assert!(
        flushed > 4 && refused > 10,
        "{flushed}, {refused}: too few were under way"
    );
}

/// How many writes had no completion, and how many one that is not OK.
pub fn end_under_writes(
    (mut pair, first): (Pair, Queue),
    seed: u64,
    rounds: usize,
) -> (usize, usize) {
    use Ends::{OwnPair, OwnRegion, TheirPair, TheirRegion};
    let mut dice = Dice::new(seed);
    let mut queue = first.clone();
    let (mut flushed, mut refused) = (0, 0);
    let order = [OwnPair, TheirPair, OwnRegion, TheirRegion];
    for ends in order.into_iter().cycle().take(rounds) {
        begin_eight(&mut pair, &mut dice, &mut queue);
        let (at, command, index) = match ends {
            OwnPair => (0, Command::DestroyQp, first.qpn),
            TheirPair => (1, Command::DestroyQp, first.qpn),
            OwnRegion => (0, Command::ClearRegion, READABLE.index),
            TheirRegion => (1, Command::ClearRegion, WRITABLE.index),
        };
        pair.command(at, command, index, &[]);
        let rest = pair.mapped(1).bytes(WRITES, AREA as usize);
        pair.settle(2 * QUIET);
        if at == 1 {
            let now = pair.mapped(1).bytes(WRITES, AREA as usize);
            assert!(now == rest, "{ends:?}: written later");
        }
        let ended = pair.completions(0, &queue);
        let mut ids: Vec<_> = ended.iter().map(|ended| ended.wr_id).collect();
        ids.sort_unstable();
        let how: Vec<_> = ended.iter().map(|ended| ended.status).collect();
        println!("{ends:?}: {how:?}");
        if ends == OwnPair {
            // Its driver says FLUSHED of all that has no completion.
            assert!(ids.is_sorted_by(|a, b| a < b), "{ids:?}");
            flushed += 8 - ids.len();
            pair.unmap_rings(0, &queue);
            queue = first.clone();
            pair.create(0, &queue);
        } else {
            assert_eq!(ids, (0..8).collect::<Vec<_>>(), "{ends:?}");
            refused += how.iter().filter(|how| **how != Outcome::Ok).count();
            queue.consumed = queue.consumed.wrapping_add(8);
            pair.consume(0, &queue);
        }
        match ends {
            OwnPair => {}
            TheirPair => {
                pair.unmap_rings(1, &first);
                pair.create(1, &first);
            }
            OwnRegion => pair.set_region(0, &READABLE),
            TheirRegion => open_to_writes(&mut pair, 1, &WRITABLE),
        }
        goes_well(&mut pair, &mut dice, &mut queue);
    }
    pair.destroy(0, &queue);
    pair.destroy(1, &first);
    pair.check();
    (flushed, refused)
}

/// Either card is reset while eight writes are under way: by its driver, or as a function of the bus. The other one is not stopped by
/// that, nothing is written later where it was reset, and new writes go well.
#[test]
fn bw_09_a_card_that_is_reset_forgets_its_writes_and_the_other_ends_them() {
    let seed = seed();
    let (mut pair, first) = pair(seed);
    let mut dice = Dice::new(seed);
    let mut queue = first.clone();
    for (at, function) in [(1, false), (0, false), (1, true), (0, true)] {
        begin_eight(&mut pair, &mut dice, &mut queue);
        pair.resets += 1;
        if function {
            let (card, memory) = pair.rtl_card(at);
            card.function_reset(memory);
        } else {
            pair.write(at, &CONTROL, CONTROL_RESET.put(1));
        }
        pair.wait(at);
        let rest = pair.mapped(at).bytes(WRITES, AREA as usize);
        pair.run(QUIET);
        let now = pair.mapped(at).bytes(WRITES, AREA as usize);
        assert!(now == rest, "node {at}: written later");
        pair.unmap_rings(at, if at == 0 { &queue } else { &first });
        pair.open(at, MTU);
        pair.set_region(at, &READABLE);
        open_to_writes(&mut pair, at, &WRITABLE);
        pair.create(at, &first);
        if at == 0 {
            queue = first.clone();
        } else {
            let ended = wait(&mut pair, &queue, 8);
            let mut ids: Vec<_> = ended.iter().map(|ended| ended.wr_id).collect();
            ids.sort_unstable();
            let how: Vec<_> = ended.iter().map(|ended| ended.status).collect();
            println!("function {function}: {how:?}");
            assert_eq!(ids, (0..8).collect::<Vec<_>>());
            queue.consumed = queue.consumed.wrapping_add(8);
            pair.consume(0, &queue);
        }
        goes_well(&mut pair, &mut dice, &mut queue);
    }
    pair.destroy(0, &queue);
    pair.destroy(1, &first);
    pair.check();
}
