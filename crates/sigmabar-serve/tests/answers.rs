//! What the answer's page shows, and when.

use crate::support;

use sigmabar_serve::Source;
use sigmabar_study::Study;
use std::io::{BufRead, BufReader, Write};
use std::time::{Duration, Instant};
use support::Server;

const CERTIFIED: &str = "budget = 16\nbatches = 2\nstrategy = \"s-bpe\"\nnorm_bound = 2\nnoise = { gaussian = 0.05 }\n\
                         kernel = { name = \"squared-exponential\", lengthscale = 0.5 }\n[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n";

/// Asks and tells until nothing is left.
fn measure(server: &Server) {
    loop {
        let asked = server.post("/api/v1/studies/bump/ask?wait=20", r#"{"worker":"w","at_most":50}"#).json();
        if asked["state"] == "finished" {
            return;
        }
        for trial in asked["trials"].as_array().into_iter().flatten() {
            let x = trial["values"]["x"].as_f64().unwrap();
            let body = format!("{{\"value\":{}}}", (-2.0 * (x - 0.6) * (x - 0.6)).exp());
            assert_eq!(server.send("PUT", &format!("/api/v1/studies/bump/trials/{}/result", trial["id"]), Some(&body)).status, 201);
        }
    }
}

/// The page once nothing of it is still to come, and it knows everything that was told.
fn whole(server: &Server) -> String {
    let begun = Instant::now();
    loop {
        let page = server.get("/s/bump").body;
        // Half a page has its certificate already, and one that is behind says so.
        let is_behind = page.contains("the answer below is a moment older");
        assert!(page.contains("class=\"certificate\"") || page.contains("The answer is being computed") || is_behind, "{page}");
        if !page.contains("data-waiting") && !is_behind {
            return page;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{page}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The range of a claim takes long to find out: a server that has found it leaves it in the file for the next one.
#[test]
fn where_a_claim_breaks_is_shown_and_found_out_once() {
    let directory = tempfile::tempdir().unwrap();
    let file = support::with(directory.path(), "bump", CERTIFIED);
    let is_known = || Study::open(&file, None).unwrap().strategy().unwrap().found_out().is_some_and(|(_, is_known)| is_known);
    let server = Server::start(Source::File(file.clone()));
    measure(&server);
    assert!(!is_known(), "nobody has looked yet");
    let page = whole(&server);
    assert!(page.contains("class=\"answer certified\""), "{page}");
    assert!(page.contains("What would have to be true for this to be wrong?") && page.contains("<figure id=\"premises\">"), "{page}");
    // The range as pictures: along the norm, along the noise, and the map, as in the report.
    let report = server.get("/s/bump/report").body;
    for (name, columns) in
        [("premises", "norm_bound,gap"), ("premises-noise", "noise_level,gap"), ("premise-map", "length_scale_factor,norm_bound,gap")]
    {
        assert!(page.contains(&format!("<figure id=\"{name}\">")), "{name}: {page}");
        let numbers = server.get(&format!("/api/v1/studies/bump/pictures/{name}.csv"));
        assert!(numbers.status == 200 && numbers.body.starts_with(columns), "{}", numbers.body);
        assert!(report.contains("data-waiting") || report.contains(&format!("<figure id=\"{name}\">")), "{name}");
    }
    drop(server);
    assert!(is_known(), "the server leaves what it found out");
    let next = Server::start(Source::File(file.clone()));
    let shown = |page: &str| page.split("<section class=\"answer").nth(1).unwrap().split("<h2").next().unwrap().to_owned();
    assert_eq!(shown(&whole(&next)), shown(&page), "the next server says the same");
}

/// A strategy without premises claims nothing, and no model is asked what would break it.
#[test]
fn an_estimate_has_nothing_that_could_break() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(Source::File(support::study(directory.path(), "bump", 8)));
    measure(&server);
    let page = whole(&server);
    assert!(page.contains("class=\"answer estimated\"") && !page.contains("What would have to be true"), "{page}");
}

/// A study whose data contradict its premises stops, until somebody says to go on: here, or in another process.
#[test]
fn that_a_study_goes_on_is_heard_from_another_process() {
    let directory = tempfile::tempdir().unwrap();
    let file = support::with(directory.path(), "bump", CERTIFIED);
    let server = Server::start(Source::File(file.clone()));
    let ask = |worker: &str| server.post("/api/v1/studies/bump/ask?wait=5", &format!(r#"{{"worker":"{worker}","at_most":50}}"#));
    for trial in ask("w").json()["trials"].as_array().unwrap() {
        let id = trial["id"].as_u64().unwrap();
        let body = format!("{{\"value\":{}}}", if id % 2 == 0 { 500 } else { -500 });
        assert_eq!(server.send("PUT", &format!("/api/v1/studies/bump/trials/{id}/result"), Some(&body)).status, 201);
    }
    assert_eq!(ask("w").error(), (409, "contradicted".into()));
    assert!(whole(&server).contains("The data contradict the premises"));
    for path in ["premises", "premises?factors=0.7"] {
        let premises = server.get(&format!("/api/v1/studies/bump/{path}")).json();
        assert!(premises["standing"].is_null() && premises["reason"].as_str().unwrap().contains("norm"), "{path}: {premises}");
    }
    // By now the server has heard of everything that was told: it knows why there is no plan, and makes no other.
    std::thread::sleep(Duration::from_millis(400));
    assert_eq!(ask("w").error(), (409, "contradicted".into()));
    Study::open(&file, None).unwrap().go_on_despite_contradiction().unwrap();
    let begun = Instant::now();
    let mut answer = ask("w");
    while answer.status == 409 {
        assert!(begun.elapsed() < Duration::from_secs(5), "the server still says that the data contradict the premises");
        answer = ask("w");
    }
    assert_eq!(answer.json()["state"], "trials");
}

/// A lease runs out without a word in the file: whoever looks at the page, or asks for numbers, sees it all the same.
#[test]
fn a_lease_that_runs_out_is_news() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(Source::File(support::study(directory.path(), "bump", 8)));
    let ask = r#"{"worker":"w","at_most":2,"lease_seconds":1}"#;
    assert_eq!(server.post("/api/v1/studies/bump/ask?wait=20", ask).json()["trials"].as_array().unwrap().len(), 2);
    let begun = Instant::now();
    let counts = || server.get("/api/v1/studies/bump").json()["counts"].clone();
    assert_eq!(counts()["leased"], 2);
    let mut stream = server.connect();
    let head =
        format!("GET /api/v1/studies/bump/events HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\r\n", server.address, support::TOKEN);
    stream.write_all(head.as_bytes()).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let mut news = BufReader::new(stream);
    // What was known at first, and what came of looking at it, is told before the second is over.
    let is_told = std::iter::repeat_with(|| news.read_line(&mut String::new())).take_while(|_| begun.elapsed() < Duration::from_secs(4));
    assert!(is_told.flatten().any(|_| begun.elapsed() > Duration::from_secs(1)), "the page hears of it");
    assert_eq!((&counts()["leased"], &counts()["expired"]), (&serde_json::Value::Null, &serde_json::json!(2)));
}
