// Draws the curves of a comparison with uPlot; the tables below the plots have the same values.

const COLOURS = 8;
const DASHES = [[], [2, 4], [10, 4, 2, 4]];
const WIDTH = 2;
const FONT = "12px system-ui, sans-serif";
const HEIGHT = 320;
const SIDE = 64;
const BAND = "26";
const AREA = "66";

function style(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function figure(value) {
  return value === null || value === undefined ? "-" : value.toLocaleString("en", { maximumFractionDigits: 2 });
}

// The last point of a curve up to the cursor: curves have points at different positions.
function pointBefore(plot, series, index) {
  const values = plot.data[series];
  let at = index;
  while (at > 0 && values[at] === undefined) at -= 1;
  return at;
}

function colourOf(line, opacity = "") {
  return () => style(`--line-${line.colour % COLOURS}`) + opacity;
}

function seriesOf(line) {
  const shape = line.marks ? { paths: () => null, points: { show: true, size: 7, fill: () => style("--back") } } : { points: { show: false } };
  if (line.steps) shape.paths = uPlot.paths.stepped({ align: 1 });
  return {
    label: line.label,
    class: line.label ? "named" : "unnamed",
    stroke: colourOf(line),
    width: WIDTH,
    dash: line.dashed ? [6, 4] : DASHES[Math.floor(line.colour / COLOURS) % DASHES.length],
    value: (_, value) => figure(value),
    ...shape,
  };
}

// The limits of the band around a curve, as two curves that are not drawn.
function limitsOf(line) {
  return [1, -1].map((sign) => [line.x, line.y.map((value, at) => value + sign * line.band[at])]);
}

// Returns data, series and filled areas of curves, some with a band around them.
function besideOneAnother(lines) {
  const banded = lines.filter((line) => line.band.length);
  const curves = [...lines.map((line) => [line.x, line.y]), ...banded.flatMap(limitsOf)];
  const limit = { class: "unnamed", width: 0, points: { show: false } };
  const first = lines.length + 1;
  return {
    data: uPlot.join(curves),
    series: [...lines.map(seriesOf), ...banded.flatMap(() => [limit, limit])],
    bands: banded.map((line, n) => ({ series: [first + 2 * n, first + 2 * n + 1], fill: colourOf(line, BAND) })),
  };
}

// Returns the same for areas on top of one another; the legend shows the value of each.
function stacked(lines) {
  const [positions, ...values] = uPlot.join(lines.map((line) => [line.x, line.y]));
  const sums = [];
  values.forEach((own, n) => sums.push(own.map((value, at) => (value ?? 0) + (sums[n - 1]?.[at] ?? 0))));
  const series = lines.map((line, n) => ({
    ...seriesOf(line),
    fill: colourOf(line, AREA),
    value: (_, sum, number, at) => figure(at === null ? null : values[n][at]),
  }));
  return { data: [positions, ...sums], series, bands: lines.slice(1).map((_, n) => ({ series: [n + 2, n + 1] })) };
}

function axis(label) {
  return {
    label,
    font: FONT,
    labelFont: FONT,
    stroke: () => style("--quiet"),
    grid: { stroke: () => style("--line"), width: 1 },
    ticks: { stroke: () => style("--line"), width: 1 },
    values: (_, splits) => splits.map((value) => (value === null ? "" : figure(value))),
  };
}

// A vertical line with its label at each marked moment.
function markMoments(plot, moments) {
  const { ctx: pen, bbox } = plot;
  pen.save();
  pen.strokeStyle = style("--quiet");
  pen.fillStyle = style("--quiet");
  pen.font = `${12 * devicePixelRatio}px system-ui, sans-serif`;
  pen.textAlign = "left";
  pen.setLineDash([2, 4]);
  for (const [at, label] of moments) {
    const x = plot.valToPos(at, "x", true);
    pen.beginPath();
    pen.moveTo(x, bbox.top);
    pen.lineTo(x, bbox.top + bbox.height);
    pen.stroke();
    pen.fillText(label, x + 4, bbox.top + 14 * devicePixelRatio);
  }
  pen.restore();
}

function optionsOf(texts, series, width) {
  const range = (_, low, high) => {
    const [least, most] = [low ?? 0, high ?? 1];
    return uPlot.rangeNum(texts.from_0 ? Math.min(0, least) : least, most, 0.1, true);
  };
  return {
    width,
    height: HEIGHT,
    scales: { x: { time: false, distr: texts.log_x ? 3 : 1 }, y: { range } },
    axes: [{ ...axis(texts.x), size: 34, labelSize: 24 }, { ...axis(texts.y), size: SIDE }],
    series: [{ label: texts.x, value: (_, value) => figure(value) }, ...series],
    cursor: { y: false, dataIdx: pointBefore },
    hooks: { draw: [(plot) => markMoments(plot, texts.moments)] },
  };
}

// ---------------------------------------------------------------- keyboard

const STEPS = {
  ArrowLeft: (at) => at - 1,
  ArrowRight: (at) => at + 1,
  PageUp: (at, count) => at - Math.ceil(count / 10),
  PageDown: (at, count) => at + Math.ceil(count / 10),
  Home: () => 0,
  End: (_, count) => count - 1,
};

function moveCursor(plot, event) {
  const step = STEPS[event.key];
  if (!step || event.target !== event.currentTarget) return;
  event.preventDefault();
  const positions = plot.data[0];
  const wanted = step(plot.cursor.idx ?? -1, positions.length);
  const at = Math.min(Math.max(0, wanted), positions.length - 1);
  plot.setCursor({ left: plot.valToPos(positions[at], "x"), top: 0 });
}

function makeAccessible(place, plot, { texts, stacked: isStacked }) {
  place.tabIndex = 0;
  place.setAttribute("role", "group");
  place.setAttribute("aria-label", `Plot: ${texts.title}. Arrow keys show the values along the curves.`);
  place.addEventListener("keydown", (event) => moveCursor(plot, event));
  const legend = place.querySelector(".u-legend");
  legend.setAttribute("aria-live", "polite");
  if (isStacked) {
    legend.classList.add("fixed");
    return;
  }
  for (const label of legend.querySelectorAll(".u-series:not(:first-child, .unnamed) th")) {
    label.tabIndex = 0;
    label.title = "Hide or show this curve";
    label.addEventListener("keydown", (event) => { if (event.key === "Enter") label.click(); });
  }
}

// ---------------------------------------------------------------- drawing

function draw(place, found) {
  const { data, series, bands } = (found.stacked ? stacked : besideOneAnother)(found.lines);
  const options = optionsOf(found.texts, series, place.clientWidth);
  const plot = new uPlot({ ...options, bands }, data, place);
  makeAccessible(place, plot, found);
  new ResizeObserver(() => plot.setSize({ width: place.clientWidth, height: HEIGHT })).observe(place);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => plot.redraw());
}

// Returns the plots of the page, or null if the server does not answer.
async function fetchPlots(source) {
  try {
    const response = await fetch(source);
    return response.ok ? (await response.json()).plots : null;
  } catch {
    return null;
  }
}

const places = [...document.querySelectorAll("[data-plot]")];
const plots = await fetchPlots(places[0].dataset.source);
for (const place of places) {
  if (plots === null) place.textContent = "The server does not answer: the plot is not drawn.";
  else draw(place, plots[Number(place.dataset.plot)]);
}
