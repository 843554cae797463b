/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
import { client } from "./client.ts";
import { button, el, form, run, section } from "./dom.ts";

/** Lists the organizations of the user, with forms to create one and to invite. */
export function showOrganizations(): HTMLElement {
  const list = el("ul", { id: "organizations" });
  const fill = () => fillOrganizations(list);
  void fill();
  return section(
    "Organizations",
    list,
    form(
      "Create an organization",
      [{ name: "name", label: "Name" }, { name: "slug", label: "Slug" }],
      async ({ name, slug }) => {
        const create = () => client.organization.create({ name, slug });
        if (await run("The organization is created", create)) await fill();
      },
    ),
    form(
      "Invite",
      [
        { name: "email", label: "Email of the guest", type: "email" },
        { name: "role", label: "Role", value: "member" },
      ],
      ({ email, role }) =>
        run(
          "The invitation is sent",
          () => client.organization.inviteMember({ email, role: role as "admin" | "member" }),
        ),
    ),
  );
}

async function fillOrganizations(list: HTMLElement): Promise<void> {
  const { data: organizations } = await client.organization.list();
  const entries = await Promise.all((organizations ?? []).map(async ({ id, name }) => {
    const { data } = await client.organization.getFullOrganization({
      query: { organizationId: id },
    });
    const members = (data?.members ?? []).map(({ user, role }) => `${user.email} (${role})`);
    return el("li", {}, `${name}: ${members.join(", ")}`);
  }));
  list.replaceChildren(...entries);
}

/**
 * Shows an invitation, which the link of the mail leads to.
 *
 * @param invitationId Id of the link.
 * @param refresh Shows the page again.
 */
export function showInvitation(invitationId: string, refresh: () => void): HTMLElement {
  return section(
    "Invitation",
    button("Accept the invitation", async () => {
      const accept = () => client.organization.acceptInvitation({ invitationId });
      if (!await run("You are a member now", accept)) return;
      history.replaceState(null, "", "/");
      refresh();
    }),
  );
}

/** Lists the users for administrators, with their roles. */
export function showAdministration(refresh: () => void): HTMLElement {
  const list = el("ul", { id: "users" });
  void fillUsers(list, refresh);
  return section("Administration", list);
}

async function fillUsers(list: HTMLElement, refresh: () => void): Promise<void> {
  const { data } = await client.admin.listUsers({ query: { limit: 50 } });
  list.replaceChildren(...(data?.users ?? []).map((user) => {
    const change = (label: string, done: string, action: Parameters<typeof run>[1]) =>
      button(`${label} ${user.email}`, async () => {
        if (await run(done, action)) await fillUsers(list, refresh);
      });
    return el(
      "li",
      {},
      `${user.email}: ${user.banned ? "banned" : user.role} `,
      change(
        "Make an administrator of",
        "The role is changed",
        () => client.admin.setRole({ userId: user.id, role: "admin" }),
      ),
      change("Ban", "The user is banned", () => client.admin.banUser({ userId: user.id })),
      button(`Impersonate ${user.email}`, async () => {
        const impersonate = () => client.admin.impersonateUser({ userId: user.id });
        if (await run("You see what the user sees", impersonate)) refresh();
      }),
    );
  }));
}
