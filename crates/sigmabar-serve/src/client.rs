//! A study on a server, seen by a worker: patient with the network, and careful with results.

use crate::outbox::{Letter, Outbox};
use crate::token::is_usable;
use crate::wire::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sigmabar::linalg::Interrupt;
use sigmabar_study::{AskRequest, Asked, AskedTrial, Error, Exchange, Result, StudySpec, Told, TrialResult, Value};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a server waits for trials before it says that there are none.
const WAIT: u32 = 2;
/// The longest pause between two tries.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// A server that asks to wait for longer is asked again after this.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// The answer to somebody who asks too often.
const TOO_MANY: u16 = 429;
/// A server that was never reached is given up after this: most likely its address is wrong.
const FIRST_PATIENCE: Duration = Duration::from_secs(5);
/// A server that cannot do what it should is given up after this: a file that is damaged does not mend itself.
const PATIENCE_WITH_FAULTS: Duration = Duration::from_secs(5);

/// What to do with words about trouble on the way.
type Say = Arc<dyn Fn(String) + Send + Sync>;

/// A study on a server. What the network loses is sent again, for as long as it takes.
pub struct Remote {
    agent: ureq::Agent,
    server: String,
    token: String,
    study: String,
    identity: String,
    outbox: Option<Arc<Outbox>>,
    stop: Interrupt,
    say: Say,
}

impl std::fmt::Debug for Remote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Remote").field("server", &self.server).field("study", &self.study).finish_non_exhaustive()
    }
}

/// An answer as it came.
struct Heard {
    status: u16,
    text: Vec<u8>,
    /// How long the server asks to wait.
    wait: Duration,
}

/// How an answer came out.
enum Reply<T> {
    Done(T),
    Refused(Problem),
}

/// What became of a letter that the server has looked at.
enum Sent {
    Told(Told),
    /// It will not take it, now or later.
    Refused(Error),
}

impl Remote {
    /// Finds the study, with the token of the address or else this one: that of this name, else that of the address (`http://host:port/s/NAME`), else the only one of the server.
    ///
    /// # Errors
    /// [`Error::Server`] saying what is wrong with address, token or name.
    pub fn connect(address: &str, token: Option<&str>, study: Option<&str>, stop: &Interrupt, say: Say) -> Result<Self> {
        let wrong =
            |problem: &str| Error::Server { server: address.split('?').next().unwrap_or_default().to_owned(), problem: problem.to_owned() };
        let (place, query) = address.split_once('?').unwrap_or((address, ""));
        let rest = place.strip_prefix("http://").ok_or_else(|| {
            wrong("workers speak http: reach a server behind https by ssh -L 8713:127.0.0.1:8713 HOST, as http://127.0.0.1:8713")
        })?;
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let token = query.split('&').find_map(|pair| pair.strip_prefix("token=")).or(token);
        let token = token.ok_or_else(|| wrong("there is no token: set SIGMABAR_TOKEN, or use the address that sigmabar serve prints"))?;
        if !is_usable(token) {
            return Err(wrong(
                "what was given is no token: it has 16 to 200 letters, digits, hyphens and underscores, as sigmabar serve prints it",
            ));
        }
        let named =
            study.map(str::to_owned).or_else(|| path.strip_prefix("s/").map(|rest| decoded(rest.split('/').next().unwrap_or_default())));
        let mut remote = Self {
            agent: agent(),
            server: format!("http://{host}"),
            token: token.to_owned(),
            study: String::new(),
            identity: String::new(),
            outbox: None,
            stop: stop.clone(),
            say,
        };
        let Studies { studies } = match remote.first_call()? {
            Reply::Done(answer) => answer,
            Reply::Refused(problem) => return Err(wrong(&problem.message)),
        };
        let known: Vec<String> = studies.iter().map(|study| study.study.clone()).collect();
        remote.study = match (named, &known[..]) {
            (Some(name), _) if known.contains(&name) => name,
            (Some(name), _) => return Err(wrong(&format!("there is no study \"{name}\"; there are: {}", known.join(", ")))),
            (None, [only]) => only.clone(),
            (None, []) => return Err(wrong("it serves no study yet")),
            (None, _) => return Err(wrong(&format!("it serves several studies, name one with --name: {}", known.join(", ")))),
        };
        remote.identity = studies.into_iter().find(|study| study.study == remote.study).map(|study| study.identity).unwrap_or_default();
        Ok(remote)
    }

