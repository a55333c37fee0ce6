//! The card's side: what it hears, what it offers, and in which order that has to leave.

use std::collections::VecDeque;

use tributary_protocol::pcie::Header;
use tributary_protocol::tlp_link::Content;
use tributary_sim::testbench::{Profile, Stalls};
use tributary_sim::verilate::{Model, Port};

/// Units that may pass between the offer of a TLP and its leaving: the one under way, and one of each other stream.
const PATIENCE: u32 = 4;

/// A stream of TLPs; those of reads have no data.
struct Stream {
    valid: Port,
    ready: Port,
    sop: Port,
    eop: Port,
    hdr: Port,
    data: Option<[Port; 2]>,
    seq: Option<Port>,
}

impl Stream {
    fn new(model: &Model, name: &str) -> Self {
        let port = |end: &str| model.port(&format!("{name}_{end}"));
        Self {
            valid: port("valid").unwrap(),
            ready: port("ready").unwrap(),
            sop: port("sop").unwrap(),
            eop: port("eop").unwrap(),
            hdr: port("hdr").unwrap(),
            data: port("data").ok().map(|data| [data, port("strb").unwrap()]),
            seq: port("seq").ok(),
        }
    }
}

/// A TLP of the card; a write has a number.
#[derive(Clone, Debug)]
pub struct Offered {
    pub tlp: Content,
    pub number: Option<u64>,
}

/// TLPs that wait at a stream of the card.
struct Source {
    stream: Stream,
    waiting: VecDeque<Offered>,
    /// Words of the first one that were taken; the next is on offer; since when the first one is.
    word: usize,
    offers: bool,
    since: Option<u64>,
    /// Units that have left since then.
    passed: u32,
}

/// Header and data.
fn parts(tlp: &Content) -> (Header, Vec<u32>) {
    match tlp {
        Content::Tlp { header, data } => (*header, data.clone()),
        Content::Settings(_) => unreachable!("a card sends TLPs"),
    }
}

impl Source {
    /// Words of 64 bits of the first one; one without data has one.
    fn words(&self) -> usize {
        let count = self.waiting.front().map_or(0, |o| parts(&o.tlp).1.len());
        count.div_ceil(2).max(1)
    }

    fn drive(&mut self, model: &mut Model, moves: bool, now: u64) {
        self.offers = !self.waiting.is_empty() && (self.offers || moves);
        model.set(self.stream.valid, self.offers.into());
        let Some(offered) = self.waiting.front().filter(|_| self.offers) else {
            return;
        };
        self.since.get_or_insert(now);
        let (header, data) = parts(&offered.tlp);
        let [a, b, c, d] = header.map(u64::from);
        model
            .set_wide(self.stream.hdr, &[c << 32 | d, a << 32 | b])
            .unwrap();
        model.set(self.stream.sop, (self.word == 0).into());
        model.set(self.stream.eop, (self.word + 1 == self.words()).into());
        if let Some(seq) = self.stream.seq {
            model.set(seq, offered.number.unwrap_or(0));
        }
        if let Some([port, strb]) = self.stream.data {
            // Noise where there is no data.
            let word = |at: usize| data.get(at).copied().unwrap_or(0x5A5A_5A5A);
            let at = 2 * self.word;
            model.set(port, u64::from(word(at)) | u64::from(word(at + 1)) << 32);
            let there = data.len().saturating_sub(at).min(2);
            model.set(strb, [0, 1, 3][there]);
        }
    }

    /// A word passes; the TLP that it ends.
    fn take(&mut self, model: &Model) -> Option<Offered> {
        if !self.offers || !model.is_set(self.stream.ready) {
            return None;
        }
        self.offers = false;
        self.word += 1;
        if self.word < self.words() {
            return None;
        }
        self.word = 0;
        self.passed = 0;
        self.since = None;
        self.waiting.pop_front()
    }
}

pub struct Card {
    /// Requests, completions.
    hears: [Stream; 2],
    /// Completions, reads, writes.
    says: [Source; 3],
    /// Streams that it hears, streams that it offers.
    stalls: Stalls,
    /// The TLP that is heard, and at which stream.
    within: Option<(usize, Header, Vec<u32>)>,
    /// What was taken and is to be the next unit.
    next: VecDeque<Offered>,
}

impl Card {
    pub fn new(model: &Model, seed: u64) -> Self {
        let source = |name| Source {
            stream: Stream::new(model, name),
            waiting: VecDeque::new(),
            word: 0,
            offers: false,
            since: None,
            passed: 0,
        };
        Self {
            hears: ["m_rx_req_tlp", "m_rx_cpl_tlp"].map(|name| Stream::new(model, name)),
            says: ["s_tx_cpl_tlp", "s_tx_rd_req_tlp", "s_tx_wr_req_tlp"].map(source),
            stalls: Stalls::of_seed(seed / 3, 5).stream(1),
            within: None,
            next: VecDeque::new(),
        }
    }

