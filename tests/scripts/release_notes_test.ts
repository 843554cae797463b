import { assertEquals, assertThrows } from "@std/assert";
import { releaseNotes } from "../../scripts/release_notes.ts";

const CHANGELOG = `# Changelog

## 0.2.0 (unreleased)

- Later.

## 0.1.10 - 2026-02-01

## 0.1.1 - 2026-01-02

### Added

- A thing.

## 0.1.0 - 2026-01-01

- The first.
`;

Deno.test("releaseNotes() gives the section of the tag's version", () => {
  assertEquals(releaseNotes("v0.1.1", "0.1.1", CHANGELOG), "### Added\n\n- A thing.");
  assertEquals(releaseNotes("v0.1.0", "0.1.0", CHANGELOG), "- The first.");
});

Deno.test("releaseNotes() refuses what must not be released", () => {
  const refused: [tag: string, version: string, message: string][] = [
    ["v0.1.0", "0.1.1", "The tag is v0.1.0 and deno.json says 0.1.1"],
    ["0.1.1", "0.1.1", "The tag is 0.1.1 and deno.json says 0.1.1"],
    ["v0.2.0", "0.2.0", "CHANGELOG.md calls 0.2.0 unreleased"],
    ["v0.1.10", "0.1.10", "The section of 0.1.10 in CHANGELOG.md is empty"],
    ["v0.3.0", "0.3.0", "CHANGELOG.md has no section for 0.3.0"],
  ];
  for (const [tag, version, message] of refused) {
    assertThrows(() => releaseNotes(tag, version, CHANGELOG), Error, message);
  }
});
