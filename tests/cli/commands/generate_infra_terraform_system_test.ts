// deno-lint-ignore-file no-console
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { applyTwice, type Json, writeBundles } from "../fixtures/terraform.ts";
import { hasOffline } from "../../support/terraform_providers.ts";
import { withProject } from "../fixtures/analyse.ts";
import { configure, DELIVERY, HTTP_SETTINGS } from "../fixtures/delivery_project.ts";
import { EVERY_TRIGGER, HOSTILE, infra, permissions } from "../fixtures/infra_project.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
if (!hasOffline) {
  console.warn(
    "SKIPPED: terraform or its stand-in providers are missing. Not run: validate, plan and apply of what generate infra writes.",
  );
}

async function copyFolder(from: string, to: string): Promise<void> {
  await Deno.mkdir(to, { recursive: true });
  for await (const entry of Deno.readDir(from)) {
    if (entry.name.startsWith(".")) continue;
    if (entry.isDirectory) await copyFolder(join(from, entry.name), join(to, entry.name));
    else await Deno.copyFile(join(from, entry.name), join(to, entry.name));
  }
}

Deno.test({
  name:
    "generate infra writes for the notes example what applies, and a second plan has nothing to do",
  ignore: !hasOffline,
  fn: async () => {
    const work = await Deno.realPath(await Deno.makeTempDir({ prefix: "trellis-notes-" }));
    try {
      const root = join(work, "examples/notes");
      await copyFolder(join(ROOT, "modules"), join(work, "modules"));
      await copyFolder(join(ROOT, "examples/notes"), root);
      assertEquals((await infra(root, "--check", "--modules-path", "../../modules")).exitCode, 0);
      await writeBundles(root);
      const secret = "marker-secret-0815";
      const found = await applyTwice(root, {
        api_bearer_token: secret,
        auth_base_url: "https://notes.example.com/live/auth",
        auth_secret: secret,
        code_host_webhook_secret: secret,
        smtp_url: secret,
        payments_webhook_secret: secret,
      });
      const fn = found.get("module.fn_notes_get.aws_lambda_function.this");
      const [{ variables }] = fn.environment;
      assertEquals(variables, {
        AUTH_BASE_URL: "https://notes.example.com/live/auth",
        AUTH_SECRET: secret,
        CORS_ALLOW_ORIGIN: "https://notes.example.com",
        DATABASE_ENDPOINT: variables.DATABASE_ENDPOINT,
        DATABASE_PROVIDER: "distsql",
        DATABASE_USERNAME: "fn_notes_get",
        ENVIRONMENT: "dev",
        SERVICE_NAME: "notes",
      });
      const timeouts = ["health", "notes_get"].map((name) =>
        found.get(`module.fn_${name}.aws_lambda_function.this`).timeout
      );
      assertEquals(timeouts, [5, 28]);
      const { variables: ofHealth } =
        found.get("module.fn_health.aws_lambda_function.this").environment[0];
      assertEquals(Object.keys(ofHealth), ["CORS_ALLOW_ORIGIN", "ENVIRONMENT", "SERVICE_NAME"]);
      // GET and POST /notes share one resource
      const methods = ["get", "post"].map((name) =>
        found.get(`aws_api_gateway_method.notes_${name}`).resource_id
      );
      assertEquals(methods[0], methods[1]);
      // functions answer preflights, the auth routes with ANY
      const asked = [...found.keys()].filter((name) =>
        name.startsWith("aws_api_gateway_integration.preflight")
      );
      assertEquals(asked.sort(), [
        'aws_api_gateway_integration.preflight["/admin/reindex"]',
        'aws_api_gateway_integration.preflight["/health"]',
        'aws_api_gateway_integration.preflight["/hooks/code-host"]',
        'aws_api_gateway_integration.preflight["/hooks/payments"]',
        'aws_api_gateway_integration.preflight["/notes"]',
        'aws_api_gateway_integration.preflight["/notes/{noteId}"]',
        'aws_api_gateway_integration.preflight["/welcome"]',
      ]);
      assertEquals(found.get(asked[0]).type, "AWS_PROXY");
      assertEquals(found.get("aws_api_gateway_method.auth_by_proxy").http_method, "ANY");
      assertEquals(found.get("aws_api_gateway_resource.auth_proxy").path_part, "{proxy+}");
      for await (const { name } of Deno.readDir(join(root, "infra"))) {
        if (name.endsWith(".tf")) {
          assert(!(await Deno.readTextFile(join(root, "infra", name))).includes(secret), name);
        }
      }
    } finally {
      await Deno.remove(work, { recursive: true });
    }
  },
});

/** A file of the user's own, to which the configuration refers. */
const STREAMS = `resource "aws_kinesis_stream" "orders" {
  name        = "orders"
  shard_count = 1
}
`;

