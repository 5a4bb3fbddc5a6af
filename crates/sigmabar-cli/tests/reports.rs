//! Reports of studies, models and comparisons: whole, escaped, self-contained, with numbers behind every picture.

use resvg::usvg::roxmltree::{Document, ParsingOptions};
use sigmabar_cli::plot::{Medium, escape};
use sigmabar_cli::report::{self, Page};
use sigmabar_study::{AskRequest, Asked, AskedTrial, FilledSheet, Study, StudySpec, TrialResult, Value};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Where pages and pictures stay after the test, to be looked at.
fn kept(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("reports").join(name);
    std::fs::create_dir_all(&directory).unwrap();
    directory
}

/// Normal noise that depends on the trial's seed alone.
pub(crate) fn noise(seed: u64) -> f64 {
    let mut state = seed;
    let mut uniform = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64 + 1e-17
    };
    (-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos()
}

pub(crate) fn study(directory: &TempDir, toml: &str) -> Study {
    let spec = StudySpec::from_toml(toml, directory.path()).unwrap_or_else(|error| panic!("{error}"));
    Study::create(&directory.path().join("study.db"), "a <b>study</b>", &spec).unwrap()
}

/// Runs a study to its end, or for some batches.
pub(crate) fn answer(study: &Study, batches: usize, mut evaluate: impl FnMut(&AskedTrial) -> TrialResult) {
    while let Asked::Trials(trials) = study.ask(&AskRequest::new("test", 10_000)).unwrap() {
        if trials[0].batch >= batches {
            return;
        }
        let results: Vec<(u64, TrialResult)> = trials.iter().map(|trial| (trial.id, evaluate(trial))).collect();
        study.tell_all(&results).unwrap();
    }
}

pub(crate) fn value(value: f64) -> TrialResult {
    TrialResult::Value { value, standard_error: None, replicates: None }
}

pub(crate) fn number(trial: &AskedTrial, parameter: usize) -> f64 {
    trial.values[parameter].1.as_number().unwrap()
}

/// What must hold of every page; the page and its files are kept.
fn check(page: &Page, name: &str) {
    let (directory, html) = (kept(name), page.html());
    std::fs::write(directory.join("report.html"), &html).unwrap();
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    let document = Document::parse_with_options(&html, options).unwrap_or_else(|error| panic!("{name}: not well-formed: {error}"));
    for node in document.descendants().filter(|node| node.is_element()) {
        let tag = node.tag_name().name();
        assert!(!matches!(tag, "script" | "iframe" | "object" | "embed" | "img" | "image" | "use"), "{name}: <{tag}>");
        for attribute in node.attributes() {
            let (key, text) = (attribute.name(), attribute.value());
            assert!(!key.starts_with("on") && key != "src", "{name}: {key} on <{tag}>");
            assert!(!matches!(key, "href") || text.starts_with("data:") || text.starts_with("#part-"), "{name}: a link to {text}");
            assert!(!text.contains("://") || key == "href", "{name}: an address in {key}: {text}");
        }
        if tag == "style" {
            let css = node.text().unwrap_or_default();
            assert!(!css.contains("url(") && !css.contains("@import"), "{name}: the style asks for something else");
        }
    }
    let csvs = page.csvs();
    assert!(page.pictures().len() <= csvs.len());
    for (file, text) in &csvs {
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let columns = reader.headers().unwrap().len();
        let rows = reader.records().inspect(|row| assert_eq!(row.as_ref().unwrap().len(), columns)).count();
        assert!(columns > 1 && (rows > 0 || name == "empty"), "{name}/{file}: {columns} columns, {rows} rows");
        std::fs::write(directory.join(file), text).unwrap();
    }
    for (file, bytes) in page.pngs().unwrap() {
        assert!(bytes.starts_with(b"\x89PNG\r\n") && bytes.len() > 5000, "{name}/{file}");
        std::fs::write(directory.join(file), bytes).unwrap();
    }
    for picture in page.pictures() {
        Document::parse(&picture.svg(Medium::File)).unwrap();
        assert!(csvs.iter().any(|(file, _)| *file == format!("{}.csv", picture.name())), "{name}: {} has no numbers", picture.name());
        assert!(html.contains(&format!("download=\"{}.csv\"", picture.name())), "{name}: no link to the numbers of {}", picture.name());
    }
}

