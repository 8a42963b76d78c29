//! Points of a run file: sources, shots and receivers.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use temblor_io::csv_points;
use temblor_physics::Grid;
use temblor_physics::wavelet::Wavelet;
use temblor_solver::{Shot, ShotLabel, Source};

use super::OneOrMany;
use super::receivers::keep;
use super::schema::{LineTable, PointGridTable, RunFile, ShotTable, SourceTable, Spread, SpsTable};
use super::survey;
use crate::exit::Failure;

/// The five ways to say where points are; what is given is taken in this order.
struct Places<'a> {
    key: &'a str,
    positions: &'a [[f64; 3]],
    line: Option<&'a OneOrMany<LineTable>>,
    grid: Option<&'a OneOrMany<PointGridTable>>,
    csv: Option<&'a PathBuf>,
    sps: Option<&'a SpsTable>,
}

macro_rules! places {
    ($key:expr, $table:expr) => {
        Places {
            key: $key,
            positions: &$table.positions,
            line: $table.line.as_ref(),
            grid: $table.grid.as_ref(),
            csv: $table.csv.as_ref(),
            sps: $table.sps.as_ref(),
        }
    };
}

impl Places<'_> {
    fn points(&self, folder: &Path, notes: &mut Vec<String>) -> anyhow::Result<Vec<[f64; 3]>> {
        let mut points = self.positions.to_vec();
        for line in self.line.map_or(&[][..], |lines| &lines.0) {
            self.check_count([line.count, 1, 1])?;
            points.extend((0..line.count).map(|n| {
                std::array::from_fn(|a| between(line.from[a], line.to[a], n, line.count))
            }));
        }
        for grid in self.grid.map_or(&[][..], |grids| &grids.0) {
            for a in 0..3 {
                let flat = (grid.from[a] - grid.to[a]).abs() < f64::EPSILON;
                if grid.count[a] == 1 && !flat {
                    let axis = ["x", "y", "z"][a];
                    return Err(Failure::input(format!(
                        "[{}] grid has one point along {axis} and spans {} m to {} m there: \
                         make both the same or count 2 or more",
                        self.key, grid.from[a], grid.to[a]
                    ))
                    .into());
                }
            }
            self.append_grid(&mut points, grid)?;
        }
        if let Some(csv) = self.csv {
            points.extend(csv_points::read(folder.join(csv)).map_err(Failure::input)?);
        }
        if let Some(table) = self.sps {
            let survey = survey::open(table, folder, notes)?;
            let named = if self.key == "receivers" { survey.receivers() } else { survey.sources() };
            points.extend(named?.iter().map(|point| point.position(survey.datum)));
        }
        if let Some(bad) = points.iter().find(|p| p.iter().any(|v| !v.is_finite())) {
            let message = format!("[{}] has a point at {bad:?}: give finite metres", self.key);
            return Err(Failure::input(message).into());
        }
        if points.is_empty() {
            return Err(Failure::input(format!(
                "[{}] names no point: give positions, line, grid, csv or sps",
                self.key
            ))
            .into());
        }
        Ok(points)
    }

    fn append_grid(&self, points: &mut Vec<[f64; 3]>, grid: &PointGridTable) -> anyhow::Result<()> {
        self.check_count(grid.count)?;
        for i in 0..grid.count[0] {
            for j in 0..grid.count[1] {
                for k in 0..grid.count[2] {
                    let at = [i, j, k];
                    points.push(std::array::from_fn(|a| {
                        between(grid.from[a], grid.to[a], at[a], grid.count[a])
                    }));
                }
            }
        }
        Ok(())
    }

    fn check_count(&self, count: [usize; 3]) -> anyhow::Result<()> {
        let points = count.iter().try_fold(1_usize, |n, &c| n.checked_mul(c));
        if points.is_some_and(|n| (1..=100_000_000).contains(&n)) {
            return Ok(());
        }
        Err(Failure::input(format!(
            "[{}] count is {count:?}: give at least 1 along each axis and 100 million in all",
            self.key
        ))
        .into())
    }
}

/// Point `n` of `count` from `from` to `to`.
fn between(from: f64, to: f64, n: usize, count: usize) -> f64 {
    if count < 2 { from } else { from + (to - from) * n as f64 / (count - 1) as f64 }
}

