//! The catalogue of strategies: what it says is what is built, and the documents made from it are up to date.
//!
//! `UPDATE_CATALOGUE=1 cargo nextest run --workspace catalogue::` writes the documents anew.

use sigmabar::catalogue::{OptionKind, OptionValue, PolicyProblem, PolicySpec, STRATEGIES, StrategyEntry, StrategyOption};
use sigmabar::strategy::{
    AdaBkb, Auto, Bbkb, Bkb, Bpe, DecoupledThompson, EkUcb, ExpectedImprovement, GpThreds, GpUcb, LargestVariance, MiniMeta,
    ProbabilityOfImprovement, Random, Rips, Rules, Sbpe, Schedule, Sobol, SupKernelUcb, ThompsonSampling,
};
use sigmabar::{Points, Policy};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

const BUDGET: usize = 60;

/// The strategy with the options that it cannot do without.
fn least(entry: &StrategyEntry) -> PolicySpec {
    let spec = PolicySpec::new(entry.name);
    let needed = |option: &&StrategyOption| option.default == "needed";
    entry.options.iter().filter(needed).fold(spec, |spec, option| spec.with(option.name, examples(option.kind).remove(0)))
}

/// Values that an option of this kind takes.
fn examples(kind: OptionKind) -> Vec<OptionValue> {
    let words = |words: &[&str]| words.iter().map(|&word| word.into()).collect::<Vec<OptionValue>>();
    match kind {
        OptionKind::Count => vec![7.into(), 7.0.into()],
        OptionKind::Number(range) | OptionKind::NumberOrWord(range, _) => {
            let mut numbers: Vec<OptionValue> =
                [0.0, 0.3, 1.7].into_iter().filter(|&number| range.contains(number)).map(Into::into).collect();
            numbers.extend(words(kind.words()));
            numbers
        }
        OptionKind::Flag => vec![true.into()],
        OptionKind::Word(known) => words(known),
        OptionKind::Batches => vec![3.into(), vec![20.0; 3].into()],
        OptionKind::Interval | OptionKind::Pair(_) => vec![vec![0.25, 1.5].into()],
        OptionKind::Rows => vec![OptionValue::Rows(vec![vec![0.0], vec![1.0]])],
        other => panic!("no example of {other}"),
    }
}

#[test]
fn without_options_every_strategy_is_what_the_core_takes_it_to_be() {
    let defaults = [
        Policy::Auto(Auto::default()),
        Policy::Sbpe(Box::default()),
        Policy::Bpe(Bpe::default()),
        Policy::GpUcb(GpUcb::default()),
        Policy::ExpectedImprovement(ExpectedImprovement::default()),
        Policy::ProbabilityOfImprovement(ProbabilityOfImprovement::default()),
        Policy::ThompsonSampling(ThompsonSampling::default()),
        Policy::DecoupledThompson(DecoupledThompson::default()),
        Policy::Bkb(Bkb::default()),
        Policy::Bbkb(Bbkb::default()),
        Policy::AdaBkb(AdaBkb::default()),
        Policy::MiniMeta(MiniMeta::default()),
        Policy::Rips(Rips::default()),
        Policy::SupKernelUcb(SupKernelUcb::default()),
        Policy::GpThreds(GpThreds::new(0.25, 1.5).unwrap()),
        Policy::EkUcb(EkUcb::new(Points::on_line(vec![0.0, 1.0]).unwrap())),
        Policy::LargestVariance(LargestVariance::default()),
        Policy::Random(Random::default()),
        Policy::Sobol(Sobol::default()),
    ];
    assert_eq!(STRATEGIES.len(), defaults.len());
    for (entry, default) in STRATEGIES.iter().zip(defaults) {
        assert_eq!((entry.name, least(entry).policy(BUDGET).as_ref()), (default.name(), Ok(&default)));
    }
}

/// Whether the option has no effect by itself: it only speaks where another one is given.
fn needs_another(entry: &StrategyEntry, option: &StrategyOption) -> bool {
    matches!(option.name, "epsilon" | "schedule") && entry.name != "random"
}

