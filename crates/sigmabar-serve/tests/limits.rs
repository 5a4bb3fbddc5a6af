//! What a server gives to each of many who ask: places, requests a second, memory.

use crate::support;

use sigmabar_serve::{Limits, Source, Tokens};
use std::io::{Read, Write};
use std::time::{Duration, Instant};
use support::{Answer, Server, TOKEN, bearer, study};

fn limited(limits: Limits) -> (tempfile::TempDir, Server) {
    let directory = tempfile::tempdir().unwrap();
    let file = study(directory.path(), "demo", 20);
    let server = Server::limited(Source::File(file), "127.0.0.1:0".parse().unwrap(), limits);
    (directory, server)
}

#[test]
fn who_asks_too_often_is_told_for_how_long_to_wait() {
    let (_directory, server) = limited(Limits { rate: 2, ..Limits::default() });
    let begun = Instant::now();
    let answers: Vec<Answer> = (0..20).map(|_| server.get("/api/v1/studies")).collect();
    let answered = answers.iter().filter(|answer| answer.status == 200).count();
    let allowed = 5 + 2 * (1 + begun.elapsed().as_secs() as usize);
    assert!((4..=allowed).contains(&answered), "{answered}, of {allowed}");
    let refused = answers.iter().find(|answer| answer.status != 200).expect("twenty at once are too many");
    assert_eq!(refused.error(), (429, "too-many".into()));
    assert!(refused.head.contains("retry-after: 1") && refused.body.contains("--rate"), "{refused:?}");
    // The other token has a bucket of its own.
    let reading = format!("Authorization: Bearer {}", Tokens::new(TOKEN).read());
    assert_eq!(server.raw("GET", "/api/v1/studies", &[&reading], None).status, 200);
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(server.get("/api/v1/studies").status, 200, "after that it goes on");
    let described = server.raw("GET", "/api/v1/openapi.json", &[&reading], None);
    if described.status == 200 {
        assert_eq!(
            described.json()["paths"]["/api/v1/studies"]["get"]["responses"]["429"]["headers"]["Retry-After"]["schema"]["type"],
            "integer"
        );
    }
}

#[test]
fn a_server_whose_places_are_all_taken_stops_when_it_is_told_to() {
    let (_directory, server) = limited(Limits { connections: 4, ..Limits::default() });
    let head = format!("GET /healthz HTTP/1.1\r\nHost: {}\r\n\r\n", server.address);
    let taken: Vec<_> = (0..4)
        .map(|_| {
            let mut stream = server.connect();
            stream.write_all(head.as_bytes()).unwrap();
            stream.read_exact(&mut [0; 16]).unwrap();
            stream
        })
        .collect();
    let mut fifth = server.connect();
    fifth.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    fifth.write_all(head.as_bytes()).unwrap();
    assert!(fifth.read(&mut [0; 16]).is_err(), "there is no place for another one");
    let begun = Instant::now();
    drop(server);
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    drop(taken);
}

#[test]
fn whoever_asks_and_never_reads_keeps_no_place() {
    let (_directory, server) = limited(Limits { connections: 1, slowest_reader: Duration::from_secs(1), ..Limits::default() });
    let mut hog = server.connect();
    let head = format!("GET /api/v1/openapi.json HTTP/1.1\r\nHost: {}\r\n{}\r\n\r\n", server.address, bearer());
    // More than any buffer between the two holds, and none of it is read.
    hog.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
    let _ = hog.write_all(head.repeat(2000).as_bytes());
    let begun = Instant::now();
    assert_eq!(server.get("/healthz").status, 200, "after {:?}", begun.elapsed());
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    drop(hog);
}

#[test]
fn streams_leave_places_for_workers() {
    let (_directory, server) = limited(Limits { connections: 16, ..Limits::default() });
    let follow = |token: &str, path: &str| {
        let mut stream = server.connect();
        let head = format!("GET {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\n\r\n", server.address);
        stream.write_all(head.as_bytes()).unwrap();
        let mut first = [0; 12];
        stream.read_exact(&mut first).unwrap();
        (stream, String::from_utf8_lossy(&first[9..]).into_owned())
    };
    let read = Tokens::new(TOKEN).read().to_owned();
    let looking: Vec<_> =
        (0..6).map(|i| follow(&read, if i % 2 == 0 { "/api/v1/events" } else { "/api/v1/studies/demo/events" })).collect();
    let answers: Vec<&str> = looking.iter().map(|(_, status)| status.as_str()).collect();
    assert_eq!(answers, ["200", "200", "503", "503", "503", "503"], "an eighth of the places for each token");
    assert_eq!(follow(TOKEN, "/api/v1/events").1, "200", "the other token has places of its own");
    assert_eq!(server.post("/api/v1/studies/demo/ask?wait=10", r#"{"worker":"w"}"#).status, 200);
    drop(looking);
    let begun = Instant::now();
    while follow(&read, "/api/v1/events").1 != "200" {
        assert!(begun.elapsed() < Duration::from_secs(20), "places are given back");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn what_nobody_looks_at_is_forgotten_and_made_again() {
    let (_directory, server) = limited(Limits { rest_after: Duration::from_millis(500), ..Limits::default() });
    let is_kept = || server.get("/metrics").body.contains("sigmabar_answer_kept{study=\"demo\"} 1");
    let wait_until_forgotten = || {
        let begun = Instant::now();
        while is_kept() {
            assert!(begun.elapsed() < Duration::from_secs(20), "the answer is kept though nobody looks");
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    let look = || assert_eq!(server.get("/api/v1/studies/demo/recommendation").status, 200);
    look();
    wait_until_forgotten();
    let mut open = server.connect();
    let head = format!("GET /api/v1/studies/demo/events HTTP/1.1\r\nHost: {}\r\n{}\r\n\r\n", server.address, bearer());
    open.write_all(head.as_bytes()).unwrap();
    open.read_exact(&mut [0; 16]).unwrap();
    look();
    std::thread::sleep(Duration::from_secs(2));
    assert!(is_kept(), "a page is open");
    drop(open);
    wait_until_forgotten();
    look();
}
