//! The command `temblor`.

fn main() {}
