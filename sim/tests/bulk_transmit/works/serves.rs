//! READs of this host, which leave, and READ requests of others, which are served (BW-11).

use super::*;

impl Bench {
    /// A READ request of others that was judged.
    pub(super) fn serve(&mut self) -> BTreeMap<&'static str, u64> {
        let rng = &mut self.rng;
        BTreeMap::from([
            ("node", rng.random::<u16>().into()),
            ("peer", rng.random_range(0..1 << 24)),
            ("qpn", rng.random_range(0..4)),
            ("q_key", rng.random::<u32>().into()),
            ("pd", rng.random::<u16>().into()),
            ("address", rng.random()),
            ("key", rng.random::<u32>().into()),
            ("there", rng.random()),
            ("rkey", rng.random::<u32>().into()),
            ("length", rng.random::<u32>().into()),
            ("mtu", rng.random_range(8..=12)),
            ("token", rng.random()),
        ])
    }

    pub(super) fn drive_reads(&mut self) {
        self.set("s_serve_valid", self.serving.is_some().into());
        for (name, value) in self.serving.clone().unwrap_or_default() {
            self.set(&format!("s_serve_{name}"), value);
        }
        let free = self.reading.len() < READS;
        self.set("read_free", free.into());
        let ready = free && self.stalls.ready(3);
        self.set("m_read_ready", ready.into());
        let waits = self.offered.as_ref().is_some_and(Work::reads) && !free;
        self.met.reads_waited += u64::from(waits);
    }

    /// A transfer is started: whether it answers a READ request of others.
    pub(super) fn starts(&self) -> Result<bool> {
        let names = ["dst", "addr", "rkey", "length", "mtu", "oldest_first"];
        let told = names.map(|name| self.get(&format!("m_start_{name}")));
        if let Some(serving) = &self.serving
            && told[..5] == ["node", "there", "rkey", "length", "mtu"].map(|name| serving[name])
            && told[5] == 0
        {
            return Ok(true);
        }
        let work = self.offered.as_ref();
        let work = work.ok_or("a transfer of no work request")?;
        let wanted = [
            work.is("node"),
            H_ADDRESS.get(&work.head),
            H_RKEY.get(&work.head),
            work.is("length"),
            self.log().into(),
            flags::OLDEST_FIRST.get(work.is("flags") as u32).into(),
        ];
        if told != wanted || work.reads() {
            return Err(format!("{told:x?} is started, wanted {wanted:x?}"));
        }
        Ok(false)
    }

    /// The READ request of others is under way: what its slot is for, and its token.
    pub(super) fn served(&mut self, slot: u16) -> Result<(Work, Option<u64>)> {
        let told = (self.moves("s_serve"), self.is("s_serve_busy"));
        if told != (true, false) || self.get("s_serve_slot") != u64::from(slot) {
            return Err(format!("{told:?}: slot {slot} serves, and is not told so"));
        }
        let serving = self.serving.take().ok_or("nothing is to be served")?;
        let fields = BTreeMap::from([
            ("node", serving["node"]),
            ("address", serving["address"]),
            ("lkey", serving["key"]),
            ("pd", serving["pd"]),
            ("peer", serving["peer"]),
            ("qpn", serving["qpn"]),
            ("q_key", serving["q_key"]),
            ("flags", 0),
        ]);
        self.met.begun += 1;
        let work = Work {
            fields,
            head: [0; 16],
        };
        Ok((work, Some(serving["token"])))
    }

    /// Busy is told while all slots are taken, and only then.
    pub(super) fn busy(&mut self) -> Result<()> {
        if !self.moves("s_serve") || self.serving.is_none() {
            return Ok(());
        }
        if !self.is("s_serve_busy") || self.running.len() < SLOTS {
            return Err(format!(
                "a READ request is not served, {} slots of it",
                self.running.len()
            ));
        }
        self.serving = None;
        self.met.busy += 1;
        self.idle = 0;
        Ok(())
    }

    /// A READ of this host leaves, with everything that was said of it.
    pub(super) fn read_leaves(&mut self) -> Result<bool> {
        if self.is("m_read_valid") && self.reading.len() >= READS {
            return Err("a READ leaves, and there is no place for it".into());
        }
        if !self.moves("m_read") {
            return Ok(false);
        }
        let work = self.offered.clone().ok_or("a READ of no work request")?;
        if !work.reads() || self.judge(&work) != Outcome::Ok {
            return Err(format!("{work:?} leaves, wanted {:?}", self.judge(&work)));
        }
        let mut wanted = vec![
            ("mtu", self.log().into()),
            ("there", H_ADDRESS.get(&work.head)),
            ("rkey", H_RKEY.get(&work.head)),
        ];
        wanted.extend(work.fields.iter().map(|(name, value)| (*name, *value)));
        for (name, value) in wanted {
            let told = self.get(&format!("m_read_{name}"));
            if told != value {
                return Err(format!("{name} is {told:#x} of {work:?}"));
            }
        }
        let until = self.now + self.rng.random_range(1..3_000);
        self.reading.push(until);
        self.met.reads += 1;
        self.idle = 0;
        Ok(true)
    }
}
