//! How wavefields are stored and computed with, and the names of it: `f32`, `int16+u16`,
//! `int8-2x3:trim=1`.
//!
//! Storage is told apart from arithmetic. Reduced storage keeps two bytes a value and computes in
//! FP32. Digits keep FP32 values in memory and take the Laplacian as integer (or BF16) products of
//! slices of the operator and of the wavefield, after Ozaki et al. (2012), Numer. Algorithms 59.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{Error, Operator, QuantisedOperator, Result};

/// What names can be.
const KNOWN: &str = "use f32, f64; int16, int16-increment, fp16, fp16-scaled, bf16, bf16x2 or f32, \
                     each with +u16 for a two-byte wave speed; int8-AxB or bf16-AxB with A digits of \
                     the operator and B of the wavefield, 1 to 3, such as int8-2x3, followed by \
                     :trim=N or :adaptive=BITS";

/// Relative error of a Laplacian whose operator has two digits, where those do not hold it exactly.
const TWO_DIGITS: f64 = 2e-5;

/// How wavefields are stored and computed with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[non_exhaustive]
pub enum Arithmetic {
    /// IEEE single precision, denormals flushed.
    F32,
    /// IEEE double precision: the oracle (`cpu-ref` only).
    F64,
    /// FP32 arithmetic on values that are stored in fewer bytes.
    Stored(Storage),
    /// FP32 fields whose Laplacian is summed from products of digits.
    Digits(Digits),
}

/// What a value is rounded to where it rests in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Storage {
    /// Of p.
    pub wavefields: WavefieldStorage,
    /// Of the wave speed.
    pub speed: SpeedStorage,
}

impl Storage {
    /// Every storage but that of singles alone, which is [`Arithmetic::F32`].
    pub fn all() -> impl Iterator<Item = Self> {
        WavefieldStorage::ALL
            .into_iter()
            .flat_map(|wavefields| {
                [SpeedStorage::F32, SpeedStorage::Uint16].map(|speed| Self { wavefields, speed })
            })
            .filter(|s| *s != Self { wavefields: WavefieldStorage::F32, speed: SpeedStorage::F32 })
    }
}

/// Storage of wavefields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WavefieldStorage {
    /// IEEE single precision.
    F32,
    /// Codes of 16 bits that share an exponent per tile: p^n and p^(n-1).
    Int16,
    /// The same for p^n and its increment p^n - p^(n-1).
    Int16Increment,
    /// The upper half of an IEEE single, rounded to nearest.
    Bf16,
    /// Two of those: the value and what it leaves. Four bytes a value: an oracle, no saving.
    Bf16Pair,
    /// IEEE half precision.
    Fp16,
    /// IEEE half precision of the value over a power of two per tile.
    Fp16Scaled,
}

/// Storage of the wave speed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SpeedStorage {
    /// c^2 dt^2 in IEEE single precision.
    F32,
    /// c as a multiple of 1/65535 of the model's range above its least speed.
    Uint16,
}

/// Digits of the operator and of the wavefield.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digits {
    /// What a digit is.
    pub kind: DigitKind,
    /// Digits of the operator, 1 to 3.
    pub operator: u8,
    /// Digits of a value of the wavefield, 1 to 3; at most so many if `adaptive`.
    pub wavefield: u8,
    /// Diagonals of products dropped, least first: digit a of the operator times digit b of the
    /// wavefield belongs to diagonal a + b. Never all of them.
    pub trim: u8,
    /// Bits below a tile's root mean square that its digits must reach; a tile that reaches them with
    /// fewer digits uses fewer. 0: all tiles use all.
    pub adaptive: u8,
}

/// What a digit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DigitKind {
    /// A signed byte; sums are 32-bit integers.
    Int8,
    /// A BF16 number; sums are FP32.
    Bf16,
}

impl Digits {
    /// All products of `operator` times `wavefield` digits.
    #[must_use]
    pub const fn new(kind: DigitKind, operator: u8, wavefield: u8) -> Self {
        Self { kind, operator, wavefield, trim: 0, adaptive: 0 }
    }

