//! The wave speed of a run file, read by slabs: a file, a constant, flat layers.

use std::path::Path;

use ndarray::{Array3, s};
use temblor_io::segy::SegyOptions;
use temblor_io::{Volume, VolumeFormat, VolumeOptions};
use temblor_physics::Grid;
use temblor_solver::{BoxError, WaveSpeed};

use super::schema::{LayerTable, SpeedTable};
use crate::exit::Failure;

/// A model that was opened.
pub struct OpenModel {
    /// The wave speed.
    pub speed: Box<dyn WaveSpeed>,
    /// What it is, for messages and the report.
    pub name: String,
    /// What the user should know.
    pub notes: Vec<String>,
}

/// Opens the model of a run file in `folder` and checks its shape.
///
/// # Errors
/// [`Failure::BadInput`] that names the file or the key.
pub fn open(table: &SpeedTable, grid: &Grid, folder: &Path) -> anyhow::Result<OpenModel> {
    let bad = |message: String| Err(Failure::input(format!("[model] vp: {message}")).into());
    let of_files = [
        ("format", table.format.is_some()),
        ("element", table.element.is_some()),
        ("byte_order", table.byte_order.is_some()),
        ("header_bytes", table.header_bytes.is_some()),
        ("x_fastest", table.x_fastest.is_some()),
        ("header_map", table.header_map.is_some()),
        ("extrude_y", table.extrude_y.is_some()),
        ("scale", table.scale.is_some()),
    ];
    if table.file.is_none()
        && let Some((key, _)) = of_files.iter().find(|(_, given)| *given)
    {
        return bad(format!("`{key}` belongs to `file`; remove it"));
    }
    match (&table.file, table.constant, &table.layers) {
        (Some(file), None, None) => open_file(table, &folder.join(file), grid),
        (None, Some(vp), None) => {
            #[expect(clippy::cast_possible_truncation, reason = "rounding is the purpose")]
            let speed = Layered { grid: *grid, column: vec![vp as f32; grid.shape[2]] };
            let name = format!("constant {vp} m/s");
            Ok(OpenModel { speed: Box::new(speed), name, notes: Vec::new() })
        }
        (None, None, Some(layers)) => open_layers(layers, grid),
        _ => bad("give exactly one of `file`, `constant` and `layers`".into()),
    }
}

fn open_file(table: &SpeedTable, path: &Path, grid: &Grid) -> anyhow::Result<OpenModel> {
    let extruded = table.extrude_y.unwrap_or(false);
    let [nx, ny, nz] = grid.shape;
    let segy = SegyOptions {
        fields: table
            .header_map
            .as_deref()
            .map(|map| map.parse().map_err(Failure::input))
            .transpose()?
            .unwrap_or_default(),
        ..SegyOptions::default()
    };
    let options = VolumeOptions {
        shape: Some(if extruded { [nx, 1, nz] } else { grid.shape }),
        element: table.element.unwrap_or_default(),
        order: table.byte_order,
        header_bytes: table.header_bytes.unwrap_or(0),
        fortran: table.x_fastest.unwrap_or(false),
        format: table.format,
        spacing: None,
        segy,
    };
    let volume = Volume::open(path, &options).map_err(|error| {
        let hint = if !extruded && ny > 1 && section_fits(path, &options, [nx, 1, nz]) {
            " (it is an (x, z) section: `extrude_y = true` repeats it along y)"
        } else {
            ""
        };
        Failure::input(format!("[model] vp: {error}{hint}"))
    })?;
    if volume.format() != VolumeFormat::Raw {
        // The byte order of traces and of native RSF may have to be told.
        let own = !matches!(volume.format(), VolumeFormat::Npy | VolumeFormat::Vti);
        let raw_only = [
            ("element", table.element.is_some()),
            ("byte_order", table.byte_order.is_some() && !own),
            ("header_bytes", table.header_bytes.is_some()),
            ("x_fastest", table.x_fastest.is_some()),
        ];
        if let Some((key, _)) = raw_only.iter().find(|(_, given)| *given) {
            let message = format!(
                "[model] vp: {} is {}, which says its own `{key}`; remove the key",
                path.display(),
                volume.format().name()
            );
            return Err(Failure::input(message).into());
        }
    }
    let mut notes: Vec<String> =
        volume.warnings().iter().map(|warning| format!("{}: {warning}", path.display())).collect();
    notes.extend(misplaced(&volume, grid, extruded));
    let scale = table.scale.unwrap_or(1.0);
    if !(scale.is_finite() && scale > 0.0) {
        let message = format!("[model] vp: scale is {scale}: give a positive number");
        return Err(Failure::input(message).into());
    }
    #[expect(clippy::cast_possible_truncation, reason = "rounding is the purpose")]
    let speed = FromFile { volume, ny, extruded, scale: scale as f32 };
    let name = path.display().to_string();
    Ok(OpenModel { speed: Box::new(speed), name, notes })
}

