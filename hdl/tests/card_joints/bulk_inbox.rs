//! bulk_inbox: messages of receivers with their bitmaps.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use tributary_hdl::bulk::BulkInbox;
use tributary_protocol::rw::MessageType;
use tributary_sim::testbench::{Stalls, profiles};

use super::ports::{Group, Record, build, rng};

/// Words that are kept of a bitmap.
const MOST: usize = 16;

/// A message, and the bitmap of a STATUS.
fn draw(s: &Group, rng: &mut ChaCha8Rng) -> (Record, Vec<u64>) {
    let mut message = s.draw(rng);
    let status = rng.random_range(0..3) > 0;
    if status {
        message.insert("type".into(), vec![MessageType::PollStatus as u64]);
    }
    let status = message["type"] == [MessageType::PollStatus as u64];
    let count = match status {
        true => rng.random_range(1..=MOST + 3),
        false => 0,
    };
    let mut word = |_| match rng.random_range(0..4) {
        0 => 0,
        1 => 1 << rng.random_range(0..64),
        2 => rng.random::<u64>() >> rng.random_range(0..64),
        _ => rng.random(),
    };
    (message, (0..count).map(&mut word).collect())
}

/// Every field of a message arrives, and of a bitmap each word that is kept, its length and its highest packet.
#[test]
fn bw_08_rw_10_messages_leave_as_they_came_with_the_bitmap_that_follows() {
    let library = build(BulkInbox::<64, 6, 4>::default());
    let s = Group::of(&library, "s").without(&["bitmap"]);
    let [bitmap, m] = ["s_bitmap", "m"].map(|prefix| Group::of(&library, prefix));
    let [rst, len, highest, rd_addr, rd_data] =
        ["rst", "len", "highest", "rd_addr", "rd_data"].map(|name| library.port(name).unwrap());
    profiles("bulk_inbox: messages", |seed| {
        let mut stalls = Stalls::of_seed(seed, 1);
        let (mut rng, mut model) = (rng(seed), library.model_with_seed(seed).unwrap());
        model.reset(2).unwrap();
        let (mut passed, mut beyond, mut resets) = (0, 0, 0);
        // The message under way, whether it was taken, and the words of it that were.
        let mut under_way: Option<(Record, Vec<u64>)> = None;
        let (mut taken, mut words, mut idle) = (false, 0, 0);
        let mut offers_word = false;
        for clock in 0..4_000 {
            stalls.clock();
            let place = format!("{stalls}, clock {clock}");
            let reset = rng.random_range(0..400) == 0;
            model.set(rst, reset.into());
            if under_way.is_none() && !reset && rng.random() {
                under_way = Some(draw(&s, &mut rng));
            }
            let offered = under_way
                .as_ref()
                .filter(|_| !taken)
                .map(|(message, _)| message);
            s.offer(&mut model, &mut rng, offered);
            // A word that is offered stays; it may come before its message.
            let next = under_way
                .as_ref()
                .and_then(|(_, bits)| bits.get(words).copied());
            offers_word = next.is_some() && (offers_word || rng.random_range(0..3) > 0);
            let word = next.filter(|_| offers_word).map(|bits| {
                let last = under_way
                    .as_ref()
                    .is_some_and(|(_, all)| words + 1 == all.len());
                Record::from([
                    ("data".into(), vec![bits]),
                    ("last".into(), vec![last.into()]),
                ])
            });
            bitmap.offer(&mut model, &mut rng, word.as_ref());
            let ready = stalls.ready(0);
            // Words are read while the message stands there.
            m.set_ready(&mut model, false);
            model.eval().unwrap();
            let out = m.offered(&model);
            stalls.observe(0, out.is_some(), true);
            if let Some(out) = &out {
                let (message, bits) = under_way.as_ref().expect("a message that nobody sent");
                assert!(taken && words == bits.len(), "{place}: words are late");
                assert_eq!(out, message, "{place}");
                if !bits.is_empty() {
                    let kept = &bits[..bits.len().min(MOST)];
                    assert_eq!(model.get(len), 64 * kept.len() as u64, "{place}");
                    let top = kept.iter().enumerate().rev().find(|(_, word)| **word != 0);
                    let top = top.map_or(0, |(at, word)| {
                        64 * at as u64 + 64 - u64::from(word.leading_zeros())
                    });
                    assert_eq!(model.get(highest), top, "{place}: {kept:x?}");
                    if ready && !reset {
                        for (at, word) in kept.iter().enumerate() {
                            model.set(rd_addr, at as u64);
                            s.offer(&mut model, &mut rng, None);
                            bitmap.offer(&mut model, &mut rng, None);
                            model.clocks(2).unwrap();
                            model.eval().unwrap();
                            assert_eq!(model.get(rd_data), *word, "{place}: word {at}");
                        }
                        beyond += u32::from(bits.len() > MOST);
                    }
                }
                m.set_ready(&mut model, ready);
                model.eval().unwrap();
                if ready {
                    passed += 1;
                }
            }
            let leaves = out.is_some() && ready;
            let takes = offered_is(&under_way, taken) && s.is_ready(&model);
            if takes {
                taken = true;
            }
            let word_taken = word.is_some() && bitmap.is_ready(&model);
            if word_taken {
                words += 1;
                offers_word = false;
            }
            // A message waits for its words alone: 5 clocks from the last thing that came to m.
            let all_here = under_way
                .as_ref()
                .is_some_and(|(_, bits)| taken && words == bits.len());
            idle = if all_here && out.is_none() {
                idle + 1
            } else {
                0
            };
            assert!(idle <= 5, "{place}: nothing leaves");
            if leaves || reset {
                resets += u32::from(reset && taken);
                (under_way, taken, words, idle, offers_word) = (None, false, 0, 0, false);
            }
            model.clock().unwrap();
        }
        assert!(
            passed > 20 && beyond > 0,
            "{stalls}: {passed} {beyond} {resets}"
        );
        passed
    });
}

/// A message is offered in this clock.
fn offered_is(under_way: &Option<(Record, Vec<u64>)>, taken: bool) -> bool {
    under_way.is_some() && !taken
}
