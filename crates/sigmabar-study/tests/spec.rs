//! Study files: what they may say, and what they are told when they say something else.

use proptest::prelude::*;
use sigmabar::catalogue::STRATEGIES;
use sigmabar::domain::Relation;
use sigmabar::strategy::Direction;
use sigmabar::{Domain, Noise};
use sigmabar_study::{CandidateTable, Error, ParameterKind, StudySpec, Value, parse_expression, parse_reply};
use std::path::Path;

const FLOATS: &str =
    "[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n[parameters.y]\ntype = \"float\"\nlow = 10\nhigh = 1000\nlog = true\n";

fn read(text: &str) -> Result<StudySpec, Error> {
    StudySpec::from_toml(text, Path::new("."))
}

fn refused(text: &str) -> String {
    match read(text) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn everything_that_may_be_said() {
    let text = r#"
        description = "all of it"
        direction = "minimize"
        plates = 2
        plate = 24
        delta = 0.1
        seed = 7
        constraints = ["a + b + c == 1", "a <= 0.9", "2*a - b < 1.5"]
        tau = 0.5
        norm_bound = "auto"
        noise = { light_tailed = { xi0 = 0.1, h0 = 2 } }
        prior_mean = 3
        unit = 2.5
        stop_when = "gap < 0.01"
        informative_failures = true
        strategy = "auto"
        [kernel]
        name = "matern"
        nu = 1.5
        variance = 2
        lengthscale = { a = 0.1, b = 0.2, c = 0.3, steps = 0.4, grid = 0.5, solvent = 0.6 }
        [objective]
        command = "./mix.sh {a} {b} {c} {solvent} {id}"
        timeout = 60
        retries = 2
        lease = 300
        [parameters.a]
        type = "float"
        low = 0
        high = 1
        [parameters.b]
        type = "float"
        low = 0
        high = 1
        [parameters.c]
        type = "float"
        low = 0
        high = 1
        [parameters.steps]
        type = "int"
        low = 2
        high = 20
        step = 2
        [parameters.grid]
        type = "float"
        low = 0.1
        high = 0.5
        step = 0.1
        [parameters.solvent]
        type = "categorical"
        choices = ["water", "ethanol"]
    "#;
    let spec = read(text).unwrap_or_else(|error| panic!("{error}"));
    let problem = spec.problem();
    assert_eq!((problem.budget(), problem.delta(), problem.seed(), problem.direction()), (48, 0.1, 7, Direction::Minimize));
    assert_eq!(
        (problem.wanted_gap(), problem.ridge(), problem.norm_bound(), problem.failures()),
        (Some(0.01), Some(0.5), None, sigmabar::strategy::Failures::Informative)
    );
    assert_eq!((problem.prior().mean(), problem.prior().unit()), (3.0, 2.5));
    assert!(matches!(problem.noise(), Some(Noise::LightTailed { .. })));
    let names: Vec<&str> = spec.space().parameters().iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c", "steps", "grid", "solvent"], "in the order of the file");
    let ParameterKind::Ordinal { levels } = &spec.space().parameters()[4].kind else { panic!() };
    assert_eq!(levels, &[0.1, 0.2, 0.3, 0.4, 0.5].map(Value::Float));
    // The same study through JSON, through TOML, and through serde.
    let json = serde_json::to_string(&spec).unwrap();
    assert_eq!(StudySpec::from_json(&json, Path::new(".")).unwrap(), spec);
    assert_eq!(read(&spec.to_toml()).unwrap(), spec);
    assert_eq!(serde_json::from_str::<StudySpec>(&json).unwrap(), spec);
    // Settings go to points and back.
    let setting =
        vec![Value::Float(0.2), Value::Float(0.3), Value::Float(0.5), Value::Int(6), Value::Float(0.3), Value::Choice("ethanol".into())];
    let point = spec.space().point(&setting).unwrap();
    let back = spec.space().values(&point);
    assert_eq!(back[3..], setting[3..]);
    assert!(back.iter().zip(&setting).take(3).all(|(a, b)| (a.as_number().unwrap() - b.as_number().unwrap()).abs() < 1e-12));
    let mut broken = setting.clone();
    broken[0] = Value::Float(0.9);
    assert!(matches!(spec.space().point(&broken), Err(Error::Unconstrained { .. })));
    broken[5] = Value::Choice("acid".into());
    assert!(matches!(spec.space().point(&broken), Err(Error::Setting { parameter, .. }) if parameter == "solvent"));
}

#[test]
fn what_is_known_decides_the_strategy() {
    let known = "noise = 0.1\nnorm_bound = 2\nkernel = { name = \"matern\", lengthscale = 0.3 }\n";
    for (extra, strategy) in [
        ("", "auto"),
        ("noise = 0.1\n", "auto"),
        (known, "s-bpe"),
        (&format!("{known}mode = \"auto\"\n"), "auto"),
        (&format!("{known}mode = \"paper\"\n"), "s-bpe"),
        (&format!("{known}strategy = \"gp-ucb\"\n"), "gp-ucb"),
        (&format!("{known}strategy = {{ name = \"bbkb\", growth = 1.5, rule = \"local\" }}\n"), "bbkb"),
    ] {
        let spec = read(&format!("budget = 20\n{extra}{FLOATS}")).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(spec.policy().name(), strategy);
        assert!(matches!(spec.space().domain(), Domain::Box(_)), "continuous parameters are a box, which can be cut into cells");
    }
}

#[test]
fn every_strategy_can_be_named() {
    let known = "budget = 20\nnoise = 0.1\nnorm_bound = 2\nkernel = { name = \"matern\", lengthscale = 0.3 }\n";
    for name in STRATEGIES.iter().filter(|entry| !entry.is_contextual && entry.name != "gp-threds").map(|entry| entry.name) {
        let spec = read(&format!("{known}strategy = \"{name}\"\n{FLOATS}")).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(spec.policy().name(), name);
    }
    let threds = read(&format!("{known}strategy = {{ name = \"gp-threds\", interval = [0, 2] }}\n{FLOATS}")).unwrap();
    assert_eq!(threds.policy().name(), "gp-threds");
}

#[test]
fn files_of_earlier_versions_are_read() {
    let known = "budget = 20\nnoise = 0.1\nnorm_bound = 2\nkernel = { name = \"matern\", lengthscale = 0.3 }\n";
    for (former, present) in [
        ("mode = \"paper\"", "strategy = { name = \"s-bpe\", rules = \"paper\" }"),
        ("mode = \"certified\"", "strategy = \"s-bpe\""),
        ("mode = \"auto\"", "strategy = \"auto\""),
        (
            "mode = \"paper\"\nstrategy = { name = \"s-bpe\", inducing = 50, cells = 99 }",
            "strategy = { name = \"s-bpe\", max_inducing = 50, max_cells = 99, rules = \"paper\" }",
        ),
        ("strategy = { name = \"s-gp-ts\", inducing = 50 }", "strategy = { name = \"s-gp-ts\", max_inducing = 50 }"),
    ] {
        let read = |line: &str| read(&format!("{known}{line}\n{FLOATS}")).unwrap_or_else(|error| panic!("{error}"));
        let (former, present) = (read(former), read(present));
        assert_eq!(former.policy(), present.policy());
        assert!(former.declares_the_same(&present), "{}", former.to_toml());
        assert!(!former.to_toml().contains("mode"));
    }
}

#[test]
fn mistakes_are_named_with_line_and_remedy() {
    let cases: [(&str, &[&str]); 39] = [
        (
            "budjet = 3\n[parameters.x]\ntype=\"float\"\nlow=0\nhigh=1",
            &["line 1, column 1", "unknown key \"budjet\"", "did you mean \"budget\"", "1 | budjet = 3"],
        ),
        ("budget = 3\n[parameters.x]\ntype=\"float\"\nlow=0\nhihg=1", &["line 5", "did you mean \"high\""]),
        ("budget = \"many\"\n", &["line 1, column 10", "invalid type"]),
        ("budget = 3\n[parameters.x]\ntype=\"flaot\"\n", &["line 3", "did you mean \"float\""]),
        ("budget = 3 4\n", &["line 1"]),
        ("budget = 3\n", &["parameters is missing"]),
        ("[parameters.x]\ntype=\"float\"\nlow=0\nhigh=1", &["budget is missing", "plates = 2"]),
        ("budget = 0\n[parameters.x]\ntype=\"float\"\nlow=0\nhigh=1", &["line 1", "at least 1"]),
        ("budget = 3\n[parameters.x]\ntype=\"float\"\nlow=0", &["line 2", "parameters.x", "high is missing"]),
        ("budget = 3\n[parameters.x]\ntype=\"float\"\nlow=2\nhigh=1", &["parameters.x", "goes from 2 to 1"]),
        ("budget = 3\n[parameters.x]\ntype=\"float\"\nlow=0\nhigh=1\nlog=true", &["parameters.x", "above 0"]),
        ("budget = 3\n[parameters.x]\ntype=\"int\"\nlow=0.5\nhigh=4", &["line 4", "parameters.x.low", "a whole number"]),
        ("budget = 3\n[parameters.x]\ntype=\"ordinal\"\nchoices=[\"low\", \"high\"]", &["line 4", "categorical"]),
        ("budget = 3\n[parameters.x]\ntype=\"categorical\"\nchoices=[\"a\", \"a\"]", &["a twice"]),
        (
            "budget = 3\nconstraints = [\"x + z < 1\"]\n[parameters.x]\ntype=\"float\"\nlow=0\nhigh=1",
            &["line 2", "constraints.0", "unknown parameter \"z\""],
        ),
        ("budget = 3\nconstraints = [\"x * x < 1\"]\n[parameters.x]\ntype=\"float\"\nlow=0\nhigh=1", &["linear", "column 3"]),
        ("budget = 3\nconstraints = [\"x > 2\"]\n[parameters.x]\ntype=\"float\"\nlow=0\nhigh=1", &["line 2", "no point satisfies"]),
        ("budget = 3\nstrategy = \"gp-uct\"\n[parameters.x]\ntype=\"float\"\nlow=0\nhigh=1", &["line 2", "did you mean \"gp-ucb\""]),
        ("budget = 3\nstrategy = \"ek-ucb\"\n[parameters.x]\ntype=\"float\"\nlow=0\nhigh=1", &["line 2", "no context", "gp-ucb or bkb"]),
        (
            "budget = 3\nstrategy = { name = \"random\", margin = 1 }\n[parameters.x]\ntype=\"float\"\nlow=0\nhigh=1",
            &["line 2", "strategy.margin"],
        ),
        (
            "budget = 3\nstrategy = { name = \"ei\", batch_lne = 1 }\n[parameters.x]\ntype=\"float\"\nlow=0\nhigh=1",
            &["line 2", "strategy.batch_lne", "option batch_lne of strategy \"ei\"", "did you mean \"batch_len\""],
        ),
        (
            "budget = 3\nstrategy = { name = \"ei\", margin = \"much\" }\n[parameters.x]\ntype=\"float\"\nlow=0\nhigh=1",
            &["line 2", "strategy.margin", "found \"much\", where a number of at least 0 is needed"],
        ),
        (
            "budget = 3\nmode = \"paper\"\nstrategy = \"ei\"\n[parameters.x]\ntype=\"float\"\nlow=0\nhigh=1",
            &["line 2", "mode", "leave mode out"],
        ),
        (
            "budget = 3\nstrategy = { name = \"auto\", batches = 2 }\n[parameters.x]\ntype=\"float\"\nlow=0\nhigh=1",
            &["line 2", "\"batches\" belongs to the study itself"],
        ),
        (
            "budget = 3\nkernel = { name = \"matern\", lenghtscale = 1 }\n[parameters.x]\ntype=\"float\"\nlow=0\nhigh=1",
            &["line 2", "did you mean \"lengthscale\""],
        ),
        ("budget = 3\nnoise = { gaussian = 1, bounded = 1 }\n[parameters.x]\ntype=\"float\"\nlow=0\nhigh=1", &["line 2", "exactly one of"]),
        ("budget = 3\nstop_when = \"regret < 1\"\n[parameters.x]\ntype=\"float\"\nlow=0\nhigh=1", &["line 2", "gap < 0.01"]),
        (
            "budget = 3\nobjective = { command = \"./a {y}\" }\n[parameters.x]\ntype=\"float\"\nlow=0\nhigh=1",
            &["line 2", "objective.command", "unknown parameter \"y\""],
        ),
        ("budget = 3\nmode = \"certified\"\n[parameters.x]\ntype=\"float\"\nlow=0\nhigh=1", &["kernel"]),
        (
            "budget = 3\nstop_when = \"gap < 1\"\nstrategy = \"random\"\n[parameters.x]\ntype=\"float\"\nlow=0\nhigh=1",
            &["line 2", "only auto and s-bpe"],
        ),
        (
            "budget = 3\nstop_when = \"candidate_gap < 1\"\n[parameters.x]\ntype=\"float\"\nlow=0\nhigh=1",
            &["line 2", "only s-bpe knows a candidate_gap"],
        ),
        ("budget = 3\nbatches = 2\nstrategy = \"sobol\"\n[parameters.x]\ntype=\"float\"\nlow=0\nhigh=1", &["line 2", "a rule of its own"]),
        (
            "[parameters.x]\ntype=\"float\"\nlow=0\nhigh=1\nbudget = 3\n",
            &["line 5", "\"budget\" belongs to the study itself", "above the first [table]"],
        ),
        ("budget = 3\n[parameters.x]\nlow=0\nhigh=1", &["line 2", "type is missing", "\"ordinal\""]),
        ("budget = \"3\"\n[parameters.x]\ntype=\"float\"\nlow=0\nhigh=1", &["line 1", "expected a whole number"]),
        ("budget = 3\n[parameters.x]\ntype=\"float\"\nlow=0,5\nhigh=1", &["line 4, column 6", "with a point"]),
        ("budget = 3\n[parameters.x]\ntype=“float”\nlow=0\nhigh=1", &["line 3", "the quotes must be straight"]),
        ("budget = 3\n[parameters.x]\ntype=\"categorical\"\nchoices=[true, false]", &["line 4", "a word in quotes"]),
        ("budget = 3\ncandidates = \"nowhere.csv\"\n", &["line 2", "nowhere.csv", "No such file"]),
    ];
    for (text, words) in cases {
        let said = refused(text);
        for word in words {
            assert!(said.contains(word), "{text}\n--- does not say {word:?}:\n{said}");
        }
    }
}

#[test]
fn json_mistakes_are_named_with_line_too() {
    let said = |text: &str| StudySpec::from_json(text, Path::new(".")).unwrap_err().to_string();
    let unknown = said("{\n \"budget\": 3,\n \"parametres\": {}\n}");
    assert!(unknown.contains("line 3") && unknown.contains("did you mean \"parameters\""), "{unknown}");
    let interval = said(
        "{\"budget\": 3,\n \"parameters\": {\"a,b\": {\"type\": \"float\", \"low\": 0, \"high\": 1},\n  \"x\": {\"type\": \"int\", \"low\": 0.5, \"high\": 1}}}",
    );
    assert!(interval.contains("line 3") && interval.contains("parameters.x.low"), "{interval}");
    let twice = said(
        "{\"budget\": 3, \"parameters\": {\"x\": {\"type\": \"int\", \"low\": 0, \"high\": 1}, \"x\": {\"type\": \"int\", \"low\": 0, \"high\": 2}}}",
    );
    assert!(twice.contains("named twice"), "{twice}");
}

#[test]
fn candidates_come_from_a_table() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("list.csv");
    std::fs::write(&file, "label,temp,solvent,cost\none,20,water,1\ntwo,40,ethanol,2.5\nthree,80,water,1\n").unwrap();
    let spec = StudySpec::from_toml("budget = 3\nbatches = 1\ncandidates = \"list.csv\"\n", directory.path()).unwrap();
    let Domain::List(list) = spec.space().domain() else { panic!() };
    assert_eq!((list.len(), list.labels().unwrap()[1].as_str(), list.costs().unwrap()[1]), (3, "two", 2.5));
    let setting = [Value::Int(40), Value::Choice("ethanol".into())];
    let point = spec.space().point(&setting).unwrap();
    assert_eq!(spec.space().values(&point), setting);
    assert_eq!(point[0], 1.0 / 3.0);
    assert!(matches!(spec.space().point(&[Value::Int(20), Value::Choice("ethanol".into())]), Err(Error::NotACandidate { .. })));
    // The study keeps the list: the file may go.
    std::fs::remove_file(&file).unwrap();
    assert_eq!(read(&spec.to_toml()).unwrap().space(), spec.space());
    for (text, words) in [
        ("x,cost\n1,free\n", vec!["line 2", "\"cost\"", "\"free\""]),
        ("x,y\n1,2\n3\n", vec!["line: 3"]),
        ("x,y\n1,\n", vec!["line 2", "\"y\""]),
        ("", vec!["a header"]),
        ("x\n", vec!["a header"]),
        ("x\n1\n1.0\n", vec!["rows 0 and 1"]),
        ("x,y\n1,2\n3,4\n5,6..5\n", vec!["line 4", "\"y\"", "\"6..5\"", "a number"]),
        ("x\n1\nNaN\n3\n", vec!["line 3", "\"NaN\""]),
    ] {
        std::fs::write(&file, text).unwrap();
        let said = StudySpec::from_toml("budget = 3\ncandidates = \"list.csv\"\n", directory.path()).unwrap_err().to_string();
        assert!(words.iter().all(|word| said.contains(word)), "{said}");
    }
}

