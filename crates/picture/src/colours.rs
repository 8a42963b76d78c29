//! Colour maps, as control points between which colours are interpolated.

use clap::ValueEnum;

/// A colour map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Colours {
    /// Dark blue to yellow, evenly perceived (van der Walt and Smith 2015): for models.
    Viridis,
    /// The rainbow's order without its false edges (Mikhailov 2019): for models.
    Turbo,
    /// White (negative) to black (positive): for gathers.
    Grey,
    /// Blue (negative) through white to red (positive): for gathers and snapshots.
    RedBlue,
    /// Blue-green through white to brown, readable to the colour-blind.
    Petrol,
}

// Every point is a stop at an equal distance from the next. Viridis and turbo are sampled from
// their published tables (CC0 and Apache-2.0).
const VIRIDIS: &[[u8; 3]] = &[
    [68, 1, 84],
    [72, 26, 108],
    [71, 47, 125],
    [65, 68, 135],
    [57, 86, 140],
    [49, 104, 142],
    [42, 120, 142],
    [35, 136, 142],
    [31, 152, 139],
    [34, 168, 132],
    [53, 183, 121],
    [84, 197, 104],
    [122, 209, 81],
    [165, 219, 54],
    [210, 226, 27],
    [253, 231, 37],
];
const TURBO: &[[u8; 3]] = &[
    [48, 18, 59],
    [65, 69, 171],
    [70, 117, 237],
    [57, 162, 252],
    [27, 207, 212],
    [36, 236, 166],
    [97, 252, 108],
    [164, 252, 59],
    [209, 232, 52],
    [243, 198, 58],
    [254, 155, 45],
    [243, 99, 21],
    [217, 56, 6],
    [177, 25, 1],
    [122, 4, 2],
];
const GREY: &[[u8; 3]] = &[[255, 255, 255], [0, 0, 0]];
const RED_BLUE: &[[u8; 3]] = &[
    [5, 48, 97],
    [33, 102, 172],
    [67, 147, 195],
    [146, 197, 222],
    [209, 229, 240],
    [255, 255, 255],
    [253, 219, 199],
    [244, 165, 130],
    [214, 96, 77],
    [178, 24, 43],
    [103, 0, 31],
];
const PETROL: &[[u8; 3]] = &[
    [0, 60, 48],
    [1, 102, 94],
    [53, 151, 143],
    [128, 205, 193],
    [199, 234, 229],
    [255, 255, 255],
    [246, 232, 195],
    [223, 194, 125],
    [191, 129, 45],
    [140, 81, 10],
    [84, 48, 5],
];

/// What NaN and infinite values are drawn in: no map has it.
const NOT_FINITE: [u8; 3] = [255, 0, 255];

impl Colours {
    const fn stops(self) -> &'static [[u8; 3]] {
        match self {
            Self::Viridis => VIRIDIS,
            Self::Turbo => TURBO,
            Self::Grey => GREY,
            Self::RedBlue => RED_BLUE,
            Self::Petrol => PETROL,
        }
    }

    /// Colour at `fraction` of the way from the first to the last; magenta where it is NaN.
    pub fn at(self, fraction: f64) -> [u8; 3] {
        if fraction.is_nan() {
            return NOT_FINITE;
        }
        let stops = self.stops();
        let place = fraction.clamp(0.0, 1.0) * (stops.len() - 1) as f64;
        #[expect(clippy::cast_possible_truncation, reason = "below the number of stops")]
        #[expect(clippy::cast_sign_loss, reason = "clamped")]
        let below = (place as usize).min(stops.len() - 2);
        let weight = place - below as f64;
        std::array::from_fn(|c| {
            let [a, b] = [below, below + 1].map(|n| f64::from(stops[n][c]));
            #[expect(clippy::cast_possible_truncation, reason = "between two bytes")]
            #[expect(clippy::cast_sign_loss, reason = "between two bytes")]
            let value = (a + weight * (b - a)).round() as u8;
            value
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diverging_maps_are_white_in_the_middle() {
        for map in [Colours::RedBlue, Colours::Petrol] {
            assert_eq!(map.at(0.5), [255; 3], "{map:?}");
        }
        assert_eq!(Colours::Grey.at(0.5), [128; 3]);
    }

    #[test]
    fn viridis_brightens_all_the_way() {
        // Luma of Rec. 709; an evenly perceived map has no step back.
        let luma = |[r, g, b]: [u8; 3]| {
            0.2126 * f64::from(r) + 0.7152 * f64::from(g) + 0.0722 * f64::from(b)
        };
        let steps: Vec<f64> =
            (0..=100).map(|n| luma(Colours::Viridis.at(f64::from(n) / 100.0))).collect();
        assert!(steps.is_sorted(), "{steps:?}");
    }
}
