//! A provider around a provider that tries again. Only a request of which nothing was seen yet is repeated, so no reader
//! ever gets the same text twice; longer waits surface, for another model may be quicker.

use std::{fmt, sync::Arc, time::Duration};

use futures::{StreamExt, stream};
use tokio::time::Instant;

use super::{ModelError, ModelEvent, ModelProvider, ModelRequest, ModelStream};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Including the first one.
    pub attempts: u32,
    /// The first wait; each further one is twice as long, up to `cap`.
    pub base: Duration,
    pub cap: Duration,
    /// A provider that asks for a longer wait than this is not waited for.
    pub longest_after: Duration,
    /// No attempt starts later than this after the first one.
    pub total: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts: 3,
            base: Duration::from_millis(500),
            cap: Duration::from_secs(30),
            longest_after: Duration::from_secs(60),
            total: Duration::from_secs(180),
        }
    }
}

impl RetryPolicy {
    /// How long to wait after this error, or `None` if it must surface. `failed` counts the attempts so far, `chance` lies
    /// in 0..1.
    fn wait(&self, error: &ModelError, failed: u32, chance: f64) -> Option<Duration> {
        if !error.is_transient() || failed >= self.attempts {
            return None;
        }
        let asked = match error {
            ModelError::RateLimited { after } | ModelError::Overloaded { after } => *after,
            _ => None,
        };
        if asked.is_some_and(|after| after > self.longest_after) {
            return None;
        }
        let doubled = self.base.saturating_mul(2u32.saturating_pow(failed.saturating_sub(1))).min(self.cap);
        // Jitter only ever lengthens the wait: a provider's own number is the least it accepts.
        let least = asked.unwrap_or_default().max(doubled);
        Some(least.mul_f64(1.0 + 0.25 * chance.clamp(0.0, 1.0)))
    }
}

type Chance = Arc<dyn Fn() -> f64 + Send + Sync>;

#[derive(Clone)]
pub struct Retry {
    inner: Arc<dyn ModelProvider>,
    policy: RetryPolicy,
    chance: Chance,
}

impl fmt::Debug for Retry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Retry").field("inner", &self.inner).field("policy", &self.policy).finish_non_exhaustive()
    }
}

impl Retry {
    pub fn new(inner: Arc<dyn ModelProvider>, policy: RetryPolicy) -> Self {
        Self::with_chance(inner, policy, rand::random::<f64>)
    }

    /// `chance` gives numbers in 0..1.
    pub fn with_chance(
        inner: Arc<dyn ModelProvider>,
        policy: RetryPolicy,
        chance: impl Fn() -> f64 + Send + Sync + 'static,
    ) -> Self {
        Self { inner, policy, chance: Arc::new(chance) }
    }
}

impl ModelProvider for Retry {
    fn stream(&self, request: ModelRequest) -> ModelStream {
        let run = Run { retry: self.clone(), request: Some(request), current: None, failed: 0, began: None };
        Box::pin(stream::unfold(run, |mut run| async move { Some((run.next().await?, run)) }))
    }
}

struct Run {
    retry: Retry,
    /// Kept as long as the request may have to be repeated.
    request: Option<ModelRequest>,
    current: Option<ModelStream>,
    failed: u32,
    began: Option<Instant>,
}

impl Run {
    async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        let began = *self.began.get_or_insert_with(Instant::now);
        loop {
            let current = match (&mut self.current, &self.request) {
                (Some(current), _) => current,
                (None, Some(request)) => self.current.insert(self.retry.inner.stream(request.clone())),
                (None, None) => return None,
            };
            let error = match current.next().await {
                Some(Err(error)) => error,
                end_or_event => {
                    self.request = None;
                    if end_or_event.is_none() {
                        self.current = None;
                    }
                    return end_or_event;
                }
            };
            self.current = None;
            self.failed += 1;
            let policy = &self.retry.policy;
            let wait = match &self.request {
                Some(_) => policy.wait(&error, self.failed, (self.retry.chance)()),
                None => None,
            };
            let Some(wait) = wait.filter(|wait| began.elapsed() + *wait <= policy.total) else {
                self.request = None;
                return Some(Err(error));
            };
            let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
            let model = self.request.as_ref().map(|r| &*r.model);
            tracing::info!(model.name = model, attempt = self.failed, wait_ms, %error, "model call failed, trying again");
            tokio::time::sleep(wait).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::VecDeque, sync::Mutex};

    use super::*;
    use crate::model::{Completion, StopReason, ToolChoice, Usage};

    type Item = Result<ModelEvent, ModelError>;

