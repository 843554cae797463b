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
export function showMail({ id, to, subject, text, html, at, links }) {
  const place = el("div", {});
  const detail = el(
    "div",
    { class: "detail", id: `mail-${crypto.randomUUID()}`, hidden: true },
    html === undefined ? undefined : place,
    text ? block(text, "Text of the mail") : undefined,
  );
  const row = { badge: "mail", look: "dim", title: subject, who: [`to ${to}`], when: getTime(at) };
  const targets = links.map((url) =>
    el("li", {}, el("a", { href: url, target: "_blank", rel: "noreferrer" }, url))
  );
  list.prepend(el(
    "li",
    {},
    renderRow(row, detail, (isShown) => {
      // loaded when it is needed, in a frame that runs no script
      const frame = { src: `/_trellis/mails/${id}`, title: `Mail: ${subject}`, class: "mail" };
      if (isShown && html !== undefined) place.replaceChildren(el("iframe", frame));
    }),
    targets.length === 0 ? undefined : el("ul", { class: "links", "aria-label": "Links" }, targets),
    detail,
  ));
  empty.hidden = true;
}
