//! Kernels put together by hand, for tests of emitters: what lowering gives for `euler.c` and the
//! Rusanov scheme, without either.

use std::sync::Arc;

use crate::graph::{BlockId, Coordinate, Graph, Leaf, Unary, Value};
use crate::kernel::{Block, INPUT, Kernel, OUTPUT, Output, Shape, Stage, Write};
use crate::physics::{Parameter, Physics};

/// Euler's equations (density, momentum, energy; parameter 0 is gamma), Rusanov flux, an explicit
/// Euler step; one stage, or a stage per direction's fluxes and one for the rest.
#[must_use]
pub fn euler_rusanov(dimensions: u8, cells: u16, fused: bool) -> Kernel {
    let mut graph = Graph::new();
    let axes = usize::from(dimensions);
    let reach = i16::try_from(cells).expect("small patch");
    let (low, mut high) = ([0i16; 3], [1i16; 3]);
    high[..axes].fill(reach);
    let mut around = (low, high);
    for axis in 0..axes {
        around.0[axis] = -1;
        around.1[axis] = reach + 1;
    }
    let mut blocks = vec![
        Block { name: "QIn".into(), width: 5, low: around.0, high: around.1 },
        Block { name: "QOut".into(), width: 5, low, high },
    ];
    let mut stages = Vec::new();
    let mut state: Vec<Value> = (0..5).map(|u| load(&mut graph, INPUT, u, [0; 3])).collect();
    for axis in 0..axes {
        let mut faces = Vec::new();
        for side in [-1i8, 0] {
            let shifts = |step: i8| {
                let mut shift = [0i8; 3];
                shift[axis] = side + step;
                shift
            };
            faces.push(face(&mut graph, axis, shifts(0), shifts(1)));
        }
        let mut step = {
            let (dt, dx) = (
                graph.leaf(Leaf::TimeStep),
                graph.leaf(Leaf::Spacing(u8::try_from(axis).expect("an axis"))),
            );
            let ratio = graph.divide(dt, dx);
            (0..5)
                .map(|u| {
                    let difference = graph.subtract(faces[0][u], faces[1][u]);
                    graph.multiply(ratio, difference)
                })
                .collect::<Vec<_>>()
        };
        if !fused {
            let block = BlockId(u16::try_from(blocks.len()).expect("few blocks"));
            blocks.push(Block { name: format!("sum{axis}"), width: 5, low, high });
            let writes = (0u16..).zip(&step);
            stages.push(Stage {
                name: format!("flux difference along {axis}"),
                low,
                high,
                writes: writes.map(|(unknown, &value)| Write { block, unknown, value }).collect(),
                maximum: None,
                call: None,
            });
            step = (0..5).map(|u| load(&mut graph, block, u, [0; 3])).collect();
        }
        state = state.iter().zip(&step).map(|(&a, &b)| graph.add(a, b)).collect();
    }
    let speeds: Vec<Value> = (0..axes).map(|axis| eigenvalue(&mut graph, &state, axis)).collect();
    let maximum =
        speeds.into_iter().reduce(|a, b| graph.binary(crate::graph::Binary::Maximum, a, b));
    stages.push(Stage {
        name: "new state".into(),
        low,
        high,
        writes: (0u16..)
            .zip(&state)
            .map(|(unknown, &value)| Write { block: OUTPUT, unknown, value })
            .collect(),
        maximum,
        call: None,
    });
    let names = ["density", "momentum_x", "momentum_y", "momentum_z", "energy"];
    let physics = Physics {
        name: "euler".into(),
        file: "euler.c".into(),
        text: String::new(),
        unknowns: names.map(String::from).to_vec(),
        auxiliary: Vec::new(),
        parameters: vec![Parameter { name: "gamma".into(), integer: false, default: 1.4 }],
        terms: Vec::new(),
        unit: crate::c::Unit::default(),
    };
    Kernel {
        name: format!("euler_rusanov_d{dimensions}_p{cells}"),
        shape: Shape {
            dimensions,
            cells,
            halo: 1,
            unknowns: 5,
            auxiliary: 0,
            output: Output::Step,
        },
        parameters: physics.parameters.clone(),
        frozen: Vec::new(),
        physics: Arc::new(physics),
        integers: Vec::new(),
        matrices: Vec::new(),
        blocks,
        graph,
        stages,
        speeds: true,
        post: false,
    }
}

fn load(graph: &mut Graph, block: BlockId, unknown: u16, shift: [i8; 3]) -> Value {
    graph.leaf(Leaf::Load { block, unknown, at: shift.map(Coordinate::Shift) })
}

fn face(graph: &mut Graph, axis: usize, left: [i8; 3], right: [i8; 3]) -> Vec<Value> {
    let sides: Vec<Vec<Value>> =
        [left, right].map(|shift| (0..5).map(|u| load(graph, INPUT, u, shift)).collect()).to_vec();
    let speeds = [0, 1].map(|side| eigenvalue(graph, &sides[side], axis));
    let speed = graph.binary(crate::graph::Binary::Maximum, speeds[0], speeds[1]);
    let fluxes = [0, 1].map(|side| flux(graph, &sides[side], axis));
    let half = graph.constant(0.5);
    (0..5)
        .map(|u| {
            let sum = graph.add(fluxes[0][u], fluxes[1][u]);
            let mean = graph.multiply(half, sum);
            let jump = graph.subtract(sides[1][u], sides[0][u]);
            let damping = graph.multiply(half, speed);
            let damping = graph.multiply(damping, jump);
            graph.subtract(mean, damping)
        })
        .collect()
}

fn pressure(graph: &mut Graph, q: &[Value]) -> (Value, Value) {
    let (one, half) = (graph.constant(1.0), graph.constant(0.5));
    let inverse = graph.divide(one, q[0]);
    let gamma = graph.leaf(Leaf::Parameter(0));
    let squares: Vec<Value> = (1..4).map(|u| graph.multiply(q[u], q[u])).collect();
    let sum = graph.add(squares[0], squares[1]);
    let sum = graph.add(sum, squares[2]);
    let kinetic = graph.multiply(half, inverse);
    let kinetic = graph.multiply(kinetic, sum);
    let internal = graph.subtract(q[4], kinetic);
    let factor = graph.subtract(gamma, one);
    (inverse, graph.multiply(factor, internal))
}

fn flux(graph: &mut Graph, q: &[Value], axis: usize) -> Vec<Value> {
    let (inverse, pressure) = pressure(graph, q);
    let speed = graph.multiply(q[1 + axis], inverse);
    let mut flux: Vec<Value> = q.iter().map(|&u| graph.multiply(speed, u)).collect();
    flux[1 + axis] = graph.add(flux[1 + axis], pressure);
    let work = graph.multiply(speed, pressure);
    flux[4] = graph.add(flux[4], work);
    flux
}

fn eigenvalue(graph: &mut Graph, q: &[Value], axis: usize) -> Value {
    let (inverse, pressure) = pressure(graph, q);
    let speed = graph.multiply(q[1 + axis], inverse);
    let speed = graph.unary(Unary::Absolute, speed);
    let gamma = graph.leaf(Leaf::Parameter(0));
    let square = graph.multiply(gamma, pressure);
    let square = graph.multiply(square, inverse);
    let sound = graph.unary(Unary::SquareRoot, square);
    graph.add(speed, sound)
}
