//! Presets: matrices frozen in files with their physics, so that figures stay comparable.

use serde::Deserialize;
use temblor_physics::Arithmetic;

use crate::error::{Error, Result};
use crate::results::{BoundaryName, Start, arithmetic_name};
use crate::sizes;

/// Files of all presets by name.
const FILES: [(&str, &str); 1] = [("quick", include_str!("../presets/quick.toml"))];

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
    /// Why temblor cannot run these rows yet, if it cannot.
    #[serde(default)]
    pub missing: Option<String>,
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
    let all = [Arithmetic::F32, Arithmetic::F64];
    all.into_iter().find(|&arithmetic| arithmetic_name(arithmetic) == name).ok_or_else(|| {
        let names = all.map(arithmetic_name).join(", ");
        Error::invalid("arithmetic", name, format!("there are {names}"))
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
    use super::*;

    #[test]
    fn every_preset_can_be_read() {
        for (name, _) in FILES {
            let preset = named(name).unwrap();
            assert!(!preset.about.is_empty() && !preset.rows.is_empty(), "{name}");
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
