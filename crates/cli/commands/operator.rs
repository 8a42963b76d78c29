//! `temblor operator`: weights, errors and limits of operators, as a table and as a plot.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use temblor_physics::{Operator, OperatorName, cfl, composed, dispersion};

use crate::exit::Failure;
use crate::picture::Dispersion;

/// What is shown without names: the deck's methods, their fits, and central differences.
const USUAL: [&str; 9] = [
    "direct-2",
    "direct-4",
    "minimax-r2",
    "direct-6",
    "l2-r3",
    "ricker-r3",
    "minimax-r3",
    "implicit-r4",
    "direct-8",
];

/// Errors whose resolution is listed.
const TOLERANCES: [f64; 3] = [1e-2, 1e-3, 1e-4];

/// Resolutions whose error is listed.
const POINTS: [f64; 3] = [4.0, 5.0, 8.0];

/// Arguments of `temblor operator`.
#[derive(Debug, Args)]
#[command(after_help = "\
Names: direct-2 .. direct-16, compact-r1, compact-r2, implicit-r2 .. implicit-r8,
minimax-rN, l2-rN, ricker-rN with N from 2 to 8. A fit takes :ppw=5 (cells per
shortest wavelength, 8 without it), :courant=0.4 (space and time together), and
with that :contrast=2 (largest over smallest wave speed), :dims=2.
The same names stand in a run file: [operator] name = \"minimax-r3\".

Examples:
  temblor operator
  temblor operator minimax-r3:ppw=5 direct-8 --plot errors.svg
  temblor operator direct-8 minimax-r3:ppw=5:courant=0.4 --courant 0.4
  temblor operator direct-8 --courant 0.4 --lax-wendroff --plot fourth-order.svg")]
pub struct OperatorArgs {
    /// Operators by name [default: the usual ones]
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Show errors of space and time at this Courant number c dt / h [default: of space alone]
    #[arg(long, value_name = "NUMBER")]
    pub courant: Option<f64>,
    /// Show Lax and Wendroff's step of fourth order in time, which applies an operator twice and which no
    /// backend runs, in place of leapfrog
    #[arg(long, requires = "courant")]
    pub lax_wendroff: bool,
    /// 1, 2 or 3: over which directions errors are the worst, and limits
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=3))]
    pub dimensions: u8,
    /// Draw the errors into a .png or .svg
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    /// Print JSON instead of tables
    #[arg(long)]
    pub json: bool,
}

/// One operator's figures.
#[derive(Debug, serde::Serialize)]
struct Row {
    name: String,
    radius: usize,
    /// Centre first, for unit spacing.
    weights: Vec<f64>,
    sum: f64,
    second_moment: f64,
    courant_limit: f64,
    /// Beside each of `TOLERANCES`.
    points_for: Vec<Option<f64>>,
    /// Beside each of `POINTS`; none where leapfrog is unstable.
    errors: Vec<Option<f64>>,
}

/// Prints the operators.
///
/// # Errors
/// [`Failure::BadInput`] and those of the physics for names and numbers that make no operator; if the
/// plot cannot be written.
pub fn run(args: &OperatorArgs) -> anyhow::Result<()> {
    let courant = args.courant.unwrap_or(0.0);
    if !(courant.is_finite() && courant >= 0.0) {
        let message = format!("--courant is {courant}: give a positive number, such as 0.4");
        return Err(Failure::input(message).into());
    }
    let names: Vec<&str> = if args.names.is_empty() {
        USUAL.to_vec()
    } else {
        args.names.iter().map(String::as_str).collect()
    };
    let operators: Vec<Operator> = names
        .iter()
        .map(|name| name.parse::<OperatorName>()?.resolve(None))
        .collect::<Result<_, _>>()?;
    let dimensions = usize::from(args.dimensions);
    let scheme = Scheme { courant, dimensions, lax_wendroff: args.lax_wendroff };
    let rows: Vec<Row> = operators.iter().map(|o| row(o, scheme)).collect();
    if args.json {
        println!("{}", serde_json::to_string_pretty(&rows)?);
    } else {
        print!("{}", table(&rows, scheme));
    }
    if let Some(path) = &args.plot {
        let known = ["png", "svg"];
        if !path.extension().is_some_and(|e| known.iter().any(|k| e.eq_ignore_ascii_case(k))) {
            let message = format!("--plot {}: the name must end in .png or .svg", path.display());
            return Err(Failure::input(message).into());
        }
        plot(&rows, scheme).write(path)?;
    }
    Ok(())
}

