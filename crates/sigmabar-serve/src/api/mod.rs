//! The API: routes, and with them their description.

mod asking;
mod changing;
mod correcting;
mod document;
mod events;
mod looking;
mod sheets;
mod taking;

use crate::app::App;
use crate::refusal::Refusal;
use crate::wire::*;
use axum::Router;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::{MethodRouter, get, patch, post, put};
use document::{Document, Entry};
use std::sync::Arc;

type Routes = Router<Arc<App>>;

/// Adds a route and its description.
struct Table {
    routes: Routes,
    document: Document,
}

impl Table {
    fn add(mut self, path: &'static str, methods: MethodRouter<Arc<App>>, describe: impl FnOnce(&mut Document) -> Vec<Entry>) -> Self {
        let entries = describe(&mut self.document);
        entries.into_iter().for_each(|entry| self.document.add(entry));
        self.routes = self.routes.route(&format!("/api/v1{path}"), methods);
        self
    }
}

/// All routes of the API.
pub(crate) fn routes() -> Routes {
    let table = told(asked(looked(Table { routes: Router::new(), document: Document::new() })));
    let table = changed(table);
    let text = table.document.finish().to_string();
    let document = move || {
        let text = text.clone();
        async move { ([(header::CONTENT_TYPE, "application/json")], text).into_response() }
    };
    let missing = || async { Refusal::not_found("there is no such address in the API: see /api/v1/openapi.json") };
    table
        .routes
        .route("/api/v1/openapi.json", get(document))
        .route("/api/{*rest}", axum::routing::any(missing))
        .route("/healthz", get(looking::healthy))
        .route("/readyz", get(looking::ready))
        .route("/metrics", get(looking::metrics))
}

fn looked(table: Table) -> Table {
    table
        .add("/studies", get(looking::studies).post(changing::create), |d| {
            let create = d.entry("post", "/studies", "Begin a study in the served directory");
            let create = create.body::<NewStudy>(d).answers::<StudyShown>("201", "It is begun", d);
            vec![
                d.entry("get", "/studies", "The studies").answers::<Studies>("200", "The studies", d).refuses(&[], d),
                create.refuses(&[("403", "this token may only look"), ("409", "there is one of this name, or no directory is served")], d),
            ]
        })
        .add("/events", get(events::all), |d| {
            vec![d.entry("get", "/events", "Which studies change").answers_as("text/event-stream", "Server-sent events").refuses(&[], d)]
        })
        .add("/studies/{s}", get(looking::status), |d| {
            vec![d.entry("get", "/studies/{s}", "Where a study stands").answers::<StudyStatus>("200", "Its state", d).refuses(&[], d)]
        })
        .add("/studies/{s}/spec.toml", get(looking::spec_as_toml), |d| {
            let entry = d.entry("get", "/studies/{s}/spec.toml", "The study file").answers_as("application/toml", "As TOML");
            vec![entry.refuses(&[], d)]
        })
        .add("/studies/{s}/spec", get(looking::spec), |d| {
            vec![d.entry("get", "/studies/{s}/spec", "The study file").answers::<serde_json::Value>("200", "As JSON", d).refuses(&[], d)]
        })
        .add("/studies/{s}/recommendation", get(looking::recommendation), |d| {
            let entry = d.entry("get", "/studies/{s}/recommendation", "The setting to use by what is known now, with its certificate");
            vec![entry.answers::<RecommendationAnswer>("200", "The recommendation", d).refuses(&[], d)]
        })
        .add("/studies/{s}/premises", get(looking::premises), |d| {
            let entry = d.entry(
                "get",
                "/studies/{s}/premises",
                "The claim as a function of its premises, or with factors its map over length-scales",
            );
            let entry = entry.query::<PremisesQuery>(d).answers::<PremisesAnswer>("200", "The claim, or the map", d);
            vec![entry.refuses(&[("422", "factors that are no length-scale's")], d)]
        })
        .add("/studies/{s}/batches", get(looking::batches), |d| {
            vec![d.entry("get", "/studies/{s}/batches", "The batches").answers::<Batches>("200", "The batches", d).refuses(&[], d)]
        })
        .add("/studies/{s}/workers", get(looking::workers), |d| {
            vec![d.entry("get", "/studies/{s}/workers", "The workers").answers::<Workers>("200", "The workers", d).refuses(&[], d)]
        })
        .add("/studies/{s}/trials", get(looking::trials), |d| {
            let entry = d.entry("get", "/studies/{s}/trials", "Some trials, in the order of their numbers").query::<TrialsQuery>(d);
            vec![entry.answers::<Trials>("200", "Some trials", d).refuses(&[], d)]
        })
        .add("/studies/{s}/pictures/{name}", get(looking::picture), |d| {
            let entry = d.entry("get", "/studies/{s}/pictures/{name}", "A picture (NAME.svg, NAME.png) or its numbers (NAME.csv)");
            vec![entry.answers_as("image/svg+xml", "The picture").refuses(&[], d)]
        })
        .add("/studies/{s}/predict", post(looking::predict), |d| {
            let entry = d.entry("post", "/studies/{s}/predict", "What the model says at settings").body::<PredictBody>(d);
            vec![entry.answers::<Predictions>("200", "In the order of the settings", d).refuses(&[("403", "another site")], d)]
        })
        .add("/studies/{s}/events", get(events::of_study), |d| {
            let entry = d.entry("get", "/studies/{s}/events", "What happens to a study, as it happens").query::<EventsQuery>(d);
            let entry = entry.header("Last-Event-ID", "The number of the last event that was seen");
            vec![entry.answers_as("text/event-stream", "Server-sent events").refuses(&[], d)]
        })
}

