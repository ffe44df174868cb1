//! The ReAct loop that coordinator and workers share: call the model, run what it asks for, repeat. It cannot fail, only
//! end; everything it does is in the transcript before it acts on it.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use futures::{StreamExt, future::join_all};
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;

use super::{
    Services,
    crew::Member,
    dispatch::WAITING_TOOLS,
    events::{Event, Stage},
    files::{Files, Gallery},
    prompt::{self, Block, Facts},
    steer::{Detach, Steering, row},
    transcript,
    view::{LineState, Progress},
};
use crate::{
    model::{
        Completion, Message, ModelError, ModelEvent, ModelProvider, ModelRequest, StopReason, ToolCall, ToolChoice,
    },
    persona::{Persona, Registry},
    store::{StoreError, Totals},
    tools::{CallState, Class, Found, Invoked, Invoker, ToolContext, Toolbox, invoke},
    wording::Limit,
};

/// What a run has beyond its time limit for the last answer.
const LAST_WORDS: Duration = Duration::from_secs(120);

/// Everything one run needs.
pub(super) struct Run {
    pub services: Arc<Services>,
    /// Whose transcript is read and written.
    pub session_id: String,
    pub epoch: Option<i64>,
    pub turn_id: String,
    /// The coordinator's session: evidence is numbered and kept there, also a worker's.
    pub evidence_of: String,
    pub persona: Arc<Persona>,
    pub provider: Arc<dyn ModelProvider>,
    pub model: Arc<str>,
    pub toolbox: Toolbox,
    pub invoker: Invoker,
    pub max_turns: u32,
    pub time_limit: Duration,
    /// Whom it can send, for a coordinator.
    pub personas: Option<Registry>,
    pub locale: String,
    pub activity: Activity,
    pub stage: Stage,
    pub steering: Option<Steering>,
    /// Lets calls for workers go when the asker has something to say, for a coordinator.
    pub detach: Option<Arc<Detach>>,
    /// What a worker is told on its way.
    pub letters: Option<Arc<Member>>,
    /// What people attach, for a coordinator.
    pub files: Option<Files>,
    /// The model takes pictures.
    pub vision: bool,
    pub cancel: CancellationToken,
}

/// Where headlines of calls are shown.
#[derive(Clone, Debug)]
pub(super) enum Activity {
    /// One line per call.
    Own(Progress),
    /// One line for the whole worker, which holds its newest call.
    Worker { progress: Progress, key: String, persona: String },
}

#[derive(Debug)]
pub(super) enum End {
    Answered {
        text: String,
        /// Why the answer is not complete.
        limit: Option<Limit>,
    },
    Stopped,
    Failed(Failure),
}

#[derive(Debug)]
pub(super) enum Failure {
    Model(ModelError),
    /// No text, twice.
    Empty,
    /// The persona's model can't be reached with what is configured.
    NoModel(String),
    /// Begun too often; with how often.
    Interrupted(i64),
    Store(StoreError),
}

impl From<StoreError> for End {
    fn from(error: StoreError) -> Self {
        Self::Failed(Failure::Store(error))
    }
}

/// Why a step gave nothing to go on with.
enum Broken {
    Stopped,
    Model(ModelError),
    Empty,
}

impl Run {
    pub(super) async fn go(self) -> (End, Totals) {
        let mut totals = Totals::default();
        let end = match self.steps(&mut totals).await {
            Ok(end) => end,
            Err(error) => error.into(),
        };
        (end, totals)
    }

