import { block, byId, el, getTime } from "./dom.js";
import { renderEmpty, renderRow } from "./parts.js";

const panel = byId("panel-mail");
const list = el("ol", { class: "list" });
const empty = renderEmpty("No mails yet.");

panel.append(
  el(
    "p",
    { class: "note" },
    "Mails that functions send to the address in TRELLIS_MAIL_URL. No mail leaves this machine.",
  ),
  list,
  empty,
);

/** Renders the mails that the server has kept. */
export function resetMails(mails) {
  list.replaceChildren();
  for (const mail of [...mails].reverse()) showMail(mail);
  empty.hidden = list.children.length > 0;
}

/** Renders a mail. */
export function showMail({ to, subject, text, html, at, links }) {
  const detail = el(
    "div",
    { class: "detail", id: `mail-${crypto.randomUUID()}`, hidden: true },
    block(text || html, "Text of the mail"),
  );
  const row = { badge: "mail", look: "dim", title: subject, who: [`to ${to}`], when: getTime(at) };
  const targets = links.map((url) =>
    el("li", {}, el("a", { href: url, target: "_blank", rel: "noreferrer" }, url))
  );
  list.prepend(el(
    "li",
    {},
    renderRow(row, detail),
    targets.length === 0 ? undefined : el("ul", { class: "links", "aria-label": "Links" }, targets),
    detail,
  ));
  empty.hidden = true;
}
