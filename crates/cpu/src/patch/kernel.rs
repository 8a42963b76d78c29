//! [`PatchKernel`] of the host.

use std::sync::Arc;

use temblor_backend::patch::{check_chunks, check_parameters};
use temblor_backend::{Cell, Error, PatchKernel, PatchReport, PatchSet, Result};
use temblor_patch::emit::gpu::{post_kernel, speed_kernel};
use temblor_patch::graph::Leaf;
use temblor_patch::kernel::{OUTPUT, Write};
use temblor_patch::{Kernel, Output};

use super::batch::Cells;
use super::engine::Engine;
use super::set::{CpuSet, Engines};
use super::slabs::Maker;

pub(crate) struct CpuKernel {
    engine: Arc<Engine>,
    /// For the kernels that a set runs beside this one.
    maker: Maker,
    parameters: Vec<f64>,
    /// Of the last call.
    cells: Cells,
    speeds: Vec<f64>,
    report: PatchReport,
}

impl CpuKernel {
    pub(crate) fn new(engine: Engine, maker: Maker, report: PatchReport) -> Self {
        let parameters = engine.kernel.parameters.iter().map(|known| known.default).collect();
        Self {
            engine: Arc::new(engine),
            maker,
            parameters,
            cells: Cells::default(),
            speeds: Vec::new(),
            report,
        }
    }

    /// A kernel of one term per voxel that belongs to this one, as a step: N + M values per voxel.
    fn companion(
        &self,
        of: fn(&Kernel) -> temblor_patch::Result<Option<Kernel>>,
    ) -> Result<Option<Arc<Engine>>> {
        let made = of(&self.engine.kernel).map_err(|error| Error::Driver {
            backend: "cpu".into(),
            call: "tracing a term".into(),
            source: error.into(),
        })?;
        let Some(mut kernel) = made else { return Ok(None) };
        kernel.shape.output = Output::Step;
        Ok(Some(Arc::new((self.maker)(kernel)?)))
    }
}

/// Whether the maximum that a kernel computes is the largest eigenvalue of the state that it writes:
/// whether the eigenvalue's own kernel, given what is written, is the same value of the graph.
fn gives_speed(kernel: &Kernel, speed: &Kernel) -> bool {
    let ([stage], [own]) = (kernel.stages.as_slice(), speed.stages.as_slice()) else {
        return false;
    };
    let (Some(maximum), Some(wanted)) = (stage.maximum, own.maximum) else { return false };
    let mut graph = kernel.graph.clone();
    let mut same = (stage.low, stage.high) == (own.low, own.high);
    let values = graph.graft(&speed.graph, &[wanted], |graph, leaf| match leaf {
        Leaf::Load { unknown, .. } => {
            let written = |write: &&Write| write.block == OUTPUT && write.unknown == unknown;
            stage.writes.iter().find(written).map_or_else(|| graph.leaf(leaf), |write| write.value)
        }
        // The state is that of a later time.
        Leaf::Time | Leaf::TimeStep => {
            same = false;
            graph.leaf(leaf)
        }
        other => graph.leaf(other),
    });
    same && values == [maximum]
}

pub(crate) fn invalid(what: String, remedy: &str) -> Error {
    Error::Invalid { what, remedy: remedy.into() }
}

impl PatchKernel for CpuKernel {
    fn report(&self) -> &PatchReport {
        &self.report
    }

    fn set_parameters(&mut self, parameters: &[f64]) -> Result<()> {
        check_parameters(&self.engine.kernel, parameters)?;
        self.parameters = parameters.to_vec();
        Ok(())
    }

    fn apply(
        &mut self,
        cells: &[Cell],
        inputs: &[&[f64]],
        outputs: &mut [&mut [f64]],
        speeds: &mut [f64],
    ) -> Result<()> {
        check_chunks(&self.engine.kernel, cells.len(), inputs, outputs, speeds)?;
        self.cells.set(cells);
        self.speeds.resize(cells.len(), 0.0);
        let all = &mut self.speeds;
        self.engine.run(&self.parameters, &self.cells, inputs, outputs, all)?;
        if !speeds.is_empty() {
            speeds.copy_from_slice(all);
        }
        Ok(())
    }

    fn set_bytes(&self, patches: usize, states: usize, rates: usize) -> u64 {
        let shape = &self.engine.kernel.shape;
        let rate = shape.voxels() * usize::from(shape.unknowns);
        let values = patches.saturating_mul(states * shape.input_len() + rates * rate);
        let values = values.saturating_add(self.engine.scratch_len(patches));
        u64::try_from(values).unwrap_or(u64::MAX).saturating_mul(8)
    }

    fn patches(&self, cells: &[Cell], states: usize, rates: usize) -> Result<Box<dyn PatchSet>> {
        let bytes = self.set_bytes(cells.len(), states, rates);
        let speed = self.companion(speed_kernel)?;
        let main = self.engine.clone();
        let gives_speed =
            speed.as_ref().is_some_and(|speed| gives_speed(&main.kernel, &speed.kernel));
        let engines = Engines { main, post: self.companion(post_kernel)?, speed, gives_speed };
        let set = CpuSet::new(engines, self.parameters.clone(), cells, states, rates, bytes)?;
        Ok(Box::new(set))
    }
}
