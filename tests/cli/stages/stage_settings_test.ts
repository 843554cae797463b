import { assertEquals, assertThrows } from "@std/assert";
import { UsageError } from "../../../cli/terminal/command.ts";
import { readStage } from "../../../cli/stages/stage_name.ts";
import { resolveStage } from "../../../cli/stages/stage_settings.ts";

const STATE = { bucket: "states", region: "eu-central-1" };

Deno.test("resolveStage() gives each stage its own address of the state", () => {
  const { backend } = resolveStage({ state: STATE }, "notes", "prod");
  assertEquals(backend, {
    bucket: "states",
    encrypt: true,
    key: "notes/prod.tfstate",
    region: "eu-central-1",
    use_lockfile: true,
  });
  assertEquals(resolveStage({}, "notes", "dev").backend, { path: "states/dev.tfstate" });
});

Deno.test("resolveStage() uses the entry of the stage, else the one of all others, with the stage's name", () => {
  const stages = {
    prod: { domain: "api.example.com", hostedZoneId: "Z1", variables: { log_level: "WARN" } },
    "*": { domain: "{stage}.example.com", hostedZoneId: "Z1" },
  };
  const settings = { stages, region: "eu-central-1" };
  assertEquals(resolveStage(settings, "notes", "prod").variables, {
    environment: "prod",
    region: "eu-central-1",
    domain_name: "api.example.com",
    hosted_zone_id: "Z1",
    log_level: "WARN",
  });
  const preview = resolveStage(settings, "notes", "preview-42").variables;
  assertEquals([preview.domain_name, preview.environment], [
    "preview-42.example.com",
    "preview-42",
  ]);
});

Deno.test("readStage() takes names of previews, and refuses what cannot be a part of names", () => {
  assertEquals(readStage({ stage: "preview-42" }), "preview-42");
  for (const stage of ["", "Prod", "a--b", "-a", "a_b", "1a", "a".repeat(21), undefined]) {
    assertThrows(() => readStage({ stage }), UsageError, "--stage");
  }
});
