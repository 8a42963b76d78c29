//! The commands of `temblor`, one file each.

pub mod bench;
pub mod check;
pub mod completions;
pub mod conformance;
pub mod devices;
pub mod init;
pub mod io;
pub mod make_model;
pub mod model;
pub mod operator;
pub mod patch;
mod reordered;
pub mod run;
pub mod show;
pub mod tune;
pub mod verify;
pub mod volume_args;
