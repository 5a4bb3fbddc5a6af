//! Cells of a table as values of a study's parameters.

use crate::data::Cell;
use sigmabar_study::{Parameter, ParameterKind, Value};

/// Spreadsheets round: numbers that differ by less than this share are the same.
const ROUNDING: f64 = 1e-6;

/// What a cell says about a parameter; `None` where there is nothing that a setting can be.
pub(crate) fn value(cell: &Cell, parameter: &Parameter) -> Option<Value> {
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

/// Whether a cell says what was asked for.
pub(crate) fn agrees(cell: &Cell, asked: &Value) -> bool {
    match (cell, asked) {
        (Cell::Text(text), Value::Choice(word)) => text == word.trim(),
        // A word such as "10" or "inf" is read as a number.
        (Cell::Number(number), Value::Choice(word)) => word.trim().parse::<f64>().is_ok_and(|known| is_same(known, *number)),
        (Cell::Number(number), asked) => {
            asked.as_number().is_some_and(|known| (known - number).abs() <= ROUNDING * known.abs().max(number.abs()))
        }
        _ => false,
    }
}

/// The choice that a cell means, if it can mean only one.
fn chosen<'a>(cell: &Cell, choices: &'a [Value]) -> Option<&'a Value> {
    let mut found = choices.iter().filter(|choice| match (cell, choice.as_number()) {
        (Cell::Number(number), Some(known)) => is_same(known, *number),
        _ => agrees(cell, choice),
    });
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
        let parameter = Parameter { name: "p".into(), kind: ParameterKind::Categorical { choices: words.clone() } };
        let cells = [Cell::Number(10.0), Cell::Number(2.0), Cell::Number(f64::INFINITY), Cell::Text("a".into())];
        for (cell, word) in cells.iter().zip(&words) {
            assert_eq!(value(cell, &parameter).as_ref(), Some(word));
            assert!(agrees(cell, word));
        }
        assert_eq!(value(&Cell::Number(3.0), &parameter), Some(Value::Int(3)));
        let twice = ["1", "1.0"].map(|word| Value::Choice(word.to_owned())).to_vec();
        let twice = Parameter { name: "p".into(), kind: ParameterKind::Categorical { choices: twice } };
        assert_eq!(value(&Cell::Number(1.0), &twice), Some(Value::Int(1)), "which of the two is not guessed");
    }

    #[test]
    fn numbers_agree_up_to_the_rounding_of_spreadsheets() {
        assert!(agrees(&Cell::Number(0.333_333_4), &Value::Float(1.0 / 3.0)));
        assert!(!agrees(&Cell::Number(0.334), &Value::Float(1.0 / 3.0)));
        assert!(agrees(&Cell::Number(0.0), &Value::Int(0)) && !agrees(&Cell::Missing, &Value::Int(0)));
    }
}
