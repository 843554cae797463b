import type { InfraSettings } from "../config/infra.ts";
import type { InfraFunction } from "./infra_plan.ts";
import { getIdentifiers, kebabCase } from "./names.ts";

/**
 * Returns the queue, topic, bus or bucket of a function, by the configuration or the function's
 * name.
 */
export function getResource(
  { kind, name, settings }: Pick<InfraFunction, "kind" | "name" | "settings">,
): string | undefined {
  switch (kind) {
    case "queue":
      return settings.queue ?? kebabCase(name);
    case "topic":
      return settings.topic ?? kebabCase(name);
    case "event":
      return settings.bus ?? USUAL_BUS;
    case "storage":
      return settings.bucket ?? kebabCase(name);
    default:
      return undefined;
  }
}

/** The account's default bus, which always exists. */
export const DEFAULT_BUS = "default";

/** The bus of functions and queues without a setting. */
export const USUAL_BUS = "events";

/** Resources of one kind with the functions that use them. */
export interface Resources {
  /** Terraform names, without the kind as a prefix. */
  readonly ids: ReadonlyMap<string, string>;
  readonly functions: ReadonlyMap<string, readonly InfraFunction[]>;
}

/**
 * Collects the resources of a kind: those that functions use, and those in the configuration.
 *
 * @param listed Names in the configuration.
 */
export function gatherResources(
  functions: readonly InfraFunction[],
  listed: readonly string[],
): Resources {
  const byName = new Map<string, InfraFunction[]>(listed.map((name) => [name, []]));
  for (const fn of functions) {
    const name = getResource(fn)!;
    byName.set(name, [...byName.get(name) ?? [], fn]);
  }
  const sorted = new Map([...byName].sort(([a], [b]) => a < b ? -1 : 1));
  return { ids: getIdentifiers(sorted.keys()), functions: sorted };
}

/** Lists the buses whose events go to queues. */
export function listQueueBuses(queues: InfraSettings["queues"] = {}): string[] {
  return Object.values(queues).flatMap(({ events = [] }) =>
    events.map(({ bus = USUAL_BUS }) => bus)
  );
}

/** The default of the function module. */
const DEFAULT_TIMEOUT_SECONDS = 30;

/** Returns the timeout of a function that no gateway invokes. */
export function getTimeoutSeconds({ timeout }: InfraFunction["options"]): number {
  return timeout ?? DEFAULT_TIMEOUT_SECONDS;
}
