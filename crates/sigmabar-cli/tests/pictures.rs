//! Pictures: axes cover the data, bands hold their mean, coverage is counted right, texts are escaped and drawn.

use resvg::usvg::roxmltree::Document;
use sigmabar_cli::plot::{
    Axis, BatchEnd, Cell, Dot, Elimination, Figure, Frame, HeldOut, MeanMap, Measured, Medium, Panel, Picture, Plate, Progress,
    RegretCurve, RegretPanel, Remaining, Scale, Side, Slice, Slices, Table, Well, coverage, escape, heat, last_decade_slope, number,
    plate_size, regret, verdict, well_name, well_place,
};

/// All coordinates of marks, rectangles and polygons of a picture lie on its sheet.
fn is_on_its_sheet(picture: &Picture) {
    let svg = picture.svg(Medium::File);
    let document = Document::parse(&svg).unwrap();
    let root = document.root_element();
    let size = |name: &str| root.attribute(name).unwrap().parse::<f64>().unwrap();
    let (width, height) = (size("width"), size("height"));
    let inside = |x: f64, y: f64, what: &str| {
        assert!((-1.0..=width + 1.0).contains(&x) && (-1.0..=height + 1.0).contains(&y), "{}: {what} at {x}, {y}", picture.name());
    };
    for node in document.descendants().filter(|node| node.is_element()) {
        let number = |name: &str| node.attribute(name).and_then(|text| text.parse::<f64>().ok());
        if let (Some(x), Some(y)) = (number("cx"), number("cy")) {
            inside(x, y, "a mark");
        }
        if let (Some(x), Some(y)) = (number("x"), number("y")) {
            inside(x, y, node.tag_name().name());
        }
        for pair in node.attribute("points").unwrap_or_default().split_whitespace() {
            let (x, y) = pair.split_once(',').unwrap();
            inside(x.parse().unwrap(), y.parse().unwrap(), "a line");
        }
    }
}

#[test]
fn scales_cover_what_they_are_made_for() {
    let sets: [&[f64]; 6] = [&[1.0, 2.0], &[-3.0], &[1e-9, 1e9], &[0.0, 0.0], &[f64::NAN, 5.0, f64::INFINITY], &[]];
    for values in sets {
        for scale in [
            Scale::covering(values.iter().copied()),
            Scale::from_zero(values.iter().map(|v| v.abs())),
            Scale::log_covering(values.iter().copied()),
        ] {
            let usable = |v: &&f64| {
                v.is_finite() && (**v > 0.0 || matches!(scale, Scale::Linear { .. })) && !matches!(scale, Scale::Linear { low: 0.0, .. })
            };
            assert!(values.iter().filter(usable).all(|v| scale.contains(*v)), "{scale:?} of {values:?}");
            let ticks = scale.ticks(6);
            assert!(!ticks.is_empty() && ticks.len() <= 14, "{scale:?}: {ticks:?}");
            assert!(ticks.iter().all(|tick| scale.contains(tick.value)), "{scale:?}: {ticks:?}");
            assert!(ticks.windows(2).all(|pair| pair[0].value < pair[1].value && pair[0].label != pair[1].label), "{scale:?}: {ticks:?}");
        }
    }
    assert_eq!(Scale::Log { low: 0.1, high: 1.0 }.share(0.0), None);
}

#[test]
fn numbers_are_written_for_people() {
    let written = [0.0, 1.0, -2.5, 0.123_456, 123_456.0, 1e-7, f64::INFINITY, f64::NAN].map(number);
    assert_eq!(written, ["0", "1", "−2.5", "0.1235", "123456", "1.000e−7", "∞", "unknown"]);
    let labels = |scale: Scale| scale.ticks(6).into_iter().map(|tick| tick.label).collect::<Vec<_>>();
    assert_eq!(labels(Scale::Linear { low: 0.0, high: 1.0 }), ["0", "0.2", "0.4", "0.6", "0.8", "1"]);
    assert_eq!(labels(Scale::Log { low: 100.0, high: 1e6 }), ["100", "10³", "10⁴", "10⁵", "10⁶"]);
    assert_eq!(labels(Scale::Log { low: 1.0, high: 1e4 }), ["1", "10", "100", "1000", "10000"]);
}

