//! Wall time and its spellings on the wire: unix seconds, RFC 3339, spans such as `300ms`.

use std::time::{Duration, UNIX_EPOCH};

use serde::{Deserialize, Deserializer};

/// Since 1970. Simulated peers live in real time, as the real ones do.
#[expect(clippy::disallowed_methods, reason = "a peer tells the time itself; that is what it is asked for")]
pub(crate) fn now() -> Duration {
    std::time::SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// `300ms`, `1s`, `10m`, `2h`, `1d`; a bare number is not a span.
pub(crate) fn span(text: &str) -> Option<Duration> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(digits);
    let seconds = match unit.trim() {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        "d" => 86400.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(number.parse::<f64>().ok()? * seconds).ok()
}

/// For `#[serde(deserialize_with)]` on an `Option<Duration>`.
pub(crate) fn span_in_words<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    let text = String::deserialize(from)?;
    let wrong = || serde::de::Error::custom(format!("`{text}` is no length of time: write 300ms, 1s or 2m"));
    span(&text).map(Some).ok_or_else(wrong)
}

/// Unix seconds as `2026-01-02T03:04:05.678Z`.
pub(crate) fn rfc3339(unix: f64) -> String {
    let millis = (unix * 1000.0).round() as i64;
    let (days, within) = (millis.div_euclid(86_400_000), millis.rem_euclid(86_400_000));
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (within / 3_600_000, within / 60_000 % 60, within / 1000 % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", within % 1000)
}

/// Unix seconds from a number or from RFC 3339.
pub(crate) fn unix(text: &str) -> Option<f64> {
    if let Ok(number) = text.parse::<f64>() {
        return number.is_finite().then_some(number);
    }
    let (date, clock) = text.split_once(['T', 't', ' '])?;
    let mut date = date.split('-').map(str::parse::<i64>);
    let (year, month, day) = (date.next()?.ok()?, date.next()?.ok()?, date.next()?.ok()?);
    let zone_at = clock.find(['Z', 'z', '+', '-']).unwrap_or(clock.len());
    let (clock, zone) = clock.split_at(zone_at);
    let mut clock = clock.split(':').map(str::parse::<f64>);
    let (hour, minute, second) = (clock.next()?.ok()?, clock.next()?.ok()?, clock.next()?.ok()?);
    let offset = match zone.split_at_checked(1) {
        None | Some(("Z" | "z", _)) => 0.0,
        Some((sign, rest)) => {
            let (hours, minutes) = rest.split_once(':')?;
            let seconds = hours.parse::<f64>().ok()? * 3600.0 + minutes.parse::<f64>().ok()? * 60.0;
            if sign == "-" { -seconds } else { seconds }
        }
    };
    Some(days(year, month, day)? as f64 * 86400.0 + hour * 3600.0 + minute * 60.0 + second - offset)
}

/// Days since 1970 to year, month, day: the calendar repeats every 400 years of 146,097 days, counted from March.
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let day_of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(0..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let from_march = (month + 9) % 12;
    let day_of_year = (153 * from_march + 2) / 5 + day - 1;
    Some(era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_a_number_and_a_unit() {
        let read: Vec<_> = ["300ms", "1s", "1.5m", "2h", "1d", "5", "", "x", "-1s", "5 parsecs"].map(span).into();
        let seconds = |s: f64| Some(Duration::from_secs_f64(s));
        let wanted = [0.3, 1.0, 90.0, 7200.0, 86400.0].map(seconds).into_iter().chain([None; 5]);
        assert_eq!(read, wanted.collect::<Vec<_>>());
    }

    #[test]
    fn wire_times_are_written_and_read_back() {
        for (unix_time, text) in [
            (0.0, "1970-01-01T00:00:00.000Z"),
            (951_782_400.0, "2000-02-29T00:00:00.000Z"),
            (1_767_225_600.25, "2026-01-01T00:00:00.250Z"),
        ] {
            assert_eq!(rfc3339(unix_time), text);
            assert_eq!(unix(text), Some(unix_time));
        }
        assert_eq!(unix("2026-01-01T02:00:00+02:00"), Some(1_767_225_600.0));
        assert_eq!(unix("1767225600.5"), Some(1_767_225_600.5));
        assert_eq!(unix("yesterday"), None);
    }
}
