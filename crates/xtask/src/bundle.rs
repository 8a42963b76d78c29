//! `cargo xtask bundle`: one folder with all that a machine with a card and without Rust needs.
//!
//! ```text
//! bundle/go.sh          runs the parts
//! bundle/manifest.json  commit, compilers, profiles, bytes of each file
//! bundle/bin            temblor, throughput, arithmetic_rates, arithmetic_table, storage_rates, patch_rates
//! bundle/tests          test programs that need a card
//! bundle/examples       run files with their models
//! ```
//! Programs are stripped. Tests that need a compiler (stand-in drivers) stay at home.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

/// What the device machines take along at most, bytes.
const LIMIT: u64 = 64 << 20;

/// How to bundle.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Options {
    quick: bool,
    out: PathBuf,
}

/// A program of the bundle.
struct Program {
    /// Folder and name in the bundle.
    at: &'static str,
    /// Arguments of cargo that build it.
    build: &'static [&'static str],
    /// Whether it is timed, and so built for release.
    timed: bool,
}

const PROGRAMS: &[Program] = &[
    program("bin/temblor", &["-p", "temblor", "--features", "cuda", "--bin", "temblor"], true),
    program("bin/throughput", &["-p", "temblor-cuda", "--example", "throughput"], true),
    program("bin/arithmetic_rates", &["-p", "temblor-cuda", "--example", "arithmetic_rates"], true),
    program(
        "bin/arithmetic_table",
        &["-p", "temblor", "--features", "cuda", "--example", "arithmetic_table"],
        true,
    ),
    program("bin/storage_rates", &["-p", "temblor-cuda", "--example", "storage_rates"], true),
    program("bin/patch_rates", &["-p", "temblor-cuda", "--example", "patch_rates"], true),
    program(
        "tests/conformance",
        &["-p", "temblor", "--features", "cuda", "--test", "conformance"],
        false,
    ),
    program("tests/physics", &["-p", "temblor", "--features", "cuda", "--test", "physics"], false),
    program("tests/agreement", &["-p", "temblor-cuda", "--test", "agreement"], false),
    program("tests/card", &["-p", "temblor-cuda", "--test", "card"], false),
    program("tests/stored", &["-p", "temblor-cuda", "--test", "stored"], false),
    program("tests/digits_card", &["-p", "temblor-cuda", "--test", "digits_card"], false),
    program("tests/patch_card", &["-p", "temblor-cuda", "--test", "patch_card"], false),
    program(
        "tests/patch_chunks_card",
        &["-p", "temblor-cuda", "--test", "patch_chunks_card"],
        false,
    ),
    program("tests/patch_sets_card", &["-p", "temblor-cuda", "--test", "patch_sets_card"], false),
];

const fn program(at: &'static str, build: &'static [&'static str], timed: bool) -> Program {
    Program { at, build, timed }
}

/// Data beside the programs.
const FOLDERS: &[&str] = &["examples"];

const GO: &str = include_str!("go.sh");

impl Options {
    pub(crate) fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut options = Self { quick: false, out: workspace().join("bundle") };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match argument.as_str() {
                "--quick" => options.quick = true,
                "--out" => {
                    options.out = rest.next().ok_or("--out takes a folder")?.into();
                }
                other => return Err(format!("bundle takes --quick and --out, not `{other}`")),
            }
        }
        Ok(options)
    }
}

fn workspace() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.join("../..").canonicalize().unwrap_or_else(|_| own.to_owned())
}

/// Builds and copies.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    if !options.out.join("manifest.json").exists() && options.out.exists() {
        let out = options.out.display();
        return Err(format!("{out} exists and is no bundle: move it away or give another --out"));
    }
    let _ = std::fs::remove_dir_all(&options.out);
    // What marks the folder as a bundle comes first: one that was cut short can be made again.
    let manifest_file = options.out.join("manifest.json");
    std::fs::create_dir_all(&options.out).map_err(|e| format!("{}: {e}", options.out.display()))?;
    write(&manifest_file, "{}")?;
    let mut files = Vec::new();
    for program in PROGRAMS {
        let release = program.timed && !options.quick;
        let built = build(program, release)?;
        let to = options.out.join(program.at);
        copy(&built, &to)?;
        strip(&to);
        files.push(json!({
            "file": program.at,
            "profile": if release { "release" } else { "dev" },
            "bytes": size(&to),
        }));
    }
    for folder in FOLDERS {
        for file in tracked(folder)? {
            let to = options.out.join(&file);
            copy(&workspace().join(&file), &to)?;
            files.push(json!({ "file": file, "bytes": size(&to) }));
        }
    }
    let go = options.out.join("go.sh");
    write(&go, GO)?;
    executable(&go)?;
    let manifest = json!({
        "commit": output("git", &["describe", "--always", "--dirty", "--abbrev=40"]),
        "rustc": output("rustc", &["--version"]),
        "target": std::env::consts::ARCH.to_owned() + "-" + std::env::consts::OS,
        "files": files,
    });
    let text = serde_json::to_string_pretty(&manifest).map_err(|e| e.to_string())?;
    write(&manifest_file, &text)?;
    tell(options, &manifest)
}

