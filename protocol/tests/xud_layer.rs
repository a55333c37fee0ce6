//! The reliable layer, rule by rule, over a network that does what each test wants.

use std::sync::Arc;

use tributary_protocol::xud::{
    Card, CardConfig, Drop, Event, Layer, LayerConfig, Outcome, Outgoing, Packet, Peer, Said, Send,
    SendError, control::Control, wire::CONTROL,
};

const SLOT_NS: u64 = 500;

struct Node {
    card: Card,
    layer: Layer,
    events: Vec<Event>,
}

struct Pair {
    nodes: [Node; 2],
    now: u64,
    /// Packets under way.
    flying: Vec<(usize, Outgoing)>,
    /// Requests that node 0 put on the line.
    requests: Vec<(u64, Send)>,
}

fn peer(node: u32) -> Peer {
    Peer { node, qpn: 1 }
}

impl Pair {
    fn new(config: LayerConfig) -> Self {
        let node = |node| {
            let mut card = Card::new(CardConfig {
                node,
                ..CardConfig::default()
            })
            .unwrap();
            let layer = Layer::new(config, &mut card).unwrap();
            Node {
                card,
                layer,
                events: Vec::new(),
            }
        };
        Self {
            nodes: [node(0), node(1)],
            now: 0,
            flying: Vec::new(),
            requests: Vec::new(),
        }
    }

    fn send(&mut self, bytes: &[u8]) -> u64 {
        self.nodes[0].layer.send(peer(1), Arc::from(bytes)).unwrap()
    }

    /// One slot; `loses` says which packets the network loses: receiver and packet.
    fn slot(&mut self, loses: &mut dyn FnMut(usize, &Packet) -> bool) {
        self.now += SLOT_NS;
        for (to, out) in std::mem::take(&mut self.flying) {
            self.nodes[to]
                .card
                .receive(1 - to as u32, &out.packet, self.now);
        }
        for at in 0..2 {
            let node = &mut self.nodes[at];
            while node.card.land() {}
            node.layer.run(&mut node.card, self.now);
            node.events
                .extend(std::iter::from_fn(|| node.layer.take_event()));
            while let Some(out) = node.card.next_packet(self.now) {
                if let (0, Packet::Send(send)) = (at, &out.packet) {
                    self.requests.push((self.now, send.clone()));
                }
                if !loses(out.to as usize, &out.packet) {
                    self.flying.push((out.to as usize, out));
                }
            }
        }
    }

    fn slots(&mut self, count: usize) {
        (0..count).for_each(|_| self.slot(&mut |_, _| false));
    }

    fn delivered(&self) -> Vec<Vec<u8>> {
        let events = self.nodes[1].events.iter();
        let payload = |event: &Event| match event {
            Event::Delivered { payload, .. } => Some(payload.clone()),
            Event::Completed { .. } => None,
        };
        events.filter_map(payload).collect()
    }

    fn outcomes(&self) -> Vec<(u64, Outcome)> {
        let events = self.nodes[0].events.iter();
        let outcome = |event: &Event| match event {
            Event::Completed { id, outcome, .. } => Some((*id, *outcome)),
            Event::Delivered { .. } => None,
        };
        events.filter_map(outcome).collect()
    }
}

fn is_data(packet: &Packet) -> bool {
    matches!(packet, Packet::Send(send) if send.flags & CONTROL == 0)
}

#[test]
fn xud_05_one_message_in_flight_per_window_and_numbers_that_rise() {
    let mut pair = Pair::new(LayerConfig {
        windows: 3,
        ..LayerConfig::default()
    });
    for k in 0..10u8 {
        pair.send(&[k]);
    }
    pair.slots(100);
    assert_eq!(pair.delivered().len(), 10);
    let mut next = [0; 3];
    for (_, send) in pair.requests.iter().filter(|(_, send)| send.flags == 0) {
        let window = usize::from(send.window.id);
        assert_eq!(send.window.msn, next[window]);
        next[window] += 1;
    }
    assert_eq!(next.iter().sum::<u32>(), 10);
}

