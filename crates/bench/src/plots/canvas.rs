//! Shapes on a drawing area, in units of which the SVG has one and the PNG two pixels each.

use std::sync::OnceLock;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::register_font;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::PlotError;

/// Pixels per unit.
pub(super) const SCALE: u32 = 2;

/// Something to draw on.
pub(super) struct Canvas<'a, DB: DrawingBackend> {
    pub area: &'a DrawingArea<DB, Shift>,
    /// How far text is moved down, in sizes: the bitmap backend centres lines by their boxes, below
    /// whose base line digits have nothing.
    pub drop: f64,
}

pub(super) type Drawn = Result<(), PlotError>;

#[expect(clippy::needless_pass_by_value, reason = "made for map_err, which hands over a value")]
pub(super) fn failed(error: impl ToString) -> PlotError {
    PlotError(error.to_string())
}

/// Registers the embedded fonts, once.
pub(super) fn load_fonts() -> Drawn {
    static LOADED: OnceLock<bool> = OnceLock::new();
    let loaded = LOADED.get_or_init(|| {
        register_font("sans-serif", FontStyle::Normal, dejavu::sans::regular()).is_ok()
            && register_font("sans-serif", FontStyle::Bold, dejavu::sans::bold()).is_ok()
    });
    if *loaded { Ok(()) } else { Err(failed("the embedded font cannot be read")) }
}

/// How a text is set.
#[derive(Clone, Copy)]
pub(super) struct Font {
    pub size: f64,
    pub bold: bool,
    pub colour: RGBColor,
    pub anchor: HPos,
}

#[expect(clippy::cast_possible_truncation, reason = "pixels of a picture of a known size")]
fn pixel((x, y): (f64, f64)) -> (i32, i32) {
    ((x * f64::from(SCALE)).round() as i32, (y * f64::from(SCALE)).round() as i32)
}

/// Units as pixels; at least one.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small and positive")]
fn pixels(units: f64) -> u32 {
    (units * f64::from(SCALE)).round().max(1.0) as u32
}

impl<DB: DrawingBackend> Canvas<'_, DB> {
    pub(super) fn line(&self, points: &[(f64, f64)], colour: RGBColor, width: f64) -> Drawn {
        let points: Vec<_> = points.iter().copied().map(pixel).collect();
        let style = colour.stroke_width(pixels(width));
        self.area.draw(&PathElement::new(points, style)).map_err(failed)
    }

    /// A line of dashes of `on` units with `off` units between them.
    pub(super) fn dashed(
        &self,
        points: &[(f64, f64)],
        colour: RGBColor,
        width: f64,
        [on, off]: [f64; 2],
    ) -> Drawn {
        let mut along = 0.0;
        for pair in points.windows(2) {
            let [(x0, y0), (x1, y1)] = [pair[0], pair[1]];
            let length = (x1 - x0).hypot(y1 - y0);
            let place = |at: f64| (x0 + (x1 - x0) * at / length, y0 + (y1 - y0) * at / length);
            let mut at = 0.0;
            // The pattern goes on around corners.
            while at < length {
                let phase = (along + at) % (on + off);
                let more = if phase < on { on - phase } else { on + off - phase }.max(0.01);
                let next = (at + more).min(length);
                if phase < on {
                    self.line(&[place(at), place(next)], colour, width)?;
                }
                at = next;
            }
            along += length;
        }
        Ok(())
    }

    pub(super) fn polygon(&self, points: &[(f64, f64)], colour: RGBColor) -> Drawn {
        let points: Vec<_> = points.iter().copied().map(pixel).collect();
        self.area.draw(&Polygon::new(points, colour.filled())).map_err(failed)
    }

    pub(super) fn rectangle(&self, from: (f64, f64), to: (f64, f64), colour: RGBColor) -> Drawn {
        self.area.draw(&Rectangle::new([pixel(from), pixel(to)], colour.filled())).map_err(failed)
    }

    /// The n-th kind of mark; they repeat after six.
    pub(super) fn mark(&self, n: usize, (x, y): (f64, f64), colour: RGBColor) -> Drawn {
        let corners = |all: &[(f64, f64)]| -> Vec<(f64, f64)> {
            all.iter().map(|(dx, dy)| (x + dx, y + dy)).collect()
        };
        match n % 6 {
            0 => {
                let circle = Circle::new(pixel((x, y)), pixels(3.6), colour.filled());
                self.area.draw(&circle).map_err(failed)
            }
            1 => self.rectangle((x - 3.2, y - 3.2), (x + 3.2, y + 3.2), colour),
            2 => self.polygon(&corners(&[(0.0, -4.6), (4.4, 3.4), (-4.4, 3.4)]), colour),
            3 => {
                self.polygon(&corners(&[(0.0, -4.8), (4.8, 0.0), (0.0, 4.8), (-4.8, 0.0)]), colour)
            }
            4 => self.polygon(&corners(&[(0.0, 4.6), (4.4, -3.4), (-4.4, -3.4)]), colour),
            _ => {
                self.line(&corners(&[(-3.6, -3.6), (3.6, 3.6)]), colour, 2.0)?;
                self.line(&corners(&[(-3.6, 3.6), (3.6, -3.6)]), colour, 2.0)
            }
        }
    }

    /// A line of text, its middle at y.
    pub(super) fn text(&self, text: &str, at: (f64, f64), font: Font) -> Drawn {
        let style = self.style(font).pos(Pos::new(font.anchor, VPos::Center));
        let at = (at.0, at.1 + self.drop * font.size);
        self.area.draw(&Text::new(text.to_owned(), pixel(at), style)).map_err(failed)
    }

    /// Width of a text, units.
    pub(super) fn width(&self, text: &str, font: Font) -> f64 {
        let size = self.area.estimate_text_size(text, &self.style(font));
        size.map_or(0.0, |(width, _)| f64::from(width) / f64::from(SCALE))
    }

    /// The text, cut to a width with an ellipsis.
    pub(super) fn cut(&self, text: &str, width: f64, font: Font) -> String {
        if self.width(text, font) <= width {
            return text.to_owned();
        }
        let mut cut: Vec<char> = text.chars().collect();
        while !cut.is_empty() {
            cut.pop();
            let short = format!("{}…", cut.iter().collect::<String>().trim_end());
            if self.width(&short, font) <= width {
                return short;
            }
        }
        String::new()
    }

    /// The text by words in lines of a width, the last one cut.
    pub(super) fn wrapped(&self, text: &str, width: f64, most: usize, font: Font) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for word in text.split_whitespace() {
            let longer = lines.last().map(|line| format!("{line} {word}"));
            match (longer, lines.len()) {
                (Some(longer), n) if n == most || self.width(&longer, font) <= width => {
                    lines[n - 1] = longer;
                }
                _ => lines.push(word.to_owned()),
            }
        }
        lines.iter().map(|line| self.cut(line, width, font)).collect()
    }

    fn style(&self, font: Font) -> TextStyle<'static> {
        let style = if font.bold { FontStyle::Bold } else { FontStyle::Normal };
        let size = font.size * f64::from(SCALE);
        ("sans-serif", size, style).into_font().color(&font.colour)
    }
}
