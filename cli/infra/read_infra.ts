import type { CallExpression } from "acorn";
import { groupBy } from "../../core/lists/group_by.ts";
import { isDeepStrictEqual } from "node:util";
import type { AuthMethod } from "../../core/http/auth_method.ts";
import { parseRouteKey } from "../../router/route_key.ts";
import { findTableName } from "../grants/drizzle_values.ts";
import { type JobNeed, listJobUses } from "../grants/job_needs.ts";
import { findComputedImports } from "../grants/read_permissions.ts";
import type { TableName } from "../grants/table_name.ts";
import { nameRoute, type RouteFile } from "../discovery/route_files.ts";
import type { Problem } from "../project/findings.ts";
import type { LoadedFunction, PlacedDefinition } from "../project/loaded_function.ts";
import type { Place } from "../sources/source_positions.ts";
import { listDeciding, readsEnvironment } from "../project/environment_use.ts";
import { findStandIn } from "../project/stand_ins.ts";
import {
  type AnyNode,
  childrenOf,
  findProperty,
  getMemberName,
  isCallee,
  isFunction,
  visitNodes,
} from "../sources/syntax.ts";
import { findNodeUse, findUse } from "../project/value_uses.ts";
import { findAuthorizerReads } from "./authorizer_reads.ts";
import { type DatabaseClients, readDatabaseClients } from "./database_clients.ts";
import type { InfraFunction } from "./infra_plan.ts";
import {
  BUCKET_ACCESSES,
  type BucketAccess,
  type BucketUse,
  type EnvironmentVariable,
  findVariableReads,
  type VariableRead,
} from "./variable_reads.ts";

/** A value of the sources, which the environment must not decide. */
export interface SourceValue {
  readonly place: Place;
  /** Missing if the environment decides it. */
  readonly value?: unknown;
}

/** The definition of a handler. */
export interface HandlerFacts {
  /** The function of this package that creates the handler. */
  readonly definer?: string;
  readonly place: Place;
  /** Options that affect the infrastructure, by name. */
  readonly options: Readonly<Record<string, SourceValue>>;
  readonly isStreaming: boolean;
}

/** A route of a router. */
export interface RouteFacts extends HandlerFacts, Omit<RouteFile, "file" | "name"> {
  /** The route's name, which is unique in the project: `NotesApiNotesByNoteIdGet`. */
  readonly name: string;
}

/** What the infrastructure of a function depends on. */
export interface InfraFacts extends
  HandlerFacts,
  Pick<
    InfraFunction,
    "inputs" | "loadsSources" | "sendsBySes" | "takesFiles" | "variables"
  > {
  readonly routes: readonly RouteFacts[];
  /** The option `table`. */
  readonly table?: TableName;
  /** The export `infra`. */
  readonly resources?: SourceValue;
  /** Headers of API keys, of each configuration. */
  readonly apiKeyHeaders: readonly SourceValue[];
  readonly jobs: readonly JobNeed[];
  readonly database: DatabaseClients;
  /** Code whose variables are not known. */
  readonly unresolved: readonly Problem[];
  readonly errors: readonly Problem[];
}

/** Options of handlers that affect the infrastructure. */
const OPTIONS = [
  "timeout",
  "memorySize",
  "reservedConcurrency",
  "ephemeralStorage",
  "retryAttempts",
  "deadLetterQueue",
  "auth",
  "cors",
  "partialFailures",
  "ranges",
];

/** The index of the options, where they are not the first argument. */
const OPTIONS_INDEX: Readonly<Record<string, number>> = {
  createAuthCleanupHandler: 1,
  createAuthHandler: 1,
  defineRouter: 1,
};

