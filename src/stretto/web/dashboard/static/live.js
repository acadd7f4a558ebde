// Decides when htmx reads the page's part again, and names lost connections and failures.
// htmx reads the stream of changes, reconnects it, and morphs the part into the page.

const BASE = document.body.dataset.base;
const LEAST_GAP_MS = 1000;
const PAUSES = 4;
const RETRY_MS = 2000;

const main = document.querySelector("main[hx-get]");
const stream = document.getElementById("live");
const notice = document.getElementById("notice");
const pause = document.querySelector("[data-pause]");

// on a phone the navigation is wider than the page
document.querySelector("header a[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

let shown = main?.dataset.version;
let nextFetch = 0;
let began = 0;
let timer = 0;
let isMissed = false;
let lastState = Date.now();

function say(text) {
  if (notice.textContent === text) return;
  notice.textContent = text;
  notice.hidden = !text;
}

function isPaused() {
  return pause !== null && pause.getAttribute("aria-pressed") === "true";
}

function isReading() {
  const selection = document.getSelection();
  return document.hidden || isPaused() || (selection !== null && !selection.isCollapsed);
}

function refresh() {
  htmx.trigger(main, "refresh");
}

function resume() {
  if (isMissed) refresh();
}

// ---------------------------------------------------------------- the part of the page

function isNew(event) {
  if (event.type !== "version") return true;
  const isOther = event.detail.data !== shown;
  shown = event.detail.data;
  return isOther;
}

// A page that takes long, as a table of many nodes, is fetched less often: a fifth of the time at most.
function mayFetch(event) {
  if (!isNew(event)) return false;
  isMissed = isReading();
  if (isMissed) return false;
  const wait = nextFetch - Date.now();
  if (wait > 0) timer ||= setTimeout(() => { timer = 0; refresh(); }, wait);
  return wait <= 0;
}

function sayLost() {
  const time = new Date(lastState).toISOString().slice(11, 19);
  say(`The server does not answer. This page shows the state of ${time} UTC.`);
}

function sayFailed({ response, text }) {
  if (response.status === 401) {
    say(text);
    return;
  }
  const part = new DOMParser().parseFromString(text, "text/html");
  const reason = part.querySelector(".fault")?.textContent ?? `status ${response.status}`;
  say(`This page shows an earlier state: ${reason}`);
}

const OF_MAIN = {
  "htmx:before:request": (event) => {
    if (mayFetch(event.detail.ctx.sourceEvent)) began = Date.now();
    else event.preventDefault();
  },
  "htmx:before:swap": (event) => {
    if (event.detail.ctx.response.status >= 400) return;
    say("");
    lastState = Date.now();
    isMissed ||= isReading();
    if (isMissed) event.preventDefault();
  },
  "htmx:response:error": (event) => sayFailed(event.detail.ctx),
  "htmx:error": sayLost,
  "htmx:finally:request": () => {
    if (began) nextFetch = Date.now() + Math.max(LEAST_GAP_MS, PAUSES * (Date.now() - began));
    began = 0;
  },
};

// ---------------------------------------------------------------- the stream of changes

function connect() {
  htmx.ajax("GET", `${BASE}/live/changes`, { source: stream, swap: "none" });
}

function sayConnected() {
  stream.textContent = "live";
  stream.classList.remove("lost");
  if (!notice.hidden) refresh();
}

function sayReconnecting() {
  if (!stream.classList.contains("lost")) lastState = Date.now();
  stream.textContent = "reconnecting";
  stream.classList.add("lost");
  refresh();
}

function retry() {
  sayReconnecting();
  setTimeout(connect, RETRY_MS);
}

const OF_STREAM = {
  "htmx:sse:after:connection": sayConnected,
  "htmx:sse:before:connection": (event) => { if (event.detail.connection.attempt) sayReconnecting(); },
  "htmx:sse:error": sayReconnecting,
  "htmx:response:error": retry,
  "htmx:error": retry,
};

// ---------------------------------------------------------------- events

function listen(element, handlers) {
  for (const [name, handle] of Object.entries(handlers)) {
    element.addEventListener(name, (event) => { if (event.target === element) handle(event); });
  }
}

// The answers of forms and the panel of the grid.
document.addEventListener("htmx:error", ({ target, detail }) => {
  if (target !== main && target !== stream && detail.ctx) detail.ctx.target.textContent = "The server does not answer. Try again.";
});
pause?.addEventListener("click", () => {
  pause.setAttribute("aria-pressed", String(!isPaused()));
  resume();
});
document.addEventListener("visibilitychange", resume);
document.addEventListener("selectionchange", resume);
if (main) listen(main, OF_MAIN);
if (stream) {
  listen(stream, OF_STREAM);
  connect();
}
