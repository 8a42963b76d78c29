//! Curves of values along a line, with a legend.

use anyhow::{Result, anyhow};
use plotters::prelude::*;

use super::Image;
use super::frame::{COLOURS, INK, SUPERSAMPLING, load_font};
use super::units::{exponent, power_of_ten, tick};

const SIZE: (u32, u32) = (1000, 560);

/// Values along a line.
#[derive(Debug, Clone)]
pub struct Curve {
    /// In the legend.
    pub name: String,
    /// Position and value; values that are not finite leave a gap.
    pub points: Vec<(f64, f64)>,
    /// Whether it is what the others should be: a thin black line.
    pub exact: bool,
}

/// A picture of curves.
#[derive(Debug, Clone)]
pub struct Curves {
    /// Above the picture.
    pub title: String,
    /// Along the line.
    pub label: String,
    /// What is drawn.
    pub curves: Vec<Curve>,
}

/// Smallest and largest of numbers, with `margin` of their distance on both sides.
fn range(values: impl Iterator<Item = f64>, margin: f64) -> (f64, f64) {
    let (low, high) = values
        .filter(|value| value.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    if low > high {
        return (0.0, 1.0);
    }
    let width = high - low;
    // Rounding is not a shape: a constant is drawn as one.
    if width <= 1e-12 * low.abs().max(high.abs()) {
        let half = if low.abs() > 0.0 { 0.1 * low.abs() } else { 1.0 };
        return (low - half, high + half);
    }
    (low - margin * width, high + margin * width)
}

impl Curves {
    /// Draws the curves.
    ///
    /// # Errors
    /// If the font cannot be read.
    pub fn draw(&self) -> Result<Image> {
        load_font()?;
        let size = (SUPERSAMPLING * SIZE.0, SUPERSAMPLING * SIZE.1);
        let mut rgb = vec![255; 3 * size.0 as usize * size.1 as usize];
        {
            let root = BitMapBackend::with_buffer(&mut rgb, size).into_drawing_area();
            self.plot(&root).map_err(|e| anyhow!("cannot draw the curves: {e}"))?;
            root.present().map_err(|e| anyhow!("cannot draw the curves: {e}"))?;
        }
        Ok(Image { width: size.0, height: size.1, rgb }.halved())
    }

    fn plot<DB: DrawingBackend>(
        &self,
        root: &DrawingArea<DB, plotters::coord::Shift>,
    ) -> Result<(), DrawingAreaErrorKind<DB::ErrorType>> {
        let s = SUPERSAMPLING;
        let all = || self.curves.iter().flat_map(|curve| &curve.points);
        let (left, right) = range(all().map(|point| point.0), 0.0);
        let (low, high) = range(all().map(|point| point.1), 0.05);
        let power = exponent(low.abs().max(high.abs()));
        let scale = 10_f64.powi(-power);
        let (low, high) = (low * scale, high * scale);
        let mut chart = ChartBuilder::on(root)
            .margin(s * 14)
            .caption(&self.title, text(19))
            .x_label_area_size(s * 50)
            .y_label_area_size(s * 70)
            .build_cartesian_2d(left..right, low..high)?;
        let values = if power == 0 { String::new() } else { format!("× {}", power_of_ten(power)) };
        chart
            .configure_mesh()
            .bold_line_style(RGBColor(225, 225, 225))
            .light_line_style(WHITE)
            .axis_style(INK.stroke_width(s))
            .x_desc(&self.label)
            .y_desc(values)
            .x_label_formatter(&|v| tick(*v, left, right))
            .y_label_formatter(&|v| tick(*v, low, high))
            .label_style(text(14))
            .axis_desc_style(text(16))
            .draw()?;
        let numerical = self.curves.iter().filter(|curve| !curve.exact);
        let exact = self.curves.iter().filter(|curve| curve.exact);
        for (place, curve) in exact.chain(numerical).enumerate() {
            let (colour, width) =
                if curve.exact { (BLACK, s) } else { (COLOURS[place % COLOURS.len()], 2 * s) };
            let style = colour.stroke_width(width);
            let mut named = false;
            for piece in curve.points.split(|point| !point.1.is_finite()) {
                let points: Vec<_> = piece.iter().map(|&(x, y)| (x, y * scale)).collect();
                let series = chart.draw_series([PathElement::new(points, style)])?;
                if !named {
                    series.label(&curve.name).legend(move |(x, y)| {
                        PathElement::new([(x, y), (x + (20 * s).cast_signed(), y)], style)
                    });
                    named = true;
                }
            }
        }
        chart
            .configure_series_labels()
            .background_style(WHITE.mix(0.85))
            .border_style(RGBColor(200, 200, 200))
            .legend_area_size(s * 26)
            .margin(s * 6)
            .label_font(text(15))
            .draw()
    }
}

fn text(size: u32) -> TextStyle<'static> {
    ("sans-serif", f64::from(SUPERSAMPLING * size)).into_font().color(&INK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_is_drawn_in_a_range_around_it_and_rounding_is_no_shape() {
        let (low, high) = range([2.0, 2.0 + 1e-15, f64::NAN].into_iter(), 0.05);
        assert!((low - 1.8).abs() < 1e-9 && (high - 2.2).abs() < 1e-9);
        let (low, high) = range([0.0, 10.0].into_iter(), 0.1);
        assert!((low + 1.0).abs() < 1e-12 && (high - 11.0).abs() < 1e-12);
    }

    #[test]
    fn curves_with_gaps_are_drawn_in_their_colours() {
        let points = |f: fn(f64) -> f64| (0..50).map(|i| (f64::from(i), f(f64::from(i)))).collect();
        let image = Curves {
            title: "t = 0.2 s".into(),
            label: "x (m)".into(),
            curves: vec![
                Curve { name: "exact".into(), points: points(|x| x), exact: true },
                Curve {
                    name: "density".into(),
                    points: points(|x| if x > 20.0 && x < 22.0 { f64::NAN } else { 50.0 - x }),
                    exact: false,
                },
            ],
        }
        .draw()
        .unwrap();
        assert_eq!((image.width, image.height), SIZE);
        let drawn = COLOURS[1];
        let near = |pixel: &[u8]| {
            pixel[0].abs_diff(drawn.0) < 8
                && pixel[1].abs_diff(drawn.1) < 8
                && pixel[2].abs_diff(drawn.2) < 8
        };
        assert!(image.rgb.chunks_exact(3).filter(|pixel| near(pixel)).count() > 300);
    }
}
