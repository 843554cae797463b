import type { Collection } from "./collect.ts";
import { BUCKET_ACCESSES, type BucketAccess, type JobNeed, LOAD } from "./effects.ts";
import type { Evaluator, ScopedExpression, ScopedObject } from "./values.ts";
import { asObject, findProperty, getNames, getProperty, readProperty } from "./object_literals.ts";
import { reach } from "./reach.ts";
import type { EffectByKind, Reached } from "./reached.ts";
import type { SourceModule } from "./source_module.ts";
import { ts } from "./typescript.ts";

/** An environment variable that a function reads. */
export interface EnvironmentVariable {
  readonly name: string;
  /** True if the function fails without it. */
  readonly isRequired: boolean;
  /** True if `defineEnv` or `secret` declares it as a secret. */
  readonly isSecret: boolean;
  /** True if it is only read by `secret`, which reads the variable's source by itself. */
  readonly isLoaded: boolean;
  /**
   * What happens to the bucket that the variable names. Omitted if the variable is also read outside of `defineUpload`:
   * then it is not known.
   */
  readonly bucketUses?: readonly BucketUse[];
}

/** Accesses to the objects of a bucket whose keys begin with a prefix. */
export interface BucketUse {
  readonly prefix: string;
  readonly access: readonly BucketAccess[];
}

/**
 * The environment variables and the database use of a function, over all code that it can reach.
 */
export interface FunctionEnvironment {
  /** Sorted by name. */
  readonly variables: readonly EnvironmentVariable[];
  /** True if the function connects to the database and therefore needs a role. */
  readonly usesDatabase: boolean;
  /** Uses of the table of jobs. */
  readonly jobs: ReadonlySet<JobNeed>;
  /** True if the function sends mails through Amazon SES. */
  readonly sendsBySes: boolean;
  /** True if the function calls `loadSources`. */
  readonly loadsSources: boolean;
  readonly unresolved: readonly Omit<EffectByKind<"unresolved">, "kind">[];
}

/**
 * Finds the environment variables that a function reads with `getRequiredEnv`, `getOptionalEnv`,
 * `secret`, `defineEnv` and `process.env.NAME` in the code that it can reach.
 *
 * @param module The function's file, which exports a `handler`.
 * @returns The variables and the database use.
 */
export function readEnvironment(
  collection: Collection,
  evaluator: Evaluator,
  module: SourceModule,
): FunctionEnvironment {
  const handler = collection.exportUnit(module, "handler");
  const roots = [
    collection.units.get(module.source, [LOAD]).unit,
    ...handler === undefined ? [] : [handler],
  ];
  const reached = reach(collection, evaluator, roots);
  const unresolved: Omit<EffectByKind<"unresolved">, "kind">[] = reached.list("unresolved")
    .filter(({ subject }) => subject !== "grants");
  const found = new Map<string, EnvironmentVariable>();
  function add(variable: EnvironmentVariable): void {
    const other = found.get(variable.name);
    found.set(variable.name, {
      name: variable.name,
      isRequired: variable.isRequired || other?.isRequired === true,
      isSecret: variable.isSecret || other?.isSecret === true,
      isLoaded: variable.isLoaded && other?.isLoaded !== false,
    });
  }
  for (const { name, isRequired, isLoaded = false } of reached.list("env")) {
    add({ name, isRequired, isSecret: isLoaded, isLoaded });
  }
  for (const { definition } of reached.list("env-definition")) {
    const defined = readDefinition(evaluator, definition);
    if ("unknown" in defined) {
      const message = "the names in defineEnv cannot be determined statically";
      unresolved.push({ node: defined.unknown, message, subject: "environment" });
    } else defined.variables.forEach(add);
  }
  for (const [name, variable] of found) {
    const bucketUses = findBucketUses(reached, name);
    if (bucketUses !== undefined) found.set(name, { ...variable, bucketUses });
  }
  return {
    variables: [...found.values()].sort((a, b) => a.name < b.name ? -1 : 1),
    usesDatabase: reached.usesDatabase(),
    jobs: new Set(reached.list("jobs").map(({ need }) => need)),
    sendsBySes: reached.has("ses"),
    loadsSources: reached.has("env-sources"),
    unresolved,
  };
}

/** Finds the uses of a bucket by uploads whose option `bucket` is the only code that reads its variable. */
function findBucketUses(reached: Reached, name: string): BucketUse[] | undefined {
  const uploads = reached.list("upload");
  const uses = new Map<string, Set<BucketAccess>>();
  for (const read of reached.list("env")) {
    if (read.name !== name) continue;
    const around = uploads.filter(({ node }) => contains(node, read.node));
    if (around.length === 0) return undefined;
    for (const { prefix, access } of around) {
      uses.set(prefix, new Set([...uses.get(prefix) ?? [], ...access]));
    }
  }
  if (uses.size === 0) return undefined;
  return [...uses].sort(([a], [b]) => a < b ? -1 : 1).map(([prefix, access]) => ({
    prefix,
    access: BUCKET_ACCESSES.filter((each) => access.has(each)),
  }));
}

function contains(outer: ts.Node, inner: ts.Node): boolean {
  return outer.getSourceFile() === inner.getSourceFile() && outer.pos <= inner.pos &&
    inner.end <= outer.end;
}

/** Reads the variables of a `defineEnv({ … })`, or returns the part that cannot be determined. */
function readDefinition(
  evaluator: Evaluator,
  definition: ts.Expression,
): { readonly variables: readonly EnvironmentVariable[] } | { readonly unknown: ts.Node } {
  const found = getNames(evaluator, { node: definition });
  if ("unknown" in found) return found;
  const object = readObject(evaluator, { node: definition });
  const variables = found.names.map((name): EnvironmentVariable => {
    const expression = object && findProperty(evaluator, object, name);
    return {
      name,
      isRequired: expression === undefined || isRequired(evaluator, expression),
      isSecret: isSecret(evaluator, expression),
      isLoaded: false,
    };
  });
  return { variables };
}

function isRequired(evaluator: Evaluator, expression: ScopedExpression): boolean {
  const description = readObject(evaluator, expression);
  if (description === undefined) return !acceptsNothing(evaluator, expression);
  const schema = findProperty(evaluator, description, "schema");
  if (schema !== undefined && acceptsNothing(evaluator, schema)) return false;
  if (getProperty(evaluator, description, "default") !== undefined) return false;
  const optional = readProperty(evaluator, description, "optional");
  return optional?.kind !== "known" || optional.value !== true;
}

function isSecret(evaluator: Evaluator, expression: ScopedExpression | undefined): boolean {
  const description = expression && readObject(evaluator, expression);
  const secret = description && readProperty(evaluator, description, "secret");
  return secret?.kind === "known" && secret.value === true;
}

/** Returns the object literal of an expression; `undefined` for a description that contains a schema. */
function readObject(
  evaluator: Evaluator,
  { node, bindings }: ScopedExpression,
): ScopedObject | undefined {
  return asObject(evaluator.evaluate(node, bindings));
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

function acceptsNothing(evaluator: Evaluator, schema: ScopedExpression): boolean {
  const value = evaluator.evaluate(schema.node, schema.bindings);
  let node: ts.Node | undefined = value.kind === "expression" ? value.node : undefined;
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
