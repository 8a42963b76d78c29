//! Fields of f32 with halos, stepped in place: the store that all variants of FP32 share.

use std::io::{Read, Write};

use temblor_backend::{HostView, HostViewMut, Region, Result};
use temblor_physics::{PointWeights, WaveProblem};

use super::digits::{self, Digital};
use super::fields::{Fields, node_without_c2, upload_c2};
use super::images::Images;
use super::kernels::Isa;
use super::pass::{Pass, Setting, ends_along_z};
use super::plan::{Steps, Store};
use super::points::sample;
use super::schedule::{self, Schedule};
use super::scheme::Scheme;
use crate::memory::AlignedVec;

/// The order of rows, by steps per pass.
#[derive(Debug, Clone, Copy)]
pub(super) struct Schedules {
    pub(super) blocked: Schedule,
    pub(super) wavefront: Schedule,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Singles {
    /// Time step, s.
    dt: f64,
    scheme: Scheme,
    fields: Fields,
    /// Where layers along z contribute.
    ends: Vec<(usize, usize)>,
    schedules: Schedules,
    /// What takes the Laplacian instead of the row kernels, if that is digits.
    digital: Option<Digital>,
}

impl Singles {
    pub(super) fn new(problem: &WaveProblem, isa: Isa, schedules: Schedules) -> Self {
        let scheme = Scheme::new(problem, isa);
        let fields = Fields::new(problem, &scheme.layout);
        let ends = ends_along_z(&fields.layers, &scheme.layout);
        Self { dt: problem.dt, scheme, fields, ends, schedules, digital: None }
    }

    /// The same with Laplacians from digits.
    pub(super) fn with_digits(self, digital: Digital) -> Self {
        Self { digital: Some(digital), ..self }
    }

    fn forget_peaks(&mut self) {
        if let Some(digital) = &mut self.digital {
            digital.forget_peaks();
        }
    }
}

/// Which wavefield holds p^n (0) or p^(n-1) (1).
const fn which(past: usize, parity: usize) -> usize {
    parity ^ past
}

impl Store for Singles {
    fn images(&self) -> &Images {
        &self.scheme.images
    }

    fn upload_wavefield(
        &mut self,
        past: usize,
        parity: usize,
        region: &Region,
        host: &HostView<'_>,
    ) {
        self.forget_peaks();
        let Scheme { layout, images, .. } = &self.scheme;
        self.fields.upload_wavefield(which(past, parity), layout, images, region, host);
    }

    fn upload_speed(&mut self, region: &Region, host: &HostView<'_>) -> Result<()> {
        let Scheme { layout, images, .. } = &self.scheme;
        upload_c2(&mut self.fields.c2, self.dt, layout, images, region, host);
        Ok(())
    }

    fn download(&self, past: usize, parity: usize, region: &Region, host: &mut HostViewMut<'_>) {
        self.fields.download(which(past, parity), &self.scheme.layout, region, host);
    }

    fn node_without_speed(&mut self) -> Option<[usize; 3]> {
        node_without_c2(&self.fields.c2, &self.scheme.layout, &self.scheme.images)
    }

    fn refresh(&mut self, _: usize) {
        self.fields.refresh_images(&self.scheme.layout, &self.scheme.images);
    }

    fn sample(&self, which: usize, point: &PointWeights) -> f32 {
        let (field, layout) = (&self.fields.wavefields[which], &self.scheme.layout);
        sample(point, |i, j, nodes, along| {
            let at = layout.at(i.cast_signed(), j.cast_signed());
            along(&field[at..][nodes])
        })
    }

    fn pass(&mut self, steps: &Steps<'_>) {
        if let Some(digital) = &mut self.digital {
            let read = usize::from(steps.first % 2 == 1);
            digital.refresh_peaks(read, &self.fields.wavefields[read], &self.scheme.layout);
        }
        let setting = Setting::new(&self.scheme, &self.ends, &self.fields.c2, steps);
        let wavefields = self.fields.wavefields.each_mut().map(AlignedVec::pointer);
        let pass = Pass::new(&setting, wavefields, &mut self.fields.layers);
        if let Some(digital) = &self.digital {
            digits::step(&pass, digital);
        } else if steps.count == 1 {
            schedule::blocked(&pass, self.schedules.blocked);
        } else {
            schedule::wavefront(&pass, steps.count, self.schedules.wavefront);
        }
    }

    fn largest(&self, parity: usize) -> (f64, Option<[usize; 3]>) {
        self.fields.largest(parity, &self.scheme.layout)
    }

    fn largest_in_layers(&mut self, parity: usize) -> f64 {
        self.fields.layers.largest(&self.scheme.layout, parity)
    }

    fn save(&mut self, parity: usize, to: &mut dyn Write) -> std::io::Result<()> {
        self.fields.save(&self.scheme.layout, parity, to)
    }

    fn restore(&mut self, parity: usize, from: &mut dyn Read) -> std::io::Result<()> {
        self.forget_peaks();
        self.fields.restore(&self.scheme.layout, parity, from)
    }

    fn clear(&mut self) {
        self.forget_peaks();
        self.fields.clear();
    }
}