#[test]
fn what_has_no_place_on_an_axis_is_left_out() {
    let mut figure = Figure::new("zeros", "zeros");
    let area = figure.grid(1, 1, 200.0)[0];
    let panel = Panel::new(
        &mut figure.scene,
        area,
        "",
        Axis::new(Scale::log_covering([1.0, 10.0]), "n"),
        Axis::new(Scale::log_covering([1.0]), "y"),
    );
    assert_eq!(panel.place((0.0, 1.0)), None);
    assert_eq!(panel.place((1.0, f64::NAN)), None);
    let (x, y) = panel.place((10.0, 1.0)).unwrap();
    let inner = panel.inner();
    assert!(x > inner.left && x < inner.left + inner.width && y > inner.top && y < inner.top + inner.height);
}

#[test]
fn coverage_counts_hits_and_allows_for_chance() {
    // Residuals at the normal quantiles (i − ½)/n hold every central interval exactly as often as it says, to 2/n.
    let n = 200;
    // The normal distribution summed up in small steps, which shares nothing with the crate.
    let step = 1e-4;
    let mut mass = 0.0;
    let cumulative: Vec<f64> = (0..160_000)
        .map(|i| {
            mass += step * (-0.5 * (-8.0 + (f64::from(i) + 0.5) * step).powi(2)).exp() / std::f64::consts::TAU.sqrt();
            mass
        })
        .collect();
    let quantile = |p: f64| -8.0 + step * cumulative.partition_point(|mass| *mass < p) as f64;
    let measured = |i: i32| 1.0 + 2.0 * quantile((f64::from(i) + 0.5) / f64::from(n));
    let held_out: Vec<HeldOut> =
        (0..n).map(|i| HeldOut { predicted: 1.0, std_dev: 2.0, measured: measured(i), trial: Some(i as u64) }).collect();
    let rows = coverage(&held_out);
    assert_eq!(rows.len(), 19);
    for row in &rows {
        assert!((row.observed - row.nominal).abs() < 0.02, "{row:?}");
        assert!(row.envelope.0 <= row.nominal && row.nominal <= row.envelope.1, "{row:?}");
        assert!(row.observed >= row.envelope.0 && row.observed <= row.envelope.1, "{row:?}");
    }
    // A model that is twice too sure falls out of the envelope.
    let sure: Vec<HeldOut> = held_out.iter().map(|h| HeldOut { std_dev: 1.0, ..*h }).collect();
    assert!(coverage(&sure).iter().any(|row| row.observed < row.envelope.0));
    let careful: Vec<HeldOut> = held_out.iter().map(|h| HeldOut { std_dev: 4.0, ..*h }).collect();
    assert!(verdict(&held_out).starts_with("The intervals hold about as often as they say: intervals that say 95 % held 9"));
    assert!(verdict(&sure).starts_with("The model is too sure") && verdict(&careful).starts_with("The model is too careful"));
    // Nine of ten are far too close and one of ten is far out: neither narrower nor wider intervals would do.
    let tails = |(i, h): (usize, &HeldOut)| HeldOut { std_dev: if i % 10 == 0 { 0.4 } else { 5.0 }, ..*h };
    let heavy: Vec<HeldOut> = held_out.iter().enumerate().map(tails).collect();
    assert!(
        verdict(&heavy).starts_with("Most measurements are closer to the model than it says, and a few much farther"),
        "{}",
        verdict(&heavy)
    );
    assert!(verdict(&held_out[..10]).starts_with("Too few measurements"));
}

fn slices(names: Option<Vec<String>>) -> Slices {
    let x: Vec<f64> = (0..20).map(f64::from).collect();
    let mean: Vec<f64> = x.iter().map(|x| (0.3 * x).sin()).collect();
    let around = |r: f64| (mean.iter().map(|m| m - r).collect::<Vec<f64>>(), mean.iter().map(|m| m + r).collect::<Vec<f64>>());
    let slice = Slice {
        parameter: "<i>pH</i>".to_owned(),
        names,
        mean_interval: around(0.2),
        prediction_interval: Some(around(0.5)),
        data: vec![(Dot { at: (3.0, 4.0), trial: Some(8) }, 1.0), (Dot { at: (5.0, -4.0), trial: None }, 0.1)],
        inducing: vec![0.0, 19.0],
        through: Some(7.0),
        mean,
        x,
        ..Slice::default()
    };
    Slices { through: "a & b".to_owned(), response: "yield \"%\"".to_owned(), slices: vec![slice.clone(), slice], ..Slices::default() }
}

