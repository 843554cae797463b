import { ask, block, byId, el, getDuration, getTime } from "./dom.js";
import { renderCopies } from "./copies.js";
import { fill, renderBad, renderRow } from "./parts.js";
import { renderStatements } from "./statements.js";

/** Rows by call id. */
const rows = new Map();
const list = byId("calls");
const filter = byId("filter");
const onlyFailed = byId("only-failed");
const MAX_ROWS = 200;

filter.addEventListener("input", showMatching);
onlyFailed.addEventListener("change", showMatching);

/** Renders the calls that the server has kept. */
export function resetCalls(calls) {
  list.replaceChildren();
  rows.clear();
  for (const call of [...calls].reverse()) showCall(call, false);
}

/** Renders a call that began or ended. */
export function showCall(call, isLive = true) {
  let row = rows.get(call.id);
  if (row === undefined) {
    row = createRow(call);
    rows.set(call.id, row);
    list.prepend(row.item);
    while (list.children.length > MAX_ROWS) {
      rows.delete(list.lastElementChild.dataset.id);
      list.lastElementChild.remove();
    }
  }
  row.call = call;
  const outcome = outcomeOf(call);
  row.badge.className = `badge ${outcome.look}`;
  row.badge.textContent = outcome.text;
  row.when.textContent = call.isRunning
    ? getTime(call.startedAt)
    : `${call.durationMs} ms · ${getTime(call.startedAt)}`;
  row.item.hidden = !matches(call);
  if (!row.detail.hidden && !call.isRunning) void showDetails(row);
  if (isLive && !call.isRunning) {
    byId("announcer").textContent = `${call.title}: ${outcome.text}, ${call.durationMs} ms`;
  }
  showEmpty();
}

/** Expands a call and scrolls to it. */
export function openCall(id) {
  const row = rows.get(id);
  if (row === undefined) return;
  if (row.detail.hidden) row.button.click();
  row.button.focus();
}

function createRow(call) {
  const detail = el("div", { class: "detail", id: `call-${call.id}`, hidden: true });
  const who = [
    call.functionName ?? "no route",
    call.replayOf === undefined ? "" : "replayed",
    call.sentId === undefined ? "" : "sent by a function",
  ];
  const button = renderRow(
    { badge: "", look: "", title: call.title, who, when: "" },
    detail,
    (isShown) => {
      if (isShown) void showDetails(row);
    },
  );
  const row = {
    item: el("li", { "data-id": call.id }, button, detail),
    button,
    badge: button.querySelector(".badge"),
    when: button.querySelector(".when"),
    detail,
    call,
  };
  return row;
}

function outcomeOf({ isRunning, isFailed, status }) {
  if (isRunning) return { text: "…", look: "dim" };
  if (status === undefined) {
    return isFailed ? { text: "failed", look: "bad" } : { text: "done", look: "good" };
  }
  return { text: String(status), look: status >= 500 ? "bad" : status >= 400 ? "warn" : "good" };
}

function matches(call) {
  const text = `${call.title} ${call.functionName ?? ""} ${call.status ?? ""} ${call.kind}`
    .toLowerCase();
  return text.includes(filter.value.trim().toLowerCase()) &&
    (!onlyFailed.checked || call.isFailed || call.status >= 400);
}

function showMatching() {
  for (const { item, call } of rows.values()) item.hidden = !matches(call);
  showEmpty();
}

function showEmpty() {
  const isEmpty = ![...rows.values()].some(({ item }) => !item.hidden);
  byId("no-calls").hidden = !isEmpty;
  byId("no-calls").textContent = rows.size === 0
    ? "No requests yet. Call a function to see it here."
    : "No request matches the filter.";
  list.hidden = isEmpty;
}

function showDetails(row) {
  return fill(row.detail, async () => renderDetails(await ask(`calls/${row.call.id}`)));
}

function renderDetails(call) {
  const status = el("span", { role: "status", class: "dim" });
  const replay = el("button", {
    onclick: async () => {
      status.textContent = "Sending …";
      try {
        await ask(`calls/${call.id}/replay`, { method: "POST" });
        status.textContent = "Replayed: see the top of the list.";
      } catch (error) {
        status.textContent = error.message;
      }
    },
  }, "Replay");
  return [
    call.note && call.isFailed ? renderBad(call.note) : undefined,
    el("h3", {}, "Log"),
    call.logs.length === 0 ? el("p", { class: "dim" }, "No log lines.") : renderLogs(call.logs),
    ...(call.spans.length === 0 ? [] : [el("h3", {}, "Spans"), renderSpans(call)]),
    ...(call.statements.length === 0 ? [] : renderStatements(call)),
    el(
      "div",
      { class: "columns" },
      el(
        "div",
        {},
        el("h3", {}, call.status === undefined ? "Event" : "Request"),
        block(call.input ?? null, "Request"),
      ),
      el(
        "div",
        {},
        el("h3", {}, call.status === undefined ? "Result" : "Response"),
        block(call.output ?? null, "Response"),
      ),
    ),
    ...(call.metrics.length === 0 ? [] : [el("h3", {}, "Metrics"), renderMetrics(call.metrics)]),
    el(
      "div",
      { class: "actions" },
      call.functionName === undefined ? undefined : replay,
      call.kind === "api" ? renderCopies(call, location.origin, status) : undefined,
      status,
    ),
  ].filter((part) => part !== undefined);
}

