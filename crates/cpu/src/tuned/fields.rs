//! The arrays of a plan and their transfer from and to the host, row by row: no copy of a field is
//! ever made.

use std::io::{Read, Write};

use rayon::prelude::*;
use temblor_backend::{HostView, HostViewMut, Region};
use temblor_physics::WaveProblem;

use super::images::Images;
use super::layers::Layers;
use super::layout::Layout;
use super::pass::fill_images;
use crate::memory::AlignedVec;

/// Wavefields, c^2 dt^2 and layers.
#[derive(Debug)]
pub(super) struct Fields {
    /// p^n is in wavefield n mod 2, p^(n-1) in the other.
    pub(super) wavefields: [AlignedVec; 2],
    pub(super) c2: AlignedVec,
    pub(super) layers: Layers,
    /// Whether a wavefield's images have yet to be written.
    images_due: [bool; 2],
}

/// Largest magnitude in a row as bits, which order as magnitudes do; NaN and infinity come out at
/// or above [`INFINITY`].
#[inline(always)]
pub(super) fn largest_bits(row: &[f32]) -> u32 {
    row.iter().map(|v| v.to_bits() & 0x7fff_ffff).fold(0, u32::max)
}

pub(super) const INFINITY: u32 = f32::INFINITY.to_bits();

impl Fields {
    pub(super) fn new(problem: &WaveProblem, layout: &Layout) -> Self {
        Self {
            wavefields: [layout.len, layout.len].map(AlignedVec::zeroed),
            c2: AlignedVec::zeroed(layout.len_c2()),
            layers: Layers::new(problem, layout),
            images_due: [false; 2],
        }
    }

    /// Offset of a row of a wavefield.
    const fn at(layout: &Layout, i: usize, j: usize) -> usize {
        layout.at(i.cast_signed(), j.cast_signed())
    }

    /// Sets a part of a wavefield, zero where p is held at zero.
    pub(super) fn upload_wavefield(
        &mut self,
        which: usize,
        layout: &Layout,
        images: &Images,
        region: &Region,
        host: &HostView<'_>,
    ) {
        let field = &mut self.wavefields[which];
        upload(region, host, |[i, j, k], value| {
            #[expect(clippy::cast_possible_truncation, reason = "fields are f32")]
            let value = if images.held([i, j, k]) { 0.0 } else { value as f32 };
            field[Self::at(layout, i, j) + k] = value;
        });
        self.images_due[which] = true;
    }

    /// Reads a part of a wavefield.
    pub(super) fn download(
        &self,
        which: usize,
        layout: &Layout,
        region: &Region,
        host: &mut HostViewMut<'_>,
    ) {
        let field = &self.wavefields[which];
        each_row(region, |[a, b], [i, j]| {
            let row = &field[Self::at(layout, i, j)..];
            let values = (0..region.shape[2]).map(|c| row[region.start[2] + c * region.stride[2]]);
            match host {
                HostViewMut::F32(view) => {
                    values.enumerate().for_each(|(c, v)| view[[a, b, c]] = v);
                }
                HostViewMut::F64(view) => {
                    values.enumerate().for_each(|(c, v)| view[[a, b, c]] = f64::from(v));
                }
            }
        });
    }

    /// Writes images that an upload left out.
    pub(super) fn refresh_images(&mut self, layout: &Layout, images: &Images) {
        for (field, due) in self.wavefields.iter_mut().zip(&mut self.images_due) {
            if std::mem::take(due) {
                fill_images(images, layout, field);
            }
        }
    }

    /// Largest |p| of a wavefield, and the first node where it is not finite.
    pub(super) fn largest(&self, which: usize, layout: &Layout) -> (f64, Option<[usize; 3]>) {
        let [nx, ny, nz] = layout.shape;
        let row = |i, j| &self.wavefields[which][Self::at(layout, i, j)..][..nz];
        let bits = (0..nx)
            .into_par_iter()
            .map(|i| (0..ny).map(|j| largest_bits(row(i, j))).fold(0, u32::max))
            .reduce(|| 0, u32::max);
        let bad = || {
            (0..nx).into_par_iter().find_map_first(|i| {
                (0..ny)
                    .find_map(|j| row(i, j).iter().position(|v| !v.is_finite()).map(|k| [i, j, k]))
            })
        };
        (f64::from(f32::from_bits(bits)), if bits >= INFINITY { bad() } else { None })
    }

