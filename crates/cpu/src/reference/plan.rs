//! A plan of the reference: plain arrays in host memory, every call done at once.

use std::collections::HashMap;
use std::io::{Read, Write};

use ndarray::{Array2, Array3};
use temblor_backend::fields::check_transfer;
use temblor_backend::state::StateHead;
use temblor_backend::{
    Error, Field, Footprint, Health, HostArray, HostView, HostViewMut, PlanOptions, Propagator,
    ReceiverTable, Region, Result, SourceTable, Ticket, Traces, Variant,
};
use temblor_physics::{Axis, BoundaryKind, WaveProblem, cpml};

use super::layers::{CpmlAxis, MinimodLayer};
use super::layout::Layout;
use super::real::Real;
use super::step::{Weights, step};
use super::{BACKEND, points};

/// Bytes of what [`Plan::new`] allocates.
pub(super) fn footprint<T: Real>(problem: &WaveProblem, options: &PlanOptions) -> Footprint {
    let layout = Layout::new(problem);
    let bytes = |elements: usize| (elements as u64).saturating_mul(T::BYTES as u64);
    let mut layers = 0;
    for axis in Axis::ALL {
        if let Some(profile) = cpml::profile(problem, axis) {
            layers +=
                2 * layout.points() / layout.shape[axis.index()] * (profile.low + profile.high);
        }
    }
    let minimod = |face| BoundaryKind::from(face) == BoundaryKind::Minimod;
    if problem.boundaries.0.iter().any(minimod) {
        layers += layout.points();
    }
    Footprint::default()
        .with("pressure, two steps, halo included", bytes(2 * layout.len))
        .with("c^2 dt^2", bytes(layout.points()))
        .with("memory variables of the layers", bytes(layers))
        .with("samples", bytes(options.receivers.saturating_mul(options.steps_between_traces)))
}

/// Fields, tables and samples of one problem.
pub(super) struct Plan<T> {
    problem: WaveProblem,
    options: PlanOptions,
    variant: Variant,
    layout: Layout,
    weights: Weights<T>,
    /// p^n and p^(n-1), with halo.
    p: Vec<T>,
    previous: Vec<T>,
    /// c^2 dt^2, without halo; NaN where it was never set.
    c2dt2: Vec<T>,
    wave_speed_checked: bool,
    cpml: [Option<CpmlAxis<T>>; 3],
    minimod: Option<MinimodLayer<T>>,
    sources: SourceTable,
    receivers: ReceiverTable,
    /// Samples not yet read, shape (step, receiver).
    samples: Vec<T>,
    first_sample: u64,
    step: u64,
    snapshots: HashMap<Ticket, HostArray>,
    next_ticket: u64,
    poison: Option<String>,
}

impl<T: Real> Plan<T> {
    pub(super) fn new(problem: &WaveProblem, options: &PlanOptions, variant: Variant) -> Self {
        let layout = Layout::new(problem);
        Self {
            problem: problem.clone(),
            options: options.clone(),
            variant,
            weights: Weights::new(problem),
            p: vec![T::default(); layout.len],
            previous: vec![T::default(); layout.len],
            c2dt2: vec![T::from_f64(f64::NAN); layout.points()],
            wave_speed_checked: false,
            cpml: Axis::ALL.map(|axis| CpmlAxis::new(problem, axis)),
            minimod: MinimodLayer::new(problem, &layout),
            sources: SourceTable::none(),
            receivers: ReceiverTable::default(),
            samples: Vec::with_capacity(options.receivers * options.steps_between_traces),
            first_sample: 0,
            step: 0,
            snapshots: HashMap::new(),
            next_ticket: 0,
            poison: None,
            layout,
        }
    }

    fn healthy(&self) -> Result<()> {
        match &self.poison {
            None => Ok(()),
            Some(cause) => Err(Error::Poisoned { cause: cause.clone() }),
        }
    }

