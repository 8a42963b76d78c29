//! From gathers and snapshots to files, so that a crash at any time loses no finished shot.
//!
//! A file appears under its name when it is complete. Until then traces stand in `NAME.part`, and a
//! journal, `NAME.journal`, says which shots are in them; both are synced shot by shot, traces
//! first. `--resume` reads the journal, cuts off what follows the last finished shot and goes on.

mod journal;
mod leftovers;
mod picture;
pub mod report;
mod trace_file;

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use temblor_backend::HostArray;
use temblor_io::{AtomicFile, Element, Format, atomic, npy, vti};
use temblor_solver::{BoxError, Gather, Shot, Sink, Snapshot, Survey};

use crate::exit::Failure;
use crate::runfile::schema::SnapshotFormat;
use crate::runfile::{OutputSpec, SHOT_PLACEHOLDER};

use journal::Journal;
pub use journal::{Fingerprint, FinishedShot};
use trace_file::{Geometry, TraceFile};

/// What to do about what an earlier run left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// Refuse if an interrupted run would be lost.
    Fresh,
    /// Throw an interrupted run away.
    Force,
    /// Go on with it.
    Resume,
}

/// The files of a run.
pub struct Outputs {
    spec: OutputSpec,
    geometry: Geometry,
    journal: Journal,
    /// The growing file of a run with one file for all shots.
    growing: Option<TraceFile>,
    resuming: bool,
    first_shot: u32,
}

/// What [`Outputs::open`] finds.
pub enum Opened {
    /// Shots are to be run.
    Ready(Box<Outputs>),
    /// All files are there and no run was interrupted.
    NothingToDo,
}

impl Outputs {
    /// Makes folders, finds what an earlier run left and starts or continues the files.
    ///
    /// # Errors
    /// [`Failure::Output`] if a folder cannot be written, [`Failure::BadInput`] if an earlier run
    /// is in the way or another one left the journal.
    pub fn open(
        spec: &OutputSpec,
        survey: &Survey,
        fingerprint: &Fingerprint,
        start: Start,
    ) -> anyhow::Result<Opened> {
        let geometry = Geometry::new(spec, survey);
        geometry.check(&spec.traces)?;
        check_folders(spec, true)?;
        let path = journal_path(spec);
        if start == Start::Resume && !path.exists() {
            if survey.shots.iter().all(|shot| file_of(spec, shot.id).exists()) {
                same_as_reported(spec, fingerprint)?;
                return Ok(Opened::NothingToDo);
            }
            tracing::info!("no interrupted run is here; starting from the first shot");
        }
        let journal = match start {
            Start::Resume if path.exists() => Journal::resume(&path, fingerprint)?,
            Start::Fresh if path.exists() && something_done(spec) => {
                let done = Journal::finished_in(&path);
                let total = survey.shots.len();
                return Err(Failure::input(format!(
                    "{} is of a run that was interrupted with {done} of {total} shots finished: \
                     --resume goes on with it, --force throws it away",
                    path.display()
                ))
                .into());
            }
            _ => Journal::create(&path, fingerprint)?,
        };
        // The journal is locked from here on: no other run of these names is under way.
        leftovers::remove(spec);
        let resuming = !journal.is_new();
        let first_shot = survey.shots[0].id;
        let mut outputs =
            Self { spec: spec.clone(), geometry, journal, growing: None, resuming, first_shot };
        if !resuming {
            let _ = std::fs::remove_file(outputs.checkpoint_path());
        }
        if !spec.per_shot() && outputs.journal.finished().len() < survey.shots.len() {
            outputs.growing = Some(outputs.open_growing()?);
        }
        Ok(Opened::Ready(Box::new(outputs)))
    }

    fn open_growing(&self) -> anyhow::Result<TraceFile> {
        let part = part_of(&self.spec.traces);
        let traces = self.journal.finished().last().map_or(0, |shot| shot.traces_so_far);
        let file = if traces > 0 {
            TraceFile::resume(&part, &self.geometry, traces).map_err(Failure::input)?
        } else {
            TraceFile::create(&part, &self.geometry, self.geometry.all_traces)
                .map_err(Failure::output)?
        };
        Ok(file)
    }

