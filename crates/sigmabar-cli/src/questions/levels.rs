//! What a factor can be set to, as people type it.

/// What a factor can be set to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Levels {
    /// Any number from low to high, perhaps in steps, or to so many decimals.
    Range(f64, f64, Made),
    /// The same with equal ratios equally far apart, to so many significant digits.
    Ratios(f64, f64, usize),
    /// Whole numbers, perhaps with equal ratios equally far apart, else in steps.
    Whole(i64, i64, Apart),
    /// These numbers.
    Numbers(Vec<f64>),
    /// These names.
    Names(Vec<String>),
}

/// Which whole numbers of a range there are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Apart {
    /// Every so many.
    Step(u64),
    /// All, and equal ratios are equally far apart.
    Ratios,
}

/// Significant digits on a logarithmic scale, unless said.
const SIGNIFICANT: usize = 3;

/// What of a range can be made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Made {
    /// Steps of this size from the lower end on.
    Step(f64),
    /// So many decimals.
    Digits(usize),
}

impl Made {
    /// Decimals that cut a range into some thousand parts.
    fn usual(low: f64, high: f64) -> Self {
        Self::Digits((500.0 / (high - low)).log10().ceil().clamp(0.0, 12.0) as usize)
    }
}

/// The levels of a factor, and the unit they were given in.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Factor {
    pub levels: Levels,
    pub unit: Option<String>,
}

/// A name, and the unit that people put behind it: `temperature (°C)`, `time [h]`.
pub(super) fn with_unit(typed: &str) -> (String, Option<String>) {
    let split = |open: char, close: char| {
        let (name, unit) = typed.strip_suffix(close)?.rsplit_once(open)?;
        // P(O2) is a name, and no unit.
        name.ends_with(' ').then(|| (name.trim().to_owned(), Some(unit.trim().to_owned()).filter(|unit| !unit.is_empty())))
    };
    split('(', ')').or_else(|| split('[', ']')).unwrap_or_else(|| (typed.to_owned(), None))
}

/// The levels that a line names.
pub(super) fn levels(text: &str) -> Result<Factor, String> {
    const WRONG: &str = "give a range such as 20..80 or 20 to 80, or at least two levels such as 10, 20, 40";
    const RANGE: &str = "a range goes from a smaller to a larger number, such as 20..80, 20..80 step 5, 20..80 digits 1, 1..1000 log (above 0, without steps) or 1..64 int";
    let has_decimal_comma = text.as_bytes().windows(3).any(|w| w[1] == b',' && w[0].is_ascii_digit() && w[2].is_ascii_digit());
    let pointed = text.replace(',', ".");
    if has_decimal_comma && ends(&pointed).is_some_and(|(low, rest)| range(low, rest).is_some()) {
        return Err(format!("write decimals with a point: {pointed}"));
    }
    if let Some((low, rest)) = ends(text) {
        return range(low, rest).ok_or_else(|| RANGE.to_owned());
    }
    let names: Vec<&str> = text.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    let differ = (0..names.len()).all(|i| !names[..i].contains(&names[i]));
    if names.len() < 2 || !differ {
        return Err(WRONG.to_owned());
    }
    Ok(match measured(&names, true) {
        Some((mut numbers, unit)) => {
            numbers.sort_by(f64::total_cmp);
            Factor { levels: Levels::Numbers(numbers), unit }
        }
        None => Factor { levels: Levels::Names(names.into_iter().map(str::to_owned).collect()), unit: None },
    })
}