    /// Pairs (a, b) of digits that are multiplied, most significant first.
    pub fn pairs(self) -> impl Iterator<Item = (u8, u8)> {
        let kept = (self.operator + self.wavefield).saturating_sub(1 + self.trim);
        (0..self.operator)
            .flat_map(move |a| (0..self.wavefield).map(move |b| (a, b)))
            .filter(move |(a, b)| a + b < kept)
    }

    /// # Errors
    /// If a count is not 1 to 3, if all products would be dropped, or if `adaptive` is beyond what the
    /// digits hold.
    pub fn check(self) -> Result<()> {
        for (what, count) in [("operator", self.operator), ("wavefield", self.wavefield)] {
            if !(1..=3).contains(&count) {
                let nearest = format!("the nearest is {}", count.clamp(1, 3));
                return Err(Error::invalid(format!("digits of the {what}"), count, nearest));
            }
        }
        let diagonals = self.operator + self.wavefield - 1;
        if self.trim >= diagonals {
            let remedy = format!(
                "that drops every product of {}x{} digits; the most is {}",
                self.operator,
                self.wavefield,
                diagonals - 1
            );
            return Err(Error::invalid("trim", self.trim, remedy));
        }
        let most = 8 * self.wavefield - 2;
        if self.adaptive > most {
            let remedy = format!("{} digits hold {most} bits at most", self.wavefield);
            return Err(Error::invalid("adaptive", self.adaptive, remedy));
        }
        if self.adaptive > 0 && self.kind == DigitKind::Bf16 {
            let remedy = "BF16 digits have exponents of their own: leave it out";
            return Err(Error::invalid("adaptive", self.adaptive, remedy));
        }
        Ok(())
    }
}

impl Arithmetic {
    /// Least traffic of a step with main memory outside layers, bytes per node: what is read and
    /// written of the wavefields, and the wave speed. Exponents of tiles are not counted.
    #[must_use]
    pub const fn bytes_per_point(self) -> f64 {
        let Self::Stored(Storage { wavefields, speed }) = self else {
            return if matches!(self, Self::F64) { 32.0 } else { 16.0 };
        };
        let wavefields = match wavefields {
            WavefieldStorage::F32 | WavefieldStorage::Bf16Pair => 12.0,
            // p and the increment, each read and written.
            WavefieldStorage::Int16Increment => 8.0,
            _ => 6.0,
        };
        wavefields + speed.bytes()
    }

    /// Relative rms error of one Laplacian of white data in a tile that is not passed; that of FP32 where nothing
    /// else is larger. That of digits is [`QuantisedOperator::predicted_error`] in three dimensions.
    ///
    /// Infinite for digits that the operator cannot be made of.
    #[must_use]
    pub fn laplacian_error(self, operator: &Operator) -> f64 {
        const SINGLE: f64 = 1e-6;
        match self {
            Self::F64 => 1e-14,
            Self::F32 => SINGLE,
            Self::Digits(digits) => match QuantisedOperator::new(operator, digits.operator) {
                Ok(quantised) => quantised.largest_error(digits).max(SINGLE),
                Err(_) => f64::INFINITY,
            },
            // Half a unit in the last place of a tile's largest value, of a value where each has an
            // exponent; neighbours are rounded independently, so nothing grows but by the weights.
            Self::Stored(storage) => {
                let bits = match storage.wavefields {
                    WavefieldStorage::F32 => 24,
                    WavefieldStorage::Bf16Pair
                    | WavefieldStorage::Int16
                    | WavefieldStorage::Int16Increment => 16,
                    WavefieldStorage::Fp16 | WavefieldStorage::Fp16Scaled => 12,
                    WavefieldStorage::Bf16 => 9,
                };
                let speed = if storage.speed == SpeedStorage::Uint16 { 4e-5 } else { 0.0 };
                (4.0 * 2.0_f64.powi(-bits)).max(speed).max(SINGLE)
            }
        }
    }