Deno.test({
  name: "generate infra writes for every trigger what applies, with the modules copied beside it",
  ignore: !hasOffline,
  fn: async () => {
    await withProject(EVERY_TRIGGER, async (root) => {
      assertEquals((await permissions(root)).exitCode, 0);
      const generated = await infra(root);
      assertEquals([generated.exitCode, generated.stderr], [0, ""], generated.stdout);
      await Deno.writeTextFile(join(root, "infra/streams.tf"), STREAMS);
      await writeBundles(root);
      const found = await applyTwice(root, { api_bearer_token: "t", stripe_key: "k" });
      const at = (address: string): Json => {
        const values = found.get(address);
        assert(values !== undefined, `${address} is missing`);
        return values;
      };
      const getVariables = (fn: string) =>
        at(`module.fn_${fn}.aws_lambda_function.this`).environment[0].variables;

      const post = at("module.fn_orders_post.aws_lambda_function.this");
      assertEquals([post.reserved_concurrent_executions, post.ephemeral_storage[0].size], [
        5,
        1024,
      ]);
      assertStringIncludes(post.dead_letter_config[0].target_arn, "OrdersPost-failed");
      assertEquals(
        at("module.fn_orders_post.aws_lambda_function_event_invoke_config.this[0]")
          .maximum_retry_attempts,
        1,
      );
      assertEquals(
        getVariables("orders_post").ORDERS_QUEUE_URL,
        at("module.queue_work_orders.aws_sqs_queue.this").url,
      );
      assertStringIncludes(
        at('module.fn_orders_post.aws_iam_role_policy.inline["send-queue-work-orders"]').policy,
        "sqs:SendMessage",
      );

      const get = getVariables("orders_get");
      assertEquals([get.STRIPE_KEY, get.DATABASE_USERNAME], ["k", "fn_orders_get"]);
      const asked = (name: string) => at(`aws_api_gateway_method.${name}`).authorization;
      assertEquals(
        ["root_get", "get"].filter((name) => found.has(`aws_api_gateway_method.${name}`)).map(
          asked,
        ),
        [
          "NONE",
        ],
      );
      assertEquals(["orders_get", "orders_post", "orders_by_order_id_any"].map(asked), [
        "CUSTOM",
        "NONE",
        "CUSTOM",
      ]);
      const authorizer = at("module.api.aws_api_gateway_authorizer.this[0]");
      assertEquals([authorizer.identity_source, authorizer.authorizer_result_ttl_in_seconds], [
        "",
        0,
      ]);
      assertEquals(at("aws_api_gateway_resource.orders_order_id_files_rest").path_part, "{rest+}");
      // the authorizer of the route for any method would refuse preflights
      assertEquals(
        at('aws_api_gateway_integration.preflight["/orders/{orderId}"]').type,
        "AWS_PROXY",
      );
      assertEquals(
        [...found.keys()].filter((name) => name.includes("/files/{rest+}")),
        [],
      );
      assertEquals(at('aws_api_gateway_method.preflight["/"]').http_method, "OPTIONS");

      assertEquals(
        at("module.queue_work_orders.aws_sqs_queue.this").visibility_timeout_seconds,
        360,
      );
      const mapping = at("module.fn_mail.aws_lambda_event_source_mapping.queue[0]");
      assertEquals([mapping.batch_size, mapping.scaling_config[0].maximum_concurrency], [100, 4]);
      assertEquals(getVariables("work_orders").LEVEL_OF_LOGS, HOSTILE);
      assertEquals(at("module.api.aws_api_gateway_rest_api.this").description, HOSTILE);

      const pattern = at("module.fn_work_orders.aws_lambda_event_source_mapping.queue[0]")
        .filter_criteria[0].filter[0].pattern;
      assertEquals(JSON.parse(pattern), { body: { kind: [HOSTILE] } });
      const stream = at("module.fn_count_orders.aws_lambda_event_source_mapping.stream[0]");
      assertEquals([stream.batch_size, stream.maximum_retry_attempts], [500, 3]);
      assertEquals(stream.event_source_arn, at("aws_kinesis_stream.orders").arn);
      assertStringIncludes(
        stream.destination_config[0].on_failure[0].destination_arn,
        "CountOrders-failed",
      );
      const table = at("module.fn_watch_stock.aws_lambda_event_source_mapping.stream[0]");
      assertEquals([table.starting_position, table.destination_config], ["LATEST", []]);
      const kafka = at("module.fn_ship_orders.aws_lambda_event_source_mapping.kafka[0]");
      assertEquals([kafka.topics, kafka.function_response_types], [
        ["orders"],
        ["ReportBatchItemFailures"],
      ]);

      const subscription = at(
        'module.topic_shipped.aws_sns_topic_subscription.this["OrderShipped"]',
      );
      assertEquals(JSON.parse(subscription.filter_policy), {
        kind: [HOSTILE, { "anything-but": ["x"] }],
      });
      assertEquals(at("aws_lambda_permission.order_shipped_topic").principal, "sns.amazonaws.com");
      assertStringIncludes(
        at('module.fn_order_shipped.aws_iam_role_policy.inline["bucket-files"]').policy,
        "s3:GetObject",
      );
      assertEquals(found.has("module.dead_letters_order_shipped_audit.aws_sqs_queue.this"), false);

      const rule = at("aws_cloudwatch_event_rule.order_placed");
      assertEquals(JSON.parse(rule.event_pattern).detail, { hcl: "x", "a b": [{ exists: true }] });
      assertEquals(rule.event_bus_name, at("module.bus_domain.aws_cloudwatch_event_bus.this").name);
      assertEquals(at("aws_cloudwatch_event_rule.task_stopped").event_bus_name, "default");
      assertEquals(
        at("module.fn_task_stopped.aws_lambda_function.this").dead_letter_config[0].target_arn,
        "arn:aws:sqs:eu-central-1:123456789012:dead",
      );

      const schedule = at("module.fn_nightly.aws_scheduler_schedule.this[0]");
      assertEquals(
        [schedule.schedule_expression, schedule.schedule_expression_timezone],
        ["cron(0 3 * * ? *)", "Europe/Berlin"],
      );
      assertEquals(at("module.fn_nightly.aws_lambda_function.this").timeout, 900);

      const notified = at("module.bucket_files.aws_s3_bucket_notification.this[0]").lambda_function;
      assertEquals(notified.map(({ filter_prefix }: Json) => filter_prefix).sort(), [
        "images/",
        "texts/",
      ]);
      assertEquals(at("module.bucket_files.aws_s3_bucket.this").bucket, "acme-shop-dev-files");

      assertEquals(
        at('module.websocket.aws_apigatewayv2_route.this["$connect"]').authorization_type,
        "CUSTOM",
      );
      assertEquals(
        at('module.websocket.aws_apigatewayv2_route.this["$default"]')
          .route_response_selection_expression,
        "$default",
      );
      assert(
        /^https:\/\/.*\/live$/.test(getVariables("default").SOCKET_URL),
        getVariables("default").SOCKET_URL,
      );
      assertEquals(getVariables("import"), { ENVIRONMENT: "dev", MODE: "full" });
    });
  },
});