#[test]
fn every_option_takes_what_it_says_and_has_an_effect() {
    for entry in &STRATEGIES {
        let plain = least(entry).policy(BUDGET).unwrap();
        for option in entry.options.iter().filter(|option| !needs_another(entry, option)) {
            let mut built = vec![];
            for value in examples(option.kind) {
                let policy = least(entry).with(option.name, value.clone()).policy(BUDGET).unwrap_or_else(|error| panic!("{error}"));
                // The default may be among the examples; everything else differs from it and from one another.
                let is_default = option.default == value.to_string() || option.default == "needed" || value == "posterior".into();
                assert!(is_default || policy != plain, "{}: {} = {value} changes nothing", entry.name, option.name);
                if !built.contains(&policy) {
                    built.push(policy);
                }
            }
            assert!(built.len() >= option.kind.words().len(), "{}: words of {} mean the same", entry.name, option.name);
            let text = format!("{}:{}=nonsense", entry.name, option.name);
            let error = text.parse::<PolicySpec>().unwrap_err();
            let said = error.to_string();
            assert!(said.contains(option.name) && said.contains(entry.name) && said.contains(&option.kind.to_string()), "{said}");
        }
    }
}

#[test]
fn batches_and_schedules_go_together_or_are_refused() {
    let sbpe = |schedule| Policy::Sbpe(Box::new(Sbpe::new(Rules::Certified).with_schedule(schedule)));
    let built = |text: &str| text.parse::<PolicySpec>().unwrap().policy(BUDGET);
    assert_eq!(built("s-bpe:batches=4").unwrap(), sbpe(Schedule::Growing(4)));
    assert_eq!(built("s-bpe:batches=4:schedule=even").unwrap(), sbpe(Schedule::Even(4)));
    assert_eq!(built("s-bpe:batches=20/40").unwrap(), sbpe(Schedule::Lengths(vec![20, 40])));
    assert_eq!(built("gp-ucb:batches=4").unwrap(), built("gp-ucb:batch_len=15").unwrap());
    assert_eq!(built("auto:batches=20/20/20").unwrap(), built("auto:batches=3").unwrap());
    assert_eq!(built("bpe:batches=20/20/20").unwrap(), built("bpe:batches=3:schedule=even").unwrap());
    assert_eq!(built("bkb:width=paper:epsilon=0.5").unwrap(), built("bkb:width=paper").unwrap());
    for (text, option) in [
        ("s-bpe:schedule=even", "schedule"),
        ("s-bpe:batches=4:schedule=recursion", "schedule"),
        ("bpe:batches=20/40", "batches"),
        ("auto:batches=10/50", "batches"),
        ("ei:batches=7/7", "batches"),
        ("gp-threds", "interval"),
        ("ek-ucb", "actions"),
    ] {
        let error = built(text).unwrap_err();
        assert_eq!(error.option.as_deref(), Some(option), "{error}");
    }
}

