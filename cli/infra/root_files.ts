import { block, comment, type Expression, expression, type HclBlock, nested } from "./hcl.ts";
import { BOUNDARY, renderBoundary } from "./permissions_boundary.ts";
import type { TerraformVariable } from "./infra_plan.ts";
import { renderDisposable, renderStageGuard } from "./stage_files.ts";

/** Options of the Terraform files that all functions share. */
export interface RootOptions {
  readonly projectName: string;
  readonly moduleSource: (name: string) => string;
  readonly region?: string;
  /** Name of the policy that bounds all roles. */
  readonly permissionsBoundary?: string;
  readonly hasDatabase: boolean;
  readonly hasApi: boolean;
  /** True if the API is a REST API, which needs a role of the account for its logs. */
  readonly hasRestApi: boolean;
  /** Terraform names of functions with a URL of their own, by name. */
  readonly functionUrls: Readonly<Record<string, string>>;
  readonly hasWebSocket: boolean;
  /** True if a function consumes the change stream of the database. */
  readonly hasChangeStream: boolean;
  /** True if a route streams its response. */
  readonly hasStreaming: boolean;
  readonly variables: readonly TerraformVariable[];
  /** Module addresses by function name. */
  readonly functions: Readonly<Record<string, string>>;
  /** Names of the dead-letter queues. */
  readonly deadLetters: readonly Expression[];
}

/** The version with which the size of a stream's records was validated; 6.0 cannot set it. */
const STREAM_PROVIDER = ">= 6.66, < 7.0";

/** The first version with `invoked_via_function_url` that was validated; 6.0 does not have it. */
const URL_PROVIDER = ">= 6.66, < 7.0";

/** The first version with `response_transfer_mode`. */
const STREAMING_PROVIDER = ">= 6.25, < 7.0";

/**
 * Renders the required versions of Terraform and providers.
 *
 * @param options The project.
 */
export function renderVersions(options: RootOptions): HclBlock[] {
  return [
    block(
      "terraform",
      [],
      { required_version: ">= 1.9" },
      nested(block("required_providers", [], {
        archive: { source: "hashicorp/archive", version: ">= 2.7, < 3.0" },
      }, {
        aws: {
          source: "hashicorp/aws",
          version: getProviderVersion(options),
        },
      })),
    ),
    block("provider", ["aws"], { region: expression("var.region") }),
  ];
}

function getProviderVersion(
  { hasChangeStream, hasStreaming, functionUrls }: RootOptions,
): string {
  if (hasChangeStream) return STREAM_PROVIDER;
  if (Object.keys(functionUrls).length > 0) return URL_PROVIDER;
  return hasStreaming ? STREAMING_PROVIDER : ">= 6.0, < 7.0";
}

/**
 * Renders names, tags and the database.
 *
 * @param options The project.
 */
export function renderMain(
  options: RootOptions,
): HclBlock[] {
  const { projectName, moduleSource, hasRestApi, hasWebSocket, hasDatabase } = options;
  const { permissionsBoundary } = options;
  const core = block(
    "module",
    ["core"],
    { source: moduleSource("core") },
    { project_name: projectName, environment: expression("var.environment") },
    {
      manage_api_gateway_account: hasRestApi || hasWebSocket
        ? expression("var.manage_api_gateway_account")
        : undefined,
      permissions_boundary_arn: permissionsBoundary === undefined ? undefined : BOUNDARY,
    },
  );
  const stage = [
    ...permissionsBoundary === undefined ? [] : renderBoundary(permissionsBoundary),
    renderStageGuard(projectName),
    renderDisposable(),
  ];
  if (!hasDatabase) return [core, ...stage];
  return [
    core,
    ...stage,
    block("module", ["database"], { source: moduleSource("database/distsql") }, {
      name_prefix: expression("module.core.name_prefix"),
      tags: expression("module.core.common_tags"),
      deletion_protection: expression("!local.is_disposable"),
    }),
  ];
}

/**
 * Renders the variables.
 *
 * @param options The project.
 */
export function renderVariables(
  { region, hasApi, hasRestApi, hasWebSocket, variables }: RootOptions,
): HclBlock[] {
  const own: TerraformVariable[] = [
    {
      name: "environment",
      description: "Stage of deployment, such as dev, prod or preview-42.",
      type: "string",
      default: "dev",
    },
    { name: "region", description: "Region to deploy to.", type: "string", default: region },
  ];
  if (hasRestApi || hasWebSocket) {
    own.push({
      name: "manage_api_gateway_account",
      description:
        "Create the role with which API Gateway writes logs; needed once per account and region.",
      type: "bool",
      default: false,
    });
  }
  if (hasApi) own.push(...DOMAIN_VARIABLES);
  const sorted = [...variables].sort((a, b) => a.name < b.name ? -1 : 1);
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

/** Variables of the domain of the REST API. */
const DOMAIN_VARIABLES: readonly TerraformVariable[] = [
  {
    name: "domain_name",
    description: "Host name of the API, such as api.example.com; null for the gateway's address.",
    type: "string",
    default: null,
    isNullable: true,
  },
  {
    name: "hosted_zone_id",
    description: "Route 53 zone for the certificate and the records of domain_name.",
    type: "string",
    default: null,
    isNullable: true,
  },
  {
    name: "certificate_arn",
    description: "Certificate for domain_name, if it is not to be created.",
    type: "string",
    default: null,
    isNullable: true,
  },
];

/**
 * Renders the outputs.
 *
 * @param options The project.
 */
export function renderOutputs(
  { functions, functionUrls, deadLetters, hasApi, hasWebSocket, hasDatabase }: RootOptions,
): HclBlock[] {
  const output = (name: string, description: string, value: Expression) =>
    block("output", [name], { description, value });
  const table = (member: string) =>
    Object.fromEntries(
      Object.entries(functions).map(([name, module]) => [name, expression(`${module}.${member}`)]),
    );
  return [
    output(
      "resource_prefix",
      "Prefix of all names; set RESOURCE_PREFIX to it when grants are applied.",
      expression("module.core.name_prefix"),
    ),
    output("account_id", "AWS account of the stage.", expression("module.core.account_id")),
    ...hasApi ? [output("api_url", "URL of the API.", expression("module.api.base_url"))] : [],
    ...listUrls(functionUrls),
    ...hasWebSocket
      ? [
        output(
          "websocket_url",
          "URL of the WebSocket API.",
          expression("module.websocket.invoke_url"),
        ),
      ]
      : [],
    ...hasDatabase
      ? [
        output(
          "database_endpoint",
          "Host name of the database, for migrations and grants.",
          expression("module.database.cluster_endpoint"),
        ),
        output(
          "database_admin_policy_arn",
          "Policy for the role that applies migrations and grants.",
          expression("module.database.admin_connect_policy_arn"),
        ),
      ]
      : [],
    block("locals", [], comment("For your own files, such as alarms."), {
      function_names: table("function_name"),
    }, { dead_letter_queue_names: [...deadLetters] }),
    output("function_names", "Full names of the functions.", expression("local.function_names")),
  ];
}

function listUrls(functionUrls: RootOptions["functionUrls"]): HclBlock[] {
  const urls = Object.entries(functionUrls).map(([name, id]) =>
    [name, expression(`aws_lambda_function_url.${id}.function_url`)] as const
  );
  if (urls.length === 0) return [];
  return [
    block("output", ["function_urls"], {
      description: "URLs of functions that have one of their own.",
      value: Object.fromEntries(urls),
    }),
  ];
}
