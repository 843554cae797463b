import { UNUSED_ALLOWED } from "../grants/permission_files.ts";
import { CDN_VARIABLES } from "./cdn_file.ts";
import { readsChanges } from "./change_consumers.ts";
import { ALARM_VARIABLE } from "./dead_letter_alarms.ts";
import { hasDeadLetters } from "./function_file.ts";
import { block, comment, type Expression, expression, type HclBlock, output } from "./hcl.ts";
import {
  createNullableVariable,
  createTextVariable,
  type TerraformVariable,
} from "./infra_plan.ts";
import { isRelay } from "./job_files.ts";
import { IDENTITY_VARIABLE } from "./mail_file.ts";
import { NAMING } from "./names.ts";
import { BOUNDARY, renderBoundary } from "./permissions_boundary.ts";
import type { ResourcePlan } from "./plan_resources.ts";
import { listPushVariables } from "./push_file.ts";
import { listTagVariables } from "./repository_file.ts";
import { renderDisposable, renderStageGuard } from "./stage_files.ts";

/**
 * The first version with `invoked_via_function_url`, and with which the size of a stream's records was
 * validated; 6.0 has neither.
 */
const VALIDATED_PROVIDER = ">= 6.66, < 7.0";

/** The first version with `response_transfer_mode`. */
const STREAMING_PROVIDER = ">= 6.25, < 7.0";

/** The first version of Terraform and of OpenTofu with `use_lockfile`, which locks a state in Amazon S3. */
const LOCKFILE_VERSION = ">= 1.10";

/** Renders the required versions of Terraform and providers. */
export function renderVersions(plan: ResourcePlan): HclBlock[] {
  return [
    block(
      "terraform",
      [],
      { required_version: plan.infra.state === undefined ? ">= 1.9" : LOCKFILE_VERSION },
      block("required_providers", [], {
        archive: { source: "hashicorp/archive", version: ">= 2.7, < 3.0" },
      }, { aws: { source: "hashicorp/aws", version: getProviderVersion(plan) } }),
    ),
    block("provider", ["aws"], { region: expression("var.region") }),
  ];
}

function getProviderVersion({ functions, routes, withUrl }: ResourcePlan): string {
  if (withUrl.length > 0 || functions.some(readsChanges)) return VALIDATED_PROVIDER;
  return routes.some(({ options }) => options.streaming) ? STREAMING_PROVIDER : ">= 6.0, < 7.0";
}

/** Checks whether a function connects to the cluster. */
function hasDatabase({ functions, getEnvironment }: ResourcePlan): boolean {
  return functions.some(({ name }) => getEnvironment(name).usesCluster);
}

/** Checks for APIs that need a role of the account for their logs. */
function needsLogRole({ routes, isHttp, sockets }: ResourcePlan): boolean {
  return routes.length > 0 && !isHttp || sockets.length > 0;
}

/** Renders names, tags and the database. */
export function renderMain(plan: ResourcePlan): HclBlock[] {
  const { projectName, createModule, infra: { permissionsBoundary } } = plan;
  return [
    createModule("core", "core", {
      project_name: projectName,
      environment: expression("var.environment"),
    }, {
      manage_api_gateway_account: needsLogRole(plan)
        ? expression("var.manage_api_gateway_account")
        : undefined,
      permissions_boundary_arn: permissionsBoundary === undefined ? undefined : BOUNDARY,
    }),
    ...permissionsBoundary === undefined ? [] : renderBoundary(permissionsBoundary),
    renderStageGuard(projectName),
    renderDisposable(),
    ...!hasDatabase(plan) ? [] : [
      createModule("database", "database/distsql", {
        ...NAMING,
        deletion_protection: expression("!local.is_disposable"),
      }),
    ],
  ];
}

