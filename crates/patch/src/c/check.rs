//! The conventions of a physics: enumerations, defaults, and what a term takes and gives.

use super::ast::{Enumeration, Formal, Function, Outcome, Scalar, Unit, Variable, fault};
use crate::physics::{Parameter, Term};

/// What an argument of a term is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// `Q` or `QL`
    State,
    /// `QR`
    Right,
    /// `dQ`
    Slopes,
    /// `n`
    Direction,
    /// `x`
    Position,
    /// `dx`
    Spacing,
    /// `t`
    Time,
    /// `dt`
    TimeStep,
    /// `P`
    Parameters,
    /// Where the result goes.
    Result,
}

/// Names of unknowns and fixed unknowns.
pub(super) fn unknowns(unit: &Unit) -> Outcome<(Vec<String>, Vec<String>)> {
    let of = |name: &str| unit.enumerations.iter().find(|enumeration| enumeration.name == name);
    let Some(evolved) = of("unknowns") else {
        return fault(1, "the unknowns have no names: write `enum unknowns { DENSITY, ... };`");
    };
    let evolved = counted(evolved, 0)?;
    let auxiliary = match of("auxiliary") {
        Some(auxiliary) => counted(auxiliary, evolved.len())?,
        None => Vec::new(),
    };
    if evolved.is_empty() {
        return fault(1, "there is no unknown: write `enum unknowns { DENSITY, ... };`");
    }
    Ok((evolved, auxiliary))
}

/// The names of an enumeration that counts from `from`.
fn counted(enumeration: &Enumeration, from: usize) -> Outcome<Vec<String>> {
    let mut names = Vec::new();
    for (place, (name, value, line)) in enumeration.constants.iter().enumerate() {
        if usize::try_from(*value) != Ok(from + place) {
            return fault(
                *line,
                format!(
                    "{name} of enum {} is {value} and has to be {}: number all unknowns from 0 \
                     without gaps, the auxiliary ones after the evolved ones",
                    enumeration.name,
                    from + place
                ),
            );
        }
        names.push(name.to_lowercase());
    }
    if from + names.len() > 4096 {
        return fault(enumeration.line, "more than 4096 unknowns: split the physics");
    }
    Ok(names)
}

/// The parameters with their defaults.
pub(super) fn parameters(unit: &Unit) -> Vec<Parameter> {
    unit.members
        .iter()
        .zip(&unit.defaults)
        .map(|(member, default)| Parameter {
            name: member.name.clone(),
            integer: member.ty == Scalar::Int,
            default: default.real(),
        })
        .collect()
}

/// What other programs call terms: as helpers that nobody calls they would be left out in silence.
const OTHER_TERMS: [(&str, Term); 9] = [
    ("eigenvalues", Term::Eigenvalue),
    ("maxEigenvalue", Term::Eigenvalue),
    ("fluxes", Term::Flux),
    ("sources", Term::Source),
    ("sourceTerm", Term::Source),
    ("source_term", Term::Source),
    ("nonconservativeProduct", Term::Ncp),
    ("initialCondition", Term::Initial),
    ("initial_condition", Term::Initial),
];

/// The terms that the text defines, each checked.
pub(super) fn terms(unit: &Unit, evolved: usize, width: usize) -> Outcome<Vec<Term>> {
    let mut all = Vec::new();
    for term in Term::ALL {
        if let Some(function) = unit.functions.iter().find(|f| f.name == term.name()) {
            roles(term, function, evolved, width)?;
            all.push(term);
        }
    }
    for function in &unit.functions {
        let other = OTHER_TERMS.iter().find(|(name, _)| *name == function.name);
        if let Some((name, term)) = other
            && !all.contains(term)
        {
            let what = format!("{name} is no term: call it `{}`", term.name());
            return fault(function.line, what);
        }
    }
    if all.is_empty() {
        return fault(1, "the text defines no term: write `void flux(...)` or another term");
    }
    Ok(all)
}

/// Numbers that a term gives.
pub(super) fn results(term: Term, evolved: usize, width: usize) -> usize {
    match term {
        Term::Eigenvalue => 1,
        Term::Initial | Term::Exact => width,
        _ => evolved,
    }
}

