import { ask, block, el } from "./dom.js";
import { fill, renderRow } from "./parts.js";

/** A statement that a call repeats this often is marked: its rows could be read at once. */
const REPEATED = 3;

/** Renders the statements of a call: one row for each text, in the order of their first use. */
export function renderStatements({ id, statements }) {
  const groups = new Map();
  for (const [index, statement] of statements.entries()) {
    const group = groups.get(statement.text) ?? { index, all: [] };
    group.all.push(statement);
    groups.set(statement.text, group);
  }
  const count = statements.length;
  return [
    el("h3", {}, `Statements: ${count} round ${count === 1 ? "trip" : "trips"}`),
    el("ul", { class: "list" }, [...groups].map(([text, group]) => renderGroup(id, text, group))),
  ];
}

function renderGroup(callId, text, { index, all }) {
  const isQuery = /^\s*(?:select|insert|update|delete|with|values|merge)\b/i.test(text);
  const isRepeated = all.length >= REPEATED && /^\s*(?:select|with)\b/i.test(text);
  const isFailed = all.some((each) => each.isFailed);
  const rowCount = all.reduce((sum, each) => sum + (each.rowCount ?? 0), 0);
  const durationMs = all.reduce((sum, each) => sum + each.durationMs, 0);
  const plan = el("div", {});
  const detail = el(
    "div",
    { class: "detail", id: `statement-${crypto.randomUUID()}`, hidden: true },
    block(text, "Statement"),
    isQuery
      ? el(
        "p",
        {},
        el("button", {
          onclick: () =>
            void fill(plan, async () => {
              const answer = await ask(`calls/${callId}/explain?statement=${index}`, {
                method: "POST",
              });
              return [block(answer.plan, "Plan")];
            }),
        }, "Explain"),
      )
      : undefined,
    plan,
  );
  const row = {
    badge: isFailed ? "failed" : isRepeated ? "N+1" : `${all.length}×`,
    look: isFailed ? "bad" : isRepeated ? "warn" : "dim",
    title: text.replaceAll(/\s+/g, " ").trim().slice(0, 160),
    who: [
      isRepeated
        ? `sent ${all.length} times: read the rows with one statement, such as a join or = ANY($1)`
        : undefined,
      isQuery ? `${rowCount} ${rowCount === 1 ? "row" : "rows"}` : undefined,
    ],
    when: `${Math.round(durationMs * 10) / 10} ms`,
  };
  return el("li", {}, renderRow(row, detail), detail);
}
