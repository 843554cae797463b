import type { Identifier, Pattern } from "acorn";
import type { BundleSyntax, PackageUse } from "../project/bundle_syntax.ts";
import type { Problem } from "../project/findings.ts";
import type { LoadedFunction } from "../project/loaded_function.ts";
import { findDeclaration, listArguments } from "../project/declarations.ts";
import { type AnyNode, findProperty, getMemberName, isCallee } from "../sources/syntax.ts";
import { findStandIn } from "../project/stand_ins.ts";

/** An environment variable that a function reads. */
export interface EnvironmentVariable {
  readonly name: string;
  /** True if the function fails without it. */
  readonly isRequired: boolean;
  /** True if `defineEnv` or `secret` declares it as a secret. */
  readonly isSecret: boolean;
  /** True if it is only read by `secret`, which loads the value from the variable's source. */
  readonly isLoaded: boolean;
  /** True if `secret` declares that it can be any random text. */
  readonly isGenerated?: boolean;
  /**
   * What happens to the bucket that the variable names. Omitted if the variable is also read outside of `defineUpload`:
   * then it is not known.
   */
  readonly bucketUses?: readonly BucketUse[];
  /** The first file that reads it, relative to the project; omitted if this package reads it. */
  readonly file?: string;
}

/** What a function does with the objects of a bucket. */
export type BucketAccess = "list" | "read" | "write" | "delete";

/** Everything that a function can do with a bucket. */
export const BUCKET_ACCESSES: readonly BucketAccess[] = ["list", "read", "write", "delete"];

/** Accesses to the objects of a bucket whose keys begin with a prefix. */
export interface BucketUse {
  readonly prefix: string;
  readonly access: readonly BucketAccess[];
}

/** A place that reads a variable. */
export interface VariableRead extends Omit<EnvironmentVariable, "bucketUses" | "file"> {
  /** The code; `undefined` for variables that this package reads, and those of `defineEnv`. */
  readonly node?: AnyNode;
}

/** The reads of a function, and code whose variables are not known. */
export interface VariableReads {
  readonly reads: readonly VariableRead[];
  readonly unresolved: readonly Problem[];
}

const READERS: Readonly<Record<string, Omit<VariableRead, "name" | "node">>> = {
  getRequiredEnv: { isRequired: true, isSecret: false, isLoaded: false },
  getOptionalEnv: { isRequired: false, isSecret: false, isLoaded: false },
  secret: { isRequired: true, isSecret: true, isLoaded: true },
};

const OPTIONAL = READERS.getOptionalEnv;

/** Functions of this package that trust the CDN's secret. */
const ADDRESS_READERS: readonly string[] = ["createAuthHandler", "getClientAddress"];

/** The variable with the URL of the queue of jobs. */
export const JOBS_QUEUE_VARIABLE = "JOBS_QUEUE_URL";

/** The variable with the name of the configuration set of SES. */
export const CONFIGURATION_SET_VARIABLE = "MAIL_CONFIGURATION_SET";

/** Variables that functions of this package read unless an option gives the value. */
const DEFAULTS: Readonly<Record<string, VariableRead & { readonly option: string }>> = {
  createSqsDelivery: {
    ...READERS.getRequiredEnv,
    name: JOBS_QUEUE_VARIABLE,
    option: "queueUrl",
  },
  createSesTransport: {
    ...OPTIONAL,
    name: CONFIGURATION_SET_VARIABLE,
    option: "configurationSet",
  },
};

/**
 * Finds the environment variables that the code of a function reads.
 *
 * @param isRun Returns false for code that the function never runs.
 */
export function findVariableReads(
  fn: LoadedFunction,
  isRun: (node: AnyNode) => boolean,
): VariableReads {
  const reads: VariableRead[] = [];
  const unresolved: Problem[] = [];
  for (const use of fn.syntax.uses) {
    if (!isRun(use.node)) continue;
    if (Object.hasOwn(READERS, use.name)) addRead(use);
    else if (use.name === "defineEnv") addDefinition(use);
    else if (ADDRESS_READERS.includes(use.name)) {
      reads.push({ ...OPTIONAL, name: "ORIGIN_VERIFY_SECRET" });
    } else if (Object.hasOwn(DEFAULTS, use.name) && use.args !== undefined) {
      const { option, ...read } = DEFAULTS[use.name];
      if (findProperty(use.args[0], option) === undefined) reads.push(read);
    }
  }
  for (const { name, node } of findProcessReads(fn.syntax)) {
    if (isRun(node)) reads.push({ ...OPTIONAL, name, node });
  }
  return { reads, unresolved };

  function addRead({ name: reader, node, args }: PackageUse): void {
    if (args?.[0] === undefined) {
      if (fn.syntax.getParent(node)?.type === "ExportSpecifier") return;
      unresolved.push({
        place: fn.getPlace(node),
        message:
          `${reader} is passed as a value: the variables it reads cannot be determined statically`,
      });
      return;
    }
    const names = findNames(fn, args[0]);
    const isGenerated = reader === "secret" && findGenerate(args[1]);
    for (const name of names.names) {
      reads.push({ ...READERS[reader], name, node, ...isGenerated && { isGenerated } });
    }
    unresolved.push(...names.unresolved);
  }

  /** Returns the option `generate` of a secret. */
  function findGenerate(options: AnyNode | undefined): boolean {
    if (options === undefined) return false;
    const known = fn.evaluate(options);
    const { generate = false } = (known.isKnown ? known.value ?? {} : {}) as { generate?: unknown };
    if (known.isKnown && typeof generate === "boolean") return generate;
    unresolved.push({
      place: fn.getPlace(options),
      message: "the option generate of secret() must be a literal: true or false",
    });
    return false;
  }

  function addDefinition({ node, args }: PackageUse): void {
    // with a second argument, another source may be read
    if (args?.[0] === undefined || args[1] !== undefined) return;
    try {
      const definition = fn.execute(args[0]) as Record<string, unknown>;
      for (const [name, variable] of Object.entries(definition)) {
        reads.push({ ...describeVariable(variable), name });
      }
    } catch {
      const message = "the names in defineEnv cannot be determined statically";
      unresolved.push({ place: fn.getPlace(node), message });
    }
  }
}