#[test]
fn xud_05_a_number_ahead_is_refused_and_the_connection_opened_anew() {
    let mut pair = Pair::new(LayerConfig::default());
    pair.send(b"first");
    pair.slots(20);
    let mut ahead = pair
        .requests
        .iter()
        .find(|(_, s)| s.flags == 0)
        .unwrap()
        .1
        .clone();
    ahead.window.msn += 5;
    let now = pair.now;
    pair.nodes[1].card.receive(0, &Packet::Send(ahead), now);
    pair.slots(40);
    assert_eq!(pair.nodes[1].layer.stats().drops.of(Drop::Ahead), 1);
    assert_eq!(pair.nodes[0].layer.stats().refused, 1);
    pair.send(b"second");
    pair.slots(20);
    assert_eq!(pair.delivered(), [b"first".to_vec(), b"second".to_vec()]);
    assert_eq!(pair.nodes[0].layer.stats().reopened, 1);
}

#[test]
fn xud_08_resends_are_bounded_and_pauses_grow() {
    let config = LayerConfig {
        attempts: 5,
        ..LayerConfig::default()
    };
    let mut pair = Pair::new(config);
    let id = pair.send(b"never");
    for _ in 0..4_000 {
        pair.slot(&mut |_, packet| is_data(packet));
    }
    assert_eq!(pair.outcomes(), [(id, Outcome::Unresponsive)]);
    let data = pair
        .requests
        .iter()
        .filter(|(_, send)| send.flags & CONTROL == 0);
    let at: Vec<u64> = data.map(|(now, _)| *now).collect();
    assert_eq!(at.len(), 5);
    let pauses: Vec<u64> = at.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(
        pauses.is_sorted() && pauses[3] > pauses[0] + 3 * config.backoff_ns,
        "{pauses:?}"
    );
    // Not the next number under the old epoch: the message may still be on its way.
    let old = pair
        .requests
        .iter()
        .find(|(_, s)| s.flags == 0)
        .unwrap()
        .1
        .window;
    pair.send(b"again");
    pair.slots(50);
    let new = pair.requests.last().unwrap().1.window;
    assert_eq!((new.msn, new.epoch != old.epoch), (0, true));
    assert_eq!(pair.delivered(), [b"again".to_vec()]);
}

#[test]
fn xud_08_a_peer_that_never_answers_is_unreachable() {
    let mut pair = Pair::new(LayerConfig::default());
    let ids = [pair.send(b"a"), pair.send(b"b")];
    for _ in 0..8_000 {
        pair.slot(&mut |_, _| true);
    }
    assert_eq!(pair.outcomes(), ids.map(|id| (id, Outcome::Unreachable)));
    assert_eq!(pair.requests.len(), 8, "attempts of OPEN");
}

#[test]
fn xud_09_the_buffer_comes_back_when_nothing_uses_it() {
    let mut pair = Pair::new(LayerConfig::default());
    let buffer: Arc<[u8]> = vec![5; 3_000].into();
    pair.nodes[0]
        .layer
        .send(peer(1), Arc::clone(&buffer))
        .unwrap();
    let mut first = true;
    for _ in 0..200 {
        let ended = !pair.outcomes().is_empty();
        assert!(ended || Arc::strong_count(&buffer) > 1);
        pair.slot(&mut |_, packet| is_data(packet) && std::mem::replace(&mut first, false));
    }
    assert_eq!(pair.outcomes(), [(0, Outcome::Ok)]);
    pair.nodes[0].events.clear();
    assert_eq!(Arc::strong_count(&buffer), 1);
}

