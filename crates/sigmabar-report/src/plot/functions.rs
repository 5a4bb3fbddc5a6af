//! Random functions of one norm next to each other: could yours look like this?

use super::{Axis, Figure, Ink, Panel, Picture, Sample, Scale, Stroke, Table};

/// Functions along one parameter, from 0 to 1 of its range: their values at equal steps, a line for each of the `choices` of another parameter, if there are any. `around` is the
/// usual value and how far values stray.
#[must_use]
pub fn functions(functions: &[Vec<Vec<f64>>], choices: &[String], around: (f64, f64), along: Option<&str>) -> Picture {
    let whose = if along.is_some() { "earlier results suggest" } else { "your answers say" };
    let mut figure = Figure::new("functions", format!("Could yours look like this? Functions as large as {whose}"));
    let (line, band) = (|k: usize| Stroke::solid(Ink::Series(k), 2.0), Stroke::dashed(Ink::Muted, 1.0));
    let named = choices.iter().enumerate().map(|(k, choice)| (Sample::Line(line(k)), choice.as_str()));
    let plain = choices.is_empty().then(|| (Sample::Line(line(0)), "a function"));
    let usually = (Sample::Line(band), "the usual value, and how far values stray from it");
    figure.legend(&plain.into_iter().chain(named).chain([usually]).collect::<Vec<_>>());
    let areas = figure.grid(functions.len(), functions.len(), 220.0);
    let (usual, stray) = around;
    let values = functions.iter().flatten().flatten().copied().chain([usual - stray, usual + stray]);
    let scale = Scale::covering(values);
    let mut table = Table::new(["function", "choice", "share_of_range", "value"]);
    for (i, (function, area)) in functions.iter().zip(areas).enumerate() {
        let x = Axis::new(
            Scale::Linear { low: 0.0, high: 1.0 },
            along.map_or("share of a factor's range".to_owned(), |name| format!("share of the range of {name}")),
        );
        let panel = Panel::new(&mut figure.scene, area, "", x, Axis::new(scale.clone(), ""));
        for level in [usual - stray, usual, usual + stray] {
            panel.level(&mut figure.scene, level, band);
        }
        for (k, values) in function.iter().enumerate() {
            let at = |j: usize| j as f64 / (values.len().max(2) - 1) as f64;
            let points: Vec<(f64, f64)> = values.iter().enumerate().map(|(j, v)| (at(j), *v)).collect();
            panel.line(&mut figure.scene, &points, line(k));
            let choice = choices.get(k).map_or("", String::as_str);
            for (share, value) in points {
                table.push(vec![(i + 1).into(), choice.into(), share.into(), value.into()]);
            }
        }
    }
    let alike = if choices.is_empty() {
        ""
    } else {
        " Each picture is one function at several choices: so little, or so much, one of them tells about another."
    };
    let made = match along {
        Some(name) => format!("Random functions under the kernel that was learnt, along {name} while the others stay in the middle."),
        None => "Random functions made of as many hills and valleys as were said, which may run into each other, along one factor while the others stay.".to_owned(),
    };
    let caption = format!(
        "{made}{alike} Their norm is two thirds of \
         the bound, which leaves room for half as much again."
    );
    figure.finish(&caption, table)
}
