//! The release binary as a process of its own, and what it uses.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

/// The service under test. Killed when dropped.
pub(crate) struct Service {
    child: Child,
    address: String,
}

impl Service {
    pub(crate) fn start(config: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_watchfloor"))
            .args(["serve", "--config"])
            .arg(config)
            .env("WATCHFLOOR_LOG", "warn")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| line.strip_prefix("listening on http://").map(str::to_owned))
            .unwrap();
        // Keep reading, so that the service never waits for its own output.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, address }
    }

    pub(crate) async fn ready(&self, client: &reqwest::Client) {
        let url = format!("http://{}/readyz", self.address);
        while !client.get(&url).send().await.is_ok_and(|answer| answer.status().is_success()) {
            tokio::time::sleep(Duration::from_micros(500)).await;
        }
    }

    /// Resident memory in MiB, and how much of it is the process's own.
    pub(crate) fn memory(&self) -> (f64, f64) {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let mib = |key: &str| {
            let line = status.lines().find(|line| line.starts_with(key)).unwrap();
            line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1024.0
        };
        (mib("VmRSS:"), mib("RssAnon:"))
    }

    /// User and system time so far.
    pub(crate) fn cpu(&self) -> Duration {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
        let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
        // Linux counts in hundredths of a second wherever this runs.
        Duration::from_millis(ticks * 10)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
