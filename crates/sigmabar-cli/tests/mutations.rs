//! Parsers against spoilt input: valid files with bytes flipped, cut, doubled and spliced. Refused or understood, never a panic. One second for each in
//! every test run; `SIGMABAR_MUTATION_SECONDS=60` for longer. The coverage-guided form is in `fuzz/`.

use sigmabar::sealed::{Kind, open, seal};
use sigmabar_cli::data::{Categories, Frame, Options, Reader, Selection, Wanted};
use sigmabar_cli::model::Model;
use sigmabar_study::{StudySpec, parse_expression, parse_reply};
use std::io::Cursor;
use std::path::Path;
use std::time::{Duration, Instant};

/// SplitMix64.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % limit.max(1) as u64) as usize
    }
}

const PIECES: [&[u8]; 20] = [
    b"1e400",
    b"-1",
    b"NaN",
    b"\"",
    b"[",
    b"]",
    b"{",
    b"}",
    b"=",
    b",",
    b";",
    b"\n",
    b"\r",
    b"\xff",
    b"\0",
    b"18446744073709551616",
    b"failed",
    b"..",
    b"#",
    b"true",
];

fn spoil(dice: &mut Dice, seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = seeds[dice.below(seeds.len())].clone();
    for _ in 0..=dice.below(6) {
        let at = dice.below(bytes.len() + 1);
        let end = (at + dice.below(24)).min(bytes.len());
        match dice.below(6) {
            0 if at < bytes.len() => bytes[at] ^= 1 << dice.below(8),
            1 => drop(bytes.drain(at..end)),
            2 => {
                let copy = bytes[at..end].to_vec();
                bytes.splice(at..at, copy);
            }
            3 => drop(bytes.splice(at..at, PIECES[dice.below(PIECES.len())].iter().copied())),
            4 => {
                let other = &seeds[dice.below(seeds.len())];
                let from = dice.below(other.len());
                let piece = other[from..(from + dice.below(40)).min(other.len())].to_vec();
                bytes.splice(at..end, piece);
            }
            _ => bytes.truncate(at),
        }
    }
    bytes
}

/// Feeds spoilt input until the time is up; whole seeds must be understood.
fn attack(name: &str, seeds: &[Vec<u8>], parse: impl Fn(&[u8]) -> bool) {
    assert!(seeds.iter().all(|seed| parse(seed)), "every seed of {name} is valid");
    let seconds = std::env::var("SIGMABAR_MUTATION_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let (begun, mut dice, mut tried, mut understood) = (Instant::now(), Dice(seeds.len() as u64), 0_u64, 0_u64);
    while begun.elapsed() < Duration::from_secs(seconds) {
        understood += u64::from(parse(&spoil(&mut dice, seeds)));
        tried += 1;
    }
    println!("{name}: {tried} inputs, {understood} understood");
}

fn texts(list: &[&str]) -> Vec<Vec<u8>> {
    list.iter().map(|text| text.as_bytes().to_vec()).collect()
}

#[test]
fn study_files() {
    let plain = "budget = 8\nbatches = [4, 4]\nconstraints = [\"a + b <= 1\"]\n[parameters.a]\ntype = \"float\"\nlow = 0\nhigh = 1\nlog = false\n[parameters.b]\ntype = \"ordinal\"\nchoices = [1, 2, 4]\n";
    let seeds = texts(&[
        include_str!("../src/verbs/hills.toml"),
        include_str!("cmd/tuning.in/tuning.toml"),
        plain.replace("[1, 2, 4]", "[0, 0.5]").as_str(),
    ]);
    attack("study file", &seeds, |bytes| {
        let nowhere = Path::new("/nonexistent");
        let Ok(text) = std::str::from_utf8(bytes) else { return false };
        let spec = StudySpec::from_toml(text, nowhere);
        if let Ok(spec) = &spec {
            let again = StudySpec::from_toml(&spec.to_toml(), nowhere).expect("what was written can be read");
            assert_eq!(again.to_toml(), spec.to_toml());
        }
        drop(StudySpec::from_json(text, nowhere));
        spec.is_ok()
    });
}

#[test]
fn expressions() {
    let seeds = texts(&["a + b + c == 1", "2 * x - 0.5 * y <= 3", "x < y", "-(a + 2*b) >= -4e-3"]);
    attack("expression", &seeds, |bytes| std::str::from_utf8(bytes).is_ok_and(|text| parse_expression(text).is_ok()));
}

#[test]
fn tables_and_plates() {
    let plate = "well,trial,x,result,std,note\nA1,3,0.5,1.25,0.1,\nA2,0,0.1,failed,,\"cell, dead\"\nA3,7,0.2,,,\n";
    attack("table", &texts(&[plate, "trial;result\n1;2.5\n2;3\n", "\u{feff}trial\tresult\r\n1\t2\r\n"]), |bytes| {
        let open = || Reader::csv("t.csv".into(), Box::new(Cursor::new(bytes.to_vec()))).ok();
        if let Some(reader) = open() {
            let selection = Selection {
                wanted: Wanted::AllBut(Vec::new()),
                categories: Categories::Collected(Vec::new()),
                memory: None,
                options: Options::None,
                drop_missing: false,
            };
            if let Ok(frame) = Frame::read(reader, &selection) {
                assert!(frame.values.len() == frame.len() * frame.columns.len() && frame.values.iter().all(|value| value.is_finite()));
            }
        }
        open().is_some_and(|reader| sigmabar_cli::plate::read(reader, None, &[], 1).is_ok())
    });
}

#[test]
fn lines_of_an_objective() {
    let seeds = texts(&[
        "{\"id\":17,\"value\":0.83,\"std\":0.02}",
        "{\"id\": 3, \"error\": \"no mesh\"}",
        "{\"id\":0,\"value\":-1e-9,\"more\":[1,{}]}",
    ]);
    attack("line of an objective", &seeds, |bytes| parse_reply(bytes).is_ok());
}

#[test]
fn model_files() {
    let directory = tempfile::tempdir().unwrap();
    let rows: String = (0..30).map(|i| format!("{},{}\n", f64::from(i) / 30.0, (f64::from(i) / 5.0).sin())).collect();
    let (data, model) = (directory.path().join("data.csv"), directory.path().join("model.sbm"));
    std::fs::write(&data, format!("x,y\n{rows}")).unwrap();
    let fit = [
        "fit",
        data.to_str().unwrap(),
        "--target",
        "y",
        "--lengthscale",
        "0.2",
        "--tau",
        "0.1",
        "--quiet",
        "--format",
        "csv",
        "--out",
        model.to_str().unwrap(),
    ];
    assert_cmd::Command::new(env!("CARGO_BIN_EXE_sigmabar")).args(fit).assert().success();
    let whole = std::fs::read(&model).unwrap();
    attack("model file", std::slice::from_ref(&whole), |bytes| Model::from_bytes(bytes).is_ok());
    // Spoilt inside, with a checksum that is right again: the content and the remark themselves have to be looked at.
    let inside = open(Kind::Model, &whole).unwrap();
    let content = |bytes: &[u8]| Model::from_bytes(&seal(Kind::Model, inside.remark, bytes)).is_ok();
    attack("content of a model file", &[inside.content.to_vec()], content);
    let remark = |bytes: &[u8]| Model::from_bytes(&seal(Kind::Model, &String::from_utf8_lossy(bytes), inside.content)).is_ok();
    attack("remark of a model file", &[inside.remark.as_bytes().to_vec()], remark);
}