    /// Keeps results in this directory until the server has them, and sends those that an earlier run left there; how many it took. What it does not take is
    /// kept and spoken of, and stops nobody from working.
    ///
    /// # Errors
    /// [`Error::File`]; [`Error::Server`] where it was interrupted.
    pub fn with_outbox(mut self, directory: &Path) -> Result<(Self, usize)> {
        let refused = |source| Error::File { path: directory.to_owned(), source };
        let outbox = Arc::new(Outbox::in_directory(directory).map_err(refused)?);
        let mut taken = 0;
        for (path, letter) in outbox.letters(&self.study, &self.identity) {
            taken += usize::from(self.send_again(&path, &letter)?);
        }
        self.outbox = Some(outbox);
        Ok((self, taken))
    }

    /// Sends what an earlier run left; whether the server took it.
    fn send_again(&self, path: &Path, letter: &Letter) -> Result<bool> {
        let left = |place: &Path, why: &str| (self.say)(format!("a result of trial {} is left in {}: {why}", letter.id, place.display()));
        if letter.identity != self.identity {
            left(path, &format!("it is for another study that was called the same, on {}", letter.server));
            return Ok(false);
        }
        match self.send(letter) {
            Ok(Sent::Told(_)) => {
                Outbox::forget(path);
                return Ok(true);
            }
            Ok(Sent::Refused(error)) => left(&Outbox::set_aside(path), &error.to_string()),
            Err(error) if self.stop.is_triggered() => return Err(error),
            Err(error) => left(path, &error.to_string()),
        }
        Ok(false)
    }

    /// The same study through a connection of its own.
    #[must_use]
    pub fn again(&self) -> Self {
        Self {
            agent: agent(),
            server: self.server.clone(),
            token: self.token.clone(),
            study: self.study.clone(),
            identity: self.identity.clone(),
            outbox: self.outbox.clone(),
            stop: self.stop.clone(),
            say: Arc::clone(&self.say),
        }
    }

    /// What it is called on the server.
    #[must_use]
    pub fn study(&self) -> &str {
        &self.study
    }

