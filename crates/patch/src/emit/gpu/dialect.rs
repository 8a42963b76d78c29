//! The words in which CUDA, HIP and `OpenCL` C differ; the body of a kernel is the same text.

/// A language for GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// CUDA C++ as NVRTC takes it: no headers.
    Cuda,
    /// HIP C++ as clang takes it with neither headers nor device library.
    Hip,
    /// `OpenCL` C 2.0 or newer with doubles and 64-bit atomics.
    OpenCl,
}

impl Dialect {
    /// What stands before the kernels.
    #[must_use]
    pub fn prelude(self) -> &'static str {
        match self {
            Self::Cuda => super::cuda::PRELUDE,
            Self::Hip => super::hip::PRELUDE,
            Self::OpenCl => super::opencl::PRELUDE,
        }
    }

    /// Head of a kernel with its arguments, up to the brace.
    #[must_use]
    pub fn head(self, name: &str, threads: u32, blocks: u32) -> String {
        match self {
            Self::Cuda => super::cuda::head(name, threads, blocks),
            Self::Hip => super::hip::head(name, threads, blocks),
            Self::OpenCl => super::opencl::head(name, threads),
        }
    }
}
