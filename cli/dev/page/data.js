import { ask, byId, el } from "./dom.js";

const panel = byId("panel-data");
const PAGE = 25;
let shown;

/** Reloads the list of tables. */
export async function openData(database) {
  if (!database.canBrowse) {
    panel.replaceChildren(
      el(
        "p",
        { class: "empty" },
        `The functions use the database in the environment, which cannot be browsed here (${database.summary}).`,
      ),
    );
    return;
  }
  if (panel.children.length === 0) {
    panel.replaceChildren(el("p", { class: "empty" }, "Loading tables …"));
  }
  try {
    showTables(await ask("tables"));
  } catch (error) {
    panel.replaceChildren(el("p", { class: "bad" }, error.message));
  }
}

function showTables(tables) {
  if (tables.length === 0) {
    panel.replaceChildren(
      el(
        "p",
        { class: "empty" },
        "The database has no tables. Put migrations into the folder in database.migrationsDir.",
      ),
    );
    return;
  }
  const rows = el("div", { "aria-live": "polite" });
  const list = el("ul", { class: "list tables", "aria-label": "Tables" });
  const buttons = tables.map((table) => {
    const key = `${table.schema}.${table.name}`;
    const button = el(
      "button",
      {
        "data-key": key,
        onclick: () => {
          for (const each of buttons) each.setAttribute("aria-current", String(each === button));
          void showRows(rows, table, 0);
        },
      },
      el("span", {}, table.schema === "public" ? table.name : key),
      el("span", { class: "dim" }, String(table.rowCount)),
    );
    list.append(el("li", {}, button));
    return button;
  });
  panel.replaceChildren(el("div", { class: "split" }, list, rows));
  const before = buttons.find(({ dataset }) => dataset.key === shown);
  if (before !== undefined) before.click();
  else rows.append(el("p", { class: "empty" }, "Choose a table. This view is read-only."));
}

async function showRows(place, table, offset) {
  shown = `${table.schema}.${table.name}`;
  let page;
  try {
    page = await ask(
      `tables/${encodeURIComponent(table.schema)}/${
        encodeURIComponent(table.name)
      }?offset=${offset}`,
    );
  } catch (error) {
    place.replaceChildren(el("p", { class: "bad" }, error.message));
    return;
  }
  const { columns, rows, rowCount } = page;
  const last = Math.min(offset + PAGE, rowCount);
  const go = (to) => () => void showRows(place, table, to);
  place.replaceChildren(
    el(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": `Rows of ${table.name}` },
      el(
        "table",
        {},
        el("caption", {}, table.name),
        el(
          "thead",
          {},
          el(
            "tr",
            {},
            columns.map(({ name, type }) =>
              el("th", { scope: "col" }, name, el("small", {}, type))
            ),
          ),
        ),
        el(
          "tbody",
          {},
          rows.map((row) =>
            el(
              "tr",
              {},
              row.map((value) =>
                value === null ? el("td", { class: "dim" }, "null") : el("td", {}, value)
              ),
            )
          ),
        ),
      ),
    ),
    el(
      "div",
      { class: "pager" },
      el("button", { disabled: offset === 0, onclick: go(Math.max(0, offset - PAGE)) }, "Previous"),
      el("button", { disabled: last >= rowCount, onclick: go(offset + PAGE) }, "Next"),
      el("button", { onclick: go(offset) }, "Read again"),
      el(
        "span",
        { class: "dim" },
        rowCount === 0 ? "No rows" : `${offset + 1} to ${last} of ${rowCount}`,
      ),
    ),
  );
}
