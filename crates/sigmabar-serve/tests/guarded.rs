//! What is defended: each refusal is seen over a real socket, and that the same request without its fault is done.

use crate::support;

use sigmabar_serve::{Source, Tokens};
use sigmabar_study::Study;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::time::{Duration, Instant};
use support::{Answer, Server, TOKEN, bearer, study};

const ASK: &str = r#"{"worker":"w"}"#;

fn served() -> (tempfile::TempDir, Server) {
    let directory = tempfile::tempdir().unwrap();
    let file = study(directory.path(), "demo", 20);
    let server = Server::start(Source::File(file));
    (directory, server)
}

/// What a browser keeps that has opened the address with this token.
fn cookie(server: &Server, token: &str) -> String {
    let head = server.raw("GET", &format!("/?token={token}"), &[], None).head;
    head.split("set-cookie: ").nth(1).unwrap().split(';').next().unwrap().to_owned()
}

#[test]
fn nobody_is_answered_without_the_token() {
    let (_directory, server) = served();
    for headers in
        [&[][..], &["Authorization: Bearer wrong-token-0123456789"], &["Authorization: Basic dGVzdA=="], &["Cookie: sigmabar-1=x"]]
    {
        for path in ["/api/v1/studies", "/api/v1/studies/demo/trials", "/metrics", "/api/v1/openapi.json"] {
            assert_eq!(server.raw("GET", path, headers, None).status, 401, "{path} {headers:?}");
        }
    }
    assert_eq!(
        server.raw("GET", "/api/v1/studies?token=test-token-0123456789", &[], None).status,
        401,
        "the API takes no token from an address"
    );
    assert_eq!(server.get("/api/v1/studies").status, 200);
    assert_eq!(server.raw("GET", "/healthz", &[], None).status, 200);
    let page = server.raw("GET", "/", &[], None);
    assert!(page.status == 401 && page.body.contains("sigmabar serve") && !page.body.contains("demo"), "{}", page.body);
}

#[test]
fn the_address_that_was_printed_becomes_a_cookie_of_this_port() {
    let (_directory, server) = served();
    let first = server.raw("GET", &format!("/s/demo?after=3&token={TOKEN}"), &[], None);
    assert_eq!(first.status, 303);
    assert!(first.head.contains("location: /s/demo?after=3\r"), "{}", first.head);
    let (name, cookie) = (format!("sigmabar-{}", server.address.port()), cookie(&server, TOKEN));
    assert!(first.head.contains(&format!("set-cookie: {cookie}; path=/; httponly; samesite=strict")), "{}", first.head);
    let seen = |cookies: &str| server.raw("GET", "/", &[&format!("Cookie: {cookies}")], None).status;
    assert_eq!(seen(&format!("other=1; {cookie}")), 200);
    assert_eq!(seen(&format!("{name}=of-another-server; {cookie}; {name}=")), 200, "one of several is right");
    assert_eq!(server.raw("GET", "/", &[&format!("Cookie: {name}=old"), &format!("Cookie: {cookie}")], None).status, 200);
    assert_eq!((seen(&format!("{name}={TOKEN}")), seen(&format!("{name}=old"))), (401, 401));
    let value = cookie.split_once('=').unwrap().1;
    assert_ne!(value, TOKEN);
    assert_eq!(
        server.raw("GET", "/api/v1/studies", &[&format!("Authorization: Bearer {value}")], None).status,
        401,
        "a cookie is no token"
    );
    assert_eq!(server.raw("GET", "/?token=wrong", &[], None).status, 401);
    let elsewhere = server.raw("GET", &format!("//evil.example/?token={TOKEN}"), &[], None);
    assert!(elsewhere.head.contains("location: /evil.example/"), "{}", elsewhere.head);
}