    /// Relative L2 error of traces against unrounded FP32 after 2,000 steps near the CFL limit in a
    /// layered model at order 8, as an order of magnitude; none where it is that of FP32.
    #[must_use]
    pub fn trace_error(self) -> Option<f64> {
        let storage = match self {
            Self::F32 | Self::F64 => return None,
            // What errors of single Laplacians come to. Three digits of a value and two of the operator
            // are as good as FP32: what they leave of an operator that they do not hold exactly is
            // a change of the phase velocity below 2e-5.
            Self::Digits(_) => {
                let error = self.laplacian_error(&Operator::Direct { order: 8 });
                return (error > TWO_DIGITS).then_some(45.0 * error);
            }
            Self::Stored(storage) => storage,
        };
        match (storage.wavefields, storage.speed) {
            (WavefieldStorage::F32, SpeedStorage::F32) => None,
            (WavefieldStorage::F32 | WavefieldStorage::Bf16Pair, _) => Some(5e-4),
            (WavefieldStorage::Int16Increment, _) => Some(2e-3),
            (WavefieldStorage::Int16, _) => Some(5e-3),
            (WavefieldStorage::Fp16 | WavefieldStorage::Fp16Scaled, _) => Some(3e-2),
            (WavefieldStorage::Bf16, _) => Some(3e-1),
        }
    }

    /// # Errors
    /// As [`Digits::check`].
    pub fn check(self) -> Result<()> {
        if let Self::Digits(digits) = self { digits.check() } else { Ok(()) }
    }
}

impl SpeedStorage {
    /// Bytes of a value.
    #[must_use]
    pub const fn bytes(self) -> f64 {
        match self {
            Self::F32 => 4.0,
            Self::Uint16 => 2.0,
        }
    }
}

impl WavefieldStorage {
    /// All, best known first.
    pub const ALL: [Self; 7] = [
        Self::F32,
        Self::Int16,
        Self::Int16Increment,
        Self::Bf16,
        Self::Bf16Pair,
        Self::Fp16,
        Self::Fp16Scaled,
    ];

    /// Name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::Int16 => "int16",
            Self::Int16Increment => "int16-increment",
            Self::Bf16 => "bf16",
            Self::Bf16Pair => "bf16x2",
            Self::Fp16 => "fp16",
            Self::Fp16Scaled => "fp16-scaled",
        }
    }
}

impl fmt::Display for Arithmetic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::F32 => f.write_str("f32"),
            Self::F64 => f.write_str("f64"),
            Self::Stored(storage) => {
                f.write_str(storage.wavefields.name())?;
                f.write_str(if storage.speed == SpeedStorage::Uint16 { "+u16" } else { "" })
            }
            Self::Digits(digits) => {
                let kind = if digits.kind == DigitKind::Int8 { "int8" } else { "bf16" };
                write!(f, "{kind}-{}x{}", digits.operator, digits.wavefield)?;
                for (name, value) in [("trim", digits.trim), ("adaptive", digits.adaptive)] {
                    if value > 0 {
                        write!(f, ":{name}={value}")?;
                    }
                }
                Ok(())
            }
        }
    }
}

impl FromStr for Arithmetic {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let refuse = || Error::invalid("arithmetic", text, KNOWN);
        match text {
            "f32" => return Ok(Self::F32),
            "f64" => return Ok(Self::F64),
            _ => {}
        }
        let (name, speed) = match text.strip_suffix("+u16") {
            Some(name) => (name, SpeedStorage::Uint16),
            None => (text, SpeedStorage::F32),
        };
        if let Some(&wavefields) = WavefieldStorage::ALL.iter().find(|w| w.name() == name) {
            return Ok(Self::Stored(Storage { wavefields, speed }));
        }
        let mut parts = text.split(':');
        let (kind, counts) = parts.next().and_then(|p| p.split_once('-')).ok_or_else(refuse)?;
        let kind = match kind {
            "int8" => DigitKind::Int8,
            "bf16" => DigitKind::Bf16,
            _ => return Err(refuse()),
        };
        let number = |text: &str| text.parse::<u8>().map_err(|_| refuse());
        let (operator, wavefield) = counts.split_once('x').ok_or_else(refuse)?;
        let mut digits = Digits::new(kind, number(operator)?, number(wavefield)?);
        for part in parts {
            match part.split_once('=').ok_or_else(refuse)? {
                ("trim", value) => digits.trim = number(value)?,
                ("adaptive", value) => digits.adaptive = number(value)?,
                _ => return Err(refuse()),
            }
        }
        digits.check()?;
        Ok(Self::Digits(digits))
    }
}

