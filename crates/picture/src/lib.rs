//! Pictures of gathers, models, snapshots and curves as PNG: axes with units, title, colour bar.
//!
//! `plotters` lays out axes and text; the rasters between them are made here, one value per pixel.
//! Figures are drawn at twice their size and averaged, which smooths text and lines alike. The font
//! (`DejaVu` Sans) is embedded, so a picture needs nothing from the system.

mod colours;
mod curves;
mod dispersion;
mod frame;
mod gather;
mod section;
mod units;

pub use colours::Colours;
pub use curves::{Curve, Curves};
pub use dispersion::Dispersion;
pub use gather::{Gather, Horizontal, Style};
pub use section::{Direction, Quantity, Section};

use anyhow::{Context, Result};
use std::path::Path;

/// A finished picture.
#[derive(Debug)]
pub struct Image {
    /// Pixels across.
    pub width: u32,
    /// Pixels down.
    pub height: u32,
    /// Red, green and blue of each pixel, row by row from the top.
    pub rgb: Vec<u8>,
}

impl Image {
    /// Writes the picture as PNG; the file appears when complete.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, self.width, self.height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header().context("cannot encode the picture")?;
        writer.write_image_data(&self.rgb).context("cannot encode the picture")?;
        writer.finish().context("cannot encode the picture")?;
        temblor_io::atomic::write(path, &bytes)?;
        Ok(())
    }

    /// Half the size, each pixel the mean of four.
    fn halved(&self) -> Self {
        let (width, height) = (self.width / 2, self.height / 2);
        let pitch = 3 * self.width as usize;
        let mut rgb = Vec::with_capacity(3 * width as usize * height as usize);
        for j in 0..height as usize {
            for i in 0..width as usize {
                for c in 0..3 {
                    let at = 2 * j * pitch + 6 * i + c;
                    let four = [at, at + 3, at + pitch, at + pitch + 3];
                    let sum: u32 = four.iter().map(|&n| u32::from(self.rgb[n])).sum();
                    rgb.push(u8::try_from((sum + 2) / 4).unwrap_or(u8::MAX));
                }
            }
        }
        Self { width, height, rgb }
    }
}

/// The magnitude that `percent` of the finite values do not exceed; 1 if all are zero.
pub fn clip_level(values: impl Iterator<Item = f32>, percent: f64) -> f32 {
    let mut sizes: Vec<f32> = values.filter(|v| v.is_finite()).map(f32::abs).collect();
    if sizes.is_empty() {
        return 1.0;
    }
    #[expect(clippy::cast_possible_truncation, reason = "at most the length")]
    #[expect(clippy::cast_sign_loss, reason = "percent is not negative")]
    let rank = ((percent / 100.0).clamp(0.0, 1.0) * (sizes.len() - 1) as f64).ceil() as usize;
    let (_, level, rest) = sizes.select_nth_unstable_by(rank, f32::total_cmp);
    // A gather that is silent but for one arrival would clip at zero: take its peak instead.
    let peak = rest.iter().copied().fold(*level, f32::max);
    match (*level > 0.0, peak > 0.0) {
        (true, _) => *level,
        (false, true) => peak,
        (false, false) => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clip_level_is_the_percentile_of_magnitudes() {
        let values =
            || (0_i16..=100).map(|n| if n % 2 == 0 { f32::from(n) } else { -f32::from(n) });
        assert_eq!(clip_level(values(), 90.0).to_bits(), 90_f32.to_bits());
        assert_eq!(clip_level(values(), 100.0).to_bits(), 100_f32.to_bits());
    }

    #[test]
    fn silent_gather_with_one_arrival_is_not_clipped_at_zero() {
        let mut values = vec![0.0; 1000];
        values[7] = -3.0;
        assert_eq!(clip_level(values.into_iter(), 99.0).to_bits(), 3_f32.to_bits());
        assert_eq!(clip_level([0.0, f32::NAN].into_iter(), 99.0).to_bits(), 1_f32.to_bits());
    }

    #[test]
    fn halving_averages_four_pixels() {
        let rgb = [[0, 0, 0], [4, 8, 12], [8, 0, 0], [4, 0, 100]].concat();
        let half = Image { width: 2, height: 2, rgb }.halved();
        assert_eq!((half.width, half.height, half.rgb), (1, 1, vec![4, 2, 28]));
    }
}