#[test]
fn xud_10_lost_acknowledgements_cost_resends_and_duplicates_only() {
    let mut pair = Pair::new(LayerConfig::default());
    for k in 0..50u8 {
        pair.send(&[k]);
    }
    let mut count = 0;
    for _ in 0..500 {
        pair.slot(&mut |_, packet| {
            let is_ack = matches!(packet, Packet::Ack(_));
            count += u32::from(is_ack);
            is_ack && count % 3 == 0
        });
    }
    let mut delivered = pair.delivered();
    delivered.sort_unstable();
    assert_eq!(delivered, (0..50).map(|k| vec![k]).collect::<Vec<_>>());
    assert_eq!(pair.outcomes().len(), 50);
    assert!(pair.nodes[1].layer.stats().drops.of(Drop::Duplicate) > 0);
}

#[test]
fn xud_11_messages_come_in_order_within_the_span() {
    let config = LayerConfig {
        ordered: true,
        span: 8,
        ..LayerConfig::default()
    };
    let mut pair = Pair::new(config);
    for k in 0..100u8 {
        // Some longer than a packet.
        pair.send(&vec![k; if k % 7 == 0 { 2_500 } else { 1 }]);
    }
    let mut count = 0;
    for _ in 0..3_000 {
        pair.slot(&mut |_, _| {
            count += 1;
            count % 7 == 0
        });
    }
    let first: Vec<u8> = pair.delivered().iter().map(|bytes| bytes[0]).collect();
    assert_eq!(first, (0..100).collect::<Vec<u8>>());
    assert_eq!(pair.nodes[1].layer.stats().drops.of(Drop::Ahead), 0);
}

#[test]
fn xud_11_a_message_that_died_at_its_source_is_skipped() {
    let config = LayerConfig {
        ordered: true,
        attempts: 2,
        ..LayerConfig::default()
    };
    let mut pair = Pair::new(config);
    for k in 0..6u8 {
        pair.send(&[k]);
    }
    for _ in 0..400 {
        let dies = |packet: &Packet| matches!(packet, Packet::Send(send) if send.flags & CONTROL == 0 && send.payload[4] == 2);
        pair.slot(&mut |_, packet| dies(packet));
    }
    let kept: Vec<u8> = pair.delivered().iter().map(|bytes| bytes[0]).collect();
    assert_eq!(kept, [0, 1, 3, 4, 5]);
    let mut outcomes = pair.outcomes();
    outcomes.sort_unstable();
    let expected = (0..6).map(|id| {
        (
            id,
            if id == 2 {
                Outcome::Unresponsive
            } else {
                Outcome::Ok
            },
        )
    });
    assert!(outcomes.into_iter().eq(expected));
}

#[test]
fn xud_12_messages_up_to_64_kib_travel_as_fragments_and_longer_ones_are_refused() {
    let mut pair = Pair::new(LayerConfig::default());
    let sizes = [0, 1, 1_024, 1_025, 2_024, 2_025, 65_535, 65_536];
    let messages: Vec<Vec<u8>> = sizes
        .iter()
        .map(|size| (0..*size).map(|at| (at * 7 + size) as u8).collect())
        .collect();
    messages.iter().for_each(|bytes| {
        pair.send(bytes);
    });
    let mut count = 0;
    for _ in 0..3_000 {
        pair.slot(&mut |_, _| {
            count += 1;
            count % 11 == 0
        });
    }
    let mut delivered = pair.delivered();
    delivered.sort_by_key(Vec::len);
    assert_eq!(delivered, messages);
    let long = vec![0; 65_537].into();
    let error = pair.nodes[0].layer.send(peer(1), long);
    assert_eq!(error, Err(SendError::TooLong(65_537)));
}

