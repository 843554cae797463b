import { block, byId, el, getTime } from "./dom.js";

const panel = byId("panel-mail");
const list = el("ol", { class: "list" });
const empty = el("p", { class: "empty" }, "No mails yet.");

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
  const id = `mail-${crypto.randomUUID()}`;
  const detail = el(
    "div",
    { class: "detail", id, hidden: true },
    block(text || html, "Text of the mail"),
  );
  const button = el(
    "button",
    { class: "row", "aria-expanded": "false", "aria-controls": id },
    el("span", { class: "badge dim" }, "mail"),
    el(
      "span",
      { class: "what" },
      el("code", {}, subject),
      el("span", { class: "who" }, `to ${to}`),
    ),
    el("span", { class: "when" }, getTime(at)),
  );
  button.addEventListener("click", () => {
    detail.hidden = !detail.hidden;
    button.setAttribute("aria-expanded", String(!detail.hidden));
  });
  const targets = links.map((url) =>
    el("li", {}, el("a", { href: url, target: "_blank", rel: "noreferrer" }, url))
  );
  list.prepend(el(
    "li",
    {},
    button,
    targets.length === 0 ? undefined : el("ul", { class: "links", "aria-label": "Links" }, targets),
    detail,
  ));
  empty.hidden = true;
}
