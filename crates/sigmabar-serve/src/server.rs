//! The listener: connections, their limits, and the end.

use crate::api;
use crate::app::App;
use crate::counters::Counters;
use crate::desks::{Desks, Source};
use crate::guard::{Peer, guard};
use crate::heap;
use crate::pages;
use crate::patient::Patient;
use crate::rates::Rates;
use crate::token::Tokens;
use axum::Router;
use axum::body::Body;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use sigmabar::linalg::Interrupt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tower_service::Service;

/// Whoever has not sent the head of a request by then is not waited for.
const SLOWEST_HEAD: Duration = Duration::from_secs(10);
/// How long requests may go on after the server was told to stop.
const FAREWELL: Duration = Duration::from_secs(5);

/// What nobody may take from the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// So many connections at a time; the next ones wait at the door. Streams of events take at most a quarter of them, and half of that each with the token
    /// that may only look and with the other one.
    pub connections: usize,
    /// A connection whose other end takes nothing of an answer for so long is ended.
    pub slowest_reader: Duration,
    /// So many requests a second from one address with the token of workers, and twice as many at once; with the token that may only look a tenth.
    pub rate: u32,
    /// What was computed for a study is forgotten when nobody has looked at it for so long.
    pub rest_after: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { connections: 1024, slowest_reader: Duration::from_secs(30), rate: 20_000, rest_after: Duration::from_secs(300) }
    }
}

impl Limits {
    /// Places for the streams of one token.
    fn streams(self) -> Arc<Semaphore> {
        Arc::new(Semaphore::new((self.connections / 8).max(1)))
    }
}

/// What to serve, and to whom.
#[derive(Clone, Debug)]
pub struct Options {
    /// The studies.
    pub source: Source,
    /// Where to listen; port 0 takes any.
    pub address: SocketAddr,
    /// Names, with ports, under which the server may be called besides those of its address: those that a proxy hands on.
    pub allowed_hosts: Vec<String>,
    /// The tokens.
    pub tokens: Tokens,
    /// How much of the server one client may take.
    pub limits: Limits,
}

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// A study cannot be opened.
    #[error(transparent)]
    Study(#[from] sigmabar_study::Error),
    /// Another program listens there.
    #[error(
        "port {} of {} is in use already, perhaps by another sigmabar serve: choose another one with --port, or --port 0 for any that is free",
        address.port(),
        address.ip()
    )]
    InUse {
        /// Where.
        address: SocketAddr,
    },
    /// Nobody can listen there.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The system refuses.
    #[error(transparent)]
    System(#[from] io::Error),
}

/// Serves until it is interrupted. `ready` is called with the address once requests are answered.
///
/// # Errors
/// [`ServeError`]
pub fn serve(options: Options, stop: &Interrupt, ready: impl FnOnce(SocketAddr)) -> Result<(), ServeError> {
    heap::share();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).max_blocking_threads(32).enable_all().build()?;
    let served = runtime.block_on(listen(options, stop.clone(), ready));
    // Long work was called off by the interrupt; what still waits for a disk is not waited for.
    runtime.shutdown_timeout(FAREWELL);
    served
}

async fn listen(options: Options, stop: Interrupt, ready: impl FnOnce(SocketAddr)) -> Result<(), ServeError> {
    let desks = Arc::new(Desks::open(options.source, stop.clone())?);
    let unheard = |source: io::Error| match source.kind() {
        io::ErrorKind::AddrInUse => ServeError::InUse { address: options.address },
        _ => ServeError::Listen { address: options.address, source },
    };
    let listener = TcpListener::bind(options.address).await.map_err(unheard)?;
    let address = listener.local_addr()?;
    let (shut, down) = watch::channel(false);
    let (watched, rest_after) = (Arc::clone(&desks), options.limits.rest_after);
    let watching = std::thread::Builder::new().name("sigmabar-feed".to_owned()).spawn(move || watched.watch(rest_after))?;
    // Whoever serves one study looks at it next: its answer is made ready.
    if let [only] = &desks.all()[..] {
        let only = Arc::clone(only);
        tokio::spawn(async move { drop(only.glance().await) });
    }
    let app = Arc::new(App {
        desks,
        tokens: options.tokens,
        hosts: hosts(address, &options.allowed_hosts),
        cookie: format!("sigmabar-{}", address.port()),
        rates: Rates::new(options.limits.rate),
        counters: Counters::default(),
        streams: [options.limits.streams(), options.limits.streams()],
        down: down.clone(),
    });
    let routes = api::routes().merge(pages::routes());
    let router = routes.layer(axum::middleware::from_fn_with_state(Arc::clone(&app), guard)).with_state(app);
    ready(address);
    accept(&listener, &router, options.limits, &stop, &down).await;
    // Whoever streams ends, whoever waits for trials is told to come again, and what was begun is finished.
    drop((listener, router, down));
    shut.send_replace(true);
    tokio::time::timeout(FAREWELL, shut.closed()).await.unwrap_or_default();
    drop(watching.join());
    Ok(())
}

