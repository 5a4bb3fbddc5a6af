// Keeps the page up to date and sends what people type. Everything that is read is there without it.
const { events, api, may, study } = document.body.dataset;
const $ = (query, from = document) => from.querySelector(query);
const live = $("#live"), say = $("#say");

function tell(words) {
  say.textContent = words;
  clearTimeout(tell.timer);
  tell.timer = setTimeout(() => { say.textContent = ""; }, 8000);
}

// --- Morphing: the old tree is changed into the new one, so that focus, scroll places and half-typed words stay. ---

const isBusy = (node) => node.nodeType === 1 && (node === document.activeElement || node.dataset.dirty !== undefined) && node.matches("input,select,textarea");
const keyOf = (node) => (node.nodeType === 1 ? node.dataset.id || node.id || null : null);

function morph(old, fresh) {
  // What somebody types into stays, whatever stands in its place by now.
  if (isBusy(old) || (old.nodeType === 1 && old.dataset.keep !== undefined)) return;
  if (old.nodeType !== fresh.nodeType || old.nodeName !== fresh.nodeName) { old.replaceWith(fresh); return; }
  if (old.nodeType !== 1) { if (old.data !== fresh.data) old.data = fresh.data; return; }
  if (old.isEqualNode(fresh)) return;
  const open = old.nodeName === "DETAILS" && old.open;
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  if (open) old.open = true;
  if (old.nodeName === "INPUT" && old.value !== fresh.value) old.value = fresh.value;
  // A trial may have several marks in one picture.
  const keyed = new Map();
  for (const child of old.childNodes) { const key = keyOf(child); if (key) keyed.set(key, [...(keyed.get(key) || []), child]); }
  let place = old.firstChild;
  for (const child of [...fresh.childNodes]) {
    const key = keyOf(child), known = key && keyed.get(key)?.shift();
    if (known && known !== place) { old.insertBefore(known, place); morph(known, child); continue; }
    if (!place || (key && !known) || (keyOf(place) && !known)) { old.insertBefore(child, place); continue; }
    const next = place.nextSibling;
    morph(place, child);
    place = next;
  }
  while (place) {
    const next = place.nextSibling;
    if (!(place.nodeType === 1 && (place.contains(document.activeElement) && document.activeElement.dataset.dirty !== undefined))) place.remove();
    place = next;
  }
}

// --- News: one fetch at a time, and a pause thrice as long as it took. ---

let busy = false, stale = false, next = 0;
// What was not ready when the page was made.
const isWaiting = () => $("[data-waiting]") !== null;
async function refresh() {
  if (busy) { stale = true; return; }
  busy = true;
  await new Promise((done) => setTimeout(done, Math.max(0, next - Date.now())));
  stale = false;
  const begun = Date.now();
  let pause = 200;
  try {
    const answer = await fetch(location.href, { headers: { accept: "text/html" } });
    if (answer.ok) {
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      // Another study of this name is served here by now: nothing of this page is about it.
      if (page.body.dataset.study !== study) { location.reload(); return; }
      morph($("main"), $("main", page));
      localise();
      document.dispatchEvent(new CustomEvent("refreshed"));
    } else if (answer.status === 429 || answer.status === 503) {
      pause = 1000 * Number(answer.headers.get("retry-after") || 2);
      stale = true;
    }
  } catch { /* The stream says when the server is there again. */ }
  next = Date.now() + Math.max(pause, 3 * (Date.now() - begun));
  busy = false;
  if (stale || isWaiting()) refresh();
}

let stream = null;

function listen() {
  if (!events || stream || document.hidden) return;
  stream = new EventSource(events);
  stream.onopen = () => { live.textContent = "live"; };
  stream.onerror = () => { live.textContent = "not connected, trying again"; };
  let first = true;
  stream.addEventListener("changed", () => { if (!first || !events.endsWith("/events")) refresh(); first = false; });
  stream.addEventListener("happened", () => { first = false; refresh(); });
}

// A browser keeps six connections to one server: a tab that nobody looks at gives its own back, and catches up when it is looked at.
document.addEventListener("visibilitychange", () => {
  if (!events) return;
  if (!document.hidden) { listen(); refresh(); return; }
  stream?.close();
  stream = null;
  live.textContent = "asleep";
});

function localise() {
  for (const time of document.querySelectorAll("time[datetime]")) {
    time.textContent = new Date(time.dateTime).toLocaleString(undefined, { dateStyle: "short", timeStyle: "medium" });
  }
}

// --- Changes ---