    fn unsupported(what: &str) -> Error {
        Error::Unsupported { backend: BACKEND.into(), what: what.into() }
    }

    fn pressure(&self, field: Field) -> Result<&[T]> {
        match field {
            Field::Pressure => Ok(&self.p),
            Field::PressurePrevious => Ok(&self.previous),
            Field::WaveSpeed => Err(Self::unsupported("reading the wave speed back")),
            _ => Err(Self::unsupported("reading the layers' memory variables")),
        }
    }

    /// Nodes of a region, each with its place in the host array.
    fn nodes(region: Region) -> impl Iterator<Item = ([usize; 3], [usize; 3])> {
        let [nx, ny, nz] = region.shape;
        (0..nx * ny * nz).map(move |n| {
            let place = [n / (ny * nz), n / nz % ny, n % nz];
            (std::array::from_fn(|a| region.start[a] + place[a] * region.stride[a]), place)
        })
    }

    /// All arrays of the state but the wavefields.
    fn memory(&mut self) -> Vec<&mut [T]> {
        let mut arrays: Vec<&mut [T]> = Vec::new();
        for layer in self.cpml.iter_mut().flatten() {
            arrays.extend([layer.q.as_mut_slice(), layer.r.as_mut_slice()]);
        }
        arrays.extend(self.minimod.iter_mut().map(|layer| layer.phi.as_mut_slice()));
        arrays
    }

    fn read_state(&mut self, from: &mut dyn Read) -> Result<()> {
        for field in [Field::Pressure, Field::PressurePrevious] {
            let mut host = vec![T::default(); self.layout.points()];
            read_array(from, &mut host)?;
            for (node, _) in Self::nodes(Region::whole(self.layout.shape)) {
                let to = self.layout.padded(node);
                let p = if field == Field::Pressure { &mut self.p } else { &mut self.previous };
                p[to] = host[self.layout.plain(node)];
            }
        }
        self.memory().into_iter().try_for_each(|array| read_array(from, array))
    }

    fn drop_samples(&mut self) {
        self.samples.clear();
        self.first_sample = self.step;
    }

    fn check_wave_speed(&mut self) -> Result<()> {
        if !self.wave_speed_checked {
            let set = |c: f64| c.is_finite() && c > 0.0;
            let unset = self.c2dt2.iter().position(|c| !set(c.to_f64()));
            if let Some(n) = unset {
                let [_, ny, nz] = self.layout.shape;
                let node = [n / (ny * nz), n / nz % ny, n % nz];
                return Err(Error::Invalid {
                    what: format!("the wave speed is not set, zero or not finite at node {node:?}"),
                    remedy: "upload Field::WaveSpeed on all nodes before the first step".into(),
                });
            }
            self.wave_speed_checked = true;
        }
        Ok(())
    }

    fn pending(&self) -> u64 {
        self.step - self.first_sample
    }
}

fn write_array<T: Real>(to: &mut dyn Write, array: &[T]) -> Result<()> {
    let mut bytes = Vec::with_capacity(4096 * T::BYTES);
    for chunk in array.chunks(4096) {
        bytes.clear();
        chunk.iter().for_each(|value| value.put(&mut bytes));
        to.write_all(&bytes)?;
    }
    Ok(())
}

fn read_array<T: Real>(from: &mut dyn Read, array: &mut [T]) -> Result<()> {
    let mut bytes = vec![0; 4096 * T::BYTES];
    for chunk in array.chunks_mut(4096) {
        let bytes = &mut bytes[..chunk.len() * T::BYTES];
        from.read_exact(bytes)?;
        for (value, bytes) in chunk.iter_mut().zip(bytes.chunks_exact(T::BYTES)) {
            *value = T::get(bytes);
        }
    }
    Ok(())
}

impl<T: Real> Propagator for Plan<T> {
    fn variant(&self) -> &Variant {
        &self.variant
    }