    /// Writes wavefields and memory variables, little-endian, p^n first.
    pub(super) fn save(
        &mut self,
        layout: &Layout,
        parity: usize,
        to: &mut dyn Write,
    ) -> std::io::Result<()> {
        let mut bytes = Vec::new();
        self.try_each_row(layout, parity, &mut |row| write_values(row, &mut bytes, to))
    }

    /// Reads what [`Fields::save`] wrote.
    pub(super) fn restore(
        &mut self,
        layout: &Layout,
        parity: usize,
        from: &mut dyn Read,
    ) -> std::io::Result<()> {
        let mut bytes = Vec::new();
        self.try_each_row(layout, parity, &mut |row| read_values(row, &mut bytes, from))?;
        self.images_due = [true; 2];
        Ok(())
    }

    fn try_each_row(
        &mut self,
        layout: &Layout,
        parity: usize,
        each: &mut dyn FnMut(&mut [f32]) -> std::io::Result<()>,
    ) -> std::io::Result<()> {
        let [nx, ny, nz] = layout.shape;
        for which in [parity, 1 - parity] {
            for i in 0..nx {
                for j in 0..ny {
                    each(&mut self.wavefields[which][Self::at(layout, i, j)..][..nz])?;
                }
            }
        }
        self.layers.try_each(layout, parity, each)
    }

    /// All wavefields and memory variables zero.
    pub(super) fn clear(&mut self) {
        let fields = self.wavefields.iter_mut().chain(self.layers.arrays_mut());
        fields.for_each(|array| array.par_chunks_mut(1 << 16).for_each(|part| part.fill(0.0)));
        self.images_due = [false; 2];
    }
}

/// Writes values, little-endian, through a buffer.
pub(super) fn write_values(
    values: &[f32],
    bytes: &mut Vec<u8>,
    to: &mut dyn Write,
) -> std::io::Result<()> {
    bytes.clear();
    bytes.extend(values.iter().flat_map(|v| v.to_le_bytes()));
    to.write_all(bytes)
}

/// Reads what [`write_values`] wrote.
pub(super) fn read_values(
    values: &mut [f32],
    bytes: &mut Vec<u8>,
    from: &mut dyn Read,
) -> std::io::Result<()> {
    bytes.resize(size_of_val(values), 0);
    from.read_exact(bytes)?;
    for (value, bytes) in values.iter_mut().zip(bytes.as_chunks::<4>().0) {
        *value = f32::from_le_bytes(*bytes);
    }
    Ok(())
}

/// Sets a part of the wave speed: keeps c^2 dt^2, zero where p is held at zero.
pub(super) fn upload_c2(
    c2: &mut [f32],
    dt: f64,
    layout: &Layout,
    images: &Images,
    region: &Region,
    host: &HostView<'_>,
) {
    upload(region, host, |[i, j, k], speed| {
        let step = speed * dt;
        #[expect(clippy::cast_possible_truncation, reason = "fields are f32")]
        let value = if images.held([i, j, k]) { 0.0 } else { (step * step) as f32 };
        c2[layout.at_c2(i, j) + k] = value;
    });
}

/// First node without a wave speed, or whose c^2 dt^2 is zero or not finite in single precision.
pub(super) fn node_without_c2(c2: &[f32], layout: &Layout, images: &Images) -> Option<[usize; 3]> {
    let [nx, ny, nz] = layout.shape;
    (0..nx).into_par_iter().find_map_first(|i| {
        (0..ny).find_map(|j| {
            let row = &c2[layout.at_c2(i, j)..][..nz];
            let set = |c: f32| c.is_finite() && c > 0.0;
            let unset = |k: &usize| !set(row[*k]) && !images.held([i, j, *k]);
            (0..nz).find(unset).map(|k| [i, j, k])
        })
    })
}

/// Rows of a region: positions in the region and in the grid.
pub(super) fn each_row(region: &Region, mut each: impl FnMut([usize; 2], [usize; 2])) {
    for a in 0..region.shape[0] {
        for b in 0..region.shape[1] {
            let i = region.start[0] + a * region.stride[0];
            let j = region.start[1] + b * region.stride[1];
            each([a, b], [i, j]);
        }
    }
}

/// Hands out host values with their nodes.
pub(super) fn upload(region: &Region, host: &HostView<'_>, mut set: impl FnMut([usize; 3], f64)) {
    each_row(region, |[a, b], [i, j]| {
        for c in 0..region.shape[2] {
            let k = region.start[2] + c * region.stride[2];
            let value = match host {
                HostView::F32(view) => f64::from(view[[a, b, c]]),
                HostView::F64(view) => view[[a, b, c]],
            };
            set([i, j, k], value);
        }
    });
}
