//! What would have to be true for a claim to be wrong: the gap as a function of the norm, and the map over the length-scale.

use super::plate::colour_bar;
use super::{
    Anchor, Axis, Figure, Fill, Ink, Marker, Panel, Picture, Sample, Scale, Scene, Stroke, Style, Table, heat, number, on_heat, significant,
};
use sigmabar::Origin;
use sigmabar::strategy::{PremiseRow, Standing};

/// Norms this many times smaller than the declared one are not drawn.
const FARTHEST: f64 = 1000.0;

/// gap(C) with the norms that the data exclude, the declared one and the one at which the claim breaks.
#[must_use]
pub fn standing(standing: &Standing, response: &str) -> Picture {
    let (range, (norm_bound, growth)) = (&standing.range, standing.declared());
    // c₀ far below everything else would leave no room for the curve.
    let least = Some(range.least_norm / growth).filter(|c| *c > norm_bound / FARTHEST);
    let end = range.norm_breakdown.map(|norm| norm / growth);
    let whose = whose(standing.certificate.premises.norm_bound.origin);
    let dial = Dial {
        name: "premises",
        title: "How large would the norm have to be? The gap as a function of what is assumed",
        axis: "norm bound C".to_owned(),
        valid: "gap, valid for every norm up to C at once",
        column: "norm_bound",
        curve: standing.curve.iter().map(|p| (p.norm_bound / growth, p.gap)).collect(),
        least: least
            .map(|least| (least, format!("the data exclude norms below c₀ = {}", down(least)), format!("norms below {}", down(least)))),
        declared: (norm_bound, format!("{whose} norm bound: C = {}", number(norm_bound))),
        end: end.zip(range.gap).map(|(end, gap)| (end, gap, format!("a gap of {} stands up to C† = {}", number(gap), down(end)))),
    };
    let others = if standing.among_candidates { "no candidate that stands for the space" } else { "no setting" };
    let caption = format!(
        "Each point is a statement about its own premise, from the same data: a function of norm C at most has {others} better than the recommended one by more than the gap. \
         Left of the shaded edge no function fits the data; up to C† the gap at the dashed level was seen to stand. Eight times the {whose} norm is the farthest that is looked at."
    );
    dial.picture(&gap_in(standing, response), caption)
}

/// gap(R) at the declared norm, with the level that is claimed and the one at which the claim breaks; none where there is no noise, or none gives a gap.
#[must_use]
pub fn noise(standing: &Standing, response: &str) -> Option<Picture> {
    let (range, premises) = (&standing.range, &standing.certificate.premises);
    let unit = premises.prior.value.unit();
    let level = unit * standing.noise_level?;
    let curve: Vec<(f64, Option<f64>)> = standing.noise_curve.iter().map(|p| (unit * p.noise_level, p.gap)).collect();
    curve.iter().find(|(_, gap)| gap.is_some())?;
    // Levels of the curve are a fifth apart: the largest that is excluded is what is known.
    let least = curve.iter().filter(|(_, gap)| gap.is_none()).map(|(level, _)| *level).reduce(f64::max);
    let end = range.noise_breakdown.map(|end| unit * end);
    let norm = number(standing.declared().0);
    let whose = if premises.level.is_some() {
        "what replicates bound the noise by".to_owned()
    } else {
        format!("{} noise", whose(premises.noise.origin))
    };
    let dial = Dial {
        name: "premises-noise",
        title: "How large would the noise have to be? The gap as a function of its level",
        axis: format!("noise level R in {response}"),
        valid: "gap, valid for every level up to R at once",
        column: "noise_level",
        least: least.map(|least| {
            (least, format!("at norm {norm} the data exclude noise up to {}", down(least)), format!("noise up to {}", down(least)))
        }),
        declared: (level, format!("{whose}: R = {}", number(level))),
        end: end.zip(range.gap).map(|(end, gap)| (end, gap, format!("a gap of {} stands up to R† = {}", number(gap), down(end)))),
        curve,
    };
    let others = if standing.among_candidates { "no candidate that stands for the space" } else { "no setting" };
    let caption = format!(
        "Each point is a statement about its own premise, from the same data, at norm {norm}: if the noise is no larger than R, {others} is better than the recommended one by more than the gap. Up to R† the gap at \
         the dashed level was seen to stand. Eight times the level that is claimed is the farthest that is looked at."
    );
    Some(dial.picture(&gap_in(standing, response), caption))
}