#[test]
fn xud_06_a_restarted_receiver_swallows_nothing() {
    let mut pair = Pair::new(LayerConfig::default());
    pair.send(b"to the old");
    pair.slots(20);
    let node = &mut pair.nodes[1];
    let mut fresh_card = Card::new(CardConfig::default()).unwrap();
    let spare = Layer::new(LayerConfig::default(), &mut fresh_card).unwrap();
    std::mem::replace(&mut node.layer, spare).close(&mut node.card);
    node.layer = Layer::new(LayerConfig::default(), &mut node.card).unwrap();
    let refused = pair.send(b"in between");
    pair.slots(40);
    let last = pair.send(b"to the new");
    pair.slots(40);
    assert_eq!(
        pair.outcomes(),
        [
            (0, Outcome::Ok),
            (refused, Outcome::EpochMismatch),
            (last, Outcome::Ok)
        ]
    );
    assert_eq!(
        pair.delivered(),
        [b"to the old".to_vec(), b"to the new".to_vec()]
    );
}

/// A peer that begins anew and says so is answered: what was opened to its earlier process is not used any more.
#[test]
fn xud_06_who_begins_anew_is_answered() {
    for heard in [false, true] {
        let mut pair = Pair::new(LayerConfig::default());
        pair.send(b"to the old");
        pair.slots(20);
        if heard {
            let to = peer(0);
            let node = &mut pair.nodes[1];
            node.layer
                .send(to, Arc::from(b"from the old".as_slice()))
                .unwrap();
            pair.slots(40);
        }
        let node = &mut pair.nodes[1];
        let mut fresh_card = Card::new(CardConfig::default()).unwrap();
        let spare = Layer::new(LayerConfig::default(), &mut fresh_card).unwrap();
        std::mem::replace(&mut node.layer, spare).close(&mut node.card);
        node.layer = Layer::new(LayerConfig::default(), &mut node.card).unwrap();
        node.layer
            .send(peer(0), Arc::from(b"from the new".as_slice()))
            .unwrap();
        pair.slots(40);
        let answer = pair.send(b"answer");
        pair.slots(40);
        assert_eq!(
            pair.outcomes(),
            [(0, Outcome::Ok), (answer, Outcome::Ok)],
            "{heard}"
        );
        assert_eq!(
            pair.delivered(),
            [b"to the old".to_vec(), b"answer".to_vec()]
        );
    }
}

#[test]
fn xud_06_opening_twice_is_answered_alike_and_an_older_open_is_ignored() {
    let mut pair = Pair::new(LayerConfig::default());
    pair.send(b"x");
    pair.slots(20);
    let open = pair.requests[0].1.clone();
    let Some(Control::Open(mut fields)) = Control::decode(&open.payload) else {
        panic!("{open:?}")
    };
    let epoch = pair.nodes[1].card.epoch(1);
    let now = pair.now;
    pair.nodes[1]
        .card
        .receive(0, &Packet::Send(open.clone()), now);
    pair.slots(5);
    fields.epoch = fields.epoch.wrapping_sub(1);
    let payload = Control::Open(fields).encode();
    let now = pair.now;
    pair.nodes[1]
        .card
        .receive(0, &Packet::Send(Send { payload, ..open }), now);
    pair.slots(5);
    assert_eq!(pair.nodes[1].layer.stats().drops.of(Drop::StrayControl), 1);
    assert_eq!(pair.nodes[1].card.epoch(1), epoch);
    pair.send(b"y");
    pair.slots(10);
    assert_eq!(pair.delivered(), [b"x".to_vec(), b"y".to_vec()]);
}

#[test]
fn xud_02_closing_flushes_what_has_not_ended() {
    let mut pair = Pair::new(LayerConfig::default());
    let id = pair.send(b"late");
    pair.slots(1);
    let [mut node, _] = pair.nodes;
    let events = node.layer.close(&mut node.card);
    let [
        Event::Completed {
            id: got, outcome, ..
        },
    ] = events.as_slice()
    else {
        panic!("{events:?}")
    };
    assert_eq!((*got, *outcome), (id, Outcome::Flushed));
}

