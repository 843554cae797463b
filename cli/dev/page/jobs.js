import { ask, block, byId, el, getTime } from "./dom.js";
import { fill, openView, renderBad, renderEmpty, renderRow } from "./parts.js";

const panel = byId("panel-jobs");
const STATES = ["", "queued", "running", "done", "dead", "cancelled"];
const BADGES = { done: "good", dead: "bad" };
let state = "";

/** Reads the jobs again. */
export async function openJobs() {
  await openView(panel, "jobs", async () => showJobs(await ask(`jobs?state=${state}`)));
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

function renderJob(job, status) {
  const detail = el("div", { class: "detail", id: `job-${job.id}`, hidden: true });
  const attempts = `${job.attempts} ${job.attempts === 1 ? "attempt" : "attempts"}`;
  const toggle = renderRow(
    {
      badge: job.state,
      look: BADGES[job.state] ?? "dim",
      title: job.name,
      who: [attempts, job.group],
      when: getTime(job.enqueuedAt),
    },
    detail,
    (isShown) => {
      if (isShown) void showDetails(detail, job.id);
    },
  );
  const actions = [
    ["retry", "Send again", ["dead", "cancelled"]],
    ["cancel", "Cancel", ["queued", "dead"]],
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
  return el(
    "li",
    { class: "user" },
    toggle,
    ...actions,
    job.lastError === undefined ? undefined : renderBad(job.lastError),
    detail,
  );
}

function showDetails(place, id) {
  return fill(place, async () => {
    const { payload, runAt, finishedAt, correlationId } = await ask(`jobs/${id}`);
    return [
      block(payload, "Payload"),
      block({ id, runAt, finishedAt, correlationId }, "Job"),
    ];
  });
}