/** Renders the variables. */
export function renderVariables(plan: ResourcePlan): HclBlock[] {
  const own: TerraformVariable[] = [
    {
      ...createTextVariable("environment", "Stage of deployment, such as dev, prod or preview-42."),
      default: "dev",
    },
    { ...createTextVariable("region", "Region to deploy to."), default: plan.infra.region },
  ];
  if (needsLogRole(plan)) {
    own.push({
      name: "manage_api_gateway_account",
      description:
        "Create the role with which API Gateway writes logs; needed once per account and region.",
      type: "bool",
      default: false,
    });
  }
  if (plan.routes.length > 0) own.push(...DOMAIN_VARIABLES);
  const sorted = listResourceVariables(plan).sort((a, b) => a.name < b.name ? -1 : 1);
  return [...own, ...sorted].map((variable) =>
    block("variable", [variable.name], {
      description: variable.description,
      type: expression(variable.type),
      default: variable.default,
      sensitive: variable.isSensitive ? true : undefined,
      nullable: variable.isNullable ? undefined : false,
    })
  );
}

/** Lists the variables that environments and resources need. */
function listResourceVariables(plan: ResourcePlan): TerraformVariable[] {
  const { functions, queues, environments, routes, infra } = plan;
  const hasAlarms = queues.ids.size + listDeadLetterQueues(plan).length > 0 ||
    functions.some(isRelay);
  return [
    ...environments.variables,
    ...hasAlarms ? [ALARM_VARIABLE] : [],
    ...infra.mail.identity === undefined ? [] : [IDENTITY_VARIABLE],
    ...infra.cdn === undefined || routes.length === 0 ? [] : CDN_VARIABLES,
    ...listPushVariables(infra.pushPlatforms),
    ...listTagVariables(infra.repositories, functions),
  ];
}

/** Variables of the domain of the REST API. */
const DOMAIN_VARIABLES: readonly TerraformVariable[] = [
  createNullableVariable(
    "domain_name",
    "Host name of the API, such as api.example.com; null for the gateway's address.",
  ),
  createNullableVariable(
    "hosted_zone_id",
    "Route 53 zone for the certificate and the records of domain_name.",
  ),
  createNullableVariable(
    "certificate_arn",
    "Certificate for domain_name, if it is not to be created.",
  ),
];

/** Lists the names of the dead-letter queues of event buses and functions. */
export function listDeadLetterQueues({ functions, ownBuses }: ResourcePlan): Expression[] {
  return [
    ...[...ownBuses.values()].map((id) => expression(`module.bus_${id}.dead_letter_queue_name`)),
    ...functions.filter(hasDeadLetters).map(({ id }) =>
      expression(`module.dead_letters_${id}.queue_name`)
    ),
  ];
}

/** Renders the outputs. */
export function renderOutputs(plan: ResourcePlan): HclBlock[] {
  const { functions, withUrl, queues, routes, sockets } = plan;
  const refer = (name: string, description: string, value: string) =>
    output(name, description, expression(value));
  const urls = withUrl.map(({ name, id }) => [
    name,
    expression(`aws_lambda_function_url.${id}.function_url`),
  ]);
  return [
    refer(
      "resource_prefix",
      "Prefix of all names; set RESOURCE_PREFIX to it when grants are applied.",
      "module.core.name_prefix",
    ),
    refer("account_id", "AWS account of the stage.", "module.core.account_id"),
    ...routes.length > 0 ? [refer("api_url", "URL of the API.", "module.api.base_url")] : [],
    ...urls.length === 0 ? [] : [
      output(
        "function_urls",
        "URLs of functions that have one of their own.",
        Object.fromEntries(urls),
      ),
    ],
    ...sockets.length === 0
      ? []
      : [refer("websocket_url", "URL of the WebSocket API.", "module.websocket.invoke_url")],
    ...!hasDatabase(plan) ? [] : [
      refer(
        "database_endpoint",
        "Host name of the database, for migrations and grants.",
        "module.database.cluster_endpoint",
      ),
      refer(
        "database_admin_policy_arn",
        "Policy for the role that applies migrations and grants.",
        "module.database.admin_connect_policy_arn",
      ),
    ],
    block(
      "locals",
      [],
      comment("For your own files, such as alarms."),
      {
        function_names: Object.fromEntries(
          functions.map(({ name, id }) => [name, expression(`module.fn_${id}.function_name`)]),
        ),
      },
      comment(UNUSED_ALLOWED),
      {
        dead_letter_queue_names: [
          ...[...queues.ids.values()].map((id) => expression(`module.queue_${id}.dlq_name`)),
          ...listDeadLetterQueues(plan),
        ],
      },
    ),
    refer("function_names", "Full names of the functions.", "local.function_names"),
  ];
}
