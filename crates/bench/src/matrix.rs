//! The matrix of cases: the product of what was asked for, each with its verdict before anything runs.
//!
//! A case that cannot be posed, that its backend does not solve, or that does not fit is kept as a row
//! with the reason.

use temblor_backend::{Backend, PlanOptions, parameters};
use temblor_physics::WaveProblem;

use crate::fill::Filler;
use crate::patches::{self, PatchRow};
use crate::pose;
use crate::preset::{Block, Preset};
use crate::results::Case;

/// A backend to measure.
pub struct Subject {
    /// The backend.
    pub backend: Box<dyn Backend>,
    /// Whether its memory is the host's.
    pub on_host: bool,
}

impl Subject {
    /// Memory that a plan may take, bytes.
    #[must_use]
    pub fn memory(&self) -> u64 {
        let device = self.backend.device().memory;
        if self.on_host { temblor_cpu::memory::available_memory().min(device) } else { device }
    }
}

/// Which variants of each backend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Variants {
    /// The one that the backend prefers for the problem.
    Preferred,
    /// All that solve the problem.
    All,
    /// These.
    Named(Vec<String>),
}

/// A case to measure, or why it is skipped.
#[derive(Debug, Clone)]
pub struct Planned {
    /// The case.
    pub case: Case,
    /// Place of its backend among the subjects.
    pub subject: usize,
    /// Peak frequency of the sources' wavelet, Hz.
    pub peak_hz: f64,
    /// The problem and the bytes of its plan, or why it cannot be run; not of patch kernels.
    pub posed: Result<Posed, String>,
    /// The patch kernel, where the row is one that can be run.
    pub patch: Option<PatchRow>,
}

/// A problem that can be run.
#[derive(Debug, Clone)]
pub struct Posed {
    /// The problem.
    pub problem: WaveProblem,
    /// Bytes of its plan.
    pub footprint: u64,
    /// Bytes that the host needs for transfers.
    pub host: u64,
}

impl Planned {
    /// Options of the case's plan.
    #[must_use]
    pub fn options(&self) -> PlanOptions {
        let [least, largest] = self.filler().speeds();
        let recorded = if self.case.receivers > 0 { RECORDED as usize } else { 0 };
        PlanOptions::new(self.case.receivers, recorded)
            .variant(&self.case.variant)
            .parameters(self.case.parameters.clone())
            .speeds(least, largest)
    }

    /// What fills its fields.
    #[must_use]
    pub fn filler(&self) -> Filler {
        let Case { start, shape, vmax, .. } = self.case;
        Filler { start, shape, vmax, seed: SEED, moving: false }
    }
}

/// Steps that receivers record before their samples are taken.
pub const RECORDED: u32 = 256;

/// Seed of the fields.
pub const SEED: u64 = 2026;

/// All cases of a preset's rows on all subjects, variants of one problem beside each other.
#[must_use]
pub fn build(preset: &Preset, subjects: &[Subject], variants: &Variants) -> Vec<Planned> {
    let mut all = Vec::new();
    for block in &preset.rows {
        if let Some(patch) = &block.patch {
            all.extend(patches::build(preset, block, patch, subjects, variants));
            continue;
        }
        for case in cases(preset, block) {
            for (subject, tested) in subjects.iter().enumerate() {
                all.extend(on(preset, block, &case, subject, tested, variants));
            }
        }
    }
    all
}

/// Cases of a block, without backend and variant.
fn cases(preset: &Preset, block: &Block) -> Vec<Case> {
    let steps: Vec<_> = match block.steps[..] {
        [] => vec![None],
        ref steps => steps.iter().copied().map(Some).collect(),
    };
    let mut cases = Vec::new();
    for operator in &block.operators {
        for &boundary in &block.boundaries {
            for &arithmetic in &block.arithmetics {
                for &shape in &block.sizes {
                    for &start in &block.starts {
                        for &steps in &steps {
                            let cells = pose::default_cells(boundary);
                            let asked = block.cells.filter(|_| cells > 0);
                            cases.push(Case {
                                preset: Some(preset.name.clone()).filter(|name| !name.is_empty()),
                                path: block.path.clone(),
                                backend: String::new(),
                                device: String::new(),
                                variant: String::new(),
                                parameters: block.parameters.clone(),
                                shape,
                                spacing: [preset.spacing; 3],
                                vmax: preset.vmax,
                                operator: operator.clone(),
                                arithmetic,
                                boundary,
                                cells: asked.unwrap_or(cells),
                                start,
                                steps,
                                sources: block.sources.unwrap_or(preset.sources),
                                receivers: preset.receivers,
                            });
                        }
                    }
                }
            }
        }
    }
    cases
}

