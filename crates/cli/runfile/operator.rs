//! The operator of a run: by order, by name, or the cheapest within a bound.

use std::fmt::Write as _;

use temblor_physics::choice::{Choice, Demand};
use temblor_physics::{
    Arithmetic, DigitKind, Digits, Operator, OperatorName, QuantisedOperator, RunBand, RunStep,
    SpeedStorage, Storage, WavefieldStorage,
};
use temblor_solver::{Band, Shot, SpeedRange, StepRule, SurveySpec};

use super::schema::OperatorTable;
use crate::args::NumericsArgs;
use crate::exit::Failure;

/// Most that reduced storage may cost traces where nothing else is said, relative L2.
const MAX_TRACE_ERROR: f64 = 0.01;

/// The arithmetic asked for, if the traces that it gives are good enough.
///
/// # Errors
/// [`Failure::BadInput`] for one whose stated error is above the bound, with those below it.
pub(super) fn arithmetic(
    table: &OperatorTable,
    numerics: &NumericsArgs,
) -> anyhow::Result<Arithmetic> {
    within(numerics.arithmetic.unwrap_or(table.arithmetic), table, numerics)
}

/// Drops the products of digits that `max_laplacian_error` allows, now that the operator is known.
///
/// # Errors
/// [`Failure::BadInput`] for an arithmetic without products to drop; an error of the physics with the error
/// that all products leave, if that is above the bound; as [`arithmetic`] for what is left.
pub(super) fn trim(
    table: &OperatorTable,
    numerics: &NumericsArgs,
    spec: &mut SurveySpec,
) -> anyhow::Result<()> {
    let Some(bound) = numerics.max_laplacian_error.or(table.max_laplacian_error) else {
        return Ok(());
    };
    let asked = spec.arithmetic;
    let digits = match asked {
        Arithmetic::Digits(digits) if digits.kind == DigitKind::Int8 && digits.trim == 0 => digits,
        Arithmetic::Digits(digits) if digits.kind == DigitKind::Int8 => {
            let message = format!(
                "{asked} says which products to drop, and so does max_laplacian_error: leave out :trim={}",
                digits.trim
            );
            return Err(Failure::input(message).into());
        }
        _ => {
            let message = format!(
                "max_laplacian_error drops products of digits, which {asked} has not: take int8-2x3, or \
                 leave it out"
            );
            return Err(Failure::input(message).into());
        }
    };
    if !(bound.is_finite() && bound > 0.0) {
        let message =
            format!("[operator] max_laplacian_error is {bound}: give a positive fraction");
        return Err(Failure::input(message).into());
    }
    let trim = QuantisedOperator::new(&spec.operator, digits.operator)?.trim_for(digits, bound)?;
    spec.arithmetic = within(Arithmetic::Digits(Digits { trim, ..digits }), table, numerics)?;
    Ok(())
}

/// `asked`, if the traces that it gives are good enough.
fn within(
    asked: Arithmetic,
    table: &OperatorTable,
    numerics: &NumericsArgs,
) -> anyhow::Result<Arithmetic> {
    let bound = numerics.max_trace_error.or(table.max_trace_error).unwrap_or(MAX_TRACE_ERROR);
    if !(bound.is_finite() && bound > 0.0) {
        let message = format!("[operator] max_trace_error is {bound}: give a positive fraction");
        return Err(Failure::input(message).into());
    }
    let Some(error) = asked.trace_error().filter(|&error| error > bound) else { return Ok(asked) };
    let speeds = [SpeedStorage::Uint16, SpeedStorage::F32];
    let better: Vec<String> = speeds
        .into_iter()
        .flat_map(|speed| WavefieldStorage::ALL.map(|wavefields| Storage { wavefields, speed }))
        .map(Arithmetic::Stored)
        .filter_map(|other| Some((other, other.trace_error()?)))
        .filter(|(_, error)| *error <= bound)
        .map(|(other, error)| {
            format!("{other} ({} %, {} B)", 100.0 * error, other.bytes_per_point())
        })
        .collect();
    let better = if better.is_empty() { "f32".to_owned() } else { better.join(", ") };
    let message = format!(
        "arithmetic {asked} costs traces about {} % (relative L2 after 2,000 steps), above the {} % of \
         max_trace_error: allow it with --max-trace-error, or take {better}",
        100.0 * error,
        100.0 * bound
    );
    Err(Failure::input(message).into())
}

