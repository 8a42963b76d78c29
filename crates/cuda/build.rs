//! Compiles and embeds the kernels of `csrc/cuda`.

use std::path::Path;

fn main() {
    // At run time: a target folder copied to another checkout keeps the compiled script, and what
    // `env!` put into it would be the first checkout's kernels.
    let here = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it for build scripts");
    let workspace = Path::new(&here).join("../..");
    if let Err(message) = temblor_kernel_build::cuda::embed(&workspace) {
        println!("cargo::error={}", message.replace('\n', "\ncargo::error="));
    }
}