/// A range from `low` to the beginning of `rest`, which may go on with step, digits, log and int.
fn range(low: &str, rest: &str) -> Option<Factor> {
    let (rest, is_log, is_whole) = scales(rest);
    let (rest, digits) = rest.split_once("digits").map_or((rest.as_str(), None), |(high, digits)| (high, Some(digits)));
    let digits = digits.map_or(Some(None), |digits| digits.trim().parse::<usize>().ok().filter(|digits| *digits <= 12).map(Some))?;
    let (high, step) = rest.split_once("step").map_or((rest, None), |(high, step)| (high, Some(step)));
    let parts: Vec<&str> = [low, high].into_iter().chain(step).collect();
    let (numbers, unit) = measured(&parts, false)?;
    let (low, high, step) = (numbers[0], numbers[1], numbers.get(2).copied());
    let is_sound =
        low < high && (high - low).is_finite() && step.is_none_or(|step| step > 0.0) && (digits.is_none() || (step.is_none() && !is_whole));
    if !is_sound || (is_log && (low <= 0.0 || step.is_some() || digits == Some(0))) {
        return None;
    }
    let whole = |value: f64| (value.fract() == 0.0 && value.abs() < 1e15).then_some(value as i64);
    let levels = match (is_whole, is_log) {
        (true, true) => Levels::Whole(whole(low)?, whole(high)?, Apart::Ratios),
        (true, false) => Levels::Whole(whole(low)?, whole(high)?, Apart::Step(whole(step.unwrap_or(1.0))?.unsigned_abs())),
        (false, true) => Levels::Ratios(low, high, digits.unwrap_or(SIGNIFICANT)),
        (false, false) => {
            Levels::Range(low, high, step.map(Made::Step).or(digits.map(Made::Digits)).unwrap_or_else(|| Made::usual(low, high)))
        }
    };
    Some(Factor { levels, unit })
}

/// The rest of a range without the words log and int, and whether each was there: everything else may be a unit.
fn scales(rest: &str) -> (String, bool, bool) {
    let words: Vec<&str> = rest.split_whitespace().collect();
    let is_log = |word: &&str| matches!(word.to_lowercase().trim_matches(','), "log" | "logarithmic");
    let is_whole = |word: &&str| matches!(word.to_lowercase().trim_matches(','), "int" | "integer" | "integers" | "whole");
    let kept: Vec<&str> = words.iter().copied().filter(|word| !is_log(word) && !is_whole(word)).collect();
    (kept.join(" "), words.iter().any(is_log), words.iter().any(is_whole))
}

/// The two ends of a range, as people write it: `20..80`, `20 to 80`, `20-80`.
fn ends(text: &str) -> Option<(&str, &str)> {
    let dashes =
        text.char_indices().skip(1).filter(|(_, c)| matches!(c, '-' | '–' | '—')).map(|(at, c)| (&text[..at], &text[at + c.len_utf8()..]));
    let high = |rest: &str| {
        let (rest, ..) = scales(rest);
        rest.split("step").flat_map(|part| part.split("digits")).next().is_some_and(|high| measured(&[high], false).is_some())
    };
    text.split_once("..")
        .map(|(low, rest)| (low, rest.trim_start_matches('.')))
        .or_else(|| text.split_once(" to ").filter(|(low, rest)| measured(&[low], false).is_some() && high(rest)))
        .or_else(|| dashes.into_iter().find(|(low, rest)| measured(&[low], false).is_some() && high(rest)))
}