/// Puts the operator into `spec`, and the step too where both are chosen together; says why then.
///
/// # Errors
/// [`Failure::BadInput`] for a table with both an order and a name; an error of the physics with the
/// nearest name, radius, band or bound.
pub(super) fn settle(
    table: &OperatorTable,
    max_dispersion: Option<f64>,
    spec: &mut SurveySpec,
    speed: SpeedRange,
    shots: &[Shot],
) -> anyhow::Result<Option<String>> {
    if table.order.is_some() && table.name.is_some() {
        let message = "[operator] has both order and name: give one of them";
        return Err(Failure::input(message).into());
    }
    if let Some(tolerance) = max_dispersion {
        let demand = demand(spec, speed, shots, tolerance)?;
        let choices = demand.choices()?;
        let best = choices[0];
        spec.operator = best.operator;
        spec.step = StepRule::Dt(best.dt);
        return Ok(Some(why(&demand, &choices)));
    }
    let Some(name) = &table.name else { return Ok(None) };
    let name: OperatorName = name.parse()?;
    let demand = demand(spec, speed, shots, 0.0)?;
    let step = match spec.step {
        StepRule::CflFraction(fraction) => RunStep::CflFraction(fraction),
        StepRule::Dt(dt) => RunStep::Courant(speed.max * dt / cube(&demand)),
    };
    let run = RunBand {
        points: demand.points(),
        contrast: speed.max / speed.min,
        dimensions: spec.grid.dimensions(),
        step,
    };
    spec.operator = name.resolve(Some(&run))?;
    let joint = matches!(spec.operator, Operator::Fitted(fit) if fit.time.is_some());
    if joint && spec.correct_dispersion {
        let message = "[operator] name fits space and time together and [time] dispersion_correction \
                       takes the error of time out once more: leave out courant, or the correction";
        return Err(Failure::input(message).into());
    }
    Ok(None)
}

/// Spacing of cubes with the same stability limit, m.
fn cube(demand: &Demand) -> f64 {
    let grid = &demand.grid;
    let inverse: f64 = grid.active_axes().map(|axis| grid.spacing[axis.index()].powi(-2)).sum();
    (grid.dimensions() as f64 / inverse).sqrt()
}

fn demand(
    spec: &SurveySpec,
    speed: SpeedRange,
    shots: &[Shot],
    tolerance: f64,
) -> anyhow::Result<Demand> {
    let (cfl_fraction, dt) = match spec.step {
        StepRule::CflFraction(fraction) => (fraction, None),
        StepRule::Dt(dt) => (1.0, Some(dt)),
    };
    Ok(Demand {
        grid: spec.grid,
        speeds: [speed.min, speed.max],
        max_hz: Band::of(shots)?.max_hz,
        tolerance,
        cfl_fraction,
        dt,
        time_corrected: spec.correct_dispersion,
    })
}

/// The choice beside order 8 and the next best, as text.
fn why(demand: &Demand, choices: &[Choice]) -> String {
    let best = choices[0];
    let percent = |value: f64| format!("{:.3} %", 100.0 * value);
    let mut text = format!(
        "of {} operators that keep the phase velocity within {} up to {:.1} Hz{}, {} with dt = \
         {:.4e} s ({:.2} of its limit) costs least: {} at worst",
        choices.len(),
        percent(demand.tolerance),
        demand.max_hz,
        if demand.time_corrected { " (time dispersion is corrected)" } else { "" },
        best.operator,
        best.dt,
        best.dt / best.largest_dt,
        percent(best.error),
    );
    let mut others: Vec<&Choice> = choices.iter().skip(1).take(1).collect();
    let eighth = Operator::Direct { order: 8 };
    others.extend(choices.iter().skip(2).find(|choice| choice.operator == eighth));
    for choice in others {
        let (name, cost) = (choice.operator, choice.cost / best.cost);
        let _ = write!(text, "; {name} with dt = {:.4e} s costs {cost:.2} times that", choice.dt);
    }
    if choices.iter().all(|choice| choice.operator != eighth) {
        text.push_str("; direct-8 does not meet it");
    }
    text.push_str(
        " (a step moves the same bytes for all, flops grow with the radius, and a second takes 1/dt \
         steps)",
    );
    text
}