interface Described {
  readonly schema?: unknown;
  readonly default?: unknown;
  readonly optional?: boolean;
  readonly secret?: boolean;
}

function describeVariable(variable: unknown): Omit<VariableRead, "name"> {
  const isSchema = typeof variable === "object" && variable !== null && "~standard" in variable;
  const given: Described = isSchema ? { schema: variable } : variable ?? {};
  const isRequired = given.default === undefined && given.optional !== true &&
    !acceptsNothing(given.schema);
  return { isRequired, isSecret: given.secret === true, isLoaded: false };
}

function acceptsNothing(schema: unknown): boolean {
  if (schema === undefined) return false;
  const { validate } = (schema as Record<
    "~standard",
    { validate: (value: unknown) => { issues?: unknown } }
  >)["~standard"];
  const result = validate(undefined);
  return !(result instanceof Promise) && result.issues === undefined;
}

/** Finds the values of an expression that names a variable, through the parameters of functions. */
function findNames(fn: LoadedFunction, root: AnyNode): {
  readonly names: ReadonlySet<string>;
  readonly unresolved: readonly Problem[];
} {
  const seen = new Set<AnyNode>();
  const names = new Set<string>();
  const unresolved: Problem[] = [];
  find(root);
  return { names, unresolved };

  function find(node: AnyNode): void {
    if (seen.has(node)) return;
    seen.add(node);
    const known = fn.evaluate(node);
    if (known.isKnown && typeof known.value === "string" && !findStandIn(known.value)) {
      names.add(known.value);
    } else if (node.type === "ConditionalExpression") {
      find(node.consequent);
      find(node.alternate);
    } else if (node.type === "Identifier" && findDeclared(node)) return;
    else refuse(node, "the name of an environment variable cannot be determined statically");
  }

  function refuse(node: AnyNode, message: string): void {
    unresolved.push({ place: fn.getPlace(node), message });
  }

  /** Follows a parameter or a constant of a function. */
  function findDeclared(node: Identifier): boolean {
    const found = findDeclaration(fn.syntax, node);
    if (found === undefined) return false;
    if (found.kind === "constant") {
      find(found.value);
      return true;
    }
    const given = listArguments(fn.syntax, found);
    const { pattern } = found;
    const { type } = pattern.type === "AssignmentPattern" ? pattern.left : pattern;
    if (given === undefined || type !== "Identifier") {
      refuse(
        pattern,
        "the value of this parameter cannot be determined statically, but the name of an environment variable depends on it",
      );
      return true;
    }
    given.forEach((each) => find(each));
    return true;
  }
}

/** Finds the members of `process.env` that the code of a project reads. */
export function findProcessReads(
  syntax: BundleSyntax,
): { readonly name: string; readonly node: AnyNode }[] {
  const found: { name: string; node: AnyNode }[] = [];
  const seen = new Set<AnyNode>();

  /** Follows the value of an expression: the environment, or an object with the environment as `env`. */
  function follow(node: AnyNode, isProcess: boolean): void {
    if (seen.has(node)) return;
    seen.add(node);
    const parent = syntax.getParent(node);
    switch (parent?.type) {
      case "MemberExpression": {
        const name = parent.object === node ? getMemberName(parent) : undefined;
        return name === undefined ? undefined : addMember(name, parent, isProcess);
      }
      case "ChainExpression":
        return follow(parent, isProcess);
      case "VariableDeclarator":
        return followPattern(parent.id, isProcess);
      case "AssignmentExpression":
        return parent.left === node ? undefined : followPattern(parent.left, isProcess);
      case "ArrowFunctionExpression": {
        const call = syntax.getParent(parent);
        if (parent.body === node && isCallee(parent, call)) follow(call, isProcess);
        return;
      }
      case "Property": {
        // Object.create(real, { env: { value: environment } })
        const outer = syntax.getParent(syntax.getParent(parent)!);
        const call = outer?.type === "Property"
          ? syntax.getParent(syntax.getParent(outer)!)
          : undefined;
        if (call?.type === "CallExpression" && getMemberName(outer!) === "env") {
          follow(call, true);
        }
      }
    }
  }

  function addMember(name: string, node: AnyNode, isProcess: boolean): void {
    if (!isProcess) found.push({ name, node });
    else if (name === "env") follow(node, false);
  }

  function followPattern(pattern: Pattern, isProcess: boolean): void {
    if (pattern.type === "Identifier") {
      for (const reference of syntax.listReferences(pattern.name)) follow(reference, isProcess);
    } else if (pattern.type === "ObjectPattern") {
      for (const property of pattern.properties) {
        const name = getMemberName(property);
        if (property.type !== "Property" || name === undefined) continue;
        if (!isProcess) found.push({ name, node: property });
        else if (name === "env") followPattern(property.value, false);
      }
    }
  }

  for (const reference of syntax.listReferences("__trellisEnvironment")) follow(reference, false);
  return found;
}