/** Reads what the infrastructure of a function depends on. */
export function read(fn: LoadedFunction): InfraFacts {
  const mails = sendsMails(fn);
  const isRun = mails ? () => true : createTransportCheck(fn);
  const { reads, unresolved } = findVariableReads(fn, isRun);
  const { routes, errors } = readRoutes(fn);
  const options = getOptions(fn.handler);
  const table = findTableName(options.table);
  return {
    ...readHandler(fn, fn.handler),
    routes,
    takesFiles: options.bodyParser !== undefined,
    ...table && { table },
    ...fn.module.infra !== undefined && { resources: readResources(fn) },
    apiKeyHeaders: readApiKeyHeaders(fn),
    variables: joinReads(fn, reads),
    jobs: [...new Set(listJobUses(fn).map(({ need }) => need))],
    sendsBySes: fn.syntax.uses.some(({ name, node, args }) =>
      name === "createSesTransport" && args !== undefined &&
      (mails || findNodeUse(fn.syntax, fn.syntax.getParent(node)!) === "used")
    ),
    loadsSources: fn.syntax.uses.some(({ name }) => name === "loadSources"),
    ...(fn.handler === undefined || fn.handler.name === "defineAuthorizerHandler") && {
      inputs: findAuthorizerReads(fn),
    },
    database: readDatabaseClients(fn),
    unresolved: [...findComputedImports(fn), ...unresolved],
    errors: fn.module.handler === undefined
      ? [...errors, {
        place: { file: fn.file, line: 1 },
        message: "the file does not export a handler. Write export " +
          "const handler = defineApiHandler({ … })(…)",
      }]
      : errors,
  };
}

function getOptions(definition: PlacedDefinition | undefined): Readonly<Record<string, unknown>> {
  const options = definition?.args[OPTIONS_INDEX[definition.name] ?? 0];
  return typeof options === "object" && options !== null ? options as Record<string, unknown> : {};
}

function readHandler(fn: LoadedFunction, definition: PlacedDefinition | undefined): HandlerFacts {
  const given = getOptions(definition);
  const call = definition && fn.findCall(definition);
  const nodes = listOptionsNodes(fn, definition, call);
  const place = call === undefined ? definition?.place ?? findHandlerPlace(fn) : fn.getPlace(call);
  const options = OPTIONS.flatMap((name): [string, SourceValue][] => {
    const option = given[name];
    if (option === undefined) return [];
    const at = nodes.map((node) => findProperty(node, name)).find((each) => each !== undefined);
    const found = at === undefined ? place : fn.getPlace(at);
    // the result of a function such as createJwtAuth()
    if (name === "auth" && typeof option === "object" && option !== null) {
      return [[name, { place: found, value: (option as { mode?: unknown }).mode }]];
    }
    const deciding = nodes.flatMap((node) => listDeciding(fn.syntax, node, name));
    return [[name, toSourceValue(fn, option, found, deciding)]];
  });
  const wraps = fn.syntax.uses.some(({ name }) => name === "withObservability");
  const definer = definition?.name ?? (wraps ? "withObservability" : undefined);
  return {
    ...definer && { definer },
    place,
    options: Object.fromEntries(options),
    isStreaming: given.streaming !== undefined,
  };
}

/**
 * Lists the expressions that may be the options of a call, which may be curried: of the definer, or of the definers in a
 * wrapper of the project.
 */
function listOptionsNodes(
  fn: LoadedFunction,
  definition: PlacedDefinition | undefined,
  call: CallExpression | undefined,
): AnyNode[] {
  if (definition === undefined || call === undefined) return [];
  let innermost = call;
  while (innermost.callee.type === "CallExpression") innermost = innermost.callee;
  const found: AnyNode[] = [];
  const seen = new Set<AnyNode>();
  function visit(node: AnyNode): void {
    if (seen.has(node)) return;
    seen.add(node);
    if (node.type === "CallExpression") addOptions(node);
    const declaration = node.type === "Identifier"
      ? fn.syntax.declarations.get(node.name)
      : undefined;
    if (declaration !== undefined) visit(declaration);
    childrenOf(node).forEach(visit);
  }
  function addOptions({ callee, arguments: args }: CallExpression): void {
    if (fn.syntax.findExport(callee)?.name !== definition!.name) return;
    const options = args[OPTIONS_INDEX[definition!.name] ?? 0];
    if (options !== undefined) found.push(options);
  }
  addOptions(innermost);
  if (found.length === 0) visit(innermost.callee);
  return found;
}

function findHandlerPlace(fn: LoadedFunction): Place {
  const node = fn.syntax.declarations.get("handler");
  return node === undefined ? { file: fn.file, line: 1 } : fn.getPlace(node);
}

function toSourceValue(
  fn: LoadedFunction,
  value: unknown,
  place: Place,
  deciding: readonly AnyNode[],
): SourceValue {
  const isDecided = findStandIn(JSON.stringify(value) ?? "") !== undefined ||
    deciding.some((node) => readsEnvironment(fn.syntax, node));
  return isDecided ? { place } : { place, value };
}