    async fn steps(&self, totals: &mut Totals) -> Result<End, StoreError> {
        let started = Instant::now();
        let mut gallery = Gallery::new(self.vision);
        let mut history = self.history(&mut gallery).await?;
        let system: Arc<str> = prompt::system(&self.persona).into();
        let tools = self.toolbox.specs();
        let block = Block::new(&Facts {
            persona: &self.persona,
            personas: self.personas.as_ref(),
            locale: &self.locale,
            model: &self.model,
            tools: self.toolbox.names().collect(),
        });
        let mut calls_made = 0;
        let begun_at = history.len();
        // Interrupted between its last word and the turn's end: it has said everything.
        if let Some(Message::Assistant { text, calls, .. }) = history.last()
            && calls.is_empty()
        {
            return Ok(End::Answered { text: text.clone(), limit: None });
        }
        loop {
            if self.cancel.is_cancelled() {
                return Ok(End::Stopped);
            }
            if let Some(steering) = &self.steering {
                history.extend(steering.take().await?);
            }
            if self.letters.as_ref().is_some_and(|member| member.letters.take()) {
                history = self.history(&mut gallery).await?;
            }
            match self.new_files(&mut gallery).await? {
                Some(new) => history.extend(new),
                None => return Ok(End::Stopped),
            }
            let limit = if calls_made >= self.max_turns {
                Some(Limit::ModelCalls(self.max_turns))
            } else {
                (started.elapsed() >= self.time_limit).then_some(Limit::Time(self.time_limit))
            };
            let request = ModelRequest {
                model: self.model.clone(),
                system: system.clone(),
                tools: tools.clone(),
                messages: history.clone(),
                reminder: Some(block.at(self.services.now())),
                tool_choice: if limit.is_some() { ToolChoice::None } else { ToolChoice::Auto },
            };
            let hard_end = started + self.time_limit + LAST_WORDS;
            let completion = match self.step(request, limit.is_some(), hard_end, totals).await {
                Ok(completion) => completion,
                Err(Broken::Stopped) => return Ok(End::Stopped),
                // At the limit, with calls alone: what it said on the way is better than nothing.
                Err(Broken::Empty) => {
                    let said = narration(&history[begun_at..]).filter(|_| limit.is_some());
                    return Ok(said.map_or(End::Failed(Failure::Empty), |text| End::Answered { text, limit }));
                }
                Err(Broken::Model(error @ (ModelError::Rejected(_) | ModelError::TooLong(_))))
                    if gallery.put_away(&mut history) =>
                {
                    tracing::warn!(turn.id = %self.turn_id, model.name = %self.model, %error, "refused with its pictures, asking without them");
                    continue;
                }
                Err(Broken::Model(error)) => return Ok(End::Failed(Failure::Model(error))),
            };
            calls_made += 1;
            let Completion { text, reasoning, mut calls, stop, .. } = completion;
            // At the limit a call that comes anyway isn't run, and must not stay open in the transcript.
            if limit.is_some() {
                calls.clear();
            }
            transcript::rename_repeated_calls(&history, &mut calls);
            let said = Message::Assistant { text: text.clone(), reasoning, calls: calls.clone() };
            self.write(std::slice::from_ref(&said)).await?;
            history.push(said);
            if calls.is_empty() {
                // An event may come without its files, and its twin, which has them, a moment later.
                match self.new_files(&mut gallery).await? {
                    Some(late) if !late.is_empty() && limit.is_none() => {
                        history.extend(late);
                        continue;
                    }
                    _ => {}
                }
                if limit.is_none() && self.letters.as_ref().is_some_and(|member| !member.letters.close()) {
                    continue;
                }
                let cut = match stop {
                    StopReason::Length => Some(Limit::Length),
                    StopReason::Filtered => Some(Limit::Filtered),
                    StopReason::End | StopReason::ToolCalls => None,
                };
                let limit = limit.or(cut);
                return Ok(End::Answered { text, limit });
            }
            totals.tool_calls += i64::try_from(calls.len()).unwrap_or(i64::MAX);
            let results = self.run_calls(&calls).await?;
            // Results of a stopped batch say more about the stop than about the world; the transcript shows the calls as
            // interrupted.
            if self.cancel.is_cancelled() {
                return Ok(End::Stopped);
            }
            self.write(&results).await?;
            history.extend(results);
        }
    }

    /// What is written down, as a model is sent it.
    async fn history(&self, gallery: &mut Gallery) -> Result<Vec<Message>, StoreError> {
        let store = &self.services.store;
        let rows = store.messages().transcript(&self.session_id).await?;
        gallery.hang(store, rows.iter().map(|row| row.body.as_str())).await?;
        let rows = rows.iter().map(|row| (row.kind.as_str(), row.body.as_str()));
        Ok(transcript::pair(transcript::parse(rows, gallery)))
    }