/// The shots of a run file; `notes` gets what the user should know.
///
/// # Errors
/// [`Failure::BadInput`] that names the table and the value.
pub fn shots(
    file: &RunFile,
    grid: &Grid,
    folder: &Path,
    notes: &mut Vec<String>,
) -> anyhow::Result<Vec<Shot>> {
    let sources = match (&file.source, &file.shots) {
        (Some(source), None) => {
            vec![together(&source.0, "source", folder, notes)?]
        }
        (None, Some(shots)) => {
            let mut all = Vec::new();
            for table in &shots.0 {
                all.extend(separate(table, folder, notes)?);
            }
            all
        }
        (Some(_), Some(_)) => {
            let message = "there are both [source] and [shots]: [source] fires all its positions \
                           in one shot, [shots] makes a shot of each; keep one of them";
            return Err(Failure::input(message).into());
        }
        (None, None) => {
            let message = "there is no source: add [source] for one shot or [shots] for many";
            return Err(Failure::input(message).into());
        }
    };
    if let Some(relation) = &file.receivers.relation {
        return survey::shots(file, relation, grid, folder, notes);
    }
    let spread = places!("receivers", &file.receivers).points(folder, notes)?;
    let mut fixed: Option<Arc<[[f64; 3]]>> = None;
    let mut shots = Vec::with_capacity(sources.len());
    for (n, sources) in sources.into_iter().enumerate() {
        let id = u32::try_from(n + 1).map_err(|_| Failure::input("more than 2^32 shots"))?;
        let at = sources.first().map_or([0.0; 3], |source| source.position);
        let receivers = match (&fixed, file.receivers.spread) {
            (Some(receivers), Spread::Fixed) => Arc::clone(receivers),
            (None, Spread::Fixed) => {
                let receivers = keep(&file.receivers, grid, spread.clone(), "", notes);
                Arc::clone(fixed.insert(receivers))
            }
            (_, Spread::Moving) => {
                let moved = spread.iter().map(|p| [at[0] + p[0], at[1] + p[1], p[2]]).collect();
                keep(&file.receivers, grid, moved, &format!(" of shot {id}"), notes)
            }
        };
        shots.push(Shot { id, label: ShotLabel::flat(id, at[2]), sources, receivers });
    }
    Ok(shots)
}

/// Sources that fire in one shot.
fn together(
    tables: &[SourceTable],
    key: &str,
    folder: &Path,
    notes: &mut Vec<String>,
) -> anyhow::Result<Vec<Source>> {
    let mut sources = Vec::new();
    for table in tables {
        let wavelet = Arc::new(table.wavelet.open(folder)?);
        let points = places!(key, table).points(folder, notes)?;
        sources.extend(points.into_iter().map(|position| Source {
            position,
            wavelet: Arc::clone(&wavelet),
            scale: table.scale,
        }));
    }
    Ok(sources)
}

/// One list of sources per shot.
fn separate(
    table: &ShotTable,
    folder: &Path,
    notes: &mut Vec<String>,
) -> anyhow::Result<Vec<Vec<Source>>> {
    if !table.sources.is_empty() {
        let places = !table.positions.is_empty()
            || table.line.is_some()
            || table.grid.is_some()
            || table.csv.is_some()
            || table.sps.is_some()
            || table.wavelet.is_some();
        if places {
            let message = "[[shots]] has `sources` and places or a wavelet of its own: `sources` \
                           holds them both; keep one way";
            return Err(Failure::input(message).into());
        }
        return Ok(vec![together(&table.sources, "shots.sources", folder, notes)?]);
    }
    let Some(wavelet) = &table.wavelet else {
        let message = "[shots] has no wavelet: add wavelet = { kind = \"ricker\", peak_hz = .. }";
        return Err(Failure::input(message).into());
    };
    let wavelet: Arc<Wavelet> = Arc::new(wavelet.open(folder)?);
    let points = places!("shots", table).points(folder, notes)?;
    let shot =
        |position| vec![Source { position, wavelet: Arc::clone(&wavelet), scale: table.scale }];
    Ok(points.into_iter().map(shot).collect())
}
