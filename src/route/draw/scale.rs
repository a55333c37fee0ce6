//! Colours of loads: grey unused, blue up to the lower bound, orange to dark red above it.

use std::fmt::Write;

type Rgb = [f64; 3];

const UNUSED: &str = "#dcdcdc";
const BLUES: [Rgb; 2] = [[150.0, 190.0, 235.0], [15.0, 70.0, 170.0]];
const REDS: [Rgb; 4] = [
    [253.0, 190.0, 90.0],
    [240.0, 110.0, 40.0],
    [200.0, 30.0, 30.0],
    [90.0, 0.0, 20.0],
];

/// The darkest red is for loads of so many times the bound, or for the most.
const WORST: u32 = 8;

/// From 0 to the most of all panels.
pub struct Scale {
    bound: u32,
    most: u32,
}

impl Scale {
    pub const fn new(bound: u32, most: u32) -> Self {
        Self { bound, most }
    }

    /// The most.
    pub const fn most(&self) -> u32 {
        self.most
    }

    /// Colour of a load.
    pub fn colour(&self, load: u32) -> String {
        if load == 0 {
            UNUSED.to_owned()
        } else if load <= self.bound {
            mix(&BLUES, part(load - 1, self.bound.saturating_sub(1)))
        } else {
            // The root keeps small excesses apart where the worst is far off.
            let worst = self.most.max(self.bound.saturating_mul(WORST));
            let above = part(load - self.bound - 1, worst.saturating_sub(self.bound + 1));
            mix(&REDS, above.sqrt())
        }
    }

    /// Width of a cable.
    pub fn width(&self, load: u32) -> f64 {
        match load {
            0 => 0.7,
            _ => 1.3 + 3.7 * part(load, self.most).sqrt(),
        }
    }

    /// The legend: samples with numbers.
    pub fn legend(&self, svg: &mut String, x: f64, y: f64, what: &str, width: f64) {
        let mut samples = vec![0];
        samples.extend(steps(1, self.bound.min(self.most), 3));
        if self.most > self.bound {
            samples.extend(steps(self.bound + 1, self.most, 5));
        }
        samples.dedup();
        let _ = write!(
            svg,
            "<text x=\"{x:.0}\" y=\"{:.0}\">{what}</text>",
            y + 14.0
        );
        let mut at = x + 7.6 * what.len() as f64 + 16.0;
        for load in samples {
            let colour = self.colour(load);
            let note = if load == self.bound {
                format!("{load} = lower bound")
            } else {
                load.to_string()
            };
            let _ = write!(
                svg,
                "<rect x=\"{at:.0}\" y=\"{y:.0}\" width=\"30\" height=\"18\" fill=\"{colour}\"/><text x=\"{:.0}\" y=\"{:.0}\">{note}</text>",
                at + 35.0,
                y + 14.0
            );
            at += 35.0 + 8.6 * note.len() as f64 + 16.0;
        }
        let _ = writeln!(
            svg,
            "<line x1=\"{x:.0}\" y1=\"{0:.0}\" x2=\"{1:.0}\" y2=\"{0:.0}\" stroke=\"#ccc\"/>",
            y + 32.0,
            x + width
        );
    }
}

/// Share of a whole; all of it where there is no whole.
fn part(value: u32, whole: u32) -> f64 {
    if whole == 0 {
        1.0
    } else {
        f64::from(value) / f64::from(whole)
    }
}

/// Up to `count` numbers from `first` to `last`, both among them.
fn steps(first: u32, last: u32, count: u32) -> Vec<u32> {
    if last < first {
        return Vec::new();
    }
    let span = last - first;
    let count = count.min(span + 1);
    let step = |i: u32| match count {
        1 => last,
        // Denser at the low end, as the colours are.
        _ => {
            first + (f64::from(span) * (f64::from(i) / f64::from(count - 1)).powi(2)).round() as u32
        }
    };
    let mut steps: Vec<u32> = (0..count).map(step).collect();
    steps.dedup();
    steps
}

fn mix(colours: &[Rgb], share: f64) -> String {
    let last = colours.len() - 1;
    let at = share.clamp(0.0, 1.0) * last as f64;
    let low = (at as usize).min(last.saturating_sub(1));
    let high = (low + 1).min(last);
    let weight = at - low as f64;
    let channel =
        |i: usize| (colours[low][i] * (1.0 - weight) + colours[high][i] * weight).round() as u8;
    format!("#{:02x}{:02x}{:02x}", channel(0), channel(1), channel(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_change_at_the_bound_and_reach_both_ends() {
        let scale = Scale::new(2, 30);
        assert_eq!(scale.colour(0), UNUSED);
        assert_eq!(scale.colour(2), "#0f46aa");
        assert_eq!(scale.colour(3), "#fdbe5a");
        assert_eq!(scale.colour(30), "#5a0014");
        assert_eq!(steps(1, 2, 3), [1, 2]);
        assert_eq!(steps(3, 3, 5), [3]);
        assert!(steps(1, 0, 3).is_empty());
    }
}
