//! What a kernel is applied to: patches with their chunks, as arrays by patch.

use temblor_patch::Cell;

/// Numbers of cells, an array per quantity, as compiled kernels take them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cells {
    /// Centres, m.
    pub(crate) centres: Vec<[f64; 3]>,
    /// Widths of the patches, m.
    pub(crate) sizes: Vec<[f64; 3]>,
    /// Times, s.
    pub(crate) times: Vec<f64>,
    /// Time steps, s.
    pub(crate) steps: Vec<f64>,
}

impl Cells {
    pub(crate) fn new(cells: &[Cell]) -> Self {
        let mut all = Self::default();
        all.set(cells);
        all
    }

    /// Takes other cells; room is kept, so that a call on few patches allocates nothing.
    pub(crate) fn set(&mut self, cells: &[Cell]) {
        self.centres.clear();
        self.centres.extend(cells.iter().map(|cell| cell.centre));
        self.sizes.clear();
        self.sizes.extend(cells.iter().map(|cell| cell.size));
        self.times.clear();
        self.times.extend(cells.iter().map(|cell| cell.time));
        self.steps.clear();
        self.steps.extend(cells.iter().map(|cell| cell.time_step));
    }

    pub(crate) fn cell(&self, patch: usize) -> Cell {
        Cell {
            centre: self.centres[patch],
            size: self.sizes[patch],
            time: self.times[patch],
            time_step: self.steps[patch],
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.centres.len()
    }
}

/// A run of patches.
pub(crate) struct Batch<'a, 'i, 'o> {
    pub(crate) centres: &'a [[f64; 3]],
    pub(crate) sizes: &'a [[f64; 3]],
    pub(crate) times: &'a [f64],
    pub(crate) steps: &'a [f64],
    pub(crate) inputs: &'a [&'i [f64]],
    pub(crate) outputs: &'a mut [&'o mut [f64]],
    /// Empty, or one per patch.
    pub(crate) speeds: &'a mut [f64],
}

impl Batch<'_, '_, '_> {
    /// Patches, after checking that all lengths fit a kernel's input and output.
    ///
    /// # Panics
    /// Where they do not.
    pub(crate) fn check(&self, [input_len, output_len]: [usize; 2]) -> usize {
        let patches = self.inputs.len();
        assert!(self.inputs.iter().all(|input| input.len() == input_len));
        assert!(self.outputs.iter().all(|output| output.len() == output_len));
        let others = [self.centres.len(), self.sizes.len(), self.times.len(), self.steps.len()];
        assert_eq!(others, [patches; 4]);
        assert_eq!(self.outputs.len(), patches);
        assert!(self.speeds.is_empty() || self.speeds.len() == patches);
        patches
    }
}
