//! Sources and receivers anywhere: band-limited weights for a point off the grid.
//!
//! Per axis a sinc in a Kaiser window of radius 4 cells, b = 6.31 (Hicks, G. J. (2002), Arbitrary
//! source and receiver positioning in finite-difference schemes using Kaiser windowed sinc
//! functions, Geophysics 67, 156-165). Weights that fall outside the grid are folded in: with odd
//! images at a free surface, even ones at a rigid wall; beyond a layer the field is zero. A
//! monochromatic wave at 6 cells per wavelength is read within 0.1 % at every sub-cell shift.

use crate::boundary::image;
use crate::{Axis, AxisWeights, Error, PointWeights, Result, WaveProblem, kaiser};

/// Radius of the window, cells.
pub const RADIUS: usize = 4;

/// Shape of the window for a monopole (Hicks 2002, table 1, largest wavenumber half of Nyquist's).
pub const BETA: f64 = 6.31;

/// Distance, cells, below which a point counts as lying on a node.
pub const ON_NODE: f64 = 1e-6;

/// Weights that read the wavefield at `position`, m; they are dimensionless.
///
/// On an axis with one node the position does not matter.
///
/// # Errors
/// If the point lies outside the grid.
pub fn receiver_weights(problem: &WaveProblem, position: [f64; 3]) -> Result<PointWeights> {
    let coordinates = problem.grid.node_coordinates(position);
    let along = |axis: Axis| axis_weights(problem, axis, coordinates[axis.index()], position);
    Ok(PointWeights { axes: [along(Axis::X)?, along(Axis::Y)?, along(Axis::Z)?] })
}

/// Weights of a point source at `position`, m: those of a receiver divided by the spacing of every
/// active axis, 1/m^3 (2-D: 1/m^2).
///
/// # Errors
/// If the point lies outside the grid.
pub fn source_weights(problem: &WaveProblem, position: [f64; 3]) -> Result<PointWeights> {
    let mut weights = receiver_weights(problem, position)?;
    for axis in problem.grid.active_axes() {
        let spacing = problem.grid.spacing[axis.index()];
        weights.axes[axis.index()].weights.iter_mut().for_each(|w| *w /= spacing);
    }
    Ok(weights)
}

fn axis_weights(
    problem: &WaveProblem,
    axis: Axis,
    coordinate: f64,
    position: [f64; 3],
) -> Result<AxisWeights> {
    let nodes = problem.grid.shape[axis.index()];
    if !problem.grid.active(axis) {
        return Ok(AxisWeights::on_node(0));
    }
    let last = (nodes - 1) as f64;
    if !(coordinate >= -ON_NODE && coordinate <= last + ON_NODE) {
        let (origin, spacing) =
            (problem.grid.origin[axis.index()], problem.grid.spacing[axis.index()]);
        let what = format!("{} of point {position:?}", axis.name());
        let got = format!("{} m", position[axis.index()]);
        let remedy =
            format!("the grid spans {origin} m to {} m there; move it", origin + last * spacing);
        return Err(Error::invalid(what, got, remedy));
    }
    let (at_min, at_max) = problem.ends(axis);
    let mut inside = vec![0.0; nodes.min(2 * RADIUS + 2)];
    // The folded weights reach at most 2 RADIUS nodes inwards from the face.
    #[expect(clippy::cast_possible_truncation, reason = "the coordinate lies inside the grid")]
    let nearest = coordinate.round() as isize;
    let reach = RADIUS.cast_signed();
    let base = (nearest - reach).clamp(0, (nodes - inside.len()).cast_signed());
    let mut add = |node: isize, weight: f64| {
        if let Some((node, sign)) = image(node, nodes, &at_min, &at_max) {
            inside[node - base.cast_unsigned()] += sign * weight;
        }
    };
    if (coordinate - nearest as f64).abs() <= ON_NODE {
        add(nearest, 1.0);
    } else {
        for node in nearest - reach..=nearest + reach {
            let weight = kaiser::windowed_sinc(node as f64 - coordinate, RADIUS as f64, BETA);
            if weight.abs() > 0.0 {
                add(node, weight);
            }
        }
    }
    Ok(trimmed(base.cast_unsigned(), &inside, nearest.cast_unsigned()))
}

