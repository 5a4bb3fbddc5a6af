//! Replicates on plates: what each well came to is asked about, corrected and shown by itself.

use crate::support::ends;
use sigmabar::Origin;
use sigmabar_cli::report;
use sigmabar_study::{EventKind, Study, TrialRow};
use std::fs;
use std::path::Path;

const STUDY: &str = "response = \"yield / %\"\nplate = 24\nplates = 2\nreplicates = 2\ncontrols = 2\nfailures = \"unrelated\"\nprior_mean = 40.0\nunit = 25.0\nnorm_bound = 3.0\n\
                     noise = { about = 0.07 }\nkernel = { name = \"matern\", nu = 2.5, lengthscale = 0.4 }\n[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\ndigits = 2\n";

/// A trial, its value, the standard error and the number of its replicates.
type Stands = (u64, Option<f64>, Option<f64>, Option<u32>);

/// A plate that was asked for, and its filled-in lines: well, trial, setting, result.
struct Bench {
    directory: tempfile::TempDir,
    lines: Vec<[String; 4]>,
    /// The two lines of one setting.
    pair: [usize; 2],
}

impl Bench {
    fn new() -> Self {
        Self::of(STUDY)
    }

    fn of(study: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("study.toml"), study).unwrap();
        ends(directory.path(), &["ask", "study.toml", "--plate", "24", "-o", "plate.csv"], 0);
        let sheet = fs::read_to_string(directory.path().join("plate.csv")).unwrap();
        let line = |(i, line): (usize, &str)| {
            let cells: Vec<&str> = line.split(',').collect();
            let x: f64 = cells[2].parse().unwrap_or(0.0);
            let result = 38.0 + 15.0 * (5.0 * x).sin() + (i * 7919 % 100) as f64 / 60.0;
            [cells[0].to_owned(), cells[1].to_owned(), cells[2].to_owned(), format!("{result:.1}")]
        };
        let lines: Vec<[String; 4]> = sheet.lines().skip(1).enumerate().map(line).collect();
        let first = lines.iter().position(|line| line[1] != "control").unwrap();
        let second = (first + 1..lines.len()).find(|i| lines[*i][1] == lines[first][1]).unwrap();
        Self { directory, lines, pair: [first, second] }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn trial(&self) -> u64 {
        self.lines[self.pair[0]][1].parse().unwrap()
    }

    /// The sheet, with another result in one line.
    fn sheet(&self, but: Option<(usize, &str)>) {
        let lines = self.lines.iter().enumerate().map(|(i, [well, trial, x, result])| {
            let result = but.filter(|(line, _)| *line == i).map_or(result.as_str(), |(_, other)| other);
            format!("{well},{trial},{x},{result},,\n")
        });
        fs::write(self.path().join("plate.csv"), "well,trial,x,result,std,note\n".to_owned() + &lines.collect::<String>()).unwrap();
    }

    fn study(&self) -> Study {
        Study::open(&self.path().join("study.db"), None).unwrap()
    }

    /// What stands of the results of the plate.
    fn stands(&self) -> Vec<Stands> {
        let first = |row: &TrialRow| (row.batch == 0).then_some((row.id, row.value, row.standard_error, row.replicates));
        self.study().trials().unwrap().iter().filter_map(first).collect()
    }
}

/// Within what was declared and far from its replicate, or beyond all that was declared: the well is named with its own value, and nothing is written down.
#[test]
fn a_mistyped_well_of_a_replicated_setting_is_asked_about() {
    let bench = Bench::new();
    let [first, second] = bench.pair.map(|i| bench.lines[i].clone());
    for by in [59.4, 29.4] {
        let mistyped = format!("{:.1}", first[3].parse::<f64>().unwrap() + by);
        bench.sheet(Some((bench.pair[1], &mistyped)));
        let said = ends(bench.path(), &["tell", "plate.csv"], 1);
        let words = format!(
            "trial {0} (well {1}) came to {2}, trial {0} (well {3}) came to {mistyped} at the same setting, where repeats are usually 2.47",
            first[1], first[0], first[3], second[0]
        );
        assert!(said.contains(&words), "{said}");
    }
    bench.sheet(Some((bench.pair[1], "377")));
    let said = ends(bench.path(), &["tell", "plate.csv"], 1);
    let words =
        format!("plate.csv, line {}: trial {} (well {}) came to 377, and what was declared allows", bench.pair[1] + 2, first[1], second[0]);
    assert!(said.contains(&words), "no cell holds the mean: {said}");
    assert!(bench.stands().iter().all(|(_, value, ..)| value.is_none()), "nothing was written down");
    bench.sheet(None);
    ends(bench.path(), &["tell", "plate.csv"], 0);
    assert!(bench.stands().iter().all(|(_, value, ..)| value.is_some()));
}