/// The rows of one of the page's tables.
fn rows(page: &Page, file: &str) -> Vec<Vec<String>> {
    let (_, text) = page.csvs().into_iter().find(|(name, _)| name == file).unwrap_or_else(|| panic!("there is no {file}"));
    csv::Reader::from_reader(text.as_bytes()).records().map(|row| row.unwrap().iter().map(str::to_owned).collect()).collect()
}

fn names(page: &Page) -> Vec<&str> {
    page.pictures().iter().map(sigmabar_cli::plot::Picture::name).collect()
}

const CERTIFIED: &str = r#"
    description = "Two hills, <em>declared</em> & certified"
    budget = 240
    batches = 4
    norm_bound = 2.0
    noise = { gaussian = 0.05 }
    stop_when = "gap < 0.2"
    kernel = { name = "squared-exponential", lengthscale = 0.3 }
    [parameters."<script>alert</script>"]
    type = "float"
    low = 20
    high = 80
    [parameters."a & b"]
    type = "float"
    low = 0.01
    high = 10
    log = true
"#;

fn hills(trial: &AskedTrial) -> TrialResult {
    let (x, y) = ((number(trial, 0) - 20.0) / 60.0, (number(trial, 1) / 0.01).ln() / 1000f64.ln());
    let hill = |h: f64, a: f64, b: f64| h * (-((x - a).powi(2) + (y - b).powi(2)) / 0.18).exp();
    value(hill(1.0, 0.7, 0.3) + hill(0.7, 0.2, 0.8) + 0.05 * noise(trial.seed))
}

#[test]
fn a_certified_study_says_so_and_shows_all_its_pictures() {
    let directory = TempDir::new().unwrap();
    let study = study(&directory, CERTIFIED);
    answer(&study, usize::MAX, hills);
    let page = report::study(&study).unwrap();
    check(&page, "certified");
    let expected = [
        "progress",
        "elimination",
        "recommended-or-luckiest",
        "slices",
        "effects",
        "mean-map",
        "calibration",
        "residuals",
        "premises",
        "premises-noise",
        "premise-map",
    ];
    assert_eq!(names(&page), expected);
    // Bounds on the effects are theorems where the band is one; the verdict on the model stands in words before its picture.
    let effects = rows(&page, "effects.csv");
    assert!(effects.iter().all(|row| row[7] == "certified"), "{effects:?}");
    let (verdict, picture) = (page.html().find("intervals that say 95 % held"), page.html().find("Do prediction intervals hold"));
    assert!(verdict.is_some() && verdict < picture);
    let html = page.html();
    let advice = study.recommend().unwrap().unwrap();
    assert_eq!(advice.label(), sigmabar::Label::Certified);
    assert!(html.contains("<section class=\"answer certified\">"));
    assert!(html.contains(&escape("<script>alert</script>")) && !html.contains("<script"));
    assert!(html.contains("&lt;em&gt;declared&lt;/em&gt;") && html.contains("a &amp; b"));
}

/// Nobody sets a dose without its unit; and half a number of a ladder would be another number.
#[test]
fn a_recommendation_has_its_units_and_ladders_whole_numbers() {
    let directory = TempDir::new().unwrap();
    let toml = "budget = 24\nbatches = 2\n[parameters.dose]\ntype = \"float\"\nlow = 12.5\nhigh = 49.5\nstep = 0.5\nunit = \"µl\"\n\
                [parameters.solvent]\ntype = \"categorical\"\nchoices = [\"dmso\", \"thf\"]\n";
    let study = study(&directory, toml);
    answer(&study, usize::MAX, |trial| value(-(number(trial, 0) / 10.0 - 3.0).powi(2) + 0.1 * noise(trial.seed)));
    let page = report::study(&study).unwrap();
    let rows = rows(&page, "recommendation.csv");
    assert_eq!(rows.iter().map(|row| (row[0].as_str(), row[2].as_str())).collect::<Vec<_>>(), [("dose", "µl"), ("solvent", "")]);
    for picture in page.pictures() {
        let svg = picture.svg(Medium::File);
        let cut = svg.match_indices("…<").find(|(at, _)| svg[..*at].ends_with(|c: char| c.is_ascii_digit()));
        assert_eq!(cut.map(|(at, _)| &svg[at - 8..at]), None, "{}", picture.name());
    }
}