/// Without leading and trailing zeros; a point on a free surface keeps one zero weight.
fn trimmed(base: usize, weights: &[f64], nearest: usize) -> AxisWeights {
    let used = |w: &f64| w.abs() > 0.0;
    match (weights.iter().position(used), weights.iter().rposition(used)) {
        (Some(first), Some(last)) => {
            AxisWeights { first: base + first, weights: weights[first..=last].to_vec() }
        }
        _ => AxisWeights { first: nearest, weights: vec![0.0] },
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::*;
    use crate::{Boundary, Face, Grid};

    fn problem(shape: [usize; 3]) -> WaveProblem {
        let grid = Grid::new(shape, [10.0, 20.0, 5.0], [100.0, -50.0, 0.0]).unwrap();
        WaveProblem::builder(grid, 1e-3).build().unwrap()
    }

    fn with(shape: [usize; 3], face: Face, boundary: Boundary) -> WaveProblem {
        let grid = Grid::new(shape, [10.0, 20.0, 5.0], [100.0, -50.0, 0.0]).unwrap();
        WaveProblem::builder(grid, 1e-3).boundary(face, boundary).build().unwrap()
    }

    /// Worst error over shifts and phases of reading exp(i k z) at `cells` per wavelength along z.
    fn worst_error(problem: &WaveProblem, cells: f64) -> f64 {
        let k = 2.0 * PI / cells;
        let mut worst = 0.0_f64;
        for shift in 0..=100 {
            let at = 20.0 + f64::from(shift) / 100.0;
            let weights = receiver_weights(problem, [150.0, 0.0, 5.0 * at]).unwrap();
            let [_, _, z] = &weights.axes;
            let sum = |f: fn(f64) -> f64| -> f64 {
                z.weights.iter().enumerate().map(|(n, w)| w * f(k * ((z.first + n) as f64))).sum()
            };
            let (re, im) = (sum(f64::cos) - (k * at).cos(), sum(f64::sin) - (k * at).sin());
            worst = worst.max(re.hypot(im));
        }
        worst
    }

    #[test]
    fn six_cells_per_wavelength_are_read_within_a_thousandth_at_every_shift() {
        let problem = problem([12, 8, 41]);
        for cells in [6.0, 8.0, 10.0, 20.0, 1e6] {
            let error = worst_error(&problem, cells);
            assert!(error < 1e-3, "{cells} cells per wavelength: {error}");
        }
    }

    #[test]
    fn a_point_on_a_node_has_weight_one_there() {
        let problem = problem([12, 8, 41]);
        let weights = receiver_weights(&problem, [130.0, 10.0, 100.0 + 4e-6]).unwrap();
        assert_eq!(weights, PointWeights::on_node([3, 3, 20]));
        let corner = receiver_weights(&problem, [100.0, -50.0, 200.0]).unwrap();
        assert_eq!(corner, PointWeights::on_node([0, 0, 40]));
    }

    #[test]
    fn an_inactive_axis_has_one_weight_and_does_not_scale_a_source() {
        let problem = problem([12, 1, 41]);
        let weights = source_weights(&problem, [110.0, 1e5, 15.0]).unwrap();
        assert_eq!(weights.axes[1], AxisWeights::on_node(0));
        let all: Vec<_> = weights.nodes().collect();
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].0, [1, 0, 3]);
        assert!((all[0].1 * 50.0 - 1.0).abs() < 1e-15);
    }

    #[test]
    fn a_point_near_a_free_surface_reads_an_odd_field() {
        let problem = with([12, 8, 41], Face::ZMin, Boundary::Free);
        let k = 2.0 * PI / 8.0;
        for at in [0.0, 0.3, 0.5, 1.7, 3.2] {
            let weights = receiver_weights(&problem, [150.0, 0.0, 5.0 * at]).unwrap();
            let z = &weights.axes[2];
            let read: f64 = (z.weights.iter().enumerate())
                .map(|(n, w)| w * (k * (z.first + n) as f64).sin())
                .sum();
            assert!((read - (k * at).sin()).abs() < 1e-3, "at {at}: {read}");
        }
    }

    #[test]
    fn a_point_near_a_rigid_wall_reads_an_even_field() {
        let problem = with([12, 8, 41], Face::ZMax, Boundary::Rigid);
        let k = 2.0 * PI / 8.0;
        // The wall lies at 40.5.
        for at in [40.0, 39.8, 38.5, 37.1] {
            let weights = receiver_weights(&problem, [150.0, 0.0, 5.0 * at]).unwrap();
            let z = &weights.axes[2];
            let read: f64 = (z.weights.iter().enumerate())
                .map(|(n, w)| w * (k * (40.5 - (z.first + n) as f64)).cos())
                .sum();
            assert!((read - (k * (40.5 - at)).cos()).abs() < 1e-3, "at {at}: {read}");
        }
    }

    #[test]
    fn all_nodes_lie_inside_a_grid_shorter_than_the_window() {
        let grid = Grid::new([3, 2, 5], [1.0; 3], [0.0; 3]).unwrap();
        for boundary in [Boundary::Zero, Boundary::Free, Boundary::Rigid] {
            let problem = WaveProblem::builder(grid, 1e-3)
                .boundaries(crate::Boundaries::uniform(boundary))
                .build()
                .unwrap();
            let weights = receiver_weights(&problem, [1.4, 0.6, 3.3]).unwrap();
            for (node, _) in weights.nodes() {
                assert!((0..3).all(|a| node[a] < grid.shape[a]), "{node:?}");
            }
        }
    }

    #[test]
    fn a_point_outside_is_refused_with_the_extent_of_the_grid() {
        let message = receiver_weights(&problem([12, 8, 41]), [99.0, 0.0, 0.0]).unwrap_err();
        let message = message.to_string();
        assert!(message.contains("99 m") && message.contains("100 m to 210 m"), "{message}");
        assert!(receiver_weights(&problem([12, 8, 41]), [f64::NAN, 0.0, 0.0]).is_err());
    }
}
