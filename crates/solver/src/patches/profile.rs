//! The state at a place and time, from the physics' `initial` or `exact`.

use temblor_patch::graph::{Function, Leaf};
use temblor_patch::physics::{Argument, arguments};
use temblor_patch::{Physics, Term};

use crate::error::Result;

/// A term of the physics that gives N + M values for a place and a time.
#[derive(Debug, Clone)]
pub struct Profile {
    function: Function,
    needed: Vec<bool>,
    arguments: Vec<Argument>,
    parameters: Vec<f64>,
    spacing: [f64; 3],
    values: Vec<f64>,
}

impl Profile {
    /// For [`Term::Initial`] or [`Term::Exact`]: `integers` are values for `int` parameters by name,
    /// `parameters` all of them in order, `spacing` the width of a voxel, m.
    ///
    /// # Errors
    /// [`crate::Error::Patch`] where the physics has no such term or it cannot be traced.
    ///
    /// # Panics
    /// Never: unknowns are counted in 16 bits.
    pub fn new(
        physics: &Physics,
        term: Term,
        integers: &[(String, i64)],
        parameters: &[f64],
        spacing: [f64; 3],
    ) -> Result<Self> {
        let function = physics.trace(term, 0, integers)?;
        let width = u16::try_from(physics.width()).expect("fewer than 65536 unknowns");
        Ok(Self {
            needed: function.graph.reachable(&function.outputs),
            arguments: arguments(term, width),
            function,
            parameters: parameters.to_vec(),
            spacing,
            values: Vec::new(),
        })
    }

    /// The state at a place, m, and a time, s.
    pub fn at(&mut self, position: [f64; 3], time: f64, state: &mut [f64]) {
        let (arguments, parameters, spacing) = (&self.arguments, &self.parameters, self.spacing);
        let leaf = |leaf: Leaf| match leaf {
            Leaf::Parameter(place) => parameters[usize::from(place)],
            Leaf::Argument(place) => match arguments[usize::from(place)] {
                Argument::Position(axis) => position[usize::from(axis)],
                Argument::Spacing(axis) => spacing[usize::from(axis)],
                Argument::Time => time,
                _ => 0.0,
            },
            Leaf::Time => time,
            Leaf::Spacing(axis) => spacing[usize::from(axis)],
            _ => 0.0,
        };
        self.function.graph.evaluate(&self.needed, &mut self.values, leaf);
        for (to, output) in state.iter_mut().zip(&self.function.outputs) {
            *to = self.values[output.index()];
        }
    }
}
