//! Which arithmetics a variant offers: those that a check runs, and the table that must say so.

use std::collections::BTreeSet;

use temblor_backend::{Backend, Error};
use temblor_physics::{
    Arithmetic, DigitKind, Digits, Operator, SpeedStorage, Storage, WaveProblem, WavefieldStorage,
};

use super::apply;
use crate::CheckError;

/// Arithmetics that differ only by numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// IEEE single precision.
    Single,
    /// IEEE double precision.
    Double,
    /// FP32 arithmetic on this storage of wavefields, with the wave speed in either form.
    Stored(WavefieldStorage),
    /// Any number of digits.
    Digits(DigitKind),
    /// Digits of the operator and of the wavefield and products dropped, these and no others.
    Built(DigitKind, &'static [[u8; 3]]),
}

impl Kind {
    /// Whether an arithmetic is of this kind.
    #[must_use]
    pub fn holds(self, arithmetic: Arithmetic) -> bool {
        match (self, arithmetic) {
            (Self::Single, Arithmetic::F32) | (Self::Double, Arithmetic::F64) => true,
            (Self::Stored(wavefields), Arithmetic::Stored(s)) => s.wavefields == wavefields,
            (Self::Digits(kind), Arithmetic::Digits(d)) => d.kind == kind,
            (Self::Built(kind, built), Arithmetic::Digits(d)) => {
                let counts = [d.operator, d.wavefield, d.trim];
                d.kind == kind && d.adaptive == 0 && built.contains(&counts)
            }
            _ => false,
        }
    }
}

/// What a variant computes with; variants without a row have single precision alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offers {
    /// Backend id.
    pub backend: &'static str,
    /// Variant name; `None` for all of them.
    pub variant: Option<&'static str>,
    /// Kinds that it lists.
    pub kinds: &'static [Kind],
    /// Why these and no others, in one line.
    pub why: &'static str,
}

const STORED: &[Kind] = &[
    Kind::Stored(WavefieldStorage::F32),
    Kind::Stored(WavefieldStorage::Int16),
    Kind::Stored(WavefieldStorage::Int16Increment),
    Kind::Stored(WavefieldStorage::Bf16),
    Kind::Stored(WavefieldStorage::Bf16Pair),
    Kind::Stored(WavefieldStorage::Fp16),
    Kind::Stored(WavefieldStorage::Fp16Scaled),
];

const CODES: &[Kind] =
    &[Kind::Stored(WavefieldStorage::Int16), Kind::Stored(WavefieldStorage::Int16Increment)];

/// Digits that the tuned CUDA kernels are built for.
const BUILT: Kind = Kind::Built(
    DigitKind::Int8,
    &[[1, 1, 0], [1, 2, 0], [2, 2, 0], [2, 3, 0], [2, 3, 1], [3, 3, 0]],
);

const fn of(
    backend: &'static str,
    variant: &'static str,
    kinds: &'static [Kind],
    why: &'static str,
) -> Offers {
    Offers { backend, variant: Some(variant), kinds, why }
}

/// The table; exact both ways.
pub const OFFERS: &[Offers] = &[
    Offers {
        backend: "cpu-ref",
        variant: None,
        kinds: &[Kind::Single, Kind::Double],
        why: "the oracle, which rounds nothing that IEEE does not",
    },
    of("cpu", "stored", STORED, "decodes what it reads; single precision needs no codes"),
    of("cpu", "ozaki-scalar", &[Kind::Digits(DigitKind::Int8)], "products of signed bytes"),
    of("cpu", "ozaki-simd", &[Kind::Digits(DigitKind::Int8)], "products of signed bytes"),
    of("cpu", "bf16-scalar", &[Kind::Digits(DigitKind::Bf16)], "products of BF16 limbs"),
    of("cpu", "bf16-simd", &[Kind::Digits(DigitKind::Bf16)], "products of BF16 limbs"),
    of("cuda", "stored", STORED, "decodes what it reads; single precision needs no codes"),
    of("cuda", "stored_wide", CODES, "copies of two-byte codes; other storage takes `stored`"),
    of(
        "cuda",
        "ozaki_mma",
        &[BUILT, Kind::Digits(DigitKind::Bf16)],
        "tensor cores multiply bytes and BF16; kernels are built for some counts of digits",
    ),
    of("cuda", "ozaki_dp4a", &[BUILT], "dp4a multiplies bytes; kernels are built for some counts"),
    of(
        "cuda",
        "ozaki_plain",
        &[Kind::Digits(DigitKind::Int8), Kind::Digits(DigitKind::Bf16)],
        "plain loops, told all at run time",
    ),
];

/// Kinds that a variant has; single precision alone without a row.
fn kinds(backend: &str, variant: &str) -> &'static [Kind] {
    let row = OFFERS
        .iter()
        .find(|row| row.backend == backend && row.variant.is_none_or(|name| name == variant));
    row.map_or(&[Kind::Single], |row| row.kinds)
}

