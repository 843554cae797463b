import type { PgColumn } from "drizzle-orm/pg-core";
import { getColumns } from "../database/drizzle_table.ts";
import { COLUMN_NAMES } from "./column_names.ts";
import type { AuthSettings } from "./config.ts";
import type { AuthSchema } from "./resolve_schema.ts";

/** The columns that a session check reads, by the properties of its row. */
export function listSessionFields({ schema, library }: Pick<AuthSettings, "schema" | "library">) {
  const { session, user } = schema;
  const userFields = findAddedColumns(user, COLUMN_NAMES.user, library.user?.additionalFields);
  const sessionFields = findAddedColumns(
    session,
    COLUMN_NAMES.session,
    library.session?.additionalFields,
  );
  // column of better-auth's admin plugin
  const { impersonatedBy } = getColumns(session) as { impersonatedBy?: typeof session.token };
  return {
    id: session.id,
    token: session.token,
    expiresAt: session.expiresAt,
    userId: user.id,
    email: user.email,
    name: user.name,
    image: user.image,
    emailVerified: user.emailVerified,
    createdAt: session.createdAt,
    updatedAt: session.updatedAt,
    ...(impersonatedBy && { impersonatedBy }),
    ...(userFields && { userFields }),
    ...(sessionFields && { sessionFields }),
  };
}

/** Lists the columns beside the built-in ones, except those with `returned: false`. */
function findAddedColumns(
  table: AuthSchema["user"] | AuthSchema["session"],
  builtIn: readonly string[],
  additionalFields: Readonly<Record<string, { returned?: boolean | undefined }>> = {},
): Record<string, PgColumn> | undefined {
  const added = Object.entries(getColumns(table) as Record<string, PgColumn>).filter(([name]) =>
    !builtIn.includes(name) && additionalFields[name]?.returned !== false
  );
  return added.length === 0 ? undefined : Object.fromEntries(added);
}