/// Pasted over another well, beside a well that holds a trial or that is not there, or with the next plate behind it: nothing of the sheet is written down.
#[test]
fn rows_in_the_wrong_wells_are_refused() {
    let mut bench = Bench::new();
    let lines = bench.lines.clone();
    let control = lines.iter().position(|line| line[1] == "control").unwrap();
    let [first, second] = bench.pair;
    let mut refused = |line: usize, with: [String; 4], words: &str| {
        bench.lines[line] = with;
        bench.sheet(None);
        let said = ends(bench.path(), &["tell", "plate.csv"], 1);
        assert!(said.contains(words), "{said}");
        assert!(bench.stands().iter().all(|(_, value, ..)| value.is_none()) && bench.study().controls().unwrap().is_empty());
        bench.lines.clone_from(&lines);
    };
    let at = |well: &str| [well.to_owned(), "control".to_owned(), String::new(), "40.0".to_owned()];
    refused(second, lines[first].clone(), "another line has the same well");
    refused(control, at(&lines[first][0]), &format!("which holds trial {}", lines[first][1]));
    refused(control, at("Z99"), "which holds no control");
    bench.sheet(None);
    ends(bench.path(), &["tell", "plate.csv"], 0);
    // The controls of a plate that was told stay its own.
    ends(bench.path(), &["ask", "study.toml", "--plate", "24", "-o", "next.csv"], 0);
    let next = fs::read_to_string(bench.path().join("next.csv")).unwrap();
    let told = fs::read_to_string(bench.path().join("plate.csv")).unwrap();
    let next = next.lines().skip(1).map(|line| line.replace(",control,,,,", ",control,,39.5,,") + "\n");
    fs::write(bench.path().join("both.csv"), told + &next.collect::<String>()).unwrap();
    let before = bench.study().controls().unwrap();
    let said = ends(bench.path(), &["tell", "both.csv"], 1);
    assert!(said.contains("another line has the same well") || said.contains("trials of plates 1 and 2"), "{said}");
    assert_eq!(bench.study().controls().unwrap(), before);
}

/// A sheet that fills in the last well may correct an earlier one: the batch is not analysed before all of the sheet is read, whichever line comes first.
#[test]
fn the_sheet_that_completes_a_batch_may_correct_it() {
    for is_last in [false, true] {
        let mut bench = Bench::of(&STUDY.replace("failures = \"unrelated\"\n", ""));
        let complete = bench.lines.clone();
        let ids = || complete.iter().filter_map(|line| line[1].parse::<u64>().ok());
        let ends_of = (ids().min().unwrap().to_string(), ids().max().unwrap().to_string());
        let (open, wrong) = if is_last { ends_of } else { (ends_of.1, ends_of.0) };
        bench.lines.iter_mut().filter(|line| line[1] == open).for_each(|line| line[3].clear());
        let misread = bench.lines.iter_mut().find(|line| line[1] == wrong).unwrap();
        misread[3] = format!("{:.1}", misread[3].parse::<f64>().unwrap() + 0.4);
        bench.sheet(None);
        ends(bench.path(), &["tell", "plate.csv"], 0);
        bench.lines = complete;
        bench.sheet(None);
        let said = ends(bench.path(), &["tell", "plate.csv", "--replace", "--note", "misread"], 0);
        assert!(!said.contains("had been analysed") && said.contains("is replaced"), "{is_last}: {said}");
    }
}

