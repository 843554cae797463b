import { quote } from "./copies.js";
import { ask, block, byId, el } from "./dom.js";
import { renderBad, renderEmpty, renderRow } from "./parts.js";
import { open as openTab } from "./tabs.js";
import { openCall } from "./requests.js";

const panel = byId("panel-functions");
const KINDS = {
  api: "HTTP",
  queue: "Queues",
  topic: "Topics",
  event: "Events",
  schedule: "Schedules",
  storage: "Buckets",
  stream: "Streams",
  "table-stream": "Table streams",
  kafka: "Kafka",
  websocket: "WebSockets",
  authorizer: "Authorizers",
  standalone: "Called directly",
};
/** Names of expanded rows; they stay expanded when the list is rendered again. */
const opened = new Map();

/** Renders the functions. */
export function showFunctions(functions, base) {
  const active = document.activeElement?.dataset?.name;
  panel.replaceChildren(
    ...Object.entries(KINDS).flatMap(([kind, title]) => {
      const some = functions.filter((fn) => fn.kind === kind);
      if (some.length === 0) return [];
      return [
        el("h2", {}, title),
        el("ul", { class: "list" }, some.map((fn) => renderFunction(fn, base))),
      ];
    }),
  );
  if (functions.length === 0) {
    panel.append(renderEmpty("No functions yet."));
  }
  if (active !== undefined) {
    panel.querySelector(`button[data-name="${CSS.escape(active)}"]`)?.focus();
  }
}

function renderFunction(fn, base) {
  const isApi = fn.kind === "api";
  const detail = opened.get(fn.name) ?? renderDetail(fn, base);
  detail.hidden = !opened.has(fn.name);
  const button = renderRow(
    {
      badge: isApi ? fn.method : fn.error ? "fault" : "send",
      look: fn.error ? "bad" : "dim",
      title: isApi ? fn.path : fn.name,
      who: [isApi ? fn.name : fn.routeKey, fn.summary],
      fault: fn.error,
      when: fn.auth && fn.auth !== "none" ? fn.auth : "",
    },
    detail,
    (isShown) => {
      if (isShown) opened.set(fn.name, detail);
      else opened.delete(fn.name);
    },
  );
  button.dataset.name = fn.name;
  return el("li", {}, button, detail);
}

function renderDetail(fn, base) {
  const id = `function-${fn.name}`;
  if (fn.kind === "api") {
    const line = `curl ${fn.method === "GET" || fn.method === "ANY" ? "" : `-X ${fn.method} `}${
      quote(base + fn.path)
    }`;
    const auth = { bearer: "$API_BEARER_TOKEN", session: "$TOKEN", authorizer: "$TOKEN" }[fn.auth];
    return el(
      "div",
      { class: "detail", id },
      el("h3", {}, "Call it"),
      block(
        auth === undefined ? line : `${line} -H "Authorization: Bearer ${auth}"`,
        "Command line",
      ),
    );
  }
  const curl = block("", "Command line");
  const result = el("div", { role: "status" });
  const inputs = fn.form.params.map((
    name,
  ) => [name, el("input", { type: "text", id: `${id}-${name}`, autocomplete: "off" })]);
  const body = fn.form.body === undefined
    ? undefined
    : el("textarea", { id: `${id}-body`, spellcheck: "false" });
  if (body !== undefined) body.value = "{}";
  const path = () => {
    const query = new URLSearchParams(
      inputs.flatMap(([name, { value }]) => value === "" ? [] : [[name, value]]),
    );
    return `functions/${encodeURIComponent(fn.name)}/invoke${query.size === 0 ? "" : `?${query}`}`;
  };
  const showCurl = () => {
    const data = body === undefined ? "-X POST" : `-d ${quote(body.value)}`;
    curl.textContent = `curl ${data} ${quote(`${base}/_trellis/api/${path()}`)}`;
  };
  const form = el(
    "form",
    { class: "form" },
    inputs.length === 0 ? undefined : el(
      "div",
      { class: "params" },
      inputs.map(([name, input]) => el("label", { for: input.id }, el("span", {}, name), input)),
    ),
    body === undefined
      ? undefined
      : el("label", { for: body.id }, el("span", {}, fn.form.body), body),
    el(
      "div",
      { class: "actions" },
      el("button", { class: "primary" }, "Send"),
      el("span", { class: "dim" }, "or from a terminal:"),
    ),
    curl,
    result,
  );
  form.addEventListener("input", showCurl);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    result.replaceChildren(el("p", { class: "dim" }, "Sending …"));
    try {
      showResult(result, await ask(path(), { method: "POST", body: body?.value }));
    } catch (error) {
      result.replaceChildren(renderBad(error.message));
    }
  });
  showCurl();
  return el("div", { class: "detail", id }, form);
}

function showResult(place, { callId, durationMs, result, error, failures = [] }) {
  const text = error !== undefined
    ? `Failed: ${error.message}`
    : failures.length > 0
    ? `${failures.length} failed: ${failures.join(", ")}`
    : "Done";
  place.replaceChildren(
    el(
      "p",
      { class: error !== undefined || failures.length > 0 ? "bad" : "good" },
      `${text} (${durationMs} ms)`,
    ),
    ...(error === undefined && result !== null ? [block(result, "Result")] : []),
    el(
      "p",
      {},
      el("button", {
        type: "button",
        onclick: () => {
          openTab("requests");
          openCall(callId);
        },
      }, "Show logs"),
    ),
  );
}
