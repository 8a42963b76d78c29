//! Why a survey cannot be set up or did not come to its end.

use temblor_backend::Field;

/// An error of whoever implements one of the solver's traits.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Errors of setting up and running a survey; each message says what to do next.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A value that the survey cannot be run with.
    #[error("{what} is {got}: {remedy}")]
    Invalid {
        /// The quantity, in the user's words.
        what: String,
        /// Its value as given.
        got: String,
        /// What to do.
        remedy: String,
    },
    /// A wave speed that is not positive and finite.
    #[error(
        "the wave speed at node {node:?} (x, y, z) is {value} m/s: every value must be positive and finite; `temblor io describe` counts those that are not"
    )]
    BadWaveSpeed {
        /// First bad node (x, y, z) of the user's model.
        node: [usize; 3],
        /// Its value, m/s.
        value: f64,
    },
    /// The model could not be read.
    #[error("the wave speed model cannot be read")]
    Model(#[source] BoxError),
    /// Sources or receivers outside the model.
    #[error(
        "{} outside the model, whose nodes span x {x:?}, y {y:?}, z {z:?} m: {}\nmove them inside, enlarge the grid or set its origin; outside = \"drop\" leaves receivers out",
        counted(points.len(), "point lies", "points lie"),
        points.join("; ")
    )]
    Outside {
        /// Each one, described.
        points: Vec<String>,
        /// First and last node along x, m.
        x: (f64, f64),
        /// First and last node along y, m.
        y: (f64, f64),
        /// First and last node along z, m.
        z: (f64, f64),
    },
    /// Fewer than two nodes per shortest wavelength.
    #[error(
        "the shortest wavelength has {points:.2} nodes ({vmin} m/s at {hz:.1} Hz), and below 2 it aliases: {}use a spacing of {spacing:.3} m or less, or a lower frequency",
        kilometres(*vmin)
    )]
    TooCoarse {
        /// Nodes per wavelength.
        points: f64,
        /// Smallest wave speed, m/s.
        vmin: f64,
        /// Largest frequency of the wavelets, Hz.
        hz: f64,
        /// Spacing that would give four nodes, m.
        spacing: f64,
    },
    /// The run does not fit the memory.
    #[error(
        "the run needs {needed} bytes of memory and {available} are available: use a smaller grid, a coarser spacing or fewer receivers per shot ({largest})"
    )]
    OutOfMemory {
        /// Bytes of the run.
        needed: u64,
        /// Bytes available.
        available: u64,
        /// The largest items.
        largest: String,
    },
    /// The wavefield is not finite or runs away.
    #[error(
        "shot {shot} is unstable: {field:?} reaches {value:e} at step {step} (t = {time:.6} s), node {node:?} of the grid with its layers, ({:.1}, {:.1}, {:.1}) m: lower dt or cfl_fraction, and check the boundary's parameters and the model there",
        position[0], position[1], position[2]
    )]
    Unstable {
        /// Shot number.
        shot: u32,
        /// Where it was seen.
        field: Field,
        /// Step of the check.
        step: u64,
        /// Time of the check, s.
        time: f64,
        /// First bad node, or that of the largest value; layers included.
        node: [usize; 3],
        /// Its position, m.
        position: [f64; 3],
        /// Largest value found.
        value: f64,
    },
    /// The user asked to stop.
    #[error("stopped in shot {shot} at step {step}")]
    Interrupted {
        /// Shot number.
        shot: u32,
        /// Steps done of it.
        step: u64,
    },
    /// Results could not be written.
    #[error("{what} could not be written")]
    Output {
        /// What was to be written.
        what: String,
        /// Why it failed.
        #[source]
        source: BoxError,
    },
    /// A checkpoint that cannot be used.
    #[error(
        "the checkpoint of shot {shot} cannot be used ({what}): delete it to start the shot afresh"
    )]
    Checkpoint {
        /// Shot number.
        shot: u32,
        /// What is wrong with it.
        what: String,
    },
    /// A value of a state on patches is not finite.
    #[error(
        "`{unknown}` is {value} after step {step} (t = {time:.6e} s), in patch {patch}, voxel {voxel:?}, at ({:.6}, {:.6}, {:.6}) m: lower courant or dt, or look at what the physics divides by or takes the root of there",
        position[0], position[1], position[2]
    )]
    NotFinite {
        /// Name of the unknown.
        unknown: String,
        /// Its value.
        value: f64,
        /// Steps done.
        step: u64,
        /// Time reached, s.
        time: f64,
        /// Patch.
        patch: usize,
        /// Voxel of the patch.
        voxel: [u16; 3],
        /// Its centre, m.
        position: [f64; 3],
    },
    /// No time step follows from the speeds.
    #[error(
        "the largest eigenvalue is {speed} m/s after step {step} (t = {time:.6e} s), and no time step follows from it: give a fixed dt, or look at `eigenvalue` and the state"
    )]
    NoStep {
        /// Largest eigenvalue, m/s.
        speed: f64,
        /// Steps done.
        step: u64,
        /// Time reached, s.
        time: f64,
    },
    /// A restart file that cannot be used.
    #[error(
        "the restart file cannot be used ({what}): start without it, by --force on the command line"
    )]
    Restart {
        /// What is wrong with it.
        what: String,
    },
    /// The physics cannot be used.
    #[error(transparent)]
    Patch(#[from] temblor_patch::Error),
    /// The backend refused or failed.
    #[error(transparent)]
    Backend(#[from] temblor_backend::Error),
    /// The problem cannot be posed.
    #[error(transparent)]
    Physics(#[from] temblor_physics::Error),
}

impl Error {
    pub(crate) fn invalid(
        what: impl Into<String>,
        got: impl std::fmt::Display,
        remedy: impl Into<String>,
    ) -> Self {
        Self::Invalid { what: what.into(), got: got.to_string(), remedy: remedy.into() }
    }
}

/// Below it, m/s, a wave speed is more likely one in km/s.
const SLOWEST: f64 = 20.0;

/// What to do first about a speed that looks like km/s.
fn kilometres(vmin: f64) -> &'static str {
    if vmin < SLOWEST {
        "if that is in km/s, scale = 1000.0 beside the file's name makes it m/s; else "
    } else {
        ""
    }
}

fn counted(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// Result of the solver.
pub type Result<T, E = Error> = std::result::Result<T, E>;
