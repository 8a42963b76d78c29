//! conformance of temblor.