/// As the sentence says it.
fn whose(origin: Origin) -> &'static str {
    if origin == Origin::LearntElsewhere { "learnt" } else { "declared" }
}

fn gap_in(standing: &Standing, response: &str) -> String {
    format!("{} in {response}", if standing.among_candidates { "gap among the candidates" } else { "gap" })
}

/// The gap along one premise: what the data exclude, what was declared and where the claim breaks.
struct Dial {
    name: &'static str,
    title: &'static str,
    axis: String,
    /// What the line is.
    valid: &'static str,
    /// The premise in the table.
    column: &'static str,
    /// Where the line was computed; no gap where the data contradict the premise.
    curve: Vec<(f64, Option<f64>)>,
    /// Up to where the data exclude, with its words in the legend and on the shade.
    least: Option<(f64, String, String)>,
    declared: (f64, String),
    /// Where the claim of which gap breaks.
    end: Option<(f64, f64, String)>,
}

impl Dial {
    fn picture(self, gap_axis: &str, caption: String) -> Picture {
        let mut figure = Figure::new(self.name, self.title);
        let curve = Stroke::solid(Ink::Series(0), 2.0);
        let (declared, breaks) = (Stroke::dashed(Ink::Text, 1.5), Stroke::dashed(Ink::Series(1), 2.0));
        let excluded = Fill::faint(Ink::Muted, 0.25);
        let known: Vec<(f64, f64)> = self.curve.iter().filter_map(|(at, gap)| Some((*at, gap.filter(|g| *g > 0.0)?))).collect();
        // The claim was seen to stand up to there, which may be between two points of the curve.
        let mut line = known.clone();
        if let Some((end, gap, _)) = &self.end {
            line.insert(line.partition_point(|point| point.0 < *end), (*end, *gap));
        }
        let mut marks = vec![(Sample::Line(curve), self.valid), (Sample::Line(declared), self.declared.1.as_str())];
        marks.extend(self.end.as_ref().map(|(_, _, words)| (Sample::Line(breaks), words.as_str())));
        marks.extend(self.least.as_ref().map(|(_, words, _)| (Sample::Band(excluded), words.as_str())));
        figure.legend(&marks);
        let area = figure.grid(1, 1, 320.0)[0];
        let marked = self.least.iter().map(|l| l.0).chain(self.end.iter().map(|e| e.0)).chain([self.declared.0]);
        let x = Axis::new(Scale::log_covering(self.curve.iter().map(|p| p.0).chain(marked)), self.axis);
        let gaps = Scale::log_covering(known.iter().map(|k| k.1).chain(self.end.iter().map(|e| e.1)));
        let panel = Panel::new(&mut figure.scene, area, "", x, Axis::new(gaps, gap_axis));
        let inner = panel.inner();
        // From the edge of the panel on: the axis begins a little before the curve does.
        if let Some((least, _, words)) = &self.least
            && let Some(share) = panel.x().share(*least)
        {
            figure.scene.rect((inner.left, inner.top), (inner.width * share, inner.height), excluded, words);
        }
        panel.fence(&mut figure.scene, self.declared.0, declared);
        if let Some((end, gap, _)) = &self.end {
            panel.level(&mut figure.scene, *gap, breaks);
            panel.fence(&mut figure.scene, *end, breaks);
        }
        panel.line(&mut figure.scene, &next_up(&line), curve);
        for (at, gap) in &known {
            panel.mark(&mut figure.scene, (*at, *gap), 3.0, Marker::Disc, Fill::opaque(Ink::Series(0)), number(*gap));
        }
        let mut table = Table::new([self.column, "gap"]);
        for (at, gap) in self.curve {
            table.push(vec![at.into(), gap.into()]);
        }
        figure.finish(caption, table)
    }
}

/// Between two values the statement of the larger one is what holds.
fn next_up(known: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let steps = known.windows(2).flat_map(|pair| [(pair[0].0, pair[1].1), pair[1]]);
    known.first().copied().into_iter().chain(steps).collect()
}

/// Three digits of an end of a range: never more than it.
fn down(value: f64) -> String {
    let step = 10_f64.powf(value.log10().floor() - 2.0);
    significant((value / step + 1e-9).floor() * step, 3)
}

