//! What variants are tuned by: tile widths, lengths of marches and how steps are queued.

use temblor_backend::{Parameter, PlanOptions, Result, parameters};
use temblor_physics::Arithmetic;

use crate::ID;
use crate::graph::Queueing;
use crate::limbs;
use crate::ozaki::{self, Engine};
use crate::stored;
use crate::tiles::FARTHEST;
use crate::wide;

/// Values of all parameters; a variant without one ignores it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Choices {
    /// Nodes of a wide tile along z; 0 leaves it to [`crate::wide`].
    pub(crate) width: usize,
    /// Rows of a tile by digits times 1000 plus its columns; 0 elsewhere.
    pub(crate) tile: usize,
    /// Planes that blocks of the full waves march at most.
    pub(crate) planes: usize,
    /// How steps are queued.
    pub(crate) queueing: Queueing,
}

/// Planes that blocks march at most unless told otherwise: `wide` goes by its width; codes of two bytes
/// leave L2 room for blocks that drift apart.
fn farthest(variant: &str) -> usize {
    match variant {
        "wide" => 0,
        "stored_wide" => 800,
        _ => FARTHEST,
    }
}

/// Sorted values with the default among them.
fn parameter(name: &str, about: &str, values: &[u32], default: u32) -> Parameter {
    let mut values = values.to_vec();
    if !values.contains(&default) {
        values.push(default);
        values.sort_unstable();
    }
    Parameter { name: name.into(), about: about.into(), values, default }
}

/// What parameters depend on besides the variant.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setting {
    /// The problem's.
    pub(crate) arithmetic: Arithmetic,
    /// Of the problem's operator.
    pub(crate) radius: usize,
    /// Most shared memory per block, bytes.
    pub(crate) shared: usize,
    /// How plans of the backend are queued unless told otherwise.
    pub(crate) queueing: Queueing,
}

/// Parameters of a variant.
pub(crate) fn known(variant: &str, setting: Setting) -> Vec<Parameter> {
    let Setting { arithmetic, radius, shared, queueing } = setting;
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let mut all = Vec::new();
    let widths = match variant {
        "wide" => wide::fitting(shared, radius),
        "stored_wide" => stored::WIDTHS.to_vec(),
        _ => Vec::new(),
    };
    if !widths.is_empty() {
        let widths: Vec<_> = [0].into_iter().chain(widths).map(count).collect();
        let about = "nodes of a tile along z; 0: the width with the least work for the busiest \
                     multiprocessor";
        all.push(parameter("width", about, &widths, 0));
    }
    if ["wide", "tma", "fused2", "stored_wide"].contains(&variant) {
        let about = match farthest(variant) {
            0 => "planes that blocks of the full waves march at most; 0: what suits the width",
            _ => "planes that blocks of the full waves march at most",
        };
        all.push(parameter("planes", about, &[100, 200, 400, 800], count(farthest(variant))));
    }
    let engine = Engine::of(variant).filter(|_| limbs::digits(variant, arithmetic).is_none());
    if let Some(engine) = engine {
        let tiles: Vec<_> = ozaki::tiles(engine, arithmetic).into_iter().map(count).collect();
        if tiles.len() > 1 {
            let about = "rows of a tile times 1000 plus its columns";
            let mut sorted = tiles.clone();
            sorted.sort_unstable();
            all.push(parameter("tile", about, &sorted, tiles[0]));
        }
        let about = "planes that a block marches";
        all.push(parameter("planes", about, &ozaki::PLANES, ozaki::PLANES[2]));
    }
    let about = "1: layers and recording run beside the interior; 0: after and before it";
    all.push(parameter("branches", about, &[0, 1], u32::from(queueing.branches)));
    // A step of reduced storage rounds by noise of its own, which a graph would repeat.
    if !stored::NAMES.contains(&variant) {
        let about = "steps that are captured and launched as one graph; 0: each kernel by itself";
        all.push(parameter("steps_per_graph", about, &[0, 8, 32, 64], queueing.steps_per_graph));
    }
    all
}

/// What a plan's options ask for, completed by defaults.
///
/// # Errors
/// [`temblor_backend::Error::Unsupported`] for a name or a value that does not exist.
pub(crate) fn choose(variant: &str, options: &PlanOptions, setting: Setting) -> Result<Choices> {
    let known = known(variant, setting);
    let values = parameters::resolve(ID, variant, &known, &options.parameters)?;
    let of = |name: &str, other: usize| values.get(name).map_or(other, |&value| value as usize);
    Ok(Choices {
        width: of("width", 0),
        tile: of("tile", 0),
        planes: of("planes", farthest(variant)),
        queueing: Queueing {
            steps_per_graph: values.get("steps_per_graph").copied().unwrap_or(0),
            branches: values["branches"] == 1,
        },
    })
}

