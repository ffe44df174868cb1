//! One foreign program: how it is started and what it reports. Every wait ends, with what was seen instead.

use std::{path::PathBuf, process::Stdio, time::Duration};

use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncWriteExt, BufReader},
    process::{Child, Command},
    sync::watch,
    task::JoinSet,
    time::timeout,
};

const HOME: &str = "WATCHFLOOR_TEST_ORACLES";
/// The SDKs take their time to load on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A script while it runs. It ends with its handle.
#[derive(Debug)]
pub(crate) struct Judge {
    child: Child,
    reports: Lines,
    log: Lines,
    read: usize,
    readers: JoinSet<()>,
}

pub(crate) type Lines = watch::Receiver<Vec<String>>;

impl Judge {
    /// `script` is a file of this directory.
    pub(crate) fn python(script: &str, env: &[(&str, &str)]) -> Self {
        let mut command = Command::new(home().join("python/bin/python"));
        command.arg(place().join(script)).stdin(Stdio::null());
        Self::start(command, env)
    }

    /// `script` is a file of this directory; it may await at top level.
    pub(crate) async fn node(script: &str, env: &[(&str, &str)]) -> Self {
        let mut command = Command::new("node");
        // A module from standard input finds its packages from the working directory.
        command.args(["--input-type=module", "-"]).current_dir(home().join("node")).stdin(Stdio::piped());
        let mut judge = Self::start(command, env);
        let mut input = judge.child.stdin.take().unwrap();
        input.write_all(&std::fs::read(place().join(script)).unwrap()).await.unwrap();
        judge
    }

    /// Its environment holds nothing else: no proxy, no key, no address but those of a test.
    fn start(mut command: Command, env: &[(&str, &str)]) -> Self {
        let programs = std::env::var("PATH").unwrap();
        command.env_clear().env("PATH", programs).env("PYTHONUNBUFFERED", "1").env("DO_NOT_TRACK", "1");
        command.envs(env.iter().copied());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let mut readers = JoinSet::new();
        let reports = listen(&mut readers, child.stdout.take().unwrap());
        let log = listen(&mut readers, child.stderr.take().unwrap());
        Self { child, reports, log, read: 0, readers }
    }

    /// The next line of its report.
    pub(crate) async fn says(&mut self) -> Value {
        let at = self.read;
        let more = timeout(PATIENCE, self.reports.wait_for(|lines| lines.len() > at)).await;
        let line = more.ok().and_then(Result::ok).map(|lines| lines[at].clone());
        let line = line.unwrap_or_else(|| panic!("nothing after {:#?}", self.everything()));
        self.read += 1;
        parsed(&line)
    }

    /// All further lines, once it has ended by itself and without a complaint.
    pub(crate) async fn reports(mut self) -> Vec<Value> {
        let Ok(status) = timeout(PATIENCE, self.child.wait()).await else {
            panic!("the judge did not end: {:#?}", self.everything());
        };
        while self.readers.join_next().await.is_some() {}
        assert!(status.unwrap().success(), "{:#?}", self.everything());
        let reports = self.reports.borrow();
        reports[self.read..].iter().map(|line| parsed(line)).collect()
    }

    fn everything(&self) -> Vec<String> {
        [self.reports.borrow().as_slice(), self.log.borrow().as_slice()].concat()
    }
}

/// Compares report by report: the first that differs is the one to look at.
pub(crate) fn agree(reports: &[Value], wanted: &[Value]) {
    for (at, (report, wanted)) in reports.iter().zip(wanted).enumerate() {
        assert_eq!(report, wanted, "report {at}\nis    {report}\nnot   {wanted}");
    }
    assert_eq!(reports.len(), wanted.len(), "{reports:#?}");
}

fn parsed(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in a judge's line: {line}"))
}

fn place() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/oracles")
}

fn home() -> PathBuf {
    let home = std::env::var(HOME);
    home.unwrap_or_else(|_| panic!("set {HOME} to what scripts/oracles prints (scripts/test does)")).into()
}

/// The first line that begins so.
pub(crate) async fn first(lines: &Lines, begin: &str) -> String {
    let of = |lines: &[String]| lines.iter().find(|line| line.starts_with(begin)).cloned();
    let mut lines = lines.clone();
    let found = timeout(PATIENCE, lines.wait_for(|lines| of(lines).is_some())).await;
    let found = found.ok().and_then(Result::ok).and_then(|lines| of(&lines));
    found.unwrap_or_else(|| panic!("no line begins with {begin:?}: {:#?}", lines.borrow()))
}

pub(crate) fn listen(readers: &mut JoinSet<()>, pipe: impl AsyncRead + Unpin + Send + 'static) -> Lines {
    let (tell, told) = watch::channel(Vec::new());
    readers.spawn(async move {
        let mut lines = BufReader::new(pipe).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            tell.send_modify(|told: &mut Vec<String>| told.push(line));
        }
    });
    told
}
