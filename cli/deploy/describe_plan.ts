import { groupBy } from "../../core/lists/group_by.ts";
import type { ResourceChange } from "./terraform.ts";

/**
 * Costs of resources that cost money while they are unused, in USD per month, rounded list prices of
 * us-east-1 (AWS price lists, 2026-11). Resources that cost by use are not listed.
 */
const MONTHLY_COSTS: Readonly<Record<string, string>> = {
  aws_acmpca_certificate_authority: "400",
  aws_cloudwatch_dashboard: "3",
  aws_cloudwatch_metric_alarm: "0.10",
  aws_db_instance: "12 and more",
  aws_db_proxy: "22 and more",
  aws_eip: "3.65",
  aws_elasticache_cluster: "12 and more",
  aws_elasticache_serverless_cache: "6 and more",
  aws_kinesis_stream: "29 on demand, 11 per shard",
  aws_kms_key: "1",
  aws_lambda_provisioned_concurrency_config: "5.50 per sandbox with 512 MB",
  aws_lb: "16",
  aws_nat_gateway: "33",
  aws_rds_cluster: "by its capacity",
  aws_rds_cluster_instance: "53 and more",
  aws_route53_zone: "0.50",
  aws_secretsmanager_secret: "0.40",
  aws_vpc_endpoint: "7",
  aws_wafv2_web_acl: "5 and 1 per rule",
};

/** Resources that contain data, which is lost with them. */
const WITH_DATA: readonly string[] = [
  "aws_cloudwatch_event_archive",
  "aws_cloudwatch_log_group",
  "aws_db_instance",
  "aws_dsql_cluster",
  "aws_dynamodb_table",
  "aws_ecr_repository",
  "aws_efs_file_system",
  "aws_kinesis_stream",
  "aws_kms_key",
  "aws_rds_cluster",
  "aws_s3_bucket",
  "aws_secretsmanager_secret",
  "aws_sqs_queue",
];

/**
 * Resources without data that every change of routes replaces, the new one first: they are no reason
 * to refuse a plan.
 */
const REPLACED_BY_ROUTES: readonly string[] = [
  "aws_api_gateway_deployment",
  "aws_apigatewayv2_deployment",
];

/** A change that the reader of a plan should look at. */
export interface DescribedChange extends ResourceChange {
  readonly action: "create" | "change" | "replace" | "destroy";
  /** True if a resource is destroyed or replaced that a change of routes leaves. */
  readonly isDestructive: boolean;
  /** True if data is lost. */
  readonly losesData: boolean;
  /** Cost in USD per month of a new resource that costs money without use. */
  readonly monthlyCost?: string;
}

/** Describes the changes of a plan. */
export function describeChanges(changes: readonly ResourceChange[]): DescribedChange[] {
  return changes.map((change) => {
    const action = getAction(change.actions);
    const isLost = action === "destroy" || action === "replace";
    return {
      ...change,
      action,
      isDestructive: action === "destroy" ||
        action === "replace" && !REPLACED_BY_ROUTES.includes(change.type),
      losesData: isLost && WITH_DATA.includes(change.type),
      monthlyCost: action === "create" && Object.hasOwn(MONTHLY_COSTS, change.type)
        ? MONTHLY_COSTS[change.type]
        : undefined,
    };
  });
}

const PAST = { create: "created", change: "changed", replace: "replaced", destroy: "destroyed" };

function countActions(
  changes: readonly DescribedChange[],
  describe: (count: number, action: DescribedChange["action"]) => string,
): string {
  if (changes.length === 0) return "no changes";
  return (["create", "change", "replace", "destroy"] as const).map((action) =>
    describe(changes.filter((each) => each.action === action).length, action)
  ).join(", ");
}

/** Counts of a plan: `3 to create, 1 to change, 0 to replace, 0 to destroy`. */
export function summarizeChanges(changes: readonly DescribedChange[]): string {
  return countActions(changes, (count, action) => `${count} to ${action}`);
}

/** Counts of an applied plan: `3 created, 1 changed, 0 replaced, 0 destroyed`. */
export function summarizeApplied(changes: readonly ResourceChange[]): string {
  return countActions(describeChanges(changes), (count, action) => `${count} ${PAST[action]}`);
}

/**
 * Returns the lines that show a plan: what loses data, what else is destroyed or replaced, what costs
 * money, then the rest by type.
 *
 * @param paint Colors of the terminal.
 */
export function renderChanges(
  changes: readonly DescribedChange[],
  paint: { red(text: string): string; yellow(text: string): string },
): string[] {
  const destructive = changes.filter(({ isDestructive }) => isDestructive)
    .toSorted((one, other) => Number(other.losesData) - Number(one.losesData));
  const costly = changes.filter(({ monthlyCost }) => monthlyCost !== undefined);
  const others = changes.filter((each) => !destructive.includes(each) && !costly.includes(each));
  return [
    ...destructive.map(({ action, address, losesData }) =>
      `  ${paint.red(action)} ${address}${losesData ? paint.red(" (its data is lost)") : ""}`
    ),
    ...costly.map(({ action, address, monthlyCost }) =>
      `  ${action} ${address} ${paint.yellow(`(USD ${monthlyCost} per month)`)}`
    ),
    ...groupByType(others),
  ];
}

const MANY = 3;

function groupByType(changes: readonly DescribedChange[]): string[] {
  const groups = groupBy(changes, ({ action, type }) => `${action} ${type}`);
  return [...groups].flatMap(([key, group]) =>
    group.length <= MANY
      ? group.map(({ action, address }) => `  ${action} ${address}`)
      : [`  ${key}: ${group.length}`]
  );
}

function getAction(actions: readonly string[]): DescribedChange["action"] {
  if (actions.includes("delete")) return actions.includes("create") ? "replace" : "destroy";
  return actions.includes("create") ? "create" : "change";
}
