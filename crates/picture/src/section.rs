//! Slices of models and snapshots as heat maps, true to scale.

use anyhow::Result;
use ndarray::{Array2, ArrayView2};

use super::frame::{Axis, Bar, Frame, Size};
use super::{Colours, Image, units};

/// What the values are; decides colours and range.
#[derive(Debug, Clone, PartialEq)]
pub struct Quantity {
    /// Such as `Wave speed (m/s)`.
    pub label: String,
    /// Value of the first colour.
    pub from: f64,
    /// Value of the last colour.
    pub to: f64,
    /// Colours between them.
    pub colours: Colours,
    /// Whether values between nodes are interpolated (a field) or are the nearest node's (a model).
    pub smooth: bool,
}

/// One direction of a slice.
#[derive(Debug, Clone, PartialEq)]
pub struct Direction {
    /// Such as `Depth`.
    pub name: String,
    /// Position of the first node, m.
    pub origin: f64,
    /// Distance of nodes, m, negative where they run against the axis; absent: nodes are counted.
    pub spacing: Option<f64>,
}

/// A slice: values of shape (across, down).
#[derive(Debug)]
pub struct Section<'a> {
    /// Above the picture; may be empty.
    pub title: String,
    /// Shape (across, down).
    pub values: ArrayView2<'a, f32>,
    /// To the right.
    pub across: Direction,
    /// Downwards.
    pub down: Direction,
    /// What the values are.
    pub quantity: Quantity,
}

impl Section<'_> {
    /// Draws the slice; `size` None: 1200 pixels across, as high as the scale asks for.
    ///
    /// # Errors
    /// If the size leaves no room for the plot.
    pub fn draw(&self, size: Option<(u32, u32)>) -> Result<Image> {
        let (nx, nz) = self.values.dim();
        let extent = |n: usize, d: &Direction| n as f64 * d.spacing.unwrap_or(1.0).abs();
        let ratio = extent(nz, &self.down) / extent(nx, &self.across);
        let q = &self.quantity;
        // A constant model still needs a bar with two ends.
        let (from, to) = if q.to > q.from { (q.from, q.to) } else { (q.from - 1.0, q.from + 1.0) };
        let mut frame = Frame {
            title: self.title.clone(),
            x: axis(nx, &self.across, nz, &self.down),
            y: axis(nz, &self.down, nx, &self.across),
            bar: Some(Bar { label: q.label.clone(), from, to, colours: q.colours }),
            size: size.map_or(Size::Ratio(1200, ratio), |(w, h)| Size::Fixed(w, h)),
        };
        let (width, height) = frame.plot_pixels();
        let stretch = f64::from(height) / f64::from(width.max(1)) / ratio;
        if self.down.spacing.is_some() && !(0.98..1.02).contains(&stretch) {
            frame.y.label = format!("{}, stretched {stretch:.2} times", frame.y.label);
        }
        frame.draw(|width, height| {
            let pixels = resample(&self.values, width as usize, height as usize, q.smooth);
            let colour = |&v: &f32| {
                let fraction =
                    if v.is_finite() { (f64::from(v) - from) / (to - from) } else { f64::NAN };
                q.colours.at(fraction)
            };
            // Pixels are (across, down); the raster is row by row.
            pixels.t().iter().flat_map(colour).collect()
        })
    }
}

/// The axis of a direction; one unit for both directions, so that the picture reads as a map.
fn axis(n: usize, direction: &Direction, other_n: usize, other: &Direction) -> Axis {
    let Some(h) = direction.spacing else {
        let label = format!("{} (node)", direction.name);
        return Axis { label, from: -0.5, to: n as f64 - 0.5 };
    };
    let extent = |n: usize, d: &Direction| n as f64 * d.spacing.unwrap_or(0.0).abs();
    let unit = units::length(extent(n, direction).max(extent(other_n, other)));
    Axis {
        label: format!("{} ({})", direction.name, unit.symbol),
        from: (direction.origin - 0.5 * h) * unit.factor,
        to: (direction.origin + (n as f64 - 0.5) * h) * unit.factor,
    }
}

/// Values at the centres of `width` x `height` pixels: the mean of the nodes within a pixel where
/// they are finer than pixels, else the nearest node or, if `smooth`, linear interpolation.
pub(super) fn resample(
    values: &ArrayView2<'_, f32>,
    width: usize,
    height: usize,
    smooth: bool,
) -> Array2<f32> {
    let (nx, nz) = values.dim();
    let columns = weights(nx, width, smooth);
    let rows = weights(nz, height, smooth);
    let mut across = Array2::<f32>::zeros((width, nz));
    for (i, column) in columns.iter().enumerate() {
        for &(node, weight) in column {
            across.row_mut(i).scaled_add(weight, &values.row(node));
        }
    }
    Array2::from_shape_fn((width, height), |(i, j)| {
        rows[j].iter().map(|&(node, weight)| weight * across[[i, node]]).sum()
    })
}

/// For each pixel the nodes it shows and their weights.
fn weights(nodes: usize, pixels: usize, smooth: bool) -> Vec<Vec<(usize, f32)>> {
    let ratio = nodes as f64 / pixels as f64;
    let last = nodes - 1;
    #[expect(clippy::cast_possible_truncation, reason = "weights and node numbers within range")]
    #[expect(clippy::cast_sign_loss, reason = "positions are clamped to the nodes")]
    let of_pixel = |pixel: usize| {
        let (from, to) = (pixel as f64 * ratio, (pixel + 1) as f64 * ratio);
        if ratio > 1.0 {
            let overlap = |node: usize| (to.min(node as f64 + 1.0) - from.max(node as f64)) / ratio;
            let range = from as usize..=((to.ceil() as usize).max(1) - 1).min(last);
            range.map(|node| (node, overlap(node) as f32)).collect()
        } else if smooth {
            let centre = (0.5 * (from + to) - 0.5).clamp(0.0, last as f64);
            let below = (centre as usize).min(last.saturating_sub(1));
            let weight = (centre - below as f64) as f32;
            vec![(below, 1.0 - weight), ((below + 1).min(last), weight)]
        } else {
            vec![(((0.5 * (from + to)) as usize).min(last), 1.0)]
        }
    };
    (0..pixels).map(of_pixel).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn weights_of_a_pixel_sum_to_one() {
        for (nodes, pixels) in [(7, 3), (3, 7), (5, 5), (1, 4), (1000, 33)] {
            for smooth in [false, true] {
                for pixel in weights(nodes, pixels, smooth) {
                    let sum: f32 = pixel.iter().map(|w| w.1).sum();
                    assert!((sum - 1.0).abs() < 1e-5, "{nodes} {pixels} {smooth}: {pixel:?}");
                }
            }
        }
    }

    #[test]
    fn coarse_models_show_their_nodes_and_fine_ones_their_mean() {
        let values = array![[1.0, 2.0], [3.0, 4.0]];
        let large = resample(&values.view(), 4, 2, false);
        assert_eq!(large, array![[1.0, 2.0], [1.0, 2.0], [3.0, 4.0], [3.0, 4.0]]);
        assert_eq!(resample(&values.view(), 1, 1, false), array![[2.5]]);
    }

    #[test]
    fn smooth_fields_are_linear_between_nodes() {
        let values = array![[0.0], [1.0]];
        // Pixel centres at node coordinates -0.25, 0.25, 0.75, 1.25; outside the ends hold.
        let line = resample(&values.view(), 4, 1, true);
        assert_eq!(line, array![[0.0], [0.25], [0.75], [1.0]]);
    }
}
