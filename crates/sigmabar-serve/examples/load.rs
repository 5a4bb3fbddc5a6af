//! Many workers over HTTP on one study: pairs of ask and tell a second, how long a tell takes, and that nothing is lost while the server is killed.
//!
//! ```text
//! cargo run --release -p sigmabar-serve --example load -- --workers 200 --pairs 20000 --kills 10
//! ```
//!
//! The server is a process of its own. While the workers work, a page is open: it listens to the events and fetches itself anew. With `--kills`, the server is
//! killed without warning so many times and started again; workers find out by themselves. At the end every acknowledged result is looked up in the file.

use sigmabar::linalg::Interrupt;
use sigmabar_serve::{Limits, Options, Source, Tokens, serve};
use sigmabar_study::{Study, StudySpec};
use std::collections::HashMap;
use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

type Answer<T> = Result<T, Box<dyn Error>>;

const TOKEN: &str = "load-token-0123456789";

fn main() -> Answer<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [word, file, address] = &arguments[..]
        && word == "server"
    {
        return be_server(file, address.parse()?);
    }
    let number = |name: &str, usual: usize| -> Answer<usize> {
        let place = arguments.iter().position(|word| word == name);
        place.and_then(|i| arguments.get(i + 1)).map_or(Ok(usual), |word| Ok(word.parse()?))
    };
    measure(number("--workers", 200)?, number("--pairs", 20_000)?, number("--kills", 0)?)
}

fn be_server(file: &str, address: SocketAddr) -> Answer<()> {
    let options = Options {
        source: Source::File(file.into()),
        address,
        allowed_hosts: Vec::new(),
        tokens: Tokens::new(TOKEN),
        limits: Limits::default(),
    };
    Ok(serve(options, &Interrupt::default(), |address| println!("{address}"))?)
}

fn start(file: &Path, address: SocketAddr) -> Answer<(Child, SocketAddr)> {
    let mut child = Command::new(std::env::current_exe()?)
        .args(["server".as_ref(), file.as_os_str(), address.to_string().as_ref()])
        .stdout(Stdio::piped())
        .spawn()?;
    let mut line = String::new();
    BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut line)?;
    Ok((child, line.trim().parse()?))
}

/// A connection that is kept, and made anew when it breaks.
struct Line {
    address: SocketAddr,
    stream: Option<BufReader<TcpStream>>,
}

impl Line {
    fn send(&mut self, method: &str, path: &str, body: &str) -> Answer<(u16, String)> {
        let sent = self.try_send(method, path, body);
        if sent.is_err() {
            self.stream = None;
        }
        sent
    }

    fn try_send(&mut self, method: &str, path: &str, body: &str) -> Answer<(u16, String)> {
        if self.stream.is_none() {
            let stream = TcpStream::connect_timeout(&self.address, Duration::from_secs(5))?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(Duration::from_secs(60)))?;
            self.stream = Some(BufReader::new(stream));
        }
        let stream = self.stream.as_mut().ok_or("no connection")?;
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        stream.get_mut().write_all(head.as_bytes())?;
        let (mut line, mut status, mut length) = (String::new(), 0, 0);
        loop {
            line.clear();
            if stream.read_line(&mut line)? == 0 {
                return Err("cut off".into());
            }
            if status == 0 {
                status = line.split(' ').nth(1).ok_or("no status")?.parse()?;
            } else if let Some(count) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = count.trim().parse()?;
            } else if line == "\r\n" {
                break;
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body)?;
        Ok((status, String::from_utf8(body)?))
    }
}

/// What one worker saw: results that were acknowledged, and how long tells took, in microseconds.
type Seen = (Vec<u64>, Vec<u64>);

