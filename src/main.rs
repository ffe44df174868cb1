//! Entry point: what must be true for the whole process, then the command line.

use std::process::ExitCode;

fn main() -> ExitCode {
    // Before any client is made: building one without a process-wide provider panics.
    if rustls::crypto::ring::default_provider().install_default().is_err() {
        return ExitCode::FAILURE;
    }
    match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => {
            let code = runtime.block_on(watchfloor::cli::run());
            // All that has to be waited for was waited for; a stuck name look-up doesn't keep us.
            runtime.shutdown_background();
            code
        }
        Err(_) => ExitCode::FAILURE,
    }
}
