//! What Feishu can do, as data.

use std::time::Duration;

use watchfloor_channel::{Budget, Counted, Features, Gaps, Quota, Repeats, Scope};

use crate::{ReplyMode, outgoing::MERGED, render::LIMITS};

pub(crate) fn features(mode: ReplyMode) -> Features {
    let seconds = Duration::from_secs;
    let all = |scope, count, per, burst| Budget { counts: Counted::All, scope, quota: Quota { count, per, burst } };
    Features {
        limits: LIMITS,
        edits: true,
        edit_budget: match mode {
            ReplyMode::Auto | ReplyMode::Text => Some(20),
            ReplyMode::Card => None,
        },
        edit_gaps: match mode {
            ReplyMode::Auto | ReplyMode::Text => {
                Gaps { first: seconds(2), growth_percent: 150, longest: seconds(3_600) }
            }
            ReplyMode::Card => Gaps::constant(seconds(2)),
        },
        budgets: vec![
            // Five a second, of which one is left to the room's other bots.
            all(Scope::Room, 4, seconds(1), 4),
            all(Scope::Account, 50, seconds(1), 50),
            all(Scope::Account, 1_000, seconds(60), 200),
        ],
        threads: true,
        buttons: true,
        files: true,
        reactions: true,
        typing: None,
        repeats: Repeats::Merged(MERGED),
    }
}
