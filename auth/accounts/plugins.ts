import type { BetterAuthPlugin } from "better-auth";
import type { AuditOption } from "../audit/audit_record.ts";
import type { AuthPlugins } from "../config/config.ts";

/**
 * Lists the plugins of a configuration, with the plugin of the audit log if that is enabled.
 *
 * @param plugins The option `plugins`.
 * @param audit The option `audit`.
 * @returns A new list.
 */
export async function listPlugins(
  plugins: AuthPlugins = [],
  audit?: AuditOption,
): Promise<BetterAuthPlugin[]> {
  const own = typeof plugins === "function" ? await plugins() : plugins;
  if (audit === undefined || audit === false) return [...own];
  const { createAuditPlugin } = await import("../audit/audit_plugin.ts");
  return [...own, await createAuditPlugin(audit === true ? {} : audit)];
}