    fn upload(&mut self, field: Field, region: Region, host: HostView<'_>) -> Result<()> {
        self.healthy()?;
        if !matches!(field, Field::WaveSpeed | Field::Pressure | Field::PressurePrevious) {
            return Err(Self::unsupported("setting the layers' memory variables"));
        }
        check_transfer(field, &region, self.layout.shape, host.shape())?;
        let dt = self.problem.dt;
        for (node, place) in Self::nodes(region) {
            let value = match &host {
                HostView::F32(view) => f64::from(view[place]),
                HostView::F64(view) => view[place],
            };
            if field == Field::WaveSpeed {
                self.c2dt2[self.layout.plain(node)] = T::from_f64(value * value * dt * dt);
            } else {
                let free = self.layout.on_free_surface(node);
                let p = if field == Field::Pressure { &mut self.p } else { &mut self.previous };
                p[self.layout.padded(node)] =
                    if free { T::default() } else { T::from_f64(value).flush() };
            }
        }
        self.wave_speed_checked &= field != Field::WaveSpeed;
        Ok(())
    }

    fn download(&mut self, field: Field, region: Region, host: HostViewMut<'_>) -> Result<()> {
        self.healthy()?;
        let p = self.pressure(field)?;
        check_transfer(field, &region, self.layout.shape, host.shape())?;
        let values = Self::nodes(region).map(|(node, place)| (p[self.layout.padded(node)], place));
        match host {
            HostViewMut::F32(mut view) => {
                values.for_each(|(v, place)| view[place] = f32::from_f64(v.to_f64()));
            }
            HostViewMut::F64(mut view) => values.for_each(|(v, place)| view[place] = v.to_f64()),
        }
        Ok(())
    }

    fn snapshot(&mut self, field: Field, region: Region) -> Result<Ticket> {
        self.healthy()?;
        let p = self.pressure(field)?;
        region.check(self.layout.shape)?;
        let mut copy = Array3::from_elem(region.shape, T::default());
        for (node, place) in Self::nodes(region) {
            copy[place] = p[self.layout.padded(node)];
        }
        let ticket = Ticket(self.next_ticket);
        self.next_ticket += 1;
        self.snapshots.insert(ticket, T::array(copy));
        Ok(ticket)
    }

    fn wait(&mut self, ticket: Ticket) -> Result<HostArray> {
        self.healthy()?;
        self.snapshots.remove(&ticket).ok_or_else(|| Error::Invalid {
            what: format!("{ticket:?} is not a pending snapshot"),
            remedy: "wait once for each ticket that this plan gave out".into(),
        })
    }

    fn set_sources(&mut self, sources: &SourceTable) -> Result<()> {
        self.healthy()?;
        if sources.points.len() != sources.amplitudes.ncols() {
            return Err(Error::Invalid {
                what: format!(
                    "{} sources have amplitudes of shape {:?}",
                    sources.points.len(),
                    sources.amplitudes.dim()
                ),
                remedy: "give amplitudes of shape (step, source)".into(),
            });
        }
        for (number, point) in sources.points.iter().enumerate() {
            points::check("source", number, point, &self.layout)?;
        }
        self.sources = sources.clone();
        Ok(())
    }

    fn set_receivers(&mut self, receivers: &ReceiverTable) -> Result<()> {
        self.healthy()?;
        let (count, most) = (receivers.points.len(), self.options.receivers);
        if count > most {
            return Err(Error::Invalid {
                what: format!("{count} receivers, and the plan was made for {most}"),
                remedy: "make the plan with PlanOptions::receivers as large".into(),
            });
        }
        for (number, point) in receivers.points.iter().enumerate() {
            points::check("receiver", number, point, &self.layout)?;
        }
        self.receivers = receivers.clone();
        self.drop_samples();
        Ok(())
    }