/// A well that is lost may be lost because of its value: what is left of the mean is no better than what is left of a batch.
#[test]
fn a_lost_well_is_a_loss() {
    let label = |word: Option<&str>, is_declared: bool| {
        let said = if is_declared { STUDY.to_owned() } else { STUDY.replace("failures = \"unrelated\"\n", "") };
        let bench = Bench::of(&said.replace("plates = 2", "plates = 1"));
        bench.sheet(word.map(|word| (bench.pair[1], word)));
        if word == Some("") {
            let said = ends(bench.path(), &["tell", "plate.csv"], 1);
            let (trial, well) = (bench.trial(), &bench.lines[bench.pair[1]][0]);
            let words = format!("trial {trial} has a result in 1 of its 2 wells, and {well} is empty; nothing was written down");
            assert!(said.contains(&words) && said.contains("tell the sheet when it is complete, or write failed"), "{said}");
            assert!(bench.stands().iter().all(|(_, value, ..)| value.is_none()), "the batch is not closed");
        }
        let said = ends(bench.path(), &["tell", "plate.csv", "--sure"], 0);
        assert_eq!(said.contains("makes the answer an estimate unless"), word.is_some(), "{said}");
        let advice = bench.study().recommend().unwrap().unwrap();
        let losses = advice.certificate.premises.losses;
        (advice.label().to_string(), losses.value, losses.origin)
    };
    for word in ["", "failed"] {
        assert_eq!(label(Some(word), false), ("estimated".to_owned(), 1, Origin::Unmet), "{word}");
        assert_eq!(label(Some(word), true), ("certified".to_owned(), 1, Origin::Declared), "{word}");
    }
    assert_eq!(label(None, false), ("certified".to_owned(), 0, Origin::Guaranteed));
    // On a pilot no claim rests.
    for word in ["", "failed"] {
        let bench = Bench::of(&format!("pilot = 11\n{}", STUDY.replace("failures = \"unrelated\"\n", "")));
        bench.sheet(Some((bench.pair[1], word)));
        assert!(!ends(bench.path(), &["tell", "plate.csv"], 0).contains("makes the answer an estimate"), "{word}");
    }
}

/// Measured until something came, or with a mean written over it: what failed once stays lost.
#[test]
fn a_well_that_failed_stays_a_loss() {
    for over in ["well", "mean"] {
        let mut bench = Bench::of(&STUDY.replace("failures = \"unrelated\"\n", "").replace("plates = 2", "plates = 1"));
        let (trial, whole) = (bench.trial().to_string(), bench.lines.clone());
        // Another setting stays open, so that the batch is not analysed before the correction.
        let open = whole.iter().rev().find(|line| line[1] != "control" && line[1] != trial).unwrap()[1].clone();
        bench.lines.iter_mut().filter(|line| line[1] == open).for_each(|line| line[3].clear());
        bench.sheet(Some((bench.pair[1], "failed")));
        ends(bench.path(), &["tell", "plate.csv"], 0);
        if over == "well" {
            bench.sheet(None);
            ends(bench.path(), &["tell", "plate.csv", "--replace", "--note", "measured again"], 0);
        } else {
            let value = whole[bench.pair[0]][3].clone();
            ends(bench.path(), &["tell", &trial, &value, "--replace", "--note", "typo"], 0);
        }
        let values: Vec<f64> = whole.iter().filter(|line| line[1] == open).map(|line| line[3].parse().unwrap()).collect();
        let mean = format!("{}", values.iter().sum::<f64>() / values.len() as f64);
        ends(bench.path(), &["tell", &open, &mean], 0);
        let advice = bench.study().recommend().unwrap().unwrap();
        let losses = advice.certificate.premises.losses;
        assert_eq!((advice.label().to_string(), losses.value), ("estimated".to_owned(), 1), "{over}");
    }
}

/// A corrected sheet corrects the trials whose wells have changed, and all that was pooled over the wells is as if it had been told so at once; the events have both.
#[test]
fn a_corrected_sheet_leaves_nothing_of_the_slip_but_its_record() {
    let straight = Bench::new();
    straight.sheet(None);
    ends(straight.path(), &["tell", "plate.csv"], 0);

    let bench = Bench::new();
    bench.sheet(Some((bench.pair[1], "97.1")));
    ends(bench.path(), &["tell", "plate.csv", "--sure"], 0);
    let wide = bench.stands();
    assert!(wide[0].2 > straight.stands()[0].2.map(|error| 3.0 * error), "the slip widens everything");
    bench.sheet(None);
    let refused = ends(bench.path(), &["tell", "plate.csv"], 1);
    let line = bench.pair[0] + 2;
    assert!(refused.contains(&format!("line {line}: trial {} already has another result", bench.trial())), "{refused}");
    assert!(refused.contains("sigmabar tell plate.csv --replace --note WHY"), "{refused}");
    assert_eq!(bench.stands(), wide);
    ends(bench.path(), &["tell", "plate.csv", "--note", "a slip"], 2);
    let said = ends(bench.path(), &["tell", "plate.csv", "--replace", "--note", "a slip"], 0);
    assert!(said.contains(&format!("the result of trial {} is replaced", bench.trial())), "{said}");
    assert!(said.contains("there already: 10 results") && said.contains("its batch had been analysed: the certificate says so"), "{said}");
    assert_eq!(bench.stands(), straight.stands());

    let study = bench.study();
    let certificate = study.recommend().unwrap().unwrap().certificate;
    assert_eq!(certificate.premises.corrections.value, 1);
    let events = study.events_after(0).unwrap();
    assert_eq!(events.iter().filter(|event| event.kind == EventKind::Replaced).count(), 1, "unchanged trials are no corrections");
    let wells: Vec<_> = events.iter().filter(|event| event.kind == EventKind::Wells && event.trial == Some(bench.trial())).collect();
    assert_eq!(wells.len(), 2);
    assert!(wells[0].detail.as_ref().unwrap().contains("97.1") && !wells[1].detail.as_ref().unwrap().contains("97.1"));
    let note = study.trials().unwrap()[bench.trial() as usize].note.clone().unwrap();
    assert!(note.starts_with("a slip; replicates ") && note.contains("; before: replicates ") && note.ends_with("97.1"), "{note}");
    // Told again, nothing is new.
    assert!(ends(bench.path(), &["tell", "plate.csv"], 0).contains("there already: 11 results"));
}