    /// Shots finished by now, in order.
    #[must_use]
    pub fn finished(&self) -> &[FinishedShot] {
        self.journal.finished()
    }

    /// Gives the files their names. The journal stays until [`Outputs::close`].
    ///
    /// # Errors
    /// [`Failure::Output`].
    pub fn finish(&mut self) -> anyhow::Result<()> {
        if let Some(growing) = self.growing.take() {
            growing.finish().map_err(Failure::output)?;
        }
        let part = part_of(&self.spec.traces);
        // Missing if an earlier run was killed just after the renaming.
        if !self.spec.per_shot() && part.exists() {
            atomic::rename_durably(&part, &self.spec.traces).map_err(Failure::output)?;
        }
        Ok(())
    }

    /// Leaves an interrupted or failed run so that it can be gone on with; if there is nothing to go
    /// on from, nothing is left.
    pub fn leave(self) {
        if self.journal.finished().is_empty() && !self.checkpoint_path().exists() {
            let _ = std::fs::remove_file(part_of(&self.spec.traces));
            self.journal.remove();
        }
    }

    /// Removes what only an interrupted run needs.
    pub fn close(self) {
        let _ = std::fs::remove_file(self.checkpoint_path());
        self.journal.remove();
    }

    fn checkpoint_path(&self) -> PathBuf {
        checkpoint_of(&self.spec)
    }

    fn draw(&self, shot: &Shot, gather: &Gather) -> Result<(), BoxError> {
        let Some(path) = &self.spec.picture else { return Ok(()) };
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let every = name.contains(SHOT_PLACEHOLDER);
        if !every && shot.id != self.first_shot {
            return Ok(());
        }
        let path = path.with_file_name(name.replace(SHOT_PLACEHOLDER, &format!("{:04}", shot.id)));
        picture::write(&path, &file_of(&self.spec, shot.id), shot, gather)
    }

    fn checkpoint_head(&self, shot: &Shot) -> String {
        format!("temblor checkpoint {} shot {}\n", self.journal.fingerprint().digest(), shot.id)
    }
}

impl Sink for Outputs {
    fn gather(&mut self, shot: &Shot, gather: &Gather) -> Result<(), BoxError> {
        // First, so that a shot that the journal calls finished has its picture.
        self.draw(shot, gather)?;
        if let Some(growing) = &mut self.growing {
            growing.append(shot, gather)?;
            growing.sync()?;
        } else {
            let path = file_of(&self.spec, shot.id);
            let part = part_of(&path);
            let mut file = TraceFile::create(&part, &self.geometry, shot.receivers.len())?;
            file.append(shot, gather)?;
            file.finish()?;
            atomic::rename_durably(&part, &path)?;
        }
        self.journal.append(shot, gather)?;
        Ok(())
    }

    fn partial(&mut self, shot: &Shot, gather: &Gather, step: u64) -> Result<(), BoxError> {
        let path = file_of(&self.spec, shot.id);
        let suffix = path.extension().map(|e| e.to_string_lossy().into_owned()).unwrap_or_default();
        let path = path.with_extension(format!("unstable{}.{suffix}", shot.id));
        let part = part_of(&path);
        let mut file = TraceFile::create(&part, &self.geometry, shot.receivers.len())?;
        file.append(shot, gather)?;
        file.finish()?;
        atomic::rename_durably(&part, &path)?;
        tracing::warn!(
            "traces of shot {} up to step {step}, the last sound one, are in {}",
            shot.id,
            path.display()
        );
        Ok(())
    }

