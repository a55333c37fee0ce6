//! card_send_merge.

use std::collections::VecDeque;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use tributary_hdl::card::CardSendMerge;
use tributary_protocol::xud::onesided::HEADER_LEN;
use tributary_protocol::xud::wire::ONE_SIDED_FRAME;
use tributary_sim::testbench::{Stalls, profiles};
use tributary_sim::verilate::{Model, Verilated};

use super::ports::{Group, Record, build, rng};

/// Of what is taken at most one goes in front of one that waits.
struct Turns {
    sides: [Group; 2],
    out: Group,
    /// What the block adds to records of b.
    added: Vec<(&'static str, u64)>,
    offered: [Option<Record>; 2],
    /// Whose record must be taken next.
    next: Option<usize>,
}

impl Turns {
    fn new(library: &Verilated, name: &str, added: Vec<(&'static str, u64)>) -> Self {
        let group = |side: &str| Group::of(library, &format!("{side}_{name}"));
        Self {
            sides: [group("a"), group("b")],
            out: group("m"),
            added,
            offered: [None, None],
            next: None,
        }
    }

    /// Offers; sides on which a new request has payload.
    fn drive(
        &mut self,
        model: &mut Model,
        rng: &mut ChaCha8Rng,
        busy: [u32; 2],
        ready: bool,
    ) -> Vec<usize> {
        let mut new = Vec::new();
        for (i, side) in self.sides.iter().enumerate() {
            if self.offered[i].is_none() && rng.random_range(0..10) < busy[i] {
                let mut record = side.draw(rng);
                // One in three has no payload.
                if let Some(len) = record
                    .get_mut("len")
                    .filter(|_| rng.random_range(0..3) == 0)
                {
                    len[0] = 0;
                }
                if record.get("len").is_some_and(|len| len[0] > 0) {
                    new.push(i);
                }
                self.offered[i] = Some(record);
            }
            side.offer(model, rng, self.offered[i].as_ref());
        }
        self.out.set_ready(model, ready);
        new
    }

    /// What was taken, and from which side.
    fn taken(&mut self, model: &Model, ready: bool, place: &str) -> Option<(usize, Record)> {
        let out = self.out.offered(model);
        let waits = [0, 1].map(|i| self.offered[i].is_some());
        let takes = [0, 1].map(|i| waits[i] && self.sides[i].is_ready(model));
        let side = match takes {
            [true, true] => panic!("{place}: both are taken"),
            [false, false] => {
                assert!(out.is_none() || !ready, "{place}: comes from nowhere");
                return None;
            }
            [a, _] => usize::from(!a),
        };
        let mut record = self.offered[side].take()?;
        if side == 1 {
            for (field, value) in &self.added {
                record.insert((*field).to_owned(), vec![*value]);
            }
        }
        assert!(ready, "{place}: taken, and nobody takes it");
        assert_eq!(out.as_ref(), Some(&record), "{place}");
        assert!(
            self.next.is_none_or(|next| next == side),
            "{place}: not in turn"
        );
        self.next = waits[1 - side].then_some(1 - side);
        Some((side, record))
    }

    fn forget(&mut self) {
        self.offered = [None, None];
        self.next = None;
    }
}

/// Payload of one side: words of requests in their order. It may be there before its request is taken.
struct Payload {
    group: Group,
    words: VecDeque<Record>,
    offered: bool,
    /// That of the request on offer.
    coming: Vec<Record>,
}

impl Payload {
    fn add(&mut self, rng: &mut ChaCha8Rng) {
        let count = rng.random_range(1..6);
        self.coming = (1..=count)
            .map(|word| {
                let mut record = self.group.draw(rng);
                record.insert("last".to_owned(), vec![(word == count).into()]);
                record
            })
            .collect();
        self.words.extend(self.coming.iter().cloned());
    }