/// Where a file says another spacing or origin than the grid; the grid's are taken.
fn misplaced(volume: &Volume, grid: &Grid, extruded: bool) -> Vec<String> {
    let mut notes = Vec::new();
    let names = ["x", "y", "z"];
    let told = |a: usize| volume.shape()[a] > 1 && !(extruded && a == 1);
    for a in (0..3).filter(|&a| told(a)) {
        let (own, given) = (volume.spacing().map(|h| h[a]), grid.spacing[a]);
        if let Some(own) = own.filter(|own| (own - given).abs() > 1e-6 * given) {
            notes.push(format!(
                "the model file's spacing along {} is {own} m, [grid] says {given} m: took [grid]",
                names[a]
            ));
        }
        let (own, given) = (volume.origin().map(|o| o[a]), grid.origin[a]);
        if let Some(own) = own.filter(|own| (own - given).abs() > 1e-3 * grid.spacing[a]) {
            notes.push(format!(
                "the model file begins at {own} m along {}, [grid] at {given} m: took [grid]",
                names[a]
            ));
        }
    }
    notes
}

fn section_fits(path: &Path, options: &VolumeOptions, shape: [usize; 3]) -> bool {
    Volume::open(path, &VolumeOptions { shape: Some(shape), ..options.clone() }).is_ok()
}

/// A volume on disk, or an (x, z) section repeated along y.
struct FromFile {
    volume: Volume,
    ny: usize,
    extruded: bool,
    scale: f32,
}

impl WaveSpeed for FromFile {
    fn shape(&self) -> [usize; 3] {
        let [nx, _, nz] = self.volume.shape();
        [nx, self.ny, nz]
    }

    fn planes(&mut self, start: usize, count: usize) -> Result<Array3<f32>, BoxError> {
        let mut planes = self.volume.read_planes(start, count)?;
        // Exactly one changes nothing, so the multiplication may be left out for it.
        if self.scale.to_bits() != 1.0_f32.to_bits() {
            planes.map_inplace(|v| *v *= self.scale);
        }
        if !self.extruded {
            return Ok(planes);
        }
        let (_, _, nz) = planes.dim();
        let mut repeated = Array3::zeros((count, self.ny, nz));
        for j in 0..self.ny {
            repeated.slice_mut(s![.., j..=j, ..]).assign(&planes);
        }
        Ok(repeated)
    }
}

/// The same column everywhere.
struct Layered {
    grid: Grid,
    column: Vec<f32>,
}

impl WaveSpeed for Layered {
    fn shape(&self) -> [usize; 3] {
        self.grid.shape
    }

    fn planes(&mut self, _: usize, count: usize) -> Result<Array3<f32>, BoxError> {
        let [_, ny, nz] = self.grid.shape;
        Ok(Array3::from_shape_fn((count, ny, nz), |(_, _, k)| self.column[k]))
    }

    fn column(&self) -> Option<&[f32]> {
        Some(&self.column)
    }
}

