import { ask, block, byId, el, getDuration, getTime } from "./dom.js";
import { fill, openView, renderBad, renderEmpty, renderRow } from "./parts.js";
import { openCall, renderBars, renderLogs, renderSpans } from "./requests.js";
import { current, open as openTab } from "./tabs.js";

const panel = byId("panel-jobs");
const STATES = ["", "queued", "running", "done", "dead", "cancelled"];
const BADGES = { done: "good", dead: "bad" };
const ACTIVE = ["queued", "running"];
/** Milliseconds between two looks at jobs that have not ended. */
const LOOK_MS = 1000;
let state = "";
/** The list that is shown, as JSON. */
let shown = "";
let timer;
/** Ids of the jobs whose details are shown. */
const expanded = new Set();

/** Reads the jobs again, and once more while some of them have not ended. */
export async function openJobs() {
  clearTimeout(timer);
  await openView(panel, "jobs", async () => {
    const jobs = await ask(`jobs?state=${state}`);
    if (jobs.some((job) => ACTIVE.includes(job.state))) timer = setTimeout(refresh, LOOK_MS);
    const text = JSON.stringify([state, jobs]);
    if (text === shown) return;
    shown = text;
    const focused = document.activeElement?.getAttribute("aria-controls");
    showJobs(jobs);
    if (focused) panel.querySelector(`[aria-controls="${focused}"]`)?.focus();
  });
}

function refresh() {
  if (current() === "jobs") void openJobs();
}

function showJobs(jobs) {
  const status = el("p", { class: "note", role: "status" });
  const choice = el(
    "select",
    {
      "aria-label": "State",
      onchange: () => {
        state = choice.value;
        void openJobs();
      },
    },
    STATES.map((each) =>
      el("option", { value: each, selected: each === state }, each || "all states")
    ),
  );
  panel.replaceChildren(
    el(
      "p",
      { class: "note" },
      "Background jobs, the last ones first. A job that is due runs within a second.",
    ),
    el(
      "div",
      { class: "bar" },
      choice,
      el("button", { onclick: () => void openJobs() }, "Read again"),
    ),
    status,
    jobs.length === 0
      ? renderEmpty("No jobs.")
      : el("ul", { class: "list" }, jobs.map((job) => renderJob(job, status))),
  );
}

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

function renderJob(job, status) {
  const detail = el("div", {
    class: "detail",
    id: `job-${job.id}`,
    hidden: !expanded.has(job.id),
  });
  const attempts = `${job.attempts} ${job.attempts === 1 ? "attempt" : "attempts"}`;
  const { spans, durationMs } = getPhases(job);
  const ranMs = job.runs.reduce((sum, run) => sum + run.durationMs, 0);
  const toggle = renderRow(
    {
      badge: job.state,
      look: BADGES[job.state] ?? "dim",
      title: job.name,
      who: [
        attempts,
        job.runs.length > 0 && `ran ${getDuration(ranMs)}`,
        job.state === "running" && job.progress > 0 && `${Math.round(job.progress * 100)} %`,
        job.group,
      ],
      when: `${getDuration(durationMs)} · ${getTime(job.enqueuedAt)}`,
    },
    detail,
    (isShown) => {
      if (isShown) expanded.add(job.id);
      else expanded.delete(job.id);
      if (isShown) void showDetails(detail, job.id);
    },
  );
  if (!detail.hidden) void showDetails(detail, job.id);
  const actions = [
    ["retry", "Send again", ["dead", "cancelled"]],
    ["cancel", "Cancel", ["queued", "running", "dead"]],
  ].filter(([, , states]) => states.includes(job.state)).map(([action, label]) => {
    const button = el("button", { class: "sign-in", onclick: () => void change(action) }, label);
    button.setAttribute("aria-label", `${label}: ${job.name}`);
    return button;
  });

  async function change(action) {
    try {
      await ask(`jobs/${job.id}/${action}`, { method: "POST" });
      await openJobs();
    } catch (error) {
      status.replaceChildren(error.message);
    }
  }
  const chart = renderBars(spans, Math.max(durationMs, 1));
  chart.classList.add("timeline");
  return el(
    "li",
    { class: "user" },
    toggle,
    ...actions,
    chart,
    job.lastError === undefined ? undefined : renderBad(job.lastError),
    detail,
  );
}

function showDetails(place, id) {
  return fill(place, async () => {
    const job = await ask(`jobs/${id}`);
    const { payload, result, runAt, finishedAt, correlationId, runs, logs } = job;
    return [
      el("h3", {}, "Timeline"),
      renderSpans(getPhases(job)),
      el("h3", {}, "Log"),
      logs.length === 0 ? el("p", { class: "dim" }, "No log lines.") : renderLogs(logs),
      runs.length === 0 ? undefined : el("p", { class: "actions" }, runs.map(renderCallLink)),
      el("h3", {}, "Payload"),
      block(payload, "Payload"),
      ...result === undefined ? [] : [el("h3", {}, "Result"), block(result, "Result")],
      el("h3", {}, "Job"),
      block({ id, runAt, finishedAt, correlationId }, "Job"),
    ].filter((part) => part !== undefined);
  });
}

function renderCallLink({ callId, startedAt }) {
  const onclick = () => {
    openTab("requests");
    openCall(callId);
  };
  return el("button", { onclick }, `Call at ${getTime(startedAt)}`);
}
