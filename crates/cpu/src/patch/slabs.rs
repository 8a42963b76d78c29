//! Patches in slabs, where there are fewer patches than threads.
//!
//! A slab has a kernel of its own, [`Kernel::slab`], compiled when a call first has use for it.

use std::sync::{Arc, OnceLock};

use temblor_backend::Result;
use temblor_patch::{Kernel, Slab};

use super::batch::Cells;
use super::engine::Engine;
use super::tasks::{self, Hands};

/// Makes what runs a kernel.
pub(crate) type Maker = Arc<dyn Fn(Kernel) -> Result<Engine> + Send + Sync>;

/// Slabs that a patch may be cut into, and the least work of one, microseconds.
fn worth(hands: Hands) -> (&'static [u16], f64) {
    match hands {
        Hands::Rayon => (&[2, 3, 4], 10.0),
        Hands::Team(_) => (&[2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16], 3.0),
    }
}

/// The ways to cut a kernel's patches.
pub(crate) struct Slabs {
    cuts: Vec<Cut>,
    maker: Maker,
    hands: Hands,
}

/// A way to cut a patch, with what runs it.
pub(crate) struct Cut {
    slab: Slab,
    /// Made when first used; nothing where that failed: patches then stay whole.
    engine: OnceLock<Option<Engine>>,
}

/// A cut that is ready.
pub(crate) struct Ready<'a> {
    slab: &'a Slab,
    engine: &'a Engine,
    hands: Hands,
}

impl Slabs {
    /// None where a patch cannot be cut, or is worth no cut.
    pub(crate) fn new(kernel: &Kernel, maker: Maker, hands: Hands) -> Option<Self> {
        let (parts, least) = worth(hands);
        let slabs = parts.iter().filter_map(|&parts| kernel.slab(parts));
        let worth = slabs.filter(|slab| tasks::cost(&slab.kernel) >= least);
        let cuts: Vec<Cut> = worth.map(|slab| Cut { slab, engine: OnceLock::new() }).collect();
        (!cuts.is_empty()).then_some(Self { cuts, maker, hands })
    }

    /// The cut that so many patches gain most from, if any.
    pub(crate) fn suited(&self, patches: usize) -> Option<Ready<'_>> {
        let choices = self.cuts.iter().map(|cut| cut.slab.parts);
        let parts = self.hands.parts(patches, choices);
        let cut = self.cuts.iter().find(|cut| cut.slab.parts == parts)?;
        let make = || (self.maker)(cut.slab.kernel.clone()).ok();
        let engine = cut.engine.get_or_init(make).as_ref()?;
        Some(Ready { slab: &cut.slab, engine, hands: self.hands })
    }
}

