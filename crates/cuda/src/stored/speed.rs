//! Wave speeds as codes of two bytes: c = (first + k) unit with a whole number `first`, so that kernels
//! have c over the unit exactly; codes 0 and 65535 are at most and at least the ends of the range.

use std::collections::HashMap;

use temblor_backend::{Error, Region, Result};

/// The largest code.
const MOST: f64 = 65535.0;

/// Largest first number: with a code it is exact in single precision.
const LARGEST_FIRST: f64 = 4_194_304.0;

/// 2^52.
const ROUNDER: f64 = 4_503_599_627_370_496.0;

/// What a value may lie outside the range by, relative: rounding to single precision.
const SLACK: f64 = 2e-7;

/// The range of codes and which nodes have one.
#[derive(Debug)]
pub(crate) struct Coded {
    least: f64,
    largest: f64,
    /// c of code 0 over the unit, and the unit, m/s.
    first: f64,
    unit: f64,
    nodes: [usize; 3],
    /// Rows whose nodes have all arrived.
    rows: Vec<bool>,
    /// Nodes that have arrived of other rows.
    parts: HashMap<usize, Vec<bool>>,
}

impl Coded {
    /// # Errors
    /// [`Error::Invalid`] without a range or with one that holds no wave speed.
    pub(crate) fn new(speeds: Option<[f64; 2]>, nodes: [usize; 3]) -> Result<Self> {
        let invalid = |what: String, remedy: &str| Error::Invalid { what, remedy: remedy.into() };
        let [least, largest] = speeds.ok_or_else(|| {
            let what = "a two-byte wave speed without the model's range".to_owned();
            invalid(what, "make the plan with PlanOptions::speeds, the least and the largest")
        })?;
        if !(least > 0.0 && largest >= least && largest.is_finite()) {
            let what = format!("wave speeds between {least} and {largest} m/s");
            return Err(invalid(what, "give PlanOptions::speeds as 0 < least <= largest"));
        }
        let rows = vec![false; nodes[0] * nodes[1]];
        let first = (least * MOST / (largest - least)).floor().min(LARGEST_FIRST);
        let unit = largest / (first + MOST);
        Ok(Self { least, largest, first, unit, nodes, rows, parts: HashMap::new() })
    }

    /// c dt of code 0 and per code, m.
    pub(crate) fn moved(&self, dt: f64) -> [f64; 2] {
        [self.first * self.unit * dt, self.unit * dt]
    }

    /// 2^23 less the number of code 0.
    pub(crate) const fn offset(&self) -> f64 {
        8_388_608.0 - self.first
    }

    /// Whether codes reach a wave speed, m/s.
    pub(crate) fn holds(&self, speed: f64) -> bool {
        (self.least * (1.0 - SLACK)..=self.largest * (1.0 + SLACK)).contains(&speed)
    }

    /// The code of a wave speed that codes reach, m/s.
    pub(crate) fn code(&self, speed: f64) -> f64 {
        let code = speed / self.unit - self.first;
        // To nearest even: a sum of 2^52 or more has no fraction.
        (code.clamp(0.0, MOST) + ROUNDER) - ROUNDER
    }

    /// What an upload outside the range is told.
    pub(crate) fn refuse(&self, node: [usize; 3], speed: f64) -> Error {
        let (least, largest) = (self.least, self.largest);
        Error::Invalid {
            what: format!(
                "a wave speed of {speed} m/s at node {node:?}: codes end at {least} and {largest}"
            ),
            remedy:
                "make the plan with a wider PlanOptions::speeds, or store the wave speed as f32"
                    .into(),
        }
    }

    /// Notes which nodes have arrived.
    pub(crate) fn arrived(&mut self, region: &Region) {
        let [_, ny, nz] = self.nodes;
        let whole = region.start[2] == 0 && region.stride[2] == 1 && region.shape[2] == nz;
        for i in 0..region.shape[0] {
            for j in 0..region.shape[1] {
                let row = (region.start[0] + i * region.stride[0]) * ny
                    + region.start[1]
                    + j * region.stride[1];
                if self.rows[row] {
                    continue;
                }
                if !whole {
                    let part = self.parts.entry(row).or_insert_with(|| vec![false; nz]);
                    for k in 0..region.shape[2] {
                        part[region.start[2] + k * region.stride[2]] = true;
                    }
                    if part.contains(&false) {
                        continue;
                    }
                }
                self.rows[row] = true;
                self.parts.remove(&row);
            }
        }
    }

    /// The first node without a wave speed.
    pub(crate) fn missing(&self) -> Option<[usize; 3]> {
        let row = self.rows.iter().position(|&all| !all)?;
        let part = self.parts.get(&row);
        let k = part.and_then(|part| part.iter().position(|&there| !there)).unwrap_or(0);
        Some([row / self.nodes[1], row % self.nodes[1], k])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_nearest_and_end_at_the_range() {
        let coded = Coded::new(Some([1500.0, 4500.0]), [1, 1, 1]).unwrap();
        // 1500 m/s are 32767.5 codes of a range of 3000: the first is the 32767th.
        let step = 4500.0 / (32767.0 + MOST);
        assert!((coded.offset() - (8_388_608.0 - 32767.0)).abs() < 1e-9);
        for speed in [1500.0, 1500.02, 2999.99, 4499.98, 4500.0] {
            assert!(coded.holds(speed));
            let code = coded.code(speed);
            let back = (32767.0 + code) * step;
            assert!((back - speed).abs() <= 0.5 * step * (1.0 + 1e-9), "{speed}");
        }
        assert!(coded.holds(4500.0005) && coded.code(4500.0005) >= MOST);
        for speed in [1499.0, 4500.1, f64::NAN, -1.0, f64::INFINITY] {
            assert!(!coded.holds(speed), "{speed}");
        }
        let constant = Coded::new(Some([2000.0; 2]), [1, 1, 1]).unwrap();
        let [first, unit] = constant.moved(1.0);
        assert!(constant.holds(2000.0));
        assert!((first + constant.code(2000.0) * unit - 2000.0).abs() < 1e-9);
    }

    #[test]
    fn a_range_is_asked_for_and_must_be_one() {
        let message = Coded::new(None, [1; 3]).unwrap_err().to_string();
        assert!(message.contains("PlanOptions::speeds"), "{message}");
        for speeds in [[0.0, 1.0], [2.0, 1.0], [1.0, f64::INFINITY], [f64::NAN, 1.0]] {
            assert!(Coded::new(Some(speeds), [1; 3]).is_err(), "{speeds:?}");
        }
    }

    #[test]
    fn the_first_node_without_a_speed_is_named() {
        let mut coded = Coded::new(Some([1.0, 2.0]), [2, 3, 4]).unwrap();
        assert_eq!(coded.missing(), Some([0, 0, 0]));
        coded.arrived(&Region::slab([2, 3, 4], 0, 1));
        assert_eq!(coded.missing(), Some([1, 0, 0]));
        let mut even = Region::slab([2, 3, 4], 1, 1);
        even.shape[2] = 2;
        even.stride[2] = 2;
        coded.arrived(&even);
        assert_eq!(coded.missing(), Some([1, 0, 1]));
        even.start[2] = 1;
        coded.arrived(&even);
        assert_eq!(coded.missing(), None);
    }
}
