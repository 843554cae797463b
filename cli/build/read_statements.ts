import type { BuilderClient } from "../../database/queries/build_statement.ts";
import type { DeclaredStatement } from "../../database/queries/define_statement.ts";
import { DrizzleClients } from "../../database/session/client.ts";
import { Dialect } from "../../database/session/dialect.ts";
import { isUsedQuery } from "../grants/query_needs.ts";
import type { Problem } from "../project/findings.ts";
import type { LoadedFunction } from "../project/loaded_function.ts";

/** Builds the statements that a function uses, and returns those that cannot be built for all values. */
export function read(fn: LoadedFunction): readonly Problem[] {
  const builder = new DrizzleClients(new Dialect(), undefined)
    .createBuilder() as unknown as BuilderClient;
  return fn.list("defineStatement").flatMap((definition) => {
    const { args, place } = definition;
    if (!isUsedQuery(fn, definition)) return [];
    try {
      (args[3] as DeclaredStatement).buildOn(builder);
      return [];
    } catch (error) {
      return [{ place, message: (error as Error).message }];
    }
  });
}
