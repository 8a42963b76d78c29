//! Bytes in plain loops: slices a tile and its halo into signed digits and sums products tap by tap.

use temblor_physics::Slicing;

use super::tile::{Field, LENGTH, Tile, power_of_two};
use super::{Digital, Slice, Target};

/// Digits of a tile and its halo as boxes, one per digit; corners are not filled.
struct Boxes<'a> {
    bytes: &'a mut Vec<i8>,
    halo: [isize; 3],
    extent: [usize; 3],
}

impl<'a> Boxes<'a> {
    fn new(bytes: &'a mut Vec<i8>, field: Field<'_>, tile: &Tile, digits: usize) -> Self {
        let halo = field.layout.halo;
        let extent = [0, 1, 2].map(|a| tile.shape[a] + 2 * halo[a]);
        bytes.resize(digits * extent.iter().product::<usize>(), 0);
        Self { bytes, halo: halo.map(usize::cast_signed), extent }
    }

    /// Offset of a position relative to the tile.
    fn at(&self, digit: usize, position: [isize; 3]) -> usize {
        let [i, j, k] = [0, 1, 2].map(|a| (position[a] + self.halo[a]).cast_unsigned());
        ((digit * self.extent[0] + i) * self.extent[1] + j) * self.extent[2] + k
    }
}

/// Sums of up to five diagonals, most significant first, as one number.
///
/// Neighbours are joined as integers: one diagonal is below 2^20 in magnitude, 256 of it fit.
pub(super) fn join(sums: &[i32]) -> f32 {
    #[expect(clippy::cast_precision_loss, reason = "rounded on purpose")]
    let float = |whole: i32| whole as f32;
    match *sums {
        [a] => float(a),
        [a, b] => float(256 * a + b),
        [a, b, c] => float(256 * a + b) * 256.0 + float(c),
        [a, b, c, d] => float(256 * a + b) * 65536.0 + float(256 * c + d),
        [a, b, c, d, e] => {
            let low = float(256 * c + d) * 256.0 + float(e);
            float(256 * a + b) * 16_777_216.0 + low
        }
        _ => unreachable!("three digits times three make five diagonals"),
    }
}

/// A tile's Laplacian.
pub(super) fn laplacian(
    plan: &Digital,
    field: Field<'_>,
    tile: &Tile,
    slice: &Slice,
    bytes: &mut Vec<i8>,
    target: &mut Target<'_>,
) {
    let digits = usize::from(slice.digits);
    let boxes = Boxes::new(bytes, field, tile, digits);
    let [first, second] = slice.factors();
    let bias = 0x0080_8080 >> (8 * (3 - digits));
    field.each_row(tile, |at, count| {
        let start = boxes.at(0, at);
        let apart = boxes.extent.iter().product::<usize>();
        for (k, &p) in field.row(tile, at, count).iter().enumerate() {
            let scaled = p * first * second;
            let whole = match plan.slicing {
                Slicing::Truncated => scaled.trunc(),
                _ => scaled.round_ties_even(),
            };
            #[expect(clippy::cast_possible_truncation, reason = "the exponent bounds it")]
            let biased = whole as i32 + bias;
            for b in 0..digits {
                let byte = biased >> (8 * (digits - 1 - b)) & 0xff;
                #[expect(clippy::cast_possible_truncation, reason = "a byte less 128")]
                let digit = (byte - 128) as i8;
                boxes.bytes[start + b * apart + k] = digit;
            }
        }
    });
    let operator: Vec<_> = (0..plan.digits.operator).map(|a| plan.operator.digit(a)).collect();
    let diagonals = operator.len() + digits - 1;
    let axes = [0, 1, 2].map(|a| field.layout.halo[a] > 0);
    let unit = power_of_two(slice.exponent);
    for i in 0..tile.shape[0] {
        for j in 0..tile.shape[1] {
            let out = target.at(i, j);
            let out = &mut target.values[out..out + tile.shape[2]];
            let mut begun = false;
            for axis in (0..3).filter(|&axis| axes[axis]) {
                let mut sums = [[0_i32; LENGTH]; 5];
                for a in 0..operator.len() {
                    for b in (0..digits).filter(|b| a + b < slice.kept) {
                        let sum = &mut sums[a + b][..tile.shape[2]];
                        let radius = operator[a].len().cast_signed() - 1;
                        for r in -radius..=radius {
                            let weight = i32::from(operator[a][r.unsigned_abs()]);
                            let mut at = [i.cast_signed(), j.cast_signed(), 0];
                            at[axis] += r;
                            let at = boxes.at(b, at);
                            for (sum, &d) in sum.iter_mut().zip(&boxes.bytes[at..]) {
                                *sum += weight * i32::from(d);
                            }
                        }
                    }
                }
                for (k, out) in out.iter_mut().enumerate() {
                    let mut here = [0; 5];
                    for d in 0..diagonals {
                        here[d] = sums[d][k];
                    }
                    let part = join(&here[..diagonals]) * slice.scales[axis];
                    *out = if begun { *out + part } else { part };
                }
                begun = true;
            }
            out.iter_mut().for_each(|out| *out *= unit);
        }
    }
}
