//! Linear constraints as people write them: `a + b + c == 1`, `x < y`, `2*x + y <= 3`.

use sigmabar::domain::Relation;
use std::collections::BTreeMap;
use thiserror::Error;

/// Brackets may be nested this deep.
const MAX_DEPTH: usize = 64;

/// A linear relation between parameters: $\sum_i a_ix_i$ is equal to, at most or below a bound.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    /// Names with their coefficients, none of them 0, in the order of the names.
    pub terms: Vec<(String, f64)>,
    /// How the two sides relate.
    pub relation: Relation,
    /// The right-hand side.
    pub bound: f64,
}

/// Why a constraint cannot be read, and where.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("{problem} (column {column} of \"{text}\")")]
pub struct ExpressionError {
    /// The constraint as it was written.
    pub text: String,
    /// The character at which it goes wrong, from 1.
    pub column: usize,
    /// What is wrong.
    pub problem: ExpressionProblem,
}

/// What is wrong with a constraint.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ExpressionProblem {
    /// Something else should stand here.
    #[error("{expected} is expected here")]
    Expected {
        /// What should stand there.
        expected: &'static str,
    },
    /// Two parameters multiplied, or a division by one.
    #[error("constraints are linear: multiply parameters by numbers only, and divide by numbers only")]
    NotLinear,
    /// A division by 0, or a number too large.
    #[error("this is not a finite number")]
    NotFinite,
    /// No parameter is left.
    #[error("no parameter is left in this constraint")]
    NoParameter,
    /// Too many brackets.
    #[error("brackets are nested more than {MAX_DEPTH} deep")]
    TooDeep,
}

/// Reads a linear constraint. Names are letters, digits, `_` and `.`, not starting with a digit; other names go between backticks.
///
/// ```
/// let expression = sigmabar_study::parse_expression("2*(x + 1) <= y").unwrap();
/// assert_eq!(expression.terms, [("x".to_owned(), 2.0), ("y".to_owned(), -1.0)]);
/// assert_eq!(expression.bound, -2.0);
/// ```
///
/// # Errors
/// [`ExpressionError`] naming the column.
pub fn parse_expression(text: &str) -> Result<Expression, ExpressionError> {
    let mut parser = Parser { text, position: 0 };
    parser.relation().map_err(|problem| ExpressionError {
        text: text.to_owned(),
        column: text[..parser.position].chars().count() + 1,
        problem,
    })
}

/// $\sum_ia_ix_i+b$.
#[derive(Default)]
struct Affine {
    terms: BTreeMap<String, f64>,
    constant: f64,
}

impl Affine {
    fn plus(mut self, other: Self, factor: f64) -> Self {
        for (name, coefficient) in other.terms {
            *self.terms.entry(name).or_insert(0.0) += factor * coefficient;
        }
        self.constant += factor * other.constant;
        self
    }

    fn times(mut self, factor: f64) -> Self {
        self.terms.values_mut().for_each(|coefficient| *coefficient *= factor);
        self.constant *= factor;
        self
    }

    fn as_constant(&self) -> Option<f64> {
        self.terms.is_empty().then_some(self.constant)
    }

    fn is_finite(&self) -> bool {
        self.constant.is_finite() && self.terms.values().all(|coefficient| coefficient.is_finite())
    }
}

struct Parser<'a> {
    text: &'a str,
    /// The byte looked at.
    position: usize,
}

type Parsed<T> = Result<T, ExpressionProblem>;