/// The names of the server: those of its own machine, or the address it listens on, always with the port; without it too where browsers leave it out.
fn hosts(address: SocketAddr, allowed: &[String]) -> Vec<String> {
    let port = address.port();
    let mut hosts = vec![address.to_string(), format!("127.0.0.1:{port}"), format!("localhost:{port}"), format!("[::1]:{port}")];
    if address.ip().is_unspecified() {
        hosts.remove(0);
    }
    hosts.extend(allowed.iter().map(|host| host.to_ascii_lowercase()));
    let bare = |host: &String| host.strip_suffix(":80").or_else(|| host.strip_suffix(":443")).map(str::to_owned);
    hosts.extend(hosts.iter().filter_map(bare).collect::<Vec<_>>());
    hosts.sort();
    hosts.dedup();
    hosts
}

async fn accept(listener: &TcpListener, router: &Router, limits: Limits, stop: &Interrupt, down: &watch::Receiver<bool>) {
    let places = Arc::new(Semaphore::new(limits.connections));
    loop {
        // Also while all places are taken it is seen that the server is to stop.
        let next = async { (Arc::clone(&places).acquire_owned().await, listener.accept().await) };
        let (Ok(place), accepted) = (tokio::select! {
            next = next => next,
            () = stopped(stop) => return,
        }) else {
            return;
        };
        match accepted {
            Ok((stream, peer)) => {
                let (router, down) = (router.clone(), down.clone());
                drop(stream.set_nodelay(true));
                let stream = Patient::new(stream, limits.slowest_reader);
                tokio::spawn(async move {
                    connection(stream, peer, router, down).await;
                    drop(place);
                });
            }
            // Too many open files, most likely: others end, and it goes on.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

async fn stopped(stop: &Interrupt) {
    let mut look = tokio::time::interval(Duration::from_millis(50));
    while !stop.is_triggered() {
        look.tick().await;
    }
}

async fn connection(stream: Patient<TcpStream>, peer: SocketAddr, router: Router, mut down: watch::Receiver<bool>) {
    let service = hyper::service::service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(Peer(peer));
        // A router is always ready.
        router.clone().call(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(SLOWEST_HEAD)
        .max_buf_size(64 << 10)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    tokio::select! {
        // Whoever sends what is no HTTP, or goes away, gets no words.
        ended = connection.as_mut() => drop(ended),
        _ = down.changed() => {
            connection.as_mut().graceful_shutdown();
            drop(tokio::time::timeout(FAREWELL, connection).await);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_ports_may_be_left_out_of_a_name_and_no_others() {
        let names = |address: &str, allowed: &str| hosts(address.parse().unwrap(), &[allowed.to_owned()]);
        let usual = names("127.0.0.1:80", "Its.Name:443");
        for name in ["127.0.0.1", "127.0.0.1:80", "localhost", "localhost:80", "[::1]", "[::1]:80", "its.name", "its.name:443"] {
            assert!(usual.iter().any(|known| known == name), "{name}: {usual:?}");
        }
        let other = names("0.0.0.0:8080", "its.name:8443");
        assert_eq!(other, ["127.0.0.1:8080", "[::1]:8080", "its.name:8443", "localhost:8080"]);
        assert!(names("[::]:80", "a:1").iter().all(|known| known != "[::]"), "everywhere is no name");
    }
}