/// The gap over norm and length-scale: one row for each factor, the shortest below, and an edge where the claim no longer stands.
#[must_use]
pub fn premise_map(rows: &[PremiseRow], standing: &Standing, response: &str) -> Picture {
    let claimed = standing.gap_at(standing.norm_bound).unwrap_or(f64::INFINITY);
    let growth = standing.declared().1;
    let followed = standing.range.gap.unwrap_or(claimed);
    let mut figure = Figure::new("premise-map", "And if it changes faster? The gap over norm and length-scale");
    let frame = Stroke::solid(Ink::Series(1), 3.0);
    let edge = Stroke::solid(Ink::Text, 4.0);
    let stands = format!("a gap of {} stands on the bright side", number(followed));
    let borders = edges(rows, followed);
    let whose = whose(standing.certificate.premises.norm_bound.origin);
    let framed = format!("{whose} premises");
    let entries = [(Sample::Line(frame), framed.as_str()), (Sample::Line(edge), stands.as_str())];
    figure.legend(&entries[..if borders.is_empty() { 1 } else { 2 }]);
    let whole = figure.grid(1, 1, 104.0 + 44.0 * rows.len() as f64)[0];
    let mut area = whole;
    area.height -= 34.0;
    // Every other norm: there has to be room for its number.
    let norms: Vec<f64> = rows.first().map_or(Vec::new(), |row| row.curve.iter().step_by(2).map(|p| p.norm_bound / growth).collect());
    let names = |values: &mut dyn Iterator<Item = f64>, digits: usize| Scale::Names(values.map(|v| significant(v, digits)).collect());
    let x = Axis::new(names(&mut norms.iter().copied(), 2), "norm bound C");
    let y = Axis::new(names(&mut rows.iter().map(|row| row.factor), 2), "length-scale ×");
    let panel = Panel::new(&mut figure.scene, area, "", x, y);
    let inner = panel.inner();
    let (width, height) = (inner.width / norms.len().max(1) as f64, inner.height / rows.len().max(1) as f64);
    let mut marked = None;
    let mut table = Table::new(["length_scale_factor", "norm_bound", "gap"]);
    for (i, row) in rows.iter().enumerate() {
        for (j, point) in row.curve.iter().step_by(2).enumerate() {
            let Some(at) = panel.place((j as f64, i as f64)) else { continue };
            cell(&mut figure.scene, at, (width - 1.0, height - 1.0), point.gap, claimed);
            if row.factor == 1.0 && (point.norm_bound / standing.norm_bound - 1.0).abs() < 1e-9 {
                marked = Some(at);
            }
            table.push(vec![row.factor.into(), (point.norm_bound / growth).into(), point.gap.into()]);
        }
    }
    for ends in borders {
        let corner = |(j, i): (f64, f64)| {
            let (x, y) = panel.place((0.0, 0.0))?;
            Some((x + (j - 0.5) * width, y - (i - 0.5) * height))
        };
        figure.scene.line(ends.into_iter().filter_map(corner).collect(), edge);
    }
    if let Some((x, y)) = marked {
        let (w, h) = (0.5 * width - 4.0, 0.5 * height - 4.0);
        figure.scene.line(vec![(x - w, y - h), (x + w, y - h), (x + w, y + h), (x - w, y + h), (x - w, y - h)], frame);
    }
    let below = whole.top + whole.height - 20.0;
    colour_bar(&mut figure.scene, (inner.left, below), inner.width, (10.0 * claimed, claimed));
    figure.scene.text((inner.left + 0.5 * inner.width, below - 4.0), "gap", Style::new(Ink::Muted, 10.5, Anchor::Middle));
    let caption = format!(
        "The number is the gap{} in {response} under that norm and that length-scale, bright where it is about the claimed one and dark from ten times that on. Framed: what was {whose}. On the dark side of the heavy line a \
         gap of {} is no longer proved. A dash: the data exclude these premises. Rows below the frame are about functions that change faster than was {whose}.",
        if standing.among_candidates { " among the candidates that stand for the space" } else { "" },
        number(followed)
    );
    figure.finish(caption, table)
}

/// Where cells in which a gap stands meet cells in which it does not: ends of segments, in columns and rows from the lower left corner. What the data exclude is neither.
fn edges(rows: &[PremiseRow], gap: f64) -> Vec<[(f64, f64); 2]> {
    let stands = |i: usize, j: usize| Some(rows.get(i)?.curve.get(2 * j)?.gap? <= gap);
    let meet = |a: Option<bool>, b: Option<bool>| a.zip(b).is_some_and(|(a, b)| a != b);
    let mut found = Vec::new();
    for (i, row) in rows.iter().enumerate() {
        for j in 0..row.curve.len().div_ceil(2) {
            let (x, y) = (j as f64, i as f64);
            found.extend(meet(stands(i, j), stands(i, j + 1)).then_some([(x + 1.0, y), (x + 1.0, y + 1.0)]));
            found.extend(meet(stands(i, j), stands(i + 1, j)).then_some([(x, y + 1.0), (x + 1.0, y + 1.0)]));
        }
    }
    found
}

