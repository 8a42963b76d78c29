//! Compiles and embeds the kernels of `csrc/cuda`.

use std::path::Path;

fn main() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    if let Err(message) = temblor_kernel_build::cuda::embed(&workspace) {
        println!("cargo::error={}", message.replace('\n', "\ncargo::error="));
    }
}
