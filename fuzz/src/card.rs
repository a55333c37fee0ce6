//! The model of the whole card: register writes, frames and ring contents in any order.

use bolero::check;
use tributary_protocol::card::model::{CardModel, HostMemory, ModelConfig, Unanswered};

/// 64 KiB from address 0.
struct Memory(Vec<u8>);

impl HostMemory for Memory {
    fn read(&mut self, iova: u64, into: &mut [u8]) -> Result<(), Unanswered> {
        let from = usize::try_from(iova).map_err(|_| Unanswered)?;
        let end = from.checked_add(into.len()).ok_or(Unanswered)?;
        into.copy_from_slice(self.0.get(from..end).ok_or(Unanswered)?);
        Ok(())
    }

    fn write(&mut self, iova: u64, from: &[u8]) -> Result<(), Unanswered> {
        let at = usize::try_from(iova).map_err(|_| Unanswered)?;
        let end = at.checked_add(from.len()).ok_or(Unanswered)?;
        self.0
            .get_mut(at..end)
            .ok_or(Unanswered)?
            .copy_from_slice(from);
        Ok(())
    }
}

#[test]
fn a_card_takes_any_registers_frames_and_rings() {
    check!()
        .with_type::<Vec<(u8, u32, u32, Vec<u8>)>>()
        .for_each(|script| {
            let Ok(mut card) = CardModel::new(ModelConfig {
                qps_log: 2,
                regions_log: 2,
                in_flight_log: 4,
                ..ModelConfig::default()
            }) else {
                return;
            };
            let mut memory = Memory(vec![0; 1 << 16]);
            let mut now = 0;
            for (what, a, b, bytes) in script
                .iter()
                .map(|(what, a, b, bytes)| (*what, *a, *b, bytes))
            {
                match what % 4 {
                    0 => card.write(a, b),
                    1 => card.receive_frame(bytes, now),
                    2 => {
                        let at = a as usize % memory.0.len();
                        let room = &mut memory.0[at..];
                        let count = room.len().min(bytes.len());
                        room[..count].copy_from_slice(&bytes[..count]);
                    }
                    _ => now += u64::from(a),
                }
                card.step(&mut memory, now);
                while card.next_frame(now).is_some() {}
                let _ = card.read(a);
            }
        });
}