#[test]
fn the_schema_names_every_key() {
    let schema = StudySpec::json_schema();
    let keys = schema["properties"].as_object().unwrap();
    for key in
        ["parameters", "budget", "batches", "pilot", "kernel", "noise", "objective", "strategy", "stop_when", "constraints", "candidates"]
    {
        assert!(keys.contains_key(key), "{key}");
    }
    assert_eq!(schema["additionalProperties"], false);
    // Every strategy that a study can use, with its options.
    let text = schema.to_string();
    for entry in STRATEGIES.iter().filter(|entry| !entry.is_contextual) {
        assert!(text.contains(&format!("{{\"const\":\"{}\"", entry.name)), "{}", entry.name);
        for option in entry.options.iter().filter(|option| !["batches", "pilot"].contains(&option.name)) {
            assert!(
                text.contains(&format!("\"{}\":", option.name)) && text.contains(&option.about.replace('"', "\\\"")),
                "{}",
                option.name
            );
        }
    }
}

#[test]
fn expressions_mean_what_they_say() {
    let read = |text: &str| parse_expression(text).unwrap();
    let sum = read("a + b + c == 1");
    assert_eq!((sum.terms.len(), sum.relation, sum.bound), (3, Relation::Equal, 1.0));
    let greater = read("x >= 2*(y - 1)/4 + x/2");
    assert_eq!((greater.terms, greater.relation, greater.bound), (vec![("x".into(), -0.5), ("y".into(), 0.5)], Relation::AtMost, 0.5));
    assert_eq!(read("`odd name` < 1e-3").terms, [("odd name".to_owned(), 1.0)]);
    for (text, column) in [
        ("", 1),
        ("x", 2),
        ("x <", 4),
        ("x < y z", 7),
        ("(x < 1", 4),
        ("x*y < 1", 2),
        ("1 < 2", 1),
        ("x/0 < 1", 2),
        ("x < 1e999", 5),
        ("x < y < z", 7),
    ] {
        let error = parse_expression(text).unwrap_err();
        assert_eq!(error.column, column, "{error}");
    }
    assert!(parse_expression(&format!("{}x < 1", "(".repeat(5000))).is_err());
}

