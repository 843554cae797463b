import type { OpenApiMetadata, RegisteredOperation } from "../../validation/openapi/registry.ts";
import type { FunctionFile } from "../discovery/function_files.ts";
import type { PlacedDefinition } from "../project/loaded_function.ts";
import type { Place } from "../sources/source_positions.ts";
import type { OpenApiFinding } from "./schema_findings.ts";

/** An operation with its function. */
export interface SourceOperation extends Place {
  readonly fn: FunctionFile;
  /** The name of the handler's function, if it has one. */
  readonly functionName?: string;
  readonly operationName?: string;
  readonly openapi: OpenApiMetadata;
  readonly registered: RegisteredOperation;
  readonly definition: PlacedDefinition;
}

/**
 * Assigns operation ids: explicit ones, else the handler's function name if it is unique, else the
 * name of the function.
 */
export function nameOperations(
  operations: readonly SourceOperation[],
  find: (finding: OpenApiFinding) => void,
): Map<SourceOperation, string> {
  const ownName = ({ operationName, functionName }: SourceOperation) =>
    operationName ?? functionName;
  const counts = new Map<string, number>();
  const count = (name: string | undefined) =>
    name !== undefined && counts.set(name, (counts.get(name) ?? 0) + 1);
  for (const operation of operations) {
    count(operation.openapi.operationId ?? ownName(operation));
    count(operation.fn.name);
  }
  const ids = new Map<SourceOperation, string>();
  const owners = new Map<string, SourceOperation>();
  for (const operation of operations) {
    const { operationId } = operation.openapi;
    const own = ownName(operation);
    const isFree = own !== undefined &&
      (counts.get(own) === 1 || (counts.get(own) === 2 && own === operation.fn.name));
    const id = operationId ?? (isFree ? own : operation.fn.name);
    const other = owners.get(id);
    if (other !== undefined) {
      find({
        file: operation.file,
        line: operation.line,
        message:
          `two operations have the operationId ${id}; the other is in ${other.file}:${other.line}`,
      });
      ids.set(operation, `${id}_${operation.fn.name}`);
      continue;
    }
    owners.set(id, operation);
    ids.set(operation, id);
  }
  return ids;
}
