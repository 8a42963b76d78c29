//! What happens at each of the six faces, and images across reflecting faces.
//!
//! A layer (C-PML, Minimod's) occupies the outermost `cells` nodes of the grid on its side, and
//! beyond it the wavefield is zero. A free surface has p = 0 on node 0 and odd images; a rigid
//! wall lies half a cell outside node 0 and has even images: on a node the operator would not be
//! symmetric, which breaks reciprocity and the adjoint.

use serde::{Deserialize, Serialize};

use crate::Face;

/// Convolutional perfectly matched layer, second-order form (Pasalic and McGarry 2010).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Cpml {
    /// Width, nodes of the grid.
    pub cells: usize,
    /// Theoretical reflection coefficient at normal incidence.
    pub r0: f64,
    /// Peak frequency of the wavelet, Hz; scales the frequency shift.
    pub peak_hz: f64,
    /// Largest wave speed, m/s; scales the damping.
    pub vmax: f64,
}

/// Minimod's damping layer with one auxiliary field (Meng et al. 2020).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Minimod {
    /// Width, nodes of the grid.
    pub cells: usize,
    /// Damping at the outermost node, dimensionless (already multiplied by the time step).
    pub eta_peak: f64,
}

/// What happens at one face.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[non_exhaustive]
pub enum Boundary {
    /// Zero beyond the outermost node, no layer: a soft wall one cell outside (tests, bare kernels).
    Zero,
    /// Free surface: p = 0 on the outermost node, odd images beyond.
    Free,
    /// Rigid wall half a cell outside the outermost node, even images beyond.
    Rigid,
    /// Absorbing layer for physics.
    Cpml(Cpml),
    /// Absorbing layer of the Minimod benchmark.
    Minimod(Minimod),
}

impl Boundary {
    /// Width of the layer, nodes; 0 for walls.
    #[must_use]
    pub const fn cells(&self) -> usize {
        match self {
            Self::Cpml(layer) => layer.cells,
            Self::Minimod(layer) => layer.cells,
            Self::Zero | Self::Free | Self::Rigid => 0,
        }
    }
}

/// One boundary per face, in the order of [`Face::ALL`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Boundaries(pub [Boundary; 6]);

impl Boundaries {
    /// The same boundary on all faces.
    #[must_use]
    pub const fn uniform(boundary: Boundary) -> Self {
        Self([boundary; 6])
    }

    /// The boundary at a face.
    #[must_use]
    pub const fn at(&self, face: Face) -> &Boundary {
        &self.0[face.index()]
    }

    /// Replaces the boundary at a face.
    pub const fn set(&mut self, face: Face, boundary: Boundary) {
        self.0[face.index()] = boundary;
    }

    /// Layer widths, nodes, in the order of [`Face::ALL`].
    #[must_use]
    pub fn cells(&self) -> [usize; 6] {
        self.0.map(|boundary| boundary.cells())
    }
}

/// Where the value at a node outside `0..nodes` comes from: a node inside and a sign, or nothing
/// where the wavefield is zero.
///
/// Images are composed, so an axis shorter than the stencil's reach is treated exactly. `node` may
/// also lie inside, where the answer is itself (a free surface's own node is zero).
#[must_use]
pub fn image(
    node: isize,
    nodes: usize,
    at_min: &Boundary,
    at_max: &Boundary,
) -> Option<(usize, f64)> {
    let last = nodes.cast_signed() - 1;
    let mut node = node;
    let mut sign = 1.0;
    loop {
        let (boundary, outside) = if node < 0 {
            (at_min, true)
        } else if node > last {
            (at_max, true)
        } else {
            (at_min, false)
        };
        if !outside {
            let on_free = (node == 0 && matches!(at_min, Boundary::Free))
                || (node == last && matches!(at_max, Boundary::Free));
            return if on_free { None } else { Some((node.cast_unsigned(), sign)) };
        }
        match boundary {
            Boundary::Free => {
                sign = -sign;
                node = if node < 0 { -node } else { 2 * last - node };
            }
            Boundary::Rigid => node = if node < 0 { -1 - node } else { 2 * last + 1 - node },
            Boundary::Zero | Boundary::Cpml(_) | Boundary::Minimod(_) => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_free_surface_has_odd_images_and_a_zero_node() {
        let (free, zero) = (Boundary::Free, Boundary::Zero);
        assert_eq!(image(-3, 10, &free, &zero), Some((3, -1.0)));
        assert_eq!(image(0, 10, &free, &zero), None);
        assert_eq!(image(12, 10, &zero, &free), Some((6, -1.0)));
    }

    #[test]
    fn a_rigid_wall_has_even_images_half_a_cell_outside() {
        let (rigid, zero) = (Boundary::Rigid, Boundary::Zero);
        assert_eq!(image(-1, 10, &rigid, &zero), Some((0, 1.0)));
        assert_eq!(image(10, 10, &zero, &rigid), Some((9, 1.0)));
    }

    #[test]
    fn images_are_composed_on_an_axis_shorter_than_the_stencil() {
        let free = Boundary::Free;
        // Period 2 (n - 1) = 12: node -8 is node 4 seen through two mirrors.
        assert_eq!(image(-8, 7, &free, &free), Some((4, 1.0)));
        assert_eq!(image(-8, 7, &free, &Boundary::Zero), None);
    }

    #[test]
    fn nothing_lies_beyond_a_layer() {
        let layer = Boundary::Minimod(Minimod { cells: 2, eta_peak: 0.02 });
        assert_eq!(image(-1, 10, &layer, &layer), None);
        assert_eq!(image(4, 10, &layer, &layer), Some((4, 1.0)));
    }
}
