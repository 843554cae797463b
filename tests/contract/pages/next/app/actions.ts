"use server";
import { serverApi } from "../server_api";

/** Creates an organization on the server, with the session of the visitor. */
export async function createOrganization(_: string, form: FormData): Promise<string> {
  const body = { name: String(form.get("name")), slug: String(form.get("slug")) };
  const result = await (await serverApi()).POST("/auth/organization/create", { body });
  return result.status === 200 ? `Created ${result.data.name}` : `Status ${result.status}`;
}
