// Part of the second file of a built function without drizzle.
import type { ApiKeyTable } from "../api_key_options.ts";
import { getKeyStatements } from "../api_key_statements.ts";
import type { AuthDatabase } from "../better_auth_types.ts";

/** drizzle's statements of API keys, from a client and the table of the application. */
export const STATEMENTS: Readonly<
  Record<string, (db: AuthDatabase, table: ApiKeyTable) => object>
> = { "trellis:api_keys": getKeyStatements };