fn asked(table: Table) -> Table {
    table
        .add("/studies/{s}/ask", post(asking::ask), |d| {
            let entry = d.entry("post", "/studies/{s}/ask", "Lease trials; with wait, until there are some").query::<AskQuery>(d);
            let entry = entry.header(
                "Idempotency-Key",
                "The sender's own name for this request: sent again with it, nothing counts as handed out twice",
            );
            let entry = entry.header(STUDY, MEANT).body::<AskBody>(d).answers::<AskAnswer>(
                "200",
                "Trials, or wait (with Retry-After), or finished",
                d,
            );
            let refusals = [("403", FORBIDDEN), ("409", "the data contradict the premises: nothing more is handed out"), OTHER];
            vec![entry.refuses(&refusals, d)]
        })
        .add("/studies/{s}/trials/{id}/lease", post(asking::renew).delete(asking::release), |d| {
            let renew = d.entry("post", "/studies/{s}/trials/{id}/lease", "Keep a trial for longer");
            let renew = renew.header(STUDY, MEANT).body::<LeaseBody>(d);
            let release = d.entry("delete", "/studies/{s}/trials/{id}/lease", "Give a trial back");
            let release = release.header(STUDY, MEANT).query::<WorkerQuery>(d);
            vec![
                renew.answers::<LeaseAnswer>("200", "Whether the worker still has it", d).refuses(&[("403", FORBIDDEN), OTHER], d),
                release.answers::<LeaseAnswer>("200", "It is in the queue", d).refuses(&[("403", FORBIDDEN), OTHER], d),
            ]
        })
}

const FORBIDDEN: &str = "a token that may only look, or another site";
const MEANT: &str = "The identity of the study that is meant";
const OTHER: (&str, &str) = ("412", "the study of this name is another one than was meant");
const CONTRADICTED: &str = "one of them contradicts what stands there, or is probably mistyped: nothing was written";
const FULL: (&str, &str) = ("507", "the disk is full: try again");

fn told(table: Table) -> Table {
    table
        .add("/studies/{s}/trials/{id}/result", put(asking::tell), |d| {
            let entry = d.entry("put", "/studies/{s}/trials/{id}/result", "Tell a result; told again with the same value it is as it was");
            let entry =
                entry.header("Idempotency-Key", "The sender's own name for this telling, kept with the result").header(STUDY, MEANT);
            let entry = entry.query::<SureQuery>(d).body::<ResultBody>(d);
            let entry =
                entry.answers::<ToldAnswer>("201", "It is written down", d).answers::<ToldAnswer>("200", "It stood there already", d);
            let refusals = [
                ("403", FORBIDDEN),
                ("409", "another result stands there, the trial was not handed out, or the result is probably mistyped"),
                OTHER,
                FULL,
            ];
            vec![entry.refuses(&refusals, d)]
        })
        .add("/studies/{s}/results", post(asking::tell_all), |d| {
            let entry = d.entry("post", "/studies/{s}/results", "Tell results: all of them or none").header(STUDY, MEANT);
            let entry = entry.query::<SureQuery>(d).body::<ResultsBody>(d).answers::<ToldAnswers>("200", "What became of each", d);
            let refusals = [("403", FORBIDDEN), ("409", CONTRADICTED), OTHER, FULL];
            vec![entry.refuses(&refusals, d)]
        })
        .add("/studies/{s}/earlier", post(changing::earlier), |d| {
            let entry = d.entry("post", "/studies/{s}/earlier", "Keep results measured before the study").body::<EarlierBody>(d);
            vec![entry.answers::<Kept>("200", "How many", d).refuses(&[("403", FORBIDDEN), ("409", "the file is read-only")], d)]
        })
        .add("/studies/{s}/import", post(sheets::import), |d| {
            let entry =
                d.entry("post", "/studies/{s}/import", "Tell a filled-in sheet, or look what it would change").query::<ImportQuery>(d);
            let entry = entry.header(STUDY, MEANT).body::<ImportBody>(d).answers::<ImportAnswer>("200", "Line by line", d);
            vec![entry.refuses(&[("403", FORBIDDEN), ("409", CONTRADICTED), OTHER], d)]
        })
}

