//! Runs the binary in an empty home and listens to what it says. Every wait ends: with what was seen instead.

use std::{path::Path, process::Stdio, time::Duration};

use serde_json::Value;
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, BufReader},
    process::{Child, Command},
    sync::watch,
    task::JoinSet,
    time::timeout,
};

const PATIENCE: Duration = Duration::from_secs(30);

/// A binary, its home directory and its environment, which holds nothing but what a test puts in.
pub(crate) struct Watchfloor {
    home: TempDir,
    env: Vec<(String, String)>,
}

/// What a command that ended left behind.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Watchfloor {
    /// Listens on a free port, keeps its store at home, knows no file.
    pub(crate) fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let store = format!("sqlite://{}", home.path().join("data/store.db").display());
        Self { home, env: Vec::new() }
            .env("WATCHFLOOR_SERVER__LISTEN", "127.0.0.1:0")
            .env("WATCHFLOOR_STORE__URL", &store)
    }

    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.env.retain(|(known, _)| known != name);
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Writes `config.toml` at home and names it.
    pub(crate) fn file(self, text: &str) -> Self {
        std::fs::write(self.home().join("config.toml"), text).unwrap();
        self.env("WATCHFLOOR_CONFIG", "config.toml")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_watchfloor"));
        command.args(arguments).current_dir(self.home()).env_clear().envs(self.env.iter().cloned());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        command
    }

    pub(crate) async fn run(&self, arguments: &[&str]) -> Ended {
        let output = timeout(PATIENCE, self.command(arguments).output()).await;
        let output = output.unwrap_or_else(|_| panic!("{arguments:?} did not end")).unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ended { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    pub(crate) async fn serve(self) -> Serving {
        let mut serving = self.start(&["serve"]);
        let line = serving.line("listening on ").await;
        serving.address = line.trim_start_matches("listening on ").to_owned();
        serving
    }

    /// Something that runs until it is told to end, or ends by itself.
    pub(crate) fn start(self, arguments: &[&str]) -> Serving {
        let mut child = self.command(arguments).spawn().unwrap();
        let mut readers = JoinSet::new();
        let out = listen(&mut readers, child.stdout.take().unwrap());
        let log = listen(&mut readers, child.stderr.take().unwrap());
        Serving { child, out, log, readers, address: String::new(), watchfloor: self }
    }
}

type Told = watch::Receiver<Vec<String>>;

fn listen(readers: &mut JoinSet<()>, pipe: impl AsyncRead + Unpin + Send + 'static) -> Told {
    let (tell, told) = watch::channel(Vec::new());
    readers.spawn(async move {
        let mut lines = BufReader::new(pipe).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            tell.send_modify(|told| told.push(line));
        }
    });
    told
}

/// `watchfloor serve`, while it runs.
pub(crate) struct Serving {
    child: Child,
    out: Told,
    log: Told,
    readers: JoinSet<()>,
    address: String,
    /// Its home must stay.
    watchfloor: Watchfloor,
}

impl Serving {
    /// The first line on standard output that begins so.
    pub(crate) async fn line(&mut self, begin: &str) -> String {
        let found = find(&mut self.out, |line| line.starts_with(begin)).await;
        found.unwrap_or_else(|| panic!("no line begins with {begin:?}: {:#?} {:#?}", self.told(), self.log.borrow()))
    }

    /// The first line of the log that holds these words.
    pub(crate) async fn log(&mut self, words: &str) -> String {
        let found = find(&mut self.log, |line| line.contains(words)).await;
        found.unwrap_or_else(|| panic!("the log never says {words:?}: {:#?}", self.log.borrow()))
    }

    /// All lines on standard output so far.
    pub(crate) fn told(&self) -> Vec<String> {
        self.out.borrow().clone()
    }

    /// All lines of the log that hold these words.
    pub(crate) fn logged(&self, words: &str) -> Vec<String> {
        self.log.borrow().iter().filter(|line| line.contains(words)).cloned().collect()
    }

    /// Standard output and the log together.
    pub(crate) fn everything(&self) -> String {
        [self.out.borrow().join("\n"), self.log.borrow().join("\n")].join("\n")
    }

    /// Without `http://`.
    pub(crate) fn address(&self) -> &str {
        self.address.trim_start_matches("http://")
    }

    pub(crate) fn home(&self) -> &Path {
        self.watchfloor.home()
    }

    pub(crate) async fn ready(&self) -> (u16, Value) {
        let answer = self.ask(client().get(format!("{}/readyz", self.address))).await;
        (answer.status().as_u16(), answer.json().await.unwrap())
    }

    pub(crate) async fn post_change(&self, token: &str, body: &Value) -> (u16, Value) {
        let request = client().post(format!("{}/api/v1/hooks/changes", self.address));
        let answer = self.ask(request.bearer_auth(token).json(body)).await;
        (answer.status().as_u16(), answer.json().await.unwrap())
    }

    async fn ask(&self, request: reqwest::RequestBuilder) -> reqwest::Response {
        request.timeout(PATIENCE).send().await.unwrap_or_else(|error| panic!("{error}: {}", self.everything()))
    }

    pub(crate) async fn signal(&self, name: &str) {
        let id = self.child.id().expect("it has ended already");
        // Every shell has its own `kill`; not every system has the program.
        let sent = Command::new("sh").arg("-c").arg(format!("kill -{name} {id}")).status().await.unwrap();
        assert!(sent.success());
    }

    /// Waits for its end. All it said is there then.
    pub(crate) async fn ended(&mut self) -> Option<i32> {
        let status = timeout(PATIENCE, self.child.wait()).await;
        let status = status.unwrap_or_else(|_| panic!("it did not end: {}", self.everything())).unwrap();
        while self.readers.join_next().await.is_some() {}
        status.code()
    }
}

async fn find(told: &mut Told, wanted: impl Fn(&str) -> bool) -> Option<String> {
    let of = |lines: &[String]| lines.iter().find(|line| wanted(line)).cloned();
    let found = timeout(PATIENCE, told.wait_for(|lines| of(lines).is_some())).await;
    found.ok()?.ok().and_then(|lines| of(&lines))
}

pub(crate) fn client() -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().build().unwrap()
}