proptest! {
    #[test]
    fn parsers_never_panic(text in ".{0,200}", bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse_expression(&text);
        let _ = read(&text);
        let _ = StudySpec::from_json(&text, Path::new("."));
        let _ = parse_reply(&bytes);
        let _ = CandidateTable::parse(&bytes, Path::new("table.csv"));
    }

    #[test]
    fn study_files_made_of_likely_pieces_never_panic(pieces in proptest::collection::vec(prop_oneof![
        Just("budget = 5\n"), Just("batches = [2, 3]\n"), Just("plates = 1\n"), Just("plate = 4\n"), Just("tau = -1\n"), Just("noise = 0.1\n"), Just("norm_bound = 2\n"),
        Just("kernel = { name = \"linear\", lengthscale = [0.1] }\n"), Just("constraints = [\"x < y\", \"x + y == 1\"]\n"), Just("strategy = \"rips\"\n"),
        Just("[parameters.x]\n"), Just("[parameters.y]\n"), Just("type = \"float\"\n"), Just("type = \"int\"\n"), Just("type = \"ordinal\"\n"), Just("low = 0\n"),
        Just("high = 1\n"), Just("low = 1e300\n"), Just("high = nan\n"), Just("step = 1e-300\n"), Just("choices = [1, 2]\n"), Just("log = true\n"),
    ], 0..14)) {
        let text: String = pieces.concat();
        if let Err(error) = read(&text) {
            prop_assert!(!error.to_string().is_empty());
        }
    }

    #[test]
    fn a_printed_expression_reads_back(a in -9.0..9.0_f64, b in -9.0..9.0_f64, bound in -9.0..9.0_f64) {
        let expression = parse_expression(&format!("{a}*x + {b}*`the y` <= {bound}")).unwrap();
        prop_assert_eq!(expression.relation, Relation::AtMost);
        prop_assert_eq!(expression.bound, bound);
        let expected: Vec<(String, f64)> = [("the y", b), ("x", a)].into_iter().filter(|(_, c)| *c != 0.0).map(|(n, c)| (n.to_owned(), c)).collect();
        prop_assert_eq!(expression.terms, expected);
    }

    #[test]
    fn settings_go_to_points_and_back(u in 0.0..=1.0_f64, v in 0.0..=1.0_f64) {
        let spec = read(&format!("budget = 5\n{FLOATS}")).unwrap();
        let values = spec.space().values(&[u, v]);
        prop_assert!((10.0..=1000.0).contains(&values[1].as_number().unwrap()));
        let back = spec.space().point(&values).unwrap();
        prop_assert!((back[0] - u).abs() < 1e-12 && (back[1] - v).abs() < 1e-12);
    }
}

