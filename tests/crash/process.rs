//! One run of the real program, held by its handle: started, killed, or asked to end.

use std::{fs::File, path::Path, process::ExitStatus, process::Stdio, time::Duration};

use tokio::{
    process::{Child, Command},
    time::timeout,
};

const ENDS_WITHIN: Duration = Duration::from_secs(20);

#[derive(Debug)]
pub(crate) struct Process(Child);

impl Process {
    /// Its log goes to `log`, which a failed test shows. A test that ends early takes the process with it.
    pub(crate) fn start(config: &Path, log: File) -> Self {
        let child = Command::new(env!("CARGO_BIN_EXE_watchfloor"))
            .args(["--log-level", "info,watchfloor=debug", "serve", "--config"])
            .arg(config)
            .env_clear()
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .kill_on_drop(true)
            .spawn();
        Self(child.unwrap())
    }

    /// SIGKILL: no code of the program runs after this.
    pub(crate) async fn kill(mut self) {
        self.0.kill().await.unwrap();
    }

    /// SIGTERM.
    pub(crate) async fn terminate(&self) {
        let id = self.0.id().unwrap();
        let sent = Command::new("sh").args(["-c", &format!("kill -TERM {id}")]).status().await.unwrap();
        assert!(sent.success(), "the process is gone already");
    }

    pub(crate) async fn ended(mut self) -> ExitStatus {
        timeout(ENDS_WITHIN, self.0.wait()).await.expect("the process did not end").unwrap()
    }
}