/** Fields that are the same in every line of a call, and the error, which is described. */
const COMMON = new Set([
  "level",
  "message",
  "timestamp",
  "service",
  "function_name",
  "function_request_id",
  "cold_start",
  "xray_trace_id",
  "correlation_id",
  "error",
  "described",
]);
const LOOKS = { WARN: "warn", ERROR: "bad", CRITICAL: "bad", DEBUG: "dim" };

/** Creates a list of log lines. */
export function renderLogs(logs) {
  const lines = logs.map((line) => {
    const fields = Object.entries(line).filter(([name]) => !COMMON.has(name));
    return el(
      "li",
      {},
      el("span", { class: `level ${LOOKS[line.level] ?? ""}` }, line.level),
      `${line.message}${line.described?.text ?? ""}`,
      fields.length === 0 ? undefined : el(
        "span",
        { class: "fields" },
        ` ${
          fields.map(([name, value]) =>
            `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`
          ).join(
            " ",
          )
        }`,
      ),
      line.described === undefined
        ? undefined
        : el("div", { class: "stack" }, line.described.lines.join("\n")),
    );
  });
  return el("ol", { class: "logs" }, lines);
}

const SVG = "http://www.w3.org/2000/svg";
const SPAN_LOOKS = { error: "bad", wait: "dim" };

/** Creates a chart with a bar for each span. `whole` is its width in milliseconds. */
export function renderBars(spans, whole) {
  const chart = document.createElementNS(SVG, "svg");
  chart.setAttribute("viewBox", "0 0 100 8");
  chart.setAttribute("preserveAspectRatio", "none");
  chart.setAttribute("aria-hidden", "true");
  // an attempt may be shorter than its bar, which the next wait must not cover
  const ordered = [...spans].sort((a, b) => (b.status === "wait") - (a.status === "wait"));
  for (const { startMs, durationMs, status } of ordered) {
    const bar = document.createElementNS(SVG, "rect");
    const facts = {
      class: SPAN_LOOKS[status] ?? "",
      x: Math.min(99, Math.max(0, startMs) / whole * 100),
      width: Math.max(1, durationMs / whole * 100),
      y: 1,
      height: 6,
      rx: 1,
    };
    for (const [name, value] of Object.entries(facts)) bar.setAttribute(name, String(value));
    chart.append(bar);
  }
  return chart;
}

/** Creates a list of spans in the order of their starts, each with its bar and its duration, or `time`, and `notes`. */
export function renderSpans({ spans, durationMs = 1 }) {
  const whole = Math.max(durationMs, 1, ...spans.map((span) => span.startMs + span.durationMs));
  const depths = new Map();
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  const getDepth = (span) => {
    if (!depths.has(span.spanId)) {
      const parent = byId.get(span.parentSpanId);
      depths.set(span.spanId, parent === undefined ? 0 : getDepth(parent) + 1);
    }
    return depths.get(span.spanId);
  };
  const ordered = [...spans].sort((a, b) => a.startMs - b.startMs || getDepth(a) - getDepth(b));
  return el(
    "ol",
    { class: "spans" },
    ordered.map((span) =>
      el(
        "li",
        { class: SPAN_LOOKS[span.status] },
        el("span", { class: "name" }, `${"· ".repeat(getDepth(span))}${span.name}`, span.notes),
        renderBars([span], whole),
        el("span", { class: "ms" }, span.time ?? getDuration(span.durationMs)),
      )
    ),
  );
}

function renderMetrics(metrics) {
  const items = metrics.flatMap((line) =>
    (line._aws?.CloudWatchMetrics ?? []).flatMap((group) =>
      group.Metrics.map(({ Name, Unit }) => `${Name} ${pretty(line[Name])} ${Unit ?? ""}`.trim())
    )
  );
  return el("p", { class: "dim" }, items.join(" · "));
}

function pretty(value) {
  const number = (each) =>
    typeof each === "number" ? String(Math.round(each * 1000) / 1000) : String(each);
  return [value].flat().map(number).join(", ");
}
