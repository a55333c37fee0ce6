//! Numbers that do not exist: to be tried wherever a number is kept in fewer bits than it came with, or looked up in a table.

use tributary_protocol::registers::Register;

/// Numbers of `bits` bits for something that there are `count` of, none of which exists: the first ones, twice as many, all ones,
/// and each power of two that is large enough, alone and on top of each of `like`. Who looks at the lower bits alone
/// takes the latter for numbers of `like`.
#[must_use]
pub fn beyond(count: u64, bits: u32, like: &[u64]) -> Vec<u64> {
    let largest = u64::MAX >> (64 - bits);
    let mut numbers = vec![largest];
    numbers.extend([count, count + 1, 2 * count, 2 * count + 1]);
    for power in (0..bits)
        .map(|bit| 1 << bit)
        .filter(|&power| power >= count)
    {
        numbers.push(power);
        numbers.extend(like.iter().map(|number| power | number));
    }
    numbers.retain(|number| (count..=largest).contains(number));
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// Words with ones where `mask` has none: each such bit alone, and all of them.
#[must_use]
pub fn outside(mask: u32) -> Vec<u32> {
    let spare = !mask;
    let bits = (0..32).map(|bit| 1 << bit);
    let mut words: Vec<u32> = bits.filter(|bit| spare & bit != 0).collect();
    if words.len() > 1 {
        words.push(spare);
    }
    words
}

/// The same for the fields of a register.
#[must_use]
pub fn outside_fields(register: &Register) -> Vec<u32> {
    outside(register.mask())
}

#[cfg(test)]
mod tests {
    use super::{beyond, outside};

    #[test]
    fn no_number_exists_and_every_bit_above_is_tried() {
        for (count, bits) in [(1, 1), (5, 3), (8, 4), (16, 24), (1000, 20), (36, 8)] {
            let numbers = beyond(count, bits, &[0, count - 1]);
            assert!(numbers.iter().all(|&n| n >= count && n >> bits == 0));
            for bit in (0..bits).filter(|bit| 1 << bit >= count) {
                assert!(numbers.contains(&(1 << bit | (count - 1))), "{count} {bit}");
            }
        }
        assert_eq!(beyond(4, 4, &[1]), [4, 5, 8, 9, 15]);
        assert!(beyond(16, 4, &[1]).is_empty());
    }

    #[test]
    fn words_have_ones_outside_alone() {
        assert!(outside(u32::MAX).is_empty());
        assert_eq!(outside(!4), [4]);
        assert_eq!(outside(0x0fff_ffff)[3..], [1 << 31, 0xf000_0000]);
    }
}
