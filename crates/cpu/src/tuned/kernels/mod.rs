//! Row kernels, one set per instruction set and radius, chosen when a plan is made.

#![allow(unsafe_code, reason = "kernels work on raw rows through intrinsics")]
#![allow(
    clippy::multiple_unsafe_ops_per_block,
    reason = "one contract covers all addresses that a kernel forms"
)]

mod cpml;
mod minimod;
mod roofs;
mod simd;
mod step;

pub(super) use cpml::{CpmlArgs, Profile};
pub(super) use minimod::MinimodArgs;
pub(crate) use roofs::{RoofKernels, StreamArgs};
pub(super) use step::{StepArgs, Weights};

/// Values per vector of the widest instruction set; rows are padded to a multiple of it.
pub(super) const WIDEST: usize = 16;

/// An instruction set that kernels exist for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Isa {
    /// AVX-512F, 16 lanes.
    Avx512,
    /// AVX2 and FMA, 8 lanes.
    Avx2,
    /// NEON, 4 lanes.
    Neon,
    /// Whatever the compiler's base target has; products are rounded before sums.
    Portable,
}

impl Isa {
    /// Instruction sets of this processor, fastest first; never empty.
    #[must_use]
    pub fn available() -> Vec<Self> {
        let mut found = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f") {
                found.push(Self::Avx512);
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                found.push(Self::Avx2);
            }
        }
        #[cfg(target_arch = "aarch64")]
        if std::arch::is_aarch64_feature_detected!("neon") {
            found.push(Self::Neon);
        }
        found.push(Self::Portable);
        found
    }

    /// Architecture token of device lists: `avx512`, `avx2`, `neon`, `portable`.
    #[must_use]
    pub const fn token(self) -> &'static str {
        match self {
            Self::Avx512 => "avx512",
            Self::Avx2 => "avx2",
            Self::Neon => "neon",
            Self::Portable => "portable",
        }
    }
}

type StepRow = unsafe fn(&StepArgs<'_>);
type CpmlRow = unsafe fn(&CpmlArgs<'_>);
type MinimodRow = unsafe fn(&MinimodArgs);

/// The kernels of a plan. Each is unsafe to call: see the module of the same name.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kernels {
    /// Plain step of one plane and of two.
    pub(super) step: [StepRow; 2],
    /// Step with what layers add, of one plane and of two.
    pub(super) step_extra: [StepRow; 2],
    /// C-PML of x or y.
    pub(super) cpml: CpmlRow,
    /// C-PML of z.
    pub(super) cpml_z: CpmlRow,
    /// Outside a C-PML, within one radius.
    pub(super) cpml_near: CpmlRow,
    /// Minimod's phi.
    pub(super) minimod: MinimodRow,
    /// Minimod's damping.
    pub(super) minimod_damp: MinimodRow,
}

/// One function per kernel, radius and instruction set.
macro_rules! instantiate {
    ($module:ident, $simd:ident $(, $feature:literal)?) => {
        mod $module {
            use super::simd::$simd;
            use super::*;

            $(#[target_feature(enable = $feature)])?
            unsafe fn step<const R: usize, const Y: bool, const EXTRA: bool, const P: usize>(
                a: &StepArgs<'_>,
            ) {
                // SAFETY: the same contract.
                unsafe { step::step::<$simd, R, Y, EXTRA, P>(a) }
            }

            $(#[target_feature(enable = $feature)])?
            unsafe fn cpml<const R: usize, const VARY: bool>(a: &CpmlArgs<'_>) {
                // SAFETY: the same contract.
                unsafe { cpml::inside::<$simd, R, VARY>(a) }
            }

            $(#[target_feature(enable = $feature)])?
            unsafe fn cpml_near<const R: usize>(a: &CpmlArgs<'_>) {
                // SAFETY: the same contract.
                unsafe { cpml::near::<$simd, R>(a) }
            }

            $(#[target_feature(enable = $feature)])?
            unsafe fn auxiliary(a: &MinimodArgs) {
                // SAFETY: the same contract.
                unsafe { minimod::auxiliary::<$simd>(a) }
            }

            $(#[target_feature(enable = $feature)])?
            unsafe fn damp(a: &MinimodArgs) {
                // SAFETY: the same contract.
                unsafe { minimod::damp::<$simd>(a) }
            }

            $(#[target_feature(enable = $feature)])?
            unsafe fn stream<const PATTERN: usize>(a: &StreamArgs) {
                // SAFETY: the same contract.
                unsafe { roofs::stream::<$simd, PATTERN>(a) }
            }

            $(#[target_feature(enable = $feature)])?
            unsafe fn multiply_adds(turns: u64) -> f32 {
                // SAFETY: the same contract.
                unsafe { roofs::multiply_adds::<$simd>(turns) }
            }

            pub(super) fn roof_kernels() -> RoofKernels {
                RoofKernels {
                    stream: [stream::<0>, stream::<1>, stream::<2>, stream::<3>, stream::<4>],
                    multiply_adds,
                    flops_per_turn: roofs::flops_per_turn::<$simd>(),
                }
            }

            fn table<const R: usize>(y: bool) -> Kernels {
                Kernels {
                    step: if y {
                        [step::<R, true, false, 1>, step::<R, true, false, 2>]
                    } else {
                        [step::<R, false, false, 1>, step::<R, false, false, 2>]
                    },
                    step_extra: if y {
                        [step::<R, true, true, 1>, step::<R, true, true, 2>]
                    } else {
                        [step::<R, false, true, 1>, step::<R, false, true, 2>]
                    },
                    cpml: cpml::<R, false>,
                    cpml_z: cpml::<R, true>,
                    cpml_near: cpml_near::<R>,
                    minimod: auxiliary,
                    minimod_damp: damp,
                }
            }

            pub(super) fn kernels(radius: usize, y: bool) -> Kernels {
                match radius {
                    1 => table::<1>(y),
                    2 => table::<2>(y),
                    3 => table::<3>(y),
                    4 => table::<4>(y),
                    5 => table::<5>(y),
                    6 => table::<6>(y),
                    7 => table::<7>(y),
                    8 => table::<8>(y),
                    _ => unreachable!("orders 2 to 16 have radius 1 to 8, not {radius}"),
                }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
instantiate!(avx512, Avx512, "avx512f");
#[cfg(target_arch = "x86_64")]
instantiate!(avx2, Avx2, "avx2,fma");
#[cfg(target_arch = "aarch64")]
instantiate!(neon, Neon, "neon");
instantiate!(portable, Portable);

impl Kernels {
    /// Kernels for an instruction set that [`Isa::available`] names.
    ///
    /// # Panics
    /// If `radius` is not in 1..=8.
    pub(super) fn new(isa: Isa, radius: usize, y: bool) -> Self {
        match isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => avx512::kernels(radius, y),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => avx2::kernels(radius, y),
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => neon::kernels(radius, y),
            _ => portable::kernels(radius, y),
        }
    }
}

impl RoofKernels {
    /// Kernels for an instruction set that [`Isa::available`] names.
    pub(crate) fn new(isa: Isa) -> Self {
        match isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => avx512::roof_kernels(),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => avx2::roof_kernels(),
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => neon::roof_kernels(),
            _ => portable::roof_kernels(),
        }
    }
}
