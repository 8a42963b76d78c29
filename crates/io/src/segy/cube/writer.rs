//! A model written as SEG-Y that is read back as the same grid.

use std::path::{Path, PathBuf};

use ndarray::ArrayView3;

use super::super::{SegyHeader, SegyWriter, TraceHeader, coordinate_storage};
use super::INTERVAL_UNIT;
use crate::atomic::rename_durably;
use crate::{Error, Result};

/// Writes a model as columns: crossline numbers run along x, inline numbers along y, x slowest.
///
/// The vertical spacing goes to the sample interval in thousandths of a metre, a depth of the first
/// node to the delay in metres. The file appears under its name when it is finished; what was not
/// finished is removed.
#[derive(Debug)]
pub struct CubeWriter {
    path: PathBuf,
    part: PathBuf,
    /// Taken when the file is finished.
    writer: Option<SegyWriter>,
    shape: [usize; 3],
    spacing: [f64; 3],
    origin: [f64; 3],
    next: usize,
}

impl CubeWriter {
    /// Starts a file for nodes of `shape` (x, y, z), `spacing` m apart, the first at `origin`, m;
    /// `text` is for the text header, after lines that say the geometry.
    ///
    /// # Errors
    /// [`Error::Invalid`] for what SEG-Y cannot hold, [`Error::Io`], [`Error::DiskFull`].
    pub fn create(
        path: impl AsRef<Path>,
        shape: [usize; 3],
        spacing: [f64; 3],
        origin: [f64; 3],
        text: &[String],
    ) -> Result<Self> {
        let path = path.as_ref().to_owned();
        let [nx, ny, nz] = shape;
        let [hx, hy, hz] = spacing;
        if let Some(bad) = spacing.into_iter().find(|h| !(h.is_finite() && *h > 0.0)) {
            return Err(Error::invalid(&path, "a spacing", bad, "give metres above 0"));
        }
        if nx == 0 || ny == 0 || i32::try_from(nx.saturating_mul(ny)).is_err() {
            let remedy = "SEG-Y numbers 1 to 2,147,483,647 of them: write npy";
            return Err(Error::invalid(
                &path,
                "the number of columns",
                nx.saturating_mul(ny),
                remedy,
            ));
        }
        let mut header = SegyHeader::new(hz / 1e3, nz);
        header.text = vec![
            format!("Model of {nx} x {ny} x {nz} nodes (x, y, z), spacing {hx} x {hy} x {hz} m"),
            format!("First node at x {}, y {}, z {} m", origin[0], origin[1], origin[2]),
            "x is the crossline, y the inline; the axis of samples is depth:".into(),
            format!("{INTERVAL_UNIT}, delay in metres"),
        ];
        header.text.extend_from_slice(text);
        let line = |n: usize, h: f64, from: f64| (0..n).map(move |i| from + i as f64 * h);
        let all: Vec<f64> = line(nx, hx, origin[0]).chain(line(ny, hy, origin[1])).collect();
        let storage = coordinate_storage(&all);
        header.coordinate_scalar = storage.scalar;
        header.trace_extensions = storage.extended.into();
        header.traces_per_record = ny;
        let mut part = path.clone().into_os_string();
        part.push(".part");
        let part = PathBuf::from(part);
        let writer = Some(SegyWriter::create(&part, &header)?);
        Ok(Self { path, part, writer, shape, spacing, origin, next: 0 })
    }

    /// Appends planes of x, shape (x, y, z).
    ///
    /// # Errors
    /// [`Error::Shape`] for planes of another shape, [`Error::Io`], [`Error::DiskFull`].
    pub fn write_planes(&mut self, planes: &ArrayView3<'_, f32>) -> Result<()> {
        let [nx, ny, nz] = self.shape;
        let (count, y, z) = planes.dim();
        if [y, z] != [ny, nz] || self.next + count > nx {
            let remedy = format!("{} planes of x were written before these", self.next);
            let want = [nx - self.next, ny, nz];
            let found = vec![count, y, z];
            return Err(Error::Shape { path: self.path.clone(), want, found, remedy });
        }
        let number = |n: usize| i32::try_from(n + 1).unwrap_or(i32::MAX);
        let mut column = vec![0.0; nz];
        for plane in planes.outer_iter() {
            for (iy, values) in plane.outer_iter().enumerate() {
                let x = self.origin[0] + self.next as f64 * self.spacing[0];
                let y = self.origin[1] + iy as f64 * self.spacing[1];
                let header = TraceHeader {
                    field_record: number(self.next),
                    trace_in_record: number(iy),
                    ensemble: number(self.next * ny + iy),
                    cdp: [x, y],
                    inline: number(iy),
                    crossline: number(self.next),
                    delay: self.origin[2] / 1e3,
                    ..TraceHeader::default()
                };
                column.iter_mut().zip(values).for_each(|(to, &value)| *to = value);
                if let Some(writer) = &mut self.writer {
                    writer.write_trace(&header, &column)?;
                }
            }
            self.next += 1;
        }
        Ok(())
    }

    /// Puts everything on the disk and gives the file its name.
    ///
    /// # Errors
    /// [`Error::Shape`] if planes are missing, [`Error::Io`], [`Error::DiskFull`].
    pub fn finish(mut self) -> Result<()> {
        let (path, want) = (self.path.clone(), self.shape);
        if self.next != want[0] {
            let found = vec![self.next, want[1], want[2]];
            let remedy = "write the planes of x that are missing".into();
            return Err(Error::Shape { path, want, found, remedy });
        }
        let finished = self.writer.take().map_or(Ok(()), SegyWriter::finish);
        let named = finished.and_then(|()| rename_durably(&self.part, &path));
        if named.is_err() {
            self.remove_part();
        }
        named
    }

    fn remove_part(&self) {
        // The error that led here is the one to report.
        let _ = std::fs::remove_file(&self.part);
    }
}

impl Drop for CubeWriter {
    fn drop(&mut self) {
        if self.writer.take().is_some() {
            self.remove_part();
        }
    }
}