impl Parser<'_> {
    fn relation(&mut self) -> Parsed<Expression> {
        let left = self.sum(0)?;
        let (relation, sign) = self.comparison()?;
        let right = self.sum(0)?;
        if self.peek().is_some() {
            return Err(ExpressionProblem::Expected { expected: "the end of the constraint, or one of + - * /" });
        }
        let mut all = left.plus(right, -1.0).times(sign);
        all.terms.retain(|_, coefficient| *coefficient != 0.0);
        self.position = 0;
        if !all.is_finite() {
            return Err(ExpressionProblem::NotFinite);
        }
        if all.terms.is_empty() {
            return Err(ExpressionProblem::NoParameter);
        }
        Ok(Expression { terms: all.terms.into_iter().collect(), relation, bound: 0.0 - all.constant })
    }

    /// The relation, and the sign that turns "greater" into "less".
    fn comparison(&mut self) -> Parsed<(Relation, f64)> {
        let signs = [
            ("==", Relation::Equal, 1.0),
            ("<=", Relation::AtMost, 1.0),
            (">=", Relation::AtMost, -1.0),
            ("=", Relation::Equal, 1.0),
            ("<", Relation::Below, 1.0),
            (">", Relation::Below, -1.0),
        ];
        self.skip_blanks();
        for (sign, relation, factor) in signs {
            if self.text[self.position..].starts_with(sign) {
                self.position += sign.len();
                return Ok((relation, factor));
            }
        }
        Err(ExpressionProblem::Expected { expected: "one of == <= >= < > + - * /" })
    }

    fn sum(&mut self, depth: usize) -> Parsed<Affine> {
        let mut total = self.product(depth)?;
        while let Some(sign @ ('+' | '-')) = self.peek() {
            self.position += 1;
            total = total.plus(self.product(depth)?, if sign == '+' { 1.0 } else { -1.0 });
        }
        Ok(total)
    }

    fn product(&mut self, depth: usize) -> Parsed<Affine> {
        let mut total = self.factor(depth)?;
        while let Some(sign @ ('*' | '/')) = self.peek() {
            let at = self.position;
            self.position += 1;
            let next = self.factor(depth)?;
            let after = std::mem::replace(&mut self.position, at);
            total = match (sign, total.as_constant(), next.as_constant()) {
                ('*', _, Some(factor)) => total.times(factor),
                ('*', Some(factor), None) => next.times(factor),
                ('/', _, Some(divisor)) => total.times(1.0 / divisor),
                _ => return Err(ExpressionProblem::NotLinear),
            };
            if !total.is_finite() {
                return Err(ExpressionProblem::NotFinite);
            }
            self.position = after;
        }
        Ok(total)
    }

    fn factor(&mut self, depth: usize) -> Parsed<Affine> {
        if depth > MAX_DEPTH {
            return Err(ExpressionProblem::TooDeep);
        }
        match self.peek() {
            Some(sign @ ('+' | '-')) => {
                self.position += 1;
                Ok(self.factor(depth + 1)?.times(if sign == '+' { 1.0 } else { -1.0 }))
            }
            Some('(') => {
                self.position += 1;
                let inner = self.sum(depth + 1)?;
                if self.peek() != Some(')') {
                    return Err(ExpressionProblem::Expected { expected: ")" });
                }
                self.position += 1;
                Ok(inner)
            }
            Some('`') => self.quoted_name(),
            Some(c) if c.is_ascii_digit() || c == '.' => self.number(),
            Some(c) if c.is_alphabetic() || c == '_' => Ok(self.plain_name()),
            _ => Err(ExpressionProblem::Expected { expected: "a parameter or a number" }),
        }
    }

    fn quoted_name(&mut self) -> Parsed<Affine> {
        let rest = &self.text[self.position + 1..];
        let Some(length) = rest.find('`') else { return Err(ExpressionProblem::Expected { expected: "a closing backtick" }) };
        let name = rest[..length].to_owned();
        self.position += length + 2;
        Ok(Affine { terms: BTreeMap::from([(name, 1.0)]), constant: 0.0 })
    }

    fn plain_name(&mut self) -> Affine {
        let rest = &self.text[self.position..];
        let length = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.')).unwrap_or(rest.len());
        self.position += length;
        Affine { terms: BTreeMap::from([(rest[..length].to_owned(), 1.0)]), constant: 0.0 }
    }

    /// Digits, a point, an exponent with its sign.
    fn number(&mut self) -> Parsed<Affine> {
        let rest = &self.text[self.position..];
        let mut before = ' ';
        let ends = |c: char| {
            let signed = (c == '+' || c == '-') && matches!(before, 'e' | 'E');
            let inside = c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E') || signed;
            before = c;
            !inside
        };
        let length = rest.find(ends).unwrap_or(rest.len());
        match rest[..length].parse::<f64>() {
            Ok(constant) if constant.is_finite() => {
                self.position += length;
                Ok(Affine { terms: BTreeMap::new(), constant })
            }
            Ok(_) => Err(ExpressionProblem::NotFinite),
            Err(_) => Err(ExpressionProblem::Expected { expected: "a number" }),
        }
    }

    fn peek(&mut self) -> Option<char> {
        self.skip_blanks();
        self.text[self.position..].chars().next()
    }

    fn skip_blanks(&mut self) {
        let rest = &self.text[self.position..];
        self.position += rest.len() - rest.trim_start().len();
    }
}