#[test]
fn a_misplaced_key_of_a_json_file_is_explained_in_its_own_terms() {
    let text = r#"{ "parameters": { "x": { "type": "float", "low": 0, "high": 1, "budget": 3 } } }"#;
    let refused = StudySpec::from_json(text, Path::new(".")).unwrap_err().to_string();
    assert!(refused.contains("\"budget\" belongs to the study itself: put it into the outermost braces"), "{refused}");
    assert!(!refused.contains("[table]"), "{refused}");
}

#[test]
fn a_parameter_that_plates_and_exports_could_not_tell_from_their_own_columns_is_refused() {
    for name in ["value", "batch", "result", "trial", "std", "note", "well", "Well", "id", "state", "seed", "replicates"] {
        let said = refused(&format!("budget = 8\n\n[parameters.{name}]\ntype = \"float\"\nlow = 0\nhigh = 1\n"));
        assert!(
            said.contains(&format!("a parameter cannot be called \"{name}\": plates")) && said.contains("choose another name"),
            "{said}"
        );
    }
    assert!(read("budget = 8\n\n[parameters.values]\ntype = \"float\"\nlow = 0\nhigh = 1\n").is_ok());
}

#[test]
fn units_belong_to_numbers_and_to_headings_of_their_own() {
    let text = |unit: &str| {
        format!(
            "budget = 8\n\n[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\nunit = {unit}\n\n[parameters.\"x (m)\"]\ntype = \"categorical\"\nchoices = [\"a\", \"b\"]\n"
        )
    };
    let spec = read(&text("\" °C \"")).unwrap();
    let [x, word] = spec.space().parameters() else { panic!() };
    assert_eq!((x.title().as_str(), word.title().as_str()), ("x (°C)", "x (m)"));
    assert!(x.is_headed("x") && x.is_headed("x (°C)") && !x.is_headed("x (m)") && word.is_headed("x (m)"));
    for (unit, words) in
        [("\"m\"", "another parameter"), ("\" \"", "1 to 40 characters"), ("\"a\\nb\"", "1 to 40 characters"), ("3", "line 7")]
    {
        assert!(refused(&text(unit)).contains(words), "{unit}: {}", refused(&text(unit)));
    }
    assert!(refused(&format!("{}unit = \"m\"\n", text("\"°C\""))).contains("a parameter of numbers"));
}

