import type { InfraSettings } from "../config/infra.ts";
import type { QueueInfra } from "../config/named_resources.ts";
import { groupBy } from "../../core/lists/group_by.ts";
import type { InfraFunction, Problem } from "./infra_plan.ts";
import { getResource, getTimeoutSeconds } from "./resources.ts";

/** Maximum length of a function name including its prefix (Lambda, CreateFunction). */
const MAX_FUNCTION_NAME = 64;
/** Maximum length of a bucket name (S3, bucket naming rules). */
const MAX_BUCKET_NAME = 63;
const USUAL_STAGE = "staging";

/**
 * Checks for errors that AWS would only report during apply: names that are too long, overlapping
 * notifications of a bucket.
 *
 * @param projectName Prefix of all names.
 */
export function checkLimits(
  functions: readonly InfraFunction[],
  projectName: string,
  { bucketPrefix, stages = {} }: Pick<InfraSettings, "bucketPrefix" | "stages">,
): Problem[] {
  const errors: Problem[] = [];
  const longestStage = Object.keys(stages).reduce(
    (longest, name) => name.length > longest.length ? name : longest,
    USUAL_STAGE,
  );
  for (const fn of functions) {
    const whole = `${projectName}-${longestStage}-${fn.name}`;
    if (whole.length > MAX_FUNCTION_NAME) {
      errors.push({
        functionName: fn.name,
        message: `${whole} has ${whole.length} characters, but a function ` +
          `name may have at most ${MAX_FUNCTION_NAME}: ` +
          "set functionNames in trellis.config.ts, rename the file, or shorten infra.projectName",
      });
    }
  }
  const withBucket = functions.filter(({ kind }) => kind === "storage");
  for (const [bucket, all] of groupBy(withBucket, (fn) => getResource(fn)!)) {
    for (const [first, second] of findOverlaps(all)) {
      errors.push({
        functionName: second.name,
        message: `${first.name} and ${second.name} have overlapping ` +
          `notifications for the bucket ${bucket}, which S3 ` +
          "rejects: set distinct prefixes or suffixes in " +
          "infra.functions, or use a different bucket for one of them",
      });
    }
    const whole = [bucketPrefix, projectName, longestStage, bucket].filter(Boolean).join("-");
    if (whole.length > MAX_BUCKET_NAME) {
      errors.push({
        functionName: all[0].name,
        message: `${whole} has ${whole.length} characters, but a bucket ` +
          `name may have at most ${MAX_BUCKET_NAME}: ` +
          `set infra.functions.${all[0].name}.bucket to a shorter name`,
      });
    }
  }
  return errors;
}

/** Finds functions of one bucket with overlapping notifications, which S3 rejects. */
function findOverlaps(functions: readonly InfraFunction[]): [InfraFunction, InfraFunction][] {
  return functions.flatMap((first, index) =>
    functions.slice(index + 1).filter((second) => overlap(first, second))
      .map((second): [InfraFunction, InfraFunction] => [first, second])
  );
}

function overlap({ settings: a }: InfraFunction, { settings: b }: InfraFunction): boolean {
  const shareEvents = getEvents(a).some((one) =>
    getEvents(b).some((other) => covers(one, other) || covers(other, one))
  );
  const { prefix: pa = "", suffix: sa = "" } = a;
  const { prefix: pb = "", suffix: sb = "" } = b;
  return shareEvents && (pa.startsWith(pb) || pb.startsWith(pa)) &&
    (sa.endsWith(sb) || sb.endsWith(sa));
}

function getEvents(
  { events = ["s3:ObjectCreated:*"] }: InfraFunction["settings"],
): readonly string[] {
  return events;
}

function covers(pattern: string, event: string): boolean {
  return pattern === event || pattern.endsWith("*") && event.startsWith(pattern.slice(0, -1));
}

/** Maximum size of a batch of a FIFO queue (Lambda, CreateEventSourceMapping). */
const MAX_FIFO_BATCH = 10;

/**
 * Checks for errors of the consumers of queues that AWS would only report during apply, and for two
 * consumers of one queue.
 */
export function checkConsumers(
  functions: readonly InfraFunction[],
  queues: InfraSettings["queues"],
): Problem[] {
  const consumers = new Map<string, string>();
  return functions.filter(({ kind }) => kind === "queue").flatMap((fn): Problem[] => {
    const queue = getResource(fn)!;
    const other = consumers.get(queue);
    consumers.set(queue, fn.name);
    const messages = findConsumerErrors(fn, queue, queues?.[queue] ?? {});
    if (other !== undefined) {
      messages.push(
        `${other} and ${fn.name} both consume the queue ${queue}, so each would receive only a ` +
          "part of the messages: use a different queue for one of them, or publish to a topic",
      );
    }
    return messages.map((message) => ({ functionName: fn.name, message }));
  });
}

function findConsumerErrors(
  { name, options, settings: { batchSize = MAX_FIFO_BATCH, batchingWindowSeconds = 0 } }:
    InfraFunction,
  queue: string,
  { fifo = false, visibilityTimeoutSeconds }: QueueInfra,
): string[] {
  const errors: string[] = [];
  const timeout = getTimeoutSeconds(options);
  if (visibilityTimeoutSeconds !== undefined && visibilityTimeoutSeconds < timeout) {
    errors.push(
      `infra.queues.${queue}.visibilityTimeoutSeconds is ${visibilityTimeoutSeconds}, less than ` +
        `the timeout of ${name}, which is ${timeout} s: set at least ${6 * timeout}`,
    );
  }
  if (fifo && batchSize > MAX_FIFO_BATCH) {
    errors.push(
      `infra.functions.${name}.batchSize is ${batchSize}: a FIFO queue has at most ${MAX_FIFO_BATCH}`,
    );
  }
  if (fifo && batchingWindowSeconds > 0) {
    errors.push(
      `infra.functions.${name}.batchingWindowSeconds: FIFO queues have no batching window. Remove it`,
    );
  }
  return errors;
}