/// Messages that wait at node 0, whose packets are marked for some time; most packets in flight in the slots of the first half
/// of that time, of its second half, and after it.
fn marks(pair: &mut Pair, slots: usize) -> [u32; 3] {
    let mut most = [0; 3];
    for slot in 0..3 * slots {
        while pair.nodes[0].layer.pending() < 64 {
            pair.send(&[7; 16]);
        }
        let marked = slot < 2 * slots;
        for (_, out) in &mut pair.flying {
            if let Packet::Send(send) = &mut out.packet {
                send.marked = marked;
            }
        }
        pair.slot(&mut |_, _| false);
        let flying = pair.flying.iter().filter(|(_, out)| is_data(&out.packet));
        let flying = flying.count() as u32;
        let stretch = &mut most[slot / slots];
        *stretch = flying.max(*stretch);
    }
    most
}

fn congested(on: bool) -> Pair {
    let mut pair = Pair::new(LayerConfig::default());
    for node in &mut pair.nodes {
        node.card.look_at_marks(on);
        node.layer.set_congestion(on);
    }
    pair
}

#[test]
fn cl_04_a_connection_slows_down_while_packets_are_marked_and_recovers() {
    let mut pair = congested(true);
    let [_, marked, after] = marks(&mut pair, 400);
    assert_eq!((marked, after), (1, LayerConfig::default().windows));
    let stats = pair.nodes[0].layer.stats();
    assert!(stats.marked > 100 && stats.resent == 0, "{stats:?}");
    let completed = pair.nodes[0].layer.stats().completed;
    assert!(completed > 3_000, "{completed}");
}

#[test]
fn cl_04_a_layer_that_is_not_told_to_sends_as_much_whatever_is_marked() {
    let mut pair = congested(false);
    let windows = LayerConfig::default().windows;
    assert_eq!(marks(&mut pair, 100), [windows; 3]);
    // Turned on, it begins with few; turned off again, all windows are its.
    for (on, most) in [(true, 2), (false, windows)] {
        pair.slots(200);
        pair.nodes[0].layer.set_congestion(on);
        (0..64).for_each(|_| {
            pair.send(&[1]);
        });
        pair.slot(&mut |_, _| false);
        let flying = pair.flying.iter().filter(|(_, out)| is_data(&out.packet));
        assert_eq!(flying.count() as u32, most, "{on}");
    }
}

/// Most data packets in flight while every so many of them is lost, once the first losses are known; all messages arrive.
fn losses(every: u32) -> usize {
    let mut pair = congested(true);
    let (mut sent, mut most) = (0, 0);
    for _ in 0..4_000 {
        pair.send(&[9; 16]);
    }
    for slot in 0..40_000 {
        pair.slot(&mut |to, packet| {
            let counts = to == 1 && is_data(packet);
            sent += u32::from(counts);
            counts && sent % every == 0
        });
        let flying = pair.flying.iter().filter(|(_, out)| is_data(&out.packet));
        if slot > 100 {
            most = flying.count().max(most);
        }
    }
    assert_eq!(pair.delivered().len(), 4_000);
    let mut outcomes = pair.outcomes().into_iter();
    assert!(outcomes.all(|(_, outcome)| outcome == Outcome::Ok));
    most
}

#[test]
fn cl_04_losses_slow_a_connection_down_and_every_message_comes() {
    let windows = LayerConfig::default().windows as usize;
    assert_eq!(losses(u32::MAX), windows);
    let most = losses(8);
    assert!(most <= windows / 4, "{most}");
}