#[test]
fn slices_hold_their_mean_and_stay_on_the_sheet() {
    let named = (0..20).map(|i| format!("kind {i}")).collect();
    for picture in [slices(None).picture(), slices(Some(named)).picture()] {
        is_on_its_sheet(&picture);
        let rows = picture.table().rows();
        assert_eq!(rows.len(), 44, "twenty values and two measurements of each slice");
        let dots: Vec<_> = rows.iter().filter(|row| matches!(row[2], Cell::Empty)).map(|row| (row[7].clone(), row[8].clone())).collect();
        assert_eq!(dots[..2], [(Cell::Number(4.0), Cell::Number(1.0)), (Cell::Number(-4.0), Cell::Number(0.1))]);
        for row in rows.iter().filter(|row| !matches!(row[2], Cell::Empty)) {
            let [mean, low, high, least, most] = [2, 3, 4, 5, 6].map(|i| if let Cell::Number(v) = row[i] { v } else { panic!("{row:?}") });
            assert!(least <= low && low <= mean && mean <= high && high <= most);
        }
        let svg = picture.svg(Medium::Page);
        assert!(svg.contains("&lt;i&gt;pH&lt;/i&gt;") && svg.contains("yield &quot;%&quot;") && !svg.contains("http"));
    }
}

#[test]
fn films_of_cells_and_candidates_stay_on_the_sheet_and_tell_all_survivors() {
    for dim in 1..=4 {
        let sides: Vec<Side> = (0..dim).map(|i| Side { name: format!("x{i}"), scale: Scale::Linear { low: 0.0, high: 1.0 } }).collect();
        let cells: Vec<(Vec<f64>, Vec<f64>)> = (0..8).map(|i| (vec![f64::from(i) / 8.0; dim], vec![f64::from(i + 1) / 8.0; dim])).collect();
        let frame = |remaining| Frame { remaining, share: Some(0.5), measured: vec![(7, vec![0.3; dim])] };
        let elimination = Elimination {
            sides: sides.clone(),
            frames: vec![frame(Remaining::Cells(cells.clone())); 3],
            recommended: Some(vec![0.5; dim]),
            ..Elimination::default()
        };
        is_on_its_sheet(&elimination.picture());
        assert_eq!(elimination.picture().table().rows().len(), 24);
        let candidates: Vec<Vec<f64>> = cells.iter().map(|cell| cell.0.clone()).collect();
        let frames = vec![frame(Remaining::Candidates(vec![0, 3])), frame(Remaining::Candidates(vec![3]))];
        let elimination = Elimination { sides, candidates, is_list: true, frames, ..Elimination::default() };
        is_on_its_sheet(&elimination.picture());
        assert_eq!(elimination.picture().table().rows().len(), 3);
        assert!(elimination.picture().svg(Medium::File).contains("batch 2: 1 of 8 left"));
    }
}

#[test]
fn progress_without_a_gap_says_so_and_with_one_draws_it() {
    let mut progress = Progress { response: "yield".to_owned(), maximise: false, values: vec![3.0, 1.0, 2.0], ..Progress::default() };
    assert!(progress.picture().svg(Medium::File).contains("no finite gap is known yet"));
    progress.batches = vec![BatchEnd { evaluations: 3, gap: Some(f64::INFINITY) }];
    assert!(progress.picture().svg(Medium::File).contains("no finite gap is known yet"));
    progress.batches = vec![BatchEnd { evaluations: 3, gap: Some(0.5) }];
    progress.wanted_gap = Some(0.1);
    let picture = progress.picture();
    is_on_its_sheet(&picture);
    assert!(picture.svg(Medium::File).contains("stop line: gap 0.1"));
    let csv = picture.table().csv();
    assert_eq!(csv.lines().nth(3).unwrap(), "3,2.0,1.0,1,0.5", "the smallest value is the best so far: {csv}");
}

