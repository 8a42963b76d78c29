//! Regions of fields to and from the host, at once or as snapshots that later steps overlap.

use std::collections::HashMap;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaEvent, CudaStream};
use ndarray::Array3;
use temblor_backend::fields::check_transfer;
use temblor_backend::{Error, Field, HostArray, HostView, HostViewMut, Region, Result, Ticket};

use crate::ID;
use crate::arguments::TemblorRegion;
use crate::layers::single;
use crate::memory::{Buffer, Pinned, record_event};
use crate::module::{int, long};
use crate::plan::CudaPlan;
use crate::sys::failed;
use crate::walls::zero_nodes;

/// Elements that travel at a time.
pub(crate) const STAGING: usize = 4 << 20;

/// Buffers for transfers, and snapshots under way.
#[derive(Debug)]
pub(crate) struct Transfers {
    staging: Buffer,
    pinned: Pinned,
    /// Result of a health check: two largest values, first bad node.
    pub(crate) health: Buffer,
    copies: Arc<CudaStream>,
    snapshots: HashMap<u64, Snapshot>,
    next_ticket: u64,
}

/// A copy under way.
#[derive(Debug)]
pub(crate) struct Snapshot {
    /// Kept until the copy has left it.
    _compact: Buffer,
    host: Pinned,
    done: CudaEvent,
    shape: [usize; 3],
}

impl Transfers {
    pub(crate) fn new(context: &Arc<CudaContext>, stream: &CudaStream) -> Result<Self> {
        Ok(Self {
            staging: Buffer::zeros(stream, STAGING)?,
            pinned: Pinned::zeros(context, STAGING)?,
            health: Buffer::zeros(stream, 4)?,
            copies: context.new_stream().map_err(failed("cuStreamCreate"))?,
            snapshots: HashMap::new(),
            next_ticket: 0,
        })
    }

    /// Forgets snapshots that nobody waited for.
    pub(crate) fn drop_snapshots(&mut self) -> Result<()> {
        self.copies.synchronize().map_err(failed("cuStreamSynchronize"))?;
        self.snapshots.clear();
        Ok(())
    }
}

impl CudaPlan {
    fn region(&self, region: &Region) -> TemblorRegion {
        TemblorRegion {
            start: region.start.map(int),
            shape: region.shape.map(int),
            stride: region.stride.map(int),
            first_row: 0,
            rows: long(region.shape[0] * region.shape[1]),
            stride_x: self.whole.stride_x,
            stride_y: self.whole.stride_y,
            zero: zero_nodes(&self.problem),
        }
    }

    /// The wavefield behind `field`.
    fn wave_of(field: Field) -> Result<usize> {
        match field {
            Field::Pressure => Ok(0),
            Field::PressurePrevious => Ok(1),
            other => Err(Error::Unsupported {
                backend: ID.into(),
                what: format!("transfer of {other:?}"),
            }),
        }
    }

    /// Parts of a region that fit the staging buffers: first row, rows.
    fn parts(region: &Region) -> impl Iterator<Item = (usize, usize)> + use<> {
        let rows = region.shape[0] * region.shape[1];
        let at_once = (STAGING / region.shape[2].max(1)).max(1);
        (0..rows).step_by(at_once).map(move |first| (first, at_once.min(rows - first)))
    }

    /// Queues a copy of rows of a wavefield (0: p^n, 1: p^(n-1)) to a compact array, or back.
    fn move_rows(&self, pack: bool, wave: usize, rows: &TemblorRegion, compact: u64) -> Result<()> {
        if let Some(stored) = &self.stored {
            let (stream, kernels) = (&self.stream, &self.kernels);
            return stored.transfer(stream, kernels, &self.fields, pack, wave, rows, compact);
        }
        let name = if pack { "pack" } else { "unpack" };
        self.kernels.transfer(&self.stream, name, rows, self.fields.node(wave), compact)
    }

