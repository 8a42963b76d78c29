//! Physics and schemes, shipped or the user's own.

use std::path::Path;
use std::sync::Arc;

use temblor_patch::shipped::SCHEMES;
use temblor_patch::{Error, Physics, Scheme, library, text};

use super::schema::{PhysicsTable, SchemeTable};
use crate::exit::Failure;
use crate::nearest::hint;

/// The physics that ships under a name.
///
/// # Errors
/// [`Failure::BadInput`] with the nearest name.
pub fn physics(name: &str) -> Result<Physics, Failure> {
    let names: Vec<&str> = library::shipped().iter().map(|(name, _)| *name).collect();
    if !names.contains(&name) {
        return Err(Failure::input(format!("no physics `{name}` ships; {}", hint(name, names))));
    }
    Physics::shipped(name).map_err(Failure::input)
}

/// The scheme that ships under a name.
///
/// # Errors
/// [`Failure::BadInput`] with the nearest name.
pub fn scheme(name: &str) -> Result<Scheme, Failure> {
    let names: Vec<&str> = SCHEMES.iter().map(|(name, _)| *name).collect();
    if !names.contains(&name) {
        return Err(Failure::input(format!("no scheme `{name}` ships; {}", hint(name, names))));
    }
    Scheme::shipped(name).map_err(Failure::input)
}

/// The physics that `[physics]` asks for, with the text of `setup` after it.
pub(super) fn of_physics(table: &PhysicsTable, folder: &Path) -> Result<Arc<Physics>, Failure> {
    let (name, mut text) = match (&table.shipped, &table.file) {
        (Some(name), None) => {
            let physics = physics(name).map_err(|error| in_table("physics", &error))?;
            (physics.file, physics.text)
        }
        (None, Some(file)) => (name_of(file), read(&folder.join(file), "[physics] file")?),
        (Some(_), Some(_)) => {
            return Err(Failure::input("[physics] has both shipped and file: give one of them"));
        }
        (None, None) => {
            return Err(Failure::input(
                "[physics] has neither shipped nor file: give one; `temblor patch list` shows what \
                 ships",
            ));
        }
    };
    let mut setup = None;
    if let Some(file) = &table.setup {
        let more = read(&folder.join(file), "[physics] setup")?;
        text = without(&text, &more);
        if !text.ends_with('\n') {
            text.push('\n');
        }
        setup = Some((name_of(file), u32::try_from(text.lines().count()).unwrap_or(u32::MAX)));
        text.push_str(&more);
    }
    // Lines are counted through both texts; what the user reads is the line of a file.
    let physics = Physics::from_c(&name, &text).map_err(|error| match (error, &setup) {
        (Error::Physics { line, what, .. }, Some((setup, before))) if line > *before => {
            Error::Physics { file: setup.clone(), line: line - before, what }
        }
        (error, _) => error,
    });
    Ok(Arc::new(physics.map_err(Failure::input)?))
}

/// A physics whose `initial` and `exact` give way to those of a setup: they stay as functions of
/// another name, so that no line moves. An exact solution does not outlive its initial state.
fn without(text: &str, setup: &str) -> String {
    let defines = |term: &str| setup.contains(&format!("void {term}("));
    let mut text = text.to_owned();
    for (term, replaced) in
        [("initial", defines("initial")), ("exact", defines("initial") || defines("exact"))]
    {
        if replaced {
            text = text.replace(&format!("{term}("), &format!("shipped_{term}("));
        }
    }
    text
}

/// The scheme that `[scheme]` asks for.
pub(super) fn of_scheme(table: &SchemeTable, folder: &Path) -> Result<Scheme, Failure> {
    match (&table.shipped, &table.file) {
        (Some(name), None) => scheme(name).map_err(|error| in_table("scheme", &error)),
        (None, Some(file)) => {
            let scheme = read(&folder.join(file), "[scheme] file")?;
            text::parse(&name_of(file), &scheme).map_err(Failure::input)
        }
        (Some(_), Some(_)) => {
            Err(Failure::input("[scheme] has both shipped and file: give one of them"))
        }
        (None, None) => Err(Failure::input(
            "[scheme] has neither shipped nor file: give one; `temblor patch list` shows what ships",
        )),
    }
}

fn in_table(table: &str, error: &Failure) -> Failure {
    Failure::input(format!("[{table}] shipped: {error}"))
}

fn name_of(file: &Path) -> String {
    file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned()
}

fn read(path: &Path, key: &str) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| {
        let path = path.display();
        Failure::input(format!(
            "{key}: cannot read {path}: {error}; paths are relative to the run file"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setup_takes_the_place_of_what_the_physics_has() {
        let text = "void exact(int a) {}\nvoid initial(int a) { exact(a); }\n";
        let renamed =
            "void shipped_exact(int a) {}\nvoid shipped_initial(int a) { shipped_exact(a); }\n";
        assert_eq!(without(text, "void initial(const double *x) {}"), renamed);
        assert_eq!(without(text, "// nothing of the kind"), text);
        let exact_alone = without(text, "void exact(int b) {}");
        assert!(exact_alone.contains("void initial(int a) { shipped_exact(a); }"), "{exact_alone}");
    }
}