    /// The address without its token.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.server
    }

    /// The study file.
    ///
    /// # Errors
    /// [`Error::Server`].
    pub fn spec(&self) -> Result<StudySpec> {
        let spec: serde_json::Value = self.done(self.call("GET", "/spec", None::<&()>, None)?)?;
        StudySpec::from_json(&spec.to_string(), Path::new("."))
    }

    /// Where the study stands.
    ///
    /// # Errors
    /// [`Error::Server`].
    pub fn status(&self) -> Result<StudyStatus> {
        self.done(self.call("GET", "", None::<&()>, None)?)
    }

    /// The setting to use by what is known now.
    ///
    /// # Errors
    /// [`Error::Server`].
    pub fn recommend(&self) -> Result<Option<Recommendation>> {
        let answer: RecommendationAnswer = self.done(self.call("GET", "/recommendation", None::<&()>, None)?)?;
        Ok(answer.recommendation)
    }

    /// Finds out whether there is a server: what is wrong with an address is said soon.
    fn first_call(&self) -> Result<Reply<Studies>> {
        let begun = Instant::now();
        let url = format!("{}/api/v1/studies", self.server);
        for attempt in 0.. {
            let wait = match self.once("GET", &url, None, None) {
                Ok(heard) if heard.status == TOO_MANY => heard.wait,
                Ok(heard) => return self.read(heard),
                Err(error) if begun.elapsed() > FIRST_PATIENCE => return Err(self.trouble(&format!("it is not reached: {error}"))),
                Err(_) => Duration::ZERO,
            };
            self.pause(attempt, wait)?;
        }
        Err(self.trouble("it is not reached"))
    }

    /// Sends a request until it is answered: everything here may be sent twice. What the server says is handed on.
    fn call<T: DeserializeOwned>(&self, method: &str, path: &str, body: Option<&impl Serialize>, key: Option<&str>) -> Result<Reply<T>> {
        let url = format!("{}/api/v1/studies/{}{path}", self.server, crate::desk::encoded(&self.study));
        let body = body.map(serde_json::to_vec).transpose().map_err(|error| self.trouble(&error.to_string()))?;
        let mut faulty: Option<Instant> = None;
        for attempt in 0.. {
            let answer = self.once(method, &url, body.as_deref(), key);
            faulty = matches!(answer, Ok(Heard { status: 500, .. })).then(|| faulty.unwrap_or_else(Instant::now));
            let (problem, wait) = match answer {
                Ok(heard) if !is_passing(heard.status) => return self.read(heard),
                Ok(heard) => (said(heard.status, &heard.text), heard.wait),
                Err(error) => (error.to_string(), Duration::ZERO),
            };
            if faulty.is_some_and(|since| since.elapsed() > PATIENCE_WITH_FAULTS) {
                return Err(self.trouble(&problem));
            }
            if attempt == 3 {
                (self.say)(format!("{}: {problem}; trying on", self.server));
            }
            self.pause(attempt, wait)?;
        }
        Err(self.trouble("it is not reached"))
    }

    fn once(&self, method: &str, url: &str, body: Option<&[u8]>, key: Option<&str>) -> std::result::Result<Heard, ureq::Error> {
        let mut request = ureq::http::Request::builder().method(method).uri(url).header("Authorization", format!("Bearer {}", self.token));
        if let Some(key) = key {
            request = request.header("Idempotency-Key", key);
        }
        if !self.identity.is_empty() {
            request = request.header(STUDY, &self.identity);
        }
        let mut response = match body {
            Some(body) => self.agent.run(request.header("Content-Type", "application/json").body(body)?)?,
            None => self.agent.run(request.body(())?)?,
        };
        let status = response.status().as_u16();
        let wait = response.headers().get("retry-after").and_then(|seconds| seconds.to_str().ok()?.parse().ok()).unwrap_or(0);
        let wait = Duration::from_secs(wait).min(LONGEST_WAIT);
        Ok(Heard { status, text: response.body_mut().with_config().limit(64 << 20).read_to_vec()?, wait })
    }

    fn read<T: DeserializeOwned>(&self, Heard { status, text, .. }: Heard) -> Result<Reply<T>> {
        let garbled = || self.trouble(&format!("it answers {status} with what is no answer of a server of studies"));
        if (200..300).contains(&status) {
            return serde_json::from_slice(&text).map(|answer| Reply::Done(answer)).map_err(|_| garbled());
        }
        let problem: Problem = serde_json::from_slice(&text).map_err(|_| garbled())?;
        match status {
            401 | 403 | 412 | 421 => Err(self.trouble(&problem.message)),
            _ => Ok(Reply::Refused(problem)),
        }
    }

    fn done<T>(&self, reply: Reply<T>) -> Result<T> {
        match reply {
            Reply::Done(answer) => Ok(answer),
            Reply::Refused(problem) => Err(self.trouble(&problem.message)),
        }
    }

    fn trouble(&self, problem: &str) -> Error {
        Error::Server { server: self.server.clone(), problem: problem.to_owned() }
    }

    /// Longer each time, as long as the server asks for, and never the same for two workers: a server that comes back is not overrun.
    fn pause(&self, attempt: u32, asked: Duration) -> Result<()> {
        let full = LONGEST_PAUSE.min(Duration::from_millis(100) * 2u32.saturating_pow(attempt.min(10)));
        let until = Instant::now() + full.mul_f64(0.5 + jitter()).max(asked.mul_f64(1.0 + 0.25 * jitter()));
        while Instant::now() < until {
            if self.stop.is_triggered() {
                return Err(self.trouble("interrupted while it was not reached; what is kept in the outbox is sent next time"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Tells what is in a letter. An error says that the server did not come to look at it: another time it may.
    fn send(&self, letter: &Letter) -> Result<Sent> {
        // What a program came to is what it is: nobody is there to be asked.
        let path = format!("/trials/{}/result", letter.id);
        match self.call::<ToldAnswer>("PUT", &path, Some(&letter.result), Some(&letter.key))? {
            Reply::Done(answer) => Ok(Sent::Told(answer.told())),
            Reply::Refused(problem) => {
                let (study, id) = (self.study.clone(), letter.id);
                match problem.error.as_str() {
                    "already-told" => Ok(Sent::Refused(Error::AlreadyTold { study, id })),
                    "unknown-trial" => Ok(Sent::Refused(Error::UnknownTrial { study, id })),
                    "not-asked" => Ok(Sent::Refused(Error::NotAsked { study, id })),
                    "invalid" => Ok(Sent::Refused(self.trouble(&problem.message))),
                    _ => Err(self.trouble(&problem.message)),
                }
            }
        }
    }
}

impl Exchange for Remote {
    fn ask(&self, request: &AskRequest) -> Result<Asked> {
        let body = AskBody {
            worker: request.worker.clone(),
            at_most: u32::try_from(request.at_most).unwrap_or(MOST_ASKED).clamp(1, MOST_ASKED),
            lease_seconds: request.lease.as_secs_f64().clamp(1.0, LONGEST_LEASE),
            shown: request.is_shown,
        };
        // Sent again because no answer came, it is known to be the same request: nothing was evaluated meanwhile.
        let key = format!("{:016x}{:016x}", random(), random());
        let answer: AskAnswer = self.done(self.call("POST", &format!("/ask?wait={WAIT}"), Some(&body), Some(&key))?)?;
        let trial = |trial: TrialToDo| -> Result<AskedTrial> {
            let value = |(name, value): (String, serde_json::Value)| {
                let value: Value = serde_json::from_value(value).map_err(|_| self.trouble("the setting of a trial cannot be read"))?;
                Ok((name, value))
            };
            let values = trial.values.into_iter().map(value).collect::<Result<_>>()?;
            Ok(AskedTrial { id: trial.id, batch: trial.batch, values, seed: trial.seed, leased_until: trial.leased_until })
        };
        Ok(match answer.state {
            AskState::Trials => Asked::Trials(answer.trials.into_iter().map(trial).collect::<Result<_>>()?),
            AskState::Wait => Asked::Wait,
            AskState::Finished => Asked::Finished,
        })
    }

    fn tell(&self, id: u64, result: TrialResult) -> Result<Told> {
        let key = format!("{id}-{:016x}{:016x}", random(), random());
        let (server, study, identity) = (self.server.clone(), self.study.clone(), self.identity.clone());
        let letter = Letter { server, study, identity, id, key, result: ResultBody::of(&result) };
        // A full disk here is no reason not to tell a server that can be reached.
        let kept = self.outbox.as_ref().and_then(|outbox| match outbox.keep(&letter) {
            Ok(path) => Some(path),
            Err(error) => {
                (self.say)(format!(
                    "the result of trial {id} cannot be kept in {} ({error}): it is sent only",
                    outbox.directory().display()
                ));
                None
            }
        });
        match self.send(&letter)? {
            Sent::Told(told) => {
                kept.iter().for_each(|path| Outbox::forget(path));
                Ok(told)
            }
            Sent::Refused(error) => {
                kept.iter().for_each(|path| (self.say)(format!("{error}; the result is kept in {}", Outbox::set_aside(path).display())));
                Err(error)
            }
        }
    }

    fn renew(&self, id: u64, worker: &str, lease: Duration) -> Result<bool> {
        let body = LeaseBody { worker: worker.to_owned(), lease_seconds: lease.as_secs_f64().clamp(1.0, LONGEST_LEASE) };
        let url = format!("{}/api/v1/studies/{}/trials/{id}/lease", self.server, crate::desk::encoded(&self.study));
        let body = serde_json::to_vec(&body).map_err(|error| self.trouble(&error.to_string()))?;
        // Not tried for long: the evaluation goes on meanwhile, and the next try is soon enough.
        Ok(match self.once("POST", &url, Some(&body), None) {
            Ok(Heard { status: 200, text, .. }) => serde_json::from_slice::<LeaseAnswer>(&text).is_ok_and(|answer| answer.held),
            _ => true,
        })
    }

    fn release(&self, id: u64, worker: &str) -> Result<()> {
        let url = format!(
            "{}/api/v1/studies/{}/trials/{id}/lease?worker={}",
            self.server,
            crate::desk::encoded(&self.study),
            crate::desk::encoded(worker)
        );
        // A trial that is not given back is handed out again when its lease has run out.
        drop(self.once("DELETE", &url, None, None));
        Ok(())
    }
}

/// Whether to try again: the server is busy, stopping, out of disk, or hidden behind a proxy that cannot reach it; and for a moment where it has a fault.
fn is_passing(status: u16) -> bool {
    matches!(status, 408 | 429 | 500 | 502 | 503 | 504 | 507)
}

/// The server's own words, where it has some.
fn said(status: u16, text: &[u8]) -> String {
    serde_json::from_slice(text).map_or_else(|_| format!("it answers {status}"), |problem: Problem| problem.message)
}

fn agent() -> ureq::Agent {
    let config = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .timeout_connect(Some(Duration::from_secs(5)))
        .timeout_global(Some(Duration::from_secs(60)))
        .max_idle_connections_per_host(1)
        .max_idle_age(Duration::from_secs(5))
        .max_redirects(0)
        .build();
    config.into()
}

fn random() -> u64 {
    let mut bytes = [0; 8];
    // Without randomness the clock has to do: keys need not be secret, only different.
    if getrandom::fill(&mut bytes).is_err() {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        return since.as_nanos() as u64 ^ u64::from(std::process::id());
    }
    u64::from_le_bytes(bytes)
}

fn jitter() -> f64 {
    (random() >> 11) as f64 / (1u64 << 53) as f64
}

/// A part of an address as it was before it was encoded.
fn decoded(part: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = part.as_bytes();
    while let Some((first, more)) = rest.split_first() {
        let code =
            (*first == b'%').then(|| more.get(..2).and_then(|two| u8::from_str_radix(std::str::from_utf8(two).ok()?, 16).ok())).flatten();
        match code {
            Some(byte) => {
                bytes.push(byte);
                rest = &more[2..];
            }
            None => {
                bytes.push(*first);
                rest = more;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::desk::encoded;

    #[test]
    fn names_survive_addresses() {
        for name in ["hills", "a b/c", "größe 100 %", "..", "%2F", "../etc"] {
            assert_eq!(decoded(&encoded(name)), name);
            assert!(!encoded(name).contains('/') && encoded(name) != "..");
        }
    }
}