/// A single correction takes its wells out of what is pooled, too.
#[test]
fn a_corrected_mean_takes_its_wells_out_of_the_scatter() {
    let bench = Bench::new();
    bench.sheet(Some((bench.pair[1], "97.1")));
    ends(bench.path(), &["tell", "plate.csv", "--sure"], 0);
    let (id, wide) = (bench.trial(), bench.stands());
    ends(bench.path(), &["tell", &id.to_string(), "39.35", "--replace", "--note", "a slip"], 0);
    for ((trial, value, error, replicates), before) in bench.stands().into_iter().zip(wide) {
        if trial == id {
            assert_eq!((value, error, replicates), (Some(39.35), None, None));
        } else {
            assert!(value == before.1 && replicates == Some(2) && 3.0 * error.unwrap() < before.2.unwrap(), "{trial}: {error:?}");
        }
    }
}

/// What comes in two parts is pooled as what comes at once, and the first part may be told again with the second.
#[test]
fn half_a_sheet_and_then_the_whole_is_the_whole() {
    let straight = Bench::new();
    straight.sheet(None);
    ends(straight.path(), &["tell", "plate.csv"], 0);
    let bench = Bench::new();
    let half: Vec<String> = bench.lines.iter().map(|line| line[1].clone()).take(6).collect();
    let part =
        bench.lines.iter().filter(|line| half.contains(&line[1])).map(|[well, trial, x, result]| format!("{well},{trial},{x},{result}\n"));
    fs::write(bench.path().join("half.csv"), "well,trial,x,result\n".to_owned() + &part.collect::<String>()).unwrap();
    ends(bench.path(), &["tell", "half.csv", "--study", "study.toml"], 0);
    bench.sheet(None);
    assert!(ends(bench.path(), &["tell", "plate.csv"], 0).contains("there already: "));
    assert_eq!(bench.stands(), straight.stands());
}

/// Each well of the report's plate has its own value and its own distance from the prediction, and an empty one is empty.
#[test]
fn the_report_shows_each_well_by_itself() {
    let bench = Bench::new();
    bench.sheet(Some((bench.pair[1], "")));
    let said = ends(bench.path(), &["tell", "plate.csv", "--sure"], 0);
    assert!(said.contains("sigmabar tell plate.csv --replace --note WHY takes them in"), "{said}");
    let page = report::study(&bench.study()).unwrap();
    let html = page.html();
    assert!(html.contains("24 wells in use, 0 failed (×), 1 without a result (○)."), "one well is empty");
    assert!(
        html.contains("Plate 1 (batch 1): measured, predicted, and where they differ<") && !html.contains("the mean of its replicates")
    );
    let csvs = page.csvs();
    let (_, wells) = csvs.iter().find(|(name, _)| name == "plate-1.csv").unwrap();
    let mut distances = Vec::new();
    for row in csv::Reader::from_reader(wells.as_bytes()).records().map(Result::unwrap) {
        let line = bench.lines.iter().position(|line| line[0] == row[0]).unwrap();
        let result = if line == bench.pair[1] { String::new() } else { bench.lines[line][3].clone() };
        assert_eq!(row[2].parse::<f64>().ok(), result.parse().ok(), "{row:?}");
        let is_measured_trial = bench.lines[line][1] != "control" && !result.is_empty();
        assert_eq!(!row[5].is_empty(), is_measured_trial, "{row:?}");
        distances.push((bench.lines[line][1].clone(), row[5].to_owned()));
    }
    let differ = |(trial, own): &(String, String)| distances.iter().any(|(other, theirs)| other == trial && theirs != own);
    assert!(distances.iter().filter(|(trial, _)| trial != "control").filter(|well| differ(well)).count() > 10);
    ends(bench.path(), &["report", "study.toml", "-o", "report.html"], 0);
}
