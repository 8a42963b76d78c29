//! Presets: matrices frozen in files with their physics, so that figures stay comparable.

use serde::Deserialize;
use temblor_physics::Arithmetic;

use crate::error::{Error, Result};
use crate::patches::PatchBlock;
use crate::results::{BoundaryName, Start};
use crate::sizes;

/// Files of all presets by name.
const FILES: [(&str, &str); 4] = [
    ("quick", include_str!("../presets/quick.toml")),
    ("minimod", include_str!("../presets/minimod.toml")),
    ("libxstream", include_str!("../presets/libxstream.toml")),
    ("dslhype", include_str!("../presets/dslhype.toml")),
];

/// A matrix with its physics.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preset {
    /// Name as on the command line.
    #[serde(skip)]
    pub name: String,
    /// One line on it.
    pub about: String,
    /// Spacing along all axes, m.
    pub spacing: f64,
    /// Highest wave speed, m/s.
    pub vmax: f64,
    /// Peak frequency of the sources' wavelet, Hz.
    pub peak_hz: f64,
    /// Point sources, each injecting at every step.
    pub sources: usize,
    /// Receivers, each recording at every step.
    #[serde(default)]
    pub receivers: usize,
    /// Samples per row, where the preset's rows are too long for the usual number.
    #[serde(default)]
    pub repeats: Option<u32>,
    /// Products of lists, in the order in which they are measured.
    pub rows: Vec<Block>,
}

/// Rows that are a product of lists.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Block {
    /// Row of the seeds' tables that they stand for.
    pub path: String,
    /// Shapes, as [`sizes::parse`] takes them.
    #[serde(deserialize_with = "shapes")]
    pub sizes: Vec<[usize; 3]>,
    /// Operators.
    pub operators: Vec<String>,
    /// Boundaries.
    pub boundaries: Vec<BoundaryName>,
    /// Cells of the layers; the usual number where left out.
    #[serde(default)]
    pub cells: Option<usize>,
    /// Storage and arithmetic.
    #[serde(default = "single")]
    pub arithmetics: Vec<Arithmetic>,
    /// What fields hold at the start.
    #[serde(deserialize_with = "starts")]
    pub starts: Vec<Start>,
    /// Steps asked for in one go; none sizes them for a time.
    #[serde(default)]
    pub steps: Vec<u32>,
    /// Point sources, where another number than the preset's.
    #[serde(default)]
    pub sources: Option<usize>,
    /// Values of variants' parameters; the others keep their defaults.
    #[serde(default)]
    pub parameters: temblor_backend::Parameters,
    /// Patch kernels, where the rows are such; the first operator begins their names.
    #[serde(default)]
    pub patch: Option<PatchBlock>,
    /// Why temblor cannot run these rows yet, if it cannot.
    #[serde(default)]
    pub missing: Option<String>,
}

impl Preset {
    /// What is measured without a preset: one row on a grid of `shape`, order 8, f32, no layer, random
    /// start, a source.
    #[must_use]
    pub fn usual(shape: [usize; 3]) -> Self {
        Self {
            name: String::new(),
            about: String::new(),
            spacing: 10.0,
            vmax: 3000.0,
            peak_hz: 20.0,
            sources: 1,
            receivers: 0,
            repeats: None,
            rows: vec![Block {
                path: String::new(),
                sizes: vec![shape],
                operators: vec!["direct-8".into()],
                boundaries: vec![BoundaryName::Zero],
                cells: None,
                arithmetics: vec![Arithmetic::F32],
                starts: vec![Start::Random],
                steps: Vec::new(),
                sources: None,
                parameters: temblor_backend::Parameters::new(),
                patch: None,
                missing: None,
            }],
        }
    }
}

fn single() -> Vec<Arithmetic> {
    vec![Arithmetic::F32]
}

fn shapes<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<[usize; 3]>, D::Error> {
    sizes::parse(&String::deserialize(from)?).map_err(serde::de::Error::custom)
}

fn starts<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<Start>, D::Error> {
    let names = Vec::<String>::deserialize(from)?;
    names.iter().map(|name| start(name)).collect::<Result<_>>().map_err(serde::de::Error::custom)
}

