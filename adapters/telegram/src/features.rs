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
        budgets: vec![
            all(Scope::Room, 60, 60 * second, 3),
            all(Scope::Group, 18, 60 * second, 6),
            all(Scope::Account, 25, second, 25),
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