    /// Plays one script per attempt and notes when each began.
    #[derive(Debug, Default)]
    struct Scripted {
        scripts: Mutex<VecDeque<Vec<Item>>>,
        began: Mutex<Vec<Instant>>,
    }

    impl ModelProvider for Scripted {
        fn stream(&self, _: ModelRequest) -> ModelStream {
            self.began.lock().unwrap().push(Instant::now());
            Box::pin(stream::iter(self.scripts.lock().unwrap().pop_front().expect("no further attempt")))
        }
    }

    fn request() -> ModelRequest {
        ModelRequest {
            model: "m".into(),
            system: "".into(),
            tools: Vec::new().into(),
            messages: Vec::new(),
            reminder: None,
            tool_choice: ToolChoice::Auto,
        }
    }

    fn text() -> Item {
        Ok(ModelEvent::Text("hello".into()))
    }

    fn done() -> Item {
        let (text, stop, usage) = ("hello".into(), StopReason::End, Usage::default());
        Ok(ModelEvent::Done(Completion { text, reasoning: vec![], calls: vec![], stop, usage }))
    }

    fn down() -> ModelError {
        ModelError::Unavailable("down".into())
    }

    fn limited(seconds: u64) -> ModelError {
        ModelError::RateLimited { after: Some(Duration::from_secs(seconds)) }
    }

    fn busy(seconds: u64) -> ModelError {
        ModelError::Overloaded { after: Some(Duration::from_secs(seconds)) }
    }

    /// What came out, and the pauses between the attempts.
    async fn play(scripts: Vec<Vec<Item>>, policy: RetryPolicy, chance: f64) -> (Vec<Item>, Vec<Duration>) {
        let inner = Arc::new(Scripted { scripts: Mutex::new(scripts.into()), ..Scripted::default() });
        let retry = Retry::with_chance(inner.clone(), policy, move || chance);
        let items = retry.stream(request()).collect().await;
        let began = inner.began.lock().unwrap();
        (items, began.windows(2).map(|pair| pair[1] - pair[0]).collect())
    }

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[tokio::test(start_paused = true)]
    async fn a_transient_error_before_anything_was_seen_is_tried_again() {
        let scripts = vec![vec![Err(down())], vec![Err(ModelError::Overloaded { after: None })], vec![text(), done()]];
        let (items, pauses) = play(scripts, RetryPolicy::default(), 0.0).await;
        assert_eq!((items, pauses), (vec![text(), done()], vec![ms(500), ms(1000)]));
    }

    #[tokio::test(start_paused = true)]
    async fn the_third_failure_surfaces() {
        let scripts = vec![vec![Err(limited(1))], vec![Err(ModelError::Overloaded { after: None })], vec![Err(down())]];
        let (items, pauses) = play(scripts, RetryPolicy::default(), 0.0).await;
        assert_eq!((items, pauses), (vec![Err(down())], vec![ms(1000), ms(1000)]));
    }

    #[tokio::test(start_paused = true)]
    async fn once_something_was_seen_nothing_is_repeated() {
        let (items, pauses) = play(vec![vec![text(), Err(down())]], RetryPolicy::default(), 0.0).await;
        assert_eq!((items, pauses), (vec![text(), Err(down())], vec![]));
    }

    #[tokio::test(start_paused = true)]
    async fn an_error_that_will_not_go_away_surfaces_at_once() {
        for error in [
            ModelError::Auth("x".into()),
            ModelError::Rejected("x".into()),
            ModelError::TooLong("x".into()),
            limited(61),
            busy(61),
        ] {
            let (items, pauses) = play(vec![vec![Err(error.clone())]], RetryPolicy::default(), 0.0).await;
            assert_eq!((items, pauses), (vec![Err(error)], vec![]));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_providers_own_delay_is_waited_out_and_jitter_only_lengthens_it() {
        let scripts = vec![vec![Err(limited(60))], vec![Err(busy(20))], vec![done()]];
        let (items, pauses) = play(scripts, RetryPolicy::default(), 1.0).await;
        assert_eq!((items, pauses), (vec![done()], vec![ms(75_000), ms(25_000)]));
    }

    #[tokio::test(start_paused = true)]
    async fn waits_grow_up_to_the_cap_and_end_with_the_total() {
        let policy = RetryPolicy { attempts: 100, total: Duration::from_secs(100), ..RetryPolicy::default() };
        let scripts = (0..100).map(|_| vec![Err(down())]).collect();
        let (items, pauses) = play(scripts, policy, 0.0).await;
        let seconds: Vec<f64> = pauses.iter().map(Duration::as_secs_f64).collect();
        assert_eq!((items, seconds), (vec![Err(down())], vec![0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]));
    }
}
