import { assertEquals } from "@std/assert";
import {
  describeChanges,
  renderChanges,
  summarizeApplied,
  summarizeChanges,
} from "../../../cli/deploy/describe_plan.ts";

const plain = { red: (text: string) => text, yellow: (text: string) => text };

function change(address: string, ...actions: string[]) {
  return { address, type: address.split(".").at(-2)!, actions };
}

Deno.test("renderChanges() shows first what is destroyed, then what costs money, then the rest by type", () => {
  const changes = describeChanges([
    ...["a", "b", "c", "d"].map((name) => change(`module.fn_${name}.aws_iam_role.this`, "create")),
    change("aws_cloudwatch_metric_alarm.release", "create"),
    change("module.api.aws_api_gateway_stage.this", "update"),
    change("module.database.aws_dsql_cluster.this", "delete", "create"),
    change("aws_kinesis_stream.old", "delete"),
    change("aws_kinesis_stream.changes", "create"),
    change("aws_lambda_permission.x", "delete"),
    change("module.api.aws_api_gateway_deployment.this", "create", "delete"),
    change("aws_s3_bucket.files", "delete"),
  ]);
  assertEquals(renderChanges(changes, plain), [
    "  replace module.database.aws_dsql_cluster.this (its data is lost)",
    "  destroy aws_kinesis_stream.old (its data is lost)",
    "  destroy aws_s3_bucket.files (its data is lost)",
    "  destroy aws_lambda_permission.x",
    "  create aws_cloudwatch_metric_alarm.release (USD 0.10 per month)",
    "  create aws_kinesis_stream.changes (USD 29 on demand, 11 per shard per month)",
    "  create aws_iam_role: 4",
    "  change module.api.aws_api_gateway_stage.this",
    "  replace module.api.aws_api_gateway_deployment.this",
  ]);
  // every change of routes replaces the deployment of an API
  assertEquals(
    changes.filter(({ isDestructive }) => !isDestructive).map(({ action }) => action),
    ["create", "create", "create", "create", "create", "change", "create", "replace"],
  );
  assertEquals(summarizeChanges(changes), "6 to create, 1 to change, 2 to replace, 3 to destroy");
  assertEquals(summarizeApplied(changes), "6 created, 1 changed, 2 replaced, 3 destroyed");
  assertEquals(summarizeChanges([]), "no changes");
});
