//! The fake backend and its plans.

use std::io::{Read, Write};

use ndarray::Array3;
use temblor_backend::{
    Backend, Capabilities, DeviceInfo, Error, Field, Footprint, Health, HostArray, HostView,
    HostViewMut, PlanOptions, Propagator, ReceiverTable, Region, Result, SourceTable, Ticket,
    Traces, Variant,
};
use temblor_cpu::ReferenceBackend;
use temblor_physics::{Arithmetic, SpeedStorage, WaveProblem, WavefieldStorage};

use super::digits::Engine;
use super::{Fault, stored};

/// A backend of one arithmetic.
pub(in crate::arithmetic) struct Fake {
    inner: ReferenceBackend,
    device: DeviceInfo,
    capabilities: Capabilities,
    pub(super) offers: Vec<Arithmetic>,
    fault: Option<Fault>,
}

impl Fake {
    /// One that is right.
    pub(in crate::arithmetic) fn new(name: &str) -> Self {
        let arithmetic: Arithmetic = name.parse().expect("the name of an arithmetic");
        let inner = ReferenceBackend::new();
        let device = DeviceInfo { backend: "fake".into(), ..inner.device().clone() };
        let mut capabilities = inner.capabilities().clone();
        capabilities.arithmetics = vec![arithmetic];
        capabilities.variants = vec![name.into()];
        Self { inner, device, capabilities, offers: vec![arithmetic], fault: None }
    }

    /// One with a fault.
    pub(in crate::arithmetic) fn broken(name: &str, fault: Fault) -> Self {
        Self { fault: Some(fault), ..Self::new(name) }
    }

    fn exact(problem: &WaveProblem) -> WaveProblem {
        let mut exact = problem.clone();
        exact.arithmetic = Arithmetic::F64;
        exact
    }

    fn variant(&self) -> Variant {
        Variant::new(self.capabilities.variants[0].clone(), "a fake", 16.0, 33.0, 1)
    }

    fn check(&self, problem: &WaveProblem, options: Option<&PlanOptions>) -> Result<()> {
        let named =
            options.and_then(|o| o.variant.as_ref()).is_none_or(|v| *v == self.variant().name);
        if named && self.offers.contains(&problem.arithmetic) {
            return Ok(());
        }
        let what = format!("{} as {options:?}", problem.arithmetic);
        Err(Error::Unsupported { backend: "fake".into(), what })
    }
}

impl Backend for Fake {
    fn device(&self) -> &DeviceInfo {
        &self.device
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn variants(&self, problem: &WaveProblem) -> Result<Vec<Variant>> {
        self.check(problem, None)?;
        Ok(vec![self.variant()])
    }

    fn footprint(&self, problem: &WaveProblem, options: &PlanOptions) -> Result<Footprint> {
        self.check(problem, Some(options))?;
        self.inner.footprint(&Self::exact(problem), &PlanOptions::new(0, 0))
    }

    fn propagator(
        &self,
        problem: &WaveProblem,
        options: &PlanOptions,
    ) -> Result<Box<dyn Propagator>> {
        self.check(problem, Some(options))?;
        let mut speeds = options.speeds;
        if let Arithmetic::Stored(storage) = problem.arithmetic {
            if storage.speed == SpeedStorage::F32 {
                speeds = None;
            } else if speeds.is_none() && self.fault != Some(Fault::GuessesSpeeds) {
                let (what, remedy) = ("no range".into(), "name it".into());
                return Err(Error::Invalid { what, remedy });
            }
        } else {
            speeds = None;
        }
        let mut options = options.clone();
        options.variant = None;
        let inner = self.inner.propagator(&Self::exact(problem), &options)?;
        let shape = problem.grid.shape;
        Ok(Box::new(Plan {
            inner,
            problem: problem.clone(),
            variant: self.variant(),
            fault: self.fault,
            speeds,
            wave_speed: Array3::zeros(shape),
            increment: Array3::zeros(shape),
            engine: Engine::new(problem, self.fault),
        }))
    }
}

struct Plan {
    inner: Box<dyn Propagator>,
    problem: WaveProblem,
    variant: Variant,
    fault: Option<Fault>,
    speeds: Option<[f64; 2]>,
    wave_speed: Array3<f64>,
    /// p^n - p^(n-1) as stored, where that is what is stored.
    increment: Array3<f64>,
    engine: Option<Engine>,
}

impl Plan {
    fn whole(&self) -> Region {
        Region::whole(self.problem.grid.shape)
    }