#[test]
fn wells_have_names_and_places() {
    for (name, place) in [("A1", (0, 0)), ("h12", (7, 11)), ("P24", (15, 23)), ("AF48", (31, 47))] {
        assert_eq!(well_place(name), Some(place));
        assert_eq!(well_name(place.0, place.1), name.to_uppercase());
    }
    for wrong in ["", "A", "12", "A0", "ABC1", "A1234", "É1", "A1x"] {
        assert_eq!(well_place(wrong), None, "{wrong}");
    }
    assert_eq!(plate_size([(7, 3)].into_iter()), (8, 12));
    let well = |measured| Well {
        row: 1,
        column: 2,
        setting: "x = 1".to_owned(),
        trial: Some(5),
        is_control: false,
        measured,
        predicted: None,
        std_dev: None,
        surprise: None,
    };
    let wells = vec![well(Measured::Failed), Well { column: 3, ..well(Measured::Missing) }, Well { row: 2, ..well(Measured::Value(5.0)) }];
    let plate = Plate {
        title: "Plate".to_owned(),
        name: "plate".to_owned(),
        size: (8, 12),
        response: "y".to_owned(),
        wells,
        has_means: false,
        blocked: vec![(7, 11)],
    };
    is_on_its_sheet(&plate.picture(std::slice::from_ref(&plate)));
    assert!(plate.picture(std::slice::from_ref(&plate)).svg(Medium::File).contains("B3: failed"));
    let untouched = Plate { wells: vec![well(Measured::Missing)], ..plate };
    assert!(untouched.picture(std::slice::from_ref(&untouched)).svg(Medium::File).contains("B3: no result"));
}

/// The texts of a picture in the order in which they are drawn, and the fillings of its marks.
fn texts_and_fillings(picture: &Picture) -> (Vec<String>, Vec<(String, String)>) {
    let svg = picture.svg(Medium::File);
    let document = Document::parse(&svg).unwrap();
    let texts = document.descendants().filter(|node| node.has_tag_name("text")).filter_map(|node| Some(node.text()?.to_owned())).collect();
    let tip = |node: &resvg::usvg::roxmltree::Node<'_, '_>| {
        node.descendants().find(|child| child.has_tag_name("title")).and_then(|title| title.text().map(str::to_owned))
    };
    let filled = document.descendants().filter_map(|node| Some((tip(&node)?, node.attribute("fill")?.to_owned()))).collect();
    (texts, filled)
}

#[test]
fn measured_and_predicted_wells_have_one_scale_and_controls_their_squares() {
    let well = |column: usize, measured: f64, predicted: f64| Well {
        row: 0,
        column,
        setting: "x = 1".to_owned(),
        trial: Some(5),
        is_control: false,
        measured: Measured::Value(measured),
        predicted: Some(predicted),
        std_dev: Some(0.5),
        surprise: Some((measured - predicted) / 0.5),
    };
    let control =
        Well { is_control: true, predicted: None, std_dev: None, surprise: None, setting: "control".to_owned(), ..well(2, 30.0, 0.0) };
    let wells = vec![well(0, 10.0, 20.0), well(1, 40.0, 20.0), control];
    let plate = Plate {
        title: "Plate".to_owned(),
        name: "plate".to_owned(),
        size: (4, 6),
        response: "yield / %".to_owned(),
        wells,
        has_means: false,
        blocked: vec![(3, 5)],
    };
    let picture = plate.picture(std::slice::from_ref(&plate));
    is_on_its_sheet(&picture);
    let (texts, filled) = texts_and_fillings(&picture);
    for title in ["measured yield / %", "predicted yield / % (model's mean)", "(measured − predicted) / standard deviation"] {
        assert!(texts.iter().any(|text| text == title), "{title}: {texts:?}");
    }
    // The prediction of 20 lies a third up the measured range, and has the colour of a third: not of its own range, which is a point.
    let colour = |tip: &str| {
        filled.iter().find(|(found, _)| found.starts_with(tip)).map(|(_, fill)| fill.clone()).unwrap_or_else(|| panic!("{tip}: {filled:?}"))
    };
    assert_eq!(colour("A1: 20"), heat(1.0 / 3.0).value(Medium::File));
    assert_eq!((colour("A1: 10"), colour("A2: 40")), (heat(0.0).value(Medium::File), heat(1.0).value(Medium::File)));
    assert_eq!(colour("A3: 30 · control"), heat(2.0 / 3.0).value(Medium::File));
    // Beside a plate that reached 70, the same wells are darker: a study's plates have one scale.
    let other = Plate { wells: vec![well(0, 70.0, 70.0)], ..plate.clone() };
    let (_, beside) = texts_and_fillings(&plate.picture(&[plate.clone(), other]));
    assert!(beside.iter().any(|(tip, fill)| tip.starts_with("A2: 40") && *fill == heat(0.5).value(Medium::File)), "{beside:?}");
    assert!(picture.caption().contains("The control, in a square, came to 30. Wells with a dash stay empty."), "{}", picture.caption());
}

