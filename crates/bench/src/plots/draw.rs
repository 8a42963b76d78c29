//! A plot's data as a picture: title, axes, data, and a legend below, outside of the axes.

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use super::canvas::{Canvas, Drawn, Font, SCALE, failed, load_fonts};
use super::scale::Span;
use super::{Kind, Look, Plot, PlotError, Series, Theme};

/// Width of all plots, units.
const WIDTH: f64 = 760.0;
const LEFT: f64 = 78.0;
const RIGHT: f64 = 34.0;
const TOP: f64 = 94.0;
const HEIGHT: f64 = 330.0;
const BELOW: f64 = 62.0;
const LEGEND_LINE: f64 = 23.0;
const SWATCH: f64 = 30.0;
const BITMAP_DROP: f64 = 0.17;
const DASH: [f64; 2] = [7.0, 4.0];
const DOTS: [f64; 2] = [2.0, 3.0];

pub(super) fn svg(plot: &Plot, theme: Theme) -> Result<String, PlotError> {
    load_fonts()?;
    let height = height(plot)?;
    let size = pixels(height);
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, size).into_drawing_area();
        draw(&Canvas { area: &root, drop: 0.0 }, plot, theme)?;
        root.present().map_err(failed)?;
    }
    // Drawn in half units; shown in whole ones.
    let drawn = format!("<svg width=\"{}\" height=\"{}\"", size.0, size.1);
    let shown = format!("<svg width=\"{WIDTH}\" height=\"{height}\"");
    Ok(text.replacen(&drawn, &shown, 1))
}

