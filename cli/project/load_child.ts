/**
 * The process that loads the functions of a project: without credentials, and without the network.
 *
 * @module
 */
import { parse } from "acorn";
import { readFileSync, writeFileSync } from "node:fs";
import { Socket } from "node:net";
import { basename, dirname, resolve } from "node:path";
import process from "node:process";
import { fileURLToPath, pathToFileURL } from "node:url";
import { type Definition, RECORDER, type Recorder } from "../../env/recording.ts";
import { listOwnModules } from "../dev/own_modules.ts";
import { toPortablePath } from "../inside_folder.ts";
import { readBundleSyntax } from "./bundle_syntax.ts";
import { createEvaluate } from "./evaluate_node.ts";
import type { FactReader, LoadedFunction, PlacedDefinition } from "./loaded_function.ts";
import {
  type LoadError,
  type LoadJob,
  type LoadRequest,
  type LoadResult,
  OUT,
} from "./load_protocol.ts";
import type { AnyNode } from "./syntax_nodes.ts";
import { parseModule } from "./mark_definitions.ts";
import { type Place, SourceMap } from "./source_map.ts";
import { createStandIn, nameStandIns } from "./stand_ins.ts";

/** How one evaluation of a function sees variables that are not set. */
interface Environment {
  /** Part of the stand-ins. */
  readonly label: string;
  /** True if `process.env.NAME` of the project has a stand-in too. */
  readonly fillsDirect: boolean;
  /** The only variables with the label; others have that of the first evaluation. */
  readonly only?: string;
}

const FIRST: Environment = { label: "a", fillsDirect: false };

interface Loading {
  readonly definitions: { definition: Definition; stack: readonly NodeJS.CallSite[] }[];
  readonly variables: Set<string>;
  environment: Environment;
}

let loading: Loading | undefined;

const recorder: Recorder = {
  add(definition): void {
    loading?.definitions.push({ definition, stack: captureStack() });
  },
  getStandIn: (variable) => fill(variable, true)!,
};

function fill(variable: string, isRequired: boolean): string | undefined {
  if (loading === undefined) return isRequired ? createStandIn("a", variable) : undefined;
  const { environment, variables } = loading;
  variables.add(variable);
  if (!isRequired && !environment.fillsDirect) return undefined;
  const isOther = environment.only === undefined || environment.only === variable;
  return createStandIn(isOther ? environment.label : "a", variable);
}

function captureStack(): readonly NodeJS.CallSite[] {
  const { prepareStackTrace, stackTraceLimit } = Error;
  Error.stackTraceLimit = 60;
  Error.prepareStackTrace = (_, sites) => sites;
  const stack = new Error().stack as unknown as readonly NodeJS.CallSite[];
  Object.assign(Error, { prepareStackTrace, stackTraceLimit });
  return stack;
}

/** `process.env` of the project. */
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
  readers: readonly FactReader<unknown>[],
  environment: Environment,
): Promise<{ facts: string; variables: ReadonlySet<string> }> {
  const url = `${pathToFileURL(job.path).href}?${++evaluations}`;
  loading = { definitions: [], variables: new Set(), environment };
  const own = loading;
  const module = await import(url);
  const fn = createFunction(job, request, module, own);
  const facts: unknown[] = [];
  for (const read of readers) facts.push(await read(fn));
  return { facts: JSON.stringify(facts), variables: own.variables };
}

/** Reads the source map of a bundle; esbuild writes sources relative to the folder of outputs. */
function readMap(json: string, root: string): SourceMap {
  return new SourceMap(
    json,
    (source) => toPortablePath(root, resolve(root, OUT, decodeURI(source))),
  );
}

let evaluations = 0;
const ownModules = listOwnModules();

