//! Cells of a table as values of a study's parameters.

use crate::data::{Cell, Reader};
use sigmabar_study::{Parameter, ParameterKind, Value};

/// Spreadsheets round: numbers that differ by less than this share are the same.
const ROUNDING: f64 = 1e-6;

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
    if matches!(parameter.kind, ParameterKind::Categorical { .. }) {
        reader.keep_text(column);
    }
}

/// Whether a cell says what was asked for.
pub fn agrees(cell: &Cell, parameter: &Parameter, asked: &Value) -> bool {
    match (cell, &parameter.kind) {
        (_, ParameterKind::Categorical { choices }) => chosen(cell, choices).is_some_and(|choice| choice.same(asked)),
        (Cell::Number(number), _) => {
            asked.as_number().is_some_and(|known| (known - number).abs() <= ROUNDING * known.abs().max(number.abs()))
        }
        _ => false,
    }
}

/// The choice that a cell means: the one that is written there, else the only one that is the same number, which programs write in several ways.
fn chosen<'a>(cell: &Cell, choices: &'a [Value]) -> Option<&'a Value> {
    let is_written = |choice: &&Value| matches!((cell, choice), (Cell::Text(text), Value::Choice(word)) if text == word.trim());
    if let Some(choice) = choices.iter().find(is_written) {
        return Some(choice);
    }
    let number = match cell {
        Cell::Number(number) => Some(*number),
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
        let parameter = Parameter { name: "p".into(), kind: ParameterKind::Categorical { choices: words.clone() } };
        let cells = [Cell::Number(10.0), Cell::Number(2.0), Cell::Number(f64::INFINITY), Cell::Text("a".into())];
        for (cell, word) in cells.iter().zip(&words) {
            assert_eq!(value(cell, &parameter).as_ref(), Some(word));
            assert!(agrees(cell, &parameter, word));
        }
        assert_eq!(value(&Cell::Number(3.0), &parameter), Some(Value::Int(3)));
        let twice = ["1", "1.0"].map(|word| Value::Choice(word.to_owned())).to_vec();
        let twice = Parameter { name: "p".into(), kind: ParameterKind::Categorical { choices: twice } };
        assert_eq!(value(&Cell::Number(1.0), &twice), Some(Value::Int(1)), "which of the two is not guessed");
        let text = |text: &str| Cell::Text(text.to_owned());
        assert_eq!(value(&text("1.0"), &twice), Some(Value::Choice("1.0".into())), "what is written is meant");
        let numbers = vec![Value::Float(1.5), Value::Choice("64,32".into()), Value::Float(64.32)];
        let mixed = Parameter { name: "p".into(), kind: ParameterKind::Categorical { choices: numbers.clone() } };
        for (written, meant) in [("1,5", 0), ("1.50", 0), ("64,32", 1), ("64.32", 2)] {
            assert_eq!(value(&text(written), &mixed).as_ref(), Some(&numbers[meant]), "{written}");
        }
    }

    #[test]
    fn numbers_agree_up_to_the_rounding_of_spreadsheets() {
        let parameter = Parameter { name: "p".into(), kind: ParameterKind::Float { low: 0.0, high: 1.0, log: false } };
        let agrees = |cell: Cell, asked: Value| agrees(&cell, &parameter, &asked);
        assert!(agrees(Cell::Number(0.333_333_4), Value::Float(1.0 / 3.0)));
        assert!(!agrees(Cell::Number(0.334), Value::Float(1.0 / 3.0)));
        assert!(agrees(Cell::Number(0.0), Value::Int(0)) && !agrees(Cell::Missing, Value::Int(0)));
    }
}
