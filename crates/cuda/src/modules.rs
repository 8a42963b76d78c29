//! Embedded modules, each loaded once per backend, when a kernel in it is first needed.
//!
//! The build knows which file holds which kernel, so nothing is looked for where it is not: a module
//! for a newer card is never tried on an older one, and no driver call fails on the way.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::{CudaContext, CudaFunction, CudaModule};
use cudarc::nvrtc::Ptx;
use temblor_backend::{Error, Result};

use crate::sys::{self, failed};
use crate::{BLOBS, Blob, ID};

/// Modules of a context.
#[derive(Debug)]
pub(crate) struct Modules {
    context: Arc<CudaContext>,
    loaded: Mutex<HashMap<&'static str, Arc<CudaModule>>>,
}

impl Modules {
    pub(crate) fn new(context: &Arc<CudaContext>) -> Self {
        Self { context: context.clone(), loaded: Mutex::default() }
    }

    /// A kernel by name.
    pub(crate) fn function(&self, name: &str) -> Result<CudaFunction> {
        let blob = blob_of(name)?;
        let module = self.module(blob)?;
        module.load_function(name).map_err(failed(&format!("cuModuleGetFunction({name})")))
    }

    /// Most shared memory of a block on the device, bytes.
    pub(crate) fn shared_limit(&self) -> Result<i32> {
        Ok(i32::try_from(sys::shared_per_block(&self.context)?).unwrap_or(i32::MAX))
    }

    fn module(&self, blob: &'static Blob) -> Result<Arc<CudaModule>> {
        // A thread that panicked while it held the lock left the table whole.
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(module) = loaded.get(blob.name) {
            return Ok(module.clone());
        }
        let module = self.context.load_module(Ptx::from_binary(blob.bytes.to_vec())).map_err(
            failed(&format!("cuModuleLoadData({}: {})", blob.name, blob.archs.join(", "))),
        )?;
        loaded.insert(blob.name, module.clone());
        Ok(module)
    }
}

/// The file that holds a kernel.
fn blob_of(name: &str) -> Result<&'static Blob> {
    let what = if BLOBS.is_empty() {
        "any problem: this binary was built with TEMBLOR_NO_KERNELS=1; build it again without"
            .into()
    } else {
        format!("kernel {name}, which this build ({}) does not hold", crate::COMPILER)
    };
    BLOBS
        .iter()
        .find(|blob| blob.kernels.contains(&name))
        .ok_or_else(|| Error::Unsupported { backend: ID.into(), what })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_is_in_one_file() {
        let all: Vec<_> = BLOBS.iter().flat_map(|blob| blob.kernels).collect();
        for name in &all {
            assert_eq!(all.iter().filter(|other| other == &name).count(), 1, "{name}");
            assert!(blob_of(name).unwrap().kernels.contains(name));
        }
        assert!(blob_of("no such kernel").is_err());
    }
}
