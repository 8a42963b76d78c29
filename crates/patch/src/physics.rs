//! The physics of a kernel: C functions on private arrays, read by the module `c`.
//!
//! Conventions of the C text, which is plain C99 and compiles as such:
//! - `enum unknowns { ... };` names the N evolved unknowns, from 0; `enum auxiliary { ... };` the M
//!   fixed ones, going on from N (`enum auxiliary { DENSITY = 4 };`).
//! - `typedef struct { double gamma; int lapse; } parameters;` holds the constants, SI units. `double`
//!   members can be changed from run to run, `int` members are fixed when a kernel is built.
//!   `static const parameters defaults = { ... };` gives their defaults.
//! - The terms are the functions of [`Term`], each optional. Their arguments are known by name, and a
//!   function lists those that it needs, in any order: `Q` (N + M unknowns of the voxel), `dQ`
//!   (difference or derivatives), `QL` and `QR` (both sides of a face), `n` (int, the direction),
//!   `x` (position, m), `dx` (widths of the voxel, m), `t` and `dt` (s), `P` (pointer to the
//!   parameters), and the result as the only pointer that is not `const`, of any other name.

use crate::error::Result;
use crate::graph::Function;

/// A function of the physics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Term {
    /// `void flux(Q, n, ..., F[N])`: the flux along n of `Q`.
    Flux,
    /// `void ncp(Q, dQ, n, ..., B[N])`: `B_n(Q) dQ`, `dQ` (N + M) a difference or a derivative along n.
    Ncp,
    /// `void source(Q, ..., S[N])`: S(Q).
    Source,
    /// `double eigenvalue(Q, n, ...)`: the fastest speed along n, m/s.
    Eigenvalue,
    /// `void rhs(Q, const double dQ[3][N + M], ..., R[N])`: the whole right-hand side from the
    /// derivatives along the three axes (those beyond the dimension are zero): S - B dQ - dF.
    Rhs,
    /// `void face(QL, QR, n, ..., F[N])`: numerical flux through a face.
    Face,
    /// `void post(Q, ..., R[N])`: the evolved unknowns after a step, with constraints enforced.
    Post,
    /// `void initial(x, ..., R[N + M])`: the state at the start.
    Initial,
    /// `void exact(x, t, ..., R[N + M])`: an exact solution, where one is known.
    Exact,
}

impl Term {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Flux,
        Self::Ncp,
        Self::Source,
        Self::Eigenvalue,
        Self::Rhs,
        Self::Face,
        Self::Post,
        Self::Initial,
        Self::Exact,
    ];

    /// Name of the C function.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Flux => "flux",
            Self::Ncp => "ncp",
            Self::Source => "source",
            Self::Eigenvalue => "eigenvalue",
            Self::Rhs => "rhs",
            Self::Face => "face",
            Self::Post => "post",
            Self::Initial => "initial",
            Self::Exact => "exact",
        }
    }

    /// Whether the function is one per direction.
    #[must_use]
    pub const fn directional(self) -> bool {
        matches!(self, Self::Flux | Self::Ncp | Self::Eigenvalue | Self::Face)
    }
}

/// What an argument of a [`Function`] stands for, in the order of [`arguments`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Argument {
    /// Unknown of the voxel (`Q`; of [`Term::Face`] the left side, `QL`).
    Unknown(u16),
    /// Unknown of the right side (`QR`).
    Right(u16),
    /// `dQ` of an unknown, along the term's direction or (of [`Term::Rhs`]) along this axis.
    Slope {
        /// Axis; 0 where the term has a direction.
        axis: u8,
        /// Unknown.
        unknown: u16,
    },
    /// `x` along an axis, m.
    Position(u8),
    /// `dx` along an axis, m.
    Spacing(u8),
    /// `t`, s.
    Time,
    /// `dt`, s.
    TimeStep,
}

