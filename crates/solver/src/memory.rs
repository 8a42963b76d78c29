//! What a run will hold in memory, known before anything is allocated.

use serde::{Deserialize, Serialize};
use temblor_backend::{Backend, ElementType, FootprintItem, PlanOptions};
use temblor_physics::Arithmetic;

use crate::error::{Error, Result};
use crate::snapshots::SnapshotPlan;
use crate::speed;
use crate::survey::Survey;

/// Bytes that the plan's trace buffer may take: few steps between two readings cost little.
const TRACE_BUFFER_BYTES: usize = 64 << 20;

/// Most steps between two readings of the traces.
const MOST_STEPS: usize = 256;

/// What a run allocates, on the device and on the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryPlan {
    /// The plan's allocations.
    pub plan: Vec<FootprintItem>,
    /// The solver's allocations.
    pub solver: Vec<FootprintItem>,
}

impl MemoryPlan {
    /// What [`crate::run`] will allocate.
    ///
    /// # Errors
    /// [`Error::Backend`] if the backend does not support the problem.
    pub fn new(
        backend: &dyn Backend,
        survey: &Survey,
        options: &PlanOptions,
        snapshots: Option<&SnapshotPlan>,
    ) -> Result<Self> {
        let plan = backend.footprint(&survey.problem, options)?.items;
        let element = element_type(survey.problem.arithmetic).bytes() as u64;
        let receivers = survey.most_receivers() as u64;
        let sources = survey.shots.iter().map(|shot| shot.sources.len()).max().unwrap_or(0) as u64;
        let steps = survey.steps() as u64;
        let item = |name: &str, bytes| FootprintItem { name: name.into(), bytes };
        let mut solver = vec![
            item("raw traces of a shot", receivers * steps * element),
            item("gather of a shot", receivers * survey.samples() as u64 * element),
            item("source amplitudes", sources * steps * 8),
            item("model slabs", speed::slab_bytes(&survey.padding)),
        ];
        if let Some(snapshots) = snapshots {
            solver.push(item("snapshot", snapshots.bytes(survey.element().bytes())));
        }
        Ok(Self { plan, solver })
    }

    /// All bytes.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.items().map(|item| item.bytes).sum()
    }

    /// All allocations, the plan's first.
    pub fn items(&self) -> impl Iterator<Item = &FootprintItem> {
        self.plan.iter().chain(&self.solver)
    }

    /// Compares with what is available, bytes.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] with the three largest items.
    pub fn check(&self, available: u64) -> Result<()> {
        let needed = self.total();
        if needed <= available {
            return Ok(());
        }
        let mut items: Vec<_> = self.items().collect();
        items.sort_by_key(|item| std::cmp::Reverse(item.bytes));
        let largest: Vec<_> =
            items.iter().take(3).map(|i| format!("{}: {} bytes", i.name, i.bytes)).collect();
        Err(Error::OutOfMemory { needed, available, largest: largest.join(", ") })
    }
}

/// Options of the plan that a survey is run with.
#[must_use]
pub fn plan_options(survey: &Survey, variant: Option<&str>) -> PlanOptions {
    let receivers = survey.most_receivers();
    let bytes = receivers * survey.element().bytes();
    let steps = (TRACE_BUFFER_BYTES / bytes.max(1)).clamp(16, MOST_STEPS);
    let options = PlanOptions::new(receivers, steps.min(survey.steps().max(1)))
        .speeds(survey.speed.min, survey.speed.max);
    match variant {
        Some(name) => options.variant(name),
        None => options,
    }
}

/// Element type of a plan's fields and traces.
pub(crate) const fn element_type(arithmetic: Arithmetic) -> ElementType {
    match arithmetic {
        Arithmetic::F64 => ElementType::F64,
        _ => ElementType::F32,
    }
}
