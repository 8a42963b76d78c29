//! Kernels compiled at run time by NVRTC, kept as machine code in the user's cache.
//!
//! A file's name holds a hash of text, options and architecture, and the compiler's version. Without
//! NVRTC, code that an earlier run or another machine left there still serves; driver and cache are
//! then enough.
#![expect(unsafe_code, reason = "NVRTC is a C library")]

use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use cudarc::nvrtc::{result, sys};
use temblor_backend::{Error, Result};

use crate::ID;

/// What this file calls; cudarc panics where one is missing.
const SYMBOLS: [&str; 8] = [
    "nvrtcVersion",
    "nvrtcCreateProgram",
    "nvrtcCompileProgram",
    "nvrtcGetProgramLogSize",
    "nvrtcGetProgramLog",
    "nvrtcGetCUBINSize",
    "nvrtcGetCUBIN",
    "nvrtcDestroyProgram",
];

/// Machine code and where it is from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cubin {
    /// ELF image.
    pub bytes: Vec<u8>,
    /// Compiler, such as `nvrtc 13.0`.
    pub made_by: String,
}

fn failed(call: &str, what: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::Driver { backend: ID.into(), call: call.into(), source: what.into() }
}

/// Libraries that the linker does not find by itself: where toolkits and Python wheels put them.
fn preload() {
    let mut folders: Vec<PathBuf> = ["CUDA_HOME", "CUDA_PATH"]
        .iter()
        .filter_map(std::env::var_os)
        .flat_map(|home| ["lib64", "lib"].map(|lib| Path::new(&home).join(lib)))
        .collect();
    folders.extend(["/usr/local/cuda/lib64", "/usr/local/cuda-13.0/lib64"].map(PathBuf::from));
    for folder in folders {
        // The compiler looks for its builtins by name: they are loaded before it.
        for stem in ["libnvrtc-builtins.so.13.0", "libnvrtc.so.13"] {
            let file = folder.join(stem);
            if file.exists() {
                // SAFETY: loading NVRTC runs its initialisers, as linking it would.
                if let Ok(library) = unsafe { libloading::Library::new(&file) } {
                    std::mem::forget(library);
                }
            }
        }
    }
}

/// Version of NVRTC, or why there is none.
fn version() -> &'static Result<(i32, i32), String> {
    static VERSION: OnceLock<Result<(i32, i32), String>> = OnceLock::new();
    VERSION.get_or_init(|| {
        // SAFETY: loading the library runs its initialisers, as linking it would.
        if !unsafe { sys::is_culib_present() } {
            preload();
        }
        // SAFETY: as above.
        if !unsafe { sys::is_culib_present() } {
            return Err(
                "NVRTC (libnvrtc.so.13) is not on this machine: install the CUDA 13 toolkit, \
                        or `pip install nvidia-cuda-nvrtc==13.0.*` and add its lib folder to \
                        LD_LIBRARY_PATH"
                    .into(),
            );
        }
        // SAFETY: present, as tested above.
        let library = unsafe { sys::culib() };
        for symbol in SYMBOLS {
            // SAFETY: only the address is looked up; nothing is called through it.
            let found = unsafe { library.get::<*const ()>(symbol.as_bytes()) };
            if found.is_err() {
                return Err(format!("libnvrtc lacks {symbol}: install that of CUDA 13"));
            }
        }
        let (mut major, mut minor) = (0, 0);
        // SAFETY: both arguments are valid places for an int.
        let status = unsafe { sys::nvrtcVersion(&raw mut major, &raw mut minor) };
        status.result().map_err(|error| format!("nvrtcVersion: {error:?}"))?;
        Ok((major, minor))
    })
}

/// `$XDG_CACHE_HOME/temblor/patch`, else in `~/.cache`; none on a machine without a home.
pub(super) fn folder() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let cache = match set("XDG_CACHE_HOME") {
        Some(folder) => PathBuf::from(folder),
        None => PathBuf::from(set("HOME")?).join(".cache"),
    };
    Some(cache.join("temblor").join("patch"))
}

