//! Reduced storage: wavefields rest in memory as codes of 16 bits (a few forms as two of them), the
//! wave speed as a single or as a code, and all arithmetic is FP32 on rows that are decoded into a
//! window of the cache.

mod codecs;
mod halves;
mod noise;
mod packed;
mod speed;
mod sweep;
mod tiles;

use std::io::{Read, Write};

use rayon::prelude::*;
use temblor_backend::{Footprint, HostView, HostViewMut, PlanOptions, Region, Result};
use temblor_physics::{PointWeights, SpeedStorage, Storage, WaveProblem, WavefieldStorage};

use self::codecs::Codec;
use self::packed::Packed;
use self::speed::{Range, Speed};
use self::sweep::{Mirror, Sweep, Window, window_planes};
use super::fields::{INFINITY, each_row, largest_bits, read_values, write_values};
use super::images::Images;
use super::kernels::Isa;
use super::layers::Layers;
use super::layout::Layout;
use super::pass::{Pass, Setting, ends_along_z};
use super::plan::{Steps, Store};
use super::points::sample;
use super::schedule::{Schedule, rows_per_tile};
use super::scheme::Scheme;

/// What decides on how large arrays are.
#[derive(Debug)]
pub(super) struct Sizes {
    layout: Layout,
    codec: Codec,
    storage: Storage,
    schedule: Schedule,
}

impl Sizes {
    /// `rows` 0 takes as many as `cache` bytes hold.
    pub(super) fn new(
        problem: &WaveProblem,
        storage: Storage,
        isa: Isa,
        [rows, planes]: [usize; 2],
        cache: usize,
    ) -> Self {
        let layout = Layout::new(problem);
        let slots = window_planes(layout.radius, planes);
        let rows = if rows == 0 { rows_per_tile(&layout, slots + 2 * planes, cache) } else { rows };
        let rows = rows.min(layout.shape[1]);
        let codes = storage.speed == SpeedStorage::Uint16;
        let rows_c2 = if codes { rows } else { layout.shape[1] };
        Self {
            layout: layout.window(rows, rows_c2, slots),
            codec: Codec::new(storage.wavefields, isa),
            storage,
            schedule: Schedule { rows, planes },
        }
    }

    /// Rows of the grid.
    const fn rows(&self) -> usize {
        self.layout.shape[0] * self.layout.shape[1]
    }

    const fn increments(&self) -> bool {
        matches!(self.storage.wavefields, WavefieldStorage::Int16Increment)
    }

    const fn codes(&self) -> bool {
        matches!(self.storage.speed, SpeedStorage::Uint16)
    }
}

/// What a plan allocates besides its trace buffer.
pub(super) fn footprint(problem: &WaveProblem, sizes: &Sizes) -> Footprint {
    let Sizes { layout, codec, schedule, .. } = sizes;
    let field = Packed::bytes(*codec, sizes.rows(), layout.row);
    let speed = Speed::bytes(sizes.codes(), layout);
    let mut footprint = Footprint::default().with("p", field);
    footprint = if sizes.increments() {
        footprint.with("p of the next step", field).with("p - p_prev", field)
    } else {
        footprint.with("p_prev", field)
    };
    footprint = footprint.with(if sizes.codes() { "c" } else { "c^2 dt^2" }, speed);
    let windows = rayon::current_num_threads() as u64;
    let window = Window::bytes(layout, schedule.planes, sizes.codes());
    footprint = footprint.with("windows", windows * window);
    let layers = Layers::bytes(problem, layout);
    if layers > 0 { footprint.with("layers", layers) } else { footprint }
}

/// See the module.
#[derive(Debug)]
pub(super) struct Stored {
    /// Time step, s.
    dt: f64,
    codec: Codec,
    schedule: Schedule,
    /// Its layout is the window's; it has no images, which the window makes.
    scheme: Scheme,
    images: Images,
    mirror: Mirror,
    /// p^n is in wavefield n mod 2, p^(n-1) in the other; where increments are kept, only until the
    /// first step after it was set.
    wavefields: [Packed; 2],
    /// p^n - p^(n-1).
    increment: Option<Packed>,
    /// Whether p^(n-1) is newer than the increment.
    increment_due: bool,
    speed: Speed,
    layers: Layers,
    /// Where layers along z contribute.
    ends: Vec<(usize, usize)>,
    windows: Vec<Window>,
}

