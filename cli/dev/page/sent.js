import { block, byId, el, getTime } from "./dom.js";
import { renderEmpty, renderRow } from "./parts.js";

const panel = byId("panel-sent");
const list = el("ol", { class: "list" });
const empty = renderEmpty("No messages yet.");
const items = new Map();

panel.append(
  el(
    "p",
    { class: "note" },
    "Messages that functions send to queues, topics and buses are delivered locally, to the functions of this project that " +
      "infra.functions or their names assign to them. Permissions, batching, delays, retries and dead-letter queues are not simulated.",
  ),
  list,
  empty,
);

/** Renders the messages that the server has kept. */
export function resetSent(messages) {
  items.clear();
  list.replaceChildren();
  for (const message of [...messages].reverse()) showSent(message);
}

/** Renders a sent message and its outcomes. */
export function showSent(message) {
  const item = renderSent(message);
  const before = items.get(message.id);
  if (before === undefined) list.prepend(item);
  else before.replaceWith(item);
  items.set(message.id, item);
  empty.hidden = items.size > 0;
}

function renderSent(
  { service, target, at, body, detailType, source, subject, attributes, receivers, outcomes },
) {
  const isFailed = outcomes.some((outcome) => outcome !== "done");
  const isDone = receivers.length > 0 && outcomes.length === receivers.length;
  const detail = el(
    "div",
    { class: "detail", id: `sent-${crypto.randomUUID()}`, hidden: true },
    el("h3", {}, "Message"),
    block(readable(body), "Message"),
    Object.keys(attributes).length === 0
      ? undefined
      : [el("h3", {}, "Attributes"), block(attributes, "Attributes")],
  );
  const row = {
    badge: service === "eventbridge" ? "bus" : service,
    look: isFailed ? "bad" : isDone ? "good" : "dim",
    title: detailType ? `${detailType} (${source})` : target,
    who: [
      service === "eventbridge" ? `bus ${target}` : subject,
      receivers.length === 0 ? "no receiver" : `to ${receivers.join(", ")}`,
      ...new Set(outcomes),
    ],
    when: getTime(at),
  };
  return el("li", {}, renderRow(row, detail), detail);
}

function readable(body) {
  try {
    return JSON.parse(body);
  } catch {
    return body;
  }
}