/// Whoever waits sees for what: a report of many wells takes long, and so does the first look at a batch that is complete.
#[cfg(target_os = "linux")]
#[test]
fn a_terminal_shows_what_takes_a_while() {
    let directory = TempDir::new().unwrap();
    let study = study(&directory, "budget = 4\nbatches = 2\n[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n");
    answer(&study, 1, |trial| value(number(trial, 0)));
    let file = study.file().display().to_string();
    for (arguments, words) in
        [(format!("tell 2 0.5 --sure --study {file}"), "analysing what was measured"), (format!("report {file}"), "drawing the report")]
    {
        let typed = format!("{} {arguments}", env!("CARGO_BIN_EXE_sigmabar"));
        let shown = std::process::Command::new("script").args(["-qec", &typed, "/dev/null"]).env("TERM", "xterm").output().unwrap();
        let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
        assert!(shown.contains(words), "{arguments}: {shown}");
    }
}

/// Where length-scales are declared as "at least", the sentence and the pictures count norms under the declared kernel, not under the shortest by which the run goes.
#[test]
fn a_page_counts_norms_as_they_were_declared() {
    let directory = TempDir::new().unwrap();
    let toml = "budget = 40\nbatches = 2\nnorm_bound = 2.5\nnoise = { gaussian = 0.1 }\nkernel = { name = \"squared-exponential\", lengthscale = 0.4, at_least = 0.25 }\n\
                [parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n";
    let study = study(&directory, toml);
    answer(&study, usize::MAX, |trial| value((-(number(trial, 0) - 0.6).powi(2) / 0.32).exp() + 0.1 * noise(trial.seed)));
    let page = report::study(&study).unwrap();
    assert!(names(&page).contains(&"premises"), "{:?}", names(&page));
    assert!(page.html().contains("declared norm bound: C = 2.5") && page.html().contains("up to the declared 2.5;"), "{}", page.html());
    for name in ["premises.csv", "premise-map.csv"] {
        let norms: Vec<f64> = rows(&page, name).iter().map(|row| row[row.len() - 2].parse().unwrap()).collect();
        assert!(norms.iter().any(|norm| (norm / 2.5 - 1.0).abs() < 1e-6), "{name}: {norms:?}");
    }
}

/// A solvent that is worth 57 points of yield matters most, whatever its length-scale; a temperature that turns often but moves little comes last.
#[test]
fn what_matters_most_comes_first_in_the_unit_of_the_result() {
    let directory = TempDir::new().unwrap();
    let toml = "budget = 60\nbatches = 3\nresponse = \"yield / %\"\n[parameters.temperature]\ntype = \"float\"\nlow = 20\nhigh = 80\n\
                [parameters.solvent]\ntype = \"categorical\"\nchoices = [\"dmso\", \"thf\", \"water\"]\n[parameters.hours]\ntype = \"float\"\nlow = 0\nhigh = 8\n";
    let study = study(&directory, toml);
    answer(&study, usize::MAX, |trial| {
        let solvent = if trial.values[1].1.to_string() == "thf" { 57.0 } else { 0.0 };
        value(solvent + 3.0 * (number(trial, 0) / 4.0).sin() + 8.0 * number(trial, 2) / 8.0 + 0.1 * noise(trial.seed))
    });
    let page = report::study(&study).unwrap();
    let effects = rows(&page, "effects.csv");
    let column = |row: usize, column: usize| effects[row][column].parse::<f64>().unwrap();
    assert_eq!(effects[0][0], "solvent", "{effects:?}");
    // Two of three solvents give 0 and one 57: a standard deviation of 26.9 and a swing of 57.
    assert!((column(0, 1) - 26.9).abs() < 3.0 && (column(0, 3) - 57.0).abs() < 6.0, "{effects:?}");
    assert!(column(0, 1) <= column(0, 2) && column(0, 4) > 0.8 && effects.len() == 3, "{effects:?}");
    for picture in page.pictures().iter().filter(|picture| !matches!(picture.name(), "elimination" | "calibration")) {
        assert!(picture.svg(Medium::File).contains("yield / %"), "{} does not say what is measured", picture.name());
    }
    // The map is about the two that matter most, the others at the recommendation: 57 more in thf, 8 more after eight hours.
    check(&page, "mixed");
    let map = rows(&page, "mean-map.csv");
    assert_eq!(map.len(), 3 * 33);
    let ends = |solvent: &str| {
        let mut means: Vec<(f64, f64)> = map
            .iter()
            .filter(|row| row[0] == solvent || row[1] == solvent)
            .map(|row| (row[usize::from(row[0] == solvent)].parse().unwrap(), row[2].parse().unwrap()))
            .collect();
        means.sort_by(|a, b| a.0.total_cmp(&b.0));
        (means[0].1, means[means.len() - 1].1)
    };
    let (thf, water) = (ends("thf"), ends("water"));
    assert!((thf.1 - water.1 - 57.0).abs() < 6.0 && (thf.1 - thf.0 - 8.0).abs() < 4.0, "{thf:?} {water:?}");
}