#[test]
fn the_token_that_looks_changes_nothing() {
    let (_directory, server) = served();
    let read = format!("Authorization: Bearer {}", Tokens::new(TOKEN).read());
    assert_eq!(server.raw("GET", "/api/v1/studies/demo/trials", &[&read], None).status, 200);
    for (method, path) in [("POST", "ask"), ("PUT", "trials/0/result"), ("POST", "close-batch"), ("POST", "pause"), ("PATCH", "trials/0")] {
        let path = format!("/api/v1/studies/demo/{path}");
        let refused = server.raw(method, &path, &[&read, "Content-Type: application/json"], Some("{}"));
        assert_eq!(refused.error(), (403, "read-only".into()), "{method} {path}");
    }
    let looks =
        server.raw("POST", "/api/v1/studies/demo/predict", &[&read, "Content-Type: application/json"], Some(r#"{"settings":[{"x":0.5}]}"#));
    assert_eq!(looks.status, 200, "{}", looks.body);
    let cookie = format!("Cookie: {}", cookie(&server, Tokens::new(TOKEN).read()));
    let headers = [cookie.as_str(), "Content-Type: application/json", "Sec-Fetch-Site: same-origin"];
    assert_eq!(server.raw("GET", "/s/demo/trials", &[&cookie], None).status, 200);
    assert_eq!(server.raw("POST", "/api/v1/studies/demo/pause", &headers, Some(r#"{"paused":true}"#)).error(), (403, "read-only".into()));
}

#[test]
fn a_foreign_host_is_not_answered() {
    let (_directory, server) = served();
    let port = server.address.port();
    for host in [
        "evil.example".to_owned(),
        format!("evil.example:{port}"),
        "127.0.0.1".to_owned(),
        format!("127.0.0.1:{}", port ^ 1),
        String::new(),
    ] {
        let refused = server.bare("GET", "/api/v1/studies", &[&format!("Host: {host}"), &bearer()], None);
        assert_eq!(refused.error(), (421, "foreign-host".into()), "{host}");
    }
    for host in [
        format!("localhost:{port}"),
        format!("LOCALHOST:{port}"),
        format!("[::1]:{port}"),
        "proxy.example:443".to_owned(),
        "proxy.example".to_owned(),
    ] {
        assert_eq!(server.bare("GET", "/api/v1/studies", &[&format!("Host: {host}"), &bearer()], None).status, 200, "{host}");
    }
}

#[test]
fn other_sites_change_nothing() {
    let (_directory, server) = served();
    let cookie = format!("Cookie: {}", cookie(&server, TOKEN));
    let (own, json) = (format!("Origin: http://{}", server.address), "Content-Type: application/json");
    let ask = |headers: &[&str]| server.raw("POST", "/api/v1/studies/demo/ask", headers, Some(ASK));
    for headers in [
        &[cookie.as_str(), json][..],
        &[&cookie, json, "Origin: http://evil.example"],
        &[&cookie, json, "Origin: null"],
        &[&cookie, json, &own, "Sec-Fetch-Site: cross-site"],
        &[&cookie, json, &own, "Sec-Fetch-Site: same-site"],
        &[&bearer(), json, "Origin: http://evil.example"],
    ] {
        assert_eq!(ask(headers).error(), (403, "foreign-origin".into()), "{headers:?}");
    }
    // What a form of another site can send, even if it could send the cookie.
    for kind in ["application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain", ""] {
        let refused = ask(&[&cookie, &own, &format!("Content-Type: {kind}")]);
        assert_eq!(refused.error(), (415, "not-json".into()), "{kind}");
    }
    assert_eq!(ask(&[&cookie, json, &own]).status, 200);
    assert_eq!(ask(&[&cookie, json, "Sec-Fetch-Site: same-origin"]).status, 200);
    assert_eq!(ask(&[&bearer(), json]).status, 200, "a program has no origin");
    let options = server.raw(
        "OPTIONS",
        "/api/v1/studies",
        &["Origin: http://evil.example", &bearer(), json, "Access-Control-Request-Method: POST"],
        None,
    );
    assert!(!options.head.contains("access-control-allow"), "{}", options.head);
}

#[test]
fn answers_forbid_browsers_what_harms() {
    let (_directory, server) = served();
    for path in ["/", "/api/v1/studies", "/assets/app.js"] {
        let head = server.get(path).head;
        for line in [
            "content-security-policy: default-src 'none'",
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
            "x-frame-options: deny",
        ] {
            assert!(head.contains(line), "{path}: {line}\n{head}");
        }
        assert!(!head.contains("unsafe-inline") && !head.contains("unsafe-eval"), "{head}");
    }
}

#[test]
fn no_name_becomes_a_path() {
    let (directory, server) = served();
    std::fs::write(directory.path().join("secret.txt"), "secret").unwrap();
    for name in
        ["..%2f..%2fetc%2fpasswd", "%2e%2e", "..", "demo.db", "secret.txt", "%00", "demo%00", "%2e%2e%2fsecret.txt", "nothing", "%ff"]
    {
        for rest in ["", "/trials", "/spec", "/pictures/..%2f..%2fsecret.csv"] {
            let refused = server.get(&format!("/api/v1/studies/{name}{rest}"));
            assert!(
                matches!(refused.status, 400 | 404) && !refused.body.contains("root:"),
                "{name}{rest}: {} {}",
                refused.status,
                refused.body
            );
        }
        assert!(matches!(server.get(&format!("/s/{name}")).status, 400 | 404), "{name}");
        assert!(matches!(server.get(&format!("/assets/{name}")).status, 400 | 404), "{name}");
    }
    assert_eq!(server.get("/api/v1/studies/demo/pictures/..%2f..%2fsecret.txt").status, 404);
}

#[test]
fn what_is_no_request_of_the_api_is_named() {
    let (_directory, server) = served();
    let post = |body: &str| server.post("/api/v1/studies/demo/ask", body);
    for broken in ["", "{", "\u{0}", "{\"worker\":"] {
        assert_eq!(post(broken).error(), (400, "not-json".into()), "{broken:?}");
    }
    for wrong in [
        "[]",
        "3",
        r#"{"worker":3}"#,
        r#"{"worker":""}"#,
        r#"{"worker":"w","at_most":0}"#,
        r#"{"worker":"w","at_most":-1}"#,
        r#"{"worker":"w","lease_seconds":0}"#,
        r#"{"worker":"w","lease_seconds":1e99}"#,
        r#"{"worker":"w","speed":1}"#,
    ] {
        assert_eq!(post(wrong).error(), (422, "invalid".into()), "{wrong}");
    }
    assert!(post(r#"{"worker":"w","speed":1}"#).body.contains("speed"), "the field is named");
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(post(&deep).error(), (422, "invalid".into()), "it is refused at the first bracket");
    assert_eq!(server.get("/api/v1/studies/demo/trials?limit=0").status, 400);
    assert_eq!(server.get("/api/v1/studies/demo/trials?state=odd").status, 400);
    assert_eq!(server.get("/api/v1/nothing").status, 404);
    assert_eq!(server.send("DELETE", "/api/v1/studies", None).status, 405);
}

#[test]
fn a_gigabyte_is_not_read() {
    let (_directory, server) = served();
    let mut stream = server.connect();
    let head = format!(
        "POST /api/v1/studies/demo/ask HTTP/1.1\r\nHost: {}\r\n{}\r\nContent-Type: application/json\r\nContent-Length: 1073741824\r\n\r\n",
        server.address,
        bearer()
    );
    stream.write_all(head.as_bytes()).unwrap();
    let begun = Instant::now();
    stream.write_all(&[b' '; 4096]).unwrap();
    let mut first = [0; 64];
    let count = stream.read(&mut first).unwrap();
    assert!(String::from_utf8_lossy(&first[..count]).contains("413") && begun.elapsed() < Duration::from_secs(20));
    // The same without saying so before.
    let mut stream = server.connect();
    let head = head.replace("Content-Length: 1073741824", "Transfer-Encoding: chunked");
    stream.write_all(head.as_bytes()).unwrap();
    let chunk = format!("10000\r\n{}\r\n", " ".repeat(65536));
    let sent = (0..1000).take_while(|_| stream.write_all(chunk.as_bytes()).is_ok()).count();
    assert!(sent < 1000, "{sent} chunks were taken");
}

#[test]
fn whoever_sends_slowly_keeps_nobody_out() {
    let (_directory, server) = served();
    // Heads that never end, as many as the test may open.
    let slow: Vec<_> = (0..200)
        .map(|_| {
            let mut stream = server.connect();
            stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: ").unwrap();
            stream
        })
        .collect();
    assert_eq!(server.get("/api/v1/studies").status, 200);
    for mut stream in slow.into_iter().take(3) {
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let mut rest = Vec::new();
        // The server ends the connection by itself.
        stream.read_to_end(&mut rest).unwrap();
    }
}

#[test]
fn what_is_no_http_ends_the_connection_only() {
    let (_directory, server) = served();
    for noise in [
        &b"\x16\x03\x01\x02\x00\x01\x00"[..],
        b"GET / HTTP/9.9\r\n\r\n",
        b"\r\n\r\n\r\n",
        b"GET /\xff\xfe HTTP/1.1\r\n\r\n",
        &[b'A'; 100_000],
    ] {
        let mut stream = server.connect();
        let _ = stream.write_all(noise);
        let _ = stream.shutdown(Shutdown::Write);
        let answer = Answer::read(stream);
        assert!(answer.status == 0 || (400..500).contains(&answer.status), "{}", answer.status);
    }
    let twice =
        server.bare("POST", "/api/v1/studies/demo/ask", &[&format!("Host: {}", server.address), "Content-Length: 3", &bearer()], Some(ASK));
    assert!(twice.status == 0 || (400..500).contains(&twice.status), "{twice:?}");
    assert_eq!(server.get("/api/v1/studies").status, 200);
}

#[test]
fn guessing_tokens_is_slowed_and_locks_nobody_out() {
    let (_directory, server) = served();
    let guess = |i: usize| server.raw("GET", "/api/v1/studies", &[&format!("Authorization: Bearer guess-{i:020}")], None).status;
    let begun = Instant::now();
    let answers: Vec<u16> = (0..90).map(guess).collect();
    let (first, more) = answers.split_at(60);
    let allowed = 1 + begun.elapsed().as_secs() as usize;
    assert!(first.iter().all(|status| *status == 401), "{answers:?}");
    assert!(more.iter().filter(|status| **status != 429).count() <= allowed, "one more a second: {answers:?}");
    assert_eq!(server.get("/api/v1/studies").status, 200);
}

#[test]
fn strangers_may_not_ask_without_end() {
    let (_directory, server) = served();
    let begun = Instant::now();
    let answers: Vec<Answer> = (0..200).map(|_| server.raw("GET", "/readyz", &[], None)).collect();
    let answered = answers.iter().filter(|answer| answer.status == 200).count();
    let allowed = 101 + 10 * (1 + begun.elapsed().as_secs() as usize);
    assert!((100..=allowed).contains(&answered), "{answered}, of {allowed}");
    if let Some(refused) = answers.iter().find(|answer| answer.status != 200) {
        assert_eq!(refused.error(), (429, "too-many".into()));
        assert!(refused.head.contains("retry-after: 1"), "{}", refused.head);
    }
    // A foreign name counts as well, and a right token is not held up by any of it.
    assert_eq!(server.get("/api/v1/studies").status, 200);
    assert_eq!(server.raw("GET", "/healthz", &[&bearer()], None).status, 200);
    let address = format!("/?token={}", bearer().rsplit(' ').next().unwrap());
    assert_eq!(server.raw("GET", &address, &[], None).status, 303, "nor who opens the page for the first time");
}

#[test]
fn a_posted_study_brings_no_command_and_reads_no_file() {
    let directory = tempfile::tempdir().unwrap();
    study(directory.path(), "demo", 20);
    let server = Server::start(Source::Directory(directory.path().to_owned()));
    let spec = |more: &str| format!(r#"{{"budget":4,"parameters":{{"x":{{"type":"float","low":0,"high":1}}}}{more}}}"#);
    let post = |name: &str, more: &str| server.post("/api/v1/studies", &format!(r#"{{"name":"{name}","spec":{}}}"#, spec(more)));
    for more in [
        r#","objective":{"command":"touch /tmp/x"}"#,
        r#","objective":{"process":["sh","-c","true"]}"#,
        r#","objective":{"builtin":"hills","directory":"/"}"#,
        r#","candidates":"/etc/passwd""#,
    ] {
        assert_eq!(post("bad", more).error(), (422, "invalid".into()), "{more}");
    }
    for name in ["../up", "a/b", "", ".hidden", "a.b", "x y"] {
        assert_eq!(post(name, "").error(), (422, "invalid".into()), "{name}");
    }
    assert_eq!(post("demo", "").error().0, 409);
    let made = post("fresh", "");
    assert_eq!(made.status, 201, "{}", made.body);
    assert_eq!(server.get("/api/v1/studies/fresh").status, 200);
    let names: Vec<_> = std::fs::read_dir(directory.path())
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .filter(|n| n.to_string_lossy().ends_with(".db"))
        .collect();
    assert_eq!(names.len(), 2, "{names:?}");
    let one = Server::start(Source::File(directory.path().join("demo.db")));
    assert_eq!(one.post("/api/v1/studies", &format!(r#"{{"name":"other","spec":{}}}"#, spec(""))).error(), (409, "no-directory".into()));
}

#[test]
fn a_server_never_runs_an_objective() {
    let directory = tempfile::tempdir().unwrap();
    let text = "budget = 4\nstrategy = \"random\"\n[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n[objective]\ncommand = \"touch ran; echo {x}\"\n";
    let file = support::with(directory.path(), "program", text);
    let server = Server::start(Source::File(file.clone()));
    let asked = server.post("/api/v1/studies/program/ask?wait=20", ASK).json();
    assert_eq!(asked["state"], "trials");
    for path in ["", "/recommendation", "/premises", "/batches", "/trials", "/workers"] {
        assert_eq!(server.get(&format!("/api/v1/studies/program{path}")).status, 200);
    }
    drop(server);
    assert!(!directory.path().join("ran").exists());
    assert_eq!(Study::open(&file, None).unwrap().trials().unwrap().len(), 4);
}

#[test]
fn a_body_that_never_comes_is_not_waited_for_by_others() {
    let (_directory, server) = served();
    let head = format!(
        "POST /api/v1/studies/demo/ask HTTP/1.1\r\nHost: {}\r\n{}\r\nContent-Type: application/json\r\nContent-Length: 14\r\n\r\n{{\"wor",
        server.address,
        bearer()
    );
    let slow: Vec<_> = (0..100)
        .map(|_| {
            let mut stream = server.connect();
            stream.write_all(head.as_bytes()).unwrap();
            stream
        })
        .collect();
    let begun = Instant::now();
    assert_eq!(server.post("/api/v1/studies/demo/ask?wait=10", ASK).status, 200);
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    drop(slow);
}

#[test]
fn who_gives_no_token_guesses_none() {
    let (_directory, server) = served();
    assert!((0..70).all(|_| server.raw("GET", "/api/v1/studies", &[], None).status == 401));
    assert_eq!(server.raw("TRACE", "/api/v1/studies", &[&bearer()], None).error(), (405, "wrong-method".into()));
}

#[test]
fn a_study_that_cannot_be_read_hides_no_other() {
    let directory = tempfile::tempdir().unwrap();
    study(directory.path(), "demo", 20);
    let spoilt = study(directory.path(), "spoilt", 20);
    let server = Server::start(Source::Directory(directory.path().to_owned()));
    for file in [spoilt.clone(), spoilt.with_extension("db-wal")] {
        std::fs::write(file, [0x5a; 40_000]).unwrap();
    }
    let listed = server.get("/api/v1/studies");
    assert!(listed.status == 200 && listed.body.contains("\"study\":\"demo\""), "{}", listed.body);
    assert!(listed.body.contains("\"error\""), "{}", listed.body);
    let page = server.get("/");
    assert!(page.status == 200 && page.body.contains("/s/demo") && page.body.contains("/s/spoilt"), "{}", page.body);
    assert_eq!(server.get("/api/v1/studies/demo/trials").status, 200);
}
