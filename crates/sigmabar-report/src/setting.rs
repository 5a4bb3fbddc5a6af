//! Cells of a table as values of a study's parameters.

use crate::data::{Cell, Reader};
use sigmabar_study::{Parameter, ParameterKind, Value};

/// Spreadsheets round: numbers that differ by less than this share are the same.
const ROUNDING: f64 = 1e-6;
/// People cut digits: not more than this share of the range, or of the number on a logarithmic scale.
const FINE: f64 = 0.005;

/// What a cell says about a parameter; `None` where there is nothing that a setting can be.
pub fn value(cell: &Cell, parameter: &Parameter) -> Option<Value> {
    if let ParameterKind::Categorical { choices } = &parameter.kind
        && let Some(choice) = chosen(cell, choices)
    {
        return Some(choice.clone());
    }
    match cell {
        Cell::Number(number) if number.fract() == 0.0 && number.abs() < 9e15 => Some(Value::Int(*number as i64)),
        Cell::Number(number) if number.is_finite() => Some(Value::Float(*number)),
        Cell::Text(text) => Some(Value::Choice(text.clone())),
        _ => None,
    }
}

/// Columns of choices are read as text: a choice may be called 64,32 or 007.
pub fn keep_choices(reader: &mut Reader, parameter: &Parameter, column: usize) {
    if parameter.is_choice() {
        reader.keep_text(column);
    }
}

/// Whether a cell says what was asked for.
pub fn agrees(cell: &Cell, parameter: &Parameter, asked: &Value) -> bool {
    match (cell, &parameter.kind) {
        (_, ParameterKind::Categorical { choices }) => chosen(cell, choices).is_some_and(|choice| choice.same(asked)),
        (Cell::Number(number), _) => asked.as_number().is_some_and(|known| {
            let is_near = (known - number).abs() <= ROUNDING * known.abs().max(number.abs());
            is_near || is_rounded(*number, known, parameter)
        }),
        _ => false,
    }
}

/// Whether a number is another one to as many digits as it shows, and the range is a few hundred times wider than what was cut: people type 4.85 from a sheet
/// that says 4.8495, and not 5.
fn is_rounded(shown: f64, asked: f64, parameter: &Parameter) -> bool {
    let ParameterKind::Float { low, high, log } = parameter.kind else { return false };
    let decimals = shown.to_string().split_once('.').map_or(0, |(_, digits)| digits.len());
    let cut = (shown - asked).abs();
    let most = FINE * if log { asked.abs() } else { high - low };
    cut <= 0.5 * 10_f64.powi(-i32::try_from(decimals).unwrap_or(300)) * (1.0 + ROUNDING) && cut <= most
}

/// The value that a cell says was used instead of the one asked for: a number at most a tenth of the range away. What is farther off is a sheet that was sorted.
pub(crate) fn used_instead(cell: &Cell, parameter: &Parameter, asked: &Value) -> Option<Value> {
    let (Cell::Number(number), Some(known)) = (cell, asked.as_number()) else { return None };
    let ParameterKind::Float { low, high, log } = parameter.kind else { return None };
    let near = if log { (number / known).ln().abs() <= 0.1 * (high / low).ln() } else { (number - known).abs() <= 0.1 * (high - low) };
    (near && (low..=high).contains(number)).then_some(Value::Float(*number))
}

/// The choice that a cell means: the one that is written there, else the only one that is the same number, which programs write in several ways.
fn chosen<'a>(cell: &Cell, choices: &'a [Value]) -> Option<&'a Value> {
    let is_written = |choice: &&Value| matches!((cell, choice), (Cell::Text(text), Value::Choice(word)) if text == word.trim());
    if let Some(choice) = choices.iter().find(is_written) {
        return Some(choice);
    }
    let number = match cell {
        Cell::Number(number) | Cell::Moment(number) => Some(*number),
        // A comma can be a decimal one only: no choice is written so.
        Cell::Text(text) => text.replacen(',', ".", 1).parse().ok(),
        Cell::Missing => None,
    }?;
    let known = |choice: &Value| match choice {
        Value::Choice(word) => word.trim().parse().ok(),
        number => number.as_number(),
    };
    let mut found = choices.iter().filter(|choice| known(choice).is_some_and(|known| is_same(known, number)));
    found.next().filter(|_| found.next().is_none())
}

fn is_same(a: f64, b: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_that_look_like_numbers_are_choices() {
        let words = ["10", "2", "inf", "a"].map(|word| Value::Choice(word.to_owned())).to_vec();
        let parameter =
            Parameter { name: "p".into(), kind: ParameterKind::Categorical { choices: words.clone() }, digits: None, unit: None };
        let cells = [Cell::Number(10.0), Cell::Number(2.0), Cell::Number(f64::INFINITY), Cell::Text("a".into())];
        for (cell, word) in cells.iter().zip(&words) {
            assert_eq!(value(cell, &parameter).as_ref(), Some(word));
            assert!(agrees(cell, &parameter, word));
        }
        assert_eq!(value(&Cell::Number(3.0), &parameter), Some(Value::Int(3)));
        let twice = ["1", "1.0"].map(|word| Value::Choice(word.to_owned())).to_vec();
        let twice = Parameter { name: "p".into(), kind: ParameterKind::Categorical { choices: twice }, digits: None, unit: None };
        assert_eq!(value(&Cell::Number(1.0), &twice), Some(Value::Int(1)), "which of the two is not guessed");
        let text = |text: &str| Cell::Text(text.to_owned());
        assert_eq!(value(&text("1.0"), &twice), Some(Value::Choice("1.0".into())), "what is written is meant");
        let numbers = vec![Value::Float(1.5), Value::Choice("64,32".into()), Value::Float(64.32)];
        let mixed = Parameter { name: "p".into(), kind: ParameterKind::Categorical { choices: numbers.clone() }, digits: None, unit: None };
        for (written, meant) in [("1,5", 0), ("1.50", 0), ("64,32", 1), ("64.32", 2)] {
            assert_eq!(value(&text(written), &mixed).as_ref(), Some(&numbers[meant]), "{written}");
        }
    }

    #[test]
    fn numbers_agree_up_to_the_rounding_of_spreadsheets() {
        let parameter =
            Parameter { name: "p".into(), kind: ParameterKind::Float { low: 0.0, high: 1.0, log: false }, digits: None, unit: None };
        let agrees = |cell: Cell, asked: Value| agrees(&cell, &parameter, &asked);
        assert!(agrees(Cell::Number(0.333_333_4), Value::Float(1.0 / 3.0)));
        assert!(!agrees(Cell::Number(0.334), Value::Float(1.0 / 3.0)));
        assert!(agrees(Cell::Number(0.333), Value::Float(1.0 / 3.0)), "as many digits as are shown");
        assert!(!agrees(Cell::Number(0.3), Value::Float(0.34)), "too few of them");
        assert!(agrees(Cell::Number(0.0), Value::Int(0)) && !agrees(Cell::Missing, Value::Int(0)));
    }
}
