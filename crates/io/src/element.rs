//! Number formats of stored arrays and their conversion.

use half::f16;

/// Order of the bytes of a stored number.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum ByteOrder {
    /// Least significant byte first, as on x86-64 and ARM.
    #[default]
    Little,
    /// Most significant byte first, as SEG-Y demands.
    Big,
}

/// Number format of a stored array.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize,
)]
pub enum Element {
    /// IEEE binary16.
    #[serde(rename = "f2")]
    F16,
    /// IEEE binary32.
    #[default]
    #[serde(rename = "f4")]
    F32,
    /// IEEE binary64.
    #[serde(rename = "f8")]
    F64,
    /// Signed 16-bit integer.
    #[serde(rename = "i2")]
    I16,
    /// Signed 32-bit integer.
    #[serde(rename = "i4")]
    I32,
}

impl Element {
    /// All formats.
    pub const ALL: [Self; 5] = [Self::F16, Self::F32, Self::F64, Self::I16, Self::I32];

    /// Bytes of one element.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::F16 | Self::I16 => 2,
            Self::F32 | Self::I32 => 4,
            Self::F64 => 8,
        }
    }

    /// `NumPy`'s two-letter name: f2, f4, f8, i2, i4.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::F16 => "f2",
            Self::F32 => "f4",
            Self::F64 => "f8",
            Self::I16 => "i2",
            Self::I32 => "i4",
        }
    }

    /// The format of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|element| element.name() == name)
    }

    /// Decodes `bytes` into `out`, rounding to single precision; `bytes` holds `out.len()` elements.
    ///
    /// # Panics
    /// If the lengths do not fit.
    pub fn decode(self, order: ByteOrder, bytes: &[u8], out: &mut [f32]) {
        assert_eq!(bytes.len(), out.len() * self.bytes(), "bytes of {} elements", out.len());
        match self {
            Self::F16 => decode_with(order, bytes, out, |b| f16::from_le_bytes(b).to_f32()),
            Self::F32 => decode_with(order, bytes, out, f32::from_le_bytes),
            #[expect(clippy::cast_possible_truncation, reason = "rounding to f32 is documented")]
            Self::F64 => decode_with(order, bytes, out, |b| f64::from_le_bytes(b) as f32),
            Self::I16 => decode_with(order, bytes, out, |b| i16::from_le_bytes(b).into()),
            Self::I32 => decode_with(order, bytes, out, |b| i32::from_le_bytes(b) as f32),
        }
    }
}

fn decode_with<const N: usize>(
    order: ByteOrder,
    bytes: &[u8],
    out: &mut [f32],
    from_little: impl Fn([u8; N]) -> f32,
) {
    let (chunks, _) = bytes.as_chunks::<N>();
    match order {
        ByteOrder::Little => {
            for (value, &chunk) in out.iter_mut().zip(chunks) {
                *value = from_little(chunk);
            }
        }
        ByteOrder::Big => {
            for (value, &chunk) in out.iter_mut().zip(chunks) {
                let mut swapped = chunk;
                swapped.reverse();
                *value = from_little(swapped);
            }
        }
    }
}

/// A number that can be written to an array file.
pub trait Sample: Copy + sealed::Sealed {
    /// Its format.
    const ELEMENT: Element;
    /// Appends its bytes.
    fn encode(self, order: ByteOrder, out: &mut Vec<u8>);
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! sample {
    ($type:ty, $element:ident) => {
        impl sealed::Sealed for $type {}
        impl Sample for $type {
            const ELEMENT: Element = Element::$element;
            fn encode(self, order: ByteOrder, out: &mut Vec<u8>) {
                match order {
                    ByteOrder::Little => out.extend_from_slice(&self.to_le_bytes()),
                    ByteOrder::Big => out.extend_from_slice(&self.to_be_bytes()),
                }
            }
        }
    };
}
sample!(f16, F16);
sample!(f32, F32);
sample!(f64, F64);
sample!(i16, I16);
sample!(i32, I32);