/// FNV-1a with 128 bits (Fowler, Noll and Vo): stable from build to build, which std's hash is not.
pub(super) fn hash(parts: &[&[u8]]) -> u128 {
    let mut hash = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128;
    for part in parts {
        // The length keeps parts apart.
        for byte in (part.len() as u64).to_le_bytes().iter().chain(*part) {
            hash ^= u128::from(*byte);
            hash = hash.wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
    }
    hash
}

fn whole(bytes: Vec<u8>) -> Option<Vec<u8>> {
    (bytes.len() > 64 && bytes.starts_with(b"\x7fELF")).then_some(bytes)
}

/// Machine code for a card of a compute capability (90 for 9.0), from the cache or compiled.
///
/// # Errors
/// [`Error::Driver`]: no NVRTC, with what to install; or the first line of what it says of the text.
pub fn cubin(source: &str, capability: i32, contract: bool) -> Result<Cubin> {
    cubin_in(folder().as_deref(), source, capability, contract)
}

fn cubin_in(folder: Option<&Path>, source: &str, capability: i32, contract: bool) -> Result<Cubin> {
    // Bulk copies and more need the exact architecture.
    let suffix = if capability == 90 { "a" } else { "" };
    let options = [
        format!("--gpu-architecture=sm_{capability}{suffix}"),
        format!("--fmad={contract}"),
        "--std=c++17".into(),
        "--device-as-default-execution-space".into(),
    ];
    let joined = options.join(" ");
    let key = format!("{:032x}", hash(&[source.as_bytes(), joined.as_bytes()]));
    let version = version();
    if let Some(found) = folder.and_then(|folder| find(folder, &key, version.as_ref().ok())) {
        return Ok(found);
    }
    let (major, minor) = match version {
        Ok(version) => *version,
        Err(what) => return Err(failed("dlopen(libnvrtc.so)", what.clone())),
    };
    let made_by = format!("nvrtc {major}.{minor}");
    let bytes = compile(source, &options)?;
    if let Some(folder) = folder {
        // A cache that cannot be written costs time, no more.
        let name = format!("{key}-{major}.{minor}.cubin");
        let part = folder.join(format!("{name}.{}.part", std::process::id()));
        let kept = std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&part, &bytes))
            .and_then(|()| std::fs::rename(&part, folder.join(&name)));
        if kept.is_err() {
            let _ = std::fs::remove_file(&part);
        }
    }
    Ok(Cubin { bytes, made_by })
}

/// Code in the cache: of this version of the compiler, or of any where there is no compiler.
fn find(folder: &Path, key: &str, version: Option<&(i32, i32)>) -> Option<Cubin> {
    let read = |name: &str, made_by: String| {
        let bytes = whole(std::fs::read(folder.join(name)).ok()?)?;
        Some(Cubin { bytes, made_by })
    };
    if let Some((major, minor)) = version {
        let made_by = format!("nvrtc {major}.{minor}");
        return read(&format!("{key}-{major}.{minor}.cubin"), made_by);
    }
    let names = std::fs::read_dir(folder)
        .ok()?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.into_iter().find_map(|name| {
        let version = name.strip_prefix(key)?.strip_prefix('-')?.strip_suffix(".cubin")?;
        read(&name, format!("nvrtc {version} (cached)"))
    })
}

struct Program(sys::nvrtcProgram);

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: created by `compile`, destroyed once.
        let _ = unsafe { result::destroy_program(self.0) };
    }
}

fn compile(source: &str, options: &[String]) -> Result<Vec<u8>> {
    let text = CString::new(source).map_err(|e| failed("nvrtcCreateProgram", e))?;
    let program = result::create_program(&text, Some(c"patch.cu"))
        .map_err(|e| failed("nvrtcCreateProgram", format!("{e:?}")))?;
    let program = Program(program);
    // SAFETY: the program lives, and so does its text.
    let done = unsafe { result::compile_program(program.0, options) };
    if let Err(error) = done {
        // SAFETY: the program lives.
        let log = unsafe { result::get_program_log(program.0) }.unwrap_or_default();
        let log: Vec<u8> = log.iter().map(|&c| c.cast_unsigned()).take_while(|&c| c != 0).collect();
        let log = String::from_utf8_lossy(&log).into_owned();
        let first = log.lines().find(|line| line.contains("error")).or(log.lines().next());
        let what = first.map_or_else(|| format!("{error:?}"), str::to_owned);
        return Err(failed("nvrtcCompileProgram", what));
    }
    let mut size = 0;
    // SAFETY: the program lives and was compiled; the second argument is a place for a size.
    let status = unsafe { sys::nvrtcGetCUBINSize(program.0, &raw mut size) };
    status.result().map_err(|e| failed("nvrtcGetCUBINSize", format!("{e:?}")))?;
    let mut bytes = vec![0u8; size];
    // SAFETY: the buffer holds as many bytes as the compiler asked for.
    let status = unsafe { sys::nvrtcGetCUBIN(program.0, bytes.as_mut_ptr().cast()) };
    status.result().map_err(|e| failed("nvrtcGetCUBIN", format!("{e:?}")))?;
    whole(bytes).ok_or_else(|| failed("nvrtcGetCUBIN", "the compiler gave no machine code"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_of_nothing_is_that_of_its_length() {
        // FNV-1a of no byte is its offset; parts of other lengths differ though the bytes agree.
        assert_eq!(hash(&[]), 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
        assert_ne!(hash(&[b"ab", b"c"]), hash(&[b"a", b"bc"]));
    }

    #[test]
    fn cached_code_serves_without_a_compiler_and_a_broken_file_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let image = [b"\x7fELF".as_slice(), &[0; 80]].concat();
        std::fs::write(folder.path().join("ab-13.0.cubin"), &image).unwrap();
        let found = find(folder.path(), "ab", None).unwrap();
        assert_eq!((found.bytes, found.made_by.as_str()), (image, "nvrtc 13.0 (cached)"));
        assert!(find(folder.path(), "ab", Some(&(13, 1))).is_none());
        std::fs::write(folder.path().join("ab-13.0.cubin"), "half").unwrap();
        assert!(find(folder.path(), "ab", Some(&(13, 0))).is_none());
    }
}