impl Stored {
    /// # Errors
    /// [`temblor_backend::Error::Invalid`] for a two-byte speed without a range of speeds.
    pub(super) fn new(
        problem: &WaveProblem,
        options: &PlanOptions,
        sizes: &Sizes,
        isa: Isa,
    ) -> Result<Self> {
        let Sizes { layout, codec, schedule, .. } = *sizes;
        let range = if sizes.codes() { Some(Range::of(options)?) } else { None };
        let mut scheme = Scheme::new(problem, isa);
        let images = scheme.images.made_by_readers();
        let images = std::mem::replace(&mut scheme.images, images);
        scheme.layout = layout;
        let layers = Layers::new(problem, &layout);
        let field = || Packed::new(codec, sizes.rows(), layout.row);
        let window = || Window::new(&layout, schedule.planes, sizes.codes());
        Ok(Self {
            dt: problem.dt,
            codec,
            schedule,
            mirror: Mirror::new(problem, &layout),
            wavefields: [field(), field()],
            increment: sizes.increments().then(field),
            increment_due: false,
            speed: Speed::new(problem, range, &layout, &images),
            ends: ends_along_z(&layers, &layout),
            layers,
            windows: (0..rayon::current_num_threads()).map(|_| window()).collect(),
            scheme,
            images,
        })
    }

    const fn layout(&self) -> &Layout {
        &self.scheme.layout
    }

    /// The row (i, j) among all.
    const fn row(&self, i: usize, j: usize) -> usize {
        i * self.scheme.layout.shape[1] + j
    }

    /// A row of p^n (0) or of p^(n-1) (1).
    fn read(&self, past: usize, parity: usize, r: usize, row: &mut [f32], other: &mut [f32]) {
        match &self.increment {
            Some(increment) if past == 1 && !self.increment_due => {
                increment.read(r, other);
                self.wavefields[parity].read(r, row);
                row.iter_mut().zip(other).for_each(|(p, d)| *p -= *d);
            }
            _ => self.wavefields[parity ^ past].read(r, row),
        }
    }

    /// Two rows of FP32.
    fn buffers(&self) -> [Vec<f32>; 2] {
        [vec![0.0; self.layout().row], vec![0.0; self.layout().row]]
    }

    fn rows(&self) -> usize {
        self.layout().shape[0] * self.layout().shape[1]
    }

    /// Where increments are kept, p^(n-1) from p^n and them.
    fn spread_increment(&mut self, parity: usize) {
        if self.increment.is_none() || self.increment_due {
            return;
        }
        let [mut row, mut other] = self.buffers();
        for r in 0..self.rows() {
            self.read(1, parity, r, &mut row, &mut other);
            self.wavefields[1 - parity].write(r, &row);
        }
        self.increment_due = true;
    }
}

impl Store for Stored {
    fn images(&self) -> &Images {
        &self.images
    }

    fn upload_wavefield(
        &mut self,
        past: usize,
        parity: usize,
        region: &Region,
        host: &HostView<'_>,
    ) {
        self.spread_increment(parity);
        let [mut row, _] = self.buffers();
        each_row(region, |[a, b], [i, j]| {
            let r = self.row(i, j);
            let field = &mut self.wavefields[parity ^ past];
            field.read(r, &mut row);
            for c in 0..region.shape[2] {
                let k = region.start[2] + c * region.stride[2];
                #[expect(clippy::cast_possible_truncation, reason = "arithmetic is f32")]
                let value = match host {
                    HostView::F32(view) => view[[a, b, c]],
                    HostView::F64(view) => view[[a, b, c]] as f32,
                };
                row[k] = if self.images.held([i, j, k]) { 0.0 } else { value };
            }
            field.write(r, &row);
        });
    }

    fn upload_speed(&mut self, region: &Region, host: &HostView<'_>) -> Result<()> {
        self.speed.upload(self.dt, &self.scheme.layout, &self.images, region, host)
    }

