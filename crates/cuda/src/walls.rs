//! Reflecting faces: halo nodes that mirror nodes inside, and nodes that stay zero.

use temblor_physics::boundary::image;
use temblor_physics::{Axis, Boundary, WaveProblem};

use crate::arguments::TemblorImages;
use crate::layers::single;
use crate::module::int;

/// Halo nodes that mirror nodes inside, per axis with a reflecting face.
pub(crate) fn images(problem: &WaveProblem) -> Vec<TemblorImages> {
    let reflects = |boundary: &Boundary| matches!(boundary, Boundary::Free | Boundary::Rigid);
    let mut all = Vec::new();
    for axis in problem.grid.active_axes() {
        let (min, max) = problem.ends(axis);
        if !reflects(&min) && !reflects(&max) {
            continue;
        }
        let nodes = problem.grid.shape[axis.index()];
        let (radius, end) = (problem.operator.radius().cast_signed(), nodes.cast_signed());
        let mut images = TemblorImages { axis: int(axis.index()), ..Default::default() };
        for target in (-radius..0).chain(end..end + radius) {
            // Where nothing is mirrored the halo is zero from the start.
            let Some((source, sign)) = image(target, nodes, &min, &max) else { continue };
            let n = usize::try_from(images.count).unwrap_or(0);
            images.target[n] = i32::try_from(target).unwrap_or(i32::MAX);
            images.source[n] = int(source);
            images.sign[n] = single(sign);
            images.count += 1;
        }
        all.push(images);
    }
    all
}

/// Nodes of each axis that lie on a free surface and stay zero: low and high, or -1.
pub(crate) fn zero_nodes(problem: &WaveProblem) -> [[i32; 2]; 3] {
    let mut zero = [[-1; 2]; 3];
    for axis in Axis::ALL {
        let (min, max) = problem.ends(axis);
        let a = axis.index();
        if matches!(min, Boundary::Free) {
            zero[a][0] = 0;
        }
        if matches!(max, Boundary::Free) {
            zero[a][1] = int(problem.grid.shape[a]) - 1;
        }
    }
    zero
}
