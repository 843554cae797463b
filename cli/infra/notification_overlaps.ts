import type { InfraFunction } from "./infra_plan.ts";

/** Two functions whose notifications overlap. */
export interface Overlap {
  readonly first: InfraFunction;
  readonly second: InfraFunction;
}

/** Finds functions of one bucket with overlapping notifications, which S3 rejects. */
export function findOverlaps(functions: readonly InfraFunction[]): Overlap[] {
  return functions.flatMap((first, index) =>
    functions.slice(index + 1).filter((second) => overlap(first, second)).map((second) => ({
      first,
      second,
    }))
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
