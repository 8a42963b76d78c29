//! What a row of a patch kernel has beside other rows.

use serde::{Deserialize, Serialize};

/// Figures of a patch kernel, beside the compute time of its samples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PatchFigures {
    /// K: patches of an evaluation.
    pub patches: u32,
    /// Time of each call from scattered chunks on the host, s.
    pub total: Vec<f64>,
    /// Compiler or way of running it.
    pub made_by: String,
    /// What the backend says of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Registers per thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registers: Option<u32>,
    /// Bytes of registers spilled per thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spills: Option<u32>,
    /// Resident threads over those that the device could hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub occupancy: Option<f64>,
}
