import type { ReleaseInfra } from "../config/stage_infra.ts";
import { block, type Expression, expression, type HclBlock } from "./hcl.ts";
import type { InfraFunction } from "./infra_plan.ts";

/** Name of the aliases. */
export const RELEASE_ALIAS = "live";

/**
 * Renders the alarm that stops a release, and what `trellis deploy` needs to move the aliases.
 *
 * @param functions The functions in `api/`.
 * @param settings The setting `infra.release`.
 * @param isHttp True for an HTTP API.
 */
export function renderRelease(
  functions: readonly InfraFunction[],
  { errorPercent = 5 }: ReleaseInfra,
  isHttp: boolean,
): HclBlock[] {
  return [
    block("resource", ["aws_cloudwatch_metric_alarm", "release"], {
      alarm_name: expression('"${module.core.name_prefix}-release"'),
      alarm_description: "Answers with a status from 500. Stops a release of trellis deploy.",
      namespace: "AWS/ApiGateway",
      // the average of both is the share of requests
      metric_name: isHttp ? "5xx" : "5XXError",
      statistic: "Average",
      dimensions: isHttp ? { ApiId: expression("module.api.api_id") } : {
        ApiName: expression("module.api.api_name"),
        Stage: expression("module.api.stage_name"),
      },
      comparison_operator: "GreaterThanOrEqualToThreshold",
      threshold: errorPercent / 100,
      period: 60,
      evaluation_periods: 1,
      treat_missing_data: "notBreaching",
      tags: expression("module.core.common_tags"),
    }),
    block("output", ["release"], {
      description: "Aliases of the functions with their newest versions, for trellis deploy.",
      value: {
        alias: RELEASE_ALIAS,
        alarm: expression("aws_cloudwatch_metric_alarm.release.alarm_name"),
        functions: Object.fromEntries(functions.map(({ name, id }) => [name, describe(id)])),
      },
    }),
  ];
}

function describe(id: string): Readonly<Record<string, Expression>> {
  return {
    name: expression(`module.fn_${id}.function_name`),
    version: expression(`module.fn_${id}.version`),
  };
}
