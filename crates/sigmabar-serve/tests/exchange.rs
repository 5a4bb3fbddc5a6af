//! Asking and telling over HTTP: nothing acknowledged is lost, nothing is counted twice, whatever the network does.

use crate::support;

use sigmabar::linalg::Interrupt;
use sigmabar_serve::{Remote, Source};
use sigmabar_study::{AskRequest, Asked, Error, EventKind, EventRow, Exchange, Study, Told, TrialResult, TrialStatus};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use support::{Server, TOKEN, study};

fn value(value: f64) -> TrialResult {
    TrialResult::Value { value, standard_error: None, replicates: None }
}

fn remote(server: &Server) -> Remote {
    Remote::connect(&server.url(), None, None, &Interrupt::default(), Arc::new(|_| {})).unwrap()
}

#[test]
fn a_result_told_again_is_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let text = "budget = 8\nbatches = [4, 4]\n[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n";
    let file = support::with(directory.path(), "demo", text);
    let server = Server::start(Source::File(file.clone()));
    let ask = server.post("/api/v1/studies/demo/ask?wait=20", r#"{"worker":"w","at_most":4}"#).json();
    assert_eq!(ask["trials"].as_array().unwrap().len(), 4);
    let again = server.post("/api/v1/studies/demo/ask", r#"{"worker":"w","at_most":4}"#).json();
    assert_eq!(again["trials"][0]["id"], ask["trials"][0]["id"], "asking again gives the same");
    let tell = |id: u64, body: &str| server.send("PUT", &format!("/api/v1/studies/demo/trials/{id}/result"), Some(body));
    assert_eq!(tell(0, r#"{"value":1.5}"#).status, 201);
    assert_eq!(tell(0, r#"{"value":1.5}"#).status, 200);
    assert_eq!(tell(0, r#"{"value":1.6}"#).error(), (409, "already-told".into()));
    assert_eq!(tell(0, r#"{"failed":"no"}"#).error(), (409, "already-told".into()));
    assert_eq!(tell(1, r#"{"failed":"spilt"}"#).status, 201);
    assert_eq!(tell(1, r#"{"failed":"spilt, as said"}"#).status, 200);
    assert_eq!(tell(7, r#"{"value":1}"#).error(), (404, "unknown-trial".into()), "of a batch that is not planned yet");
    assert_eq!(tell(99, r#"{"value":1}"#).error(), (404, "unknown-trial".into()));
    for wrong in [
        "{}",
        r#"{"value":1,"failed":"x"}"#,
        r#"{"value":1,"standard_error":0}"#,
        r#"{"value":null}"#,
        r#"{"failed":"x","standard_error":1}"#,
    ] {
        assert_eq!(tell(2, wrong).error(), (422, "invalid".into()), "{wrong}");
    }
    let together = r#"{"results":[{"id":2,"value":1},{"id":0,"value":9}]}"#;
    assert_eq!(server.post("/api/v1/studies/demo/results", together).error(), (409, "already-told".into()));
    let study = Study::open(&file, None).unwrap();
    assert_eq!(study.trials().unwrap()[2].state, TrialStatus::Leased, "all or nothing");
    // A closed batch: what comes later is kept and counts for nothing.
    assert_eq!(server.post("/api/v1/studies/demo/close-batch", "{}").status, 200);
    assert_eq!(tell(2, r#"{"value":1}"#).json()["late"], true);
    assert_eq!(tell(2, r#"{"value":1}"#).json()["again"], true);
    assert_eq!(study.trials().unwrap()[2].state, TrialStatus::Late);
}

#[test]
fn a_key_is_kept_with_the_result_it_came_with() {
    let directory = tempfile::tempdir().unwrap();
    let file = study(directory.path(), "demo", 8);
    let server = Server::start(Source::File(file.clone()));
    server.post("/api/v1/studies/demo/ask?wait=20", r#"{"worker":"w","at_most":2}"#);
    let tell = |key: &str| {
        let headers = [&*format!("Authorization: Bearer {TOKEN}"), "Content-Type: application/json", &format!("Idempotency-Key: {key}")];
        server.raw("PUT", "/api/v1/studies/demo/trials/0/result", &headers, Some(r#"{"value":2}"#)).status
    };
    assert_eq!([tell("first"), tell("first"), tell("second")], [201, 200, 200]);
    let study = Study::open(&file, None).unwrap();
    assert_eq!(study.told_key(0).unwrap().as_deref(), Some("first"));
    assert_eq!(study.told_key(1).unwrap(), None);
    assert_eq!(tell(&"k".repeat(201)), 422);
}

#[test]
fn leases_are_renewed_given_back_and_run_out_over_http() {
    let directory = tempfile::tempdir().unwrap();
    let file = study(directory.path(), "demo", 2);
    let server = Server::start(Source::File(file));
    let ask = |worker: &str, wait: u32| {
        server.post(&format!("/api/v1/studies/demo/ask?wait={wait}"), &format!(r#"{{"worker":"{worker}","lease_seconds":1}}"#)).json()
    };
    assert_eq!(ask("a", 20)["trials"][0]["id"], 0);
    let renew = |worker: &str| {
        server.post("/api/v1/studies/demo/trials/0/lease", &format!(r#"{{"worker":"{worker}","lease_seconds":600}}"#)).json()["held"]
            .clone()
    };
    assert_eq!((renew("a"), renew("b")), (true.into(), false.into()));
    assert_eq!(ask("b", 0)["trials"][0]["id"], 1);
    // The lease of b runs out; a waiting worker is given its trial without asking anew.
    let waited = ask("c", 30);
    assert_eq!(waited["trials"][0]["id"], 1, "{waited}");
    assert_eq!(server.send("DELETE", "/api/v1/studies/demo/trials/0/lease?worker=a", None).status, 200);
    assert_eq!(ask("d", 0)["trials"][0]["id"], 0);
    // Paused: one worker, then everybody.
    server.post("/api/v1/studies/demo/pause", r#"{"paused":true,"worker":"e"}"#);
    server.send("DELETE", "/api/v1/studies/demo/trials/0/lease?worker=d", None);
    assert_eq!(ask("e", 0)["state"], "wait");
    server.post("/api/v1/studies/demo/pause", r#"{"paused":false,"worker":"e"}"#);
    assert_eq!(ask("e", 0)["state"], "trials");
    server.send("DELETE", "/api/v1/studies/demo/trials/0/lease?worker=e", None);
    server.post("/api/v1/studies/demo/pause", r#"{"paused":true}"#);
    assert_eq!(ask("f", 0)["state"], "wait");
    server.post("/api/v1/studies/demo/pause", r#"{"paused":false}"#);
    assert_eq!(ask("f", 0)["state"], "trials");
}

#[test]
fn what_others_do_to_the_file_is_seen_within_a_second() {
    let directory = tempfile::tempdir().unwrap();
    let file = study(directory.path(), "demo", 8);
    let server = Server::start(Source::File(file.clone()));
    let mut stream = server.connect();
    let head = format!("GET /api/v1/studies/demo/events HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n", server.address);
    stream.write_all(head.as_bytes()).unwrap();
    let mut lines = BufReader::new(stream).lines();
    assert!(lines.find(|line| line.as_ref().unwrap().contains("hello")).is_some());
    let study = Study::open(&file, None).unwrap();
    let Asked::Trials(trials) = study.ask(&AskRequest::new("beside", 1)).unwrap() else { panic!() };
    let begun = Instant::now();
    study.tell(trials[0].id, value(1.0)).unwrap();
    let told = lines.map(Result::unwrap).find(|line| line.contains("told")).unwrap();
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}: {told}", begun.elapsed());
    // Cut off after the second event, a reader goes on with the third.
    let last = study.last_event().unwrap();
    let mut stream = server.connect();
    let head = head.replace("\r\n\r\n", "\r\nLast-Event-ID: 2\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let ids: Vec<u64> = BufReader::new(stream)
        .lines()
        .map_while(Result::ok)
        .take_while(|line| !line.contains("changed"))
        .filter_map(|line| line.strip_prefix("id: ")?.parse().ok())
        .collect();
    assert_eq!(ids, (3..=last).collect::<Vec<_>>());
}

#[test]
fn every_screen_of_a_study_follows_it_and_its_numbers_are_there() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(Source::File(study(directory.path(), "demo", 20)));
    let asked = server.post("/api/v1/studies/demo/ask?wait=20", r#"{"worker":"w","at_most":12}"#).json();
    for trial in asked["trials"].as_array().unwrap() {
        let path = format!("/api/v1/studies/demo/trials/{}/result", trial["id"]);
        assert_eq!(server.send("PUT", &path, Some(&format!("{{\"value\":{}}}", trial["values"]["x"]))).status, 201);
    }
    let whole = |screen: &str| loop {
        let page = server.get(&format!("/s/demo{screen}"));
        if !page.body.contains("data-waiting") {
            return page;
        }
    };
    for screen in ["", "/trials", "/workers", "/plates", "/model", "/report"] {
        let page = whole(screen);
        assert!(page.status == 200 && page.body.contains("data-events=\"/api/v1/studies/demo/events\""), "{screen}");
        for link in page.body.split("download href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
            let numbers = server.get(link);
            assert!(numbers.status == 200 && numbers.body.contains(','), "{link} of {screen}: {}", numbers.status);
        }
    }
    let live = whole("/report").body;
    assert!(live.contains("download href=\"/api/v1/studies/demo/pictures/trials.csv\"") && !live.contains("<!--"), "{live}");
    let file = server.get("/s/demo/report.html");
    assert!(file.status == 200 && file.body.contains("<style>") && !file.body.contains("<script"), "the file needs nothing else");
    assert!(
        file.body.contains("data:text/csv") && !file.body.contains("/api/v1") && !live.contains("data:text/csv"),
        "its numbers are inside"
    );
}

#[test]
fn an_open_stream_does_not_keep_the_server_from_stopping() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(Source::File(study(directory.path(), "demo", 8)));
    let mut streams: Vec<TcpStream> = (0..5).map(|_| server.connect()).collect();
    for stream in &mut streams {
        let head = format!("GET /api/v1/studies/demo/events HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n", server.address);
        stream.write_all(head.as_bytes()).unwrap();
        stream.read_exact(&mut [0; 16]).unwrap();
    }
    let begun = Instant::now();
    drop(server);
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    for mut stream in streams {
        stream.read_to_end(&mut Vec::new()).unwrap();
    }
}

/// A network that loses the answer to every third request after the server has done it.
fn lossy(to: std::net::SocketAddr) -> (std::net::SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let lost = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&lost);
    std::thread::spawn(move || {
        for (number, client) in listener.incoming().enumerate() {
            let (mut client, count) = (client.unwrap(), Arc::clone(&count));
            std::thread::spawn(move || {
                let mut request = read_message(&mut client);
                if request.is_empty() {
                    return;
                }
                // The server must be called by its own name, and ends the connection after the answer.
                let text = String::from_utf8_lossy(&request).replace(&address.to_string(), &to.to_string());
                request = text.replacen("\r\n", "\r\nConnection: close\r\n", 1).into_bytes();
                let mut server = TcpStream::connect(to).unwrap();
                server.write_all(&request).unwrap();
                let mut answer = Vec::new();
                server.read_to_end(&mut answer).unwrap();
                if number % 3 == 2 {
                    count.fetch_add(1, Ordering::Relaxed);
                } else {
                    let _ = client.write_all(&answer);
                }
            });
        }
    });
    (address, lost)
}

/// A whole request.
pub fn read_message(stream: &mut TcpStream) -> Vec<u8> {
    let (mut bytes, mut part) = (Vec::new(), [0; 4096]);
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length =
                head.to_ascii_lowercase().lines().find_map(|line| line.strip_prefix("content-length: ")?.trim().parse::<usize>().ok());
            if body.len() >= length.unwrap_or(0) {
                return bytes;
            }
        }
        match stream.read(&mut part) {
            Ok(count) if count > 0 => bytes.extend_from_slice(&part[..count]),
            _ => return Vec::new(),
        }
    }
}

#[test]
fn a_worker_goes_on_through_a_network_that_loses_answers() {
    let directory = tempfile::tempdir().unwrap();
    let file = study(directory.path(), "demo", 24);
    let server = Server::start(Source::File(file.clone()));
    let (proxy, lost) = lossy(server.address);
    let url = format!("http://{proxy}/?token={TOKEN}");
    let remote = Remote::connect(&url, None, Some("demo"), &Interrupt::default(), Arc::new(|_| {})).unwrap();
    let outbox = directory.path().join("outbox");
    let (remote, left) = remote.with_outbox(&outbox).unwrap();
    assert_eq!(left, 0);
    let mut told = 0;
    loop {
        match remote.ask(&AskRequest::new("w", 2).with_lease(Duration::from_secs(60))).unwrap() {
            Asked::Trials(trials) => {
                for trial in trials {
                    remote.tell(trial.id, value(trial.id as f64)).unwrap();
                    told += 1;
                }
            }
            Asked::Wait => {}
            Asked::Finished => break,
        }
    }
    assert!(lost.load(Ordering::Relaxed) > 5, "the network lost answers");
    let study = Study::open(&file, None).unwrap();
    let rows = study.trials().unwrap();
    assert_eq!((told, rows.len()), (24, 24));
    let is_again = |event: &EventRow| event.kind == EventKind::AskedAgain;
    assert!(!study.events_after(0).unwrap().iter().any(is_again), "a request that is sent again is known by its key");
    assert!(rows.iter().all(|row| row.value == Some(row.id as f64) && row.attempts == 1), "none lost, none handed out twice");
    assert_eq!(std::fs::read_dir(&outbox).unwrap().count(), 0, "the outbox is empty");
}

/// Workers of one directory share its outbox: one that ends leaves it to the others, and one that cannot write there tells all the same.
#[test]
fn a_worker_that_ends_takes_no_outbox_from_the_others_and_none_is_needed() {
    let directory = tempfile::tempdir().unwrap();
    let file = study(directory.path(), "demo", 8);
    let server = Server::start(Source::File(file.clone()));
    let outbox = directory.path().join("outbox");
    let worker = || remote(&server).with_outbox(&outbox).unwrap().0;
    let (stays, ends) = (worker(), worker());
    let Asked::Trials(trials) = stays.ask(&AskRequest::new("w", 2)).unwrap() else { panic!() };
    drop(ends);
    assert!(outbox.is_dir(), "the others may be about to write there");
    stays.tell(trials[0].id, value(0.5)).unwrap();
    std::fs::remove_dir(&outbox).unwrap();
    std::fs::write(&outbox, "no directory can be made here").unwrap();
    stays.tell(trials[1].id, value(1.5)).unwrap();
    let told: Vec<_> = Study::open(&file, None).unwrap().trials().unwrap().iter().map(|row| row.value).collect();
    assert_eq!(trials[..2].iter().map(|trial| told[trial.id as usize]).collect::<Vec<_>>(), [Some(0.5), Some(1.5)]);
}

#[test]
fn what_a_dead_worker_left_in_its_outbox_is_sent_by_the_next() {
    let directory = tempfile::tempdir().unwrap();
    let file = study(directory.path(), "demo", 8);
    let server = Server::start(Source::File(file.clone()));
    let Asked::Trials(trials) = remote(&server).ask(&AskRequest::new("w", 2)).unwrap() else { panic!() };
    let outbox = directory.path().join("outbox");
    std::fs::create_dir(&outbox).unwrap();
    let identity = Study::open(&file, None).unwrap().identity().to_owned();
    let letter = |id: u64, server: &str, study: &str, identity: &str| {
        format!(r#"{{"server":"{server}","study":"{study}","identity":"{identity}","id":{id},"key":"k{id}","result":{{"value":{id}.5}}}}"#)
    };
    let own = format!("http://{}", server.address);
    std::fs::write(outbox.join("a.json"), letter(trials[0].id, &own, "demo", &identity)).unwrap();
    // The server has moved, and what it calls the study has changed: it is the same study.
    std::fs::write(outbox.join("b.json"), letter(trials[1].id, "http://elsewhere:1", "old.demo", &identity)).unwrap();
    std::fs::write(outbox.join("c.json"), "{ half").unwrap();
    std::fs::write(outbox.join("d.json"), letter(trials[0].id, &own, "another", "0123")).unwrap();
    let (_remote, sent) = remote(&server).with_outbox(&outbox).unwrap();
    assert_eq!(sent, 2);
    let study = Study::open(&file, None).unwrap();
    for trial in &trials[..2] {
        assert_eq!(study.trials().unwrap()[trial.id as usize].value, Some(trial.id as f64 + 0.5));
    }
    assert_eq!(study.told_key(trials[0].id).unwrap().as_deref(), Some(&*format!("k{}", trials[0].id)));
    assert_eq!(std::fs::read_dir(&outbox).unwrap().count(), 2, "what is for others stays");
}

#[test]
fn duplicated_and_reordered_requests_change_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let file = study(directory.path(), "demo", 40);
    let server = Server::start(Source::File(file.clone()));
    let ask = server.post("/api/v1/studies/demo/ask?wait=20", r#"{"worker":"w","at_most":20}"#).json();
    let ids: Vec<u64> = ask["trials"].as_array().unwrap().iter().map(|trial| trial["id"].as_u64().unwrap()).collect();
    // Each result four times, from eight threads, in orders of their own.
    let counted = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for thread in 0..8usize {
            let (server, ids, counted) = (&server, &ids, &counted);
            scope.spawn(move || {
                for i in 0..ids.len() / 2 {
                    let id = ids[(i * 7 + thread * 3) % ids.len()];
                    let path = format!("/api/v1/studies/demo/trials/{id}/result");
                    let answer = server.send("PUT", &path, Some(&format!(r#"{{"value":{id}}}"#)));
                    assert!(matches!(answer.status, 200 | 201), "{answer:?}");
                    counted.fetch_add(usize::from(answer.status == 201), Ordering::Relaxed);
                }
            });
        }
    });
    let rows = Study::open(&file, None).unwrap().trials().unwrap();
    let told = rows.iter().filter(|row| row.value.is_some()).count();
    assert_eq!(counted.load(Ordering::Relaxed), told, "201 is said once for each result");
    assert!(rows.iter().filter(|row| row.value.is_some()).all(|row| row.value == Some(row.id as f64)));
}

#[test]
fn wrong_addresses_and_tokens_are_named_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(Source::File(study(directory.path(), "demo", 8)));
    let connect = |url: &str, name: Option<&str>| {
        let error = Remote::connect(url, None, name, &Interrupt::default(), Arc::new(|_| {})).unwrap_err();
        assert!(matches!(error, Error::Server { .. }));
        error.to_string()
    };
    assert!(connect(&format!("http://{}", server.address), None).contains("SIGMABAR_TOKEN"));
    assert!(connect(&format!("http://{}/?token=wrong-token-0123456", server.address), None).contains("token is wrong"));
    assert!(connect(&server.url(), Some("other")).contains("there are: demo"));
    assert!(connect(&format!("http://{}/?token=…", server.address), None).contains("is no token"), "pasted from a page");
    assert!(connect("https://host/?token=x", None).contains("ssh -L"));
    assert!(connect(&format!("http://127.0.0.1:9/?token={TOKEN}"), None).contains("not reached"));
    assert_eq!(remote(&server).study(), "demo");
    let Asked::Trials(trials) = remote(&server).ask(&AskRequest::new("w", 1)).unwrap() else { panic!() };
    assert_eq!(remote(&server).tell(trials[0].id, value(1.0)).unwrap(), Told::Counted);
    assert!(matches!(remote(&server).tell(trials[0].id, value(2.0)), Err(Error::AlreadyTold { .. })));
    assert!(remote(&server).renew(trials[0].id, "w", Duration::from_secs(5)).is_ok_and(|held| !held));
}

#[test]
fn a_study_file_amended_beside_the_server_is_followed() {
    let directory = tempfile::tempdir().unwrap();
    let file = study(directory.path(), "demo", 4);
    let server = Server::start(Source::File(file.clone()));
    let remote = remote(&server);
    let finish = || loop {
        match remote.ask(&AskRequest::new("w", 4)).unwrap() {
            Asked::Trials(trials) => trials.iter().for_each(|trial| assert_eq!(remote.tell(trial.id, value(1.0)).unwrap(), Told::Counted)),
            Asked::Wait => {}
            Asked::Finished => return remote.status().unwrap().planned,
        }
    };
    assert_eq!(finish(), 4);
    let text = "budget = 9\nstrategy = \"random\"\n[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n";
    let edited = sigmabar_study::StudySpec::from_toml(text, directory.path()).unwrap();
    assert_eq!(Study::open(&file, None).unwrap().amend(&edited).unwrap(), ["budget"]);
    let begun = Instant::now();
    while remote.status().unwrap().budget != 9 {
        assert!(begun.elapsed() < Duration::from_secs(5), "the server goes on by the old study file");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(finish(), 9);
}

/// What was typed is asked about before it is written down; what a program came to is what it is.
#[test]
fn a_result_that_looks_mistyped_is_asked_about() {
    let directory = tempfile::tempdir().unwrap();
    let text = "plates = 1\nplate = 12\nstrategy = \"s-bpe\"\nprior_mean = 50\nunit = 20\nnorm_bound = 2\nnoise = { gaussian = 0.1 }\n\
                kernel = { name = \"matern\", lengthscale = 0.5 }\n[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n";
    let file = support::with(directory.path(), "demo", text);
    let server = Server::start(Source::File(file.clone()));
    let post = |path: &str, body: &str| server.post(&format!("/api/v1/studies/demo{path}"), body);
    let tell =
        |id: u64, query: &str, body: &str| server.send("PUT", &format!("/api/v1/studies/demo/trials/{id}/result{query}"), Some(body));
    assert_eq!(post("/plates", r#"{"wells":12,"name":"plate1"}"#).status, 200);
    let told = || Study::open(&file, None).unwrap().trials().unwrap().iter().filter(|row| row.value.is_some()).count();
    let words = "came to 555, and what was declared allows -6 to 106; nothing was written down: sure=true says that it was measured";
    let asked = |answer: support::Answer, words: &str| {
        let message = answer.json()["message"].as_str().unwrap().to_owned();
        assert!(answer.error() == (409, "mistyped".into()) && message.contains(words), "{message}");
        assert_eq!(told(), 0);
    };
    asked(tell(0, "?sure=false", r#"{"value":555}"#), words);
    asked(
        post("/results?sure=false", r#"{"results":[{"id":0,"value":60},{"id":1,"value":61},{"id":2,"value":62},{"id":3,"value":555}]}"#),
        words,
    );
    let sheet = r#"{"csv":"trial,result\n0,60\n1,61\n2,62\n3,555\n"}"#;
    asked(post("/import", sheet), "line 5: trial 3 (well");
    asked(post("/plates/1/wells", r#"{"wells":{"A1":"60","A2":"61","A3":"62","A4":"555"}}"#), words);
    assert_eq!(post("/import?dry_run=true", sheet).status, 200);
    assert_eq!(tell(0, "?sure=perhaps", r#"{"value":555}"#).error(), (400, "wrong-query".into()));
    assert_eq!(tell(0, "", r#"{"value":555}"#).status, 201, "programs tell what they came to");
    assert_eq!(tell(0, "?sure=false", r#"{"value":555}"#).status, 200, "what is written down is not asked about again");
    // A worker is asked nothing.
    assert_eq!(remote(&server).tell(1, value(777.0)).unwrap(), Told::Counted);
    assert_eq!(told(), 2);
}

#[test]
fn results_are_corrected_and_commands_do_not_come_over_the_network() {
    let directory = tempfile::tempdir().unwrap();
    let file = study(directory.path(), "demo", 4);
    let server = Server::start(Source::File(file.clone()));
    let post = |path: &str, body: &str| server.post(&format!("/api/v1/studies/demo{path}"), body);
    assert_eq!(post("/trials/0/replace", r#"{"value":1,"why":"x"}"#).error(), (404, "unknown-trial".into()));
    post("/ask?wait=20", r#"{"worker":"w","at_most":2}"#);
    assert_eq!(post("/trials/0/replace", r#"{"value":1,"why":"x"}"#).error(), (409, "not-told".into()));
    server.send("PUT", "/api/v1/studies/demo/trials/0/result", Some(r#"{"value":1}"#));
    assert_eq!(post("/trials/0/replace", r#"{"value":2,"why":" "}"#).error(), (422, "invalid".into()), "a reason is needed");
    assert_eq!(post("/trials/0/replace", r#"{"value":2,"why":"read wrong"}"#).json()["corrected"], "in-time");
    assert_eq!(post("/trials/0/void", r#"{"why":"spilt"}"#).json()["corrected"], "in-time");
    let rows = Study::open(&file, None).unwrap().trials().unwrap();
    assert_eq!((rows[0].state, rows[0].note.as_deref()), (TrialStatus::Failed, Some("spilt; before: read wrong")));
    assert_eq!(post("/retry-failed", "{}").json()["trials"], serde_json::json!([0]));
    let spec = |more: &str| {
        format!(r#"{{"spec":{{"budget":6,"strategy":"random","parameters":{{"x":{{"type":"float","low":0,"high":1}}}}{more}}}}}"#)
    };
    for more in [r#","objective":{"command":"touch ran"}"#, r#","objective":{"process":["sh"]}"#, r#","candidates":"/etc/passwd""#] {
        assert_eq!(post("/amend", &spec(more)).error(), (422, "invalid".into()), "{more}");
    }
    assert_eq!(post("/amend", &spec(r#","delta":0.3"#)).error(), (409, "unamendable".into()));
    assert_eq!(post("/amend", &spec("")).json()["keys"], serde_json::json!(["budget"]));
    assert_eq!(server.get("/api/v1/studies/demo").json()["budget"], 6);
    assert!(server.get("/api/v1/studies/demo/spec.toml").body.contains("budget = 6"));
}

#[test]
fn wells_of_a_replicated_setting_are_told_together() {
    let directory = tempfile::tempdir().unwrap();
    let text =
        "plate = 6\nplates = 1\nreplicates = 2\ncontrols = 1\nblocked = [\"A1\"]\n[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n";
    let file = support::with(directory.path(), "demo", text);
    let server = Server::start(Source::File(file.clone()));
    let post = |path: &str, body: &str| server.post(&format!("/api/v1/studies/demo{path}"), body);
    assert_eq!(post("/plates", r#"{"wells":6,"name":"plate1"}"#).json()["trials"].as_array().unwrap().len(), 2);
    let sheet = server.get("/api/v1/studies/demo/plates/1/sheet.csv").body;
    let lines: Vec<Vec<&str>> = sheet.lines().skip(1).map(|line| line.split(',').collect()).collect();
    assert!(lines.len() == 5 && lines.iter().all(|line| line[0] != "A1"), "{sheet}");
    let wells: Vec<&str> = lines.iter().filter(|line| line[1] == "0").map(|line| line[0]).collect();
    let control = lines.iter().find(|line| line[1] == "control").unwrap()[0];
    let one = format!(r#"{{"wells":{{"{}":"1.5"}}}}"#, wells[0]);
    let refused = post("/plates/1/wells", &one);
    assert!(refused.status == 422 && refused.body.contains(wells[1]), "{}", refused.body);
    let both = format!(r#"{{"wells":{{"{}":"1.5","{}":"2.5","{control}":"9"}}}}"#, wells[0], wells[1]);
    let looked = post("/plates/1/wells?dry_run=true", &both);
    assert_eq!(
        (looked.json()["told"].clone(), looked.json()["changes"][0]["kind"].clone()),
        (false.into(), "new".into()),
        "{}",
        looked.body
    );
    let study = Study::open(&file, None).unwrap();
    assert_eq!(study.trials().unwrap()[0].value, None);
    // The page keeps what is half typed by the study's identity, and says it with what it tells: another study of this name takes nothing.
    let own = study.identity();
    assert!(server.get("/s/demo/plates").body.contains(&format!("data-study=\"{own}\"")));
    let meant = |identity: &str, path: &str, body: &str| {
        let (bearer, meant) = (support::bearer(), format!("Sigmabar-Study: {identity}"));
        let headers = [bearer.as_str(), "Content-Type: application/json", &meant];
        server.raw("POST", &format!("/api/v1/studies/demo{path}"), &headers, Some(body))
    };
    let (table, why) = (r#"{"csv":"trial,result\n0,1\n"}"#, r#"{"why":"a slip"}"#);
    for (path, body) in [("/plates/1/wells", both.as_str()), ("/import", table), ("/trials/0/void", why)] {
        assert_eq!(meant("another", path, body).error(), (412, "another-study".into()), "{path}");
    }
    assert_eq!(study.trials().unwrap()[0].value, None);
    assert_eq!(meant(own, "/plates/1/wells", &both).json()["told"], true);
    assert_eq!(study.trials().unwrap()[0].value, Some(2.0), "the mean counts");
    assert!(server.get("/s/demo/plates").body.contains(">1.5<"), "and each well shows its own");
    // The other trial changes what the scatter of all wells says of this one, which is the same result all the same.
    let whole = |other: &str| {
        let rows: String = lines
            .iter()
            .filter(|line| line[1] != "control")
            .map(|line| {
                let result = if line[1] != "0" {
                    other
                } else if line[0] == wells[0] {
                    "1.5"
                } else {
                    "2.5"
                };
                format!("{},{},{},{result}\n", line[0], line[1], line[2])
            })
            .collect();
        serde_json::json!({ "csv": format!("well,trial,x,result\n{rows}") }).to_string()
    };
    let kinds = |answer: serde_json::Value| answer["changes"].as_array().unwrap().iter().map(|c| c["kind"].clone()).collect::<Vec<_>>();
    let before = study.trials().unwrap()[0].standard_error;
    assert_eq!(post("/import", &whole("4")).json()["told"], true);
    assert!(study.trials().unwrap()[0].standard_error < before, "pooled with wells that do not scatter");
    assert_eq!(kinds(post("/import?dry_run=true", &whole("4")).json()), ["same", "same"]);
    assert_eq!((study.controls().unwrap()[0].well.as_str(), study.controls().unwrap()[0].value), (control, 9.0));
    assert_eq!(post("/plates/1/wells", r#"{"wells":{"A1":"1"}}"#).error(), (422, "invalid".into()), "nothing is in a blocked well");
    // A plate that is asked for again stays where it lies.
    let before = study.trials().unwrap()[1].well.clone();
    post("/plates", r#"{"wells":6,"name":"plate1"}"#);
    assert_eq!(study.trials().unwrap()[1].well, before);
    assert_eq!(server.get("/api/v1/studies/demo/plates/2/sheet.csv").status, 404);
}

#[test]
fn a_plate_is_what_was_laid_out_together() {
    let directory = tempfile::tempdir().unwrap();
    let text = "budget = 80\nstrategy = \"random\"\ncontrols = 3\n[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n";
    let file = support::with(directory.path(), "demo", text);
    let server = Server::start(Source::File(file.clone()));
    let post = |path: &str, body: &str| server.post(&format!("/api/v1/studies/demo{path}"), body);
    let sheet = |plate: usize| server.get(&format!("/api/v1/studies/demo/plates/{plate}/sheet.csv"));
    let mut first = Vec::new();
    for (i, name) in ["anna", "bert", "carl", "d", "e", "f", "g", "h"].iter().enumerate() {
        let laid = post("/plates", &format!(r#"{{"name":"{name}","wells":12}}"#));
        assert_eq!(laid.json()["trials"].as_array().unwrap().len(), 9, "{}", laid.body);
        first.push(sheet(i + 1));
    }
    for (i, before) in first.iter().enumerate() {
        assert_eq!(before.status, 200, "{}", before.body);
        assert_eq!(sheet(i + 1).body, before.body, "plate {} stays as it was when others are laid out", i + 1);
    }
    let wells = |plate: usize, what: &str| -> Vec<String> {
        let lines = first[plate - 1].body.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>());
        lines.filter(|line| line[1] == what).map(|line| line[0].to_owned()).collect()
    };
    // A well that is a control on one plate and a trial or a control on another.
    let study = Study::open(&file, None).unwrap();
    for plate in 1..=8 {
        for (i, well) in wells(plate, "control").iter().enumerate() {
            let value = plate as f64 + i as f64 / 8.0;
            let told = post(&format!("/plates/{plate}/wells"), &format!(r#"{{"wells":{{"{well}":"{value}"}}}}"#));
            assert_eq!(told.status, 200, "plate {plate}, {well}: {}", told.body);
        }
    }
    assert!(study.trials().unwrap().iter().all(|row| row.value.is_none()), "no control became a result");
    let controls = study.controls().unwrap();
    assert_eq!(controls.len(), 24, "each plate has its own: {controls:?}");
    for plate in 1..=8 {
        for (i, well) in wells(plate, "control").iter().enumerate() {
            let kept = controls.iter().find(|control| control.plate == Some(plate as u64) && control.well == *well);
            assert_eq!(kept.map(|control| control.value), Some(plate as f64 + i as f64 / 8.0), "plate {plate}, {well}");
        }
    }
    let well = &wells(3, "control")[0];
    let retype = |value: &str| post("/plates/3/wells", &format!(r#"{{"wells":{{"{well}":"{value}"}}}}"#));
    assert_eq!(retype("3").status, 200, "the same again");
    assert_eq!(retype("0.77").error(), (409, "already-told".into()));
    assert!(study.controls().unwrap() == controls);
    // A sheet that comes back tells the controls of its own plate; controls alone belong to nobody knows which.
    let shared = controls.iter().find(|one| controls.iter().filter(|other| other.well == one.well).count() > 1).unwrap();
    let alone = post("/import", &format!(r#"{{"csv":"well,trial,result\n{},control,9\n"}}"#, shared.well));
    assert_eq!(alone.error(), (422, "invalid".into()), "{}", alone.body);
}
