//! Rows of patch kernels: which kernels, on which backends, by which schedules, for how many patches.
//!
//! A row is one kernel for K patches. Its compute time is that of one evaluation of patches that stay
//! on the device; its total time is that of one call from K scattered chunks on the host, with all
//! that it takes to bring them there and back.

mod chunks;
mod figures;
mod measure;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use temblor_patch::{Kernel, Output, Physics, Plan, Request, Scheme, lower};

use crate::matrix::{Planned, Subject, Variants};
use crate::preset::{Block, Preset};
use crate::results::{BoundaryName, Case, Start};

pub use chunks::Chunks;
pub use figures::PatchFigures;
pub(crate) use measure::Maker;

/// `[rows.patch]` of a preset.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PatchBlock {
    /// A physics that ships.
    pub physics: String,
    /// A scheme that ships.
    pub scheme: String,
    /// Patches per call.
    pub patches: Vec<u32>,
    /// Parameters of physics and scheme; others keep their defaults.
    #[serde(default)]
    pub parameters: BTreeMap<String, f64>,
    /// Whether `a * b + c` may be one rounding.
    #[serde(default)]
    pub contract: bool,
}

/// What a row runs.
#[derive(Debug, Clone)]
pub struct PatchRow {
    /// Kernel.
    pub kernel: Arc<Kernel>,
    /// The same, statement by statement, for the interpreter.
    pub oracle: Arc<Kernel>,
    /// Values of the kernel's parameters.
    pub parameters: Arc<Vec<f64>>,
    /// K.
    pub patches: u32,
    /// Schedule.
    pub schedule: String,
    /// Whether `a * b + c` may be one rounding.
    pub contract: bool,
}

impl PatchRow {
    /// States and rates of an evaluation.
    #[must_use]
    pub fn arrays(&self) -> (usize, usize) {
        match self.kernel.shape.output {
            Output::Step => (2, 0),
            Output::Rate => (1, 1),
        }
    }

    /// Bytes of the patches on a device, without what a backend adds.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let (states, rates) = self.arrays();
        let shape = &self.kernel.shape;
        let values = states * shape.input_len() + rates * shape.output_len();
        8 * u64::from(self.patches) * values as u64
    }
}

/// Whether a schedule runs statement by statement, and so takes an unfused kernel.
fn is_unfused(schedule: &str) -> bool {
    schedule.starts_with("plain") || schedule.starts_with("unfused")
}

/// Both forms of a kernel.
struct Forms {
    fused: Arc<Kernel>,
    unfused: Arc<Kernel>,
    parameters: Arc<Vec<f64>>,
}

impl Forms {
    fn new(block: &PatchBlock, cells: usize) -> Result<Self, String> {
        let text = |error: temblor_patch::Error| error.to_string();
        let physics = Arc::new(Physics::shipped(&block.physics).map_err(text)?);
        let scheme = Scheme::shipped(&block.scheme).map_err(text)?;
        let cells = u16::try_from(cells).map_err(|_| format!("patches of {cells} cells"))?;
        let integers = physics.parameters.iter().filter(|parameter| parameter.integer);
        #[expect(clippy::cast_possible_truncation, reason = "parameters of presets are small")]
        let integers: Vec<(String, i64)> = integers
            .filter_map(|p| {
                block.parameters.get(&p.name).map(|&value| (p.name.clone(), value as i64))
            })
            .collect();
        let request = Request::new(3, cells).with_integers(integers);
        let fused = lower(&scheme, &physics, &request).map_err(text)?;
        let unfused = request.with_plan(Plan::Unfused);
        let unfused = lower(&scheme, &physics, &unfused).map_err(text)?;
        let known = fused.parameters.iter();
        let value = |p: &temblor_patch::physics::Parameter| {
            block.parameters.get(&p.name).copied().unwrap_or(p.default)
        };
        let parameters = Arc::new(known.map(value).collect());
        if let Some(name) =
            block.parameters.keys().find(|name| fused.parameters.iter().all(|p| p.name != **name))
        {
            return Err(format!("{} has no parameter `{name}`", fused.name));
        }
        Ok(Self { fused: Arc::new(fused), unfused: Arc::new(unfused), parameters })
    }
}

