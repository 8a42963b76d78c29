//! Launchers of the kernels by digits.

use cudarc::driver::CudaStream;
use temblor_backend::Result;

use super::{Argument, Kernels, STRIDING_BLOCKS, StepFields, THREADS, int};
use crate::arguments::{
    TemblorLimbs, TemblorLimbsPlain, TemblorOzaki, TemblorOzakiPlain, TemblorStep,
};
use crate::ozaki::plain::{self, Plain};

impl Argument for TemblorLimbs {}
impl Argument for TemblorLimbsPlain {}
impl Argument for TemblorOzaki {}
impl Argument for TemblorOzakiPlain {}

/// A kernel by digits: entry point, blocks, threads of a block and its dynamic shared memory, bytes.
#[derive(Debug, Clone)]
pub(crate) struct OzakiShape {
    pub(crate) kernel: String,
    pub(crate) blocks: usize,
    pub(crate) threads: u32,
    pub(crate) shared: usize,
}

impl Kernels {
    /// One step in the box of `step`; `peaks` of p^n and of p^(n+1).
    pub(crate) fn ozaki(
        &self,
        stream: &CudaStream,
        shape: &OzakiShape,
        step: &TemblorStep,
        ozaki: &TemblorOzaki,
        fields: &StepFields,
        peaks: [u64; 2],
    ) -> Result<()> {
        let arguments: [&dyn Argument; 7] =
            [step, ozaki, &fields.current, &fields.next, &fields.speed, &peaks[0], &peaks[1]];
        let (grid, block) = ([shape.blocks, 1, 1], [shape.threads, 1, 1]);
        // SAFETY: signature of `acoustic_iso_ozaki_*`; the plan owns the fields, whose p- is the
        // result's place, and both arrays have a place for every brick.
        unsafe { self.launch(stream, &shape.kernel, grid, block, shape.shared, &arguments) }
    }

    /// One step in the box of `step` by the plain kernel; `peaks` of p^n and of p^(n+1).
    pub(crate) fn ozaki_plain(
        &self,
        stream: &CudaStream,
        plain: &Plain,
        step: &TemblorStep,
        ozaki: &TemblorOzaki,
        fields: &StepFields,
        peaks: [u64; 2],
    ) -> Result<()> {
        let arguments: [&dyn Argument; 8] = [
            step,
            ozaki,
            &plain.arguments,
            &fields.current,
            &fields.next,
            &fields.speed,
            &peaks[0],
            &peaks[1],
        ];
        let (grid, block) = ([plain.blocks, 1, 1], [THREADS, 1, 1]);
        // SAFETY: signature of `acoustic_iso_ozaki_plain`; the plan owns the fields, whose p- is the
        // result's place and whose halo is as wide as the operator reaches, and both arrays have a place
        // for every brick.
        unsafe { self.launch(stream, plain::KERNEL, grid, block, 0, &arguments) }
    }

    /// One step in the box of `step` by BF16 limbs, `blocks` tiles.
    pub(crate) fn limbs(
        &self,
        stream: &CudaStream,
        name: &str,
        blocks: usize,
        step: &TemblorStep,
        limbs: &TemblorLimbs,
        fields: &StepFields,
    ) -> Result<()> {
        let arguments: [&dyn Argument; 5] =
            [step, limbs, &fields.current, &fields.next, &fields.speed];
        let grid = [blocks, super::extent(step, 0).min(65535), 1];
        // SAFETY: signature of `acoustic_iso_limbs_*`; the plan owns the fields, whose p- is the
        // result's place.
        unsafe { self.launch(stream, name, grid, [THREADS, 1, 1], 0, &arguments) }
    }

    /// One step in the box of `step` by BF16 limbs in plain loops.
    pub(crate) fn limbs_plain(
        &self,
        stream: &CudaStream,
        step: &TemblorStep,
        limbs: &TemblorLimbsPlain,
        fields: &StepFields,
    ) -> Result<()> {
        let arguments: [&dyn Argument; 5] =
            [step, limbs, &fields.current, &fields.next, &fields.speed];
        let [x, y, z] = std::array::from_fn(|a| super::extent(step, a));
        let grid = [z.div_ceil(32), y.div_ceil(8), x.min(65535)];
        // SAFETY: signature of `acoustic_iso_limbs_plain`; the plan owns the fields, whose p- is the
        // result's place and whose halo is as wide as the operator reaches.
        unsafe { self.launch(stream, "acoustic_iso_limbs_plain", grid, [32, 8, 1], 0, &arguments) }
    }

    /// Largest values of p in `count` bricks: those of the list at address `list`, or the first ones if
    /// it is 0.
    pub(crate) fn peaks(
        &self,
        stream: &CudaStream,
        step: &TemblorStep,
        ozaki: &TemblorOzaki,
        (list, count): (u64, usize),
        p: u64,
        peaks: u64,
    ) -> Result<()> {
        let bricks = int(count);
        let arguments: [&dyn Argument; 6] = [step, ozaki, &list, &bricks, &p, &peaks];
        let grid = [count.div_ceil(THREADS as usize / 32).clamp(1, STRIDING_BLOCKS), 1, 1];
        // SAFETY: signature of `acoustic_iso_peaks`; lists name bricks of the plan, which has a place for
        // each, and bricks reach as far beyond the box as the operator does.
        unsafe { self.launch(stream, "acoustic_iso_peaks", grid, [THREADS, 1, 1], 0, &arguments) }
    }
}
