//! The problem a plan is made for: equation, grid with its layers, operator, arithmetic, dt.

use serde::{Deserialize, Serialize};

use crate::{Arithmetic, Axis, Boundaries, Boundary, Error, Face, Grid, Operator, Result};

/// Which equation is solved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Equation {
    /// Isotropic acoustics at constant density: `(1/c^2) p_tt = lap p + s`.
    AcousticIso,
}

/// A boundary without its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum BoundaryKind {
    /// [`Boundary::Zero`].
    Zero,
    /// [`Boundary::Free`].
    Free,
    /// [`Boundary::Rigid`].
    Rigid,
    /// [`Boundary::Cpml`].
    Cpml,
    /// [`Boundary::Minimod`].
    Minimod,
}

impl From<&Boundary> for BoundaryKind {
    fn from(boundary: &Boundary) -> Self {
        match boundary {
            Boundary::Zero => Self::Zero,
            Boundary::Free => Self::Free,
            Boundary::Rigid => Self::Rigid,
            Boundary::Cpml(_) => Self::Cpml,
            Boundary::Minimod(_) => Self::Minimod,
        }
    }
}

/// What tuning tables are keyed on: everything that selects a kernel, no parameter values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ProblemClass {
    /// Equation.
    pub equation: Equation,
    /// Operator, the numbers of a fit included; kernels differ by its radius alone.
    pub operator: Operator,
    /// Arithmetic.
    pub arithmetic: Arithmetic,
    /// Boundary kinds in the order of [`Face::ALL`].
    pub boundaries: [BoundaryKind; 6],
    /// Per axis, the power of two at or below the number of nodes.
    pub shape_class: [u32; 3],
}

/// A wave problem on a grid that includes its absorbing layers.
///
/// One leapfrog step is p+ = 2p - p- + dt^2 c^2 (L p + s / (hx hy hz)); in 2-D the source is
/// divided by hx hz and L has no y term.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WaveProblem {
    /// Nodes, layers included.
    pub grid: Grid,
    /// Equation.
    pub equation: Equation,
    /// Space operator.
    pub operator: Operator,
    /// Storage and arithmetic.
    pub arithmetic: Arithmetic,
    /// One boundary per face.
    pub boundaries: Boundaries,
    /// Time step, s.
    pub dt: f64,
}

impl WaveProblem {
    /// Starts a problem: isotropic acoustics, order 8, f32, zero beyond all faces.
    #[must_use]
    pub const fn builder(grid: Grid, dt: f64) -> WaveProblemBuilder {
        WaveProblemBuilder {
            problem: Self {
                grid,
                equation: Equation::AcousticIso,
                operator: Operator::Direct { order: 8 },
                arithmetic: Arithmetic::F32,
                boundaries: Boundaries::uniform(Boundary::Zero),
                dt,
            },
        }
    }

    /// The key of tuning tables.
    #[must_use]
    pub fn class(&self) -> ProblemClass {
        ProblemClass {
            equation: self.equation,
            operator: self.operator,
            arithmetic: self.arithmetic,
            boundaries: std::array::from_fn(|f| (&self.boundaries.0[f]).into()),
            shape_class: self.grid.shape.map(|n| n.ilog2()),
        }
    }

    /// The boundaries at the low and the high end of an axis; on an inactive axis both are
    /// [`Boundary::Zero`], whatever was asked for.
    #[must_use]
    pub fn ends(&self, axis: Axis) -> (Boundary, Boundary) {
        if self.grid.active(axis) {
            let at = |min| *self.boundaries.at(Face::of(axis, min));
            (at(true), at(false))
        } else {
            (Boundary::Zero, Boundary::Zero)
        }
    }
}

/// Builds a [`WaveProblem`] and checks it.
#[derive(Debug, Clone)]
pub struct WaveProblemBuilder {
    problem: WaveProblem,
}

impl WaveProblemBuilder {
    /// Sets the equation.
    #[must_use]
    pub const fn equation(mut self, equation: Equation) -> Self {
        self.problem.equation = equation;
        self
    }

    /// Sets central differences of this order.
    #[must_use]
    pub const fn order(self, order: usize) -> Self {
        self.operator(Operator::Direct { order })
    }

    /// Sets the space operator.
    #[must_use]
    pub const fn operator(mut self, operator: Operator) -> Self {
        self.problem.operator = operator;
        self
    }

