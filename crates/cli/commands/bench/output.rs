//! What `temblor bench` shows of results: tables, plots, the report; of a run that has just ended, or
//! of files.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use temblor_bench::plots::{self, Theme};
use temblor_bench::results::Results;
use temblor_bench::{csv, html, merge, tables};

use crate::exit::Failure;
use crate::output::make_folder;

/// Where results are shown.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// Show these files of results and measure nothing; several are merged
    #[arg(long, visible_alias = "merge", value_name = "FILE", num_args = 1..)]
    pub from: Vec<PathBuf>,
    /// Write a line per row with all figures, SI units
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Write all tables as Markdown
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// Write a report with tables and plots that needs no other file
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write plots into this folder
    #[arg(long, value_name = "DIR")]
    pub plots: Option<PathBuf>,
    /// Formats of plots: svg, png
    #[arg(
        long,
        value_enum,
        value_name = "FORMATS",
        value_delimiter = ',',
        hide_possible_values = true,
        default_values = ["svg", "png"],
        requires = "plots"
    )]
    pub plot_format: Vec<PlotFormat>,
    /// Draw plots on dark ground
    #[arg(long, requires = "plots")]
    pub dark: bool,
    /// Print the published benchmarks' tables with these figures
    #[arg(long)]
    pub tables: bool,
}

/// Format of a plot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PlotFormat {
    /// Lines and text that scale.
    Svg,
    /// Pixels.
    Png,
}

/// A file of results as text, after its name.
fn text_of(path: &Path) -> Result<(String, String), Failure> {
    let name = path.display().to_string();
    match std::fs::read_to_string(path) {
        Ok(text) => Ok((name, text)),
        Err(error) => {
            Err(Failure::BadInput(format!("{name}: {error}; `temblor bench` writes such files")))
        }
    }
}

/// One file of results.
///
/// # Errors
/// [`Failure::BadInput`] for a file that cannot be read, with the remedy.
pub(super) fn read(path: &Path) -> Result<Results, Failure> {
    let (name, text) = text_of(path)?;
    merge::read(&name, &text).map_err(Failure::input)
}

/// Results of `--from`, merged; `None` if it was not given.
///
/// # Errors
/// [`Failure::BadInput`] for a file that cannot be read or merged, with the remedy.
pub fn load(args: &OutputArgs) -> anyhow::Result<Option<Results>> {
    if args.from.is_empty() {
        return Ok(None);
    }
    let files = args.from.iter().map(|path| text_of(path)).collect::<Result<Vec<_>, _>>()?;
    Ok(Some(merge::read_all(&files).map_err(Failure::input)?))
}

/// Shows the files of `--from`, and merges them into `json` if it is given; false if there are none.
///
/// # Errors
/// As for [`load`] and [`write()`].
pub fn show(args: &OutputArgs, json: Option<&Path>) -> anyhow::Result<bool> {
    let Some(results) = load(args)? else { return Ok(false) };
    if let Some(path) = json {
        let text = serde_json::to_string_pretty(&results)? + "\n";
        put(path, text.as_bytes())?;
    }
    write(&results, args)?;
    let into = [&args.csv, &args.markdown, &args.html, &args.plots];
    if json.is_none() && !args.tables && into.iter().all(|path| path.is_none()) {
        print!("{}", joined(&tables::measured(&results)));
    }
    Ok(true)
}

/// Writes and prints what `args` asks for.
///
/// # Errors
/// [`Failure::Output`] for a file that cannot be written.
pub fn write(results: &Results, args: &OutputArgs) -> anyhow::Result<()> {
    if args.tables {
        print!("{}", joined(&tables::seeds(results)));
    }
    if let Some(path) = &args.csv {
        put(path, csv::csv(results).as_bytes())?;
    }
    if let Some(path) = &args.markdown {
        let mut all = tables::measured(results);
        all.extend(tables::seeds(results));
        put(path, format!("# temblor bench\n\n{}", joined(&all)).as_bytes())?;
    }
    if let Some(path) = &args.html {
        put(path, html::report(results)?.as_bytes())?;
    }
    if let Some(folder) = &args.plots {
        draw(results, folder, args)?;
    }
    Ok(())
}

fn draw(results: &Results, folder: &Path, args: &OutputArgs) -> anyhow::Result<()> {
    make_folder(folder)?;
    let theme = if args.dark { Theme::Dark } else { Theme::Light };
    for plot in plots::all(results) {
        if plot.is_empty() {
            tracing::warn!("nothing to plot: no row has a rate");
        }
        for format in &args.plot_format {
            let bytes = match format {
                PlotFormat::Svg => plot.svg(theme)?.into_bytes(),
                PlotFormat::Png => plot.png(theme)?,
            };
            let ending = if *format == PlotFormat::Svg { "svg" } else { "png" };
            put(&folder.join(format!("{}.{ending}", plot.name)), &bytes)?;
        }
    }
    Ok(())
}

fn joined(tables: &[tables::Table]) -> String {
    tables.iter().map(tables::Table::markdown).collect::<Vec<_>>().join("\n")
}

fn put(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    temblor_io::atomic::write(path, bytes).map_err(Failure::output)
}

#[cfg(test)]
mod tests {
    use super::*;
    use temblor_bench::sample;

    fn written(results: &Results, folder: &Path, change: impl FnOnce(&mut OutputArgs)) {
        let mut args = OutputArgs {
            plot_format: vec![PlotFormat::Svg, PlotFormat::Png],
            ..OutputArgs::default()
        };
        args.csv = Some(folder.join("rows.csv"));
        args.markdown = Some(folder.join("tables.md"));
        args.html = Some(folder.join("report.html"));
        args.plots = Some(folder.join("plots"));
        change(&mut args);
        write(results, &args).unwrap();
    }

    #[test]
    fn every_output_that_is_asked_for_is_written() {
        let folder = tempfile::tempdir().unwrap();
        written(&sample::gpu(1), folder.path(), |_| ());
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
        assert!(read("rows.csv").starts_with("run,date,outcome"));
        assert!(read("tables.md").contains("### GPoints/s @ N=800 (Minimod)"));
        assert!(read("report.html").ends_with("</html>\n"));
        assert!(read("plots/devices.svg").starts_with("<svg"));
        assert!(folder.path().join("plots/devices.png").exists());
    }

    #[test]
    fn files_are_merged_and_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let paths = [1, 2].map(|seed| {
            let path = folder.path().join(format!("{seed}.json"));
            std::fs::write(&path, serde_json::to_string(&sample::gpu(seed)).unwrap()).unwrap();
            path
        });
        let args = OutputArgs { from: paths.into(), ..OutputArgs::default() };
        let merged = folder.path().join("both.json");
        assert!(show(&args, Some(&merged)).unwrap());
        let again = OutputArgs { from: vec![merged], ..OutputArgs::default() };
        let results = load(&again).unwrap().unwrap();
        assert!(results == merge::merge(vec![sample::gpu(1), sample::gpu(2)]));
    }

    #[test]
    fn a_file_that_is_not_there_is_bad_input_with_its_name() {
        let args = OutputArgs { from: vec!["no-such.json".into()], ..OutputArgs::default() };
        let error = load(&args).unwrap_err();
        assert!(matches!(error.downcast_ref(), Some(Failure::BadInput(_))));
        assert!(error.to_string().starts_with("no-such.json: "), "{error}");
    }

    #[test]
    fn without_files_there_is_nothing_to_show() {
        assert!(!show(&OutputArgs::default(), None).unwrap());
    }
}