async function send(method, path, body) {
  // Which study is meant, by its identity: another one of its name takes nothing of this page.
  const options = { method, headers: { "content-type": "application/json", ...(study && { "sigmabar-study": study }) } };
  if (method !== "DELETE") options.body = typeof body === "string" ? body : JSON.stringify(body);
  const answer = await fetch(api + path, options);
  const data = await answer.json().catch(() => ({}));
  // What is probably mistyped is asked about before it is written down.
  if (data.error === "mistyped" && confirm(`${data.message.replace(/; nothing was written down.*$/, "")}. Was it measured so?`)) {
    return send(method, `${path.replace(/[?&]sure=false/, "")}${/\?(?!sure=false)/.test(path) ? "&" : "?"}sure=true`, body);
  }
  if (!answer.ok) throw new Error(data.message || `the server answers ${answer.status}`);
  return data;
}

const attempt = (work) => work().catch((error) => { tell(error.message); return null; });

function resultOf(text) {
  const word = text.trim();
  if (/^fail/i.test(word)) return { failed: word.split(":").slice(1).join(":").trim() || "failed" };
  const value = Number(word.replace(/^(-?\d+),(\d+)$/, "$1.$2"));
  return word !== "" && Number.isFinite(value) ? { value } : null;
}

function understood(text) {
  const result = resultOf(text);
  if (!result) tell(`“${text}” is neither a number nor the word failed`);
  return result;
}

async function keepResult(trial, text) {
  const result = understood(text);
  return result !== null && (await attempt(() => send("PUT", `/trials/${trial}/result?sure=false`, result))) !== null;
}

// A result that was told is replaced, or withdrawn.
async function correct({ trial, value }) {
  const text = prompt(`The right result of trial ${trial}: a number, or failed. Leave it empty to withdraw the result.`, value);
  if (text === null) return;
  const result = text.trim() === "" ? {} : understood(text);
  const why = result && prompt("Why? It is kept as the trial's note, and in the events beside what stood there.", "");
  if (!why) return;
  const path = `/trials/${trial}/${text.trim() === "" ? "void" : "replace"}`;
  const done = await attempt(() => send("POST", path, { ...result, why }));
  if (done && done.corrected === "after-analysis") tell("Its batch had been analysed: it is analysed again, and the certificate says so.");
  if (done) refresh();
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-method]");
  if (button) {
    const { method, path, body, ask } = button.dataset;
    if (ask && !confirm(ask)) return;
    button.disabled = true;
    const done = await attempt(() => send(method, path, body));
    button.disabled = false;
    if (done && done.state === "wait") tell("Nothing is to be handed out now: tell what is open, or close the batch.");
    if (done && done.state === "finished") tell("The study is over.");
    if (done) refresh();
    return;
  }
  const wrong = event.target.closest("button.correct");
  if (wrong) { correct(wrong.dataset); return; }
  const well = event.target.closest("button.well");
  if (well && may === "write") type(well);
});

// A well becomes a field; Enter keeps what was typed and goes to the next open well.
function type(well) {
  const field = document.createElement("input");
  field.className = "well";
  field.dataset.dirty = "";
  field.inputMode = "decimal";
  field.setAttribute("aria-label", well.getAttribute("aria-label"));
  const table = well.closest("table");
  const open = [...table.querySelectorAll("button.well")];
  const next = open[open.indexOf(well) + 1];
  well.replaceWith(field);
  field.focus();
  let done = false;
  const leave = (text) => {
    if (done) return;
    done = true;
    if (text !== null) { well.textContent = text; well.className = "well"; }
    field.replaceWith(well);
  };
  field.addEventListener("keydown", async (event) => {
    if (event.key === "Escape") { leave(null); well.focus(); }
    if (event.key !== "Enter") return;
    event.preventDefault();
    const text = field.value;
    if (text.trim() === "") { leave(null); return; }
    field.disabled = true;
    if (await keepWell(well.dataset, text)) {
      leave(text.trim());
      showTyped(well.dataset.plate);
      if (next && next.isConnected) type(next);
    } else { field.disabled = false; field.classList.add("wrong"); field.focus(); }
  });
  field.addEventListener("blur", () => setTimeout(() => { if (!field.disabled && field.value.trim() === "") leave(null); }, 100));
}

// A control is told at once, and so is a setting of one well. Those of several wells stay in this browser until all of them have a result: their mean counts.
// They are kept for the study itself: another one may be served under its name.
const drafts = `${api}/plates/`;
const shelf = (plate) => `${drafts}${plate}@${study}`;
const forgetOthers = () => { for (const key of Object.keys(localStorage)) if (api && key.startsWith(drafts) && !key.endsWith(`@${study}`)) localStorage.removeItem(key); };
const typedOn = (plate) => JSON.parse(localStorage.getItem(shelf(plate)) || "{}");