#[test]
fn kernels_are_spelt_as_on_the_command_line() {
    let kernel = |name: &str| {
        let text =
            format!("budget = 8\nkernel = {{ name = {name}, lengthscale = 0.3 }}\n\n[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n");
        read(&text).map(|spec| spec.problem().kernel().unwrap().value.clone())
    };
    let same = |names: &[&str]| names.iter().map(|name| kernel(name).unwrap()).collect::<Vec<_>>();
    assert!(same(&["\"se\"", "\"rbf\"", "\"squared-exponential\""]).windows(2).all(|pair| pair[0] == pair[1]));
    assert!(same(&["\"matern-1.5\"", "\"matern\", nu = 1.5", "\"matern-1.5\", nu = 1.5"]).windows(2).all(|pair| pair[0] == pair[1]));
    assert!(same(&["\"rq-2\"", "\"rational-quadratic\", alpha = 2.0"]).windows(2).all(|pair| pair[0] == pair[1]));
    assert!(kernel("\"matern-1.5\", nu = 2.5").unwrap_err().to_string().contains("the number once"));
    assert!(kernel("\"se-2\"").is_err() && kernel("\"matrn\"").is_err());
}

#[test]
fn integers_may_have_a_logarithmic_scale() {
    let text = |more: &str| format!("budget = 8\n\n[parameters.n]\ntype = \"int\"\nlow = 1\nhigh = 1024\n{more}");
    let spec = read(&text("log = true\n")).unwrap();
    let point = spec.problem().domain().encode(sigmabar::PointsRef::new(&[32.0], 1).unwrap()).unwrap();
    assert_eq!((point.row(0), spec.space().values(&[0.5])), (&[0.5][..], vec![Value::Int(32)]));
    assert!(refused(&text("log = true\nstep = 2\n")).contains("either log or step"));
    let ends = refused("budget = 8\n\n[parameters.n]\ntype = \"int\"\nlow = 9\nhigh = 1\n");
    assert!(ends.contains("9 to 1") && !ends.contains("counted from 0"), "{ends}");
}

