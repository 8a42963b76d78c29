//! How a wave problem is run: survey, shots, time loop, recording, snapshots, checkpoints.
//!
//! A [`Survey`] turns what a user asks for into one [`temblor_physics::WaveProblem`] on a grid with
//! layers; [`run`] drives a backend's plan through its shots. Files do not appear here: models are
//! read through [`WaveSpeed`], results leave through [`Sink`].
//!
//! [`patches`] marches hyperbolic systems of any kind on patches.

mod checkpoint;
pub mod error;
pub mod gather;
mod health;
pub mod memory;
pub mod padding;
pub mod patches;
mod run;
pub mod sink;
pub mod snapshots;
pub mod speed;
pub mod survey;
pub mod timing;

pub use error::{BoxError, Error, Result};
pub use gather::Gather;
pub use memory::{MemoryPlan, plan_options};
pub use padding::Padding;
pub use run::{Control, Summary, run};
pub use sink::{Progress, Silent, Sink, Snapshot};
pub use snapshots::{SnapshotPlan, SnapshotSpec};
pub use speed::{SpeedRange, WaveSpeed, scan};
pub use survey::{Band, FaceSpec, Shot, ShotLabel, Source, StepRule, Survey, SurveySpec};
pub use timing::Timings;