    fn get(&mut self, field: Field) -> Result<Array3<f64>> {
        let mut values = Array3::zeros(self.problem.grid.shape);
        self.inner.download(field, self.whole(), values.view_mut().into())?;
        Ok(values)
    }

    fn set(&mut self, field: Field, values: &Array3<f64>) -> Result<()> {
        self.inner.upload(field, self.whole(), values.view().into())
    }

    fn storage(&self) -> WavefieldStorage {
        match self.problem.arithmetic {
            Arithmetic::Stored(storage) => storage.wavefields,
            _ => WavefieldStorage::F32,
        }
    }

    /// Rounds what has just been uploaded.
    fn rest(&mut self) -> Result<()> {
        let (storage, fault) = (self.storage(), self.fault);
        let p = stored::round(storage, &self.get(Field::Pressure)?, None, fault);
        let mut previous = self.get(Field::PressurePrevious)?;
        if storage == WavefieldStorage::Int16Increment {
            self.increment = stored::round(storage, &(&p - &previous), None, fault);
            previous = &p - &self.increment;
        } else {
            previous = stored::round(storage, &previous, None, fault);
        }
        self.set(Field::Pressure, &p)?;
        self.set(Field::PressurePrevious, &previous)
    }

    fn one_step(&mut self) -> Result<()> {
        let before = self.get(Field::Pressure)?;
        self.inner.advance(1)?;
        let mut next = self.get(Field::Pressure)?;
        if let Some(engine) = &mut self.engine {
            let mut added = engine.difference(&before);
            let dt = self.problem.dt;
            added.zip_mut_with(&self.wave_speed, |l, c| *l *= (c * dt).powi(2));
            next += &added;
        }
        let (storage, fault) = (self.storage(), self.fault);
        let old = Some(&before);
        if storage == WavefieldStorage::Int16Increment {
            self.increment = stored::round(storage, &(&next - &before), None, fault);
            let next = stored::round(storage, &(&before + &self.increment), old, fault);
            self.set(Field::PressurePrevious, &(&next - &self.increment))?;
            return self.set(Field::Pressure, &next);
        }
        self.set(Field::Pressure, &stored::round(storage, &next, old, fault))
    }
}

impl Propagator for Plan {
    fn variant(&self) -> &Variant {
        &self.variant
    }

    fn upload(&mut self, field: Field, region: Region, host: HostView<'_>) -> Result<()> {
        if field == Field::WaveSpeed {
            let HostView::F64(view) = host else { panic!("checks upload f64 to fakes") };
            let Some(wanted) = stored::within(&view.to_owned(), self.speeds) else {
                let (what, remedy) = ("a wave speed beyond the range".into(), "widen it".into());
                return Err(Error::Invalid { what, remedy });
            };
            assert_eq!(region, self.whole());
            let speed = stored::round_speed(&wanted, self.speeds, self.fault);
            self.set(field, &speed)?;
            self.wave_speed = speed;
            return Ok(());
        }
        self.inner.upload(field, region, host)?;
        if let Some(engine) = &mut self.engine {
            engine.forget();
        }
        self.rest()
    }

    fn download(&mut self, field: Field, region: Region, host: HostViewMut<'_>) -> Result<()> {
        self.inner.download(field, region, host)
    }

    fn snapshot(&mut self, field: Field, region: Region) -> Result<Ticket> {
        self.inner.snapshot(field, region)
    }

    fn wait(&mut self, ticket: Ticket) -> Result<HostArray> {
        self.inner.wait(ticket)
    }

    fn set_sources(&mut self, sources: &SourceTable) -> Result<()> {
        self.inner.set_sources(sources)
    }

    fn set_receivers(&mut self, receivers: &ReceiverTable) -> Result<()> {
        self.inner.set_receivers(receivers)
    }

    fn advance(&mut self, steps: u32) -> Result<()> {
        (0..steps).try_for_each(|_| self.one_step())
    }

    fn step(&self) -> u64 {
        self.inner.step()
    }

    fn traces(&mut self) -> Result<Traces> {
        self.inner.traces()
    }

    fn health(&mut self) -> Result<Health> {
        self.inner.health()
    }

    fn synchronize(&mut self) -> Result<()> {
        self.inner.synchronize()
    }

    fn save(&mut self, to: &mut dyn Write) -> Result<()> {
        self.inner.save(to)
    }

    fn restore(&mut self, from: &mut dyn Read) -> Result<()> {
        self.inner.restore(from)?;
        self.increment = self.get(Field::Pressure)? - self.get(Field::PressurePrevious)?;
        Ok(())
    }

    fn reset(&mut self) -> Result<()> {
        self.increment.fill(0.0);
        self.inner.reset()
    }
}