/// What is tried again until it succeeds is selected by whatever made it fail: with a claim in sight, that has to be declared.
#[test]
fn retries_under_a_claim_need_a_word_about_failures() {
    let file = |failures: &str, retries: u32| {
        format!(
            "budget = 8\nnorm_bound = 1\nnoise = 0.1\n{failures}\nkernel = {{ name = \"matern\", lengthscale = 0.3 }}\n\
             [parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n[objective]\ncommand = \"echo {{x}}\"\nretries = {retries}\n"
        )
    };
    for informative in ["", "failures = \"informative\"", "informative_failures = true"] {
        let said = refused(&file(informative, 3));
        assert!(said.contains("retries") && said.contains("failures = \"unrelated\""), "{informative}: {said}");
        read(&file(informative, 0)).unwrap();
    }
    read(&file("failures = \"unrelated\"", 3)).unwrap();
}

#[test]
fn times_are_written_as_on_the_command_line() {
    let study = |timeout: &str, lease: &str| {
        format!(
            "budget = 8\n\n[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n\n[objective]\ncommand = \"echo {{x}}\"\ntimeout = {timeout}\nlease = {lease}\n"
        )
    };
    let seconds = read(&study("3", "7200")).unwrap();
    for (timeout, lease) in [("\"3s\"", "\"2h\""), ("3.0", "\"120m\""), ("\"3\"", "\"120 min\"")] {
        assert!(read(&study(timeout, lease)).unwrap().declares_the_same(&seconds), "{timeout}, {lease}");
    }
    assert!(read(&study("\"0.5h\"", "\"3d\"")).unwrap().to_toml().contains("lease = 259200"));
    for wrong in ["\"3 parsecs\"", "\"-1h\"", "\"\"", "0", "true"] {
        let said = refused(&study(wrong, "60"));
        assert!(said.contains("timeout") && said.contains("seconds"), "{wrong}: {said}");
    }
}

