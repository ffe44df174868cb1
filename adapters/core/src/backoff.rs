//! Waiting times between attempts: exponential with full jitter. Randomness comes in as a parameter.

use std::time::Duration;

use rand::Rng;

/// Doubles from `base` to `cap`; each wait is drawn from the upper half of its step, so that many clients spread out and
/// none retries at once.
#[derive(Clone, Debug)]
pub struct Backoff {
    base: Duration,
    cap: Duration,
    attempt: u32,
}

impl Backoff {
    pub fn new(base: Duration, cap: Duration) -> Self {
        Self { base, cap, attempt: 0 }
    }

    pub fn next(&mut self, rng: &mut impl Rng) -> Duration {
        let step = self.base.saturating_mul(2_u32.saturating_pow(self.attempt.min(20))).min(self.cap);
        self.attempt = self.attempt.saturating_add(1);
        step.mul_f64(rng.random_range(0.5..=1.0))
    }

    pub fn reset(&mut self) {
        self.attempt = 0;
    }

    pub fn attempts(&self) -> u32 {
        self.attempt
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{SeedableRng, rngs::StdRng};

    #[test]
    fn waits_grow_to_the_cap_and_start_again_after_a_reset() {
        let mut rng = StdRng::seed_from_u64(7);
        let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(60));
        let waits: Vec<_> = (0..10).map(|_| backoff.next(&mut rng).as_secs_f64()).collect();
        for (n, wait) in waits.iter().enumerate() {
            let step = (1_u64 << n.min(10)).min(60) as f64;
            assert!((step / 2.0..=step).contains(wait), "wait {n} was {wait} s, its step is {step} s");
        }
        backoff.reset();
        assert!(backoff.next(&mut rng) <= Duration::from_secs(1));
    }
}