#[cfg(test)]
mod tests {
    use temblor_physics::{DigitKind, Digits};

    use super::*;
    use crate::variants::NAMES;

    const F32: Arithmetic = Arithmetic::F32;

    /// On an H200, order 8.
    const fn setting(arithmetic: Arithmetic, queueing: Queueing) -> Setting {
        Setting { arithmetic, radius: 4, shared: 227 << 10, queueing }
    }

    #[test]
    fn a_card_with_less_shared_memory_has_fewer_widths_and_refuses_the_others() {
        let small = Setting { shared: 99 << 10, ..setting(F32, Queueing::default()) };
        let widths = |setting| known("wide", setting).swap_remove(0).values;
        assert_eq!(widths(small), [0, 128, 160, 192, 224]);
        assert!(widths(setting(F32, Queueing::default())).contains(&256));
        let asked = [("width".to_owned(), 256)].into_iter().collect();
        let options = PlanOptions::new(0, 0).parameters(asked);
        let error = choose("wide", &options, small).unwrap_err().to_string();
        assert!(error.contains("256") && error.contains("224"), "{error}");
    }

    #[test]
    fn defaults_are_todays_choices_and_graphs_are_multiples_of_four() {
        for variant in NAMES.into_iter().chain(stored::NAMES) {
            let queueing = Queueing::default();
            let plain = choose(variant, &PlanOptions::new(0, 0), setting(F32, queueing)).unwrap();
            // No graph where every step rounds by noise of its own.
            let steps_per_graph =
                if stored::NAMES.contains(&variant) { 0 } else { queueing.steps_per_graph };
            let queueing = Queueing { steps_per_graph, ..queueing };
            let planes = match variant {
                "wide" => 0,
                "stored_wide" => 800,
                _ => 400,
            };
            assert_eq!(plain, Choices { width: 0, tile: 0, planes, queueing });
            for parameter in known(variant, setting(F32, queueing)) {
                assert!(parameter.values.is_sorted() && parameter.values.len() > 1);
                assert!(parameter.values.contains(&parameter.default), "{parameter:?}");
                let graphs = parameter.name == "steps_per_graph";
                assert!(!graphs || parameter.values.iter().all(|n| n.is_multiple_of(4)));
            }
        }
    }

    #[test]
    fn a_backends_own_queueing_is_the_default_of_its_plans() {
        let own = Queueing { steps_per_graph: 16, branches: false };
        let choices = choose("baseline", &PlanOptions::new(0, 0), setting(F32, own)).unwrap();
        assert_eq!(choices.queueing, own);
        let asked = [("steps_per_graph".to_owned(), 64)].into_iter().collect();
        let options = PlanOptions::new(0, 0).parameters(asked);
        let choices = choose("baseline", &options, setting(F32, own)).unwrap();
        assert_eq!(choices.queueing, Queueing { steps_per_graph: 64, branches: false });
    }

    #[test]
    fn a_variant_has_no_parameter_of_another() {
        let asked = [("width".to_owned(), 128)].into_iter().collect();
        let options = PlanOptions::new(0, 0).parameters(asked);
        let queueing = Queueing::default();
        assert_eq!(choose("wide", &options, setting(F32, queueing)).unwrap().width, 128);
        let error = choose("tma", &options, setting(F32, queueing)).unwrap_err().to_string();
        assert!(error.contains("width") && error.contains("planes"), "{error}");
    }

    #[test]
    fn tiles_can_be_chosen_where_several_are_built() {
        let int8 = |operator, wavefield| {
            Arithmetic::Digits(Digits::new(DigitKind::Int8, operator, wavefield))
        };
        let (options, queueing) = (PlanOptions::new(0, 0), Queueing::default());
        for (variant, tile) in [("ozaki_mma", 0), ("ozaki_dp4a", 16064)] {
            let choices = choose(variant, &options, setting(int8(2, 3), queueing)).unwrap();
            assert_eq!((choices.tile, choices.planes), (tile, 64));
            let names = |arithmetic| {
                known(variant, setting(arithmetic, queueing))
                    .into_iter()
                    .map(|p| p.name)
                    .collect::<Vec<_>>()
            };
            assert_eq!(names(int8(2, 3)).contains(&"tile".to_owned()), tile > 0);
            assert!(!names(int8(2, 2)).contains(&"tile".to_owned()));
        }
    }
}
