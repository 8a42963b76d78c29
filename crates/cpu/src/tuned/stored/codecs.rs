//! Which loops turn values into codes and back on this processor.

#![allow(
    unsafe_code,
    reason = "functions compiled for more than the base target are unsafe to call"
)]

use temblor_physics::WavefieldStorage;

use super::halves::Plain;
use super::noise::Noise;
use super::tiles::{self, Bf16, Bf16Pair, Fp16, Fp16Scaled, Int16, LANES, Rows, Single, TILE};
use crate::tuned::kernels::Isa;

type Encode = unsafe fn(&[f32], &mut [u16], &mut [i8]);
type EncodeNoisy = unsafe fn(&[f32], &mut [u16], &mut [i8], Noise);
type Decode = unsafe fn(&[u16], &[i8], &mut [f32]);
type Combine = unsafe fn(&mut [f32], [f32; 2], &[f32]);
type DecodeSpeed = unsafe fn(&[u16], f32, f32, &mut [f32]);

/// How a wavefield's rows are stored. All instruction sets give the same bits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Codec {
    storage: WavefieldStorage,
    encode: Encode,
    encode_noisy: EncodeNoisy,
    decode: Decode,
    decode_speed: DecodeSpeed,
    combine: Combine,
}

macro_rules! instantiate {
    ($module:ident, $halves:ty $(, $feature:literal)?) => {
        mod $module {
            use super::*;

            $(#[target_feature(enable = $feature)])?
            unsafe fn encode<R: Rows>(values: &[f32], codes: &mut [u16], exponents: &mut [i8]) {
                // SAFETY: the same contract.
                unsafe { R::encode(values, codes, exponents) }
            }

            $(#[target_feature(enable = $feature)])?
            unsafe fn encode_noisy<R: Rows>(
                values: &[f32],
                codes: &mut [u16],
                exponents: &mut [i8],
                noise: Noise,
            ) {
                // SAFETY: the same contract.
                unsafe { R::encode_noisy(values, codes, exponents, noise) }
            }

            $(#[target_feature(enable = $feature)])?
            unsafe fn decode<R: Rows>(codes: &[u16], exponents: &[i8], values: &mut [f32]) {
                // SAFETY: the same contract.
                unsafe { R::decode(codes, exponents, values) }
            }

            $(#[target_feature(enable = $feature)])?
            unsafe fn decode_speed(codes: &[u16], least: f32, step: f32, c2: &mut [f32]) {
                tiles::decode_speed(codes, least, step, c2);
            }

            $(#[target_feature(enable = $feature)])?
            unsafe fn combine(row: &mut [f32], factors: [f32; 2], p: &[f32]) {
                tiles::combine(row, factors, p);
            }

            fn table<R: Rows>(storage: WavefieldStorage) -> Codec {
                let (encode, encode_noisy) = (encode::<R>, encode_noisy::<R>);
                Codec { storage, encode, encode_noisy, decode: decode::<R>, decode_speed, combine }
            }

            pub(super) fn codec(storage: WavefieldStorage) -> Codec {
                use WavefieldStorage as Storage;
                let table = match storage {
                    Storage::Int16 | Storage::Int16Increment => table::<Int16>,
                    Storage::Bf16 => table::<Bf16>,
                    Storage::Bf16Pair => table::<Bf16Pair>,
                    Storage::Fp16 => table::<Fp16<$halves>>,
                    Storage::Fp16Scaled => table::<Fp16Scaled<$halves>>,
                    // Singles keep everything, whatever is added to the list.
                    _ => table::<Single>,
                };
                table(storage)
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
use super::halves::{Avx512, F16c};

#[cfg(target_arch = "x86_64")]
instantiate!(avx512, Avx512, "avx512f,avx512bw,avx512vl,f16c");
#[cfg(target_arch = "x86_64")]
instantiate!(avx2, F16c, "avx2,fma,f16c");
instantiate!(portable, Plain);

/// Whether the processor has what an instruction set's loops need besides what its kernels need.
fn complete(isa: Isa) -> bool {
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => {
            is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("f16c")
        }
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => is_x86_feature_detected!("f16c"),
        _ => false,
    }
}

impl Codec {
    /// The codec of a storage for an instruction set that [`Isa::available`] names.
    pub(super) fn new(storage: WavefieldStorage, isa: Isa) -> Self {
        match isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 if complete(isa) => avx512::codec(storage),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 if complete(isa) => avx2::codec(storage),
            _ => portable::codec(storage),
        }
    }

    /// Words of 16 bits that a value takes.
    pub(super) const fn words(&self) -> usize {
        match self.storage {
            WavefieldStorage::F32 | WavefieldStorage::Bf16Pair => 2,
            _ => 1,
        }
    }

    /// Exponents of a row of `row` values.
    pub(super) const fn exponents(&self, row: usize) -> usize {
        match self.storage {
            WavefieldStorage::Int16
            | WavefieldStorage::Int16Increment
            | WavefieldStorage::Fp16Scaled => row.div_ceil(TILE),
            _ => 0,
        }
    }

    fn check(&self, values: usize, codes: usize, exponents: usize) {
        assert!(
            values.is_multiple_of(LANES)
                && codes == values * self.words()
                && exponents == self.exponents(values),
            "{values} values, {codes} codes, {exponents} exponents"
        );
    }

    /// Stores values, whole vectors that start at a tile.
    pub(super) fn encode(&self, values: &[f32], codes: &mut [u16], exponents: &mut [i8]) {
        self.check(values.len(), codes.len(), exponents.len());
        // SAFETY: `new` chose functions that the processor can run.
        unsafe { (self.encode)(values, codes, exponents) }
    }

    /// Stores values as [`Codec::encode`] does, rounded stochastically where a value has 16 bits.
    pub(super) fn encode_noisy(
        &self,
        values: &[f32],
        codes: &mut [u16],
        exponents: &mut [i8],
        noise: Noise,
    ) {
        self.check(values.len(), codes.len(), exponents.len());
        // SAFETY: `new` chose functions that the processor can run.
        unsafe { (self.encode_noisy)(values, codes, exponents, noise) }
    }

    /// Reads what [`Codec::encode`] stored.
    pub(super) fn decode(&self, codes: &[u16], exponents: &[i8], values: &mut [f32]) {
        self.check(values.len(), codes.len(), exponents.len());
        // SAFETY: `new` chose functions that the processor can run.
        unsafe { (self.decode)(codes, exponents, values) }
    }

    /// c^2 dt^2 from codes of the wave speed: `(least + code step)^2`, both times dt.
    pub(super) fn decode_speed(&self, codes: &[u16], [least, step]: [f32; 2], c2: &mut [f32]) {
        // SAFETY: `new` chose functions that the processor can run.
        unsafe { (self.decode_speed)(codes, least, step, c2) }
    }

    /// `row = a row + b p`, for sums and differences of rows.
    pub(super) fn combine(&self, row: &mut [f32], factors: [f32; 2], p: &[f32]) {
        // SAFETY: `new` chose functions that the processor can run.
        unsafe { (self.combine)(row, factors, p) }
    }
}
