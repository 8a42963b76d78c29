//! `temblor model make`: synthetic models, sampled and written slab by slab.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::{Args, Subcommand};
use ndarray::s;
use temblor_io::volume::{VolumeLayout, write};
use temblor_io::{ByteOrder, Element, Format};

use super::volume_args::{ElementName, parse_shape, parse_spacing};
use crate::models::{Earth, Faults, FaultsRecipe, Gradient, Layers, Salt, SaltRecipe, Sampler};

/// Arguments of `temblor model make`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  \
    temblor model make constant --speed 2000 --shape 201,201,201 --spacing 10 -o vp.npy\n  \
    temblor model make layers --speeds 1500,2000,3000 --depths 400,1200 --shape 801,187 --spacing 25 -o vp.npy\n  \
    temblor model make faults --shape 801,301 --spacing 12.5 --seed 7 -o vp.npy\n  \
    temblor model make salt --shape 676,676,210 --spacing 20 --smooth 40 -o vp.npy")]
pub struct MakeArgs {
    /// The model.
    #[command(subcommand)]
    pub model: Model,
}

/// Models that can be made.
#[derive(Debug, Clone, Subcommand)]
pub enum Model {
    /// One wave speed everywhere
    Constant {
        /// Wave speed, m/s
        #[arg(long, allow_negative_numbers = true)]
        speed: f64,
        /// Grid and file.
        #[command(flatten)]
        grid: GridArgs,
    },
    /// Flat layers
    Layers {
        /// Wave speeds from the top, m/s
        #[arg(long, value_delimiter = ',', required = true, allow_negative_numbers = true)]
        speeds: Vec<f64>,
        /// Depths of the interfaces, m (default: layers of equal thickness)
        #[arg(long, value_delimiter = ',')]
        depths: Option<Vec<f64>>,
        /// Grid and file.
        #[command(flatten)]
        grid: GridArgs,
    },
    /// Wave speed that grows linearly with depth
    Gradient {
        /// Wave speed at the surface, m/s
        #[arg(long, default_value_t = 1500.0)]
        top: f64,
        /// Growth with depth, (m/s)/m
        #[arg(long, default_value_t = 0.6, allow_negative_numbers = true)]
        gradient: f64,
        /// Largest wave speed, m/s
        #[arg(long, default_value_t = f64::INFINITY, hide_default_value = true)]
        most: f64,
        /// Grid and file.
        #[command(flatten)]
        grid: GridArgs,
    },
    /// Folded layers cut by dipping normal faults
    Faults {
        /// Number of layers
        #[arg(long, default_value_t = 14)]
        layers: usize,
        /// Number of faults
        #[arg(long, default_value_t = 5)]
        faults: usize,
        /// Wave speed of the first layer, m/s
        #[arg(long, default_value_t = 1800.0)]
        top: f64,
        /// Wave speed of the last layer, m/s
        #[arg(long, default_value_t = 4500.0)]
        bottom: f64,
        /// Seed: another one is another model
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Grid and file.
        #[command(flatten)]
        grid: GridArgs,
    },
    /// A salt diapir in compacting sediments under water
    Salt {
        /// Depth of the sea, m (default: a tenth of the model)
        #[arg(long)]
        water: Option<f64>,
        /// Seed: another one is another model
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Grid and file.
        #[command(flatten)]
        grid: GridArgs,
    },
}

/// Grid and file of a model.
#[derive(Debug, Clone, Args)]
pub struct GridArgs {
    /// Nodes as nx,ny,nz, or nx,nz
    #[arg(long, value_parser = parse_shape, value_name = "NX,NY,NZ")]
    pub shape: [usize; 3],
    /// Distance of nodes, m: one number or hx,hy,hz
    #[arg(long, value_parser = parse_spacing, value_name = "M")]
    pub spacing: [f64; 3],
    /// Standard deviation of Gaussian smoothing, m
    #[arg(long, default_value_t = 0.0, value_name = "M")]
    pub smooth: f64,
    /// Element type: f4, f8 or i2
    #[arg(long, value_enum, default_value = "f4")]
    pub element: ElementName,
    /// File to write: .sgy, .su, .rsf, .npy, .vti, or raw with any other ending
    #[arg(short, long)]
    pub output: PathBuf,
}

impl GridArgs {
    /// Distance from the first to the last node along an axis, m.
    fn extent(&self, axis: usize) -> f64 {
        (self.shape[axis] - 1) as f64 * self.spacing[axis]
    }
}