    fn download(&self, past: usize, parity: usize, region: &Region, host: &mut HostViewMut<'_>) {
        let [mut row, mut other] = self.buffers();
        each_row(region, |[a, b], [i, j]| {
            self.read(past, parity, self.row(i, j), &mut row, &mut other);
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

    fn node_without_speed(&mut self) -> Option<[usize; 3]> {
        self.speed.unset_node(&self.scheme.layout, &self.images)
    }

    fn refresh(&mut self, parity: usize) {
        if !std::mem::take(&mut self.increment_due) {
            return;
        }
        let [mut row, mut other] = self.buffers();
        let rows = self.rows();
        let Some(increment) = &mut self.increment else { return };
        for r in 0..rows {
            self.wavefields[parity].read(r, &mut row);
            self.wavefields[1 - parity].read(r, &mut other);
            row.iter_mut().zip(&other).for_each(|(p, other)| *p -= other);
            increment.write(r, &row);
        }
    }

    fn sample(&self, which: usize, point: &PointWeights) -> f32 {
        let mut values = Vec::new();
        sample(point, |i, j, nodes, along| {
            along(self.wavefields[which].nodes(self.row(i, j), &nodes, &mut values))
        })
    }

    fn pass(&mut self, steps: &Steps<'_>) {
        let read = usize::from(steps.first % 2 == 1);
        let setting = Setting {
            scheme: &self.scheme,
            c2: std::ptr::null(),
            ends: &self.ends,
            sources: steps.sources,
            step: steps.first,
            timer: steps.timer,
        };
        let [first, second] = self.wavefields.each_mut().map(Packed::shared);
        let (p, other) = if read == 0 { (first, second) } else { (second, first) };
        let sweep = Sweep {
            pass: Pass::new(&setting, [std::ptr::null_mut(); 2], &mut self.layers),
            codec: &self.codec,
            p,
            other,
            increment: self.increment.as_mut().map(Packed::shared),
            step: steps.first,
            read,
            speed: &self.speed,
            mirror: &self.mirror,
            images: &self.images,
            schedule: self.schedule,
        };
        sweep.run(&mut self.windows);
    }

    fn largest(&self, parity: usize) -> (f64, Option<[usize; 3]>) {
        let [nx, ny, nz] = self.layout().shape;
        let planes = (0..nx).into_par_iter();
        let each_row = |i: usize, each: &mut dyn FnMut(usize, &[f32]) -> bool| {
            let [mut row, mut other] = self.buffers();
            for j in 0..ny {
                self.read(0, parity, self.row(i, j), &mut row, &mut other);
                if each(j, &row[..nz]) {
                    break;
                }
            }
        };
        let bits = planes.clone().map(|i| {
            let mut bits = 0;
            each_row(i, &mut |_, row| {
                bits = largest_bits(row).max(bits);
                false
            });
            bits
        });
        let bits = bits.reduce(|| 0, u32::max);
        let bad = || {
            planes.find_map_first(|i| {
                let mut found = None;
                each_row(i, &mut |j, row| {
                    found = row.iter().position(|v| !v.is_finite()).map(|k| [i, j, k]);
                    found.is_some()
                });
                found
            })
        };
        (f64::from(f32::from_bits(bits)), if bits >= INFINITY { bad() } else { None })
    }

    fn largest_in_layers(&mut self, parity: usize) -> f64 {
        self.layers.largest(&self.scheme.layout, parity)
    }

    fn save(&mut self, parity: usize, to: &mut dyn Write) -> std::io::Result<()> {
        self.wavefields[parity].save(to)?;
        self.increment.as_ref().unwrap_or(&self.wavefields[1 - parity]).save(to)?;
        let mut bytes = Vec::new();
        let each = &mut |row: &mut [f32]| write_values(row, &mut bytes, to);
        self.layers.try_each(&self.scheme.layout, parity, each)
    }

    fn restore(&mut self, parity: usize, from: &mut dyn Read) -> std::io::Result<()> {
        self.increment_due = false;
        self.wavefields[parity].restore(from)?;
        self.increment.as_mut().unwrap_or(&mut self.wavefields[1 - parity]).restore(from)?;
        let mut bytes = Vec::new();
        let each = &mut |row: &mut [f32]| read_values(row, &mut bytes, from);
        self.layers.try_each(&self.scheme.layout, parity, each)
    }

    fn clear(&mut self) {
        self.increment_due = false;
        self.wavefields.iter_mut().chain(self.increment.as_mut()).for_each(Packed::clear);
        for array in self.layers.arrays_mut() {
            array.par_chunks_mut(1 << 16).for_each(|part| part.fill(0.0));
        }
    }
}

#[cfg(test)]
mod codec_tests;
#[cfg(test)]
mod tests;
