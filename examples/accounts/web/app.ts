/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
import { client, type PageUser } from "./client.ts";
import { getPart, show } from "./dom.ts";
import { showAdministration, showInvitation, showOrganizations } from "./organizations.ts";
import { fillLists, listAccountActions } from "./signed_in.ts";
import { listSignIns, showReset } from "./signed_out.ts";

/** Shows the page for the session of the browser. */
async function showPage(): Promise<void> {
  const parameters = new URLSearchParams(location.search);
  const { data } = await client.getSession();
  const user = data?.user as PageUser | undefined;
  getPart("who").textContent = user === undefined ? "Signed out" : `Signed in as ${user.email}`;
  const refresh = () => void showPage();
  const resetToken = parameters.get("reset") === null ? null : parameters.get("token");
  const invitation = parameters.get("invitation");
  const parts: HTMLElement[] = [];
  if (resetToken !== null) parts.push(showReset(resetToken));
  if (user === undefined) parts.push(...listSignIns(refresh));
  else {
    if (invitation !== null) parts.push(showInvitation(invitation, refresh));
    parts.push(...listAccountActions(user, refresh), showOrganizations());
    if (user.role === "admin") parts.push(showAdministration(refresh));
  }
  getPart("main").replaceChildren(...parts);
  if (user !== undefined) await fillLists(user, refresh);
}

const error = new URLSearchParams(location.search).get("error");
if (error !== null) show(`The link failed: ${error}`);
showPage().catch((reason: Error) => show(`failed: ${reason.message}`));
