// `plugins.ts` imports this file if the audit log is enabled.
import type { BetterAuthPlugin } from "better-auth";
import { type AuditSettings, recordEvent } from "./audit_record.ts";
import { loadAuthMiddleware } from "../better_auth/load_better_auth.ts";

/** Key of the table in `AuthConfig.schema`. */
export const AUDIT_MODEL = "authEvent";
/** Id of the plugin. */
const AUDIT_PLUGIN = "trellis-audit";

/** Routes that check a password, a code or another proof of identity. */
const SIGN_IN_PATH = /^\/(?:sign-in|two-factor\/verify)/;

/**
 * Creates the plugin of the audit log: its table, and the record of failed sign-ins. The other
 * events are recorded where the rows are written.
 *
 * @param settings The option `audit`.
 * @returns The plugin.
 */
export async function createAuditPlugin(settings: AuditSettings): Promise<BetterAuthPlugin> {
  const createAuthMiddleware = await loadAuthMiddleware();
  return {
    id: AUDIT_PLUGIN,
    schema: {
      [AUDIT_MODEL]: {
        fields: {
          kind: { type: "string", required: true, input: false },
          userId: { type: "string", required: false, input: false, index: true },
          actorId: { type: "string", required: false, input: false },
          address: { type: "string", required: false, input: false },
          userAgent: { type: "string", required: false, input: false },
          createdAt: {
            type: "date",
            required: true,
            input: false,
            index: true,
            defaultValue: () => new Date(),
          },
        },
      },
    },
    hooks: {
      after: [{
        matcher: ({ path }) => path !== undefined && SIGN_IN_PATH.test(path),
        handler: createAuthMiddleware(async (ctx) => {
          if (!isRefusal(ctx.context.returned)) return;
          const { adapter } = ctx.context;
          const user = await findUser(adapter, ctx.body);
          await recordEvent(adapter, settings, {
            kind: "sign-in-failed",
            userId: user?.id,
            headers: ctx.headers,
          });
        }),
      }],
    },
  };
}

/** Checks for an answer that refuses the credentials; a malformed request is none. */
function isRefusal(returned: unknown): boolean {
  const { statusCode } = (returned ?? {}) as { statusCode?: unknown };
  return statusCode === 401 || statusCode === 403;
}

interface UserFinder {
  findOne<T>(input: {
    model: string;
    where: { field: string; value: string }[];
  }): Promise<T | null>;
}

/** Properties of a request that identify a user, with the field of the user. */
const IDENTIFIERS = ["email", "username", "phoneNumber"] as const;

async function findUser(
  adapter: UserFinder,
  body: unknown,
): Promise<{ readonly id: string } | null> {
  const given = (body ?? {}) as Readonly<Record<string, unknown>>;
  const field = IDENTIFIERS.find((name) => typeof given[name] === "string");
  if (field === undefined) return null;
  const value = String(given[field]);
  return await adapter.findOne({
    model: "user",
    where: [{ field, value: field === "phoneNumber" ? value : value.toLowerCase() }],
  });
}