fn tell(options: &Options, manifest: &Value) -> Result<(), String> {
    let files = manifest["files"].as_array().ok_or("the manifest has files")?;
    let bytes: u64 = files.iter().filter_map(|file| file["bytes"].as_u64()).sum();
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    for file in files.iter().filter(|file| file["profile"].is_string()) {
        let name = file["file"].as_str().unwrap_or_default();
        let size = mib(file["bytes"].as_u64().unwrap_or(0));
        println!("  {name:20} {size:6.1} MiB  {}", file["profile"].as_str().unwrap_or_default());
    }
    let out = options.out.display();
    println!("{out}: {:.1} MiB, commit {}", mib(bytes), manifest["commit"]);
    if bytes > LIMIT {
        println!("this is above {} MiB: strip it, or leave programs out", LIMIT >> 20);
    }
    Ok(())
}

/// Builds a program and gives its path, as cargo tells it.
fn build(program: &Program, release: bool) -> Result<PathBuf, String> {
    let test = program.build.contains(&"--test");
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(workspace()).arg(if test { "test" } else { "build" });
    if test {
        command.arg("--no-run");
    }
    if release {
        command.arg("--release");
    }
    let output = command
        .args(program.build)
        .args(["--message-format", "json-render-diagnostics"])
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| format!("cargo does not start: {e}"))?;
    if !output.status.success() {
        return Err(format!("{} does not build (cargo {})", program.at, program.build.join(" ")));
    }
    let name = program.at.rsplit('/').next().unwrap_or(program.at);
    executable_of(&String::from_utf8_lossy(&output.stdout), name)
        .ok_or_else(|| format!("cargo names no executable for {}", program.at))
}

/// The executable of target `name` in cargo's messages.
fn executable_of(messages: &str, name: &str) -> Option<PathBuf> {
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["target"]["name"] == name)
        .filter_map(|message| Some(PathBuf::from(message["executable"].as_str()?)))
        .next_back()
}

/// Files of a folder that git tracks, so that outputs of runs stay behind.
fn tracked(folder: &str) -> Result<Vec<String>, String> {
    let list = output("git", &["ls-files", folder]).ok_or("git ls-files fails")?;
    Ok(list.lines().map(ToOwned::to_owned).collect())
}

fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).current_dir(workspace()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    output.status.success().then_some(text)
}

fn strip(program: &Path) {
    let done = Command::new("strip").arg(program).status();
    if !done.is_ok_and(|status| status.success()) {
        eprintln!("strip does not run on {}: it keeps its symbols", program.display());
    }
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let folder = to.parent().ok_or("a file lies in a folder")?;
    std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    std::fs::copy(from, to).map_err(|e| format!("{}: {e}", from.display()))?;
    Ok(())
}

fn write(to: &Path, text: &str) -> Result<(), String> {
    std::fs::write(to, text).map_err(|e| format!("{}: {e}", to.display()))
}

#[cfg(unix)]
fn executable(file: &Path) -> Result<(), String> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755))
        .map_err(|e| format!("{}: {e}", file.display()))
}

#[cfg(not(unix))]
fn executable(_: &Path) -> Result<(), String> {
    Ok(())
}

fn size(file: &Path) -> u64 {
    std::fs::metadata(file).map_or(0, |data| data.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_executable_is_that_of_the_target() {
        let messages = r#"{"reason":"compiler-artifact","target":{"name":"serde"},"executable":null}
{"reason":"compiler-artifact","target":{"name":"physics"},"executable":"/t/physics-1"}
{"reason":"compiler-artifact","target":{"name":"conformance"},"executable":"/t/conformance-2"}
{"reason":"build-finished","success":true}"#;
        assert_eq!(executable_of(messages, "physics"), Some("/t/physics-1".into()));
        assert_eq!(executable_of(messages, "serde"), None);
    }

    #[test]
    fn an_unknown_option_is_refused_by_name() {
        let error = Options::parse(&["--fast".into()]).unwrap_err();
        assert!(error.contains("--fast"), "{error}");
    }

    #[test]
    fn every_test_program_is_run_by_go() {
        for program in PROGRAMS {
            assert!(GO.contains(program.at), "{} is not in go.sh", program.at);
        }
    }
}
