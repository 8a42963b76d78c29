//! Number formats of stored arrays and their conversion.

use std::path::Path;

use half::f16;
use ndarray::Array3;

use crate::volume::{Region, Volume, VolumeLayout, write_as};

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

    /// Decodes `bytes` into `out`; what the output type cannot hold is rounded. `bytes` holds
    /// `out.len()` elements.
    ///
    /// # Panics
    /// If the lengths do not fit.
    pub fn decode<R: Real>(self, order: ByteOrder, bytes: &[u8], out: &mut [R]) {
        R::decode_all(self, order, bytes, out);
    }

    fn decode_as<R: Real>(self, order: ByteOrder, bytes: &[u8], out: &mut [R]) {
        assert_eq!(bytes.len(), out.len() * self.bytes(), "bytes of {} elements", out.len());
        match self {
            Self::F16 => {
                decode_with(order, bytes, out, |b| R::of_f32(f16::from_le_bytes(b).to_f32()));
            }
            Self::F32 => decode_with(order, bytes, out, |b| R::of_f32(f32::from_le_bytes(b))),
            Self::F64 => decode_with(order, bytes, out, |b| R::of_f64(f64::from_le_bytes(b))),
            Self::I16 => {
                decode_with(order, bytes, out, |b| R::of_f32(i16::from_le_bytes(b).into()));
            }
            Self::I32 => {
                decode_with(order, bytes, out, |b| R::of_f64(i32::from_le_bytes(b).into()));
            }
        }
    }

    /// Appends the bytes of `values`; integers take the nearest whole number.
    ///
    /// # Errors
    /// The position of the first value that the element cannot hold; what is before it is appended.
    pub fn encode<R: Real>(
        self,
        order: ByteOrder,
        values: &[R],
        out: &mut Vec<u8>,
    ) -> std::result::Result<(), usize> {
        R::encode_all(self, order, values, out)
    }

    fn encode_as<R: Real>(
        self,
        order: ByteOrder,
        values: &[R],
        out: &mut Vec<u8>,
    ) -> std::result::Result<(), usize> {
        match self {
            Self::F16 => encode_with(order, values, out, |v| {
                let single = v.to_f32();
                let half = f16::from_f32(single);
                (half.is_infinite() == single.is_infinite()).then(|| half.to_le_bytes())
            }),
            Self::F32 => encode_with(order, values, out, |v| {
                let single = v.to_f32();
                (single.is_infinite() == v.to_f64().is_infinite()).then(|| single.to_le_bytes())
            }),
            Self::F64 => encode_with(order, values, out, |v| Some(v.to_f64().to_le_bytes())),
            Self::I16 => encode_with(order, values, out, |v| {
                whole(v.to_f64()).and_then(|v| i16::try_from(v).ok()).map(i16::to_le_bytes)
            }),
            Self::I32 => encode_with(order, values, out, |v| {
                whole(v.to_f64()).and_then(|v| i32::try_from(v).ok()).map(i32::to_le_bytes)
            }),
        }
    }
}

/// The nearest whole number of a finite value.
fn whole(value: f64) -> Option<i64> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "saturates, and the caller's range is less"
    )]
    value.is_finite().then(|| value.round() as i64)
}

fn decode_with<R, const N: usize>(
    order: ByteOrder,
    bytes: &[u8],
    out: &mut [R],
    from_little: impl Fn([u8; N]) -> R,
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

fn encode_with<R: Copy, const N: usize>(
    order: ByteOrder,
    values: &[R],
    out: &mut Vec<u8>,
    to_little: impl Fn(R) -> Option<[u8; N]>,
) -> std::result::Result<(), usize> {
    out.reserve(values.len() * N);
    for (n, &value) in values.iter().enumerate() {
        let mut bytes = to_little(value).ok_or(n)?;
        if order == ByteOrder::Big {
            bytes.reverse();
        }
        out.extend_from_slice(&bytes);
    }
    Ok(())
}

/// A number that arrays are read into and written from: `f32`, or `f64` where 24 bits of a stored
/// double or integer are too few.
///
/// The hidden functions are loops over all numbers. As methods of two types they are compiled in this
/// crate; as generic functions they would be in each caller's, without optimisation where that is
/// built without, which is ten times slower.
pub trait Real:
    Copy + Default + std::fmt::Display + std::fmt::Debug + PartialOrd + sealed::Sealed + 'static
{
    /// The nearest number to a single.
    fn of_f32(value: f32) -> Self;
    /// The nearest number to a double.
    fn of_f64(value: f64) -> Self;
    /// The nearest single.
    fn to_f32(self) -> f32;
    /// The nearest double.
    fn to_f64(self) -> f64;
    #[doc(hidden)]
    fn decode_all(element: Element, order: ByteOrder, bytes: &[u8], out: &mut [Self]);
    #[doc(hidden)]
    fn encode_all(
        element: Element,
        order: ByteOrder,
        values: &[Self],
        out: &mut Vec<u8>,
    ) -> std::result::Result<(), usize>;
    #[doc(hidden)]
    fn read_region(
        volume: &Volume,
        start: [usize; 3],
        shape: [usize; 3],
    ) -> crate::Result<Array3<Self>>;
    #[doc(hidden)]
    fn write_volume(
        path: &Path,
        layout: &VolumeLayout,
        region: &mut Region<'_, Self>,
        go_on: &mut dyn FnMut(u64) -> bool,
    ) -> crate::Result<()>;
}

/// The loops of [`Real`], the same for both types.
macro_rules! loops {
    () => {
        fn decode_all(element: Element, order: ByteOrder, bytes: &[u8], out: &mut [Self]) {
            element.decode_as(order, bytes, out);
        }
        fn encode_all(
            element: Element,
            order: ByteOrder,
            values: &[Self],
            out: &mut Vec<u8>,
        ) -> std::result::Result<(), usize> {
            element.encode_as(order, values, out)
        }
        fn read_region(
            volume: &Volume,
            start: [usize; 3],
            shape: [usize; 3],
        ) -> crate::Result<Array3<Self>> {
            volume.region(start, shape)
        }
        fn write_volume(
            path: &Path,
            layout: &VolumeLayout,
            region: &mut Region<'_, Self>,
            go_on: &mut dyn FnMut(u64) -> bool,
        ) -> crate::Result<()> {
            write_as(path, layout, region, go_on)
        }
    };
}

impl Real for f32 {
    loops!();
    fn of_f32(value: f32) -> Self {
        value
    }
    #[expect(clippy::cast_possible_truncation, reason = "rounding is documented")]
    fn of_f64(value: f64) -> Self {
        value as Self
    }
    fn to_f32(self) -> f32 {
        self
    }
    fn to_f64(self) -> f64 {
        self.into()
    }
}

impl Real for f64 {
    loops!();
    fn of_f32(value: f32) -> Self {
        value.into()
    }
    fn of_f64(value: f64) -> Self {
        value
    }
    #[expect(clippy::cast_possible_truncation, reason = "rounding is documented")]
    fn to_f32(self) -> f32 {
        self as f32
    }
    fn to_f64(self) -> f64 {
        self
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
