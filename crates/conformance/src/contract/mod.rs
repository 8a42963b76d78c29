//! The laws of `temblor-backend`, tested on a small 3-D problem with a free surface and C-PML.
//!
//! "Equal" is bit for bit throughout: nothing here is a matter of accuracy.

mod advancing;
mod by_kernel;
mod parameters;
mod refusals;
mod state;
mod support;
mod transfers;

use temblor_backend::{Error, Result};
use temblor_physics::{Arithmetic, Boundaries, Boundary, Face};

use crate::setup::{Case, cpml, problem};
use crate::{Check, CheckError, Family, Outcome, Run};

/// The family's checks.
#[must_use]
pub fn checks() -> Vec<Check> {
    let rows: [(&'static str, &'static str, Run); 28] = [
        (
            "a_host_array_of_the_wrong_shape_is_refused",
            "transposed and short arrays, each field, both directions",
            refusals::wrong_shape,
        ),
        (
            "a_region_outside_the_grid_is_refused",
            "past each end, by strides, by overflow, with stride zero",
            refusals::outside,
        ),
        (
            "fields_that_cannot_be_transferred_are_refused",
            "layers both ways, wave speed downwards",
            refusals::not_transferable,
        ),
        (
            "too_many_receivers_are_refused_without_poison",
            "one more than planned; the plan goes on with those it had",
            refusals::too_many_receivers,
        ),
        (
            "points_outside_the_grid_are_refused_without_poison",
            "a source and a receiver, one node too far along each axis",
            refusals::points_outside,
        ),
        (
            "amplitudes_of_another_shape_are_refused",
            "one column too few",
            refusals::amplitude_columns,
        ),
        (
            "an_overflow_of_the_trace_buffer_is_refused_without_poison",
            "one step too many, then the right number",
            refusals::trace_overflow,
        ),
        (
            "a_step_is_refused_while_any_wave_speed_is_unset",
            "never set; set on all nodes but one; zero, NaN or infinite on one",
            refusals::unset_wave_speed,
        ),
        (
            "regions_round_trip",
            "whole, slab, strided, single node and empty regions; odd host layouts",
            transfers::round_trip,
        ),
        (
            "either_host_type_goes_to_either_arithmetic",
            "f64 up and down against f32, rounded once",
            transfers::host_types,
        ),
        (
            "a_snapshot_is_the_field_when_it_was_queued",
            "against a download at that step; later steps do not change it",
            transfers::snapshots,
        ),
        ("zero_steps_change_nothing", "fields, samples and step number", advancing::zero_steps),
        (
            "splitting_a_run_changes_no_bit",
            "all at once, one by one, and in odd pieces",
            advancing::splitting,
        ),
        (
            "a_step_timed_by_kernel_is_the_same_step",
            "among plain steps; kinds, times, nodes and traffic told; refused as advance is",
            by_kernel::same_step,
        ),
        (
            "parameters_change_no_bit",
            "every value of each, and lowest and highest together, from the start and from a state \
             saved with the defaults; unknown names and values",
            parameters::same_bits,
        ),
        ("a_run_is_repeatable", "two plans, the same bits", advancing::repeatable),
        (
            "two_plans_do_not_disturb_each_other",
            "interleaved and from two threads, against each alone",
            advancing::two_plans,
        ),
        (
            "samples_are_numbered_from_the_reset",
            "first_step after each call of traces and of set_receivers",
            advancing::sample_numbers,
        ),
        (
            "amplitudes_are_numbered_from_the_reset",
            "sources set at a later step, and steps past the table's end",
            advancing::amplitude_numbers,
        ),
        (
            "a_source_is_heard_one_step_after_its_amplitude",
            "sample n + 1 is c^2 dt^2 w s[n] on a source's own node, with the node's own c",
            advancing::source_timing,
        ),
        (
            "samples_and_snapshots_have_the_plans_element_type",
            "in each arithmetic that the backend lists",
            transfers::element_types,
        ),
        (
            "health_finds_the_largest_and_the_first_bad_value",
            "against a download; a NaN in p and one that entered the layers",
            state::health,
        ),
        (
            "a_saved_state_goes_on_bit_for_bit",
            "saved at an odd step with layers in motion, restored into a fresh plan",
            state::save_restore,
        ),
        (
            "the_state_of_another_problem_is_refused_without_poison",
            "another dt, another shape, not a state at all",
            state::foreign_state,
        ),
        (
            "an_error_poisons_until_reset_and_samples_stay_readable",
            "a state cut short; every call; samples from before it",
            state::poison,
        ),
        ("a_reset_plan_is_a_fresh_plan", "a run, a reset, the run again", state::reset),
        (
            "support_is_told_alike_everywhere",
            "variants, footprint and propagator, for each arithmetic, order, boundary",
            support::alike,
        ),
        (
            "a_plan_beyond_memory_is_refused_with_its_footprint",
            "a grid of 2^40 nodes; the footprint is that of OutOfMemory",
            support::beyond_memory,
        ),
    ];
    rows.into_iter()
        .map(|(name, about, run)| Check { name, family: Family::Contract, about, run })
        .collect()
}

/// The small problem: 13 x 11 x 26 nodes, order 8, free at z = 0, C-PML of 4 cells elsewhere.
pub(crate) fn small() -> Result<Case, CheckError> {
    small_of([13, 11, 26], 1)
}

fn small_of(shape: [usize; 3], seed: u64) -> Result<Case, CheckError> {
    let mut boundaries = Boundaries::uniform(cpml(4));
    boundaries.set(Face::ZMin, Boundary::Free);
    Ok(Case::random(&problem(shape, 8, boundaries, Arithmetic::F32)?, 7, seed))
}

/// A problem whose uploads come back as they went: zero beyond all faces, no node held at zero.
fn plain() -> Result<Case, CheckError> {
    let boundaries = Boundaries::uniform(Boundary::Zero);
    Ok(Case::random(&problem([13, 11, 26], 8, boundaries, Arithmetic::F32)?, 7, 2))
}

/// A law: the call was refused, and by this error.
#[expect(clippy::needless_pass_by_value, reason = "an answer is read here and nowhere else")]
fn refused<T>(what: impl Into<String>, answer: Result<T>, by: fn(&Error) -> bool) -> Outcome {
    let (name, holds) = match &answer {
        Ok(_) => (" (it was not)".into(), false),
        Err(error) if by(error) => (String::new(), true),
        Err(error) => (format!(" (it answered: {error})"), false),
    };
    Outcome::law(format!("refused: {}{name}", what.into()), holds)
}
