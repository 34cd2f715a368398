//! `shardid init`: a cluster file to begin with.

use std::io::Write;

use crate::cli::Init;
use crate::failure::Failure;
use crate::file::TEMPLATE;
use crate::talk;

pub(super) fn run(args: &Init) -> Result<(), Failure> {
    let shown = args.path.display();
    let file = std::fs::File::options().write(true).create_new(true).open(&args.path);
    let mut file = file.map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => Failure::new(format!("{shown} is there already"))
            .hint("name another file: `shardid init FILE`"),
        _ => Failure::new(format!("could not write {shown}: {error}")),
    })?;
    file.write_all(TEMPLATE.as_bytes())
        .map_err(|error| Failure::new(format!("could not write {shown}: {error}")))?;
    talk::line(format_args!("wrote {shown}"));
    talk::line("Name your servers in it, then look at `shardid plan`.");
    Ok(())
}
