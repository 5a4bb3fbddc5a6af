//! What every request passes: the right name of the server, a token, no other site behind a change, and no more than the limits.

use crate::app::App;
use crate::rates::Who;
use crate::refusal::Refusal;
use crate::token::Access;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

/// The other end of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub SocketAddr);

/// The longest body of a request.
pub(crate) const MOST_BYTES: usize = 1 << 20;
/// The longest table that is uploaded.
const MOST_TABLE_BYTES: usize = 16 << 20;
/// What may be done at all.
const METHODS: [Method; 6] = [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH, Method::DELETE];
/// A body that takes longer is not waited for.
const SLOWEST_BODY: Duration = Duration::from_secs(30);

/// Pages load nothing from elsewhere, and nobody puts them into a frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; \
                      base-uri 'none'; frame-ancestors 'none'";

/// Checks a request, lets it through, and puts the headers on the answer that keep browsers from doing harm with it.
pub(crate) async fn guard(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let is_asset = request.uri().path().starts_with("/assets/");
    let answer = match admit(&app, request).await {
        Ok(Admitted::Through(request)) => next.run(request).await,
        Ok(Admitted::Answer(response)) => response,
        Err(refusal) => refusal.into_response(),
    };
    app.counters.count(answer.status());
    protected(answer, is_asset)
}

enum Admitted {
    Through(Request),
    Answer(Response),
}

async fn admit(app: &App, request: Request) -> Result<Admitted, Refusal> {
    let known = identify(app, request.headers());
    if let Some(peer) = peer(&request) {
        // A right token in the address is one as well: strangers must not lock out who opens the page for the first time.
        let by_address = || token_of_query(request.uri().query()).and_then(|given| app.tokens.access(&given));
        app.rates.take(peer, known.as_ref().ok().map(|(access, _)| *access).or_else(by_address).into())?;
    }
    check_host(app, request.headers())?;
    if !METHODS.contains(request.method()) {
        let message = format!("{} is no method of this server", request.method());
        return Err(Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "wrong-method", message));
    }
    let path = request.uri().path();
    if matches!(path, "/healthz" | "/readyz") || path.starts_with("/assets/") {
        return Ok(Admitted::Through(request));
    }
    let is_page = !path.starts_with("/api/") && path != "/metrics";
    if let Some(given) = token_of_query(request.uri().query()).filter(|_| is_page) {
        return admit_by_address(app, &request, &given);
    }
    let (access, by_cookie) = match known {
        Ok(identified) => identified,
        Err(_) if is_page && request.method() == Method::GET && !has_token(app, request.headers()) => {
            return Ok(Admitted::Answer(sign_in()));
        }
        Err(refusal) => return Err(wrong_token(app, &request, refusal)),
    };
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        check_change(app, &request, access, by_cookie)?;
    }
    let mut request = limited(request).await?;
    request.extensions_mut().insert(access);
    Ok(Admitted::Through(request))
}

/// The request is for this server, under a name that belongs to it: a foreign name that was made to point here is refused.
fn check_host(app: &App, headers: &HeaderMap) -> Result<(), Refusal> {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default().to_ascii_lowercase();
    if app.hosts.contains(&host) {
        return Ok(());
    }
    let message =
        format!("this server does not answer to the name \"{host}\": use {}, or start it with --allow-host", app.hosts.join(", "));
    Err(Refusal::new(StatusCode::MISDIRECTED_REQUEST, "foreign-host", message))
}

fn token_of_query(query: Option<&str>) -> Option<String> {
    query?.split('&').find_map(|pair| pair.strip_prefix("token=")).map(str::to_owned)
}

/// The address that was printed: a cookie made from the token stays, and the token goes out of the address.
fn admit_by_address(app: &App, request: &Request, given: &str) -> Result<Admitted, Refusal> {
    if request.method() != Method::GET {
        return Err(Refusal::new(StatusCode::UNAUTHORIZED, "unauthorised", "a token in the address opens pages only"));
    }
    let Some(access) = app.tokens.access(given) else {
        return Err(wrong_token(app, request, unauthorised("the token of this address is wrong")));
    };
    let rest: Vec<&str> = request.uri().query().unwrap_or_default().split('&').filter(|pair| !pair.starts_with("token=")).collect();
    let query = if rest.is_empty() { String::new() } else { format!("?{}", rest.join("&")) };
    // A path that begins with two slashes would lead to another server.
    let target = format!("/{}{query}", request.uri().path().trim_start_matches('/'));
    let cookie = format!("{}={}; Path=/; HttpOnly; SameSite=Strict; Max-Age=2592000", app.cookie, app.tokens.cookie(access));
    let headers = [(header::LOCATION, target), (header::SET_COOKIE, cookie)];
    Ok(Admitted::Answer((StatusCode::SEE_OTHER, headers).into_response()))
}

/// What the token of a request may do, and whether it came in a cookie.
fn identify(app: &App, headers: &HeaderMap) -> Result<(Access, bool), Refusal> {
    if let Some(given) = headers.get(header::AUTHORIZATION) {
        let given = given.to_str().ok().and_then(|text| text.strip_prefix("Bearer ")).map(str::trim).unwrap_or_default();
        let access = app.tokens.access(given);
        return access.map(|access| (access, false)).ok_or_else(|| unauthorised("the token is wrong"));
    }
    // A browser may send several of one name: old ones, or those of another path.
    let access = cookies(app, headers).filter_map(|given| app.tokens.access_by_cookie(given)).max();
    access.map(|access| (access, true)).ok_or_else(|| unauthorised("send the token as \"Authorization: Bearer …\""))
}

