import { ask, block, byId, el } from "./dom.js";
import { fill, openView, renderEmpty, renderPager, renderRow, renderTable } from "./parts.js";

const panel = byId("panel-accounts");
let offset = 0;

/** Reads the users again. */
export async function openAccounts() {
  await openView(panel, "accounts", async () => {
    showAccounts(await ask(`accounts?offset=${offset}`));
  });
}

function showAccounts({ users, userCount, organizations, events }) {
  const status = el("p", { class: "note", role: "status" });
  panel.replaceChildren(
    el(
      "p",
      { class: "note" },
      "Users of the auth routes in the local database. Sign in creates a session for this browser without a password.",
    ),
    status,
    el("h2", {}, "Users"),
    users.length === 0
      ? renderEmpty("No users yet. Sign up to see them here.")
      : el("ul", { class: "list" }, users.map((user) => renderUser(user, status))),
    renderPager({ offset, count: userCount, what: "users" }, (to) => {
      offset = to;
      return openAccounts();
    }),
    ...organizations === undefined ? [] : renderOrganizations(organizations),
    ...events === undefined ? [] : [el("h2", {}, "Events"), renderRecords("Events", events, "")],
  );
}

function renderUser(user, status) {
  const detail = el("div", { class: "detail", id: `user-${crypto.randomUUID()}`, hidden: true });
  const toggle = renderRow(
    {
      badge: user.banned ? "banned" : user.emailVerified ? "verified" : "new",
      look: user.banned ? "bad" : user.emailVerified ? "good" : "dim",
      title: user.email,
      who: [user.name, user.role],
    },
    detail,
    (isShown) => {
      if (isShown) void showDetails(detail, user.id);
    },
  );
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

function showDetails(place, id) {
  return fill(place, async () => {
    const { user, sessions, accounts } = await ask(`accounts/${encodeURIComponent(id)}`);
    return [
      block(user, "User"),
      el("h3", {}, "Sessions"),
      renderRecords("Sessions", sessions, ""),
      el("h3", {}, "Sign-in methods"),
      renderRecords("Sign-in methods", accounts, ""),
    ];
  });
}

function renderOrganizations(organizations) {
  return [
    el("h2", {}, "Organizations"),
    organizations.length === 0
      ? renderEmpty("No organizations yet.")
      : organizations.map(({ members, invitations, ...organization }) =>
        el(
          "section",
          { class: "organization" },
          el("h3", {}, `${organization.name} (${organization.slug})`),
          renderRecords(`Members of ${organization.name}`, members),
          invitations.length === 0
            ? undefined
            : renderRecords(`Invitations of ${organization.name}`, invitations),
        )
      ),
  ].flat();
}

/** Renders records with the columns that have a value. */
function renderRecords(label, records, caption = label) {
  const columns = [
    ...new Set(
      records.flatMap((record) =>
        Object.keys(record).filter((name) => record[name] !== null && record[name] !== undefined)
      ),
    ),
  ];
  if (columns.length === 0) return el("p", { class: "dim" }, "None");
  const rows = records.map((record) => columns.map((name) => getText(record[name])));
  return renderTable(caption, columns, rows, label);
}

function getText(value) {
  if (value === null || value === undefined) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