/// Makes a model and writes it.
pub(super) fn make(args: &MakeArgs) -> Result<()> {
    let (earth, grid) = earth(&args.model)?;
    let longest = (0..3).map(|a| grid.extent(a)).fold(0.0, f64::max);
    ensure!(
        (0.0..=longest).contains(&grid.smooth),
        "--smooth {} must be from 0 to the model's size, {longest} m",
        grid.smooth
    );
    let shape = grid.shape;
    let sampler = Sampler { earth, shape, spacing: grid.spacing, smoothing: grid.smooth };
    let format = Format::of_extension(&grid.output).unwrap_or(Format::Raw);
    let layout = VolumeLayout {
        format,
        shape,
        element: grid.element.into(),
        order: ByteOrder::Little,
        fortran: false,
        spacing: Some(grid.spacing),
        origin: [0.0; 3],
        name: "wave_speed".to_owned(),
    };
    ensure!(
        layout.element != Element::F16,
        "f2 loses digits that wave speeds need: use --element f4, f8 or i2"
    );
    // Formats with another axis slowest take slabs across planes: those are cut from the whole.
    let across = matches!(format, Format::Vti | Format::Rsf).then(|| sampler.planes(0, shape[0]));
    let region = |start: [usize; 3], size: [usize; 3]| {
        let [a, b] = [start, [start[0] + size[0], start[1] + size[1], start[2] + size[2]]];
        Ok(match &across {
            Some(whole) => whole.slice(s![a[0]..b[0], a[1]..b[1], a[2]..b[2]]).to_owned(),
            None => sampler.planes(start[0], size[0]),
        })
    };
    write(&grid.output, &layout, region, |_| true)?;
    let [nx, ny, nz] = shape;
    println!("{}: shape ({nx}, {ny}, {nz})", grid.output.display());
    Ok(())
}

fn earth(model: &Model) -> Result<(Earth, &GridArgs)> {
    Ok(match model {
        Model::Constant { speed, grid } => {
            positive("--speed", *speed)?;
            (Earth::Constant(*speed), grid)
        }
        Model::Layers { speeds, depths, grid } => {
            speeds.iter().try_for_each(|&v| positive("--speeds", v))?;
            let count = speeds.len() as f64;
            let equal = || (1..speeds.len()).map(|n| grid.extent(2) * n as f64 / count).collect();
            let depths = depths.clone().unwrap_or_else(equal);
            ensure!(
                depths.len() + 1 == speeds.len(),
                "{} interfaces in --depths for {} speeds: give one fewer than --speeds",
                depths.len(),
                speeds.len()
            );
            ensure!(
                depths.iter().all(|d| d.is_finite()) && depths.is_sorted(),
                "--depths must grow downwards, in m"
            );
            (Earth::Layers(Layers { speeds: speeds.clone(), depths }), grid)
        }
        Model::Gradient { top, gradient, most, grid } => {
            positive("--top", *top)?;
            positive("--most", *most)?;
            let bottom = top + gradient * grid.extent(2);
            ensure!(
                bottom > 0.0,
                "the speed at the bottom would be {bottom} m/s: lower --gradient"
            );
            (Earth::Gradient(Gradient { top: *top, gradient: *gradient, most: *most }), grid)
        }
        Model::Faults { layers, faults, top, bottom, seed, grid } => {
            positive("--top", *top)?;
            positive("--bottom", *bottom)?;
            ensure!((1..=1000).contains(layers), "--layers {layers} must be from 1 to 1000");
            ensure!(*faults <= 1000, "--faults {faults} must be at most 1000");
            let recipe = FaultsRecipe {
                width: grid.extent(0).max(grid.spacing[0]),
                depth: grid.extent(2).max(grid.spacing[2]),
                layers: *layers,
                faults: *faults,
                speeds: [*top, *bottom],
                seed: *seed,
            };
            (Earth::Faults(Faults::new(&recipe)), grid)
        }
        Model::Salt { water, seed, grid } => {
            let depth = grid.extent(2).max(grid.spacing[2]);
            let water = water.unwrap_or(0.1 * depth);
            ensure!(
                (0.0..0.3 * depth).contains(&water),
                "--water {water} must be from 0 to less than three tenths of the depth, {depth} m"
            );
            let width = [grid.extent(0).max(grid.spacing[0]), grid.extent(1)];
            (Earth::Salt(Salt::new(&SaltRecipe { width, depth, water, seed: *seed })), grid)
        }
    })
}

fn positive(flag: &str, value: f64) -> Result<()> {
    ensure!(value > 0.0, "{flag} {value}: a wave speed must be a positive number of m/s");
    Ok(())
}