function readResources(fn: LoadedFunction): SourceValue {
  const node = fn.syntax.declarations.get("infra");
  const place = node === undefined ? { file: fn.file, line: 1 } : fn.getPlace(node);
  return toSourceValue(fn, fn.module.infra, place, node === undefined ? [] : [node]);
}

function readRoutes(fn: LoadedFunction): { routes: RouteFacts[]; errors: Problem[] } {
  const routes: RouteFacts[] = [];
  const errors: Problem[] = [];
  if (fn.handler?.name !== "defineRouter") return { routes, errors };
  for (const [key, handler] of Object.entries(fn.handler.args[0] as object)) {
    const definition = fn.definitions.find(({ value }) => value === handler);
    const { method, path } = parseRouteKey(key);
    if (definition === undefined) {
      errors.push({
        place: fn.handler.place,
        message:
          `the definition of the handler of ${key} is not known. Write define…Handler({ … })(…)`,
      });
      continue;
    }
    routes.push({
      ...readHandler(fn, definition),
      method,
      path,
      name: `${fn.name}${nameRoute(method, path)}`,
    });
  }
  return { routes, errors };
}

function readApiKeyHeaders(fn: LoadedFunction): SourceValue[] {
  return fn.list("defineApiHandler").flatMap((definition): SourceValue[] => {
    const { auth } = getOptions(definition) as { auth?: AuthMethod | string };
    if (typeof auth !== "object" || auth.mode !== "api-key") return [];
    const nodes = listOptionsNodes(fn, definition, fn.findCall(definition));
    // the arguments of apiKey() of defineAuth
    const deciding = nodes.flatMap((node) => listDeciding(fn.syntax, node, "auth"))
      .flatMap((each) => each.type === "CallExpression" ? each.arguments : []);
    return [toSourceValue(fn, auth.apiKeyHeaders ?? [], definition.place, deciding)];
  });
}

/** Functions of this package whose arguments only code that sends mails calls. */
const TRANSPORT = ["configureMail", "createSesTransport", "createSmtpTransport"];

/** Checks whether a function sends the mails of the outbox: it runs the job of a mail. */
function sendsMails(fn: LoadedFunction): boolean {
  if (!fn.runs.jobs) return false;
  return fn.list("defineMail", "createAccountMails").some((definition) => {
    const member = definition.name === "defineMail" ? "job" : "jobs";
    return findUse(fn, definition, { member }) !== "unused";
  });
}

/** Creates the check for code that is not a function of the transport of mails. */
function createTransportCheck(fn: LoadedFunction): (node: AnyNode) => boolean {
  const skipped = new Set<AnyNode>();
  for (const { name, node, args = [] } of fn.syntax.uses) {
    if (!TRANSPORT.includes(name)) continue;
    if (name === "createSesTransport") skipped.add(node);
    for (const argument of args) {
      visitNodes(argument, (each) => {
        // the arrow function around a definition is called at once
        if (isFunction(each) && !isCallee(each, fn.syntax.getParent(each))) skipped.add(each);
      });
    }
  }
  return (node) => {
    for (let at: AnyNode | undefined = node; at !== undefined; at = fn.syntax.getParent(at)) {
      if (skipped.has(at)) return false;
    }
    return true;
  };
}

/** Joins the reads of each variable, with the uses of the buckets that they name. */
function joinReads(fn: LoadedFunction, reads: readonly VariableRead[]): EnvironmentVariable[] {
  const uploads = listUploads(fn);
  return [...groupBy(reads, ({ name }) => name)].map(([name, all]): EnvironmentVariable => {
    const bucketUses = findBucketUses(uploads, all);
    const node = all.find((read) => read.node !== undefined)?.node;
    return {
      name,
      isRequired: all.some(({ isRequired }) => isRequired),
      isSecret: all.some(({ isSecret }) => isSecret),
      isLoaded: all.every(({ isLoaded }) => isLoaded),
      ...all.some(({ isGenerated }) => isGenerated) && { isGenerated: true },
      ...bucketUses && { bucketUses },
      ...node && { file: fn.getPlace(node).file },
    };
  }).sort((a, b) => a.name < b.name ? -1 : 1);
}

interface Upload {
  /** The call. */
  readonly node: AnyNode;
  readonly prefix: string;
  /** Missing if it is not known. */
  readonly access?: readonly BucketAccess[];
}

const MEMBERS: Readonly<Record<string, BucketAccess>> = {
  createForm: "write",
  createUrl: "write",
  createDownloadUrl: "read",
};

