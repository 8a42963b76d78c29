//! What survives a kill, a full disk, Ctrl-C and an unstable run.

use std::process::Command;
use std::time::Duration;

use rstest::rstest;

use crate::support::{Done, Folder, SLOW_SURVEY, SMALL, command, read_npy_f4, replaced, wait_for};

const RUN: [&str; 4] = ["run", "run.toml", "--backend", "cpu-ref"];
const RESUME: [&str; 5] = ["run", "run.toml", "--backend", "cpu-ref", "--resume"];

/// The slow survey with other traces and a checkpoint at every chunk of steps.
fn survey(traces: &str, checkpoint: bool) -> String {
    let line = format!("traces = \"{traces}\"\nreport = \"report.json\"");
    let line = if checkpoint { line + "\ncheckpoint = 0.0" } else { line };
    replaced(SLOW_SURVEY, "traces = \"all.sgy\"", &line)
}

/// Trace files of a folder with their bytes.
fn traces(folder: &Folder) -> Vec<(String, Vec<u8>)> {
    let names = folder.names().into_iter();
    let names = names.filter(|n| !n.starts_with("run.") && !n.starts_with("report."));
    names.map(|name| (name.clone(), folder.read(&name))).collect()
}

fn finished(folder: &Folder, journal: &str) -> usize {
    let text = std::fs::read_to_string(folder.path(journal)).unwrap_or_default();
    text.lines().filter(|line| line.contains("traces_so_far")).count()
}

#[track_caller]
fn equal(a: &[(String, Vec<u8>)], b: &[(String, Vec<u8>)]) {
    let names = |all: &[(String, Vec<u8>)]| all.iter().map(|f| f.0.clone()).collect::<Vec<_>>();
    assert_eq!(names(a), names(b));
    for (a, b) in a.iter().zip(b) {
        assert!(a.1 == b.1, "{} differs", a.0);
    }
}

#[rstest]
#[case::one_file("all.sgy", "all.sgy.journal", false)]
#[case::one_file_with_checkpoints("all.sgy", "all.sgy.journal", true)]
#[case::one_array("all.npy", "all.npy.journal", true)]
#[case::one_su_file("all.su", "all.su.journal", true)]
#[case::one_rsf_file("all.rsf", "all.rsf.journal", false)]
#[case::file_per_shot("s{id}.sgy", "sall.sgy.journal", false)]
#[case::file_per_shot_with_checkpoints("s{id}.npy", "sall.npy.journal", true)]
fn a_killed_run_resumes_to_the_same_bytes(
    #[case] name: &str,
    #[case] journal: &str,
    #[case] checkpoint: bool,
) {
    let whole = Folder::with(&survey(name, false));
    whole.temblor(&RUN).says(0, &[]);
    let killed = Folder::with(&survey(name, checkpoint));
    let mut child = killed.start(&RUN);
    let marker = killed.path(&journal.replace(".journal", ".checkpoint"));
    wait_for(&mut child, || finished(&killed, journal) >= 2 && (!checkpoint || marker.exists()));
    // Into the next shot, wherever that is.
    std::thread::sleep(Duration::from_millis(30));
    child.kill().unwrap();
    child.wait().unwrap();
    let done = finished(&killed, journal);
    assert!((2..5).contains(&done), "{done} shots were finished when it was killed");
    let refused = ["is of a run that was interrupted", "--resume", "--force"];
    killed.temblor(&RUN).says(2, &refused);
    killed.temblor(&RESUME).says(0, &[&format!("{done} of 5 shots are finished already")]);
    equal(&traces(&killed), &traces(&whole));
    let report: serde_json::Value = serde_json::from_slice(&killed.read("report.json")).unwrap();
    let other: serde_json::Value = serde_json::from_slice(&whole.read("report.json")).unwrap();
    assert_eq!(report["shots"]["samples_checksum"], other["shots"]["samples_checksum"]);
    assert_eq!(report["shots"]["run_now"], 5 - done);
    killed.temblor(&RESUME).says(0, &["is complete"]);
}