impl TryFrom<String> for Arithmetic {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<Arithmetic> for String {
    fn from(arithmetic: Arithmetic) -> Self {
        arithmetic.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Arithmetic {
        text.parse().unwrap()
    }

    #[test]
    fn every_arithmetic_is_read_back_from_its_name() {
        for name in [
            "f32",
            "f64",
            "f32+u16",
            "int16",
            "int16+u16",
            "int16-increment+u16",
            "bf16",
            "bf16x2",
            "fp16",
            "fp16-scaled+u16",
            "int8-2x3",
            "int8-3x3:trim=2",
            "int8-1x2:adaptive=10",
            "bf16-2x3",
        ] {
            assert_eq!(read(name).to_string(), name);
            let json = serde_json::to_string(&read(name)).unwrap();
            assert_eq!(json, format!("\"{name}\""));
            assert_eq!(serde_json::from_str::<Arithmetic>(&json).unwrap(), read(name));
        }
    }

    #[test]
    fn all_storage_has_a_name_of_its_own() {
        let names: Vec<_> = Storage::all().map(|s| Arithmetic::Stored(s).to_string()).collect();
        assert_eq!(names.len(), 13);
        for (name, storage) in names.iter().zip(Storage::all()) {
            assert_eq!(read(name), Arithmetic::Stored(storage));
        }
    }

    #[test]
    fn storage_names_its_bytes() {
        for (name, bytes) in [
            ("f32", 16.0),
            ("int16+u16", 8.0),
            ("int16-increment+u16", 10.0),
            ("f32+u16", 14.0),
            ("bf16x2", 16.0),
            ("int8-2x3", 16.0),
            ("f64", 32.0),
        ] {
            assert!((read(name).bytes_per_point() - bytes).abs() < 1e-12, "{name}");
        }
    }

    #[test]
    fn few_digits_cost_traces_and_three_do_not() {
        assert_eq!(read("int8-2x3").trace_error(), None);
        assert_eq!(read("int8-2x3:trim=1").trace_error(), None);
        // The guide's errors of a Green's function against FP32: 1.9e-1, 4.1e-2, 1.4e-3.
        for (name, measured) in [("int8-1x1", 1.9e-1), ("int8-1x2", 4.1e-2), ("int8-2x2", 1.4e-3)] {
            let stated = read(name).trace_error().unwrap();
            assert!((measured..10.0 * measured).contains(&stated), "{name}: {stated}");
        }
    }

    #[test]
    fn pairs_are_dropped_from_the_least_diagonal_and_never_all() {
        let pairs = |name: &str| match read(name) {
            Arithmetic::Digits(digits) => digits.pairs().collect::<Vec<_>>(),
            other => panic!("{other}"),
        };
        assert_eq!(pairs("int8-2x3").len(), 6);
        assert_eq!(pairs("int8-2x3:trim=1"), [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]);
        assert_eq!(pairs("int8-2x3:trim=3"), [(0, 0)]);
        let message = "int8-2x3:trim=4".parse::<Arithmetic>().unwrap_err().to_string();
        assert!(message.contains("the most is 3"), "{message}");
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_can() {
        for (name, said) in [
            ("int8-4x3", "the nearest is 3"),
            ("int8-0x1", "the nearest is 1"),
            ("int8-2x2:adaptive=15", "14 bits at most"),
            ("bf16-2x3:adaptive=4", "leave it out"),
            ("int8", "int8-AxB"),
            ("half", "fp16"),
        ] {
            let message = name.parse::<Arithmetic>().unwrap_err().to_string();
            assert!(message.contains(said), "{name}: {message}");
        }
    }
}
