//! Measures a matrix: rows that fit into memory together are sampled in rounds, so that what changes
//! on the machine from minute to minute meets all of them alike.

use temblor_physics::StepWork;

use crate::accuracy::{Twin, Twins};
use crate::matrix::{Planned, Posed, Subject, misfit};
use crate::patches::{Maker, PatchRow};
use crate::peers;
use crate::results::{BoundaryName, Case, Counters, Device, Measured, Outcome, Peer, Row, median};
use crate::roofs::{Beside, RoofOptions};
use crate::source;
use crate::timing::{Halt, Pace, Running};

/// Most rows of a round.
const MOST_ROWS: usize = 8;

/// Part of the free memory that a round's plans may take.
const SHARE: f64 = 0.8;

/// How rows are measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Seconds of a sample, where steps are sized for a time.
    pub seconds: f64,
    /// Seconds that a row runs before its first sample: devices lower their clocks under load.
    pub warm_up: f64,
    /// Samples per row.
    pub repeats: u32,
    /// Seconds that a row may take, its twin apart.
    pub timeout: Option<f64>,
    /// Most steps of a row of fixed steps on backends whose memory is the host's.
    pub host_steps: Option<u32>,
    /// How the roof beside a row is measured.
    pub roof: RoofOptions,
    /// Whether time is also taken by kernel.
    pub by_kernel: bool,
    /// Steps between two counts of the kinds of values, if they are counted.
    pub histogram: Option<u32>,
    /// Whether profilers are asked, through [`Sink::counters`].
    pub counters: bool,
    /// Commands of peers, called once in every round for each size and boundary.
    pub peers: Vec<String>,
}

/// Sees what happens; the library prints nothing.
pub trait Sink {
    /// What is being done, in a few words.
    fn stage(&mut self, what: &str);
    /// A row is finished.
    fn row(&mut self, row: Row);
    /// Something that the user should know and that is no row's.
    fn note(&mut self, what: &str) {
        let _ = what;
    }
    /// All that peers have said so far.
    fn peers(&mut self, peers: &[Peer]) {
        let _ = peers;
    }
    /// What profilers count in a case, which is run again by whoever can start such a run.
    fn counters(&mut self, case: &Case) -> Vec<Counters> {
        let _ = case;
        Vec::new()
    }
}

/// Measures all rows; whether none is left, which `stop` decides: rows not finished then are dropped.
pub fn run(
    planned: &[Planned],
    subjects: &[Subject],
    devices: &[Device],
    settings: &Settings,
    stop: &dyn Fn() -> bool,
    sink: &mut dyn Sink,
) -> bool {
    let mut session = Session {
        subjects,
        devices,
        settings,
        stop,
        sink,
        twins: Twins::default(),
        beside: Beside::default(),
        peers: Vec::new(),
        silent: Vec::new(),
        maker: Maker::default(),
    };
    let mut round = Vec::new();
    for planned in planned {
        if stop() {
            return false;
        }
        if let Some(row) = &planned.patch {
            if !(session.finish(&mut round) && session.patch(planned, row)) {
                return false;
            }
            continue;
        }
        if !session.joins(&round, planned) && !session.finish(&mut round) {
            return false;
        }
        let mut slot = session.prepare(planned);
        if matches!(slot.state, State::Full(_)) && running(&round) > 0 {
            if !session.finish(&mut round) {
                return false;
            }
            slot = session.prepare(planned);
        }
        round.push(slot);
        if running(&round) == 0 && !session.finish(&mut round) {
            return false;
        }
    }
    session.finish(&mut round)
}

/// Makes a case's plan and steps it, with nothing around it: for profilers.
///
/// # Errors
/// Those of the plan, and why the case cannot be run.
pub fn bare(planned: &Planned, subjects: &[Subject], steps: u32) -> Result<(), String> {
    let posed = planned.posed.as_ref().map_err(Clone::clone)?;
    let backend = subjects[planned.subject].backend.as_ref();
    let run = || -> temblor_backend::Result<()> {
        let mut plan = backend.propagator(&posed.problem, &planned.options())?;
        let (filler, case) = (planned.filler(), &planned.case);
        filler.wave_speed(plan.as_mut())?;
        filler.pressure(plan.as_mut())?;
        let (peak_hz, rows) = (planned.peak_hz, u64::from(steps));
        plan.set_sources(&source::table(&posed.problem, case.sources, peak_hz, case.vmax, rows))?;
        if case.receivers > 0 {
            plan.set_receivers(&source::receivers(&posed.problem, case.receivers))?;
        }
        plan.advance(steps)?;
        plan.synchronize()
    };
    run().map_err(|error| error.to_string())
}

struct Session<'a> {
    subjects: &'a [Subject],
    devices: &'a [Device],
    settings: &'a Settings,
    stop: &'a dyn Fn() -> bool,
    sink: &'a mut dyn Sink,
    twins: Twins,
    beside: Beside,
    peers: Vec<Peer>,
    /// Calls of peers that failed and are not made again.
    silent: Vec<(String, [usize; 3], BoundaryName)>,
    /// The patch kernel in work.
    maker: Maker,
}