#[test]
fn xud_12_what_is_said_of_long_messages_is_apart_and_keeps_its_turn() {
    for ordered in [false, true] {
        let mut pair = Pair::new(LayerConfig {
            ordered,
            windows: 1,
            ..LayerConfig::default()
        });
        let long = vec![7u8; 10_000];
        pair.send(b"before");
        for (id, bytes) in [(70, &b"said"[..]), (71, &long)] {
            let layer = &mut pair.nodes[0].layer;
            layer.send_as(id, peer(1), Arc::from(bytes), true).unwrap();
        }
        pair.send(b"behind");
        assert_eq!(pair.nodes[0].layer.pending(), 4);
        // Only what the last run brought is looked at: a run brings everything.
        let (mut said, mut ended) = (Vec::new(), Vec::new());
        for _ in 0..200 {
            pair.slot(&mut |_, _| false);
            for (at, to) in [(0, &mut ended), (1, &mut said)] {
                to.extend(std::iter::from_fn(|| pair.nodes[at].layer.take_said()));
            }
        }
        assert_eq!(pair.delivered(), [&b"before"[..], b"behind"]);
        assert_eq!(pair.outcomes(), [(0, Outcome::Ok), (1, Outcome::Ok)]);
        let payload = |bytes: &[u8]| {
            let (from, payload) = (peer(0), bytes.to_vec());
            Said::Event(Event::Delivered { from, payload })
        };
        assert_eq!(said, [payload(b"said"), payload(&long)]);
        let ids = ended.iter().map(|said| match said {
            Said::Event(Event::Completed { id, outcome, .. }) => (*id, *outcome),
            other => panic!("{other:?}"),
        });
        assert_eq!(
            ids.collect::<Vec<_>>(),
            [(70, Outcome::Ok), (71, Outcome::Ok)]
        );
        let stats = pair.nodes[1].layer.stats();
        assert_eq!(
            (stats.delivered, pair.nodes[0].layer.stats().completed),
            (2, 2)
        );
        assert_eq!(pair.nodes[0].layer.pending(), 0);
    }
}

/// Delivers in one run: a message, what is said, a message.
#[test]
fn xud_12_what_the_runner_puts_among_the_news_stands_where_it_was_said() {
    let mut pair = Pair::new(LayerConfig {
        ordered: true,
        ..LayerConfig::default()
    });
    pair.send(b"open");
    pair.slots(50);
    for (id, bytes) in [(1, b"a"), (2, b"b"), (3, b"c")] {
        pair.send(bytes);
        let layer = &mut pair.nodes[0].layer;
        layer
            .send_as(id, peer(1), Arc::from(&bytes[..]), true)
            .unwrap();
    }
    pair.send(b"d");
    // The receiver's program does not run meanwhile.
    for _ in 0..20 {
        pair.now += SLOT_NS;
        let [sender, receiver] = &mut pair.nodes;
        while sender.card.land() {}
        sender.layer.run(&mut sender.card, pair.now);
        while let Some(out) = sender.card.next_packet(pair.now) {
            receiver.card.receive(0, &out.packet, pair.now);
        }
        while receiver.card.land() {}
    }
    let Node { card, layer, .. } = &mut pair.nodes[1];
    layer.run(card, pair.now);
    while let Some(said) = layer.take_said() {
        let Said::Event(Event::Delivered { from, payload }) = said else {
            panic!("{said:?}");
        };
        let payload = payload.to_ascii_uppercase();
        layer.put(Event::Delivered { from, payload });
    }
    let events = std::iter::from_fn(|| layer.take_event());
    let all: Vec<Vec<u8>> = events
        .map(|event| match event {
            Event::Delivered { payload, .. } => payload,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(all.concat(), b"aAbBcCd");
}

#[test]
fn xud_12_places_of_the_card_are_shared_with_the_runner() {
    let mut pair = Pair::new(LayerConfig {
        sends: 2,
        ..LayerConfig::default()
    });
    pair.send(b"open");
    pair.slots(50);
    let layer = &mut pair.nodes[0].layer;
    assert!(layer.take_place() && layer.take_place() && !layer.take_place());
    pair.send(b"waits");
    pair.slots(50);
    assert_eq!(pair.delivered().len(), 1);
    pair.nodes[0].layer.give_place();
    pair.slots(50);
    assert_eq!(pair.delivered().len(), 2);
}