    fn forget(&mut self) {
        self.words.clear();
        self.coming.clear();
        self.offered = false;
    }
}

/// Requests, answers and acknowledgements leave in turn, each field as it came, and each payload in the order of its requests.
#[test]
fn xud_13_what_two_senders_offer_leaves_in_turn_and_payload_behind_its_request() {
    let library = build(CardSendMerge::default());
    let vf = u64::from(ONE_SIDED_FRAME);
    profiles("card_send_merge: requests and acknowledgements", |seed| {
        let mut requests = Turns::new(
            &library,
            "sd",
            vec![("vf", vf), ("head_len", HEADER_LEN as u64)],
        );
        let mut acks = Turns::new(&library, "ak", vec![("vf", vf), ("echo", 1)]);
        let mut payloads = ["a_pl", "b_pl"].map(|name| Payload {
            group: Group::of(&library, name),
            words: VecDeque::new(),
            offered: false,
            coming: Vec::new(),
        });
        let out = Group::of(&library, "m_pl");
        let mut stalls = Stalls::of_seed(seed, 3);
        let (mut rng, mut model) = (rng(seed), library.model_with_seed(seed).unwrap());
        model.reset(2).unwrap();
        let rst = model.port("rst").unwrap();
        let busy = [(); 3].map(|()| [0, 1].map(|_| rng.random_range(1..=10)));
        // Words that must come out, with their side.
        let mut expected: VecDeque<(usize, Record)> = VecDeque::new();
        let (mut passed, mut moved) = (0, 0);
        for clock in 0..4_000 {
            let place = format!("{stalls}, clock {clock}");
            stalls.clock();
            let ready = [0, 1, 2].map(|port| stalls.ready(port));
            let reset = rng.random_range(0..900) == 0;
            model.set(rst, reset.into());
            if reset {
                requests.forget();
                acks.forget();
                expected.clear();
                payloads.iter_mut().for_each(Payload::forget);
            }
            let idle = |busy: [u32; 2]| if reset { [0, 0] } else { busy };
            for side in requests.drive(&mut model, &mut rng, idle(busy[0]), ready[0]) {
                payloads[side].add(&mut rng);
            }
            acks.drive(&mut model, &mut rng, idle(busy[1]), ready[1]);
            for (i, payload) in payloads.iter_mut().enumerate() {
                payload.offered |=
                    !payload.words.is_empty() && rng.random_range(0..10) < busy[2][i];
                let word = payload.words.front().filter(|_| payload.offered);
                payload.group.offer(&mut model, &mut rng, word);
            }
            out.set_ready(&mut model, ready[2]);
            model.eval().unwrap();
            if reset {
                model.clock().unwrap();
                moved = clock;
                continue;
            }
            // Payload first: a word of a request cannot leave in the clock that takes it.
            let word = out.offered(&model);
            stalls.observe(
                2,
                word.is_some(),
                word.as_ref().is_some_and(|word| word["last"][0] == 1),
            );
            for (i, payload) in payloads.iter_mut().enumerate() {
                if !(payload.offered && payload.group.is_ready(&model)) {
                    continue;
                }
                let (side, want) = expected
                    .pop_front()
                    .unwrap_or_else(|| panic!("{place}: a word without a request"));
                assert!(ready[2], "{place}: a word is taken, and nobody takes it");
                assert_eq!((i, word.as_ref()), (side, Some(&want)), "{place}");
                payload.words.pop_front();
                payload.offered = false;
                moved = clock;
            }
            if let Some((side, record)) = requests.taken(&model, ready[0], &place) {
                if record["len"][0] > 0 {
                    for mut word in std::mem::take(&mut payloads[side].coming) {
                        if side == 1 {
                            word.insert("error".to_owned(), vec![0]);
                        }
                        expected.push_back((side, word));
                    }
                }
                passed += 1;
                moved = clock;
            }
            let taken = acks.taken(&model, ready[1], &place);
            passed += u64::from(taken.is_some());
            stalls.observe(0, requests.out.offered(&model).is_some(), true);
            stalls.observe(1, acks.out.offered(&model).is_some(), true);
            let patience = 3 * u64::from(stalls.profile().pause()) + 400;
            assert!(clock - moved < patience, "{place}: nothing moves");
            model.clock().unwrap();
        }
        passed
    });
}