    /// Nothing at all if it was stopped meanwhile.
    async fn new_files(&self, gallery: &mut Gallery) -> Result<Option<Vec<Message>>, StoreError> {
        let Some(files) = &self.files else { return Ok(Some(Vec::new())) };
        tokio::select! {
            new = files.read_new(gallery) => new.map(Some),
            () = self.cancel.cancelled() => Ok(None),
        }
    }

    /// One answer of the model, with one repetition if it broke off or said nothing: nobody has seen any of it yet.
    async fn step(
        &self,
        request: ModelRequest,
        last: bool,
        hard_end: Instant,
        totals: &mut Totals,
    ) -> Result<Completion, Broken> {
        let mut retried = false;
        loop {
            totals.model_calls += 1;
            let outcome = tokio::select! {
                outcome = self.collect(request.clone()) => outcome,
                () = self.cancel.cancelled() => return Err(Broken::Stopped),
                () = sleep_until(hard_end) => {
                    return Err(Broken::Model(ModelError::Unavailable("still talking at the time limit".into())));
                }
            };
            let broken = match outcome {
                Ok(completion) => {
                    let usage = completion.usage;
                    totals.input_tokens += i64::try_from(usage.input_tokens).unwrap_or(0);
                    totals.cached_tokens += i64::try_from(usage.cached_tokens).unwrap_or(0);
                    totals.output_tokens += i64::try_from(usage.output_tokens).unwrap_or(0);
                    let says_something = !watchfloor_channel::text::for_people(&completion.text).is_empty();
                    if says_something || (!last && !completion.calls.is_empty()) {
                        return Ok(completion);
                    }
                    Broken::Empty
                }
                Err((error, true)) if error.is_transient() => Broken::Model(error),
                Err((error, _)) => return Err(Broken::Model(error)),
            };
            if retried {
                return Err(broken);
            }
            tracing::warn!(turn.id = %self.turn_id, persona = %self.persona.name, "the model gave no usable answer; one more try");
            retried = true;
        }
    }

    /// A step's own text is held until its stream ends: with a call it is narration, without one the answer. The provider
    /// ends a stream that falls silent, and repeats by itself what broke before it began; the second value says that it
    /// had begun.
    async fn collect(&self, request: ModelRequest) -> Result<Completion, (ModelError, bool)> {
        let mut stream = self.provider.stream(request);
        let mut begun = false;
        while let Some(event) = stream.next().await {
            match event.map_err(|error| (error, begun))? {
                ModelEvent::Done(completion) => return Ok(completion),
                ModelEvent::Text(delta) => {
                    begun = true;
                    self.stage.tell(Event::Text { delta });
                }
                ModelEvent::CallStarted { .. } => begun = true,
            }
        }
        Err((ModelError::Unavailable("the stream ended without an end".into()), begun))
    }

    async fn write(&self, messages: &[Message]) -> Result<(), StoreError> {
        let rows = messages.iter().map(|message| row(message, None)).collect();
        let store = self.services.store.messages();
        store.append(&self.session_id, &self.turn_id, self.epoch, rows, self.services.now()).await?;
        Ok(())
    }

    /// Results in the order of their calls. Reads of one step run side by side; as soon as one call writes, one after
    /// another.
    async fn run_calls(&self, calls: &[ToolCall]) -> Result<Vec<Message>, StoreError> {
        let numbers = self.number(calls).await?;
        let all_read = calls.iter().all(|call| self.class(call) == Class::Read);
        let waits =
            |call: &ToolCall| self.toolbox.get(&call.name).is_some_and(|tool| WAITING_TOOLS.contains(&tool.name()));
        let others = watch::Sender::new(calls.iter().filter(|call| !waits(call)).count());
        // Before any call begins: a call that waits takes the signal of its own step.
        let step = self.detach.as_ref().map(|detach| detach.begin());
        let release = self.release(step, others.subscribe());
        let runs = calls.iter().zip(numbers).map(async |(call, number)| {
            let result = self.run_call(call, number).await;
            if !waits(call) {
                others.send_modify(|others| *others -= 1);
            }
            result
        });
        let results = async {
            if all_read || calls.len() == 1 {
                return join_all(runs).await;
            }
            let mut results = Vec::with_capacity(calls.len());
            for run in runs {
                results.push(run.await);
            }
            results
        };
        tokio::select! {
            results = results => Ok(results),
            () = release => unreachable!("it lets calls go and waits on"),
        }
    }