#[test]
fn a_run_killed_again_and_again_comes_to_its_end_with_the_same_bytes() {
    let whole = Folder::with(&survey("all.sgy", false));
    whole.temblor(&RUN).says(0, &[]);
    let killed = Folder::with(&survey("all.sgy", true));
    let mut kills = 0;
    // Pauses that walk over the phases of a shot; each is long enough for some chunks.
    for pause in (100..).step_by(37) {
        let mut child = killed.start(&RESUME);
        std::thread::sleep(Duration::from_millis(pause));
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success());
            break;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        kills += 1;
    }
    assert!(kills >= 2, "killed only {kills} times");
    equal(&traces(&killed), &traces(&whole));
}

#[test]
fn a_mid_shot_checkpoint_is_gone_on_with() {
    let folder = Folder::with(&survey("all.sgy", true));
    let mut child = folder.start(&RUN);
    wait_for(&mut child, || folder.path("all.sgy.checkpoint").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    folder.temblor(&RESUME).says(0, &["going on from step"]);
    assert!(!folder.path("all.sgy.checkpoint").exists());
}

#[test]
fn a_changed_run_is_not_resumed() {
    let folder = Folder::with(&survey("all.sgy", false));
    let mut child = folder.start(&RUN);
    wait_for(&mut child, || finished(&folder, "all.sgy.journal") >= 1);
    child.kill().unwrap();
    child.wait().unwrap();
    let text = survey("all.sgy", false);
    folder.write("run.toml", replaced(&text, "peak_hz = 15.0", "peak_hz = 14.0").as_bytes());
    folder.temblor(&RESUME).says(2, &["changed since", "wavelets", "--force"]);
    folder.write("run.toml", replaced(&text, "constant = 2000.0", "constant = 2001.0").as_bytes());
    folder.temblor(&RESUME).says(2, &["changed since", "model"]);
    folder.write("run.toml", replaced(&text, "count = 14", "count = 13").as_bytes());
    folder.temblor(&RESUME).says(2, &["changed since", "receivers"]);
    folder.temblor(&["run", "run.toml", "--force"]).says(0, &[]);
    assert_eq!(folder.names(), ["all.sgy", "report.json", "run.toml"]);
}

#[test]
fn two_runs_do_not_write_the_same_files() {
    let folder = Folder::with(&survey("all.sgy", false));
    let mut child = folder.start(&RUN);
    wait_for(&mut child, || finished(&folder, "all.sgy.journal") >= 1);
    folder.temblor(&RESUME).says(7, &["another run is writing"]);
    assert!(child.wait().unwrap().success());
}

#[test]
fn ctrl_c_stops_soon_keeps_finished_shots_and_can_be_resumed() {
    let whole = Folder::with(&survey("all.sgy", false));
    whole.temblor(&RUN).says(0, &[]);
    let folder = Folder::with(&survey("all.sgy", true));
    let mut child = folder.start(&RUN);
    wait_for(&mut child, || finished(&folder, "all.sgy.journal") >= 1);
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!folder.path("all.sgy").exists(), "a file that is not complete has no name");
    folder.temblor(&RESUME).says(0, &["shots are finished already", "going on from step"]);
    equal(&traces(&folder), &traces(&whole));
}

#[test]
fn a_run_stopped_before_anything_is_done_leaves_nothing() {
    let folder = Folder::with(&survey("all.sgy", false));
    let mut child = folder.start(&RUN);
    wait_for(&mut child, || folder.path("all.sgy.journal").exists());
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(folder.names(), ["run.toml"]);
}

#[test]
fn a_complete_run_is_not_resumed_for_another_run_file() {
    let text =
        replaced(SMALL, "traces = \"shot.npy\"", "traces = \"shot.npy\"\nreport = \"shot.json\"");
    let folder = Folder::with(&text);
    folder.temblor(&["run", "run.toml"]).says(0, &[]);
    folder.temblor(&["run", "run.toml", "--resume"]).says(0, &["is complete"]);
    folder.write("run.toml", replaced(&text, "peak_hz = 15.0", "peak_hz = 14.0").as_bytes());
    folder.temblor(&["run", "run.toml", "--resume"]).says(2, &["is complete", "differs"]);
}

