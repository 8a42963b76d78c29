//! A kernel as a library for other people's engines: C and CUDA texts that need nothing of temblor.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::emit::c::{self, SIGNATURE, Style};
use crate::emit::gpu::{self, Dialect, Layouts, Program, Schedule, Way};
use crate::error::Result;
use crate::kernel::{Kernel, Output};

/// A file of a library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Name.
    pub name: &'static str,
    /// Contents.
    pub text: String,
}

/// The files of a kernel's library: `kernel.h`, `kernel.c`, `README.md` and, for a kernel of one stage,
/// `kernel.cu`. The function is called as the kernel is ([`Kernel::name`]).
///
/// # Errors
/// [`crate::Error::Mismatch`] where the kernel cannot be printed.
pub fn files(kernel: &Kernel) -> Result<Vec<File>> {
    let mut files = vec![
        File { name: "kernel.h", text: header(kernel) },
        File { name: "kernel.c", text: source(kernel)? },
    ];
    // Kernels of several stages keep temporaries, which the launcher below has no room for.
    let cuda = kernel.stages.len() == 1;
    if cuda {
        files.push(File { name: "kernel.cu", text: device(kernel)? });
    }
    files.push(File { name: "README.md", text: readme(kernel, cuda) });
    Ok(files)
}

/// Writes files into a folder, which is made where it does not exist; where they are.
///
/// # Errors
/// What the file system says.
pub fn write(files: &[File], folder: &Path) -> io::Result<Vec<PathBuf>> {
    fs::create_dir_all(folder)?;
    let one = |file: &File| {
        let path = folder.join(file.name);
        fs::write(&path, &file.text).map(|()| path)
    };
    files.iter().map(one).collect()
}

fn source(kernel: &Kernel) -> Result<String> {
    let text = c::emit(kernel, &c::Options::new(Style::OpenMp))?;
    Ok(format!(
        "/* {}: see kernel.h. Written by temblor; change the physics or the scheme and build again. */\n\
         {QUIET}#include \"kernel.h\"\n\n{text}",
        kernel.name
    ))
}

/// What lets the text pass a strict compiler, and one of C++: every kernel has all arguments, every part of
/// a split stage all uniform values, and pragmas of OpenMP may be off.
const QUIET: &str = "\
#ifdef __GNUC__
#pragma GCC diagnostic ignored \"-Wunused-parameter\"
#pragma GCC diagnostic ignored \"-Wunused-variable\"
#pragma GCC diagnostic ignored \"-Wunknown-pragmas\"
#endif
#ifdef __cplusplus
#define restrict __restrict__
#endif
";

/// `text` in lines of less than 100 columns, broken at spaces, with `glue` in between.
fn wrapped(text: &str, glue: &str) -> String {
    let (mut all, mut column) = (String::new(), 0);
    for word in text.split(' ') {
        if column > 0 && column + word.len() > 86 {
            all.push_str(glue);
            column = 0;
        } else if column > 0 {
            all.push(' ');
        }
        all.push_str(word);
        column += word.len() + 1;
    }
    all
}

