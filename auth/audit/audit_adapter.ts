import type { BetterAuthApi } from "../better_auth/better_auth_types.ts";
import {
  type AuditEvent,
  type AuditSettings,
  getAuditRequest,
  recordEvent,
  runAudited,
} from "./audit_record.ts";

type Row = Readonly<Record<string, unknown>>;

interface Condition {
  readonly field: string;
  readonly value: unknown;
}

/** The methods of better-auth's adapter that write or find rows. */
interface Adapter {
  create(input: { model: string; data: Row }): Promise<Row>;
  update(input: { model: string; where: Condition[]; update: Row }): Promise<Row | null>;
  updateMany(input: { model: string; where: Condition[]; update: Row }): Promise<number>;
  delete(input: { model: string; where: Condition[] }): Promise<void>;
  findOne(input: { model: string; where: Condition[] }): Promise<Row | null>;
  transaction<T>(run: (adapter: Adapter) => Promise<T>): Promise<T>;
  incrementOne?(input: { model: string; where: Condition[]; set?: Row }): Promise<Row | null>;
}

/**
 * Makes an adapter record events: each in the transaction of the write that causes it, or directly
 * after a write without a transaction.
 *
 * @param adapter better-auth's adapter. Its methods are replaced.
 * @param settings The option `audit`.
 * @returns The adapter.
 */
export function recordWrites<T extends object>(adapter: T, settings: AuditSettings): T {
  const target = adapter as Adapter;
  const { create, update, updateMany, delete: remove, findOne, transaction, incrementOne } = target;

  async function record(events: readonly AuditEvent[]): Promise<void> {
    for (const event of events) await recordEvent({ create }, settings, event);
  }

  target.create = async function createAndRecord(input) {
    const row = await create(input);
    await record(describeCreated(input.model, row));
    return row;
  };
  target.update = async function updateAndRecord(input) {
    const row = await update(input);
    if (row !== null) await record(describeUpdated(input.model, input.update, row));
    return row;
  };
  target.updateMany = async function updateManyAndRecord(input) {
    const count = await updateMany(input);
    if (count > 0) await record(describeUpdated(input.model, input.update, toRow(input.where)));
    return count;
  };
  target.delete = async function deleteAndRecord(input) {
    const row = isRecordedDelete(input.model) ? await findOne(input) : null;
    await remove(input);
    if (row !== null) await record(describeDeleted(input.model, row));
  };
  target.findOne = async function findAndRemember(input) {
    const row = await findOne(input);
    if (input.model === "session" && input.where.some(({ field }) => field === "token")) {
      rememberActor(row);
    }
    return row;
  };
  if (incrementOne !== undefined) {
    target.incrementOne = async function incrementAndRecord(input) {
      const row = await incrementOne(input);
      if (row !== null) await record(describeUpdated(input.model, input.set ?? {}, row));
      return row;
    };
  }
  target.transaction = (run) => transaction((inner) => run(recordWrites(inner, settings)));
  return adapter;
}

/** The session of a request's token belongs to the user who sends it, or is impersonated by them. */
function rememberActor(session: Row | null): void {
  const request = getAuditRequest();
  if (request !== undefined) {
    request.actorId ??= asId(session?.impersonatedBy) ?? asId(session?.userId);
  }
}

/** Returns the values that a condition requires, such as the user's id. */
function toRow(where: readonly Condition[]): Row {
  return Object.fromEntries(where.map(({ field, value }) => [field, value]));
}

