//! Colours of plots, on light and on dark ground.

use plotters::style::RGBColor;

/// Ground that a plot is drawn on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Theme {
    /// Dark ink on white.
    Light,
    /// Light ink on near black.
    Dark,
}

/// Hues far apart from one to the next. CIE lightness differs by 5 between any two, so that they can
/// be told apart in grey too.
const ON_LIGHT: [RGBColor; 10] = [
    RGBColor(0, 74, 149),
    RGBColor(187, 78, 7),
    RGBColor(0, 62, 24),
    RGBColor(152, 62, 158),
    RGBColor(173, 130, 8),
    RGBColor(11, 138, 143),
    RGBColor(166, 31, 71),
    RGBColor(47, 8, 127),
    RGBColor(124, 163, 13),
    RGBColor(2, 69, 93),
];
const ON_DARK: [RGBColor; 10] = [
    RGBColor(83, 154, 243),
    RGBColor(253, 175, 139),
    RGBColor(27, 145, 70),
    RGBColor(233, 150, 238),
    RGBColor(254, 216, 135),
    RGBColor(34, 228, 237),
    RGBColor(250, 128, 150),
    RGBColor(111, 101, 201),
    RGBColor(209, 249, 133),
    RGBColor(18, 150, 197),
];

impl Theme {
    /// Colour of the n-th series; they repeat after ten.
    pub(super) const fn series(self, n: usize) -> RGBColor {
        match self {
            Self::Light => ON_LIGHT[n % 10],
            Self::Dark => ON_DARK[n % 10],
        }
    }

    /// Colour of the n-th area from below; the third, zeros in a field, stands back.
    pub(super) const fn area(self, n: usize) -> RGBColor {
        match (n, self) {
            (2, Self::Light) => RGBColor(214, 219, 225),
            (2, Self::Dark) => RGBColor(62, 70, 80),
            (3, _) => self.series(6),
            _ => self.series(n),
        }
    }

    pub(super) const fn ground(self) -> RGBColor {
        match self {
            Self::Light => RGBColor(255, 255, 255),
            Self::Dark => RGBColor(22, 26, 32),
        }
    }

    /// Titles.
    pub(super) const fn ink(self) -> RGBColor {
        match self {
            Self::Light => RGBColor(27, 31, 36),
            Self::Dark => RGBColor(230, 234, 239),
        }
    }

    /// Labels.
    pub(super) const fn muted(self) -> RGBColor {
        match self {
            Self::Light => RGBColor(82, 90, 99),
            Self::Dark => RGBColor(165, 174, 184),
        }
    }

    /// Lines behind the data.
    pub(super) const fn grid(self) -> RGBColor {
        match self {
            Self::Light => RGBColor(228, 231, 235),
            Self::Dark => RGBColor(48, 54, 62),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn luminance(colour: RGBColor) -> f64 {
        let linear = |byte: u8| {
            let part = f64::from(byte) / 255.0;
            if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * linear(colour.0) + 0.7152 * linear(colour.1) + 0.0722 * linear(colour.2)
    }

    #[test]
    fn any_two_colours_differ_in_lightness() {
        // CIE 1976: L* = 116 Y^(1/3) - 16.
        for theme in [Theme::Light, Theme::Dark] {
            let mut lightness: Vec<f64> =
                (0..10).map(|n| 116.0 * luminance(theme.series(n)).cbrt() - 16.0).collect();
            lightness.sort_by(f64::total_cmp);
            let least = lightness.windows(2).map(|p| p[1] - p[0]).fold(f64::INFINITY, f64::min);
            assert!(least > 4.0, "{theme:?}: {lightness:?}");
        }
    }

    #[test]
    fn lines_and_texts_stand_out_from_the_ground() {
        // WCAG 2.1: contrast of 3 for graphics, 4.5 for text.
        for theme in [Theme::Light, Theme::Dark] {
            let contrast = |colour| {
                let (a, b) = (luminance(colour), luminance(theme.ground()));
                (a.max(b) + 0.05) / (a.min(b) + 0.05)
            };
            for n in 0..10 {
                assert!(contrast(theme.series(n)) >= 2.95, "{theme:?} {n}");
            }
            assert!(contrast(theme.ink()) >= 4.5 && contrast(theme.muted()) >= 4.5, "{theme:?}");
        }
    }
}
