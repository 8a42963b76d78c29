//! The machine's roofs, measured in the process that measures the rows.

use temblor_backend::{Backend, Error, StreamPattern, StreamRequest};

use crate::matrix::Subject;
use crate::results::{Device, Stream, median};

/// How roofs are measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RoofOptions {
    /// Samples of each pattern.
    pub samples: u32,
    /// Seconds of a sample.
    pub seconds: f64,
    /// Whether all parts of random filling are measured, 1/128 to 1.
    pub fill_sweep: bool,
    /// Bandwidth that the user gives as the roof, B/s.
    pub given: Option<f64>,
}

/// Elements of each of three arrays that leave every cache: 256 MiB each on the host, where filling
/// them takes longer than streaming, and 1 GiB on a device.
const ELEMENTS: [u64; 2] = [64 << 20, 256 << 20];

/// Fewest elements that are worth measuring.
const FEWEST: u64 = 1 << 10;

/// Elements for arrays that together take no more than a quarter of the free memory.
fn elements(free: u64, on_host: bool) -> u64 {
    let most = if on_host { ELEMENTS[0] } else { ELEMENTS[1] };
    most.min(free / 4 / 12).max(FEWEST)
}

/// Parts of random filling, the whole last: 1/128, 1/64, ..., 1.
fn fills(sweep: bool) -> Vec<f64> {
    let from = if sweep { 7 } else { 0 };
    (0..=from).rev().map(|n| 0.5_f64.powi(n)).collect()
}

/// Measures a device's roofs; what it cannot measure is left out with the reason. `stop` is asked
/// between patterns.
pub fn measure(subject: &Subject, options: RoofOptions, stop: impl Fn() -> bool) -> Device {
    let backend = subject.backend.as_ref();
    let mut device = Device {
        info: backend.device().clone(),
        kernels: backend.kernels(),
        nominal: backend.nominal(),
        streams: Vec::new(),
        flops: Vec::new(),
        given_bandwidth: options.given,
        why_no_roof: None,
    };
    let mut reasons: Vec<String> = Vec::new();
    let elements = elements(subject.memory(), subject.on_host);
    'all: for fill in fills(options.fill_sweep) {
        for pattern in StreamPattern::ALL {
            if stop() {
                break 'all;
            }
            match stream(backend, pattern, elements, fill, options) {
                Ok(stream) => device.streams.push(stream),
                Err(error) => {
                    reasons.push(error.to_string());
                    break 'all;
                }
            }
        }
    }
    if !stop() {
        match backend.peak_flops(options.samples) {
            Ok(flops) => device.flops = flops,
            Err(error) => reasons.push(error.to_string()),
        }
    }
    device.why_no_roof = (!reasons.is_empty()).then(|| reasons.join("; "));
    device
}

fn stream(
    backend: &dyn Backend,
    pattern: StreamPattern,
    elements: u64,
    fill: f64,
    options: RoofOptions,
) -> Result<Stream, Error> {
    let RoofOptions { samples, seconds, .. } = options;
    let request = StreamRequest { pattern, elements, fill, samples, seconds };
    Ok(Stream { pattern, elements, fill, samples: backend.stream(&request)? })
}

/// Roofs beside rows: traffic of a step over arrays of the row's own size, each measured once.
#[derive(Debug, Default)]
pub struct Beside {
    known: Vec<(usize, u64, Option<f64>)>,
}

impl Beside {
    /// The roof for `points` nodes on a subject, B/s; `None` where it cannot be measured.
    pub fn of(
        &mut self,
        subject: usize,
        backend: &dyn Backend,
        points: u64,
        options: RoofOptions,
    ) -> Option<f64> {
        if options.given.is_some() {
            return options.given;
        }
        let same = |&&(s, p, _): &&(usize, u64, Option<f64>)| s == subject && p == points;
        if let Some(&(_, _, roof)) = self.known.iter().find(same) {
            return roof;
        }
        let roof = match stream(backend, StreamPattern::Step, points, 1.0, options) {
            Ok(stream) => Some(median(&stream.samples)),
            // Plans of other rows may take the memory now; later there may be room.
            Err(Error::OutOfMemory { .. }) => return None,
            Err(_) => None,
        };
        self.known.push((subject, points, roof));
        roof
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sweep_goes_from_a_128th_to_the_whole() {
        let fills = fills(true);
        assert_eq!(fills.len(), 8);
        assert!((fills[0] - 1.0 / 128.0).abs() < 1e-15 && (fills[7] - 1.0).abs() < 1e-15);
        assert_eq!(super::fills(false).len(), 1);
    }

    #[test]
    fn three_arrays_take_no_more_than_a_quarter_of_the_memory() {
        assert_eq!([elements(u64::MAX, true), elements(u64::MAX, false)], ELEMENTS);
        assert_eq!(12 * elements(1 << 30, false), (1 << 28) / 12 * 12);
    }
}