/// Length-scales say how fast a parameter acts, not how much: those that were declared here would put the solvent last.
#[test]
fn a_category_worth_much_comes_before_numbers_with_short_lengthscales() {
    let directory = TempDir::new().unwrap();
    let toml = "budget = 120\nstrategy = \"sobol\"\nprior_mean = 20\nunit = 30\nnoise = 0.01\nnorm_bound = 40\n\
                kernel = { name = \"matern\", lengthscale = { temperature = 0.3, solvent = 3, hours = 0.35 } }\n\
                [parameters.temperature]\ntype = \"float\"\nlow = 20\nhigh = 80\n\
                [parameters.solvent]\ntype = \"categorical\"\nchoices = [\"dmso\", \"thf\", \"water\"]\n[parameters.hours]\ntype = \"float\"\nlow = 0\nhigh = 8\n";
    let study = study(&directory, toml);
    answer(&study, usize::MAX, |trial| {
        let solvent = if trial.values[1].1.to_string() == "thf" { 57.0 } else { 0.0 };
        value(solvent + 4.0 * (number(trial, 0) / 8.0).sin() + 3.0 * number(trial, 2).cos() + 0.1 * noise(trial.seed))
    });
    let effects = rows(&report::study(&study).unwrap(), "effects.csv");
    let column = |row: usize, column: usize| effects[row][column].parse::<f64>().unwrap();
    assert_eq!(effects[0][0], "solvent", "{effects:?}");
    // Of three solvents one gives 57 more: a standard deviation of 26.9 by itself, and hardly more with the others.
    assert!((column(0, 1) - 26.9).abs() < 3.0 && (column(0, 2) - 26.9).abs() < 4.0 && (column(0, 3) - 57.0).abs() < 6.0, "{effects:?}");
    for row in [1, 2] {
        assert!(column(row, 2) < 0.4 * column(0, 2) && column(row, 5) < 0.2, "{effects:?}");
    }
}

/// Two parameters that do nothing on average and much together come before one that does a little by itself.
#[test]
fn what_matters_only_together_with_others_has_a_total_effect() {
    let directory = TempDir::new().unwrap();
    let float = |name: &str| format!("[parameters.{name}]\ntype = \"float\"\nlow = -1\nhigh = 1\n");
    let toml = format!(
        "budget = 72\nstrategy = \"sobol\"\nunit = 10\nnoise = 0.01\nnorm_bound = 20\nkernel = {{ name = \"se\", lengthscale = {{ a = 0.8, b = 0.8, c = 0.5 }} }}\n{}{}{}",
        float("c"),
        float("a"),
        float("b")
    );
    let study = study(&directory, &toml);
    answer(&study, usize::MAX, |trial| {
        value(3.0 * number(trial, 0) + 12.0 * number(trial, 1) * number(trial, 2) + 0.1 * noise(trial.seed))
    });
    let effects = rows(&report::study(&study).unwrap(), "effects.csv");
    let of = |name: &str| {
        let row = effects.iter().find(|row| row[0] == name).unwrap();
        (row[1].parse::<f64>().unwrap(), row[2].parse::<f64>().unwrap())
    };
    // Over [-1, 1]²: no effect of a or b alone, a standard deviation of 12/3 together; 3/√3 for c. A grid with its ends has a little more.
    for (name, main, total) in [("a", 0.0, 4.0), ("b", 0.0, 4.0), ("c", 1.73, 1.73)] {
        let found = of(name);
        assert!((found.0 - main).abs() < 0.6 && (found.1 - total).abs() < 1.0, "{name}: {found:?}, {effects:?}");
    }
    assert_eq!(effects[2][0], "c", "by main effects alone it would come first: {effects:?}");
}