Deno.test({
  name: "generate infra writes an HTTP API, a URL, a CDN, images and push platforms that apply",
  ignore: !hasOffline,
  fn: async () => {
    const files = {
      ...DELIVERY,
      "trellis.config.ts": configure(
        `${HTTP_SETTINGS}, release: {}, permissionsBoundary: "shop-functions", packageBucket: "acme-packages",
        environment: { PUSH: { push: "ios" }, SITE: { bucket: "site", access: ["list", "read"] }, SELF: { api: true } },
        cdn: { buckets: { "/assets/*": "site" }, originHeaders: ["User-Agent"] },
        repositories: { "image-tools": { keepImages: 5 } },
        pushPlatforms: { ios: { platform: "APNS", keyId: "K", teamId: "T", bundleId: "com.example" } }`,
      ),
    };
    await withProject(files, async (root) => {
      const { exitCode, stdout, stderr } = await infra(root);
      assertEquals([exitCode, stderr], [0, ""], stdout);
      await writeBundles(root);
      const found = await applyTwice(root, {
        push_ios_key: "marker",
        image_tools_image_tag: "v1",
        cdn_domain_name: "www.example.com",
        cdn_certificate_arn: "arn:aws:acm:us-east-1:123456789012:certificate/1",
        hosted_zone_id: "Z0123456789ABCDEFGHIJ",
      });
      const at = (address: string): Json => {
        assert(found.has(address), `${address} is missing`);
        return found.get(address);
      };
      assertEquals(
        at('module.api.aws_apigatewayv2_route.this["GET /notes"]').authorization_type,
        "JWT",
      );
      const fn = at("module.fn_devices.aws_lambda_function.this");
      assertEquals([fn.s3_bucket, fn.filename], ["acme-packages", null]);
      const roles = [...found].filter(([address]) => address.includes(".aws_iam_role.this"));
      assertEquals(new Set(roles.map(([, role]) => role.permissions_boundary)).size, 1);
      assertMatch(roles[0][1].permissions_boundary, /:policy\/shop-functions$/);
      assertEquals(
        fn.environment[0].variables.SELF,
        at("module.api.aws_apigatewayv2_api.this").api_endpoint,
      );
      assertStringIncludes(
        at('module.fn_devices.aws_iam_role_policy.inline["push-ios"]').policy,
        "sns:CreatePlatformEndpoint",
      );
      assertMatch(at("module.fn_thumbs.aws_lambda_function.this").image_uri, /image-tools:v1$/);
      const [behavior] = at("module.cdn.aws_cloudfront_distribution.this").ordered_cache_behavior;
      assertEquals(behavior.path_pattern, "/assets/*");
      assertStringIncludes(
        at("module.bucket_site.aws_s3_bucket_policy.this").policy,
        at("module.cdn.aws_cloudfront_distribution.this").arn,
      );
      assertEquals(at('aws_route53_record.cdn["AAAA"]').name, "www.example.com");
      assertEquals(at("aws_lambda_function_url.export").invoke_mode, "RESPONSE_STREAM");
      assertEquals(at("aws_cloudwatch_metric_alarm.release").metric_name, "5xx");
      const push = await Deno.readTextFile(join(root, "infra/push.tf"));
      assertEquals(push.includes("marker"), false);
    });
  },
});
