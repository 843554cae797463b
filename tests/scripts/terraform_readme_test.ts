import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { parseTerraformModule } from "../../scripts/terraform_module.ts";
import { renderReadme, updateReadmes } from "../../scripts/terraform_readme.ts";
import { withTempFolder } from "../support/temp_folder.ts";

const SOURCES = new Map([
  [
    "main.tf",
    `data "aws_region" "current" {}
resource "aws_sqs_queue" "this" {
  name = "q"
}
`,
  ],
  [
    "variables.tf",
    `variable "senders" {
  description = "Who | may send."
  type = list(object({
    service = string
    arns    = optional(list(string), [])
  }))
  default = []
}

variable "name" {
  description = "Name."
  type        = string
}
`,
  ],
  [
    "outputs.tf",
    `output "key" {\n  description = "Key."\n  value       = 1\n  sensitive   = true\n}\n`,
  ],
]);

const EXAMPLE = `provider "aws" {
  region = "eu-central-1"
}

module "queue" {
  source = "../../"
}

module "core" {
  source = "../../../core"
}
`;

Deno.test("renderReadme() writes usage, resources, inputs and outputs when it is given a module", async () => {
  const module = await parseTerraformModule("queue", "queue", SOURCES);
  const text = renderReadme(module, EXAMPLE, "# queue\n\nWritten by hand.\n");
  assert(text.startsWith("# queue\n\nWritten by hand.\n\n<!-- Generated"));
  assertStringIncludes(text, 'source = "./node_modules/@trellis/fn/modules/queue"');
  assertStringIncludes(text, 'source = "./node_modules/@trellis/fn/modules/core"');
  assert(!text.includes("provider"), "the example's provider is left out");
  assertStringIncludes(text, "- `aws_sqs_queue.this`\n- `data.aws_region.current`");
  assertStringIncludes(text, "| `key` | Key. Sensitive. |");
  // Required inputs come first; types are in one line; bars do not break the table.
  assertStringIncludes(
    text,
    "| `name` | Name. | `string` | **required** |\n" +
      "| `senders` | Who \\| may send. | `list(object({ service = string, arns = optional(list(string), []) }))` | `[]` |",
  );
});

Deno.test("renderReadme() keeps what was written by hand and replaces the rest when it is run again", async () => {
  const module = await parseTerraformModule("queue", "queue", SOURCES);
  const first = renderReadme(module, EXAMPLE, "# queue\n");
  assertEquals(renderReadme(module, EXAMPLE, first.replace("Name.", "Old.")), first);
});

Deno.test("updateReadmes() names stale files and writes them only if requested", async () => {
  await withTempFolder({}, async (root) => {
    await Deno.mkdir(`${root}/queue/examples/basic`, { recursive: true });
    for (const [file, text] of SOURCES) await Deno.writeTextFile(`${root}/queue/${file}`, text);
    await Deno.writeTextFile(`${root}/queue/examples/basic/main.tf`, EXAMPLE);
    await Deno.writeTextFile(`${root}/queue/README.md`, "# queue\n");

    assertEquals(await updateReadmes(root, true, ["queue"]), [`${root}/queue/README.md`]);
    assertEquals(await Deno.readTextFile(`${root}/queue/README.md`), "# queue\n");
    assertEquals(await updateReadmes(root, false, ["queue"]), [`${root}/queue/README.md`]);
    assertEquals(await updateReadmes(root, true, ["queue"]), []);
  });
});
