import { TAGS } from "./names.ts";
import { type Expression, expression, type HclBlock, output, resource } from "./hcl.ts";
import type { ResourcePlan } from "./plan_resources.ts";

/** Name of the aliases. */
export const RELEASE_ALIAS = "live";

/** Renders the alarm that stops a release, and what `trellis deploy` needs to move the aliases. */
export function renderRelease(
  { routes, infra: { release }, isHttp }: ResourcePlan,
): HclBlock[] {
  if (release === undefined || routes.length === 0) return [];
  const { errorPercent = 5 } = release;
  return [
    resource("aws_cloudwatch_metric_alarm", "release", {
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
      tags: TAGS,
    }),
    output("release", "Aliases of the functions with their newest versions, for trellis deploy.", {
      alias: RELEASE_ALIAS,
      alarm: expression("aws_cloudwatch_metric_alarm.release.alarm_name"),
      functions: Object.fromEntries(routes.map(({ name, id }) => [name, describe(id)])),
    }),
  ];
}

function describe(id: string): Readonly<Record<string, Expression>> {
  return {
    name: expression(`module.fn_${id}.function_name`),
    version: expression(`module.fn_${id}.version`),
  };
}
