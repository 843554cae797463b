import { definePrecompiledStatement } from "../../database/precompiled/statement.ts";
import { decodeDate, encodeDate } from "../../database/queries/column_codecs.ts";
import type { AuthDatabase } from "../better_auth_types.ts";
import type { AuthSettings } from "../config.ts";
import { getOwnStatements } from "./own_statements.ts";

/** A prepared write. */
interface Write<Row> {
  execute(values: Readonly<Record<string, unknown>>): Promise<Row[]>;
}

type Tables = Pick<AuthSettings, "schema">;

// drizzle 0.45 gives this type to updates, too
const UPDATE = { type: "insert", tables: ["sessions"] };

const getEnd = /* @__PURE__ */ definePrecompiledStatement({
  name: "trellis_end_session",
  text: 'update "sessions" set "expires_at" = $1, "updated_at" = $2 ' +
    'where ("sessions"."token" = $3 and "sessions"."expires_at" > $4) returning "id"',
  params: [
    { placeholder: "now", encode: encodeDate },
    { placeholder: "now", encode: encodeDate },
    { placeholder: "token" },
    { placeholder: "now", encode: encodeDate },
  ],
  cells: [{ path: ["id"] }],
  metadata: UPDATE,
}, "trellis:end_session");

const getExtend = /* @__PURE__ */ definePrecompiledStatement({
  name: "trellis_extend_session",
  text:
    'update "sessions" set "expires_at" = $1, "updated_at" = $2 where ("sessions"."token" = $3 ' +
    `and date_trunc('milliseconds', "sessions"."expires_at") = $4) returning "expires_at"`,
  params: [
    { placeholder: "expiresAt", encode: encodeDate },
    { placeholder: "updatedAt", encode: encodeDate },
    { placeholder: "token" },
    { placeholder: "found", encode: encodeDate },
  ],
  cells: [{ path: ["expiresAt"], decode: decodeDate }],
  metadata: UPDATE,
}, "trellis:extend_session");

/** Ends a session that has not expired, in a bundle without drizzle. */
export async function endSession(
  db: AuthDatabase,
  tables: Tables,
  token: string,
  now: Date,
): Promise<{ id: string }[]> {
  const own = getOwnStatements(tables.schema);
  if (own !== undefined) return await own.endSession(db, tables, token, now);
  return await (getEnd(db) as Write<{ id: string }>).execute({ token, now });
}

/** Extends a session if its expiry time is unchanged, in a bundle without drizzle. */
export async function extendSession(
  db: AuthDatabase,
  tables: Tables,
  session: { readonly token: string; readonly expiresAt: Date },
  changes: { readonly expiresAt: Date; readonly updatedAt: Date },
): Promise<{ expiresAt: Date }[]> {
  const own = getOwnStatements(tables.schema);
  if (own !== undefined) return await own.extendSession(db, tables, session, changes);
  const { token, expiresAt: found } = session;
  return await (getExtend(db) as Write<{ expiresAt: Date }>).execute({ token, found, ...changes });
}
