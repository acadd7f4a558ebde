// Draws the nodes as cells. The layout says which byte of a frame is which node.

const BASE = document.body.dataset.base;
const canvas = document.getElementById("grid");
const context = canvas.getContext("2d");
const columnBox = document.getElementById("column");
const groupingBox = document.getElementById("grouping");
const findBox = document.getElementById("find");
const cellText = document.getElementById("cell");
const tip = document.getElementById("tip");
const pause = document.querySelector("[data-pause]");
const panel = document.getElementById("panel");

const STEPS = 200;
const HEAD_BYTES = 12;
const GROUP_HEIGHT = 18;
const GROUP_GAP = 6;
const STRIPE_GAP = 16;
const LEAST_STRIPE = 140;
const MOST_STRIPES = 6;
const DRAG_FROM = 6;
const SMALL_GAP_FROM = 5;
const MOST_SIDE = 88;
const LABELS_FROM = 60;
const STATES = ["", "cordoned", "tainted", "not ready"];
const NOT_READY = 3;

let layout = null;
let cells = new Uint8Array(0);
let places = [];
let size = 8;
let zoom = 1;
let offsetY = 0;
let chosen = -1;
let palette = [];
let inks = [];
let stream = null;
let wished = "";
let dirty = false;

// ---------------------------------------------------------------- colours

