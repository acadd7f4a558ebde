// Keeps a page up to date: reads the stream of changes, or looks at intervals, and fetches the
// page's part again.
// Elements with data-keep keep their content; focus and scroll positions stay.

const BASE = document.body.dataset.base;
const main = document.querySelector("main[data-refresh], main[data-poll]");
const status = document.querySelector("[data-live]");
const notice = document.querySelector("[data-notice]");
const pause = document.querySelector("[data-pause]");
const LEAST_GAP_MS = 1000;
const PAUSES = 4;
const RETRY_MS = 2000;

// on a phone the navigation is wider than the page
document.querySelector("header a[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

let nextFetch = 0;
let isBusy = false;
let lastState = Date.now();
let timer = 0;
let isMissed = false;
let shown = main?.dataset.refresh;

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

// A page that takes long, as a table of many nodes, is fetched less often: a fifth of the time at most.
async function refresh() {
  timer = 0;
  isMissed = isReading();
  if (isMissed) return;
  const began = Date.now();
  isBusy = true;
  await fetchPart();
  isBusy = false;
  nextFetch = Date.now() + Math.max(LEAST_GAP_MS, PAUSES * (Date.now() - began));
  resume();
}

async function fetchPart() {
  const url = new URL(location.href);
  url.searchParams.set("part", "1");
  let response;
  try {
    response = await fetch(url);
  } catch {
    sayLost();
    return;
  }
  const text = await response.text();
  if (response.ok) {
    say("");
    lastState = Date.now();
    replace(text);
  } else sayFailed(response.status, text);
}

function sayLost() {
  const time = new Date(lastState).toISOString().slice(11, 19);
  say(`The server does not answer. This page shows the state of ${time} UTC.`);
}

function sayFailed(code, text) {
  if (code === 401) {
    say(text);
    return;
  }
  const part = new DOMParser().parseFromString(text, "text/html");
  const reason = part.querySelector(".fault")?.textContent ?? `status ${code}`;
  say(`This page shows an earlier state: ${reason}`);
}

// ---------------------------------------------------------------- replacing

function replace(text) {
  const fresh = document.createElement("main");
  fresh.innerHTML = text;
  const [focus, scroll] = [focusOf(document.activeElement), window.scrollY];
  const sideways = [...main.querySelectorAll(".wide")].map((each) => [each.ariaLabel, each.scrollLeft]);
  for (const place of fresh.querySelectorAll("[data-keep]")) {
    const kept = main.querySelector(`[data-keep="${place.dataset.keep}"]`);
    if (kept) place.replaceWith(kept);
  }
  main.replaceChildren(...fresh.childNodes);
  for (const [label, left] of sideways) {
    const wide = main.querySelector(`.wide[aria-label="${CSS.escape(label)}"]`);
    if (wide) wide.scrollLeft = left;
  }
  focus()?.focus({ preventScroll: true });
  window.scrollTo(0, scroll);
}

// Returns a function that finds the element that had the focus, or the one that took its place.
function focusOf(element) {
  if (!main.contains(element)) return () => null;
  if (element.closest("[data-keep]")) return () => element;
  for (const name of ["href", "aria-label"]) {
    const value = element.getAttribute(name);
    if (!value) continue;
    const selector = `${element.localName}[${name}="${CSS.escape(value)}"]`;
    const number = [...main.querySelectorAll(selector)].indexOf(element);
    return () => main.querySelectorAll(selector)[number] ?? main.querySelector(selector);
  }
  return () => null;
}

// ---------------------------------------------------------------- changes

function schedule() {
  if (isBusy) isMissed = true;
  else if (!timer) timer = setTimeout(refresh, Math.max(0, nextFetch - Date.now()));
}

function resume() {
  if (isMissed) schedule();
}

function connect() {
  const changes = new EventSource(`${BASE}/live/changes`);
  changes.onopen = () => {
    status.textContent = "live";
    status.classList.remove("lost");
    if (!notice.hidden) schedule();
  };
  changes.onerror = () => {
    if (!status.classList.contains("lost")) lastState = Date.now();
    status.textContent = "reconnecting";
    status.classList.add("lost");
    if (changes.readyState === EventSource.CLOSED) setTimeout(connect, RETRY_MS);
    schedule();
  };
  changes.onmessage = ({ data }) => {
    if (data !== shown) schedule();
    shown = data;
  };
}

pause?.addEventListener("click", () => {
  pause.setAttribute("aria-pressed", String(!isPaused()));
  resume();
});
document.addEventListener("visibilitychange", resume);
document.addEventListener("selectionchange", resume);
if (main?.dataset.poll) setInterval(schedule, Number(main.dataset.poll));
else if (main) connect();
