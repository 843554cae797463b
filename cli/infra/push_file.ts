import type { PushPlatformInfra } from "../config/delivery_infra.ts";
import {
  block,
  type Expression,
  expression,
  type HclBlock,
  renderPolicy,
  resource,
} from "./hcl.ts";
import { createTextVariable, type TerraformVariable } from "./infra_plan.ts";
import { listIdentifiers } from "./names.ts";

type Platforms = Readonly<Record<string, PushPlatformInfra>>;

/**
 * Lists the variables with the keys of push platforms.
 *
 * @param platforms The setting `infra.pushPlatforms`.
 */
export function listPushVariables(platforms: Platforms): TerraformVariable[] {
  return listIdentifiers(platforms).map(([name, id]) => ({
    ...createTextVariable(
      `push_${id}_key`,
      platforms[name].platform === "GCM"
        ? `JSON key of the service account that sends push messages of ${name}.`
        : `Signing key (.p8) that sends push messages of ${name}.`,
    ),
    isSensitive: true,
  }));
}

/**
 * Renders the applications at push services, with the policies of functions that send to them.
 *
 * @param platforms The setting `infra.pushPlatforms`.
 */
export function renderPushPlatforms(platforms: Platforms): HclBlock[] {
  const ids = listIdentifiers(platforms);
  if (ids.length === 0) return [];
  const policies = ids.map(([, id]) => [id, renderSendPolicy(id)]);
  return [
    ...ids.map(([name, id]) => {
      const settings = platforms[name];
      return resource("aws_sns_platform_application", id, {
        name: expression(`"\${module.core.name_prefix}-${name}"`),
        platform: settings.platform,
        platform_credential: expression(`var.push_${id}_key`),
        ...settings.platform === "GCM" ? {} : {
          platform_principal: settings.keyId,
          apple_platform_team_id: settings.teamId,
          apple_platform_bundle_id: settings.bundleId,
        },
      });
    }),
    block("locals", [], { push_policies: Object.fromEntries(policies) }),
  ];
}

/** Devices register at the application, and messages go to the endpoints that this creates. */
function renderSendPolicy(id: string): Expression {
  const arn = `aws_sns_platform_application.${id}.arn`;
  return renderPolicy({
    Sid: "RegisterDevices",
    Effect: "Allow",
    Action: ["sns:CreatePlatformEndpoint", "sns:ListEndpointsByPlatformApplication"],
    Resource: expression(arn),
  }, {
    Sid: "SendToDevices",
    Effect: "Allow",
    Action: [
      "sns:DeleteEndpoint",
      "sns:GetEndpointAttributes",
      "sns:Publish",
      "sns:SetEndpointAttributes",
    ],
    Resource: expression(`"\${replace(${arn}, ":app/", ":endpoint/")}/*"`),
  });
}
