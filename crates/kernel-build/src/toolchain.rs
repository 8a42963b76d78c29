//! Finds nvcc: `NVCC`, `CUDA_HOME`, a `.cuda/` folder in the workspace (the pinned wheels), `PATH`,
//! `/usr/local/cuda`, in this order; the pinned one before whatever `PATH` has, so that a build is
//! the same on every machine.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;

/// The line that installs nvcc where it is found.
pub const INSTALL: &str = "python3 -m pip install --target .cuda -r requirements-cuda.txt";

/// A working nvcc.
#[derive(Debug, Clone)]
pub struct Nvcc {
    /// The program, symbolic links resolved: nvcc finds its tree from the path it is started by.
    pub program: PathBuf,
    /// Release, such as `13.0`.
    pub release: String,
}

/// Looks for nvcc from `workspace`.
///
/// # Errors
/// If there is none or it does not run; the message names the install line.
pub fn find(workspace: &Path) -> Result<Nvcc> {
    for variable in ["NVCC", "CUDA_HOME", "PATH"] {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    let mut candidates = Vec::new();
    if let Some(nvcc) = std::env::var_os("NVCC") {
        candidates.push(PathBuf::from(nvcc));
    }
    if let Some(home) = std::env::var_os("CUDA_HOME") {
        candidates.push(Path::new(&home).join("bin/nvcc"));
    }
    candidates.push(workspace.join(".cuda/nvidia/cu13/bin/nvcc"));
    if let Some(path) = std::env::var_os("PATH") {
        candidates.extend(std::env::split_paths(&path).map(|folder| folder.join("nvcc")));
    }
    candidates.push(PathBuf::from("/usr/local/cuda/bin/nvcc"));
    let found = candidates.into_iter().find(|path| path.is_file());
    let program = found.ok_or_else(|| {
        format!(
            "no nvcc found (NVCC, CUDA_HOME, .cuda/, PATH, /usr/local/cuda); install it with\n    \
             {INSTALL}\nin the workspace, or build without kernels: TEMBLOR_NO_KERNELS=1"
        )
    })?;
    let resolved = program.canonicalize().unwrap_or_else(|_| program.clone());
    let program = if resolved.file_name() == program.file_name() { resolved } else { program };
    let output = Command::new(&program).arg("--version").output().map_err(|e| {
        format!("{} does not run: {e}; reinstall with {INSTALL}", program.display())
    })?;
    let text = String::from_utf8_lossy(&output.stdout);
    let release = release_of(&text)
        .ok_or_else(|| format!("{} --version is not understood: {text}", program.display()))?;
    Ok(Nvcc { program, release })
}

fn release_of(version: &str) -> Option<String> {
    let (_, rest) = version.split_once("release ")?;
    Some(rest.split(',').next()?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_release_is_read_from_what_nvcc_prints() {
        let text = "Cuda compilation tools, release 13.0, V13.0.88\nBuild cuda_13.0";
        assert_eq!(super::release_of(text).as_deref(), Some("13.0"));
        assert_eq!(super::release_of("clang"), None);
    }
}
