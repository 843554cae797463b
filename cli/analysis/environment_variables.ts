import type { Collection } from "./collect.ts";
import { LOAD } from "./effects.ts";
import type { Evaluator } from "./evaluate.ts";
import { createLiteralReader, type LiteralReader, type Place } from "./literals.ts";
import { reach, type Unresolved } from "./reach.ts";
import type { SourceModule } from "./source_module.ts";
import type { Project } from "./project.ts";
import { ts } from "./typescript.ts";

/** An environment variable that a function reads. */
export interface EnvironmentVariable {
  readonly name: string;
  /** Whether the function fails without it, as far as its text tells. */
  readonly isRequired: boolean;
  /** Whether `defineEnv` says that it is a secret. */
  readonly isSecret: boolean;
}

/** What a function needs of its surroundings, by all that it can reach. */
export interface Surroundings {
  /** Sorted by name. */
  readonly variables: readonly EnvironmentVariable[];
  /** Whether it connects to the database: it then has a role. */
  readonly usesDatabase: boolean;
  readonly unresolved: readonly Unresolved[];
}

/**
 * Finds out which environment variables a function reads, by `getRequiredEnv`, `getOptionalEnv`, `defineEnv` and
 * `process.env.NAME`, in what it can really reach.
 *
 * @param project The sources.
 * @param collection The effects.
 * @param evaluator The constants.
 * @param module The function's file, which exports a `handler`.
 * @returns What was found.
 */
export function readSurroundings(
  project: Project,
  collection: Collection,
  evaluator: Evaluator,
  module: SourceModule,
): Surroundings {
  const handler = collection.exportUnit(module, "handler");
  const roots = [
    collection.units.of(module.source, [LOAD]).unit,
    ...handler === undefined ? [] : [handler],
  ];
  const reached = reach(collection, evaluator, roots);
  const unresolved = reached.unresolved.filter(({ subject }) => subject !== "grants");
  const found = new Map<string, EnvironmentVariable>();
  function add(variable: EnvironmentVariable): void {
    const other = found.get(variable.name);
    found.set(variable.name, {
      name: variable.name,
      isRequired: variable.isRequired || other?.isRequired === true,
      isSecret: variable.isSecret || other?.isSecret === true,
    });
  }
  const reader = createLiteralReader(project);
  for (const effect of reached.variables) {
    if (effect.kind === "env") {
      add({ name: effect.name, isRequired: effect.isRequired, isSecret: false });
    } else {
      const defined = readDefinition(reader, effect.definition);
      if ("unknown" in defined) {
        const message = "the names of defineEnv cannot be told from the text";
        unresolved.push({ node: defined.unknown, message, subject: "environment" });
      } else defined.variables.forEach(add);
    }
  }
  return {
    variables: [...found.values()].sort((a, b) => a.name < b.name ? -1 : 1),
    usesDatabase: reached.queries.size > 0 || reached.auth.length > 0,
    unresolved,
  };
}

/** The variables of a `defineEnv({ … })`, or the part that cannot be told. */
function readDefinition(
  reader: LiteralReader,
  definition: ts.Expression,
): { readonly variables: readonly EnvironmentVariable[] } | { readonly unknown: ts.Node } {
  const found = reader.getNames({ node: definition });
  if ("unknown" in found) return found;
  const object = objectAt(reader, { node: definition });
  const variables = found.names.map((name): EnvironmentVariable => {
    const property = object && reader.getProperty(object, name);
    const place = property === undefined || "unknown" in property ? undefined : property;
    return {
      name,
      isRequired: place === undefined || isRequired(reader, place),
      isSecret: isSecret(reader, place),
    };
  });
  return { variables };
}

function isRequired(reader: LiteralReader, place: Place): boolean {
  const description = objectAt(reader, place);
  if (description === undefined) return !acceptsNothing(reader, place);
  const schema = reader.getProperty(description, "schema");
  if (schema !== undefined && !("unknown" in schema) && acceptsNothing(reader, schema)) {
    return false;
  }
  if (reader.getProperty(description, "default") !== undefined) return false;
  const optional = reader.getProperty(description, "optional");
  if (optional === undefined || "unknown" in optional) return true;
  const value = reader.read(optional);
  return value.kind === "unknown" || value.value !== true;
}

function isSecret(reader: LiteralReader, place: Place | undefined): boolean {
  const description = place && objectAt(reader, place);
  const secret = description && reader.getProperty(description, "secret");
  if (secret === undefined || "unknown" in secret) return false;
  const value = reader.read(secret);
  return value.kind === "known" && value.value === true;
}

/** The object that an expression is; of a variable's description none where a schema stands in its place. */
function objectAt(
  reader: LiteralReader,
  place: Place,
): Place & { readonly node: ts.ObjectLiteralExpression } | undefined {
  const lead = reader.follow(place);
  return lead.kind === "place" && ts.isObjectLiteralExpression(lead.node)
    ? { node: lead.node, bindings: lead.bindings }
    : undefined;
}

/** Schemas that take an unset variable: `z.string().optional()`, `v.optional(v.string())`. */
const OPTIONAL = new Set([
  "optional",
  "default",
  "_default",
  "nullish",
  "prefault",
  "catch",
  "exactOptional",
]);

function acceptsNothing(reader: LiteralReader, schema: Place): boolean {
  const lead = reader.follow(schema);
  let node: ts.Node | undefined = lead.kind === "place" ? lead.node : undefined;
  while (node !== undefined && ts.isCallExpression(node)) {
    const callee: ts.Expression = node.expression;
    const name = ts.isPropertyAccessExpression(callee)
      ? callee.name
      : ts.isIdentifier(callee)
      ? callee
      : undefined;
    if (name !== undefined && OPTIONAL.has(name.text)) return true;
    node = ts.isPropertyAccessExpression(callee) ? callee.expression : undefined;
  }
  return false;
}
