//! A folder with a run file, and the command.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A small 2-D run in a folder of its own.
pub(crate) struct Folder {
    pub(crate) dir: tempfile::TempDir,
}

/// A run file that runs in a fraction of a second.
pub(crate) const SMALL: &str = r#"
[grid]
shape = [61, 1, 41]
spacing = [10.0, 10.0, 10.0]
[model]
vp = { constant = 2000.0 }
[time]
duration = 0.3
cfl_fraction = 0.9
[boundary]
other = { kind = "cpml", cells = 10 }
[source]
wavelet = { kind = "ricker", peak_hz = 15.0 }
positions = [[300.0, 0.0, 200.0]]
[receivers]
interval = 0.004
line = { from = [100.0, 0.0, 100.0], to = [500.0, 0.0, 100.0], count = 5 }
[output]
traces = "shot.npy"
"#;

/// Five shots that take a few tenths of a second each on `cpu-ref`, so that a kill finds one
/// running.
pub(crate) const SLOW_SURVEY: &str = r#"
[grid]
shape = [151, 1, 151]
spacing = [10.0, 10.0, 10.0]
[model]
vp = { constant = 2000.0 }
[time]
duration = 2.0
cfl_fraction = 0.5
[boundary]
z_min = "free"
other = { kind = "cpml", cells = 10 }
[shots]
wavelet = { kind = "ricker", peak_hz = 15.0 }
line = { from = [300.0, 0.0, 20.0], to = [1200.0, 0.0, 20.0], count = 5 }
[receivers]
interval = 0.004
line = { from = [100.0, 0.0, 20.0], to = [1400.0, 0.0, 20.0], count = 14 }
[output]
traces = "all.sgy"
"#;

impl Folder {
    /// A folder whose `run.toml` is `text`.
    pub(crate) fn with(text: &str) -> Self {
        let folder = Self { dir: tempfile::tempdir().unwrap() };
        folder.write("run.toml", text.as_bytes());
        folder
    }

    /// The small run with one piece of its text replaced.
    pub(crate) fn small(from: &str, to: &str) -> Self {
        Self::with(&replaced(SMALL, from, to))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.path(name), bytes).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// Names of the files here, sorted, hidden ones included.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.dir.path()).unwrap();
        let mut names: Vec<_> =
            entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// Runs `temblor` here.
    pub(crate) fn temblor(&self, args: &[&str]) -> Done {
        let output = command(self.dir.path(), args).output().unwrap();
        Done::of(&output)
    }

    /// Starts `temblor` here.
    pub(crate) fn start(&self, args: &[&str]) -> Child {
        command(self.dir.path(), args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }
}

/// `text` with one piece replaced, which must be there.
pub(crate) fn replaced(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "`{from}` is not in the run file");
    text.replacen(from, to, 1)
}

/// The command, to be run in a folder.
pub(crate) fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_temblor"));
    command.args(args).current_dir(folder).stdin(Stdio::null());
    // The user's tune cache must not decide what tests run.
    command.env("XDG_CACHE_HOME", folder.join("cache"));
    command
}

/// What a finished command said.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Done {
    pub(crate) fn of(output: &Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Asserts an exit code and pieces of what was said on stderr.
    #[track_caller]
    pub(crate) fn says(self, code: i32, pieces: &[&str]) -> Self {
        assert_eq!(self.code, Some(code), "{}{}", self.stdout, self.stderr);
        for piece in pieces {
            assert!(self.stderr.contains(piece), "no `{piece}` in: {}", self.stderr);
        }
        self
    }
}

/// Waits until `ready` holds, or the child ends, or a minute has passed.
#[track_caller]
pub(crate) fn wait_for(child: &mut Child, ready: impl Fn() -> bool) {
    let start = Instant::now();
    while !ready() {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it could be stopped");
        assert!(start.elapsed() < Duration::from_secs(60), "nothing happened for a minute");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Bytes of an npy file of little-endian f4, C order.
pub(crate) fn npy_f4(shape: &[usize], values: &[f32]) -> Vec<u8> {
    let shape: String = shape.iter().map(|n| format!("{n}, ")).collect();
    let mut text = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({shape}), }}");
    while (10 + text.len() + 1) % 64 != 0 {
        text.push(' ');
    }
    text.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(u16::try_from(text.len()).unwrap().to_le_bytes());
    bytes.extend(text.as_bytes());
    values.iter().for_each(|v| bytes.extend(v.to_le_bytes()));
    bytes
}

/// Shape and samples of an npy file that temblor wrote as f4.
pub(crate) fn read_npy_f4(bytes: &[u8]) -> (String, Vec<f32>) {
    let length = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let text = String::from_utf8_lossy(&bytes[10..10 + length]).into_owned();
    assert!(text.contains("'<f4'"), "{text}");
    let shape = text.split("'shape': (").nth(1).unwrap().split(')').next().unwrap().to_owned();
    let data = &bytes[10 + length..];
    (shape, data.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect())
}
