//! One request and its answer over HTTP, whatever the wire format: a format writes the request and reads the answer, this
//! file moves the bytes. A server that refuses a part of the request which it could do without is asked once more.

use std::{
    collections::{BTreeMap, VecDeque},
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use futures::stream;
use tokio::time::Instant;

use super::{
    ModelError, ModelEvent, ModelRequest, ModelStream,
    decode::{Assemble, Decoder},
    endpoint::{Answer, Endpoint, Refused},
};

/// Once the answer is complete, only its token counts are still waited for.
const AFTERWORD: Duration = Duration::from_secs(3);

const SETTLE: Duration = Duration::from_millis(20);

pub(super) trait Format: fmt::Debug + Send + Sync + 'static {
    type Assembler: Assemble + Send + Sync;
    /// What a server doesn't take. It only ever grows, so that asking again comes to an end.
    type Lessons: Clone + Default + PartialEq + fmt::Debug + Send + Sync;

    fn body(request: &ModelRequest, lessons: &Self::Lessons) -> Result<Vec<u8>, serde_json::Error>;
    fn assembler(request: &ModelRequest) -> Self::Assembler;
    /// What a refusal teaches about the request that was refused. `said` is all of it, `error` what it comes to.
    fn learn(said: &str, error: &ModelError, request: &ModelRequest, lessons: &mut Self::Lessons);
    /// Adds to `kept` what holds for every conversation with the model; some lessons are one conversation's alone.
    fn keep(lessons: Self::Lessons, kept: &mut Self::Lessons);
}

/// The way to one provider, with what was learnt about its models.
#[derive(Debug)]
pub(super) struct Line<F: Format> {
    endpoint: Endpoint,
    learnt: Mutex<BTreeMap<Arc<str>, F::Lessons>>,
}

impl<F: Format> Line<F> {
    pub(super) fn new(endpoint: Endpoint) -> Arc<Self> {
        Arc::new(Self { endpoint, learnt: Mutex::default() })
    }

    pub(super) fn stream(self: &Arc<Self>, request: ModelRequest) -> ModelStream {
        let exchange: Exchange<F> =
            Exchange { line: Arc::clone(self), phase: Phase::Ask(request), out: VecDeque::new() };
        Box::pin(stream::unfold(exchange, |mut exchange| async move { Some((exchange.next().await?, exchange)) }))
    }

    fn lessons(&self, model: &str) -> F::Lessons {
        self.learnt.lock().unwrap_or_else(PoisonError::into_inner).get(model).cloned().unwrap_or_default()
    }

    fn remember(&self, model: &Arc<str>, lessons: F::Lessons) {
        if lessons != F::Lessons::default() {
            let mut learnt = self.learnt.lock().unwrap_or_else(PoisonError::into_inner);
            // Another conversation may have learnt something else meanwhile.
            F::keep(lessons, learnt.entry(Arc::clone(model)).or_default());
        }
    }
}

struct Exchange<F: Format> {
    line: Arc<Line<F>>,
    phase: Phase<F>,
    /// Read, but not asked for yet.
    out: VecDeque<ModelEvent>,
}

enum Phase<F: Format> {
    Ask(ModelRequest),
    Read(Box<Reading<F>>),
    Failed(ModelError),
    Over,
}

struct Reading<F: Format> {
    answer: Answer,
    decoder: Decoder<F::Assembler>,
    /// Set when the answer is complete.
    latest: Option<Instant>,
}

impl<F: Format> Exchange<F> {
    async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        loop {
            if let Some(event) = self.out.pop_front() {
                return Some(Ok(event));
            }
            // Taken out first: whatever happens to this future, nothing is done twice.
            let step = match std::mem::replace(&mut self.phase, Phase::Over) {
                Phase::Over => return None,
                Phase::Failed(error) => return Some(Err(error)),
                Phase::Ask(request) => self.ask(&request).await,
                Phase::Read(reading) => reading.step(&mut self.out).await,
            };
            self.phase = step.unwrap_or_else(Phase::Failed);
        }
    }

    async fn ask(&self, request: &ModelRequest) -> Result<Phase<F>, ModelError> {
        let mut lessons = self.line.lessons(&request.model);
        loop {
            let body = F::body(request, &lessons).map_err(|e| ModelError::Rejected(e.to_string()))?;
            let Refused { error, said } = match self.line.endpoint.post(Bytes::from(body)).await {
                Ok(answer) => {
                    self.line.remember(&request.model, lessons);
                    return self.read(answer, request);
                }
                Err(refused) => refused,
            };
            let known = lessons.clone();
            F::learn(&said, &error, request, &mut lessons);
            if lessons == known {
                return Err(error);
            }
            tracing::info!(model.name = %request.model, ?lessons, %error, "the server refused a part of the request, asking without it");
        }
    }

    fn read(&self, answer: Answer, request: &ModelRequest) -> Result<Phase<F>, ModelError> {
        if answer.is_web_page() {
            return Err(ModelError::Rejected("it answered with a web page: base_url is wrong".to_owned()));
        }
        let decoder = Decoder::new(F::assembler(request), self.line.endpoint.scrub().clone());
        Ok(Phase::Read(Box::new(Reading { answer, decoder, latest: None })))
    }
}

impl<F: Format> Reading<F> {
    /// Reads one piece.
    async fn step(mut self: Box<Self>, out: &mut VecDeque<ModelEvent>) -> Result<Phase<F>, ModelError> {
        let over = match self.answer.next(self.latest).await {
            Ok(Some(piece)) => {
                self.decoder.push(&piece, out)?;
                self.decoder.is_over()
            }
            Ok(None) => true,
            // The connection fails after the last word: the answer is whole all the same.
            Err(_) if self.decoder.is_answered() => true,
            Err(error) => return Err(error),
        };
        if over {
            if self.decoder.is_over() {
                // Reading to the very end lets the connection be used again.
                let _ = self.answer.next(Some(Instant::now() + SETTLE)).await;
            }
            let completion = self.decoder.end(out)?;
            out.push_back(ModelEvent::Done(completion));
            return Ok(Phase::Over);
        }
        if self.latest.is_none() && self.decoder.is_answered() {
            self.latest = Some(Instant::now() + AFTERWORD);
        }
        Ok(Phase::Read(self))
    }
}