#[test]
fn kernels_are_known_by_all_their_names_in_any_case() {
    let study = |name: &str| {
        format!("budget = 8\nkernel = {{ name = \"{name}\", lengthscale = 0.3 }}\n\n[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n")
    };
    let plain = read(&study("squared-exponential")).unwrap();
    for name in ["SE", "se", "RBF", "rbf", "Squared-Exponential", "squared_exponential", "squared exponential"] {
        assert_eq!(read(&study(name)).unwrap().problem().kernel(), plain.problem().kernel(), "{name}");
    }
    assert_eq!(read(&study("Matérn-1.5")).unwrap().problem().kernel(), read(&study("matern-1.5")).unwrap().problem().kernel());
    assert!(refused(&study("SEE")).contains("unknown kernel"));
}

/// A plate that nobody makes, or a well that it does not have, is found out before the study begins.
#[test]
fn plates_are_those_that_there_are() {
    let read = |plate: &str| {
        let text = format!("plates = 1\n{plate}\nstrategy = \"sobol\"\n[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n");
        StudySpec::from_toml(&text, Path::new(".")).map(|spec| spec.problem().budget()).map_err(|error| error.to_string())
    };
    let refused = |plate: &str, words: &str| assert!(read(plate).is_err_and(|said| said.contains(words)), "{plate}: {:?}", read(plate));
    refused("plate = 7", "plate: found 7, where a plate of 6, 12, 24, 48, 96, 384 or 1536 wells is needed");
    refused("plate = 6\nblocked = [\"Z99\"]", "blocked: found \"Z99\", where wells of this plate");
    refused("plate = 6\nblocked = [\"\"]", "blocked: found \"\"");
    assert_eq!(read("plate = 6\nblocked = [\"a1\", \" A01 \"]"), Ok(5), "one well, however it is written");
}

