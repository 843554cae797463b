import type { WebSocketInfra } from "../config/api_infra.ts";
import { block, expression, type HclBlock } from "./hcl.ts";
import type { InfraFunction } from "./infra_plan.ts";
import type { ResourcePlan } from "./plan_resources.ts";

/** The stage of the WebSocket API, which is part of its URL. */
const STAGE = "live";

/**
 * Renders the WebSocket API with the routes of its functions.
 *
 * @param plan The resources.
 * @param settings The setting `infra.websocket`.
 */
export function renderWebSocket(
  { sockets: functions, authorizers, getModule }: ResourcePlan,
  { identitySources }: WebSocketInfra,
): HclBlock {
  const { websocket: authorizer } = authorizers;
  const source = getModule("websocket-api");
  const target = ({ id }: InfraFunction) => ({
    function_name: expression(`module.fn_${id}.function_name`),
    invoke_arn: expression(`module.fn_${id}.invoke_arn`),
  });
  return block(
    "module",
    ["websocket"],
    { source },
    {
      name_prefix: expression("module.core.name_prefix"),
      tags: expression("module.core.common_tags"),
      stage_name: STAGE,
    },
    {
      routes: Object.fromEntries(
        functions.map((
          fn,
        ) => [fn.routeKey!, { ...target(fn), two_way: fn.settings.twoWay ? true : undefined }]),
      ),
      authorizer: authorizer && { ...target(authorizer), identity_sources: identitySources },
    },
  );
}