/// What errors are of.
#[derive(Debug, Clone, Copy)]
struct Scheme {
    /// 0: of space alone.
    courant: f64,
    dimensions: usize,
    lax_wendroff: bool,
}

impl Scheme {
    fn error_at(self, weights: &[f64], points: f64) -> f64 {
        let of =
            if self.lax_wendroff { composed::lax_wendroff_error } else { dispersion::error_at };
        of(weights, self.courant, self.dimensions, points)
    }

    fn points_for(self, weights: &[f64], tolerance: f64) -> Option<f64> {
        let of =
            if self.lax_wendroff { composed::lax_wendroff_points } else { dispersion::points_for };
        of(weights, self.courant, self.dimensions, tolerance)
    }

    fn limit(self, weights: &[f64]) -> f64 {
        let of =
            if self.lax_wendroff { composed::lax_wendroff_limit } else { cfl::courant_limit_of };
        of(weights, self.dimensions)
    }

    fn what(self) -> String {
        let by = if self.lax_wendroff { " by Lax and Wendroff's step" } else { "" };
        if self.courant > 0.0 {
            format!("space and time{by} at c dt / h = {}", self.courant)
        } else {
            "space".into()
        }
    }
}

fn row(operator: &Operator, scheme: Scheme) -> Row {
    let weights = operator.second_derivative();
    let error = |points| scheme.error_at(&weights, points);
    Row {
        name: operator.to_string(),
        radius: operator.radius(),
        sum: weights[0] + 2.0 * weights[1..].iter().rev().sum::<f64>(),
        second_moment: weights.iter().enumerate().map(|(r, w)| (r * r) as f64 * w).sum(),
        courant_limit: scheme.limit(&weights),
        points_for: TOLERANCES.map(|tolerance| scheme.points_for(&weights, tolerance)).to_vec(),
        errors: POINTS.map(|p| Some(error(p)).filter(|e| e.is_finite())).to_vec(),
        weights,
    }
}

fn table(rows: &[Row], scheme: Scheme) -> String {
    let mut text = String::new();
    let (of, dimensions) = (scheme.what(), scheme.dimensions);
    let wide = rows.iter().map(|row| row.name.len()).max().unwrap_or(0).max(8);
    let _ = writeln!(
        text,
        "errors of {of}, worst over directions in {dimensions}-D; points per wavelength from which on the \
         error stays within 1, 0.1, 0.01 %; errors at 4, 5, 8"
    );
    let _ = writeln!(
        text,
        "{:wide$}  {:>6}  {:>8}  {:>8}  {:>8}  {:>10}  {:>9}  {:>9}  {:>10}",
        "operator", "CFL", "1 %", "0.1 %", "0.01 %", "at 4", "at 5", "at 8", "2nd moment"
    );
    for row in rows {
        let points =
            |n: usize| row.points_for[n].map_or_else(|| ">1000".into(), |p| format!("{p:.2}"));
        let error = |n: usize| {
            row.errors[n].map_or_else(|| "unstable".into(), |e| format!("{:.4} %", 100.0 * e))
        };
        let _ = writeln!(
            text,
            "{:wide$}  {:>6.4}  {:>8}  {:>8}  {:>8}  {:>10}  {:>9}  {:>9}  {:>10.6}",
            row.name,
            row.courant_limit,
            points(0),
            points(1),
            points(2),
            error(0),
            error(1),
            error(2),
            row.second_moment
        );
    }
    let _ =
        writeln!(text, "\nweights of the second derivative, unit spacing, centre first; their sum");
    for row in rows {
        let weights: Vec<_> = row.weights.iter().map(|w| format!("{w:.9}")).collect();
        let _ = writeln!(text, "{:wide$}  {}; {:e}", row.name, weights.join(", "), row.sum);
    }
    text
}

fn plot(rows: &[Row], scheme: Scheme) -> Dispersion {
    const STEPS: u32 = 560;
    let places = (0..=STEPS).map(|n| 2.0 + 14.0 * f64::from(n) / f64::from(STEPS));
    let curves = rows
        .iter()
        .map(|row| {
            let error = |points| scheme.error_at(&row.weights, points);
            (row.name.clone(), places.clone().map(|points| (points, error(points))).collect())
        })
        .collect();
    let title = if scheme.courant > 0.0 {
        format!("Errors of {}, worst direction in {}-D", scheme.what(), scheme.dimensions)
    } else {
        "Errors of space, worst direction".to_owned()
    };
    Dispersion { title, curves }
}
