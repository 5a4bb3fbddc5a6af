//! What would have to be true for a claim to be wrong: the gap as a function of the norm, and the map over the length-scale.

use super::plate::colour_bar;
use super::{
    Anchor, Axis, Figure, Fill, Ink, Marker, Panel, Picture, Sample, Scale, Scene, Stroke, Style, Table, heat, number, on_heat, significant,
};
use sigmabar::strategy::{PremiseRow, Standing, Standpoint};

/// Norms this many times smaller than the declared one are not drawn.
const FARTHEST: f64 = 1000.0;

/// gap(C) with the norms that the data exclude, the declared one and the one at which the claim breaks.
#[must_use]
pub fn standing(standing: &Standing, response: &str) -> Picture {
    let mut figure = Figure::new("premises", "How large would the norm have to be? The gap as a function of what is assumed");
    let curve = Stroke::solid(Ink::Series(0), 2.0);
    let (declared, breaks) = (Stroke::dashed(Ink::Text, 1.5), Stroke::dashed(Ink::Series(1), 2.0));
    let excluded = Fill::faint(Ink::Muted, 0.25);
    figure.legend(&[
        (Sample::Line(curve), "gap, valid for every norm up to C at once"),
        (Sample::Line(declared), "declared norm bound"),
        (Sample::Line(breaks), "the claim breaks: C† and its gap"),
        (Sample::Band(excluded), "the data exclude these norms"),
    ]);
    let area = figure.grid(1, 1, 320.0)[0];
    let known: Vec<(f64, f64)> = standing.curve.iter().filter_map(|p| Some((p.norm_bound, p.gap.filter(|g| *g > 0.0)?))).collect();
    let range = &standing.range;
    // c₀ far below everything else would leave no room for the curve.
    let least = Some(range.least_norm).filter(|c| *c > standing.norm_bound / FARTHEST);
    let marked = least.into_iter().chain(range.norm_breakdown).chain([standing.norm_bound]);
    let norms = Scale::log_covering(standing.curve.iter().map(|p| p.norm_bound).chain(marked));
    let gaps = Scale::log_covering(known.iter().map(|k| k.1).chain(range.gap));
    let x = Axis::new(norms, "norm bound C");
    let panel = Panel::new(&mut figure.scene, area, "", x, Axis::new(gaps, format!("gap in {response}")));
    let inner = panel.inner();
    // From the edge of the panel on: the axis begins a little before the curve does.
    if let Some(share) = least.and_then(|least| panel.x().share(least)) {
        let size = (inner.width * share, inner.height);
        figure.scene.rect((inner.left, inner.top), size, excluded, format!("norms below {}", number(range.least_norm)));
    }
    panel.fence(&mut figure.scene, standing.norm_bound, declared);
    if let Some(gap) = range.gap {
        panel.level(&mut figure.scene, gap, breaks);
    }
    if let Some(norm) = range.norm_breakdown {
        panel.fence(&mut figure.scene, norm, breaks);
    }
    panel.line(&mut figure.scene, &known, curve);
    for (norm, gap) in &known {
        panel.mark(&mut figure.scene, (*norm, *gap), 3.0, Marker::Disc, Fill::opaque(Ink::Series(0)), number(*gap));
    }
    let caption = "Each point is a statement about its own premise, from the same data: a function of norm C at most has no setting better than the recommended one by more than the gap. \
                   Left of the shaded edge no function fits the data; right of C† the claim is no longer proved.";
    let mut table = Table::new(["norm_bound", "gap"]);
    for Standpoint { norm_bound, gap, .. } in &standing.curve {
        table.push(vec![(*norm_bound).into(), (*gap).into()]);
    }
    figure.finish(caption, table)
}

/// The gap over norm and length-scale: one row for each factor, the shortest below.
#[must_use]
pub fn premise_map(rows: &[PremiseRow], (declared, claimed): (f64, f64), response: &str) -> Picture {
    let mut figure = Figure::new("premise-map", "And if it changes faster? The gap over norm and length-scale");
    let frame = Stroke::solid(Ink::Series(1), 3.0);
    figure.legend(&[(Sample::Line(frame), "declared premises")]);
    let whole = figure.grid(1, 1, 104.0 + 44.0 * rows.len() as f64)[0];
    let mut area = whole;
    area.height -= 34.0;
    // Every other norm: there has to be room for its number.
    let norms: Vec<f64> = rows.first().map_or(Vec::new(), |row| row.curve.iter().step_by(2).map(|p| p.norm_bound).collect());
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
            if row.factor == 1.0 && (point.norm_bound / declared - 1.0).abs() < 1e-9 {
                marked = Some(at);
            }
            table.push(vec![row.factor.into(), point.norm_bound.into(), point.gap.into()]);
        }
    }
    if let Some((x, y)) = marked {
        let (w, h) = (0.5 * width - 1.5, 0.5 * height - 1.5);
        figure.scene.line(vec![(x - w, y - h), (x + w, y - h), (x + w, y + h), (x - w, y + h), (x - w, y - h)], frame);
    }
    let below = whole.top + whole.height - 20.0;
    colour_bar(&mut figure.scene, (inner.left, below), inner.width, (10.0 * claimed, claimed));
    figure.scene.text((inner.left + 0.5 * inner.width, below - 4.0), "gap", Style::new(Ink::Muted, 10.5, Anchor::Middle));
    let caption = format!(
        "The number is the gap in {response} under that norm and that length-scale, bright where it is about the claimed one and dark from ten times that on. Framed: what was declared. A dash: the data \
         exclude these premises. Rows below the frame are about functions that change faster than was declared."
    );
    figure.finish(caption, table)
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
    scene.text((x, y + 4.0), significant(gap, 2), Style::new(on_heat(share), 11.0, Anchor::Middle));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::Medium;
    use sigmabar::domain::ListDomain;
    use sigmabar::strategy::Policy;
    use sigmabar::{Ask, Domain, Kernel, Noise, Outcome, Points, Problem, Strategy};

    /// A norm declared far too large: the data exclude none that the curve reaches, and what they do exclude is in the picture all the same.
    #[test]
    fn what_the_data_exclude_is_drawn_wherever_it_lies() {
        let domain = Domain::List(ListDomain::new(Points::on_line((0..20).map(|i| f64::from(i) / 19.0).collect()).unwrap()).unwrap());
        let problem = Problem::new(domain, 60).unwrap().with_kernel(Kernel::matern(2.5, 0.5, 1.0).unwrap()).unwrap();
        let problem = problem.with_norm_bound(8.0).unwrap().with_noise(Noise::gaussian(0.1).unwrap()).unwrap();
        let mut run = Strategy::new(problem, Policy::Sbpe(Box::default())).unwrap();
        while let Ask::Trials(trials) = run.ask(usize::MAX).unwrap() {
            for trial in trials {
                run.tell(trial.id, Outcome::Value(1.0 - 2.0 * (trial.point[0] - 0.5).powi(2))).unwrap();
            }
        }
        let found = run.standing().unwrap().unwrap();
        assert!(found.range.least_norm > 0.0 && found.range.least_norm < found.curve[0].norm_bound, "{:?}", found.range);
        let svg = standing(&found, "yield").svg(Medium::File);
        assert!(svg.contains(&format!("norms below {}", number(found.range.least_norm))), "{svg}");
        let claimed = found.gap_at(found.norm_bound).unwrap();
        let map = premise_map(&[found.row()], (found.norm_bound, claimed), "yield").svg(Medium::File);
        assert!(map.contains("declared premises") && map.contains(&significant(10.0 * claimed, 3)), "a frame and a scale: {map}");
    }
}