/// A measurement is shown on the slice where it would be by the model if only that parameter were another: what the other parameters do is taken out.
#[test]
fn dots_of_slices_are_partial_residuals() {
    let directory = TempDir::new().unwrap();
    let toml = "budget = 60\nbatches = 3\n[parameters.a]\ntype = \"float\"\nlow = 0\nhigh = 1\n[parameters.b]\ntype = \"float\"\nlow = 0\nhigh = 1\n";
    let study = study(&directory, toml);
    // b does far more than a: measured values say nothing about a before its share is taken out.
    answer(&study, usize::MAX, |trial| value(number(trial, 0) - 20.0 * (number(trial, 1) - 0.5).powi(2) + 0.05 * noise(trial.seed)));
    let page = report::study(&study).unwrap();
    let slices = rows(&page, "slices.csv");
    let number = |text: &str| text.parse::<f64>().unwrap();
    let along_a = || slices.iter().filter(|row| row[0] == "a");
    let curve: Vec<(f64, f64)> = along_a().filter(|row| row[7].is_empty()).map(|row| (number(&row[1]), number(&row[2]))).collect();
    let dots: Vec<(f64, f64)> = along_a().filter(|row| !row[7].is_empty()).map(|row| (number(&row[1]), number(&row[7]))).collect();
    assert_eq!(dots.len(), 60);
    let foot = |x: f64| curve.iter().min_by(|p, q| (p.0 - x).abs().total_cmp(&(q.0 - x).abs())).unwrap().1;
    let off = dots.iter().map(|(x, y)| (y - foot(*x)).powi(2)).sum::<f64>() / 60.0;
    assert!(off.sqrt() < 0.3, "off by {} where values spread by several", off.sqrt());
    let told = study.trials().unwrap();
    let spread = told.iter().filter_map(|row| row.value).fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
    assert!(spread.1 - spread.0 > 3.0, "{spread:?}");
    assert!(page.html().contains("Dots are partial residuals"));
}

/// Names of candidates are wherever their settings are.
#[test]
fn labels_of_candidates_are_on_every_part_of_the_page() {
    let directory = TempDir::new().unwrap();
    let rows_of: String = (0..12).map(|i| format!("recipe {i},{},{}\n", 20 + 5 * i, i % 3)).collect();
    std::fs::write(directory.path().join("recipes.csv"), format!("label,temperature,hours\n{rows_of}")).unwrap();
    let toml = "candidates = \"recipes.csv\"\nplates = 1\nplate = 24\ncontrols = 4\nblocked = [\"A1\"]\nstrategy = \"random\"\nnoise = 0.1\n\
                kernel = { name = \"matern\", lengthscale = 0.5 }\n";
    let study = study(&directory, toml);
    let Asked::Trials(trials) = study.ask(&AskRequest::new("plate1", 19)).unwrap() else { panic!() };
    let plate = sigmabar_cli::plate::Plate::with_wells(24).unwrap();
    let layout =
        sigmabar_cli::plate::Layout::new(plate, &trials, study.spec(), sigmabar_cli::plate::Layout::seed(study.spec(), &trials)).unwrap();
    study.set_wells(&layout.places()).unwrap();
    let results: Vec<(u64, TrialResult)> = trials.iter().map(|t| (t.id, value(-(number(t, 0) - 40.0).powi(2) / 100.0))).collect();
    study.tell_all(&results).unwrap();
    let controls: Vec<(String, f64)> = layout.controls().into_iter().zip([0.5, 0.7, 0.6, 0.4]).collect();
    study.tell_sheet(&FilledSheet { controls: Some((0, controls)), ..FilledSheet::default() }).unwrap();
    let page = report::study(&study).unwrap();
    check(&page, "labelled");
    assert!(page.html().contains("Use recipe 4: temperature = 40"), "the headline");
    assert!(rows(&page, "recommendation.csv").contains(&vec!["candidate".to_owned(), "recipe 4".to_owned()]));
    assert!(rows(&page, "runners-up.csv").iter().all(|row| row[0].starts_with("recipe ")), "runners-up");
    assert!(rows(&page, "trials.csv").iter().all(|row| row[3].starts_with("recipe ")), "trials");
    let wells = rows(&page, "plate-1.csv");
    assert_eq!(wells.iter().filter(|row| row[1].starts_with("recipe ")).count(), 19, "wells");
    assert_eq!(wells.iter().filter(|row| row[1] == "control" && !row[2].is_empty() && row[3].is_empty()).count(), 4, "controls");
    assert!(wells.iter().all(|row| row[0] != "A1"), "a blocked well");
    let words = "The 4 controls, in squares, came to 0.55 on average, with a standard deviation of 0.1291. Wells with a dash stay empty.";
    assert!(page.html().contains(words));
    assert!(page.html().contains("recipe 4: temperature = 40, hours = 1"), "rivals");
}