function style(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function channels(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

// The luminance of WCAG 2; black and white have the same contrast to 0.18.
function luminance(colour) {
  const [red, green, blue] = colour.map((value) => {
    const part = value / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function readPalette() {
  const stops = [0, 1, 2, 3, 4].map((index) => channels(style(`--cell-${index}`)));
  palette = [style("--cell-absent")];
  inks = [style("--quiet")];
  for (let step = 0; step <= STEPS; step += 1) {
    const at = (step / STEPS) * (stops.length - 1);
    const low = Math.min(Math.floor(at), stops.length - 2);
    const mixed = stops[low].map((value, i) => Math.round(value + (stops[low + 1][i] - value) * (at - low)));
    palette.push(`rgb(${mixed.join(" ")})`);
    inks.push(luminance(mixed) > 0.18 ? "#000000" : "#ffffff");
  }
  const legend = document.getElementById("legend");
  const pen = legend.getContext("2d");
  for (let x = 0; x < legend.width; x += 1) {
    pen.fillStyle = palette[1 + Math.round((x / (legend.width - 1)) * STEPS)];
    pen.fillRect(x, 0, 1, legend.height);
  }
}

// ---------------------------------------------------------------- places

function groupsOf(grouping) {
  if (!grouping) return [{ name: "", members: layout.names.map((_, index) => index) }];
  const [names, numbers] = layout.groups[grouping];
  const found = names.map((name) => ({ name: name || `no ${grouping}`, members: [] }));
  numbers.forEach((number, index) => found[number].members.push(index));
  return found;
}

// Places groups one below the other, in columns of equal width; null if they do not fit.
function packed(groups, side, stripes, width, height) {
  const stripe = Math.floor(width / stripes);
  const perRow = Math.max(1, Math.floor((stripe - (stripes > 1 ? STRIPE_GAP : 0)) / side));
  const corners = [];
  let [column, top] = [0, 0];
  for (const group of groups) {
    const needed = (group.name ? GROUP_HEIGHT : 0) + Math.ceil(group.members.length / perRow) * side + GROUP_GAP;
    if (top > 0 && top + needed > height && column + 1 < stripes) [column, top] = [column + 1, 0];
    corners.push({ x: column * stripe, y: top });
    top += needed;
    if (top > height) return null;
  }
  return { side, perRow, corners };
}

// The largest cells with which everything is visible; otherwise the smallest, to be scrolled.
function fitted(groups, width, height) {
  const most = groups.length > 1 ? Math.min(MOST_STRIPES, groups.length, Math.max(1, Math.floor(width / LEAST_STRIPE))) : 1;
  for (let side = MOST_SIDE; side > 2; side -= side > 8 ? 1 : 0.5) {
    for (let stripes = 1; stripes <= most; stripes += 1) {
      const found = packed(groups, side, stripes, width, height);
      if (found) return found;
    }
  }
  return packed(groups, 2, 1, width, Infinity);
}

function arrange() {
  if (!layout) return;
  const ratio = window.devicePixelRatio || 1;
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  const groups = groupsOf(groupingBox.value);
  const whole = fitted(groups, width, height);
  const found = zoom === 1 ? whole : packed(groups, whole.side * zoom, 1, width, Infinity);
  size = found.side;
  places = new Array(layout.names.length);
  places.headings = [];
  places.order = groups.flatMap((group) => group.members);
  let bottom = 0;
  groups.forEach((group, number) => {
    const { x, y } = found.corners[number];
    const top = y + (group.name ? GROUP_HEIGHT : 0);
    if (group.name) places.headings.push({ text: `${group.name} (${group.members.length})`, x, y: y + 13 });
    group.members.forEach((index, i) => {
      places[index] = { x: x + (i % found.perRow) * size, y: top + Math.floor(i / found.perRow) * size };
    });
    bottom = Math.max(bottom, top + Math.ceil(group.members.length / found.perRow) * size);
  });
  offsetY = Math.min(Math.max(0, offsetY), Math.max(0, bottom - height));
  draw();
}

// ---------------------------------------------------------------- drawing

function draw() {
  if (dirty) return;
  dirty = true;
  requestAnimationFrame(paint);
}

function paint() {
  dirty = false;
  if (!layout) return;
  const height = canvas.clientHeight;
  const wanted = findBox.value;
  const gap = size >= SMALL_GAP_FROM ? 1 : 0;
  context.clearRect(0, 0, canvas.clientWidth, height);
  context.font = "12px system-ui, sans-serif";
  context.fillStyle = style("--quiet");
  for (const heading of places.headings) context.fillText(heading.text, heading.x, heading.y - offsetY);
  for (let index = 0; index < layout.names.length; index += 1) {
    const place = places[index];
    const y = place.y - offsetY;
    if (y + size < 0 || y > height) continue;
    context.globalAlpha = wanted && !layout.names[index].includes(wanted) ? 0.12 : 1;
    context.fillStyle = palette[cells[index] || 0];
    context.fillRect(place.x, y, size - gap, size - gap);
    if (size >= LABELS_FROM) label(index, place.x, y);
    if (layout.states[index]) mark(layout.states[index], place.x + 1, y + 1, size - gap - 2);
  }
  context.globalAlpha = 1;
  if (chosen >= 0 && chosen < places.length) {
    context.strokeStyle = style("--front");
    context.lineWidth = 3;
    context.strokeRect(places[chosen].x - 1, places[chosen].y - offsetY - 1, size + 1, size + 1);
  }
}

function label(index, x, y) {
  context.save();
  context.beginPath();
  context.rect(x + 4, y, size - 9, size);
  context.clip();
  context.fillStyle = inks[cells[index] || 0];
  context.fillText(layout.names[index], x + 5, y + 17);
  context.fillText(percent(index), x + 5, y + 33);
  context.restore();
}

// A frame around a node that takes no pods; one that is not ready is crossed out, too.
function mark(state, x, y, side) {
  context.strokeStyle = style(state === NOT_READY ? "--fault" : "--cell-closed");
  context.lineWidth = size >= 10 ? 2 : 1;
  context.strokeRect(x, y, side, side);
  if (state !== NOT_READY) return;
  context.beginPath();
  context.moveTo(x, y + side);
  context.lineTo(x + side, y);
  context.stroke();
}

// ---------------------------------------------------------------- choosing

function nodeAt(event) {
  const x = event.offsetX;
  const y = event.offsetY + offsetY;
  return places.findIndex((place) => x >= place.x && x < place.x + size && y >= place.y && y < place.y + size);
}

function describe(index) {
  if (index < 0 || !layout) return "";
  const use = cells[index] ? `${percent(index)} of ${columnBox.value}` : `no ${columnBox.value}`;
  const state = STATES[layout.states[index]];
  return `${layout.names[index]}: ${use}${state && `, ${state}`}`;
}

function percent(index) {
  return cells[index] ? `${Math.round(((cells[index] - 1) / STEPS) * 100)} %` : "-";
}

function choose(index) {
  if (index < 0) return;
  chosen = index;
  cellText.textContent = describe(index);
  const place = places[index];
  if (place.y < offsetY) offsetY = place.y;
  if (place.y + size > offsetY + canvas.clientHeight) offsetY = place.y + size - canvas.clientHeight;
  draw();
}

async function open(index) {
  if (index < 0) return;
  choose(index);
  const node = encodeURIComponent(layout.names[index]);
  const pod = canvas.dataset.pod;
  const page = pod ? `/pods/${pod.split("/").map(encodeURIComponent).join("/")}/on?node=${node}&part=1` : `/nodes/${node}?part=1`;
  if (!pod) remember("node", layout.names[index]);
  await htmx.ajax("GET", BASE + page, { source: panel, target: panel });
  panel.scrollTop = 0;
}

// The node in the row above or below whose column is nearest.
function vertical(direction) {
  if (chosen < 0) return 0;
  const from = places[chosen];
  let [best, least] = [chosen, Infinity];
  places.forEach((place, index) => {
    const down = (place.y - from.y) * direction;
    const distance = down * 1000 + Math.abs(place.x - from.x);
    if (down > 0.5 && distance < least) [best, least] = [index, distance];
  });
  return best;
}

function along(step) {
  const at = places.order.indexOf(chosen) + step;
  return places.order[Math.min(Math.max(0, at), places.order.length - 1)];
}

function setZoom(factor) {
  zoom = Math.min(Math.max(1, zoom * factor), 12);
  canvas.style.touchAction = zoom > 1 ? "none" : "pan-y";
  arrange();
}

function showEverything() {
  offsetY = 0;
  setZoom(1 / zoom);
}

function hover(event) {
  tip.textContent = event.pointerType === "mouse" ? describe(nodeAt(event)) : "";
  tip.hidden = !tip.textContent;
  const left = Math.min(event.offsetX + 14, canvas.clientWidth - tip.offsetWidth - 4);
  tip.style.left = `${Math.max(0, left)}px`;
  tip.style.top = `${event.offsetY + 18}px`;
}

const KEYS = {
  ArrowLeft: () => choose(along(-1)),
  ArrowRight: () => choose(along(1)),
  ArrowUp: () => choose(vertical(-1)),
  ArrowDown: () => choose(vertical(1)),
  Home: () => choose(places.order[0]),
  End: () => choose(places.order.at(-1)),
  Enter: () => open(chosen),
  "+": () => setZoom(1.5),
  "-": () => setZoom(1 / 1.5),
  0: showEverything,
};

canvas.addEventListener("keydown", (event) => {
  const act = KEYS[event.key];
  if (!act || !layout || !layout.names.length) return;
  event.preventDefault();
  act();
});
for (const [name, act] of [["in", () => setZoom(1.5)], ["out", () => setZoom(1 / 1.5)], ["all", showEverything]]) {
  document.getElementById(`zoom-${name}`).addEventListener("click", act);
}
let dragged = 0;
canvas.addEventListener("pointerdown", () => { dragged = 0; });
canvas.addEventListener("pointermove", (event) => {
  if (event.buttons && zoom > 1) {
    dragged += Math.abs(event.movementY);
    offsetY -= event.movementY;
    arrange();
  } else hover(event);
});
canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
canvas.addEventListener("click", (event) => { if (dragged < DRAG_FROM) open(nodeAt(event)); });
canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  if (event.ctrlKey || event.shiftKey || zoom === 1) setZoom(event.deltaY < 0 ? 1.25 : 0.8);
  else { offsetY += event.deltaY; arrange(); }
}, { passive: false });

// ---------------------------------------------------------------- data

// Keeps a choice in the address, so that a link, the back button or a reload shows it again.
function remember(name, value) {
  const url = new URL(location.href);
  if (value) url.searchParams.set(name, value);
  else url.searchParams.delete(name);
  history.replaceState(null, "", url);
}

function restore() {
  const wanted = new URL(location.href).searchParams;
  for (const box of [columnBox, groupingBox]) {
    const value = wanted.get(box.id);
    if ([...box.options].some((option) => option.value === value)) box.value = value;
  }
  return wanted.get("node") ?? "";
}

async function loadLayout() {
  const before = layout?.names[chosen];
  const response = await fetch(`${BASE}/live/layout`);
  if (!response.ok) throw new Error(response.statusText);
  layout = await response.json();
  cells = new Uint8Array(layout.names.length);
  chosen = before === undefined ? -1 : layout.names.indexOf(before);
  if (!columnBox.options.length) {
    for (const name of layout.columns) columnBox.add(new Option(name, name));
    for (const [name, [values]] of Object.entries(layout.groups)) {
      if (values.some((value) => value)) groupingBox.add(new Option(name, name));
    }
    wished = restore();
  }
  canvas.setAttribute("aria-label", `Grid of ${layout.names.length} nodes`);
  arrange();
}

async function readFrames() {
  stream?.abort();
  const own = new AbortController();
  stream = own;
  while (!own.signal.aborted) {
    try {
      await loadLayout();
      const response = await fetch(`${BASE}/live/frames?column=${encodeURIComponent(columnBox.value)}`, { signal: own.signal });
      if (!response.ok) throw new Error(response.statusText);
      await consume(response.body.getReader());
    } catch {
      await new Promise((resolve) => { setTimeout(resolve, 1000); });
    }
  }
}

async function consume(reader) {
  let held = new Uint8Array(0);
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const joined = new Uint8Array(held.length + value.length);
    joined.set(held);
    joined.set(value, held.length);
    held = joined;
    for (;;) {
      if (held.length < HEAD_BYTES) break;
      const view = new DataView(held.buffer, held.byteOffset);
      const length = view.getUint32(0, true) + 4;
      if (held.length < length) break;
      if (Number(view.getBigUint64(4, true)) !== layout.version) { await reader.cancel(); return; }
      if (pause?.getAttribute("aria-pressed") !== "true") cells = held.slice(HEAD_BYTES, length);
      held = held.slice(length);
      canvas.dataset.frames = String(Number(canvas.dataset.frames || 0) + 1);
      draw();
      if (wished) open(layout.names.indexOf(wished));
      wished = "";
    }
  }
}

columnBox.addEventListener("change", () => { remember("column", columnBox.value); readFrames(); });
groupingBox.addEventListener("change", () => { remember("grouping", groupingBox.value); arrange(); });
findBox.addEventListener("input", () => { remember("find", findBox.value); draw(); });
findBox.addEventListener("keydown", (event) => {
  if (event.key === "Enter") open(layout.names.findIndex((name) => name.includes(findBox.value)));
});
window.addEventListener("resize", arrange);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readPalette(); draw(); });

readPalette();
readFrames();
