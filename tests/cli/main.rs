//! The binary as an operator meets it: files, variables and signals in, lines, answers and exit codes out.

mod channels;
mod process;
mod starting;
mod stopping;