/// The page of a study says what to do: firmly at its end only, in forms that can be copied, with what comes next.
#[test]
fn the_headline_is_firm_at_the_end_only_and_can_be_copied() {
    let directory = TempDir::new().unwrap();
    let toml =
        "budget = 24\nbatches = 2\nresponse = \"yield / %\"\n[parameters.\"pH value\"]\ntype = \"float\"\nlow = 4\nhigh = 9\ndigits = 2\n";
    let study = study(&directory, toml);
    let measure = |trial: &AskedTrial| {
        if trial.id == 5 {
            TrialResult::Failed { reason: "spilt".into() }
        } else {
            value(60.0 - (number(trial, 0) - 6.5).powi(2) + noise(trial.seed))
        }
    };
    answer(&study, 1, measure);
    let early = report::study(&study).unwrap().html();
    assert!(early.contains("Best so far, before the study is over: pH value = ") && !early.contains("Use pH value"));
    assert!(early.contains("sigmabar ask study.db"));
    answer(&study, usize::MAX, measure);
    let page = report::study(&study).unwrap();
    let html = page.html();
    assert!(html.contains("Use pH value = ") && html.contains("export SIGMABAR_PARAM_pH_value=") && html.contains("As JSON"));
    assert!(html.contains("<nav><ul><li><a href=\"#part-0\">What to do next</a>") && html.contains("id=\"part-0\""));
    assert!(
        html.contains("more times: their mean should lie between") && html.contains("yield / %") && html.contains("failed evaluations")
    );
    assert_eq!((rows(&page, "recommendation.csv").len(), rows(&page, "runners-up.csv").len()), (1, 5));
}

#[test]
fn a_label_that_is_not_certified_is_never_printed_as_if_it_were() {
    let directory = TempDir::new().unwrap();
    let toml = "budget = 40\ndirection = \"minimize\"\nstrategy = \"ei\"\nnoise = 0.1\nkernel = { name = \"matern\", lengthscale = 0.3 }\n\
                [parameters.dose]\ntype = \"float\"\nlow = 0\nhigh = 5";
    let study = study(&directory, toml);
    answer(&study, usize::MAX, |trial| value((number(trial, 0) - 3.0).powi(2) + 0.1 * noise(trial.seed)));
    let page = report::study(&study).unwrap();
    check(&page, "estimated");
    let html = page.html();
    assert!(html.contains("<section class=\"answer estimated\">") && !html.contains("answer certified"));
    assert!(!html.contains("Certified:"));
    assert!(names(&page).contains(&"slices"));
}

#[test]
fn a_list_of_candidates_is_drawn_as_dots() {
    let directory = TempDir::new().unwrap();
    let mut rows = String::from("temperature,time,solvent\n");
    for i in 0..120 {
        let solvent = ["water", "ethanol", "acetone"][i % 3];
        rows += &format!("{},{},{solvent}\n", 20 + (i * 7) % 60, 1 + (i * 13) % 29);
    }
    std::fs::write(directory.path().join("list.csv"), rows).unwrap();
    let toml = "candidates = \"list.csv\"\nbudget = 150\nbatches = 3\nnorm_bound = 3.0\nnoise = 0.05\n\
                kernel = { name = \"matern\", lengthscale = 0.8 }";
    let study = study(&directory, toml);
    answer(&study, usize::MAX, |trial| {
        let bonus = if trial.values[2].1.same(&Value::Choice("ethanol".to_owned())) { 0.5 } else { 0.0 };
        value(
            1.0 - ((number(trial, 0) - 50.0) / 40.0).powi(2) - ((number(trial, 1) - 12.0) / 20.0).powi(2)
                + bonus
                + 0.05 * noise(trial.seed),
        )
    });
    let page = report::study(&study).unwrap();
    check(&page, "candidates");
    assert!(names(&page).contains(&"elimination") && names(&page).contains(&"slices"));
}

