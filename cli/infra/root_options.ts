import type { ResolvedConfig } from "../config/config.ts";
import { CDN_VARIABLES } from "./cdn_file.ts";
import { readsChanges } from "./change_consumers.ts";
import { listPushVariables } from "./push_file.ts";
import { listTagVariables } from "./repository_file.ts";
import { hasDeadLetters } from "./function_file.ts";
import { ALARM_VARIABLE } from "./dead_letter_alarms.ts";
import { type Expression, expression } from "./hcl.ts";
import { isRelay } from "./job_files.ts";
import { IDENTITY_VARIABLE } from "./mail_file.ts";
import type { ResourcePlan } from "./plan_resources.ts";
import type { RootOptions } from "./root_files.ts";

/**
 * Collects what the files with versions, variables and outputs depend on.
 *
 * @param plan The resources.
 * @param infra The configuration.
 * @param projectName The project.
 */
export function toRootOptions(
  plan: ResourcePlan,
  infra: ResolvedConfig["infra"],
  projectName: string,
): RootOptions {
  const { functions, queues, getEnvironment } = plan;
  const deadLetters = listDeadLetterQueues(plan);
  return {
    projectName,
    moduleSource: plan.getModule,
    region: infra.region,
    permissionsBoundary: infra.permissionsBoundary,
    hasDatabase: functions.some(({ name }) => getEnvironment(name).usesCluster),
    hasApi: plan.routes.length > 0,
    hasRestApi: plan.routes.length > 0 && infra.api.type !== "http",
    functionUrls: Object.fromEntries(plan.withUrl.map(({ name, id }) => [name, id])),
    hasStreaming: plan.routes.some(({ options }) => options.streaming),
    hasWebSocket: plan.sockets.length > 0,
    variables: [
      ...plan.environments.variables,
      ...queues.ids.size + deadLetters.length > 0 || functions.some(isRelay)
        ? [ALARM_VARIABLE]
        : [],
      ...infra.mail.identity === undefined ? [] : [IDENTITY_VARIABLE],
      ...infra.cdn === undefined || plan.routes.length === 0 ? [] : CDN_VARIABLES,
      ...listPushVariables(infra.pushPlatforms),
      ...listTagVariables(infra.repositories, functions),
    ],
    hasChangeStream: functions.some(readsChanges),
    functions: Object.fromEntries(functions.map(({ name, id }) => [name, `module.fn_${id}`])),
    deadLetters: [
      ...[...queues.ids.values()].map((id) => expression(`module.queue_${id}.dlq_name`)),
      ...deadLetters,
    ],
  };
}

/** Lists the names of the dead-letter queues of event buses and functions. */
export function listDeadLetterQueues(
  { functions, ownBuses }: Pick<ResourcePlan, "functions" | "ownBuses">,
): Expression[] {
  return [
    ...[...ownBuses.values()].map((id) => expression(`module.bus_${id}.dead_letter_queue_name`)),
    ...functions.filter(hasDeadLetters).map(({ id }) =>
      expression(`module.dead_letters_${id}.queue_name`)
    ),
  ];
}
