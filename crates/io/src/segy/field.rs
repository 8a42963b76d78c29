//! One field of a header: where it stands, how it is stored, its value.

use super::WordOrder;
use super::fields::{EXTENSION_FIELDS, TRACE_FIELDS};
use super::ibm::{f64_to_ibm, ibm_to_f64};

/// How a header field is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FieldType {
    /// Unsigned byte.
    U8,
    /// Signed 16-bit integer.
    I16,
    /// Unsigned 16-bit integer.
    U16,
    /// Signed 32-bit integer.
    I32,
    /// Unsigned 32-bit integer.
    U32,
    /// Signed 64-bit integer.
    I64,
    /// IEEE single precision.
    F32,
    /// IEEE double precision.
    F64,
    /// IBM single precision.
    Ibm,
}

impl FieldType {
    const NAMES: [(&str, Self); 9] = [
        ("u1", Self::U8),
        ("i2", Self::I16),
        ("u2", Self::U16),
        ("i4", Self::I32),
        ("u4", Self::U32),
        ("i8", Self::I64),
        ("f4", Self::F32),
        ("f8", Self::F64),
        ("ibm", Self::Ibm),
    ];

    /// Bytes of the field.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 | Self::Ibm => 4,
            Self::I64 | Self::F64 => 8,
        }
    }

    /// Short name: u1, i2, u2, i4, u4, i8, f4, f8, ibm.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }

    /// The type of a short name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
    }
}

/// Value of a header field.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// A whole number.
    Int(i64),
    /// A floating-point number.
    Float(f64),
}

impl Value {
    /// As a double.
    #[must_use]
    pub fn to_f64(self) -> f64 {
        match self {
            Self::Int(value) => value as f64,
            Self::Float(value) => value,
        }
    }

    /// As a whole number, where it is one.
    #[must_use]
    pub fn to_i64(self) -> Option<i64> {
        #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
        match self {
            Self::Int(value) => Some(value),
            Self::Float(value) if value.abs() < 9e18 && value.fract() == 0.0 => Some(value as i64),
            Self::Float(_) => None,
        }
    }

    /// Whether it is zero of either sign.
    #[must_use]
    pub fn is_zero(self) -> bool {
        self.to_f64().abs() == 0.0
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Int(value) => value.fmt(f),
            Self::Float(value) => value.fmt(f),
        }
    }
}

/// Name, place and type of a header field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// Short name, such as `fldr`.
    pub name: &'static str,
    /// First byte, counted from 1.
    pub byte: usize,
    /// How it is stored.
    pub kind: FieldType,
    /// What it means.
    pub about: &'static str,
}

impl Field {
    /// The trace header's field of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        TRACE_FIELDS.into_iter().find(|field| field.name == name)
    }

    /// The field of that name of trace header extension 1.
    #[must_use]
    pub fn extended(name: &str) -> Option<Self> {
        EXTENSION_FIELDS.into_iter().find(|field| field.name == name)
    }

    /// Reads the field from a header; `byte` 1 is the header's first.
    ///
    /// # Panics
    /// If the field is not within the header.
    #[must_use]
    pub fn read(&self, order: WordOrder, header: &[u8]) -> Value {
        let at = self.byte - 1;
        match self.kind {
            FieldType::U8 => Value::Int(header[at].into()),
            FieldType::I16 => Value::Int(i16::from_be_bytes(word(order, header, at)).into()),
            FieldType::U16 => Value::Int(u16::from_be_bytes(word(order, header, at)).into()),
            FieldType::I32 => Value::Int(i32::from_be_bytes(word(order, header, at)).into()),
            FieldType::U32 => Value::Int(u32::from_be_bytes(word(order, header, at)).into()),
            FieldType::I64 => Value::Int(i64::from_be_bytes(word(order, header, at))),
            FieldType::F32 => Value::Float(f32::from_be_bytes(word(order, header, at)).into()),
            FieldType::F64 => Value::Float(f64::from_be_bytes(word(order, header, at))),
            FieldType::Ibm => Value::Float(ibm_to_f64(u32::from_be_bytes(word(order, header, at)))),
        }
    }

    /// Writes a value into the field; `None`, leaving the header as it is, if it does not fit: out
    /// of range, or a fraction for an integer.
    ///
    /// # Panics
    /// If the field is not within the header.
    pub fn write(&self, order: WordOrder, header: &mut [u8], value: Value) -> Option<()> {
        let at = self.byte - 1;
        let whole = || value.to_i64();
        #[expect(clippy::cast_possible_truncation, reason = "rounding to singles is meant")]
        match self.kind {
            FieldType::U8 => header[at] = u8::try_from(whole()?).ok()?,
            FieldType::I16 => put(order, header, at, i16::try_from(whole()?).ok()?.to_be_bytes()),
            FieldType::U16 => put(order, header, at, u16::try_from(whole()?).ok()?.to_be_bytes()),
            FieldType::I32 => put(order, header, at, i32::try_from(whole()?).ok()?.to_be_bytes()),
            FieldType::U32 => put(order, header, at, u32::try_from(whole()?).ok()?.to_be_bytes()),
            FieldType::I64 => put(order, header, at, whole()?.to_be_bytes()),
            FieldType::F32 => put(order, header, at, (value.to_f64() as f32).to_be_bytes()),
            FieldType::F64 => put(order, header, at, value.to_f64().to_be_bytes()),
            FieldType::Ibm => {
                let (ibm, beyond) = f64_to_ibm(value.to_f64());
                if beyond {
                    return None;
                }
                put(order, header, at, ibm.to_be_bytes());
            }
        }
        Some(())
    }
}

/// The word of `N` bytes at an offset, most significant byte first.
pub(super) fn word<const N: usize>(order: WordOrder, bytes: &[u8], at: usize) -> [u8; N] {
    let mut word = [0; N];
    word.copy_from_slice(&bytes[at..at + N]);
    order.to_big(word)
}

/// Stores a word given most significant byte first.
pub(super) fn put<const N: usize>(order: WordOrder, bytes: &mut [u8], at: usize, big: [u8; N]) {
    bytes[at..at + N].copy_from_slice(&order.to_big(big));
}

/// Turns the fields of a header from one byte order to another; bytes of no field stay.
pub(super) fn turn(fields: &[Field], from: WordOrder, to: WordOrder, header: &mut [u8]) {
    if from == to {
        return;
    }
    for field in fields {
        let at = field.byte - 1;
        match field.kind.bytes() {
            2 => turn_word::<2>(from, to, header, at),
            4 => turn_word::<4>(from, to, header, at),
            8 => turn_word::<8>(from, to, header, at),
            _ => {}
        }
    }
}

fn turn_word<const N: usize>(from: WordOrder, to: WordOrder, bytes: &mut [u8], at: usize) {
    let big: [u8; N] = word(from, bytes, at);
    put(to, bytes, at, big);
}