/// Whether a variant has single or double precision, which all checks of other families pose.
#[must_use]
pub fn is_plain(backend: &str, variant: &str) -> bool {
    let kinds = kinds(backend, variant);
    kinds.contains(&Kind::Single) || kinds.contains(&Kind::Double)
}

/// Names of all variants that a backend has in any arithmetic: those of its capabilities and those
/// that it lists for a plain problem in each arithmetic of the catalogue.
///
/// # Errors
/// Those of the backend, other than [`temblor_backend::Error::Unsupported`].
pub fn variants(backend: &dyn Backend) -> Result<Vec<String>, CheckError> {
    let mut names = backend.capabilities().variants.clone();
    let order8 = Operator::Direct { order: 8 };
    for arithmetic in catalogue() {
        let problem = apply::problem([24, 20, 40], [10.0; 3], order8, arithmetic)?;
        match backend.variants(&problem) {
            Ok(variants) => names.extend(variants.into_iter().map(|v| v.name)),
            Err(Error::Unsupported { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let mut seen = BTreeSet::new();
    names.retain(|name| seen.insert(name.clone()));
    Ok(names)
}

/// Whether the table says that a variant offers an arithmetic.
#[must_use]
pub fn offered(backend: &str, variant: &str, arithmetic: Arithmetic) -> bool {
    // A fake has one variant, named after its arithmetic.
    if cfg!(test) && backend == "fake" {
        return arithmetic.to_string() == variant;
    }
    kinds(backend, variant).iter().any(|kind| kind.holds(arithmetic))
}

/// Every arithmetic that checks ask for: all storage, all numbers of digits, and digits with dropped
/// products or adaptive counts.
#[must_use]
pub fn catalogue() -> Vec<Arithmetic> {
    let mut all = vec![Arithmetic::F64, Arithmetic::F32];
    all.extend(Storage::all().map(Arithmetic::Stored));
    for kind in [DigitKind::Int8, DigitKind::Bf16] {
        for operator in 1..=3 {
            for wavefield in 1..=3 {
                all.push(Arithmetic::Digits(Digits::new(kind, operator, wavefield)));
            }
        }
        let trimmed = |trim, digits| Arithmetic::Digits(Digits { trim, ..digits });
        all.push(trimmed(1, Digits::new(kind, 2, 3)));
        all.push(trimmed(2, Digits::new(kind, 3, 3)));
    }
    let adaptive = Digits { adaptive: 12, ..Digits::new(DigitKind::Int8, 2, 3) };
    all.push(Arithmetic::Digits(adaptive));
    all
}

/// Those of the catalogue that a variant should have: the rows of the table.
pub(super) fn offered_by(backend: &dyn Backend, variant: &str) -> Vec<Arithmetic> {
    let id = &backend.device().backend;
    catalogue().into_iter().filter(|arithmetic| offered(id, variant, *arithmetic)).collect()
}

/// Of those, one or two of each kind: where other counts of digits and the form of the wave speed show
/// nothing new.
pub(super) fn telling(backend: &dyn Backend, variant: &str) -> Vec<Arithmetic> {
    let mut all = offered_by(backend, variant);
    all.retain(|arithmetic| match arithmetic {
        Arithmetic::Digits(d) => {
            d.trim == 0 && matches!((d.operator, d.wavefield), (1, 1) | (2, 3))
        }
        Arithmetic::Stored(storage) => storage.speed == SpeedStorage::F32,
        _ => true,
    });
    // What offers nothing of these offers something.
    if all.is_empty() { offered_by(backend, variant) } else { all }
}

/// Whether a backend lists a variant for a problem.
///
/// # Errors
/// Those of the backend, other than [`temblor_backend::Error::Unsupported`].
pub(super) fn lists(
    backend: &dyn Backend,
    variant: &str,
    problem: &WaveProblem,
) -> Result<bool, CheckError> {
    match backend.variants(problem) {
        Ok(variants) => Ok(variants.iter().any(|v| v.name == variant)),
        Err(Error::Unsupported { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_offers_something_of_the_catalogue() {
        for row in OFFERS {
            let any = |kind: &Kind| catalogue().into_iter().any(|a| kind.holds(a));
            assert!(!row.kinds.is_empty() && row.kinds.iter().all(any), "{row:?}");
        }
    }

    #[test]
    fn a_variant_without_a_row_has_single_precision_alone() {
        assert!(is_plain("cpu", "blocked") && is_plain("cpu-ref", "loops"));
        assert!(!is_plain("cpu", "stored"));
        assert!(offered("cpu", "blocked", Arithmetic::F32));
        assert!(!offered("cpu", "blocked", Arithmetic::F64));
    }

    #[test]
    fn the_catalogue_names_every_arithmetic_once() {
        let all = catalogue();
        for (n, one) in all.iter().enumerate() {
            one.check().unwrap();
            assert!(!all[..n].contains(one), "{one} twice");
        }
    }
}
