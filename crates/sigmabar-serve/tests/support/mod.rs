//! A real server on a real socket, and a client that can do what no decent client does.
#![allow(dead_code)]

use sigmabar::linalg::Interrupt;
use sigmabar_serve::{Limits, Options, Source, Tokens, serve};
use sigmabar_study::{Study, StudySpec};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::Duration;

pub const TOKEN: &str = "test-token-0123456789";

/// The header that shows it.
pub fn bearer() -> String {
    format!("Authorization: Bearer {TOKEN}")
}

/// A server that stops when it is dropped.
pub struct Server {
    pub address: SocketAddr,
    stop: Interrupt,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    pub fn start(source: Source) -> Self {
        Self::start_at(source, "127.0.0.1:0".parse().unwrap())
    }

    pub fn start_at(source: Source, address: SocketAddr) -> Self {
        Self::limited(source, address, Limits::default())
    }

    pub fn limited(source: Source, address: SocketAddr, limits: Limits) -> Self {
        let allowed_hosts = vec!["Proxy.Example:443".into()];
        let options = Options { source, address, allowed_hosts, tokens: Tokens::new(TOKEN), limits };
        let stop = Interrupt::default();
        let (sender, ready) = channel();
        let wish = stop.clone();
        let thread = std::thread::spawn(move || serve(options, &wish, |address| sender.send(address).unwrap()).unwrap());
        Self { address: ready.recv_timeout(Duration::from_secs(20)).expect("the server starts"), stop, thread: Some(thread) }
    }

    pub fn url(&self) -> String {
        format!("http://{}/?token={TOKEN}", self.address)
    }

    /// A request as it should be.
    pub fn send(&self, method: &str, path: &str, body: Option<&str>) -> Answer {
        let token = bearer();
        match body {
            Some(_) => self.raw(method, path, &[&token, "Content-Type: application/json"], body),
            None => self.raw(method, path, &[&token], None),
        }
    }

    pub fn get(&self, path: &str) -> Answer {
        self.send("GET", path, None)
    }

    pub fn post(&self, path: &str, body: &str) -> Answer {
        self.send("POST", path, Some(body))
    }

    /// A request with these headers and the right Host.
    pub fn raw(&self, method: &str, path: &str, headers: &[&str], body: Option<&str>) -> Answer {
        let host = format!("Host: {}", self.address);
        let mut all = vec![host.as_str()];
        all.extend(headers);
        self.bare(method, path, &all, body)
    }

    /// A request with exactly these headers.
    pub fn bare(&self, method: &str, path: &str, headers: &[&str], body: Option<&str>) -> Answer {
        let mut stream = self.connect();
        let body = body.unwrap_or_default();
        let head =
            format!("{method} {path} HTTP/1.1\r\n{}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", headers.join("\r\n"), body.len());
        // A server that has refused already may not read the rest.
        let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes()));
        Answer::read(stream)
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.trigger();
        self.thread.take().map(JoinHandle::join).transpose().expect("the server ends without a panic");
    }
}

#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    pub fn read(mut stream: TcpStream) -> Self {
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        Self { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    pub fn error(&self) -> (u16, String) {
        (self.status, self.json()["error"].as_str().unwrap_or_default().to_owned())
    }
}

/// A study of random settings in a file of its own.
pub fn study(directory: &Path, name: &str, budget: usize) -> PathBuf {
    let text = format!("budget = {budget}\nstrategy = \"random\"\n[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n");
    with(directory, name, &text)
}

pub fn with(directory: &Path, name: &str, text: &str) -> PathBuf {
    let file = directory.join(format!("{name}.db"));
    drop(Study::create(&file, name, &StudySpec::from_toml(text, directory).unwrap()).unwrap());
    file
}
