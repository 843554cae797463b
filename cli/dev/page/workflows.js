import { ask, block, el, getDuration, getTime } from "./dom.js";
import { renderSpans } from "./requests.js";
import { createWorkView } from "./work.js";

const BADGES = { done: "good", failed: "bad", stopped: "bad", undoing: "warn", cancelling: "warn" };
const OPEN = ["running", "undoing", "cancelling", "stopped"];

/** The forms for signals by workflow: what is typed in them outlives a new timeline. */
const forms = new Map();

/** Reads the workflows again. */
export const openWorkflows = createWorkView({
  name: "workflows",
  note: "Workflows, the last started ones first. Their turns are jobs, and run within a second.",
  states: ["running", "undoing", "cancelling", "stopped", "done", "failed", "cancelled"],
  actions: [
    ["retry", "Retry", ["stopped", "failed"]],
    ["cancel", "Cancel", ["running", "undoing", "stopped"]],
  ],
  describe: describeWorkflow,
  renderDetails,
});

function describeWorkflow({ state, version, parentId, startedAt, finishedAt, error }) {
  const lastedMs = (finishedAt === undefined ? Date.now() : Date.parse(finishedAt)) -
    Date.parse(startedAt);
  return {
    row: {
      look: BADGES[state] ?? "dim",
      who: [`version ${version}`, parentId !== undefined && "child"],
      when: finishedAt === undefined
        ? `since ${getTime(startedAt)}`
        : `${getDuration(lastedMs)} · ${getTime(startedAt)}`,
    },
    error,
  };
}

function renderDetails(workflow, open) {
  const { id, parentId, input, output, state, entries, finishedAt, correlationId } = workflow;
  if (!OPEN.includes(state)) forms.delete(id);
  else if (!forms.has(id)) forms.set(id, createForm(id, open));
  const form = forms.get(id);
  form?.offer(entries.filter(isAwaited).map(({ name }) => name));
  return [
    el("h3", {}, "Timeline"),
    entries.length === 0
      ? el("p", { class: "dim" }, "No steps recorded.")
      : renderTimeline(workflow, open),
    ...form === undefined ? [] : [el("h3", {}, "Send a signal"), form.element],
    el(
      "div",
      { class: "columns" },
      el("div", {}, el("h3", {}, "Input"), block(input, "Input")),
      output === undefined
        ? undefined
        : el("div", {}, el("h3", {}, "Output"), block(output, "Output")),
    ),
    el("h3", {}, "Workflow"),
    ...parentId === undefined ? [] : [
      el("p", {}, el("button", { onclick: () => void open(parentId) }, "Open the parent")),
    ],
    block({ id, parentId, finishedAt, correlationId }, "Workflow"),
  ];
}

function isAwaited({ kind, state }) {
  return kind === "wait" && state === "pending";
}

const LABELS = {
  sleep: "",
  step: "step ",
  wait: "waitFor ",
  child: "child ",
  patch: "patched ",
  undo: "undo ",
  signal: "signal ",
};

/** Renders the entries. A step that needed one attempt is a mark at its end: its start is not recorded. */
function renderTimeline({ startedAt, finishedAt, entries }, open) {
  const start = Date.parse(startedAt);
  const isEnded = finishedAt !== undefined;
  const endMs = (isEnded ? Date.parse(finishedAt) : Date.now()) - start;
  // the parent receives the result of a child as a signal
  const results = new Set(entries.map(({ position }) => `child ${position}`));
  const spans = entries.filter(({ kind, name }) => kind !== "signal" || !results.has(name)).map(
    ({ position, kind, name, state, attempts, error, wakeAt, createdAt, finishedAt, childId }) => {
      const startMs = Date.parse(createdAt) - start;
      const isWait = kind === "sleep" || kind === "wait" || kind === "child";
      const lastMs = finishedAt === undefined ? endMs : Date.parse(finishedAt) - start;
      const durationMs = kind === "signal" || kind === "patch" ? 0 : Math.max(0, lastMs - startMs);
      const isPending = state === "pending" && !isEnded;
      const facts = [
        isPending && `${kind === "signal" ? "kept" : "pending"} since ${getTime(createdAt)}`,
        state === "pending" && isEnded && "not ended",
        attempts > 1 && `${attempts} attempts`,
        isPending && wakeAt !== undefined && `until ${new Date(wakeAt).toLocaleString()}`,
      ].filter(Boolean);
      return {
        name: `${LABELS[kind]}${name}`,
        spanId: position,
        startMs,
        durationMs,
        status: state === "failed" ? "error" : isWait ? "wait" : "ok",
        // the chart is drawn again when an entry changes, not each second
        time: isPending ? "…" : durationMs === 0 ? `at ${getDuration(startMs)}` : undefined,
        notes: [
          facts.length === 0 ? undefined : el("span", { class: "who" }, facts.join(" · ")),
          error === undefined ? undefined : el("span", { class: "who bad" }, error),
          childId === undefined ? undefined : el(
            "button",
            { "aria-label": `Open ${name}`, onclick: () => void open(childId) },
            "Open",
          ),
        ],
      };
    },
  );
  return renderSpans({ spans, durationMs: endMs });
}

function createForm(id, open) {
  const awaited = el("datalist", { id: `signals-${id}` });
  const name = el("input", { type: "text", list: awaited.id, required: true, maxlength: 200 });
  const payload = el("textarea", { rows: 2, spellcheck: "false", placeholder: "null" });
  const status = el("span", { role: "status", class: "dim" });
  const element = el(
    "form",
    {
      onsubmit: async (event) => {
        event.preventDefault();
        try {
          const body = JSON.stringify({
            name: name.value,
            payload: JSON.parse(payload.value.trim() || "null"),
          });
          await ask(`workflows/${id}/signal`, { method: "POST", body });
          status.textContent = `${name.value} was sent.`;
          name.value = payload.value = "";
          await open();
        } catch (error) {
          status.textContent = error instanceof SyntaxError
            ? `The payload must be JSON: ${error.message}`
            : error.message;
        }
      },
    },
    el(
      "div",
      { class: "columns" },
      el("label", {}, el("span", {}, "Name"), name, awaited),
      el("label", {}, el("span", {}, "Payload (JSON)"), payload),
    ),
    el("div", { class: "actions" }, el("button", { class: "primary" }, "Send"), status),
  );
  return {
    element,
    /** Offers the names of the signals that the workflow waits for. */
    offer(names) {
      awaited.replaceChildren(...names.map((value) => el("option", { value })));
      if (name.value === "") name.value = names[0] ?? "";
    },
  };
}