    fn advance(&mut self, steps: u32) -> Result<()> {
        self.healthy()?;
        self.check_wave_speed()?;
        let (pending, most) = (self.pending(), self.options.steps_between_traces as u64);
        if !self.receivers.points.is_empty() && pending + u64::from(steps) > most {
            return Err(Error::Invalid {
                what: format!(
                    "{steps} steps after {pending} whose samples were not read; the trace buffer \
                     holds {most}"
                ),
                remedy: "call traces more often, or plan for more steps between".into(),
            });
        }
        for _ in 0..steps {
            points::record(&self.layout, &self.receivers.points, &self.p, &mut self.samples);
            self.layout.fill_halo(&mut self.p);
            step(
                &self.layout,
                &self.weights,
                &self.p,
                &mut self.previous,
                &self.c2dt2,
                &mut self.cpml,
                &mut self.minimod,
            );
            points::inject(&self.layout, &self.sources, self.step, &self.c2dt2, &mut self.previous);
            std::mem::swap(&mut self.p, &mut self.previous);
            self.step += 1;
        }
        Ok(())
    }

    fn step(&self) -> u64 {
        self.step
    }

    fn traces(&mut self) -> Result<Traces> {
        let receivers = self.receivers.points.len();
        let steps = usize::try_from(self.pending()).unwrap_or(0);
        let samples = Array2::from_shape_fn((receivers, steps), |(receiver, step)| {
            self.samples[step * receivers + receiver]
        });
        let first_step = self.first_sample;
        self.drop_samples();
        Ok(Traces { first_step, samples: T::samples(samples) })
    }

    fn health(&mut self) -> Result<Health> {
        self.healthy()?;
        // f64::max drops NaN; here a NaN must win.
        let worst = |largest: f64, value: T| {
            let value = value.to_f64().abs();
            if largest.is_nan() || value.is_nan() { f64::NAN } else { largest.max(value) }
        };
        let mut health =
            Health { step: self.step, largest: 0.0, largest_in_layers: 0.0, first_bad: None };
        for (node, _) in Self::nodes(Region::whole(self.layout.shape)) {
            let value = self.p[self.layout.padded(node)];
            health.largest = worst(health.largest, value);
            if health.first_bad.is_none() && !value.to_f64().is_finite() {
                health.first_bad = Some(node);
            }
        }
        for array in self.memory() {
            health.largest_in_layers =
                array.iter().fold(health.largest_in_layers, |largest, &v| worst(largest, v));
        }
        Ok(health)
    }

    fn synchronize(&mut self) -> Result<()> {
        self.healthy()
    }

    fn save(&mut self, to: &mut dyn Write) -> Result<()> {
        self.healthy()?;
        let head = StateHead {
            backend: BACKEND.into(),
            variant: self.variant.name.clone(),
            step: self.step,
            problem: self.problem.clone(),
        };
        head.write(to)?;
        let [nx, ny, nz] = self.layout.shape;
        for p in [&self.p, &self.previous] {
            for (i, j) in (0..nx).flat_map(|i| (0..ny).map(move |j| (i, j))) {
                write_array(to, &p[self.layout.padded([i, j, 0])..][..nz])?;
            }
        }
        self.memory().into_iter().try_for_each(|array| write_array(to, array))
    }

    fn restore(&mut self, from: &mut dyn Read) -> Result<()> {
        self.healthy()?;
        let head = StateHead::read(from, BACKEND, &self.variant.name, &self.problem);
        let read = head.and_then(|step| {
            self.read_state(from)?;
            Ok(step)
        });
        match read {
            Ok(step) => {
                self.step = step;
                self.drop_samples();
                Ok(())
            }
            Err(error) => {
                if matches!(error, Error::Io(_)) {
                    self.poison = Some(error.to_string());
                }
                Err(error)
            }
        }
    }

    fn reset(&mut self) -> Result<()> {
        self.p.fill(T::default());
        self.previous.fill(T::default());
        self.memory().into_iter().for_each(|array| array.fill(T::default()));
        self.step = 0;
        self.drop_samples();
        self.snapshots.clear();
        self.poison = None;
        Ok(())
    }
}
