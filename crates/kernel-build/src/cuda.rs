//! Compiles `csrc/cuda/*.cu`, one fat binary per file.
//!
//! A file whose stem ends in `_sm90` uses instructions of that architecture: SASS for `sm_90a` and
//! PTX of `compute_90` for newer cards. Any other file gets SASS for `sm_80`, `sm_90a` and `sm_100`
//! and PTX of `compute_75`. `TEMBLOR_CUDA_ARCHS=90a` (a comma-separated list) narrows this while developing.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Result, bindings, hash, resources, toolchain};

/// Flags for all files: denormals flushed as the contract asks, and no other fast mathematics.
const FLAGS: [&str; 7] =
    ["-fatbin", "-O3", "-std=c++17", "-ftz=true", "-Xptxas", "-v", "-lineinfo"];

/// Compiles and embeds; to be called by the build script of the vendor crate with the workspace's
/// folder.
///
/// # Errors
/// If there is no compiler or a file does not compile; the message says what to do.
pub fn embed(workspace: &Path) -> Result<()> {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("OUT_DIR is set by cargo")?);
    let include = workspace.join("csrc/include");
    println!("cargo::rerun-if-changed={}", include.display());
    let header = read(&include.join("temblor_cuda.h"))?;
    write(&out.join("bindings.rs"), &bindings::translate(&header)?)?;
    write(&out.join("tuning.rs"), &tuning(&workspace.join("csrc/cuda/tuning"))?)?;
    if crate::without_kernels() {
        write(&out.join("kernels.rs"), &table("none", 0, &[]))?;
        return write(&out.join("resources.json"), "[]");
    }
    let folder = workspace.join("csrc/cuda");
    println!("cargo::rerun-if-changed={}", folder.display());
    println!("cargo::rerun-if-env-changed=TEMBLOR_CUDA_ARCHS");
    let nvcc = toolchain::find(workspace)?;
    let mut sources: Vec<_> = std::fs::read_dir(&folder)
        .map_err(|e| format!("{}: {e}", folder.display()))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.is_file())
        .collect();
    sources.sort();
    let mut identity = hash(nvcc.release.as_bytes(), hash(header.as_bytes(), 0));
    for source in &sources {
        identity = hash(read(source)?.as_bytes(), identity);
    }
    let mut blobs = Vec::new();
    let mut log = Vec::new();
    for source in sources.iter().filter(|path| path.extension().is_some_and(|e| e == "cu")) {
        let stem =
            source.file_stem().and_then(|s| s.to_str()).ok_or("a kernel file has no name")?;
        let archs = architectures(stem);
        let blob = out.join(format!("{stem}.fatbin"));
        let stderr = compile(&nvcc, source, &include, &archs, &blob)?;
        let report = resources::parse(stem, &stderr);
        let mut kernels: Vec<_> = report.iter().map(|entry| entry.kernel.clone()).collect();
        kernels.sort();
        kernels.dedup();
        if kernels.is_empty() {
            return Err(format!("{}: the assembler reports no kernel", source.display()));
        }
        log.extend(report);
        blobs.push(Embedded { stem: stem.to_owned(), archs, kernels });
    }
    let log = serde_json::to_string_pretty(&log).map_err(|e| e.to_string())?;
    write(&out.join("resources.json"), &log)?;
    write(&out.join("kernels.rs"), &table(&nvcc.release, identity, &blobs))
}

/// A compiled file.
struct Embedded {
    stem: String,
    archs: Vec<String>,
    /// Entry points, sorted.
    kernels: Vec<String>,
}

/// What a file is compiled for: `sm_*` for machine code, `compute_*` for PTX.
fn architectures(stem: &str) -> Vec<String> {
    if let Ok(list) = std::env::var("TEMBLOR_CUDA_ARCHS") {
        return list.split(',').map(|arch| format!("sm_{arch}")).collect();
    }
    let list: &[&str] = if stem.ends_with("_sm90") {
        &["sm_90a", "compute_90"]
    } else {
        &["sm_80", "sm_90a", "sm_100", "compute_75"]
    };
    list.iter().map(ToString::to_string).collect()
}

fn compile(
    nvcc: &toolchain::Nvcc,
    source: &Path,
    include: &Path,
    archs: &[String],
    blob: &Path,
) -> Result<String> {
    let mut command = Command::new(&nvcc.program);
    command.args(FLAGS).arg("-I").arg(include).arg("-o").arg(blob);
    for arch in archs {
        let number = arch.trim_start_matches("sm_").trim_start_matches("compute_");
        command.arg(format!("-gencode=arch=compute_{number},code={arch}"));
    }
    let output = command
        .arg(source)
        .output()
        .map_err(|e| format!("{} does not start: {e}", nvcc.program.display()))?;
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() {
        Ok(stderr)
    } else {
        let hint = if stderr.contains("Unsupported .version") {
            format!(
                "\nthe wheels do not belong together; delete .cuda and run {}",
                toolchain::INSTALL
            )
        } else {
            String::new()
        };
        Err(format!("nvcc {} on {}:\n{stderr}{hint}", nvcc.release, source.display()))
    }
}

fn table(compiler: &str, identity: u64, blobs: &[Embedded]) -> String {
    let mut text = format!(
        "/// Compiler of the embedded kernels.\npub const COMPILER: &str = \"nvcc {compiler}\";\n\
         /// Hash of kernel sources and compiler.\npub const SOURCES: u64 = {identity:#x};\n\
         /// Embedded kernels, one entry per source file.\npub static BLOBS: &[Blob] = &[\n"
    );
    for Embedded { stem, archs, kernels } in blobs {
        let _ = writeln!(
            text,
            "    Blob {{ name: \"{stem}\", archs: &{archs:?}, kernels: &{kernels:?}, bytes: \
             include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{stem}.fatbin\")) }},"
        );
    }
    text.push_str("];\n");
    text
}

/// The tables of a folder as Rust source: name and text of each.
fn tuning(folder: &Path) -> Result<String> {
    println!("cargo::rerun-if-changed={}", folder.display());
    let entries = std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut tables: Vec<_> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "toml"))
        .collect();
    tables.sort();
    let mut text = String::from(
        "/// Tuning tables: name and text.\npub static TUNING: &[(&str, &str)] = &[\n",
    );
    for table in tables {
        let name = table.file_name().and_then(|s| s.to_str()).ok_or("a table has no name")?;
        let _ = writeln!(text, "    ({name:?}, {:?}),", read(&table)?);
    }
    text.push_str("];\n");
    Ok(text)
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
}
