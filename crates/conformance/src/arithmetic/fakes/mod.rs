//! Backends that are right, or wrong in one way, to show that every check can fail.
//!
//! A fake steps with the oracle in double precision, then adds what its own Laplacian differs by and
//! rounds to its own storage, all by plain loops that share nothing with a backend. Its one variant is
//! named after its arithmetic, which is all that it offers.

mod backend;
mod digits;
mod integers;
mod stored;

pub(super) use backend::Fake;

use super::checks;

/// One thing that is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// Digits are cut off, not rounded.
    Truncates,
    /// The operator's scale is the nearest power of two.
    ScaleOfTwo,
    /// Weights are rounded and keep neither zero sum nor second moment.
    NoRefit,
    /// Results of the three axes are added in one order of the tile's nodes.
    MixesAxes,
    /// x and z are exchanged.
    SwapsAxes,
    /// The exponent is the tile's; what the halo has beyond it is taken as zero.
    DropsOverflow,
    /// The exponent is one above what the tile held a step ago; what is beyond it is taken as zero.
    CarriesBlindly,
    /// What is not finite is taken as zero.
    SilencesNan,
    /// The leading products are dropped.
    DropsLeading,
    /// Exponents of stored tiles never rise.
    KeepsExponents,
    /// Peaks that underflow become NaN.
    UnderflowsToNan,
    /// A two-byte wave speed is cut off, not rounded.
    CutsSpeed,
    /// A two-byte wave speed is made up where its range is not told.
    GuessesSpeeds,
}

/// Runs a check on a fake; whether it passed.
fn passes(fake: &Fake, claim: &str) -> bool {
    let check = checks().into_iter().find(|check| check.name == claim).expect("a check");
    match crate::judge_variants(fake, &check) {
        Ok(report) => {
            println!("{report}");
            true
        }
        Err(failures) => {
            println!("{failures}");
            false
        }
    }
}

const WHITE: &str = "the_laplacian_of_white_data_is_within_its_bound";
const WAVES: &str = "the_laplacian_of_waves_is_within_its_bound";
const AXES: &str = "each_axis_has_its_own_second_derivative";
const BLOBS: &str = "a_blob_in_a_corner_shows_nowhere_else";
const FRONT: &str = "a_front_that_grows_into_silence_keeps_its_values";
const BROKEN: &str = "exponents_follow_data_built_to_break_them";
const UNDERFLOW: &str = "a_peak_that_underflows_becomes_zero_and_never_nan";
const NOT_FINITE: &str = "what_is_not_finite_is_found_and_never_silent";
const SPEED: &str = "each_node_has_its_own_wave_speed";
const OFFERED: &str = "arithmetics_are_offered_as_the_table_says";

#[test]
fn digits_that_are_right_pass() {
    for name in ["int8-1x1", "int8-1x2", "int8-2x3", "bf16-2x3"] {
        let fake = Fake::new(name);
        for claim in [WHITE, WAVES, AXES, BLOBS, SPEED] {
            assert!(passes(&fake, claim), "{name}: {claim}");
        }
    }
}

#[test]
fn storage_that_is_right_passes() {
    for name in ["int16-increment+u16", "fp16-scaled"] {
        let fake = Fake::new(name);
        for claim in [WHITE, WAVES, AXES, BLOBS, SPEED] {
            assert!(passes(&fake, claim), "{name}: {claim}");
        }
    }
}

#[test]
fn exponents_that_are_right_pass() {
    for name in ["int8-2x3", "int16-increment", "fp16"] {
        let fake = Fake::new(name);
        for claim in [FRONT, BROKEN, UNDERFLOW, NOT_FINITE] {
            assert!(passes(&fake, claim), "{name}: {claim}");
        }
    }
}

#[test]
fn digits_that_are_wrong_fail_where_they_must() {
    for (name, fault, claims) in [
        // Of three digits of the wavefield the bounds leave room for a bit.
        ("int8-1x1", Fault::Truncates, &[WHITE][..]),
        ("int8-2x2", Fault::Truncates, &[WHITE]),
        ("int8-2x3", Fault::ScaleOfTwo, &[WHITE, WAVES]),
        ("int8-1x2", Fault::NoRefit, &[WAVES]),
        ("int8-2x3", Fault::MixesAxes, &[WHITE, WAVES, AXES, BLOBS]),
        ("int8-1x1", Fault::SwapsAxes, &[AXES]),
        ("int8-2x3", Fault::DropsOverflow, &[BLOBS]),
        ("int8-1x2", Fault::DropsLeading, &[WHITE, WAVES, AXES, BLOBS]),
        ("int8-2x3", Fault::CarriesBlindly, &[FRONT, BROKEN]),
        ("int8-1x1", Fault::CarriesBlindly, &[FRONT]),
        ("int8-2x3", Fault::SilencesNan, &[NOT_FINITE]),
        ("int8-2x3", Fault::UnderflowsToNan, &[UNDERFLOW]),
    ] {
        let fake = Fake::broken(name, fault);
        for claim in claims {
            assert!(!passes(&fake, claim), "{name}, {fault:?}: {claim}");
        }
    }
}

#[test]
fn storage_that_is_wrong_fails_where_it_must() {
    for (name, fault, claim) in [
        ("int16", Fault::Truncates, WHITE),
        ("bf16", Fault::Truncates, WHITE),
        ("fp16", Fault::Truncates, WAVES),
        ("int16", Fault::KeepsExponents, BLOBS),
        ("int16", Fault::KeepsExponents, FRONT),
        ("int16-increment", Fault::KeepsExponents, BROKEN),
        ("int16", Fault::UnderflowsToNan, UNDERFLOW),
        ("int16", Fault::SilencesNan, NOT_FINITE),
        ("int16+u16", Fault::GuessesSpeeds, OFFERED),
        ("f32+u16", Fault::CutsSpeed, SPEED),
    ] {
        assert!(!passes(&Fake::broken(name, fault), claim), "{name}, {fault:?}: {claim}");
    }
}

#[test]
fn what_is_offered_beyond_the_table_or_not_at_all_fails() {
    assert!(passes(&Fake::new("int16+u16"), OFFERED));
    let mut less = Fake::new("int8-2x3");
    less.offers.clear();
    assert!(!passes(&less, OFFERED));
    let mut more = Fake::new("int8-2x3");
    more.offers.push("int8-2x2".parse().unwrap());
    assert!(!passes(&more, OFFERED));
}
