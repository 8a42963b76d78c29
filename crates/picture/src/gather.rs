//! Seismograms: traces side by side, time downwards, as colours, wiggles or both.

use anyhow::{Result, ensure};
use clap::ValueEnum;
use ndarray::ArrayView2;

use super::frame::{Axis, Bar, Frame, Size};
use super::section::resample;
use super::{Colours, Image, units};

/// How traces are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Style {
    /// Variable density: a colour per sample.
    Density,
    /// A line per trace, filled where positive.
    Wiggle,
    /// Wiggles over colours.
    Both,
}

/// What stands along the horizontal axis.
#[derive(Debug, Clone, PartialEq)]
pub enum Horizontal {
    /// A length, evenly spaced: name and value at the first and the last trace, m.
    Length(String, f64, f64),
    /// Trace numbers from the first to the last.
    Number(u64, u64),
}

impl Horizontal {
    /// The first axis along which receivers at `positions`, m, are evenly spaced; else numbers from
    /// `first`.
    #[must_use]
    pub fn of_receivers(positions: &[[f64; 3]], first: u64) -> Self {
        for (a, name) in ["Receiver x", "Receiver y", "Receiver depth"].into_iter().enumerate() {
            let values: Vec<f64> = positions.iter().map(|position| position[a]).collect();
            if evenly_spaced(&values) {
                return Self::Length(name.to_owned(), values[0], values[values.len() - 1]);
            }
        }
        Self::Number(first, first + positions.len().saturating_sub(1) as u64)
    }
}

/// At least two different values, one distance within half a per cent.
fn evenly_spaced(values: &[f64]) -> bool {
    let [first, .., last] = values else { return false };
    let step = (last - first) / (values.len() - 1) as f64;
    let on_line = |(n, v): (usize, &f64)| (v - first - n as f64 * step).abs() <= 0.005 * step.abs();
    step.abs() > 0.0 && values.iter().enumerate().all(on_line)
}

/// A gather: samples of shape (trace, time).
#[derive(Debug)]
pub struct Gather<'a> {
    /// Above the picture; may be empty.
    pub title: String,
    /// Shape (trace, time).
    pub samples: ArrayView2<'a, f32>,
    /// Time of the first sample, s.
    pub start: f64,
    /// Time between samples, s; absent: samples are counted.
    pub interval: Option<f64>,
    /// What stands along the horizontal axis.
    pub horizontal: Horizontal,
    /// Amplitude at which colours saturate and wiggles reach the next trace.
    pub clip: f32,
    /// Such as `Pressure (Pa)`.
    pub label: String,
    /// Colours, wiggles or both.
    pub style: Style,
    /// Colours, negative to positive.
    pub colours: Colours,
}

/// Most traces whose wiggles can be told apart.
const MOST_WIGGLES: usize = 400;

