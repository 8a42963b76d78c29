//! What stands around a raster: title, axes with ticks, colour bar.

use std::sync::OnceLock;

use anyhow::{Result, anyhow, ensure};
use plotters::prelude::*;
use plotters::style::register_font;

use super::units::{exponent, power_of_ten, tick};
use super::{Colours, Image};

/// Figures are drawn this many times larger and averaged down.
pub(super) const SUPERSAMPLING: u32 = 2;

const MARGIN: u32 = 14;
const TITLE_HEIGHT: u32 = 34;
const LEFT: u32 = 70;
const BOTTOM: u32 = 50;
const BAR_GAP: u32 = 18;
const BAR_WIDTH: u32 = 18;
const BAR_LABELS: u32 = 78;
const TITLE_SIZE: u32 = 19;
const LABEL_SIZE: u32 = 16;
const TICK_SIZE: u32 = 14;
/// plotters centres a line of text by its box; digits have nothing below the line (supersampled).
const LABEL_DROP: i32 = 6;
pub(super) const INK: RGBColor = RGBColor(40, 40, 40);
/// Colours that differ in brightness too (Okabe and Ito 2008).
pub(super) const COLOURS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
];

/// One axis, in the unit that its ticks show.
#[derive(Debug, Clone)]
pub(super) struct Axis {
    /// Such as `Depth (km)`.
    pub label: String,
    /// Value at the left or upper edge.
    pub from: f64,
    /// Value at the right or lower edge.
    pub to: f64,
}

/// A colour bar.
#[derive(Debug, Clone)]
pub(super) struct Bar {
    /// Such as `Wave speed (m/s)`.
    pub label: String,
    /// Value of the first colour.
    pub from: f64,
    /// Value of the last colour.
    pub to: f64,
    /// Colours between them.
    pub colours: Colours,
}

/// How large a picture is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Size {
    /// The whole picture, pixels.
    Fixed(u32, u32),
    /// Pixels across; as high as the given ratio of height to width of the plot asks for.
    Ratio(u32, f64),
}

/// Everything around a raster.
#[derive(Debug)]
pub(super) struct Frame {
    pub title: String,
    pub x: Axis,
    /// Downwards.
    pub y: Axis,
    pub bar: Option<Bar>,
    pub size: Size,
}

impl Frame {
    /// Width and height of the picture, pixels.
    fn pixels(&self) -> (u32, u32) {
        match self.size {
            Size::Fixed(width, height) => (width, height),
            Size::Ratio(width, ratio) => {
                let across = f64::from(width.saturating_sub(self.beside()).max(1));
                // Slivers and towers are drawn, but not to scale.
                #[expect(clippy::cast_possible_truncation, reason = "clamped")]
                #[expect(clippy::cast_sign_loss, reason = "clamped")]
                let down = (across * ratio).clamp(120.0, 1600.0).round() as u32;
                (width, down + self.above_and_below())
            }
        }
    }

    /// Pixels across that the plot does not get.
    fn beside(&self) -> u32 {
        let bar =
            if self.bar.is_some() { BAR_GAP + BAR_WIDTH + BAR_LABELS + MARGIN } else { MARGIN };
        LEFT + MARGIN + bar
    }

    /// Pixels down that the plot does not get.
    fn above_and_below(&self) -> u32 {
        let title = if self.title.is_empty() { 0 } else { TITLE_HEIGHT };
        2 * MARGIN + title + BOTTOM
    }

    /// Pixels of the plot across and down, before supersampling.
    pub(super) fn plot_pixels(&self) -> (u32, u32) {
        let (width, height) = self.pixels();
        (width.saturating_sub(self.beside()), height.saturating_sub(self.above_and_below()))
    }

    /// Draws the picture; `raster(width, height)` gives red, green and blue of each pixel of the
    /// plot, row by row from the top.
    pub(super) fn draw(&self, raster: impl FnOnce(u32, u32) -> Vec<u8>) -> Result<Image> {
        load_font()?;
        let (width, height) = self.pixels();
        let (across, down) = self.plot_pixels();
        ensure!(
            across >= 40 && down >= 40,
            "a picture of {width} x {height} pixels leaves no room for the plot: use a larger --size"
        );
        ensure!(
            u64::from(width) * u64::from(height) <= 100_000_000,
            "a picture of {width} x {height} pixels is too large: use a smaller --size"
        );
        let s = SUPERSAMPLING;
        let mut image = Image { width: s * width, height: s * height, rgb: Vec::new() };
        image.rgb = vec![255; 3 * image.width as usize * image.height as usize];
        {
            let size = (image.width, image.height);
            let root = BitMapBackend::with_buffer(&mut image.rgb, size).into_drawing_area();
            self.draw_plot(&root, raster).map_err(|e| anyhow!("cannot draw the picture: {e}"))?;
            root.present().map_err(|e| anyhow!("cannot draw the picture: {e}"))?;
        }
        Ok(image.halved())
    }

