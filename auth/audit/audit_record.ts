import type { AsyncLocalStorage } from "node:async_hooks";
import { builtinModule } from "../../env/builtin_module.ts";
import { getClientAddressHeader } from "../better_auth/client_address_header.ts";

/** The request that causes events. */
export interface AuditRequest {
  /** Path of the route without the base path, or the name of the endpoint. */
  readonly path: string;
  readonly headers?: Headers;
  /** Id of the user whose session sent the request. */
  actorId?: string;
  /** Ids of the users that the request creates. */
  readonly newUsers: Set<string>;
}

/** An event before it is stored. */
export interface AuditEvent {
  readonly kind: AuthEventKind;
  /** Id of the user whom it concerns. */
  readonly userId?: string;
  /** Id of the user who caused it, if that is known. */
  readonly actorId?: string;
  /** Headers of the request; by default those of the current one. */
  readonly headers?: Headers;
}

interface EventWriter {
  create(input: { model: string; data: Record<string, unknown> }): Promise<unknown>;
}

/** Storage of the current request; created by the first one. */
let requests: AsyncLocalStorage<AuditRequest> | undefined;

/**
 * Runs a request whose events are recorded.
 *
 * @param request The request.
 * @param run The work.
 * @returns The result of the work.
 */
export function runAudited<T>(request: AuditRequest, run: () => T): T {
  const hooks = builtinModule("node:async_hooks");
  if (requests === undefined && hooks !== undefined) requests = new hooks.AsyncLocalStorage();
  return requests === undefined ? run() : requests.run(request, run);
}

/** Returns the current request. */
export function getAuditRequest(): AuditRequest | undefined {
  return requests?.getStore();
}

/** Longest stored user agent. */
const MAX_USER_AGENT = 500;

/**
 * Stores an event. The adapter determines whether that is part of a transaction.
 *
 * @param adapter better-auth's adapter.
 * @param settings The option `audit`; excluded kinds are not stored.
 * @param event The event.
 */
export async function recordEvent(
  adapter: EventWriter,
  { exclude = [] }: AuditSettings,
  { kind, userId, actorId, headers = getAuditRequest()?.headers }: AuditEvent,
): Promise<void> {
  if (exclude.includes(kind)) return;
  await adapter.create({
    model: "authEvent",
    data: {
      kind,
      userId: userId ?? null,
      actorId: actorId ?? getAuditRequest()?.actorId ?? null,
      address: headers?.get(getClientAddressHeader()) ?? null,
      userAgent: headers?.get("user-agent")?.slice(0, MAX_USER_AGENT) ?? null,
      createdAt: new Date(),
    },
  });
}

/** A kind of event in the audit log. */
export type AuthEventKind =
  | "sign-up"
  | "sign-in"
  | "sign-in-failed"
  | "sign-out"
  | "session-revoked"
  | "password-reset"
  | "password-changed"
  | "email-changed"
  | "role-changed"
  | "user-banned"
  | "user-unbanned"
  | "user-deleted"
  | "impersonation-started"
  | "api-key-created"
  | "api-key-used";

/** Settings of the audit log. */
export interface AuditSettings {
  /**
   * Kinds of events that are not recorded.
   * @default [] (none)
   */
  exclude?: readonly AuthEventKind[];
}

/** The option `audit` of `AuthConfig`. */
export type AuditOption = boolean | AuditSettings;
