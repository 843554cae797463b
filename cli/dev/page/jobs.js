import { block, el, getDuration, getTime } from "./dom.js";
import { openCall, renderBars, renderLogs, renderSpans } from "./requests.js";
import { open as openTab } from "./tabs.js";
import { createWorkView } from "./work.js";

const BADGES = { done: "good", dead: "bad" };
const ACTIVE = ["queued", "running"];

/** Reads the jobs again. */
export const openJobs = createWorkView({
  name: "jobs",
  note: "Background jobs, the last ones first. A job that is due runs within a second.",
  states: ["queued", "running", "done", "dead", "cancelled"],
  actions: [
    ["retry", "Send again", ["dead", "cancelled"]],
    ["cancel", "Cancel", ["queued", "running", "dead"]],
  ],
  describe: describeJob,
  renderDetails,
});

/**
 * Returns what a job did since it was enqueued, as spans: it waits, or an attempt runs. Attempts before the
 * server started are not known.
 */
function getPhases({ enqueuedAt, finishedAt, state, runs }) {
  const start = Date.parse(enqueuedAt);
  const phases = [];
  let atMs = 0;
  function add(name, endMs, status) {
    phases.push({
      name,
      spanId: phases.length,
      startMs: atMs,
      durationMs: Math.max(0, endMs - atMs),
      status,
    });
    atMs = Math.max(atMs, endMs);
  }
  for (const { startedAt, durationMs, isFailed } of runs) {
    const beginMs = Date.parse(startedAt) - start;
    if (beginMs > atMs) add("queued", beginMs, "wait");
    add(`attempt at ${getTime(startedAt)}`, beginMs + durationMs, isFailed ? "error" : "ok");
  }
  if (ACTIVE.includes(state)) {
    add(state, Date.now() - start, state === "queued" ? "wait" : "ok");
  } else if (runs.length === 0 && finishedAt !== undefined) {
    add(`until ${state}`, Date.parse(finishedAt) - start, "wait");
  }
  return { spans: phases, durationMs: atMs };
}

function describeJob(job) {
  const { spans, durationMs } = getPhases(job);
  const ranMs = job.runs.reduce((sum, run) => sum + run.durationMs, 0);
  const chart = renderBars(spans, Math.max(durationMs, 1));
  chart.classList.add("timeline");
  return {
    row: {
      look: BADGES[job.state] ?? "dim",
      who: [
        `${job.attempts} ${job.attempts === 1 ? "attempt" : "attempts"}`,
        job.runs.length > 0 && `ran ${getDuration(ranMs)}`,
        job.waitsForLimit && "waits for its limit",
        job.state === "running" && job.progress > 0 && `${Math.round(job.progress * 100)} %`,
        job.group,
      ],
      when: `${getDuration(durationMs)} · ${getTime(job.enqueuedAt)}`,
    },
    chart,
    error: job.lastError,
  };
}

function renderDetails(job) {
  const { id, payload, result, runAt, finishedAt, correlationId, runs, logs } = job;
  return [
    el("h3", {}, "Timeline"),
    renderSpans(getPhases(job)),
    el("h3", {}, "Log"),
    logs.length === 0 ? el("p", { class: "dim" }, "No log lines.") : renderLogs(logs),
    ...runs.length === 0 ? [] : [el("p", { class: "actions" }, runs.map(renderCallLink))],
    el("h3", {}, "Payload"),
    block(payload, "Payload"),
    ...result === undefined ? [] : [el("h3", {}, "Result"), block(result, "Result")],
    el("h3", {}, "Job"),
    block({ id, runAt, finishedAt, correlationId }, "Job"),
  ];
}

function renderCallLink({ callId, startedAt }) {
  const onclick = () => {
    openTab("requests");
    openCall(callId);
  };
  return el("button", { onclick }, `Call at ${getTime(startedAt)}`);
}
