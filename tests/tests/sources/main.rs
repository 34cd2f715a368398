//! What can be said of the sources without a server: no statement lies there unused, no
//! link of a page leads nowhere, and no dependency is unfinished.

mod dependencies;
mod links;
mod printing;
mod statements;
