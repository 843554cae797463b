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
  else rows.append(renderEmpty("Choose a table."));
}

function showRows(place, table, offset) {
  shown = `${table.schema}.${table.name}`;
  return fill(place, async () => {
    const path = `tables/${encodeURIComponent(table.schema)}/${encodeURIComponent(table.name)}`;
    const { columns, rows, keys, rowCount } = await ask(`${path}?offset=${offset}`);
    const heads = columns.map(({ name, type }) => [name, el("small", {}, type)]);
    const cells = rows.map((row, at) =>
      row.map((value, index) =>
        renderCell({ path, column: columns[index], key: keys?.[at], value })
      )
    );
    return [
      renderPager({ offset, count: rowCount, what: "rows" }, (to) => showRows(place, table, to)),
      renderTable(table.name, heads, cells, `Rows of ${table.name}`),
    ];
  });
}

/** Creates the content of a cell: a text, or a button that changes the value in place. */
function renderCell({ path, column, key, value }) {
  const text = value ?? el("span", { class: "dim" }, "null");
  // a long value is cut
  if (key === undefined || !column.isEditable || value?.endsWith("…")) return text;
  const place = el("div", {});
  const show = (current) => {
    const button = el(
      "button",
      { "aria-label": `Change ${column.name}: ${current ?? "null"}` },
      current ?? el("span", { class: "dim" }, "null"),
    );
    button.addEventListener("click", () => edit(current));
    place.replaceChildren(button);
    return button;
  };
  const edit = (current) => {
    const input = el("input", { type: "text", "aria-label": column.name, autocomplete: "off" });
    input.value = current ?? "";
    const status = el("span", { class: "bad", role: "alert" });
    async function save(next) {
      try {
        const { value: saved } = await ask(path, {
          method: "POST",
          body: JSON.stringify({ key, column: column.name, value: next }),
        });
        show(saved).focus();
      } catch (error) {
        status.textContent = error.message;
      }
    }
    const form = el(
      "form",
      {},
      input,
      el("button", { class: "primary" }, "Save"),
      el("button", { type: "button", onclick: () => void save(null) }, "Null"),
      el("button", { type: "button", onclick: () => show(current).focus() }, "Cancel"),
      status,
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void save(input.value);
    });
    form.addEventListener("keydown", (event) => {
      if (event.key === "Escape") show(current).focus();
    });
    place.replaceChildren(form);
    input.focus();
  };
  show(value);
  return place;
}
