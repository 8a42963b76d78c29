//! Wavelets of a run file: those of `physics`, and a user's own from a file.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer};
use temblor_io::{Volume, VolumeOptions};
use temblor_physics::wavelet::Wavelet;

use crate::exit::Failure;

/// `wavelet = { kind = .. }`
#[derive(Debug, Clone)]
pub enum WaveletSpec {
    /// One that is known by its parameters.
    Known(Wavelet),
    /// Samples in a file.
    File(WaveletFile),
}

/// `wavelet = { kind = "file", file = "wavelet.npy", dt = 0.001 }`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WaveletFile {
    /// `file`
    #[serde(rename = "kind")]
    _kind: FileKind,
    /// npy with one axis, or text with one number per line.
    pub file: PathBuf,
    /// Interval of the samples, s.
    pub dt: f64,
    /// Factor on all samples.
    #[serde(default = "one")]
    pub scale: f64,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum FileKind {
    File,
}

const fn one() -> f64 {
    1.0
}

impl<'de> Deserialize<'de> for WaveletSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // The table decides by its kind which fields it may have, so it is read twice.
        let table = toml::Table::deserialize(deserializer)?;
        let is_file = table.get("kind").and_then(|kind| kind.as_str()) == Some("file");
        if is_file {
            WaveletFile::deserialize(table).map(Self::File).map_err(serde::de::Error::custom)
        } else {
            Wavelet::deserialize(table).map(Self::Known).map_err(|error| {
                let mut error = error.to_string();
                // The list of kinds ends with samples; a key of that name is another matter.
                if error.contains("unknown variant") {
                    error = error.replace("`samples`", "`samples`, `file`");
                }
                serde::de::Error::custom(error)
            })
        }
    }
}

impl WaveletSpec {
    /// Reads the samples, if they are in a file; `folder` is the run file's.
    ///
    /// # Errors
    /// [`Failure::BadInput`] that names the file or the parameter.
    pub fn open(&self, folder: &Path) -> anyhow::Result<Wavelet> {
        let wavelet = match self {
            Self::Known(wavelet) => wavelet.clone(),
            Self::File(spec) => {
                let values = read_samples(&folder.join(&spec.file))?;
                Wavelet::Samples { dt: spec.dt, values, scale: spec.scale }
            }
        };
        wavelet.check().map_err(Failure::input)?;
        Ok(wavelet)
    }
}

fn read_samples(path: &Path) -> anyhow::Result<Vec<f64>> {
    if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("npy")) {
        let volume = Volume::open(path, &VolumeOptions::default()).map_err(Failure::input)?;
        let [nx, ny, _] = volume.shape();
        if nx * ny != 1 {
            let shape = volume.stored_shape();
            return Err(Failure::input(format!(
                "{}: its shape is {shape:?}, a wavelet has one axis: save one series",
                path.display()
            ))
            .into());
        }
        let samples = volume.read().map_err(Failure::input)?;
        return Ok(samples.iter().map(|&v| v.into()).collect());
    }
    let text = std::fs::read_to_string(path)
        .map_err(|e| Failure::input(format!("cannot read the wavelet {}: {e}", path.display())))?;
    let mut values = Vec::new();
    for (n, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or("").trim();
        if line.is_empty() {
            continue;
        }
        let value = line.parse::<f64>().map_err(|_| {
            Failure::input(format!(
                "{}, line {}: `{line}` is not a number; give one sample per line",
                path.display(),
                n + 1
            ))
        })?;
        values.push(value);
    }
    Ok(values)
}
