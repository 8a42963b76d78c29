//! Kernels of one term per voxel, on states that stay on the device: speeds and `post`.

use crate::error::Result;
use crate::graph::{Binary, Coordinate, Graph, Leaf, Value};
use crate::kernel::{INPUT, Kernel, OUTPUT, Stage, Write};
use crate::physics::{Argument, Term, arguments};

/// Adds a term of the physics at the voxel to a graph.
fn term(kernel: &Kernel, graph: &mut Graph, term: Term, direction: u8) -> Result<Vec<Value>> {
    let physics = &kernel.physics;
    let width = u16::try_from(physics.width()).unwrap_or(u16::MAX);
    let function = physics.trace(term, direction, &kernel.integers)?;
    let list = arguments(term, width);
    let leaf = |graph: &mut Graph, leaf: Leaf| match leaf {
        Leaf::Argument(n) => graph.leaf(match list[usize::from(n)] {
            Argument::Unknown(unknown) | Argument::Right(unknown) => {
                Leaf::Load { block: INPUT, unknown, at: [Coordinate::Shift(0); 3] }
            }
            Argument::Slope { unknown, .. } => {
                Leaf::Load { block: INPUT, unknown, at: [Coordinate::Shift(0); 3] }
            }
            Argument::Position(axis) => Leaf::Position { axis, halves: 0 },
            Argument::Spacing(axis) => Leaf::Spacing(axis),
            Argument::Time => Leaf::Time,
            Argument::TimeStep => Leaf::TimeStep,
        }),
        Leaf::Parameter(n) => match kernel.frozen.iter().find(|(place, _)| *place == n) {
            Some(&(_, value)) => graph.constant(value),
            None => graph.leaf(Leaf::Parameter(n)),
        },
        other => graph.leaf(other),
    };
    Ok(graph.graft(&function.graph, &function.outputs, leaf))
}

fn with(kernel: &Kernel, name: &str, graph: Graph, stage: Stage) -> Kernel {
    let mut blocks = kernel.blocks[..2].to_vec();
    blocks[1].width = blocks[0].width;
    Kernel {
        name: format!("{}_{name}", kernel.name),
        blocks,
        graph,
        speeds: stage.maximum.is_some(),
        stages: vec![stage],
        matrices: Vec::new(),
        post: false,
        ..kernel.clone()
    }
}

fn stage(kernel: &Kernel, name: &str) -> Stage {
    let output = &kernel.blocks[usize::from(OUTPUT.0)];
    Stage {
        name: name.into(),
        low: output.low,
        high: output.high,
        writes: Vec::new(),
        maximum: None,
        call: None,
    }
}

/// A kernel whose largest eigenvalue is that of the input's interior; none for a physics without
/// eigenvalues.
///
/// # Errors
/// As [`crate::Physics::trace`].
pub fn speed_kernel(kernel: &Kernel) -> Result<Option<Kernel>> {
    if !kernel.physics.has(Term::Eigenvalue) {
        return Ok(None);
    }
    let mut graph = Graph::new();
    let mut maximum: Option<Value> = None;
    for direction in 0..kernel.shape.dimensions {
        for speed in term(kernel, &mut graph, Term::Eigenvalue, direction)? {
            maximum = Some(match maximum {
                Some(other) => graph.binary(Binary::Maximum, other, speed),
                None => speed,
            });
        }
    }
    let stage = Stage { maximum, ..stage(kernel, "largest eigenvalue") };
    Ok(Some(with(kernel, "speed", graph, stage)))
}

/// A kernel that applies `post` to a state in place; none for a physics without it.
///
/// # Errors
/// As [`crate::Physics::trace`].
pub fn post_kernel(kernel: &Kernel) -> Result<Option<Kernel>> {
    if !kernel.physics.has(Term::Post) {
        return Ok(None);
    }
    let mut graph = Graph::new();
    let values = term(kernel, &mut graph, Term::Post, 0)?;
    let writes = (0u16..).zip(values);
    let writes = writes.map(|(unknown, value)| Write { block: OUTPUT, unknown, value }).collect();
    let stage = Stage { writes, ..stage(kernel, "post") };
    Ok(Some(with(kernel, "post", graph, stage)))
}