    /// Marks the wave speed of all nodes as not set; codes are so at birth.
    pub(crate) fn forget_speed(&mut self) -> Result<()> {
        if self.stored.as_ref().is_some_and(|stored| stored.coded.is_some()) {
            return Ok(());
        }
        let region = Region::whole(self.layout.nodes);
        self.transfers.pinned.slice_mut().fill(f32::NAN);
        self.transfers.staging.fill(&self.stream, self.transfers.pinned.slice())?;
        for (first, rows) in Self::parts(&region) {
            let arguments = TemblorRegion {
                first_row: long(first),
                rows: long(rows),
                zero: [[-1; 2]; 3],
                ..self.region(&region)
            };
            let (field, compact) = (self.fields.speed_node(), self.transfers.staging.address());
            self.kernels.transfer(&self.stream, "unpack", &arguments, field, compact)?;
        }
        self.speed_unchecked = true;
        self.stream.synchronize().map_err(failed("cuStreamSynchronize"))
    }

    pub(crate) fn upload_region(
        &mut self,
        field: Field,
        region: &Region,
        host: &HostView<'_>,
    ) -> Result<()> {
        check_transfer(field, region, self.layout.nodes, host.shape())?;
        let speed = field == Field::WaveSpeed;
        let wave = if speed { 0 } else { Self::wave_of(field)? };
        if region.shape[2] > STAGING {
            return Err(Error::Unsupported {
                backend: ID.into(),
                what: format!("rows of {} nodes", region.shape[2]),
            });
        }
        let dt = self.problem.dt;
        if speed {
            self.check_codes(region, host)?;
        }
        let coded = self.stored.as_ref().and_then(|stored| stored.coded.as_ref());
        // A speed that is none counts as not set: the next step is refused.
        let squared = |c: f64| {
            if let Some(coded) = coded {
                return single(coded.code(c));
            }
            if c.is_finite() && c > 0.0 { single((c * dt).powi(2)) } else { f32::NAN }
        };
        let store = |value: f64| if speed { squared(value) } else { single(value) };
        for (first, rows) in Self::parts(region) {
            let staged = &mut self.transfers.pinned.slice_mut()[..rows * region.shape[2]];
            for (n, line) in staged.chunks_exact_mut(region.shape[2].max(1)).enumerate() {
                let (i, j) = ((first + n) / region.shape[1], (first + n) % region.shape[1]);
                match host {
                    HostView::F32(view) => {
                        for (to, &value) in line.iter_mut().zip(view.slice(ndarray::s![i, j, ..])) {
                            *to = if speed { store(f64::from(value)) } else { value };
                        }
                    }
                    HostView::F64(view) => {
                        for (to, &value) in line.iter_mut().zip(view.slice(ndarray::s![i, j, ..])) {
                            *to = store(value);
                        }
                    }
                }
            }
            let arguments =
                TemblorRegion { first_row: long(first), rows: long(rows), ..self.region(region) };
            let staged = &self.transfers.pinned.slice()[..rows * region.shape[2]];
            self.transfers.staging.fill(&self.stream, staged)?;
            let compact = self.transfers.staging.address();
            match (speed, coded) {
                (false, _) => self.move_rows(false, wave, &arguments, compact)?,
                (true, Some(_)) => {
                    let codes = self.fields.speed_node();
                    self.kernels.stored_speed(&self.stream, &arguments, codes, compact)?;
                }
                (true, None) => {
                    let target = self.fields.speed_node();
                    self.kernels.transfer(&self.stream, "unpack", &arguments, target, compact)?;
                }
            }
            // The staging memory is written again in the next round.
            self.stream.synchronize().map_err(failed("cuStreamSynchronize"))?;
        }
        if let Some(stored) = &mut self.stored
            && let Some(coded) = &mut stored.coded
            && speed
        {
            coded.arrived(region);
        }
        match field {
            Field::WaveSpeed => self.speed_unchecked = true,
            Field::Pressure => {
                self.images_stale = true;
                self.peaks_stale = true;
            }
            _ => {}
        }
        Ok(())
    }

