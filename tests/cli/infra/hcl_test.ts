import { assertEquals } from "@std/assert";
import {
  block,
  comment,
  expression,
  jsonencode,
  quote,
  renderFile,
} from "../../../cli/infra/hcl.ts";

const TEXTS: readonly (readonly [text: string, hcl: string])[] = [
  ["plain", '"plain"'],
  ['say "hi"', '"say \\"hi\\""'],
  ["C:\\temp", '"C:\\\\temp"'],
  ["${var.secret}", '"$${var.secret}"'],
  ["%{ if true }x%{ endif }", '"%%{ if true }x%%{ endif }"'],
  ["$${x} costs 5$ or 5%", '"$$${x} costs 5$ or 5%"'],
  ["a\nb\r\tc\u0007", '"a\\nb\\r\\tc\\u0007"'],
  ["grün 🌱", '"grün 🌱"'],
];

for (const [text, hcl] of TEXTS) {
  Deno.test(`quote() writes ${JSON.stringify(text)} so that Terraform reads the same`, () => {
    assertEquals(quote(text), hcl);
  });
}

Deno.test("renderFile() aligns adjacent arguments, and omits undefined ones", () => {
  const text = renderFile([
    "First line.",
    block(
      "resource",
      ["aws_sqs_queue", "mail"],
      { name: "mail", delay_seconds: 5, fifo_queue: undefined },
      comment("Why."),
      { tags: { Project: "notes", "a b": true }, arn: expression("var.arn") },
      block("timeouts", [], { create: null }),
      {},
    ),
    block("module", ["empty"]),
  ]);
  assertEquals(
    text,
    `# First line.

resource "aws_sqs_queue" "mail" {
  name          = "mail"
  delay_seconds = 5

  # Why.
  tags = {
    Project = "notes"
    "a b"   = true
  }

  arn = var.arn

  timeouts {
    create = null
  }
}

module "empty" {}
`,
  );
});

Deno.test("renderFile() breaks lists that are too long, and lists of objects", () => {
  const long = Array.from({ length: 12 }, (_, n) => `number-${n}-of-many`);
  const text = renderFile([
    block("locals", [], { short: [1, 2], none: [], long, objects: [{ a: 1 }] }),
  ]);
  assertEquals(text.split("\n").slice(2, 8), [
    "  short = [1, 2]",
    "  none  = []",
    "",
    "  long = [",
    '    "number-0-of-many",',
    '    "number-1-of-many",',
  ]);
  assertEquals(text.endsWith("  objects = [\n    {\n      a = 1\n    },\n  ]\n}\n"), true, text);
});

Deno.test("jsonencode() treats an object of a user as data, with any names", () => {
  const text = renderFile([
    block("locals", [], {
      x: jsonencode({ hcl: 'file("/etc/passwd")', kind: "block", block: { null: 1 } }),
    }),
  ]);
  assertEquals(
    text,
    `
locals {
  x = jsonencode({
    hcl  = "file(\\"/etc/passwd\\")"
    kind = "block"
    block = {
      "null" = 1
    }
  })
}
`,
  );
});

Deno.test("renderFile() keeps comments on one line", () => {
  const text = renderFile([
    'x\n}\nresource "a" "b" {',
    block("locals", [], comment("y\nz = 1"), { a: 1 }),
  ]);
  assertEquals(text, '# x } resource "a" "b" {\n\nlocals {\n  # y z = 1\n  a = 1\n}\n');
});
