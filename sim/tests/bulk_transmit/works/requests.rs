//! Work requests, and what must become of them.

use super::*;

impl Bench {
    pub(super) fn work(&mut self) -> Work {
        let rng = &mut self.rng;
        let region = self.regions[rng.random_range(0..self.regions.len())];
        let length = match rng.random_range(0..6) {
            0 => 0,
            1 => rng.random_range(1..=u64::from(u32::MAX)).min(region.length),
            2 => 1,
            _ => rng.random_range(1..=region.length.min(9_000)),
        };
        let offset = match rng.random_range(0..3) {
            0 => region.length - length,
            1 => 0,
            _ => rng.random_range(0..=region.length - length),
        };
        let reads = rng.random_range(0..3) == 0;
        let mut head = [0; 16];
        let there = match rng.random_range(0..4) {
            0 => (u64::MAX - length).wrapping_add(1),
            _ => rng.random::<u64>() >> 1,
        };
        H_ADDRESS.put(&mut head, there);
        H_RKEY.put(&mut head, rng.random::<u32>());
        let operation = [Operation::Write, Operation::Read][usize::from(reads)];
        H_OPERATION.put(&mut head, operation.code());
        let mut fields = BTreeMap::from([
            (
                "opcode",
                [OPCODE_BULK_WRITE, OPCODE_BULK_READ][usize::from(reads)].into(),
            ),
            (
                "flags",
                // A READ must have none of these.
                [flags::NOTIFY, flags::OLDEST_FIRST]
                    .into_iter()
                    .filter(|_| rng.random_range(0..[2, 8][usize::from(reads)]) == 0)
                    .map(|flag| u64::from(flag.mask()))
                    .sum(),
            ),
            ("head_len", 16),
            ("length", length),
            ("wr_id", rng.random()),
            ("address", region.base.wrapping_add(offset)),
            ("lkey", region.key.into()),
            ("vf", ONE_SIDED_FRAME.into()),
            ("node", rng.random::<u16>().into()),
            ("peer", rng.random_range(0..1 << 24)),
            ("msn", rng.random::<u32>().into()),
            ("win_id", 0),
            ("epoch", 0),
            ("psn", rng.random_range(0..1 << 24)),
            ("request", rng.random::<u16>().into()),
            ("qpn", rng.random_range(0..4)),
            ("pd", region.domain.into()),
            ("q_key", rng.random::<u32>().into()),
        ]);
        for _ in 0..[0, 0, 0, 1, 1, 2][rng.random_range(0..6)] {
            let bit = |rng: &mut SmallRng, bits: u32| 1u64 << rng.random_range(0..bits);
            let (name, bits) = [
                ("opcode", 8),
                ("flags", 8),
                ("head_len", 8),
                ("length", 32),
                ("address", 64),
                ("lkey", 32),
                ("vf", 8),
                ("peer", 32),
                ("win_id", 16),
                ("epoch", 16),
                ("pd", 16),
            ][rng.random_range(0..11)];
            match rng.random_range(0..8) {
                0 => H_OPERATION.put(&mut head, rng.random_range(0..3u64)),
                1 => H_ANSWER.put(&mut head, 1u64),
                2 => H_LENGTH.put(&mut head, bit(rng, 24)),
                3 => H_ADDRESS.put(&mut head, u64::MAX - rng.random_range(0..10_000)),
                _ => *fields.get_mut(name).unwrap() ^= bit(rng, bits),
            }
        }
        let low = u64::from_le_bytes(head[..8].try_into().unwrap());
        let high = u64::from_le_bytes(head[8..].try_into().unwrap());
        fields.extend([("head_low", low), ("head_high", high)]);
        Work { fields, head }
    }

    /// The checks of the contract, in their order.
    pub(super) fn judge(&self, work: &Work) -> Outcome {
        let length = work.is("length");
        let there = u128::from(H_ADDRESS.get(&work.head)) + u128::from(length);
        if length.div_ceil(1 << self.log()) > 1 << 21 || there > 1 << 64 {
            return Outcome::LocalLength;
        }
        if work.is("peer") >= 1 << 24 {
            return Outcome::LocalAddress;
        }
        let (reads, of_writes) = (
            work.reads(),
            flags::NOTIFY.mask() | flags::OLDEST_FIRST.mask(),
        );
        let (operation, allowed) = match reads {
            true => (Operation::Read, flags::FENCE.mask()),
            false => (Operation::Write, flags::FENCE.mask() | of_writes),
        };
        let known = (reads || work.is("opcode") == u64::from(OPCODE_BULK_WRITE))
            && work.is("flags") & !u64::from(allowed) == 0
            && work.is("head_len") == 16
            && work.is("vf") == u64::from(ONE_SIDED_FRAME)
            && H_OPERATION.get(&work.head) == u64::from(operation.code())
            && (H_ANSWER.get(&work.head), H_LENGTH.get(&work.head)) == (0, 0)
            && (work.is("win_id"), work.is("epoch")) == (0, 0);
        if !known {
            return Outcome::LocalOpcode;
        }
        let (key, domain) = (work.is("lkey") as u32, work.is("pd") as u16);
        let held = |region: &Region| region.holds(key, domain, work.is("address"), length, reads);
        match length == 0 || self.regions.iter().any(held) {
            true => Outcome::Ok,
            false => Outcome::LocalProtection,
        }
    }

    /// How a transfer ends for its user.
    pub(super) fn status(outcome: u64, unread: Option<Reason>) -> Outcome {
        match (outcome, unread) {
            (6, Some(Reason::Protection)) => Outcome::LocalProtection,
            (6, Some(Reason::Memory)) => Outcome::LocalDma,
            (0, _) => Outcome::Ok,
            (2, _) => Outcome::RemoteLength,
            (3 | 5, _) => Outcome::Unresponsive,
            (4, _) => Outcome::Unreachable,
            (7, _) => Outcome::RemoteAccess,
            (8, _) => Outcome::BadQp,
            (9, _) => Outcome::RemoteRnr,
            _ => Outcome::Aborted,
        }
    }
}