/// A list of one needs no brackets, whichever key it belongs to.
#[test]
fn one_value_is_a_list_of_one() {
    let float = "[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n";
    let cases = [
        ("plates = 1\nplate = 12\n", "blocked", "\"A1\"", float),
        ("budget = 3\n", "constraints", "\"x <= 0.5\"", float),
        ("budget = 3\n[parameters.x]\ntype = \"categorical\"\n", "choices", "\"dmso\"", ""),
        ("budget = 3\n[parameters.x]\ntype = \"ordinal\"\n", "choices", "5", ""),
        ("budget = 3\n[candidates]\nrows = [[1], [2]]\n", "columns", "\"x\"", ""),
        ("budget = 3\n[candidates]\ncolumns = [\"x\"]\nrows = [[1]]\n", "labels", "\"one\"", ""),
        ("budget = 3\n[candidates]\ncolumns = [\"x\"]\nrows = [[1]]\n", "costs", "2.5", ""),
    ];
    for (before, key, one, after) in cases {
        let written = |value: &str| read(&format!("{before}{key} = {value}\n{after}"));
        let (bare, listed) = (written(one).unwrap(), written(&format!("[{one}]")).unwrap());
        assert!(bare.declares_the_same(&listed), "{key} = {one}");
        assert_eq!(bare.to_toml(), listed.to_toml());
    }
    let candidates = |rows: &str| read(&format!("budget = 3\n[candidates]\ncolumns = \"x\"\nrows = {rows}\n"));
    assert!(candidates("[1, 2]").unwrap().declares_the_same(&candidates("[[1], [2]]").unwrap()));
    // What is no list of the right things is named.
    assert!(refused("plates = 1\nplate = 12\nblocked = 1\n").contains("line 3"));
    let said = refused("budget = 3\n[candidates]\ncolumns = \"x\"\nrows = 1\n");
    assert!(said.contains("line 4") && said.contains("expected a list in brackets"), "{said}");
}