#[test]
fn an_unstable_run_stops_names_the_place_and_keeps_the_traces_so_far() {
    // Damping far above one makes the layer's own recursion grow.
    let text = replaced(
        SMALL,
        "kind = \"cpml\", cells = 10",
        "kind = \"minimod\", cells = 10, eta_peak = 40.0",
    );
    let folder = Folder::with(&replaced(&text, "duration = 0.3", "duration = 4.0"));
    let done = folder
        .temblor(&["run", "run.toml"])
        .says(5, &["unstable", "at step", "node [", "lower dt"]);
    assert_eq!(folder.names(), ["run.toml", "shot.unstable1.npy"]);
    let (shape, samples) = read_npy_f4(&folder.read("shot.unstable1.npy"));
    assert_eq!(shape, "5, 1001");
    assert!(samples.iter().all(|v| v.is_finite()), "{}", done.stderr);
    assert!(samples.iter().any(|v| v.abs() > 0.0), "{}", done.stderr);
}

#[test]
fn a_full_disk_loses_no_finished_shot() {
    let whole = Folder::with(&survey("all.npy", false));
    whole.temblor(&RUN).says(0, &[]);
    // Room for two shots of 14 traces of 501 samples and the headers, not for three.
    let (shot, room) = (14 * 501 * 4, 70_000);
    let disk = SmallDisk::new(&survey("all.npy", false), room);
    let done = disk.temblor(&RUN);
    done.says(7, &["shot 3", "all.npy.part"]);
    let folder = &disk.folder;
    assert_eq!(finished(folder, "all.npy.journal"), 2);
    let kept = folder.read("all.npy.part");
    let expected = whole.read("all.npy");
    let head = expected.len() - 5 * shot;
    assert!(kept[..head + 2 * shot] == expected[..head + 2 * shot], "finished shots are intact");
    disk.enlarge();
    folder.temblor(&RESUME).says(0, &["2 of 5 shots are finished already"]);
    assert!(folder.read("all.npy") == expected);
}

/// A folder on a disk of few bytes: a tmpfs where one may be mounted, else a limit on the size of
/// files, which fails writes at the same place.
struct SmallDisk {
    folder: Folder,
    mounted: bool,
    bytes: usize,
}

impl SmallDisk {
    fn new(text: &str, bytes: usize) -> Self {
        let folder = Folder::with("");
        let size = format!("size={bytes}");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &size, "tmpfs"])
            .arg(folder.dir.path())
            .output()
            .is_ok_and(|output| output.status.success());
        folder.write("run.toml", text.as_bytes());
        Self { folder, mounted, bytes }
    }

    fn temblor(&self, args: &[&str]) -> Done {
        if self.mounted {
            return self.folder.temblor(args);
        }
        // A file that would outgrow the limit (in blocks of 1024 bytes) fails with EFBIG once the
        // signal that goes with it is ignored.
        let script = format!("trap '' XFSZ; ulimit -f {}; exec \"$0\" \"$@\"", self.bytes / 1024);
        let inner = command(self.folder.dir.path(), args);
        let mut shell = Command::new("bash");
        shell.arg("-c").arg(script).arg(inner.get_program()).args(args);
        Done::of(&shell.current_dir(self.folder.dir.path()).output().unwrap())
    }

    fn enlarge(&self) {
        if self.mounted {
            let remount = ["-o", "remount,size=10m"];
            let status = Command::new("mount").args(remount).arg(self.folder.dir.path()).status();
            assert!(status.unwrap().success());
        }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        if self.mounted {
            let _ = Command::new("umount").arg(self.folder.dir.path()).status();
        }
    }
}
