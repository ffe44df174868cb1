//! How a limited number of edits lasts for an investigation of any length. A pure judgement; the waiting is the keeper's.

use std::time::Duration;

use watchfloor_channel::Gaps;

/// Whatever a platform says of its gaps.
const SHORTEST: Duration = Duration::from_millis(100);
/// No platform's budget is larger.
const MOST_COUNTED: u32 = 1_000;

/// Time to leave before the next edit, beyond the platform's own spacing. Where that spacing would spend the edits before the
/// investigation must end, time doubles from edit to edit until the rest of them reaches to the end in equal steps.
pub(super) fn stretch(gaps: Gaps, edits: u32, most: u32, elapsed: Duration, limit: Duration) -> Duration {
    // Beyond its limit (it waited for its turn, or was taken up again) it may take as long again.
    let rest = limit.checked_sub(elapsed).filter(|rest| !rest.is_zero()).unwrap_or(elapsed);
    let mut lasts = Duration::ZERO;
    for edit in edits..most {
        lasts = lasts.saturating_add(gaps.after(edit));
        if lasts >= rest {
            return Duration::ZERO;
        }
    }
    (rest / most.saturating_sub(edits).max(1)).min(elapsed)
}

/// How many edits the platform's spacing lets through in this time. An earlier process that kept a message current made about
/// as many.
pub(super) fn spent(gaps: Gaps, time: Duration) -> u32 {
    let mut left = time;
    let mut edits = 0;
    while let Some(rest) = left.checked_sub(gaps.after(edits).max(SHORTEST))
        && edits < MOST_COUNTED
    {
        (left, edits) = (rest, edits + 1);
    }
    edits
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Feishu's: the budget less what is kept for the answer.
    const MOST: u32 = 17;
    const GAPS: Gaps = Gaps { first: Duration::from_secs(2), growth_percent: 150, longest: Duration::from_secs(3600) };

    /// Seconds at which a message is edited that always has news.
    fn edits(gaps: Gaps, most: u32, limit: u64) -> Vec<u64> {
        let (mut now, mut times) = (Duration::ZERO, Vec::new());
        for edit in 0..most {
            now += gaps.after(edit).max(stretch(gaps, edit, most, now, Duration::from_secs(limit)));
            times.push(now.as_secs());
        }
        times
    }

    #[test]
    fn the_platforms_spacing_is_left_alone_where_it_lasts() {
        let times = edits(GAPS, MOST, 30 * 60);
        assert_eq!(times[..8], [2, 5, 9, 16, 26, 41, 64, 98]);
        assert!(times[MOST as usize - 1] > 30 * 60, "{times:?}");
    }

    #[test]
    fn what_an_earlier_process_spent_is_told_by_the_time_it_had() {
        let table = [(0, 0), (1, 0), (2, 1), (10, 3), (42, 6), (99, 8), (30 * 60, 15), (24 * 3600, 40)];
        for (seconds, edits) in table {
            assert_eq!(spent(GAPS, Duration::from_secs(seconds)), edits, "{seconds} s");
        }
        assert_eq!(spent(Gaps::constant(Duration::ZERO), Duration::MAX), MOST_COUNTED);
    }

    #[test]
    fn a_longer_investigation_is_shown_to_its_end() {
        let times = edits(GAPS, MOST, 3 * 3600);
        assert_eq!(times[MOST as usize - 1], 3 * 3600);
        let longest = times.windows(2).map(|pair| pair[1] - pair[0]).max();
        assert!(longest < Some(30 * 60), "{times:?}");
        // And whoever watches its beginning sees something.
        assert!(times[5] < 120, "{times:?}");
    }

    proptest::proptest! {
        #[test]
        fn whatever_was_spent_early_the_rest_reaches_to_the_end(
            most in 2_u32..40, spent in 0_u32..40, elapsed in 1_u64..600, limit in 600_u64..200_000,
        ) {
            let spent = spent.min(most - 1);
            let limit = Duration::from_secs(limit);
            let mut now = Duration::from_secs(elapsed);
            for edit in spent..most {
                now += GAPS.after(edit).max(stretch(GAPS, edit, most, now, limit));
            }
            // Doubling alone can't reach further.
            let doubled = Duration::from_secs(elapsed) * 2_u32.saturating_pow((most - spent).min(20));
            proptest::prop_assert!(now + Duration::from_secs(1) >= limit.min(doubled), "{now:?}");
        }
    }
}
