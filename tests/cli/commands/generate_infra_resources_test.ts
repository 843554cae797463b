import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { withProject } from "../fixtures/analyse.ts";
import { define, infra, readInfra } from "../fixtures/infra_project.ts";

const FILE = "src/functions/event/order-placed.ts";

/** A project with one function of an event bus, and what its file exports besides. */
function createFiles(exported: string, settings = ""): Record<string, string> {
  return {
    "deno.json": `{ "name": "@acme/shop" }`,
    "trellis.config.ts": `import { defineConfig } from "@trellis/fn/cli";
export default defineConfig({ infra: { functions: { OrderPlaced: { pattern: { source: ["shop"] }, ${settings} } } } });`,
    [FILE]: `${define("defineEventHandler")}${exported}\n`,
  };
}

/** Generates the file of the function. */
async function generate(exported: string, settings?: string): Promise<string> {
  let text = "";
  await withProject(createFiles(exported, settings), async (root) => {
    const { exitCode, stdout, stderr } = await infra(root);
    assertEquals([exitCode, stderr], [0, ""], stdout);
    text = await readInfra(root, "fn_order_placed.tf");
  });
  return text;
}

const LAYER = "arn:aws:lambda:eu-central-1:123456789012:layer:sharp:3";

Deno.test("generate infra reads resources from the export beside the handler, and from the configuration", async () => {
  const exported = `const ARCHITECTURE = "x86_64";
export const infra = {
  architecture: ARCHITECTURE,
  layers: ["${LAYER}", { reference: "aws_lambda_layer_version.fonts.arn" }],
  policies: [{
    actions: ["ses:SendEmail"],
    resources: ["*", { reference: "aws_ses_domain_identity.shop.arn" }],
    conditions: { StringEquals: { "ses:FromAddress": "shop@example.com" } },
  }],
} as const;`;
  const text = await generate(exported, `onSuccess: { reference: "aws_sqs_queue.done.arn" }`);
  assertMatch(text, /architecture += "x86_64"\n/);
  assertStringIncludes(text, `["${LAYER}", aws_lambda_layer_version.fonts.arn]`);
  assertMatch(text, /on_success_destination_arn += aws_sqs_queue\.done\.arn/);
  assertMatch(text, /own = jsonencode\(\{\n +Version = "2012-10-17"/);
  assertStringIncludes(text, `Resource = ["*", aws_ses_domain_identity.shop.arn]`);
  assertStringIncludes(text, `"ses:FromAddress" = "shop@example.com"`);
  // failed events still have a place
  assertStringIncludes(text, "module.dead_letters_order_placed.queue_arn");
});

Deno.test("generate infra replaces the dead-letter queue by the destination of failures", async () => {
  const failed = "arn:aws:sns:eu-central-1:123456789012:failed";
  const text = await generate(`export const infra = { onFailure: "${failed}" };`);
  assertStringIncludes(text, `on_failure_destination_arn = "${failed}"`);
  assert(!text.includes("module.dead_letters_order_placed"));
});

Deno.test("generate infra deploys a container image instead of a bundle", async () => {
  const text = await generate(
    `export const infra = { image: { uri: { reference: "data.aws_ecr_image.shop.image_uri" }, command: ["index.handler"] } };`,
  );
  assertMatch(text, /source_dir += ""\n/);
  assertMatch(text, /package_type += "Image"\n +image_uri += data\.aws_ecr_image\.shop\.image_uri/);
  assertMatch(text, /image_command += \["index\.handler"\]/);
});

Deno.test("generate infra refuses resources that are invalid, unknown, computed or given twice", async () => {
  const cases: [exported: string, settings: string, message: RegExp][] = [
    [`{ architecture: "arm" }`, "", /infra\.architecture must be "arm64" or "x86_64", got "arm"/],
    [`{ layers: ["sharp"] }`, "", /infra\.layers must be a list of at most 5 ARNs/],
    [`{ policies: [{ actions: ["s3:*"] }] }`, "", /infra\.policies must be a list such as/],
    [`{ policies: [{ actions: ["a:b"], resources: [{ reference: "x y" }] }] }`, "", /infra\.pol/],
    [`{ onFailure: "arn:aws:s3:::x" }`, "", /infra\.onFailure must be the ARN of a queue/],
    [`{ memory: 512 }`, "", /unknown setting infra\.memory; known settings: architecture/],
    [`{ architecture: process.env.X }`, "", /export infra cannot be determined statically/],
    [
      `process.env.X === "x" ? { architecture: "x86_64" } : { architecture: "arm64" }`,
      "",
      /export infra cannot be determined statically/,
    ],
    [
      `{ architecture: "arm64" }`,
      `architecture: "x86_64"`,
      /infra\.architecture is also set in the configuration/,
    ],
    [`{}`, `layers: []`, /infra\.functions\.OrderPlaced\.layers must be a list/],
  ];
  for (const [exported, settings, message] of cases) {
    await withProject(createFiles(`export const infra = ${exported};`, settings), async (root) => {
      const { exitCode, stdout } = await infra(root);
      assertEquals(exitCode, 1, exported);
      assertMatch(stdout, message);
    });
  }
});

/** A project with a queue that receives events. */
function createQueue(queue: string, api = "{}"): Record<string, string> {
  return {
    "deno.json": `{ "name": "@acme/shop" }`,
    "trellis.config.ts": `import { defineConfig } from "@trellis/fn/cli";
export default defineConfig({ infra: { queues: { orders: ${queue} }, api: ${api} } });`,
    "src/functions/queue/work.ts": define("defineQueueHandler"),
    "src/functions/api/index.get.ts": define("defineApiHandler"),
  };
}

Deno.test("generate infra sends events of buses to queues, and sets quotas", async () => {
  const files = createQueue(
    `{ fifo: true, events: [
  { pattern: { source: ["shop"] }, inputPaths: { id: "$.detail.id" }, inputTemplate: '{"order": <id>}', messageGroupId: "orders" },
  { bus: "default", pattern: { source: ["aws.s3"] }, messageGroupId: "files" },
] }`,
    `{ usagePlan: true, quotaLimit: 500 }`,
  );
  await withProject(files, async (root) => {
    const { exitCode, stdout, stderr } = await infra(root);
    assertEquals([exitCode, stderr], [0, ""], stdout);
    const queues = await readInfra(root, "queues.tf");
    assertMatch(queues, /source_arn = aws_cloudwatch_event_rule\.queue_orders_1\.arn/);
    assertMatch(queues, /input_paths = \{\n +id = "\$\.detail\.id"\n/);
    assertStringIncludes(queues, String.raw`input_template = "{\"order\": <id>}"`);
    assertMatch(queues, /sqs_target \{\n +message_group_id = "orders"/);
    assertMatch(queues, /event_bus_name = module\.bus_events\.bus_name/);
    assertEquals(queues.match(/dead_letter_config/g)?.length, 1);
    assertStringIncludes(await readInfra(root, "buses.tf"), 'module "bus_events"');
    const api = await readInfra(root, "api.tf");
    assertMatch(api, /create_usage_plan += true\n/);
    assertMatch(api, /quota_limit += 500\n/);
    assertMatch(await readInfra(root, "fn_get.tf"), /api_key_required = true/);
  });
});

Deno.test("generate infra refuses events of queues that are invalid", async () => {
  const cases: [queue: string, message: RegExp, api?: string][] = [
    [`{}`, /infra\.api\.quotaLimit needs usagePlan: true/, `{ quotaLimit: 5 }`],
    [`{ events: [] }`, /infra\.queues\.orders\.events must be a list/],
    [`{ events: [{}] }`, /events\[0\] needs a pattern/],
    [
      `{ events: [{ pattern: { a: 1 }, rule: 1 }] }`,
      /unknown setting infra\.queues\.orders\.events\[0\]\.rule; known settings: bus/,
    ],
    [`{ events: [{ pattern: { a: 1 }, inputPaths: { a: "$.a" } }] }`, /without inputTemplate/],
    [`{ events: [{ pattern: { a: 1 }, messageGroupId: "a" }] }`, /messageGroupId without fifo/],
    [`{ fifo: true, events: [{ pattern: { a: 1 } }] }`, /needs messageGroupId/],
  ];
  for (const [queue, message, api] of cases) {
    await withProject(createQueue(queue, api), async (root) => {
      const { exitCode, stdout } = await infra(root);
      assertEquals(exitCode, 1, queue);
      assertMatch(stdout, message);
    });
  }
});

Deno.test("generate infra takes origins of a bucket from a variable of the stage", async () => {
  const reads = `import { getRequiredEnv } from "@trellis/fn/env";`;
  const createProject = (buckets: string, source: string) => ({
    "deno.json": `{ "name": "@acme/shop" }`,
    "trellis.config.ts": `import { defineConfig } from "@trellis/fn/cli";
export default defineConfig({ infra: {
  environment: { WEB_ORIGIN: { variable: true } },
  functions: { Photos: { bucket: "photos" } },
  buckets: { photos: ${buckets} },
} });`,
    "src/functions/storage/photos.ts": define(
      "defineStorageHandler",
      "{}",
      source === "" ? "" : `getRequiredEnv("WEB_ORIGIN");`,
      source,
    ),
  });
  const origins = `{ corsAllowedOrigins: ["https://a.example", { variable: "WEB_ORIGIN" }] }`;
  await withProject(createProject(origins, reads), async (root) => {
    const { exitCode, stdout } = await infra(root);
    assertEquals(exitCode, 0, stdout);
    const text = await readInfra(root, "buckets.tf");
    assertMatch(text, /cors_allowed_origins += \["https:\/\/a\.example", var\.web_origin\]/);
  });
  await withProject(createProject(origins, ""), async (root) => {
    const { exitCode, stdout, stderr } = await infra(root);
    assertEquals(exitCode === 0, false);
    assertStringIncludes(stdout + stderr, "has the variable WEB_ORIGIN, which stages do not set");
  });
  const wrong = `{ corsAllowedOrigins: [{ variables: "WEB_ORIGIN" }] }`;
  await withProject(createProject(wrong, reads), async (root) => {
    const { stdout, stderr } = await infra(root);
    assertStringIncludes(stdout + stderr, "corsAllowedOrigins must be a list of origins");
  });
});
