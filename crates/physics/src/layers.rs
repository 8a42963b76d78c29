//! Layers that a user need not think about: default and suggested parameters.

use crate::{Cpml, Minimod};

/// Width of the default C-PML, cells.
pub const CPML_CELLS: usize = 20;

/// Theoretical reflection coefficient of the default C-PML.
pub const CPML_R0: f64 = 1e-6;

/// Width of the benchmark's Minimod layer, cells.
pub const MINIMOD_CELLS: usize = 27;

/// Reflection coefficient that the benchmark's damping is made for.
pub const MINIMOD_R0: f64 = 1e-3;

impl Cpml {
    /// The default layer for a wavelet of `peak_hz`, Hz, and a largest wave speed `vmax`, m/s.
    #[must_use]
    pub const fn for_wavelet(peak_hz: f64, vmax: f64) -> Self {
        Self { cells: CPML_CELLS, r0: CPML_R0, peak_hz, vmax }
    }
}

impl Minimod {
    /// A layer of `cells` with the benchmark's damping, `3 vmax ln(1/R0) / (2 width) dt` at its outer
    /// end, for a largest wave speed `vmax`, m/s, spacing, m, and step, s.
    #[must_use]
    pub fn for_speed(cells: usize, vmax: f64, spacing: f64, dt: f64) -> Self {
        let width = cells as f64 * spacing;
        Self { cells, eta_peak: -1.5 * vmax * MINIMOD_R0.ln() / width * dt }
    }

    /// Width as the benchmark's authors advise: three of the longest wavelengths, cells.
    #[must_use]
    pub fn suggested_cells(vmax: f64, peak_hz: f64, spacing: f64) -> usize {
        let cells = (3.0 * vmax / (peak_hz * spacing)).ceil();
        crate::resample::floor_index(cells).max(1).cast_unsigned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_benchmarks_own_set_up_suggests_its_width() {
        // vmax 4500 m/s, 25 Hz, 20 m.
        assert_eq!(Minimod::suggested_cells(4500.0, 25.0, 20.0), MINIMOD_CELLS);
    }
}