/// Rows of a block on all subjects; schedules of one kernel stand beside each other, K grows within.
pub(crate) fn build(
    preset: &Preset,
    block: &Block,
    patch: &PatchBlock,
    subjects: &[Subject],
    variants: &Variants,
) -> Vec<Planned> {
    let mut rows = Vec::new();
    for &shape in &block.sizes {
        let forms = Forms::new(patch, shape[0]);
        for (subject, tested) in subjects.iter().enumerate() {
            let device = tested.backend.device();
            let planned =
                |schedule: &str, patches: u32, row: Option<PatchRow>, why: &str| Planned {
                    case: Case {
                        backend: device.backend.clone(),
                        device: device.name.clone(),
                        variant: schedule.to_owned(),
                        ..case(preset, block, shape, patches)
                    },
                    subject,
                    peak_hz: preset.peak_hz,
                    posed: Err(why.to_owned()),
                    patch: row,
                };
            let listed = forms.as_ref().map_err(Clone::clone).and_then(|forms| {
                schedules(forms, tested, variants).map(|schedules| (forms, schedules))
            });
            let (forms, schedules) = match listed {
                Ok(listed) => listed,
                Err(why) => {
                    rows.extend(patch.patches.iter().map(|&k| planned("-", k, None, &why)));
                    continue;
                }
            };
            for schedule in schedules {
                let kernel = if is_unfused(&schedule) { &forms.unfused } else { &forms.fused };
                for &patches in &patch.patches {
                    let row = PatchRow {
                        kernel: Arc::clone(kernel),
                        oracle: Arc::clone(&forms.unfused),
                        parameters: Arc::clone(&forms.parameters),
                        patches,
                        schedule: schedule.clone(),
                        contract: patch.contract,
                    };
                    rows.push(planned(&schedule, patches, Some(row), ""));
                }
            }
        }
    }
    rows
}

/// Whether a schedule is another's on other threads, which is measured when asked for.
fn is_team(schedule: &str) -> bool {
    schedule.ends_with("openmp")
}

/// Schedules of a subject: what it prefers for the fused kernel, and the plain ones that it is
/// measured against; those by OpenMP and the interpreter only by name or with all.
fn schedules(forms: &Forms, tested: &Subject, variants: &Variants) -> Result<Vec<String>, String> {
    let listed =
        |kernel: &Kernel| tested.backend.patch_schedules(kernel).map_err(|error| error.to_string());
    let fused = listed(&forms.fused)?.into_iter().filter(|name| !is_unfused(name));
    let plain = listed(&forms.unfused)?.into_iter().filter(|name| is_unfused(name));
    let compiled = |name: &String| name != "interpreter";
    Ok(match variants {
        Variants::Preferred => {
            let own: Vec<String> = fused.collect();
            let preferred: Vec<String> = own.iter().take(1).cloned().collect();
            preferred.into_iter().chain(plain.filter(|name| !is_team(name))).collect()
        }
        Variants::All => fused.filter(compiled).chain(plain).collect(),
        Variants::Named(names) => {
            let all: Vec<String> = fused.chain(plain).collect();
            names.iter().filter(|name| all.contains(name)).cloned().collect()
        }
    })
}

fn case(preset: &Preset, block: &Block, shape: [usize; 3], patches: u32) -> Case {
    let operator = block.operators.first().map_or("patch", String::as_str);
    Case {
        preset: Some(preset.name.clone()).filter(|name| !name.is_empty()),
        path: block.path.clone(),
        backend: String::new(),
        device: String::new(),
        variant: String::new(),
        parameters: block.parameters.clone(),
        shape,
        spacing: [preset.spacing; 3],
        vmax: preset.vmax,
        operator: format!("{operator}-k{patches}"),
        arithmetic: temblor_physics::Arithmetic::F64,
        boundary: BoundaryName::Zero,
        cells: 0,
        start: Start::Random,
        steps: None,
        sources: 0,
        receivers: 0,
    }
}
