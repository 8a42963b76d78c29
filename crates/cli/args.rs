//! Arguments that several commands share.

use std::path::PathBuf;

use clap::Args;
use temblor_physics::Arithmetic;

/// Which backend, and which of its kernels.
#[derive(Debug, Clone, Args)]
pub struct BackendArgs {
    /// Backend: auto, or a name from `temblor devices`; cuda:1 is its device 1
    #[arg(long, value_name = "NAME", default_value = "auto")]
    pub backend: String,
    /// Kernel variant [default: the fastest known for the problem]
    #[arg(long, value_name = "NAME")]
    pub variant: Option<String>,
}

/// What a run is computed with, before what the run file says.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct NumericsArgs {
    /// Choose the cheapest operator and the largest dt whose phase velocity is right to this, such
    /// as 0.1%, up to the highest frequency; `[operator]` is not looked at, and `cfl_fraction` bounds
    /// the step
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub max_dispersion: Option<f64>,
    /// Storage and arithmetic: f32, f64, int16+u16, int8-2x3 and others, see docs/arithmetic.md
    #[arg(long, value_name = "NAME")]
    pub arithmetic: Option<Arithmetic>,
    /// Most that reduced storage may cost traces, relative L2 after 2,000 steps [default: 1%]
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub max_trace_error: Option<f64>,
    /// Drop the products of digits that the Laplacian is right to this without, relative rms of white data,
    /// such as 0.01%; of the digits that --arithmetic or `[operator]` names
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub max_laplacian_error: Option<f64>,
}

/// A number with a percent sign as a fraction.
fn percent(text: &str) -> Result<f64, String> {
    let refuse = || "give a percentage, such as 0.1%".to_owned();
    let value: f64 =
        text.strip_suffix('%').ok_or_else(refuse)?.trim().parse().map_err(|_| refuse())?;
    if value.is_finite() && value > 0.0 { Ok(value / 100.0) } else { Err(refuse()) }
}

/// A run file.
#[derive(Debug, Clone, Args)]
pub struct RunFileArg {
    /// Run file (TOML); `temblor init` writes one
    #[arg(value_name = "RUN_FILE")]
    pub path: PathBuf,
}

/// The first and the last of a range, counted from 1.
pub(crate) fn parse_range(text: &str) -> Result<(usize, usize), String> {
    let parsed = text
        .split_once([':', '-'])
        .and_then(|(a, b)| Some((a.trim().parse().ok()?, b.trim().parse().ok()?)))
        .filter(|&(a, b): &(usize, usize)| 1 <= a && a <= b);
    parsed.ok_or_else(|| "give first:last, counted from 1".to_owned())
}
