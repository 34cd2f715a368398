//! Completions and man pages, made from the same definition as the help.

use std::path::Path;

use clap::CommandFactory;

use crate::cli::Cli;
use crate::failure::Failure;
use crate::stdout::print;
use crate::talk;

pub(super) fn completions(shell: clap_complete::Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "shardid", &mut script);
    print(&String::from_utf8_lossy(&script))
}

pub(super) fn man(folder: &Path) -> Result<(), Failure> {
    let failed = |error| Failure::new(format!("could not write to {}: {error}", folder.display()));
    std::fs::create_dir_all(folder).map_err(failed)?;
    clap_mangen::generate_to(Cli::command(), folder).map_err(failed)?;
    talk::line(format_args!("wrote the man pages to {}", folder.display()));
    Ok(())
}
