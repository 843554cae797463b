import { isWithin } from "../../analysis/node_checks.ts";
import type { Project } from "../../analysis/project.ts";
import type { SourceModule } from "../../analysis/source_module.ts";
import type { ts } from "../../analysis/typescript.ts";
import type { ChangedConstants } from "../precompile_queries/changed_constants.ts";
import { type DrizzleModules, NotCompiled } from "../precompile_queries/codecs.ts";
import type { SourceStatement } from "../precompile_queries/find_statements.ts";
import type { ModuleChanges } from "../precompile_queries/statement_code.ts";
import { AuthSchemaRenderer } from "./auth_schema.ts";
import { evaluate } from "./evaluate.ts";
import { findConstants } from "./find_constants.ts";
import { findQueries } from "./find_queries.ts";
import { findSchemas, type SourceSchema } from "./find_schemas.ts";
import { type LeanModule, renderLeanChanges } from "./lean_code.ts";
import { OptionsRenderer, type PlainTable } from "./render_options.ts";

/** The sources of functions as they are bundled without drizzle. */
export interface LeanSources {
  readonly project: Project;
  /** Changes of modules by path. */
  readonly changes: ReadonlyMap<string, ModuleChanges>;
  /** Tables of queries by key. */
  readonly tables: ReadonlyMap<string, PlainTable>;
  /** Schemas of clients by key. */
  readonly schemas: ReadonlyMap<string, SourceSchema>;
  /** Code of the tables of configurations of auth, by the key of their schema. */
  readonly authSchemas: ReadonlyMap<string, string>;
  /** Reasons why tables of auth are left to drizzle, with their positions. */
  readonly reasons: readonly string[];
  /** Code of compiled statements by key. */
  readonly modules: ReadonlyMap<string, string>;
  /** Compiled statements by key. */
  readonly statements: ReadonlyMap<string, SourceStatement>;
}

/** The sources of a project, and what is known about them. */
export interface LeanOptions {
  readonly project: Project;
  readonly modules: readonly SourceModule[];
  /** The statements that were compiled. */
  readonly statements: readonly SourceStatement[];
  /** Their code by key. */
  readonly code: ReadonlyMap<string, string>;
  readonly changed: ChangedConstants;
  readonly drizzle: DrizzleModules;
}

/** Finds the parts of the sources that a bundle without drizzle omits or replaces. */
export async function readLean(options: LeanOptions): Promise<LeanSources> {
  const { project, statements, changed, drizzle } = options;
  const modules = options.modules.filter(({ commonJs }) => commonJs === undefined);
  const found = modules.map((module): LeanModule => ({
    module,
    statements: statements.filter(({ node }) => node.getSourceFile() === module.source),
    constants: findConstants(project, module, changed),
    queries: findQueries(project, module),
    schemas: [],
  }));
  const schemas = findSchemas(project, options.modules)
    .filter(({ property }) => changed.find(property) === undefined);
  const values = await evaluate(project, [
    ...found.flatMap((each) => each.constants.map(({ initializer }) => initializer)),
    ...found.flatMap((each) =>
      each.queries.flatMap(({ options, tables }) => tables ? [options, tables] : [options])
    ),
    ...schemas.map(({ value }) => value),
  ]);
  const { authSchemas, reasons } = renderAuthSchemas(options, schemas, values);
  const replaced = schemas.filter(({ key, use, value }) =>
    use === "auth" ? authSchemas.has(key) : values.has(value)
  );
  const evaluated = found.map((each): LeanModule => ({
    ...each,
    // a configuration needs no drizzle without its schema
    constants: each.constants.filter(({ initializer }) =>
      values.has(initializer) && !replaced.some(({ property }) => isWithin(property, [initializer]))
    ),
    schemas: replaced.filter(({ property }) => property.getSourceFile() === each.module.source),
  }));
  const omitted = new Set<ts.Node>(evaluated.flatMap(({ constants }) => constants));
  const renderer = new OptionsRenderer(drizzle);
  const changes = evaluated.map((each): [string, ModuleChanges] => [
    each.module.path,
    renderLeanChanges(
      project,
      each,
      (node, addTable) =>
        values.has(node) && changed.find(node) === undefined
          ? renderer.render(values.get(node), addTable)
          : undefined,
      (node) => omitted.has(node),
    ),
  ]);
  return {
    project,
    changes: new Map(changes.filter(([, { edits }]) => edits.length > 0)),
    tables: renderer.tables,
    schemas: new Map(evaluated.flatMap((each) => each.schemas).map((each) => [each.key, each])),
    authSchemas,
    reasons,
    modules: new Map(options.code),
    statements: new Map(statements.map((each) => [each.key, each])),
  };
}

/** Renders the tables of configurations of auth. */
function renderAuthSchemas(
  { project, drizzle }: LeanOptions,
  schemas: readonly SourceSchema[],
  values: ReadonlyMap<ts.Node, unknown>,
): Pick<LeanSources, "authSchemas" | "reasons"> {
  const renderer = new AuthSchemaRenderer(drizzle);
  const authSchemas = new Map<string, string>();
  const reasons: string[] = [];
  for (const { key, use, property, value } of schemas) {
    const tables = values.get(value);
    if (use !== "auth" || typeof tables !== "object" || tables === null) continue;
    try {
      authSchemas.set(key, renderer.render(key, tables as Record<string, unknown>));
    } catch (error) {
      if (!(error instanceof NotCompiled)) throw error;
      const at = `${project.getPath(property)}:${project.getLine(property)}`;
      reasons.push(`${at}: schema of auth: ${error.message}`);
    }
  }
  return { authSchemas, reasons };
}