function createFunction(
  { name, file, map, path, runs }: LoadJob,
  { root }: LoadRequest,
  module: Record<string, unknown>,
  { definitions: made }: Loading,
): LoadedFunction {
  const text = readFileSync(path, "utf8");
  const sources = readMap(map, root);
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  const own: Place = { file: toPortablePath(root, file), line: 1 };
  const findPlace = (line: number, column: number) => sources.find(line, column) ?? own;
  const syntax = readBundleSyntax(
    parseModule(parse, text),
    ownModules,
  );
  const definitions = made.map(({ definition, stack }): PlacedDefinition => {
    const site = stack.find((each) => toPath(each.getFileName()) === path);
    if (site === undefined) return { ...definition, place: own, position: undefined };
    const line = site.getLineNumber()! - 1;
    const column = site.getColumnNumber()! - 1;
    return { ...definition, place: findPlace(line, column), position: starts[line] + column };
  });
  const handlers = definitions.filter(({ name }) => HANDLER.test(name));
  const exact = handlers.findLast(({ value }) => value === module.handler);
  const { __trellisEvaluate, ...exports } = module;
  return {
    name,
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
    evaluate: createEvaluate(syntax, text, __trellisEvaluate as (source: string) => unknown),
    execute(expression) {
      const source = typeof expression === "string"
        ? expression
        : text.slice(expression.start, expression.end);
      return (__trellisEvaluate as (source: string) => unknown)(`(${source})`);
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

/** Returns the path of a file that a stack names as Node (a URL) or Deno (a path) does. */
function toPath(name: string | null | undefined): string | undefined {
  return name?.startsWith("file:") ? fileURLToPath(name.split("?")[0]) : name?.split("?")[0];
}

/** Functions of this package that make handlers. */
const HANDLER = /^(?:(?:define|create)\w*Handler|defineRouter)$/;

/** Loads a function, and again with other stand-ins if variables are missing. */
async function load(
  job: LoadJob,
  request: LoadRequest,
  readers: readonly FactReader<unknown>[],
): Promise<LoadResult> {
  const evaluate = (environment: Environment) => evaluateOnce(job, request, readers, environment);
  let first = FIRST;
  const result = await evaluate(first).catch((error) => {
    // a variable that the project reads directly may have to be set
    if (loading!.variables.size === 0) throw error;
    first = { ...FIRST, fillsDirect: true };
    return evaluate(first);
  });
  const facts = nameStandIns(result.facts);
  if (result.variables.size > 0) {
    const second = { ...first, label: "b", fillsDirect: true };
    const other = await evaluate(second).catch(() => evaluate({ ...first, label: "b" }));
    if (nameStandIns(other.facts) !== facts) {
      for (const only of [...other.variables].sort()) {
        const alone = await evaluate({ ...second, only }).catch(() => undefined);
        if (alone !== undefined && nameStandIns(alone.facts) === facts) continue;
        throw new Error(
          `${only} decides what the function uses: it is not the same for each value of the variable. ` +
            "Read the variable in a function, or give each case a function of its own",
        );
      }
    }
  }
  return { name: job.name, facts: JSON.parse(facts) };
}

async function main(): Promise<void> {
  const request = JSON.parse(readFileSync(process.argv[2], "utf8")) as LoadRequest;
  const readers: FactReader<unknown>[] = [];
  for (const url of request.readers) readers.push((await import(url)).read);
  // functions of the package itself, before the environment changes
  const write = process.stdout.write.bind(process.stdout);
  process.stdout.write = () => true;
  for (const name of ["log", "info", "debug", "warn", "error"] as const) {
    // deno-lint-ignore no-console -- what modules print while they are loaded
    console[name] = () => {};
  }
  refuseNetwork();
  Object.assign(globalThis, { [RECORDER]: recorder, __trellisEnvironment: projectEnvironment });
  const results: LoadResult[] = [];
  for (const job of request.jobs) {
    await new Promise<void>((done) => write(`${job.name}\n`, () => done()));
    const result = await limit(load(job, request, readers), request.limitMs).catch((error) => ({
      name: job.name,
      error: describe(error, job, request),
    }));
    results.push(result);
  }
  loading = undefined;
  writeFileSync(request.resultFile, JSON.stringify(results));
  // timers and servers of modules must not keep the process
  process.exit(0);
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
  const message = nameStandIns(error instanceof Error ? error.message : String(error));
  const stack = error instanceof Error ? error.stack ?? "" : "";
  const bundle = basename(dirname(job.path)) + "/" + basename(job.path);
  for (const line of stack.split("\n")) {
    const [, row, column] = line.includes(bundle) ? /:(\d+):(\d+)\)?$/.exec(line) ?? [] : [];
    if (row === undefined) continue;
    const place = readMap(job.map, root).find(Number(row) - 1, Number(column) - 1);
    if (place !== undefined) return { message, ...place };
  }
  return { message, file: toPortablePath(root, job.file), line: 1 };
}

await main();
