//! What the answer's page shows, and when.

use crate::support;

use sigmabar_serve::Source;
use sigmabar_study::Study;
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
    let numbers = server.get("/api/v1/studies/bump/pictures/premises.csv");
    assert!(numbers.status == 200 && numbers.body.starts_with("norm_bound,gap"), "{}", numbers.body);
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