async function keepWell({ plate, well, trial, together }, text) {
  if (trial !== "control" && together === undefined) return keepResult(trial, text);
  if (!understood(text)) return false;
  if (trial === "control") return (await attempt(() => send("POST", `/plates/${plate}/wells`, { wells: { [well]: text } }))) !== null;
  localStorage.setItem(shelf(plate), JSON.stringify({ ...typedOn(plate), [well]: text.trim() }));
  return true;
}

function showTyped(plate) {
  const open = [...document.querySelectorAll(`button.well[data-together][data-plate="${plate}"]`)];
  const typed = Object.fromEntries(Object.entries(typedOn(plate)).filter(([well]) => open.some((button) => button.dataset.well === well)));
  localStorage.setItem(shelf(plate), JSON.stringify(typed));
  for (const button of open) if (typed[button.dataset.well]) { button.textContent = typed[button.dataset.well]; button.className = "well written"; }
  const whole = open.filter(({ dataset: { trial } }) => open.every((other) => other.dataset.trial !== trial || typed[other.dataset.well]));
  const place = $(`#typed-${plate}`);
  place.replaceChildren();
  if (Object.keys(typed).length === 0) return;
  const words = document.createElement("p"), count = Object.keys(typed).length, settings = new Set(whole.map((button) => button.dataset.trial)).size;
  words.textContent = `${count === 1 ? "1 well is" : `${count} wells are`} typed and not told yet; ${settings === 1 ? "1 setting has all its" : `${settings} settings have all their`} results. `;
  place.append(words);
  if (whole.length === 0) return;
  const wells = Object.fromEntries(whole.map(({ dataset: { well } }) => [well, typed[well]]));
  words.append(pressed("See what they change", () => difference(place, `Plate ${plate}`, `/plates/${plate}/wells`, { wells }, () => showTyped(plate))));
}

const showAllTyped = () => { for (const table of document.querySelectorAll("table.plate")) showTyped(table.dataset.plate); };
document.addEventListener("refreshed", () => { if (!$(".typed table")) showAllTyped(); });

function pressed(words, work) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = words;
  button.addEventListener("click", async () => { button.disabled = true; await work(); button.disabled = false; });
  return button;
}

// A mark of a picture leads to its trial. With the keyboard, arrows walk over the marks of a picture, and Enter follows the one that stands out.
const marksOf = (picture) => [...picture.querySelectorAll("[data-id]")];
const visit = (id) => { location.href = `${api.replace("/api/v1/studies/", "/s/")}/trials${id > 0 ? `?after=${id - 1}` : ""}#trials-${id}`; };
document.addEventListener("click", ({ target }) => {
  const mark = api && target.closest("figure svg [data-id]");
  if (mark) visit(mark.dataset.id);
});
document.addEventListener("mouseover", ({ target }) => {
  const mark = target.closest("figure svg [data-id]");
  if (!mark || $("title", mark)) return;
  const words = document.createElementNS("http://www.w3.org/2000/svg", "title");
  words.textContent = `trial ${mark.dataset.id}`;
  mark.append(words);
});
document.addEventListener("keydown", (event) => {
  const picture = api && event.target.closest?.("figure svg");
  const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, PageDown: 50, PageUp: -50, Home: -Infinity, End: Infinity };
  if (!picture || !(event.key in steps || event.key === "Enter")) return;
  const marks = marksOf(picture), at = marks.findIndex((mark) => mark.dataset.chosen !== undefined);
  if (marks.length === 0) return;
  event.preventDefault();
  if (event.key === "Enter") { if (at >= 0) visit(marks[at].dataset.id); return; }
  const next = at < 0 ? 0 : Math.min(marks.length - 1, Math.max(0, at + steps[event.key]));
  if (at >= 0) delete marks[at].dataset.chosen;
  marks[next].dataset.chosen = "";
  tell(`trial ${marks[next].dataset.id}: Enter shows it`);
});
const reachable = () => { if (api) for (const picture of document.querySelectorAll("figure svg")) if ($("[data-id]", picture)) picture.setAttribute("tabindex", "0"); };
document.addEventListener("refreshed", reachable);

