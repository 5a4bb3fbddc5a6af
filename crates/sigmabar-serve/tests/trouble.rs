//! Trouble with studies, files and disks: what was measured is never lost and never told to the wrong study, and everybody hears what is wrong.

use crate::exchange::read_message;
use crate::support::{self, Server, TOKEN, study};

use sigmabar::linalg::Interrupt;
use sigmabar_serve::{Remote, Source};
use sigmabar_study::{AskRequest, Asked, Error, Exchange, Study, TrialResult};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

fn value(value: f64) -> TrialResult {
    TrialResult::Value { value, standard_error: None, replicates: None }
}

/// What a worker says on its way.
type Said = Arc<Mutex<Vec<String>>>;

fn worker(address: SocketAddr) -> (Remote, Said) {
    let said = Said::default();
    let heard = Arc::clone(&said);
    let say = Arc::new(move |words: String| heard.lock().unwrap().push(words));
    let url = format!("http://{address}/?token={TOKEN}");
    (Remote::connect(&url, None, None, &Interrupt::default(), say).unwrap(), said)
}

fn asked(remote: &Remote, at_most: usize) -> Vec<u64> {
    let begun = Instant::now();
    loop {
        assert!(begun.elapsed() < Duration::from_secs(60));
        if let Asked::Trials(trials) = remote.ask(&AskRequest::new("w", at_most)).unwrap() {
            return trials.iter().map(|trial| trial.id).collect();
        }
    }
}

/// The endings of what is in an outbox, in order.
fn endings(outbox: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(outbox) else { return Vec::new() };
    let mut found: Vec<String> = entries.map(|entry| entry.unwrap().path().extension().unwrap().to_string_lossy().into_owned()).collect();
    found.sort();
    found
}

fn letter(outbox: &Path, name: &str, server: &Server, identity: &str, id: u64, value: f64) {
    std::fs::create_dir_all(outbox).unwrap();
    let text = format!(
        r#"{{"server":"http://{}","study":"demo","identity":"{identity}","id":{id},"key":"{name}","result":{{"value":{value}}}}}"#,
        server.address
    );
    std::fs::write(outbox.join(format!("{name}.json")), text).unwrap();
}

/// A server between that answers for the other one where it is told to, by the head of the request.
fn between(to: SocketAddr, refuse: impl Fn(&str) -> Option<(u16, String)> + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, refuse) = (listener.local_addr().unwrap(), Arc::new(refuse));
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let (mut client, refuse) = (client.unwrap(), Arc::clone(&refuse));
            std::thread::spawn(move || {
                let request = String::from_utf8_lossy(&read_message(&mut client)).into_owned();
                let Some((head, _)) = request.split_once("\r\n\r\n") else { return };
                let answer = match refuse(head) {
                    Some((status, body)) => {
                        let wait = if status == 429 { "Retry-After: 3\r\n" } else { "" };
                        format!("HTTP/1.1 {status} No\r\n{wait}Content-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
                            .into_bytes()
                    }
                    None => {
                        let request = request.replace(&address.to_string(), &to.to_string());
                        let mut server = TcpStream::connect(to).unwrap();
                        server.write_all(request.replacen("\r\n", "\r\nConnection: close\r\n", 1).as_bytes()).unwrap();
                        let mut answer = Vec::new();
                        server.read_to_end(&mut answer).unwrap();
                        answer
                    }
                };
                let _ = client.write_all(&answer);
            });
        }
    });
    address
}

fn served() -> (tempfile::TempDir, PathBuf, Server) {
    let directory = tempfile::tempdir().unwrap();
    let file = study(directory.path(), "demo", 8);
    let server = Server::start(Source::File(file.clone()));
    (directory, file, server)
}

fn values(file: &Path) -> Vec<Option<f64>> {
    Study::open(file, None).unwrap().trials().unwrap().iter().map(|row| row.value).collect()
}