    /// When the asker speaks while nothing but specialists is waited for, they are waited for no longer.
    async fn release(&self, step: Option<CancellationToken>, mut others: watch::Receiver<usize>) {
        if let (Some(step), Some(steering)) = (step, &self.steering) {
            let _ = others.wait_for(|others| *others == 0).await;
            steering.news().await;
            step.cancel();
        }
        std::future::pending::<()>().await;
    }

    /// A call that can't be understood does nothing, and so is as harmless as one that reads.
    fn class(&self, call: &ToolCall) -> Class {
        let prepared = self.toolbox.get(&call.name).and_then(|tool| tool.prepare(&call.arguments).ok());
        prepared.map_or(Class::Read, |prepared| prepared.class)
    }

    /// Numbers are given in the order of the model's message, before anything runs.
    async fn number(&self, calls: &[ToolCall]) -> Result<Vec<Option<u32>>, StoreError> {
        let numbered: Vec<_> = calls.iter().map(|call| self.toolbox.numbered(&call.name)).collect();
        let count = u32::try_from(numbered.iter().filter(|numbered| **numbered).count()).unwrap_or(0);
        let mut numbers = VecDeque::new();
        if count > 0 {
            let first = self.services.store.sessions().reserve_evidence(&self.evidence_of, count).await?;
            numbers.extend(first..first + count);
        }
        Ok(numbered.into_iter().map(|numbered| if numbered { numbers.pop_front() } else { None }).collect())
    }

    async fn run_call(&self, call: &ToolCall, number: Option<u32>) -> Message {
        let context = ToolContext {
            session_id: self.session_id.clone(),
            evidence_of: self.evidence_of.clone(),
            turn_id: self.turn_id.clone(),
            call_id: call.id.clone(),
            now_ms: self.services.now(),
            cancel: self.cancel.child_token(),
        };
        let on_start = |headline: &str| {
            self.activity.start(&call.id, headline);
            let (call_id, tool, headline) = (call.id.clone(), call.name.clone(), headline.to_owned());
            self.stage.tell(Event::ToolStart { call_id, tool, headline });
        };
        let invoked = invoke(&self.invoker, call, &self.toolbox, &context, number, &on_start).await;
        self.activity.end(&call.id, &invoked);
        self.stage.tell(Event::ToolEnd {
            call_id: call.id.clone(),
            found: invoked.found.map(Found::word),
            duration_ms: invoked.duration_ms,
            evidence: invoked.evidence.clone(),
        });
        Message::Tool { call_id: call.id.clone(), name: call.name.clone(), text: invoked.text }
    }
}

/// The newest text said beside calls.
fn narration(history: &[Message]) -> Option<String> {
    history.iter().rev().find_map(|message| match message {
        Message::Assistant { text, .. } if !text.trim().is_empty() => Some(text.clone()),
        _ => None,
    })
}

impl Activity {
    fn start(&self, call_id: &str, headline: &str) {
        match self {
            Self::Own(_) if headline.is_empty() => {}
            Self::Own(progress) => progress.start(call_id, headline),
            Self::Worker { progress, key, persona } => progress.start(key, &format!("{persona}: {headline}")),
        }
    }

    fn end(&self, call_id: &str, invoked: &Invoked) {
        if let Self::Own(progress) = self {
            let went_well = invoked.state == CallState::Answered && invoked.found != Some(Found::SourceDown);
            progress.end(call_id, if went_well { LineState::Done } else { LineState::Failed });
        }
    }
}
