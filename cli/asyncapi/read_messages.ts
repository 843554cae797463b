import { createEvaluator } from "../analysis/evaluate.ts";
import { readHandlerDefinition } from "../analysis/handler_definition.ts";
import { Project } from "../analysis/project.ts";
import { Slicer } from "../analysis/schema_slice.ts";
import type { Slice, SliceUse, SourceLocation } from "../analysis/slice.ts";
import type { FunctionFile } from "../discovery/function_files.ts";
import { getSchema } from "../openapi/handler_schemas.ts";
import type { OpenApiFinding } from "../openapi/read_operations.ts";
import { type DeclaredJob, readJobs } from "./read_jobs.ts";

/** The kinds of functions that receive messages, with the functions that define them. */
const DEFINERS: Readonly<Record<string, string>> = {
  queue: "defineQueueHandler",
  topic: "defineTopicHandler",
  event: "defineEventHandler",
  stream: "defineStreamHandler",
  "table-stream": "defineTableStreamHandler",
  kafka: "defineKafkaHandler",
};

/** A function that receives messages, as described by its source file. */
export interface MessageReceiver extends SourceLocation {
  readonly fn: FunctionFile;
  /** The schema of the message; without it any message is accepted. */
  readonly schema?: SliceUse;
}

/** The receivers and the jobs of a project. */
export interface MessageReceivers {
  readonly receivers: readonly MessageReceiver[];
  readonly jobs: readonly DeclaredJob[];
  /** All schemas with everything needed to evaluate them. */
  readonly slice: Slice;
  readonly findings: readonly OpenApiFinding[];
}

/**
 * Reads the functions that receive messages of queues, topics, event buses and streams, and the jobs of all
 * functions. Static analysis only.
 */
export function readMessages(root: string, files: readonly FunctionFile[]): MessageReceivers {
  const project = new Project(root);
  const evaluator = createEvaluator(project);
  const slicer = new Slicer(project);
  const findings: OpenApiFinding[] = [];
  const receivers = files.filter(({ kind }) => Object.hasOwn(DEFINERS, kind)).flatMap((fn) => {
    const definition = readHandlerDefinition(project, evaluator, fn.file);
    for (const { node, message } of definition.unresolved) {
      findings.push({ ...project.getLocation(node), message });
    }
    // other handlers of a queue, such as a worker of jobs, have messages of their own
    if (definition.definer !== DEFINERS[fn.kind]) return [];
    const expression = getSchema(definition, evaluator, "schema");
    const schema = expression && slicer.add(expression);
    return [{ fn, ...project.getLocation(definition.node), schema }];
  });
  const jobs = readJobs(
    { project, evaluator, slicer, findings },
    files.map(({ file }) => file),
  );
  return { receivers, jobs, slice: slicer.finish(), findings };
}