/// Titles are whole, and numbers in wells have the digits that matter beside the others.
#[test]
fn wells_and_titles_can_be_read() {
    let well = |column: usize, surprise: f64| Well {
        row: 0,
        column,
        setting: "x = 1".to_owned(),
        trial: Some(5),
        is_control: false,
        measured: Measured::Value(20.0 + surprise),
        predicted: Some(20.0),
        std_dev: Some(0.5),
        surprise: Some(surprise),
    };
    let plate = Plate {
        title: "Plate 1 (batch 1)".to_owned(),
        name: "plate".to_owned(),
        size: (8, 12),
        response: "enantiomeric excess after work-up / %".to_owned(),
        wells: vec![well(0, -0.0056), well(1, 9.8e-5), well(2, 1.26), well(3, -0.34)],
        has_means: true,
        blocked: Vec::new(),
    };
    let picture = plate.picture(std::slice::from_ref(&plate));
    is_on_its_sheet(&picture);
    let (texts, _) = texts_and_fillings(&picture);
    assert!(texts.iter().all(|text| !text.contains('…')), "{texts:?}");
    assert!(texts.iter().any(|text| text == "uncertainty of the mean (std. dev.) in enantiomeric excess after work-up / %"));
    for (text, count) in [("0", 2), ("1.3", 1), ("−0.3", 1), ("−0.0056", 0), ("9.8e−5", 0)] {
        assert_eq!(texts.iter().filter(|found| *found == text).count(), count, "{text}: {texts:?}");
    }
    assert!(picture.caption().contains("Each well shows the mean of its replicates."));
}

#[test]
fn a_map_of_two_parameters_shows_the_mean_where_a_setting_may_be() {
    let side = |name: &str, scale: Scale| Side { name: name.to_owned(), scale };
    let (x, y) = (vec![0.25, 0.75], vec![0.0, 1.0, 2.0]);
    let names = Scale::Names(["dmso", "thf", "water"].map(str::to_owned).to_vec());
    let says = vec![Some((1.0, 0.1)), Some((2.0, 0.2)), Some((3.0, 0.3)), None, Some((5.0, 0.5)), Some((9.0, 0.6))];
    let map = MeanMap {
        through: "the recommendation".to_owned(),
        response: "yield / %".to_owned(),
        label: "estimated".to_owned(),
        sides: [side("dose", Scale::Linear { low: 0.0, high: 1.0 }), side("solvent", names)],
        steps: [x, y],
        says,
        measured: [(0.2, 0.0), (0.9, 2.0)].map(|at| Dot { at, trial: Some(4) }).to_vec(),
        through_point: Some((0.75, 2.0)),
    };
    let picture = map.picture();
    is_on_its_sheet(&picture);
    let (texts, filled) = texts_and_fillings(&picture);
    for text in ["yield / % over dose and solvent", "mean of the yield / %", "half the interval for the mean", "dose", "solvent", "thf"] {
        assert!(texts.iter().any(|found| found == text), "{text}: {texts:?}");
    }
    let colour = |tip: &str| filled.iter().find(|(found, _)| found == tip).map(|(_, fill)| fill.clone());
    assert_eq!((colour("1"), colour("9")), (Some(heat(0.0).value(Medium::File)), Some(heat(1.0).value(Medium::File))));
    assert_eq!(picture.table().csv().lines().nth(3).unwrap(), "0.25,thf,3.0,0.3");
    assert_eq!(picture.table().rows().len(), 5, "what constraints forbid is left out");
}