/// Numbers, with the unit that follows the last of them or several: one unit at most. In a list a unit without a gap is behind every number, or it belongs to a name: `1h, 2h`,
/// but `1, 2b`.
fn measured(texts: &[&str], is_list: bool) -> Option<(Vec<f64>, Option<String>)> {
    let mut units = Vec::with_capacity(texts.len());
    let mut numbers = Vec::with_capacity(texts.len());
    let mut is_close = false;
    for text in texts.iter().map(|text| text.trim()) {
        let place =
            (0..=text.len()).rev().filter(|&end| text.is_char_boundary(end)).find(|&end| text[..end].trim_end().parse::<f64>().is_ok())?;
        let (number, rest) = (text[..place].trim_end().parse::<f64>().ok().filter(|v| v.is_finite())?, text[place..].trim());
        // 3-ethyl is no length of three ethyls.
        if rest.contains(|c: char| c.is_ascii_digit() || matches!(c, '-' | ',')) {
            return None;
        }
        let has_gap = text[..place].ends_with(' ') || text[place..].starts_with(' ') || rest.starts_with(['%', '°', 'µ']);
        is_close |= !rest.is_empty() && !has_gap;
        units.extend(Some(rest).filter(|rest| !rest.is_empty()));
        numbers.push(number);
    }
    let is_one = units.windows(2).all(|pair| pair[0] == pair[1]);
    let is_complete = units.len() == numbers.len() || !(is_list && is_close);
    (is_one && is_complete).then(|| (numbers, units.first().map(|&unit| unit.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_understood() {
        let read = |text: &str| levels(text).map(|factor| (factor.levels, factor.unit.unwrap_or_default()));
        let range = |low, high, made| Levels::Range(low, high, made);
        for text in ["20..80", "20-80", "20 - 80", "20 – 80", "20 to 80"] {
            assert_eq!(read(text), Ok((range(20.0, 80.0, Made::Digits(1)), String::new())), "{text}");
        }
        assert_eq!(read("20-80 °C step 5"), Ok((range(20.0, 80.0, Made::Step(5.0)), "°C".into())));
        assert_eq!(read("20..80 step 5"), Ok((range(20.0, 80.0, Made::Step(5.0)), String::new())));
        assert_eq!(read("4 to 9 pH digits 2"), Ok((range(4.0, 9.0, Made::Digits(2)), "pH".into())));
        assert_eq!(read("-1 .. 1.5"), Ok((range(-1.0, 1.5, Made::Digits(3)), String::new())));
        assert_eq!(read("-5--1"), Ok((range(-5.0, -1.0, Made::Digits(3)), String::new())));
        assert_eq!(read("1e-3-1e-1"), Ok((range(1e-3, 1e-1, Made::Digits(4)), String::new())));
        assert_eq!(read("40, 10,20"), Ok((Levels::Numbers(vec![10.0, 20.0, 40.0]), String::new())));
        assert_eq!(read("1, 2, 4, 8 h"), Ok((Levels::Numbers(vec![1.0, 2.0, 4.0, 8.0]), "h".into())));
        assert_eq!(read("1h, 2h, 4h"), Ok((Levels::Numbers(vec![1.0, 2.0, 4.0]), "h".into())));
        assert_eq!(read("10mM, 2.5mM"), Ok((Levels::Numbers(vec![2.5, 10.0]), "mM".into())));
        assert_eq!(read("20h..80h"), read("20..80h"));
        assert_eq!(read("20-80C"), Ok((range(20.0, 80.0, Made::Digits(1)), "C".into())));
        assert_eq!(read("1e300-1e308"), Ok((range(1e300, 1e308, Made::Digits(0)), String::new())));
        assert_eq!(read("5%, 10%"), Ok((Levels::Numbers(vec![5.0, 10.0]), "%".into())));
        for names in [["dmso", "thf"], ["2-propanol", "3-pentanol"], ["1 h", "2 d"], ["5-HT", "dmso"], ["1", "2b"], ["2a", "2b"]] {
            assert_eq!(read(&names.join(", ")), Ok((Levels::Names(names.map(str::to_owned).to_vec()), String::new())));
        }
        // Words for the scale are no units, and everything else still is.
        assert_eq!(read("1..1000 log"), Ok((Levels::Ratios(1.0, 1000.0, 3), String::new())));
        assert_eq!(read("1 to 1000 nM log"), Ok((Levels::Ratios(1.0, 1000.0, 3), "nM".into())));
        assert_eq!(read("1e-5-1e-1 log digits 2"), Ok((Levels::Ratios(1e-5, 1e-1, 2), String::new())));
        assert_eq!(read("1..64 int log"), Ok((Levels::Whole(1, 64, Apart::Ratios), String::new())));
        assert_eq!(read("1..64 integer"), Ok((Levels::Whole(1, 64, Apart::Step(1)), String::new())));
        assert_eq!(read("2-64 trees int step 2"), Ok((Levels::Whole(2, 64, Apart::Step(2)), "trees".into())));
        assert_eq!(read("1..10 logs"), Ok((range(1.0, 10.0, Made::Digits(2)), "logs".into())));
        let is_pointed = |text: &str| levels(text).is_err_and(|said| said.contains(&text.replace(',', ".")));
        assert!(["20,5 - 80,5", "20,5-80", "0..1,5", "0,1 to 0,9"].iter().all(|text| is_pointed(text)));
        assert!(levels("0-10, 10-20").is_ok_and(|factor| matches!(factor.levels, Levels::Names(_))));
        let refused = [
            "0..10 log",
            "1..10 log step 2",
            "0.5..3 int",
            "-1e308..1e308",
            "1e400..2",
            "1..9 int digits 1",
            "80..20",
            "80-20",
            "2..8 step x",
            "a",
            "a, a",
            "",
        ];
        assert!(refused.iter().all(|text| levels(text).is_err()));
    }
}
