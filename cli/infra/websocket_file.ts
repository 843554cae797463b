import { NAMING } from "./names.ts";
import { expression, type HclBlock } from "./hcl.ts";
import type { InfraFunction } from "./infra_plan.ts";
import type { ResourcePlan } from "./plan_resources.ts";

/** The stage of the WebSocket API, which is part of its URL. */
const STAGE = "live";

/** Renders the WebSocket API with the routes of its functions. */
export function renderWebSocket(
  { sockets, authorizers: { websocket: authorizer }, infra, createModule }: ResourcePlan,
): HclBlock[] {
  if (sockets.length === 0) return [];
  const target = ({ id }: InfraFunction) => ({
    function_name: expression(`module.fn_${id}.function_name`),
    invoke_arn: expression(`module.fn_${id}.invoke_arn`),
  });
  return [
    createModule("websocket", "websocket-api", {
      ...NAMING,
      stage_name: STAGE,
    }, {
      routes: Object.fromEntries(
        sockets.map((
          fn,
        ) => [fn.routeKey!, { ...target(fn), two_way: fn.settings.twoWay ? true : undefined }]),
      ),
      authorizer: authorizer &&
        { ...target(authorizer), identity_sources: infra.websocket.identitySources },
    }),
  ];
}