fn header(kernel: &Kernel) -> String {
    let shape = &kernel.shape;
    let name = &kernel.name;
    let upper = name.to_uppercase();
    let flags = c::flags(Style::Fused, true).join(" ");
    let compile = wrapped(&format!("cc {flags} -march=native -c kernel.c"), " \\\n     ");
    let signature = wrapped(SIGNATURE, "\n    ");
    let voxels = if shape.halo == 1 { "voxel" } else { "voxels" };
    let output = match shape.output {
        Output::Step => "state after the step",
        Output::Rate => "time derivative",
    };
    let mut text = format!(
        "/* {name}:\n   {physics} on patches of {p}^{d} voxels with {h} halo {voxels} on each side.\n   \
         {compile}\n   \
         -ffp-contract=off gives the same bits on every machine. Link with -lm.\n   \
         With -fopenmp, also when linking, patches are spread over threads, as many as OMP_NUM_THREADS\n   \
         or omp_set_num_threads say; no bit depends on how many. */\n\
         #ifndef {upper}_H\n#define {upper}_H\n\n\
         #ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n\
         /* Doubles of an input chunk, and of an output chunk: the {output}. */\n\
         #define {upper}_INPUT {input}\n\
         #define {upper}_OUTPUT {result}\n\n\
         /* Parameters, in order: */\n",
        physics = kernel.physics.name,
        p = shape.cells,
        d = shape.dimensions,
        h = shape.halo,
        input = shape.input_len(),
        result = shape.output_len(),
    );
    let _ = writeln!(text, "#define {upper}_PARAMETERS {}", kernel.parameters.len());
    for (place, known) in kernel.parameters.iter().enumerate() {
        let frozen = kernel.frozen.iter().find(|(at, _)| usize::from(*at) == place);
        let note = if let Some((_, value)) = frozen {
            format!("built in as {value:?}")
        } else if known.integer {
            format!("built in as {}", known.default)
        } else {
            format!("default {:?}", known.default)
        };
        let _ = writeln!(text, "/* {place}: {}, {note} */", known.name);
    }
    let _ = write!(
        text,
        "
/* Applies the kernel to K chunks, anywhere in memory, none a result and an input at once: unknown
   fastest, then x, y, z, the halo part of the input. Centre and size are those of the whole patch,
   m; t and dt s; speed takes the largest eigenvalue of each patch, m/s{none},
   or is NULL. Returns 0, or 1 where memory is short. May be called by several threads at once:
   compiled with -fopenmp, each call from outside a parallel region has threads of its own; one from
   inside a region stays on its thread, as does one with little to do. */
int {name}(
    {signature});

/* The same with room of your own, for one thread at a time: {name}_scratch(K)
   doubles, once given to {name}_prepare. */
long {name}_scratch(int K);
void {name}_prepare(double *scratch);
void {name}_run(
    {signature}, double *scratch);

#ifdef _OPENMP
/* The same on T threads at once: T times {name}_scratch(K) doubles,
   each part once given to {name}_prepare. */
void {name}_team(
    {signature}, double *scratch, int T);
#endif

#ifdef __cplusplus
}}
#endif
#endif
",
        none = if kernel.speeds { "" } else { " (this kernel computes none)" }
    );
    text
}

fn readme(kernel: &Kernel, cuda: bool) -> String {
    let more = if cuda {
        " `kernel.cu` holds the same kernel for NVIDIA cards with a launcher at its end, which says \
         what lies where."
    } else {
        ""
    };
    format!(
        "`{name}` updates K patches of {p}^{d} voxels for the physics `{physics}`. `kernel.h` says how to \
         call it and how to compile `kernel.c`, which needs a C99 compiler and the mathematics library \
         and nothing else; with `-fopenmp` its patches are spread over threads.{more}\n",
        name = kernel.name,
        p = kernel.shape.cells,
        d = kernel.shape.dimensions,
        physics = kernel.physics.name
    )
}

fn device(kernel: &Kernel) -> Result<String> {
    let schedule = Schedule::new(Way::Flat);
    let program = gpu::emit(kernel, &schedule, &Layouts::chunks(kernel), Dialect::Cuda)?;
    let include = "#ifndef __CUDACC_RTC__\n#include <string.h>\n#endif\n";
    Ok(format!("{include}{}\n{}", program.source, launcher(kernel, &program)))
}

fn launcher(kernel: &Kernel, program: &Program) -> String {
    let name = &kernel.name;
    let mut text = format!(
        "#ifndef __CUDACC_RTC__\n\
         // Queues the kernel for K patches. `keys` has a value per patch, zero before; the largest\n\
         // eigenvalue of a patch is the double with the bits key ^ (key >> 63 ? 1 << 63 : ~0), 0 none.\n\
         // `parameter` is memory of the host, all else of the device.\n\
         extern \"C\" int {name}_cuda(const double* const* QIn, double* const* QOut, const cell* cells,\n    \
         key_t64* keys, const double* parameter, int K, cudaStream_t stream) {{\n  \
         struct parameters P = {{}};\n  \
         memcpy(&P, parameter, {} * sizeof(double));\n",
        kernel.parameters.len()
    );
    for entry in &program.entries {
        let _ = writeln!(
            text,
            "  {entry}<<<(unsigned)(((unsigned long long)K * {per} + {items} - 1) / {items} * {groups}), \
             {threads}, {shared}, stream>>>(QIn, QOut, cells, keys, 0, P, K);",
            entry = entry.name,
            per = entry.per_patch,
            items = entry.items,
            groups = entry.groups,
            threads = entry.threads,
            shared = entry.shared
        );
    }
    text.push_str("  return (int)cudaGetLastError();\n}\n#endif\n");
    text
}
