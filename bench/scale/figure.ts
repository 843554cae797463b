import { fitExponent } from "./fit.ts";
import type { Point, Subject } from "./subject.ts";

/** A line as it was measured. */
export interface Line {
  /** What was measured. */
  readonly name: string;
  /** A point for each size. */
  readonly points: readonly Point[];
}

const WIDTH = 720, HEIGHT = 420;
const LEFT = 70, RIGHT = 20, TOP = 44, BOTTOM = 56;

/** Readable on white and on black; the style sheet of the figure lightens them in dark mode. */
const COLORS = [["#0969da", "#58a6ff"], ["#bc4c00", "#f0883e"], ["#1a7f37", "#3fb950"], [
  "#8250df",
  "#bc8cff",
], [
  "#bf3989",
  "#f778ba",
]] as const;

interface Scale {
  readonly from: number;
  readonly to: number;
  at(value: number): number;
}

function logScale(values: readonly number[], start: number, end: number): Scale {
  const from = Math.floor(Math.log10(Math.min(...values)) + 1e-9);
  const to = Math.max(Math.ceil(Math.log10(Math.max(...values)) - 1e-9), from + 1);
  return {
    from,
    to,
    at: (value) => start + (Math.log10(value) - from) / (to - from) * (end - start),
  };
}

/**
 * Draws cost against size, both in powers of ten, so that a cost in proportion to size is a line at the angle of the
 * dashed one.
 *
 * @param subject Title and unit.
 * @param lines What was measured.
 * @returns A whole SVG document, for light and dark pages.
 */
export function renderFigure(
  subject: Pick<Subject, "title" | "unit">,
  lines: readonly Line[],
): string {
  const points = lines.flatMap((line) => line.points);
  const x = logScale(points.map(({ size }) => size), LEFT, WIDTH - RIGHT);
  const y = logScale(points.map(({ ms }) => ms), HEIGHT - BOTTOM, TOP);
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${
      escape(subject.title)
    }">`,
    styleSheet(lines.length),
    `<text class="title" x="${LEFT}" y="24">${escape(subject.title)}</text>`,
    ...grid(x, y),
    `<text x="${(LEFT + WIDTH - RIGHT) / 2}" y="${HEIGHT - 10}" text-anchor="middle">${
      escape(subject.unit)
    }</text>`,
    proportional(x, y),
    ...lines.flatMap((line, index) => [...drawLine(line, index, x, y), legend(line, index)]),
    "</svg>",
  ];
  return `${parts.join("\n")}\n`;
}

function styleSheet(count: number): string {
  const color = (mode: 0 | 1): string =>
    COLORS.slice(0, count).map((pair, i) =>
      `.s${i}{stroke:${pair[mode]}}.f${i}{fill:${pair[mode]}}`
    ).join("");
  return "<style>text{font:13px system-ui,sans-serif;fill:#57606a}.title{font-size:15px;font-weight:600;fill:#24292f}" +
    ".grid{stroke:#8c959f;stroke-opacity:.3}.line{fill:none;stroke-width:2}.one{stroke:#8c959f;stroke-dasharray:4 4}" +
    `${color(0)}@media(prefers-color-scheme:dark){text{fill:#9da7b1}.title{fill:#e6edf3}${
      color(1)
    }}</style>`;
}

function grid(x: Scale, y: Scale): string[] {
  const parts: string[] = [];
  for (let power = x.from; power <= x.to; power++) {
    const at = round(x.at(10 ** power));
    parts.push(`<path class="grid" d="M${at} ${TOP}V${HEIGHT - BOTTOM}"/>`);
    parts.push(
      `<text x="${at}" y="${HEIGHT - BOTTOM + 20}" text-anchor="middle">${
        count(10 ** power)
      }</text>`,
    );
  }
  for (let power = y.from; power <= y.to; power++) {
    const at = round(y.at(10 ** power));
    parts.push(`<path class="grid" d="M${LEFT} ${at}H${WIDTH - RIGHT}"/>`);
    parts.push(
      `<text x="${LEFT - 8}" y="${at + 4}" text-anchor="end">${duration(10 ** power)}</text>`,
    );
  }
  return parts;
}

/** The angle of a cost in proportion to size. */
function proportional(x: Scale, y: Scale): string {
  const powers = Math.min(x.to - x.from, y.to - y.from);
  const [fromX, fromY] = [10 ** (x.to - powers), 10 ** y.from];
  return `<path class="one" d="M${round(x.at(fromX))} ${round(y.at(fromY))}L${
    round(x.at(10 ** x.to))
  } ${round(y.at(fromY * 10 ** powers))}"/>`;
}

function drawLine({ points }: Line, index: number, x: Scale, y: Scale): string[] {
  const places = points.map(({ size, ms }) => [round(x.at(size)), round(y.at(ms))]);
  return [
    `<path class="line s${index}" d="M${places.map((place) => place.join(" ")).join("L")}"/>`,
    ...places.map(([cx, cy]) => `<circle class="f${index}" cx="${cx}" cy="${cy}" r="3"/>`),
  ];
}

function legend({ name, points }: Line, index: number): string {
  const at = TOP + 18 + index * 18;
  return `<circle class="f${index}" cx="${LEFT + 14}" cy="${at - 4}" r="4"/><text x="${
    LEFT + 24
  }" y="${at}">${escape(name)}: exponent ${fitExponent(points).toFixed(2)}</text>`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function count(value: number): string {
  if (value >= 1e6) return `${value / 1e6} M`;
  return value >= 1e4 ? `${value / 1e3} k` : String(value);
}

/** Milliseconds in a unit that needs no zeros after the point. */
export function duration(ms: number): string {
  if (ms >= 1000) return `${Number((ms / 1000).toPrecision(3))} s`;
  if (ms >= 1) return `${Number(ms.toPrecision(3))} ms`;
  return ms >= 0.001
    ? `${Number((ms * 1e3).toPrecision(3))} µs`
    : `${Number((ms * 1e6).toPrecision(3))} ns`;
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