/// What the arguments of a term are, in order.
pub(super) fn roles(
    term: Term,
    function: &Function,
    evolved: usize,
    width: usize,
) -> Outcome<Vec<Role>> {
    let name = term.name();
    let mut roles = Vec::new();
    for formal in &function.formals {
        let role = match formal {
            Formal::Parameters { name: called, line } if called != "P" => {
                return fault(
                    *line,
                    format!("the parameters of {name} are called {called}: call them P"),
                );
            }
            Formal::Parameters { .. } => Role::Parameters,
            Formal::Variable(variable) => {
                role(term, &function.variables[*variable], evolved, width)?
            }
        };
        if roles.contains(&role) {
            let what = if role == Role::Result {
                "two results: write `const double *` for what it only reads"
            } else {
                "an argument twice: leave one out"
            };
            return fault(function.line, format!("{name} has {what}"));
        }
        roles.push(role);
    }
    let returns = if term == Term::Eigenvalue { Some(Scalar::Double) } else { None };
    if function.result != returns {
        let want = if term == Term::Eigenvalue { "double" } else { "void" };
        return fault(
            function.line,
            format!("{name} has to be {want}: write `{want} {name}(...)`"),
        );
    }
    if (term != Term::Eigenvalue) != roles.contains(&Role::Result) {
        return fault(
            function.line,
            if term == Term::Eigenvalue {
                "eigenvalue returns its result: remove the pointer that is not const".into()
            } else {
                format!("{name} has no result: add a pointer that is not const, `double *R`")
            },
        );
    }
    Ok(roles)
}

fn role(term: Term, variable: &Variable, evolved: usize, width: usize) -> Outcome<Role> {
    let (name, line) = (&*variable.name, variable.line);
    let vector = |size: usize| {
        let fits = variable.dims.len() == 1 && (variable.dims[0] == 0 || variable.dims[0] == size);
        (fits && variable.ty == Scalar::Double, format!("double {name}[{size}]"))
    };
    if variable.pointer && !variable.constant {
        let (fits, want) = vector(results(term, evolved, width));
        return if fits {
            Ok(Role::Result)
        } else {
            fault(line, format!("the result {name} of {} has to be `{want}`", term.name()))
        };
    }
    let number = |ty: Scalar| {
        (variable.dims.is_empty() && variable.ty == ty, format!("{} {name}", ty.name()))
    };
    let has_state = !matches!(term, Term::Initial | Term::Exact);
    let (role, (fits, want)) = match name {
        "Q" if has_state && term != Term::Face => (Role::State, vector(width)),
        "QL" if term == Term::Face => (Role::State, vector(width)),
        "QR" if term == Term::Face => (Role::Right, vector(width)),
        "dQ" if term == Term::Ncp => (Role::Slopes, vector(width)),
        "dQ" if term == Term::Rhs => {
            let fits = matches!(variable.dims[..], [0 | 3, w] if w == width);
            let fits = fits && variable.ty == Scalar::Double;
            (Role::Slopes, (fits, format!("double dQ[3][{width}]")))
        }
        "n" if term.directional() => (Role::Direction, number(Scalar::Int)),
        "x" => (Role::Position, vector(3)),
        "dx" => (Role::Spacing, vector(3)),
        "t" => (Role::Time, number(Scalar::Double)),
        "dt" => (Role::TimeStep, number(Scalar::Double)),
        _ => {
            return fault(
                line,
                format!("{} has no argument {name}: it knows {}", term.name(), known(term)),
            );
        }
    };
    if fits {
        return Ok(role);
    }
    let constant = if variable.pointer { "const " } else { "" };
    fault(line, format!("{name} of {} has to be `{constant}{want}`", term.name()))
}

/// The arguments that a term may have, for messages.
fn known(term: Term) -> String {
    let own = match term {
        Term::Flux | Term::Eigenvalue => "Q, n, ",
        Term::Ncp => "Q, dQ, n, ",
        Term::Source | Term::Post => "Q, ",
        Term::Rhs => "Q, dQ, ",
        Term::Face => "QL, QR, n, ",
        Term::Initial | Term::Exact => "",
    };
    let result =
        if term == Term::Eigenvalue { "" } else { " and a result, the only pointer not const" };
    format!("{own}x, dx, t, dt, P{result}")
}
