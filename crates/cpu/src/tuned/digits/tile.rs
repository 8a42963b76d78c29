//! Tiles: blocks of nodes whose values share an exponent, and what is found out about them first.

use temblor_physics::quantised::{TileScale, exponent};
use temblor_physics::{Digits, WaveProblem};

use super::super::fields::largest_bits;
use super::super::layout::Layout;

/// Nodes of a tile along z: a vector of the widest instruction set holds a byte of each.
pub(super) const LENGTH: usize = 64;

/// Nodes along (x, y, z), at most. A halo of four nodes around 16 x 16 x 64 more than doubles what is
/// sliced; larger tiles leave the second-level cache.
pub(super) fn tile_shape(problem: &WaveProblem) -> [usize; 3] {
    if problem.grid.active(temblor_physics::Axis::Y) { [16, 16, LENGTH] } else { [32, 1, LENGTH] }
}

/// A block of nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tile {
    /// Its first node.
    pub(super) first: [usize; 3],
    /// Nodes along (x, y, z).
    pub(super) shape: [usize; 3],
}

/// p^n in memory, halo included.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field<'a> {
    pub(super) p: &'a [f32],
    pub(super) layout: &'a Layout,
}

impl<'a> Field<'a> {
    /// `count` values from a node of a tile on; positions are relative to the tile and may lie in
    /// its halo.
    #[inline(always)]
    pub(super) fn row(&self, tile: &Tile, at: [isize; 3], count: usize) -> &'a [f32] {
        let [i, j, k] = [0, 1, 2].map(|a| tile.first[a].cast_signed() + at[a]);
        let start = (self.layout.at(i, j).cast_signed() + k).cast_unsigned();
        &self.p[start..start + count]
    }

    /// Calls `each` for all rows of a tile and of its halo: position relative to the tile, and
    /// number of values.
    #[inline(always)]
    pub(super) fn each_row(&self, tile: &Tile, mut each: impl FnMut([isize; 3], usize)) {
        let halo = self.layout.halo.map(usize::cast_signed);
        let shape = tile.shape.map(usize::cast_signed);
        for i in -halo[0]..shape[0] + halo[0] {
            let inside = (0..shape[0]).contains(&i);
            let beyond = if inside { halo[1] } else { 0 };
            for j in -beyond..shape[1] + beyond {
                let reach = if inside && (0..shape[1]).contains(&j) { halo[2] } else { 0 };
                each([i, j, -reach], tile.shape[2] + 2 * reach.cast_unsigned());
            }
        }
    }

    /// Largest magnitude of a tile and its halo; not finite if a value is not.
    #[inline(always)]
    pub(super) fn peak(&self, tile: &Tile) -> f32 {
        let mut bits = 0;
        self.each_row(tile, |at, count| {
            bits = bits.max(largest_bits(self.row(tile, at, count)));
        });
        f32::from_bits(bits)
    }

    /// Root mean square of a tile's own values over `2^exponent`.
    #[inline(always)]
    fn rms(&self, tile: &Tile, exponent: i32) -> f64 {
        let unit = power_of_two(-exponent);
        // Partial sums in the order of lanes, so that all instruction sets round alike.
        let mut sums = [0.0_f32; 16];
        for i in 0..tile.shape[0].cast_signed() {
            for j in 0..tile.shape[1].cast_signed() {
                for part in self.row(tile, [i, j, 0], tile.shape[2]).chunks(16) {
                    for (sum, v) in sums.iter_mut().zip(part) {
                        let v = v * unit;
                        *sum += v * v;
                    }
                }
            }
        }
        let nodes: usize = tile.shape.iter().product();
        (sums.iter().map(|&s| f64::from(s)).sum::<f64>() / nodes as f64).sqrt()
    }

    /// How many digits a tile takes, and its scale with them.
    ///
    /// With `adaptive` bits it takes the fewest whose error, `2^(E-8W+1) / sqrt(12)` in the root mean
    /// square, is that many bits below the root mean square of its own values; all if none reaches
    /// that, as in a tile at rest that a front is about to enter.
    #[inline(always)]
    pub(super) fn scale(&self, tile: &Tile, peak: f32, digits: Digits) -> (u8, TileScale) {
        let all = digits.wavefield;
        if digits.adaptive > 0
            && all > 1
            && let TileScale::Exponent(least) = exponent(peak, all)
        {
            let error =
                |w: u8, e: i32| f64::from(e - least - 8 * i32::from(w) + 1).exp2() / 12_f64.sqrt();
            let wanted = self.rms(tile, least) * (-f64::from(digits.adaptive)).exp2();
            for w in 1..all {
                if let scale @ TileScale::Exponent(e) = exponent(peak, w)
                    && error(w, e) <= wanted
                {
                    return (w, scale);
                }
            }
        }
        (all, exponent(peak, all))
    }
}

/// `2^exponent` for exponents of normal numbers.
#[inline(always)]
pub(super) const fn power_of_two(exponent: i32) -> f32 {
    f32::from_bits((exponent + 127).cast_unsigned() << 23)
}