#[test]
fn one_parameter_is_drawn_as_strips() {
    let directory = TempDir::new().unwrap();
    let toml = "budget = 120\nbatches = 3\nnorm_bound = 2.0\nnoise = { gaussian = 0.05 }\n\
                kernel = { name = \"matern\", lengthscale = 0.3 }\n[parameters.dose]\ntype = \"float\"\nlow = 0\nhigh = 5";
    let study = study(&directory, toml);
    answer(&study, usize::MAX, |trial| value((-(number(trial, 0) - 3.0).powi(2)).exp() + 0.05 * noise(trial.seed)));
    check(&report::study(&study).unwrap(), "strips");
}

#[test]
fn plates_show_failed_and_missing_wells() {
    let directory = TempDir::new().unwrap();
    let toml = "plates = 2\nplate = 24\n[parameters.temperature]\ntype = \"int\"\nlow = 20\nhigh = 80\nstep = 5\n\
                [parameters.\"acid / mol\"]\ntype = \"float\"\nlow = 0.01\nhigh = 1\nlog = true\n\
                [parameters.solvent]\ntype = \"categorical\"\nchoices = [\"water\", \"ethanol\", \"acetone\"]";
    let study = study(&directory, toml);
    let mut wells = Vec::new();
    answer(&study, 1, |trial| {
        let (row, column) = (wells.len() / 6, wells.len() % 6);
        wells.push((trial.id, sigmabar_cli::plot::well_name(row, column)));
        if wells.len() == 5 {
            return TrialResult::Failed { reason: "spilt <i>all</i> of it".to_owned() };
        }
        let solvent = if trial.values[2].1.same(&Value::Choice("ethanol".to_owned())) { 10.0 } else { 0.0 };
        value(40.0 + solvent - ((number(trial, 0) - 50.0) / 8.0).powi(2) + 2.0 * noise(trial.seed))
    });
    study.set_wells(&wells).unwrap();
    let page = report::study(&study).unwrap();
    check(&page, "plates");
    let plate = page.csvs().into_iter().find(|(name, _)| name == "plate-1.csv").unwrap().1;
    assert_eq!(plate.lines().count(), 25);
    assert!(plate.contains("A5") && plate.contains("failed"));
    assert!(page.html().contains("spilt &lt;i&gt;all&lt;/i&gt; of it"));
}

/// The page of a model: what it says, along one column and over two, and predicted against measured on rows that it had not seen.
#[test]
fn a_model_has_a_page_with_predicted_against_measured() {
    let directory = TempDir::new().unwrap();
    let path = directory.path();
    let solvent = |i: usize| ["dmso", "thf", "water"][i % 3];
    let row = |i: usize| {
        let (speed, angle) = ((i * 37 % 211) as f64 / 211.0, (i * 53 % 199) as f64 / 199.0);
        let drag = (5.0 * speed).sin() + angle + if solvent(i) == "thf" { 4.0 } else { 0.0 } + 0.1 * noise(i as u64);
        format!("{speed},{angle},{},{drag}\n", solvent(i))
    };
    std::fs::write(path.join("runs.csv"), format!("speed,angle,solvent,drag\n{}", (0..300).map(row).collect::<String>())).unwrap();
    let run = |line: &str| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_sigmabar"));
        let done = command.args(line.split(' ')).current_dir(path).env("SIGMABAR_NUM_THREADS", "1").output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    run("fit runs.csv --target drag --categorical solvent --keep-rows -o m.sbm");
    run("report m.sbm -o m.html");
    let html = std::fs::read_to_string(path.join("m.html")).unwrap();
    std::fs::write(kept("model").join("report.html"), &html).unwrap();
    for picture in ["slices", "effects", "mean-map", "predicted-measured", "calibration", "residuals"] {
        assert!(html.contains(&format!("download=\"{picture}.csv\"")), "{picture}");
    }
    assert!(html.contains("predicted drag") && html.contains("measured drag") && html.contains("drag over solvent and speed"));
    assert!(html.contains("<nav><ul>") && html.contains("intervals that say 95 % held"));
}

#[test]
fn a_study_without_measurements_has_a_page() {
    let directory = TempDir::new().unwrap();
    let page = report::study(&study(&directory, CERTIFIED)).unwrap();
    check(&page, "empty");
    assert!(page.html().contains("Nothing was measured yet"));
}