/// Layers by their tops or thicknesses. An interface acts midway between the last node above and
/// the first node below it; a node on a top belongs to the layer below, so what is modelled lies
/// within half a cell of what was asked for, and midway tops are exact.
fn open_layers(layers: &[LayerTable], grid: &Grid) -> anyhow::Result<OpenModel> {
    let tops = tops(layers, grid)?;
    let mut notes = Vec::new();
    let (h, z0, nz) = (grid.spacing[2], grid.origin[2], grid.shape[2]);
    let mut column = Vec::with_capacity(nz);
    for k in 0..nz {
        let z = z0 + k as f64 * h;
        let layer = tops.iter().rposition(|&top| z >= top - 1e-6 * h).unwrap_or(0);
        #[expect(clippy::cast_possible_truncation, reason = "rounding is the purpose")]
        column.push(layers[layer].vp as f32);
    }
    let last = z0 + (nz - 1) as f64 * h;
    for (n, &top) in tops.iter().enumerate().skip(1) {
        if top > last {
            notes.push(format!("layer {} (top {top} m) lies below the model ({last} m)", n + 1));
            continue;
        }
        let at = (top - z0) / h;
        let modelled = z0 + ((at - 1e-6).ceil() - 0.5) * h;
        if (modelled - top).abs() > 1e-3 * h {
            notes.push(format!(
                "the interface at {top} m acts at {modelled} m, midway between nodes; \
                 put it at {modelled} or {} m to have it exactly there",
                modelled + h
            ));
        }
    }
    let name = format!("{} flat layers", layers.len());
    Ok(OpenModel { speed: Box::new(Layered { grid: *grid, column }), name, notes })
}

fn tops(layers: &[LayerTable], grid: &Grid) -> anyhow::Result<Vec<f64>> {
    let bad = |message: String| Err(Failure::input(format!("[model] vp layers: {message}")).into());
    if layers.is_empty() {
        return bad("the list is empty: give at least one { vp = .. }".into());
    }
    let mut tops: Vec<f64> = Vec::with_capacity(layers.len());
    let mut next = Some(grid.origin[2]);
    for (n, layer) in layers.iter().enumerate() {
        let number = n + 1;
        let top = match (layer.top, next) {
            (Some(top), _) => top,
            (None, Some(next)) => next,
            (None, None) => {
                return bad(format!(
                    "layer {number} has no top and the one above no thickness: give one of them"
                ));
            }
        };
        if let Some(&above) = tops.last()
            && !(top.is_finite() && top > above)
        {
            return bad(format!(
                "layer {number} has its top at {top} m, not below {above} m: order them downwards"
            ));
        }
        if let Some(thickness) = layer.thickness
            && !(thickness.is_finite() && thickness > 0.0)
        {
            return bad(format!("layer {number} is {thickness} m thick: give a positive number"));
        }
        next = layer.thickness.map(|thickness| top + thickness);
        tops.push(top);
    }
    if tops[0] > grid.origin[2] {
        return bad(format!(
            "the first layer starts at {} m and the model at {} m: start it there",
            tops[0], grid.origin[2]
        ));
    }
    Ok(tops)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(layers: &[(Option<f64>, Option<f64>, f64)]) -> (Vec<f32>, Vec<String>) {
        let grid = Grid::new([2, 1, 6], [10.0; 3], [0.0; 3]).unwrap();
        let layers: Vec<_> =
            layers.iter().map(|&(top, thickness, vp)| LayerTable { top, thickness, vp }).collect();
        let mut open = open_layers(&layers, &grid).unwrap();
        (open.speed.planes(0, 1).unwrap().into_raw_vec_and_offset().0, open.notes)
    }

    #[test]
    fn an_interface_midway_between_nodes_is_exact_and_silent() {
        let (vp, notes) = column(&[(None, None, 1.0), (Some(25.0), None, 2.0)]);
        assert_eq!(vp, [1.0, 1.0, 1.0, 2.0, 2.0, 2.0]);
        assert!(notes.is_empty(), "{notes:?}");
    }

    #[test]
    fn an_interface_on_a_node_is_moved_half_a_cell_and_said_so() {
        let (vp, notes) = column(&[(None, Some(30.0), 1.0), (None, None, 2.0)]);
        assert_eq!(vp, [1.0, 1.0, 1.0, 2.0, 2.0, 2.0]);
        assert!(notes[0].contains("acts at 25 m"), "{notes:?}");
    }
}
