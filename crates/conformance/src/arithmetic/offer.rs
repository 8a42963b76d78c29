//! Which arithmetics a variant offers: those that a check runs, and the table that must say so.

use temblor_backend::Backend;
use temblor_physics::{
    Arithmetic, DigitKind, Digits, SpeedStorage, Storage, WaveProblem, WavefieldStorage,
};

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
}

impl Kind {
    /// The kind of an arithmetic.
    #[must_use]
    pub const fn of(arithmetic: Arithmetic) -> Option<Self> {
        match arithmetic {
            Arithmetic::F32 => Some(Self::Single),
            Arithmetic::F64 => Some(Self::Double),
            Arithmetic::Stored(storage) => Some(Self::Stored(storage.wavefields)),
            Arithmetic::Digits(digits) => Some(Self::Digits(digits.kind)),
            _ => None,
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

/// The table; exact both ways.
pub const OFFERS: &[Offers] = &[Offers {
    backend: "cpu-ref",
    variant: None,
    kinds: &[Kind::Single, Kind::Double],
    why: "the oracle, which rounds nothing that IEEE does not",
}];

/// The row of a variant, if it has one.
#[must_use]
fn row(backend: &str, variant: &str) -> Option<&'static Offers> {
    OFFERS
        .iter()
        .find(|row| row.backend == backend && row.variant.is_none_or(|name| name == variant))
}

/// Whether the table says that a variant offers an arithmetic.
#[must_use]
pub fn offered(backend: &str, variant: &str, arithmetic: Arithmetic) -> bool {
    // A fake has one variant, named after its arithmetic.
    if cfg!(test) && backend == "fake" {
        return arithmetic.to_string() == variant;
    }
    let kinds = row(backend, variant).map_or(&[Kind::Single][..], |row| row.kinds);
    Kind::of(arithmetic).is_some_and(|kind| kinds.contains(&kind))
}

/// Every arithmetic that checks ask for: all storage, all numbers of digits, and digits with dropped
/// products or adaptive counts.
#[must_use]
pub fn catalogue() -> Vec<Arithmetic> {
    let mut all = vec![Arithmetic::F64, Arithmetic::F32];
    for speed in [SpeedStorage::F32, SpeedStorage::Uint16] {
        for wavefields in WavefieldStorage::ALL {
            if (wavefields, speed) != (WavefieldStorage::F32, SpeedStorage::F32) {
                all.push(Arithmetic::Stored(Storage { wavefields, speed }));
            }
        }
    }
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
        Err(temblor_backend::Error::Unsupported { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalogue_names_every_arithmetic_once() {
        let all = catalogue();
        for (n, one) in all.iter().enumerate() {
            one.check().unwrap();
            assert!(!all[..n].contains(one), "{one} twice");
        }
    }
}