pub(super) fn png(plot: &Plot, theme: Theme) -> Result<Vec<u8>, PlotError> {
    load_fonts()?;
    let (width, height) = pixels(height(plot)?);
    let mut rgb = vec![0; 3 * width as usize * height as usize];
    {
        let root = BitMapBackend::with_buffer(&mut rgb, (width, height)).into_drawing_area();
        draw(&Canvas { area: &root, drop: BITMAP_DROP }, plot, theme)?;
        root.present().map_err(failed)?;
    }
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().map_err(failed)?;
    writer.write_image_data(&rgb).map_err(failed)?;
    writer.finish().map_err(failed)?;
    Ok(bytes)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few hundred units")]
fn pixels(height: f64) -> (u32, u32) {
    ((WIDTH * f64::from(SCALE)) as u32, (height * f64::from(SCALE)) as u32)
}

/// Height of the picture, which depends on the legend's lines, units.
fn height(plot: &Plot) -> Result<f64, PlotError> {
    // Text is measured on a picture of one pixel: what is on it does not matter.
    let mut nothing = [0; 3];
    let root = BitMapBackend::with_buffer(&mut nothing, (1, 1)).into_drawing_area();
    let canvas = Canvas { area: &root, drop: BITMAP_DROP };
    let lines = legend(&canvas, plot, Theme::Light).lines;
    let height = TOP + HEIGHT + BELOW + lines as f64 * LEGEND_LINE + 14.0;
    root.present().map_err(failed)?;
    Ok(height)
}

struct Legend {
    columns: usize,
    lines: usize,
    column: f64,
}

/// As many columns as the longest name allows.
fn legend<DB: DrawingBackend>(canvas: &Canvas<'_, DB>, plot: &Plot, theme: Theme) -> Legend {
    let font = small(theme.ink());
    let longest = plot.series.iter().map(|s| canvas.width(&s.name, font)).fold(0.0, f64::max);
    let room = WIDTH - LEFT - RIGHT;
    let needed = longest + SWATCH + 24.0;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1 to 4")]
    let columns = (room / needed).floor().clamp(1.0, 4.0) as usize;
    // Lines as even as they can be.
    let all = plot.series.len().max(1);
    let columns = all.div_ceil(all.div_ceil(columns));
    let column = needed.min(room);
    Legend { columns, lines: plot.series.len().div_ceil(columns), column }
}

const fn small(colour: RGBColor) -> Font {
    Font { size: 16.0, bold: false, colour, anchor: HPos::Left }
}

/// Where data is: spans of both axes, and the frame on the picture.
struct Frame {
    x: Span,
    y: Span,
}

impl Frame {
    const WIDE: f64 = WIDTH - LEFT - RIGHT;

    fn of(plot: &Plot) -> Self {
        let points = || plot.series.iter().flat_map(|series| series.points.iter());
        let xs = || points().map(|point| point.0);
        let x = match &plot.kind {
            Kind::Bars(groups) => {
                let to = groups.len().max(1) as f64 - 0.5;
                Span { scale: super::Scale::Linear, from: -0.5, to }
            }
            Kind::Areas => Span::tight(xs()),
            Kind::Lines => Span::around(plot.x.scale, xs()),
        };
        let y = match plot.kind {
            Kind::Areas => Span { scale: super::Scale::Linear, from: 0.0, to: 100.0 },
            _ => Span::around(plot.y.scale, points().map(|point| point.1)),
        };
        Self { x, y }
    }

    fn across(&self, x: f64) -> f64 {
        LEFT + self.x.at(x) * Self::WIDE
    }

    fn down(&self, y: f64) -> f64 {
        TOP + (1.0 - self.y.at(y)) * HEIGHT
    }

    fn place(&self, (x, y): (f64, f64)) -> (f64, f64) {
        (self.across(x), self.down(y))
    }
}

fn draw<DB: DrawingBackend>(canvas: &Canvas<'_, DB>, plot: &Plot, theme: Theme) -> Drawn {
    canvas.area.fill(&theme.ground()).map_err(failed)?;
    let title = Font { size: 21.0, bold: true, ..small(theme.ink()) };
    let subtitle = small(theme.muted());
    let room = WIDTH - 40.0;
    canvas.text(&canvas.cut(&plot.title, room, title), (20.0, 24.0), title)?;
    canvas.text(&canvas.cut(&plot.subtitle, room, subtitle), (20.0, 48.0), subtitle)?;
    if plot.is_empty() {
        let font = Font { size: 18.0, anchor: HPos::Center, ..subtitle };
        return canvas.text("nothing to plot", (WIDTH / 2.0, TOP + HEIGHT / 2.0), font);
    }
    let frame = Frame::of(plot);
    axes(canvas, plot, &frame, theme)?;
    match &plot.kind {
        Kind::Lines => lines(canvas, plot, &frame, theme)?,
        Kind::Bars(groups) => bars(canvas, plot, &frame, groups.len(), theme)?,
        Kind::Areas => areas(canvas, plot, &frame, theme)?,
    }
    key(canvas, plot, theme)
}

fn axes<DB: DrawingBackend>(
    canvas: &Canvas<'_, DB>,
    plot: &Plot,
    frame: &Frame,
    theme: Theme,
) -> Drawn {
    let font = small(theme.muted());
    let (right, bottom) = (WIDTH - RIGHT, TOP + HEIGHT);
    for (value, text) in frame.y.ticks() {
        let y = frame.down(value);
        canvas.line(&[(LEFT, y), (right, y)], theme.grid(), 0.5)?;
        let font = Font { anchor: HPos::Right, ..font };
        canvas.text(&text, (LEFT - 8.0, y), font)?;
    }
    let centred = Font { anchor: HPos::Center, ..font };
    if let Kind::Bars(groups) = &plot.kind {
        let room = Frame::WIDE / groups.len().max(1) as f64 - 8.0;
        for (at, group) in groups.iter().enumerate() {
            let font = if groups.len() > 4 { Font { size: 13.0, ..centred } } else { centred };
            for (line, text) in canvas.wrapped(group, room, 3, font).iter().enumerate() {
                let y = bottom + 16.0 + 1.15 * font.size * line as f64;
                canvas.text(text, (frame.across(at as f64), y), font)?;
            }
        }
    } else {
        let ticks = frame.x.ticks();
        let upright = plot.x.scale != super::Scale::Linear;
        for (value, text) in ticks {
            let x = frame.across(value);
            if upright {
                canvas.line(&[(x, TOP), (x, bottom)], theme.grid(), 0.5)?;
            } else {
                canvas.line(&[(x, bottom), (x, bottom + 4.0)], theme.muted(), 1.0)?;
            }
            canvas.text(&text, (x, bottom + 18.0), centred)?;
        }
    }
    canvas.line(&[(LEFT, bottom), (right, bottom)], theme.muted(), 1.0)?;
    canvas.text(&plot.y.label, (20.0, TOP - 20.0), font)?;
    canvas.text(&plot.x.label, (f64::midpoint(LEFT, right), bottom + 43.0), centred)
}

/// The n-th measured series' colour; limits have none of their own.
fn colours(plot: &Plot, theme: Theme) -> Vec<(usize, RGBColor)> {
    let mut n = 0;
    let mut limits = 0;
    let each = plot.series.iter().map(|series| match series.look {
        Look::Line | Look::Marks => {
            n += 1;
            let area = plot.kind == Kind::Areas;
            (n - 1, if area { theme.area(n - 1) } else { theme.series(n - 1) })
        }
        Look::Roof | Look::Nominal => {
            limits += 1;
            (0, if limits % 2 == 1 { theme.ink() } else { theme.muted() })
        }
    });
    each.collect()
}

fn lines<DB: DrawingBackend>(
    canvas: &Canvas<'_, DB>,
    plot: &Plot,
    frame: &Frame,
    theme: Theme,
) -> Drawn {
    for (series, (n, colour)) in plot.series.iter().zip(colours(plot, theme)) {
        let places: Vec<_> = series.points.iter().map(|point| frame.place(*point)).collect();
        stroke(canvas, series.look, &places, n, colour)?;
        if matches!(series.look, Look::Line | Look::Marks) {
            for place in places {
                canvas.mark(mark_of(n), place, colour)?;
            }
        }
    }
    Ok(())
}

/// Colours repeat after ten series; their marks must then be others.
const fn mark_of(n: usize) -> usize {
    n + 2 * (n / 10)
}

fn stroke<DB: DrawingBackend>(
    canvas: &Canvas<'_, DB>,
    look: Look,
    places: &[(f64, f64)],
    n: usize,
    colour: RGBColor,
) -> Drawn {
    match look {
        Look::Line if n < 10 => canvas.line(places, colour, 2.0),
        Look::Line => canvas.dashed(places, colour, 2.0, [10.0, 3.0]),
        Look::Marks => Ok(()),
        Look::Roof => canvas.dashed(places, colour, 1.5, DASH),
        Look::Nominal => canvas.dashed(places, colour, 1.5, DOTS),
    }
}

fn bars<DB: DrawingBackend>(
    canvas: &Canvas<'_, DB>,
    plot: &Plot,
    frame: &Frame,
    groups: usize,
    theme: Theme,
) -> Drawn {
    let slot = Frame::WIDE / groups.max(1) as f64;
    let wide = (0.84 * slot / plot.series.len().max(1) as f64).min(64.0);
    let all = wide * plot.series.len() as f64;
    let base = frame.down(0.0);
    for (at, (series, (_, colour))) in plot.series.iter().zip(colours(plot, theme)).enumerate() {
        for &(group, value) in &series.points {
            let left = frame.across(group) - all / 2.0 + wide * at as f64;
            let gap = (0.08 * wide).max(0.5);
            let top = frame.down(value);
            canvas.rectangle((left + gap, top), (left + wide - gap, base), colour)?;
            let text = crate::figures::rate(value);
            let font = Font { size: 13.0, anchor: HPos::Center, ..small(theme.ink()) };
            if canvas.width(&text, font) <= wide {
                canvas.text(&text, (left + wide / 2.0, top - 8.0), font)?;
            }
        }
    }
    Ok(())
}

fn areas<DB: DrawingBackend>(
    canvas: &Canvas<'_, DB>,
    plot: &Plot,
    frame: &Frame,
    theme: Theme,
) -> Drawn {
    let mut below: Vec<(f64, f64)> = Vec::new();
    for (series, (_, colour)) in plot.series.iter().zip(colours(plot, theme)) {
        if below.len() != series.points.len() {
            below = series.points.iter().map(|point| (point.0, 0.0)).collect();
        }
        let above: Vec<_> =
            series.points.iter().zip(&below).map(|(p, under)| (p.0, p.1 + under.1)).collect();
        // An area of no height would still be drawn as a line.
        if series.points.iter().any(|point| point.1 > 0.0) {
            let around = above.iter().chain(below.iter().rev()).map(|p| frame.place(*p));
            canvas.polygon(&around.collect::<Vec<_>>(), colour)?;
        }
        below = above;
    }
    Ok(())
}

fn key<DB: DrawingBackend>(canvas: &Canvas<'_, DB>, plot: &Plot, theme: Theme) -> Drawn {
    let legend = legend(canvas, plot, theme);
    let font = small(theme.ink());
    for (at, (series, (n, colour))) in plot.series.iter().zip(colours(plot, theme)).enumerate() {
        let (line, column) = (at / legend.columns, at % legend.columns);
        let x = LEFT + column as f64 * legend.column;
        let y = TOP + HEIGHT + BELOW + 10.0 + line as f64 * LEGEND_LINE;
        swatch(canvas, plot, series, (x, y), n, colour)?;
        let room = legend.column - SWATCH - 8.0;
        canvas.text(&canvas.cut(&series.name, room, font), (x + SWATCH, y), font)?;
    }
    Ok(())
}

fn swatch<DB: DrawingBackend>(
    canvas: &Canvas<'_, DB>,
    plot: &Plot,
    series: &Series,
    (x, y): (f64, f64),
    n: usize,
    colour: RGBColor,
) -> Drawn {
    if plot.kind != Kind::Lines {
        return canvas.rectangle((x + 4.0, y - 6.0), (x + 20.0, y + 6.0), colour);
    }
    stroke(canvas, series.look, &[(x, y), (x + 24.0, y)], n, colour)?;
    match series.look {
        Look::Line | Look::Marks => canvas.mark(mark_of(n), (x + 12.0, y), colour),
        Look::Roof | Look::Nominal => Ok(()),
    }
}