#[test]
fn names_of_earlier_versions_are_read_in_files_and_refused_with_the_new_name_elsewhere() {
    let read = |text: &str| serde_json::from_str::<PolicySpec>(text);
    let now = read(r#"{"name": "s-bpe", "max_inducing": 50, "max_cells": 99}"#).unwrap();
    assert_eq!(read(r#"{"name": "s-bpe", "inducing": 50, "cells": 99}"#).unwrap(), now);
    assert_eq!(read(&serde_json::to_string(&now).unwrap()).unwrap(), now);
    assert_eq!(serde_json::to_string(&PolicySpec::new("ei")).unwrap(), "\"ei\"");
    assert!(read(r#"{"name": "s-bpe", "inducing": 50, "max_inducing": 50}"#).unwrap_err().to_string().contains("twice"));
    assert!(read(r#"{"inducing": 50}"#).unwrap_err().to_string().contains("name"));
    for (strategy, former, present) in
        [("ei", "batch_size", "batch_len"), ("s-bpe", "inducing", "max_inducing"), ("s-bpe", "mode", "rules")]
    {
        let error = PolicySpec::new(strategy).with(former, 3).policy(BUDGET).unwrap_err();
        assert!(matches!(error.problem, PolicyProblem::Renamed { now, .. } if now == present), "{error}");
    }
}

#[test]
fn the_page_of_strategies_is_up_to_date() {
    compare("../../docs/strategies.md", &page());
}

#[test]
fn the_types_of_the_python_package_are_up_to_date() {
    compare("../sigmabar-python/python/sigmabar/_catalogue.py", &python());
}

/// Compares a document with what the catalogue makes of it.
fn compare(path: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("UPDATE_CATALOGUE").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == text, "{} is not what the catalogue says: run this test with UPDATE_CATALOGUE=1", path.display());
}

fn page() -> String {
    let mut page = String::from(
        "# Strategies\n\nThis page is made from the catalogue in `crates/sigmabar/src/strategy/catalogue` by its tests.\n\n\
         The same names and options everywhere: `strategy = { name = \"ei\", margin = 0.1 }` in a study file, `sb.Strategy(\"ei\", margin=0.1, …)` in Python,\n\
         `sigmabar bench --strategies ei:margin=0.1`, `PolicySpec::new(\"ei\").with(\"margin\", 0.1)` in Rust. In a study file batches are said at its top.\n",
    );
    for entry in &STRATEGIES {
        write!(page, "\n## `{}`\n\n{}\n", entry.name, entry.about).unwrap();
        if entry.is_contextual {
            page.push_str("In Python and Rust only: the trials of a study have no context.\n");
        }
        if !entry.options.is_empty() {
            page.push_str("\n| option | takes | default | |\n|---|---|---|---|\n");
        }
        for StrategyOption { name, kind, default, about, .. } in entry.options {
            writeln!(page, "| `{name}` | {kind} | {default} | {about} |").unwrap();
        }
    }
    page
}

fn python() -> String {
    let mut types: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut words: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for option in STRATEGIES.iter().flat_map(|entry| entry.options) {
        let kind = match option.kind {
            OptionKind::Count => "int",
            OptionKind::Number(_) | OptionKind::NumberOrWord(..) => "float",
            OptionKind::Flag => "bool",
            OptionKind::Batches => "int | Sequence[int]",
            OptionKind::Interval | OptionKind::Pair(_) => "Sequence[float]",
            OptionKind::Rows => "Any",
            _ => "",
        };
        let known = types.entry(option.name).or_default();
        if !kind.is_empty() && !known.iter().any(|known| known == kind) {
            known.push(kind.to_owned());
        }
        let spoken = words.entry(option.name).or_default();
        spoken.extend(option.kind.words().iter().filter(|word| !spoken.contains(word)).copied().collect::<Vec<_>>());
    }
    let literal = |words: &[&str]| format!("Literal[{}]", words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", "));
    let mut text = String::from(
        "\"\"\"Strategies and their options, made from the catalogue in crates/sigmabar/src/strategy/catalogue by its tests.\"\"\"\n\n\
         from __future__ import annotations\n\nfrom collections.abc import Sequence\nfrom typing import Any, Literal, TypedDict\n\n",
    );
    writeln!(text, "StrategyName = {}\n\n", literal(&STRATEGIES.map(|entry| entry.name))).unwrap();
    text.push_str("class StrategyOptions(TypedDict, total=False):\n    \"\"\"Options of all strategies; which of them one takes stands in ``HELP``.\"\"\"\n\n");
    for (name, mut kinds) in types {
        kinds.extend((!words[name].is_empty()).then(|| literal(&words[name])));
        writeln!(text, "    {name}: {} | None", kinds.join(" | ")).unwrap();
    }
    text.push_str("\n\nHELP = \"\"\"\n    Strategies, each with its options and their defaults:\n");
    for entry in &STRATEGIES {
        write!(text, "\n    ``\"{}\"``: {}\n", entry.name, entry.about).unwrap();
        for StrategyOption { name, kind, default, about, .. } in entry.options {
            writeln!(text, "        ``{name}`` ({kind}; default {default}): {about}").unwrap();
        }
    }
    text.push_str("    \"\"\"\n");
    text
}
