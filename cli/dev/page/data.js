import { ask, byId, el } from "./dom.js";
import { fill, openView, renderEmpty, renderPager, renderTable } from "./parts.js";

const panel = byId("panel-data");
let shown;

/** Reloads the list of tables. */
export async function openData(database) {
  if (!database.canBrowse) {
    panel.replaceChildren(
      renderEmpty(
        `The functions use the database in the environment, which cannot be browsed here (${database.summary}).`,
      ),
    );
    return;
  }
  await openView(panel, "tables", async () => showTables(await ask("tables")));
}

function showTables(tables) {
  if (tables.length === 0) {
    panel.replaceChildren(
      renderEmpty(
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
  else rows.append(renderEmpty("Choose a table. This view is read-only."));
}

function showRows(place, table, offset) {
  shown = `${table.schema}.${table.name}`;
  return fill(place, async () => {
    const { columns, rows, rowCount } = await ask(
      `tables/${encodeURIComponent(table.schema)}/${
        encodeURIComponent(table.name)
      }?offset=${offset}`,
    );
    const heads = columns.map(({ name, type }) => [name, el("small", {}, type)]);
    const cells = rows.map((row) =>
      row.map((value) => value ?? el("span", { class: "dim" }, "null"))
    );
    return [
      renderTable(table.name, heads, cells, `Rows of ${table.name}`),
      renderPager({ offset, count: rowCount, what: "rows" }, (to) => showRows(place, table, to)),
    ];
  });
}
