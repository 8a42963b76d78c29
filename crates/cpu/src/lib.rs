//! cpu of temblor.
