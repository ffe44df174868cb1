//! What Telegram can do and what it counts. Its own limits are not published: these are what it guides bots to.

use std::time::Duration;

use watchfloor_channel::{Budget, Counted, Features, Gaps, Quota, Repeats, Scope};

use crate::render::LIMITS;

pub(crate) fn features() -> Features {
    let second = Duration::from_secs(1);
    let all = |scope, count, per, burst| Budget { counts: Counted::All, scope, quota: Quota { count, per, burst } };
    Features {
        limits: LIMITS,
        edits: true,
        edit_budget: None,
        // A group's budget holds everything the bot does there, other turns too.
        edit_gaps: Gaps { first: 3 * second, growth_percent: 110, longest: 10 * second },
        // The burst and what is earned meanwhile stay within a minute's and a second's guidance together.
        budgets: vec![
            all(Scope::Room, 54, 60 * second, 3),
            all(Scope::Group, 14, 60 * second, 6),
            all(Scope::Account, 20, second, 10),
        ],
        threads: true,
        buttons: true,
        files: true,
        reactions: true,
        // The sign lasts about five seconds.
        typing: Some(5 * second),
        repeats: Repeats::Blind,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No stretch of time sees more than the burst and what was earned in it.
    #[test]
    fn our_own_pace_stays_within_telegrams_guidance() {
        let in_any = |scope, stretch: Duration| {
            let budget = features().budgets.into_iter().find(|budget| budget.scope == scope).unwrap();
            let earned = stretch.as_secs() * u64::from(budget.quota.count) / budget.quota.per.as_secs();
            u64::from(budget.quota.burst) + earned
        };
        assert!(in_any(Scope::Group, Duration::from_secs(60)) <= 20);
        assert!(in_any(Scope::Account, Duration::from_secs(1)) <= 30);
        // A message a second, and three more at once: for however long.
        for seconds in [1, 3, 10, 60, 600] {
            assert!(in_any(Scope::Room, Duration::from_secs(seconds)) <= seconds + 3, "{seconds}");
        }
    }
}
