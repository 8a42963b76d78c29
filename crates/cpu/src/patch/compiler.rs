//! The host's C compiler and the libraries that it made, kept from run to run.
//!
//! A library is found again by a hash of the text, the flags and all that the compiler predefines,
//! which names its version and, with `-march=native`, the instructions of this processor. The text lies
//! beside the library and is compared, so that a hash that two texts share does no harm.

use std::collections::HashMap;
use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};
use std::{env, fs, io};

/// A C compiler that answers.
#[derive(Debug, Clone)]
pub(crate) struct Compiler {
    command: OsString,
    /// Name and version, such as `gcc 12.2.0`.
    pub(crate) name: String,
    /// What it predefines, hashed.
    identity: u64,
    /// Flags for this processor.
    native: Vec<&'static str>,
}

/// Flag that fits code to this processor.
const NATIVE: &str = "-march=native";

/// Flags that make full use of 512 bits: whole vectors, and gathers as instructions. Compilers that are
/// older than the processor tune for none in particular and avoid both (gcc 12 on Emerald Rapids: CCZ4
/// took 1.4 times as long).
const WIDE: [&str; 2] = ["-mtune=icelake-server", "-mprefer-vector-width=512"];

impl Compiler {
    /// The compiler that `CC` names, else `cc`; or why there is none.
    pub(crate) fn host() -> Result<Self, String> {
        let command = env::var_os("CC").filter(|name| !name.is_empty()).unwrap_or("cc".into());
        static KNOWN: OnceLock<Mutex<HashMap<OsString, Result<Compiler, String>>>> =
            OnceLock::new();
        let known = KNOWN.get_or_init(Mutex::default);
        let mut known = known.lock().expect("no thread panics while it holds the list");
        known.entry(command.clone()).or_insert_with(|| Self::probe(command)).clone()
    }

    fn probe(command: OsString) -> Result<Self, String> {
        let shown = command.to_string_lossy().into_owned();
        let ask = |flags: &[&str]| {
            Command::new(&command)
                .args(flags)
                .args(["-dM", "-E", "-x", "c", "-"])
                .stdin(Stdio::null())
                .output()
        };
        let output = ask(&[NATIVE])
            .map_err(|error| format!("no C compiler: `{shown}` cannot be run ({error})"))?;
        let macros = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() || !macros.contains("__STDC__") {
            return Err(format!("no C compiler: `{shown}` does not answer as gcc and clang do"));
        }
        let value = |name: &str| {
            let define = format!("#define {name} ");
            macros.lines().find_map(|line| line.strip_prefix(&define)).unwrap_or("").to_owned()
        };
        let name = if macros.contains("__clang_version__") {
            format!("clang {}", value("__clang_version__").trim_matches(['"', ' ']))
        } else {
            let [major, minor, patch] =
                ["__GNUC__", "__GNUC_MINOR__", "__GNUC_PATCHLEVEL__"].map(value);
            format!("gcc {major}.{minor}.{patch}")
        };
        let mut hasher = DefaultHasher::new();
        macros.hash(&mut hasher);
        let mut native = vec![NATIVE];
        if macros.contains("__AVX512F__") && ask(&WIDE).is_ok_and(|output| output.status.success())
        {
            native.extend(WIDE);
        }
        Ok(Self { command, name, identity: hasher.finish(), native })
    }

    /// What it is called by.
    pub(crate) fn command(&self) -> &OsString {
        &self.command
    }

    /// A library of a text, from the cache or compiled now.
    pub(crate) fn library(&self, name: &str, text: &str, flags: &[&str]) -> io::Result<PathBuf> {
        self.find(name, text, flags, true)
    }

    /// The same for a text that only asks whether it can be compiled.
    pub(crate) fn probe_library(
        &self,
        name: &str,
        text: &str,
        flags: &[&str],
    ) -> io::Result<PathBuf> {
        self.find(name, text, flags, false)
    }

    /// A library of a text; a text that is refused stays for the user to look at if `kept`.
    fn find(&self, name: &str, text: &str, flags: &[&str], kept: bool) -> io::Result<PathBuf> {
        let mut hasher = DefaultHasher::new();
        (self.identity, text, flags, &self.native, &self.command).hash(&mut hasher);
        let folder = folder()?;
        let stem = format!("{name}-{:016x}", hasher.finish());
        let (source, library) =
            (folder.join(format!("{stem}.c")), folder.join(format!("{stem}.so")));
        if library.is_file() && fs::read_to_string(&source).is_ok_and(|known| known == text) {
            return Ok(library);
        }
        // Under names of its own first: other processes may be at the same kernel.
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let own = format!("{stem}.{}.{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let (own_source, own_library) =
            (folder.join(format!("{own}.c")), folder.join(format!("{own}.so")));
        fs::write(&own_source, text)?;
        let compiled = self.compile(&own_source, &own_library, flags);
        if let Err(error) = compiled {
            let _ = fs::remove_file(&own_library);
            if !kept {
                let _ = fs::remove_file(&own_source);
            }
            return Err(error);
        }
        // The library before the text: one is valid only with the other.
        fs::rename(&own_library, &library)?;
        fs::rename(&own_source, &source)?;
        Ok(library)
    }

    fn compile(&self, source: &Path, library: &Path, flags: &[&str]) -> io::Result<()> {
        let output = Command::new(&self.command)
            .args(flags)
            .args(&self.native)
            .args(["-shared", "-fPIC", "-o"])
            .arg(library)
            .arg(source)
            .arg("-lm")
            .stdin(Stdio::null())
            .output()?;
        if output.status.success() {
            return Ok(());
        }
        let says = String::from_utf8_lossy(&output.stderr);
        let first: Vec<&str> = says.lines().take(8).collect();
        let compiler = self.command.to_string_lossy();
        Err(io::Error::other(format!(
            "`{compiler}` refuses {}:\n{}",
            source.display(),
            first.join("\n")
        )))
    }
}

/// Where libraries are kept: `temblor/patch` in `XDG_CACHE_HOME`, else in `~/.cache`, else among
/// temporary files.
fn folder() -> io::Result<PathBuf> {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")));
    if let Some(folder) = cache.map(|cache| cache.join("temblor").join("patch"))
        && fs::create_dir_all(&folder).is_ok()
        && !fs::metadata(&folder)?.permissions().readonly()
    {
        return Ok(folder);
    }
    // Others may write among temporary files, so the folder must be of this process's making.
    static OWN: OnceLock<Option<PathBuf>> = OnceLock::new();
    let own = OWN.get_or_init(|| {
        let now = std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0, |time| time.as_nanos());
        let folder = env::temp_dir().join(format!("temblor-patch-{}-{now}", std::process::id()));
        fs::create_dir(&folder).is_ok().then_some(folder)
    });
    own.clone().ok_or_else(|| io::Error::other("no folder for compiled kernels can be written"))
}
