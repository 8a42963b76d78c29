//! Results of a march as files.

use std::path::{Path, PathBuf};

use ndarray::{Array2, Array4, ArrayView3, Axis, s};
use temblor_io::{npy, vti};
use temblor_patch::Term;
use temblor_solver::patches::{March, Tiling};

use crate::patchfile::PatchJob;
use crate::patchfile::outputs::{Kind, OutputSpec};
use crate::picture::{Colours, Curve, Curves, Direction, Quantity, Section};

/// The outputs of a run, and which frame each is at.
pub(super) struct Files<'a> {
    job: &'a PatchJob,
    folder: &'a Path,
    names: Vec<String>,
    /// Next frame of every output.
    frames: Vec<u64>,
}

impl<'a> Files<'a> {
    pub(super) fn new(job: &'a PatchJob, folder: &'a Path) -> Self {
        Self { job, folder, names: job.names(), frames: vec![0; job.outputs.len()] }
    }

    /// Writes what is due at the start, or counts what an earlier run wrote.
    pub(super) fn start(&mut self, march: &mut March, fresh: bool) -> anyhow::Result<()> {
        let time = march.status().time;
        if fresh {
            return self.due(march);
        }
        for (spec, frame) in self.job.outputs.iter().zip(&mut self.frames) {
            if let Some(interval) = spec.interval {
                while due_at(interval, *frame) <= time {
                    *frame += 1;
                }
            }
        }
        Ok(())
    }

    /// The next time at which a file is due, s; infinite where none is.
    pub(super) fn next(&self, time: f64) -> f64 {
        let specs = self.job.outputs.iter().zip(&self.frames);
        specs
            .filter_map(|(spec, &frame)| spec.interval.map(|interval| due_at(interval, frame)))
            .filter(|&at| at > time)
            .fold(f64::INFINITY, f64::min)
    }

    /// Writes what is due by the march's time.
    pub(super) fn due(&mut self, march: &mut March) -> anyhow::Result<()> {
        let time = march.status().time;
        let due = |(spec, frame): (&OutputSpec, &u64)| {
            spec.interval.is_some_and(|interval| due_at(interval, *frame) <= time)
        };
        let due: Vec<usize> = (0..self.frames.len())
            .filter(|&place| due((&self.job.outputs[place], &self.frames[place])))
            .collect();
        if due.is_empty() {
            return Ok(());
        }
        let state = march.state()?;
        for place in due {
            self.write(&self.job.outputs[place], Some(self.frames[place]), &state, time)?;
            self.frames[place] += 1;
        }
        Ok(())
    }

    /// Writes the files of the end, and those that are due there.
    pub(super) fn finish(&mut self, march: &mut March) -> anyhow::Result<()> {
        self.due(march)?;
        let last: Vec<&OutputSpec> =
            self.job.outputs.iter().filter(|spec| spec.interval.is_none()).collect();
        if last.is_empty() {
            return Ok(());
        }
        let (state, time) = (march.state()?, march.status().time);
        last.into_iter().try_for_each(|spec| self.write(spec, None, &state, time))
    }

    /// Keeps the fields of a march that failed, for a look at what went wrong.
    pub(super) fn last_sight(&self, march: &mut March) {
        let Some(stem) = self.job.path.file_stem() else { return };
        let path = self.folder.join(format!("{}-failed.npy", stem.to_string_lossy()));
        let kept = march.state().map_err(anyhow::Error::from).and_then(|state| {
            Ok(npy::write(&path, state.shape(), state.as_slice().unwrap_or_default())?)
        });
        match kept {
            Ok(()) => tracing::info!("the state as it failed is in {}", path.display()),
            Err(error) => tracing::warn!("the state as it failed could not be kept: {error}"),
        }
    }

    fn write(
        &self,
        spec: &OutputSpec,
        frame: Option<u64>,
        state: &Array4<f64>,
        time: f64,
    ) -> anyhow::Result<()> {
        let path = |unknown: usize| self.folder.join(spec.name(&self.names[unknown], frame));
        let single = path(spec.unknowns[0]);
        match &spec.kind {
            Kind::Vti => {
                for &unknown in &spec.unknowns {
                    self.vti(&path(unknown), unknown, &state.index_axis(Axis(0), unknown))?;
                }
            }
            Kind::Npy if spec.unknowns.len() == 1 || single != path(spec.unknowns[1]) => {
                for &unknown in &spec.unknowns {
                    let values = state.index_axis(Axis(0), unknown);
                    npy::write(
                        path(unknown),
                        values.shape(),
                        &values.iter().copied().collect::<Vec<_>>(),
                    )?;
                }
            }
            Kind::Npy => {
                let values = state.select(Axis(0), &spec.unknowns);
                npy::write(single, values.shape(), &values.iter().copied().collect::<Vec<_>>())?;
            }
            Kind::Map => {
                for &unknown in &spec.unknowns {
                    self.map(&path(unknown), unknown, state, time)?;
                }
            }
            Kind::Line { axis, through } => {
                let through = through.unwrap_or_else(|| middle(&self.job.problem.tiling));
                let files: Vec<(PathBuf, Vec<usize>)> = if spec.unknowns.len() > 1
                    && single != path(spec.unknowns[1])
                {
                    spec.unknowns.iter().map(|&unknown| (path(unknown), vec![unknown])).collect()
                } else {
                    vec![(single, spec.unknowns.clone())]
                };
                for (path, unknowns) in files {
                    self.line(&path, &unknowns, (*axis, through), state, time)?;
                }
            }
        }
        Ok(())
    }