#[test]
fn a_comparison_reads_its_table_back_and_names_what_is_wrong_in_it() {
    let row = |strategy: &str, seed: u64, n: usize| sigmabar_experiment::Evaluation {
        problem: "hill, \"steep\"".to_owned(),
        strategy: strategy.to_owned(),
        seed,
        evaluation: n,
        batch: if strategy == "random" { n - 1 } else { (n - 1) / 50 },
        simple_regret: n.is_multiple_of(10).then(|| (1.0 + seed as f64) / (n as f64).powf(if strategy == "random" { 0.5 } else { 1.0 })),
        cumulative_regret: (n as f64).powf(if strategy == "random" { 0.9 } else { 0.6 }) * (1.0 + 0.1 * seed as f64),
        certified_gap: None,
        seconds: 0.1,
        inducing: None,
        survivors: None,
    };
    let all: Vec<_> =
        ["s-bpe", "random"].iter().flat_map(|s| (0..5).flat_map(move |seed| (1..=200).map(move |n| row(s, seed, n)))).collect();
    let mut text = Vec::new();
    sigmabar_experiment::write_csv(&all, &mut text).unwrap();
    assert_eq!(report::read_evaluations(&text[..]).unwrap(), all);
    let command = "sigmabar bench --problems hill --strategies s-bpe,random --seeds 5 --seed 0";
    let page = report::bench(&all, &[("hill, \"steep\"".to_owned(), 0.6)], command).unwrap();
    check(&page, "bench");
    assert!(page.html().contains(&format!("<pre>{command}</pre>")));
    assert_eq!(names(&page), ["simple-regret", "cumulative-regret"]);

    let broken = String::from_utf8(text).unwrap().replacen(",1,0,,", ",1.5,0,,", 1);
    let error = report::read_evaluations(broken.as_bytes()).unwrap_err().to_string();
    assert!(error.contains("line 2") && error.contains("evaluation") && error.contains("1.5"), "{error}");
    let error = report::read_growth("setting,budget\na,1\n".as_bytes()).unwrap_err().to_string();
    assert!(error.contains("regret") && error.contains("setting, budget"), "{error}");
}

#[test]
fn growth_shows_the_slope_of_the_last_decade() {
    let text: String = [100.0f64, 316.0, 1000.0, 3162.0, 10_000.0]
        .iter()
        .map(|n| format!("SE,{n},{},{},0.6\n", n.powf(0.5), 20.0 * n.powf(0.5)))
        .collect();
    let rows = report::read_growth(format!("setting,budget,regret,bound,slope_limit\n{text}").as_bytes()).unwrap();
    let page = report::growth(&rows).unwrap();
    check(&page, "growth");
    let slope: f64 = page.csvs()[0].1.lines().last().unwrap().rsplit(',').next().unwrap().parse().unwrap();
    assert!((slope - 0.5).abs() < 1e-9, "{slope}");
    assert!(report::growth(&[]).is_err());
}

/// Chromium opens every page without a word on its console. The pages forbid requests by themselves (Content-Security-Policy), so that a request would be
/// such a word. Skipped, and said so, where there is no Chromium.
#[test]
fn a_browser_has_nothing_to_complain_about() {
    let browser = ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(|name| std::process::Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success()));
    let Some(browser) = browser else {
        println!("skipped: there is no Chromium here");
        return;
    };
    let directory = TempDir::new().unwrap();
    let study = study(&directory, CERTIFIED);
    answer(&study, 2, hills);
    let path = directory.path().join("report.html");
    let open = |html: &str| {
        std::fs::write(&path, html).unwrap();
        let profile = TempDir::new().unwrap();
        let output = std::process::Command::new(browser)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"])
            .args(["--disable-component-update", "--disable-sync", "--enable-logging=stderr", "--dump-dom"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg(format!("file://{}", path.display()))
            .output()
            .unwrap();
        let console =
            String::from_utf8_lossy(&output.stderr).lines().filter(|line| line.contains("CONSOLE")).map(str::to_owned).collect::<Vec<_>>();
        (String::from_utf8_lossy(&output.stdout).into_owned(), console)
    };
    let html = report::study(&study).unwrap().html();
    let (dom, console) = open(&html);
    assert!(dom.contains("</svg>") && dom.contains("May I stop?"), "the page was not rendered");
    assert_eq!(console, Vec::<String>::new());
    // The check can fail: a page that asks for something is heard.
    let (_, console) = open(&html.replace("</main>", "<img src=\"http://localhost:9/x.png\"/></main>"));
    assert!(!console.is_empty(), "a forbidden request went unnoticed");
}