/// A row of a round.
struct Slot<'a> {
    planned: &'a Planned,
    state: State<'a>,
}

enum State<'a> {
    /// Its plan is made.
    Running(Box<Ready<'a>>),
    /// It has ended.
    Ended(Outcome),
    /// It does not fit beside the others.
    Full(String),
    /// The user wants to stop.
    Stopped,
}

struct Ready<'a> {
    row: Running<'a>,
    posed: &'a Posed,
    twin: Twin,
    roof_elements: u64,
    roof: Option<f64>,
}

fn running(round: &[Slot<'_>]) -> usize {
    round.iter().filter(|slot| matches!(slot.state, State::Running(_))).count()
}

impl<'a> Session<'a> {
    /// Whether a row's plan fits beside those of the round.
    fn joins(&self, round: &[Slot<'_>], planned: &Planned) -> bool {
        let Ok(posed) = &planned.posed else { return true };
        if running(round) == 0 {
            return true;
        }
        let subject = &self.subjects[planned.subject];
        let in_pool = |slot: &&Slot<'_>| slot.planned.subject == planned.subject;
        let taken: u64 = round
            .iter()
            .filter(in_pool)
            .filter_map(|slot| match &slot.state {
                State::Running(ready) => Some(ready.posed.footprint),
                _ => None,
            })
            .sum();
        // The host's free memory has what plans take taken off already.
        let free = subject.memory().saturating_sub(if subject.on_host { 0 } else { taken });
        // The roof beside the row takes three arrays for a moment.
        let needed = posed.footprint + posed.host + 12 * planned.case.points();
        running(round) < MOST_ROWS && (needed as f64) < SHARE * free as f64
    }

    /// Measures a row of a patch kernel; whether the user let it.
    fn patch(&mut self, planned: &Planned, row: &PatchRow) -> bool {
        let subject = (planned.subject, &self.subjects[planned.subject]);
        let device = self.devices.get(planned.subject);
        let (case, sink) = (&planned.case, &mut *self.sink);
        let stage = &mut |what: &str| sink.stage(what);
        let outcome =
            self.maker.measure((row, case), subject, device, self.settings, self.stop, stage);
        let Some(outcome) = outcome else { return false };
        self.sink.row(Row { run: 0, case: planned.case.clone(), outcome });
        true
    }

    fn prepare<'p>(&mut self, planned: &'p Planned) -> Slot<'p> {
        let state = match self.ready(planned) {
            Ok(ready) => State::Running(Box::new(ready)),
            Err(Halt::Ended(outcome)) => State::Ended(outcome),
            Err(Halt::Full(why)) => State::Full(why),
            Err(Halt::Stopped) => State::Stopped,
        };
        Slot { planned, state }
    }

    fn ready<'p>(&mut self, planned: &'p Planned) -> Result<Ready<'p>, Halt> {
        let skipped = |why: &str| Halt::Ended(Outcome::Skipped { why: why.to_owned() });
        let posed = planned.posed.as_ref().map_err(|why| skipped(why))?;
        let subject = &self.subjects[planned.subject];
        let backend = subject.backend.as_ref();
        if let Some(why) = misfit(posed, subject) {
            return Err(Halt::Full(why));
        }
        let case = &planned.case;
        let name = format!("{}/{} {}", case.backend, case.variant, shape_name(case.shape));
        self.sink.stage(&format!("{name}: accuracy"));
        let twin = self.twins.of(planned, backend);
        if let Some(why) = &twin.failure {
            return Err(Halt::Ended(Outcome::Failed { why: why.clone() }));
        }
        if (self.stop)() {
            return Err(Halt::Stopped);
        }
        self.sink.stage(&format!("{name}: roof"));
        let (roof_elements, roof) = self.roof(planned, subject);
        self.sink.stage(&format!("{name}: warm-up"));
        let Settings { seconds, warm_up, repeats, timeout, host_steps, .. } = *self.settings;
        let most_steps = host_steps.filter(|_| subject.on_host);
        let pace = Pace { seconds, warm_up, repeats, timeout, most_steps };
        let row = Running::start(planned, posed, backend, pace, self.stop)?;
        Ok(Ready { row, posed, twin, roof_elements, roof })
    }

    /// Elements and bandwidth, B/s, of the roof beside a row: over arrays of its own size, else the
    /// device's.
    fn roof(&mut self, planned: &Planned, subject: &Subject) -> (u64, Option<f64>) {
        let points = planned.case.points();
        let backend = subject.backend.as_ref();
        let own = self.beside.of(planned.subject, backend, points, self.settings.roof);
        if own.is_some() {
            return (points, own);
        }
        let streams = self.devices.get(planned.subject).map_or(&[][..], |d| &d.streams);
        let whole = streams.iter().rev().find(|stream| {
            stream.pattern == temblor_backend::StreamPattern::Step && stream.fill >= 1.0
        });
        whole.map_or((points, None), |stream| (stream.elements, Some(median(&stream.samples))))
    }

    /// Samples a round's rows in turn and hands each out after its last sample; whether the user let
    /// it.
    fn finish(&mut self, round: &mut Vec<Slot<'_>>) -> bool {
        let repeats = self.settings.repeats;
        for number in 1..=repeats {
            self.call_peers(round);
            // The last samples are taken below.
            if number < repeats {
                for slot in round.iter_mut() {
                    self.sample(slot, number);
                }
            }
        }
        let mut whole = true;
        for mut slot in round.drain(..) {
            self.sample(&mut slot, repeats);
            let outcome = match slot.state {
                State::Running(ready) => match self.measured(&slot.planned.case, *ready) {
                    Ok(measured) => Outcome::Measured(Box::new(measured)),
                    Err(Halt::Ended(outcome)) => outcome,
                    Err(Halt::Full(why)) => Outcome::Skipped { why },
                    Err(Halt::Stopped) => {
                        whole = false;
                        continue;
                    }
                },
                State::Ended(outcome) => outcome,
                State::Full(why) => Outcome::Skipped { why },
                State::Stopped => {
                    whole = false;
                    continue;
                }
            };
            self.sink.row(Row { run: 0, case: slot.planned.case.clone(), outcome });
        }
        whole
    }

    fn sample(&mut self, slot: &mut Slot<'_>, number: u32) {
        let State::Running(ready) = &mut slot.state else { return };
        let case = &slot.planned.case;
        let (shape, repeats) = (shape_name(case.shape), self.settings.repeats);
        let what = format!("{shape}: sample {number} of {repeats}");
        self.sink.stage(&format!("{}/{} {what}", case.backend, case.variant));
        match ready.row.sample(self.stop) {
            Ok(()) => {}
            Err(Halt::Stopped) => slot.state = State::Stopped,
            Err(Halt::Ended(outcome)) => slot.state = State::Ended(outcome),
            Err(Halt::Full(why)) => slot.state = State::Full(why),
        }
    }

    /// Lets every peer run once for each size and boundary of a round.
    fn call_peers(&mut self, round: &[Slot<'_>]) {
        let mut cases: Vec<([usize; 3], BoundaryName)> = Vec::new();
        for slot in round.iter().filter(|slot| matches!(slot.state, State::Running(_))) {
            let case = (slot.planned.case.shape, slot.planned.case.boundary);
            if !cases.contains(&case) {
                cases.push(case);
            }
        }
        for command in &self.settings.peers {
            for &(shape, boundary) in &cases {
                let key = (command.clone(), shape, boundary);
                if (self.stop)() || self.silent.contains(&key) {
                    continue;
                }
                let name = shape_name(shape);
                self.sink.stage(&format!("peer at {name} {}", boundary.name()));
                let said = if shape == [shape[0]; 3] {
                    let timeout = self.settings.timeout;
                    peers::call(command, shape[0], boundary, timeout, self.stop)
                } else {
                    Err("peers take cubes".into())
                };
                match said {
                    Ok(said) => {
                        peers::add(&mut self.peers, command, shape[0], boundary, said);
                        self.sink.peers(&self.peers);
                    }
                    Err(why) => {
                        let boundary = boundary.name();
                        self.sink.note(&format!("peer `{command}` at {name} {boundary}: {why}"));
                        self.silent.push(key);
                    }
                }
            }
        }
    }

    fn measured(&mut self, case: &Case, ready: Ready<'_>) -> Result<Measured, Halt> {
        let Ready { mut row, posed, twin, roof_elements, roof } = ready;
        row.check()?;
        let kernels = if self.settings.by_kernel { row.by_kernel()? } else { Vec::new() };
        let histogram = match self.settings.histogram {
            Some(every) => row.histogram(every, self.stop)?,
            None => Vec::new(),
        };
        let (steps, seconds) = (row.steps(), row.seconds().to_vec());
        let variant = row.plan().variant().clone();
        // The profiled run needs the memory.
        drop(row);
        let counters = if self.settings.counters { self.sink.counters(case) } else { Vec::new() };
        Ok(Measured {
            steps,
            seconds,
            footprint: posed.footprint,
            bytes_per_point: variant.bytes_per_point,
            flops_per_point: variant.flops_per_point,
            least_bytes_per_step: StepWork::of(&posed.problem).bytes() as f64,
            roof_elements,
            roof_bandwidth: roof,
            checksum: twin.checksum,
            twin: twin.shape,
            accuracy: twin.accuracy,
            digit_products: None,
            patch: None,
            kernels,
            counters,
            histogram,
        })
    }
}

/// A shape as in tables: `256^3`, or `800x400x200`.
#[must_use]
pub fn shape_name([nx, ny, nz]: [usize; 3]) -> String {
    if nx == ny && ny == nz { format!("{nx}^3") } else { format!("{nx}x{ny}x{nz}") }
}