    fn draw_plot<DB: DrawingBackend>(
        &self,
        root: &DrawingArea<DB, plotters::coord::Shift>,
        raster: impl FnOnce(u32, u32) -> Vec<u8>,
    ) -> Result<(), DrawingAreaErrorKind<DB::ErrorType>> {
        let s = SUPERSAMPLING;
        let bar_pixels = self.beside() - LEFT - MARGIN;
        let (plot, bar_area) = root.split_horizontally(root.dim_in_pixel().0 - s * bar_pixels);
        let mut builder = ChartBuilder::on(&plot);
        builder.margin(s * MARGIN).margin_right(0);
        builder.x_label_area_size(s * BOTTOM).y_label_area_size(s * LEFT);
        if !self.title.is_empty() {
            // The caption takes its text's height from the plot: keep what is planned for it.
            builder.margin_top(s * (MARGIN + TITLE_HEIGHT));
            let centre = (plot.dim_in_pixel().0 + s * LEFT).cast_signed() / 2;
            let style = text(TITLE_SIZE).pos(centred());
            let at = (centre, (s * (MARGIN + TITLE_HEIGHT / 2 - 3)).cast_signed());
            root.draw(&Text::new(self.title.clone(), at, style))?;
        }
        let mut chart =
            builder.build_cartesian_2d(self.x.from..self.x.to, self.y.to..self.y.from)?;
        let (across, down) = chart.plotting_area().dim_in_pixel();
        put_raster(&chart.plotting_area().strip_coord_spec(), &raster(across, down))?;
        let (x, y) = (&self.x, &self.y);
        chart
            .configure_mesh()
            .disable_mesh()
            .axis_style(INK.stroke_width(s))
            .x_desc(&x.label)
            .y_desc(&y.label)
            .x_labels(label_count(across, 95))
            .y_labels(label_count(down, 45))
            .x_label_formatter(&|v| tick(*v, x.from, x.to))
            .y_label_formatter(&|v| tick(*v, y.from, y.to))
            .label_style(text(TICK_SIZE))
            .y_label_offset(LABEL_DROP)
            .axis_desc_style(text(LABEL_SIZE))
            .set_all_tick_mark_size((s * 5).cast_signed())
            .draw()?;
        outline(&chart.plotting_area().strip_coord_spec())?;
        match &self.bar {
            Some(bar) => self.draw_bar(&bar_area, bar),
            None => Ok(()),
        }
    }

    fn draw_bar<DB: DrawingBackend>(
        &self,
        area: &DrawingArea<DB, plotters::coord::Shift>,
        bar: &Bar,
    ) -> Result<(), DrawingAreaErrorKind<DB::ErrorType>> {
        let s = SUPERSAMPLING;
        let power = exponent(bar.from.abs().max(bar.to.abs()));
        let scale = 10_f64.powi(-power);
        let (from, to) = (bar.from * scale, bar.to * scale);
        let title = if self.title.is_empty() { 0 } else { TITLE_HEIGHT };
        let mut chart = ChartBuilder::on(area)
            .margin_left(s * BAR_GAP)
            .margin_right(s * MARGIN)
            .margin_top(s * (MARGIN + title))
            .margin_bottom(s * (MARGIN + BOTTOM))
            .right_y_label_area_size(s * BAR_LABELS)
            .build_cartesian_2d(0.0..1.0, from..to)?;
        let (across, down) = chart.plotting_area().dim_in_pixel();
        let last = f64::from(down.max(2) - 1);
        let colours = (0..down).map(|j| bar.colours.at(1.0 - f64::from(j) / last));
        let rgb: Vec<u8> = colours
            .flat_map(|colour| std::iter::repeat_n(colour, across as usize))
            .flatten()
            .collect();
        put_raster(&chart.plotting_area().strip_coord_spec(), &rgb)?;
        let label = match power {
            0 => bar.label.clone(),
            _ => format!("{} × {}", bar.label, power_of_ten(power)),
        };
        chart
            .configure_mesh()
            .disable_mesh()
            .disable_x_axis()
            .axis_style(INK.stroke_width(s))
            .y_desc(label)
            .y_labels(label_count(down, 45))
            .y_label_formatter(&|v| tick(*v, from, to))
            .label_style(text(TICK_SIZE))
            .y_label_offset(LABEL_DROP)
            .axis_desc_style(text(LABEL_SIZE))
            .set_all_tick_mark_size((s * 5).cast_signed())
            .draw()?;
        outline(&chart.plotting_area().strip_coord_spec())
    }
}

fn put_raster<DB: DrawingBackend>(
    area: &DrawingArea<DB, plotters::coord::Shift>,
    rgb: &[u8],
) -> Result<(), DrawingAreaErrorKind<DB::ErrorType>> {
    match BitMapElement::with_ref((0, 0), area.dim_in_pixel(), rgb) {
        Some(element) => area.draw(&element),
        None => Ok(()),
    }
}

fn outline<DB: DrawingBackend>(
    area: &DrawingArea<DB, plotters::coord::Shift>,
) -> Result<(), DrawingAreaErrorKind<DB::ErrorType>> {
    let (width, height) = area.dim_in_pixel();
    let corners = [(0, 0), (width.cast_signed(), height.cast_signed())];
    area.draw(&Rectangle::new(corners, INK.stroke_width(SUPERSAMPLING)))
}

/// Ticks that fit `pixels` (supersampled) with one every `each` pixels at most.
fn label_count(pixels: u32, each: u32) -> usize {
    (pixels / (SUPERSAMPLING * each)).clamp(2, 12) as usize
}

fn text(size: u32) -> TextStyle<'static> {
    ("sans-serif", f64::from(SUPERSAMPLING * size)).into_font().color(&INK)
}

fn centred() -> plotters::style::text_anchor::Pos {
    use plotters::style::text_anchor::{HPos, Pos, VPos};
    Pos::new(HPos::Center, VPos::Center)
}

pub(super) fn load_font() -> Result<()> {
    static LOADED: OnceLock<bool> = OnceLock::new();
    let loaded = LOADED.get_or_init(|| {
        register_font("sans-serif", FontStyle::Normal, dejavu::sans::regular()).is_ok()
    });
    ensure!(*loaded, "the embedded font cannot be read");
    Ok(())
}
