import type { TablePermission } from "../../database/queries/table_permission.ts";
import { type Finding, Findings } from "../project/findings.ts";
import { loadFunctions } from "../project/load_functions.ts";
import { getModuleUrl } from "../project/module_url.ts";
import { ROUTES_ADVICE } from "./auth_needs.ts";
import type { PermissionFacts } from "./read_permissions.ts";
import { parseTable, printTable } from "./table_name.ts";
import {
  mergeSequenceNeeds,
  mergeTableNeeds,
  type SequenceGrant,
  type TableGrant,
} from "./table_needs.ts";
import { listTriggerNeeds, type Trigger } from "./trigger_needs.ts";

/** The database permissions of a function. */
export interface FunctionPermissions {
  readonly name: string;
  /** Relative to the project. */
  readonly file: string;
  /** True if the function connects at all: a query without tables needs a role but no grants. */
  readonly usesDatabase: boolean;
  /** Sorted by table. */
  readonly tables: readonly TableGrant[];
  /** Sequences that SQL text names, sorted. */
  readonly sequences: readonly SequenceGrant[];
}

/** The result of the analysis. */
export interface PermissionsAnalysis {
  readonly functions: readonly FunctionPermissions[];
  /** Code that cannot be resolved: the grants of these functions may be incomplete. */
  readonly unresolved: readonly Finding[];
  /** Table accesses for which a grant is, or may be, missing. */
  readonly missed: readonly Finding[];
  /** Code that will fail at run time, and grants that are not needed. */
  readonly warnings: readonly Finding[];
  /** Queries that functions may not need, and how to split the code that has them. */
  readonly hints: readonly Finding[];
  readonly queryCount: number;
}

/** Options of {@link analysePermissions}. */
export interface AnalyseOptions {
  /** Absolute path of the project's folder. */
  readonly root: string;
  /** The functions, with absolute paths. */
  readonly functions: readonly { readonly name: string; readonly file: string }[];
  /** Additional permissions by function name. */
  readonly extra?: Readonly<Record<string, readonly TablePermission[]>>;
  /** Names of the functions that migrations create, without their schemas. */
  readonly created?: ReadonlySet<string>;
  /** The triggers that migrations create. */
  readonly triggers?: readonly Trigger[];
  /** Called with the number of finished functions. */
  readonly onProgress?: (done: number, total: number) => void;
}

/**
 * Finds the tables that each function uses and the operations it performs on them: of everything that its bundle
 * defines.
 *
 * @returns Grants by function, and the code that cannot be resolved.
 * @throws {BuildError} If a file cannot be bundled.
 */
export async function analysePermissions(options: AnalyseOptions): Promise<PermissionsAnalysis> {
  const { root, extra = {}, created, triggers = [], onProgress } = options;
  const loaded = await loadFunctions({
    root,
    functions: options.functions,
    readers: [getModuleUrl(import.meta.url, "./read_permissions")],
    onProgress,
  });
  const unresolved = new Findings();
  const missed = new Findings();
  const warnings = new Findings();
  const hints = new Findings();
  const queries = new Set<string>();
  const functions = loaded.map(
    ({ name, path, facts, error, warnings: doubts = [] }): FunctionPermissions => {
      if (error !== undefined) {
        unresolved.add(name, [{ place: error, message: error.message }]);
        return { name, file: path, usesDatabase: false, tables: [], sequences: [] };
      }
      const found = facts![0] as PermissionFacts;
      unresolved.add(name, found.unresolved);
      missed.add(name, found.missed);
      warnings.add(name, found.warnings);
      hints.add(name, found.hints);
      for (const { name: called, isOwn, isListed, problem } of found.calls) {
        const isKnown = isOwn || created?.has(called.name) === true;
        // with a schema, it may also be a function of an extension
        if (isKnown && !isListed) missed.add(name, [problem]);
        else if (isKnown || called.schema !== undefined) warnings.add(name, [problem]);
      }
      // a variable that decides which routes are mounted would leave grants out
      for (const { message, ...place } of doubts) {
        if (!found.limitsRoutes) warnings.add(name, [{ place, message }]);
        else if (found.unresolved.every(({ place: { file } }) => file !== place.file)) {
          unresolved.add(name, [{ place, message: `${message}; ${ROUTES_ADVICE}` }]);
        }
      }
      for (const query of found.queries) queries.add(query);
      const more = (extra[name] ?? []).map(({ table, operations }) => ({
        table: parseTable(table),
        operations,
        reason: "permissions.functions in trellis.config.ts",
      }));
      const fired = listTriggerNeeds(triggers, [...found.tables, ...more]);
      warnings.add(
        name,
        fired.unknown.map((trigger) => ({
          place: { file: path, line: 1 },
          message:
            `tables of the trigger ${trigger.name} of ${printTable(trigger.table)} cannot be ` +
            "determined: list its grants in permissions.functions of trellis.config.ts",
        })),
      );
      return {
        name,
        file: path,
        usesDatabase: found.usesDatabase || more.length > 0,
        tables: mergeTableNeeds([...found.tables, ...more, ...fired.tables]),
        sequences: mergeSequenceNeeds([...found.sequences, ...fired.sequences]),
      };
    },
  );
  return {
    functions,
    unresolved: unresolved.list(),
    missed: missed.list(),
    warnings: warnings.list(),
    hints: hints.list(),
    queryCount: queries.size,
  };
}
