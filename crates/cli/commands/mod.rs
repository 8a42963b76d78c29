//! The commands of `temblor`, one file each.

pub mod check;
pub mod completions;
pub mod devices;
pub mod init;
pub mod run;