// Arrow keys walk over a plate.
document.addEventListener("keydown", (event) => {
  const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
  const cell = step && event.target.matches(".well:not(input)") && event.target.closest("td");
  if (!cell) return;
  event.preventDefault();
  const row = cell.parentElement.parentElement.rows[cell.parentElement.sectionRowIndex + step[0]];
  const target = row && row.cells[cell.cellIndex + step[1]];
  const well = target && $(".well", target);
  if (well) well.focus();
});

// Fields of tables: a result to tell, a note to keep. What is chosen in a form stays until it is sent.
document.addEventListener("input", (event) => {
  if (event.target.matches("input.tell, input.note-of, .filter input, .filter select")) event.target.dataset.dirty = "";
});
document.addEventListener("change", async (event) => {
  const field = event.target;
  const { trial } = field.dataset;
  let done = true;
  if (field.matches("input.tell") && field.value.trim()) done = await keepResult(trial, field.value);
  else if (field.matches("input.note-of")) done = (await attempt(() => send("PATCH", `/trials/${trial}`, { note: field.value }))) !== null;
  else if (field.id === "sheet" && field.files[0]) { compare(field.files[0]); return; }
  else return;
  field.classList.toggle("wrong", !done);
  if (done) { delete field.dataset.dirty; field.blur(); refresh(); }
});

// A sheet: first what it would change, then, if so wished, the change.
async function compare(file) {
  const csv = await attempt(() => textOf(file));
  if (csv === null) { $("#difference").replaceChildren(); return; }
  const body = { csv, file: file.name };
  difference($("#difference"), file.name, "/import", body, () => { $("#sheet").value = ""; tell("The sheet is told."); });
}

// A browser would put a sign in the place of every byte that is no UTF-8, and that would be written down.
async function textOf(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  const begins = (...mark) => mark.every((byte, i) => bytes[i] === byte);
  if (begins(0x50, 0x4b, 3, 4)) throw new Error(`${file.name}: a workbook is not read here: save the sheet as CSV (UTF-8), or tell it with the command sigmabar tell`);
  if (begins(0xff, 0xfe) || begins(0xfe, 0xff)) throw new Error(`${file.name}: it is UTF-16 text; save it as CSV (UTF-8)`);
  const read = (part) => { try { return new TextDecoder("utf-8", { fatal: true }).decode(part); } catch { return null; } };
  const text = read(bytes);
  if (text !== null) return text;
  let line = 1;
  for (let from = 0, end; (end = bytes.indexOf(10, from)) >= 0 && read(bytes.subarray(from, end)) !== null; from = end + 1) line += 1;
  throw new Error(`${file.name}, line ${line}: not UTF-8 text; save the file as UTF-8 (in Excel: CSV UTF-8)`);
}

async function difference(place, title, path, body, after) {
  // What was said of another file is not about this one.
  tell("");
  const answer = await attempt(() => send("POST", `${path}?dry_run=true`, body));
  place.replaceChildren();
  if (!answer) return;
  const count = (kind) => answer.changes.filter((change) => change.kind === kind).length;
  const words = document.createElement("p");
  words.textContent = `${title}: ${count("new")} new, ${count("late")} late, ${count("same")} as they stand, ${count("empty")} empty, ${count("conflict")} that contradict, ${count("unknown")} unknown.` + (answer.decimal_commas ? " Commas are read as decimal points." : "");
  const table = document.createElement("table");
  const row = (cells, name, kind) => {
    const line = table.insertRow();
    if (kind) line.className = `change-${kind}`;
    for (const text of cells) { const cell = document.createElement(name); cell.textContent = text; line.append(cell); }
  };
  row(["line", "trial", "well", "stands there", "the sheet says", ""], "th");
  for (const change of answer.changes.slice(0, 2000)) row([change.line, change.trial, change.well || "", change.before, change.after, change.kind], "td", change.kind);
  const frame = document.createElement("div");
  frame.className = "table";
  frame.append(table);
  place.append(words, frame);
  if (count("conflict") + count("unknown") > 0) {
    const why = document.createElement("p");
    why.className = "wrong";
    why.textContent = "Nothing can be told while lines contradict what stands there, or name trials that were not handed out: mend the sheet and choose it again.";
    words.after(why);
  }
  if (count("conflict") + count("unknown") > 0 || count("new") + count("late") === 0) return;
  const told = count("new") + count("late");
  place.append(pressed(told === 1 ? "Tell 1 result" : `Tell ${told} results`, async () => {
    if (await attempt(() => send("POST", path, body))) { place.replaceChildren(); after(); refresh(); }
  }));
}

localise();
reachable();
forgetOthers();
showAllTyped();
if (isWaiting()) refresh();
listen();