/// A start by its name, or by the part of the grid that is random.
///
/// # Errors
/// [`Error::Invalid`] with the names that exist.
pub fn start(name: &str) -> Result<Start> {
    match name {
        "zero" => Ok(Start::Zero),
        "random" => Ok(Start::Random),
        "gauss" => Ok(Start::Gauss),
        part => match part.parse::<f64>() {
            Ok(part) if part > 0.0 && part <= 1.0 => Ok(Start::Fraction { part }),
            _ => {
                let remedy = "give zero, random, gauss or a random part between 0 and 1";
                Err(Error::invalid("start", name, remedy))
            }
        },
    }
}

/// A kind of boundary by its name.
///
/// # Errors
/// [`Error::Invalid`] with the names that exist.
pub fn boundary(name: &str) -> Result<BoundaryName> {
    use BoundaryName::{Cpml, Free, Minimod, Zero};
    let all = [Zero, Free, Minimod, Cpml];
    all.into_iter().find(|boundary| boundary.name() == name).ok_or_else(|| {
        Error::invalid(
            "boundary",
            name,
            format!("there are {}", all.map(BoundaryName::name).join(", ")),
        )
    })
}

/// An arithmetic by its name.
///
/// # Errors
/// [`Error::Invalid`] with the names that exist.
pub fn arithmetic(name: &str) -> Result<Arithmetic> {
    name.parse().map_err(|error: temblor_physics::Error| match error {
        temblor_physics::Error::Invalid { what, got, remedy } => Error::invalid(what, got, remedy),
        other => Error::invalid("arithmetic", name, other.to_string()),
    })
}

/// Names and first lines of all presets.
#[must_use]
pub fn names() -> Vec<(&'static str, String)> {
    let about = |name: &str| named(name).map(|preset| preset.about).unwrap_or_default();
    FILES.iter().map(|&(name, _)| (name, about(name))).collect()
}

/// A preset by name.
///
/// # Errors
/// [`Error::Invalid`] with the names that exist.
pub fn named(name: &str) -> Result<Preset> {
    let Some((_, text)) = FILES.iter().find(|(known, _)| *known == name) else {
        let all: Vec<_> = FILES.iter().map(|(name, _)| *name).collect();
        return Err(Error::invalid("preset", name, format!("there are {}", all.join(", "))));
    };
    let preset: Preset =
        toml::from_str(text).map_err(|e| Error::invalid("preset", name, e.to_string()))?;
    Ok(Preset { name: name.to_owned(), ..preset })
}

#[cfg(test)]
mod tests {
    use temblor_physics::Minimod;

    use super::*;

    #[test]
    fn every_preset_can_be_read() {
        for (name, _) in FILES {
            let preset = named(name).unwrap();
            assert!(!preset.about.is_empty() && !preset.rows.is_empty(), "{name}");
        }
    }

    #[test]
    fn minimod_is_the_papers_benchmark() {
        let preset = named("minimod").unwrap();
        let [block] = &preset.rows[..] else { panic!("{:?}", preset.rows) };
        // Section III: 800^3 with 27 cells, an inner region of 746^3, three wavelengths of 4500 m/s at
        // 25 Hz on 20 m.
        assert_eq!(block.sizes, [[800; 3]]);
        assert_eq!(800 - 2 * block.cells.unwrap(), 746);
        let Preset { vmax, peak_hz, spacing, sources, .. } = preset;
        assert_eq!(Minimod::suggested_cells(vmax, peak_hz, spacing), block.cells.unwrap());
        assert_eq!((vmax.round(), peak_hz.round(), spacing.round()), (4500.0, 25.0, 20.0));
        assert_eq!((block.boundaries.as_slice(), sources), (&[BoundaryName::Minimod][..], 1));
        // Table III: zero and random, 1k, 2k and 4k steps; order 8.
        assert_eq!(block.starts, [Start::Zero, Start::Random]);
        assert_eq!(block.steps, [1000, 2000, 4000]);
        assert_eq!((block.operators[0].as_str(), block.missing.as_ref()), ("direct-8", None));
    }

