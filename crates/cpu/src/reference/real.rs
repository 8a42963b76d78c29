//! The two floating-point types that the reference computes in.

use std::fmt::Debug;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

use ndarray::{Array2, Array3};
use temblor_backend::HostArray;
use temblor_backend::tables::TraceSamples;

/// `f32` or `f64`.
pub(super) trait Real:
    Copy
    + Debug
    + Default
    + PartialOrd
    + Send
    + Sync
    + 'static
    + Add<Output = Self>
    + AddAssign
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// Bytes of one value.
    const BYTES: usize;

    /// The nearest value.
    fn from_f64(value: f64) -> Self;

    /// Exactly the same value.
    fn to_f64(self) -> f64;

    /// Zero in place of a denormal; NaN stays.
    fn flush(self) -> Self;

    /// Appends the little-endian bytes.
    fn put(self, to: &mut Vec<u8>);

    /// From little-endian bytes, [`Real::BYTES`] of them.
    fn get(from: &[u8]) -> Self;

    /// As an array that the contract gives out.
    fn array(array: Array3<Self>) -> HostArray;

    /// As samples that the contract gives out.
    fn samples(samples: Array2<Self>) -> TraceSamples;
}

macro_rules! real {
    ($type:ty, $variant:ident) => {
        impl Real for $type {
            const BYTES: usize = size_of::<$type>();

            #[allow(clippy::cast_possible_truncation, reason = "f32 is rounded to, as meant")]
            fn from_f64(value: f64) -> Self {
                value as Self
            }

            fn to_f64(self) -> f64 {
                self.into()
            }

            fn flush(self) -> Self {
                if self.abs() < Self::MIN_POSITIVE { 0.0 } else { self }
            }

            fn put(self, to: &mut Vec<u8>) {
                to.extend_from_slice(&self.to_le_bytes());
            }

            fn get(from: &[u8]) -> Self {
                Self::from_le_bytes(from.try_into().expect("the caller cuts BYTES bytes"))
            }

            fn array(array: Array3<Self>) -> HostArray {
                HostArray::$variant(array)
            }

            fn samples(samples: Array2<Self>) -> TraceSamples {
                TraceSamples::$variant(samples)
            }
        }
    };
}

real!(f32, F32);
real!(f64, F64);