function describeCreated(model: string, row: Row): AuditEvent[] {
  const request = getAuditRequest();
  if (model === "user") {
    request?.newUsers.add(String(row.id));
    return [{ kind: "sign-up", userId: asId(row.id) }];
  }
  if (model === "session") {
    const userId = asId(row.userId);
    const impersonator = asId(row.impersonatedBy);
    if (impersonator !== undefined) {
      return [{ kind: "impersonation-started", userId, actorId: impersonator }];
    }
    // the session of a sign-up is part of that event
    return request?.newUsers.has(String(row.userId)) ? [] : [{ kind: "sign-in", userId }];
  }
  const isFirst = request?.newUsers.has(String(row.userId)) === true;
  if (model === "account" && typeof row.password === "string" && !isFirst) {
    // a reset of an unproven account replaces it
    return [{ kind: getPasswordEvent(), userId: asId(row.userId) }];
  }
  return model === "apikey" ? [{ kind: "api-key-created", userId: asId(row.referenceId) }] : [];
}

function describeUpdated(model: string, changes: Row, row: Row): AuditEvent[] {
  const has = (name: string) => Object.hasOwn(changes, name) && changes[name] !== undefined;
  const events: AuditEvent[] = [];
  const userId = asId(model === "user" ? row.id : row.userId);
  if (model === "account" && has("password")) {
    events.push({ kind: getPasswordEvent(), userId });
  }
  if (model === "user" && has("email")) events.push({ kind: "email-changed", userId });
  if (has("role") && userId !== undefined) events.push({ kind: "role-changed", userId });
  if (model === "user" && has("banned")) {
    events.push({ kind: changes.banned === true ? "user-banned" : "user-unbanned", userId });
  }
  if (model === "apikey" && has("lastRequest")) {
    events.push({ kind: "api-key-used", userId: asId(row.referenceId) });
  }
  return events;
}

function getPasswordEvent(): "password-reset" | "password-changed" {
  const path = getAuditRequest()?.path.toLowerCase().replaceAll("-", "") ?? "";
  return path.includes("resetpassword") ? "password-reset" : "password-changed";
}

/** Sessions that expire or are replaced are deleted without an event. */
function isRecordedDelete(model: string): boolean {
  const path = getAuditRequest()?.path.toLowerCase() ?? "";
  return model === "user" || model === "session" && /sign-?out|revoke/.test(path);
}

function describeDeleted(model: string, row: Row): AuditEvent[] {
  if (model === "user") return [{ kind: "user-deleted", userId: asId(row.id) }];
  const isSignOut = /sign-?out/.test(getAuditRequest()?.path.toLowerCase() ?? "");
  return [{ kind: isSignOut ? "sign-out" : "session-revoked", userId: asId(row.userId) }];
}

function asId(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

// `better_auth.ts` imports this file if the audit log is enabled.

type AdapterFactory<Options, Adapter> = (options: Options) => Adapter;
type Handler = (request: Request) => Promise<Response>;
type Endpoint = (input?: { headers?: HeadersInit }) => unknown;

/**
 * Makes better-auth's adapter record events.
 *
 * @param factory Creates the adapter.
 * @param settings The option `audit`.
 */
export function auditAdapter<Options, Adapter extends object>(
  factory: AdapterFactory<Options, Adapter>,
  settings: AuditSettings,
): AdapterFactory<Options, Adapter> {
  return (options) => recordWrites(factory(options), settings);
}

/**
 * Makes the routes record the address and the user agent of requests.
 *
 * @param handler The routes.
 */
export function auditHandler(handler: Handler): Handler {
  return (request) =>
    runAudited(
      { path: new URL(request.url).pathname, headers: request.headers, newUsers: new Set() },
      () => handler(request),
    );
}

/**
 * Makes the endpoints record the address and the user agent, if they are called with headers.
 *
 * @param api The endpoints.
 */
export function auditApi(api: BetterAuthApi): BetterAuthApi {
  const audited = Object.entries(api as Record<string, Endpoint>).map(([name, endpoint]) => {
    function callAudited(input?: { headers?: HeadersInit }): unknown {
      const headers = input?.headers === undefined ? undefined : new Headers(input.headers);
      return runAudited({ path: name, headers, newUsers: new Set() }, () => endpoint(input));
    }
    // path and options, which describe the route
    return [name, Object.assign(callAudited, endpoint)];
  });
  return Object.fromEntries(audited);
}
