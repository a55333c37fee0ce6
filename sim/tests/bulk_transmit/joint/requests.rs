//! Work requests of this host.

use super::*;

impl Bench {
    /// Offers a work request; its number.
    pub fn post(&mut self, length: Option<u32>) -> u64 {
        let wrong = length.is_none() && self.rng.random_range(0..1_000) < self.plan.wrong;
        let reads = length.is_none() && self.rng.random_range(0..1_000) < self.plan.reads;
        let fate = self.fate();
        let rng = &mut self.rng;
        let (qpn, domain, q_key) = self.pairs[rng.random_range(0..self.pairs.len())];
        let own: Vec<Region> = self
            .regions
            .iter()
            .copied()
            .filter(|region| region.domain == domain)
            .filter(|region| !reads || region.rights & LOCAL_WRITE != 0)
            .collect();
        let region = own[rng.random_range(0..own.len())];
        let most = self.plan.most;
        let length = length.unwrap_or_else(|| match rng.random_range(0..6) {
            0 => rng.random_range(0..20),
            1 => most >> rng.random_range(0..12),
            _ => rng.random_range(0..most),
        });
        let address = region.base + rng.random_range(0..=region.length - u64::from(length));
        let id = self.next_id;
        self.next_id += 1;
        let mut flow = Flow {
            kind: match reads {
                true => Kind::Read(reads::Reading::new(fate)),
                false => Kind::Write,
            },
            node: PEERS[rng.random_range(0..PEERS.len())],
            length,
            address,
            // Each transfer has memory of its own there, at any byte address.
            there: id << 33 | rng.random_range(0..1 << 32),
            rkey: rng.random::<u32>() & !1,
            key: region.key,
            qpn,
            peer: rng.random_range(0..1 << 24),
            q_key,
            fields: BTreeMap::new(),
            notifies: !reads && rng.random(),
            wanted: if reads { fate.outcome() } else { Outcome::Ok },
            may: BTreeSet::new(),
            flushed: false,
            begun: false,
            ended: None,
            bytes: vec![None; if reads { 0 } else { length as usize }],
        };
        // A fence has been waited for already.
        let mut bits = u64::from(id.is_multiple_of(3)) * u64::from(flags::FENCE.mask());
        bits |= u64::from(flow.notifies) * u64::from(flags::NOTIFY.mask());
        bits |= u64::from(!reads && rng.random_range(0..3) == 0)
            * u64::from(flags::OLDEST_FIRST.mask());
        let opcode = [OPCODE_BULK_WRITE, OPCODE_BULK_READ][usize::from(reads)].into();
        let mut fields = BTreeMap::from([("opcode", opcode), ("flags", bits)]);
        if wrong {
            match rng.random_range(0..8) {
                0 => (flow.wanted, flow.node) = (Outcome::Unreachable, 77),
                1 if !reads => (flow.wanted, flow.rkey) = (Outcome::RemoteAccess, flow.rkey | 1),
                2 => {
                    fields.insert("flags", bits | [4, 16, 128][rng.random_range(0..3)]);
                    flow.wanted = Outcome::LocalOpcode;
                }
                3 if length > 0 => {
                    (flow.wanted, flow.key) = (Outcome::LocalProtection, flow.key ^ 0x80)
                }
                4 if length > 2 => {
                    (flow.wanted, flow.there) =
                        (Outcome::LocalLength, u64::MAX - u64::from(length) + 2)
                }
                // A READ tells nobody, is sent by the other side, and needs a region that it may write to.
                5 if reads => {
                    let bit = [flags::NOTIFY, flags::OLDEST_FIRST][rng.random_range(0..2)];
                    fields.insert("flags", bits | u64::from(bit.mask()));
                    flow.wanted = Outcome::LocalOpcode;
                }
                6 if reads && length > 0 => {
                    let mut closed = self.regions.iter();
                    let closed = closed.find(|region| region.rights & LOCAL_WRITE == 0);
                    if let Some(region) = closed.filter(|region| region.domain == domain) {
                        (flow.key, flow.address) = (region.key, region.base);
                        flow.wanted = Outcome::LocalProtection;
                    }
                }
                _ if length > 0 => {
                    flow.wanted = Outcome::LocalProtection;
                    flow.address =
                        (region.base + (region.length - u64::from(length))).wrapping_add(1);
                }
                _ => {}
            }
        }
        let mut head = [0; 16];
        H_ADDRESS.put(&mut head, flow.there);
        H_RKEY.put(&mut head, flow.rkey);
        let operation = [Operation::Write, Operation::Read][usize::from(reads)];
        H_OPERATION.put(&mut head, operation.code());
        fields.extend([
            ("head_len", 16),
            ("length", length.into()),
            ("wr_id", id),
            ("address", flow.address),
            ("lkey", flow.key.into()),
            ("vf", ONE_SIDED_FRAME.into()),
            ("node", flow.node.into()),
            ("peer", flow.peer.into()),
            ("msn", id ^ 0x8000_0000),
            ("win_id", 0),
            ("epoch", 0),
            (
                "head_low",
                u64::from_le_bytes(head[..8].try_into().unwrap()),
            ),
            (
                "head_high",
                u64::from_le_bytes(head[8..].try_into().unwrap()),
            ),
            ("psn", id & 0xFF_FFFF),
            ("request", id & 0xFFFF),
            ("qpn", qpn.into()),
            ("pd", domain.into()),
            ("q_key", q_key.into()),
        ]);
        flow.fields = fields;
        self.by_address.insert(flow.there, id);
        self.flows.insert(id, flow);
        self.offered = Some(id);
        id
    }
}