impl Ready<'_> {
    /// Applies the kernel on all threads; `speeds` has one per patch.
    pub(crate) fn run(
        &self,
        parameters: &[f64],
        cells: &Cells,
        inputs: &[&[f64]],
        outputs: &mut [&mut [f64]],
        speeds: &mut [f64],
    ) -> Result<()> {
        let slab = self.slab;
        let patches = inputs.iter().zip(outputs.iter_mut()).enumerate();
        let parts = patches.flat_map(|(patch, (input, output))| {
            let outputs = output.chunks_mut(slab.output_len).enumerate();
            outputs.map(move |(part, output)| {
                (patch, &input[part * slab.input_step..][..slab.input_len], output)
            })
        });
        let found = tasks::each(self.hands, parts, |(patch, input, output)| {
            let mut speed = [f64::NEG_INFINITY];
            self.engine.run_task(parameters, cells, patch, &[input], &mut [output], &mut speed)?;
            Ok((patch, speed[0]))
        })?;
        speeds.fill(f64::NEG_INFINITY);
        for (patch, speed) in found {
            if speed > speeds[patch] {
                speeds[patch] = speed;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;
    use temblor_patch::emit::c::Style;
    use temblor_patch::{Physics, Plan, Request, Scheme, lower};

    use super::super::code;
    use super::super::compiler::Compiler;
    use super::super::team;
    use super::*;

    type Results = (Vec<Vec<f64>>, Vec<f64>);

    fn kernel(physics: &str, scheme: &str, dimensions: u8, cells: u16, plan: Plan) -> Kernel {
        let physics = Arc::new(Physics::shipped(physics).unwrap());
        let request = Request::new(dimensions, cells).with_plan(plan);
        lower(&Scheme::shipped(scheme).unwrap(), &physics, &request).unwrap()
    }

    /// Results of patches whole and in slabs.
    fn both(kernel: &Kernel, parts: u16, contract: bool) -> [Results; 2] {
        let compiler = Compiler::host().unwrap();
        let maker: Maker = Arc::new(move |kernel| {
            code("cpu", &compiler, kernel, Style::Fused, contract, Hands::Rayon)
        });
        let mut random = ChaCha8Rng::seed_from_u64(11);
        let rest: &[f64] = match kernel.physics.name.as_str() {
            "euler" => &[1.0, 0.0, 0.0, 0.0, 2.5],
            _ => &[1.0],
        };
        let mut chunk = || -> Vec<f64> {
            let values = 0..kernel.shape.input_len();
            values.map(|place| rest[place % rest.len()] + random.random_range(-0.2..0.2)).collect()
        };
        let inputs: Vec<Vec<f64>> = (0..3).map(|_| chunk()).collect();
        let inputs: Vec<&[f64]> = inputs.iter().map(Vec::as_slice).collect();
        let cell = |patch: u8| temblor_patch::Cell {
            centre: [f64::from(patch), 0.5, -0.25],
            size: [0.5, 0.75, 1.0],
            time: 0.125,
            time_step: 1e-3 * f64::from(1 + patch),
        };
        let cells = Cells::new(&[0, 1, 2].map(cell));
        let parameters: Vec<f64> = kernel.parameters.iter().map(|known| known.default).collect();
        let whole = maker(kernel.clone()).unwrap();
        let slab = kernel.slab(parts).unwrap();
        let engine = maker(slab.kernel.clone()).unwrap();
        let ready = Ready { slab: &slab, engine: &engine, hands: Hands::Rayon };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        [false, true].map(|cut| {
            let mut results = vec![vec![f64::NAN; kernel.shape.output_len()]; 3];
            let mut speeds = vec![f64::NAN; 3];
            let mut outputs: Vec<&mut [f64]> = results.iter_mut().map(Vec::as_mut_slice).collect();
            pool.install(|| {
                if cut {
                    ready.run(&parameters, &cells, &inputs, &mut outputs, &mut speeds)
                } else {
                    whole.run(&parameters, &cells, &inputs, &mut outputs, &mut speeds)
                }
            })
            .unwrap();
            (results, speeds)
        })
    }

    #[test]
    fn slabs_give_the_bits_of_whole_patches() {
        for (physics, scheme, dimensions, cells, plan, parts) in [
            ("euler", "rusanov", 3, 8, Plan::Fused, 2),
            // Largest eigenvalues of slabs; tiles that end within a plane.
            ("euler", "rusanov", 3, 6, Plan::Fused, 3),
            ("euler", "fd4", 3, 8, Plan::Fused, 4),
            ("euler", "fd4", 2, 9, Plan::Fused, 3),
            // Temporaries that reach beyond the interior.
            ("shallow_water", "rusanov", 2, 6, Plan::Staged(vec!["F".into(), "D".into()]), 2),
        ] {
            let kernel = kernel(physics, scheme, dimensions, cells, plan);
            for contract in [false, true] {
                let [whole, slabs] = both(&kernel, parts, contract);
                let what = format!("{}, {parts} slabs, contraction {contract}", kernel.name);
                assert!(whole.0.iter().flatten().all(|value| value.is_finite()), "{what}");
                let bits = |results: &Results| -> Vec<u64> {
                    let values = results.0.iter().flatten().chain(&results.1);
                    values.map(|value| value.to_bits()).collect()
                };
                assert_eq!(bits(&whole), bits(&slabs), "{what}");
            }
        }
    }

    #[test]
    fn only_patches_worth_it_are_cut() {
        let maker: Maker = Arc::new(|_| unreachable!("nothing is compiled before it is used"));
        let slabs = |cells, hands| {
            let kernel = kernel("euler", "rusanov", 3, cells, Plan::Fused);
            Slabs::new(&kernel, maker.clone(), hands)
                .map(|slabs| slabs.cuts.iter().map(|cut| cut.slab.parts).collect::<Vec<_>>())
        };
        assert_eq!(slabs(6, Hands::Rayon), None);
        assert_eq!(slabs(16, Hands::Rayon), Some(vec![2, 4]));
        // A team's parts may be finer.
        let team = Hands::Team(team::host(&Compiler::host().unwrap()).unwrap());
        assert_eq!(slabs(3, team), None);
        assert_eq!(slabs(6, team), None);
        assert_eq!(slabs(16, team), Some(vec![2, 4, 8, 16]));
    }

    #[test]
    fn patches_stay_whole_where_no_slab_can_be_made() {
        let maker: Maker = Arc::new(|_| {
            Err(temblor_backend::Error::Unsupported { backend: "cpu".into(), what: "it".into() })
        });
        let kernel = kernel("euler", "rusanov", 3, 16, Plan::Fused);
        let slabs = Slabs::new(&kernel, maker, Hands::Rayon).unwrap();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(4).build().unwrap();
        assert!(pool.install(|| slabs.suited(1)).is_none());
    }
}