    fn vti(&self, path: &Path, unknown: usize, values: &ArrayView3<'_, f64>) -> anyhow::Result<()> {
        let tiling = &self.job.problem.tiling;
        let header = vti::VtiHeader {
            shape: tiling.voxels(),
            spacing: tiling.spacing,
            origin: tiling.position([0; 3]),
            name: self.names[unknown].clone(),
        };
        #[expect(clippy::cast_possible_truncation, reason = "pictures need no more")]
        let single = values.mapv(|value| value as f32);
        Ok(vti::write(path, &header, &single.view())?)
    }

    fn map(
        &self,
        path: &Path,
        unknown: usize,
        state: &Array4<f64>,
        time: f64,
    ) -> anyhow::Result<()> {
        let tiling = &self.job.problem.tiling;
        let [.., nz] = tiling.voxels();
        // y points up in plots of the plane and down in sections.
        #[expect(clippy::cast_possible_truncation, reason = "a picture needs no more")]
        let values: Array2<f32> =
            state.slice(s![unknown, .., ..;-1, nz / 2]).mapv(|value| value as f32);
        let finite = || values.iter().copied().filter(|value| value.is_finite());
        let (from, to) = finite().fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        let (from, to) = if from <= to { (f64::from(from), f64::from(to)) } else { (0.0, 1.0) };
        let first = tiling.position([0; 3]);
        let last_y = first[1] + (values.dim().1 - 1) as f64 * tiling.spacing[1];
        let depth = if tiling.dimensions == 3 {
            format!(", z = {:.4} m", tiling.position([0, 0, (nz / 2) as i64])[2])
        } else {
            String::new()
        };
        let section = Section {
            title: format!("{}, t = {time:.4} s{depth}", self.names[unknown]),
            values: values.view(),
            across: Direction {
                name: "x".into(),
                origin: first[0],
                spacing: Some(tiling.spacing[0]),
            },
            down: Direction { name: "y".into(), origin: last_y, spacing: Some(-tiling.spacing[1]) },
            quantity: Quantity {
                label: self.names[unknown].clone(),
                from,
                to,
                colours: Colours::Viridis,
                smooth: false,
            },
        };
        section.draw(None)?.write(path)
    }

    fn line(
        &self,
        path: &Path,
        unknowns: &[usize],
        (axis, through): (usize, [f64; 3]),
        state: &Array4<f64>,
        time: f64,
    ) -> anyhow::Result<()> {
        let tiling = &self.job.problem.tiling;
        let at = nearest_voxel(tiling, through);
        let voxels = (0..tiling.voxels()[axis]).map(|along| {
            let mut voxel = at;
            voxel[axis] = along;
            voxel
        });
        let voxels: Vec<[usize; 3]> = voxels.collect();
        let place = |voxel: [usize; 3]| tiling.position(voxel.map(|i| i as i64));
        let mut curves = Vec::new();
        if self.job.problem.knows_exact()? {
            let mut profile = self.job.problem.profile(Term::Exact)?;
            let mut exact = vec![0.0; self.names.len()];
            let mut lines = vec![Vec::new(); unknowns.len()];
            for &voxel in &voxels {
                profile.at(place(voxel), time, &mut exact);
                for (line, &unknown) in lines.iter_mut().zip(unknowns) {
                    line.push((place(voxel)[axis], exact[unknown]));
                }
            }
            for (points, &unknown) in lines.into_iter().zip(unknowns) {
                let name = format!("{}, exact", self.names[unknown]);
                curves.push(Curve { name, points, exact: true });
            }
        }
        for &unknown in unknowns {
            let value = |&[i, j, k]: &[usize; 3]| state[[unknown, i, j, k]];
            let points = voxels.iter().map(|voxel| (place(*voxel)[axis], value(voxel))).collect();
            curves.push(Curve { name: self.names[unknown].clone(), points, exact: false });
        }
        let letter = ["x", "y", "z"][axis];
        let picture = Curves {
            title: format!("{}, t = {time:.4} s", self.job.problem.kernel.name),
            label: format!("{letter} (m)"),
            curves,
        };
        picture.draw()?.write(path)
    }
}

/// When a frame is due, s.
fn due_at(interval: f64, frame: u64) -> f64 {
    interval * frame as f64
}

fn middle(tiling: &Tiling) -> [f64; 3] {
    let voxels = tiling.voxels().map(|count| (count / 2) as i64);
    tiling.position(voxels)
}

/// The voxel in which a point lies, or the nearest of the box.
fn nearest_voxel(tiling: &Tiling, point: [f64; 3]) -> [usize; 3] {
    let mut voxel = [0; 3];
    for axis in 0..usize::from(tiling.dimensions) {
        let along = ((point[axis] - tiling.origin[axis]) / tiling.spacing[axis]).floor().max(0.0);
        #[expect(clippy::cast_possible_truncation, reason = "bounded by the box below")]
        #[expect(clippy::cast_sign_loss, reason = "not negative")]
        let along = along as usize;
        voxel[axis] = along.min(tiling.voxels()[axis] - 1);
    }
    voxel
}