impl Gather<'_> {
    /// Draws the gather; `size` None: 1100 x 800 pixels.
    ///
    /// # Errors
    /// If there is nothing to draw, the size leaves no room, or wiggles would be too many.
    pub fn draw(&self, size: Option<(u32, u32)>) -> Result<Image> {
        let (traces, samples) = self.samples.dim();
        ensure!(traces > 0 && samples > 0, "there are no samples to draw");
        ensure!(
            self.style == Style::Density || traces <= MOST_WIGGLES,
            "{traces} traces are too many for wiggles (at most {MOST_WIGGLES}): use \
             --style density or --trace-range"
        );
        let clip = f64::from(self.clip);
        let bar = Bar { label: self.label.clone(), from: -clip, to: clip, colours: self.colours };
        let (width, height) = size.unwrap_or((1100, 800));
        let frame = Frame {
            title: self.title.clone(),
            x: self.horizontal_axis(traces),
            y: self.time_axis(samples),
            bar: (self.style != Style::Wiggle).then_some(bar),
            size: Size::Fixed(width, height),
        };
        frame.draw(|width, height| {
            let (width, height) = (width as usize, height as usize);
            let mut rgb = if self.style == Style::Wiggle {
                vec![255; 3 * width * height]
            } else {
                self.colour_samples(width, height)
            };
            if self.style != Style::Density {
                self.draw_wiggles(&mut rgb, width, height);
            }
            rgb
        })
    }

    fn colour_samples(&self, width: usize, height: usize) -> Vec<u8> {
        // Traces keep their width, samples are joined: a gather has steps across but not in time.
        let down = resample(&self.samples, self.samples.nrows(), height, true);
        let pixels = resample(&down.view(), width, height, false);
        let colour = |&v: &f32| {
            let fraction = f64::midpoint(f64::from(v / self.clip), 1.0);
            self.colours.at(if v.is_finite() { fraction } else { f64::NAN })
        };
        pixels.t().iter().flat_map(colour).collect()
    }

    fn draw_wiggles(&self, rgb: &mut [u8], width: usize, height: usize) {
        let (traces, _) = self.samples.dim();
        let down = resample(&self.samples, traces, height, true);
        let pitch = width as f64 / traces as f64;
        // Clipped amplitudes touch the neighbour's axis.
        let reach = pitch;
        let mut ink = |row: usize, from: f64, to: f64, colour: [u8; 3]| {
            #[expect(clippy::cast_possible_truncation, reason = "clamped to the raster")]
            #[expect(clippy::cast_sign_loss, reason = "clamped to the raster")]
            let column = |x: f64| x.round().clamp(0.0, (width - 1) as f64) as usize;
            for i in column(from)..=column(to) {
                rgb[3 * (row * width + i)..][..3].copy_from_slice(&colour);
            }
        };
        // Over colours the fill would hide what it stands on.
        let fill = self.style == Style::Wiggle;
        let line = if fill { [0, 0, 0] } else { [25, 25, 25] };
        for trace in 0..traces {
            let axis = (trace as f64 + 0.5) * pitch;
            let place = |row: usize| {
                let value = f64::from(down[[trace, row]] / self.clip);
                let value = if value.is_finite() { value.clamp(-1.0, 1.0) } else { 0.0 };
                axis + value * reach
            };
            for row in 0..height {
                let (here, next) = (place(row), place((row + 1).min(height - 1)));
                if fill && here > axis {
                    ink(row, axis, here, line);
                }
                ink(row, here.min(next) - 0.5, here.max(next) + 0.5, line);
            }
        }
    }

    fn time_axis(&self, samples: usize) -> Axis {
        let Some(dt) = self.interval else {
            return Axis { label: "Sample".into(), from: -0.5, to: samples as f64 - 0.5 };
        };
        let last = self.start + (samples - 1) as f64 * dt;
        let unit = units::time(last.abs().max(self.start.abs()));
        Axis {
            label: format!("Time ({})", unit.symbol),
            from: (self.start - 0.5 * dt) * unit.factor,
            to: (last + 0.5 * dt) * unit.factor,
        }
    }

    fn horizontal_axis(&self, traces: usize) -> Axis {
        let half_trace = |from: f64, to: f64| {
            if traces > 1 { 0.5 * (to - from) / (traces - 1) as f64 } else { 0.5 }
        };
        match &self.horizontal {
            Horizontal::Length(name, from, to) => {
                let unit = units::length(from.abs().max(to.abs()));
                let (from, to) = (from * unit.factor, to * unit.factor);
                let half = half_trace(from, to);
                let label = format!("{name} ({})", unit.symbol);
                Axis { label, from: from - half, to: to + half }
            }
            Horizontal::Number(first, last) => {
                let (from, to) = (*first as f64, *last as f64);
                let half = half_trace(from, to);
                Axis { label: "Trace".into(), from: from - half, to: to + half }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array2;

    fn gather(samples: &Array2<f32>, style: Style) -> Gather<'_> {
        Gather {
            title: String::new(),
            samples: samples.view(),
            start: 0.0,
            interval: Some(0.004),
            horizontal: Horizontal::Number(1, samples.nrows() as u64),
            clip: 1.0,
            label: "Pressure".into(),
            style,
            colours: Colours::Grey,
        }
    }

    #[test]
    fn positive_samples_are_black_and_negative_white() {
        let samples =
            Array2::from_shape_fn((2, 400), |(trace, _)| if trace == 0 { 1.0 } else { -1.0 });
        let rgb = gather(&samples, Style::Density).colour_samples(10, 100);
        assert_eq!(rgb[..3], [0; 3]);
        assert_eq!(rgb[27..30], [255; 3]);
    }

    #[test]
    fn wiggles_fill_positive_lobes_only() {
        let samples = Array2::from_shape_fn((1, 100), |(_, n)| if n < 50 { 0.4 } else { -0.4 });
        let mut rgb = vec![255; 3 * 100 * 100];
        gather(&samples, Style::Wiggle).draw_wiggles(&mut rgb, 100, 100);
        let dark = |row: usize, column: usize| rgb[3 * (row * 100 + column)] == 0;
        // Axis at 50, deflection 40 % of the trace's width: 90 and 10.
        assert!(dark(20, 70) && dark(20, 90) && !dark(20, 95) && !dark(20, 30));
        assert!(!dark(80, 30) && dark(80, 10) && !dark(80, 70));
    }

    #[test]
    fn spike_stands_at_its_trace_and_time() {
        // Trace 3 of 10, sample 60 of 101: the middle of the spike is at 35 % across, 59.9 % down.
        let mut samples = Array2::zeros((10, 101));
        samples[[3, 60]] = 1.0;
        let mut picture = gather(&samples, Style::Density);
        picture.colours = Colours::RedBlue;
        let image = picture.draw(Some((512, 418))).unwrap();
        // 84 pixels to the left and 14 above; 128 to the right and 64 below: 300 x 340.
        let red = |&(i, j): &(usize, usize)| {
            let at = 3 * (j * 512 + i);
            i32::from(image.rgb[at]) - i32::from(image.rgb[at + 1]) > 60
        };
        let plot = (84..384).flat_map(|i| (14..354).map(move |j| (i, j)));
        let found: Vec<_> = plot.filter(red).collect();
        let mean = |of: &dyn Fn(&(usize, usize)) -> usize| {
            found.iter().map(|p| of(p) as f64 + 0.5).sum::<f64>() / found.len() as f64
        };
        let (x, y) = (mean(&|p| p.0), mean(&|p| p.1));
        assert!((x - (84.0 + 0.35 * 300.0)).abs() < 1.5, "{x}");
        assert!((y - (14.0 + 60.5 / 101.0 * 340.0)).abs() < 1.5, "{y}");
    }

    #[test]
    fn too_many_wiggles_are_refused_with_a_way_out() {
        let samples = Array2::zeros((1000, 10));
        let error = gather(&samples, Style::Wiggle).draw(None).unwrap_err().to_string();
        assert!(error.contains("--style density"), "{error}");
    }
}
