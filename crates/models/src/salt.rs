//! A salt diapir with an overhang in compacting sediments under a rough sea floor.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::noise::{Noise, smooth_step};

const WATER_SPEED: f64 = 1500.0;
/// Rock salt, as in the SEG/EAGE salt model (Aminzadeh, Brac and Kunz 1997), m/s.
const SALT_SPEED: f64 = 4482.0;
/// Speed of sediment at the sea floor, m/s, and its growth, 1/s, of the Gulf of Mexico's order.
const SEDIMENT: (f64, f64) = (1700.0, 0.6);
const BASEMENT_SPEED: f64 = 5200.0;

/// What a salt model is made from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SaltRecipe {
    /// Width of the model along x and y, m.
    pub width: [f64; 2],
    /// Depth of the model, m.
    pub depth: f64,
    /// Depth of the sea, m; 0 for none.
    pub water: f64,
    /// Seed of everything random.
    pub seed: u64,
}

/// Water, bedded sediments, salt and basement.
#[derive(Debug, Clone)]
pub struct Salt {
    centre: [f64; 2],
    depth: f64,
    radius: f64,
    water: f64,
    floor: Noise,
    beds: Vec<f64>,
    bed_thickness: f64,
    fold: Noise,
    skin: Noise,
    basement: Noise,
}

impl Salt {
    /// Places the salt near the middle.
    pub fn new(recipe: &SaltRecipe) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(recipe.seed);
        let [width, breadth] = recipe.width;
        let depth = recipe.depth;
        let long = width.max(breadth);
        let beds = 24;
        Self {
            centre: [
                width * random.random_range(0.4..0.6),
                breadth * if breadth > 0.0 { random.random_range(0.4..0.6) } else { 0.0 },
            ],
            depth,
            radius: 0.2 * width.min(2.5 * depth),
            water: recipe.water,
            floor: Noise::new(&mut random, 8, [0.5 * long, 0.5 * long, f64::INFINITY]),
            beds: (0..beds).map(|_| random.random_range(-220.0..220.0)).collect(),
            bed_thickness: depth / f64::from(beds),
            fold: Noise::new(&mut random, 8, [0.7 * long, 0.7 * long, f64::INFINITY]),
            skin: Noise::new(&mut random, 16, [0.4 * depth; 3]),
            basement: Noise::new(&mut random, 8, [0.6 * long, 0.6 * long, f64::INFINITY]),
        }
    }

    pub(super) fn speed(&self, position: [f64; 3]) -> f64 {
        let [x, y, z] = position;
        let floor = self.water * (1.0 + 0.15 * self.floor.at([x, y, 0.0]));
        if z < floor {
            return WATER_SPEED;
        }
        if z > self.depth * (0.9 + 0.03 * self.basement.at([x, y, 0.0])) {
            return BASEMENT_SPEED;
        }
        let distance = (x - self.centre[0]).hypot(y - self.centre[1]) / self.radius;
        if self.in_salt(distance, position) {
            return SALT_SPEED;
        }
        // Rising salt has dragged the beds up around its stem.
        let drag =
            0.14 * self.depth * smooth_step(0.15, 0.6, z / self.depth) / (1.0 + distance.powi(2));
        let folded = 0.025 * self.depth * self.fold.at([x, y, 0.0]);
        let below_floor = z - floor;
        let bedding = below_floor + drag + folded * smooth_step(0.0, 0.3, below_floor / self.depth);
        #[expect(clippy::cast_possible_truncation, reason = "a bed's number")]
        #[expect(clippy::cast_sign_loss, reason = "not negative")]
        let bed = (bedding.max(0.0) / self.bed_thickness) as usize;
        let contrast = self.beds[bed.min(self.beds.len() - 1)];
        // Beds at the sea floor are all alike: contrast grows with compaction.
        let compaction = smooth_step(0.0, 0.15, below_floor / self.depth);
        SEDIMENT.0 + SEDIMENT.1 * below_floor + contrast * compaction
    }

    /// A stem that widens upwards into a cap with an overhang, on a broad pillow. Each is a level
    /// set, below zero inside; they are blended so that they grow out of one another.
    fn in_salt(&self, distance: f64, position: [f64; 3]) -> bool {
        let place = position[2] / self.depth;
        let ellipse =
            |z: f64, width: f64, height: f64| (distance / width).hypot((place - z) / height) - 1.0;
        let cap = ellipse(0.36, 1.0, 0.11);
        let pillow = ellipse(0.92, 1.8, 0.09);
        let stem_width = 0.36 - 0.14 * smooth_step(0.4, 0.7, place);
        let above = (0.36 - place).max(place - 0.95).max(0.0);
        let stem = distance / stem_width - 1.0 + 10.0 * above;
        let whole = blend(blend(cap, stem), pillow);
        // The skin is rough by at most the sum of its waves; far from it the answer is plain.
        whole < 0.5 && whole + 0.16 * self.skin.at(position) < 0.0
    }
}

/// The smaller of two level sets, rounded where they are alike.
fn blend(a: f64, b: f64) -> f64 {
    const ROUNDING: f64 = 0.5;
    let h = (ROUNDING - (a - b).abs()).max(0.0) / ROUNDING;
    a.min(b) - 0.25 * ROUNDING * h * h
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn water_sediment_salt_and_basement_all_occur() {
        let salt =
            Salt::new(&SaltRecipe { width: [12_000.0, 0.0], depth: 4000.0, water: 400.0, seed: 1 });
        let mut seen = [0_u32; 4];
        for i in 0..240 {
            for k in 0..160 {
                let v = salt.speed([50.0 * f64::from(i), 0.0, 25.0 * f64::from(k)]);
                assert!((WATER_SPEED..=BASEMENT_SPEED).contains(&v), "{v}");
                let kind = [WATER_SPEED, SALT_SPEED, BASEMENT_SPEED]
                    .iter()
                    .position(|s| s.to_bits() == v.to_bits());
                seen[kind.unwrap_or(3)] += 1;
            }
        }
        assert!(seen.iter().all(|&n| n > 240 * 160 / 50), "{seen:?}");
    }
}
