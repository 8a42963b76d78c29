//! Surveys in Shell's format: points, and which receivers were live for which shot.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use temblor_io::sps::{self, SpsFile, SpsPoint};
use temblor_physics::Grid;
use temblor_solver::{Shot, ShotLabel, Source};

use super::receivers::keep;
use super::schema::{RunFile, ShotTable, Spread, SpsTable};
use crate::exit::Failure;

/// An SPS file that was read.
pub(super) struct Points {
    path: PathBuf,
    file: SpsFile,
    /// Height of z = 0 above sea level, m.
    pub(super) datum: f64,
}

/// Reads the file of a table; `notes` gets what is doubtful.
pub(super) fn open(
    table: &SpsTable,
    folder: &Path,
    notes: &mut Vec<String>,
) -> anyhow::Result<Points> {
    let (file, datum) = match table {
        SpsTable::File(file) => (file, 0.0),
        SpsTable::WithDatum { file, datum } => (file, *datum),
    };
    let path = folder.join(file);
    let file = sps::read(&path).map_err(Failure::input)?;
    notes.extend(file.warnings.iter().map(|warning| format!("{}: {warning}", path.display())));
    Ok(Points { path, file, datum })
}

impl Points {
    fn some<'a>(&self, points: &'a [SpsPoint], what: &str) -> anyhow::Result<&'a [SpsPoint]> {
        if points.is_empty() {
            let path = self.path.display();
            return Err(Failure::input(format!("{path} has no {what} records")).into());
        }
        Ok(points)
    }

    pub(super) fn sources(&self) -> anyhow::Result<&[SpsPoint]> {
        self.some(&self.file.sources, "S (source)")
    }

    pub(super) fn receivers(&self) -> anyhow::Result<&[SpsPoint]> {
        self.some(&self.file.receivers, "R (receiver)")
    }
}

/// The shots that relation records name, in their order, each with its own receivers.
pub(super) fn shots(
    file: &RunFile,
    relation: &Path,
    grid: &Grid,
    folder: &Path,
    notes: &mut Vec<String>,
) -> anyhow::Result<Vec<Shot>> {
    let (table, sources, receivers) = tables(file)?;
    let (sources, receivers) = (open(sources, folder, notes)?, open(receivers, folder, notes)?);
    let path = folder.join(relation);
    let relations = sps::read(&path).map_err(Failure::input)?;
    let related = relations
        .relate(sources.sources()?, receivers.receivers()?, &path)
        .map_err(Failure::input)?;
    if related.is_empty() {
        let message = format!("{} has no X (relation) records", path.display());
        return Err(Failure::input(message).into());
    }
    let Some(wavelet) = &table.wavelet else {
        let message = "[shots] has no wavelet: add wavelet = { kind = \"ricker\", peak_hz = .. }";
        return Err(Failure::input(message).into());
    };
    let wavelet = Arc::new(wavelet.open(folder)?);
    let records: Vec<_> = related.iter().map(|&(record, ..)| record).collect();
    let ids = shot_numbers(&records, &path, notes);
    let mut shots = Vec::with_capacity(related.len());
    for (id, (_, source, live)) in ids.into_iter().zip(related) {
        let point = &sources.file.sources[source];
        let position = point.position(sources.datum);
        let label = ShotLabel {
            source_point: u32::try_from(point.name.1 / 100).unwrap_or(id),
            source_elevation: point.elevation,
            source_depth: point.depth,
            datum: receivers.datum,
        };
        let wavelet = Arc::clone(&wavelet);
        let live = live.into_iter().map(|n| receivers.file.receivers[n].position(receivers.datum));
        let whose = format!(" of shot {id}");
        let receivers = keep(&file.receivers, grid, live.collect(), &whose, notes);
        let sources = vec![Source { position, wavelet, scale: table.scale }];
        shots.push(Shot { id, label, sources, receivers });
    }
    Ok(shots)
}

/// Numbers of shots: the field records, so that headers and file names are those of the survey, or
/// from 1 on where these cannot tell shots apart.
fn shot_numbers(records: &[i64], path: &Path, notes: &mut Vec<String>) -> Vec<u32> {
    // Headers hold 31 bits.
    let fits = |&record: &i64| i32::try_from(record).ok().and_then(|r| u32::try_from(r).ok());
    let numbers: Option<Vec<u32>> = records.iter().map(fits).collect();
    let unique = |numbers: &Vec<u32>| numbers.iter().collect::<HashSet<_>>().len() == records.len();
    numbers.filter(unique).unwrap_or_else(|| {
        notes.push(format!(
            "{}: several shots have the same field record, or one that no header holds: shots are \
             numbered from 1",
            path.display()
        ));
        (1..).take(records.len()).collect()
    })
}

/// The tables that a relation needs: one `[shots]` and `[receivers]`, both with `sps` alone.
fn tables(file: &RunFile) -> anyhow::Result<(&ShotTable, &SpsTable, &SpsTable)> {
    let shots = file.shots.as_ref().map_or(&[][..], |shots| &shots.0);
    let receivers = &file.receivers;
    let fixed = receivers.spread == Spread::Fixed
        && receivers.positions.is_empty()
        && receivers.line.is_none()
        && receivers.grid.is_none()
        && receivers.csv.is_none();
    if let ([table], Some(receivers), true, None) = (shots, &receivers.sps, fixed, &file.source)
        && let Some(sources) = &table.sps
        && table.positions.is_empty()
        && table.line.is_none()
        && table.grid.is_none()
        && table.csv.is_none()
    {
        return Ok((table, sources, receivers));
    }
    let message = "[receivers] relation ties points of SPS files: give [shots] sps and [receivers] \
                   sps, and no other places";
    Err(Failure::input(message).into())
}
