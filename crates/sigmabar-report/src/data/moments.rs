//! Dates, times and truth values written as text, as the numbers that typed files have for them.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};

const SECONDS_A_DAY: f64 = 86_400.0;

/// Whether a time says its zone; nothing for what is no date or time.
pub(super) fn names_zone(text: &str) -> Option<bool> {
    (text.starts_with(|c: char| c.is_ascii_digit()) && number(text).is_some()).then(|| text.parse::<Timestamp>().is_ok())
}

/// 1 and 0 for true and false; days since 1970 for dates and times (in UTC where they name no zone).
pub(super) fn number(text: &str) -> Option<f64> {
    if text.eq_ignore_ascii_case("true") {
        return Some(1.0);
    }
    if text.eq_ignore_ascii_case("false") {
        return Some(0.0);
    }
    // Years come first, and with four digits: other orders mean different days in different countries.
    let is_like_date = text.len() >= 10 && text.as_bytes()[4] == b'-' && text.as_bytes()[..4].iter().all(u8::is_ascii_digit);
    if !is_like_date {
        return None;
    }
    let seconds = |moment: Timestamp| moment.as_nanosecond() as f64 / 1e9 / SECONDS_A_DAY;
    let utc = |moment: DateTime| moment.to_zoned(jiff::tz::TimeZone::UTC).ok().map(|zoned| seconds(zoned.timestamp()));
    if let Ok(moment) = text.parse::<Timestamp>() {
        return Some(seconds(moment));
    }
    if text.len() == 10 {
        return text.parse::<Date>().ok().and_then(|date| utc(date.to_datetime(jiff::civil::Time::midnight())));
    }
    text.parse::<DateTime>().ok().and_then(utc)
}

/// A day since 1970 as a date or a time: in UTC where zones are named, else without one.
pub(super) fn written(days: f64, zoned: bool) -> String {
    // Days as floats keep microseconds for centuries.
    let Ok(moment) = Timestamp::from_microsecond((days * SECONDS_A_DAY * 1e6).round() as i64) else { return days.to_string() };
    let civil = moment.to_zoned(jiff::tz::TimeZone::UTC).datetime();
    match zoned {
        true => moment.to_string(),
        false if civil.time() == jiff::civil::Time::midnight() => civil.date().to_string(),
        false => civil.to_string(),
    }
}

/// The day before all that spreadsheets count, in days since 1970: what lies in it is a time without a date.
const TIMES_OF_DAY: std::ops::Range<f64> = -25_569.0..-25_568.0;

/// A date or a time as a spreadsheet shows it.
pub(super) fn shown(days: f64) -> String {
    let text = written(days, false);
    if TIMES_OF_DAY.contains(&days) { text.split_once('T').map_or("00:00:00", |(_, time)| time).to_owned() } else { text }
}

/// The same with what it is, for messages.
pub(super) fn named(days: f64) -> String {
    format!("the {} {}", if TIMES_OF_DAY.contains(&days) { "time" } else { "date" }, shown(days))
}

#[cfg(test)]
mod tests {
    use super::{named, names_zone, number, written};

    #[test]
    fn times_without_a_date_are_times() {
        let day = 25_569.0;
        assert_eq!(
            [20_576.0, 1.0 / 24.0 + 10.0 / 1440.0 - day, -day].map(named),
            ["the date 2026-05-03", "the time 01:10:00", "the time 00:00:00"]
        );
        assert_eq!(named(20_576.5), "the date 2026-05-03T12:00:00");
    }

    #[test]
    fn what_typed_files_have_numbers_for() {
        for (text, value) in [
            ("true", 1.0),
            ("FALSE", 0.0),
            ("1970-01-02", 1.0),
            ("1970-01-01T12:00:00", 0.5),
            ("1970-01-01 06:00:00", 0.25),
            ("1970-01-01T02:00:00+02:00", 0.0),
            ("2024-02-29", 19_782.0),
        ] {
            assert_eq!(number(text), Some(value), "{text}");
        }
        for (text, zoned) in
            [("2024-02-29", false), ("1970-01-01T12:00:00", false), ("2024-01-02T08:15:30.25Z", true), ("1969-12-31", false)]
        {
            assert_eq!(number(text).map(|days| written(days, zoned)).as_deref(), Some(text));
        }
        let zones = ["1970-01-01T02:00:00+02:00", "1970-01-01T02:00:00", "1970-01-01", "true", "0.5"].map(names_zone);
        assert_eq!(zones, [Some(true), Some(false), Some(false), None, None]);
        for text in ["yes", "01-02-1970", "2023-02-29", "1970-01", "", "1970-01-01x", "t"] {
            assert_eq!(number(text), None, "{text}");
        }
    }
}