fn changed(table: Table) -> Table {
    table
        .add("/studies/{s}/trials/{id}", patch(changing::note), |d| {
            let entry = d.entry("patch", "/studies/{s}/trials/{id}", "Remark something about a trial").header(STUDY, MEANT);
            let entry = entry.body::<NoteBody>(d).answers::<Done>("200", "It is kept", d);
            vec![entry.refuses(&[("403", FORBIDDEN), OTHER], d)]
        })
        .add("/studies/{s}/close-batch", post(changing::close), |d| {
            let entry = d.entry("post", "/studies/{s}/close-batch", "Go on without what is missing").body::<CloseBody>(d);
            vec![entry.answers::<Done>("200", "It is closed", d).refuses(&[("403", FORBIDDEN), ("409", "nothing of it was handed out")], d)]
        })
        .add("/studies/{s}/reap", post(changing::reap), |d| {
            let entry = d.entry("post", "/studies/{s}/reap", "Put back what nobody answers for").body::<NothingBody>(d);
            vec![entry.answers::<Reaped>("200", "What was put back", d).refuses(&[("403", FORBIDDEN)], d)]
        })
        .add("/studies/{s}/pause", post(changing::pause), |d| {
            let entry = d.entry("post", "/studies/{s}/pause", "Hand nothing out, to anybody or to one worker").body::<PauseBody>(d);
            vec![entry.answers::<Done>("200", "It is so", d).refuses(&[("403", FORBIDDEN)], d)]
        })
        .add("/studies/{s}/despite-contradiction", post(changing::despite), |d| {
            let entry = d.entry("post", "/studies/{s}/despite-contradiction", "Go on although the data contradict the premises");
            let entry = entry.body::<NothingBody>(d).answers::<Done>("200", "It goes on; nothing is certified any more", d);
            vec![entry.refuses(&[("403", FORBIDDEN)], d)]
        })
        .add("/studies/{s}/trials/{id}/replace", post(correcting::replace), |d| {
            let entry = d.entry("post", "/studies/{s}/trials/{id}/replace", "Put another result in the place of the one that was told");
            let entry = entry.header(STUDY, MEANT).body::<ReplaceBody>(d);
            let entry = entry.answers::<CorrectedAnswer>("200", "It is replaced; events keep what stood there", d);
            vec![entry.refuses(&[("403", FORBIDDEN), ("409", "there is no result to replace"), OTHER], d)]
        })
        .add("/studies/{s}/trials/{id}/void", post(correcting::void), |d| {
            let entry = d.entry("post", "/studies/{s}/trials/{id}/void", "Withdraw a result: the trial counts as failed");
            let entry = entry.header(STUDY, MEANT).body::<VoidBody>(d);
            let entry = entry.answers::<CorrectedAnswer>("200", "It is withdrawn; events keep what stood there", d);
            vec![entry.refuses(&[("403", FORBIDDEN), ("409", "there is no result to withdraw"), OTHER], d)]
        })
        .add("/studies/{s}/retry-failed", post(correcting::retry_failed), |d| {
            let entry = d.entry("post", "/studies/{s}/retry-failed", "Put the failures of the newest batch back into the queue");
            vec![entry.body::<NothingBody>(d).answers::<Reaped>("200", "What was put back", d).refuses(&[("403", FORBIDDEN)], d)]
        })
        .add("/studies/{s}/amend", post(correcting::amend), |d| {
            let entry = d.entry("post", "/studies/{s}/amend", "Go on by an edited study file").body::<AmendBody>(d);
            let entry = entry.answers::<AmendedKeys>("200", "The keys that changed", d);
            vec![entry.refuses(&[("403", FORBIDDEN), ("409", "a key cannot be changed while the study runs")], d)]
        })
        .add("/studies/{s}/plates/{plate}/wells", post(sheets::wells), |d| {
            let entry = d.entry("post", "/studies/{s}/plates/{plate}/wells", "Tell what came of wells, or look what that would change");
            let entry = entry.header(STUDY, MEANT).query::<ImportQuery>(d).body::<WellsBody>(d);
            let entry = entry.answers::<ImportAnswer>("200", "Line by line", d);
            let conflict = "another result stands there, one is probably mistyped, or the plate was laid out otherwise";
            vec![entry.refuses(&[("403", FORBIDDEN), ("409", conflict), OTHER], d)]
        })
        .add("/studies/{s}/plates/{plate}/{file}", get(sheets::file), |d| {
            let entry =
                d.entry("get", "/studies/{s}/plates/{plate}/{file}", "The sheet of a plate (sheet.csv), or its pipetting map (map.csv)");
            vec![entry.answers_as("text/csv", "The table").refuses(&[("409", "the plate was laid out otherwise")], d)]
        })
        .add("/studies/{s}/plates", post(sheets::lay_out), |d| {
            let entry = d.entry("post", "/studies/{s}/plates", "Lay the next trials into the wells of a plate").body::<PlateBody>(d);
            let entry = entry.answers::<AskAnswer>("200", "The trials of the plate", d);
            vec![entry.refuses(&[("403", FORBIDDEN), ("409", "the data contradict the premises")], d)]
        })
}