    /// Refuses wave speeds that codes do not reach, before any is stored.
    fn check_codes(&self, region: &Region, host: &HostView<'_>) -> Result<()> {
        let Some(coded) = self.stored.as_ref().and_then(|stored| stored.coded.as_ref()) else {
            return Ok(());
        };
        let told = |(i, j, k): (usize, usize, usize), speed: f64| {
            let place = [i, j, k];
            let node = std::array::from_fn(|a| region.start[a] + place[a] * region.stride[a]);
            Err(coded.refuse(node, speed))
        };
        // The first of all only where one is outside: places cost more than values.
        match host {
            HostView::F32(view) => {
                let holds = |speed: &f32| coded.holds(f64::from(*speed));
                let mut all = view.indexed_iter();
                let bad = if view.iter().all(holds) { None } else { all.find(|(_, c)| !holds(c)) };
                bad.map_or(Ok(()), |(at, &speed)| told(at, f64::from(speed)))
            }
            HostView::F64(view) => {
                let holds = |speed: &f64| coded.holds(*speed);
                let mut all = view.indexed_iter();
                let bad = if view.iter().all(holds) { None } else { all.find(|(_, c)| !holds(c)) };
                bad.map_or(Ok(()), |(at, &speed)| told(at, speed))
            }
        }
    }

    pub(crate) fn download_region(
        &mut self,
        field: Field,
        region: &Region,
        mut host: HostViewMut<'_>,
    ) -> Result<()> {
        check_transfer(field, region, self.layout.nodes, host.shape())?;
        let wave = Self::wave_of(field)?;
        for (first, rows) in Self::parts(region) {
            let arguments =
                TemblorRegion { first_row: long(first), rows: long(rows), ..self.region(region) };
            let compact = self.transfers.staging.address();
            self.move_rows(true, wave, &arguments, compact)?;
            let staged = &mut self.transfers.pinned.slice_mut()[..rows * region.shape[2]];
            self.transfers.staging.read(&self.stream, 0, staged)?;
            self.stream.synchronize().map_err(failed("cuStreamSynchronize"))?;
            for (n, line) in staged.chunks_exact(region.shape[2].max(1)).enumerate() {
                let (i, j) = ((first + n) / region.shape[1], (first + n) % region.shape[1]);
                match &mut host {
                    HostViewMut::F32(view) => {
                        let mut to = view.slice_mut(ndarray::s![i, j, ..]);
                        to.iter_mut().zip(line).for_each(|(to, &value)| *to = value);
                    }
                    HostViewMut::F64(view) => {
                        let mut to = view.slice_mut(ndarray::s![i, j, ..]);
                        to.iter_mut().zip(line).for_each(|(to, &value)| *to = f64::from(value));
                    }
                }
            }
        }
        Ok(())
    }

    pub(crate) fn queue_snapshot(&mut self, field: Field, region: &Region) -> Result<Ticket> {
        check_transfer(field, region, self.layout.nodes, region.shape)?;
        let wave = Self::wave_of(field)?;
        let compact = Buffer::zeros(&self.stream, region.points())?;
        let mut host = Pinned::zeros(&self.context, region.points())?;
        let to = compact.address();
        self.move_rows(true, wave, &self.region(region), to)?;
        let packed = record_event(&self.stream)?;
        let copies = self.transfers.copies.clone();
        copies.wait(&packed).map_err(failed("cuStreamWaitEvent"))?;
        compact.read(&copies, 0, host.slice_mut())?;
        let done = record_event(&copies)?;
        let ticket = self.transfers.next_ticket;
        self.transfers.next_ticket += 1;
        let snapshot = Snapshot { _compact: compact, host, done, shape: region.shape };
        self.transfers.snapshots.insert(ticket, snapshot);
        Ok(Ticket(ticket))
    }

    pub(crate) fn finish_snapshot(&mut self, ticket: Ticket) -> Result<HostArray> {
        let snapshot =
            self.transfers.snapshots.remove(&ticket.0).ok_or_else(|| Error::Invalid {
                what: format!("there is no snapshot {}", ticket.0),
                remedy: "wait once for each ticket of this plan".into(),
            })?;
        snapshot.done.synchronize().map_err(failed("cuEventSynchronize"))?;
        let [x, y, z] = snapshot.shape;
        let values = snapshot.host.slice()[..x * y * z].to_vec();
        let array = Array3::from_shape_vec((x, y, z), values).map_err(|e| Error::Invalid {
            what: e.to_string(),
            remedy: "report this: a snapshot has the shape of its region".into(),
        })?;
        Ok(HostArray::F32(array))
    }
}

impl Drop for Transfers {
    fn drop(&mut self) {
        // Copies of snapshots that nobody waited for must end before their memory goes.
        let _ = self.copies.synchronize();
    }
}