#[test]
fn strategies_with_batches_are_drawn_as_steps() {
    let curve = |strategy: &str, is_stepped: bool| RegretCurve {
        strategy: strategy.to_owned(),
        evaluations: vec![10.0, 40.0, 100.0],
        mean: vec![1.0, 0.5, 0.1],
        lower: vec![0.9, 0.4, 0.05],
        upper: vec![1.1, 0.6, 0.2],
        seeds: 3,
        is_stepped,
    };
    let panel = RegretPanel { problem: "hill".to_owned(), curves: vec![curve("s-bpe", true), curve("gp-ucb", false)], theory_slope: None };
    let picture = regret(&[panel], "simple regret");
    is_on_its_sheet(&picture);
    let svg = picture.svg(Medium::File);
    let document = Document::parse(&svg).unwrap();
    let lines = document.descendants().filter(|node| node.has_tag_name("polyline")).filter_map(|node| node.attribute("points"));
    let points = |text: &str| -> Vec<(f64, f64)> {
        text.split_whitespace().map(|pair| pair.split_once(',').map(|(x, y)| (x.parse().unwrap(), y.parse().unwrap())).unwrap()).collect()
    };
    let lines: Vec<Vec<(f64, f64)>> = lines.map(points).collect();
    let steps = lines.iter().find(|line| line.len() == 5).expect("three ends of batches and two steps between them");
    assert!(steps.windows(2).all(|pair| pair[0].0 == pair[1].0 || pair[0].1 == pair[1].1), "{steps:?}");
    assert!(lines.iter().any(|line| line.len() == 3 && line.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 < pair[1].1)));
    assert!(picture.caption().contains("their curves are steps"));
}

#[test]
fn strips_show_the_share_of_each_part_that_is_left() {
    let names = Scale::Names(["a", "b"].map(str::to_owned).to_vec());
    let sides = vec![
        Side { name: "kind".to_owned(), scale: names },
        Side { name: "dose".to_owned(), scale: Scale::Linear { low: 0.0, high: 1.0 } },
    ];
    // Forty settings of each kind, of which a batch leaves ten and thirty.
    let candidates: Vec<Vec<f64>> = (0..80).map(|i| vec![f64::from(i / 40), f64::from(i % 40) / 40.0]).collect();
    let left: Vec<usize> = (0..10).chain(40..70).collect();
    let frame = Frame { remaining: Remaining::Candidates(left), share: None, measured: vec![(7, vec![0.0, 0.5])] };
    let elimination = Elimination { sides, candidates, is_list: true, frames: vec![frame], ..Elimination::default() };
    let picture = elimination.picture();
    is_on_its_sheet(&picture);
    let svg = picture.svg(Medium::File);
    let document = Document::parse(&svg).unwrap();
    let opacity = |tip: &str| -> f64 {
        let is_it = |node: &resvg::usvg::roxmltree::Node<'_, '_>| {
            node.has_tag_name("rect") && node.descendants().any(|child| child.has_tag_name("title") && child.text() == Some(tip))
        };
        let node = document.descendants().find(is_it).unwrap_or_else(|| panic!("{tip}: {svg}"));
        node.attribute("fill-opacity").unwrap().parse().unwrap()
    };
    let (few, many) = (opacity("10 of 40 settings left"), opacity("30 of 40 settings left"));
    assert!((few - 0.325).abs() < 0.01 && (many - 0.675).abs() < 0.01, "{few} {many}");
    assert!(picture.caption().contains("which share of the candidates there was left"));
}

#[test]
fn slopes_are_over_the_last_decade() {
    let points: Vec<(f64, f64)> = [10.0f64, 100.0, 316.0, 1000.0].iter().map(|n| (*n, if *n < 100.0 { 1.0 } else { n.sqrt() })).collect();
    assert!((last_decade_slope(&points).unwrap() - 0.5).abs() < 1e-12);
    assert_eq!(last_decade_slope(&points[..1]), None);
}

#[test]
fn pictures_have_their_words_without_any_font_of_the_machine() {
    let blank = |text: &str| {
        let mut figure = Figure::new("words", text);
        figure.grid(1, 1, 20.0);
        figure.finish("", Table::new(["a", "b"])).png().unwrap()
    };
    // The renderer is given no font but the one in the binary, so that ink where words are is ink from it.
    assert!(blank("Regret ± 95 % ≤ β·σ̄ Ω").len() > blank("").len() + 500);
    assert_ne!(blank("α"), blank("β"));
}

#[test]
fn texts_are_escaped_and_tables_quoted() {
    assert_eq!(escape("<a href='x'>&\"\u{1}"), "&lt;a href=&#39;x&#39;&gt;&amp;&quot;\u{fffd}");
    let mut table = Table::new(["a,b", "c"]);
    table.push(vec!["say \"hi\"\n".into()]);
    table.push(vec![0.1.into(), 7usize.into()]);
    assert_eq!(table.csv(), "\"a,b\",c\n\"say \"\"hi\"\"\n\",\n0.1,7\n");
}