    fn snapshot(&mut self, shot: &Shot, snapshot: &Snapshot) -> Result<(), BoxError> {
        let Some((_, format, folder)) = &self.spec.snapshots else { return Ok(()) };
        let name = format!("shot{:04}_step{:06}", shot.id, snapshot.step);
        match format {
            SnapshotFormat::Npy => {
                let path = folder.join(name + ".npy");
                match &snapshot.values {
                    HostArray::F32(values) => {
                        let (nx, ny, nz) = values.dim();
                        let mut writer = npy::writer::<f32>(&path, &[nx, ny, nz])?;
                        writer.write_planes(&values.view())?;
                        writer.finish()?;
                    }
                    HostArray::F64(values) => {
                        let (nx, ny, nz) = values.dim();
                        let mut writer = npy::writer::<f64>(&path, &[nx, ny, nz])?;
                        writer.write_planes(&values.view())?;
                        writer.finish()?;
                    }
                }
            }
            SnapshotFormat::Rsf => {
                let path = folder.join(name + ".rsf");
                match &snapshot.values {
                    HostArray::F32(values) => write_rsf(&path, snapshot, &values.view())?,
                    HostArray::F64(values) => write_rsf(&path, snapshot, &values.view())?,
                }
            }
            SnapshotFormat::Vti => {
                let single = match &snapshot.values {
                    HostArray::F32(values) => values.view(),
                    HostArray::F64(values) => {
                        #[expect(clippy::cast_possible_truncation, reason = "VTI takes singles")]
                        let single = values.mapv(|v| v as f32);
                        return Ok(write_vti(folder, &name, snapshot, &single.view())?);
                    }
                };
                write_vti(folder, &name, snapshot, &single)?;
            }
        }
        Ok(())
    }

    fn save_checkpoint(
        &mut self,
        shot: &Shot,
        write: &mut dyn FnMut(&mut dyn Write) -> temblor_solver::Result<()>,
    ) -> Result<(), BoxError> {
        let mut file = Committed(AtomicFile::create(self.checkpoint_path(), None)?);
        file.write_all(self.checkpoint_head(shot).as_bytes())?;
        write(&mut file)?;
        file.0.commit()?;
        Ok(())
    }

    fn open_checkpoint(&mut self, shot: &Shot) -> Result<Option<Box<dyn Read>>, BoxError> {
        if !self.resuming {
            return Ok(None);
        }
        let Ok(file) = std::fs::File::open(self.checkpoint_path()) else { return Ok(None) };
        let mut file = std::io::BufReader::with_capacity(1 << 20, file);
        let wanted = self.checkpoint_head(shot);
        let mut head = vec![0; wanted.len()];
        // One of an earlier shot is left over, and no use to this one.
        if file.read_exact(&mut head).is_err() || head != wanted.as_bytes() {
            return Ok(None);
        }
        Ok(Some(Box::new(file)))
    }
}

fn write_rsf<R: temblor_io::Real>(
    path: &Path,
    snapshot: &Snapshot,
    values: &ndarray::ArrayView3<'_, R>,
) -> temblor_io::Result<()> {
    let (nx, ny, nz) = values.dim();
    let layout = temblor_io::volume::VolumeLayout {
        format: Format::Rsf,
        shape: [nx, ny, nz],
        element: if size_of::<R>() > 4 { Element::F64 } else { Element::F32 },
        order: temblor_io::ByteOrder::Little,
        fortran: false,
        spacing: Some(snapshot.spacing),
        origin: snapshot.origin,
        name: "pressure".into(),
    };
    let region = |a: [usize; 3], n: [usize; 3]| {
        let end = [a[0] + n[0], a[1] + n[1], a[2] + n[2]];
        Ok(values.slice(ndarray::s![a[0]..end[0], a[1]..end[1], a[2]..end[2]]).to_owned())
    };
    temblor_io::volume::write(path, &layout, region, |_| true)
}

fn write_vti(
    folder: &Path,
    name: &str,
    snapshot: &Snapshot,
    values: &ndarray::ArrayView3<'_, f32>,
) -> temblor_io::Result<()> {
    let (nx, ny, nz) = values.dim();
    let header = vti::VtiHeader {
        shape: [nx, ny, nz],
        spacing: snapshot.spacing,
        origin: snapshot.origin,
        name: "pressure".into(),
    };
    vti::write(folder.join(format!("{name}.vti")), &header, values)
}

/// An [`AtomicFile`] as a writer.
struct Committed(AtomicFile);

