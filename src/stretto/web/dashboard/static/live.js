// Keeps a page up to date: reads the stream of changes, or looks at intervals, and fetches the
// page's part again.
// Elements with data-keep keep their content and focus.

const BASE = document.body.dataset.base;
const main = document.querySelector("main[data-refresh], main[data-poll]");
const status = document.querySelector("[data-live]");
const LEAST_GAP_MS = 1000;

// on a phone the navigation is wider than the page
document.querySelector("header a[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

let lastFetch = 0;
let timer = 0;

async function refresh() {
  timer = 0;
  lastFetch = Date.now();
  if (document.hidden) return;
  const url = new URL(location.href);
  url.searchParams.set("part", "1");
  const response = await fetch(url);
  if (!response.ok) return;
  const fresh = document.createElement("main");
  fresh.innerHTML = await response.text();
  const kept = main.querySelectorAll("[data-keep]");
  const places = fresh.querySelectorAll("[data-keep]");
  if (kept.length !== places.length) return;
  const focused = document.activeElement;
  const scroll = window.scrollY;
  places.forEach((place, index) => place.replaceWith(kept[index]));
  main.replaceChildren(...fresh.childNodes);
  if (focused instanceof HTMLElement && main.contains(focused)) focused.focus({ preventScroll: true });
  window.scrollTo(0, scroll);
}

function schedule() {
  if (timer) return;
  timer = setTimeout(refresh, Math.max(0, lastFetch + LEAST_GAP_MS - Date.now()));
}

function isReading() {
  const selection = document.getSelection();
  return selection !== null && !selection.isCollapsed;
}

if (main && main.dataset.poll) {
  setInterval(() => { if (!isReading()) schedule(); }, Number(main.dataset.poll));
} else if (main) {
  const changes = new EventSource(`${BASE}/live/changes`);
  let first = true;
  changes.onopen = () => { if (status) status.textContent = "live"; };
  changes.onerror = () => { if (status) status.textContent = "reconnecting"; };
  changes.onmessage = () => {
    if (!first && !isReading()) schedule();
    first = false;
  };
}