    pub fn free(&mut self) {
        self.stalls.set(Profile::Free);
    }

    pub fn silent(&mut self, model: &mut Model) {
        self.hears
            .iter()
            .for_each(|stream| model.set(stream.ready, 0));
        for source in &self.says {
            model.set(source.stream.valid, 0);
        }
    }

    /// Gives a stream a TLP: 0 completions, 1 reads, 2 writes.
    pub fn say(&mut self, stream: usize, offered: Offered) {
        self.says[stream].waiting.push_back(offered);
    }

    /// TLPs that wait at a stream.
    pub fn waiting(&self, stream: usize) -> usize {
        self.says[stream].waiting.len()
    }

    pub fn drive(&mut self, model: &mut Model, now: u64) {
        self.stalls.clock();
        for (number, stream) in self.hears.iter().enumerate() {
            model.set(stream.ready, self.stalls.ready(number).into());
        }
        for (number, source) in self.says.iter_mut().enumerate() {
            let waits = !source.waiting.is_empty();
            let last = source.word + 1 == source.words();
            source.drive(model, self.stalls.ready(2 + number), now);
            self.stalls.observe(2 + number, waits, last);
        }
    }

    /// The TLP that the card has heard whole in this clock, and whether it came as a completion.
    pub fn heard(&mut self, model: &Model) -> Result<Option<(bool, Content)>, String> {
        let mut whole = None;
        for (number, stream) in self.hears.iter().enumerate() {
            let valid = model.is_set(stream.valid);
            let (sop, eop) = (model.is_set(stream.sop), model.is_set(stream.eop));
            self.stalls.observe(number, valid, eop);
            if !valid || !self.stalls.ready(number) {
                continue;
            }
            let mut header = [0; 2];
            model.get_wide(stream.hdr, &mut header).unwrap();
            let [low, high] = header;
            let header = [high >> 32, high, low >> 32, low].map(|word| word as u32);
            let (at, header, mut data) = match self.within.take() {
                None if sop => (number, header, vec![]),
                Some(within) if !sop => within,
                _ => return Err(format!("sop {sop} in the wrong place")),
            };
            if at != number {
                return Err("a TLP in another".to_owned());
            }
            if let Some([word, strb]) = stream.data {
                let (word, strb) = (model.get(word), model.get(strb));
                let fits = match strb {
                    0 => sop && eop,
                    1 => eop,
                    strb => strb == 3,
                };
                if !fits {
                    return Err(format!("strb {strb:#b}, eop {eop}"));
                }
                let words = [word as u32, (word >> 32) as u32];
                data.extend(&words[..strb.count_ones() as usize]);
            }
            if eop {
                whole = Some((number == 1, Content::Tlp { header, data }));
            } else {
                self.within = Some((number, header, data));
            }
        }
        Ok(whole)
    }

    /// No TLP has begun and not ended.
    pub fn whole(&self) -> Result<(), String> {
        match &self.within {
            None => Ok(()),
            Some((_, header, _)) => Err(format!("{header:x?} was cut")),
        }
    }

    /// Something is on offer, or a write has begun and not ended.
    pub fn some(&self) -> bool {
        self.says.iter().any(|source| source.offers) || self.says[2].word > 0
    }

    /// What the block takes in this clock: for the next unit if there is a session, else for nobody.
    pub fn taken(&mut self, model: &Model, up: bool, now: u64) -> Result<(), String> {
        let writes_since = self.says[2].since;
        for number in 0..3 {
            let since = self.says[number].since;
            let Some(offered) = self.says[number].take(model) else {
                continue;
            };
            if !up {
                continue;
            }
            if number < 2 && writes_since.is_some_and(|write| Some(write) < since) {
                return Err(format!("{offered:x?} overtakes a write"));
            }
            self.next.push_back(offered);
            for other in &mut self.says {
                other.passed += u32::from(other.since.is_some_and(|since| since < now));
                if other.passed > PATIENCE {
                    return Err("a TLP waits for ever".to_owned());
                }
            }
        }
        if !up {
            self.says.iter_mut().for_each(|source| source.passed = 0);
        }
        Ok(())
    }

    /// The TLP whose unit has left.
    pub fn left(&mut self) -> Result<Offered, String> {
        let next = self.next.pop_front();
        next.ok_or_else(|| "a unit of nobody".to_owned())
    }

    /// The session is lost: what had left the card is gone.
    pub fn lost(&mut self) {
        self.next.clear();
    }

    pub fn done(&self) -> bool {
        self.next.is_empty()
            && self.within.is_none()
            && self.says.iter().all(|source| source.waiting.is_empty())
    }
}
