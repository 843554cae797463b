import { listLoadedModules } from "../analysis/loaded_modules.ts";
import { asObject, findProperty } from "../analysis/object_literals.ts";
import type { Project } from "../analysis/project.ts";
import type { Slicer } from "../analysis/schema_slice.ts";
import type { SliceUse, SourceLocation } from "../analysis/slice.ts";
import { ts, unwrap } from "../analysis/typescript.ts";
import { type Evaluator, isTrellis } from "../analysis/values.ts";
import type { OpenApiFinding } from "../openapi/read_operations.ts";

/** A job, as described by its declaration. */
export interface DeclaredJob extends SourceLocation {
  readonly name: string;
  /** The schema of the payload. */
  readonly schema?: SliceUse;
  /** True if code of the project enqueues the job. */
  readonly isEnqueued: boolean;
}

/** The sources of a project, with what reads them. */
export interface JobSources {
  readonly project: Project;
  readonly evaluator: Evaluator;
  /** Takes the schemas of the jobs. */
  readonly slicer: Slicer;
  /** Takes errors. */
  readonly findings: OpenApiFinding[];
}

/**
 * Reads the jobs that functions declare or import, and whether the same code enqueues them. Static analysis only.
 *
 * @param files Absolute paths of the functions.
 * @returns The jobs by name, in alphabetical order.
 */
export function readJobs(sources: JobSources, files: readonly string[]): DeclaredJob[] {
  const calls = listLoadedModules(sources.project, files).flatMap(({ source }) =>
    listCalls(source)
  );
  const enqueued = new Set(calls.map((call) => findEnqueued(sources.evaluator, call)));
  const jobs = calls.filter((call) => isDeclaration(sources.evaluator, call))
    .flatMap((call) => readJob(sources, call, enqueued.has(call)))
    .sort((one, other) => one.name < other.name ? -1 : 1);
  jobs.forEach(({ name, file, line }, index) => {
    if (name !== jobs[index - 1]?.name) return;
    sources.findings.push({ file, line, message: `another job has the name ${name} too` });
  });
  return jobs;
}

function listCalls(source: ts.SourceFile): ts.CallExpression[] {
  const calls: ts.CallExpression[] = [];
  function visit(node: ts.Node): void {
    if (ts.isCallExpression(node)) calls.push(node);
    ts.forEachChild(node, visit);
  }
  visit(source);
  return calls;
}

/** Checks for `defineJob({ … })(…)`. */
function isDeclaration(evaluator: Evaluator, { expression }: ts.CallExpression): boolean {
  const definition = unwrap(expression);
  if (!ts.isCallExpression(definition)) return false;
  const value = evaluator.evaluate(definition.expression);
  return value.kind === "package" && isTrellis(value.module) && value.name === "defineJob";
}

/** Returns the declaration of the job that a call such as `sendMail.enqueue(…)` enqueues. */
function findEnqueued(evaluator: Evaluator, call: ts.CallExpression): ts.Node | undefined {
  const callee = unwrap(call.expression);
  if (!ts.isPropertyAccessExpression(callee)) return undefined;
  if (!["enqueue", "enqueueMany"].includes(callee.name.text)) return undefined;
  const job = evaluator.evaluate(callee.expression);
  return job.kind === "expression" ? job.node : undefined;
}

function readJob(
  { project, evaluator, slicer, findings }: JobSources,
  call: ts.CallExpression,
  isEnqueued: boolean,
): DeclaredJob[] {
  const place = project.getLocation(call);
  const [given] = (unwrap(call.expression) as ts.CallExpression).arguments;
  const options = given && asObject(evaluator.evaluate(given));
  const name = options && findProperty(evaluator, options, "name");
  const text = name && evaluator.readText(name.node, name.bindings);
  if (!text) {
    findings.push({
      ...place,
      message: "the name of the job cannot be determined statically: write a literal",
    });
    return [];
  }
  const schema = options && findProperty(evaluator, options, "schema");
  return [{ ...place, name: text, schema: schema && slicer.add(schema.node), isEnqueued }];
}