    /// Sets storage and arithmetic.
    #[must_use]
    pub const fn arithmetic(mut self, arithmetic: Arithmetic) -> Self {
        self.problem.arithmetic = arithmetic;
        self
    }

    /// Sets the boundary at one face.
    #[must_use]
    pub const fn boundary(mut self, face: Face, boundary: Boundary) -> Self {
        self.problem.boundaries.set(face, boundary);
        self
    }

    /// Sets all boundaries.
    #[must_use]
    pub const fn boundaries(mut self, boundaries: Boundaries) -> Self {
        self.problem.boundaries = boundaries;
        self
    }

    /// Checks the problem and gives it out. Boundaries of an inactive axis become
    /// [`Boundary::Zero`].
    ///
    /// What is only bad over many steps is not refused here, for tests pose a few: whether dt is below the limit
    /// ([`crate::cfl::largest_dt`]) and whether a C-PML would grow ([`crate::cpml_limit::check`]). Who makes runs
    /// asks for both.
    ///
    /// # Errors
    /// If [`Operator::check`] or [`Arithmetic::check`] refuses, dt is not positive, layers do not fit the grid, a
    /// layer's parameters are out of range, or C-PML and Minimod's layer are mixed.
    pub fn build(mut self) -> Result<WaveProblem> {
        let problem = &mut self.problem;
        // Again, since the grid's fields are public.
        Grid::new(problem.grid.shape, problem.grid.spacing, problem.grid.origin)?;
        problem.operator.check()?;
        problem.arithmetic.check()?;
        if !(problem.dt.is_finite() && problem.dt > 0.0) {
            return Err(Error::invalid("time step dt", problem.dt, "give a positive time in s"));
        }
        for axis in Axis::ALL {
            if !problem.grid.active(axis) {
                problem.boundaries.set(Face::of(axis, true), Boundary::Zero);
                problem.boundaries.set(Face::of(axis, false), Boundary::Zero);
            }
        }
        for face in Face::ALL {
            check_boundary(face, problem.boundaries.at(face))?;
        }
        let has = |kind| problem.boundaries.0.iter().any(|b| BoundaryKind::from(b) == kind);
        if has(BoundaryKind::Cpml) && has(BoundaryKind::Minimod) {
            let remedy = "use one kind of layer on all absorbing faces";
            return Err(Error::invalid("boundary", "both cpml and minimod layers", remedy));
        }
        for axis in problem.grid.active_axes() {
            let nodes = problem.grid.shape[axis.index()];
            let (min, max) = problem.ends(axis);
            let cells = min.cells() + max.cells();
            if cells > nodes {
                let what = format!("layers along {}", axis.name());
                let remedy = format!("the grid has {nodes} nodes there, layers included");
                return Err(Error::invalid(what, format!("{cells} cells"), remedy));
            }
        }
        Ok(self.problem)
    }
}

fn check_boundary(face: Face, boundary: &Boundary) -> Result<()> {
    let name = |what: &str| format!("boundary {} {what}", face.name());
    let positive = |what: &str, value: f64| {
        if value.is_finite() && value > 0.0 {
            Ok(())
        } else {
            Err(Error::invalid(name(what), value, "give a positive number"))
        }
    };
    match boundary {
        Boundary::Zero | Boundary::Free | Boundary::Rigid => Ok(()),
        Boundary::Cpml(layer) => {
            if layer.cells == 0 {
                return Err(Error::invalid(name("cells"), 0, "give a width of at least one cell"));
            }
            if !(layer.r0 > 0.0 && layer.r0 < 1.0) {
                return Err(Error::invalid(name("r0"), layer.r0, "give a number between 0 and 1"));
            }
            positive("peak_hz", layer.peak_hz)?;
            positive("vmax", layer.vmax)
        }
        Boundary::Minimod(layer) => {
            if layer.cells == 0 {
                return Err(Error::invalid(name("cells"), 0, "give a width of at least one cell"));
            }
            if layer.eta_peak.is_finite() && layer.eta_peak >= 0.0 {
                Ok(())
            } else {
                let remedy = "give zero or a positive number";
                Err(Error::invalid(name("eta_peak"), layer.eta_peak, remedy))
            }
        }
    }
}
