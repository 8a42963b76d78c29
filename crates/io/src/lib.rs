//! io of temblor.
