//! Errors of the phase velocity over points per wavelength, the errors on a logarithmic axis.

use std::path::Path;

use anyhow::{Result, anyhow};
use plotters::coord::Shift;
use plotters::prelude::*;

use super::Image;
use super::frame::{COLOURS, INK, SUPERSAMPLING, load_font};

const SIZE: (u32, u32) = (1000, 640);
/// For more curves than there are colours of pictures.
const MORE: [RGBColor; 3] = [RGBColor(0, 0, 0), RGBColor(120, 94, 240), RGBColor(140, 80, 20)];

/// Errors below this are drawn as this: rounding is no error of the operator.
const FLOOR: f64 = 1e-7;

/// Errors of operators.
#[derive(Debug, Clone)]
pub struct Dispersion {
    /// Above the picture.
    pub title: String,
    /// Name, and points per wavelength with the error.
    pub curves: Vec<(String, Vec<(f64, f64)>)>,
}

impl Dispersion {
    /// Writes a PNG or, for a name that ends in `.svg`, an SVG.
    ///
    /// # Errors
    /// If the font cannot be read or the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        load_font()?;
        let failed = |e: String| anyhow!("cannot draw the operators: {e}");
        if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("svg")) {
            let mut text = String::new();
            {
                let root = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
                self.plot(&root, 1).map_err(|e| failed(e.to_string()))?;
                root.present().map_err(|e| failed(e.to_string()))?;
            }
            return std::fs::write(path, text)
                .map_err(|e| anyhow!("cannot write {}: {e}", path.display()));
        }
        let size = (SUPERSAMPLING * SIZE.0, SUPERSAMPLING * SIZE.1);
        let mut rgb = vec![255; 3 * size.0 as usize * size.1 as usize];
        {
            let root = BitMapBackend::with_buffer(&mut rgb, size).into_drawing_area();
            self.plot(&root, SUPERSAMPLING).map_err(|e| failed(e.to_string()))?;
            root.present().map_err(|e| failed(e.to_string()))?;
        }
        Image { width: size.0, height: size.1, rgb }.halved().write(path)
    }

    fn plot<DB: DrawingBackend>(
        &self,
        root: &DrawingArea<DB, Shift>,
        s: u32,
    ) -> Result<(), DrawingAreaErrorKind<DB::ErrorType>> {
        root.fill(&WHITE)?;
        let text = |size: u32| ("sans-serif", f64::from(s * size)).into_font().color(&INK);
        let all = || self.curves.iter().flat_map(|(_, points)| points);
        let fold = |f: fn(f64, f64) -> f64, start| all().map(|p| p.0).fold(start, f);
        let (left, right) = (fold(f64::min, f64::INFINITY), fold(f64::max, 0.0));
        let mut chart = ChartBuilder::on(root)
            .margin(s * 14)
            .caption(&self.title, text(18))
            .x_label_area_size(s * 50)
            .y_label_area_size(s * 76)
            .build_cartesian_2d(left..right, (FLOOR..1.0).log_scale())?;
        let percent = |v: &f64| {
            let value = format!("{:.6}", 100.0 * v);
            format!("{} %", value.trim_end_matches('0').trim_end_matches('.'))
        };
        chart
            .configure_mesh()
            .bold_line_style(RGBColor(215, 215, 215))
            .light_line_style(RGBColor(240, 240, 240))
            .axis_style(INK.stroke_width(s))
            .x_labels(15)
            .y_labels(8)
            .x_desc("points per wavelength")
            .y_desc("error of the phase velocity")
            .x_label_formatter(&|v| format!("{v:.0}"))
            .y_label_formatter(&percent)
            .label_style(text(14))
            .axis_desc_style(text(16))
            .draw()?;
        let colours = [COLOURS.as_slice(), &MORE].concat();
        for (n, (name, points)) in self.curves.iter().enumerate() {
            let style = colours[n % colours.len()].stroke_width(2 * s);
            let points = points.iter().filter(|p| p.1.is_finite());
            let points: Vec<_> = points.map(|&(x, y)| (x, y.max(FLOOR))).collect();
            let legend =
                move |(x, y)| PathElement::new([(x, y), (x + (20 * s).cast_signed(), y)], style);
            chart.draw_series([PathElement::new(points, style)])?.label(name).legend(legend);
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperRight)
            .background_style(WHITE.mix(0.85))
            .border_style(RGBColor(200, 200, 200))
            .legend_area_size(s * 26)
            .margin(s * 6)
            .label_font(text(14))
            .draw()
    }
}