fn has_token(app: &App, headers: &HeaderMap) -> bool {
    headers.contains_key(header::AUTHORIZATION) || cookies(app, headers).next().is_some()
}

fn cookies<'a>(app: &'a App, headers: &'a HeaderMap) -> impl Iterator<Item = &'a str> {
    let cookies = headers.get_all(header::COOKIE).into_iter().filter_map(|value| value.to_str().ok());
    let pairs = cookies.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.filter(|(name, _)| *name == app.cookie).map(|(_, value)| value)
}

fn unauthorised(message: &str) -> Refusal {
    let message = format!("{message}; sigmabar serve prints the address with it");
    Refusal::new(StatusCode::UNAUTHORIZED, "unauthorised", message)
}

fn wrong_token(app: &App, request: &Request, refusal: Refusal) -> Refusal {
    // Who gives no token guesses none.
    if !has_token(app, request.headers()) && token_of_query(request.uri().query()).is_none() {
        return refusal;
    }
    match peer(request).map(|peer| app.rates.take(peer, Who::Guesser)) {
        Some(Err(too_many)) => too_many,
        _ => refusal,
    }
}

fn peer(request: &Request) -> Option<IpAddr> {
    request.extensions().get::<Peer>().map(|peer| peer.0.ip())
}

/// A change is made by somebody who may, from this server's own pages or from no page at all, and says so in JSON, which no form of another site can.
fn check_change(app: &App, request: &Request, access: Access, by_cookie: bool) -> Result<(), Refusal> {
    let headers = request.headers();
    let only_looks = request.method() == Method::POST && request.uri().path().ends_with("/predict");
    if access < Access::Write && !only_looks {
        return Err(Refusal::new(StatusCode::FORBIDDEN, "read-only", "this token may only look"));
    }
    let foreign =
        |what: &str| Refusal::new(StatusCode::FORBIDDEN, "foreign-origin", format!("changes come from this server's own pages: {what}"));
    let site = headers.get("sec-fetch-site").and_then(|site| site.to_str().ok());
    if site.is_some_and(|site| site != "same-origin") {
        return Err(foreign("this request was made by another site"));
    }
    let origin = headers.get(header::ORIGIN).map(|origin| origin.to_str().unwrap_or_default().to_ascii_lowercase());
    let is_own = |origin: &String| {
        let host = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        host.is_some_and(|host| app.hosts.iter().any(|known| known == host))
    };
    if origin.as_ref().is_some_and(|origin| !is_own(origin)) {
        return Err(foreign("its Origin is another one"));
    }
    if by_cookie && origin.is_none() && site.is_none() {
        return Err(foreign("a request with a cookie needs an Origin"));
    }
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let is_json = kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"));
    // Where nothing is sent there is nothing to misread; who needs a body finds it missing.
    let is_empty =
        headers.get(header::CONTENT_LENGTH).is_none_or(|length| length == "0") && !headers.contains_key(header::TRANSFER_ENCODING);
    let is_nothing = is_empty && !headers.contains_key(header::CONTENT_TYPE);
    if !is_json && !is_nothing && request.method() != Method::DELETE {
        let message = "changes are sent as application/json";
        return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not-json", message));
    }
    Ok(())
}

/// Reads the body, as far as it may go and as long as it may take.
async fn limited(request: Request) -> Result<Request, Refusal> {
    let is_table = request.method() == Method::POST && request.uri().path().ends_with("/import");
    let most = if is_table { MOST_TABLE_BYTES } else { MOST_BYTES };
    let too_long = || Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", format!("a request has at most {most} bytes"));
    let length = request.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|length| length > most as u64) {
        return Err(too_long());
    }
    let (parts, body) = request.into_parts();
    let bytes = tokio::time::timeout(SLOWEST_BODY, axum::body::to_bytes(body, most)).await;
    let slow = |_| Refusal::new(StatusCode::REQUEST_TIMEOUT, "too-slow", "the body of the request did not arrive in time");
    let bytes = bytes.map_err(slow)?.map_err(|_| too_long())?;
    Ok(Request::from_parts(parts, Body::from(bytes)))
}

fn sign_in() -> Response {
    let page = crate::pages::sign_in();
    (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, "Bearer")], page).into_response()
}

fn protected(mut response: Response, is_asset: bool) -> Response {
    let headers = response.headers_mut();
    let mut set = |name: HeaderName, value: &'static str| {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    };
    set(header::CONTENT_SECURITY_POLICY, POLICY);
    set(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(header::REFERRER_POLICY, "no-referrer");
    set(header::X_FRAME_OPTIONS, "DENY");
    set(HeaderName::from_static("cross-origin-resource-policy"), "same-origin");
    set(HeaderName::from_static("cross-origin-opener-policy"), "same-origin");
    set(header::CACHE_CONTROL, if is_asset { "no-cache" } else { "no-store" });
    response
}