/// The rows of a case on a backend.
fn on(
    preset: &Preset,
    block: &Block,
    case: &Case,
    subject: usize,
    tested: &Subject,
    variants: &Variants,
) -> Vec<Planned> {
    let device = tested.backend.device();
    let planned = |variant: &str, posed| {
        let mut case = case.clone();
        case.backend.clone_from(&device.backend);
        case.device.clone_from(&device.name);
        variant.clone_into(&mut case.variant);
        Planned { case, subject, peak_hz: preset.peak_hz, posed, patch: None }
    };
    // What stands in the place of a variant where none solves the problem.
    let wanted: Vec<&str> = match variants {
        Variants::Named(names) => names.iter().map(String::as_str).collect(),
        Variants::Preferred | Variants::All => vec!["-"],
    };
    let refused = |why: &str| -> Vec<Planned> {
        wanted.iter().map(|variant| planned(variant, Err(why.to_owned()))).collect()
    };
    if let Some(why) = &block.missing {
        return vec![planned("-", Err(why.clone()))];
    }
    let problem = match pose::problem(case, case.shape, preset.peak_hz) {
        Ok(problem) => problem,
        Err(error) => return refused(&error.to_string()),
    };
    let listed = match tested.backend.variants(&problem) {
        Ok(listed) => listed,
        Err(error) => return refused(&error.to_string()),
    };
    let names: Vec<String> = match variants {
        Variants::Preferred => listed.iter().take(1).map(|v| v.name.clone()).collect(),
        Variants::All => listed.iter().map(|v| v.name.clone()).collect(),
        Variants::Named(names) => {
            // A name that only another backend or another arithmetic has is no row here.
            let known = &tested.backend.capabilities().variants;
            let here = |name: &&String| {
                known.contains(name) || listed.iter().any(|variant| variant.name == **name)
            };
            names.iter().filter(here).cloned().collect()
        }
    };
    names
        .iter()
        .map(|name| {
            if listed.iter().all(|variant| variant.name != *name) {
                return planned(name, Err("the variant does not solve this problem".into()));
            }
            let mut row = planned(name, Err(String::new()));
            let parameters = tested.backend.parameters(&problem, name).and_then(|known| {
                parameters::resolve(&device.backend, name, &known, &case.parameters)
            });
            let footprint = parameters.and_then(|parameters| {
                row.case.parameters = parameters;
                tested.backend.footprint(&problem, &row.options())
            });
            row.posed = match footprint {
                Ok(footprint) => Ok(Posed {
                    problem: problem.clone(),
                    footprint: footprint.total(),
                    host: row.filler().host_bytes(),
                }),
                Err(error) => Err(error.to_string()),
            };
            row
        })
        .collect()
}

/// Why a plan does not fit, with both numbers, if it does not.
#[must_use]
pub fn misfit(posed: &Posed, subject: &Subject) -> Option<String> {
    let free = subject.memory();
    let needed = posed.footprint + if subject.on_host { posed.host } else { 0 };
    if needed > free {
        return Some(format!("the plan needs {needed} bytes and {free} are free"));
    }
    let host = temblor_cpu::memory::available_memory();
    (posed.host > host)
        .then(|| format!("transfers need {} bytes of the host and {host} are free", posed.host))
}

#[cfg(test)]
mod tests {
    use temblor_cpu::{CpuBackend, ReferenceBackend};

    use super::*;
    use crate::preset;

    fn subjects() -> [Subject; 2] {
        let subject = |backend: Box<dyn Backend>| Subject { backend, on_host: true };
        [subject(Box::new(CpuBackend::new())), subject(Box::new(ReferenceBackend::new()))]
    }

    /// The quick preset's block on one size.
    fn quick(shape: [usize; 3]) -> Preset {
        let mut preset = preset::named("quick").unwrap();
        preset.rows[0].sizes = vec![shape];
        preset
    }

    fn names(planned: &[Planned]) -> Vec<String> {
        let name = |row: &Planned| format!("{}/{}", row.case.backend, row.case.variant);
        planned.iter().map(name).collect()
    }

    #[test]
    fn variants_of_one_problem_stand_beside_each_other() {
        let planned = build(&quick([64; 3]), &subjects(), &Variants::All);
        let one = ["cpu/wavefront2", "cpu/blocked", "cpu-ref/loops"];
        assert_eq!(names(&planned), [one, one].concat());
        let boundaries: Vec<_> = planned.iter().map(|row| row.case.boundary.name()).collect();
        assert_eq!(boundaries, ["zero", "zero", "zero", "cpml", "cpml", "cpml"]);
        // Without a layer three grids of at least 64^3 values of 4 bytes.
        assert!(planned[1].posed.as_ref().unwrap().footprint >= 12 * 64_u64.pow(3));
        let preferred = build(&quick([64; 3]), &subjects(), &Variants::Preferred);
        assert_eq!(names(&preferred)[..2], ["cpu/wavefront2", "cpu-ref/loops"]);
    }

    #[test]
    fn a_variant_that_does_not_solve_a_problem_is_a_row_with_the_reason() {
        let variants = Variants::Named(vec!["wavefront2".into()]);
        let planned = build(&quick([64, 1, 64]), &subjects(), &variants);
        // Two boundaries; cpu-ref has no variant of that name and no row.
        assert_eq!(names(&planned), ["cpu/wavefront2"; 2]);
        assert!(planned.iter().all(|row| row.posed.as_ref().unwrap_err().contains("not solve")));
    }

    #[test]
    fn a_parameter_that_a_variant_lacks_is_the_reason_of_its_row() {
        let mut preset = quick([64; 3]);
        preset.rows[0].parameters.insert("nonsense".into(), 3);
        let planned = build(&preset, &subjects(), &Variants::Preferred);
        let why = planned[0].posed.as_ref().unwrap_err();
        assert!(why.contains("parameter 'nonsense'") && why.contains("there are"), "{why}");
    }
}
