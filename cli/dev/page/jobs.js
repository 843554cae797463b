import { ask, block, byId, el, getTime } from "./dom.js";

const panel = byId("panel-jobs");
const STATES = ["", "queued", "running", "done", "dead", "cancelled"];
const BADGES = { done: "good", dead: "bad" };
let state = "";

/** Reads the jobs again. */
export async function openJobs() {
  if (panel.children.length === 0) {
    panel.replaceChildren(el("p", { class: "empty" }, "Loading jobs …"));
  }
  try {
    showJobs(await ask(`jobs?state=${state}`));
  } catch (error) {
    panel.replaceChildren(el("p", { class: "empty" }, error.message));
  }
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
      ? el("p", { class: "empty" }, "No jobs.")
      : el("ul", { class: "list" }, jobs.map((job) => renderJob(job, status))),
  );
}

function renderJob(job, status) {
  const id = `job-${job.id}`;
  const detail = el("div", { class: "detail", id, hidden: true });
  const attempts = `${job.attempts} ${job.attempts === 1 ? "attempt" : "attempts"}`;
  const toggle = el(
    "button",
    { class: "row", "aria-expanded": "false", "aria-controls": id },
    el("span", { class: `badge ${BADGES[job.state] ?? "dim"}` }, job.state),
    el(
      "span",
      { class: "what" },
      el("code", {}, job.name),
      el("span", { class: "who" }, [attempts, job.group].filter(Boolean).join(" · ")),
    ),
    el("span", { class: "when" }, getTime(job.enqueuedAt)),
  );
  toggle.addEventListener("click", async () => {
    detail.hidden = !detail.hidden;
    toggle.setAttribute("aria-expanded", String(!detail.hidden));
    if (!detail.hidden) await showDetails(detail, job.id);
  });
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
    job.lastError === undefined ? undefined : el("p", { class: "bad" }, job.lastError),
    detail,
  );
}

async function showDetails(place, id) {
  try {
    const { payload, runAt, finishedAt, correlationId } = await ask(`jobs/${id}`);
    place.replaceChildren(
      block(payload, "Payload"),
      block({ id, runAt, finishedAt, correlationId }, "Job"),
    );
  } catch (error) {
    place.replaceChildren(el("p", { class: "bad" }, error.message));
  }
}
