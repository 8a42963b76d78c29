//! solver of temblor.
