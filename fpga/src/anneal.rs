//! Where block RAMs lie best when everything else stays where it is: simulated annealing on the
//! half perimeter of the nets that end at them.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Moves that are tried for each block RAM.
const MOVES: u64 = 4_000;

/// Column and row of a tile.
pub type Tile = (i32, i32);

/// Lowest and highest column and row of some cells.
pub type Span = (Tile, Tile);

/// Nets that end at the same block RAMs and span the same rectangle of other cells.
#[derive(Debug, Clone, PartialEq)]
pub struct Nets {
    /// The block RAMs, by index.
    pub rams: Vec<usize>,
    /// Where the other cells are; none if there are none.
    pub others: Option<Span>,
    /// How many nets.
    pub count: u32,
}

/// Block RAMs on sites.
pub struct Layout<'a> {
    sites: &'a [Tile],
    nets: &'a [Nets],
    /// Nets of each block RAM.
    of: Vec<Vec<usize>>,
    /// Site of each block RAM, block RAM of each site.
    site: Vec<usize>,
    ram: Vec<Option<usize>>,
    /// Length of each entry of `nets`.
    length: Vec<i64>,
}

impl<'a> Layout<'a> {
    /// Block RAM i is on site `site[i]`; no two are on the same.
    pub fn new(sites: &'a [Tile], nets: &'a [Nets], site: Vec<usize>) -> Self {
        let mut of = vec![Vec::new(); site.len()];
        for (index, net) in nets.iter().enumerate() {
            for &ram in &net.rams {
                of[ram].push(index);
            }
        }
        let mut ram = vec![None; sites.len()];
        for (index, &place) in site.iter().enumerate() {
            ram[place] = Some(index);
        }
        let mut layout = Self {
            sites,
            nets,
            of,
            site,
            ram,
            length: Vec::new(),
        };
        layout.length = (0..nets.len()).map(|net| layout.measure(net)).collect();
        layout
    }

    /// Length of all nets, in tiles.
    pub fn total(&self) -> i64 {
        self.length.iter().sum()
    }

    /// The site of each block RAM.
    pub fn sites(&self) -> &[usize] {
        &self.site
    }

    /// Half the perimeter of a net, times how many are like it.
    fn measure(&self, net: usize) -> i64 {
        let net = &self.nets[net];
        let (mut low, mut high) = net
            .others
            .unwrap_or(((i32::MAX, i32::MAX), (i32::MIN, i32::MIN)));
        for &ram in &net.rams {
            let (x, y) = self.sites[self.site[ram]];
            low = (low.0.min(x), low.1.min(y));
            high = (high.0.max(x), high.1.max(y));
        }
        i64::from(high.0 - low.0 + high.1 - low.1) * i64::from(net.count)
    }

    /// Puts a block RAM on a site; what is there goes to the site that becomes free.
    fn swap(&mut self, ram: usize, to: usize) {
        let from = self.site[ram];
        let other = self.ram[to];
        self.site[ram] = to;
        self.ram[to] = Some(ram);
        self.ram[from] = other;
        if let Some(other) = other {
            self.site[other] = from;
        }
    }

    /// Moves block RAMs until the nets are short.
    pub fn anneal(&mut self, seed: u64) {
        let rams = self.site.len() as u64;
        if rams == 0 {
            return;
        }
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut below = |limit: u64| (random.next_u64() >> 11) % limit;
        let hot = 0.3 * self.total() as f64 / rams as f64;
        let moves = MOVES * rams;
        let mut changed = Vec::new();
        for step in 0..moves {
            let heat = hot * (1.0 - step as f64 / moves as f64).powi(3);
            let ram = below(rams) as usize;
            let to = below(self.sites.len() as u64) as usize;
            let from = self.site[ram];
            if to == from {
                continue;
            }
            changed.clear();
            changed.extend(&self.of[ram]);
            if let Some(other) = self.ram[to] {
                changed.extend(&self.of[other]);
                changed.sort_unstable();
                changed.dedup();
            }
            self.swap(ram, to);
            let longer: i64 = changed
                .iter()
                .map(|&net| self.measure(net) - self.length[net])
                .sum();
            let chance = below(1 << 32) as f64 / (1u64 << 32) as f64;
            if longer <= 0 || chance < (-(longer as f64) / heat).exp() {
                for &net in &changed {
                    self.length[net] = self.measure(net);
                }
            } else {
                self.swap(ram, from);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten by ten sites, two tiles apart.
    fn sites() -> Vec<Tile> {
        (0..100).map(|i| (2 * (i % 10), 2 * (i / 10))).collect()
    }

    fn net(rams: &[usize], others: Option<Span>) -> Nets {
        Nets {
            rams: rams.to_vec(),
            others,
            count: 3,
        }
    }

    #[test]
    fn each_ram_goes_to_the_cells_it_is_connected_to() {
        let sites = sites();
        let corners = [(0, 0), (18, 0), (0, 18), (18, 18)];
        let nets: Vec<Nets> = (0..4)
            .map(|i| net(&[i], Some((corners[i], corners[i]))))
            .collect();
        let mut layout = Layout::new(&sites, &nets, vec![55, 54, 45, 44]);
        assert_eq!(layout.total(), 3 * (4 * 20));
        layout.anneal(1);
        assert_eq!(layout.total(), 0);
        let found: Vec<Tile> = layout.sites().iter().map(|&site| sites[site]).collect();
        assert_eq!(found, corners);
    }

    #[test]
    fn rams_of_one_net_gather_and_none_share_a_site() {
        let sites = sites();
        let nets = [net(&[0, 1, 2, 3], None), net(&[3], Some(((4, 4), (6, 6))))];
        let mut layout = Layout::new(&sites, &nets, vec![0, 9, 90, 99]);
        layout.anneal(7);
        // Four sites in a square are as near as they can be, one of them in the other net.
        assert_eq!(layout.total(), 3 * (4 + 4));
        let mut places = layout.sites().to_vec();
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), 4);
        let kept: Vec<i64> = (0..nets.len()).map(|i| layout.measure(i)).collect();
        assert_eq!(layout.length, kept, "lengths are kept up");
    }

    #[test]
    fn a_seed_always_gives_the_same() {
        let sites = sites();
        let nets: Vec<Nets> = (0..12).map(|i| net(&[i, (i * 5 + 1) % 12], None)).collect();
        let run = |seed| {
            let mut layout = Layout::new(&sites, &nets, (0..12).collect());
            let before = layout.total();
            layout.anneal(seed);
            assert!(layout.total() < before);
            layout.sites().to_vec()
        };
        assert_eq!(run(3), run(3));
        assert_ne!(run(3), run(4));
    }

    #[test]
    fn nothing_to_place_is_no_error() {
        let sites = sites();
        let mut layout = Layout::new(&sites, &[], Vec::new());
        layout.anneal(1);
        assert!(layout.sites().is_empty());
    }
}
