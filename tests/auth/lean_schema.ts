import * as core from "drizzle-orm";
import * as pg from "drizzle-orm/pg-core";
import { defineAuthTable } from "../../auth/precompiled/table.ts";
import { useOwnSessions } from "../../auth/precompiled/own_sessions.ts";
import { AuthSchemaRenderer } from "../../cli/build/lean/auth_schema.ts";
import * as codecs from "../../database/queries/column_codecs.ts";

const renderer = new AuthSchemaRenderer({ core, pg });

/** Returns the tables of a schema as `trellis build` writes them into a bundle without drizzle. */
export function toLeanSchema<Model extends string>(
  schema: Readonly<Record<Model, unknown>>,
): Record<Model, never> {
  const code = renderer.render("the key", schema).split("\n")
    .filter((line) => !line.startsWith("import "))
    .join("\n").replace("export const schema =", "return");
  const values = {
    ...codecs,
    defineAuthTable,
    useOwnSessions,
    loadDrizzle: () => ({ schemas: { "the key": schema } }),
  };
  return new Function(...Object.keys(values), code)(...Object.values(values));
}