impl Write for Committed {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(bytes).map_err(std::io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Whether the traces fit their format.
///
/// # Errors
/// [`Failure::BadInput`] with the value and what would fit.
pub fn check_traces(spec: &OutputSpec, survey: &Survey) -> Result<(), Failure> {
    Geometry::new(spec, survey).check(&spec.traces)
}

/// Whether the files of a complete run are those of this one, as far as its report says.
fn same_as_reported(spec: &OutputSpec, fingerprint: &Fingerprint) -> Result<(), Failure> {
    let Some(path) = &spec.report else { return Ok(()) };
    let report = std::fs::read(path).ok();
    let report: Option<serde_json::Value> = report.and_then(|r| serde_json::from_slice(&r).ok());
    let reported = report.as_ref().and_then(|report| report["fingerprint"].as_str());
    if reported.is_none_or(|reported| reported == fingerprint.digest()) {
        return Ok(());
    }
    Err(Failure::BadInput(format!(
        "{} is complete, and {} says that it was made by a run that differs from this one: run \
         without --resume to replace it",
        spec.traces.display(),
        path.display()
    )))
}

/// Whether an earlier run left anything to go on from.
fn something_done(spec: &OutputSpec) -> bool {
    Journal::finished_in(&journal_path(spec)) > 0 || checkpoint_of(spec).exists()
}

/// Whether every folder that the run writes to can be written, before anything is computed; folders
/// that do not exist are made if `make`.
///
/// # Errors
/// [`Failure::Output`] that names the folder.
pub fn check_folders(spec: &OutputSpec, make: bool) -> Result<(), Failure> {
    let mut folders = vec![parent_of(&spec.traces)];
    folders.extend(spec.report.as_deref().map(parent_of));
    folders.extend(spec.picture.as_deref().map(parent_of));
    folders.extend(spec.snapshots.as_ref().map(|(.., folder)| folder.as_path()));
    for folder in folders {
        let unusable = |why: &dyn std::fmt::Display| {
            Failure::Output(format!(
                "the output folder {} cannot be written ({why}): change [output] or the folder's \
                 permissions",
                folder.display()
            ))
        };
        if make {
            std::fs::create_dir_all(folder).map_err(|e| unusable(&e))?;
        }
        // A folder that is to be made needs a parent that can be written.
        let mut probed = folder;
        while !probed.exists() && parent_of(probed) != probed {
            probed = parent_of(probed);
        }
        // Dropped, which removes it again: the only sure way to know.
        AtomicFile::create(probed.join("temblor-probe"), None).map_err(|e| unusable(&e))?;
    }
    if spec.traces.is_dir() {
        let path = spec.traces.display();
        return Err(Failure::Output(format!("[output] traces {path} is a folder: name a file")));
    }
    Ok(())
}

/// Makes a folder and those above it; an empty name is the folder that one is in.
///
/// # Errors
/// [`Failure::Output`] that names the folder.
pub fn make_folder(folder: &Path) -> Result<(), Failure> {
    if folder.as_os_str().is_empty() {
        return Ok(());
    }
    std::fs::create_dir_all(folder).map_err(|error| {
        Failure::output(format!("cannot make the folder {}: {error}", folder.display()))
    })
}

fn parent_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// File of a shot's traces.
fn file_of(spec: &OutputSpec, shot: u32) -> PathBuf {
    named(spec, &format!("{shot:04}"))
}

/// Name under which files that belong to all shots stand.
fn file_for_all(spec: &OutputSpec) -> PathBuf {
    named(spec, "all")
}

fn named(spec: &OutputSpec, text: &str) -> PathBuf {
    let name = spec.traces.file_name().unwrap_or_default().to_string_lossy();
    spec.traces.with_file_name(name.replace(SHOT_PLACEHOLDER, text))
}

fn journal_path(spec: &OutputSpec) -> PathBuf {
    with_suffix(&file_for_all(spec), ".journal")
}

fn checkpoint_of(spec: &OutputSpec) -> PathBuf {
    with_suffix(&file_for_all(spec), ".checkpoint")
}

fn part_of(path: &Path) -> PathBuf {
    with_suffix(path, ".part")
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
