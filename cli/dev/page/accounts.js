import { ask, byId, el } from "./dom.js";

const panel = byId("panel-accounts");
const PAGE = 25;
let offset = 0;

/** Reads the users again. */
export async function openAccounts() {
  if (panel.children.length === 0) {
    panel.replaceChildren(el("p", { class: "empty" }, "Loading accounts …"));
  }
  try {
    showAccounts(await ask(`accounts?offset=${offset}`));
  } catch (error) {
    panel.replaceChildren(el("p", { class: "empty" }, error.message));
  }
}

function showAccounts({ users, userCount, organizations, events }) {
  const status = el("p", { class: "note", role: "status" });
  const go = (to) => () => {
    offset = to;
    void openAccounts();
  };
  const last = Math.min(offset + PAGE, userCount);
  panel.replaceChildren(
    el(
      "p",
      { class: "note" },
      "Users of the auth routes in the local database. Sign in creates a session for this browser without a password.",
    ),
    status,
    el("h2", {}, "Users"),
    users.length === 0
      ? el("p", { class: "empty" }, "No users yet. Sign up to see them here.")
      : el("ul", { class: "list" }, users.map((user) => renderUser(user, status))),
    el(
      "div",
      { class: "pager" },
      el("button", { disabled: offset === 0, onclick: go(Math.max(0, offset - PAGE)) }, "Previous"),
      el("button", { disabled: last >= userCount, onclick: go(offset + PAGE) }, "Next"),
      el("button", { onclick: go(offset) }, "Read again"),
      el(
        "span",
        { class: "dim" },
        userCount === 0 ? "No users" : `${offset + 1} to ${last} of ${userCount}`,
      ),
    ),
    ...organizations === undefined ? [] : renderOrganizations(organizations),
    ...events === undefined ? [] : [el("h2", {}, "Events"), renderTable("Events", events)],
  );
}

function renderUser(user, status) {
  const id = `user-${crypto.randomUUID()}`;
  const detail = el("div", { class: "detail", id, hidden: true });
  const toggle = el(
    "button",
    { class: "row", "aria-expanded": "false", "aria-controls": id },
    el(
      "span",
      { class: `badge ${user.banned ? "bad" : user.emailVerified ? "good" : "dim"}` },
      user.banned ? "banned" : user.emailVerified ? "verified" : "new",
    ),
    el(
      "span",
      { class: "what" },
      el("code", {}, user.email),
      el("span", { class: "who" }, [user.name, user.role].filter(Boolean).join(" · ")),
    ),
  );
  toggle.addEventListener("click", async () => {
    detail.hidden = !detail.hidden;
    toggle.setAttribute("aria-expanded", String(!detail.hidden));
    if (!detail.hidden) await showDetails(detail, user.id);
  });
  const signIn = el("button", { class: "sign-in", onclick: () => void start() }, "Sign in as");
  signIn.setAttribute("aria-label", `Sign in as ${user.email}`);

  async function start() {
    try {
      const { token } = await ask(`accounts/${encodeURIComponent(user.id)}/sign-in`, {
        method: "POST",
      });
      status.replaceChildren(
        `This browser is signed in as ${user.email}. For other clients: `,
        el("code", {}, `Authorization: Bearer ${token}`),
      );
    } catch (error) {
      status.replaceChildren(error.message);
    }
  }
  return el("li", { class: "user" }, toggle, signIn, detail);
}

async function showDetails(place, id) {
  try {
    const { user, sessions, accounts } = await ask(`accounts/${encodeURIComponent(id)}`);
    place.replaceChildren(
      renderTable("User", [user]),
      el("h3", {}, "Sessions"),
      renderTable("Sessions", sessions),
      el("h3", {}, "Sign-in methods"),
      renderTable("Sign-in methods", accounts),
    );
  } catch (error) {
    place.replaceChildren(el("p", { class: "bad" }, error.message));
  }
}

function renderOrganizations(organizations) {
  return [
    el("h2", {}, "Organizations"),
    organizations.length === 0
      ? el("p", { class: "empty" }, "No organizations yet.")
      : organizations.map(({ members, invitations, ...organization }) =>
        el(
          "section",
          { class: "organization" },
          el("h3", {}, `${organization.name} (${organization.slug})`),
          renderTable(`Members of ${organization.name}`, members),
          invitations.length === 0
            ? undefined
            : renderTable(`Invitations of ${organization.name}`, invitations),
        )
      ),
  ].flat();
}

/** Renders rows with the columns that have a value. */
function renderTable(label, rows) {
  const columns = [
    ...new Set(
      rows.flatMap((row) =>
        Object.keys(row).filter((name) => row[name] !== null && row[name] !== undefined)
      ),
    ),
  ];
  if (columns.length === 0) return el("p", { class: "dim" }, "None");
  return el(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": label },
    el(
      "table",
      {},
      el("caption", {}, label),
      el("thead", {}, el("tr", {}, columns.map((name) => el("th", { scope: "col" }, name)))),
      el(
        "tbody",
        {},
        rows.map((row) => el("tr", {}, columns.map((name) => el("td", {}, getText(row[name]))))),
      ),
    ),
  );
}

function getText(value) {
  if (value === null || value === undefined) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