    #[test]
    fn libxstream_has_every_row_of_the_decks_tables() {
        let preset = named("libxstream").unwrap();
        let paths: Vec<_> = preset.rows.iter().map(|block| block.path.as_str()).collect();
        for path in ["FP32 direct", "FP32 compact", "INT8 direct", "INT8 compact"] {
            assert!(paths.contains(&path), "{path}");
        }
        // The sweep of `--sizes 50:850:50` has the tables' N = 800.
        let direct = &preset.rows[0];
        assert_eq!((direct.sizes.len(), direct.boundaries[0]), (17, BoundaryName::Zero));
        assert!(preset.rows.iter().all(|block| block.sizes.contains(&[800; 3])));
        let runs = preset.rows.iter().filter(|block| block.missing.is_none());
        let (plain, reduced): (Vec<_>, Vec<_>) =
            runs.partition(|block| block.arithmetics == [Arithmetic::F32]);
        let operators: Vec<_> = plain.iter().map(|block| block.operators[0].as_str()).collect();
        let compact = ["compact-r2", "compact-r1", "compact-fit-r3", "compact-fit-r2"];
        assert_eq!(operators, [&["direct-8"; 2][..], &compact].concat());
        let names: Vec<_> = reduced.iter().map(|block| block.arithmetics[0].to_string()).collect();
        let storage = ["int16+u16", "int16-increment+u16", "bf16x2", "bf16", "fp16"];
        assert_eq!(names, [&["int8-2x3", "int8-2x3", "int8-1x2"][..], &storage].concat());
        // The deck's methods 2 and 1 by their weights.
        let methods: [(&str, &[f64]); 2] =
            [("compact-r2", &[-5.0 / 2.0, 4.0 / 3.0, -1.0 / 12.0]), ("compact-r1", &[-2.0, 1.0])];
        for (name, wanted) in methods {
            let weights = crate::pose::operator(name).unwrap().second_derivative();
            assert_eq!(weights.len(), wanted.len());
            for (weight, wanted) in weights.iter().zip(wanted) {
                assert!((weight - wanted).abs() < 1e-14, "{name}");
            }
        }
        // Its fits by another criterion (an audit's figures): close, not the same.
        let fits: [(&str, &[f64]); 2] = [
            ("compact-fit-r2", &[-2.53827, 1.35885, -0.08971]),
            ("compact-fit-r3", &[-2.757435, 1.526630, -0.160916, 0.0130039]),
        ];
        for (name, wanted) in fits {
            let weights = crate::pose::operator(name).unwrap().second_derivative();
            assert_eq!(weights.len(), wanted.len());
            for (weight, wanted) in weights.iter().zip(wanted) {
                assert!((weight - wanted).abs() < 5e-3, "{name}: {weights:?}");
            }
        }
    }

    #[test]
    fn no_patch_kernel_is_left_out_in_silence() {
        let preset = named("dslhype").unwrap();
        let paths: Vec<_> = preset.rows.iter().map(|block| block.path.as_str()).collect();
        assert_eq!(paths, ["Euler FV", "Euler FD4", "CCZ4 FV", "CCZ4 FD4"]);
        for block in &preset.rows {
            assert!(block.missing.is_none() && block.sizes == [[3; 3], [6; 3], [16; 3]]);
            // K = 1 to 2^14, and the largest bundle of the paper's application.
            let patches = &block.patch.as_ref().unwrap().patches;
            assert!((0..=14).all(|power| patches.contains(&(1 << power))), "{patches:?}");
            assert!(patches.contains(&8694) && patches.is_sorted());
        }
    }

    #[test]
    fn an_unknown_preset_is_refused_with_the_known_ones() {
        let message = named("fast").unwrap_err().to_string();
        assert!(message.contains("`fast`") && message.contains("quick"), "{message}");
    }

    #[test]
    fn a_start_is_a_name_or_a_part() {
        assert_eq!(start("0.25").unwrap(), Start::Fraction { part: 0.25 });
        assert_eq!(start("gauss").unwrap(), Start::Gauss);
        assert!(start("1.5").is_err() && start("0").is_err() && start("full").is_err());
    }
}