#[test]
fn an_old_letter_is_not_told_to_another_study_of_the_same_name() {
    let (directory, file, server) = served();
    let old = Study::open(&file, None).unwrap().identity().to_owned();
    let (remote, _) = worker(server.address);
    let id = asked(&remote, 1)[0];
    let address = server.address;
    drop(server);
    // The same name at the same address: another study.
    let anew = directory.path().join("anew");
    std::fs::create_dir(&anew).unwrap();
    let file = study(&anew, "demo", 8);
    let server = Server::start_at(Source::File(file.clone()), address);
    assert_ne!(Study::open(&file, None).unwrap().identity(), old);
    let (second, said) = worker(address);
    assert!(asked(&second, 1).contains(&id), "the trial of this number was handed out, and would take a result");
    // A worker that was at work, whose result goes into its outbox first.
    let outbox = directory.path().join("outbox");
    let refused = remote.with_outbox(&outbox).unwrap().0.tell(id, value(0.5)).unwrap_err();
    assert!(matches!(&refused, Error::Server { problem, .. } if problem.contains("another study")), "{refused}");
    assert_eq!(endings(&outbox), ["json"], "it is kept");
    // One that is started again, with the letter of the old study.
    letter(&outbox, "old", &server, &old, id, 0.75);
    letter(&outbox, "nameless", &server, "", id, 0.25);
    let (_second, sent) = second.with_outbox(&outbox).unwrap();
    assert_eq!((sent, endings(&outbox)), (0, vec!["json".to_owned(); 3]));
    assert_eq!(said.lock().unwrap().iter().filter(|words| words.contains("another study")).count(), 3);
    let bearer = format!("Authorization: Bearer {TOKEN}");
    let header = format!("Sigmabar-Study: {old}");
    let headers = [bearer.as_str(), "Content-Type: application/json", &header];
    let path = format!("/api/v1/studies/demo/trials/{id}/result");
    assert_eq!(server.raw("PUT", &path, &headers, Some(r#"{"value":1}"#)).error(), (412, "another-study".into()));
    let together = format!(r#"{{"results":[{{"id":{id},"value":1}}]}}"#);
    assert_eq!(server.raw("POST", "/api/v1/studies/demo/results", &headers, Some(&together)).error(), (412, "another-study".into()));
    assert!(values(&file).iter().all(Option::is_none), "nothing was told");
}

#[test]
fn a_worker_waits_for_a_disk_that_is_full() {
    let (directory, file, server) = served();
    let tries = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&tries);
    let full = |message: &str| (507, format!(r#"{{"error":"disk-full","message":"{message}"}}"#));
    let proxy = between(server.address, move |head| {
        (head.starts_with("PUT") && count.fetch_add(1, Ordering::Relaxed) < 5).then(|| full("the disk is full"))
    });
    let (remote, said) = worker(proxy);
    let outbox = directory.path().join("outbox");
    let (remote, _) = remote.with_outbox(&outbox).unwrap();
    let id = asked(&remote, 1)[0];
    remote.tell(id, value(0.5)).unwrap();
    assert_eq!((tries.load(Ordering::Relaxed), values(&file)[id as usize]), (6, Some(0.5)));
    assert!(said.lock().unwrap().iter().any(|words| words.contains("the disk is full")), "{said:?}");
    assert_eq!(endings(&outbox), [""; 0]);
}

#[test]
fn a_worker_waits_as_long_as_the_server_asks_for() {
    let directory = tempfile::tempdir().unwrap();
    let file = study(directory.path(), "demo", 8);
    // Two requests a second and four at once: finding the study takes some of them.
    let limits = sigmabar_serve::Limits { rate: 2, ..Default::default() };
    let server = Server::limited(Source::File(file.clone()), "127.0.0.1:0".parse().unwrap(), limits);
    let refusals = Arc::new(AtomicUsize::new(0));
    let (to, count) = (server.address, Arc::clone(&refusals));
    let asked_too_often = between(to, move |head| {
        let wait = || (429, r#"{"error":"too-many","message":"wait"}"#.to_owned());
        (head.starts_with("POST") && count.fetch_add(1, Ordering::Relaxed) < 1).then(wait)
    });
    let begun = Instant::now();
    let (remote, _) = worker(asked_too_often);
    let id = asked(&remote, 1)[0];
    assert!(begun.elapsed() > Duration::from_secs(3), "Retry-After said three seconds: {:?}", begun.elapsed());
    assert_eq!(refusals.load(Ordering::Relaxed), 2, "and it did not ask in between");
    // Against the server's own limit: all of it arrives, only later.
    let (remote, _) = worker(server.address);
    remote.tell(id, value(0.5)).unwrap();
    for _ in 0..6 {
        let id = asked(&remote, 1)[0];
        remote.tell(id, value(0.25)).unwrap();
    }
    assert_eq!(values(&file).into_iter().flatten().count(), 7);
}

#[test]
fn letters_that_are_refused_are_kept_and_stop_nobody() {
    let (directory, file, server) = served();
    let (remote, said) = worker(server.address);
    let id = asked(&remote, 1)[0];
    remote.tell(id, value(0.5)).unwrap();
    let (outbox, identity) = (directory.path().join("outbox"), Study::open(&file, None).unwrap().identity().to_owned());
    let letter = |name: &str, id: u64, value: f64| letter(&outbox, name, &server, &identity, id, value);
    letter("same", id, 0.5);
    letter("other", id, 0.6);
    letter("unknown", 99, 0.7);
    letter("unasked", 7, 0.8);
    let (remote, sent) = remote.with_outbox(&outbox).unwrap();
    assert_eq!((sent, endings(&outbox)), (1, vec!["refused".to_owned(); 3]), "what stood there already is told");
    let spoken = said.lock().unwrap().join("\n");
    for name in ["other.refused", "unknown.refused", "unasked.refused", "no trial 99"] {
        assert!(spoken.contains(name), "{name}: {spoken}");
    }
    assert!(std::fs::read_to_string(outbox.join("unknown.refused")).unwrap().contains("0.7"), "what was measured is there");
    let next = asked(&remote, 1)[0];
    remote.tell(next, value(1.0)).unwrap();
    let refused = remote.tell(next, value(2.0)).unwrap_err();
    assert!(matches!(refused, Error::AlreadyTold { .. }));
    assert_eq!(endings(&outbox), ["refused"; 4], "a second measurement is not thrown away either");
    let told: Vec<f64> = values(&file).into_iter().flatten().collect();
    assert_eq!(told, [0.5, 1.0]);
}

#[test]
fn a_letter_stays_while_the_server_does_not_look_at_it() {
    let (directory, _file, server) = served();
    let proxy = between(server.address, |head| {
        let read_only = || (409, r#"{"error":"read-only","message":"the file or its directory is read-only"}"#.to_owned());
        head.starts_with("PUT").then(read_only)
    });
    let (remote, _) = worker(proxy);
    let outbox = directory.path().join("outbox");
    let id = asked(&remote, 1)[0];
    let (remote, _) = remote.with_outbox(&outbox).unwrap();
    assert!(remote.tell(id, value(0.5)).unwrap_err().to_string().contains("read-only"));
    assert_eq!(endings(&outbox), ["json"]);
    let (again, said) = worker(proxy);
    let (_again, sent) = again.with_outbox(&outbox).unwrap();
    assert_eq!((sent, endings(&outbox)), (0, vec!["json".to_owned()]));
    assert!(said.lock().unwrap().iter().any(|words| words.contains("read-only")));
}

#[test]
fn a_server_with_a_fault_is_given_up_in_its_own_words() {
    let (_directory, _file, server) = served();
    let faults = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&faults);
    let proxy = between(server.address, move |head| {
        let fault = || (500, r#"{"error":"unreadable","message":"the database is damaged"}"#.to_owned());
        let is_fault =
            head.contains("/ask") || (head.starts_with("GET /api/v1/studies/demo ") && count.fetch_add(1, Ordering::Relaxed) < 2);
        is_fault.then(fault)
    });
    let (remote, said) = worker(proxy);
    assert_eq!(remote.status().unwrap().planned, 0, "two faults pass");
    let begun = Instant::now();
    let refused = remote.ask(&AskRequest::new("w", 1)).unwrap_err();
    assert!(matches!(&refused, Error::Server { problem, .. } if problem == "the database is damaged"), "{refused}");
    assert!(begun.elapsed() > Duration::from_secs(4), "it is not given up at once");
    assert!(said.lock().unwrap().iter().any(|words| words.contains("the database is damaged")), "{said:?}");
}

#[test]
fn a_file_replaced_under_the_server_takes_no_result() {
    for is_directory in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let file = study(directory.path(), "demo", 8);
        let source = if is_directory { Source::Directory(directory.path().to_owned()) } else { Source::File(file.clone()) };
        let server = Server::start(source);
        let (remote, _) = worker(server.address);
        let id = asked(&remote, 1)[0];
        let tell = || server.send("PUT", &format!("/api/v1/studies/demo/trials/{id}/result"), Some(r#"{"value":0.5}"#));
        let (moved, other) = (directory.path().join("moved"), directory.path().join("other"));
        std::fs::copy(&file, &other).unwrap();
        std::fs::rename(&file, &moved).unwrap();
        assert_eq!(tell().error(), (503, "replaced".into()), "it was moved away");
        let before = std::fs::read(&other).unwrap();
        std::fs::rename(&other, &file).unwrap();
        let refused = tell();
        assert_eq!(refused.error(), (503, "replaced".into()), "another one has its name");
        assert!(refused.body.contains("Put it back"), "{}", refused.body);
        assert_eq!(server.get("/api/v1/studies/demo/trials").error(), (503, "replaced".into()));
        assert_eq!(server.get("/readyz").error(), (503, "replaced".into()));
        assert_eq!(server.get("/healthz").status, 200);
        // Longer than it takes to search a directory again.
        std::thread::sleep(Duration::from_millis(if is_directory { 2500 } else { 300 }));
        assert_eq!(tell().error(), (503, "replaced".into()));
        assert!(std::fs::read(&file).unwrap() == before, "the log of one file is not written into the other");
        std::fs::rename(&moved, &file).unwrap();
        assert_eq!(tell().status, 201, "put back, it goes on");
        assert_eq!(values(&file)[id as usize], Some(0.5));
    }
}

#[test]
fn a_server_whose_file_cannot_be_read_is_not_ready() {
    let (_directory, file, server) = served();
    let (remote, _) = worker(server.address);
    asked(&remote, 1);
    assert_eq!(server.get("/readyz").status, 200);
    let beside = |ending: &str| file.with_extension(format!("db{ending}"));
    let length = std::fs::metadata(&file).unwrap().len() as usize;
    std::fs::write(&file, vec![b'#'; length.max(4096)]).unwrap();
    std::fs::OpenOptions::new().write(true).open(beside("-wal")).unwrap().set_len(0).unwrap();
    let refused = server.get("/readyz");
    assert_eq!(refused.error(), (503, "unreadable".into()));
    assert!(refused.body.contains("demo.db"), "the file is named: {}", refused.body);
    assert_eq!(support::Answer::error(&server.get("/api/v1/studies/demo/plates/1/sheet.csv")).0 / 100, 5, "and requests say so");
}

/// Whoever copies or sends the file after the server said that everything is kept has everything.
#[test]
fn a_server_that_stopped_leaves_one_file_with_everything_in_it() {
    let directory = tempfile::tempdir().unwrap();
    let file = study(directory.path(), "demo", 20);
    let server = Server::start(Source::File(file.clone()));
    let (remote, _) = worker(server.address);
    for id in asked(&remote, 5) {
        remote.tell(id, value(0.5)).unwrap();
    }
    assert_eq!(server.get("/s/demo").status, 200);
    drop((remote, server));
    assert!(!file.with_extension("db-wal").exists(), "nothing is left in a log beside it");
    let copy = directory.path().join("copy.db");
    std::fs::copy(&file, &copy).unwrap();
    let told = Study::open(&copy, None).unwrap().trials().unwrap().iter().filter(|row| row.value == Some(0.5)).count();
    assert_eq!(told, 5);
}