/// All arguments of a term for `width` = N + M unknowns, in the order of
/// [`Leaf::Argument`](crate::graph::Leaf::Argument): the unknowns, those of the right side
/// ([`Term::Face`]), the slopes ([`Term::Ncp`] one set, [`Term::Rhs`] three, axis by axis), then `x`,
/// `dx`, `t`, `dt`.
#[must_use]
pub fn arguments(term: Term, width: u16) -> Vec<Argument> {
    let mut all = Vec::new();
    if !matches!(term, Term::Initial | Term::Exact) {
        all.extend((0..width).map(Argument::Unknown));
    }
    match term {
        Term::Face => all.extend((0..width).map(Argument::Right)),
        Term::Ncp => all.extend((0..width).map(|unknown| Argument::Slope { axis: 0, unknown })),
        Term::Rhs => {
            for axis in 0..3 {
                all.extend((0..width).map(|unknown| Argument::Slope { axis, unknown }));
            }
        }
        _ => {}
    }
    all.extend((0..3).map(Argument::Position));
    all.extend((0..3).map(Argument::Spacing));
    all.extend([Argument::Time, Argument::TimeStep]);
    all
}

/// A constant of the physics.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// Name in C.
    pub name: String,
    /// Whether it is an `int`, fixed when a kernel is built.
    pub integer: bool,
    /// Value that holds unless the user says otherwise.
    pub default: f64,
}

/// A physics, read from its C text.
#[derive(Debug, Clone)]
pub struct Physics {
    /// Short name: the file's stem.
    pub name: String,
    /// File name, for messages.
    pub file: String,
    /// The C text as written.
    pub text: String,
    /// Names of the N evolved unknowns, lower case.
    pub unknowns: Vec<String>,
    /// Names of the M fixed unknowns, lower case.
    pub auxiliary: Vec<String>,
    /// Constants, in the order of the struct.
    pub parameters: Vec<Parameter>,
    /// Terms that the text defines.
    pub terms: Vec<Term>,
    /// The text as read.
    pub(crate) unit: crate::c::Unit,
}

impl Physics {
    /// Reads and checks a C text; `file` is its name in messages.
    ///
    /// # Errors
    /// [`crate::Error::Physics`] with the line of what is not in the subset.
    pub fn from_c(file: &str, text: &str) -> Result<Self> {
        crate::c::read(file, text)
    }

    /// N.
    #[must_use]
    pub fn evolved(&self) -> usize {
        self.unknowns.len()
    }

    /// N + M.
    #[must_use]
    pub fn width(&self) -> usize {
        self.unknowns.len() + self.auxiliary.len()
    }

    /// Whether the text defines a term.
    #[must_use]
    pub fn has(&self, term: Term) -> bool {
        self.terms.contains(&term)
    }

    /// A term for a direction (0 where it has none) as a graph; leaves are arguments in the order of
    /// [`arguments`] and [`Leaf::Parameter`](crate::graph::Leaf::Parameter) by place in
    /// [`Physics::parameters`]. `integers` are values for the `int` parameters by name; others keep
    /// their default.
    ///
    /// # Errors
    /// [`crate::Error::Physics`] where the text does something that has no graph (a loop whose
    /// bound depends on data), with the line; [`crate::Error::Mismatch`] for a term that is not defined.
    pub fn trace(&self, term: Term, direction: u8, integers: &[(String, i64)]) -> Result<Function> {
        crate::c::trace(self, term, direction, integers)
    }

    /// Runs a term's C text as it stands, statement by statement, in f64: the oracle of
    /// [`Physics::trace`]. `arguments` in the order of [`arguments`], `parameters` all of them.
    ///
    /// # Errors
    /// As [`Physics::trace`].
    pub fn evaluate(
        &self,
        term: Term,
        direction: u8,
        arguments: &[f64],
        parameters: &[f64],
    ) -> Result<Vec<f64>> {
        crate::c::evaluate(self, term, direction, arguments, parameters)
    }
}