/// One premise: bright where the gap is the claimed one, dark from ten times that on.
fn cell(scene: &mut Scene, (x, y): (f64, f64), (width, height): (f64, f64), gap: Option<f64>, claimed: f64) {
    let corner = (x - 0.5 * width, y - 0.5 * height);
    let Some(gap) = gap else {
        scene.rect(corner, (width, height), Fill::faint(Ink::Muted, 0.15), "the data exclude this");
        scene.text((x, y + 4.0), "–", Style::new(Ink::Muted, 12.0, Anchor::Middle));
        return;
    };
    let share = 1.0 - (gap / claimed).max(1.0).log10().min(1.0);
    scene.rect(corner, (width, height), Fill::opaque(heat(share)), number(gap));
    scene.text((x, y + 4.0), significant(gap, 3), Style::new(on_heat(share), 11.0, Anchor::Middle));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::Medium;
    use sigmabar::domain::ListDomain;
    use sigmabar::strategy::Policy;
    use sigmabar::{Ask, Domain, Kernel, Noise, Outcome, Points, Prior, Problem, Strategy};

    fn finished(problem: Problem) -> Standing {
        let mut run = Strategy::new(problem, Policy::Sbpe(Box::default())).unwrap();
        while let Ask::Trials(trials) = run.ask(usize::MAX).unwrap() {
            for trial in trials {
                run.tell(trial.id, Outcome::Value(1.0 - 2.0 * (trial.point[0] - 0.5).powi(2))).unwrap();
            }
        }
        run.standing().unwrap().unwrap()
    }

    fn problem(norm_bound: f64) -> Problem {
        let domain = Domain::List(ListDomain::new(Points::on_line((0..20).map(|i| f64::from(i) / 19.0).collect()).unwrap()).unwrap());
        let problem = Problem::new(domain, 60).unwrap().with_kernel(Kernel::matern(2.5, 0.5, 1.0).unwrap()).unwrap();
        problem.with_norm_bound(norm_bound).unwrap().with_noise(Noise::gaussian(0.1).unwrap()).unwrap()
    }

    /// A norm declared far too large: the data exclude none that the curve reaches, and what they do exclude is in the picture all the same.
    #[test]
    fn what_the_data_exclude_is_drawn_wherever_it_lies() {
        let found = finished(problem(8.0));
        assert!(found.range.least_norm > 0.0 && found.range.least_norm < found.curve[0].norm_bound, "{:?}", found.range);
        let svg = standing(&found, "yield").svg(Medium::File);
        assert!(svg.contains(&format!("norms below {}", down(found.range.least_norm))), "{svg}");
        let claimed = found.gap_at(found.norm_bound).unwrap();
        let map = premise_map(&[found.row()], &found, "yield").svg(Medium::File);
        assert!(map.contains("declared premises") && map.contains(&significant(10.0 * claimed, 3)), "a frame and a scale: {map}");
        let mut learnt = found;
        learnt.certificate.premises.norm_bound.origin = Origin::LearntElsewhere;
        for picture in [premise_map(&[learnt.row()], &learnt, "yield"), standing(&learnt, "yield")] {
            let said = format!("{}{}", picture.svg(Medium::File), picture.caption());
            assert!(said.contains("learnt") && !said.contains("declared"), "nobody declared these: {said}");
        }
    }

    /// Where the upright dashed lines of a picture are, from the left.
    fn fences(svg: &str) -> Vec<f64> {
        let ends = |line: &str| {
            let points = line.split("points=\"").nth(1)?.split('"').next()?;
            let numbers: Vec<f64> = points.split([',', ' ']).filter_map(|n| n.parse().ok()).collect();
            (numbers.len() == 4 && numbers[0] == numbers[2]).then_some(numbers[0])
        };
        svg.split('<').filter(|line| line.contains("stroke-dasharray")).filter_map(ends).collect()
    }

    /// c₀, C and C† stand in the legend with their numbers, and C and C† as lines where the axis has them; under "at least" length-scales in the norm that was declared.
    #[test]
    fn the_ends_of_the_range_are_marked_with_their_numbers() {
        let plain = finished(problem(2.0));
        let shorter = finished(problem(2.0).with_lengthscales_at_least(Kernel::matern(2.5, 0.3, 1.0).unwrap()).unwrap());
        for (found, growth) in [(plain, 1.0), (shorter, (0.5_f64 / 0.3).sqrt())] {
            let (range, picture) = (found.range, standing(&found, "yield"));
            let svg = picture.svg(Medium::File);
            let (end, gap) = (range.norm_breakdown.unwrap() / growth, range.gap.unwrap());
            assert!((found.declared().0 - 2.0).abs() < 1e-12 && range.least_norm > 0.0 && end > 2.0, "{range:?}");
            for words in [
                "declared norm bound: C = 2".to_owned(),
                format!("a gap of {} stands up to C† = {}", number(gap), down(end)),
                format!("the data exclude norms below c₀ = {}", down(range.least_norm / growth)),
            ] {
                assert!(svg.contains(&words), "{words} is not in {svg}");
            }
            // The sentence says the same numbers.
            let said = range.sentence(&found.certificate.premises).unwrap();
            assert!(said.contains(&format!("up to norm {}", down(end))) && said.contains("the declared 2;"), "{said}");
            // On a logarithmic axis the lines are as far apart as the logarithm of their ratio says, by the scale of the curve's own points.
            let known: Vec<f64> = found.curve.iter().filter(|p| p.gap.is_some_and(|g| g > 0.0)).map(|p| p.norm_bound.ln()).collect();
            let places: Vec<f64> =
                svg.split("<circle").skip(1).filter_map(|c| c.split("cx=\"").nth(1)?.split('"').next()?.parse().ok()).collect();
            let (first, last) = (places[places.len() - known.len()], places[places.len() - 1]);
            let scale = (last - first) / (known[known.len() - 1] - known[0]);
            let fences = fences(&svg);
            assert_eq!(fences.len(), 2, "C and C†");
            assert!(((fences[1] - fences[0]) / scale - (end / 2.0).ln()).abs() < 0.01, "{fences:?}");
        }
    }

    /// R and R† stand in the legend with their numbers and as lines, in the data's scale, and the sentence says the same; without noise there is no such picture.
    #[test]
    fn the_noise_at_which_it_breaks_is_marked_with_its_number() {
        let with = |noise: Noise| finished(problem(2.0).with_noise(noise).unwrap().with_prior(Prior::declared(0.0, 20.0).unwrap()));
        let found = with(Noise::gaussian(0.1).unwrap());
        let svg = noise(&found, "yield").unwrap().svg(Medium::File);
        let (end, gap) = (20.0 * found.range.noise_breakdown.unwrap(), found.range.gap.unwrap());
        for words in ["declared noise: R = 2".to_owned(), format!("a gap of {} stands up to R† = {}", number(gap), down(end))] {
            assert!(svg.contains(&words), "{words} is not in {svg}");
        }
        let said = found.range.sentence(&found.certificate.premises).unwrap();
        assert!(end > 2.0 && said.contains(&format!("or up to noise {}", down(end))), "{said}");
        let fences = fences(&svg);
        assert!(fences.len() == 2 && fences[0] < fences[1], "R and R†: {fences:?}");
        assert!(noise(&with(Noise::sub_gaussian(0.0).unwrap()), "yield").is_none());
    }

    /// The line is drawn exactly where a cell in which the gap stands meets one in which it does not.
    #[test]
    fn an_edge_parts_what_stands_from_what_does_not() {
        let row = |factor: f64, gaps: [Option<f64>; 5]| {
            let mut row = finished(problem(2.0)).row();
            row.factor = factor;
            row.curve.truncate(5);
            row.curve.iter_mut().zip(gaps).for_each(|(point, gap)| point.gap = gap);
            row
        };
        // Every other column is drawn: the first row stands in two of three, the second in one, and one is excluded.
        let rows = [row(0.5, [Some(1.0), None, Some(1.0), None, Some(3.0)]), row(1.0, [None, None, Some(3.0), None, Some(3.0)])];
        assert_eq!(edges(&rows, 2.0), [[(2.0, 0.0), (2.0, 1.0)], [(1.0, 1.0), (2.0, 1.0)]]);
        assert!(edges(&rows, 3.0).is_empty() && edges(&rows, 0.5).is_empty());
    }
}
