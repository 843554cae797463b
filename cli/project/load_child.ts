/**
 * The process that loads the functions of a project: without credentials, and without the network.
 *
 * @module
 */
import type { CallExpression } from "acorn";
import { readFileSync, writeFileSync } from "node:fs";
import { Socket } from "node:net";
import { basename, dirname, join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { checkAuthOptions } from "../../auth/config/check_auth_options.ts";
import type { AuthConfig } from "../../auth/config/config.ts";
import { isAppError } from "../../errors/app_error.ts";
import { type Definition, RECORDER, type Recorder } from "../../env/recording.ts";
import { type AnyNode, isCallee, parseSyntax, visitNodes } from "../sources/syntax.ts";
import { listOwnModules } from "../sources/own_modules.ts";
import { importFile } from "../discovery/import_file.ts";
import { toPortablePath } from "../files/inside_folder.ts";
import { type BundleSyntax, readBundleSyntax } from "./bundle_syntax.ts";
import { createEvaluate } from "./evaluate_node.ts";
import type {
  FactMerger,
  FactReader,
  LoadedFunction,
  PlacedDefinition,
} from "./loaded_function.ts";
import {
  BEGIN,
  END,
  type LoadError,
  type LoadJob,
  type LoadRequest,
  type LoadResult,
  OUT,
} from "./load_protocol.ts";
import { ADDED_LINES, EVALUATE, RUN, toRepeatableModule } from "./repeatable_module.ts";
import { type Place, SourceMap } from "../sources/source_positions.ts";
import { createStandIn, nameStandIns } from "./stand_ins.ts";

/** How one evaluation of a function sees variables that are not set. */
interface Environment {
  /** Part of the stand-ins of required variables. */
  readonly label: string;
  /** The optional variables that have a stand-in too: all, or one. */
  readonly optional?: true | string;
  /** The only required variable with the label; others have that of the first evaluation. */
  readonly only?: string;
}

const FIRST: Environment = { label: "a" };

interface Loading {
  readonly definitions: { definition: Definition; stack: readonly NodeJS.CallSite[] }[];
  /** Variables that are read and not set. */
  readonly required: Set<string>;
  readonly optional: Set<string>;
  readonly environment: Environment;
}

function begin(environment: Environment): Loading {
  return { definitions: [], required: new Set(), optional: new Set(), environment };
}

/** The path of this module, and of the folder whose functions read variables. */
const OWN_FILE = toPath(import.meta.url);
const ENV_FOLDER = toPath(new URL("../../env/", import.meta.url).href)!;

/** Functions with the configuration of accounts, whose options a function itself checks only in part. */
const CONFIGURES_AUTH = /^(?:defineAuth|configureSessionAuth)$/;

const NOTHING = begin(FIRST);
let loading: Loading | undefined;

const recorder: Recorder = {
  add(definition): void {
    if (CONFIGURES_AUTH.test(definition.name)) checkAuthOptions(definition.args[1] as AuthConfig);
    loading?.definitions.push({ definition, stack: captureStack() });
  },
  getStandIn: fill,
};

function fill(variable: string, isRequired: boolean): string | undefined {
  const { environment, required, optional } = loading ?? NOTHING;
  // what the package itself reads is the same for each function
  if (!isRequired && !isReadByProject()) return undefined;
  (isRequired ? required : optional).add(variable);
  if (!isRequired) {
    const isFilled = environment.optional === true || environment.optional === variable;
    return isFilled ? createStandIn("a", variable) : undefined;
  }
  const isOther = environment.only === undefined || environment.only === variable;
  return createStandIn(isOther ? environment.label : "a", variable);
}

/** Returns true if code of a bundle reads a variable: the first that is not of the folder `env`. */
function isReadByProject(): boolean {
  const files = captureStack().map((site) => toPath(site.getFileName()));
  const reader = files.slice(1).find((file) =>
    file !== undefined && file !== OWN_FILE && !file.startsWith(ENV_FOLDER)
  );
  return reader !== undefined && /[\\/]\.trellis[\\/]record-/.test(reader);
}

function captureStack(): readonly NodeJS.CallSite[] {
  const { prepareStackTrace, stackTraceLimit } = Error;
  Error.stackTraceLimit = 60;
  Error.prepareStackTrace = (_, sites) => sites;
  const { stack }: { stack?: unknown } = new Error();
  Object.assign(Error, { prepareStackTrace, stackTraceLimit });
  return stack as readonly NodeJS.CallSite[];
}

/** `process.env` of the project. A `Proxy`, because any variable may be read, and each is noted. */
const projectEnvironment = new Proxy(process.env, {
  get(target, name) {
    const value = target[name as string];
    return value !== undefined || typeof name !== "string" ? value : fill(name, false);
  },
});

function refuseNetwork(): void {
  function refuse(): never {
    throw new Error("The network is closed while functions are loaded: connect in a function");
  }
  Socket.prototype.connect = refuse;
  globalThis.fetch = () =>
    Promise.reject(new Error("The network is closed while functions are loaded"));
}

/** Imports a bundle once more and reads its facts. */
async function evaluateOnce(
  job: LoadJob,
  request: LoadRequest,
  readers: readonly Reader[],
  environment: Environment,
): Promise<Evaluation> {
  const bundle = readBundle(job, request.root);
  const own = loading = begin(environment);
  bundle.imported ??= importFile(bundle.path);
  const { [RUN]: run, ...reexported } = await bundle.imported;
  const module = { ...reexported, ...await run() };
  const fn = createFunction(job, request, module, own);
  const facts: unknown[] = [];
  for (const { read } of readers) facts.push(await read(fn));
  return {
    facts: JSON.parse(nameStandIns(JSON.stringify(facts))),
    required: [...own.required],
    optional: [...own.optional],
  };
}

/** Finds the sources of a bundle; esbuild writes them relative to the folder of outputs. */
function createFindPlace(map: string, root: string): FindPlace {
  const sources = new SourceMap(map, join(root, OUT), root);
  return (line, column) => {
    const found = sources.find(line, column);
    return found && { file: found.file, line: found.line };
  };
}

type FindPlace = (line: number, column: number) => Place | undefined;

interface Bundle {
  readonly text: string;
  /** Absolute path of the module that runs the bundle. */
  readonly path: string;
  readonly findPlace: FindPlace;
  /** The positions of the lines. */
  readonly starts: readonly number[];
  readonly syntax: BundleSyntax;
  imported?: Promise<Record<string, unknown> & { readonly [RUN]: () => Promise<object> }>;
}

/** The last bundle, which runs several times. */
let lastBundle: { readonly job: LoadJob; readonly bundle: Bundle } | undefined;

function readBundle(job: LoadJob, root: string): Bundle {
  if (lastBundle?.job === job) return lastBundle.bundle;
  const text = readFileSync(job.path, "utf8");
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  const { program } = parseSyntax(text);
  const path = job.path.replace(/\.mjs$/, "_run.mjs");
  writeFileSync(path, toRepeatableModule(text, program));
  const syntax = readBundleSyntax(program, (specifier) => ownModules.get(specifier));
  const bundle = { text, path, findPlace: createFindPlace(job.map, root), starts, syntax };
  lastBundle = { job, bundle };
  return bundle;
}

const ownModules = listOwnModules();

function createFunction(
  job: LoadJob,
  { root }: LoadRequest,
  module: Record<string, unknown>,
  { definitions: made }: Loading,
): LoadedFunction {
  const { name, file, runs } = job;
  const { text, path, starts, syntax, ...bundle } = readBundle(job, root);
  const own: Place = { file: toPortablePath(root, file), line: 1 };
  const findPlace = (line: number, column: number) => bundle.findPlace(line, column) ?? own;
  const definitions = made.map(({ definition, stack }): PlacedDefinition => {
    const site = stack.find((each) => toPath(each.getFileName()) === path);
    if (site === undefined) return { ...definition, place: own, position: undefined };
    const line = site.getLineNumber()! - 1 - ADDED_LINES;
    const column = site.getColumnNumber()! - 1;
    return { ...definition, place: findPlace(line, column), position: starts[line] + column };
  });
  const handlers = definitions.filter(({ name }) => HANDLER.test(name));
  const exact = handlers.findLast(({ value }) => value === module.handler);
  const { [EVALUATE]: evaluate, ...exports } = module as Record<string, unknown> & {
    readonly [EVALUATE]: (source: string) => unknown;
  };
  return {
    name,
    root,
    file: own.file,
    module: exports,
    definitions,
    handler: exact ?? (module.handler === undefined ? undefined : handlers.at(-1)),
    syntax,
    runs,
    list: (...names) => definitions.filter((definition) => names.includes(definition.name)),
    getPlace(node) {
      let line = starts.findLastIndex((start) => start <= node.start);
      if (line < 0) line = 0;
      return findPlace(line, node.start - starts[line]);
    },
    evaluate: createEvaluate(syntax, text, evaluate),
    execute: ({ start, end }) => evaluate(`(${text.slice(start, end)})`),
    findCall: ({ position }) => position === undefined ? undefined : findCall(syntax, position),
    evaluateName(name) {
      try {
        return evaluate(name);
      } catch {
        return undefined;
      }
    },
    findName({ position }) {
      if (position === undefined) return undefined;
      let found: [name: string, node: AnyNode] | undefined;
      for (const [declared, node] of syntax.declarations) {
        const isInside = node.start <= position && position < node.end;
        if (isInside && (found === undefined || node.start > found[1].start)) {
          found = [declared, node];
        }
      }
      return found?.[0];
    },
  };
}

/** Finds the call at a position, of which its result is called again. */
function findCall(syntax: BundleSyntax, position: number): CallExpression | undefined {
  let call: CallExpression | undefined;
  visitNodes(syntax.program, (node) => {
    if (node.start > position || node.end <= position) return false;
    if (node.type === "CallExpression") call = node;
  });
  while (call !== undefined) {
    const outer: AnyNode | undefined = syntax.getParent(call);
    if (!isCallee(call, outer)) return call;
    call = outer;
  }
  return undefined;
}

/** Returns the path of a file that a stack names as Node (a URL) or Deno (a path) does. */
function toPath(name: string | null | undefined): string | undefined {
  return name?.startsWith("file:") ? fileURLToPath(name.split("?")[0]) : name?.split("?")[0];
}

/** Functions of this package that make handlers. */
const HANDLER = /^(?:(?:define|create)\w*Handler|defineRouter)$/;

/** A module that reads facts. */
interface Reader {
  readonly read: FactReader<unknown>;
  readonly merge?: FactMerger<unknown>;
}

/** The facts of one evaluation, and the variables that were read and not set. */
interface Evaluation {
  readonly facts: readonly unknown[];
  readonly required: readonly string[];
  readonly optional: readonly string[];
}

/**
 * Loads a function, and again with other values of the variables that are not set. Required variables must not change
 * the facts. Optional ones may, if the reader can merge the facts.
 */
async function load(
  job: LoadJob,
  request: LoadRequest,
  readers: readonly Reader[],
): Promise<LoadResult> {
  const evaluate = (environment: Environment) => evaluateOnce(job, request, readers, environment);
  let base = FIRST;
  const first = await evaluate(base).catch((error) => {
    // an optional variable may have to be set: `new URL(process.env.ORIGIN!)`
    if (loading!.optional.size === 0) throw error;
    base = { ...FIRST, optional: true };
    return evaluate(base).catch(() => {
      throw error;
    });
  });
  let facts = first.facts;
  const warnings: LoadError[] = [];
  const isSame = (others: readonly unknown[]) => isDeepStrictEqual(others, facts);
  if (first.required.length > 0 && !isSame((await evaluate({ ...base, label: "b" })).facts)) {
    for (const only of first.required) {
      const { facts: others } = await evaluate({ ...base, label: "b", only });
      if (!isSame(others)) throw new Error(describeDecision(only));
    }
  }
  if (first.optional.length > 0 && base.optional === undefined) {
    const all = await evaluate({ ...base, optional: true }).catch(() => undefined);
    const names = [...new Set([...first.optional, ...all?.optional ?? []])];
    // a value that one variable refuses must not hide what another one changes
    for (const optional of all === undefined ? names : [true] as const) {
      const other = all ?? await evaluate({ ...base, optional }).catch((error) => {
        const { message, ...place } = describe(error, job, request);
        warnings.push({
          message:
            `${optional} is read when the module is loaded and may decide what the function uses, which is not ` +
            `known for all its values (${message}): read it in a function`,
          ...place,
        });
      });
      if (other === undefined || isSame(other.facts)) continue;
      facts = await Promise.all(facts.map(async (fact, at) => {
        if (isDeepStrictEqual(other.facts[at], fact)) return fact;
        const { merge } = readers[at];
        if (merge !== undefined) return merge(fact, other.facts[at]);
        throw new Error(describeDecision(await findDecision(names, at)));
      }));
    }
  }
  return { name: job.name, facts, ...warnings.length > 0 && { warnings } };

  /** Finds the optional variable that changes the facts of a reader. */
  async function findDecision(names: readonly string[], at: number): Promise<string> {
    for (const optional of names) {
      const other = await evaluate({ ...base, optional }).catch(() => undefined);
      if (other !== undefined && !isDeepStrictEqual(other.facts[at], first.facts[at])) {
        return optional;
      }
    }
    return names.join(", ");
  }
}

function describeDecision(variable: string): string {
  return `${variable} decides what the function uses: it is not the same for each value of the variable. ` +
    "Read the variable in a function, or give each case a function of its own";
}

/** Loads the functions of one request after the other, whose files the standard input names. */
async function main(): Promise<void> {
  // of promises that a module does not wait for, such as a query at its top level
  process.on("unhandledRejection", () => {});
  const write = process.stdout.write.bind(process.stdout);
  const print = (line: string) => new Promise<void>((done) => write(`${line}\n`, () => done()));
  const environment = { ...process.env };
  Object.assign(globalThis, { [RECORDER]: recorder, __trellisEnvironment: projectEnvironment });
  for await (const file of createInterface({ input: process.stdin })) {
    const request = JSON.parse(readFileSync(file, "utf8")) as LoadRequest;
    process.chdir(request.root);
    for (const name of Object.keys(process.env)) {
      if (!Object.hasOwn(environment, name)) delete process.env[name];
    }
    Object.assign(process.env, environment);
    await run(request, print);
    await print(END);
  }
  // timers and servers of modules must not keep the process
  process.exit(0);
}

async function run(
  request: LoadRequest,
  print: (line: string) => Promise<void>,
): Promise<void> {
  const readers: Reader[] = [];
  const library = new URL("../..", import.meta.url).href;
  for (const url of request.readers) {
    // a specifier that starts with a literal can be published
    readers.push(await import(`../../${url.slice(library.length)}`));
  }
  // functions of the package itself, before the environment changes
  process.stdout.write = () => true;
  for (const name of ["log", "info", "debug", "warn", "error"] as const) {
    // deno-lint-ignore no-console -- what modules print while they are loaded
    console[name] = () => {};
  }
  refuseNetwork();
  const results: LoadResult[] = [];
  for (const job of request.jobs) {
    await print(BEGIN + job.name);
    const result = await limit(load(job, request, readers), request.limitMs).catch((error) => ({
      name: job.name,
      error: describe(error, job, request),
    }));
    results.push(result);
  }
  loading = lastBundle = undefined;
  writeFileSync(request.resultFile, JSON.stringify(results));
}

/** Rejects if the modules of a function do not end in time. */
function limit<T>(work: Promise<T>, limitMs: number): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`the module did not end within ${limitMs / 1000} seconds`)),
      limitMs,
    );
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/** Describes an error with the place in the project's sources that its stack names. */
function describe(error: unknown, job: LoadJob, { root }: LoadRequest): LoadError {
  const text = nameStandIns(error instanceof Error ? error.message : String(error));
  // runtimes add the place of the bundle and advice about their own files
  const message = removeBundlePlace(text.split("\n")[0]);
  const stack = error instanceof Error ? error.stack ?? "" : "";
  const refusal = isAppError(error) ? { isInvalid: true } : {};
  const bundle = `${basename(dirname(job.path))}/${basename(job.path, ".mjs")}_run.mjs`;
  for (const line of stack.split("\n")) {
    const [, row, column] = line.includes(bundle) ? /:(\d+):(\d+)\)?$/.exec(line) ?? [] : [];
    if (row === undefined) continue;
    const findPlace = createFindPlace(job.map, root);
    const place = findPlace(Number(row) - 1 - ADDED_LINES, Number(column) - 1);
    if (place !== undefined) return { message, ...place, ...refusal };
  }
  return { message, file: toPortablePath(root, job.file), line: 1, ...refusal };
}

await main();

/** Removes the place of the bundle from the end of a message, which follows words such as `imported from`. */
function removeBundlePlace(message: string): string {
  const before = message.slice(0, Math.max(0, message.search(/[\\/]\.trellis[\\/]/)));
  const start = Math.max(
    ...[" at ", " imported from ", " and not in import map from "].map((words) =>
      before.lastIndexOf(words)
    ),
  );
  return start < 0 ? message : message.slice(0, start);
}