fn work(name: usize, address: SocketAddr, done: &AtomicUsize) -> Seen {
    let mut line = Line { address, stream: None };
    let (mut told, mut times, mut pause) = (Vec::new(), Vec::new(), 10);
    let ask = format!(r#"{{"worker":"w{name}"}}"#);
    loop {
        let Ok((200, text)) = line.send("POST", "/api/v1/studies/load/ask?wait=5", &ask) else {
            std::thread::sleep(Duration::from_millis(pause + (name as u64 * 7) % 13));
            pause = (2 * pause).min(500);
            continue;
        };
        pause = 10;
        let asked: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        if asked["state"] == "finished" {
            return (told, times);
        }
        for trial in asked["trials"].as_array().into_iter().flatten() {
            let id = trial["id"].as_u64().unwrap_or_default();
            let (path, body) = (format!("/api/v1/studies/load/trials/{id}/result"), format!(r#"{{"value":{}}}"#, trial["seed"]));
            loop {
                let begun = Instant::now();
                match line.send("PUT", &path, &body) {
                    Ok((200 | 201, _)) => {
                        times.push(begun.elapsed().as_micros() as u64);
                        told.push(id);
                        done.fetch_add(1, Ordering::Relaxed);
                        break;
                    }
                    Ok((409 | 404, text)) => panic!("trial {id} of w{name}: {text}"),
                    _ => std::thread::sleep(Duration::from_millis(20 + (name as u64 * 11) % 17)),
                }
            }
        }
    }
}

/// Somebody looks: listens to the events, and fetches the answer anew as the page does.
fn look(address: SocketAddr, over: &AtomicBool) -> Vec<u64> {
    let mut line = Line { address, stream: None };
    let mut times = Vec::new();
    while !over.load(Ordering::Relaxed) {
        let begun = Instant::now();
        if line.send("GET", "/s/load", "").is_ok_and(|(status, _)| status == 200) {
            times.push(begun.elapsed().as_micros() as u64);
        }
        std::thread::sleep(Duration::from_millis(700));
    }
    times
}

fn measure(workers: usize, pairs: usize, kills: usize) -> Answer<()> {
    let directory = std::env::temp_dir().join(format!("sigmabar-load-{}", std::process::id()));
    std::fs::create_dir_all(&directory)?;
    let file = directory.join("load.db");
    let text = format!("budget = {pairs}\nstrategy = \"random\"\n[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n");
    drop(Study::create(&file, "load", &StudySpec::from_toml(&text, &directory)?)?);
    let (server, address) = start(&file, "127.0.0.1:0".parse()?)?;
    let server = Mutex::new(server);
    let mut first = Line { address, stream: None };
    // The plan is made before the clock runs.
    while !first.send("POST", "/api/v1/studies/load/ask?wait=5", r#"{"worker":"w0"}"#).is_ok_and(|(_, text)| text.contains("\"id\"")) {}
    let (done, over) = (AtomicUsize::new(0), Arc::new(AtomicBool::new(false)));
    let begun = Instant::now();
    let (seen, pages) = std::thread::scope(|scope| -> Answer<(Vec<Seen>, Vec<u64>)> {
        let threads: Vec<_> = (0..workers)
            .map(|name| {
                scope.spawn({
                    let done = &done;
                    move || work(name, address, done)
                })
            })
            .collect();
        let looking = scope.spawn(|| look(address, &over));
        for kill in 1..=kills {
            while done.load(Ordering::Relaxed) < kill * pairs / (kills + 1) {
                std::thread::sleep(Duration::from_millis(5));
            }
            let mut child = server.lock().unwrap_or_else(PoisonError::into_inner);
            child.kill()?;
            child.wait()?;
            *child = start(&file, address)?.0;
        }
        let seen = threads.into_iter().map(|thread| thread.join().map_err(|_| "a worker gave up")).collect::<Result<_, _>>()?;
        over.store(true, Ordering::Relaxed);
        Ok((seen, looking.join().map_err(|_| "the page was closed")?))
    })?;
    let seconds = begun.elapsed().as_secs_f64();
    let mut child = server.into_inner().unwrap_or_else(PoisonError::into_inner);
    let used = processor_seconds(child.id());
    let killed = child.kill();
    child.wait()?;
    killed?;
    check(&file, pairs, &seen)?;
    let mut times: Vec<u64> = seen.into_iter().flat_map(|(_, times)| times).collect();
    println!(
        "{workers} HTTP workers, {pairs} pairs of ask and tell, {kills} kills: {seconds:.1} s, {:.0} pairs per second",
        pairs as f64 / seconds
    );
    println!("a tell takes {:.1} ms in the middle, {:.1} ms at the 99th percentile", at(&mut times, 0.5), at(&mut times, 0.99));
    if let (Some(used), 0) = (used, kills) {
        println!(
            "the server used {:.0} µs of processor time for each pair; load of the machine {}",
            1e6 * used / pairs as f64,
            machine_load()
        );
    }
    let mut pages = pages;
    println!("the page was fetched {} times meanwhile, in {:.1} ms in the middle", pages.len(), at(&mut pages, 0.5));
    std::fs::remove_dir_all(&directory)?;
    Ok(())
}

/// The processor time of a process so far, where the system says it.
fn processor_seconds(process: u32) -> Option<f64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // After the name in parentheses: user and system time are the twelfth and thirteenth field, in hundredths of a second.
    let mut fields = text.rsplit_once(')')?.1.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<f64>().ok();
    Some((ticks()? + ticks()?) / 100.0)
}

fn machine_load() -> String {
    std::fs::read_to_string("/proc/loadavg").unwrap_or_default().split(' ').next().unwrap_or_default().to_owned()
}

/// Every acknowledged result is in the file, with the value that was told, and each trial was told once.
fn check(file: &Path, pairs: usize, seen: &[Seen]) -> Answer<()> {
    let mut counts: HashMap<u64, usize> = HashMap::new();
    seen.iter().flat_map(|(told, _)| told).for_each(|id| *counts.entry(*id).or_default() += 1);
    let rows = Study::open(file, None)?.trials()?;
    let wrong = rows.iter().filter(|row| row.value != Some(row.seed as f64) || counts.get(&row.id) != Some(&1)).count();
    if rows.len() != pairs || wrong > 0 {
        return Err(format!("{wrong} of {} trials were lost or doubled", rows.len()).into());
    }
    println!("none of {pairs} results lost, none doubled");
    Ok(())
}

fn at(times: &mut [u64], share: f64) -> f64 {
    times.sort_unstable();
    times.get(((times.len() as f64 * share) as usize).min(times.len().saturating_sub(1))).map_or(f64::NAN, |micros| *micros as f64 / 1000.0)
}
