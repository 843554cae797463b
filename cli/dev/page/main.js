import { ask, byId, el } from "./dom.js";
import { openAccounts } from "./accounts.js";
import { openData } from "./data.js";
import { showFunctions } from "./functions.js";
import { openJobs } from "./jobs.js";
import { resetMails, showMail } from "./mail.js";
import { resetCalls, showCall } from "./requests.js";
import { resetSent, showSent } from "./sent.js";
import { renderBad } from "./parts.js";
import { onOpen } from "./tabs.js";
import { openWorkflows } from "./workflows.js";

const REFERENCE = "/_trellis/reference";
let state;

async function readState() {
  state = await ask("state");
  document.title = `${state.project} · Trellis`;
  byId("project").textContent = state.project;
  byId("facts").textContent =
    `${state.url} · ${state.functions.length} functions · ${state.database.summary}`;
  showFunctions(state.functions, state.url);
  showHeld(state.held);
}

/** Shows the migrations that wait for a confirmation. */
function showHeld(held) {
  const place = byId("held");
  place.hidden = held === null;
  if (held === null) return;
  const apply = el("button", {
    class: "primary",
    onclick: async () => {
      apply.disabled = true;
      try {
        await ask("migrations/apply", { method: "POST" });
        await readState();
      } catch (error) {
        place.append(renderBad(error.message));
      }
    },
  }, held.isRebuild ? "Build the local database again" : "Apply");
  place.replaceChildren(
    el(
      "h2",
      {},
      held.isRebuild ? "The local database differs from the migrations" : "Migrations wait",
    ),
    ...held.isRebuild
      ? [el(
        "p",
        { class: "note" },
        "It is built again from the files, with the rows that fit. If another database has these migrations, restore the files instead.",
      )]
      : [],
    el(
      "ul",
      {},
      held.files.map(({ file, reasons }) =>
        el(
          "li",
          {},
          el("code", {}, file),
          reasons.map((reason) => el("span", { class: "who warn" }, reason)),
        )
      ),
    ),
    el("p", {}, apply),
  );
}

async function readAll() {
  await readState();
  resetCalls(state.calls);
  resetSent(state.sent);
  resetMails(state.mails);
}

function setConnection(text, isOpen) {
  const place = byId("connection");
  if (place.textContent === text) return;
  place.textContent = text;
  place.classList.toggle("open", isOpen);
}

const stream = new EventSource("/_trellis/api/live");
// after a restart of the server, reload everything
stream.addEventListener("open", () => {
  setConnection("Live", true);
  readAll().catch((error) => setConnection(error.message, false));
});
stream.addEventListener(
  "error",
  () => setConnection("Not connected: is trellis dev running?", false),
);
stream.addEventListener("message", ({ data }) => {
  const message = JSON.parse(data);
  if (message.type === "call") showCall(message.call);
  if (message.type === "sent") showSent(message.sent);
  if (message.type === "mail") showMail(message.mail);
  if (message.type === "functions" || message.type === "migrations") readState().catch(() => {});
});

onOpen("data", () => {
  if (state !== undefined) void openData(state.database);
  else ask("state").then(({ database }) => openData(database)).catch(() => {});
});
onOpen("accounts", () => void openAccounts());
onOpen("jobs", () => void openJobs());
onOpen("workflows", () => void openWorkflows());
let shownDocument = "";
onOpen("api", async () => {
  const panel = byId("panel-api");
  const frame = panel.querySelector("iframe");
  const text = await fetch(`${REFERENCE}/openapi.json`).then((response) => response.text())
    .catch(() => shownDocument);
  if (frame === null) {
    panel.replaceChildren(
      el(
        "p",
        { class: "note" },
        el("a", { href: REFERENCE, target: "_blank" }, "Open in a new tab"),
        " · ",
        el("a", { href: "/openapi.json", target: "_blank" }, "openapi.json"),
        " · Requests have the session of Accounts, Sign in, or the token under Authorize.",
      ),
      el("iframe", { src: REFERENCE, title: "API reference" }),
    );
  } else if (frame.contentDocument === null) frame.src = REFERENCE; // the browser's error page: the server was not running
  // input in the page is kept as long as the document is the same; a frame at about:blank has not loaded yet
  else if (text !== shownDocument && frame.contentDocument.URL !== "about:blank") {
    frame.contentWindow.location.reload();
  }
  shownDocument = text;
});
