//! Which parts of the wavefield are kept, and when.

use serde::{Deserialize, Serialize};
use temblor_backend::Region;
use temblor_physics::{Axis, Grid};

use crate::error::{Error, Result};
use crate::padding::Padding;
use crate::survey::Survey;

/// Snapshots as a user asks for them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SnapshotSpec {
    /// Time between snapshots, s; the first is at one interval.
    pub interval: f64,
    /// Every how many nodes along (x, y, z).
    pub stride: [usize; 3],
    /// Box (from, to) in m, both ends included; `None` takes the whole model.
    pub region: Option<([f64; 3], [f64; 3])>,
}

/// Snapshots of a survey: steps and nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct SnapshotPlan {
    /// Steps, ascending.
    pub steps: Vec<u64>,
    /// Nodes of the grid with layers.
    pub region: Region,
    /// Position of the first node, m.
    pub origin: [f64; 3],
    /// Distance between the nodes taken along (x, y, z), m.
    pub spacing: [f64; 3],
}

impl SnapshotPlan {
    /// Rounds times to steps and the box to the nodes inside it.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an interval or a stride that is not positive, or a box without
    /// nodes.
    pub fn new(spec: &SnapshotSpec, survey: &Survey) -> Result<Self> {
        if !(spec.interval.is_finite() && spec.interval >= survey.dt()) {
            let remedy = format!("give a time in s of at least one step ({:e} s)", survey.dt());
            return Err(Error::invalid("snapshot interval", spec.interval, remedy));
        }
        let region = nodes(spec, &survey.spec.grid, &survey.padding)?;
        let count = (survey.spec.duration / spec.interval + 1e-9).floor();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "at most the number of steps"
        )]
        let steps = (1..=count as u64)
            .map(|n| (n as f64 * spec.interval / survey.dt()).round() as u64)
            .filter(|&step| step < survey.steps() as u64)
            .collect();
        let grid = &survey.problem.grid;
        let spacing = std::array::from_fn(|a| grid.spacing[a] * region.stride[a] as f64);
        Ok(Self { steps, region, origin: grid.position(region.start), spacing })
    }

    /// Bytes of one snapshot with elements of `element` bytes.
    #[must_use]
    pub const fn bytes(&self, element: usize) -> u64 {
        (self.region.points() * element) as u64
    }
}

fn nodes(spec: &SnapshotSpec, grid: &Grid, padding: &Padding) -> Result<Region> {
    let mut region = Region { start: padding.before, shape: padding.inner, stride: spec.stride };
    for axis in Axis::ALL {
        let a = axis.index();
        if spec.stride[a] == 0 {
            let what = format!("snapshot stride along {}", axis.name());
            return Err(Error::invalid(what, 0, "give 1 to take every node"));
        }
        let (mut first, mut last) = (0.0, (grid.shape[a] - 1) as f64);
        if let Some((from, to)) = spec.region
            && grid.active(axis)
        {
            let at = |position: f64| (position - grid.origin[a]) / grid.spacing[a];
            first = (at(from[a]) - 1e-6).ceil().max(first);
            last = (at(to[a]) + 1e-6).floor().min(last);
            if from[a].is_nan() || to[a].is_nan() || last < first {
                let what = format!("snapshot region along {}", axis.name());
                let got = format!("{} m to {} m", from[a], to[a]);
                let end = grid.origin[a] + (grid.shape[a] - 1) as f64 * grid.spacing[a];
                let remedy =
                    format!("no node lies in it; the model spans {} m to {end} m", grid.origin[a]);
                return Err(Error::invalid(what, got, remedy));
            }
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "both lie between zero and the last node"
        )]
        let (first, last) = (first as usize, last as usize);
        region.start[a] += first;
        region.shape[a] = (last - first) / spec.stride[a] + 1;
    }
    Ok(region)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_takes_the_nodes_inside_it_with_both_ends() {
        let grid = Grid::new([11, 1, 21], [10.0, 10.0, 5.0], [100.0, 0.0, 0.0]).unwrap();
        let padding = Padding::new(&grid, [3; 6]);
        let spec = SnapshotSpec {
            interval: 0.1,
            stride: [2, 1, 3],
            region: Some(([115.0, 0.0, 5.0], [170.0, 0.0, 62.0])),
        };
        let region = nodes(&spec, &grid, &padding).unwrap();
        assert_eq!(region.start, [3 + 2, 0, 3 + 1]);
        // x: 120, 140, 160; z: 5, 20, 35, 50.
        assert_eq!(region.shape, [3, 1, 4]);
    }

    #[test]
    fn a_box_between_nodes_is_refused_by_axis() {
        let grid = Grid::new([11, 1, 21], [10.0; 3], [0.0; 3]).unwrap();
        let padding = Padding::new(&grid, [0; 6]);
        let spec = SnapshotSpec {
            interval: 0.1,
            stride: [1; 3],
            region: Some(([0.0, 0.0, 11.0], [100.0, 0.0, 19.0])),
        };
        let error = nodes(&spec, &grid, &padding).unwrap_err().to_string();
        assert!(error.contains("region along z"), "{error}");
    }
}
