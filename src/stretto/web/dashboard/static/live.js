// Decides when htmx reads the page's part again, and names a lost connection.
// htmx reads the stream of changes and reconnects it, morphs the part into the page, and shows
// refused requests in the notice.

const LEAST_GAP_MS = 1000;
const PAUSES = 4;
const RETRY_MS = 2000;

const main = document.querySelector("main[hx-get]");
const stream = document.getElementById("live");
const notice = document.getElementById("notice");
const pause = document.querySelector("[data-pause]");

let shown = main?.dataset.version;
let nextFetch = 0;
let began = 0;
let timer = 0;
let isMissed = false;
let lastState = Date.now();

function isPaused() {
  return pause?.getAttribute("aria-pressed") === "true";
}

function isReading() {
  return document.hidden || isPaused() || document.getSelection()?.isCollapsed === false;
}

function refresh() {
  htmx.trigger(main, "refresh");
}

function resume() {
  if (isMissed) refresh();
}

// A page that takes long, as a table of many nodes, is fetched less often: a fifth of the time at most.
function mayFetch({ type, detail }) {
  if (type === "version" && detail.data === shown) return false;
  if (type === "version") shown = detail.data;
  isMissed = isReading();
  if (isMissed) return false;
  const wait = nextFetch - Date.now();
  if (wait > 0) timer ||= setTimeout(() => { timer = 0; refresh(); }, wait);
  return wait <= 0;
}

function sayLost() {
  const time = new Date(lastState).toISOString().slice(11, 19);
  const text = `The server does not answer. This page shows the state of ${time} UTC.`;
  if (notice.textContent !== text) notice.textContent = text;
}

const OF_MAIN = {
  "htmx:before:request": (event) => {
    if (mayFetch(event.detail.ctx.sourceEvent)) began = Date.now();
    else event.preventDefault();
  },
  "htmx:before:swap": (event) => {
    if (event.detail.ctx.response.status >= 400) return;
    notice.textContent = "";
    lastState = Date.now();
    isMissed = isReading();
    if (isMissed) event.preventDefault();
  },
  "htmx:finally:request": () => {
    if (began) nextFetch = Date.now() + Math.max(LEAST_GAP_MS, PAUSES * (Date.now() - began));
    began = 0;
  },
  "htmx:error": sayLost,
};

// ---------------------------------------------------------------- the stream of changes

function connect() {
  htmx.ajax("GET", `${document.body.dataset.base}/live/changes`, { source: stream, swap: "none" });
}

function setConnected(isConnected) {
  const wasConnected = !stream.classList.contains("lost");
  if (wasConnected && !isConnected) lastState = Date.now();
  stream.textContent = isConnected ? "live" : "reconnecting";
  stream.classList.toggle("lost", !isConnected);
  if (!isConnected || notice.textContent) refresh();
}

function retry() {
  setConnected(false);
  setTimeout(connect, RETRY_MS);
}

const OF_STREAM = {
  "htmx:sse:before:connection": ({ detail }) => { if (detail.connection.attempt) setConnected(false); },
  "htmx:sse:after:connection": () => setConnected(true),
  "htmx:sse:error": () => setConnected(false),
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
// on a phone the navigation is wider than the page
document.querySelector("header a[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