function listUploads(fn: LoadedFunction): Upload[] {
  return fn.list("defineUpload").flatMap((definition): Upload[] => {
    const node = fn.findCall(definition);
    if (node === undefined) return [];
    const { prefix } = definition.args[0] as { prefix: string };
    const isHarmless = (_: AnyNode, parent: AnyNode) => isHandlerOption(fn, parent);
    const handlers = fn.list("defineUploadHandler").map(({ args: [options] }) =>
      options as { upload: unknown; onRejected?: unknown }
    ).filter(({ upload }) => upload === definition.value);
    const mayUse = (member: string) => findUse(fn, definition, { member, isHarmless });
    const members = [...Object.keys(MEMBERS), "getBucket"];
    const isKnown = members.every((member) => mayUse(member) !== "handed on") &&
      mayUse("getBucket") === "unused";
    if (!isKnown) return [{ node, prefix: `${prefix}/` }];
    // without `list`, S3 answers 403 in place of 404, which the handler relies on
    const access = new Set<BucketAccess>([
      ...Object.keys(MEMBERS).filter((member) => mayUse(member) === "used").map((member) =>
        MEMBERS[member]
      ),
      ...handlers.length > 0 ? ["list", "read"] as const : [],
      ...handlers.some(({ onRejected }) => onRejected !== "keep") ? ["delete"] as const : [],
    ]);
    return [{ node, prefix: `${prefix}/`, access: [...access] }];
  });
}

/** Checks for the option `upload` of `defineUploadHandler`. */
function isHandlerOption(fn: LoadedFunction, property: AnyNode): boolean {
  if (property.type !== "Property" || getMemberName(property) !== "upload") return false;
  const call = fn.syntax.getParent(fn.syntax.getParent(property)!);
  return call?.type === "CallExpression" &&
    fn.syntax.findExport(call.callee)?.name === "defineUploadHandler";
}

/** Finds the uses of a bucket by uploads whose options are the only code that reads its variable. */
function findBucketUses(
  uploads: readonly Upload[],
  reads: readonly VariableRead[],
): BucketUse[] | undefined {
  const uses = new Map<string, Set<BucketAccess>>();
  for (const { node } of reads) {
    const around = uploads.filter((upload) =>
      node !== undefined && upload.node.start <= node.start && node.end <= upload.node.end
    );
    if (around.length === 0) return undefined;
    for (const { prefix, access } of around) {
      if (access === undefined) return undefined;
      uses.set(prefix, new Set([...uses.get(prefix) ?? [], ...access]));
    }
  }
  return [...uses].sort(([a], [b]) => a < b ? -1 : 1).map(([prefix, access]) => ({
    prefix,
    access: BUCKET_ACCESSES.filter((each) => access.has(each)),
  }));
}

/** Merges the facts without and with optional environment variables, which must not decide the values. */
export function merge(facts: InfraFacts, others: InfraFacts): InfraFacts {
  return {
    ...facts,
    ...mergeHandlers(facts, others),
    routes: facts.routes.map((route, at) =>
      others.routes[at] === undefined
        ? route
        : { ...route, ...mergeHandlers(route, others.routes[at]) }
    ),
    resources: facts.resources && mergeValues(facts.resources, others.resources),
    apiKeyHeaders: facts.apiKeyHeaders.map((value, at) =>
      mergeValues(value, others.apiKeyHeaders[at])
    ),
    jobs: [...new Set([...facts.jobs, ...others.jobs])],
    sendsBySes: facts.sendsBySes || others.sendsBySes,
    takesFiles: facts.takesFiles || others.takesFiles,
    errors: [...facts.errors, ...others.errors],
  };
}

function mergeHandlers(facts: HandlerFacts, others: HandlerFacts): HandlerFacts {
  const names = new Set([...Object.keys(facts.options), ...Object.keys(others.options)]);
  const options = [...names].map((name) => {
    const given = facts.options[name];
    const other = others.options[name];
    return [name, given === undefined ? { place: other.place } : mergeValues(given, other)];
  });
  return {
    ...facts,
    options: Object.fromEntries(options),
    isStreaming: facts.isStreaming || others.isStreaming,
  };
}

function mergeValues(given: SourceValue, other: SourceValue | undefined): SourceValue {
  return isDeepStrictEqual(given.value, other?.value) ? given : { place: given.place };
}
