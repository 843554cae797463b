import type { FunctionInfra } from "../config/function_infra.ts";
import type { TableName } from "../grants/table_name.ts";
import type { InfraFunction } from "./infra_plan.ts";

/** The generated stream of the database's changes. */
export const CHANGE_STREAM = "aws_kinesis_stream.changes.arn";

const DEFINER = "defineChangeStreamHandler";

/**
 * Checks whether a function consumes the changes of a table in the change stream of the database.
 */
export function consumesChanges({ definer, settings }: InfraFunction): boolean {
  return definer === DEFINER && !isOtherSource(settings);
}

/** Checks whether a function needs the generated change stream. */
export function readsChanges(fn: InfraFunction): boolean {
  return fn.definer === "defineJobStreamHandler" || consumesChanges(fn);
}

/**
 * Returns the trigger of a consumer of a table's changes without a setting: the generated stream,
 * with the changes of the table. Fragments name no table, so that all are delivered.
 *
 * @param definer The function of this package that creates the handler.
 * @param table The consumed table, if it can be determined.
 */
export function getChangeTrigger(
  definer: string | undefined,
  table?: TableName,
): Pick<FunctionInfra, "source" | "filters"> {
  if (definer !== DEFINER) return {};
  const source = { reference: CHANGE_STREAM };
  if (table === undefined) return { source };
  const { name, schema = "public" } = table;
  return {
    source,
    filters: [
      { data: { source: { schema: [schema], table: [name] } } },
      { data: { type: ["fragment"] } },
    ],
  };
}

function isOtherSource({ source }: FunctionInfra): boolean {
  return typeof source === "string" || source?.reference !== CHANGE_STREAM;
}
